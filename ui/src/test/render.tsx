// Draws the whole window on the fake transport, at one place.

import { act, render, type RenderResult } from "@testing-library/react";
import { App } from "../app";
import { memoryRouter } from "../router";
import type { Desk } from "../store/desk";
import type { FakeTransport } from "../transport/fake";

export interface Window extends RenderResult {
  desk: Desk;
  router: ReturnType<typeof memoryRouter>;
}

export async function open(transport: FakeTransport, path: string): Promise<Window> {
  const router = memoryRouter(path);
  const held: { desk?: Desk } = {};
  const result = render(<App transport={transport} router={router} onDesk={(desk) => (held.desk = desk)} />);
  await settle();
  if (held.desk === undefined) throw new Error("the window did not start");
  return { ...result, desk: held.desk, router };
}

/** Lets what is under way in microtasks arrive: the fake answers in no other way. */
export async function settle(): Promise<void> {
  await act(async () => {
    for (let turn = 0; turn < 20; turn++) await Promise.resolve();
  });
}
