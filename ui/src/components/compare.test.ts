import fc from "fast-check";
import { expect, test } from "vitest";
import { compareLines, writtenLines } from "./compare";
import type { DiffLine } from "./Diff";

const signs: Record<DiffLine["kind"], string> = { same: " ", del: "-", add: "+", note: "\\" };
const draw = (line: DiffLine): string => signs[line.kind] + line.text;
const only = (lines: DiffLine[], ...kinds: DiffLine["kind"][]): string[] => lines.filter((line) => kinds.includes(line.kind)).map((line) => line.text);

test("what stays is kept, what goes stands before what comes", () => {
  expect(compareLines("a\nb\nc\nd\n", "a\nB\nc\nnew\nd\n").map(draw)).toEqual([" a", "-b", "+B", " c", "+new", " d"]);
  expect(compareLines("", "x\ny").map(draw)).toEqual(["+x", "+y"]);
  expect(compareLines("x", "").map(draw)).toEqual(["-x"]);
  expect(compareLines("same\n", "same\n").map(draw)).toEqual([" same"]);
});

test("a line feed at the end is told where it makes the difference", () => {
  expect(compareLines("a\n", "a").map(draw)).toEqual([" a", "\\the old text ends with a line feed, the new one does not"]);
  expect(compareLines("a", "a\n").map(draw)).toEqual([" a", "\\the new text ends with a line feed, the old one does not"]);
});

test("the old lines and the new lines are all there, in order, however the texts differ", () => {
  const text = fc.array(fc.constantFrom("a", "b", "", " c"), { maxLength: 12 }).map((lines) => lines.map((line) => `${line}\n`).join(""));
  fc.assert(
    fc.property(text, text, (before, after) => {
      const lines = compareLines(before, after);
      expect(only(lines, "same", "del").map((line) => `${line}\n`).join("")).toBe(before);
      expect(only(lines, "same", "add").map((line) => `${line}\n`).join("")).toBe(after);
    }),
  );
});

test("texts too long to match line by line lose no line", () => {
  const many = (word: string): string => Array.from({ length: 3000 }, (_, index) => `${word} ${index}`).join("\n");
  const lines = compareLines(many("old"), many("new"));
  expect([only(lines, "del").length, only(lines, "add").length]).toEqual([3000, 3000]);
});

test("a text to write is numbered and says how it ends", () => {
  expect(writtenLines("one\n\ntwo\n").map((line) => `${line.after ?? ""}${draw(line)}`)).toEqual(["1+one", "2+", "3+two"]);
  expect(writtenLines("one").map(draw)).toEqual(["+one", "\\no line feed at the end"]);
  expect(writtenLines("\n").map(draw)).toEqual(["+"]);
  expect(writtenLines("").map(draw)).toEqual(["\\nothing: the text is empty"]);
});
