// How many questions wait for the person now: one number for the rail, the window's title and whatever else shows it.

import { useMemo } from "react";
import { useNow } from "../components/time";
import { useDeskState } from "../store/hooks";
import { hiddenNow, openInterrupts } from "../store/selectors";

/** Those hidden here are not counted. */
export function useWaitingCount(): number {
  const now = useNow();
  const interrupts = useDeskState((state) => state.interrupts);
  const snoozed = useDeskState((state) => state.snoozed);
  return useMemo(() => openInterrupts(interrupts).filter((row) => !hiddenNow(snoozed, row, now)).length, [interrupts, snoozed, now]);
}
