// From what the person did to the answer that travels. The engine builds payload and responder from it.

import type { Answer } from "../../wire";
import type { Option } from "./question";

export interface Chosen {
  answer: Answer;
  /** As the undo bar and the ledger name it. */
  label: string;
  /** The draft's text travels with it. */
  usesText: boolean;
}

const nothing: Answer = { option: null, text: null, value: null, cancel: false };

/** An option. Its text goes along where it takes one; `"text_required"` when it must and there is none. */
export function chooseOption(options: readonly Option[], index: number, text: string): Chosen | "text_required" | "no_such_option" {
  const option = options[index];
  if (option === undefined) return "no_such_option";
  const takes = option.input !== null && text.trim() !== "";
  if (option.input?.required === true && !takes) return "text_required";
  return { answer: { ...nothing, option: index, text: takes ? text : null }, label: option.label, usesText: takes };
}

export type Typed = { kind: "json"; value: unknown } | { kind: "text"; value: string };

/** Typed input that is JSON is that value, anything else a string. */
export function readTyped(text: string): Typed {
  try {
    return { kind: "json", value: JSON.parse(text) as unknown };
  } catch {
    return { kind: "text", value: text };
  }
}

/** How the box names what it would send: `text`, `JSON number`, … */
export function typedKind(typed: Typed): string {
  if (typed.kind === "text") return "text";
  if (typed.value === null) return "JSON null";
  return `JSON ${Array.isArray(typed.value) ? "array" : typeof typed.value}`;
}

export function chooseTyped(text: string): Chosen {
  return { answer: { ...nothing, value: { value: readTyped(text).value } }, label: shorten(text.trim()), usesText: true };
}

export function chooseForm(value: unknown): Chosen {
  return { answer: { ...nothing, value: { value } }, label: shorten(JSON.stringify(value) ?? "null"), usesText: true };
}

export const withdraw: Chosen = { answer: { ...nothing, cancel: true }, label: "Withdraw", usesText: false };

/** What a server's form is refused with: the second of its two standing choices. */
export const decline: Chosen = { answer: { ...nothing, option: 1 }, label: "Decline", usesText: false };

function shorten(text: string): string {
  const line = text.replace(/\s+/g, " ");
  return line.length > 60 ? `${line.slice(0, 59)}…` : line;
}
