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
  const nodes = path.flatMap((at) => index.nodes[at] ?? []);
  const results = new Map(nodes.flatMap((node) => (node.role === "tool" && node.tool_call_id !== null ? [[node.tool_call_id, node] as const] : [])));
  const asked = new Set(nodes.flatMap((node) => node.tool_calls));
  const pauses = groupBy(input.interrupts, (row) => row.anchor);
  const endings = endingsByNode(nodes, input.turns);
  const forked = (node: NodeRow): boolean => {
    const at = index.at.get(node.id);
    return at !== undefined && num(index.childCount, num(index.parent, at)) > 1;
  };

  nodes.forEach((node, step) => {
    // A tool message shows inside the card of the call it answers.
    const inCard = node.tool_call_id !== null && asked.has(node.tool_call_id);
    if (!inCard) items.push({ kind: "message", key: node.id, node, number: step + 1, forked: forked(node) });
    for (const callId of node.tool_calls) {
      const result = results.get(callId) ?? null;
      items.push({
        kind: "tool", key: `tool:${node.id}:${callId}`, callId, asker: node, result, call: calls.get(callId) ?? null,
        forked: result !== null && forked(result),
      });
    }
    items.push(...(pauses.get(node.id) ?? []).map(pauseItem));
    for (const turn of endings.get(node.id) ?? []) items.push({ kind: "ended", key: `ended:${turn.turn_id}`, turn });
  });

  // A question that hangs on no known message holds every branch, so it shows on each.
  for (const interrupt of input.interrupts) {
    if (interrupt.anchor === null || !index.at.has(interrupt.anchor)) items.push(pauseItem(interrupt));
  }
  const tip = nodes.at(-1)?.id ?? null;
  for (const call of calls.values()) {
    const streams = call.kind === "llm_call" && isOpenCall(call.status) && call.anchor === tip && !index.at.has(call.id);
    if (streams) items.push({ kind: "stream", key: call.id, call });
  }
  return items;
}

function pauseItem(interrupt: InterruptRow): Item {
  return { kind: "interrupt", key: pauseKey(interrupt.interrupt_id), interrupt };
}

/** A turn that went wrong is told below its last message on this path. */
function endingsByNode(nodes: readonly NodeRow[], turns: ReadonlyMap<string, TurnRow>): Map<string, TurnRow[]> {
  const last = new Map<string, string>();
  for (const node of nodes) if (node.turn_id !== null) last.set(node.turn_id, node.id);
  const wrong = [...last].flatMap(([turnId, nodeId]) => {
    const turn = turns.get(turnId);
    return turn !== undefined && (turn.status === "failed" || turn.status === "cancelled") ? [{ nodeId, turn }] : [];
  });
  return new Map([...groupBy(wrong, (each) => each.nodeId)].map(([nodeId, group]) => [nodeId, group.map((each) => each.turn)]));
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
