/** What this window looks at inside one session. Nothing here is state of the session; leaving the page forgets it. */
import { createContext, use } from "react";
import { useStore } from "zustand";
import { createStore, type StoreApi } from "zustand/vanilla";
import type { Forecast, NodeRow } from "../../wire";
import type { Followed } from "../../store/state";
import type { Bodies } from "../transcript/bodies";
import { isOnPath, newestLeafUnder, pathTo, type TreeIndex } from "../tree/treeIndex";
import type { Operations } from "./operations";

export interface View {
  /** Last message of the path on show; null: the active one. */
  readonly viewed: string | null;
  /** Row of the tree that keys act on. */
  readonly focusKey: string | null;
  readonly openedFolds: ReadonlySet<string>;
  /** Message being edited. */
  readonly editing: string | null;
  /** Text to find in the tree; null: the field is closed. */
  readonly find: string | null;
  readonly dialog: Ask | null;
  /** Item the transcript should show, counted so that the same one can be asked for twice. */
  readonly jump: { readonly key: string; readonly count: number } | null;
  /** The composer takes the focus once this message is the head. */
  readonly writeAfter: string | null;
  /** Command on its way, in words. */
  readonly pending: string | null;
}

export type Ask =
  | { readonly kind: "cancel"; readonly forecast: Forecast }
  | { readonly kind: "make_active"; readonly messageId: string; readonly forecast: Forecast };

export type ViewStore = StoreApi<View>;

/** `opensAt`: the message a link names; its path is picked once the session is read. */
export function createView(opensAt: string | null = null): ViewStore {
  return createStore<View>(() => ({
    viewed: null, focusKey: opensAt, openedFolds: new Set(), editing: null, find: null, dialog: null, writeAfter: null,
    jump: opensAt === null ? null : { key: opensAt, count: 1 }, pending: null,
  }));
}

/** The session as its panes read it: what the engine told, indexed, and the path on show. */
export interface Model {
  readonly followed: Followed;
  readonly index: TreeIndex<NodeRow>;
  /** Last message of the path on show. */
  readonly tip: string | null;
  readonly path: readonly number[];
  /** The path on show is the active one. */
  readonly active: boolean;
}

export function modelOf(followed: Followed, index: TreeIndex<NodeRow>, viewed: string | null): Model {
  // What was on show may have become active, and the head may have gone on from it.
  const elsewhere = viewed !== null && index.at.has(viewed) && !isOnPath(index, viewed, followed.head_id);
  const tip = elsewhere ? viewed : followed.head_id;
  return { followed, index, tip, path: pathTo(index, tip), active: tip === followed.head_id };
}

/**
 * What to show when this message is picked: the active path when it is on it, the path on show when it is on that, else its branch
 * to the newest leaf, because the question a branch waits with is at its end.
 */
export function viewedFor(model: Model, id: string): string | null {
  if (isOnPath(model.index, id, model.followed.head_id)) return null;
  if (isOnPath(model.index, id, model.tip)) return model.tip;
  return newestLeafUnder(model.index, id);
}

export interface SessionScope {
  readonly sessionId: string;
  readonly view: ViewStore;
  readonly model: Model;
  readonly operations: Operations;
  readonly bodies: Bodies;
}

export const SessionContext = createContext<SessionScope | null>(null);

export function useSession(): SessionScope {
  const scope = use(SessionContext);
  if (scope === null) throw new Error("a pane outside a session asked for it");
  return scope;
}

export function useView<T>(selector: (view: View) => T): T {
  return useStore(useSession().view, selector);
}
