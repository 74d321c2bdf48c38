// `holdpoint serve` on an empty database, and the built web part in front of it, as one address on the loopback.

import { spawn, type ChildProcess } from "node:child_process";
import { cp, mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { extname, join, normalize } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const repository = fileURLToPath(new URL("../..", import.meta.url));
const binary = join(process.env.CARGO_TARGET_DIR ?? join(repository, "target"), "debug", process.platform === "win32" ? "holdpoint.exe" : "holdpoint");
const built = join(repository, "ui", "dist");

const types: Record<string, string> = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".woff2": "font/woff2" };

/** An engine in a folder of its own. It may be killed and started again on the same files. */
export class Engine {
  readonly #folder: string;
  #process: ChildProcess | null = null;
  #address: string | null = null;
  #page: Server | null = null;
  #log = "";

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async start(project: string): Promise<Engine> {
    const engine = new Engine(await mkdtemp(join(tmpdir(), "holdpoint-browser-")));
    await cp(project, engine.#folder, { recursive: true });
    await engine.up();
    return engine;
  }

  /** Starts the process and waits until it listens. */
  async up(): Promise<void> {
    const { HOLDPOINT_DB: _db, HOLDPOINT_URL: _url, ...env } = process.env;
    const child = spawn(binary, ["serve", "-c", "holdpoint.toml", "--db", "engine.db", "--host", "127.0.0.1", "--port", "0", "--no-auth"], { cwd: this.#folder, env, stdio: ["ignore", "pipe", "pipe"] });
    this.#process = child;
    child.stderr.on("data", (text: Buffer) => (this.#log += text.toString()));
    const ended = new Promise<never>((_, reject) => {
      child.once("error", reject);
      child.once("exit", (code) => reject(new Error(`the engine ended with ${code} before it listened:\n${this.#log}`)));
    });
    ended.catch(() => undefined);
    this.#address = await Promise.race([listening(child), ended]);
  }

  /** Ends the process as a crash would. */
  async kill(): Promise<void> {
    const child = this.#process;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((done) => child.once("exit", done));
    child.kill("SIGKILL");
    await gone;
  }

  /** Address of the web part; its requests to the engine go through the same address, as they do inside the desktop. */
  async page(): Promise<string> {
    this.#page ??= await serve((asked, answer) => this.#answer(asked, answer));
    const address = this.#page.address();
    if (address === null || typeof address === "string") throw new Error("the page listens on a port");
    return `http://127.0.0.1:${address.port}`;
  }

  /** One desktop operation, called without the page. */
  async call<T>(name: string, args: unknown): Promise<T> {
    const response = await fetch(`${this.#address}/api/desktop/${name}`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(args) });
    const body = await response.text();
    if (!response.ok) throw new Error(`${name}: ${response.status} ${body}`);
    return (body === "" ? null : JSON.parse(body)) as T;
  }

  async stop(): Promise<void> {
    this.#page?.closeAllConnections();
    this.#page?.close();
    await this.kill();
    await rm(this.#folder, { recursive: true, force: true });
  }

  #answer(asked: IncomingMessage, answer: ServerResponse): void {
    if (asked.url?.startsWith("/api/")) this.#pass(asked, answer);
    else void sendFile(asked.url ?? "/", answer);
  }

  /** Hands a request on to the engine. Without `Origin`: this page is the only one that reaches this port. */
  #pass(asked: IncomingMessage, answer: ServerResponse): void {
    const { origin: _origin, host: _host, ...headers } = asked.headers;
    const passed = request(`${this.#address}${asked.url}`, { method: asked.method, headers }, (reply) => {
      answer.writeHead(reply.statusCode ?? 502, reply.headers);
      reply.pipe(answer);
      reply.once("error", () => answer.destroy());
    });
    passed.once("error", () => answer.destroy());
    answer.once("close", () => passed.destroy());
    asked.pipe(passed);
  }
}

function listening(child: ChildProcess): Promise<string> {
  return new Promise((done, failed) => {
    if (child.stdout === null) return failed(new Error("the engine's output is read"));
    createInterface(child.stdout).on("line", (line) => {
      const address = /^listening on (http:\/\/\S+)$/.exec(line)?.[1];
      if (address !== undefined) done(address);
    });
  });
}

function serve(answer: (asked: IncomingMessage, answer: ServerResponse) => void): Promise<Server> {
  return new Promise((done) => {
    const server = createServer(answer);
    server.listen(0, "127.0.0.1", () => done(server));
  });
}

async function sendFile(url: string, answer: ServerResponse): Promise<void> {
  const path = normalize(decodeURIComponent(new URL(url, "http://page").pathname));
  const isFile = extname(path) !== "";
  // Any other address is a place of the window, which the web part reads itself.
  const file = join(built, isFile ? path : "index.html");
  try {
    const body = await readFile(file);
    answer.writeHead(200, { "content-type": types[extname(file)] ?? "application/octet-stream", "content-security-policy": policy });
    answer.end(body);
  } catch {
    answer.writeHead(404).end();
  }
}

/** The desktop's policy, with the engine's address in place of the shell's channel. */
const policy = await (async () => {
  const config = JSON.parse(await readFile(join(repository, "src-tauri", "tauri.conf.json"), "utf8")) as { app: { security: { csp: Record<string, string> } } };
  return Object.entries({ ...config.app.security.csp, "connect-src": "'self'" }).map(([name, sources]) => `${name} ${sources}`).join("; ");
})();
