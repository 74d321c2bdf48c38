// A desk for one journey: a home folder that outlives restarts, and for each start of the app its own screen, session bus,
// notification service and WebDriver. (Sessions that share a bus meet the instance that is just ending.)

import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { remote } from "webdriverio";
import { type Environment, Program, until } from "./processes.ts";

const run = promisify(execFile);
const ROOT = resolve(import.meta.dirname, "../..");
const TARGET = process.env["CARGO_TARGET_DIR"] ?? join(ROOT, "target");
const BINARIES = join(TARGET, "debug");
const APP = join(BINARIES, "holdpoint-desktop");
const PANEL = join(BINARIES, "desktop-panel");
const SCREENSHOTS = join(ROOT, "target/screenshots");

export type Window = Awaited<ReturnType<typeof remote>>;

/** A home folder that no other program shares. */
export class Home {
  readonly folder = mkdtempSync(join(tmpdir(), "holdpoint-desk-"));
  readonly binaries = BINARIES;

  get data(): string {
    return join(this.folder, "data/holdpoint");
  }

  /** A project in place of the sample: the desktop reads the data folder's own configuration first. */
  project(files: Record<string, string>): void {
    mkdirSync(this.data, { recursive: true });
    for (const [name, text] of Object.entries(files)) writeFileSync(join(this.data, name), text);
  }

  environment(): Environment {
    const place = (name: string): string => {
      const folder = join(this.folder, name);
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      return folder;
    };
    return {
      PATH: `${join(TARGET, "xtask-tools/bin")}:${process.env["PATH"] ?? ""}`,
      HOME: this.folder,
      LANG: "C.UTF-8",
      USER: "ann",
      XDG_DATA_HOME: place("data"),
      XDG_CONFIG_HOME: place("config"),
      XDG_CACHE_HOME: place("cache"),
      XDG_STATE_HOME: place("state"),
      XDG_RUNTIME_DIR: place("run"),
      GDK_BACKEND: "x11",
      // The accessibility bus and the portal would each start programs that this test has no use for.
      NO_AT_BRIDGE: "1",
      GTK_USE_PORTAL: "0",
    };
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export class Desk {
  private constructor(
    readonly home: Home,
    readonly environment: Environment,
    readonly window: Window,
    private readonly programs: Program[],
  ) {}

  /** Starts the app in `home` and gives its window. */
  static async start(home: Home, options: { notifications?: "dunst" | "none"; tray?: boolean } = {}): Promise<Desk> {
    const programs: Program[] = [];
    const environment = home.environment();
    const start = (name: string, ...args: string[]): Program => {
      const program = Program.start(name, args, environment);
      programs.push(program);
      return program;
    };
    try {
      const screen = start("Xvfb", "-displayfd", "1", "-screen", "0", "1280x800x24", "-nolisten", "tcp", "-noreset");
      environment["DISPLAY"] = `:${await screen.firstLine()}`;
      const bus = start("dbus-daemon", "--nofork", "--print-address=1", "--config-file", busWithoutServices(home));
      environment["DBUS_SESSION_BUS_ADDRESS"] = await bus.firstLine();
      if (options.notifications !== "none") {
        start("dunst", "-config", dunstConfig(home));
        await until("dunst answers on the bus", () => ok(run("dunstctl", ["count"], { env: environment })));
      }
      if (options.tray === true) await start(PANEL, "watch").firstLine();
      const port = await freePair();
      start("tauri-driver", "--port", String(port), "--native-port", String(port + 1));
      await until("tauri-driver listens", () => ok(fetch(`http://127.0.0.1:${port}/status`)));
      const window = await remote({
        hostname: "127.0.0.1",
        port,
        logLevel: "error",
        connectionRetryCount: 0,
        capabilities: { "wdio:enforceWebDriverClassic": true, "tauri:options": { application: APP } } as WebdriverIO.Capabilities,
      });
      return new Desk(home, environment, window, programs);
    } catch (error) {
      const said = programs.map((program) => `--- ${program.name}\n${program.said.join("")}`).join("\n");
      await stopAll(programs);
      throw new Error(`the desk did not start: ${String(error)}\n${said}`, { cause: error });
    }
  }

  /** Runs a program on this desk's screen and bus. */
  async run(program: string, ...args: string[]): Promise<string> {
    return (await run(program, args, { env: this.environment })).stdout;
  }

  /** How many notifications the person sees. */
  async displayed(): Promise<number> {
    return Number(await this.run("dunstctl", "count", "displayed"));
  }

  /** Every notification so far, with its title and its text. */
  async told(): Promise<string> {
    return readFileSync(join(this.home.folder, "told.txt"), "utf8");
  }

  /** Whether the screen has a window of this title. Where it has none, the program waits for a click that never comes. */
  async hasWindow(title: string): Promise<boolean> {
    const args = ["-silent", "-window", title, join(this.home.folder, "window.png")];
    return (await ok(run("import", args, { env: this.environment, timeout: 10_000 }))) === true;
  }

  /** Calls dunst's menu over D-Bus and takes the action whose line contains `choice`. Gives all lines that were offered. */
  async invoke(choice: string): Promise<string> {
    const log = join(this.home.folder, "actions.txt");
    writeFileSync(log, "");
    writeFileSync(join(this.home.folder, "choice"), choice);
    await this.run("dunstctl", "context");
    return until("dunst asks for the action", () => readFileSync(log, "utf8") || undefined);
  }

  /** What the app's tray icon says, and the lines of its menu. */
  async tray(): Promise<{ label: string; menu: string[] } | null> {
    return JSON.parse(await this.run(PANEL, "read")) as { label: string; menu: string[] } | null;
  }

  async trayReads(label: string): Promise<void> {
    let last = "";
    const look = async (): Promise<true | undefined> => ((last = (await this.tray())?.label ?? "") === label ? true : undefined);
    await until(`the tray says “${label}”`, look).catch((error: unknown) => {
      throw new Error(`${String(error)}; it says “${last}”`, { cause: error });
    });
  }

  /** Takes the entry of the tray's menu that contains `text`. */
  async choose(text: string): Promise<void> {
    await this.run(PANEL, "click", text);
  }

  /** What the programs of this desk wrote to their standard error. */
  said(): string {
    return this.programs.flatMap((program) => program.said).join("");
  }

  /** The whole screen, notifications included. (The driver's own picture waits for a frame that a still window may never draw.) */
  async screenshot(name: string): Promise<void> {
    mkdirSync(SCREENSHOTS, { recursive: true });
    await this.run("import", "-silent", "-window", "root", join(SCREENSHOTS, `desktop-${name}.png`));
  }

  /** Process ids of the app. It started in this home, so its environment says so. */
  apps(): number[] {
    const ours = `XDG_DATA_HOME=${this.environment["XDG_DATA_HOME"]}`;
    return processes().filter((pid) => executable(pid) === APP && environmentOf(pid).includes(ours));
  }

  app(): number {
    const [pid] = this.apps();
    if (pid === undefined) throw new Error("the app does not run");
    return pid;
  }

  /** The app is gone at once, as by a power cut. */
  async kill(): Promise<void> {
    await this.signal("SIGKILL");
  }

  /** The app is asked to end, as when the person logs out. */
  async end(): Promise<void> {
    await this.signal("SIGTERM");
  }

  private async signal(signal: "SIGKILL" | "SIGTERM"): Promise<void> {
    const pid = this.app();
    process.kill(pid, signal);
    await until("the app is gone", () => (executable(pid) === APP ? undefined : true));
    await this.close();
  }

  /** The app ends as by its window's close button. */
  async close(): Promise<void> {
    // After a kill the driver has no session any more.
    await this.window.deleteSession().catch(() => undefined);
    await stopAll(this.programs);
  }
}

/** The driver cannot pick ports itself. Below those that systems give out, so that nobody gets one before it does. */
async function freePair(): Promise<number> {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 20_000);
    if ((await isFree(port)) && (await isFree(port + 1))) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((done) => {
    const server = createServer().once("error", () => done(false));
    server.listen(port, "127.0.0.1", () => server.close(() => done(true)));
  });
}

async function stopAll(programs: Program[]): Promise<void> {
  for (const program of programs.toReversed()) await program.stop();
}

async function ok(work: Promise<unknown>): Promise<true | undefined> {
  return work.then(
    () => true as const,
    () => undefined,
  );
}

/** A session bus that starts no service by itself: what a journey needs it starts. */
function busWithoutServices(home: Home): string {
  const file = join(home.folder, "bus.conf");
  writeFileSync(
    file,
    `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN" "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>unix:dir=${home.folder}</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>`,
  );
  return file;
}

/** dunst asks a chooser which action to take when its menu is called; ours takes the line that contains `choice`. */
function dunstConfig(home: Home): string {
  const chooser = join(home.folder, "choose.sh");
  writeFileSync(chooser, `#!/bin/sh\ntee -a ${home.folder}/actions.txt | grep -m1 -F "$(cat ${home.folder}/choice)"\n`, { mode: 0o755 });
  const scribe = join(home.folder, "tell.sh");
  writeFileSync(scribe, `#!/bin/sh\nprintf '%s\\n%s\\n\\n' "$DUNST_SUMMARY" "$DUNST_BODY" >> ${home.folder}/told.txt\n`, { mode: 0o755 });
  writeFileSync(join(home.folder, "told.txt"), "");
  const file = join(home.folder, "dunstrc");
  writeFileSync(file, `[global]\n  dmenu = ${chooser}\n  timeout = 0\n  idle_threshold = 0\n  show_indicators = no\n[urgency_normal]\n  timeout = 0\n[told]\n  summary = "*"\n  script = ${scribe}\n`);
  return file;
}

function processes(): number[] {
  return readdirSync("/proc").filter((name) => /^\d+$/.test(name)).map(Number);
}

function executable(pid: number): string | undefined {
  return attempt(() => readlinkSync(`/proc/${pid}/exe`));
}

function environmentOf(pid: number): string[] {
  return (attempt(() => readFileSync(`/proc/${pid}/environ`, "utf8")) ?? "").split("\0");
}

/** A process may end while it is looked at. */
function attempt<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}
