// (state, frame) → state. Pure; a frame that changes nothing returns the same state.

import type { Frame, InterruptRow, SessionPatch } from "../wire";
import { interruptKey, type Delta, type Followed, type State } from "./state";

export function apply(state: State, frame: Frame): State {
  switch (frame.type) {
    case "lists":
      return applyLists(state, frame);
    case "session":
      return applyPatch(state, frame.patch);
    case "delta":
      return applyDelta(state, frame);
    case "progress":
      return applyProgress(state, frame);
    case "engine":
      return { ...state, engine: frame.engine };
    case "scheduled":
      return { ...state, scheduled: frame.scheduled };
    case "snoozed":
      return { ...state, snoozed: frame.snoozed };
    case "config":
      return { ...state, agents: frame.agents, connections: frame.connections, config_error: frame.config_error };
  }
}

export function applyAll(state: State, frames: readonly Frame[]): State {
  return frames.reduce(apply, state);
}

function applyLists(state: State, frame: Extract<Frame, { type: "lists" }>): State {
  const sessions = new Map(frame.reset ? [] : state.sessions);
  for (const row of frame.sessions) sessions.set(row.session_id, row);
  // A reset names every open interrupt; the closed ones this window saw stay, for the cards that show how they ended.
  const kept = frame.reset ? [...state.interrupts].filter(([, row]) => row.closed_at !== null) : state.interrupts;
  const interrupts = new Map(kept);
  for (const row of frame.interrupts) keepNewer(interrupts, row);
  return { ...state, ready: true, counter: frame.counter, sessions, interrupts };
}

/** An id raised again is a new row with a later `opened_seq`; a late word about the old one changes nothing. */
function keepNewer(into: Map<string, InterruptRow>, row: InterruptRow): void {
  const known = into.get(interruptKey(row));
  if (known === undefined || row.opened_seq >= known.opened_seq) into.set(interruptKey(row), row);
}

function applyPatch(state: State, patch: SessionPatch): State {
  if (patch.session.session_id !== state.followedId) return state;
  const before = patch.after_seq === 0 ? null : state.followed;
  const followed: Followed = {
    session: patch.session,
    head_id: patch.head_id,
    ...foldNodes(before, patch),
    calls: upsert(before?.calls, patch.calls, (row) => row.id),
    turns: upsert(withoutQueued(before?.turns), patch.turns, (row) => row.turn_id),
    interrupts: patch.interrupts,
    decisions: patch.decisions,
    state: patch.state,
    agent: patch.agent,
  };
  const interrupts = new Map(state.interrupts);
  for (const row of patch.interrupts) keepNewer(interrupts, row);
  const sessions = new Map(state.sessions).set(patch.session.session_id, patch.session);
  return { ...state, sessions, interrupts, followed, deltas: dropEnded(state.deltas, before, patch), progress: dropEnded(state.progress, before, patch) };
}

function foldNodes(before: Followed | null, patch: SessionPatch): Pick<Followed, "nodes" | "nodeById"> {
  if (before !== null && patch.nodes.length === 0) return { nodes: before.nodes, nodeById: before.nodeById };
  const nodeById = new Map(before?.nodeById);
  // A whole session: 100,000 look-ups for nodes that cannot be known yet are spared.
  if (before === null) {
    for (const node of patch.nodes) nodeById.set(node.id, node);
    if (nodeById.size === patch.nodes.length) return { nodes: patch.nodes, nodeById };
    return { nodes: [...nodeById.values()], nodeById };
  }
  const fresh = patch.nodes.filter((node) => !nodeById.has(node.id));
  for (const node of fresh) nodeById.set(node.id, node);
  return { nodes: [...before.nodes, ...fresh], nodeById };
}

function upsert<Row>(before: ReadonlyMap<string, Row> | undefined, rows: readonly Row[], id: (row: Row) => string): ReadonlyMap<string, Row> {
  if (before !== undefined && rows.length === 0) return before;
  const after = new Map(before);
  for (const row of rows) after.set(id(row), row);
  return after;
}

/** Every turn that waits to start is told in each patch: one that is told no longer has started or was dropped. */
function withoutQueued(turns: Followed["turns"] | undefined): Followed["turns"] | undefined {
  if (turns === undefined || ![...turns.values()].some((turn) => turn.status === "queued")) return turns;
  return new Map([...turns].filter(([, turn]) => turn.status !== "queued"));
}

/** What was told of a call live goes when the call ends (its message is a node then) or starts over. */
function dropEnded<Live>(live: ReadonlyMap<string, Live>, before: Followed | null, patch: SessionPatch): ReadonlyMap<string, Live> {
  const stale = patch.calls.filter(
    (call) => live.has(call.id) && (call.ended_at !== null || (before?.calls.get(call.id)?.attempt ?? call.attempt) !== call.attempt),
  );
  if (stale.length === 0) return live;
  const after = new Map(live);
  for (const call of stale) after.delete(call.id);
  return after;
}

function applyDelta(state: State, frame: Extract<Frame, { type: "delta" }>): State {
  if (frame.session_id !== state.followedId) return state;
  const ended = state.followed?.calls.get(frame.call_id)?.ended_at ?? null;
  const known = state.deltas.get(frame.call_id);
  if (ended !== null || (known !== undefined && frame.seq <= known.seq)) return state;
  const delta: Delta = {
    session_id: frame.session_id,
    seq: frame.seq,
    text: (known?.text ?? "") + (frame.text ?? ""),
    reasoning: (known?.reasoning ?? "") + (frame.reasoning ?? ""),
  };
  return { ...state, deltas: new Map(state.deltas).set(frame.call_id, delta) };
}

function applyProgress(state: State, frame: Extract<Frame, { type: "progress" }>): State {
  if (frame.session_id !== state.followedId || frame.progress === null) return state;
  const ended = state.followed?.calls.get(frame.call_id)?.ended_at ?? null;
  const known = state.progress.get(frame.call_id);
  // A call that is sent again counts from 1 anew.
  if (ended !== null || (known !== undefined && frame.seq === known.seq)) return state;
  const { seq, progress, total, message } = frame;
  return { ...state, progress: new Map(state.progress).set(frame.call_id, { seq, progress, total, message }) };
}
