import { describe, expect, test } from "vitest";
import { anInterrupt } from "../../transport/fake";
import type { EventRow, ScheduledAnswer } from "../../wire";
import { reached } from "./ledger-stages";

const open = anInterrupt();
const closed = anInterrupt({ closed_at: "2026-11-30T12:01:00.000Z", outcome: "answered" });

function scheduled(status: string): ScheduledAnswer {
  return {
    command_id: "c", session_id: "sesn_1", interrupt_id: "int_1", shown_hash: "", answer: { option: 0, text: null, value: null, cancel: false },
    label: "Send", session_title: "", due_at: "", switch_first: false, status, error: null,
  };
}

function log(...events: [string, unknown][]): EventRow[] {
  return events.map(([kind, payload], index) => ({ seq: index + 1, at: "", turn_id: null, kind, payload }));
}

const resumed: [string, unknown] = ["session.interrupt_resumed", { interrupt_id: "int_1" }];
const queued: [string, unknown] = ["decision.queued", { id: "dec_2", trigger: { type: "interrupt.resumed", interrupt_id: "int_1" } }];

describe("the ledger claims no stage that has not arrived", () => {
  test.each([
    ["nothing sent", open, undefined, log(), null],
    ["held back", open, scheduled("scheduled"), log(), "scheduled"],
    ["sent", open, scheduled("sent"), log(), "sent"],
    ["refused", open, scheduled("refused"), log(), null],
    ["closed, log not read", closed, scheduled("sent"), log(), "recorded"],
    ["recorded", closed, undefined, log(resumed, queued), "recorded"],
    ["another decision is handed out", closed, undefined, log(resumed, queued, ["decision.dispatched", { id: "dec_1" }]), "recorded"],
    ["the worker has it", closed, undefined, log(resumed, queued, ["decision.dispatched", { id: "dec_2" }]), "told"],
    ["something came of it", closed, undefined, log(resumed, queued, ["decision.dispatched", { id: "dec_2" }], ["tool.call.completed", {}]), "effect"],
    ["an effect before the worker was told", closed, undefined, log(resumed, ["message.new", {}], queued), "recorded"],
  ] as const)("%s", (_, row, schedule, events, expected) => {
    expect(reached(row, schedule, events)).toBe(expected);
  });
});
