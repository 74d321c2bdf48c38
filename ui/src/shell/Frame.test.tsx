import { act, fireEvent, screen, within } from "@testing-library/react";
import { describe, expect, test, vi } from "vitest";
import { open, settle } from "../test/render";
import { aBootstrap, aSession, anInterrupt, createFake } from "../transport/fake";
import { Refusal, type Transport } from "../transport/transport";
import type { AgentRow, ShellEvent } from "../wire";

const agent: AgentRow = { agent_id: "support", description: "Answers customers.", model: "scripted/demo", scripted: true, llm: "demo", worker: null, problem: null };
const broken: AgentRow = { ...agent, agent_id: "docs", scripted: false, problem: "docs.mjs: SyntaxError\n    at docs.mjs:3:1" };

function press(key: string, more: Partial<KeyboardEventInit> = {}): void {
  act(() => void fireEvent.keyDown(document.body, { key, ...more }));
}

describe("the rail", () => {
  test("counts who waits, names who waits and what runs, and says how the engine is", async () => {
    await open(
      createFake({
        interrupts: [anInterrupt()],
        sessions: [aSession({ activity: "waiting_for_you", pausing_interrupts: 1 }), aSession({ session_id: "sesn_2", title: "Weekly digest", activity: "running" })],
      }),
      "/agents",
    );
    const rail = screen.getByRole("navigation", { name: "Main" });
    expect(within(rail).getByRole("link", { name: /^Inbox/ })).toHaveTextContent("Inbox1 waiting");
    expect(document.title).toBe("Holdpoint (1 waiting)");
    expect(within(within(rail).getByRole("region", { name: "Waiting for you" })).getByRole("link")).toHaveTextContent("Refund order 88123");
    expect(within(within(rail).getByRole("region", { name: "Running" })).getByRole("link")).toHaveTextContent("Weekly digest");
    expect(screen.getByRole("contentinfo")).toHaveTextContent("Engine running$0.42 today");
  });

  test("hidden questions are not counted", async () => {
    await open(createFake({ interrupts: [anInterrupt()], bootstrap: aBootstrap({ snoozed: [{ session_id: "sesn_1", interrupt_id: "int_1", until: null }] }) }), "/agents");
    expect(screen.getByRole("link", { name: /^Inbox/ })).toHaveTextContent(/^Inbox$/);
    expect(document.title).toBe("Holdpoint");
  });
});

describe("what is wrong is said at the top", () => {
  test("a paused engine, an unreadable configuration, no notifications", async () => {
    const fake = createFake({
      bootstrap: aBootstrap({ config_error: "line 3: unknown key `modle`, did you mean `model`?", engine: { ...aBootstrap().engine, state: "paused", problem: "The disk is full." } }),
    });
    fake.notificationStatus = async () => ({ service: null, problem: "No notification service runs." });
    await open(fake, "/agents");
    expect(screen.getByText("The engine is paused.").parentElement).toHaveTextContent("The disk is full.");
    expect(screen.getByText(/did you mean `model`/)).toBeVisible();
    expect(screen.getByText("No notification will reach you.").parentElement).toHaveTextContent("No notification service runs.");
    fireEvent.click(screen.getByRole("button", { name: "Dismiss" }));
    expect(screen.queryByText("No notification will reach you.")).toBeNull();
  });

  test("a start that fails shows its reason", async () => {
    const fake = createFake();
    fake.refuseNext("bootstrap", new Refusal({ code: "unavailable", message: "Holdpoint does not answer.", details: null }));
    await open(fake, "/inbox");
    expect(screen.getByRole("alert")).toHaveTextContent("Holdpoint does not answer.");
  });
});

test("a new question is announced once, politely, and those that were there are not", async () => {
  const fake = createFake({ interrupts: [anInterrupt()] });
  await open(fake, "/agents");
  expect(screen.getByTestId("announcer")).toHaveTextContent("");
  const fresh = anInterrupt({ interrupt_id: "int_2", payload: { message: "Send it?" } });
  act(() => fake.push({ type: "lists", counter: 2, reset: false, sessions: [], interrupts: [fresh] }));
  expect(screen.getByTestId("announcer")).toHaveTextContent("support asks: Send it?");
  expect(screen.getByTestId("announcer")).toHaveAttribute("aria-live", "polite");
});

describe("the palette", () => {
  test("finds commands, questions, sessions and agents, and runs the chosen one", async () => {
    const fake = createFake({ interrupts: [anInterrupt({ payload: { message: "Send the summary?" } })], sessions: [aSession()], bootstrap: aBootstrap({ agents: [agent] }) });
    const { router } = await open(fake, "/agents");
    press("k", { ctrlKey: true });
    const box = screen.getByRole("combobox");
    for (const [text, found] of [["settings", "Settings"], ["summary", "Send the summary?"], ["88123", "Refund order 88123"], ["new session with", "New session with support"]] as const) {
      fireEvent.change(box, { target: { value: text } });
      expect(screen.getAllByRole("option")[0]).toHaveTextContent(found);
    }
    fireEvent.change(box, { target: { value: "summary" } });
    fireEvent.keyDown(box, { key: "Enter" });
    await vi.waitFor(() => expect(router.state.location.pathname).toBe("/inbox/sesn_1/int_1"), { timeout: 60_000 });
  });
});

test("the key sheet lists what works here, from the same actions", async () => {
  await open(createFake({ interrupts: [anInterrupt({ payload: { message: "Go on?" } })] }), "/inbox/sesn_1/int_1");
  press("?");
  const sheet = screen.getByRole("dialog", { name: "Keys" });
  for (const title of ["Next question", "Answer “Approve”", "Snooze…", "Find a command, session or question"]) expect(sheet).toHaveTextContent(title);
});

test("g then a letter goes to a place", async () => {
  const { router } = await open(createFake(), "/inbox");
  press("g");
  press("s");
  expect(router.state.location.pathname).toBe("/sessions");
});

describe("a new session", () => {
  test("starts with an agent and a first message, and opens", async () => {
    const fake = createFake({ bootstrap: aBootstrap({ agents: [agent] }) });
    const { router } = await open(fake, "/sessions");
    fireEvent.click(screen.getByRole("button", { name: /New session/ }));
    fireEvent.change(screen.getByRole("textbox", { name: "First message" }), { target: { value: "Where is order 88123?" } });
    fireEvent.click(screen.getByRole("button", { name: /^Start/ }));
    await settle();
    const [submit] = fake.calls("submit")[0] as [{ session_id: string; command: unknown }];
    expect(submit.command).toEqual({ type: "create_session", agent_id: "support", text: "Where is order 88123?" });
    expect(router.state.location.pathname).toBe(`/sessions/${submit.session_id}`);
  });

  test("refused, it says why and keeps the text", async () => {
    const fake = createFake({ bootstrap: aBootstrap({ agents: [agent] }) });
    await open(fake, "/sessions");
    fireEvent.click(screen.getByRole("button", { name: /New session/ }));
    fireEvent.change(screen.getByRole("textbox", { name: "First message" }), { target: { value: "Hello" } });
    fake.refuseNext("submit", new Refusal({ code: "storage_full", message: "The disk is full. Free some space.", details: null }));
    fireEvent.click(screen.getByRole("button", { name: /^Start/ }));
    await settle();
    expect(screen.getByText("The disk is full. Free some space.")).toBeVisible();
    expect(screen.getByRole("textbox", { name: "First message" })).toHaveValue("Hello");
  });
});

test("agents show what keeps them from running, whole", async () => {
  await open(createFake({ bootstrap: aBootstrap({ agents: [agent, broken] }) }), "/agents");
  const item = screen.getByRole("listitem", { name: "docs" });
  expect(item).toHaveTextContent("cannot run");
  expect(item).toHaveTextContent("at docs.mjs:3:1");
  expect(within(screen.getByRole("listitem", { name: "support" })).getByText("scripted")).toBeVisible();
});

test("sessions read with the one word for how they stand", async () => {
  await open(
    createFake({
      sessions: [
        aSession({ session_id: "a", activity: "waiting_for_you", pausing_interrupts: 2 }),
        aSession({ session_id: "b", activity: "waiting_for_tool" }),
        aSession({ session_id: "c", activity: "failed", scripted: false }),
        aSession({ session_id: "d", title: "" }),
      ],
    }),
    "/sessions",
  );
  const list = screen.getByRole("list", { name: "Sessions" });
  for (const word of ["waiting for you (2)", "waiting for a tool", "failed", "idle", "New session with support"]) expect(list).toHaveTextContent(word);
  expect(within(list).getAllByText("scripted")).toHaveLength(3);
});

describe("settings", () => {
  test("are saved as they are changed, what this version does not know included", async () => {
    const fake = createFake({ bootstrap: aBootstrap({ settings: { later: 1 } }) });
    await open(fake, "/settings");
    fireEvent.change(screen.getByLabelText("Theme"), { target: { value: "dark" } });
    expect(document.documentElement).toHaveAttribute("data-theme", "dark");
    fireEvent.change(screen.getByLabelText("Time to undo"), { target: { value: "0" } });
    await settle();
    expect(fake.calls("save_settings").at(-1)).toEqual([{ later: 1, theme: "dark", undo_ms: 0 }]);
  });

  test("offer the notification test only where the shell has one", async () => {
    const { unmount } = await open(createFake(), "/settings");
    expect(screen.queryByRole("button", { name: "Send a test notification" })).toBeNull();
    unmount();
    const fake = createFake();
    fake.notificationTest = async () => ({ service: "dunst", problem: null });
    await open(fake, "/settings");
    fireEvent.click(screen.getByRole("button", { name: "Send a test notification" }));
    await settle();
    expect(screen.getByText(/Shown by dunst/)).toBeVisible();
  });
});

describe("the shell", () => {
  test("opens a place, reports answers from notifications, and is told which card is on screen", async () => {
    const shell: { say?: (event: ShellEvent) => void } = {};
    const shown = vi.fn<NonNullable<Transport["setVisibleInterrupts"]>>(async () => undefined);
    const fake = createFake({ interrupts: [anInterrupt({ payload: { message: "Go on?" } })] });
    fake.onShell = (listener) => {
      shell.say = listener;
      return () => undefined;
    };
    fake.setVisibleInterrupts = shown;
    const { router } = await open(fake, "/agents");
    act(() => shell.say?.({ type: "open", card: { session_id: "sesn_1", interrupt_id: "int_1" } }));
    await settle();
    expect(router.state.location.pathname).toBe("/inbox/sesn_1/int_1");
    expect(shown).toHaveBeenLastCalledWith([{ session_id: "sesn_1", interrupt_id: "int_1" }]);
    act(() => shell.say?.({ type: "answered", card: { session_id: "sesn_1", interrupt_id: "int_1" }, refused: true, title: "Not taken", body: "The question changed." }));
    expect(screen.getByText("Not taken: The question changed.")).toBeVisible();
    act(() => shell.say?.({ type: "open", card: null }));
    await settle();
    expect(router.state.location.pathname).toMatch(/^\/inbox/);
  });
});

describe("activity", () => {
  const closed = anInterrupt({ interrupt_id: "int_9", payload: { message: "Refund?" }, closed_at: "2026-11-30T12:04:00.000Z", outcome: "declined", responder: { channel: "slack", user: "grace", label: "No" }, answer: { status: "resolved", payload: 0 } });

  test("lists who decided what and where, filters, and takes in what closes now", async () => {
    const fake = createFake({ interrupts: [closed] });
    await open(fake, "/activity");
    const list = screen.getByRole("list", { name: "Decisions" });
    expect(list).toHaveTextContent("Refund?Declined “No” by grace in Slack");
    act(() => fake.push({ type: "lists", counter: 2, reset: false, sessions: [], interrupts: [anInterrupt({ interrupt_id: "int_10", payload: { message: "Ship?" }, closed_at: "2026-11-30T12:05:00.000Z", outcome: "answered", responder: null, answer: true })] }));
    expect(within(list).getAllByRole("listitem")[0]).toHaveTextContent("Ship?Answered true through the API");
    fireEvent.change(screen.getByRole("searchbox"), { target: { value: "grace" } });
    expect(within(list).getAllByRole("listitem")).toHaveLength(1);
  });

  test("exports what is shown", async () => {
    const blobs: Blob[] = [];
    vi.stubGlobal("URL", Object.assign(URL, { createObjectURL: (blob: Blob) => (blobs.push(blob), "blob:x"), revokeObjectURL: () => undefined }));
    vi.spyOn(HTMLAnchorElement.prototype, "click").mockImplementation(() => undefined);
    await open(createFake({ interrupts: [closed] }), "/activity");
    fireEvent.click(screen.getByRole("button", { name: "Export" }));
    await settle();
    fireEvent.click(await screen.findByRole("menuitem", { name: "JSON" }));
    expect(JSON.parse(await (blobs[0] ?? new Blob()).text())).toMatchObject([{ question: "Refund?", user: "grace", outcome: "declined" }]);
    vi.restoreAllMocks();
    vi.unstubAllGlobals();
  });
});
