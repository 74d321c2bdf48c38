// The main job in the real window, from the first start to a power cut: paused, notified, answered, edited into a branch,
// cancelled, and everything still there afterwards.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@playwright/test";
import { Desk, Home } from "./desk.ts";
import { Hand, type TreeRow } from "./hand.ts";
import { until } from "./processes.ts";

test("the first run's question is answered from a notification, and nothing is lost when the app is killed", async () => {
  const home = new Home();
  takeAnHour(home);
  let desk = await Desk.start(home);
  let hand = new Hand(desk.window);

  await test.step("the first run arrives at one open question", async () => {
    await hand.reads("This agent stopped to ask you");
    await hand.reads("1 waiting");
    await desk.screenshot("1-first-run");
  });

  await test.step("a notification came; its action, invoked over D-Bus, answers the question", async () => {
    await until("the notification is displayed", async () => ((await desk.displayed()) === 1 ? true : undefined));
    const offered = await desk.invoke("#Send (");
    expect(offered).toContain("newsletter · Send the spring newsletter.");
    expect(offered).toContain("#Don't send (");
    expect(offered).toContain("#Open (");
    await hand.reads("Answered: Send");
    await hand.reads("by ann on this desktop");
    await desk.screenshot("2-answered-from-notification");
  });

  await test.step("the session goes on to its end", async () => {
    await hand.press("Sessions");
    await hand.click("//*[@role='listitem']//*[contains(., 'Send the spring newsletter.')]", "the session");
    await hand.becomes("idle");
    await hand.reads("Done: the letter went out to 1204 readers.");
    await desk.screenshot("3-session-went-on");
  });

  await test.step("a second question opens on this branch", async () => {
    await hand.type("Message", "Send the spring newsletter.");
    await hand.keys("Enter");
    await hand.becomes("waiting for you (1)");
    await desk.screenshot("4-second-question");
  });

  let old: TreeRow[] = [];
  await test.step("editing the first message grows a second branch; the question stays on the old one", async () => {
    await desk.window.execute(() => document.querySelector("[role=log]")?.scrollTo(0, 0));
    await hand.click("//article[@aria-label='You, message 1']//button[@aria-label='Edit']", "Edit of the first message");
    await hand.type("Edit message", "Say hello instead.");
    await hand.reads("new branch");
    await desk.screenshot("5-editing");
    await hand.press("Save and run");
    await hand.becomes("idle");
    await hand.reads("Other words, another branch");
    await hand.reads("2 branches");
    old = await hand.tree();
    const pauses = old.filter((row) => row.kind === "pause");
    expect(pauses.map((row) => row.active)).toEqual([false]);
    expect(pauses[0]?.name).toContain("not active");
    await desk.screenshot("6-second-branch");
  });

  await test.step("back on the old branch the question waits again and is answered there", async () => {
    await hand.click("//*[@role='treeitem'][@data-kind='pause']", "the pause in the tree");
    await hand.press("Make active");
    await hand.becomes("waiting for you (1)");
    await desk.screenshot("7-switched-back");
    await hand.answer("Don't send");
    await hand.becomes("idle");
    await hand.reads("Understood, the letter stays here.");
    await desk.screenshot("8-answered-in-the-card");
  });

  await test.step("a running turn is cancelled after a forecast", async () => {
    await hand.type("Message", "A slow one, please.");
    await hand.keys("Enter");
    await hand.becomes("running");
    await hand.press("Cancel run…");
    await hand.reads("Cancel this run?");
    await desk.screenshot("9-forecast");
    await hand.confirm("Cancel run");
    await hand.becomes("cancelled");
    await desk.screenshot("10-cancelled");
  });

  await test.step("after kill -9 and a new start everything is as it was", async () => {
    await hand.type("Message", "a draft that nobody sent");
    await hand.press("Inbox");
    const path = await openSession(hand);
    const before = await snapshot(hand);
    expect(before.draft).toBe("a draft that nobody sent");
    await desk.kill();

    desk = await Desk.start(home);
    hand = new Hand(desk.window);
    expect(await openSession(hand)).toBe(path);
    await until("the tree is back", async () => ((await hand.tree()).length === before.tree.length ? true : undefined));
    expect(await snapshot(hand)).toEqual(before);
    await desk.screenshot("11-after-kill");
  });

  await test.step("the session that was there before the kill goes on", async () => {
    await hand.type("Message", "Send the spring newsletter.");
    await hand.keys("Enter");
    await hand.becomes("waiting for you (1)");
    await hand.answer("Send");
    await hand.becomes("idle");
    expect(await desk.displayed(), "no notification for a card on screen in the focused window").toBe(0);
    await desk.screenshot("12-goes-on");
  });

  await desk.close();
  home.remove();
});

/** The sample's slow reply takes half a minute; a slow machine must not see its end either. What is there the app leaves as it is. */
function takeAnHour(home: Home): void {
  const script = readFileSync(join(import.meta.dirname, "../../src-tauri/crates/app/src/sample/script.json"), "utf8");
  const slower = script.replace('"stream_ms": 30000', '"stream_ms": 3600000');
  expect(slower).not.toBe(script);
  mkdirSync(join(home.data, "sample"), { recursive: true });
  writeFileSync(join(home.data, "sample", "script.json"), slower);
}

async function openSession(hand: Hand): Promise<string> {
  await hand.press("Sessions");
  await hand.click("//*[@role='listitem']//*[contains(., 'newsletter')]", "the session");
  await until("the session is open", async () => ((await hand.tree()).length > 0 ? true : undefined));
  return hand.path();
}

/** What a restart must bring back. Ages are left out. */
async function snapshot(hand: Hand): Promise<{ tree: Omit<TreeRow, "name">[]; status: string; draft: string }> {
  const tree = (await hand.tree()).map(({ key, kind, active, head }) => ({ key, kind, active, head }));
  return { tree, status: await hand.status(), draft: await hand.field("Message") };
}
