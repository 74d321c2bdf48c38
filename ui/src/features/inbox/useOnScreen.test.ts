import { expect, test } from "vitest";
import { isEnough } from "./useOnScreen";

test.each([
  ["a card drawn below the edge of the transcript", 0, 400, false],
  ["a sliver of it", 20, 400, false],
  ["its first lines", 96, 400, true],
  ["a small one, whole", 60, 60, true],
  ["one that is not laid out", 0, 0, false],
])("%s is on screen as far as it can be read", (_, shown, whole, seen) => {
  expect(isEnough(shown, whole)).toBe(seen);
});
