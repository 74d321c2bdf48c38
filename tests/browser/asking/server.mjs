// An MCP server on stdio that asks: `form` and `page` at once, `copy` after a first step that it tells of.
import { createInterface } from "node:readline";

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const schema = {
  type: "object",
  properties: {
    name: { type: "string", title: "Your name", minLength: 1 },
    colour: { type: "string", title: "Colour", enum: ["red", "blue"], default: "red" },
    copies: { type: "integer", title: "Copies", minimum: 1, maximum: 9 },
  },
  required: ["name"],
};
const questions = {
  form: { mode: "form", message: "Whom is the parcel for?", requestedSchema: schema },
  page: { mode: "url", message: "Sign in to the archive first.", url: "https://archive.example/sign-in?to=parcels", elicitationId: "e1" },
  copy: { mode: "form", message: "Go on with the other files?", requestedSchema: { type: "object", properties: {} } },
};
const waiting = new Map();
let next = 0;

function ask(params) {
  const id = `ask-${next++}`;
  send({ id, method: "elicitation/create", params });
  return new Promise((resolve) => waiting.set(id, resolve));
}

async function answer({ id, method, params, result }) {
  if (method === undefined) return waiting.get(id)?.(result);
  const reply = (value) => send({ id, result: value });
  if (method === "initialize") {
    return reply({ protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "ask", version: "1" } });
  }
  if (method === "tools/list") return reply({ tools: Object.keys(questions).map((name) => ({ name, inputSchema: { type: "object" } })) });
  if (method === "tools/call") {
    if (params.name === "copy") {
      const step = (progress, message) => send({ method: "notifications/progress", params: { progressToken: params._meta.progressToken, progress, total: 4, message } });
      step(1, "copied the first file");
    }
    return reply({ content: [{ type: "text", text: JSON.stringify(await ask(questions[params.name])) }] });
  }
  if (id !== undefined) send({ id, error: { code: -32601, message: "Method not found" } });
}

createInterface({ input: process.stdin }).on("line", (line) => answer(JSON.parse(line))).on("close", () => process.exit(0));
