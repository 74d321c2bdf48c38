/**
 * The words a session, a call and a turn are shown with. One table each, so that no two screens call one thing by two names.
 */
import type { SessionRow, TurnStatus } from "../../wire";

export type Tone = "wait" | "run" | "ok" | "danger" | "quiet";

export interface StatusWord {
  readonly word: string;
  readonly tone: Tone;
  /** Beside the word: colour is never the only sign. */
  readonly sign: string;
}

export function sessionStatus(row: Pick<SessionRow, "activity" | "pausing_interrupts" | "queued_turns">): StatusWord {
  switch (row.activity) {
    case "waiting_for_you": return { word: `waiting for you (${row.pausing_interrupts})`, tone: "wait", sign: "⏸" };
    case "waiting_for_tool": return { word: "waiting for a tool", tone: "run", sign: "◌" };
    case "running": return { word: "running", tone: "run", sign: "◌" };
    case "queued": return { word: row.queued_turns > 0 ? `queued (${row.queued_turns})` : "queued", tone: "quiet", sign: "◌" };
    case "failed": return { word: "failed", tone: "danger", sign: "✕" };
    case "cancelled": return { word: "cancelled", tone: "quiet", sign: "⊘" };
    case "idle": return { word: "idle", tone: "quiet", sign: "✓" };
  }
}

/** Call status as the engine writes it (B-12). */
export function callStatus(status: string): StatusWord {
  switch (status) {
    case "completed": return { word: "done", tone: "ok", sign: "✓" };
    case "failed": return { word: "failed", tone: "danger", sign: "✕" };
    case "voided": return { word: "cancelled", tone: "quiet", sign: "⊘" };
    case "queued": return { word: "not started", tone: "quiet", sign: "◌" };
    case "retry_scheduled": return { word: "trying again soon", tone: "wait", sign: "◌" };
    case "pending":
    case "running": return { word: "running", tone: "run", sign: "◌" };
    default: return { word: status, tone: "quiet", sign: "◌" };
  }
}

export function isOpenCall(status: string): boolean {
  return status === "queued" || status === "pending" || status === "running" || status === "retry_scheduled";
}

export function turnStatus(status: TurnStatus): StatusWord {
  switch (status) {
    case "queued": return { word: "queued", tone: "quiet", sign: "◌" };
    case "running": return { word: "running", tone: "run", sign: "◌" };
    case "paused": return { word: "waiting for you", tone: "wait", sign: "⏸" };
    case "suspended": return { word: "held on another branch", tone: "wait", sign: "⏸" };
    case "completed": return { word: "done", tone: "ok", sign: "✓" };
    case "failed": return { word: "failed", tone: "danger", sign: "✕" };
    case "cancelled": return { word: "cancelled", tone: "quiet", sign: "⊘" };
  }
}

/** A run is under way: a message sent now has to wait. */
export function hasRun(row: Pick<SessionRow, "activity">): boolean {
  return row.activity === "running" || row.activity === "waiting_for_tool" || row.activity === "queued";
}
