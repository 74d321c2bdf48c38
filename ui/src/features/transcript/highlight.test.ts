import { describe, expect, it } from "vitest";
import { highlight, knownLanguage } from "./highlight";

describe("colours for code", () => {
  it("keep every character of the code, in order", async () => {
    const code = 'let a = "<img src=x onerror=hit()>";\n\n// \u202Edone\n';
    const lines = await highlight(code, "javascript");
    expect(lines.map((line) => line.map((piece) => piece.text).join("")).join("\n")).toBe(code);
    expect(new Set(lines.flat().map((piece) => piece.light)).size, "a string is not coloured as a keyword").toBeGreaterThan(1);
  });

  it.each([["ts", "typescript"], ["JSON", "json"], ["sh", "bash"], ["klingon", null], ["constructor", null], [null, null]])("%s is %s", (name, language) => {
    expect(knownLanguage(name)).toBe(language);
  });
});
