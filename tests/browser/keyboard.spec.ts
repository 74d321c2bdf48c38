// The whole job without the pointer: focus is never lost, keys do what they say, dialogs hold the focus and give it back.

import { expect, test } from "./test";

/** What has the focus, or `body` when nothing has. */
const focused = () => {
  const at = document.activeElement;
  return at === null || at === document.body ? "body" : (at.getAttribute("aria-label") ?? at.textContent ?? at.tagName);
};

test("answer, answer again, and look into the session by keys alone", async ({ desk }) => {
  await desk.withoutUndo();
  await desk.asked("options");
  await desk.asked("pair");
  await desk.open("/inbox");
  await desk.armed();
  const first = await desk.card().getAttribute("data-interrupt-id");
  // Enter goes into the question; Tab from there reaches its answers, and a number answers it.
  await desk.page.keyboard.press("Enter");
  await expect(desk.card()).toBeFocused();
  await desk.page.keyboard.press("2");
  await expect.poll(async () => (await desk.openInterrupts()).length).toBe(1);
  await expect(desk.card(), "the next question takes its place").not.toHaveAttribute("data-interrupt-id", first ?? "");
  await expect(desk.card(), "and the focus with it").toBeFocused();
  await desk.armed();
  await desk.page.keyboard.press("o");
  await expect(desk.status()).toHaveText(/waiting for you/);
  await desk.page.keyboard.press("e");
  const editor = desk.page.getByRole("textbox", { name: "Edit message" });
  await expect(editor).toBeFocused();
  await desk.page.keyboard.press("Escape");
  await expect(editor).toHaveCount(0);
  await expect.poll(() => desk.page.evaluate(focused), "Esc out of the editor keeps a place for the keys").not.toBe("body");
});

test("dialogs hold the focus and give it back", async ({ desk }) => {
  await desk.session("plain", "Hello");
  await desk.open("/sessions");
  for (const [keys, name] of [["Control+k", "Go to or do"], ["?", "Keys"], ["c", "New session"]] as const) {
    const before = await desk.page.evaluate(focused);
    await desk.page.keyboard.press(keys);
    const dialog = desk.page.getByRole("dialog", { name });
    await expect(dialog).toBeVisible();
    for (let step = 0; step < 12; step += 1) {
      await desk.page.keyboard.press("Tab");
      // At either edge a guard beside the dialog sends the focus back in.
      await expect.poll(() => desk.page.evaluate(() => document.activeElement?.closest('[role="dialog"]') !== null), `Tab ${step} stays inside ${name}`).toBe(true);
    }
    await desk.page.keyboard.press("Escape");
    await expect(dialog).toHaveCount(0);
    await expect.poll(() => desk.page.evaluate(focused)).toBe(before);
  }
});

test("marked questions get one answer, with a result for each", async ({ desk }) => {
  await desk.withoutUndo();
  await desk.asked("pair");
  await desk.asked("pair");
  await desk.open("/inbox");
  await desk.armed();
  await desk.page.keyboard.press("x");
  const rows = desk.page.getByRole("list", { name: "Questions" }).getByRole("link");
  await desk.page.keyboard.press("j");
  await expect(rows.nth(1)).toHaveAttribute("aria-current", "true");
  await desk.page.keyboard.press("Shift+X");
  await expect(desk.page.getByText("2 marked", { exact: true })).toBeVisible();
  await desk.screen("inbox-marked");
  await desk.page.keyboard.press("a");
  const dialog = desk.page.getByRole("dialog", { name: "Answer 2 marked" });
  await dialog.locator("summary").first().click();
  await desk.screen("inbox-answer-marked");
  await expect.poll(async () => {
    await dialog.getByRole("button", { name: "Approve" }).click({ timeout: 500 }).catch(() => undefined);
    return desk.page.getByRole("heading", { name: "Answered 2 of 2" }).count();
  }, { message: "once it is armed, it sends" }).toBe(1);
  await expect(desk.page.getByRole("dialog").getByText("Answered “Approve”")).toHaveCount(2);
  await desk.screen("inbox-answered-marked");
  expect(await desk.openInterrupts()).toEqual([]);
});

test("a branch from an earlier message begins in the composer", async ({ desk }) => {
  await desk.withoutUndo();
  const session = await desk.session("plain", "Hello");
  await desk.open(`/sessions/${session}`);
  await expect(desk.message(2)).toBeVisible();
  await expect(desk.status()).toHaveText(/idle/);
  const box = desk.page.getByRole("textbox", { name: "Message" });
  await box.fill("And more");
  await box.press("Enter");
  await expect(desk.message(4)).toBeVisible();
  await expect(desk.status()).toHaveText(/idle/);
  await desk.message(2).hover();
  await desk.message(2).getByRole("button", { name: "Branch from here" }).click();
  await expect(desk.message(4)).toHaveCount(0);
  await expect(box).toBeFocused();
  await box.fill("Another way");
  await box.press("Enter");
  await expect(desk.transcript().getByText("Another way", { exact: true })).toBeVisible();
});

test.describe("in the smallest window", () => {
  test.use({ viewport: { width: 900, height: 600 } });

  test("nothing that answers or is written in is covered", async ({ desk }) => {
    const session = await desk.asked("options");
    await desk.engine.call("save_settings", { settings: { undo_ms: 3_600_000 } });
    await desk.open("/inbox");
    await desk.armed();
    await desk.screen("small-inbox");
    await desk.page.keyboard.press("2");
    const undo = desk.page.getByRole("button", { name: "Undo" });
    await expect(undo).toBeVisible();
    await desk.screen("small-undo");
    await desk.page.keyboard.press("u");
    await expect(undo).toHaveCount(0);
    expect((await desk.openInterrupts()).length, "it was taken back").toBe(1);
    await desk.page.goto(`${await desk.engine.page()}/sessions/${session}`);
    await expect(desk.status()).toHaveText(/waiting/);
    await desk.screen("small-session");
  });
});
