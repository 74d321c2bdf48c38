/** Every question of this session: the open ones from the feed, the past ones read in pages. */
import { useEffect, useState } from "react";
import { Button } from "../../components/Button";
import { Mark, type MarkKind } from "../../components/Mark";
import { ago, exact, span, useNow } from "../../components/time";
import { Visible } from "../../components/Visible";
import { useDesk } from "../../store/hooks";
import { asRefusal } from "../../transport/transport";
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
      <h3 className={css.heading}>Open</h3>
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
      <h3 className={css.heading}>Past</h3>
      <Past />
    </div>
  );
}

const page = 100;

interface Read {
  readonly rows: readonly InterruptRow[];
  /** Where the next page begins; null when all is read. */
  readonly before: string | null;
  readonly problem: string | null;
  readonly busy: boolean;
}

function Past() {
  const { sessionId, model } = useSession();
  const desk = useDesk();
  const [read, setRead] = useState<Read>({ rows: [], before: null, problem: null, busy: true });
  const open = model.followed.interrupts;
  const load = async (before: string | null, kept: readonly InterruptRow[], isCurrent: () => boolean): Promise<void> => {
    try {
      const rows = await desk.transport.listInterrupts("closed", before, page);
      if (!isCurrent()) return;
      const next = rows.length < page ? null : (rows.at(-1)?.opened_at ?? null);
      setRead({ rows: [...kept, ...rows.filter((row) => row.session_id === sessionId)], before: next, problem: null, busy: false });
    } catch (thrown) {
      if (isCurrent()) setRead({ rows: kept, before, problem: asRefusal(thrown).message, busy: false });
    }
  };
  // A question that closes leaves the open ones: then the past is read anew.
  useEffect(() => {
    let current = true;
    void load(null, [], () => current);
    return () => { current = false; };
  }, [desk, sessionId, open]);
  return (
    <>
      {read.problem !== null && <p className={css.error} role="alert">{read.problem}</p>}
      {read.rows.length === 0 && !read.busy && read.before === null && <p className={css.note}>None yet.</p>}
      <ul>{read.rows.map((row) => <PastRow key={`${row.interrupt_id} ${row.opened_seq}`} row={row} />)}</ul>
      {read.before !== null && <Button size="s" onClick={() => void load(read.before, read.rows, () => true)}>Read older ones</Button>}
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
