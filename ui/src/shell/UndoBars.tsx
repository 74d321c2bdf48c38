// Answers held back so that they can be undone, and those the engine refused after they were sent.

import { useMemo, useState } from "react";
import { Link } from "react-router";
import { Kbd } from "../components/Kbd";
import { useNow } from "../components/time";
import { interruptPath } from "../paths";
import { useDesk, useDeskState } from "../store/hooks";
import type { ScheduledAnswer } from "../wire";
import css from "./UndoBars.module.css";

/** Undoes the newest held answer; null when none is held. */
export function useUndo(): (() => void) | null {
  const desk = useDesk();
  const newest = useDeskState((state) => state.scheduled.findLast((each) => each.status === "scheduled"));
  return useMemo(() => (newest === undefined ? null : () => void undo(desk, newest)), [desk, newest]);
}

async function undo(desk: ReturnType<typeof useDesk>, answer: ScheduledAnswer): Promise<void> {
  const taken = await desk.attempt(desk.transport.undoAnswer(answer.command_id));
  if (taken === false) desk.toast("refused", `“${answer.label}” was sent already.`);
  const key = `interrupt:${answer.session_id}:${answer.interrupt_id}`;
  const draft = desk.store.getState().drafts.get(key);
  if (taken === true && typeof draft === "object" && draft !== null) desk.draft(key, { ...draft, sent: null });
}

export function UndoBars() {
  const scheduled = useDeskState((state) => state.scheduled);
  return scheduled
    .filter((each) => each.status === "scheduled" || each.status === "refused")
    .map((each) => (each.status === "refused" ? <RefusedBar key={each.command_id} answer={each} /> : <UndoBar key={each.command_id} answer={each} />));
}

function UndoBar({ answer }: { answer: ScheduledAnswer }) {
  const desk = useDesk();
  const now = useNow(1000);
  const [seen] = useState(now);
  const left = Math.max(0, Date.parse(answer.due_at) - now);
  const total = Math.max(0, Date.parse(answer.due_at) - seen);
  return (
    <div className={css.bar} role="status">
      <span className={css.text}>
        “{answer.label}” to <b>{answer.session_title}</b>
        {left > 0 && <span aria-hidden="true"> in {Math.max(1, Math.floor(left / 1000))} s</span>}
      </span>
      <button type="button" className={css.undo} onClick={() => void undo(desk, answer)} aria-keyshortcuts="U">
        Undo
      </button>
      <Kbd keys="U" />
      <i className={css.time} style={{ animationDuration: `${total}ms` }} />
    </div>
  );
}

function RefusedBar({ answer }: { answer: ScheduledAnswer }) {
  const desk = useDesk();
  return (
    <div className={css.refused} role="alert">
      <span className={css.text}>
        “{answer.label}” to{" "}
        <Link to={interruptPath(answer)}>
          <b>{answer.session_title}</b>
        </Link>{" "}
        was not taken: {answer.error?.message ?? "the engine refused it."}
      </span>
      <button type="button" className={css.undo} onClick={() => void desk.attempt(desk.transport.dismissAnswer(answer.command_id))}>
        Dismiss
      </button>
    </div>
  );
}
