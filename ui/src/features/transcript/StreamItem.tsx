/** A reply under way, drawn from deltas. They may be lost: the message itself arrives as a node and takes this place. */
import { useDeferredValue } from "react";
import { Mark } from "../../components/Mark";
import { Markdown } from "../../components/Markdown";
import { took, useNow } from "../../components/time";
import { useDeskState } from "../../store/hooks";
import type { CallRow } from "../../wire";
import { codeBlock } from "./CodeBlock";
import { useWho } from "./MessageItem";
import css from "./Transcript.module.css";

export function StreamItem({ call }: { call: CallRow }) {
  const delta = useDeskState((state) => state.deltas.get(call.id));
  const text = useDeferredValue(delta?.text ?? "");
  const who = useWho("assistant");
  return (
    <article className={css.message} data-role="assistant" aria-label={`${who}, writing`} aria-busy="true">
      <header className={css.head}>
        <b>{who}</b>
        <Mark kind="running" label="running" />
        <Progress call={call} />
      </header>
      {text === "" && (delta?.reasoning ?? "") !== "" && <p className={css.reasoning}>{delta?.reasoning}</p>}
      {text !== "" && <Markdown text={text} code={codeBlock} />}
    </article>
  );
}

function Progress({ call }: { call: CallRow }) {
  const now = useNow(1000);
  if (call.status === "retry_scheduled") return <span>{call.name} failed{call.error === null ? "" : `: ${call.error}`}. Tries again soon (attempt {call.attempt + 1}).</span>;
  const attempt = call.attempt > 1 ? `, attempt ${call.attempt}` : "";
  return <span>{call.name} · {call.dispatched_at === null ? "not started" : took(call.dispatched_at, now)}{attempt}</span>;
}
