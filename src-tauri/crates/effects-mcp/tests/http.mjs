// A small MCP server over streamable HTTP for tests. It wants TOKEN in the header named by HEADER, and prints its port.
import { createServer } from "node:http";

const { HEADER, TOKEN } = process.env;
const results = {
  initialize: (params) => ({ protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "far", version: "1" } }),
  "tools/list": () => ({ tools: [{ name: "hello", inputSchema: { type: "object" } }] }),
  "tools/call": () => ({ content: [{ type: "text", text: "hello from afar" }] }),
};

const server = createServer((request, response) => {
  let body = "";
  request.on("data", (part) => (body += part));
  request.on("end", () => {
    if (request.headers[HEADER] !== TOKEN) {
      return response.writeHead(401, { "WWW-Authenticate": 'Bearer realm="far"' }).end();
    }
    if (request.method !== "POST") return response.writeHead(405).end();
    const { id, method, params } = JSON.parse(body);
    if (id === undefined) return response.writeHead(202).end();
    const answer = results[method] ? { result: results[method](params) } : { error: { code: -32601, message: "Method not found" } };
    response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
  });
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
