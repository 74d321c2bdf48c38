// How components reach the desk.

import { createContext, use } from "react";
import { useStore } from "zustand";
import type { Desk, Ui } from "./desk";
import type { State } from "./state";

export const DeskContext = createContext<Desk | null>(null);

export function useDesk(): Desk {
  const desk = use(DeskContext);
  if (desk === null) throw new Error("a component outside the desk asked for it");
  return desk;
}

/** The selector's result is compared by identity: select rows, build arrays with useMemo. */
export function useDeskState<T>(selector: (state: State) => T): T {
  return useStore(useDesk().store, selector);
}

export function useUi<T>(selector: (ui: Ui) => T): T {
  return useStore(useDesk().ui, selector);
}
