// An MCP server for tests that asks. MODE is its era (legacy, modern), TRANSPORT stdio or http (then it prints its port).
// `count` ends when there is a file RECORD.heard. Every tools/call and every sign of a cancellation is noted in RECORD, one a line.
import { appendFileSync, existsSync } from "node:fs";
import { createServer } from "node:http";
import { createInterface } from "node:readline";

const { MODE, TRANSPORT, RECORD } = process.env;
const modern = MODE === "modern";
const note = (line) => appendFileSync(RECORD, JSON.stringify(line) + "\n");
const names = ["form", "page", "pair", "again", "count", "refused", "wait", "odd"];
const schema = {
  type: "object",
  properties: { who: { type: "string", title: "Who?" }, age: { type: "integer", minimum: 0 }, colour: { type: "string", enum: ["red", "blue"] } },
  required: ["who"],
};
const form = (message) => ({ mode: "form", message, requestedSchema: schema });
const page = { mode: "url", message: "Sign in first", url: "https://sign.example/in?x=1", ...(modern ? {} : { elicitationId: "e1" }) };
const text = (value) => ({ content: [{ type: "text", text: JSON.stringify(value) }] });
const about = { capabilities: { tools: {} }, serverInfo: { name: "asking", version: "1" } };
const waiting = new Map();
let next = 0;

// `send` writes to wherever the request came from.
async function answer({ id, method, params, result: given, error: refused }, send) {
  if (method === undefined) return waiting.get(id)?.(given ?? { refused: refused.message });
  const result = (value) => send({ id, result: modern ? { resultType: "complete", ...value } : value });
  const error = (code, message, data) => send({ id, error: { code, message, data } });
  const ask = (params) => new Promise((resolve) => {
    const id = `ask-${next++}`;
    waiting.set(id, resolve);
    send({ id, method: "elicitation/create", params });
  });
  const input = (requests, requestState) =>
    send({ id, result: { resultType: "input_required", ...(requests && { inputRequests: requests }), requestState } });
  const request = (params) => ({ method: "elicitation/create", params });
  switch (method) {
    case "server/discover":
      if (!modern) return error(-32601, "Method not found");
      return result({ supportedVersions: ["2026-07-28"], ttlMs: 0, cacheScope: "private", ...about });
    case "initialize":
      if (modern) return error(-32601, "Method not found");
      note({ capabilities: params.capabilities });
      return result({ protocolVersion: params.protocolVersion, ...about });
    case "tools/list":
      return result({ tools: names.map((name) => ({ name, inputSchema: { type: "object" } })), ttlMs: 0, cacheScope: "private" });
    case "tools/call": {
      const { name, arguments: given, inputResponses, requestState } = params;
      note({ call: name, arguments: given, ...(inputResponses && { inputResponses }), ...(requestState && { requestState }) });
      if (name === "count") {
        const token = params._meta.progressToken;
        for (const [progress, message] of [[1, "one"], [2, "two"], [3, undefined]]) {
          send({ method: "notifications/progress", params: { progressToken: token, progress, total: 3, message } });
        }
        // What it says of a call nobody knows is left out.
        send({ method: "notifications/progress", params: { progressToken: "nobody's", progress: 9 } });
        while (!existsSync(`${RECORD}.heard`)) await new Promise((resolve) => setTimeout(resolve, 10));
        return result(text("counted"));
      }
      if (name === "wait") return;
      if (name === "refused") {
        waiting.set("visited", true);
        return given.visited || waiting.get("refused") ? result(text("let in"))
          : (waiting.set("refused", true), error(-32042, "sign in first", { elicitations: [page] }));
      }
      if (modern) {
        if (name === "again" && !requestState) return input(undefined, "round 1");
        if (name === "odd") return input({ a: { method: "roots/list" } }, "s");
        if (inputResponses || name === "again") return result(text({ inputResponses, requestState }));
        if (name === "pair") return input({ first: request(form("First?")), second: request(form("Second?")) }, "pair state");
        return input({ only: request(name === "page" ? page : form(given.message ?? "Who are you?")) }, "the state ü");
      }
      if (name === "pair") return result(text(await Promise.all([ask(form("First?")), ask(form("Second?"))])));
      // A word that the protocol does not have (yet).
      if (name === "odd") return result(text(await ask({ message: "Odd?", requestedSchema: { type: "object", properties: { x: { type: "object" } } } })));
      return result(text(await ask(name === "page" ? page : form(given.message ?? "Who are you?"))));
    }
    case "notifications/cancelled":
      return note({ cancelled: true });
    default:
      if (id !== undefined) error(-32601, "Method not found");
  }
}

if (TRANSPORT === "http") {
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (part) => (body += part));
    request.on("end", () => {
      if (request.method !== "POST") return response.writeHead(405).end();
      const message = JSON.parse(body);
      if (message.id === undefined || message.method === undefined) {
        answer(message, () => {});
        return response.writeHead(202).end();
      }
      if (modern && message.method === "initialize") return response.writeHead(404).end();
      if (!modern && message.method === "server/discover") return response.writeHead(400).end();
      if (message.method !== "tools/call") {
        return answer(message, (reply) => response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify({ jsonrpc: "2.0", ...reply })));
      }
      // A call has a stream: what the server says meanwhile, then the result.
      response.writeHead(200, { "Content-Type": "text/event-stream" }).flushHeaders();
      response.on("close", () => response.writableEnded || note({ closed: message.params.name }));
      answer(message, (reply) => {
        response.write(`data: ${JSON.stringify({ jsonrpc: "2.0", ...reply })}\n\n`);
        if (reply.id === message.id) response.end();
      });
    });
  });
  server.listen(0, "127.0.0.1", () => console.log(server.address().port));
} else {
  const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");
  createInterface({ input: process.stdin }).on("line", (line) => answer(JSON.parse(line), send)).on("close", () => process.exit(0));
}
