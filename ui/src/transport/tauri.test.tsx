import { clearMocks, mockIPC } from "@tauri-apps/api/mocks";
import { afterEach, expect, test } from "vitest";
import { tauriTransport } from "./tauri";

afterEach(clearMocks);

function whereFrom(session_id: string | null): { after: number; session_id: string | null; after_seq: number } {
  return { after: 1, session_id, after_seq: 0 };
}

test("feeds are asked for one after the other, so that the shell ends with the last one", async () => {
  const asked: (string | null)[] = [];
  const answers: (() => void)[] = [];
  mockIPC((command, args) => {
    if (command !== "feed") throw new Error(`unexpected: ${command}`);
    asked.push((args as { from: { session_id: string | null } }).from.session_id);
    return new Promise<null>((answer) => answers.push(() => answer(null)));
  });
  const lines: string[] = [];
  const transport = tauriTransport();
  const first = transport.subscribe(whereFrom("sesn_1"), () => undefined);
  await expect.poll(() => asked).toEqual(["sesn_1"]);
  // Leaving a session and opening another, while the shell has not answered yet.
  first();
  const between = transport.subscribe(whereFrom(null), () => undefined);
  between();
  const last = transport.subscribe(whereFrom("sesn_2"), () => undefined, (line) => lines.push(line));
  expect(asked).toEqual(["sesn_1"]);
  answers[0]?.();
  await expect.poll(() => asked).toEqual(["sesn_1", "sesn_2"]);
  answers[1]?.();
  await expect.poll(() => lines).toEqual(["open"]);
  last();
});
