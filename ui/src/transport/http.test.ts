import { afterEach, describe, expect, test, vi } from "vitest";
import { aPatch, aSession } from "./fake";
import { httpTransport } from "./http";
import { sseData } from "./sse";
import { standing } from "./standing";

afterEach(() => vi.unstubAllGlobals());

function bytes(...chunks: string[]): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(encoder.encode(chunk));
      controller.close();
    },
  });
}

async function collect(...chunks: string[]): Promise<string[]> {
  const found: string[] = [];
  for await (const data of sseData(bytes(...chunks))) found.push(data);
  return found;
}

describe("server-sent events", () => {
  test.each([
    [["data: a\n\ndata: b\n\n"], ["a", "b"]],
    [["da", "ta: a\n", "\nda", "ta:b\n\n"], ["a", "b"]],
    [[": keep-alive\n\ndata: a\r\n\r\n"], ["a"]],
    [["event: x\nid: 1\ndata: one\ndata: two\n\n"], ["one\ntwo"]],
    [["data: cut off"], []],
  ])("%j carries %j", async (chunks, expected) => {
    expect(await collect(...chunks)).toEqual(expected);
  });
});

test("the reader stands where the last frames left it", () => {
  const start = { after: 0, session_id: "sesn_1", after_seq: 0 };
  const lists = standing(start, { type: "lists", counter: 7, reset: true, sessions: [], interrupts: [] });
  expect(lists).toEqual({ after: 7, session_id: "sesn_1", after_seq: 0 });
  const patched = standing(lists, { type: "session", patch: aPatch({ session: aSession({ seq: 12 }) }) });
  expect(patched).toEqual({ after: 7, session_id: "sesn_1", after_seq: 12 });
  expect(standing(patched, { type: "session", patch: aPatch({ session: aSession({ session_id: "sesn_9", seq: 99 }) }) })).toEqual(patched);
});

describe("operations", () => {
  test("go as one POST with their arguments and the token", async () => {
    const fetch = vi.fn(async () => Response.json(true));
    vi.stubGlobal("fetch", fetch);
    expect(await httpTransport("http://h", "secret").undoAnswer("c1")).toBe(true);
    expect(fetch).toHaveBeenCalledWith("http://h/api/desktop/undo_answer", {
      method: "POST",
      headers: { authorization: "Bearer secret", "content-type": "application/json" },
      body: '{"command_id":"c1"}',
    });
  });

  test("a refusal keeps its code and its sentence", async () => {
    vi.stubGlobal("fetch", async () => Response.json({ code: "interrupt_changed", message: "The question changed.", details: null }, { status: 409 }));
    await expect(httpTransport("http://h", null).dismissAnswer("c1")).rejects.toMatchObject({ code: "interrupt_changed", message: "The question changed." });
  });

  test("a server that is gone is told as such", async () => {
    vi.stubGlobal("fetch", async () => Promise.reject(new TypeError("Failed to fetch")));
    await expect(httpTransport("http://h", null).bootstrap()).rejects.toMatchObject({ code: "unavailable" });
  });

  test("after a lost line the feed reads on from its own counter", async () => {
    vi.useFakeTimers();
    const urls: string[] = [];
    const lines: string[] = [];
    vi.stubGlobal("fetch", async (url: string) => {
      urls.push(url);
      if (urls.length === 2) return new Promise<never>(() => undefined);
      return new Response(bytes('data: {"type":"lists","counter":7,"reset":true,"sessions":[],"interrupts":[]}\n\n'));
    });
    const frames: unknown[] = [];
    const stop = httpTransport("http://h", null).subscribe({ after: 0, session_id: null, after_seq: 0 }, (frame) => frames.push(frame), (line) => lines.push(line));
    await vi.advanceTimersByTimeAsync(300);
    stop();
    vi.useRealTimers();
    expect(frames).toHaveLength(1);
    expect(urls).toEqual(["http://h/api/desktop/feed?after=0&after_seq=0", "http://h/api/desktop/feed?after=7&after_seq=0"]);
    expect(lines).toEqual(["open", "lost"]);
  });
});
