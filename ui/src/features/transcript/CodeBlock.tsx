/** Fenced code with its language and a copy button. */
import { Copy } from "lucide-react";
import type { ReactNode } from "react";
import { IconButton } from "../../components/Button";
import { Visible } from "../../components/Visible";
import { useSession } from "../session/view";
import css from "./Transcript.module.css";

export function codeBlock(code: string, language: string | null): ReactNode {
  return <CodeBlock code={code} language={language} />;
}

function CodeBlock({ code, language }: { code: string; language: string | null }) {
  const { operations } = useSession();
  return (
    <figure className={css.code}>
      <figcaption>
        <span>{language ?? "code"}</span>
        <IconButton label="Copy code" onClick={() => void operations.copy(code, "Code")}><Copy /></IconButton>
      </figcaption>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <pre tabIndex={0}><code><Visible text={code} /></code></pre>
    </figure>
  );
}
