// Times as people read them, and one shared clock that ticks for all of them.

import { useSyncExternalStore } from "react";

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** `now`, `4 m`, `3 h`, `2 d`: how long from `from` to `to`. */
export function span(from: number, to: number): string {
  const ms = Math.max(0, to - from);
  if (ms < minute) return "now";
  if (ms < hour) return `${Math.floor(ms / minute)} m`;
  if (ms < 2 * day) return `${Math.floor(ms / hour)} h`;
  return `${Math.floor(ms / day)} d`;
}

/** `12 min ago`, `just now`. */
export function ago(at: string, now: number): string {
  const ms = now - Date.parse(at);
  if (ms < minute) return "just now";
  if (ms < hour) return `${Math.floor(ms / minute)} min ago`;
  if (ms < 2 * day) return `${Math.floor(ms / hour)} h ago`;
  return `${Math.floor(ms / day)} d ago`;
}

/** `expires in 51 m`, `expired 3 m ago`. A passed expiry closes nothing: late answers are accepted. */
export function expiry(at: string, now: number): string {
  const due = Date.parse(at);
  if (Number.isNaN(due)) return `expires ${at}`;
  if (due <= now) return now - due < minute ? "expired just now" : `expired ${span(due, now)} ago`;
  if (due - now < minute) return `expires in ${Math.ceil((due - now) / second)} s`;
  return `expires in ${span(now, due)}`;
}

/** `0.4 s`, `12 s`, `3:07 min`: how long something took. */
export function took(from: string, to: string | number): string {
  const ms = (typeof to === "number" ? to : Date.parse(to)) - Date.parse(from);
  if (ms < 10 * second) return `${(Math.max(0, ms) / second).toFixed(1)} s`;
  if (ms < minute) return `${Math.round(ms / second)} s`;
  const seconds = Math.floor(ms / second);
  if (ms < hour) return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")} min`;
  return `${Math.floor(ms / hour)} h ${Math.floor((ms % hour) / minute)} min`;
}

// A formatter costs more to make than a hundred dates to write.
const exactFormat = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const clockFormat = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });

/** The exact time, for the tooltip. */
export function exact(at: string): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? at : exactFormat.format(date);
}

/** `14:02`. */
export function clock(at: string): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? at : clockFormat.format(date);
}

const listeners = new Set<() => void>();
let ticking: ReturnType<typeof setInterval> | null = null;
let now = Date.now();

function listen(listener: () => void): () => void {
  listeners.add(listener);
  ticking ??= setInterval(() => {
    now = Date.now();
    for (const each of listeners) each();
  }, second);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0 && ticking !== null) {
      clearInterval(ticking);
      ticking = null;
    }
  };
}

/** Now, to the given grain, so that a component is drawn again only when its words can change. */
export function useNow(grain: number = 15 * second): number {
  return useSyncExternalStore(listen, () => {
    if (ticking === null) now = Date.now();
    return Math.floor(now / grain) * grain;
  });
}
