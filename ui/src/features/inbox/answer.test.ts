import { describe, expect, test } from "vitest";
import { chooseForm, chooseOption, chooseTyped, readTyped, typedKind, withdraw } from "./answer";
import { readQuestion } from "./question";

const { options } = readQuestion({
  metadata: { options: [{ label: "Send", value: 1 }, { label: "Note", value: 2, input: { label: "Note" } }, { label: "Why", value: 3, input: { label: "Why", required: true } }] },
});

describe("answers", () => {
  test.each([
    [0, "kept", { option: 0, text: null }, false],
    [1, "hello", { option: 1, text: "hello" }, true],
    [1, "", { option: 1, text: null }, false],
    [2, "because", { option: 2, text: "because" }, true],
  ])("option %i with the text %j travels as %j (I-98)", (index, text, expected, usesText) => {
    expect(chooseOption(options, index, text)).toMatchObject({ answer: { ...expected, value: null, cancel: false }, usesText });
  });

  test("a required text blocks sending without it (I-98)", () => {
    expect(chooseOption(options, 2, "  ")).toBe("text_required");
  });

  test("an index that was not offered chooses nothing (I-57)", () => {
    expect(chooseOption(options, 3, "")).toBe("no_such_option");
  });

  test.each([
    ["42", 42, "JSON number"],
    ["true", true, "JSON boolean"],
    ["null", null, "JSON null"],
    ['"42"', "42", "JSON string"],
    ['{"a":1}', { a: 1 }, "JSON object"],
    ["[1]", [1], "JSON array"],
    ["hello", "hello", "text"],
    ["{broken", "{broken", "text"],
  ])("typed %j is sent as %j and shown as %s (I-96)", (text, value, kind) => {
    expect(readTyped(text).value).toEqual(value);
    expect(typedKind(readTyped(text))).toBe(kind);
    expect(chooseTyped(text).answer).toEqual({ option: null, text: null, value: { value }, cancel: false });
  });

  test("a form's value travels bare, null included (I-97)", () => {
    expect(chooseForm(null).answer.value).toEqual({ value: null });
    expect(chooseForm({ a: 1 }).answer).toEqual({ option: null, text: null, value: { value: { a: 1 } }, cancel: false });
  });

  test("withdrawing carries nothing but the cancel (I-99)", () => {
    expect(withdraw.answer).toEqual({ option: null, text: null, value: null, cancel: true });
  });
});
