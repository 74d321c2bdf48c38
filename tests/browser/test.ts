// What every browser test has: an engine of its own, the desk in front of it, and a page that may not complain.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import AxeBuilder from "@axe-core/playwright";
import { expect, test as base, type Locator, type Page } from "@playwright/test";
import { Engine } from "./engine";

const repository = fileURLToPath(new URL("../..", import.meta.url));
const screenshots = join(process.env.CARGO_TARGET_DIR ?? join(repository, "target"), "screenshots");
export const askerProject = fileURLToPath(new URL("project", import.meta.url));
/** The project that a first start of the desktop writes. */
export const sampleProject = join(repository, "src-tauri", "crates", "app", "src", "sample");

/** The window, by what a person sees in it. */
export class Desk {
  constructor(
    readonly page: Page,
    readonly engine: Engine,
    readonly theme: string,
  ) {}

  async open(place = "/"): Promise<void> {
    await this.page.goto(`${await this.engine.page()}${place}`);
    await expect(this.page.getByRole("navigation", { name: "Main" })).toBeVisible();
  }

  /** A session that exists before the page looks. */
  async session(agent_id: string, text: string): Promise<string> {
    const session_id = newSessionId();
    await this.engine.call("submit", { submit: { command_id: crypto.randomUUID(), session_id, command: { type: "create_session", agent_id, text } } });
    return session_id;
  }

  /** A session that waits with the named question of the asker. */
  async asked(question: string): Promise<string> {
    const id = await this.session("asker", `ask ${question}`);
    await expect.poll(async () => (await this.openInterrupts()).filter((row) => row.session_id === id).length, { message: "the question is open" }).toBe(1);
    return id;
  }

  async openInterrupts(): Promise<{ session_id: string; interrupt_id: string }[]> {
    return this.engine.call("list_interrupts", { state: "open", before: null, limit: 100 });
  }

  async events(session_id: string): Promise<{ type: string; payload: Record<string, unknown> }[]> {
    const rows = await this.engine.call<{ kind: string; payload: Record<string, unknown> }[]>("events", { session_id, after_seq: 0, limit: 500 });
    return rows.map(({ kind, payload }) => ({ type: kind, payload }));
  }

  /** The undo time is a setting; without it an answer is sent at once. */
  async withoutUndo(): Promise<void> {
    await this.engine.call("save_settings", { settings: { undo_ms: 0 } });
  }

  card(): Locator {
    return this.page.locator("[data-interrupt-card]");
  }

  /** Answer keys are dead for a moment after a card appears. */
  async armed(): Promise<void> {
    await expect(this.page.locator('[data-interrupt-card="open"][data-armed="true"]').first()).toBeVisible();
  }

  transcript(): Locator {
    return this.page.getByTestId("transcript");
  }

  status(): Locator {
    return this.page.getByRole("status", { name: /^Status:/ });
  }

  message(number: number): Locator {
    return this.page.getByRole("article", { name: new RegExp(`, message ${number}$`) });
  }

  /** Keeps a picture of the screen, and finds nothing that shuts people out. */
  async screen(name: string): Promise<void> {
    mkdirSync(screenshots, { recursive: true });
    await this.page.screenshot({ path: join(screenshots, `${name}-${this.theme}.png`) });
    const found = await new AxeBuilder({ page: this.page }).withTags(["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]).analyze();
    const serious = found.violations.filter((each) => each.impact === "serious" || each.impact === "critical");
    expect(serious.map((each) => `${each.id}: ${each.nodes.map((node) => `${node.target.join(" ")} ${node.failureSummary ?? ""}`).join(" | ")}`), `axe on ${name}`).toEqual([]);
  }
}

export const test = base.extend<{ project: string; desk: Desk }>({
  project: [askerProject, { option: true }],
  desk: async ({ page, project, colorScheme }, use) => {
    const complaints: string[] = [];
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("console", (message) => {
      // A refused command is an answer; the browser logs its status as if it were a fault of the page.
      if (message.type() === "error" && !message.text().startsWith("Failed to load resource")) complaints.push(message.text());
    });
    const engine = await Engine.start(project);
    await use(new Desk(page, engine, colorScheme ?? "light"));
    await engine.stop();
    expect(complaints, "the page logs no error").toEqual([]);
  },
});

export { expect };

/** The form of B-2: `sesn_` and a ULID. */
function newSessionId(): string {
  const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
  const digits = (value: bigint, count: number): string => (count === 0 ? "" : digits(value / 32n, count - 1) + alphabet[Number(value % 32n)]);
  const random = crypto.getRandomValues(new Uint8Array(10)).reduce((value, byte) => value * 256n + BigInt(byte), 0n);
  return `sesn_${digits(BigInt(Date.now()), 10)}${digits(random, 16)}`;
}
