import { describe, expect, it } from "vitest";
import type { Followed } from "../../store/state";
import type { NodeRow } from "../../wire";
import { buildTreeIndex, idAt } from "../tree/treeIndex";
import { aNode } from "./fixture";
import { sessionLink } from "../../paths";
import { branchStart } from "./operations";
import { modelOf, viewedFor, type Model } from "./view";

const nodes: NodeRow[] = [
  ["a", null], ["b", "a"], ["c", "b"], ["d", "c"], ["c2", "b"], ["d2", "c2"], ["d3", "c2"],
].map(([id, parent], at) => aNode(id ?? "", parent ?? null, "user", id ?? "", { seq: at + 1 }));

function model(headId: string | null, viewed: string | null): Model {
  return modelOf({ head_id: headId, nodes } as unknown as Followed, buildTreeIndex(nodes), viewed);
}

const shown = (at: Model): string => at.path.map((step) => idAt(at.index, step)).join("");

describe("what a session page shows", () => {
  it.each([
    ["d", null, "abcd", true],
    ["d", "d2", "abc2d2", false],
    ["d", "gone", "abcd", true],
    // It became active, and the head went on from it.
    ["d2", "c2", "abc2d2", true],
    [null, null, "", true],
  ])("with the head at %s and %s picked", (head, viewed, path, active) => {
    const at = model(head, viewed);
    expect([shown(at), at.active]).toEqual([path, active]);
  });

  it.each([
    ["on the active path: that path", "d", null, "b", null],
    ["on the path on show: that path stays", "d", "d2", "c2", "d2"],
    ["elsewhere: its branch to the newest leaf", "d", null, "c2", "d3"],
    ["a branch the path on show left: its newest leaf", "d", "d3", "d2", "d2"],
  ])("picking a message %s", (_where, head, viewed, picked, expected) => {
    expect(viewedFor(model(head, viewed), picked)).toBe(expected);
  });

  it("keeps composer drafts by the first message of the branch, which stays while the head moves on", () => {
    expect([model("a", null), model("d", null), model("c2", null), model("d2", null), model("d3", null), model(null, null)].map(branchStart)).toEqual(
      ["a", "a", "c2", "c2", "d3", "start"],
    );
  });

  it("makes links that open the session at a message", () => {
    expect(sessionLink("sesn_1", "msg a&b")).toBe("holdpoint://session/sesn_1?node=msg%20a%26b");
    expect(sessionLink("sesn_1", null)).toBe("holdpoint://session/sesn_1");
  });
});
