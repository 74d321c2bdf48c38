// The card's state machine: its draft, when it may be answered, and sending. What an answer means is the engine's to say.

import { useEffect, useMemo, useRef, useState } from "react";
import { ulid } from "../../store/id";
import { useDesk, useDeskState } from "../../store/hooks";
import { interruptKey } from "../../store/state";
import { asRefusal } from "../../transport/transport";
import type { InterruptRow, ScheduledAnswer } from "../../wire";
import type { Chosen } from "./answer";
import { draftKey, isEmpty, readDraft, type CardDraft } from "./draft";
import { shownHash } from "./shownHash";

/** A card that just appeared, or took another's place under the pointer, cannot be answered by a click or key meant for what was there. */
const armingMs = 400;

export interface Answering {
  draft: CardDraft;
  change: (change: Partial<CardDraft>) => void;
  /** Of this very question, computed from what this window shows. */
  hash: string;
  armed: boolean;
  /** Held back, or on its way. */
  pending: ScheduledAnswer | undefined;
  /** Why the last answer was not taken; the text is still there. */
  refusal: { message: string; dismiss: () => void } | null;
  send: (chosen: Chosen) => void;
}

export function useAnswering(row: InterruptRow, onAnswered?: () => void): Answering {
  const desk = useDesk();
  const key = draftKey(row);
  const saved = useDeskState((state) => state.drafts.get(key));
  const draft = useMemo(() => readDraft(saved), [saved]);
  const hash = useMemo(() => shownHash(row), [row]);
  const armed = useArmed(`${interruptKey(row)}#${row.opened_seq}#${hash}`);
  const scheduled = useDeskState((state) => state.scheduled.find((each) => each.interrupt_id === row.interrupt_id && each.session_id === row.session_id));
  const [failed, setFailed] = useState<{ of: string; message: string } | null>(null);
  const sending = useRef(false);

  const refused = scheduled?.status === "refused" ? scheduled : undefined;
  const pending = useUnderWay(refused === undefined ? scheduled : undefined, refused !== undefined);

  function change(change: Partial<CardDraft>): void {
    const next = { ...draft, ...change };
    desk.draft(key, isEmpty(next) ? undefined : next);
  }

  async function schedule(chosen: Chosen): Promise<void> {
    const commandId = ulid();
    if (refused !== undefined) await desk.transport.dismissAnswer(refused.command_id);
    await desk.transport.scheduleAnswer({
      command_id: commandId,
      session_id: row.session_id,
      interrupt_id: row.interrupt_id,
      shown_hash: hash,
      answer: chosen.answer,
      label: chosen.label,
      session_title: row.session_title,
      due_at: new Date(Date.now() + desk.store.getState().settings.undo_ms).toISOString(),
      switch_first: draft.switch && !row.on_active_branch,
      status: "scheduled",
      error: null,
    });
    if (chosen.usesText) desk.draft(key, { ...draft, sent: commandId });
    else if (draft.text.trim() !== "") desk.toast("info", `“${chosen.label}” takes no text. What you typed is kept as a draft of this question.`);
  }

  function send(chosen: Chosen): void {
    if (!armed || sending.current || pending !== undefined || row.closed_at !== null) return;
    sending.current = true;
    setFailed(null);
    schedule(chosen)
      .then(
        () => onAnswered?.(),
        (thrown: unknown) => setFailed({ of: interruptKey(row), message: asRefusal(thrown).message }),
      )
      .finally(() => {
        sending.current = false;
      });
  }

  return { draft, change, hash, armed, pending, refusal: refusalOf(), send };

  function refusalOf(): Answering["refusal"] {
    if (refused !== undefined) {
      return { message: refused.error?.message ?? "The engine refused it.", dismiss: () => void desk.attempt(desk.transport.dismissAnswer(refused.command_id)) };
    }
    return failed?.of === interruptKey(row) ? { message: failed.message, dismiss: () => setFailed(null) } : null;
  }
}

const lingerMs = 2000;

/**
 * A held answer leaves the schedule when it is sent, a moment before its row arrives closed. For that moment the card must not
 * offer to answer again. One that was taken back leaves before its time, and the card is free at once.
 */
function useUnderWay(scheduled: ScheduledAnswer | undefined, refused: boolean): ScheduledAnswer | undefined {
  const [last, setLast] = useState<ScheduledAnswer | undefined>(undefined);
  if (scheduled !== undefined && scheduled !== last) setLast(scheduled);
  useEffect(() => {
    if (scheduled !== undefined || last === undefined) return;
    const timer = setTimeout(() => setLast(undefined), !refused && Date.parse(last.due_at) <= Date.now() ? lingerMs : 0);
    return () => clearTimeout(timer);
  }, [scheduled, last, refused]);
  if (scheduled !== undefined) return scheduled;
  return last === undefined || refused ? undefined : { ...last, status: "sent" };
}

function useArmed(of: string): boolean {
  const [armedFor, setArmedFor] = useState<string | null>(null);
  useEffect(() => {
    const timer = setTimeout(() => setArmedFor(of), armingMs);
    return () => clearTimeout(timer);
  }, [of]);
  return armedFor === of;
}

/** Forgets drafts whose text was sent and taken. Drafts of questions others answered stay: the person may want the words. */
export function useForgetSentDrafts(): void {
  const desk = useDesk();
  const interrupts = useDeskState((state) => state.interrupts);
  useEffect(() => {
    for (const [key, value] of desk.store.getState().drafts) {
      if (!key.startsWith("interrupt:") || readDraft(value).sent === null) continue;
      const row = [...interrupts.values()].find((each) => draftKey(each) === key);
      if (row !== undefined && row.closed_at !== null) desk.draft(key, undefined);
    }
  }, [desk, interrupts]);
}

