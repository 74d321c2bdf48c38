// A transport in memory for tests and for looking at screens: rows are given, sent operations are recorded.

import type {
  ApiKeyRow, Bootstrap, ConnectionRow, FeedFrom, Frame, InterruptRow, NodeBody, Receipt, ScheduledAnswer, SessionPatch, SessionRow, Submit, EventRow,
  Forecast, Snoozed, ThreadRow,
} from "../wire";
import type { Transport } from "./transport";

export interface FakeData {
  bootstrap: Bootstrap;
  sessions: SessionRow[];
  interrupts: InterruptRow[];
  /** Whole sessions by id (`after_seq` 0). */
  patches: Record<string, SessionPatch>;
  bodies: Record<string, unknown>;
  events: Record<string, EventRow[]>;
  threads: ThreadRow[];
  keys: ApiKeyRow[];
  forecast: Forecast;
}

export interface Sent {
  op: string;
  args: unknown[];
}

export interface FakeTransport extends Transport {
  data: FakeData;
  /** Every operation in order, as the app would have got it. */
  sent: Sent[];
  /** Arguments of all calls of one operation. */
  calls(op: string): unknown[][];
  /** Sends a frame to every subscriber. */
  push(frame: Frame): void;
  /** Makes the next call of this operation fail. */
  refuseNext(op: string, error: Error): void;
  /** What `submit` answers; a receipt by default. */
  onSubmit: (submit: Submit) => Receipt;
}

export function createFake(given: Partial<FakeData> = {}): FakeTransport {
  const data: FakeData = {
    bootstrap: aBootstrap(),
    sessions: [],
    interrupts: [],
    patches: {},
    bodies: {},
    events: {},
    threads: [],
    keys: [],
    forecast: aForecast(),
    ...given,
  };
  const listeners = new Set<(frame: Frame) => void>();
  const refusals = new Map<string, Error>();
  let scheduled: ScheduledAnswer[] = [...data.bootstrap.scheduled];
  let snoozed: Snoozed[] = [...data.bootstrap.snoozed];

  function push(frame: Frame): void {
    for (const listener of listeners) listener(frame);
  }

  function op<T>(name: string, args: unknown[], result: () => T): Promise<T> {
    fake.sent.push({ op: name, args });
    const refusal = refusals.get(name);
    refusals.delete(name);
    return refusal === undefined ? Promise.resolve().then(result) : Promise.reject(refusal);
  }

  const fake: FakeTransport = {
    data,
    sent: [],
    push,
    calls: (name) => fake.sent.filter((each) => each.op === name).map((each) => each.args),
    refuseNext: (name, error) => void refusals.set(name, error),
    onSubmit: (submit) => ({
      session_id: submit.session_id, turn_id: "turn_1", queued: false, resumed: submit.command.type === "answer" ? true : null,
      closed: null, cancelled: null,
    }),
    bootstrap: () => op("bootstrap", [], () => data.bootstrap),
    subscribe(from: FeedFrom, onFrame) {
      let open = true;
      const listener = (frame: Frame): void => {
        if (open) onFrame(frame);
      };
      listeners.add(listener);
      queueMicrotask(() => {
        listener({ type: "lists", counter: 1, reset: from.after === 0, sessions: data.sessions, interrupts: data.interrupts });
        const patch = from.session_id === null ? undefined : data.patches[from.session_id];
        if (patch !== undefined) listener({ type: "session", patch });
      });
      return () => {
        open = false;
        listeners.delete(listener);
      };
    },
    submit: (submit) => op("submit", [submit], () => fake.onSubmit(submit)),
    forecast: (sessionId, of) => op("forecast", [sessionId, of], () => data.forecast),
    scheduleAnswer: (answer) =>
      op("schedule_answer", [answer], () => {
        scheduled = [...scheduled, answer];
        push({ type: "scheduled", scheduled });
      }),
    undoAnswer: (commandId) =>
      op("undo_answer", [commandId], () => {
        const known = scheduled.some((each) => each.command_id === commandId && each.status === "scheduled");
        scheduled = scheduled.filter((each) => each.command_id !== commandId);
        push({ type: "scheduled", scheduled });
        return known;
      }),
    dismissAnswer: (commandId) =>
      op("dismiss_answer", [commandId], () => {
        scheduled = scheduled.filter((each) => each.command_id !== commandId);
        push({ type: "scheduled", scheduled });
      }),
    nodeBodies: (sessionId, ids) =>
      op("node_bodies", [sessionId, ids], () => ids.flatMap((id): NodeBody[] => (id in data.bodies ? [{ id, message: data.bodies[id] }] : []))),
    listSessions: (before, limit) =>
      op("list_sessions", [before, limit], () => data.sessions.filter((row) => before === null || row.last_event_at < before).slice(0, limit)),
    listInterrupts: (state, before, limit) =>
      op("list_interrupts", [state, before, limit], () =>
        data.interrupts
          .filter((row) => state === "all" || (row.closed_at === null) === (state === "open"))
          .filter((row) => before === null || row.opened_at < before)
          .slice(0, limit),
      ),
    events: (sessionId, afterSeq, limit) =>
      op("events", [sessionId, afterSeq, limit], () => (data.events[sessionId] ?? []).filter((row) => row.seq > afterSeq).slice(0, limit)),
    threads: (sessionId) => op("threads", [sessionId], () => data.threads),
    interruptThread: (commandId, sessionId, threadSessionId, reason) => op("interrupt_thread", [commandId, sessionId, threadSessionId, reason], () => undefined),
    saveDraft: (draft) => op("save_draft", [draft], () => undefined),
    deleteDraft: (key) => op("delete_draft", [key], () => undefined),
    saveSettings: (settings) => op("save_settings", [settings], () => undefined),
    snooze: (row) =>
      op("snooze", [row], () => {
        snoozed = [...snoozed.filter((each) => each.interrupt_id !== row.interrupt_id || each.session_id !== row.session_id), row];
        push({ type: "snoozed", snoozed });
      }),
    authorizeConnection: (path) => op("authorize_connection", [path], () => ({ url: `https://auth.example.org/authorize?for=${path}`, host: "auth.example.org" })),
    setConnectionToken: (path, token) => op("set_connection_token", [path, token], () => undefined),
    forgetConnection: (path) => op("forget_connection", [path], () => undefined),
    listKeys: () => op("list_keys", [], () => data.keys),
    makeKey: (name, expiresAt) =>
      op("make_key", [name, expiresAt], () => {
        const row = aKey({ id: `key_${data.keys.length + 1}`, name, expires_at: expiresAt });
        data.keys = [...data.keys, row];
        return { id: row.id, key: `sk_live_${"k".repeat(40)}` };
      }),
    revokeKey: (id) =>
      op("revoke_key", [id], () => {
        data.keys = data.keys.map((row) => (row.id === id ? { ...row, revoked_at: "2026-11-30T12:30:00.000Z" } : row));
      }),
    unsnooze: (sessionId, interruptId) =>
      op("unsnooze", [sessionId, interruptId], () => {
        snoozed = snoozed.filter((each) => each.interrupt_id !== interruptId || each.session_id !== sessionId);
        push({ type: "snoozed", snoozed });
      }),
  };
  return fake;
}

export function aBootstrap(given: Partial<Bootstrap> = {}): Bootstrap {
  return {
    version: "0.1.0",
    engine: { state: "running", problem: null, address: "http://127.0.0.1:8080", spend_today_usd: "0.42", running_sessions: 1, last_answered_at: null },
    config_path: "/home/ada/holdpoint.toml",
    config_error: null,
    db_path: "/home/ada/holdpoint.db",
    agents: [],
    connections: [],
    settings: {},
    drafts: [],
    scheduled: [],
    snoozed: [],
    sample_session_id: null,
    sample_folder: null,
    user: "ada",
    ...given,
  };
}

export function aConnection(given: Partial<ConnectionRow> = {}): ConnectionRow {
  return { path: "mcp.files", server: "https://files.example.org/mcp", auth: "ask", credential: null, needs: null, waiting: false, problem: null, ...given };
}

export function aKey(given: Partial<ApiKeyRow> = {}): ApiKeyRow {
  return { id: "key_1", name: "ci", tenant: null, created_at: "2026-11-30T12:00:00.000Z", expires_at: null, revoked_at: null, ...given };
}

export function aForecast(given: Partial<Forecast> = {}): Forecast {
  return { turn_id: null, model_calls: [], tool_calls: [], subagents: [], queued_turns: [], decisions: 0, interrupts: [], run: false, ...given };
}

export function aSession(given: Partial<SessionRow> = {}): SessionRow {
  const id = given.session_id ?? "sesn_1";
  return {
    session_id: id, root_session_id: id, parent_session_id: null, agent_id: "support", title: "Refund order 88123", status: "idle",
    activity: "idle", turn_id: null, top_level: true, open_interrupts: 0, pausing_interrupts: 0, branches: 1, model: "scripted/demo",
    scripted: true, queued_turns: 0, first_event_at: "2026-11-30T12:00:00.000Z", last_event_at: "2026-11-30T12:05:00.000Z",
    wake_at: null, usage: { input_tokens: 0, cached_input_tokens: 0, output_tokens: 0, cost_usd: "0" }, seq: 1,
    ...given,
  };
}

export function aThread(given: Partial<ThreadRow> = {}): ThreadRow {
  return {
    session_id: "sesn_1", parent_session_id: null, depth: 0, agent_id: "support", title: "Refund order 88123", status: "running", waiting: false,
    usage: { input_tokens: 0, cached_input_tokens: 0, output_tokens: 0, cost_usd: "0" }, created_at: "2026-11-30T12:00:00.000Z",
    ended_at: null, ran_ms: 0, running_since: null, ...given,
  };
}

export function anInterrupt(given: Partial<InterruptRow> = {}): InterruptRow {
  const session = given.session_id ?? "sesn_1";
  return {
    session_id: session, root_session_id: session, path: [{ session_id: session, agent_id: "support" }],
    session_title: "Refund order 88123", interrupt_id: "int_1", origin: "frontend", reason: "confirmation", payload: null,
    has_payload: given.payload !== undefined && given.payload !== null, anchor: null, turn_id: "turn_1",
    opened_at: "2026-11-30T12:00:00.000Z", opened_seq: 10, on_active_branch: true, shown_hash: "", closed_at: null, outcome: null,
    responder: null, answer: null, verification: null,
    ...given,
  };
}

export function aPatch(given: Partial<SessionPatch> = {}): SessionPatch {
  return {
    session: aSession(), after_seq: 0, head_id: null, nodes: [], calls: [], turns: [], interrupts: [], decisions: [], state: null,
    agent: null, ...given,
  };
}
