// The decision log as rows and as files: who decided what, when, over which channel, after how long.

import type { InterruptRow } from "../../wire";
import { closing } from "../inbox/closing";
import { headline } from "../inbox/question";
import { agentPath } from "../inbox/order";

export interface Decision {
  closed_at: string;
  opened_at: string;
  waited_seconds: number;
  outcome: string;
  question: string;
  reason: string;
  agent: string;
  session: string;
  session_id: string;
  interrupt_id: string;
  choice: string;
  text: string;
  answer: unknown;
  channel: string;
  user: string;
  verification: string;
  shown_hash: string;
}

export function decisionOf(row: InterruptRow, user: string): Decision {
  const told = closing(row, user);
  const responder = typeof row.responder === "object" && row.responder !== null ? (row.responder as Record<string, unknown>) : {};
  const closedAt = row.closed_at ?? "";
  return {
    closed_at: closedAt,
    opened_at: row.opened_at,
    waited_seconds: Math.max(0, Math.round((Date.parse(closedAt) - Date.parse(row.opened_at)) / 1000)),
    outcome: row.outcome ?? "",
    question: headline(row),
    reason: row.reason,
    agent: agentPath(row),
    session: row.session_title,
    session_id: row.session_id,
    interrupt_id: row.interrupt_id,
    choice: told.choice ?? "",
    text: told.text ?? "",
    answer: row.answer,
    channel: typeof responder.channel === "string" ? responder.channel : "api",
    user: typeof responder.user === "string" ? responder.user : "",
    verification: row.verification ?? "",
    shown_hash: row.shown_hash,
  };
}

export function toJson(decisions: readonly Decision[]): string {
  return `${JSON.stringify(decisions, null, 2)}\n`;
}

const columns: (keyof Decision)[] = [
  "closed_at", "opened_at", "waited_seconds", "outcome", "question", "reason", "agent", "session", "session_id", "interrupt_id", "choice", "text",
  "answer", "channel", "user", "verification", "shown_hash",
];

/** RFC 4180. A cell that a spreadsheet would run as a formula gets an apostrophe in front. */
export function toCsv(decisions: readonly Decision[]): string {
  const lines = decisions.map((decision) => columns.map((column) => cell(decision[column])).join(","));
  return [columns.join(","), ...lines, ""].join("\r\n");
}

function cell(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export function matches(decision: Decision, text: string): boolean {
  const all = [decision.question, decision.agent, decision.session, decision.choice, decision.text, decision.user, decision.channel, decision.outcome, decision.reason].join(" ").toLowerCase();
  return text.toLowerCase().split(/\s+/).every((word) => all.includes(word));
}
