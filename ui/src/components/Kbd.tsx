import css from "./Kbd.module.css";

/** `Ctrl+K` as two caps, `g i` as two in a row. Hidden from screen readers: the control's own name says what it does. */
export function Kbd({ keys }: { keys: string }) {
  return (
    <span className={css.keys} aria-hidden="true">
      {keys.split(/[ ]|(?<=\w)\+/).map((key, index) => (
        // Position is the identity here: the same cap may come twice (Esc Esc).
        // oxlint-disable-next-line react/no-array-index-key
        <kbd key={index}>{key}</kbd>
      ))}
    </span>
  );
}
