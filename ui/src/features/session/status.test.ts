import { describe, expect, it } from "vitest";
import { aSession } from "../../transport/fake";
import type { Activity } from "../../wire";
import { callStatus, sessionStatus } from "./status";

describe("status words", () => {
  it.each<[Activity, string]>([
    ["waiting_for_you", "waiting for you (2)"],
    ["waiting_for_tool", "waiting for a tool"],
    ["running", "running"],
    ["queued", "queued (3)"],
    ["failed", "failed"],
    ["cancelled", "cancelled"],
    ["idle", "idle"],
  ])("%s reads %s", (activity, word) => {
    expect(sessionStatus(aSession({ activity, pausing_interrupts: 2, queued_turns: 3 })).word).toBe(word);
  });

  it("says a different word for each activity", () => {
    const all: Activity[] = ["waiting_for_you", "waiting_for_tool", "running", "queued", "failed", "cancelled", "idle"];
    expect(new Set(all.map((activity) => sessionStatus(aSession({ activity })).word)).size).toBe(all.length);
  });

  it("shows how a call ended by its own sign", () => {
    expect(["completed", "failed", "voided", "pending"].map((status) => callStatus(status).sign)).toEqual(["✓", "✕", "⊘", "◌"]);
  });
});
