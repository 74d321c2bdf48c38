import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonical, sha256, shownHash } from "./shownHash";

describe("the hash of what was shown (I-88)", () => {
  test.each([
    ["", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"],
    ["abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"],
    ["abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"],
  ])("SHA-256 of %j is the standard's", (text, hash) => {
    expect(sha256(text)).toBe(hash);
  });

  test("SHA-256 equals another implementation's for any text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 300 }), (text) => {
        expect(sha256(text)).toBe(createHash("sha256").update(text, "utf8").digest("hex"));
      }),
    );
  });

  test.each([
    [{ b: 1, a: 2 }, '{"a":2,"b":1}'],
    [{ "\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\u{1f600}": 5, "\u0080": 6, "\u00f6": 7 }, '{"\\r":2,"1":4,"\u0080":6,"ö":7,"€":1,"😀":5,"\ufb33":3}'],
    [[1e30, 4.5, 2e-3, 1e-27, -0, 333333333.3333333], "[1e+30,4.5,0.002,1e-27,0,333333333.3333333]"],
    ['\u20ac$\u000f\nA\'B"\\\\"/', '"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"'],
    [{ a: undefined, b: null }, '{"b":null}'],
  ])("the canonical form of %j follows RFC 8785", (value, text) => {
    expect(canonical(value)).toBe(text);
  });

  test("a missing payload hashes as null (Q-56)", () => {
    const shown = { interrupt_id: "int_1", reason: "confirmation" };
    expect(shownHash({ ...shown, payload: undefined })).toBe(shownHash({ ...shown, payload: null }));
    expect(shownHash({ ...shown, payload: null })).toBe(
      createHash("sha256").update('{"interrupt_id":"int_1","payload":null,"reason":"confirmation"}').digest("hex"),
    );
  });
});
