// One answer for several questions: which answers they share, and which of them can still take it. Pure.

import type { Answer, InterruptRow, ScheduledAnswer } from "../../wire";
import { interruptKey } from "../../store/state";
import { chooseOption, withdraw, type Chosen } from "./answer";
import { readQuestion, type Option } from "./question";
import { canonical, shownHash } from "./shownHash";

export interface SharedOption {
  label: string;
  style: string | null;
  input: Option["input"];
  /** Where each question lists it, by {@link interruptKey}. */
  places: ReadonlyMap<string, number>;
}

/** Options that every question has: the same label with the same value, wherever each lists it. In the first one's order. */
export function sharedOptions(rows: readonly InterruptRow[]): SharedOption[] {
  const [first, ...others] = rows.map((row) => ({ key: interruptKey(row), options: readQuestion(row.payload).options }));
  if (first === undefined) return [];
  return first.options.flatMap((option, at): SharedOption[] => {
    const places = new Map([[first.key, at]]);
    for (const { key, options } of others) {
      const place = options.findIndex((each) => sameOption(each, option));
      if (place < 0) return [];
      places.set(key, place);
    }
    return [{ label: option.label, style: option.style, input: option.input, places }];
  });
}

function sameOption(a: Option, b: Option): boolean {
  return a.label === b.label && a.style === b.style && canonical(a.value) === canonical(b.value) && canonical(a.input) === canonical(b.input);
}

/** What this question gets; the string says what is missing. */
export function answerFor(row: InterruptRow, shared: SharedOption | "withdraw", text: string): Chosen | "text_required" | "no_such_option" {
  if (shared === "withdraw") return withdraw;
  return chooseOption(readQuestion(row.payload).options, shared.places.get(interruptKey(row)) ?? -1, text);
}

/** Why a question of the frozen set gets no answer; null when it can have it. `now` is its row as it stands at the moment of sending. */
export function skipReason(frozen: InterruptRow, now: InterruptRow | undefined, scheduled: readonly ScheduledAnswer[]): string | null {
  if (now === undefined || now.closed_at !== null) return "it was closed meanwhile";
  if (now.opened_seq !== frozen.opened_seq || shownHash(now) !== shownHash(frozen)) return "it changed since you opened this list";
  if (now.on_active_branch !== frozen.on_active_branch) return "its branch was left or made active meanwhile";
  const under = scheduled.find((each) => interruptKey(each) === interruptKey(frozen) && each.status !== "refused");
  return under === undefined ? null : "an answer is on its way already";
}

/** What travels for one question; held back until `dueAt`. */
export function scheduledFor(row: InterruptRow, chosen: { answer: Answer; label: string }, commandId: string, dueAt: Date): ScheduledAnswer {
  return {
    command_id: commandId, session_id: row.session_id, interrupt_id: row.interrupt_id, shown_hash: shownHash(row), answer: chosen.answer,
    label: chosen.label, session_title: row.session_title, due_at: dueAt.toISOString(), switch_first: false, status: "scheduled", error: null,
  };
}

/** Keys from the last marked one to this one, in the order of the list. */
export function rangeOf(order: readonly string[], from: string | null, to: string): string[] {
  const a = from === null ? -1 : order.indexOf(from);
  const b = order.indexOf(to);
  if (b < 0) return [];
  return a < 0 ? [to] : order.slice(Math.min(a, b), Math.max(a, b) + 1);
}
