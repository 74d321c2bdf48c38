// What can be chosen in the settings, named once for the page and for the palette.

import type { Settings } from "../../store/state";

export const undoChoices: readonly number[] = [0, 2000, 4000, 8000, 15_000];

export function undoWord(ms: number): string {
  return ms === 0 ? "Off: send at once" : `${ms / 1000} seconds`;
}

const dayMs = 86_400_000;

/** Days until an API key expires, as a choice and its word. */
export const expiryChoices: readonly (readonly [days: string, word: string])[] = [
  ["", "Never"],
  ["1", "In a day"],
  ["7", "In 7 days"],
  ["30", "In 30 days"],
  ["90", "In 90 days"],
  ["365", "In a year"],
];

/** Null: never. */
export function expiryTime(days: string, now: number): string | null {
  return days === "" ? null : new Date(now + Number(days) * dayMs).toISOString();
}

export const themeWords: Record<Settings["theme"], string> = { system: "Like the system", light: "Light", dark: "Dark" };
