import { expect, test } from "vitest";
import { splitMessage } from "./message";

test.each([
  ["Drop 3 indexes?", { title: "Drop 3 indexes?", body: "" }],
  ["## Drop 3 indexes?\n\nThey are unused.", { title: "Drop 3 indexes?", body: "They are unused." }],
  ["First line\nsecond line", { title: "First line", body: "second line" }],
  ["- a list\n- of things", null],
  ["```\ncode\n```", null],
  ["| a | b |\n|---|---|", null],
  ["Heading\n=======\ntext", null],
  ["x".repeat(200), null],
])("%j splits into %j", (message, expected) => {
  expect(splitMessage(message)).toEqual(expected);
});
