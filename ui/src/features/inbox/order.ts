// Which rows the inbox shows, in which order, under which headings. Pure: the clock comes in.

import type { InterruptRow, Snoozed } from "../../wire";
import { expiryOf, headline, riskOf } from "./question";

export type Sort = "oldest" | "risk" | "expiry" | "session";
export type Grouping = "none" | "session" | "agent" | "reason";

export interface Filter {
  agent: string[];
  reason: string[];
  session: string[];
  risk: string[];
  /** Looked for in the question, the title and the path. */
  words: string[];
}

const fields = ["agent", "reason", "session", "risk"] as const;

/** `agent:support risk:high refund`. A value with spaces takes quotes: `session:"Refund order"`. */
export function parseFilter(text: string): Filter {
  const filter: Filter = { agent: [], reason: [], session: [], risk: [], words: [] };
  for (const match of text.toLowerCase().matchAll(/(?:(\w+):)?(?:"([^"]*)"?|(\S+))/g)) {
    const value = match[2] ?? match[3] ?? "";
    const field = fields.find((each) => each === match[1]);
    if (field !== undefined) {
      // `agent:` with nothing after it is being typed: it filters nothing yet.
      if (value !== "") filter[field].push(value);
    } else if (match[0].endsWith(":") && fields.some((each) => `${each}:` === match[0])) {
      continue;
    } else {
      filter.words.push(match[1] === undefined ? value : `${match[1]}:${value}`);
    }
  }
  return filter;
}

/** Values of one field are alternatives; fields and words must all hold. */
export function passes(row: InterruptRow, filter: Filter): boolean {
  const agents = row.path.map((step) => step.agent_id.toLowerCase());
  const any = (wanted: string[], holds: (value: string) => boolean): boolean => wanted.length === 0 || wanted.some(holds);
  const all = `${headline(row)} ${row.session_title} ${agents.join(" ")} ${row.reason}`.toLowerCase();
  return (
    any(filter.agent, (value) => agents.some((agent) => agent.includes(value))) &&
    any(filter.reason, (value) => row.reason.toLowerCase().includes(value)) &&
    any(filter.session, (value) => row.session_title.toLowerCase().includes(value) || row.session_id.toLowerCase() === value) &&
    any(filter.risk, (value) => (riskOf(row.payload) ?? "none").startsWith(value)) &&
    filter.words.every((word) => all.includes(word))
  );
}

export function sorted(rows: readonly InterruptRow[], by: Sort): InterruptRow[] {
  const key = keys[by];
  return [...rows].sort((a, b) => compare(key(a), key(b)) || compare(a.opened_at, b.opened_at) || compare(a.interrupt_id, b.interrupt_id));
}

const riskRank = { high: 0, medium: 1, low: 2 };

const keys: Record<Sort, (row: InterruptRow) => string | number> = {
  oldest: (row) => row.opened_at,
  risk: (row) => riskRank[riskOf(row.payload) ?? "low"] + (riskOf(row.payload) === null ? 1 : 0),
  expiry: (row) => {
    const at = Date.parse(expiryOf(row.payload) ?? "");
    return Number.isNaN(at) ? Number.MAX_SAFE_INTEGER : at;
  },
  session: (row) => row.session_title.toLowerCase(),
};

export interface Group {
  /** Null: one list without headings. */
  name: string | null;
  rows: InterruptRow[];
}

/** Groups stand where their first row stands. */
export function grouped(rows: readonly InterruptRow[], by: Grouping): Group[] {
  if (by === "none") return [{ name: null, rows: [...rows] }];
  const groups = new Map<string, InterruptRow[]>();
  for (const row of rows) {
    const name = groupName(row, by);
    groups.set(name, [...(groups.get(name) ?? []), row]);
  }
  return [...groups].map(([name, inside]) => ({ name, rows: inside }));
}

function groupName(row: InterruptRow, by: Exclude<Grouping, "none">): string {
  switch (by) {
    case "session":
      return row.session_title;
    case "agent":
      return row.path.at(-1)?.agent_id ?? "";
    case "reason":
      return row.reason;
  }
}

/** `support › researcher`: who asks, from the root down. */
export function agentPath(row: Pick<InterruptRow, "path">): string {
  return row.path.map((step) => step.agent_id).join(" › ");
}

export type Sleep = { state: "awake"; back: boolean } | { state: "snoozed"; until: string } | { state: "dismissed" };

/** A snoozed row comes back at its time, with a mark; a dismissed one only by hand. */
export function sleepOf(row: InterruptRow, snoozed: readonly Snoozed[], now: number): Sleep {
  const mark = snoozed.find((each) => each.interrupt_id === row.interrupt_id && each.session_id === row.session_id);
  if (mark === undefined) return { state: "awake", back: false };
  if (mark.until === null) return { state: "dismissed" };
  return Date.parse(mark.until) > now ? { state: "snoozed", until: mark.until } : { state: "awake", back: true };
}

/** Choices of the snooze menu, from now. Tomorrow is nine in the morning, local time. */
export function snoozeChoices(now: Date): { label: string; until: Date }[] {
  const tomorrow = new Date(now.getFullYear(), now.getMonth(), now.getDate() + 1, 9);
  return [
    { label: "15 minutes", until: new Date(now.getTime() + 15 * 60_000) },
    { label: "1 hour", until: new Date(now.getTime() + 3_600_000) },
    { label: "Tomorrow at 9:00", until: tomorrow },
  ];
}

function compare<T extends string | number>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
