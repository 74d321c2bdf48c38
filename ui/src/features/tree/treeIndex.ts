/**
 * The message tree as flat arrays, so that 100,000 messages cost milliseconds. Built once per change of the node list; the layout,
 * the transcript's path and the branch numbers all read it. Holds no label, no status, nothing that is drawn.
 */

export interface TreeNode {
  readonly id: string;
  readonly parent_id: string | null;
  readonly seq: number;
}

export interface TreeIndex<N extends TreeNode = TreeNode> {
  /** In log order. A node's position here is its index everywhere else. */
  readonly nodes: readonly N[];
  readonly at: ReadonlyMap<string, number>;
  /** Index of the parent; `root` for messages without one. */
  readonly parent: Int32Array;
  /** The slot of the invisible root that all first messages hang on: `nodes.length`. */
  readonly root: number;
  /** Children in log order, as a linked list; -1 ends it. */
  readonly firstChild: Int32Array;
  readonly nextSibling: Int32Array;
  readonly childCount: Int32Array;
  /** Messages in the subtree, itself included. */
  readonly size: Int32Array;
  /** 1 for a first message. */
  readonly depth: Int32Array;
  /** Branch number: 1 for the first; each later sibling opens the next number, in log order. */
  readonly branch: Int32Array;
  readonly branches: number;
}

export function buildTreeIndex<N extends TreeNode>(given: readonly N[]): TreeIndex<N> {
  const nodes = inLogOrder(given);
  const count = nodes.length;
  const at = new Map<string, number>();
  const parent = new Int32Array(count + 1).fill(-1);
  const firstChild = new Int32Array(count + 1).fill(-1);
  const lastChild = new Int32Array(count + 1).fill(-1);
  const nextSibling = new Int32Array(count + 1).fill(-1);
  const childCount = new Int32Array(count + 1);
  const size = new Int32Array(count + 1).fill(1);
  const depth = new Int32Array(count + 1);
  const branch = new Int32Array(count + 1).fill(1);
  let branches = 1;

  nodes.forEach((node, index) => {
    // A parent that is unknown, or that comes later, cannot be trusted: the message then stands as a first one and stays reachable.
    const up = node.parent_id === null ? count : (at.get(node.parent_id) ?? count);
    at.set(node.id, index);
    parent[index] = up;
    depth[index] = num(depth, up) + 1;
    const elder = num(lastChild, up);
    if (elder < 0) {
      firstChild[up] = index;
      branch[index] = num(branch, up);
    } else {
      nextSibling[elder] = index;
      branches += 1;
      branch[index] = branches;
    }
    lastChild[up] = index;
    childCount[up] = num(childCount, up) + 1;
  });
  for (let index = count - 1; index >= 0; index -= 1) {
    const up = num(parent, index);
    size[up] = num(size, up) + num(size, index);
  }
  return { nodes, at, parent, root: count, firstChild, nextSibling, childCount, size, depth, branch, branches };
}

function inLogOrder<N extends TreeNode>(nodes: readonly N[]): readonly N[] {
  let last = -Infinity;
  for (const node of nodes) {
    if (node.seq < last) return [...nodes].sort((a, b) => a.seq - b.seq);
    last = node.seq;
  }
  return nodes;
}

/** Typed arrays are read inside their length everywhere here; the compiler cannot see that. */
export function num(array: Int32Array, index: number): number {
  return array[index] ?? -1;
}

export function childrenOf(index: TreeIndex, of: number): number[] {
  const children: number[] = [];
  for (let child = num(index.firstChild, of); child >= 0; child = num(index.nextSibling, child)) children.push(child);
  return children;
}

/** From the first message down to this one, both included. Empty for an unknown id. */
export function pathTo(index: TreeIndex, id: string | null): number[] {
  const start = id === null ? undefined : index.at.get(id);
  if (start === undefined) return [];
  const path: number[] = [];
  for (let step = start; step !== index.root; step = num(index.parent, step)) path.push(step);
  return path.reverse();
}

export function isOnPath(index: TreeIndex, id: string, tip: string | null): boolean {
  const target = index.at.get(id);
  const start = tip === null ? undefined : index.at.get(tip);
  if (target === undefined || start === undefined) return false;
  let step = start;
  while (step !== index.root && num(index.depth, step) > num(index.depth, target)) step = num(index.parent, step);
  return step === target;
}

export interface Siblings {
  /** Ids in log order; the message itself included. */
  readonly ids: readonly string[];
  readonly position: number;
}

export function siblingsOf(index: TreeIndex, id: string): Siblings {
  const self = index.at.get(id);
  if (self === undefined) return { ids: [id], position: 0 };
  const ids = childrenOf(index, num(index.parent, self)).map((child) => idAt(index, child));
  return { ids, position: ids.indexOf(id) };
}

/** Where a switch to this message should end: down its newest children to a leaf. */
export function newestLeafUnder(index: TreeIndex, id: string): string {
  let step = index.at.get(id);
  if (step === undefined) return id;
  for (;;) {
    const newest: number | undefined = childrenOf(index, step).at(-1);
    if (newest === undefined) return idAt(index, step);
    step = newest;
  }
}

export function idAt(index: TreeIndex, at: number): string {
  return index.nodes[at]?.id ?? "";
}
