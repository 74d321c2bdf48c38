// Two texts, line by line: what stays, what goes, what comes.

import type { DiffLine } from "./Diff";

/** Above this many pairs of lines nothing is matched in the middle: all of it goes, all of it comes. */
const mostPairs = 4_000_000;

/** No numbers: an extract does not know where in its file it stands. */
export function compareLines(before: string, after: string): DiffLine[] {
  const [old, young] = [linesOf(before), linesOf(after)];
  let head = 0;
  while (head < old.lines.length && head < young.lines.length && old.lines[head] === young.lines[head]) head += 1;
  let tail = 0;
  while (tail < Math.min(old.lines.length, young.lines.length) - head && old.lines.at(-1 - tail) === young.lines.at(-1 - tail)) tail += 1;
  const lines = [
    ...old.lines.slice(0, head).map((text) => made("same", text)),
    ...middle(old.lines.slice(head, old.lines.length - tail), young.lines.slice(head, young.lines.length - tail)),
    ...old.lines.slice(old.lines.length - tail).map((text) => made("same", text)),
  ];
  if (old.ended !== young.ended) lines.push(made("note", young.ended ? "the new text ends with a line feed, the old one does not" : "the old text ends with a line feed, the new one does not"));
  return lines;
}

/** A text that is all new, numbered. That it does not end its last line is said: it is part of what would be written. */
export function writtenLines(text: string): DiffLine[] {
  if (text === "") return [made("note", "nothing: the text is empty")];
  const { lines, ended } = linesOf(text);
  const written = lines.map((line, index): DiffLine => ({ kind: "add", text: line, before: null, after: index + 1 }));
  return ended ? written : [...written, made("note", "no line feed at the end")];
}

function linesOf(text: string): { lines: string[]; ended: boolean } {
  if (text === "") return { lines: [], ended: false };
  const ended = text.endsWith("\n");
  return { lines: (ended ? text.slice(0, -1) : text).split("\n"), ended };
}

/** By the longest common subsequence. */
function middle(old: string[], young: string[]): DiffLine[] {
  if (old.length * young.length > mostPairs) return [...old.map((text) => made("del", text)), ...young.map((text) => made("add", text))];
  const width = young.length + 1;
  // common[o * width + y]: how many lines old from o on and young from y on share, in order.
  const common = new Uint32Array((old.length + 1) * width);
  const at = (o: number, y: number): number => common[o * width + y] ?? 0;
  for (let o = old.length - 1; o >= 0; o -= 1) {
    for (let y = young.length - 1; y >= 0; y -= 1) common[o * width + y] = old[o] === young[y] ? at(o + 1, y + 1) + 1 : Math.max(at(o + 1, y), at(o, y + 1));
  }
  const lines: DiffLine[] = [];
  let [o, y] = [0, 0];
  while (o < old.length || y < young.length) {
    const [gone, come] = [old[o], young[y]];
    if (gone !== undefined && gone === come) {
      lines.push(made("same", gone));
      o += 1;
      y += 1;
    } else if (gone !== undefined && (come === undefined || at(o + 1, y) >= at(o, y + 1))) {
      lines.push(made("del", gone));
      o += 1;
    } else if (come !== undefined) {
      lines.push(made("add", come));
      y += 1;
    }
  }
  return lines;
}

function made(kind: DiffLine["kind"], text: string): DiffLine {
  return { kind, text, before: null, after: null };
}
