import { expect, test } from "vitest";
import { anInterrupt } from "../../transport/fake";
import type { InterruptRow, ScheduledAnswer } from "../../wire";
import { answerFor, rangeOf, scheduledFor, sharedOptions, skipReason } from "./bulk";

const yes = { label: "Yes", value: true, style: "primary" };
const no = { label: "No", value: false, style: "danger" };
const why = { label: "Why not", value: null, input: { label: "Reason", required: true } };

function ask(id: string, options: unknown[] | null, more: Partial<InterruptRow> = {}): InterruptRow {
  return anInterrupt({ interrupt_id: id, payload: { message: `Go ${id}?`, metadata: options === null ? {} : { options } }, ...more });
}

test("questions share what each of them offers with the same value, wherever it stands", () => {
  const rows = [ask("a", [yes, no, why]), ask("b", [no, why, yes])];
  expect(sharedOptions(rows).map((option) => [option.label, [...option.places.values()]])).toEqual([["Yes", [0, 2]], ["No", [1, 0]], ["Why not", [2, 1]]]);
});

test("the same word with another value is another answer", () => {
  expect(sharedOptions([ask("a", [yes]), ask("b", [{ ...yes, value: { approved: true } }])])).toEqual([]);
});

test("questions without options share the default pair", () => {
  expect(sharedOptions([ask("a", null), ask("b", null)]).map((option) => option.label)).toEqual(["Approve", "Decline"]);
});

test("each question gets the option at its own place, and the text where it is taken (I-98)", () => {
  const rows = [ask("a", [yes, why]), ask("b", [why, yes])];
  const shared = sharedOptions(rows);
  const [first, second] = [shared[0], shared[1]];
  if (first === undefined || second === undefined) throw new Error("both are shared");
  expect(rows.map((row) => answerFor(row, first, "unused"))).toMatchObject([{ answer: { option: 0, text: null } }, { answer: { option: 1, text: null } }]);
  expect(rows.map((row) => answerFor(row, second, " "))).toEqual(["text_required", "text_required"]);
  expect(rows.map((row) => answerFor(row, second, "too early"))).toMatchObject([{ answer: { option: 1, text: "too early" } }, { answer: { option: 0, text: "too early" } }]);
  expect(answerFor(ask("a", [yes]), "withdraw", "")).toMatchObject({ answer: { cancel: true } });
});

test("what changed since the list was opened is skipped (I-88)", () => {
  const row = ask("a", [yes]);
  const held: ScheduledAnswer = scheduledFor(row, { answer: { option: 0, text: null, value: null, cancel: false }, label: "Yes" }, "cmd", new Date(0));
  expect(skipReason(row, row, [])).toBeNull();
  expect(skipReason(row, undefined, [])).toMatch(/closed/);
  expect(skipReason(row, { ...row, closed_at: "x" }, [])).toMatch(/closed/);
  expect(skipReason(row, { ...row, opened_seq: 99 }, [])).toMatch(/changed/);
  expect(skipReason(row, ask("a", [yes, no]), [])).toMatch(/changed/);
  expect(skipReason(row, { ...row, on_active_branch: false }, [])).toMatch(/branch/);
  expect(skipReason(row, row, [held])).toMatch(/on its way/);
  expect(skipReason(row, row, [{ ...held, status: "refused" }])).toBeNull();
});

test.each([
  ["down", "b", "d", ["b", "c", "d"]],
  ["up", "d", "b", ["b", "c", "d"]],
  ["from nowhere", null, "c", ["c"]],
  ["from one that left", "z", "c", ["c"]],
])("a range reaches %s", (_, from, to, keys) => {
  expect(rangeOf(["a", "b", "c", "d"], from, to)).toEqual(keys);
});
