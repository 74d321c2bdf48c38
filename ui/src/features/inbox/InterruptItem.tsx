// One line of the inbox: risk, question, who asks where, how long already.

import { Check, GitBranch, RotateCcw } from "lucide-react";
import { Link } from "react-router";
import { Button } from "../../components/Button";
import { expiry, exact, span } from "../../components/time";
import { Visible } from "../../components/Visible";
import { interruptPath } from "../../paths";
import { useDesk } from "../../store/hooks";
import { sessionTitle } from "../../store/selectors";
import type { InterruptRow } from "../../wire";
import css from "./InterruptItem.module.css";
import { agentPath } from "./order";
import { expiryOf, headline, riskOf } from "./question";

interface Props {
  row: InterruptRow;
  now: number;
  chosen: boolean;
  /** An answer is held back or on its way. */
  pending: boolean;
  /** Came back from a snooze. */
  back: boolean;
  asleep?: boolean;
  marked?: boolean;
}

export function InterruptItem({ row, now, chosen, pending, back, asleep = false, marked = false }: Props) {
  const desk = useDesk();
  const risk = riskOf(row.payload);
  const expires = expiryOf(row.payload);
  return (
    <div className={css.item} data-chosen={chosen} data-pending={pending} data-marked={marked}>
      {marked ? (
        <Check className={css.tick} aria-hidden="true" />
      ) : (
        <span className={css.risk} data-risk={risk ?? "none"} title={risk === null ? undefined : `${risk} risk`} aria-hidden="true">
          {risk === "high" ? "!" : ""}
        </span>
      )}
      <Link className={css.link} to={interruptPath(row)} aria-current={chosen ? "true" : undefined} draggable={false}>
        <span className={css.question}>
          <Visible text={headline(row)} />
        </span>
        {risk !== null && <span className="visually-hidden">, {risk} risk</span>}
        {marked && <span className="visually-hidden">, marked</span>}
      </Link>
      <time className={css.age} dateTime={row.opened_at} title={exact(row.opened_at)}>
        {pending ? "answering" : span(Date.parse(row.opened_at), now)}
      </time>
      <span className={css.where}>
        <span className={css.names}>
          {agentPath(row)} · {sessionTitle({ title: row.session_title, agent_id: row.path.at(-1)?.agent_id ?? "" })}
        </span>
        {expires !== null && <span className={css.mark} data-tone="wait">{expiry(expires, now)}</span>}
        {!row.on_active_branch && (
          <span className={css.mark}>
            <GitBranch aria-hidden="true" /> other branch
          </span>
        )}
        {back && (
          <span className={css.mark}>
            <RotateCcw aria-hidden="true" /> back from snooze
          </span>
        )}
        {asleep && (
          <Button size="s" look="quiet" onClick={() => void desk.attempt(desk.transport.unsnooze(row.session_id, row.interrupt_id))}>
            Show again
          </Button>
        )}
      </span>
    </div>
  );
}
