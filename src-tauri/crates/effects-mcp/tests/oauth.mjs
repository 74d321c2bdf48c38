// An MCP server over streamable HTTP with its own authorization server, for tests. It prints its port. POST /control sets what goes
// wrong; GET /control tells what happened.
import { createHash, randomUUID } from "node:crypto";
import { createServer } from "node:http";

const seen = { registered: 0, exchanged: 0, renewed: 0, refused: 0, calls: 0 };
const set = { refuseAll: false, denied: false, bound: false, wanted: "tools" };
const clients = new Map();
const codes = new Map();
const access = new Map(); // access token → scope
const refresh = new Map(); // refresh token → client id and scope
let base;

const orders = {
  revokeAccess: () => access.clear(),
  revokeRefresh: () => refresh.clear(),
  loseClients: () => clients.clear(),
};

const results = {
  initialize: (params) => ({ protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "far", version: "1" } }),
  "tools/list": () => ({ tools: [{ name: "hello", inputSchema: { type: "object" } }] }),
  "tools/call": () => {
    seen.calls += 1;
    return { content: [{ type: "text", text: "hello from afar" }] };
  },
};

function json(response, status, body, headers = {}) {
  response.writeHead(status, { "Content-Type": "application/json", ...headers }).end(JSON.stringify(body));
}

function grant(response, client, scope) {
  const token = { access_token: randomUUID(), token_type: "Bearer", expires_in: 3600, refresh_token: randomUUID(), scope };
  access.set(token.access_token, scope);
  refresh.set(token.refresh_token, { client, scope });
  json(response, 200, token);
}

const routes = {
  "GET /.well-known/oauth-protected-resource/mcp": (_, response) =>
    json(response, 200, { resource: `${base}/mcp`, authorization_servers: [base], scopes_supported: ["tools"] }),
  "GET /.well-known/oauth-authorization-server": (_, response) =>
    json(response, 200, {
      issuer: base,
      authorization_endpoint: `${base}/authorize`,
      token_endpoint: `${base}/token`,
      registration_endpoint: `${base}/register`,
      response_types_supported: ["code"],
      grant_types_supported: ["authorization_code", "refresh_token"],
      token_endpoint_auth_methods_supported: ["none"],
      code_challenge_methods_supported: ["S256"],
    }),
  "POST /register": (request, response) => {
    seen.registered += 1;
    const id = `client-${seen.registered}`;
    const asked = JSON.parse(request.body);
    clients.set(id, asked.redirect_uris);
    json(response, 201, { ...asked, client_id: id });
  },
  "GET /authorize": (request, response) => {
    const query = request.url.searchParams;
    const redirect = new URL(query.get("redirect_uri"));
    if (!clients.get(query.get("client_id"))?.includes(redirect.href)) return json(response, 400, { error: "invalid_client" });
    redirect.searchParams.set("state", query.get("state"));
    if (set.denied) {
      redirect.searchParams.set("error", "access_denied");
    } else {
      const code = randomUUID();
      codes.set(code, { client: query.get("client_id"), challenge: query.get("code_challenge"), scope: query.get("scope") });
      redirect.searchParams.set("code", code);
    }
    response.writeHead(302, { Location: redirect.href }).end();
  },
  "POST /token": (request, response) => {
    const form = new URLSearchParams(request.body);
    const client = form.get("client_id");
    if (!clients.has(client)) return json(response, 401, { error: "invalid_client" });
    if (form.get("grant_type") === "refresh_token") {
      const owner = refresh.get(form.get("refresh_token"));
      if (owner === undefined || (set.bound && owner.client !== client)) return json(response, 400, { error: "invalid_grant" });
      refresh.delete(form.get("refresh_token"));
      seen.renewed += 1;
      return grant(response, client, owner.scope);
    }
    const code = codes.get(form.get("code"));
    codes.delete(form.get("code"));
    const challenge = createHash("sha256").update(form.get("code_verifier") ?? "").digest("base64url");
    if (code?.client !== client || code.challenge !== challenge) return json(response, 400, { error: "invalid_grant" });
    seen.exchanged += 1;
    grant(response, client, code.scope);
  },
  "POST /mcp": (request, response) => {
    const token = request.headers.authorization?.replace(/^Bearer /, "");
    if (set.refuseAll || !access.has(token)) {
      seen.refused += 1;
      const challenge = `Bearer resource_metadata="${base}/.well-known/oauth-protected-resource/mcp"`;
      return response.writeHead(401, { "WWW-Authenticate": challenge }).end();
    }
    if (!access.get(token).split(" ").includes(set.wanted)) {
      const challenge = `Bearer error="insufficient_scope", scope="tools ${set.wanted}", resource_metadata="${base}/.well-known/oauth-protected-resource/mcp"`;
      return response.writeHead(403, { "WWW-Authenticate": challenge }).end();
    }
    const { id, method, params } = JSON.parse(request.body);
    if (id === undefined) return response.writeHead(202).end();
    const answer = results[method] ? { result: results[method](params) } : { error: { code: -32601, message: "Method not found" } };
    json(response, 200, { jsonrpc: "2.0", id, ...answer });
  },
  "GET /control": (_, response) => json(response, 200, seen),
  "POST /control": (request, response) => {
    for (const [key, value] of Object.entries(JSON.parse(request.body))) {
      if (orders[key]) orders[key]();
      else set[key] = value;
    }
    json(response, 200, seen);
  },
};

const server = createServer((incoming, response) => {
  let body = "";
  incoming.on("data", (part) => (body += part));
  incoming.on("end", () => {
    const url = new URL(incoming.url, base);
    const route = routes[`${incoming.method} ${url.pathname}`];
    if (!route) return response.writeHead(incoming.method === "GET" && url.pathname === "/mcp" ? 405 : 404).end();
    route({ url, body, headers: incoming.headers }, response);
  });
});
server.listen(0, "127.0.0.1", () => {
  base = `http://127.0.0.1:${server.address().port}`;
  console.log(String(server.address().port));
});
