// The stages of an answer, each lit when it has arrived.

import { useEffect, useState } from "react";
import { useDesk, useDeskState } from "../../store/hooks";
import type { EventRow, InterruptRow, ScheduledAnswer } from "../../wire";
import css from "./Ledger.module.css";
import { reached, stages, stageWord } from "./ledger-stages";

const pageSize = 200;
const mostPages = 10;

export function Ledger({ row, pending }: { row: InterruptRow; pending?: ScheduledAnswer | undefined }) {
  const events = useEventsAfter(row);
  const stage = reached(row, pending, events);
  if (stage === null) return null;
  // Of an answer from elsewhere only what the log tells is known: it was never scheduled or sent here.
  const told = pending === undefined && !fromDesktop(row) ? stages.slice(stages.indexOf("recorded")) : stages;
  const at = told.indexOf(stage);
  return (
    <ol className={css.ledger} aria-label="How far the answer got">
      {told.map((each, index) => (
        <li key={each} data-done={index <= at} aria-current={index === at ? "step" : undefined}>
          {stageWord[each]}
          <span className="visually-hidden">{index <= at ? ", done" : ", not yet"}</span>
        </li>
      ))}
    </ol>
  );
}

function fromDesktop(row: InterruptRow): boolean {
  return typeof row.responder === "object" && row.responder !== null && (row.responder as { channel?: unknown }).channel === "desktop";
}

/** The log after the question, once it is closed; read again as the session moves on, until the effect is there. */
function useEventsAfter(row: InterruptRow): readonly EventRow[] {
  const desk = useDesk();
  const seq = useDeskState((state) => state.sessions.get(row.session_id)?.seq ?? 0);
  const [events, setEvents] = useState<readonly EventRow[]>([]);
  const { session_id, opened_seq } = row;
  const needed = row.closed_at !== null && reached(row, undefined, events) !== "effect";
  useEffect(() => {
    if (!needed) return;
    let current = true;
    const read = async (): Promise<void> => {
      const found: EventRow[] = [];
      for (let page = 0; page < mostPages; page++) {
        const rows = await desk.transport.events(session_id, found.at(-1)?.seq ?? opened_seq, pageSize);
        found.push(...rows);
        if (rows.length < pageSize) break;
      }
      if (current) setEvents(found);
    };
    // Without the log the ledger stops at what the row itself says.
    read().catch(() => undefined);
    return () => {
      current = false;
    };
  }, [desk, session_id, opened_seq, seq, needed]);
  return events;
}
