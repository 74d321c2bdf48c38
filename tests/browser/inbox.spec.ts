// A person answers from the inbox.

import { expect, test } from "./test";

test.beforeEach(async ({ desk }) => desk.withoutUndo());

test("a number key answers the question with the option at that place (I-53, I-56, I-57, I-91, I-92)", async ({ desk }) => {
  const session = await desk.asked("options");
  await desk.open("/inbox");
  await desk.page.getByRole("link", { name: /Drop 3 indexes/ }).first().click();
  await desk.armed();
  await desk.screen("inbox-options");
  await desk.page.keyboard.press("1");
  await expect.poll(() => desk.openInterrupts()).toEqual([]);
  const resumed = (await desk.events(session)).find((event) => event.type === "session.interrupt_resumed");
  expect(resumed?.payload).toMatchObject({
    interrupt_id: "int_options",
    verification: "verified",
    payload: { status: "resolved", payload: { run: true }, responder: { channel: "desktop", label: "Run it", style: "primary" } },
  });
  await desk.page.goto(`${await desk.engine.page()}/sessions/${session}`);
  await expect(desk.status()).toHaveText(/idle/);
  await expect(desk.transcript().getByText("Noted.")).toBeVisible();
});

test("what a call would change in a file is drawn from its arguments, which stay at hand (I-83, M-13)", async ({ desk }) => {
  await desk.asked("edit");
  await desk.open("/inbox");
  await desk.page.getByRole("link", { name: /files__edit_file/ }).first().click();
  const changes = desk.card().getByRole("region", { name: "Changes to docs/prices.md" });
  await expect(changes.locator("tr[data-kind=del]")).toContainText(["pump 140", "a"]);
  await expect(changes.locator("tr[data-kind=add]")).toContainText(["pump 148", "<b>ab</b>"]);
  await expect(changes.getByRole("img", { name: "right-to-left override U+202E" })).toBeVisible();
  await expect(desk.card().getByRole("region", { name: "Arguments of files__edit_file" })).toContainText("dryRun");
  await desk.screen("inbox-edit");
});

test("an option that needs a text is not sent without one, and the text goes along (I-98)", async ({ desk }) => {
  const session = await desk.asked("options");
  await desk.open("/inbox");
  await desk.page.getByRole("link", { name: /Drop 3 indexes/ }).first().click();
  await desk.armed();
  await desk.page.keyboard.press("3");
  const why = desk.page.getByRole("textbox", { name: /Why not\?/ });
  await expect(why).toBeFocused();
  await desk.page.keyboard.press("Control+Enter");
  await expect(desk.card().getByText(/needs this text/)).toBeVisible();
  expect((await desk.openInterrupts()).length, "nothing was sent").toBe(1);
  await why.fill("The index is still read at night.");
  await desk.page.keyboard.press("Control+Enter");
  await expect.poll(() => desk.openInterrupts()).toEqual([]);
  const resumed = (await desk.events(session)).find((event) => event.type === "session.interrupt_resumed");
  expect(resumed?.payload).toMatchObject({
    payload: { payload: { run: false }, responder: { label: "Decline with reason", style: "danger", text: "The index is still read at night." } },
  });
});

test("a question without options offers the default pair, delivered bare (I-63, I-95)", async ({ desk }) => {
  const session = await desk.asked("pair");
  await desk.open("/inbox");
  await desk.page.getByRole("link", { name: /Send the summary/ }).first().click();
  await desk.armed();
  await desk.card().getByRole("button", { name: /^Decline/ }).click();
  await expect.poll(() => desk.openInterrupts()).toEqual([]);
  const resumed = (await desk.events(session)).find((event) => event.type === "session.interrupt_resumed");
  expect(resumed?.payload).toMatchObject({ payload: { approved: false }, responder: { channel: "desktop", label: "Decline" } });
});

test("typed words are a string, typed JSON is its value (I-96)", async ({ desk }) => {
  const session = await desk.asked("pair");
  await desk.open("/inbox");
  await desk.page.getByRole("link", { name: /Send the summary/ }).first().click();
  await desk.armed();
  const box = desk.card().getByRole("textbox");
  await box.fill('{"later": 2}');
  await box.press("Control+Enter");
  await expect.poll(() => desk.openInterrupts()).toEqual([]);
  const resumed = (await desk.events(session)).find((event) => event.type === "session.interrupt_resumed");
  expect(resumed?.payload).toMatchObject({ payload: { later: 2 } });
});

test("a response schema is shown as a form, checked before it is sent (I-97)", async ({ desk }) => {
  const session = await desk.asked("form");
  await desk.open("/inbox");
  await desk.page.getByRole("link", { name: /Which account/ }).first().click();
  await desk.armed();
  const days = desk.card().getByRole("spinbutton", { name: /Keep the old key/ });
  await expect(days).toHaveValue("7");
  await desk.card().getByRole("button", { name: /^Send/ }).click();
  await expect(desk.card().getByRole("alert").first()).toBeVisible();
  expect((await desk.openInterrupts()).length, "a required field is missing").toBe(1);
  await desk.screen("inbox-form");
  await desk.card().getByRole("combobox", { name: /Account/ }).selectOption({ label: "deploy" });
  await days.fill("3");
  await desk.card().getByRole("button", { name: /^Send/ }).click();
  await expect.poll(() => desk.openInterrupts()).toEqual([]);
  const resumed = (await desk.events(session)).find((event) => event.type === "session.interrupt_resumed");
  expect(resumed?.payload).toMatchObject({ payload: { account: "deploy", days: 3 } });
});

test("a question may be withdrawn without an answer (I-99)", async ({ desk }) => {
  const session = await desk.asked("pair");
  await desk.open("/inbox");
  await desk.page.getByRole("link", { name: /Send the summary/ }).first().click();
  await desk.armed();
  await desk.card().getByRole("button", { name: "Withdraw" }).click();
  await expect.poll(() => desk.openInterrupts()).toEqual([]);
  const resumed = (await desk.events(session)).find((event) => event.type === "session.interrupt_resumed");
  expect(resumed?.payload).toMatchObject({ payload: { status: "cancelled" } });
});

test("the draft of an answer survives a reload and the engine's death (D-9)", async ({ desk }) => {
  await desk.asked("pair");
  await desk.open("/inbox");
  await desk.page.getByRole("link", { name: /Send the summary/ }).first().click();
  await desk.card().getByRole("textbox").fill("Only after the review");
  await expect.poll(async () => JSON.stringify((await desk.engine.call<{ drafts: unknown }>("bootstrap", {})).drafts)).toContain("Only after the review");
  await desk.engine.kill();
  await desk.engine.up();
  await desk.page.reload();
  await desk.page.getByRole("link", { name: /Send the summary/ }).first().click();
  await expect(desk.card().getByRole("textbox")).toHaveValue("Only after the review");
});

test("a question answered elsewhere settles on its card and says how", async ({ desk }) => {
  const session = await desk.asked("pair");
  await desk.open("/inbox");
  await desk.page.getByRole("link", { name: /Send the summary/ }).first().click();
  await desk.armed();
  const [row] = await desk.engine.call<{ shown_hash: string }[]>("list_interrupts", { state: "open", before: null, limit: 1 });
  const command = { type: "answer", interrupt_id: "int_pair", shown_hash: row?.shown_hash, answer: { option: 0, text: null, value: null, cancel: false } };
  await desk.engine.call("submit", { submit: { command_id: "elsewhere", session_id: session, command } });
  await expect(desk.page.locator('[data-interrupt-card="closed"]')).toContainText("Approve");
});

test("an answer held back for undoing is taken back by its key, and nothing was sent", async ({ desk }) => {
  await desk.engine.call("save_settings", { settings: { undo_ms: 3_600_000 } });
  const session = await desk.asked("options");
  await desk.open("/inbox");
  await desk.page.getByRole("link", { name: /Drop 3 indexes/ }).first().click();
  await desk.armed();
  await desk.page.keyboard.press("2");
  await expect(desk.page.getByText(/“Only on staging” to/)).toBeVisible();
  await desk.screen("inbox-undo");
  await desk.page.keyboard.press("u");
  await expect(desk.page.getByText(/“Only on staging” to/)).toBeHidden();
  expect((await desk.openInterrupts()).map((row) => row.interrupt_id)).toEqual(["int_options"]);
  expect((await desk.events(session)).map((event) => event.type)).not.toContain("session.interrupt_resumed");
});

test("an empty inbox says what happened last", async ({ desk }) => {
  await desk.open("/inbox");
  await desk.screen("inbox-empty");
  await expect(desk.page.getByRole("main")).toContainText(/Nothing|nobody|No one|waits/i);
});
