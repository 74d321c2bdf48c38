// The five signs of state. Shape and word carry the meaning; colour only helps.

import { Ban, Check, Circle, Hourglass, LoaderCircle, X, Clock3 } from "lucide-react";
import type { Activity } from "../wire";
import css from "./Mark.module.css";

export type MarkKind = "waiting" | "running" | "tool" | "queued" | "failed" | "done" | "cancelled" | "idle";

export function Mark({ kind, label }: { kind: MarkKind; label?: string }) {
  return (
    <span className={css.mark} data-kind={kind} role={label === undefined ? undefined : "img"} aria-label={label} aria-hidden={label === undefined}>
      <Sign kind={kind} />
    </span>
  );
}

function Sign({ kind }: { kind: MarkKind }) {
  switch (kind) {
    case "waiting":
      return (
        <svg viewBox="0 0 14 14">
          <circle cx="7" cy="7" r="6.4" fill="currentColor" />
          <path d="M5.4 4.6v4.8M8.6 4.6v4.8" stroke="var(--panel)" strokeWidth="1.5" strokeLinecap="round" />
        </svg>
      );
    case "running":
      return <LoaderCircle />;
    case "tool":
      return <Hourglass />;
    case "queued":
      return <Clock3 />;
    case "failed":
      return <X />;
    case "done":
      return <Check />;
    case "cancelled":
      return <Ban />;
    case "idle":
      return <Circle />;
  }
}

export const activityMark: Record<Activity, MarkKind> = {
  waiting_for_you: "waiting",
  running: "running",
  waiting_for_tool: "tool",
  queued: "queued",
  failed: "failed",
  cancelled: "cancelled",
  idle: "idle",
};

/** The one word a session is shown with. */
export function activityWord(row: { activity: Activity; pausing_interrupts: number }): string {
  switch (row.activity) {
    case "waiting_for_you":
      return `waiting for you (${row.pausing_interrupts})`;
    case "waiting_for_tool":
      return "waiting for a tool";
    default:
      return row.activity;
  }
}
