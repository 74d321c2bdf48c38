// Derived lists. Each takes the state's parts and is memoised by its caller.

import type { InterruptRow, SessionRow } from "../wire";
import type { State } from "./state";

export function openInterrupts(interrupts: State["interrupts"]): InterruptRow[] {
  return [...interrupts.values()].filter((row) => row.closed_at === null);
}

/** Hidden in this desktop now: dismissed, or snoozed until later than `now`. */
export function hiddenNow(snoozed: State["snoozed"], row: InterruptRow, now: number): boolean {
  const mark = snoozed.find((each) => each.interrupt_id === row.interrupt_id && each.session_id === row.session_id);
  return mark !== undefined && (mark.until === null || Date.parse(mark.until) > now);
}

export function newestSessions(sessions: State["sessions"]): SessionRow[] {
  return [...sessions.values()].filter((row) => row.top_level).sort((a, b) => (a.last_event_at < b.last_event_at ? 1 : -1));
}

/** Title as shown: a session without a user message yet has none. */
export function sessionTitle(row: { title: string; agent_id: string }): string {
  return row.title === "" ? `New session with ${row.agent_id}` : row.title;
}
