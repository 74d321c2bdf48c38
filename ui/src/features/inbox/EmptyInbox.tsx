// Nothing waits: when the last answer was given, and what runs meanwhile.

import { useMemo } from "react";
import { Link } from "react-router";
import { Mark } from "../../components/Mark";
import { ago, exact, useNow } from "../../components/time";
import { sessionPath } from "../../paths";
import { useDeskState } from "../../store/hooks";
import { newestSessions, sessionTitle } from "../../store/selectors";
import css from "./EmptyInbox.module.css";

const mostNamed = 5;

export function EmptyInbox({ gone }: { gone: boolean }) {
  const now = useNow();
  const answered = useDeskState((state) => state.engine.last_answered_at);
  const sessions = useDeskState((state) => state.sessions);
  const running = useMemo(() => newestSessions(sessions).filter((row) => row.activity === "running" || row.activity === "waiting_for_tool"), [sessions]);
  if (gone) {
    return (
      <div className={css.empty}>
        <h2>This question is not here</h2>
        <p>It was closed before this window opened, or its id is wrong. Closed questions are in Activity.</p>
      </div>
    );
  }
  return (
    <div className={css.empty}>
      <h2>Nobody waits for you</h2>
      <p>
        {answered === null ? (
          "No question was answered yet."
        ) : (
          <>
            The last one was answered <time title={exact(answered)}>{ago(answered, now)}</time>.
          </>
        )}{" "}
        {running.length === 0 ? "Nothing is running." : `${running.length} ${running.length === 1 ? "session is" : "sessions are"} running.`}
      </p>
      <ul>
        {running.slice(0, mostNamed).map((row) => (
          <li key={row.session_id}>
            <Mark kind="running" /> <Link to={sessionPath(row.session_id)}>{sessionTitle(row)}</Link>
          </li>
        ))}
      </ul>
    </div>
  );
}
