import { describe, expect, test } from "vitest";
import { aPatch, aSession, anInterrupt } from "../transport/fake";
import type { CallRow, Frame, NodeRow } from "../wire";
import { apply, applyAll } from "./apply";
import { emptyState, type State } from "./state";

const lists = (given: Partial<Extract<Frame, { type: "lists" }>>): Frame => ({ type: "lists", counter: 5, reset: false, sessions: [], interrupts: [], ...given });

function node(id: string, parent: string | null, seq: number): NodeRow {
  return { id, parent_id: parent, seq, at: "2026-11-30T12:00:00.000Z", turn_id: "turn_1", role: "user", label: id, tool_calls: [], tool_call_id: null };
}

function call(given: Partial<CallRow>): CallRow {
  return {
    id: "msg_c", kind: "llm_call", name: "scripted/demo", status: "pending", attempt: 1, turn_id: "turn_1", anchor: null, handler: "server", arguments: null,
    child_session_id: null, requested_at: "", dispatched_at: null, ended_at: null, deadline: null, clock_stopped: false, error: null, seq: 3, ...given,
  };
}

const following: State = { ...emptyState, followedId: "sesn_1" };
const delta = (seq: number, text: string, callId = "msg_c"): Frame => ({ type: "delta", session_id: "sesn_1", call_id: callId, seq, text, reasoning: null });

describe("lists", () => {
  test("a reset replaces sessions and open interrupts, and keeps the closed ones that were seen", () => {
    const before = applyAll(emptyState, [
      lists({ reset: true, sessions: [aSession({ session_id: "gone" })], interrupts: [anInterrupt({ interrupt_id: "gone" }), anInterrupt({ interrupt_id: "done", closed_at: "x" })] }),
    ]);
    const after = apply(before, lists({ reset: true, counter: 9, sessions: [aSession()], interrupts: [anInterrupt()] }));
    expect([...after.sessions.keys()]).toEqual(["sesn_1"]);
    expect([...after.interrupts.keys()].sort()).toEqual(["sesn_1/done", "sesn_1/int_1"]);
    expect(after.counter).toBe(9);
    expect(after.ready).toBe(true);
  });

  test("a closed interrupt settles in place", () => {
    const before = apply(emptyState, lists({ reset: true, interrupts: [anInterrupt()] }));
    const after = apply(before, lists({ interrupts: [anInterrupt({ closed_at: "2026-11-30T12:01:00.000Z", outcome: "answered" })] }));
    expect(after.interrupts.get("sesn_1/int_1")?.outcome).toBe("answered");
  });

  test("an id raised again replaces the old one, and a late word about the old one changes nothing (I-10)", () => {
    const again = apply(
      apply(emptyState, lists({ reset: true, interrupts: [anInterrupt({ opened_seq: 10 })] })),
      lists({ interrupts: [anInterrupt({ opened_seq: 20, reason: "again" })] }),
    );
    const late = apply(again, lists({ interrupts: [anInterrupt({ opened_seq: 10, closed_at: "x" })] }));
    expect(late.interrupts.get("sesn_1/int_1")).toMatchObject({ opened_seq: 20, reason: "again", closed_at: null });
  });
});

describe("the followed session", () => {
  test("a patch from the start replaces, a later one adds; the same node twice stands once", () => {
    const first = apply(following, { type: "session", patch: aPatch({ nodes: [node("a", null, 1)], calls: [call({ id: "x" })], head_id: "a" }) });
    const second = apply(first, { type: "session", patch: aPatch({ after_seq: 1, nodes: [node("a", null, 1), node("b", "a", 2)], head_id: "b" }) });
    expect(second.followed?.nodes.map((each) => each.id)).toEqual(["a", "b"]);
    expect(second.followed?.nodeById.get("b")?.parent_id).toBe("a");
    expect([...(second.followed?.calls.keys() ?? [])]).toEqual(["x"]);
    const whole = apply(second, { type: "session", patch: aPatch({ nodes: [node("c", null, 9)] }) });
    expect(whole.followed?.nodes.map((each) => each.id)).toEqual(["c"]);
    expect(whole.followed?.calls.size).toBe(0);
  });

  test("a patch without new nodes keeps the same array, so that nothing laid out from it is laid out again", () => {
    const first = apply(following, { type: "session", patch: aPatch({ nodes: [node("a", null, 1)] }) });
    const second = apply(first, { type: "session", patch: aPatch({ after_seq: 1 }) });
    expect(second.followed?.nodes).toBe(first.followed?.nodes);
    expect(second.followed?.calls).toBe(first.followed?.calls);
  });

  test("a patch of a session that is no longer followed changes nothing", () => {
    const patch = aPatch({ session: aSession({ session_id: "sesn_other" }) });
    expect(apply(following, { type: "session", patch })).toBe(following);
  });
});

describe("text of a reply under way", () => {
  test("letters add up in order, and one that came twice counts once", () => {
    const state = applyAll(following, [delta(1, "Let "), delta(2, "me "), delta(2, "me "), delta(3, "see")]);
    expect(state.deltas.get("msg_c")).toMatchObject({ text: "Let me see", seq: 3 });
  });

  test.each([
    ["ends", call({ ended_at: "2026-11-30T12:00:01.000Z", status: "completed" })],
    ["starts over", call({ attempt: 2 })],
  ])("it goes when its call %s", (_, changed) => {
    const started = apply(following, { type: "session", patch: aPatch({ calls: [call({})] }) });
    const state = applyAll(started, [delta(1, "half a"), { type: "session", patch: aPatch({ after_seq: 3, calls: [changed] }) }]);
    expect(state.deltas.size).toBe(0);
  });

  test("a letter that comes after the end is dropped", () => {
    const ended = apply(following, { type: "session", patch: aPatch({ calls: [call({ ended_at: "x" })] }) });
    expect(apply(ended, delta(7, "late"))).toBe(ended);
  });

  test("letters of another session are dropped", () => {
    expect(apply({ ...following, followedId: "sesn_2" }, delta(1, "x")).deltas.size).toBe(0);
  });
});

describe("progress of a tool call", () => {
  const told = (seq: number, progress: number, callId = "msg_c"): Frame => ({ type: "progress", session_id: "sesn_1", call_id: callId, seq, progress, total: 4, message: null });

  test("the newest word counts, and the first of a call that is sent again", () => {
    expect(applyAll(following, [told(1, 1), told(2, 3)]).progress.get("msg_c")).toEqual({ seq: 2, progress: 3, total: 4, message: null });
    expect(applyAll(following, [told(1, 1), told(2, 3), told(1, 0.5)]).progress.get("msg_c")?.progress).toBe(0.5);
  });

  test.each([
    ["ends", call({ ended_at: "2026-11-30T12:00:01.000Z", status: "completed" })],
    ["starts over", call({ attempt: 2 })],
  ])("it goes when its call %s, and comes no more after the end", (_, changed) => {
    const started = apply(following, { type: "session", patch: aPatch({ calls: [call({})] }) });
    const state = applyAll(started, [told(1, 1), { type: "session", patch: aPatch({ after_seq: 3, calls: [changed] }) }]);
    expect(state.progress.size).toBe(0);
    expect(apply(state, told(2, 2)).progress.size).toBe(changed.ended_at === null ? 1 : 0);
  });

  test("that of another session is dropped", () => {
    expect(apply({ ...following, followedId: "sesn_2" }, told(1, 1)).progress.size).toBe(0);
  });
});
