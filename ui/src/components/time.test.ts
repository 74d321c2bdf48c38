import { expect, test } from "vitest";
import { ago, expiry, span, took } from "./time";

const now = Date.parse("2026-11-30T12:00:00.000Z");
const before = (seconds: number): string => new Date(now - seconds * 1000).toISOString();

test.each([[0, "now"], [59, "now"], [60, "1 m"], [3599, "59 m"], [7200, "2 h"], [172_800, "2 d"]])("%i s is %s", (seconds, expected) => {
  expect(span(now - seconds * 1000, now)).toBe(expected);
});

test.each([[5, "just now"], [720, "12 min ago"], [10_800, "3 h ago"]])("%i s ago is %s", (seconds, expected) => {
  expect(ago(before(seconds), now)).toBe(expected);
});

test.each([[-3060, "expires in 51 m"], [-30, "expires in 30 s"], [10, "expired just now"], [180, "expired 3 m ago"]])("due %i s ago reads %s", (seconds, expected) => {
  expect(expiry(before(seconds), now)).toBe(expected);
});

test.each([[0.42, "0.4 s"], [12, "12 s"], [187, "3:07 min"], [3720, "1 h 2 min"]])("%d s took %s", (seconds, expected) => {
  expect(took(before(seconds), now)).toBe(expected);
});
