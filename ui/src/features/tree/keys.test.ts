import { describe, expect, it } from "vitest";
import { treeIntent, type TreeIntent } from "./keys";
import { callKey, foldKey, layoutTree, pauseKey, type Layout } from "./layout";
import { buildTreeIndex, type TreeNode } from "./treeIndex";

const parents: Record<string, string | null> = {
  a: null, b: "a", late: "b", draft: "late", refund: "b", rules: "refund", other: "b", c1: "rules", c2: "c1", c3: "c2", c4: "c3", c5: "c4", end: "c5",
};
const nodes = Object.entries(parents).map(([id, parent_id], at): TreeNode => ({ id, parent_id, seq: at + 1 }));

function layout(expanded: string[] = []): Layout {
  return layoutTree({
    index: buildTreeIndex(nodes), headId: "end", expanded: new Set(expanded),
    pauses: [{ id: "int_1", anchor: "draft" }], calls: [{ id: "call_1", anchor: "end" }],
  });
}

const focus = (key: string): TreeIntent => ({ type: "focus", key });
const fold = foldKey("c1");

describe("keys in the tree", () => {
  it.each<[string, string, string | null, TreeIntent | null]>([
    ["ArrowUp", "late", null, focus("b")],
    ["ArrowUp", "a", null, null],
    ["ArrowUp", "other", null, focus("b")],
    ["ArrowDown", "a", null, focus("b")],
    // At a fork: the viewed path, else the active one.
    ["ArrowDown", "b", null, focus("refund")],
    ["ArrowDown", "b", "draft", focus("late")],
    ["ArrowDown", "draft", null, focus(pauseKey("int_1"))],
    ["ArrowDown", "end", null, focus(callKey("call_1"))],
    ["ArrowDown", callKey("call_1"), null, null],
    ["ArrowDown", "rules", null, focus(fold)],
    ["ArrowDown", fold, null, focus("c5")],
    ["ArrowUp", "c5", null, focus(fold)],
    // Siblings, in the order they were made.
    ["ArrowRight", "late", null, focus("refund")],
    ["ArrowRight", "refund", null, focus("other")],
    ["ArrowRight", "other", null, null],
    ["ArrowLeft", "refund", null, focus("late")],
    ["ArrowRight", fold, null, { type: "toggle_fold", key: fold }],
    ["g", "end", null, focus("a")],
    ["G", "a", null, focus(callKey("call_1"))],
    ["G", "a", "draft", focus(pauseKey("int_1"))],
    ["Enter", "late", null, { type: "make_active", id: "late" }],
    ["Enter", fold, null, { type: "toggle_fold", key: fold }],
    ["Enter", pauseKey("int_1"), null, { type: "open_pause", id: "int_1" }],
    ["Enter", callKey("call_1"), null, null],
    ["e", "late", null, { type: "edit", id: "late" }],
    ["r", "draft", null, { type: "regenerate", id: "draft" }],
    ["e", fold, null, null],
    ["/", "late", null, { type: "find" }],
    ["f", "late", null, { type: "fit" }],
    ["q", "late", null, null],
  ])("%s on %s, viewing %s", (key, on, viewed, expected) => {
    expect(treeIntent(layout(), { key: on, viewed }, key)).toEqual(expected);
  });

  it("starts at the head when nothing is focused, and at the top when the focused row is gone", () => {
    expect(treeIntent(layout(), { key: null, viewed: null }, "ArrowUp")).toEqual(focus("c5"));
    expect(treeIntent(layout(), { key: "gone", viewed: null }, "ArrowUp")).toEqual(focus("a"));
  });

  it("closes an opened fold with the left arrow on its first message", () => {
    expect(treeIntent(layout([fold]), { key: "c1", viewed: null }, "ArrowLeft")).toEqual({ type: "toggle_fold", key: fold });
  });
});
