import { act, fireEvent, screen, within } from "@testing-library/react";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { open, settle } from "../../test/render";
import { aBootstrap, aForecast, aSession, anInterrupt, createFake, type FakeTransport } from "../../transport/fake";
import { Refusal } from "../../transport/transport";
import type { InterruptRow, ScheduledAnswer } from "../../wire";
import { shownHash } from "./shownHash";

const choices = {
  message: "Refund $148.00?",
  metadata: {
    options: [
      { label: "Refund", value: 1, style: "primary" },
      { label: "Offer a coupon", value: 2 },
      { label: "Decline", value: 3, style: "danger" },
      { label: "Something else", value: 4, input: { label: "What instead?", required: true } },
    ],
  },
};

function ask(id: string, payload: unknown, more: Partial<InterruptRow> = {}): InterruptRow {
  return anInterrupt({ interrupt_id: id, payload, has_payload: payload !== null, ...more });
}

function fakeWith(...interrupts: InterruptRow[]): FakeTransport {
  return createFake({ interrupts, sessions: [aSession({ activity: "waiting_for_you", pausing_interrupts: 1 })] });
}

const sent = (fake: FakeTransport): ScheduledAnswer[] => fake.calls("schedule_answer").map(([answer]) => answer as ScheduledAnswer);

/** Lets the arming time pass. */
async function arm(): Promise<void> {
  await act(async () => {
    await vi.advanceTimersByTimeAsync(400);
  });
}

function press(key: string, more: Partial<KeyboardEventInit> = {}, on: Element = document.body): void {
  act(() => void fireEvent.keyDown(on, { key, ...more }));
}

beforeEach(() => vi.useFakeTimers({ now: Date.parse("2026-11-30T12:10:00.000Z"), toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date"] }));
afterEach(() => vi.useRealTimers());

describe("answering", () => {
  test("the key 2 sends the second option with the hash of what was shown (I-57, I-88)", async () => {
    const row = ask("int_1", choices);
    const fake = fakeWith(row);
    await open(fake, "/inbox/sesn_1/int_1");
    await arm();
    press("2");
    await settle();
    expect(sent(fake)).toHaveLength(1);
    expect(sent(fake)[0]).toMatchObject({
      session_id: "sesn_1", interrupt_id: "int_1", label: "Offer a coupon", switch_first: false, status: "scheduled",
      answer: { option: 1, text: null, value: null, cancel: false }, shown_hash: shownHash(row),
    });
  });

  const elicitation = { type: "mcp.elicitation", connection: "mcp.files" };

  test("a server's page is shown with its host, and can be continued, declined and cancelled, but not answered in words (M-33, M-34)", async () => {
    const page = { message: "Sign in first", toolCallId: "c", metadata: { ...elicitation, mode: "url", url: "https://sign.example/in", host: "sign.example" } };
    const fake = fakeWith(ask("int_1", page));
    await open(fake, "/inbox/sesn_1/int_1");
    await arm();
    expect(screen.getByText("mcp.files")).toBeVisible();
    expect(screen.getByRole("button", { name: "https://sign.example/in (sign.example)" })).toBeVisible();
    expect(screen.queryByRole("textbox", { name: /own words|Your answer/ })).toBeNull();
    expect(screen.getByRole("button", { name: /^Cancel/ })).toBeVisible();
    expect(screen.getByRole("button", { name: /^Decline/ })).toBeVisible();
    fireEvent.click(screen.getByRole("button", { name: /^Continue/ }));
    await settle();
    expect(sent(fake)[0]).toMatchObject({ label: "Continue", answer: { option: 0, text: null, value: null, cancel: false } });
  });

  test.each([
    ["Decline", { option: 1, text: null, value: null, cancel: false }],
    ["Cancel", { option: null, text: null, value: null, cancel: true }],
  ])("a server's form can be answered with %s without being filled in (M-34)", async (label, answer) => {
    const form = { message: "Who are you?", responseSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] }, metadata: { ...elicitation, mode: "form" } };
    const fake = fakeWith(ask("int_1", form));
    // The form is loaded when it is needed; the test does not wait for the disk under a stopped clock.
    await import("./SchemaForm");
    await open(fake, "/inbox/sesn_1/int_1");
    await arm();
    fireEvent.click(screen.getByRole("button", { name: new RegExp(`^${label}`) }));
    await settle();
    expect(sent(fake)[0]).toMatchObject({ label, answer });
  });

  test("keys and clicks are dead for 400 ms after a card appears", async () => {
    const fake = fakeWith(ask("int_1", choices));
    await open(fake, "/inbox/sesn_1/int_1");
    await act(() => vi.advanceTimersByTimeAsync(399));
    press("1");
    fireEvent.click(screen.getByRole("button", { name: /^Refund/ }));
    await settle();
    expect(sent(fake)).toHaveLength(0);
    await act(() => vi.advanceTimersByTimeAsync(1));
    press("1");
    await settle();
    expect(sent(fake)).toHaveLength(1);
  });

  test("they are dead again when another question takes the place under the pointer (I-10)", async () => {
    const fake = fakeWith(ask("int_1", choices));
    await open(fake, "/inbox/sesn_1/int_1");
    await arm();
    act(() => fake.push({ type: "lists", counter: 2, reset: false, sessions: [], interrupts: [ask("int_1", { ...choices, message: "Refund $900.00?" }, { opened_seq: 20 })] }));
    press("1");
    await settle();
    expect(sent(fake)).toHaveLength(0);
    await arm();
    press("1");
    await settle();
    expect(sent(fake)[0]?.shown_hash).toBe(shownHash({ interrupt_id: "int_1", reason: "confirmation", payload: { ...choices, message: "Refund $900.00?" } }));
  });

  test("Enter alone never chooses a dangerous option; Ctrl+Enter and its number do", async () => {
    const fake = fakeWith(ask("int_1", choices));
    await open(fake, "/inbox/sesn_1/int_1");
    await arm();
    const decline = screen.getByRole("button", { name: /^Decline/ });
    decline.focus();
    expect(fireEvent.keyDown(decline, { key: "Enter" })).toBe(false);
    await settle();
    expect(sent(fake)).toHaveLength(0);
    expect(screen.getByText(/Enter alone does not choose this one/)).toBeVisible();
    press("Enter", { ctrlKey: true }, decline);
    await settle();
    expect(sent(fake)[0]?.answer.option).toBe(2);
  });

  test("number keys are dead while a text field has the focus", async () => {
    const fake = fakeWith(ask("int_1", { message: "Go on?" }));
    await open(fake, "/inbox/sesn_1/int_1");
    await arm();
    press("1", {}, screen.getByRole("textbox", { name: "Or answer in your own words" }));
    await settle();
    expect(sent(fake)).toHaveLength(0);
  });

  test("an option with input opens its box in place, and a required text blocks sending (I-98)", async () => {
    const fake = fakeWith(ask("int_1", choices));
    await open(fake, "/inbox/sesn_1/int_1");
    await arm();
    press("4");
    const box = screen.getByRole("textbox", { name: "What instead? (required)" });
    press("Enter", { ctrlKey: true }, box);
    await settle();
    expect(sent(fake)).toHaveLength(0);
    expect(screen.getByText("“Something else” needs this text.")).toBeVisible();
    fireEvent.change(box, { target: { value: "store credit" } });
    press("Enter", { ctrlKey: true }, box);
    await settle();
    expect(sent(fake)[0]?.answer).toEqual({ option: 3, text: "store credit", value: null, cancel: false });
  });

  test("text typed beside an option that takes none is kept as a draft, and the person is told", async () => {
    const fake = fakeWith(ask("int_1", choices));
    const { desk } = await open(fake, "/inbox/sesn_1/int_1");
    await arm();
    press("4");
    fireEvent.change(screen.getByRole("textbox", { name: /What instead/ }), { target: { value: "wait a week" } });
    fireEvent.click(screen.getByRole("button", { name: /^Refund/ }));
    await settle();
    expect(sent(fake)[0]?.answer).toEqual({ option: 0, text: null, value: null, cancel: false });
    expect(screen.getByText(/takes no text/)).toBeVisible();
    expect(desk.store.getState().drafts.get("interrupt:sesn_1:int_1")).toMatchObject({ text: "wait a week", sent: null });
  });

  test("without options the default pair stands beside typed input, which is JSON when it parses (I-95, I-96)", async () => {
    const fake = fakeWith(ask("int_1", { message: "How many?" }));
    await open(fake, "/inbox/sesn_1/int_1");
    await arm();
    expect(screen.getByRole("button", { name: /^Approve/ })).toBeEnabled();
    expect(screen.getByRole("button", { name: /^Decline/ })).toBeEnabled();
    const box = screen.getByRole("textbox", { name: "Or answer in your own words" });
    fireEvent.change(box, { target: { value: "12" } });
    expect(screen.getByText("will be sent as JSON number")).toBeVisible();
    press("Enter", { ctrlKey: true }, box);
    await settle();
    expect(sent(fake)[0]?.answer).toEqual({ option: null, text: null, value: { value: 12 }, cancel: false });
  });

  test("a question can be withdrawn from (I-99)", async () => {
    const fake = fakeWith(ask("int_1", choices));
    await open(fake, "/inbox/sesn_1/int_1");
    await arm();
    fireEvent.click(screen.getByRole("button", { name: "Withdraw" }));
    await settle();
    expect(sent(fake)[0]?.answer).toEqual({ option: null, text: null, value: null, cancel: true });
  });

  test("a schema no form can show is answered as JSON and checked before it is sent (I-97)", async () => {
    const fake = fakeWith(ask("int_1", { message: "Map?", responseSchema: { type: "object", patternProperties: { "^x": { type: "number" } } } }));
    await open(fake, "/inbox/sesn_1/int_1");
    await arm();
    const box = screen.getByRole("textbox", { name: "Your answer, as JSON" });
    fireEvent.change(box, { target: { value: '{"x1":"no"}' } });
    press("Enter", { ctrlKey: true }, box);
    await settle();
    expect(sent(fake)).toHaveLength(0);
    fireEvent.change(box, { target: { value: '{"x1":1}' } });
    press("Enter", { ctrlKey: true }, box);
    await settle();
    expect(sent(fake)[0]?.answer.value).toEqual({ value: { x1: 1 } });
  });

  test("a refusal says its reason where the person looks and keeps the text", async () => {
    const fake = fakeWith(ask("int_1", { message: "Name?" }));
    await open(fake, "/inbox/sesn_1/int_1");
    await arm();
    fake.refuseNext("schedule_answer", new Refusal({ code: "interrupt_changed", message: "The question changed; read it again.", details: null }));
    const box = screen.getByRole("textbox", { name: "Or answer in your own words" });
    fireEvent.change(box, { target: { value: "Ada" } });
    press("Enter", { ctrlKey: true }, box);
    await settle();
    expect(screen.getByRole("alert")).toHaveTextContent("The question changed; read it again.");
    expect(box).toHaveValue("Ada");
  });

  test("an answer the engine refused later shows its reason on the card and in its bar", async () => {
    const fake = fakeWith(ask("int_1", choices));
    await open(fake, "/inbox/sesn_1/int_1");
    await arm();
    press("1");
    await settle();
    const held = sent(fake)[0];
    act(() => fake.push({ type: "scheduled", scheduled: held === undefined ? [] : [{ ...held, status: "refused", error: { code: "interrupt_changed", message: "Somebody raised it anew.", details: null } }] }));
    expect(screen.getAllByText(/Somebody raised it anew/)).toHaveLength(2);
    press("2");
    await settle();
    expect(sent(fake)[1]?.answer.option).toBe(1);
  });

  test("on another branch Switch and answer makes it active first, and says what that ends", async () => {
    const fake = fakeWith(ask("int_1", choices, { on_active_branch: false, anchor: "msg_7" }));
    fake.data.forecast = aForecast({ run: true, tool_calls: ["send_mail"] });
    await open(fake, "/inbox/sesn_1/int_1");
    await arm();
    expect(screen.getByText(/only clears the pause/)).toBeVisible();
    fireEvent.click(screen.getByRole("button", { name: "Switch and answer" }));
    await settle();
    expect(screen.getByText(/That ends the tool call send_mail/)).toBeVisible();
    press("1");
    await settle();
    expect(sent(fake)[0]).toMatchObject({ switch_first: true, answer: { option: 0 } });
  });
});

describe("undo", () => {
  test("U takes the answer back untouched, text included", async () => {
    const fake = fakeWith(ask("int_1", { message: "Name?" }));
    await open(fake, "/inbox/sesn_1/int_1");
    await arm();
    const box = screen.getByRole("textbox", { name: "Or answer in your own words" });
    fireEvent.change(box, { target: { value: "Ada" } });
    press("Enter", { ctrlKey: true }, box);
    await settle();
    expect(screen.getByText("“Ada” is held back so that you can undo it.")).toBeVisible();
    press("u");
    await settle();
    await act(() => vi.advanceTimersByTimeAsync(1));
    expect(fake.calls("undo_answer")).toEqual([[sent(fake)[0]?.command_id]]);
    expect(screen.queryByText(/held back/)).toBeNull();
    expect(screen.getByRole("textbox", { name: "Or answer in your own words" })).toHaveValue("Ada");
  });

  test("between being sent and being recorded the card offers no second answer", async () => {
    const fake = fakeWith(ask("int_1", choices));
    await open(fake, "/inbox/sesn_1/int_1");
    await arm();
    press("1");
    await settle();
    await act(() => vi.advanceTimersByTimeAsync(4000));
    act(() => fake.push({ type: "scheduled", scheduled: [] }));
    expect(screen.getByText("“Refund” is on its way.")).toBeVisible();
    press("2");
    await settle();
    expect(sent(fake)).toHaveLength(1);
  });

  test("one that was sent meanwhile is told as such", async () => {
    const fake = fakeWith(ask("int_1", choices));
    await open(fake, "/inbox/sesn_1/int_1");
    await arm();
    press("1");
    await settle();
    fake.undoAnswer = async () => false;
    press("u");
    await settle();
    expect(screen.getByText("“Refund” was sent already.")).toBeVisible();
  });
});

describe("drafts", () => {
  test("what was typed is there again after a restart, and after looking elsewhere", async () => {
    const rows = [ask("int_1", { message: "First?" }), ask("int_2", { message: "Second?" }, { opened_at: "2026-11-30T12:01:00.000Z" })];
    const fake = createFake({ interrupts: rows, bootstrap: aBootstrap({ drafts: [{ key: "interrupt:sesn_1:int_1", value: { text: "half a thou" } }] }) });
    await open(fake, "/inbox/sesn_1/int_1");
    const box = (): HTMLElement => screen.getByRole("textbox", { name: "Or answer in your own words" });
    expect(box()).toHaveValue("half a thou");
    fireEvent.change(box(), { target: { value: "half a thought" } });
    await settle();
    expect(fake.calls("save_draft").at(-1)).toEqual([{ key: "interrupt:sesn_1:int_1", value: expect.objectContaining({ text: "half a thought" }) }]);
    act(() => box().blur());
    press("j");
    await settle();
    expect(box()).toHaveValue("");
    press("k");
    await settle();
    expect(box()).toHaveValue("half a thought");
  });

  test("a draft that was sent is forgotten once the answer is recorded", async () => {
    const fake = fakeWith(ask("int_1", { message: "Name?" }));
    await open(fake, "/inbox/sesn_1/int_1");
    await arm();
    const box = screen.getByRole("textbox", { name: "Or answer in your own words" });
    fireEvent.change(box, { target: { value: "Ada" } });
    press("Enter", { ctrlKey: true }, box);
    await settle();
    act(() => fake.push({ type: "lists", counter: 2, reset: false, sessions: [], interrupts: [ask("int_1", { message: "Name?" }, { closed_at: "2026-11-30T12:10:05.000Z", outcome: "answered", answer: "Ada" })] }));
    await settle();
    expect(fake.calls("delete_draft")).toEqual([["interrupt:sesn_1:int_1"]]);
  });
});

describe("the card", () => {
  test("hostile markdown draws no image, script or markup, and names the host of a link (I-83)", async () => {
    const message = 'Read this <img src=x onerror="alert(1)"> ![spy](https://evil.example/p.png)\n\n<script>alert(1)</script>\n\n[click](javascript:alert(1)) [docs](https://docs.example.org/a) <b>bold</b>';
    const { container } = await open(fakeWith(ask("int_1", { message })), "/inbox/sesn_1/int_1");
    const card = screen.getByRole("article");
    expect(card.querySelector("img, script, iframe, b[onclick], a[href^='javascript']")).toBeNull();
    expect(container.innerHTML).not.toContain("evil.example/p.png\"");
    const link = within(card).getByRole("button", { name: "docs (docs.example.org)" });
    fireEvent.click(link);
    expect(screen.getByRole("dialog", { name: "Open docs.example.org?" })).toHaveTextContent("https://docs.example.org/a");
  });

  test("hidden characters in arguments are drawn as marked signs, and nothing of them is cut", async () => {
    const long = "x".repeat(20_000);
    await open(fakeWith(ask("int_1", { message: "Run?", metadata: { tool: "send", arguments: { to: "a\u202eb", body: long } } })), "/inbox/sesn_1/int_1");
    expect(screen.getByRole("img", { name: "right-to-left override U+202E" })).toBeVisible();
    expect(screen.getByRole("region", { name: "Arguments of send" })).toHaveTextContent(long);
    fireEvent.click(screen.getByRole("button", { name: "Raw" }));
    expect(screen.getByRole("region", { name: "Arguments of send" })).toHaveTextContent(long);
  });

  test("what is too much to draw at once says how much there is, and shows it on request", async () => {
    const list = Array.from({ length: 1200 }, (_, index) => index);
    await open(fakeWith(ask("int_1", { message: "Run?", metadata: { tool: "send", arguments: { list } } })), "/inbox/sesn_1/int_1");
    const shown = screen.getByRole("region", { name: "Arguments of send" });
    const fold = within(shown).getByText("[1200]").closest("details");
    act(() => fold?.setAttribute("open", ""));
    if (fold !== null) fireEvent(fold, new Event("toggle"));
    fireEvent.click(within(shown).getByText("500 of 1200 shown. Show 500 more"));
    fireEvent.click(within(shown).getByText("1000 of 1200 shown. Show 200 more"));
    expect(shown).toHaveTextContent("1199");
  });

  test("a diff preview shows what goes and what comes", async () => {
    const preview = { kind: "diff", text: "--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new", path: "notes.md" };
    await open(fakeWith(ask("int_1", { message: "Write?", metadata: { preview } })), "/inbox/sesn_1/int_1");
    const changes = screen.getByRole("region", { name: "Changes" });
    expect(within(changes).getByText("removed:").closest("tr")).toHaveTextContent("old");
    expect(within(changes).getByText("added:").closest("tr")).toHaveTextContent("new");
  });

  test("a call's arguments are drawn as what they would write, and stay reachable as JSON (M-13)", async () => {
    const metadata = {
      type: "tool.approval", tool: "files__edit_file", connection: "mcp.files", remaining: 2, risk: "high", annotations: { destructiveHint: true },
      arguments: { path: "no\u202etes.md", edits: [{ oldText: "<b>old</b>", newText: "new\u200b" }], dryRun: true },
    };
    await open(fakeWith(ask("int_1", { message: "Run `files__edit_file`?", metadata })), "/inbox/sesn_1/int_1");
    const card = screen.getByRole("article");
    expect(card).toHaveTextContent("files__edit_fileon mcp.filesdestructive");
    expect(within(card).getByText("destructive")).toHaveAttribute("title", "So its server says");
    expect(card).toHaveTextContent("2 more calls of this message are asked about after this one");
    const changes = screen.getByRole("region", { name: "Changes to no\u202etes.md" });
    expect(within(changes).getByText("removed:").closest("tr")).toHaveTextContent("<b>old</b>");
    expect(within(changes).getByRole("img", { name: "zero-width space U+200B" })).toBeVisible();
    expect(card.querySelector("b b")).toBeNull();
    expect(card).toHaveTextContent("Derived from the arguments; what the tool makes of them is up to it. Not shown here: dryRun.");
    expect(screen.getByRole("region", { name: "Arguments of files__edit_file" }), "more than the preview shows, so they stand open").toBeVisible();
  });

  test("a command is drawn as a line, with the arguments folded behind it", async () => {
    await open(fakeWith(ask("int_1", { message: "Run?", metadata: { tool: "shell", arguments: { command: ["rm", "a b"], cwd: "/srv" } } })), "/inbox/sesn_1/int_1");
    expect(screen.getByRole("region", { name: "Command" })).toHaveTextContent("rm 'a b'");
    expect(screen.getByRole("article")).toHaveTextContent("Command in /srv");
    const fold = screen.getByText("All arguments, as they would be sent").closest("details");
    expect(fold).not.toHaveAttribute("open");
    expect(fold).toHaveTextContent("a b");
  });

  test("of a long text every line can be reached, and those not drawn are counted", async () => {
    const content = Array.from({ length: 900 }, (_, index) => `line ${index + 1}\n`).join("");
    await open(fakeWith(ask("int_1", { message: "Write?", metadata: { tool: "write", arguments: { path: "a", content } } })), "/inbox/sesn_1/int_1");
    const changes = screen.getByRole("region", { name: "Changes to a" });
    expect(within(changes).getAllByText("added:")).toHaveLength(400);
    fireEvent.click(within(changes).getByText("400 of 900 lines shown. Show 500 more"));
    expect(within(changes).getAllByText("added:")).toHaveLength(900);
    expect(within(changes).getByText("line 900")).toBeVisible();
  });

  test("a preview of the requester's own stands instead of a derived one", async () => {
    const preview = { kind: "diff", text: "-a\n+b", path: "x" };
    await open(fakeWith(ask("int_1", { message: "Write?", metadata: { preview, tool: "write", arguments: { path: "x", content: "b" } } })), "/inbox/sesn_1/int_1");
    expect(screen.queryByText(/Derived from the arguments/)).toBeNull();
    expect(screen.getByRole("region", { name: "Arguments of write" })).toBeVisible();
  });

  test("answered elsewhere, it settles and names who answered and how", async () => {
    const fake = fakeWith(ask("int_1", choices));
    await open(fake, "/inbox/sesn_1/int_1");
    act(() =>
      fake.push({
        type: "lists", counter: 2, reset: false, sessions: [],
        interrupts: [ask("int_1", choices, { closed_at: "2026-11-30T12:09:30.000Z", outcome: "answered", responder: { channel: "slack", user: "grace", label: "Offer a coupon" }, answer: { status: "resolved", payload: 2 } })],
      }),
    );
    const card = screen.getByRole("article");
    expect(card).toHaveTextContent("Answered “Offer a coupon” by grace in Slack");
    expect(within(card).queryByRole("button", { name: /^Refund/ })).toBeNull();
  });

  test("the ledger follows the answer to its effect", async () => {
    const fake = fakeWith(ask("int_1", choices));
    await open(fake, "/inbox/sesn_1/int_1");
    await arm();
    press("1");
    await settle();
    const stage = (): string | null | undefined => screen.getByRole("list", { name: "How far the answer got" }).querySelector("[aria-current]")?.firstChild?.textContent;
    expect(stage()).toBe("scheduled");
    fake.data.events.sesn_1 = [
      { seq: 11, at: "", turn_id: null, kind: "session.interrupt_resumed", payload: { interrupt_id: "int_1" } },
      { seq: 12, at: "", turn_id: null, kind: "decision.queued", payload: { id: "dec_1", trigger: { type: "interrupt.resumed", interrupt_id: "int_1" } } },
      { seq: 13, at: "", turn_id: null, kind: "decision.dispatched", payload: { id: "dec_1" } },
    ];
    act(() => fake.push({ type: "lists", counter: 2, reset: false, sessions: [], interrupts: [ask("int_1", choices, { closed_at: "2026-11-30T12:10:04.000Z", outcome: "answered" })] }));
    await settle();
    expect(stage()).toBe("worker told");
    fake.data.events.sesn_1.push({ seq: 14, at: "", turn_id: null, kind: "message.new", payload: {} });
    act(() => fake.push({ type: "lists", counter: 3, reset: false, sessions: [aSession({ seq: 14 })], interrupts: [] }));
    await settle();
    expect(stage()).toBe("effect seen");
  });
});

describe("the list", () => {
  const rows = [
    ask("int_1", { message: "Oldest?" }),
    ask("int_2", { message: "Risky?", metadata: { risk: "high" } }, { opened_at: "2026-11-30T12:05:00.000Z", session_id: "sesn_2", session_title: "Other", on_active_branch: false }),
    ask("int_3", { message: "Newest?" }, { opened_at: "2026-11-30T12:08:00.000Z", session_id: "sesn_3" }),
  ];
  const questions = (): (string | null)[] => within(screen.getByRole("list", { name: "Questions" })).getAllByRole("link").map((link) => link.textContent);

  test("stands oldest first, and an answer goes on to the next that waits", async () => {
    const fake = fakeWith(...rows);
    const { router } = await open(fake, "/inbox");
    expect(questions()).toEqual(["Oldest?", "Risky?, high risk", "Newest?"]);
    expect(router.state.location.pathname).toBe("/inbox/sesn_1/int_1");
    await arm();
    press("1");
    await settle();
    expect(router.state.location.pathname).toBe("/inbox/sesn_2/int_2");
    expect(screen.getByText("other branch")).toBeVisible();
  });

  test("is filtered by words and fields", async () => {
    await open(fakeWith(...rows), "/inbox");
    fireEvent.change(screen.getByRole("searchbox", { name: "Filter the inbox" }), { target: { value: "risk:high" } });
    expect(questions()).toEqual(["Risky?, high risk"]);
  });

  test("a snoozed question hides here only, and can be shown again", async () => {
    const fake = fakeWith(...rows);
    await open(fake, "/inbox/sesn_1/int_1");
    press("s");
    await settle();
    fireEvent.click(screen.getByRole("menuitem", { name: "1 hour" }));
    await settle();
    expect(fake.calls("snooze")[0]).toEqual([{ session_id: "sesn_1", interrupt_id: "int_1", until: "2026-11-30T13:10:00.000Z" }]);
    expect(questions()).toEqual(["Risky?, high risk", "Newest?"]);
    fireEvent.click(screen.getByText(/1 hidden$/, { selector: "button" }));
    fireEvent.click(screen.getByText("Show again"));
    await settle();
    expect(questions()).toHaveLength(3);
  });

  test("draws only what is on screen of ten thousand", async () => {
    const many = Array.from({ length: 10_000 }, (_, index) => ask(`int_${index}`, { message: `Question ${index}` }, { session_id: `sesn_${index}` }));
    await open(fakeWith(...many), "/inbox/sesn_0/int_0");
    expect(questions().length).toBeLessThan(100);
    expect(screen.getByText(/10000 waiting/)).toBeVisible();
  });

  test("empty, it says when the last one was answered and what runs", async () => {
    const fake = createFake({ sessions: [aSession({ activity: "running", title: "Weekly digest" })], bootstrap: aBootstrap({ engine: { ...aBootstrap().engine, last_answered_at: "2026-11-30T12:00:00.000Z" } }) });
    await open(fake, "/inbox");
    expect(screen.getByRole("heading", { name: "Nobody waits for you" })).toBeVisible();
    expect(screen.getByText(/answered/)).toHaveTextContent("The last one was answered 10 min ago. 1 session is running.");
  });
});

describe("bulk", () => {
  test("x and Shift+x mark, and the one shared answer goes to each; what changed meanwhile is skipped and listed", async () => {
    const rows = ["a", "b", "c"].map((id, place) => ask(id, choices, { opened_at: `2026-11-30T12:0${place}:00.000Z` }));
    const fake = fakeWith(...rows);
    await open(fake, "/inbox/sesn_1/a");
    press("x");
    press("j");
    press("j");
    await settle();
    press("X", { shiftKey: true });
    expect(screen.getByText("3 marked")).toBeVisible();
    press("a");
    const dialog = screen.getByRole("dialog", { name: "Answer 3 marked" });
    fireEvent.click(within(dialog).getByRole("button", { name: "Offer a coupon" }));
    await settle();
    expect(sent(fake), "dead while the dialog is new").toHaveLength(0);
    await arm();
    act(() => fake.push({ type: "lists", counter: 2, reset: false, sessions: [], interrupts: [ask("b", { ...choices, message: "Refund $900.00?" }, { opened_at: "2026-11-30T12:01:00.000Z" })] }));
    fireEvent.click(within(dialog).getByRole("button", { name: "Offer a coupon" }));
    await settle();
    expect(sent(fake).map((answer) => [answer.interrupt_id, answer.answer.option])).toEqual([["a", 1], ["c", 1]]);
    expect(within(dialog).getByRole("heading", { name: "Answered 2 of 3" })).toBeVisible();
    expect(within(dialog).getByText("Skipped: it changed since you opened this list.")).toBeVisible();
    fireEvent.click(within(dialog).getByRole("button", { name: "Undo all" }));
    await settle();
    expect(fake.calls("undo_answer")).toHaveLength(2);
  });
});
