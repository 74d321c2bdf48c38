// When a notification comes, when it goes, and what the window says where none can come.

import { expect, test } from "@playwright/test";
import { Desk, Home } from "./desk.ts";
import { Hand } from "./hand.ts";
import { until } from "./processes.ts";

test("a notification opens exactly its question and goes when that is answered in the window", async () => {
  const home = new Home();
  const desk = await Desk.start(home);
  const hand = new Hand(desk.window);
  await until("the first question's notification", async () => ((await desk.displayed()) === 1 ? true : undefined));
  await hand.press("Settings");

  expect(await desk.invoke("#Open (")).toContain("#Send (");
  await until("the question is open", async () => ((await hand.path()).startsWith("/inbox/sesn_") ? true : undefined));
  await until("the notification that was followed is gone", async () => ((await desk.displayed()) === 0 ? true : undefined));
  await hand.answer("Don't send");
  await hand.reads("0 waiting");

  // Another question while the person is elsewhere in the window: its notification stays until the answer.
  await hand.press("Sessions");
  await hand.press("New session");
  await hand.type("First message", "Send the spring newsletter.");
  await hand.confirm("Start");
  await until("the session is open", async () => ((await hand.path()).startsWith("/sessions/") ? true : undefined));
  await hand.press("Settings");
  await until("the second question's notification", async () => ((await desk.displayed()) === 1 ? true : undefined));
  await desk.screenshot("notification");
  await hand.press("Inbox");
  await hand.answer("Send");
  await until("the notification is withdrawn", async () => ((await desk.displayed()) === 0 ? true : undefined));

  await desk.close();
  home.remove();
});

test("without a notification service the window says so and what to do", async () => {
  const home = new Home();
  const desk = await Desk.start(home, { notifications: "none" });
  const hand = new Hand(desk.window);
  await hand.reads("No notification service answers on this desktop.");
  await desk.screenshot("no-notification-service");
  await desk.close();
  home.remove();
});
