/** The words of one row of the tree: what is drawn, and the one sentence a screen reader says. */
import type { MarkKind } from "../../components/Mark";
import { span, took } from "../../components/time";
import type { CallRow, NodeRow } from "../../wire";
import { callStanding } from "../session/status";
import { headline } from "../inbox/question";
import type { Model } from "../session/view";
import type { Layout, Row } from "./layout";
import { num, siblingsOf } from "./treeIndex";

export interface RowWords {
  readonly who: string | null;
  readonly label: string;
  readonly below: string | null;
  readonly aside: string | null;
  readonly mark: MarkKind | null;
  readonly time: string | null;
  /** Drawn as a square: the work of a tool. */
  readonly tool: boolean;
  readonly name: string;
  readonly hint: string | undefined;
}

type Drawn = Omit<RowWords, "name">;

const bare: Drawn = { who: null, label: "", below: null, aside: null, mark: null, time: null, tool: false, hint: undefined };

export function describeRow(layout: Layout, row: Row, model: Model, now: number): RowWords {
  const drawn = draw(layout, row, model, now);
  const said = [
    drawn.who === null ? drawn.label : `${drawn.who} ${drawn.label}`,
    drawn.mark === null ? null : markWord[drawn.mark],
    drawn.time, drawn.below, drawn.aside,
    row.kind === "node" && row.active && !row.head ? "active path" : null,
  ];
  return { ...drawn, name: said.filter((part) => part !== null && part !== "").join(", ") };
}

const markWord: Record<MarkKind, string> = {
  waiting: "waiting", running: "running", tool: "waiting for a tool", queued: "not started", failed: "failed", done: "done", cancelled: "cancelled", idle: "",
};

function draw(layout: Layout, row: Row, model: Model, now: number): Drawn {
  switch (row.kind) {
    case "start": return { ...bare, label: "Start", below: "The first message was edited" };
    case "fold": return { ...bare, label: `${row.count} messages`, hint: "Show them" };
    case "pause": return pause(row.id, model, now);
    case "call": return call(model.followed.calls.get(row.id), row.id, now);
    case "node": return message(layout, row, model, now);
  }
}

function pause(id: string, model: Model, now: number): Drawn {
  const row = model.followed.interrupts.find((each) => each.interrupt_id === id);
  if (row === undefined) return { ...bare, label: id };
  const age = since(Date.parse(row.opened_at), now);
  const below = row.on_active_branch ? ["waiting for you", age] : ["paused", age, "not active"];
  return { ...bare, label: headline(row), below: joined(below), hint: headline(row) };
}

function call(row: CallRow | undefined, id: string, now: number): Drawn {
  if (row === undefined) return { ...bare, label: id, mark: "running" };
  const standing = callStanding(row.status);
  const clock = row.clock_stopped ? "clock stopped" : took(row.requested_at, now);
  return { ...bare, label: row.name, time: clock, below: row.kind === "llm_call" ? `model call · ${standing.word}` : standing.word };
}

function message(layout: Layout, row: Extract<Row, { kind: "node" }>, model: Model, now: number): Drawn {
  const node = layout.index.nodes[row.node] as NodeRow;
  const { ids, position } = siblingsOf(layout.index, node.id);
  const aside = ids.length < 2 ? null : node.role === "user" && position > 0 ? `edited · ${position + 1}/${ids.length}` : `${position + 1}/${ids.length}`;
  const below = row.head ? headLine(model, now) : branchLine(layout, row);
  const base: Drawn = { ...bare, label: plain(node.label), aside, below, hint: node.label };
  switch (node.role) {
    case "assistant": return { ...base, who: `${model.followed.session.agent_id}:`, label: base.label === "" ? "(no text)" : base.label };
    case "tool": return tool(base, node, model);
    case "system": return { ...base, who: "System:" };
    default: return base;
  }
}

/** The line without the marks of markdown that a row cannot draw. */
function plain(label: string): string {
  return label.replace(/^(#{1,6}|[-*+>]|\d+\.)\s+/, "").replace(/\*\*|`/g, "");
}

/** Names the branch where it begins, and where it leaves the active path. */
function branchLine(layout: Layout, row: Extract<Row, { kind: "node" }>): string | null {
  const { index } = layout;
  const up = num(index.parent, row.node);
  if (num(index.childCount, up) < 2) return null;
  const branch = num(index.branch, row.node);
  const leaves = layout.rows[row.parent]?.active === true && !row.active;
  return leaves || branch !== num(index.branch, up) ? `branch ${branch}` : null;
}

function tool(base: Drawn, node: NodeRow, model: Model): Drawn {
  const row = node.tool_call_id === null ? undefined : model.followed.calls.get(node.tool_call_id);
  const answered = { ...base, tool: true, mark: callStanding(row?.status ?? "completed").mark };
  if (row === undefined) return answered;
  return { ...answered, label: row.name, time: row.ended_at === null ? null : took(row.dispatched_at ?? row.requested_at, row.ended_at) };
}

function headLine(model: Model, now: number): string {
  const waiting = model.followed.interrupts.filter((row) => row.on_active_branch).map((row) => Date.parse(row.opened_at));
  return joined(waiting.length === 0 ? ["head"] : ["head", "waiting for you", since(Math.min(...waiting), now)]);
}

/** `4 m`; null in the first minute, when "waiting now" would say nothing. */
function since(at: number, now: number): string | null {
  const age = span(at, now);
  return age === "now" ? null : age;
}

function joined(parts: readonly (string | null)[]): string {
  return parts.filter((part) => part !== null).join(" · ");
}
