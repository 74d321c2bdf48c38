// One question with everything needed to answer it well. The same card stands in the inbox and inside a transcript.

import { ExternalLink } from "lucide-react";
import { useEffect, useId, useMemo, useRef, type ReactNode } from "react";
import { Link } from "react-router";
import { Chip } from "../../components/Chip";
import { Mark } from "../../components/Mark";
import { HostLink, Markdown } from "../../components/Markdown";
import { exact, ago, expiry, useNow } from "../../components/time";
import { Visible } from "../../components/Visible";
import { sessionPath } from "../../paths";
import { useDesk, useDeskState } from "../../store/hooks";
import { sessionTitle } from "../../store/selectors";
import type { InterruptRow } from "../../wire";
import { ConnectionControls, ConnectionStanding } from "../connections/Connection";
import { AnswerPart } from "./AnswerPart";
import { BeforeThis } from "./BeforeThis";
import { BranchNotice } from "./BranchNotice";
import css from "./InterruptCard.module.css";
import { splitMessage } from "./message";
import { PreviewPart, RestPart, ToolPart } from "./PreviewPart";
import { headline, readQuestion, type Question } from "./question";
import { Settled } from "./Settled";
import { useAnswering } from "./useAnswering";
import { useOnScreen } from "./useOnScreen";

export interface InterruptCardProps {
  row: InterruptRow;
  context: "inbox" | "transcript";
  /** An answer was taken into the schedule. */
  onAnswered?: () => void;
  /** Stands over the question, for the first run. */
  children?: ReactNode;
}

export function InterruptCard({ row, context, onAnswered, children }: InterruptCardProps) {
  const question = useMemo(() => readQuestion(row.payload), [row.payload]);
  const answering = useAnswering(row, onAnswered);
  const card = useRef<HTMLElement>(null);
  const title = useId();
  const closed = row.closed_at !== null;
  const desk = useDesk();
  const { session_id, interrupt_id } = row;
  const seen = useOnScreen(card);
  useEffect(() => (closed || !seen ? undefined : desk.cardShown({ session_id, interrupt_id })), [desk, closed, seen, session_id, interrupt_id]);
  return (
    <article
      ref={card}
      tabIndex={-1}
      className={css.card}
      data-context={context}
      data-interrupt-card={closed ? "closed" : "open"}
      data-interrupt-id={row.interrupt_id}
      data-armed={answering.armed}
      aria-labelledby={title}
    >
      <Head row={row} question={question} context={context} />
      <div className={css.scroll}>
        {children}
        <Asked row={row} question={question} titleId={title} />
        {!closed && !row.on_active_branch && (
          <BranchNotice row={row} on={answering.draft.switch} onChange={(on) => answering.change({ switch: on })} disabled={answering.pending !== undefined} />
        )}
        {question.server !== null && <ServerPart server={question.server} />}
        {question.url !== null && (
          <p className={css.url}>
            <ExternalLink aria-hidden="true" /> <HostLink href={question.url}>{question.url}</HostLink>
          </p>
        )}
        {question.authorize !== null && !closed && <AuthorizePart path={question.authorize} />}
        {question.preview !== null && <PreviewPart preview={question.preview} />}
        {question.tool !== null && <ToolPart tool={question.tool} risk={question.risk} hasPreview={question.preview !== null} />}
        {question.rest !== undefined && <RestPart value={question.rest} />}
        {context === "inbox" && <BeforeThis row={row} />}
      </div>
      {closed ? <Settled row={row} draft={answering.draft} /> : <AnswerPart row={row} question={question} answering={answering} context={context} card={card} />}
    </article>
  );
}

/** How the connection stands is the engine's own knowledge; of the question only its path is taken. */
function AuthorizePart({ path }: { path: string }) {
  const row = useDeskState((state) => state.connections.find((each) => each.path === path));
  if (row === undefined) return <p className={css.server}>The configuration has no connection <Visible text={path} />. Add it again, then retry.</p>;
  return (
    <div className={css.connection}>
      <ConnectionStanding row={row} />
      <ConnectionControls row={row} />
    </div>
  );
}

/** Who asks is said by the engine: a message could claim anything. */
function ServerPart({ server }: { server: NonNullable<Question["server"]> }) {
  return (
    <p className={css.server}>
      The server of <b><Visible text={server.connection} /></b> asks{server.mode === "url" ? " you to visit a page." : "."}
      {server.wantsSecret && " It seems to want a secret. Servers must not ask for one in a form, and what you submit is kept in the session’s log."}
    </p>
  );
}

function Head({ row, question, context }: { row: InterruptRow; question: Question; context: InterruptCardProps["context"] }) {
  const now = useNow(1000);
  const asker = row.path.at(-1)?.agent_id ?? "the agent";
  return (
    <header className={css.head}>
      {context === "inbox" ? (
        <span className={css.path}>
          {row.path.map((step, index) => (
            <span key={step.session_id} className={css.step}>
              {index > 0 && <span aria-hidden="true">›</span>}
              {index === row.path.length - 1 ? <b>{step.agent_id}</b> : step.agent_id}
            </span>
          ))}
          <span className="faint">in</span>
          <Link to={sessionPath(row.session_id, row.anchor)} className={css.session}>
            {sessionTitle({ title: row.session_title, agent_id: asker })}
          </Link>
        </span>
      ) : (
        <span className={css.path}>
          <Mark kind={row.closed_at === null ? "waiting" : "done"} />
          <span>
            <b>{row.path.map((step) => step.agent_id).join(" › ")}</b> {row.closed_at === null ? "asks" : "asked"}
          </span>
        </span>
      )}
      <Chip tone={context === "transcript" ? "wait" : "plain"}>
        <Visible text={row.reason} />
      </Chip>
      {question.risk !== null && <Chip tone={question.risk === "high" ? "danger" : question.risk === "medium" ? "wait" : "plain"}>{question.risk} risk</Chip>}
      <span className={css.times}>
        <time dateTime={row.opened_at} title={exact(row.opened_at)}>
          asked {ago(row.opened_at, now)}
        </time>
        {question.expiresAt !== null && row.closed_at === null && (
          <time dateTime={question.expiresAt} title={exact(question.expiresAt)} className={css.expiry}>
            {expiry(question.expiresAt, now)}
          </time>
        )}
      </span>
    </header>
  );
}

function Asked({ row, question, titleId }: { row: InterruptRow; question: Question; titleId: string }) {
  const split = question.message === null ? null : splitMessage(question.message);
  if (question.message !== null && split === null) {
    return (
      <>
        <h2 id={titleId} className="visually-hidden">
          {headline(row)}
        </h2>
        <div className={css.lead}>
          <Markdown text={question.message} />
        </div>
      </>
    );
  }
  return (
    <>
      <h2 id={titleId} className={css.title}>
        {split === null ? <Visible text={`Paused: ${row.reason}`} /> : <Markdown text={split.title} inline />}
      </h2>
      {split !== null && split.body !== "" && (
        <div className={css.lead}>
          <Markdown text={split.body} />
        </div>
      )}
    </>
  );
}
