// Every place of the window: nothing shuts people out, and a picture of each is kept.

import { expect, sampleProject, test } from "./test";

test("the session list names each session's state in its own word (B-10)", async ({ desk }) => {
  await desk.asked("options");
  await desk.session("plain", "Hello");
  await desk.session("plain", "Please fail");
  await desk.open("/sessions");
  const list = desk.page.getByRole("main");
  await expect(list).toContainText("waiting for you (1)");
  await expect(list).toContainText("failed");
  await expect(list).toContainText("idle");
  await desk.screen("sessions");
});

test("activity, settings, the palette and the keys are reachable by keyboard", async ({ desk }) => {
  await desk.asked("pair");
  await desk.open("/activity");
  await desk.screen("activity");
  await desk.open("/settings");
  await desk.screen("settings");
  await desk.page.keyboard.press("Control+k");
  await expect(desk.page.getByRole("dialog")).toBeVisible();
  await desk.screen("palette");
  await desk.page.keyboard.press("Escape");
  await desk.page.keyboard.press("?");
  await expect(desk.page.getByRole("dialog")).toBeVisible();
  await desk.screen("keys");
});

test.describe("the sample", () => {
  test.use({ project: sampleProject });

  test("its first message stops at one open question, and everything scripted says so", async ({ desk }) => {
    const session = await desk.session("newsletter", "Send the spring newsletter.");
    await desk.open(`/sessions/${session}`);
    await expect(desk.status()).toHaveText(/waiting for you \(1\)/);
    await expect(desk.page.getByText("scripted", { exact: true }).first()).toBeVisible();
    await desk.screen("sample");
  });
});
