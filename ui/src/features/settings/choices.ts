// What can be chosen in the settings, named once for the page and for the palette.

import type { Settings } from "../../store/state";

export const undoChoices: readonly number[] = [0, 2000, 4000, 8000, 15_000];

export function undoWord(ms: number): string {
  return ms === 0 ? "Off: send at once" : `${ms / 1000} seconds`;
}

export const themeWords: Record<Settings["theme"], string> = { system: "Like the system", light: "Light", dark: "Dark" };
