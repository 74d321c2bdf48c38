// A unified diff, line by line with both numberings.

import { useState } from "react";
import { Button } from "./Button";
import css from "./Diff.module.css";
import { Visible } from "./Visible";

export interface DiffLine {
  kind: "add" | "del" | "same" | "note";
  text: string;
  before: number | null;
  after: number | null;
}

/**
 * Every line of the text, with numbers where a hunk's head gives them. Written by models as often as by tools, so counts that do
 * not add up and missing heads are taken as they come: a line is what its first sign says.
 */
export function diffLines(text: string): DiffLine[] {
  const lines = text.replace(/\n$/, "").split("\n");
  let before: number | null = null;
  let after: number | null = null;
  const next = (at: number | null): number | null => (at === null ? null : at + 1);
  return lines.map((line, index): DiffLine => {
    const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/.exec(line);
    if (hunk !== null) {
      before = Number(hunk[1]);
      after = Number(hunk[2]);
      return note(line);
    }
    if (isHead(lines, index)) {
      before = null;
      after = null;
      return note(line);
    }
    const made: DiffLine = { kind: "same", text: line.replace(/^ /, ""), before, after };
    if (line.startsWith("+")) Object.assign(made, { kind: "add", text: line.slice(1), before: null });
    else if (line.startsWith("-")) Object.assign(made, { kind: "del", text: line.slice(1), after: null });
    else if (line.startsWith("\\ ")) return note(line);
    if (made.kind !== "add") before = next(before);
    if (made.kind !== "del") after = next(after);
    return made;
  });
}

/** `--- a` with `+++ b` under it (a removed line may begin with `--` too), and the lines version control writes around them. */
function isHead(lines: readonly string[], index: number): boolean {
  const line = lines[index] ?? "";
  if (/^(diff |index [0-9a-f]|new file mode|deleted file mode|rename |similarity )/.test(line)) return true;
  if (line.startsWith("--- ")) return lines[index + 1]?.startsWith("+++ ") === true;
  return line.startsWith("+++ ") && lines[index - 1]?.startsWith("--- ") === true;
}

function note(text: string): DiffLine {
  return { kind: "note", text, before: null, after: null };
}

const sign: Record<DiffLine["kind"], string> = { add: "+", del: "−", same: " ", note: " " };
const spoken: Record<DiffLine["kind"], string> = { add: "added: ", del: "removed: ", same: "", note: "" };

const atFirst = 400;
const atOnce = 2000;

/** Every line can be reached; those not drawn yet are counted. */
export function Diff({ lines, label = "Changes" }: { lines: readonly DiffLine[]; label?: string }) {
  const [shown, setShown] = useState(atFirst);
  const left = lines.length - shown;
  // A text without places has no columns for them.
  const [before, after] = [lines.some((line) => line.before !== null), lines.some((line) => line.after !== null)];
  return (
    // A scrolling region takes the focus, so that keys can scroll it.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <div className={css.scroll} role="region" aria-label={label} tabIndex={0}>
      <table className={css.diff}>
        <tbody>
          {lines.slice(0, shown).map((line, index) => (
            // Lines repeat, so only its place tells one from another; they do not move, another text is another list.
            // oxlint-disable-next-line react/no-array-index-key
            <tr key={index} data-kind={line.kind}>
              {before && <td className={css.number}>{line.before}</td>}
              {after && <td className={css.number}>{line.after}</td>}
              <td className={css.sign} aria-hidden="true">
                {sign[line.kind]}
              </td>
              <td className={css.text}>
                <span className="visually-hidden">{spoken[line.kind]}</span>
                <Visible text={line.text} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {left > 0 && (
        <p className={css.more}>
          <Button size="s" onClick={() => setShown(shown + atOnce)}>
            {shown} of {lines.length} lines shown. Show {Math.min(atOnce, left)} more
          </Button>
        </p>
      )}
    </div>
  );
}
