// Says each new question once, politely, to readers of the screen.

import { useEffect, useRef, useState } from "react";
import { useDeskState } from "../store/hooks";
import { openInterrupts } from "../store/selectors";
import { interruptKey } from "../store/state";
import { headline } from "../features/inbox/question";

export function Announcer() {
  const interrupts = useDeskState((state) => state.interrupts);
  const ready = useDeskState((state) => state.ready);
  const known = useRef<Set<string> | null>(null);
  const [text, setText] = useState("");
  useEffect(() => {
    if (!ready) return;
    const open = openInterrupts(interrupts);
    const keys = new Set(open.map((row) => `${interruptKey(row)}#${row.opened_seq}`));
    const before = known.current;
    known.current = keys;
    if (before === null) return;
    const fresh = open.filter((row) => !before.has(`${interruptKey(row)}#${row.opened_seq}`));
    const only = fresh[0];
    if (only === undefined) return;
    setText(fresh.length === 1 ? `${only.path.at(-1)?.agent_id ?? "An agent"} asks: ${headline(only)}` : `${fresh.length} new questions wait for you`);
  }, [interrupts, ready]);
  return (
    <div className="visually-hidden" aria-live="polite" data-testid="announcer">
      {text}
    </div>
  );
}
