import { describe, expect, test } from "vitest";
import { anInterrupt } from "../../transport/fake";
import { decisionOf, matches, toCsv, toJson } from "./log";

const row = anInterrupt({
  payload: { message: "=Refund, \"now\"?" },
  closed_at: "2026-11-30T12:04:10.000Z",
  outcome: "declined",
  responder: { channel: "slack", user: "U1", label: "No", text: "too\nlate" },
  answer: { status: "resolved", payload: { approved: false } },
  verification: "verified",
  shown_hash: "ab",
});

describe("the decision log", () => {
  const decision = decisionOf(row, "ada");

  test("says who, where, what and after how long", () => {
    expect(decision).toMatchObject({ outcome: "declined", question: '=Refund, "now"?', choice: "No", text: "too\nlate", channel: "slack", user: "U1", waited_seconds: 250 });
  });

  test("exports CSV with quoted cells and no running formula", () => {
    const [head, ...lines] = toCsv([decision]).split("\r\n");
    expect(head).toBe("closed_at,opened_at,waited_seconds,outcome,question,reason,agent,session,session_id,interrupt_id,choice,text,answer,channel,user,verification,shown_hash");
    expect(lines.join("\r\n")).toBe(
      '2026-11-30T12:04:10.000Z,2026-11-30T12:00:00.000Z,250,declined,"\'=Refund, ""now""?",confirmation,support,Refund order 88123,sesn_1,int_1,No,"too\nlate","{""status"":""resolved"",""payload"":{""approved"":false}}",slack,U1,verified,ab\r\n',
    );
  });

  test("exports JSON that reads back", () => {
    expect(JSON.parse(toJson([decision]))).toEqual([decision]);
  });

  test.each([["slack no", true], ["refund", true], ["declined", true], ["ada", false]])("%j matches: %j", (text, expected) => {
    expect(matches(decision, text)).toBe(expected);
  });
});
