// Said before a click: on another branch an answer only clears the pause.

import { GitBranch } from "lucide-react";
import { useEffect, useState } from "react";
import { Button } from "../../components/Button";
import { useDesk } from "../../store/hooks";
import type { Forecast, InterruptRow } from "../../wire";
import css from "./BranchNotice.module.css";

export function BranchNotice({ row, on, onChange, disabled }: { row: InterruptRow; on: boolean; onChange: (on: boolean) => void; disabled: boolean }) {
  const ends = useEnds(row, on);
  return (
    <div className={css.notice}>
      <GitBranch aria-hidden="true" />
      <p>
        {on
          ? "Your answer makes this branch the active one first, and the work goes on there."
          : "This branch is not the active one. An answer here only clears the pause; nothing goes on from it."}
        {on && ends !== null && ends !== "" && <span className={css.ends}> That ends {ends}.</span>}
      </p>
      {row.anchor !== null && (
        <Button size="s" aria-pressed={on} disabled={disabled} onClick={() => onChange(!on)}>
          {on ? "Answer without switching" : "Switch and answer"}
        </Button>
      )}
    </div>
  );
}

function useEnds(row: InterruptRow, on: boolean): string | null {
  const desk = useDesk();
  const [ends, setEnds] = useState<string | null>(null);
  const { session_id, anchor } = row;
  useEffect(() => {
    if (!on || anchor === null) return;
    let current = true;
    desk.transport.forecast(session_id, { type: "make_active", message_id: anchor }).then(
      (forecast) => current && setEnds(endsSentence(forecast)),
      // Without a forecast nothing is promised; the answer itself is refused with its reason if it cannot be.
      () => current && setEnds(null),
    );
    return () => {
      current = false;
    };
  }, [desk, session_id, anchor, on]);
  return ends;
}

/** `the model call scripted/demo, 2 tool calls (a, b)`; empty when nothing ends. */
function endsSentence(forecast: Forecast): string {
  const part = (names: string[], one: string, many: string): string[] =>
    names.length === 0 ? [] : [names.length === 1 ? `the ${one} ${names[0]}` : `${names.length} ${many} (${names.join(", ")})`];
  return [
    ...part(forecast.model_calls, "model call", "model calls"),
    ...part(forecast.tool_calls, "tool call", "tool calls"),
    ...part(forecast.subagents, "sub-agent", "sub-agents"),
    ...part(forecast.queued_turns.map((text) => `“${text}”`), "queued message", "queued messages"),
  ].join(", ");
}
