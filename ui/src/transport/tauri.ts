// The app behind the desktop's shell: commands by the generated bindings, the feed and the shell's words by channels.

import { Channel } from "@tauri-apps/api/core";
import { commands } from "../bindings";
import type { ApiError, FeedFrom, Frame, ShellEvent } from "../wire";
import { standing } from "./standing";
import { Refusal, type Line, type Transport } from "./transport";

type Answered<T> = { status: "ok"; data: T } | { status: "error"; error: ApiError };

async function data<T>(answered: Promise<Answered<T>>): Promise<T> {
  const answer = await answered;
  if (answer.status === "ok") return answer.data;
  throw new Refusal(answer.error);
}

async function done(answered: Promise<Answered<null>>): Promise<void> {
  await data(answered);
}

export function tauriTransport(): Transport {
  return {
    bootstrap: () => data(commands.bootstrap()),
    subscribe: follow,
    submit: (submit) => data(commands.submit(submit)),
    forecast: (sessionId, of) => data(commands.forecast(sessionId, of)),
    scheduleAnswer: (answer) => done(commands.scheduleAnswer(answer)),
    undoAnswer: (commandId) => data(commands.undoAnswer(commandId)),
    dismissAnswer: (commandId) => done(commands.dismissAnswer(commandId)),
    nodeBodies: (sessionId, ids) => data(commands.nodeBodies(sessionId, ids)),
    listSessions: (before, limit) => data(commands.listSessions(before, limit)),
    listInterrupts: (state, before, limit) => data(commands.listInterrupts(state, before, limit)),
    events: (sessionId, afterSeq, limit) => data(commands.events(sessionId, afterSeq, limit)),
    threads: (sessionId) => data(commands.threads(sessionId)),
    interruptThread: (commandId, sessionId, threadSessionId, reason) => done(commands.interruptThread(commandId, sessionId, threadSessionId, reason)),
    saveDraft: (draft) => done(commands.saveDraft(draft)),
    deleteDraft: (key) => done(commands.deleteDraft(key)),
    saveSettings: (settings) => done(commands.saveSettings(settings)),
    snooze: (snoozed) => done(commands.snooze(snoozed)),
    unsnooze: (sessionId, interruptId) => done(commands.unsnooze(sessionId, interruptId)),
    authorizeConnection: (path) => data(commands.authorizeConnection(path)),
    setConnectionToken: (path, token) => done(commands.setConnectionToken(path, token)),
    forgetConnection: (path) => done(commands.forgetConnection(path)),
    listKeys: () => data(commands.listKeys()),
    makeKey: (name, expiresAt) => data(commands.makeKey(name, expiresAt)),
    revokeKey: (id) => done(commands.revokeKey(id)),
    openExternal: (url) => done(commands.openExternal(url)),
    notificationTest: () => commands.notificationTest(),
    notificationStatus: () => commands.notificationStatus(),
    setVisibleInterrupts: (cards) => commands.setVisibleInterrupts(cards),
    onShell,
  };
}

const retryMs = 1000;

/** The shell follows the feed it was asked for last. Asked at the same time, two could come to it the other way round, and the window would
 * listen to the one that was ended: so each is asked for when the one before has its answer. */
let asked: Promise<unknown> = Promise.resolve();

/** The shell ends the feed before when a new one is asked for; frames already under way from the old one are dropped here. */
function follow(start: FeedFrom, onFrame: (frame: Frame) => void, onLine?: (line: Line) => void): () => void {
  let open = true;
  let from = start;
  let retry: ReturnType<typeof setTimeout> | undefined;
  const ask = (): void => {
    const frames = new Channel<Frame[]>();
    frames.onmessage = (batch) => {
      for (const frame of batch) {
        if (!open) return;
        from = standing(from, frame);
        onFrame(frame);
      }
    };
    const answer = asked.then(() => (open ? data(commands.feed(from, frames)) : null));
    asked = answer.catch(() => undefined);
    answer.then(
      () => open && onLine?.("open"),
      () => {
        if (!open) return;
        onLine?.("lost");
        retry = setTimeout(ask, retryMs);
      },
    );
  };
  ask();
  return () => {
    open = false;
    clearTimeout(retry);
  };
}

function onShell(listener: (event: ShellEvent) => void): () => void {
  let open = true;
  const events = new Channel<ShellEvent>();
  events.onmessage = (event) => {
    if (open) listener(event);
  };
  // Without the channel the window still works; only the shell's clicks do not reach it.
  commands.listenShell(events).catch(() => undefined);
  return () => {
    open = false;
  };
}
