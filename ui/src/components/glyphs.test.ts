import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { hasHidden, pieces } from "./glyphs";

describe("hidden characters", () => {
  test.each([
    ["pay\u202e lla", ["U+202E"]],
    ["a\u200bb\u200dc", ["U+200B", "U+200D"]],
    ["\ufeffx", ["U+FEFF"]],
    ["tag\u{e0041}", ["U+E0041"]],
    ["bell\u0007", ["U+0007"]],
    ["soft\u00adhyphen", ["U+00AD"]],
    ["variation\ufe0f", ["U+FE0F"]],
    ["lonely\rreturn", ["U+000D"]],
  ])("%j shows %j", (text, codes) => {
    expect(pieces(text).flatMap((piece) => piece.code ?? [])).toEqual(codes);
  });

  test.each(["plain text", "tab\tand\nline", "windows\r\nline", "family 👨\u200d👩\u200d👧", "heart ❤\ufe0f", "digit 1\ufe0f\u20e3", "ümlaut é 你好 العربية"])("%j hides nothing", (text) => {
    expect(hasHidden(text)).toBe(false);
  });

  test("the pieces joined are the text, whatever it is", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(pieces(text).map((piece) => piece.text).join("")).toBe(text);
      }),
    );
  });
});
