// Programs a journey starts, ended with it, even when the test runner dies first.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

export type Environment = Record<string, string>;

export class Program {
  private constructor(readonly name: string, readonly child: ChildProcess, readonly said: string[]) {}

  static start(name: string, args: string[], env: Environment): Program {
    const child = spawn("setpriv", ["--pdeathsig", "TERM", "--", name, ...args], { env, stdio: ["pipe", "pipe", "pipe"] });
    const said: string[] = [];
    child.stderr?.on("data", (chunk: Buffer) => said.push(chunk.toString()));
    return new Program(name, child, said);
  }

  /** Standard output, line by line, from the start. */
  lines(): AsyncIterableIterator<string> {
    if (this.child.stdout === null) throw new Error(`${this.name} has no standard output`);
    return createInterface({ input: this.child.stdout })[Symbol.asyncIterator]();
  }

  async firstLine(): Promise<string> {
    const line = await this.lines().next();
    if (line.done === true) throw new Error(`${this.name} said nothing and ended:\n${this.said.join("")}`);
    return line.value.trim();
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const ended = once(this.child, "exit");
    this.child.kill("SIGTERM");
    await ended;
  }
}

/** Waits for something true of the outside world, which has no event to wait for. */
export async function until<T>(what: string, look: () => Promise<T | undefined> | T | undefined, withinMs = 90_000): Promise<T> {
  const last = Date.now() + withinMs;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (Date.now() > last) throw new Error(`not within ${withinMs / 1000} s: ${what}`);
    await new Promise((resume) => setTimeout(resume, 50));
  }
}
