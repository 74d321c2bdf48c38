import { describe, expect, it } from "vitest";
import { activityMark, activityWord } from "../../components/Mark";
import type { Activity, TurnStatus } from "../../wire";
import { callStanding, isOpenCall, turnStanding } from "./status";

describe("status words", () => {
  it.each<[Activity, string]>([
    ["waiting_for_you", "waiting for you (2)"],
    ["waiting_for_tool", "waiting for a tool"],
    ["running", "running"],
    ["queued", "queued"],
    ["failed", "failed"],
    ["cancelled", "cancelled"],
    ["idle", "idle"],
  ])("a session that is %s reads %s", (activity, word) => {
    expect(activityWord({ activity, pausing_interrupts: 2 })).toBe(word);
    expect(activityMark[activity]).toBeTruthy();
  });

  it("each call status has its own word, and the open ones are those of B-12", () => {
    const all = ["queued", "pending", "running", "retry_scheduled", "completed", "failed", "voided"];
    expect(all.map((status) => callStanding(status).word)).toEqual(["not started", "running", "running", "tries again soon", "done", "failed", "cancelled"]);
    expect(all.filter(isOpenCall)).toEqual(["queued", "pending", "running", "retry_scheduled"]);
  });

  it("a turn held on a branch that was left does not read as waiting for you", () => {
    const all: TurnStatus[] = ["queued", "running", "paused", "suspended", "completed", "failed", "cancelled"];
    expect(all.map((status) => turnStanding(status).word)).toEqual(
      ["queued", "running", "waiting for you", "held on another branch", "done", "failed", "cancelled"],
    );
  });
});
