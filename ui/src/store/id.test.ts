import { expect, test } from "vitest";
import { newSessionId, ulid } from "./id";

test("a ULID is 26 Crockford characters that sort by time", () => {
  expect(ulid(0, new Uint8Array(10))).toBe("00000000000000000000000000");
  expect(ulid(1469918176385, new Uint8Array(10))).toBe("01ARYZ6S410000000000000000");
  expect(ulid(1) < ulid(2)).toBe(true);
});

test("a session id is of the form a client may name (B-3)", () => {
  expect(newSessionId()).toMatch(/^sesn_[0-7][0-9A-HJKMNP-TV-Z]{25}$/);
});
