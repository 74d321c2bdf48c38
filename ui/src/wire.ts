// What travels between this UI and the app: the Rust types of the app's wire module and the view's rows, in TypeScript.

/** RFC 3339 in UTC with milliseconds. */
export type Time = string;
/** A counter. */
export type Seq = number;

export type ApiError = { code: string; message: string; details: unknown };

export type Submit = { command_id: string; session_id: string; command: Command };

export type Command =
  | { type: "create_session"; agent_id: string; text: string }
  | { type: "send_message"; text: string; queue: boolean }
  | { type: "edit_message"; message_id: string; text: string }
  | { type: "regenerate"; message_id: string }
  | { type: "make_active"; message_id: string }
  | { type: "answer"; interrupt_id: string; shown_hash: string; answer: Answer }
  | { type: "cancel" };

export type Answer = { option: number | null; text: string | null; value: BareAnswer | null; cancel: boolean };

export type BareAnswer = { value: unknown };

export type Receipt = {
  session_id: string;
  turn_id: string | null;
  queued: boolean;
  resumed: boolean | null;
  closed: Closed | null;
  cancelled: boolean | null;
};

export type Closed = { at: Time; outcome: Outcome; responder: unknown };

export type ScheduledAnswer = {
  command_id: string;
  session_id: string;
  interrupt_id: string;
  shown_hash: string;
  answer: Answer;
  label: string;
  session_title: string;
  due_at: Time;
  switch_first: boolean;
  status: string;
  error: ApiError | null;
};

export type Forecast = {
  turn_id: string | null;
  model_calls: string[];
  tool_calls: string[];
  subagents: string[];
  queued_turns: string[];
  decisions: number;
  interrupts: string[];
  run: boolean;
};

export type ForecastOf =
  | { type: "cancel" }
  | { type: "make_active"; message_id: string }
  | { type: "edit_message"; message_id: string };

export type AgentRow = {
  agent_id: string;
  description: string | null;
  model: string | null;
  scripted: boolean;
  llm: string | null;
  worker: string | null;
  problem: string | null;
};

export type EngineStatus = {
  state: string;
  problem: string | null;
  address: string | null;
  spend_today_usd: string;
  running_sessions: number;
  last_answered_at: Time | null;
};

export type Bootstrap = {
  version: string;
  engine: EngineStatus;
  config_path: string;
  config_error: string | null;
  db_path: string;
  agents: AgentRow[];
  settings: unknown;
  drafts: Draft[];
  scheduled: ScheduledAnswer[];
  snoozed: Snoozed[];
  sample_session_id: string | null;
  sample_folder: string | null;
  user: string;
};

export type Draft = { key: string; value: unknown };

export type Snoozed = { session_id: string; interrupt_id: string; until: Time | null };

export type FeedFrom = { after: Seq; session_id: string | null; after_seq: Seq };

export type Frame =
  | { type: "lists"; counter: Seq; reset: boolean; sessions: SessionRow[]; interrupts: InterruptRow[] }
  | { type: "session"; patch: SessionPatch }
  | { type: "delta"; session_id: string; call_id: string; seq: Seq; text: string | null; reasoning: string | null }
  | { type: "engine"; engine: EngineStatus }
  | { type: "scheduled"; scheduled: ScheduledAnswer[] }
  | { type: "snoozed"; snoozed: Snoozed[] }
  | { type: "config"; agents: AgentRow[]; config_error: string | null };

export type EventRow = { seq: Seq; at: Time; turn_id: string | null; kind: string; payload: unknown };

export type SessionStatus = "idle" | "interrupted" | "done";

export type Activity = "waiting_for_you" | "running" | "waiting_for_tool" | "queued" | "failed" | "cancelled" | "idle";

export type UsageRow = { input_tokens: Seq; cached_input_tokens: Seq; output_tokens: Seq; cost_usd: string };

export type SessionRow = {
  session_id: string;
  root_session_id: string;
  parent_session_id: string | null;
  agent_id: string;
  title: string;
  status: SessionStatus;
  activity: Activity;
  turn_id: string | null;
  top_level: boolean;
  open_interrupts: number;
  pausing_interrupts: number;
  branches: number;
  model: string | null;
  scripted: boolean;
  queued_turns: number;
  first_event_at: Time;
  last_event_at: Time;
  wake_at: Time | null;
  usage: UsageRow;
  seq: Seq;
};

export type Outcome = "answered" | "declined" | "cancelled" | "expired" | "superseded";

export type PathStep = { session_id: string; agent_id: string };

export type InterruptRow = {
  session_id: string;
  root_session_id: string;
  path: PathStep[];
  session_title: string;
  interrupt_id: string;
  origin: string;
  reason: string;
  payload: unknown;
  has_payload: boolean;
  anchor: string | null;
  turn_id: string | null;
  opened_at: Time;
  opened_seq: Seq;
  on_active_branch: boolean;
  shown_hash: string;
  closed_at: Time | null;
  outcome: Outcome | null;
  responder: unknown;
  answer: unknown;
  verification: string | null;
};

export type NodeRow = {
  id: string;
  parent_id: string | null;
  seq: Seq;
  at: Time;
  turn_id: string | null;
  role: string;
  label: string;
  tool_calls: string[];
  tool_call_id: string | null;
};

export type NodeBody = { id: string; message: unknown };

export type CallRow = {
  id: string;
  kind: string;
  name: string;
  status: string;
  attempt: number;
  turn_id: string | null;
  anchor: string | null;
  handler: string;
  arguments: string | null;
  child_session_id: string | null;
  requested_at: Time;
  dispatched_at: Time | null;
  ended_at: Time | null;
  deadline: Time | null;
  clock_stopped: boolean;
  error: string | null;
  seq: Seq;
};

export type DecisionRow = {
  id: string;
  trigger: string;
  status: string;
  turn_id: string | null;
  attempts: number;
  queued_at: Time;
  error: string | null;
};

export type TurnStatus = "queued" | "running" | "paused" | "suspended" | "completed" | "failed" | "cancelled";

export type TurnRow = {
  turn_id: string;
  status: TurnStatus;
  started_at: Time | null;
  ended_at: Time | null;
  cost_usd: string;
  tokens: Seq;
  error: string | null;
  error_code: string | null;
  stack: string | null;
  message: string | null;
  seq: Seq;
};

export type SessionPatch = {
  session: SessionRow;
  after_seq: Seq;
  head_id: string | null;
  nodes: NodeRow[];
  calls: CallRow[];
  turns: TurnRow[];
  interrupts: InterruptRow[];
  decisions: DecisionRow[];
  state: unknown;
  agent: unknown;
};

// Between the desktop's shell and its window.

export type CardKey = { session_id: string; interrupt_id: string };

export type NotificationStatus = { service: string | null; problem: string | null };

export type ShellEvent =
  | { type: "open"; card: CardKey | null }
  | { type: "answered"; card: CardKey; refused: boolean; title: string; body: string }
  | { type: "notifications_unavailable"; problem: string }
  | { type: "test_clicked" };
