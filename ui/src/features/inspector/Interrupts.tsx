/** Every question of this session: the open ones from the feed, the past ones read in pages. */
import { useEffect, useState } from "react";
import { Button } from "../../components/Button";
import { Mark, type MarkKind } from "../../components/Mark";
import { ago, exact, span, useNow } from "../../components/time";
import { Visible } from "../../components/Visible";
import { useDesk } from "../../store/hooks";
import { asRefusal, type Transport } from "../../transport/transport";
import type { InterruptRow, Outcome } from "../../wire";
import { headline } from "../inbox/question";
import { useSession } from "../session/view";
import css from "./Inspector.module.css";

export function Interrupts() {
  const { model, operations } = useSession();
  const now = useNow();
  const open = model.followed.interrupts;
  return (
    <div className={css.scroll}>
      <h2 className={css.heading}>Open</h2>
      {open.length === 0 && <p className={css.note}>No question is open.</p>}
      <ul>
        {open.map((row) => (
          <li key={`${row.interrupt_id} ${row.opened_seq}`} className={css.entry}>
            <Mark kind="waiting" label="waiting" />
            <button type="button" className={css.link} onClick={() => operations.showQuestion(row.interrupt_id)}><Visible text={headline(row)} /></button>
            <span className={css.clock} title={exact(row.opened_at)}>{span(Date.parse(row.opened_at), now)}</span>
            <p>{row.reason}{row.on_active_branch ? "" : " · not on the active branch"}</p>
          </li>
        ))}
      </ul>
      <h2 className={css.heading}>Past</h2>
      {/* A question that closed is past: then the past is read anew. */}
      <Past key={open.map((row) => `${row.interrupt_id} ${row.opened_seq}`).join(" ")} />
    </div>
  );
}

const page = 100;

interface Read {
  readonly rows: readonly InterruptRow[];
  /** Where the next page begins; null when all is read. */
  readonly before: string | null;
  readonly problem: string | null;
}

/** Never rejects: a failure is part of what was read. */
async function readPast(transport: Transport, sessionId: string, from: Read | null): Promise<Read> {
  const kept = from?.rows ?? [];
  let before = from?.before ?? null;
  try {
    // The list is that of all sessions: some pages may have nothing of this one.
    for (let pages = 0; pages < 5; pages += 1) {
      const rows = await transport.listInterrupts("closed", before, page);
      const found = rows.filter((row) => row.session_id === sessionId);
      before = rows.length < page ? null : (rows.at(-1)?.opened_at ?? null);
      if (found.length > 0 || before === null) return { rows: [...kept, ...found], before, problem: null };
    }
    return { rows: kept, before, problem: null };
  } catch (thrown) {
    return { rows: kept, before, problem: asRefusal(thrown).message };
  }
}

function Past() {
  const { sessionId } = useSession();
  const { transport } = useDesk();
  const [read, setRead] = useState<Read | null>(null);
  useEffect(() => {
    let current = true;
    void readPast(transport, sessionId, null).then((first) => { if (current) setRead(first); });
    return () => { current = false; };
  }, [transport, sessionId]);
  if (read === null) return <p className={css.note}>Reading…</p>;
  return (
    <>
      {read.problem !== null && <p className={css.error} role="alert">{read.problem}</p>}
      {read.rows.length === 0 && read.before === null && read.problem === null && <p className={css.note}>None yet.</p>}
      <ul>{read.rows.map((row) => <PastRow key={`${row.interrupt_id} ${row.opened_seq}`} row={row} />)}</ul>
      {(read.before !== null || read.problem !== null) && (
        <Button size="s" look="quiet" onClick={() => void readPast(transport, sessionId, read).then(setRead)}>{read.problem === null ? "Read older ones" : "Try again"}</Button>
      )}
    </>
  );
}

const outcomes: Record<Outcome, { word: string; mark: MarkKind }> = {
  answered: { word: "answered", mark: "done" },
  declined: { word: "declined", mark: "failed" },
  cancelled: { word: "cancelled", mark: "cancelled" },
  expired: { word: "expired", mark: "cancelled" },
  superseded: { word: "replaced by a later one", mark: "cancelled" },
};

function PastRow({ row }: { row: InterruptRow }) {
  const now = useNow();
  const { word, mark } = row.outcome === null ? { word: "closed", mark: "done" as const } : outcomes[row.outcome];
  const who = responderName(row.responder);
  const closed = row.closed_at ?? row.opened_at;
  return (
    <li className={css.entry}>
      <Mark kind={mark} label={word} />
      <b><Visible text={headline(row)} /></b>
      <span className={css.clock} title={exact(closed)}>{ago(closed, now)}</span>
      <p>{who === null ? word : `${word} by ${who}`}{row.verification === "unverified" ? " · not verified" : ""}</p>
      {row.answer !== null && <details><summary>Answer</summary><pre><Visible text={JSON.stringify(row.answer, null, 2)} /></pre></details>}
    </li>
  );
}

function responderName(responder: unknown): string | null {
  if (typeof responder !== "object" || responder === null) return null;
  const { user, channel } = responder as { user?: unknown; channel?: unknown };
  if (typeof user !== "string") return typeof channel === "string" ? channel : null;
  return typeof channel === "string" ? `${user} (${channel})` : user;
}
