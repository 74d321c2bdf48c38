// A unified diff, line by line with both numberings. What does not parse as one is shown as the text it is.

import { parsePatch, type StructuredPatch } from "diff";
import css from "./Diff.module.css";
import { Visible } from "./Visible";

export interface DiffLine {
  kind: "add" | "del" | "same" | "note";
  text: string;
  before: number | null;
  after: number | null;
}

/** Lines of a diff with their numbers; null when the text is no diff. */
export function diffLines(text: string): DiffLine[] | null {
  const patches = tryParse(text);
  if (patches === null || !patches.some((patch) => patch.hunks.length > 0)) return null;
  return patches.flatMap((patch) => [
    ...(patches.length > 1 ? [note(patch.newFileName ?? patch.oldFileName ?? "")] : []),
    ...patch.hunks.flatMap((hunk) => {
      let before = hunk.oldStart;
      let after = hunk.newStart;
      const lines = hunk.lines.map((line): DiffLine => {
        const rest = line.slice(1);
        if (line.startsWith("+")) return { kind: "add", text: rest, before: null, after: after++ };
        if (line.startsWith("-")) return { kind: "del", text: rest, before: before++, after: null };
        if (line.startsWith("\\")) return note(line);
        return { kind: "same", text: rest, before: before++, after: after++ };
      });
      return [note(`@@ -${hunk.oldStart},${hunk.oldLines} +${hunk.newStart},${hunk.newLines} @@`), ...lines];
    }),
  ]);
}

function tryParse(text: string): StructuredPatch[] | null {
  try {
    return parsePatch(text);
  } catch {
    return null;
  }
}

/** A requester may leave out the heads: then the lines' own signs are trusted. */
function signedLines(text: string): DiffLine[] {
  return text.replace(/\n$/, "").split("\n").map((line): DiffLine => {
    if (line.startsWith("+")) return { kind: "add", text: line.slice(1), before: null, after: null };
    if (line.startsWith("-")) return { kind: "del", text: line.slice(1), before: null, after: null };
    return { kind: "same", text: line.replace(/^ /, ""), before: null, after: null };
  });
}

function note(text: string): DiffLine {
  return { kind: "note", text, before: null, after: null };
}

const sign: Record<DiffLine["kind"], string> = { add: "+", del: "−", same: " ", note: " " };
const spoken: Record<DiffLine["kind"], string> = { add: "added: ", del: "removed: ", same: "", note: "" };

export function Diff({ text }: { text: string }) {
  const lines = diffLines(text) ?? signedLines(text);
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <div className={css.scroll} role="region" aria-label="Changes" tabIndex={0}>
      <table className={css.diff}>
        <tbody>
          {lines.map((line, index) => (
            // oxlint-disable-next-line react/no-array-index-key
            <tr key={index} data-kind={line.kind}>
              <td className={css.number}>{line.before}</td>
              <td className={css.number}>{line.after}</td>
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
    </div>
  );
}
