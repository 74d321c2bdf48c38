import { act, cleanup, configure, render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { App } from "../../app";
import { memoryRouter } from "../../router";
import { aSession, aThread, type FakeTransport } from "../../transport/fake";
import { Refusal } from "../../transport/transport";
import type { SessionPatch } from "../../wire";
import { aFakeSession, aRunningPatch, sessionId } from "../session/fixture";

configure({ defaultHidden: true });

beforeEach(() => {
  vi.stubGlobal("ResizeObserver", class { observe() {} unobserve() {} disconnect() {} });
  vi.spyOn(Element.prototype, "getBoundingClientRect").mockReturnValue(new DOMRect(2000, 2000, 10, 10));
  Element.prototype.scrollTo = () => undefined;
});

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

const ago = (ms: number): string => new Date(Date.now() - ms).toISOString();

const threads = [
  aThread({ session_id: sessionId, ran_ms: 61_000, usage: { input_tokens: 1000, cached_input_tokens: 0, output_tokens: 200, cost_usd: "0.5" } }),
  aThread({
    session_id: "sesn_2", parent_session_id: sessionId, depth: 1, agent_id: "price_checker", title: "Compare the three offers", running_since: ago(5000),
    usage: { input_tokens: 2310, cached_input_tokens: 1024, output_tokens: 97, cost_usd: "0.0043" },
  }),
  aThread({ session_id: "sesn_3", parent_session_id: "sesn_2", depth: 2, agent_id: "digger", title: "Dig", waiting: true }),
  aThread({ session_id: "sesn_4", parent_session_id: sessionId, depth: 1, agent_id: "writer", title: "Write", status: "completed", ended_at: ago(1000), ran_ms: 400 }),
];

async function open(patch: SessionPatch = aRunningPatch()): Promise<{ fake: FakeTransport; user: ReturnType<typeof userEvent.setup>; router: ReturnType<typeof memoryRouter> }> {
  const fake = aFakeSession(patch);
  fake.data.threads = threads;
  const user = userEvent.setup({ delay: null, pointerEventsCheck: 0 });
  const router = memoryRouter(`/sessions/${sessionId}`);
  render(<App transport={fake} router={router} />);
  await screen.findByRole("list", { name: "Threads" });
  await screen.findByText("Dig");
  return { fake, user, router };
}

const entry = (name: string): HTMLElement => screen.getByText(name).closest("li")!;

describe("the inspector's threads", () => {
  it("stand first, one line each, with status, tokens and cost, below who asked for them", async () => {
    await open();
    expect(screen.getByRole("tab", { name: "Threads" })).toHaveAttribute("aria-selected", "true");
    const list = screen.getByRole("list", { name: "Threads" });
    const items = within(list).getAllByRole("listitem");
    expect(items.map((item) => item.dataset.depth)).toEqual(["0", "1", "2", "1"]);
    expect(items.map((item) => item.querySelector("p")?.textContent)).toEqual([
      "support · running · 1,200 tokens · $0.50",
      "price_checker · running · 2,407 tokens · $0.0043",
      "digger · waiting for you · 0 tokens · $0.00",
      "writer · completed · 0 tokens · $0.00",
    ]);
    expect(items[0]).toHaveTextContent("1:01 min");
    expect(items[3]).toHaveTextContent("0.4 s");
    expect(within(list).getAllByRole("button").map((button) => button.getAttribute("aria-label")), "only a delegate that has not ended").toEqual([
      "Interrupt Compare the three offers…", "Interrupt Dig…",
    ]);
  });

  it("end a delegate with a reason, counted in characters as people see them", async () => {
    const { fake, user } = await open();
    await user.click(screen.getByRole("button", { name: "Interrupt Compare the three offers…" }));
    const field = within(entry("Compare the three offers")).getByRole("textbox", { name: "Reason (optional)" });
    expect(field).toHaveFocus();
    await user.click(field);
    await user.paste("😀".repeat(501));
    expect(screen.getByText("501 of 500: shorten it by 1.")).toBeInTheDocument();
    const yes = screen.getByRole("button", { name: /^Interrupt(Ctrl|⌘|$)/ });
    expect(yes).toBeDisabled();
    await user.clear(field);
    await user.type(field, "We have a price.");
    expect(screen.getByText("16 of 500")).toBeInTheDocument();
    fake.refuseNext("interrupt_thread", new Refusal({ code: "failed", message: "The disk is full.", details: null }));
    await user.type(field, "{Control>}{Enter}{/Control}");
    expect(await screen.findByText("The disk is full.")).toBeInTheDocument();
    await user.type(field, "{Control>}{Enter}{/Control}");
    await waitFor(() => expect(screen.queryByRole("textbox", { name: "Reason (optional)" })).toBeNull());
    const [first, second] = fake.calls("interrupt_thread");
    expect(second).toEqual([first?.[0], sessionId, "sesn_2", "We have a price."]);
  });

  it("keep a delegate running on Esc", async () => {
    const { fake, user } = await open();
    await user.click(screen.getByRole("button", { name: "Interrupt Dig…" }));
    await user.keyboard("{Escape}");
    expect(screen.queryByRole("textbox", { name: "Reason (optional)" })).toBeNull();
    expect(fake.calls("interrupt_thread")).toEqual([]);
  });

  it("are read again when one of the family moves on, and not for others", async () => {
    const { fake } = await open();
    const before = fake.calls("threads").length;
    act(() => fake.push({ type: "lists", counter: 2, reset: false, sessions: [aSession({ session_id: "sesn_9", seq: 9 })], interrupts: [] }));
    expect(fake.calls("threads")).toHaveLength(before);
    act(() => fake.push({ type: "lists", counter: 3, reset: false, sessions: [aSession({ session_id: "sesn_2", root_session_id: sessionId, top_level: false, seq: 9 })], interrupts: [] }));
    await waitFor(() => expect(fake.calls("threads")).toHaveLength(before + 1));
  });

  it("open a delegate's session, which takes no message from here", async () => {
    const { fake, user, router } = await open();
    fake.data.patches.sesn_2 = aRunningPatch({ session: aSession({ session_id: "sesn_2", root_session_id: sessionId, parent_session_id: sessionId, top_level: false }) });
    await user.click(screen.getByRole("link", { name: "Compare the three offers" }));
    expect(router.state.location.pathname).toBe("/sessions/sesn_2");
    expect(await screen.findByText("This is a delegate; it takes messages only from its parent.")).toBeInTheDocument();
    expect(screen.queryByRole("textbox", { name: "Message" })).toBeNull();
    expect(screen.getByRole("link", { name: "Open the parent" })).toHaveAttribute("href", `/sessions/${sessionId}`);
  });
});
