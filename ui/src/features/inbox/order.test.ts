import { describe, expect, test } from "vitest";
import { anInterrupt } from "../../transport/fake";
import { agentPath, grouped, parseFilter, passes, sleepOf, snoozeChoices, sorted } from "./order";

function row(id: string, minute: number, metadata: Record<string, unknown> = {}, more: { expiresAt?: string; title?: string; agent?: string; reason?: string } = {}) {
  return anInterrupt({
    interrupt_id: id,
    session_title: more.title ?? "Refund order 88123",
    reason: more.reason ?? "confirmation",
    path: [{ session_id: "sesn_1", agent_id: "support" }, ...(more.agent === undefined ? [] : [{ session_id: "sesn_2", agent_id: more.agent }])],
    opened_at: `2026-11-30T12:${String(minute).padStart(2, "0")}:00.000Z`,
    payload: { message: `Question ${id}`, metadata, ...(more.expiresAt === undefined ? {} : { expiresAt: more.expiresAt }) },
  });
}

const ids = (rows: { interrupt_id: string }[]): string => rows.map((each) => each.interrupt_id).join(" ");

describe("the inbox", () => {
  const rows = [
    row("new", 9, { risk: "low" }, { title: "Zebra" }),
    row("old", 1, {}, { title: "apple", expiresAt: "2026-11-30T13:00:00.000Z" }),
    row("bad", 5, { risk: "high" }, { agent: "tracker", reason: "tool_call", expiresAt: "2026-11-30T12:30:00.000Z" }),
    row("mid", 3, { risk: "medium" }),
  ];

  test.each([
    ["oldest", "old mid bad new"],
    ["risk", "bad mid new old"],
    ["expiry", "bad old mid new"],
    ["session", "old mid bad new"],
  ] as const)("sorts by %s", (by, expected) => {
    expect(ids(sorted(rows, by))).toBe(expected);
  });

  test("groups stand where their first row stands", () => {
    expect(grouped(sorted(rows, "oldest"), "agent").map((group) => [group.name, ids(group.rows)])).toEqual([
      ["support", "old mid new"],
      ["tracker", "bad"],
    ]);
    expect(grouped(rows, "none")).toEqual([{ name: null, rows }]);
  });

  test.each([
    ["", "new old bad mid"],
    ["agent:tracker", "bad"],
    ["risk:high", "bad"],
    ["risk:none", "old"],
    ["risk:low risk:high", "new bad"],
    ["reason:tool", "bad"],
    ['session:"refund order"', "bad mid"],
    ["question mid", "mid"],
    ["agent:", "new old bad mid"],
    ["agent:support zebra", "new"],
    ["nothing:here", ""],
  ])("the filter %j leaves %j", (text, expected) => {
    expect(ids(rows.filter((each) => passes(each, parseFilter(text))))).toBe(expected);
  });

  test("a snoozed row sleeps until its time and comes back with a mark; a dismissed one stays away (I-87)", () => {
    const one = row("a", 1);
    const now = Date.parse("2026-11-30T12:00:00.000Z");
    const mark = (until: string | null) => [{ session_id: one.session_id, interrupt_id: "a", until }];
    expect(sleepOf(one, [], now)).toEqual({ state: "awake", back: false });
    expect(sleepOf(one, mark("2026-11-30T12:01:00.000Z"), now)).toEqual({ state: "snoozed", until: "2026-11-30T12:01:00.000Z" });
    expect(sleepOf(one, mark("2026-11-30T11:59:00.000Z"), now)).toEqual({ state: "awake", back: true });
    expect(sleepOf(one, mark(null), now)).toEqual({ state: "dismissed" });
  });

  test("tomorrow is the next day at nine, over the end of a month too", () => {
    const [quarter, hour, tomorrow] = snoozeChoices(new Date(2026, 10, 30, 23, 50));
    expect(quarter?.until).toEqual(new Date(2026, 11, 1, 0, 5));
    expect(hour?.until).toEqual(new Date(2026, 11, 1, 0, 50));
    expect(tomorrow?.until).toEqual(new Date(2026, 11, 1, 9, 0));
  });

  test("the path names who asks from the root down", () => {
    expect(agentPath(row("a", 1, {}, { agent: "tracker" }))).toBe("support › tracker");
  });
});
