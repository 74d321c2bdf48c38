import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { crossingLane, foldKey, foldedNodes, layoutTree, printRows, rowPath, type Layout, type LayoutInput, type Row } from "./layout";
import { buildTreeIndex, idAt, type TreeNode } from "./treeIndex";

/** "a>b b>c": each entry a parent and a child, in log order; a bare name is a first message. */
function tree(text: string): TreeNode[] {
  return text.split(" ").map((entry, at) => {
    const [first = "", second] = entry.split(">");
    return second === undefined ? { id: first, parent_id: null, seq: at + 1 } : { id: second, parent_id: first, seq: at + 1 };
  });
}

function chain(from: string, ...ids: string[]): string {
  return ids.map((id, at) => `${at === 0 ? from : ids[at - 1]}>${id}`).join(" ");
}

function lay(nodes: readonly TreeNode[], headId: string | null, rest: Partial<LayoutInput> = {}): Layout {
  return layoutTree({ index: buildTreeIndex(nodes), headId, pauses: [], calls: [], expanded: new Set(), ...rest });
}

function label(layout: Layout) {
  return (row: Row): string => {
    switch (row.kind) {
      case "start": return "start";
      case "fold": return `${row.count} messages`;
      case "pause":
      case "call": return row.id;
      case "node": return idAt(layout.index, row.node);
    }
  };
}

const print = (layout: Layout): string => `\n${printRows(layout, label(layout))}\n`;

describe("the layout, printed", () => {
  it("keeps the active path in lane 0 and draws a fork's other branches before it goes on", () => {
    const nodes = tree("where where>look look>found found>late late>draft draft>more draft>ask found>refund refund>rules rules>qualifies");
    expect(print(lay(nodes, "qualifies", { pauses: [{ id: "Refund?", anchor: "qualifies" }, { id: "Send?", anchor: "ask" }] }))).toBe(`
○ where
○ look
○ found
├─○ late
┃ ○ draft
┃ ├─○ more
┃ ○ ask
┃ ⏸ Send?
○ refund
○ rules
● qualifies
⏸ Refund?
`);
  });

  it("folds a straight run and leaves one message beside every point of interest", () => {
    const nodes = tree(`a ${chain("a", "b", "c", "d", "e", "f", "g")} ${chain("g", "h", "i", "j", "k")} g>x`);
    expect(print(lay(nodes, "k"))).toBe(`
○ a
○ b
⋮ 3 messages
○ f
○ g
├─○ x
○ h
○ i
○ j
● k
`);
  });

  it("opens a fold by its key and marks its first message so that it can be closed again", () => {
    const nodes = tree(`a ${chain("a", "b", "c", "d", "e", "f", "g")}`);
    const opened = lay(nodes, "g", { expanded: new Set([foldKey("c")]) });
    expect(opened.rows.map((row) => row.key)).toEqual(["a", "b", "c", "d", "e", "f", "g"]);
    expect(opened.rows.filter((row) => row.kind === "node" && row.opened).map((row) => row.key)).toEqual(["c"]);
  });

  it("draws the head in the middle of its branch, with the rest of the branch below it", () => {
    expect(print(lay(tree("a a>b b>c c>d a>e"), "b"))).toBe(`
○ a
├─○ e
● b
○ c
○ d
`);
  });

  it("hangs pauses and running calls beside a message that goes on, and below one that ends", () => {
    const layout = lay(tree("a a>b b>c"), "c", {
      pauses: [{ id: "p1", anchor: "b" }, { id: "p2", anchor: "c" }, { id: "p3", anchor: null }, { id: "p4", anchor: "gone" }],
      calls: [{ id: "call", anchor: "c" }],
    });
    expect(print(layout)).toBe(`
○ a
○ b
├─⏸ p1
● c
◌ call
⏸ p2
`);
    expect(layout.unanchored, "a question without a known anchor is a banner, never hidden").toEqual(["p3", "p4"]);
  });

  it("starts from a common row when the first message was edited", () => {
    expect(print(lay(tree("a a>b c c>d"), "d"))).toBe(`
◇ start
├─○ a
┃ ○ b
○ c
● d
`);
  });

  it("shows what a search or a selection revealed inside a run", () => {
    const nodes = tree(`a ${chain("a", "b", "c", "d", "e", "f", "g", "h", "i")}`);
    expect(lay(nodes, "i", { reveal: new Set(["e"]) }).rows.map((row) => row.key)).toContain("e");
  });

  it("lays out nothing for a session without messages", () => {
    expect(lay([], null)).toMatchObject({ rows: [], headRow: -1, unanchored: [] });
  });
});

/** Any tree: each message hangs on an earlier one or on nothing. */
const anyTree = fc.array(fc.nat(), { maxLength: 120 }).map((picks) => picks.map((pick, at): TreeNode => {
  const up = pick % (at + 1);
  // Long runs must be common, or folds are never tried.
  const parent = pick % 3 === 0 ? up - 1 : at - 1;
  return { id: `m${at}`, parent_id: parent < 0 ? null : `m${parent}`, seq: at + 1 };
}));

const anyInput = fc.record({ nodes: anyTree, head: fc.nat(), anchors: fc.array(fc.nat(), { maxLength: 6 }), open: fc.array(fc.nat(), { maxLength: 6 }) })
  .map(({ nodes, head, anchors, open }): LayoutInput => {
    const pick = (at: number): string | null => nodes[at % Math.max(nodes.length, 1)]?.id ?? null;
    return {
      index: buildTreeIndex(nodes),
      headId: pick(head),
      pauses: anchors.map((at, i) => ({ id: `p${i}`, anchor: pick(at) })),
      calls: open.map((at, i) => ({ id: `c${i}`, anchor: pick(at) })),
      expanded: new Set(open.map((at) => foldKey(pick(at) ?? ""))),
    };
  });

describe("any tree", () => {
  it("keeps every message reachable through exactly one row or fold", () => {
    fc.assert(fc.property(anyInput, (input) => {
      const layout = layoutTree(input);
      const drawn = layout.rows.flatMap((row) => (row.kind === "node" ? [row.node] : row.kind === "fold" ? foldedNodes(input.index, row) : []));
      expect([...drawn].sort((a, b) => a - b)).toEqual(input.index.nodes.map((_, at) => at));
      input.index.nodes.forEach((_, at) => expect(layout.rows[layout.rowOf[at] ?? -1]?.kind).toMatch(/node|fold/));
      const hanging = layout.rows.filter((row) => row.kind === "pause").length + layout.unanchored.length;
      expect(hanging, "every pause is a row or in the banner").toBe(input.pauses.length);
    }));
  });

  it("never uses a lane twice at one height: no row stands on another's line, no two lines share a lane", () => {
    fc.assert(fc.property(anyInput, (input) => {
      const { rows } = layoutTree(input);
      const lines = new Map<string, number>();
      rows.forEach((row, at) => {
        if (row.parent < 0) return;
        const parentLane = rows[row.parent]?.lane ?? -1;
        expect(row.lane - parentLane, "a row is in its parent's lane or the next").toBe(row.side ? 1 : 0);
        for (let between = row.parent + 1; between < at; between += 1) {
          expect(rows[between]?.lane, "a row stands on a line").not.toBe(parentLane);
          const place = `${between}:${parentLane}`;
          expect(lines.get(place) ?? row.parent, "two forks share a lane").toBe(row.parent);
          lines.set(place, row.parent);
        }
      });
      // What the drawing relies on: each lane left of a row carries a line through it, or the curve into it.
      rows.forEach((row, at) => {
        for (let lane = 0; lane < row.lane; lane += 1) {
          const drawn = lines.has(`${at}:${lane}`) || (row.side && lane === row.lane - 1);
          expect(drawn, `row ${at} lane ${lane}`).toBe(true);
        }
      });
    }));
  });

  it("keeps the whole path to the head in lane 0, marked active", () => {
    fc.assert(fc.property(anyInput, (input) => {
      const layout = layoutTree(input);
      for (const at of rowPath(layout, input.headId)) expect(layout.rows[at]).toMatchObject({ lane: 0, active: true });
    }));
  });

  it("needs no more lanes than 3 + log2 of the messages", () => {
    fc.assert(fc.property(anyInput, (input) => {
      expect(layoutTree(input).lanes).toBeLessThanOrEqual(3 + Math.log2(input.index.root + 1));
    }));
  });

  it("gives the same rows for the same input, whatever order the messages came in", () => {
    fc.assert(fc.property(anyInput, (input) => {
      const shuffled = [...input.index.nodes].sort((a, b) => (a.id < b.id ? -1 : 1));
      expect(layoutTree({ ...input, index: buildTreeIndex(shuffled) }).rows).toEqual(layoutTree(input).rows);
    }));
  });

  it("crosses a row with exactly one line of a path that passes it", () => {
    fc.assert(fc.property(anyInput, (input) => {
      const layout = layoutTree(input);
      const path = rowPath(layout, input.headId);
      layout.rows.forEach((_, at) => {
        const passes = !path.includes(at) && path.some((row) => row < at) && path.some((row) => row > at);
        expect(crossingLane(layout, path, at)).toBe(passes ? 0 : -1);
      });
    }));
  });
});

describe("size", () => {
  const big = (parentOf: (at: number) => number): TreeNode[] =>
    Array.from({ length: 100_000 }, (_, at) => ({ id: `m${at}`, parent_id: at === 0 ? null : `m${parentOf(at)}`, seq: at + 1 }));

  it.each([
    ["one long run", (at: number) => at - 1],
    ["a fork every third message", (at: number) => (at % 3 === 0 ? Math.floor(at / 2) : at - 1)],
    ["a fan of 1,000 under every hundredth", (at: number) => Math.floor(at / 1000) * 100],
  ])("lays out 100,000 messages with %s", (_name, parentOf) => {
    const index = buildTreeIndex(big(parentOf));
    const input: LayoutInput = { index, headId: "m99999", pauses: [], calls: [], expanded: new Set() };
    // 50 ms on a quiet machine. A wrong order of growth would never come to an end, so no clock is read here.
    expect(layoutTree(input).rows.length).toBeGreaterThan(0);
  });
});
