/**
 * What the transcript shows for one path, in order. Pure: rows in, items out. Bodies are not needed for it, so a session of 100,000
 * messages opens before any text has come.
 */
import type { CallRow, InterruptRow, NodeRow, TurnRow } from "../../wire";
import { isOpenCall } from "../session/status";
import { pauseKey } from "../tree/layout";
import { num, type TreeIndex } from "../tree/treeIndex";

export type Item =
  | { readonly kind: "message"; readonly key: string; readonly node: NodeRow; readonly number: number; readonly forked: boolean }
  | {
      readonly kind: "tool"; readonly key: string; readonly callId: string; readonly asker: NodeRow;
      /** The message that answers it on this path. */
      readonly result: NodeRow | null; readonly call: CallRow | null; readonly forked: boolean;
    }
  | { readonly kind: "stream"; readonly key: string; readonly call: CallRow }
  | { readonly kind: "interrupt"; readonly key: string; readonly interrupt: InterruptRow }
  | { readonly kind: "ended"; readonly key: string; readonly turn: TurnRow };

export interface ItemsInput {
  readonly index: TreeIndex<NodeRow>;
  /** From `pathTo`. */
  readonly path: readonly number[];
  readonly calls: ReadonlyMap<string, CallRow>;
  readonly turns: ReadonlyMap<string, TurnRow>;
  readonly interrupts: readonly InterruptRow[];
}

export function transcriptItems(input: ItemsInput): Item[] {
  const { index, path, calls } = input;
  const items: Item[] = [];
  const { asked, results, endings } = readPath(input);
  const pauses = groupBy(input.interrupts, (row) => row.anchor);
  // By position, not by id: a path may have 100,000 steps.
  const isFork = (at: number): boolean => num(index.childCount, num(index.parent, at)) > 1;

  for (let step = 0; step < path.length; step += 1) {
    const at = path[step] ?? 0;
    const node = index.nodes[at];
    if (node === undefined) continue;
    // A tool message shows inside the card of the call it answers.
    const inCard = node.tool_call_id !== null && asked.has(node.tool_call_id);
    if (!inCard) items.push({ kind: "message", key: node.id, node, number: step + 1, forked: isFork(at) });
    for (const callId of node.tool_calls) {
      const answer = results.get(callId);
      items.push({
        kind: "tool", key: `tool:${node.id}:${callId}`, callId, asker: node, result: (answer === undefined ? null : index.nodes[answer]) ?? null,
        call: calls.get(callId) ?? null, forked: answer !== undefined && isFork(answer),
      });
    }
    if (pauses.size > 0) items.push(...(pauses.get(node.id) ?? []).map(pauseItem));
    for (const turn of endings.get(at) ?? []) items.push({ kind: "ended", key: `ended:${turn.turn_id}`, turn });
  }

  // A question that hangs on no known message holds every branch, so it shows on each.
  for (const interrupt of input.interrupts) {
    if (interrupt.anchor === null || !index.at.has(interrupt.anchor)) items.push(pauseItem(interrupt));
  }
  const tip = index.nodes[path.at(-1) ?? -1]?.id ?? null;
  for (const call of calls.values()) {
    const streams = call.kind === "llm_call" && isOpenCall(call.status) && call.anchor === tip && !index.at.has(call.id);
    if (streams) items.push({ kind: "stream", key: call.id, call });
  }
  return items;
}

function pauseItem(interrupt: InterruptRow): Item {
  return { kind: "interrupt", key: pauseKey(interrupt.interrupt_id), interrupt };
}

interface PathFacts {
  /** Calls asked for on this path. */
  readonly asked: ReadonlySet<string>;
  /** Place of the message that answers a call. */
  readonly results: ReadonlyMap<string, number>;
  /** A turn that went wrong is told below its last message on this path. */
  readonly endings: ReadonlyMap<number, TurnRow[]>;
}

function readPath({ index, path, turns }: ItemsInput): PathFacts {
  const asked = new Set<string>();
  const results = new Map<string, number>();
  const wrong = new Set([...turns.values()].filter((turn) => turn.status === "failed" || turn.status === "cancelled").map((turn) => turn.turn_id));
  const last = new Map<string, number>();
  for (const at of path) {
    const node = index.nodes[at];
    if (node === undefined) continue;
    for (const call of node.tool_calls) asked.add(call);
    if (node.role === "tool" && node.tool_call_id !== null) results.set(node.tool_call_id, at);
    if (wrong.size > 0 && node.turn_id !== null && wrong.has(node.turn_id)) last.set(node.turn_id, at);
  }
  const endings = new Map<number, TurnRow[]>();
  for (const [turnId, at] of last) {
    const turn = turns.get(turnId);
    if (turn !== undefined) endings.set(at, [...(endings.get(at) ?? []), turn]);
  }
  return { asked, results, endings };
}

function groupBy<Row, Key>(rows: readonly Row[], key: (row: Row) => Key | null): Map<Key, Row[]> {
  const groups = new Map<Key, Row[]>();
  for (const row of rows) {
    const name = key(row);
    if (name === null) continue;
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [row]);
    else group.push(row);
  }
  return groups;
}

/** Ids whose text an item needs. */
export function bodiesOf(item: Item): string[] {
  switch (item.kind) {
    case "message": return [item.node.id];
    case "tool": return item.result === null ? [item.asker.id] : [item.asker.id, item.result.id];
    case "stream":
    case "interrupt":
    case "ended": return [];
  }
}

/** How a call of this path stands: the engine's word, or what the answering message tells when the call has no row. */
export function toolStatus(item: Extract<Item, { kind: "tool" }>): string {
  // The engine's fixed text for a call whose turn ended first (C-5).
  if (item.result?.label === "cancelled: the turn ended") return "voided";
  return item.call?.status ?? (item.result === null ? "queued" : "completed");
}
