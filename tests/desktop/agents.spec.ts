// Agents with tools and delegates, steered by keys alone: calls approved and declined, one delegate stopped, a tree of pauses.

import { EventEmitter, once } from "node:events";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { expect, test } from "@playwright/test";
import { Desk, Home } from "./desk.ts";
import { Hand } from "./hand.ts";
import { until } from "./processes.ts";

const fileServer = resolve(import.meta.dirname, "../node_modules/.bin/mcp-server-filesystem");

test("a declined write leaves no file, and an approved one writes exactly what its card showed (M-12, M-13, M-15, I-93)", async () => {
  const home = new Home();
  const files = join(home.folder, "files");
  mkdirSync(files);
  const [declined, approved] = [join(files, "declined.txt"), join(files, "approved.md")];
  const content = "# Prices\n\n| pump | 148 |\n<b>final</b>\n";
  const write = (id: string, path: string): object => ({ id, name: "files__write_file", arguments: { path, content } });
  home.project({
    "holdpoint.toml": `
[llm.script]
type = "scripted"
script = "script.json"
[mcp.files]
command = ${JSON.stringify([fileServer, files])}
[agent.clerk]
llm = "script"
model = "clerk"
mcp = [{ id = "mcp.files", approve = "destructive" }]
`,
    "script.json": JSON.stringify({
      holdpoint_script: 1,
      replies: [
        { match: { role: "user" }, tool_calls: [write("call_declined", declined), write("call_approved", approved)] },
        { match: { role: "tool" }, text: "As you wish." },
      ],
    }),
  });
  const desk = await Desk.start(home);
  const hand = new Hand(desk.window);
  await hand.reads("Engine running");
  await hand.begin("Write the price list.");
  // The server starts with the first turn.
  await hand.becomes("waiting for you (1)");
  await hand.types("gi");

  const first = await hand.card(/call_declined$/);
  for (const words of ["Run files__write_file?", "on mcp.files", "destructive", "not read-only", "One more call of this message", `Text for ${declined}`, "Derived from the arguments"]) {
    expect(first).toContain(words);
  }
  await desk.screenshot("approval");
  await hand.types("2");

  // The first card stays, settled; the question that its answer led to stands in the list.
  await hand.sees("[data-interrupt-card=closed]");
  await hand.sees("[aria-label=Questions] [role=listitem]");
  await hand.types("j");
  const second = await hand.card(/call_approved$/);
  expect(second).toContain(`Text for ${approved}`);
  expect(existsSync(declined) || existsSync(approved), "M-17: nothing runs before all is answered").toBe(false);
  const shown = await desk.window.execute((name: string) => {
    const lines = document.querySelectorAll(`[role=region][aria-label=${JSON.stringify(name)}] tr td:last-child`);
    return [...lines].map((line) => [...line.childNodes].slice(1).map((node) => node.textContent).join(""));
  }, `Changes to ${approved}`);
  expect(shown.map((line) => `${line}\n`).join("")).toBe(content);
  await hand.types("1");

  await until("the approved file is written", () => (existsSync(approved) && readFileSync(approved, "utf8") !== "" ? true : undefined));
  await hand.reads("0 waiting");
  await hand.types("gs");
  await hand.types("o");
  await hand.becomes("idle");
  await hand.reads("As you wish.");
  expect(readFileSync(approved, "utf8")).toBe(content);
  expect(existsSync(declined)).toBe(false);
  await desk.screenshot("approved-and-declined");
  await desk.close();
  home.remove();
});

const reason = "We have a price already.";

/** Four agents, each below the other; all but the first ask the person and hand work down in one breath. */
const family = (workers: string): Record<string, string> => ({
  "holdpoint.toml": `
[llm.script]
type = "scripted"
script = "script.json"
[agent.chief]
llm = "script"
model = "m"
subagents = ["agent.editor", "agent.helper"]
[agent.helper]
llm = "script"
model = "m"
${below.map((name, at) => `
[worker.${name}]
url = "${workers}/${name}"
[agent.${name}]
llm = "script"
model = "m"
worker = "${name}"
subagents = ${JSON.stringify(below.slice(at + 1, at + 2).map((next) => `agent.${next}`))}
`).join("")}`,
  "script.json": JSON.stringify({
    holdpoint_script: 1,
    replies: [
      { match: { role: "user", contains: "help" }, tool_calls: [{ id: "call_help", name: "helper", arguments: { message: "Look for a price" } }] },
      { match: { role: "user", contains: "Look for" }, text: "late", delay_ms: 3_600_000 },
      { match: { role: "tool", contains: reason }, text: "I go on without the helper." },
      ...(["Prepare", "Edit", "Write", "Proofread"] as const).map((word, depth) => ({ match: { role: "user", contains: word }, times: 0, tool_calls: handsDown(depth) })),
      { match: { role: "tool", contains: "The person agrees." }, text: "The letter is edited.", times: 0 },
      { match: { role: "tool", contains: "The letter is edited." }, text: "The letter is ready.", times: 0 },
    ],
  }),
});

const below = ["editor", "writer", "proofreader"];

interface Asked {
  trigger: { type: string; input?: { value: { question: string } } };
  proposed: { agent?: { tools?: object[] } };
}

/** The workers of those below. Each asks the person only when the one below it is there: a pause keeps what has not begun from beginning (I-14). */
function workers(): Promise<Server> {
  const born = new EventEmitter();
  const count: Record<string, number> = {};
  const asks: Record<string, number> = {};
  const decide = async (name: string, { trigger, proposed }: Asked): Promise<object> => {
    if (trigger.type === "session.start") {
      count[name] = (count[name] ?? 0) + 1;
      born.emit("one");
      return { ...proposed, agent: { ...proposed.agent, tools: [{ name: "ask_person", input: { type: "object" } }] } };
    }
    if (trigger.type === "tool.execute") {
      const next = below[below.indexOf(name) + 1];
      const turn = (asks[name] = (asks[name] ?? 0) + 1);
      while (next !== undefined && (count[next] ?? 0) < turn) await once(born, "one");
      return { actions: [{ type: "interrupt", reason: "confirmation", payload: { message: trigger.input?.value.question } }] };
    }
    if (trigger.type === "interrupt.resumed") return { actions: [{ type: "tool.result", result: { content: [{ type: "text", text: "The person agrees." }] } }] };
    return proposed;
  };
  const server = createServer(async (request, response) => {
    const asked = JSON.parse(await text(request)) as Asked;
    response.setHeader("content-type", "application/json").end(JSON.stringify(await decide((request.url ?? "").slice(1), asked)));
  });
  return new Promise((listening) => server.listen(0, "127.0.0.1", () => listening(server)));
}

function handsDown(depth: number): object[] {
  const down = [["editor", "Edit the letter"], ["writer", "Write the letter"], ["proofreader", "Proofread the letter"]][depth];
  const asks = depth === 0 ? [] : [{ id: `call_ask_${depth}`, name: "ask_person", arguments: { question: `Depth ${depth}: is the tone right?` } }];
  return [...(down === undefined ? [] : [{ id: `call_down_${depth}`, name: down[0], arguments: { message: down[1] } }]), ...asks];
}

const paths = ["chief › editor", "chief › editor › writer", "chief › editor › writer › proofreader"];

test("delegates are stopped with a reason, their questions counted at every depth, and a cancel ends them all (S-5, TH-14, C-19)", async () => {
  const home = new Home();
  const server = await workers();
  home.project(family(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
  const desk = await Desk.start(home);
  const hand = new Hand(desk.window);
  await hand.reads("Engine running");

  await test.step("a delegate that works is interrupted; whoever asked it goes on in the same turn with the reason", async () => {
    await hand.begin("Get help.");
    await interrupt(hand, "Look for a price");
    await desk.screenshot("interrupting-a-thread");
    await hand.types(reason);
    await hand.keys("Control", "Enter");
    await hand.noDialog();
    await hand.reads("I go on without the helper.");
    await hand.becomes("idle");
    const log = await hand.log(sessionIn(await hand.path()));
    expect(log.filter((event) => event["type"] === "turn.started")).toHaveLength(1);
    expect(log.filter((event) => event["type"] === "turn.completed").map((event) => event["error"])).toEqual([undefined]);
  });

  let chief = "";
  await test.step("questions at depths 1, 2 and 3 are counted by inbox, window title and notifications, with their paths", async () => {
    await hand.begin("Prepare the letter.");
    chief = await hand.path();
    await until("the title counts three", async () => ((await desk.window.getTitle()) === "Holdpoint (3 waiting)" ? true : undefined));
    await until("the window's own title too", async () => ((await desk.hasWindow("Holdpoint (3 waiting)")) ? true : undefined));
    await until("a notification names each", async () => {
      const told = await desk.told();
      return [1, 2, 3].every((depth) => told.includes(`Depth ${depth}: is the tone right?`)) && paths.every((path) => told.includes(`${path} · `)) ? true : undefined;
    });
    await hand.types("gi");
    await asking(desk, paths);
    await desk.screenshot("three-depths");
  });

  await test.step("interrupting the middle one ends the one below and hands the reason to the one above", async () => {
    await hand.types("gs");
    await hand.types("o");
    expect(await hand.path()).toBe(chief);
    await interrupt(hand, "Write the letter");
    await hand.types(reason);
    await hand.keys("Control", "Enter");
    await hand.noDialog();
    await until("one question is left", async () => ((await desk.window.getTitle()) === "Holdpoint (1 waiting)" ? true : undefined));
    await hand.types("gi");
    await asking(desk, ["chief › editor"]);
    await hand.card(/./);
    const editor = (await hand.path()).split("/")[2] ?? "";
    expect(editor).toMatch(/^sesn_/);
    await hand.types("1");
    await hand.reads("0 waiting");
    await hand.types("gs");
    await hand.types("o");
    await hand.reads("The letter is ready.");
    await hand.becomes("idle");
    const log = await hand.log(editor);
    expect(log.filter((event) => event["type"] === "turn.started"), "the turn that was paused goes on").toHaveLength(1);
    expect(JSON.stringify(log.filter((event) => event["type"] === "message.new"))).toContain(reason);
    expect(log.filter((event) => event["type"] === "turn.completed").map((event) => event["error"])).toEqual([undefined]);
    await desk.screenshot("middle-interrupted");
  });

  await test.step("cancelling the session ends all of them", async () => {
    await hand.begin("Prepare the letter again.");
    await until("three wait again", async () => ((await desk.window.getTitle()) === "Holdpoint (3 waiting)" ? true : undefined));
    await hand.keys("Control", ".");
    for (const ends of ["Cancel this run?", "proofreader", "Depth 1: is the tone right?", "Depth 3: is the tone right?"]) await hand.reads(ends);
    await desk.screenshot("cancel-a-family");
    await hand.focusIs("Cancel run");
    await hand.keys("Enter");
    await hand.becomes("cancelled");
    await until("nobody waits", async () => ((await desk.window.getTitle()) === "Holdpoint" ? true : undefined));
    await hand.types("gi");
    await hand.reads("0 waiting");
  });

  await desk.close();
  server.closeAllConnections();
  server.close();
  home.remove();
});

/** Opens the box for the reason of a delegate's thread. */
async function interrupt(hand: Hand, title: string): Promise<void> {
  await hand.reads(title);
  await hand.tabTo(`Interrupt ${title}`);
  await hand.keys("Enter");
  await hand.focusIs("Reason");
}

/** Until the inbox lists these and no others as asking, by path. */
async function asking(desk: Desk, paths: string[]): Promise<void> {
  await until(`the inbox lists ${paths.join(", ")}`, async () => {
    const rows = await desk.window.execute(() => [...document.querySelectorAll("[aria-label=Questions] [role=listitem]")].map((row) => row.textContent ?? ""));
    const listed = rows.map((row) => /chief(?: › [a-z]+)*/.exec(row)?.[0] ?? row).toSorted();
    return JSON.stringify(listed) === JSON.stringify(paths) ? true : undefined;
  });
}

function sessionIn(path: string): string {
  return path.split("/")[2] ?? "";
}
