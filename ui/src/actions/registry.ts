// Which actions exist right now, newest first, and which of them a key means.

import { keyName, type Action } from "./action";

export interface Registry {
  /** Adds actions until the returned function is called. Newer ones win over older ones with the same key. */
  register(actions: () => readonly Action[]): () => void;
  all(): readonly Action[];
  /** Handles a key; true when an action ran or a first half of two keys was taken. */
  press(event: KeyboardEvent): boolean;
}

const pairMs = 900;

export function createRegistry(): Registry {
  let lists: (() => readonly Action[])[] = [];
  let half: { key: string; at: number } | null = null;

  function all(): readonly Action[] {
    const seen = new Set<string>();
    return lists
      .flatMap((list) => list())
      .filter((action) => !seen.has(action.id) && seen.add(action.id) && (action.when?.() ?? true));
  }

  function press(event: KeyboardEvent): boolean {
    if (event.defaultPrevented || event.isComposing || event.repeat && event.key === "Enter") return false;
    const target = event.target instanceof Element ? event.target : null;
    if (target?.closest('[role="dialog"], [role="alertdialog"], [role="menu"], [role="listbox"]')) return false;
    const key = keyName(event);
    if ((key === "Enter" || key === "Space") && target?.closest("button, a, summary, [role='button']")) return false;
    const field = target !== null && isField(target);
    const offered = all().filter((action) => !field || action.inFields === true || key.startsWith("Ctrl+"));
    const pair = half !== null && event.timeStamp - half.at < pairMs ? `${half.key} ${key}` : null;
    half = null;
    const action =
      (pair === null ? undefined : offered.find((each) => each.keys?.includes(pair))) ?? offered.find((each) => each.keys?.includes(key));
    const opens = offered.some((each) => each.keys?.some((keys) => keys.startsWith(`${key} `)));
    if (opens) half = { key, at: event.timeStamp };
    if (action === undefined) return opens && !field;
    event.preventDefault();
    action.run();
    return true;
  }

  return {
    register(actions) {
      lists = [actions, ...lists];
      return () => {
        lists = lists.filter((each) => each !== actions);
      };
    },
    all,
    press,
  };
}

function isField(target: Element): boolean {
  return target.closest('input:not([type="checkbox"], [type="radio"], [type="button"]), textarea, select, [contenteditable="true"]') !== null;
}
