/** How calls and turns are shown: one table each, so that no two panes call one thing by two names. Sessions have theirs beside the mark. */
import type { MarkKind } from "../../components/Mark";
import type { Followed } from "../../store/state";
import type { SessionRow, TurnRow, TurnStatus } from "../../wire";

export interface Standing {
  readonly word: string;
  readonly mark: MarkKind;
}

/** Call status as the engine writes it (B-12). */
export function callStanding(status: string): Standing {
  switch (status) {
    case "completed": return { word: "done", mark: "done" };
    case "failed": return { word: "failed", mark: "failed" };
    case "voided": return { word: "cancelled", mark: "cancelled" };
    case "queued": return { word: "not started", mark: "queued" };
    case "retry_scheduled": return { word: "tries again soon", mark: "queued" };
    case "pending":
    case "running": return { word: "running", mark: "running" };
    default: return { word: status, mark: "idle" };
  }
}

/** Open as B-12 means it: not over. */
export function isOpenCall(status: string): boolean {
  return status === "queued" || status === "pending" || status === "running" || status === "retry_scheduled";
}

export function turnStanding(status: TurnStatus): Standing {
  switch (status) {
    case "queued": return { word: "queued", mark: "queued" };
    case "running": return { word: "running", mark: "running" };
    case "paused": return { word: "waiting for you", mark: "waiting" };
    case "suspended": return { word: "held on another branch", mark: "waiting" };
    case "completed": return { word: "done", mark: "done" };
    case "failed": return { word: "failed", mark: "failed" };
    case "cancelled": return { word: "cancelled", mark: "cancelled" };
  }
}

/** Messages that wait for their turn. */
export function queuedTurns({ turns }: Pick<Followed, "turns">): TurnRow[] {
  return [...turns.values()].filter((turn) => turn.status === "queued");
}

/** A run is under way: a message sent now has to wait behind it. */
export function hasRun(row: Pick<SessionRow, "activity">): boolean {
  return row.activity === "running" || row.activity === "waiting_for_tool" || row.activity === "queued";
}
