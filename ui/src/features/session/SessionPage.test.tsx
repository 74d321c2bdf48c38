import { act, cleanup, configure, render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { App } from "../../app";
import { memoryRouter } from "../../router";
import { aForecast, type FakeTransport } from "../../transport/fake";
import { Refusal } from "../../transport/transport";
import type { SessionPatch, Submit } from "../../wire";
import { aFakeSession, aNode, aRichPatch, aRunningPatch, aTurn, sessionId } from "./fixture";

// Asking of each element whether it is hidden takes most of the time of a query by role.
configure({ defaultHidden: true });

beforeEach(() => {
  // The document of the tests has no layout; lists need a size to show anything in.
  vi.spyOn(Element.prototype, "clientHeight", "get").mockReturnValue(2400);
  vi.spyOn(Element.prototype, "clientWidth", "get").mockReturnValue(900);
  vi.spyOn(HTMLElement.prototype, "offsetHeight", "get").mockReturnValue(60);
  // Away from the pointer, or each click would grab the line between two panes.
  vi.spyOn(Element.prototype, "getBoundingClientRect").mockReturnValue(new DOMRect(2000, 2000, 10, 10));
  // Nothing here is hidden by a style, and working styles out takes the document of the tests longer than all else.
  const plain = document.createElement("div").style;
  vi.spyOn(window, "getComputedStyle").mockReturnValue(plain);
  // Wide enough for all three panes to begin open.
  vi.stubGlobal("innerWidth", 1280);
  vi.stubGlobal("ResizeObserver", class { observe() {} unobserve() {} disconnect() {} });
  Element.prototype.scrollTo = () => undefined;
});

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

async function open(patch: SessionPatch = aRichPatch(), path = `/sessions/${sessionId}`): Promise<{ fake: FakeTransport; user: ReturnType<typeof userEvent.setup> }> {
  const fake = aFakeSession(patch);
  const user = userEvent.setup({ delay: null, pointerEventsCheck: 0 });
  render(<App transport={fake} router={memoryRouter(path)} />);
  await screen.findByRole("tree", { name: "Message tree" });
  return { fake, user };
}

const commands = (fake: FakeTransport): Submit["command"][] => fake.calls("submit").map(([submit]) => (submit as Submit).command);
const transcript = (): HTMLElement => screen.getByRole("log", { name: "Transcript" });
const row = (name: RegExp): HTMLElement => within(screen.getByRole("tree")).getByRole("treeitem", { name });
const message = async (number: number, who = "You"): Promise<HTMLElement> => within(transcript()).findByRole("article", { name: `${who}, message ${number}` });

describe("the session page", () => {
  it("says what the session waits for, who answers in it, and that the model is scripted", async () => {
    await open();
    expect(screen.getByRole("status", { name: "Status: waiting for you (1)" })).toBeVisible();
    expect(screen.getByText("scripted")).toBeVisible();
    expect(screen.getByText("· 3 branches")).toBeVisible();
  });

  it("draws the tree's rows with names that carry state and branch", async () => {
    await open();
    const names = within(screen.getByRole("tree")).getAllByRole("treeitem").map((item) => item.getAttribute("aria-label"));
    expect(names).toEqual([
      "Where is order 88123?, active path",
      "support: Let me look that order up., active path",
      "find_order, done, 0.4 s, active path",
      "track_parcel, failed, 9.0 s, active path",
      "Tell them it is late, branch 1, 1/2",
      "support: Drafting a note",
      "Shorter, please, 1/2",
      "support: Here is the short note.",
      "Friendlier, please, branch 2, edited · 2/2",
      "support: Done. Shall I send it?",
      expect.stringMatching(/^Send the email\?, paused .* · not active$/),
      "It has been two weeks. Refund it instead., branch 3, edited · 2/2, active path",
      "support: Checking the rules, active path",
      "4 messages",
      "find_card, done, 0.4 s, active path",
      expect.stringContaining("support: The parcel has not moved since 12 November, head · waiting"),
      expect.stringMatching(/^Refund \$148.00 to order 88123\?, waiting for you/),
    ]);
  });

  it("shows a branch picked in the tree as a view, and asks what would end before making it active", async () => {
    const { fake, user } = await open();
    fake.data.forecast = aForecast({ run: true, model_calls: ["scripted/demo"], queued_turns: ["later"] });
    await user.click(row(/^Tell them it is late/));
    const notice = await screen.findByText("Not active.");
    expect(await within(transcript()).findByText("Friendlier, please")).toBeInTheDocument();
    expect(screen.queryByRole("textbox", { name: "Message" })).toBeNull();
    await user.click(within(notice.closest("div")!).getByRole("button", { name: "Make active" }));
    const dialog = await screen.findByRole("dialog", { name: "Make this branch active?" });
    expect(within(dialog).getByText("scripted/demo")).toBeVisible();
    expect(commands(fake)).toEqual([]);
    await user.click(within(dialog).getByRole("button", { name: /Make active/ }));
    expect(fake.calls("forecast")).toContainEqual([sessionId, { type: "make_active", message_id: "send" }]);
    expect(commands(fake)).toEqual([{ type: "make_active", message_id: "send" }]);
  });

  it("makes a branch active at once when nothing would end", async () => {
    const { fake, user } = await open();
    await user.click(row(/^Shorter, please/));
    await user.dblClick(row(/^Shorter, please/));
    await waitFor(() => expect(commands(fake)).toEqual([{ type: "make_active", message_id: "short" }]));
    expect(screen.queryByRole("dialog")).toBeNull();
  });

  it("edits a message in place, says what that does, and makes the command with the message's id", async () => {
    const { fake, user } = await open();
    const asked = await message(5);
    await user.click(within(asked).getByRole("button", { name: "Edit" }));
    const field = await within(asked).findByRole("textbox", { name: "Edit message" });
    await waitFor(() => expect(field).toHaveValue("It has been two weeks. Refund it instead of waiting."));
    expect(within(asked).getByText("Makes a new branch at message 5. Branch 3 and its open pause stay.")).toBeVisible();
    await user.clear(field);
    await user.type(field, "Offer a coupon.{Control>}{Enter}{/Control}");
    expect(commands(fake)).toEqual([{ type: "edit_message", message_id: "refund", text: "Offer a coupon." }]);
    await waitFor(() => expect(screen.queryByRole("textbox", { name: "Edit message" })).toBeNull());
    expect(fake.calls("delete_draft")).toContainEqual([`edit:${sessionId}:refund`]);
  });

  it("keeps the draft of an edit on Esc, and a refused edit with its reason", async () => {
    const { fake, user } = await open();
    const asked = await message(1);
    await user.click(within(asked).getByRole("button", { name: "Edit" }));
    const field = await within(asked).findByRole("textbox", { name: "Edit message" });
    await waitFor(() => expect(field).toBeEnabled());
    await user.type(field, " Hm.{Escape}");
    expect(screen.queryByRole("textbox", { name: "Edit message" })).toBeNull();
    await user.click(within(asked).getByRole("button", { name: "Edit" }));
    const again = await within(asked).findByRole("textbox", { name: "Edit message" });
    expect(again).toHaveValue("Where is order 88123? Hm.");
    expect(fake.calls("save_draft").at(-1)).toEqual([{ key: `edit:${sessionId}:ask`, value: "Where is order 88123? Hm." }]);
    fake.refuseNext("submit", new Refusal({ code: "session_busy", message: "Cancel the run first.", details: null }));
    await user.click(within(asked).getByRole("button", { name: /Save and run/ }));
    expect(await within(asked).findByRole("alert")).toHaveTextContent("Not saved: Cancel the run first.");
    expect(again).toHaveValue("Where is order 88123? Hm.");
  });

  it("generates a reply again from its own button", async () => {
    const { fake, user } = await open();
    const replies = await message(12, "support");
    await user.click(within(replies).getByRole("button", { name: "Regenerate" }));
    expect(commands(fake)).toEqual([{ type: "regenerate", message_id: "qualifies" }]);
  });

  it("switches between versions of a message where the path forks", async () => {
    const { user } = await open();
    const versions = within(await message(5)).getByRole("group", { name: "Version 2 of 2" });
    await user.click(within(versions).getByRole("button", { name: "Version before" }));
    expect(await screen.findByText("Not active.")).toBeVisible();
    expect(await within(transcript()).findByRole("group", { name: "Version 1 of 2" })).toBeInTheDocument();
    await user.click(screen.getByRole("button", { name: "Back to active" }));
    expect(screen.queryByText("Not active.")).toBeNull();
  });

  it("opens a tool call to its whole arguments and result", async () => {
    const { user } = await open();
    const card = await within(transcript()).findByRole("button", { name: /find_order/ });
    expect(card).toHaveTextContent('{"no": 88123}');
    expect(card).toHaveTextContent("0.4 s");
    await user.click(card);
    expect(await within(transcript()).findByRole("region", { name: "Result" })).toHaveTextContent("A-1");
    expect(within(transcript()).getByRole("button", { name: /track_parcel/ })).toHaveAttribute("title", "failed");
  });

  it("opens a link at its message, on the branch that holds it", async () => {
    await open(aRichPatch(), `/sessions/${sessionId}?node=draft`);
    expect(await screen.findByText("Not active.")).toBeVisible();
    expect(row(/^support: Drafting a note/)).toHaveAttribute("aria-selected", "true");
  });

  it("finds a message in the tree", async () => {
    const { user } = await open();
    await user.keyboard("/");
    await user.type(screen.getByRole("searchbox", { name: "Find in tree" }), "policy");
    expect(within(screen.getByRole("search")).getByRole("status")).toHaveTextContent("1 of 1");
    expect(row(/^support: policy_limits/)).toHaveAttribute("aria-selected", "true");
  });

  it("walks the tree by keys", async () => {
    const { fake, user } = await open();
    act(() => screen.getByRole("tree").focus());
    await user.keyboard("{ArrowUp}{ArrowUp}{Enter}");
    expect(within(screen.getByRole("tree")).queryByRole("treeitem", { name: "4 messages" }), "Enter opened the fold").toBeNull();
    await user.keyboard("g{ArrowDown}{Enter}");
    await waitFor(() => expect(commands(fake)).toEqual([{ type: "make_active", message_id: "look" }]));
  });
});

describe("a question in the transcript", () => {
  it("keeps its card when it closes, so that the person reads how it ended", async () => {
    const { fake } = await open();
    const card = (): HTMLElement | undefined => within(transcript()).getAllByRole("article").find((each) => each.textContent.includes("Refund $148.00 to order 88123?"));
    await waitFor(() => expect(card()).toBeDefined());
    const rich = aRichPatch();
    act(() => {
      fake.push({ type: "session", patch: { ...rich, after_seq: 60, nodes: [], calls: [], turns: [], interrupts: [], session: { ...rich.session, activity: "running", seq: 61 } } });
      fake.push({ type: "lists", counter: 2, reset: false, sessions: [], interrupts: [{ ...rich.interrupts[1]!, closed_at: "2026-11-30T14:20:00.000Z", outcome: "answered", responder: { user: "bo", channel: "slack" }, answer: "refund" }] });
    });
    expect(card()).toBeDefined();
    expect(row(/head$/)).toBeInTheDocument();
    expect(within(screen.getByRole("tree")).queryByRole("treeitem", { name: /^Refund \$148.00/ }), "the tree shows open questions only").toBeNull();
  });
});

describe("the composer", () => {
  const idle = (): SessionPatch => {
    const rich = aRichPatch();
    return { ...rich, interrupts: [], session: { ...rich.session, activity: "idle", status: "idle", open_interrupts: 0, pausing_interrupts: 0 } };
  };

  it("sends on Enter, writes a new line on Shift+Enter, and forgets the draft", async () => {
    const { fake, user } = await open(idle());
    const field = screen.getByRole("textbox", { name: "Message" });
    await user.type(field, "one{Shift>}{Enter}{/Shift}two{Enter}");
    expect(commands(fake)).toEqual([{ type: "send_message", text: "one\ntwo", queue: false }]);
    await waitFor(() => expect(field).toHaveValue(""));
    expect(fake.calls("delete_draft").at(-1)).toEqual([`composer:${sessionId}:refund`]);
  });

  it("gives a refused message back with the reason", async () => {
    const { fake, user } = await open(idle());
    fake.refuseNext("submit", new Refusal({ code: "storage_full", message: "The disk is full. Free some space and send again.", details: null }));
    await user.type(screen.getByRole("textbox", { name: "Message" }), "hello{Enter}");
    expect(await screen.findByText("Not sent: The disk is full. Free some space and send again.")).toBeVisible();
    expect(screen.getByRole("textbox", { name: "Message" })).toHaveValue("hello");
  });

  it("queues behind a running turn and lists what waits", async () => {
    const { fake, user } = await open(aRunningPatch());
    expect(within(screen.getByRole("list", { name: "Queued messages" })).getByText("And write it to the ledger")).toBeVisible();
    await user.type(screen.getByRole("textbox", { name: "Message" }), "then this");
    await user.click(screen.getByRole("button", { name: "Queue" }));
    expect(commands(fake)).toEqual([{ type: "send_message", text: "then this", queue: true }]);
  });

  it("lists a queued message no longer when it was dropped", async () => {
    const { fake } = await open(aRunningPatch());
    const running = aRunningPatch();
    act(() => fake.push({ type: "session", patch: { ...running, after_seq: 60, nodes: [], calls: [], turns: [], decisions: [], session: { ...running.session, activity: "cancelled", queued_turns: 0, seq: 61 } } }));
    await waitFor(() => expect(screen.queryByRole("list", { name: "Queued messages" })).toBeNull());
    expect(screen.getByRole("tab", { name: /^Open work/ })).toHaveTextContent("Open work1");
  });

  it("is closed while the branch waits for an answer, and leads to the question", async () => {
    const { user } = await open();
    expect(screen.queryByRole("textbox", { name: "Message" })).toBeNull();
    expect(screen.getByText("This branch waits for your answer. Edit an earlier message to try another way.")).toBeVisible();
    await user.click(screen.getByRole("button", { name: /Go to question/ }));
    expect(row(/^Refund \$148.00 to order 88123\?/)).toHaveAttribute("aria-selected", "true");
  });
});

describe("a run", () => {
  it("is cancelled after its forecast, with one more key", async () => {
    const { fake, user } = await open(aRunningPatch());
    fake.data.forecast = aForecast({ run: true, model_calls: ["scripted/demo"], queued_turns: ["And write it to the ledger"], interrupts: ["Send the email?"] });
    await user.keyboard("{Control>}.{/Control}");
    const dialog = await screen.findByRole("dialog", { name: "Cancel this run?" });
    for (const thing of ["scripted/demo", "And write it to the ledger", "Send the email?"]) expect(within(dialog).getByText(thing)).toBeVisible();
    await waitFor(() => expect(within(dialog).getByRole("button", { name: /Cancel run/ })).toHaveFocus());
    await user.keyboard("{Enter}");
    expect(commands(fake)).toEqual([{ type: "cancel" }]);
  });

  it("can be asked to end by Esc Esc, and goes on when the person stays", async () => {
    const { fake, user } = await open(aRunningPatch());
    await user.keyboard("{Escape}{Escape}");
    const dialog = await screen.findByRole("dialog", { name: "Cancel this run?" });
    await user.click(within(dialog).getByRole("button", { name: /Keep running/ }));
    expect(commands(fake)).toEqual([]);
  });

  it("that does not exist is not cancelled", async () => {
    const { fake, user } = await open();
    fake.data.forecast = aForecast();
    await user.keyboard("{Control>}.{/Control}");
    await waitFor(() => expect(fake.calls("forecast")).toHaveLength(1));
    expect(screen.queryByRole("dialog")).toBeNull();
  });

  it("streams its text, and the message takes its place", async () => {
    const { fake } = await open(aRunningPatch());
    act(() => {
      fake.push({ type: "delta", session_id: sessionId, call_id: "msg_reply", seq: 1, text: "Writing it ", reasoning: null });
      fake.push({ type: "delta", session_id: sessionId, call_id: "msg_reply", seq: 2, text: "down", reasoning: null });
    });
    expect(await within(transcript()).findByText("Writing it down")).toBeInTheDocument();
    fake.data.bodies.msg_reply = { role: "assistant", content: "Written down." };
    const running = aRunningPatch();
    act(() => fake.push({
      type: "session",
      patch: {
        ...running, after_seq: 60, session: { ...running.session, activity: "idle", seq: 70 }, head_id: "msg_reply", turns: [aTurn("turn_6")],
        nodes: [aNode("msg_reply", "qualifies", "assistant", "Written down.", { seq: 65 })],
        calls: running.calls.filter((call) => call.id === "msg_reply").map((call) => ({ ...call, status: "completed", ended_at: call.requested_at, seq: 66 })),
      },
    }));
    await waitFor(() => expect(within(transcript()).getByRole("article", { name: "support, message 13" })).toHaveTextContent("Written down."));
    expect(within(transcript()).queryByText("Writing it down")).toBeNull();
    expect(within(transcript()).queryByRole("article", { name: "support, writing" })).toBeNull();
  });
});

describe("what went wrong", () => {
  it("is told where it happened, with the worker's stack", async () => {
    const rich = aRichPatch();
    await open({
      ...rich, interrupts: [],
      turns: [aTurn("turn_1", { status: "cancelled" }), aTurn("turn_5", { status: "failed", error: "order is not defined", error_code: "worker_failed", stack: "at decide (support.mjs:12:7)" })],
      session: { ...rich.session, activity: "failed" },
    });
    const failure = await within(transcript()).findByRole("region", { name: "Turn failed" });
    expect(failure).toHaveTextContent("order is not defined");
    expect(failure).toHaveTextContent("worker_failed");
    expect(within(failure).getByText("at decide (support.mjs:12:7)")).toBeVisible();
    expect(within(transcript()).getByText("This turn was cancelled.")).toBeInTheDocument();
  });

  it("shows hostile content as text", async () => {
    const rich = aRichPatch();
    const nasty = '<img src=x onerror="window.hit=1"><script>window.hit=1</script> ![pic](https://evil.test/p.png) [go](javascript:alert(1)) \u202Egpj.exe';
    const fake = aFakeSession({ ...rich, nodes: [aNode("a", null, "user", nasty)], head_id: "a", calls: [], turns: [], interrupts: [] });
    fake.data.bodies.a = { role: "user", content: nasty };
    render(<App transport={fake} router={memoryRouter(`/sessions/${sessionId}`)} />);
    expect(await within(await screen.findByRole("log", { name: "Transcript" })).findByText(/image not loaded/)).toBeInTheDocument();
    expect(transcript().querySelector("img, script, iframe, a[href^='javascript']")).toBeNull();
    expect(within(transcript()).getByText("U+202E")).toBeInTheDocument();
    expect("hit" in window).toBe(false);
  });
});

describe("the inspector", () => {
  it("lists open calls and queued turns", async () => {
    const { user } = await open(aRunningPatch());
    await user.click(screen.getByRole("tab", { name: /Open work/ }));
    const work = await screen.findByRole("tabpanel", { name: /Open work/ });
    expect(within(work).getByRole("region", { name: "Calls" })).toHaveTextContent("scripted/demo");
    expect(within(work).getByRole("region", { name: "Queued turns" })).toHaveTextContent("And write it to the ledger");
  });

  it("reads past questions of this session, and shows its log, state and spend", async () => {
    const { fake, user } = await open();
    fake.data.interrupts = [{ ...aRichPatch().interrupts[0]!, interrupt_id: "int_old", closed_at: "2026-11-30T14:20:00.000Z", outcome: "declined", responder: { user: "ada", channel: "desktop" }, answer: { approved: false } }];
    fake.data.events[sessionId] = [{ seq: 1, at: "2026-11-30T14:02:00.000Z", turn_id: null, kind: "session.created", payload: { agent_id: "support" } }, { seq: 2, at: "2026-11-30T14:02:01.000Z", turn_id: null, kind: "message.new", payload: { id: "ask" } }];
    await user.click(screen.getByRole("tab", { name: /Interrupts/ }));
    expect(await screen.findByText("declined by ada (desktop)")).toBeVisible();
    await user.click(screen.getByRole("tab", { name: "State" }));
    expect(screen.getByRole("region", { name: "Worker state" })).toHaveTextContent("refund");
    await user.click(screen.getByRole("tab", { name: "Spend" }));
    expect(screen.getAllByRole("row")).toHaveLength(6);
    await user.click(screen.getByRole("tab", { name: "Log" }));
    await user.click(await screen.findByRole("button", { name: /session\.created/ }));
    expect(screen.getByText(/"agent_id": "support"/)).toBeVisible();
    await user.type(screen.getByRole("searchbox", { name: "Filter events" }), "message");
    await waitFor(() => expect(screen.queryByRole("button", { name: /session\.created/ })).toBeNull());
  });
});
