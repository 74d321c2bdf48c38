import { expect, test } from "vitest";
import { diffLines, type DiffLine } from "./Diff";

const draw = (line: DiffLine): string => `${line.kind} ${line.before ?? ""}:${line.after ?? ""} ${line.text}`;

test("a unified diff is numbered on both sides", () => {
  expect(diffLines("--- a/x\n+++ b/x\n@@ -3,3 +3,3 @@\n one\n-two\n+2\n three\n").map(draw)).toEqual([
    "note : --- a/x",
    "note : +++ b/x",
    "note : @@ -3,3 +3,3 @@",
    "same 3:3 one",
    "del 4: two",
    "add :4 2",
    "same 5:5 three",
  ]);
});

test("counts that do not add up cut nothing", () => {
  expect(diffLines("@@ -1,9 +1,9 @@\n-short").map(draw)).toEqual(["note : @@ -1,9 +1,9 @@", "del 1: short"]);
});

test("a removed line that begins with two dashes is a removed line", () => {
  expect(diffLines("@@ -1 +1 @@\n--- old\n+new").map(draw)).toEqual(["note : @@ -1 +1 @@", "del 1: -- old", "add :1 new"]);
});

test("without heads the signs alone are shown", () => {
  expect(diffLines("-a\n+b\nc").map(draw)).toEqual(["del : a", "add : b", "same : c"]);
});
