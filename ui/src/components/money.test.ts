import { expect, test } from "vitest";
import { sumUsd, usd } from "./money";

test("amounts add up without the drift of floating point", () => {
  expect(sumUsd(["0.1", "0.2", "1", "0.000000000001"])).toBe("1.300000000001");
  expect(sumUsd([])).toBe("0.000000000000");
  expect(usd(sumUsd(["0.0007", "0.0004"]))).toBe("$0.0011");
});
