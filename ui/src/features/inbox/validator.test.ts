import { describe, expect, test } from "vitest";
import { canShow, faults, forDrawing } from "./validator";

const order = {
  type: "object",
  required: ["city", "days"],
  properties: {
    city: { type: "string", minLength: 2 },
    days: { type: "integer", minimum: 1, maximum: 14 },
    email: { type: "string", format: "email" },
    tags: { type: "array", items: { enum: ["a", "b"] }, uniqueItems: true },
    address: { type: "object", required: ["street"], properties: { street: { type: "string" } } },
  },
};

describe("a form's value is checked before it is sent (I-97)", () => {
  test.each([
    [{ city: "Oslo", days: 3 }, []],
    [{ city: "Oslo" }, ["days"]],
    [{}, ["city", "days"]],
    [{ city: "O", days: 3 }, ["city"]],
    [{ city: "Oslo", days: 15 }, ["days"]],
    [{ city: "Oslo", days: 1.5 }, ["days"]],
    [{ city: "Oslo", days: 3, email: "nobody" }, ["email"]],
    [{ city: "Oslo", days: 3, tags: ["c"] }, ["tags.0"]],
    [{ city: "Oslo", days: 3, address: {} }, ["address.street"]],
    [{ city: "Oslo", days: 3, email: undefined }, []],
    [undefined, [""]],
  ])("%j has faults at %j", (value, places) => {
    expect(faults(order, value).map((fault) => fault.path.join("."))).toEqual(places);
  });

  test("a schema that cannot be read lets nothing pass unseen", () => {
    expect(faults({ $ref: "#/nowhere" }, 1)).toHaveLength(1);
  });
});

describe("a schema a form cannot show is answered as JSON", () => {
  test.each([
    [order, true],
    [{ type: "string" }, true],
    [{ type: ["string", "null"] }, true],
    [{ enum: ["a"] }, true],
    [{ oneOf: [{ const: 1, title: "One" }, { const: 2, title: "Two" }] }, true],
    [{ type: "array", items: { type: "string" } }, true],
    [{}, false],
    [true, false],
    [{ type: "array" }, false],
    [{ type: "object", patternProperties: { "^x": { type: "string" } } }, false],
    [{ type: ["string", "number"] }, false],
    [{ $ref: "https://elsewhere" }, false],
    [{ type: "object", properties: { deep: { not: {} } } }, false],
  ])("%j: %j", (schema, expected) => {
    expect(canShow(schema)).toBe(expected);
  });
});

test("names beside an enum become the titles of its choices", () => {
  expect(forDrawing({ type: "string", enum: ["a", "b"], enumNames: ["First", "Second"] })).toEqual({
    type: "string",
    oneOf: [{ const: "a", title: "First" }, { const: "b", title: "Second" }],
  });
});
