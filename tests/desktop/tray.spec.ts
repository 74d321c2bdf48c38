// The tray icon where a desktop shows one, and nothing of it where none does.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@playwright/test";
import { Desk, Home } from "./desk.ts";
import { Hand } from "./hand.ts";
import { until } from "./processes.ts";

const library = "appindicator";

/** A chief whose editor asks the person what the first message names. */
const office = {
  "holdpoint.toml": `
[llm.script]
type = "scripted"
script = "script.json"
[agent.chief]
llm = "script"
model = "m"
subagents = ["agent.editor"]
[worker.desk]
file = "desk.mjs"
[agent.editor]
llm = "script"
model = "m"
worker = "desk"
`,
  "script.json": JSON.stringify({
    holdpoint_script: 1,
    replies: [
      ...["pumps", "R&D", "hoses"].flatMap((about) => [
        { match: { role: "user", contains: `Prepare ${about}` }, tool_calls: [{ id: "call_edit", name: "editor", arguments: { message: `Edit ${about}` } }] },
        { match: { role: "user", contains: `Edit ${about}` }, tool_calls: [{ id: "call_ask", name: "ask_person", arguments: { question: `Is the letter\non ${about} right?` } }] },
      ]),
      { match: { role: "tool" }, text: "Done.", times: 0 },
    ],
  }),
  "desk.mjs": `
export function decide({ trigger, proposed }) {
  if (trigger.type === "session.start") return { ...proposed, agent: { ...proposed.agent, tools: [{ name: "ask_person", input: { type: "object" } }] } };
  if (trigger.type === "tool.execute") return { actions: [{ type: "interrupt", reason: "confirmation", payload: { message: trigger.input.value.question } }] };
  if (trigger.type === "interrupt.resumed") return { actions: [{ type: "tool.result", result: { content: [{ type: "text", text: "yes" }] } }] };
  return proposed;
}
`,
};

test("the tray counts who waits, and its menu opens exactly the question that is chosen", async () => {
  const home = new Home();
  home.project(office);
  const desk = await Desk.start(home, { tray: true });
  const hand = new Hand(desk.window);
  await hand.reads("Engine running");
  await desk.trayReads("Holdpoint");
  expect((await desk.tray())?.menu).toEqual(["Holdpoint", "Open inbox", "Quit"]);

  const questions: string[] = [];
  for (const [at, about] of ["pumps", "R&D", "hoses"].entries()) {
    await hand.press("Sessions");
    await hand.press("New session");
    await hand.type("First message", `Prepare ${about}.`);
    await hand.confirm("Start");
    questions.unshift(`chief › editor: Is the letter on ${about} right?`);
    await desk.trayReads(`Holdpoint: ${at + 1} waiting`);
  }
  expect((await desk.tray())?.menu, "the newest stands first").toEqual(["Holdpoint: 3 waiting", ...questions, "Open inbox", "Quit"]);

  await desk.choose("on R&D right?");
  await until("the question of the tray is open", async () => ((await hand.path()).startsWith("/inbox/sesn_") ? true : undefined));
  expect(await hand.card(/./)).toContain("on R&D right?");
  await desk.screenshot("opened-from-the-tray");
  await hand.answer("Approve");
  await desk.trayReads("Holdpoint: 2 waiting");
  expect((await desk.tray())?.menu).not.toContain("chief › editor: Is the letter on R&D right?");
  await desk.close();
  home.remove();
});

test("Open inbox and Quit in the tray do what they say, and the database is let go", async () => {
  const home = new Home();
  const desk = await Desk.start(home, { tray: true });
  const hand = new Hand(desk.window);
  await desk.trayReads("Holdpoint: 1 waiting");
  const app = desk.app();
  expect(readFileSync(`/proc/${app}/maps`, "utf8")).toContain(library);

  await hand.press("Settings");
  await until("the settings are open", async () => ((await hand.path()).startsWith("/settings") ? true : undefined));
  await desk.choose("Open inbox");
  await until("the inbox is open", async () => ((await hand.path()).startsWith("/inbox") ? true : undefined));

  await desk.choose("Quit");
  await until("the app is gone", () => (desk.apps().includes(app) ? undefined : true));
  expect(existsSync(join(home.data, "holdpoint.db.operator"))).toBe(false);
  await desk.close();
  home.remove();
});

test("where nothing shows icons the app makes none, loads nothing for it and warns of nothing", async () => {
  const home = new Home();
  const desk = await Desk.start(home);
  const hand = new Hand(desk.window);
  await hand.reads("Engine running");
  await hand.answer("Don't send");
  await hand.reads("0 waiting");
  expect(readFileSync(`/proc/${desk.app()}/maps`, "utf8")).not.toContain(library);
  expect(desk.said()).not.toMatch(/tray|indicator|panicked/i);
  await desk.close();
  home.remove();
});
