/**
 * Rows and lanes of the tree, like a git graph, top to bottom. Pure: the same input gives the same rows; nothing here knows pixels.
 *
 * The order is depth first, a fork's lane-keeping child last. So while the rows of a side branch in lane L are drawn, every lane
 * left of L has exactly one line running through, and no lane is ever used twice at one height. The active path keeps lane 0;
 * elsewhere the largest subtree keeps the lane, which bounds the lanes by 1 + log2(messages).
 */
import { childrenOf, idAt, num, type TreeIndex } from "./treeIndex";

export interface LayoutInput {
  readonly index: TreeIndex;
  readonly headId: string | null;
  /** Open interrupts, in the order they opened. */
  readonly pauses: readonly { readonly id: string; readonly anchor: string | null }[];
  /** Open calls, in the order they were requested. */
  readonly calls: readonly { readonly id: string; readonly anchor: string | null }[];
  /** Keys of folds shown opened. */
  readonly expanded: ReadonlySet<string>;
  /** Messages drawn whatever their place: the selected one, what a search found. */
  readonly reveal?: ReadonlySet<string>;
}

interface Placed {
  /** Stable between layouts: what focus and expansion are kept by. */
  readonly key: string;
  readonly lane: number;
  /** Row this one hangs on; -1 at the top. */
  readonly parent: number;
  /** Leaves its parent's lane by a curve (its lane is the parent's plus one). */
  readonly side: boolean;
  /** A line leaves this row downwards. */
  continues: boolean;
  /** On the path to the head. */
  readonly active: boolean;
}

export type Row =
  | (Placed & { readonly kind: "start" })
  | (Placed & { readonly kind: "node"; readonly node: number; readonly head: boolean; readonly opened: boolean })
  | (Placed & { readonly kind: "fold"; readonly first: number; readonly last: number; readonly count: number })
  | (Placed & { readonly kind: "pause"; readonly id: string; readonly node: number })
  | (Placed & { readonly kind: "call"; readonly id: string; readonly node: number });

export interface Layout {
  readonly index: TreeIndex;
  readonly rows: readonly Row[];
  readonly lanes: number;
  /** Row of each message; a folded one has its fold's row. */
  readonly rowOf: Int32Array;
  readonly headRow: number;
  /** Open interrupts that hang on no known message: a banner over the whole tree. */
  readonly unanchored: readonly string[];
}

/** A straight run shorter than this gains too little by folding. */
const SHORTEST_FOLD = 3;

export const foldKey = (firstId: string): string => `fold:${firstId}`;
export const pauseKey = (interruptId: string): string => `pause:${interruptId}`;
export const callKey = (callId: string): string => `call:${callId}`;

export function layoutTree(input: LayoutInput): Layout {
  const { index } = input;
  const head = input.headId === null ? undefined : index.at.get(input.headId);
  const onActive = markActive(index, head);
  const hung = hangings(input);
  const plain = markPlain(input, head, hung.byNode);
  const rows: Row[] = [];
  const rowOf = new Int32Array(index.root).fill(-1);
  let lanes = 1;

  // Work still to do, as triples node, lane, row of the parent. The top is drawn next.
  const todo: number[] = [];
  const isSide = (parentRow: number, lane: number): boolean => parentRow >= 0 && lane > (rows[parentRow]?.lane ?? 0);

  const emitNode = (node: number, lane: number, parent: number, opened: boolean): number => {
    const id = idAt(index, node);
    rowOf[node] = rows.length;
    rows.push({
      kind: "node", key: id, node, lane, parent, side: isSide(parent, lane), opened,
      continues: num(index.childCount, node) > 0, active: onActive[node] === 1, head: node === head,
    });
    return rows.length - 1;
  };

  const emitFold = (run: readonly number[], lane: number, parent: number): number => {
    const first = run[0] ?? 0;
    for (const node of run) rowOf[node] = rows.length;
    rows.push({
      kind: "fold", key: foldKey(idAt(index, first)), first, last: run.at(-1) ?? first, count: run.length,
      lane, parent, side: isSide(parent, lane), continues: true, active: onActive[first] === 1,
    });
    return rows.length - 1;
  };

  /** Pauses and running calls stand under their message: in its lane at a leaf, else as short side branches. */
  const emitHangings = (node: number, lane: number, row: number): void => {
    const hanging = hung.byNode.get(node);
    if (hanging === undefined) return;
    const leaf = num(index.childCount, node) === 0;
    const at = leaf ? lane : lane + 1;
    lanes = Math.max(lanes, at + 1);
    let parent = row;
    for (const item of hanging) {
      const over = rows[parent];
      if (leaf && over !== undefined) over.continues = true;
      rows.push({
        ...item, node, lane: at, parent, side: !leaf, continues: false,
        active: leaf && onActive[node] === 1 && node === head,
      });
      if (leaf) parent = rows.length - 1;
    }
  };

  const pushChildren = (of: number, lane: number, parentRow: number): void => {
    if (num(index.childCount, of) < 2) {
      const only = num(index.firstChild, of);
      if (only >= 0) todo.push(only, lane, parentRow);
      return;
    }
    const children = childrenOf(index, of);
    const main = laneKeeper(index, children, onActive);
    todo.push(main, lane, parentRow);
    for (let i = children.length - 1; i >= 0; i -= 1) {
      const child = children[i] ?? main;
      if (child !== main) todo.push(child, lane + 1, parentRow);
    }
  };

  if (num(index.childCount, index.root) > 1) {
    rows.push({ kind: "start", key: "start", lane: 0, parent: -1, side: false, continues: true, active: head !== undefined });
    pushChildren(index.root, 0, 0);
  } else {
    pushChildren(index.root, 0, -1);
  }

  while (todo.length > 0) {
    let parent = todo.pop() ?? -1;
    const lane = todo.pop() ?? 0;
    let node = todo.pop() ?? 0;
    lanes = Math.max(lanes, lane + 1);
    if (plain[node] === 1) {
      const run = straightRun(index, plain, node);
      const last = run.at(-1) ?? node;
      const expanded = input.expanded.has(foldKey(idAt(index, node)));
      if (run.length >= SHORTEST_FOLD && !expanded) parent = emitFold(run, lane, parent);
      else run.forEach((step, i) => { parent = emitNode(step, lane, parent, expanded && i === 0); });
      node = last;
    } else {
      parent = emitNode(node, lane, parent, false);
      emitHangings(node, lane, parent);
    }
    pushChildren(node, lane, parent);
  }

  return { index, rows, lanes, rowOf, headRow: head === undefined ? -1 : num(rowOf, head), unanchored: hung.unanchored };
}

function markActive(index: TreeIndex, head: number | undefined): Uint8Array {
  const onActive = new Uint8Array(index.root + 1);
  for (let step = head ?? index.root; step !== index.root; step = num(index.parent, step)) onActive[step] = 1;
  return onActive;
}

type Hanging = { readonly kind: "pause" | "call"; readonly key: string; readonly id: string };

function hangings(input: LayoutInput): { byNode: Map<number, Hanging[]>; unanchored: string[] } {
  const byNode = new Map<number, Hanging[]>();
  const unanchored: string[] = [];
  const hang = (node: number, item: Hanging): void => {
    const there = byNode.get(node);
    if (there === undefined) byNode.set(node, [item]);
    else there.push(item);
  };
  for (const call of input.calls) {
    const node = call.anchor === null ? undefined : input.index.at.get(call.anchor);
    if (node !== undefined) hang(node, { kind: "call", key: callKey(call.id), id: call.id });
  }
  for (const pause of input.pauses) {
    const node = pause.anchor === null ? undefined : input.index.at.get(pause.anchor);
    // An anchor not known (yet) must not hide a question.
    if (node === undefined) unanchored.push(pause.id);
    else hang(node, { kind: "pause", key: pauseKey(pause.id), id: pause.id });
  }
  return { byNode, unanchored };
}

/** Plain messages may fold: nothing happens at them nor right beside them. */
function markPlain(input: LayoutInput, head: number | undefined, hung: ReadonlyMap<number, unknown>): Uint8Array {
  const { index } = input;
  const interesting = new Uint8Array(index.root + 1);
  interesting[index.root] = 1;
  for (let node = 0; node < index.root; node += 1) {
    const up = num(index.parent, node);
    if (num(index.childCount, node) !== 1 || up === index.root || num(index.childCount, up) > 1) interesting[node] = 1;
  }
  if (head !== undefined) interesting[head] = 1;
  for (const node of hung.keys()) interesting[node] = 1;
  const plain = new Uint8Array(index.root + 1);
  for (let node = 0; node < index.root; node += 1) {
    const beside = interesting[num(index.parent, node)] === 1 || interesting[num(index.firstChild, node)] === 1;
    if (interesting[node] !== 1 && !beside) plain[node] = 1;
  }
  // A revealed message leaves its fold alone, so that walking past a fold does not move its edge.
  for (const id of input.reveal ?? []) {
    const node = index.at.get(id);
    if (node !== undefined) plain[node] = 0;
  }
  return plain;
}

function straightRun(index: TreeIndex, plain: Uint8Array, from: number): number[] {
  const run = [from];
  for (let step = num(index.firstChild, from); plain[step] === 1; step = num(index.firstChild, step)) run.push(step);
  return run;
}

function laneKeeper(index: TreeIndex, children: readonly number[], onActive: Uint8Array): number {
  let best = children[0] ?? 0;
  for (const child of children) {
    if (onActive[child] === 1) return child;
    // Ties go to the newer one: that is where the person went last.
    if (num(index.size, child) >= num(index.size, best)) best = child;
  }
  return best;
}

/** Messages inside a fold, top to bottom. */
export function foldedNodes(index: TreeIndex, row: Extract<Row, { kind: "fold" }>): number[] {
  const nodes = [row.first];
  for (let step = row.first; step !== row.last; ) {
    step = num(index.firstChild, step);
    nodes.push(step);
  }
  return nodes;
}

/** Row indexes from the top to the row of this message. Increasing, so a row between two of them is crossed by exactly one line. */
export function rowPath(layout: Layout, id: string | null): number[] {
  const node = id === null ? undefined : layout.index.at.get(id);
  if (node === undefined) return [];
  const path: number[] = [];
  for (let row = num(layout.rowOf, node); row >= 0; row = layout.rows[row]?.parent ?? -1) path.push(row);
  return path.reverse();
}

/** Where in a path this row is, or would be. `path` from `rowPath`. */
function place(path: readonly number[], row: number): number {
  let low = 0;
  let high = path.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((path[middle] ?? 0) < row) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function isOnRowPath(path: readonly number[], row: number): boolean {
  return path[place(path, row)] === row;
}

/** The lane in which a path crosses a row that is not on it, or -1. */
export function crossingLane(layout: Layout, path: readonly number[], row: number): number {
  const next = place(path, row);
  const above = path[next - 1];
  if (above === undefined || next >= path.length || path[next] === row) return -1;
  return layout.rows[above]?.lane ?? -1;
}

/** The row of a key, or -1. */
export function rowOfKey(layout: Layout, key: string): number {
  const id = key.startsWith("fold:") ? key.slice(5) : key;
  const node = layout.index.at.get(id);
  if (node !== undefined) return num(layout.rowOf, node);
  return layout.rows.findIndex((row) => row.key === key);
}

/** Lines of text, for tests and for reading a layout in a terminal. */
export function printRows(layout: Layout, label: (row: Row) => string): string {
  return layout.rows.map((row, at) => {
    const line = (lane: number): string => (lane === 0 && at < layout.headRow ? "┃ " : "│ ");
    let left = "";
    for (let lane = 0; lane < row.lane; lane += 1) left += row.side && lane === row.lane - 1 ? "├─" : line(lane);
    return `${left}${mark(row)} ${label(row)}`;
  }).join("\n");
}

function mark(row: Row): string {
  switch (row.kind) {
    case "start": return "◇";
    case "fold": return "⋮";
    case "pause": return "⏸";
    case "call": return "◌";
    case "node": return row.head ? "●" : "○";
  }
}
