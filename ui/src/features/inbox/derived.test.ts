import { describe, expect, test } from "vitest";
import type { DiffLine } from "../../components/Diff";
import { derive } from "./derived";

const signs: Record<DiffLine["kind"], string> = { same: " ", del: "-", add: "+", note: "\\" };

/** What a person would read, line by line. */
function read(given: unknown): unknown {
  const derived = derive(given);
  if (derived === null) return null;
  const besides = derived.besides.length > 0 ? [`besides: ${derived.besides.join(", ")}`] : [];
  if (derived.kind === "command") return [`${derived.cwd ?? ""}$ ${derived.command}`, ...besides];
  return [...derived.files.flatMap((file) => [`${file.what} ${file.path ?? "?"}`, ...file.lines.map((line) => signs[line.kind] + line.text)]), ...besides];
}

describe("text that a call would put into a file is read off its arguments", () => {
  test.each([
    ["a whole text", { path: "a.md", content: "one\ntwo\n" }, ["writes a.md", "+one", "+two"]],
    ["a whole text under other names", { file_path: "a.md", file_text: "one" }, ["writes a.md", "+one", "\\no line feed at the end"]],
    ["an empty text", { filePath: "a.md", contents: "" }, ["writes a.md", "\\nothing: the text is empty"]],
    ["an old and a new text", { path: "a", old_string: "x\ny\n", new_string: "x\nz\n" }, ["changes a", " x", "-y", "+z"]],
    ["a text to remove", { path: "a", oldText: "x", newText: "" }, ["changes a", "-x"]],
    ["an editor's command with a path", { command: "str_replace", path: "/a", old_str: "x\n", new_str: "y\n" }, ["changes /a", "-x", "+y", "besides: command"]],
    ["several edits of one file", { path: "a", edits: [{ oldText: "1", newText: "2" }, { oldText: "3", newText: "4" }], dryRun: false },
      ["changes a", "\\change 1 of 2", "-1", "+2", "\\change 2 of 2", "-3", "+4", "besides: dryRun"]],
    ["several files", { branch: "main", files: [{ path: "a", content: "1\n" }, { path: "b", content: "2\n", mode: "x" }] },
      ["writes a", "+1", "writes b", "+2", "besides: branch, files[].mode"]],
    ["a patch", { patch: "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n" }, ["patch ?", "\\--- a/x", "\\+++ b/x", "\\@@ -1 +1 @@", "-old", "+new"]],
  ])("%s", (_, given, expected) => {
    expect(read(given)).toEqual(expected);
  });
});

describe("a command line is read off its arguments", () => {
  test.each([
    ["a line", { command: "rm -rf build && make" }, ["$ rm -rf build && make"]],
    ["a list, with its edges", { cmd: ["rm", "-rf", "a b"], cwd: "/srv" }, ["/srv$ rm -rf 'a b'"]],
    ["a program and its parameters", { command: "git", args: ["commit", "-m", "it's"] }, [`$ git commit -m 'it'\\''s'`]],
    ["a program without parameters", { command: "npm test", args: [] }, ["$ npm test"]],
    ["with more beside it", { command: "ls", timeout: 5, env: { A: "b" } }, ["$ ls", "besides: timeout, env"]],
    ["with a folder that is no text", { command: "ls", cwd: 3 }, ["$ ls", "besides: cwd"]],
  ])("%s", (_, given, expected) => {
    expect(read(given)).toEqual(expected);
  });
});

describe("what is not plain is left to the JSON tree", () => {
  test.each([
    ["no arguments", {}],
    ["text that is no object", "not json"],
    ["a list", ["ls"]],
    ["a path alone", { path: "a" }],
    ["a text without a path", { content: "a" }],
    ["two paths", { path: "a", file: "b", content: "x" }],
    ["a path that is no text", { path: 3, content: "x" }],
    ["a content that is no text", { path: "a", content: { x: 1 } }],
    ["a search without a replacement", { path: "a", search: "x" }],
    ["two new texts", { path: "a", old_text: "x", new_text: "y", content: "z" }],
    ["a list with an entry that does not fit", { path: "a", edits: [{ oldText: "1", newText: "2" }, { insert: "x" }] }],
    ["an empty list", { path: "a", edits: [] }],
    ["a diff that is a flag", { diff: true, path: "a" }],
    ["a diff that is a word", { diff: "HEAD~1" }],
    ["an editor's verb", { command: "view", path: "/a" }],
    ["an empty command", { command: "  " }],
    ["an empty command list", { command: [] }],
    ["a command that is an object", { command: { run: "ls" } }],
    ["parameters that are no list", { command: "git", args: { m: 1 } }],
    ["two commands", { command: "ls", cmd: "rm" }],
  ])("%s", (_, given) => {
    expect(derive(given)).toBeNull();
  });
});
