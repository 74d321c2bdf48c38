// The app behind HTTP: one POST per operation, the feed as server-sent events read with fetch so that the token can travel in a header.

import type { ApiError, FeedFrom, Frame } from "../wire";
import { sseData } from "./sse";
import { standing } from "./standing";
import { Refusal, type Line, type Transport } from "./transport";

const firstRetryMs = 250;
const longestRetryMs = 5000;

export function httpTransport(origin: string, token: string | null = operatorToken()): Transport {
  const headers: Record<string, string> = token === null ? {} : { authorization: `Bearer ${token}` };

  async function call<T>(name: string, args: Record<string, unknown>): Promise<T> {
    const response = await reach(`${origin}/api/desktop/${name}`, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify(args),
    });
    if (!response.ok) throw await refusalOf(response);
    const body = await response.text();
    return (body === "" ? null : JSON.parse(body)) as T;
  }

  return {
    bootstrap: () => call("bootstrap", {}),
    subscribe: (from, onFrame, onLine) => follow(`${origin}/api/desktop/feed`, headers, from, onFrame, onLine),
    submit: (submit) => call("submit", { submit }),
    forecast: (session_id, of) => call("forecast", { session_id, of }),
    scheduleAnswer: (answer) => call("schedule_answer", { answer }),
    undoAnswer: (command_id) => call("undo_answer", { command_id }),
    dismissAnswer: (command_id) => call("dismiss_answer", { command_id }),
    nodeBodies: (session_id, ids) => call("node_bodies", { session_id, ids }),
    listSessions: (before, limit) => call("list_sessions", { before, limit }),
    listInterrupts: (state, before, limit) => call("list_interrupts", { state, before, limit }),
    events: (session_id, after_seq, limit) => call("events", { session_id, after_seq, limit }),
    threads: (session_id) => call("threads", { session_id }),
    interruptThread: (command_id, session_id, thread_session_id, reason) => call("interrupt_thread", { command_id, session_id, thread_session_id, reason }),
    saveDraft: (draft) => call("save_draft", { draft }),
    deleteDraft: (key) => call("delete_draft", { key }),
    saveSettings: (settings) => call("save_settings", { settings }),
    snooze: (snoozed) => call("snooze", { snoozed }),
    unsnooze: (session_id, interrupt_id) => call("unsnooze", { session_id, interrupt_id }),
    authorizeConnection: (path) => call("authorize_connection", { path }),
    setConnectionToken: (path, token) => call("set_connection_token", { path, token }),
    forgetConnection: (path) => call("forget_connection", { path }),
    listKeys: () => call("list_keys", {}),
    makeKey: (name, expires_at) => call("make_key", { name, expires_at }),
    revokeKey: (id) => call("revoke_key", { id }),
    openExternal: async (url) => void window.open(url, "_blank", "noopener,noreferrer"),
  };
}

/** Given once as `?token=`, then kept for this tab and taken out of the address, so that it lands in no history or link. */
function operatorToken(): string | null {
  const address = new URL(location.href);
  const given = address.searchParams.get("token");
  if (given !== null) {
    sessionStorage.setItem("holdpoint.token", given);
    address.searchParams.delete("token");
    history.replaceState(history.state, "", address);
  }
  return sessionStorage.getItem("holdpoint.token");
}

/** Reads the feed, and after a lost line reads on from what was seen last: rows heal by themselves. */
function follow(url: string, headers: Record<string, string>, start: FeedFrom, onFrame: (frame: Frame) => void, onLine?: (line: Line) => void): () => void {
  const stop = new AbortController();
  let from = start;
  const take = (frame: Frame): void => {
    from = standing(from, frame);
    onFrame(frame);
  };
  const run = async (): Promise<void> => {
    let wait = firstRetryMs;
    while (!stop.signal.aborted) {
      try {
        await readFeed(`${url}?${query(from)}`, headers, stop.signal, take, () => {
          wait = firstRetryMs;
          onLine?.("open");
        });
      } catch {
        // Any reason to lose the line has one cure: read on.
      }
      if (stop.signal.aborted) return;
      onLine?.("lost");
      await pause(wait, stop.signal);
      wait = Math.min(wait * 2, longestRetryMs);
    }
  };
  void run();
  return () => stop.abort();
}

async function readFeed(url: string, headers: Record<string, string>, signal: AbortSignal, take: (frame: Frame) => void, opened: () => void): Promise<void> {
  const response = await fetch(url, { headers: { ...headers, accept: "text/event-stream" }, signal });
  if (!response.ok || response.body === null) throw await refusalOf(response);
  opened();
  for await (const data of sseData(response.body)) take(JSON.parse(data) as Frame);
}

function query(from: FeedFrom): string {
  const query = new URLSearchParams({ after: String(from.after), after_seq: String(from.after_seq) });
  if (from.session_id !== null) query.set("session_id", from.session_id);
  return query.toString();
}

async function reach(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init);
  } catch {
    throw new Refusal({ code: "unavailable", message: "Holdpoint does not answer. Check that it is still running.", details: null });
  }
}

async function refusalOf(response: Response): Promise<Refusal> {
  const body: unknown = await response.json().catch(() => null);
  const known = typeof body === "object" && body !== null ? (body as Partial<ApiError> & { error?: unknown }) : {};
  const fallback = response.status === 401 ? "This page has no valid token. Open the address that `holdpoint serve` printed." : `The server answered ${response.status}.`;
  const message = typeof known.message === "string" ? known.message : typeof known.error === "string" ? known.error : fallback;
  return new Refusal({ code: known.code ?? "failed", message, details: known.details ?? null });
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      done();
    });
  });
}
