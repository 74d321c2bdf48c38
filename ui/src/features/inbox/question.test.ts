import { describe, expect, test } from "vitest";
import { headline, readQuestion } from "./question";

describe("a question is read from its payload", () => {
  test("offered options keep their order and their inputs (I-53)", () => {
    const question = readQuestion({
      message: "Send it?",
      metadata: { options: [{ label: "Send", value: 1, style: "primary" }, { label: "Change", value: 2, input: { label: "What?", required: true } }] },
    });
    expect(question.offered).toBe(true);
    expect(question.options).toEqual([
      { label: "Send", value: 1, style: "primary", input: null, standard: false },
      { label: "Change", value: 2, style: null, input: { label: "What?", required: true }, standard: false },
    ]);
  });

  test.each([
    ["a message alone", { message: "Go on?" }, ["Approve", "Decline"]],
    ["no message", { metadata: {} }, []],
    ["a message with a schema", { message: "Go on?", responseSchema: { type: "object" } }, []],
    ["an empty list of options", { message: "Go on?", metadata: { options: [] } }, ["Approve", "Decline"]],
    ["nothing at all", null, []],
    ["a bare string", "hello", []],
  ])("with %s the options are as I-95 says", (_, payload, labels) => {
    expect(readQuestion(payload).options.map((option) => option.label)).toEqual(labels);
  });

  test("options win over a schema (I-97)", () => {
    const question = readQuestion({ responseSchema: { type: "string" }, metadata: { options: [{ label: "A", value: 1 }] } });
    expect(question.schema).toBeNull();
    expect(question.options).toHaveLength(1);
  });

  test.each([
    ["low", "low"], ["high", "high"], ["critical", null], [3, null], [undefined, null],
  ])("risk %j counts as %j (I-81)", (risk, expected) => {
    expect(readQuestion({ metadata: { risk } }).risk).toBe(expected);
  });

  test.each([
    [{ kind: "diff", text: "-a", path: "x" }, { kind: "diff", text: "-a", path: "x" }],
    [{ kind: "command", command: ["rm", "-rf", "a b"] }, { kind: "command", command: "rm -rf 'a b'", cwd: null }],
    [{ kind: "command", command: "ls", cwd: "/tmp" }, { kind: "command", command: "ls", cwd: "/tmp" }],
    [{ kind: "json", value: null }, { kind: "json", value: null }],
    [{ kind: "html", text: "<b>" }, { kind: "json", value: { kind: "html", text: "<b>" } }],
    [{ kind: "diff", text: 4 }, { kind: "json", value: { kind: "diff", text: 4 } }],
  ])("preview %j is shown as %j (I-82)", (preview, expected) => {
    expect(readQuestion({ metadata: { preview } }).preview).toEqual(expected);
  });

  test("the tool's arguments are shown whether they come as JSON or as the raw string", () => {
    expect(readQuestion({ metadata: { tool: "send", arguments: '{"to":"a"}' } }).tool).toMatchObject({ name: "send", arguments: { to: "a" } });
    expect(readQuestion({ metadata: { tool: "send", arguments: { to: "a" } } }).tool).toMatchObject({ name: "send", arguments: { to: "a" } });
    expect(readQuestion({ metadata: { tool: "send", arguments: "not json" } }).tool).toMatchObject({ name: "send", arguments: "not json" });
  });

  const approval = {
    type: "tool.approval", tool: "files__write", connection: "mcp.files", arguments: { path: "a" }, remaining: 1, risk: "high",
    annotations: { destructiveHint: true, idempotentHint: false },
  };

  test("an approval names the tool's server, what that says of it, and how many calls wait behind (M-13)", () => {
    const question = readQuestion({ message: 'Run `files__write`?\n\n```json\n{\n  "path": "a"\n}\n```', toolCallId: "c", metadata: approval });
    expect(question.tool).toEqual({ name: "files__write", arguments: { path: "a" }, server: "mcp.files", hints: ["destructive", "not harmless to repeat"], behind: 1 });
    expect(question.message, "the card draws the arguments itself").toBe("Run `files__write`?");
    expect(question.rest).toBeUndefined();
  });

  test.each([
    ["other arguments", 'Run it?\n\n```json\n{\n  "path": "b"\n}\n```', approval],
    ["another layout", 'Run it?\n\n```json\n{"path": "a"}\n```', approval],
    ["more behind them", 'Run it?\n\n```json\n{\n  "path": "a"\n}\n```\nAnd pay.', approval],
    ["a question of somebody else", 'Run it?\n\n```json\n{\n  "path": "a"\n}\n```', { ...approval, type: "mine" }],
  ])("a message with %s is shown whole", (_, message, metadata) => {
    expect(readQuestion({ message, metadata }).message).toBe(message);
  });

  test("parts of an approval that do not have their known shape are left over too", () => {
    const odd = { ...approval, connection: 7, remaining: "1", annotations: { destructiveHint: "yes" } };
    expect(readQuestion({ message: "m", metadata: odd }).rest).toEqual({ metadata: { connection: 7, remaining: "1", annotations: { destructiveHint: "yes" } } });
    expect(readQuestion({ message: "m", metadata: { ...approval, type: "mine" } }).rest).toEqual({ metadata: { connection: "mcp.files", remaining: 1, annotations: approval.annotations } });
  });

  test("what no part of the card shows is left over to be shown as JSON", () => {
    expect(readQuestion({ message: "m", metadata: { risk: "low", ticket: 7 }, extra: true }).rest).toEqual({ extra: true, metadata: { ticket: 7 } });
    expect(readQuestion({ message: "m", metadata: { risk: "low" } }).rest).toBeUndefined();
    expect(readQuestion(["a"]).rest).toEqual(["a"]);
  });

  test.each([
    [{ message: "\n## Drop **3** indexes?\nThey are unused." }, "Drop 3 indexes?"],
    [{ message: "Run `write_file` in [docs](http://x)?" }, "Run write_file in docs?"],
    [{ message: "   " }, "Paused: confirmation"],
    [null, "Paused: confirmation"],
  ])("the headline of %j is %j (I-52)", (payload, expected) => {
    expect(headline({ payload, reason: "confirmation" })).toBe(expected);
  });

  const elicited = (mode: string, more: object = {}) => ({ type: "mcp.elicitation", connection: "mcp.files", mode, ...more });

  test("a server's form is a form, and what the engine says of it is no rest (M-33, M-34)", () => {
    const responseSchema = { type: "object", properties: { name: { type: "string" } } };
    const question = readQuestion({ message: "Who?", toolCallId: "c", responseSchema, metadata: elicited("form") });
    expect(question).toMatchObject({ options: [], offered: false, schema: responseSchema, server: { connection: "mcp.files", mode: "form", wantsSecret: false } });
    expect(question.rest).toBeUndefined();
  });

  test("a server's page offers to go on or to decline (M-34)", () => {
    const question = readQuestion({ message: "Sign in", metadata: elicited("url", { url: "https://a.example/x", host: "a.example" }) });
    expect(question.options.map((option) => option.label)).toEqual(["Continue", "Decline"]);
    expect(question).toMatchObject({ offered: false, url: "https://a.example/x", server: { mode: "url" } });
    expect(question.rest).toBeUndefined();
  });

  test.each([
    ["another type", { ...elicited("form"), type: "mine" }],
    ["another mode", elicited("telepathy")],
    ["options of its own", elicited("form", { options: [{ label: "A", value: 1 }] })],
  ])("with %s it is no server's question", (_, metadata) => {
    expect(readQuestion({ message: "m", metadata }).server).toBeNull();
  });

  test.each([
    [{ password: { type: "string" } }, true], [{ x: { type: "string", title: "API key" } }, true], [{ shipping: { type: "string" } }, false],
  ])("a form of %j wants a secret: %j", (properties, expected) => {
    expect(readQuestion({ message: "m", responseSchema: { type: "object", properties }, metadata: elicited("form") }).server?.wantsSecret).toBe(expected);
  });
});
