// Servers that ask a person while a tool of theirs runs (§10D), and tell how far they are.

import { fileURLToPath } from "node:url";
import { expect, test } from "./test";

test.use({ project: fileURLToPath(new URL("asking", import.meta.url)) });
test.beforeEach(async ({ desk }) => desk.withoutUndo());

test("a server's form is filled in on its card, and the call goes on with it (M-33, M-34, M-35)", async ({ desk }) => {
  const session = await desk.session("caller", "form");
  await desk.open("/inbox");
  await desk.page.getByRole("link", { name: /Whom is the parcel for/ }).first().click();
  await desk.armed();
  await expect(desk.card().getByText("The server of mcp.ask asks.")).toBeVisible();
  await desk.card().getByRole("button", { name: /^Submit/ }).click();
  await expect(desk.card().getByText("Some fields need another look.")).toBeVisible();
  expect((await desk.openInterrupts()).length, "nothing was sent").toBe(1);
  await desk.card().getByRole("textbox", { name: /Your name/ }).fill("Ann");
  await desk.screen("asking-form");
  await desk.card().getByRole("button", { name: /^Submit/ }).click();
  await expect.poll(() => desk.openInterrupts()).toEqual([]);
  const resumed = (await desk.events(session)).find((event) => event.type === "session.interrupt_resumed");
  expect(resumed?.payload).toMatchObject({
    verification: "verified",
    payload: { status: "resolved", payload: { name: "Ann", colour: "red" }, responder: { channel: "desktop", label: "Submit", style: "primary" } },
  });
  await expect.poll(async () => (await desk.events(session)).some((event) => event.type === "turn.completed")).toBe(true);
  const ended = (await desk.events(session)).find((event) => event.type === "tool.call.completed");
  expect(JSON.stringify(ended?.payload.result)).toContain(String.raw`\"action\":\"accept\"`);
});

test("a page is opened only after its host was seen, and the question can be declined (M-33, M-34, I-83)", async ({ desk }) => {
  const session = await desk.session("caller", "page");
  await desk.open("/inbox");
  await desk.page.getByRole("link", { name: /Sign in to the archive/ }).first().click();
  await desk.armed();
  const link = desk.card().getByRole("button", { name: /archive\.example\/sign-in\?to=parcels \(archive\.example\)/ });
  await expect(link).toBeVisible();
  await expect(desk.card().getByRole("textbox")).toHaveCount(0);
  await desk.screen("asking-page");
  await desk.card().getByRole("button", { name: /^Decline/ }).click();
  await expect.poll(() => desk.openInterrupts()).toEqual([]);
  const resumed = (await desk.events(session)).find((event) => event.type === "session.interrupt_resumed");
  expect(resumed?.payload).toMatchObject({ payload: { status: "resolved", declined: true, responder: { channel: "desktop", label: "Decline" } } });
});

test("how far a running call is shows in its line, and goes with the call (E-13)", async ({ desk }) => {
  const session = await desk.session("caller", "hello");
  await desk.open(`/sessions/${session}`);
  await expect(desk.transcript().getByText("Noted.")).toBeVisible();
  await desk.page.getByRole("textbox", { name: /Message/ }).fill("copy");
  await desk.page.keyboard.press("Control+Enter");
  const bar = desk.transcript().getByRole("progressbar", { name: "Progress of ask__copy" });
  await expect(bar).toBeVisible();
  await expect(bar).toHaveAttribute("value", "1");
  await expect(desk.transcript().getByText("1 of 4")).toBeVisible();
  await expect(desk.transcript().getByText("copied the first file")).toBeVisible();
  await desk.armed();
  await desk.screen("asking-progress");
  await desk.card().getByRole("button", { name: /^Submit/ }).click();
  await expect(desk.transcript().getByText("Thank you.")).toBeVisible();
  await expect(bar).toHaveCount(0);
});
