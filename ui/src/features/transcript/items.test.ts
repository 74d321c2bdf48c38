import { describe, expect, it } from "vitest";
import { aForecast, anInterrupt } from "../../transport/fake";
import type { CallRow, NodeRow, TurnRow } from "../../wire";
import { buildTreeIndex, pathTo } from "../tree/treeIndex";
import { editConsequence } from "./consequence";
import { toolStatus, transcriptItems, type Item } from "./items";
import { readMessage } from "./message";

let seq = 0;
function node(id: string, parent_id: string | null, role: string, given: Partial<NodeRow> = {}): NodeRow {
  seq += 1;
  return { id, parent_id, seq, at: "2026-11-30T12:00:00.000Z", turn_id: "turn_1", role, label: id, tool_calls: [], tool_call_id: null, ...given };
}

function call(id: string, kind: string, status: string, anchor: string): CallRow {
  return {
    id, kind, name: "find_order", status, attempt: 1, turn_id: "turn_1", anchor, handler: "server", arguments: "{}", child_session_id: null,
    requested_at: "2026-11-30T12:00:00.000Z", dispatched_at: null, ended_at: null, deadline: null, clock_stopped: false, error: null, seq: 1,
  };
}

function turn(turn_id: string, status: TurnRow["status"]): TurnRow {
  return { turn_id, status, started_at: null, ended_at: null, cost_usd: "0", tokens: 0, error: "no key", error_code: "failed", stack: null, message: null, seq: 1 };
}

function items(nodes: NodeRow[], tip: string, rest: { calls?: CallRow[]; turns?: TurnRow[]; anchors?: string[] } = {}): Item[] {
  const index = buildTreeIndex(nodes);
  return transcriptItems({
    index, path: pathTo(index, tip),
    calls: new Map((rest.calls ?? []).map((row) => [row.id, row])),
    turns: new Map((rest.turns ?? []).map((row) => [row.turn_id, row])),
    interrupts: (rest.anchors ?? []).map((anchor, at) => anInterrupt({ interrupt_id: `int_${at}`, anchor })),
  });
}

const keys = (list: Item[]): string[] => list.map((item) => `${item.kind} ${item.key}`);

describe("the transcript's items", () => {
  const asks = [
    node("ask", null, "user"),
    node("reply", "ask", "assistant", { tool_calls: ["c1", "c2"] }),
    node("r1", "reply", "tool", { tool_call_id: "c1" }),
  ];

  it("show a tool's answer inside the card of its call", () => {
    expect(keys(items(asks, "r1"))).toEqual(["message ask", "message reply", "tool tool:reply:c1", "tool tool:reply:c2"]);
  });

  it("show a tool message whose call is not on this path as a message", () => {
    expect(keys(items([node("a", null, "user"), node("t", "a", "tool", { tool_call_id: "gone" })], "t"))).toEqual(["message a", "message t"]);
  });

  it("put a question after its anchor and the anchor's calls", () => {
    const nodes = [...asks, node("other", "ask", "assistant")];
    expect(keys(items(nodes, "r1", { anchors: ["reply", "other"] }))).toEqual(
      ["message ask", "message reply", "tool tool:reply:c1", "tool tool:reply:c2", "interrupt pause:int_0"],
    );
  });

  it("show a question without a known anchor at the end of every path", () => {
    expect(keys(items(asks, "ask", { anchors: ["not yet known"] }))).toEqual(["message ask", "interrupt pause:int_0"]);
  });

  it("tell a failed turn below its last message, and nothing of a completed one", () => {
    const nodes = [...asks, node("next", "r1", "user", { turn_id: "turn_2" }), node("ok", "next", "assistant", { turn_id: "turn_3" })];
    const turns = [turn("turn_1", "failed"), turn("turn_2", "cancelled"), turn("turn_3", "completed")];
    expect(keys(items(nodes, "ok", { turns }))).toEqual([
      "message ask", "message reply", "tool tool:reply:c1", "tool tool:reply:c2", "ended ended:turn_1", "message next", "ended ended:turn_2", "message ok",
    ]);
  });

  it("stream a reply under way at the end of its path only, until its message is there", () => {
    const open = call("msg_9", "llm_call", "pending", "r1");
    expect(keys(items(asks, "r1", { calls: [open] })).at(-1)).toBe("stream msg_9");
    expect(keys(items(asks, "reply", { calls: [open] }))).not.toContain("stream msg_9");
    expect(keys(items([...asks, node("msg_9", "r1", "assistant")], "msg_9", { calls: [open] })).at(-1)).toBe("message msg_9");
  });

  it("mark where the path forks", () => {
    const nodes = [node("a", null, "user"), node("b", "a", "user"), node("b2", "a", "user")];
    expect(items(nodes, "b").map((item) => item.kind === "message" && item.forked)).toEqual([false, true]);
  });

  it.each([
    ["completed", call("c1", "tool_call", "completed", "reply"), "r1"],
    ["failed", call("c1", "tool_call", "failed", "reply"), "r1"],
    ["voided", null, "cancelled: the turn ended"],
    ["completed", null, "r1"],
  ])("know that a call is %s", (expected, row, label) => {
    const nodes = [asks[0]!, node("reply", "ask", "assistant", { tool_calls: ["c1"] }), node("r1", "reply", "tool", { tool_call_id: "c1", label })];
    const card = items(nodes, "r1", { calls: row === null ? [] : [row] }).find((item) => item.kind === "tool");
    expect(card?.kind === "tool" && toolStatus(card)).toBe(expected);
  });
});

describe("a message's body", () => {
  it("is read from text, from parts, and from anything else without failing", () => {
    expect(readMessage({ content: "hello" })).toEqual({ text: "hello", toolRequests: [], otherParts: [] });
    const image = { type: "image_url", image_url: { url: "https://x.test/a.png" } };
    expect(readMessage({ content: [{ type: "text", text: "a" }, image, { type: "text", text: "b" }] })).toMatchObject({ text: "ab", otherParts: [image] });
    expect(readMessage({ tool_calls: [{ id: "c1", function: { name: "find", arguments: "{not json" } }, null] }).toolRequests).toEqual([
      { id: "c1", name: "find", arguments: "{not json" }, { id: "", name: "", arguments: "" },
    ]);
    for (const odd of [null, 7, "x", [], { content: 9, tool_calls: "no" }]) expect(readMessage(odd).toolRequests).toEqual([]);
  });
});

describe("the line under an edit", () => {
  const nodes = [node("a", null, "user"), node("b", "a", "assistant"), node("c", "b", "user"), node("c2", "b", "user"), node("d2", "c2", "assistant")];
  const index = buildTreeIndex(nodes);

  it.each([
    ["c2", "d2", ["d2"], aForecast(), "Makes a new branch at message 3. Branch 2 and its open pause stay."],
    ["c2", "d2", ["d2", "c2"], null, "Makes a new branch at message 3. Branch 2 and its 2 open pauses stay."],
    ["c2", "d2", [], aForecast({ model_calls: ["scripted/demo"], decisions: 1 }), "Makes a new branch at message 3. Branch 2 stays. Ends now: model call scripted/demo, 1 worker decision."],
    ["a", "d2", [], null, "Makes a new branch at message 1. Branch 2 stays."],
    ["c", "d2", ["d2"], null, "Makes a new branch at message 3. Branch 1 stays."],
  ])("editing %s with the head at %s", (messageId, headId, anchors, forecast, expected) => {
    const interrupts = anchors.map((anchor, at) => anInterrupt({ interrupt_id: `int_${at}`, anchor }));
    expect(editConsequence({ index, messageId, headId, interrupts, forecast })).toBe(expected);
  });
});
