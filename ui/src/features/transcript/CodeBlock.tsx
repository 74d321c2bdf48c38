/** Fenced code with its language and a copy button. */
import { Copy } from "lucide-react";
import type { CSSProperties, ReactNode } from "react";
import { IconButton } from "../../components/Button";
import { Visible } from "../../components/Visible";
import { useSession } from "../session/view";
import { useHighlight, type Coloured } from "./highlight";
import css from "./Transcript.module.css";

export function codeBlock(code: string, language: string | null): ReactNode {
  return <CodeBlock code={code} language={language} />;
}

function CodeBlock({ code, language }: { code: string; language: string | null }) {
  const { operations } = useSession();
  const lines = useHighlight(code, language);
  return (
    <figure className={css.code}>
      <figcaption>
        <span>{language ?? "code"}</span>
        <IconButton label="Copy code" onClick={() => void operations.copy(code, "Code")}><Copy /></IconButton>
      </figcaption>
      {/* Long code scrolls, and keys scroll only what has the focus. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <pre tabIndex={0}><code>{lines === null ? <Visible text={code} /> : lines.map((line, at) => <Line key={at} pieces={line} last={at === lines.length - 1} />)}</code></pre>
    </figure>
  );
}

function Line({ pieces, last }: { pieces: readonly Coloured[]; last: boolean }) {
  return (
    <>
      {pieces.map((piece, at) => <span key={at} style={colours(piece)}><Visible text={piece.text} /></span>)}
      {last ? "" : "\n"}
    </>
  );
}

/** Both colours; the style sheet picks by theme. */
function colours(piece: Coloured): CSSProperties {
  return { "--light": piece.light, "--dark": piece.dark } as CSSProperties;
}
