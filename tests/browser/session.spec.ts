// A person looks into a session, tries another way, and stops things.

import { expect, test } from "./test";

test.beforeEach(async ({ desk }) => desk.withoutUndo());

test("a new session is started from an agent and streams its reply (B-3, N-6)", async ({ desk }) => {
  await desk.open("/agents");
  await desk.screen("agents");
  await desk.page.keyboard.press("Control+k");
  await desk.page.keyboard.type("new session");
  await desk.page.keyboard.press("Enter");
  const dialog = desk.page.getByRole("dialog", { name: "New session" });
  await dialog.getByRole("combobox", { name: "Agent" }).selectOption("plain");
  await dialog.getByRole("textbox", { name: "First message" }).fill("Show me markdown");
  await desk.screen("new-session");
  await dialog.getByRole("button", { name: /^Start/ }).click();
  await expect(desk.page.getByRole("heading", { name: "A heading" })).toBeVisible();
  await expect(desk.status()).toHaveText(/idle/);
  await expect(desk.page.getByText("scripted", { exact: true }).first(), "what is scripted says so (P-32)").toBeVisible();
  await expect(desk.page.locator("main script"), "message content is never markup (I-83)").toHaveCount(0);
  await desk.screen("session-idle");
});

test("an edited message makes a branch, and the pause stays on the branch that was left (T-5, I-29, I-48, I-50)", async ({ desk }) => {
  const session = await desk.asked("options");
  await desk.open(`/sessions/${session}`);
  await expect(desk.status()).toHaveText(/waiting for you \(1\)/);
  await expect(desk.page.getByText("This branch waits for your answer", { exact: false })).toBeVisible();
  await desk.screen("session-paused");
  await desk.message(1).hover();
  await desk.message(1).getByRole("button", { name: /^Edit/ }).click();
  const editor = desk.page.getByRole("textbox", { name: "Edit message" });
  await editor.fill("Say something else");
  await expect(desk.message(1).getByRole("status"), "before sending, it says what will happen").toContainText(/branch/i);
  await desk.screen("session-edit");
  await editor.press("Control+Enter");
  await expect(desk.transcript().getByText("Noted.")).toBeVisible();
  await expect(desk.status()).toHaveText(/idle/);
  expect((await desk.openInterrupts()).map((row) => row.interrupt_id), "the old pause is still open").toEqual(["int_options"]);
  await desk.screen("session-branches");
  // Its card says that an answer there only clears the pause.
  await desk.page.goto(`${await desk.engine.page()}/inbox`);
  await desk.page.getByRole("link", { name: /Drop 3 indexes/ }).first().click();
  await expect(desk.card()).toContainText("not the active one");
  await desk.screen("inbox-other-branch");
  await desk.card().getByRole("button", { name: "Switch and answer" }).click();
  await desk.armed();
  await desk.page.keyboard.press("1");
  await expect.poll(() => desk.openInterrupts()).toEqual([]);
  const kinds = (await desk.events(session)).map((event) => event.type);
  expect(kinds.lastIndexOf("head.moved"), "the branch became active first").toBeLessThan(kinds.lastIndexOf("session.interrupt_resumed"));
  expect(kinds.lastIndexOf("head.moved")).toBeGreaterThan(0);
});

test("a cancel tells what it will end, and ends it (C-1, C-4, C-13, C-21)", async ({ desk }) => {
  const session = await desk.session("plain", "A slow one");
  await desk.open(`/sessions/${session}`);
  await expect(desk.status()).toHaveText(/running/);
  await expect(desk.page.getByText(/^A slow/).last()).toBeVisible();
  await desk.page.keyboard.press("Control+.");
  const dialog = desk.page.getByRole("dialog", { name: "Cancel this run?" });
  await expect(dialog).toContainText("scripted/clerk");
  await desk.screen("session-cancel");
  await desk.page.keyboard.press("Enter");
  await expect(desk.status()).toHaveText(/cancelled/);
  const events = await desk.events(session);
  expect(events.find((event) => event.type === "turn.completed")?.payload).toMatchObject({ error: { code: "cancelled" } });
  expect(events.some((event) => event.type === "call.voided")).toBe(true);
});

test("a message during a run is queued and starts after it (N-4)", async ({ desk }) => {
  const session = await desk.session("plain", "A slow one");
  await desk.open(`/sessions/${session}`);
  await expect(desk.status()).toHaveText(/running/);
  const box = desk.page.getByRole("textbox", { name: "Message" });
  await box.fill("And then this");
  await desk.page.getByRole("button", { name: /^Queue/ }).click();
  await expect(desk.page.getByRole("list", { name: "Queued messages" })).toContainText("And then this");
  await desk.screen("session-queued");
});

test("a failed run says so and why (K-16, P-12)", async ({ desk }) => {
  const session = await desk.session("plain", "Please fail");
  await desk.open(`/sessions/${session}`);
  await expect(desk.status()).toHaveText(/failed/);
  await expect(desk.page.getByText("the model server is down").first()).toBeVisible();
  await desk.screen("session-failed");
});

test("a message that is not taken comes back with its reason", async ({ desk }) => {
  const session = await desk.session("plain", "Hello");
  await desk.open(`/sessions/${session}`);
  await expect(desk.status()).toHaveText(/idle/);
  await desk.engine.kill();
  const box = desk.page.getByRole("textbox", { name: "Message" });
  await box.fill("Are you there?");
  await box.press("Enter");
  await expect(desk.page.getByRole("alert").filter({ hasText: "Not sent:" })).toBeVisible();
  await expect(box).toHaveValue("Are you there?");
  await desk.screen("session-not-sent");
  await desk.engine.up();
  await box.press("Enter");
  // It asks for a lost engine at most every five seconds.
  await expect(desk.message(3), "without a reload the page finds the engine again").toContainText("Are you there?");
  await expect(desk.message(4)).toContainText("Noted.");
});

test("a draft in the composer survives a reload", async ({ desk }) => {
  const session = await desk.session("plain", "Hello");
  await desk.open(`/sessions/${session}`);
  await expect(desk.status()).toHaveText(/idle/);
  await desk.page.getByRole("textbox", { name: "Message" }).fill("half a thou");
  await expect.poll(async () => JSON.stringify((await desk.engine.call<{ drafts: unknown }>("bootstrap", {})).drafts)).toContain("half a thou");
  await desk.page.reload();
  await expect(desk.page.getByRole("textbox", { name: "Message" })).toHaveValue("half a thou");
});

test("a killed engine comes back with the same session, and the page reads on by itself (D-2, D-7, D-9)", async ({ desk }) => {
  const session = await desk.asked("options");
  await desk.open(`/sessions/${session}`);
  await expect(desk.status()).toHaveText(/waiting for you \(1\)/);
  await desk.engine.kill();
  await desk.engine.up();
  await desk.page.reload();
  await expect(desk.status()).toHaveText(/waiting for you \(1\)/);
  await desk.armed();
  await desk.page.keyboard.press("2");
  await expect(desk.transcript().getByText("Noted.")).toBeVisible();
  await expect(desk.status()).toHaveText(/idle/);
});
