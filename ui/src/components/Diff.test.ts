import { expect, test } from "vitest";
import { diffLines } from "./Diff";

test("a unified diff is numbered on both sides", () => {
  expect(diffLines("--- a/x\n+++ b/x\n@@ -3,3 +3,3 @@\n one\n-two\n+2\n three\n")).toEqual([
    { kind: "note", text: "@@ -3,3 +3,3 @@", before: null, after: null },
    { kind: "same", text: "one", before: 3, after: 3 },
    { kind: "del", text: "two", before: 4, after: null },
    { kind: "add", text: "2", before: null, after: 4 },
    { kind: "same", text: "three", before: 5, after: 5 },
  ]);
});

test("a text that is no diff is not read as one", () => {
  expect(diffLines("hello\nworld")).toBeNull();
  expect(diffLines("@@ -1,9 +1,9 @@\n-short")).toBeNull();
});
