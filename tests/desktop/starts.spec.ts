// How the app starts and ends: once, cleanly, and with a reason in a window where it cannot.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@playwright/test";
import { Desk, Home } from "./desk.ts";
import { Hand } from "./hand.ts";
import { Program, until } from "./processes.ts";

test("a database that cannot be read is named in a window, and nothing is written to it", async () => {
  const home = new Home();
  mkdirSync(home.data, { recursive: true });
  const file = join(home.data, "holdpoint.db");
  writeFileSync(file, "this is no database, but somebody's letter\n".repeat(400));
  const desk = await Desk.start(home);
  const hand = new Hand(desk.window);
  await hand.reads("Holdpoint could not start");
  await hand.reads(file);
  await desk.screenshot("cannot-start");
  await desk.close();
  home.remove();
});

test("a database that another engine holds is left alone, and its holder is named (D-11)", async () => {
  const home = new Home();
  mkdirSync(home.data, { recursive: true });
  const database = join(home.data, "holdpoint.db");
  const config = join(home.data, "holdpoint.toml");
  writeFileSync(config, 'name = "held"\n');
  const holder = Program.start(join(home.binaries, "holdpoint"), ["serve", "-c", config, "--db", database, "--port", "0", "--no-auth"], home.environment());
  await holder.firstLine();
  const desk = await Desk.start(home);
  const hand = new Hand(desk.window);
  await hand.reads("Holdpoint could not start");
  expect(await hand.text()).toContain(String(holder.child.pid));
  await desk.screenshot("database-is-held");
  await holder.stop();

  // The app starts anew, so the driver loses it in the middle of the click.
  const first = desk.app();
  await hand.click("#again").catch(() => undefined);
  await until("another app holds the database", () => (existsSync(`${database}.operator`) && desk.apps().some((pid) => pid !== first) ? true : undefined));
  await until("the first app is gone", () => (desk.apps().includes(first) ? undefined : true));
  await desk.kill();
  home.remove();
});

test("a second start brings the first window forward and ends", async () => {
  const home = new Home();
  const desk = await Desk.start(home);
  await new Hand(desk.window).reads("Engine running");
  const first = desk.app();
  await desk.run(join(home.binaries, "holdpoint-desktop"));
  expect(desk.app()).toBe(first);
  await desk.close();
  home.remove();
});

test("asked to end by the system, the app lets the database go first", async () => {
  const home = new Home();
  const desk = await Desk.start(home);
  await new Hand(desk.window).reads("This agent stopped to ask you");
  const operator = join(home.data, "holdpoint.db.operator");
  expect(existsSync(operator), "an open engine says where it is").toBe(true);
  await desk.end();
  expect(existsSync(operator), "a closed one does not").toBe(false);

  const again = await Desk.start(home);
  await new Hand(again.window).reads("1 waiting");
  await again.close();
  home.remove();
});

test("a database of a newer Holdpoint is refused and left as it is", async () => {
  const home = new Home();
  const first = await Desk.start(home);
  await new Hand(first.window).reads("This agent stopped to ask you");
  await first.end();
  const file = join(home.data, "holdpoint.db");
  const database = readFileSync(file);
  // SQLite keeps the schema's version in its header, 60 bytes from the start.
  database.writeUInt32BE(9_999, 60);
  writeFileSync(file, database);

  const desk = await Desk.start(home);
  const hand = new Hand(desk.window);
  await hand.reads("Holdpoint could not start");
  await hand.reads("update Holdpoint");
  await desk.screenshot("newer-database");
  await desk.close();
  expect(readFileSync(file).equals(database)).toBe(true);
  home.remove();
});
