// What a script that got into the page could reach: Holdpoint's own commands, and nothing beyond.

import { expect, test } from "@playwright/test";
import { Desk, Home } from "./desk.ts";
import { Hand } from "./hand.ts";

type Internals = { invoke: (command: string, payload?: unknown) => Promise<unknown> };

test("the page reaches no command that is not granted, no other page and no other server", async () => {
  const home = new Home();
  const desk = await Desk.start(home);
  const hand = new Hand(desk.window);
  await hand.reads("This agent stopped to ask you");
  const window = desk.window;

  const call = async (command: string, payload: unknown = {}): Promise<string> =>
    window.executeAsync(
      (command: string, payload: unknown, done: (told: string) => void) => {
        const { invoke } = (globalThis as unknown as { __TAURI_INTERNALS__: Internals }).__TAURI_INTERNALS__;
        // A call that the isolation frame stops is never answered; the frame takes calls in order, and later ones were answered.
        invoke(command, payload).then(
          () => done("answered"),
          (error: unknown) => done(`refused: ${String(error)}`),
        );
        void invoke("bootstrap").then(() => invoke("bootstrap")).then(() => done("stopped"));
      },
      command,
      payload,
    );

  expect(await call("bootstrap"), "the listed commands work").toBe("answered");
  for (const command of [
    "plugin:event|emit", "plugin:event|listen", "plugin:window|close", "plugin:webview|create_webview_window", "plugin:app|version",
    "plugin:path|resolve_directory", "plugin:resources|close", "plugin:menu|new", "plugin:tray|new", "plugin:image|from_path",
    "plugin:notification|notify", "plugin:notification|is_permission_granted", "plugin:opener|open_url", "plugin:opener|open_path",
    "plugin:window-state|save_window_state", "plugin:fs|read_file", "plugin:shell|execute", "plugin:http|fetch", "no_such_command",
  ]) {
    expect(await call(command), command).toMatch(/^(stopped|refused)/);
  }
  expect(await call("open_external", { url: "file:///etc/passwd" })).toMatch(/^refused/);

  const page = await window.executeAsync((done: (told: Record<string, unknown>) => void) => {
    const told: Record<string, unknown> = {};
    told["global"] = "__TAURI__" in globalThis;
    told["frozen"] = Object.isFrozen(Object.prototype);
    told["opened"] = open("https://evil.test/") !== null;
    try {
      told["eval"] = (0, eval)("1 + 1");
    } catch {
      told["eval"] = "blocked";
    }
    const script = document.createElement("script");
    script.textContent = "globalThis.injected = true";
    document.body.append(script);
    told["script"] = "injected" in globalThis;
    const frame = document.createElement("iframe");
    frame.src = "https://evil.test/";
    document.body.append(frame);
    location.href = "https://evil.test/";
    fetch("http://127.0.0.1:8080/health").then(
      () => { told["fetch"] = "answered"; },
      () => { told["fetch"] = "blocked"; },
    ).finally(() => {
      frame.remove();
      done(told);
    });
  });
  expect(page).toEqual({ global: false, frozen: true, opened: false, eval: "blocked", script: false, fetch: "blocked" });
  expect(await window.getUrl(), "the window stays on its page").toMatch(/^tauri:\/\/localhost\//);
  expect(await window.getWindowHandles()).toHaveLength(1);

  await desk.close();
  home.remove();
});
