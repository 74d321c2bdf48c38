// An action is data. Buttons, the palette, the key sheet and the keyboard all read the one list.

import type { LucideIcon } from "lucide-react";

export interface Action {
  id: string;
  /** As the palette, the key sheet and a button's tooltip name it. */
  title: string;
  section: "Go to" | "Inbox" | "Answer" | "Session" | "Window";
  /** `j`, `ArrowDown`, `Ctrl+k` (⌘ on a Mac), `Shift+x`, `?`, or two in a row: `g i`, `Escape Escape`. */
  keys?: readonly string[];
  icon?: LucideIcon;
  /** False: not offered now. Absent: always. */
  when?: () => boolean;
  run: () => void;
  /** Left out of the palette: moves that make sense by key only. */
  keysOnly?: boolean;
  /** Also while a text field has focus. Keys with Ctrl always are. */
  inFields?: boolean;
}

/** The event's key in the form of {@link Action.keys}. Shift is named only where it does not change the character. */
export function keyName(event: Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey" | "shiftKey">): string {
  const letter = /^\p{L}$/u.test(event.key);
  const key = letter ? event.key.toLowerCase() : event.key === " " ? "Space" : event.key;
  const shift = event.shiftKey && (letter || event.key.length > 1);
  return [event.ctrlKey || event.metaKey ? "Ctrl+" : "", event.altKey ? "Alt+" : "", shift ? "Shift+" : "", key].join("");
}

const mac = typeof navigator !== "undefined" && /Mac/.test(navigator.userAgent);

const caps: Record<string, string> = {
  ArrowUp: "↑", ArrowDown: "↓", ArrowLeft: "←", ArrowRight: "→", Escape: "Esc", Enter: "Enter", Space: "Space", Shift: "⇧",
};

/** A key as it is drawn: `Ctrl+K` or `⌘+K`. */
export function keyLabel(keys: string): string {
  return keys
    .split(" ")
    .map((chord) =>
      chord
        .split(/(?<=.)\+/)
        .map((part) => (part === "Ctrl" && mac ? "⌘" : (caps[part] ?? (part.length === 1 && chord.includes("+") ? part.toUpperCase() : part))))
        .join("+"),
    )
    .join(" ");
}
