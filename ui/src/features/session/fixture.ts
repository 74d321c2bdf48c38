/** A session for tests and for looking at: three branches, two pauses, tools that ended each way, a failed turn further up. */
import { aForecast, anInterrupt, aPatch, aSession, createFake, type FakeTransport } from "../../transport/fake";
import type { CallRow, NodeRow, SessionPatch, TurnRow } from "../../wire";

export const sessionId = "sesn_1";
const day = "2026-11-30T";

/** Minutes past two o'clock. */
const at = (minute: number): string => `${day}14:${String(minute).padStart(2, "0")}:00.000Z`;

export function aNode(id: string, parent_id: string | null, role: string, label: string, given: Partial<NodeRow> = {}): NodeRow {
  return { id, parent_id, seq: 1, at: at(2), turn_id: null, role, label, tool_calls: [], tool_call_id: null, ...given };
}

export function aCall(id: string, given: Partial<CallRow> = {}): CallRow {
  return {
    id, kind: "tool_call", name: "find_order", status: "completed", attempt: 1, turn_id: "turn_1", anchor: null, handler: "worker",
    arguments: '{"no": 88123}', child_session_id: null, requested_at: at(2), dispatched_at: at(2), ended_at: `${day}14:02:00.400Z`, deadline: null,
    clock_stopped: false, error: null, seq: 1, ...given,
  };
}

export function aTurn(turn_id: string, given: Partial<TurnRow> = {}): TurnRow {
  return {
    turn_id, status: "completed", started_at: at(2), ended_at: at(3), cost_usd: "0.011", tokens: 2140, error: null, error_code: null,
    stack: null, message: null, seq: 1, ...given,
  };
}

const numbered = (nodes: NodeRow[]): NodeRow[] => nodes.map((node, place) => ({ ...node, seq: place + 1 }));

const nodes = numbered([
  aNode("ask", null, "user", "Where is order 88123?", { turn_id: "turn_1" }),
  aNode("look", "ask", "assistant", "Let me look that order up.", { turn_id: "turn_1", tool_calls: ["call_find", "call_track"] }),
  aNode("found", "look", "tool", '{"no":88123,"status":"shipped"}', { turn_id: "turn_1", tool_call_id: "call_find" }),
  aNode("tracked", "found", "tool", "carrier did not answer", { turn_id: "turn_1", tool_call_id: "call_track" }),
  aNode("late", "tracked", "user", "Tell them it is late", { turn_id: "turn_2", at: at(5) }),
  aNode("draft", "late", "assistant", "Drafting a note", { turn_id: "turn_2", at: at(5) }),
  aNode("short", "draft", "user", "Shorter, please", { turn_id: "turn_3", at: at(6) }),
  aNode("note", "short", "assistant", "Here is the short note.", { turn_id: "turn_3", at: at(6) }),
  aNode("kind", "draft", "user", "Friendlier, please", { turn_id: "turn_4", at: at(7) }),
  aNode("send", "kind", "assistant", "Done. Shall I send it?", { turn_id: "turn_4", at: at(7) }),
  aNode("refund", "tracked", "user", "It has been two weeks. Refund it instead.", { turn_id: "turn_5", at: at(9) }),
  aNode("rules", "refund", "assistant", "Checking the rules", { turn_id: "turn_5", at: at(9), tool_calls: ["call_rules"] }),
  aNode("rules_r", "rules", "tool", "14 days without a scan: refund", { turn_id: "turn_5", at: at(9), tool_call_id: "call_rules" }),
  aNode("limits", "rules_r", "assistant", "policy_limits", { turn_id: "turn_5", at: at(9), tool_calls: ["call_limits"] }),
  aNode("limits_r", "limits", "tool", "limit 200.00", { turn_id: "turn_5", at: at(9), tool_call_id: "call_limits" }),
  aNode("card", "limits_r", "assistant", "find_card", { turn_id: "turn_5", at: at(9), tool_calls: ["call_card"] }),
  aNode("card_r", "card", "tool", "ends in 4417", { turn_id: "turn_5", at: at(9), tool_call_id: "call_card" }),
  aNode("qualifies", "card_r", "assistant", "The parcel has not moved since 12 November", { turn_id: "turn_5", at: at(9) }),
]);

const text = (role: string, content: string, more: object = {}): unknown => ({ role, content, ...more });
const asks = (id: string, name: string, args: string): unknown => ({ id, type: "function", function: { name, arguments: args } });

export const bodies: Record<string, unknown> = {
  ask: text("user", "Where is order 88123?"),
  look: text("assistant", "Let me look that order up.", { tool_calls: [asks("call_find", "find_order", '{"no": 88123}'), asks("call_track", "track_parcel", '{"carrier": "north", "no": "NX 77 123"}')] }),
  found: text("tool", '{"no":88123,"status":"shipped","items":[{"sku":"A-1","price":"148.00"}]}'),
  tracked: text("tool", "carrier did not answer"),
  late: text("user", "Tell them it is late"),
  draft: text("assistant", "Drafting a note"),
  short: text("user", "Shorter, please"),
  note: text("assistant", "Here is the short note."),
  kind: text("user", "Friendlier, please"),
  send: text("assistant", "Done. Shall I send it?"),
  refund: text("user", "It has been two weeks. Refund it instead of waiting."),
  rules: text("assistant", "Checking the rules", { tool_calls: [asks("call_rules", "refund_rules", "{}")] }),
  rules_r: text("tool", "14 days without a scan: refund"),
  limits: text("assistant", "", { tool_calls: [asks("call_limits", "policy_limits", '{"kind": "refund"}')] }),
  limits_r: text("tool", "limit 200.00"),
  card: text("assistant", "", { tool_calls: [asks("call_card", "find_card", '{"no": 88123}')] }),
  card_r: text("tool", "ends in 4417"),
  qualifies: text("assistant", "The parcel has not moved since 12 November, so the **14-day rule** applies. The refund would be **$148.00** to the card ending 4417:\n\n```json\n{\"order\": 88123, \"amount\": \"148.00\"}\n```"),
};

const done = (id: string, name: string, args = "{}"): CallRow => aCall(id, { name, arguments: args, anchor: "ask" });

export const refund = anInterrupt({
  session_id: sessionId, interrupt_id: "int_refund", anchor: "qualifies", turn_id: "turn_5", opened_at: at(10), opened_seq: 40,
  payload: {
    message: "Refund $148.00 to order 88123?",
    metadata: { options: [{ label: "Refund", value: "refund", style: "primary" }, { label: "Offer a coupon", value: "coupon" }, { label: "Decline", value: "no", style: "danger" }] },
  },
});
export const sendIt = anInterrupt({
  session_id: sessionId, interrupt_id: "int_send", anchor: "send", turn_id: "turn_4", opened_at: at(7), opened_seq: 30, on_active_branch: false,
  payload: { message: "Send the email?" },
});

export function aRichPatch(given: Partial<SessionPatch> = {}): SessionPatch {
  return aPatch({
    session: aSession({
      session_id: sessionId, activity: "waiting_for_you", status: "interrupted", open_interrupts: 2, pausing_interrupts: 1, branches: 3, seq: 60,
      usage: { input_tokens: 7210, cached_input_tokens: 3100, output_tokens: 994, cost_usd: "0.042" },
    }),
    head_id: "qualifies",
    nodes,
    calls: [
      done("call_find", "find_order", '{"no": 88123}'),
      aCall("call_track", { name: "track_parcel", status: "failed", arguments: '{"carrier": "north", "no": "NX 77 123"}', anchor: "ask", ended_at: `${day}14:02:09.000Z`, error: "carrier did not answer" }),
      done("call_rules", "refund_rules"), done("call_limits", "policy_limits", '{"kind": "refund"}'), done("call_card", "find_card", '{"no": 88123}'),
    ],
    turns: [aTurn("turn_1"), aTurn("turn_2", { cost_usd: "0.004", tokens: 800 }), aTurn("turn_3", { status: "cancelled" }), aTurn("turn_4", { status: "suspended", ended_at: null }), aTurn("turn_5", { status: "paused", ended_at: null })],
    interrupts: [sendIt, refund],
    state: { order: 88123, stage: "refund" },
    agent: { model: "demo", tools: ["find_order", "track_parcel"] },
    ...given,
  });
}

/** The same session while a model writes below a plain head. */
export function aRunningPatch(given: Partial<SessionPatch> = {}): SessionPatch {
  const rich = aRichPatch();
  return {
    ...rich,
    session: { ...rich.session, activity: "running", status: "idle", pausing_interrupts: 0, open_interrupts: 1, turn_id: "turn_6", queued_turns: 1 },
    interrupts: [sendIt],
    calls: [...rich.calls, aCall("msg_reply", { kind: "llm_call", name: "scripted/demo", status: "pending", anchor: "qualifies", handler: "server", arguments: null, ended_at: null, turn_id: "turn_6" })],
    decisions: [{ id: "dec_1", trigger: "client.messages", status: "waiting", turn_id: "turn_7", attempts: 0, queued_at: at(12), error: null }],
    turns: [...rich.turns.slice(0, 4), aTurn("turn_6", { status: "running", ended_at: null }), aTurn("turn_7", { status: "queued", started_at: null, ended_at: null, message: "And write it to the ledger" })],
    ...given,
  };
}

export function aFakeSession(patch: SessionPatch = aRichPatch()): FakeTransport {
  return createFake({
    sessions: [patch.session], interrupts: patch.interrupts, patches: { [sessionId]: patch }, bodies, forecast: aForecast({ run: true }),
  });
}
