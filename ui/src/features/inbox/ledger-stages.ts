// How far an answer got, read from the schedule, the row and the log. Nothing is claimed that has not arrived.

import type { EventRow, InterruptRow, ScheduledAnswer } from "../../wire";

export type Stage = "scheduled" | "sent" | "recorded" | "told" | "effect";

export const stageWord: Record<Stage, string> = {
  scheduled: "scheduled",
  sent: "sent",
  recorded: "recorded by the engine",
  told: "worker told",
  effect: "effect seen",
};

export const stages: readonly Stage[] = ["scheduled", "sent", "recorded", "told", "effect"];

/** The furthest stage reached; null when nothing of an answer is known here. */
export function reached(row: InterruptRow, scheduled: ScheduledAnswer | undefined, events: readonly EventRow[]): Stage | null {
  if (row.closed_at !== null) return afterResume(events, row.interrupt_id) ?? "recorded";
  if (scheduled === undefined || scheduled.status === "refused") return null;
  return scheduled.status === "sent" ? "sent" : "scheduled";
}

// What a worker's proposal leads to, and what ends a turn: any of it after the worker was told is the answer's effect.
const effects = new Set([
  "message.new", "llm.call.requested", "tool.call.dispatched", "tool.call.completed", "tool.call.errored", "subagent.requested",
  "turn.completed", "session.interrupted", "channels.updated", "decision.completed",
]);

function afterResume(events: readonly EventRow[], interruptId: string): Stage | null {
  const at = events.findIndex((event) => event.kind === "session.interrupt_resumed" && member(event.payload, "interrupt_id") === interruptId);
  if (at < 0) return null;
  const after = events.slice(at + 1);
  const queued = after.find((event) => event.kind === "decision.queued" && member(member(event.payload, "trigger"), "interrupt_id") === interruptId);
  const decision = queued === undefined ? undefined : member(queued.payload, "id");
  const told = after.findIndex((event) => event.kind === "decision.dispatched" && (decision === undefined || member(event.payload, "id") === decision));
  if (told < 0) return "recorded";
  return after.slice(told + 1).some((event) => effects.has(event.kind)) ? "effect" : "told";
}

function member(of: unknown, name: string): unknown {
  return typeof of === "object" && of !== null ? (of as Record<string, unknown>)[name] : undefined;
}
