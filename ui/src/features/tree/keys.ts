/**
 * What a key means in the tree. Pure: keys in, intent out; the component carries it out and the tests read it as a table.
 */
import { childrenOf, idAt, num } from "./treeIndex";
import { foldKey, rowOfKey, rowPath, type Layout, type Row } from "./layout";

export type TreeIntent =
  | { readonly type: "focus"; readonly key: string }
  | { readonly type: "toggle_fold"; readonly key: string }
  | { readonly type: "make_active"; readonly id: string }
  | { readonly type: "edit"; readonly id: string }
  | { readonly type: "regenerate"; readonly id: string }
  | { readonly type: "open_pause"; readonly id: string }
  | { readonly type: "find" }
  | { readonly type: "fit" };

export interface TreeFocus {
  /** Key of the focused row; null before the first. */
  readonly key: string | null;
  /** The message shown in the transcript: going down follows its path at a fork. */
  readonly viewed: string | null;
}

export function treeIntent(layout: Layout, focus: TreeFocus, key: string): TreeIntent | null {
  if (key === "/") return { type: "find" };
  if (key === "f") return { type: "fit" };
  const at = focus.key === null ? layout.headRow : rowOfKey(layout, focus.key);
  const row = layout.rows[at];
  if (row === undefined) return focusRow(layout, 0);
  // Only going down has a choice to make, and a path may be long.
  const viewed = new Set(key === "ArrowDown" || key === "G" ? rowPath(layout, focus.viewed) : []);
  switch (key) {
    case "ArrowUp": return row.parent < 0 ? null : focusRow(layout, row.parent);
    case "ArrowDown": return focusRow(layout, rowBelow(layout, row, at, viewed));
    case "ArrowLeft": return sideways(layout, row, at, -1);
    case "ArrowRight": return row.kind === "fold" ? { type: "toggle_fold", key: row.key } : sideways(layout, row, at, 1);
    case "g": return focusRow(layout, 0);
    case "G": return focusRow(layout, leafBelow(layout, at, viewed));
    case "Enter": return enter(layout, row);
    case "e": return onMessage(layout, row, "edit");
    case "r": return onMessage(layout, row, "regenerate");
    default: return null;
  }
}

function focusRow(layout: Layout, at: number): TreeIntent | null {
  const row = layout.rows[at];
  return row === undefined ? null : { type: "focus", key: row.key };
}

function enter(layout: Layout, row: Row): TreeIntent | null {
  switch (row.kind) {
    case "fold": return { type: "toggle_fold", key: row.key };
    case "pause": return { type: "open_pause", id: row.id };
    case "node": return { type: "make_active", id: idAt(layout.index, row.node) };
    case "start":
    case "call": return null;
  }
}

function onMessage(layout: Layout, row: Row, type: "edit" | "regenerate"): TreeIntent | null {
  return row.kind === "node" ? { type, id: idAt(layout.index, row.node) } : null;
}

/** The last message a row stands for; the invisible root for the start row. */
function lastNode(layout: Layout, row: Row): number {
  switch (row.kind) {
    case "start": return layout.index.root;
    case "fold": return row.last;
    case "node": return row.node;
    case "pause":
    case "call": return -1;
  }
}

/** Rows hanging directly under this one: its messages in log order, then pauses and calls. */
function rowsUnder(layout: Layout, row: Row, at: number): number[] {
  const node = lastNode(layout, row);
  const messages = node < 0 ? [] : childrenOf(layout.index, node).map((child) => num(layout.rowOf, child));
  // Pauses and calls are drawn right below their message.
  const hanging: number[] = [];
  for (let next = at + 1; isHanging(layout.rows[next]); next += 1) {
    if (layout.rows[next]?.parent === at) hanging.push(next);
  }
  return [...messages, ...hanging];
}

const isHanging = (row: Row | undefined): boolean => row?.kind === "pause" || row?.kind === "call";

function rowBelow(layout: Layout, row: Row, at: number, viewed: ReadonlySet<number>): number {
  const under = rowsUnder(layout, row, at);
  if (under.length < 2) return under[0] ?? -1;
  const followed = under.find((child) => viewed.has(child));
  if (followed !== undefined) return followed;
  return under.find((child) => layout.rows[child]?.active === true) ?? under.find((child) => layout.rows[child]?.side === false) ?? under[0] ?? -1;
}

function leafBelow(layout: Layout, from: number, viewed: ReadonlySet<number>): number {
  let at = from;
  for (;;) {
    const row = layout.rows[at];
    const next = row === undefined ? -1 : rowBelow(layout, row, at, viewed);
    if (next < 0) return at;
    at = next;
  }
}

function sideways(layout: Layout, row: Row, at: number, step: 1 | -1): TreeIntent | null {
  if (step < 0 && row.kind === "node" && row.opened) return { type: "toggle_fold", key: foldKey(idAt(layout.index, row.node)) };
  const parent = layout.rows[row.parent];
  if (parent === undefined) return null;
  const beside = rowsUnder(layout, parent, row.parent);
  return focusRow(layout, beside[beside.indexOf(at) + step] ?? -1);
}
