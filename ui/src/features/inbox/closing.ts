// The words for how a question was closed, the same on its card and in the activity log.

import type { InterruptRow } from "../../wire";

export interface Closing {
  /** `Answered`, `Declined`, `Withdrawn`. */
  outcome: string;
  /** The option's label. */
  choice: string | null;
  /** `by ada on this desktop`. */
  by: string;
  /** Text that went along. */
  text: string | null;
  /** A bare answer's value; undefined when there is none to show. */
  value: unknown;
}

const channels: Record<string, string> = { slack: "in Slack", cli: "on the command line", "ag-ui": "through AG-UI" };

/** `user` is this desktop's own. */
export function closing(row: Pick<InterruptRow, "outcome" | "responder" | "answer">, user: string): Closing {
  const responder = record(row.responder);
  const wrapped = record(row.answer);
  const isWrapped = wrapped !== null && typeof wrapped.status === "string" && ("responder" in wrapped || "payload" in wrapped);
  const who = responder ?? (isWrapped ? record(wrapped.responder) : null);
  const label = text(who?.label);
  return {
    outcome: row.outcome === "declined" ? "Declined" : row.outcome === "cancelled" ? "Withdrawn" : row.outcome === "answered" ? "Answered" : "Closed",
    choice: label,
    by: by(who, user),
    text: text(who?.text),
    value: isWrapped || label !== null || row.answer === null || row.outcome === "cancelled" ? undefined : row.answer,
  };
}

function by(who: Record<string, unknown> | null, user: string): string {
  if (who === null) return "through the API";
  const channel = text(who.channel);
  const name = text(who.user);
  const place = channel === "desktop" ? (name === user || name === null ? "on this desktop" : "on the desktop") : (channels[channel ?? ""] ?? (channel === null ? "through the API" : `through ${channel}`));
  return name === null ? place : `by ${name} ${place}`;
}

function record(given: unknown): Record<string, unknown> | null {
  return typeof given === "object" && given !== null && !Array.isArray(given) ? (given as Record<string, unknown>) : null;
}

function text(given: unknown): string | null {
  return typeof given === "string" && given !== "" ? given : null;
}
