import { expect, test } from "vitest";
import { closing } from "./closing";

test.each([
  [
    { outcome: "answered" as const, responder: { channel: "desktop", user: "ada", label: "Send", style: "primary" }, answer: { status: "resolved", payload: 1 } },
    { outcome: "Answered", choice: "Send", by: "by ada on this desktop", text: null, value: undefined },
  ],
  [
    { outcome: "declined" as const, responder: { channel: "slack", user: "U1", label: "No", text: "too late" }, answer: { status: "resolved", payload: 2 } },
    { outcome: "Declined", choice: "No", by: "by U1 in Slack", text: "too late", value: undefined },
  ],
  [
    { outcome: "answered" as const, responder: { channel: "cli" }, answer: { days: 3 } },
    { outcome: "Answered", choice: null, by: "on the command line", text: null, value: { days: 3 } },
  ],
  [
    { outcome: "answered" as const, responder: null, answer: false },
    { outcome: "Answered", choice: null, by: "through the API", text: null, value: false },
  ],
  [
    { outcome: "cancelled" as const, responder: { channel: "desktop", user: "bob" }, answer: { status: "cancelled" } },
    { outcome: "Withdrawn", choice: null, by: "by bob on the desktop", text: null, value: undefined },
  ],
])("%j is told as %j", (row, expected) => {
  expect(closing(row, "ada")).toEqual(expected);
});
