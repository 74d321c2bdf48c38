// A connection that a person has to authorize (§10C): asked in the inbox, given in the browser, gone on.

import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, test as base } from "./test";

const server = fileURLToPath(new URL("../../src-tauri/crates/effects-mcp/tests/oauth.mjs", import.meta.url));

const config = (port: string): string => `
[llm.script]
type = "scripted"
script = "script.json"

[mcp.far]
url = "http://127.0.0.1:${port}/mcp"

[agent.caller]
llm = "script"
model = "clerk"
mcp = ["mcp.far"]

[agent.caller.retry]
tool = { run_timeout_secs = 300, total_timeout_secs = 900 }
connector = { run_timeout_secs = 120, total_timeout_secs = 300 }
`;

const script = {
  holdpoint_script: 1,
  replies: [
    { match: { equals: "go" }, tool_calls: [{ id: "c", name: "far__hello", arguments: {} }] },
    { match: { role: "tool" }, text: "Thank you." },
  ],
};

/** A project whose server has its own authorization server. */
const test = base.extend({
  project: async ({}, use) => {
    const child = spawn("node", [server], { stdio: ["ignore", "pipe", "inherit"] });
    const port = await new Promise<string>((said) => createInterface({ input: child.stdout }).once("line", said));
    const folder = await mkdtemp(join(tmpdir(), "holdpoint-far-"));
    await writeFile(join(folder, "holdpoint.toml"), config(port));
    await writeFile(join(folder, "script.json"), JSON.stringify(script));
    await use(folder);
    child.kill();
    await rm(folder, { recursive: true, force: true });
  },
});

test.beforeEach(async ({ desk }) => desk.withoutUndo());

test("a connection is authorized from its card, after its host was seen, and Retry goes on (M-21, M-23, M-24, SL-10)", async ({ desk }) => {
  const session = await desk.session("caller", "go");
  await desk.open("/inbox");
  await desk.page.getByRole("link", { name: /mcp\.far asks for authorization/ }).first().click();
  await expect(desk.card().getByText("needs authorization", { exact: true })).toBeVisible();
  await desk.card().getByRole("button", { name: "Authorize mcp.far" }).click();
  await expect(desk.card().getByText(/The authorization is given at 127\.0\.0\.1:\d+/)).toBeVisible();
  await expect(desk.card().getByText("waiting for your browser")).toBeVisible();
  await desk.screen("authorize");
  const opened = desk.page.context().waitForEvent("page");
  await desk.card().getByRole("button", { name: "Open in browser" }).click();
  await expect((await opened).getByText("mcp.far is authorized. You can close this page and go back to Holdpoint.")).toBeVisible();
  await expect(desk.card().getByText("authorized", { exact: true })).toBeVisible();
  await desk.armed();
  await desk.card().getByRole("button", { name: /^Retry/ }).click();
  await expect.poll(async () => (await desk.events(session)).some((event) => event.type === "turn.completed")).toBe(true);
  const events = await desk.events(session);
  expect(events.find((event) => event.type === "session.interrupt_resumed")?.payload).toMatchObject({
    interrupt_id: "mcp-auth:mcp.far", verification: "verified",
    payload: { status: "resolved", payload: { connection: "mcp.far" }, responder: { channel: "desktop", label: "Retry" } },
  });
  expect(events.find((event) => event.type === "tool.call.completed")?.payload.result).toMatchObject({ content: [{ type: "text", text: "hello from afar" }] });
});

test("the agents page shows how a connection stands, and forgets its authorization (DT-4)", async ({ desk }) => {
  await desk.open("/agents");
  const row = desk.page.getByRole("listitem", { name: "mcp.far" });
  await expect(row.getByText("no authorization asked for so far")).toBeVisible();
  await row.getByRole("button", { name: "Authorize mcp.far" }).click();
  const opened = desk.page.context().waitForEvent("page");
  await row.getByRole("button", { name: "Open in browser" }).click();
  await expect((await opened).getByText(/mcp\.far is authorized/)).toBeVisible();
  await expect(row.getByText("authorized", { exact: true })).toBeVisible();
  await desk.screen("connections");
  await row.getByRole("button", { name: "Forget the credential of mcp.far" }).click();
  await expect(row.getByText("no authorization asked for so far")).toBeVisible();
});
