// A small MCP server on stdio for tests. MODE is its era. Every tools/call and cancellation is noted in RECORD, one a line.
import { appendFileSync, closeSync } from "node:fs";
import { createInterface } from "node:readline";

const modern = process.env.MODE === "modern";
const note = (line) => process.env.RECORD && appendFileSync(process.env.RECORD, JSON.stringify(line) + "\n");
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");
const tool = (name, annotations) => ({ name, description: `the tool ${name}`, inputSchema: { type: "object" }, annotations });
const tools = [tool("echo", { readOnlyHint: true }), tool("env"), tool("die", { destructiveHint: true }), tool("wait"), tool("refuse")];
const text = (value) => ({ content: [{ type: "text", text: typeof value === "string" ? value : JSON.stringify(value) }] });
const about = { capabilities: { tools: {} }, serverInfo: { name: "small", version: "1" }, instructions: "Be brief." };

console.error(`small server ready, ${modern ? "modern" : "legacy"}`);

function answer({ id, method, params }) {
  const result = (value) => send({ id, result: modern ? { resultType: "complete", ...value } : value });
  const error = (code, message) => send({ id, error: { code, message } });
  switch (method) {
    case "server/discover":
      if (!modern) return error(-32601, "Method not found");
      return result({ supportedVersions: ["2026-07-28"], ttlMs: 0, cacheScope: "private", ...about });
    case "initialize":
      if (modern) return error(-32601, "Method not found");
      return result({ protocolVersion: params.protocolVersion, ...about });
    case "tools/list":
      // Two pages.
      if (!params?.cursor) return result({ tools: tools.slice(0, 2), nextCursor: "2", ttlMs: 0, cacheScope: "private" });
      return result({ tools: tools.slice(2), ttlMs: 0, cacheScope: "private" });
    case "tools/call":
      note({ call: params.name, arguments: params.arguments });
      if (params.name === "echo") return result(text(params.arguments));
      if (params.name === "env") return result(text(process.env));
      if (params.name === "die") return process.exit(3);
      if (params.name === "deaf") { // alive, and takes nothing any more
        closeSync(0);
        return result(text("deaf"));
      }
      if (params.name === "refuse") return error(-32602, "no such thing");
      return; // `wait` never answers
    case "notifications/cancelled":
      return note({ cancelled: true });
    default:
      if (id !== undefined) error(-32601, "Method not found");
  }
}

createInterface({ input: process.stdin })
  .on("line", (line) => answer(JSON.parse(line)))
  .on("close", () => { note({ closed: true }); process.exit(0); });
