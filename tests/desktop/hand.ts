// What a person does in the window: finds things by the names a screen reader says, clicks, types, reads.

import type { Window } from "./desk.ts";
import { until } from "./processes.ts";

/** For a loaded machine. What never comes still fails. */
const PATIENCE_MS = 90_000;

export interface TreeRow {
  key: string;
  name: string;
  kind: string;
  active: boolean;
  head: boolean;
}

/** A field by its label, wherever that stands. */
function named(label: string): string {
  const name = JSON.stringify(label);
  return `//*[self::input or self::textarea][@aria-label=${name} or @id=//label[normalize-space(.)=${name}]/@for or ancestor::label[starts-with(normalize-space(.), ${name})]]`;
}

export class Hand {
  constructor(private readonly window: Window) {}

  async press(name: string): Promise<void> {
    const label = JSON.stringify(name);
    await this.click(`//button[@aria-label=${label} or starts-with(normalize-space(.), ${label})] | //nav//a[starts-with(normalize-space(.), ${label})]`, name);
  }

  /** A button of the dialog that stands before everything else. */
  async confirm(name: string): Promise<void> {
    await this.click(`//*[@role='dialog']//button[starts-with(normalize-space(.), ${JSON.stringify(name)})]`, name);
  }

  /** A card takes no answer in the moment it appears. */
  async answer(option: string): Promise<void> {
    await this.window.$("[data-interrupt-card=open][data-armed=true]").waitForExist({ timeout: PATIENCE_MS, timeoutMsg: "no card takes an answer" });
    await this.click(`//*[@data-interrupt-card='open']//button[starts-with(normalize-space(.), ${JSON.stringify(option)})]`, option);
  }

  async click(selector: string, what = selector): Promise<void> {
    const element = this.window.$(selector);
    await element.waitForClickable({ timeout: PATIENCE_MS, timeoutMsg: `nothing to click: ${what}` });
    await element.click();
  }

  async type(label: string, text: string): Promise<void> {
    const field = this.window.$(named(label));
    await field.waitForEnabled({ timeout: PATIENCE_MS, timeoutMsg: `no field: ${label}` });
    await field.setValue(text);
  }

  async field(label: string): Promise<string> {
    const field = this.window.$(named(label));
    await field.waitForExist({ timeout: PATIENCE_MS, timeoutMsg: `no field: ${label}` });
    return field.getValue();
  }

  async sees(selector: string): Promise<void> {
    await this.window.$(selector).waitForExist({ timeout: PATIENCE_MS, timeoutMsg: `not in the window: ${selector}` });
  }

  /** Keys held down together. */
  async keys(...keys: string[]): Promise<void> {
    await this.window.keys(keys);
  }

  /** Keys one after the other, as `g` `i` or the letters of a text. */
  async types(text: Iterable<string>): Promise<void> {
    for (const key of text) await this.window.keys([key]);
  }

  /** Tab until something of this name has the focus. */
  async tabTo(name: string): Promise<void> {
    const seen: string[] = [];
    while (seen.length < 200) {
      const focused = await this.focused();
      if (focused.startsWith(name)) return;
      seen.push(focused);
      await this.keys("Tab");
    }
    throw new Error(`Tab does not reach “${name}”; it went over ${[...new Set(seen)].join(" | ")}`);
  }

  /** Name of what has the focus. */
  async focused(): Promise<string> {
    return this.window.execute(() => {
      const at = document.activeElement;
      const label = at instanceof HTMLInputElement || at instanceof HTMLTextAreaElement ? at.labels?.[0]?.textContent : undefined;
      return (at?.getAttribute("aria-label") ?? label ?? at?.textContent ?? "").trim();
    });
  }

  /** Until something of this name takes the keys: a dialog or a field that is just opening. */
  async focusIs(name: string): Promise<void> {
    await until(`“${name}” has the focus`, async () => ((await this.focused()).startsWith(name) ? true : undefined));
  }

  /** Until no dialog takes the keys any more: what is typed meanwhile would go into it. */
  async noDialog(): Promise<void> {
    await until("every dialog is closed", async () => ((await this.window.execute(() => document.querySelector("[role=dialog], [role=alertdialog]") === null)) ? true : undefined));
  }

  /** Starts a session with the first agent, by keys alone. */
  async begin(text: string): Promise<void> {
    const before = await this.path();
    await this.keys("c");
    await this.focusIs("First message");
    await this.types(text);
    await this.keys("Control", "Enter");
    await until("the new session is open", async () => {
      const now = await this.path();
      return now.startsWith("/sessions/") && now !== before ? true : undefined;
    });
    await this.noDialog();
  }

  /** The open card, once it takes an answer. */
  async card(interruptId: RegExp): Promise<string> {
    return until(`a card of ${String(interruptId)} takes an answer`, async () => {
      const id = await this.window.execute(() => document.querySelector<HTMLElement>("[data-interrupt-card=open][data-armed=true]")?.dataset["interruptId"] ?? "");
      return interruptId.test(id) ? this.window.execute(() => document.querySelector<HTMLElement>("[data-interrupt-card=open]")?.innerText ?? "") : undefined;
    });
  }

  /** A session's log, by the window's own command. */
  async log(session: string): Promise<Record<string, unknown>[]> {
    return this.window.executeAsync((session: string, done: (payloads: Record<string, unknown>[]) => void) => {
      const { invoke } = (globalThis as unknown as { __TAURI_INTERNALS__: { invoke: (command: string, payload: unknown) => Promise<{ payload: Record<string, unknown> }[]> } }).__TAURI_INTERNALS__;
      void invoke("events", { sessionId: session, afterSeq: 0, limit: 500 }).then((rows) => done(rows.map((row) => row.payload)));
    }, session);
  }

  /** Waits until the page says `text` anywhere. */
  async reads(text: string): Promise<void> {
    await until(`the window says “${text}”`, async () => ((await this.text()).includes(text) ? true : undefined));
  }

  async text(): Promise<string> {
    return this.window.execute(() => document.body.innerText);
  }

  path(): Promise<string> {
    return this.window.execute(() => location.pathname);
  }

  /** The session's one word. */
  async status(): Promise<string> {
    return this.window.execute(() => document.querySelector("[role=status][data-activity]")?.textContent ?? "");
  }

  async becomes(status: string): Promise<void> {
    let last = "";
    const look = async (): Promise<true | undefined> => {
      last = await this.status();
      return last.startsWith(status) ? true : undefined;
    };
    await until(`the session is ${status}`, look).catch((error: unknown) => {
      throw new Error(`${String(error)}; it is “${last}”`, { cause: error });
    });
  }

  async tree(): Promise<TreeRow[]> {
    return this.window.execute(() =>
      [...document.querySelectorAll<HTMLElement>("[role=treeitem]")].map((row) => ({
        key: row.id,
        name: row.getAttribute("aria-label") ?? "",
        kind: row.dataset["kind"] ?? "",
        active: row.dataset["active"] === "true",
        head: row.getAttribute("aria-current") === "true",
      })),
    );
  }
}
