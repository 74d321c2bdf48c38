import css from "./Visible.module.css";
import { pieces } from "./glyphs";

/** Text with every character that cannot be seen drawn as a marked sign. */
export function Visible({ text }: { text: string }) {
  const parts = pieces(text);
  if (parts.length === 1 && parts[0]?.code === undefined) return text;
  return parts.map((part, index) =>
    part.code === undefined ? (
      part.text
    ) : (
      // The text does not change under its key: a new text is a new list.
      // oxlint-disable-next-line react/no-array-index-key
      <span key={index} className={css.glyph} role="img" aria-label={`${part.name} ${part.code}`} title={`${part.name}, ${part.code}`}>
        {part.code}
      </span>
    ),
  );
}
