import { expect, test } from "vitest";
import { rank } from "./rank";

const items = ["Open in session", "New session…", "Refund order 88123", "Settings", "Snooze…"];

test.each([
  ["", items],
  ["se", ["Settings", "Open in session", "New session…"]],
  ["order ref", ["Refund order 88123"]],
  ["881", ["Refund order 88123"]],
  ["stngs", ["Settings"]],
  ["zz", []],
])("%j finds %j", (query, expected) => {
  expect(rank(items, query, (item) => item)).toEqual(expected);
});
