// Everything the screens draw from. A projection of the feed: no rule of the engine is decided here.

import type {
  AgentRow, CallRow, ConnectionRow, DecisionRow, EngineStatus, InterruptRow, NodeRow, ScheduledAnswer, SessionRow, Snoozed, TurnRow,
} from "../wire";

export interface Followed {
  session: SessionRow;
  head_id: string | null;
  /** In log order. */
  nodes: readonly NodeRow[];
  nodeById: ReadonlyMap<string, NodeRow>;
  calls: ReadonlyMap<string, CallRow>;
  turns: ReadonlyMap<string, TurnRow>;
  interrupts: readonly InterruptRow[];
  decisions: readonly DecisionRow[];
  state: unknown;
  agent: unknown;
}

/** Text of a reply under way, by its call. */
export interface Delta {
  session_id: string;
  seq: number;
  text: string;
  reasoning: string;
}

/** How far a tool call under way is, by its call. */
export interface Progress {
  seq: number;
  progress: number;
  total: number | null;
  message: string | null;
}

export interface State {
  /** False until the lists arrived for the first time. */
  ready: boolean;
  /** Where the reader stands in the lists. */
  counter: number;
  sessions: ReadonlyMap<string, SessionRow>;
  /** Open ones, and those closed while this window was open so that their cards can say how. By {@link interruptKey}. */
  interrupts: ReadonlyMap<string, InterruptRow>;
  followed: Followed | null;
  /** The session asked for; `followed` is null until its first patch. */
  followedId: string | null;
  deltas: ReadonlyMap<string, Delta>;
  progress: ReadonlyMap<string, Progress>;
  scheduled: readonly ScheduledAnswer[];
  snoozed: readonly Snoozed[];
  engine: EngineStatus;
  agents: readonly AgentRow[];
  connections: readonly ConnectionRow[];
  config_error: string | null;
  /** By the UI's own keys: `interrupt:<session>:<id>`, `composer:<session>:<head>`, `edit:<session>:<message>`. */
  drafts: ReadonlyMap<string, unknown>;
  settings: Settings;
  about: About;
}

export interface Settings {
  theme: "system" | "light" | "dark";
  /** How long an answer is held back so that it can be undone; 0 sends at once. */
  undo_ms: number;
  /** What this version does not know is kept as it was. */
  [other: string]: unknown;
}

interface About {
  version: string;
  user: string;
  config_path: string;
  db_path: string;
  /** The sample project's session, while it is the only one. */
  sample_session_id: string | null;
  sample_folder: string | null;
}

export const emptyState: State = {
  ready: false,
  counter: 0,
  sessions: new Map(),
  interrupts: new Map(),
  followed: null,
  followedId: null,
  deltas: new Map(),
  progress: new Map(),
  scheduled: [],
  snoozed: [],
  engine: { state: "running", problem: null, address: null, spend_today_usd: "0", running_sessions: 0, last_answered_at: null },
  agents: [],
  connections: [],
  config_error: null,
  drafts: new Map(),
  settings: { theme: "system", undo_ms: 4000 },
  about: { version: "", user: "", config_path: "", db_path: "", sample_session_id: null, sample_folder: null },
};

/** Settings as saved, with defaults for what is missing or not of its kind. */
export function readSettings(saved: unknown): Settings {
  const known = typeof saved === "object" && saved !== null && !Array.isArray(saved) ? (saved as Record<string, unknown>) : {};
  const theme = known.theme === "light" || known.theme === "dark" ? known.theme : "system";
  const undo = typeof known.undo_ms === "number" && known.undo_ms >= 0 ? known.undo_ms : emptyState.settings.undo_ms;
  return { ...known, theme, undo_ms: undo };
}

export function interruptKey(row: { session_id: string; interrupt_id: string }): string {
  return `${row.session_id}/${row.interrupt_id}`;
}
