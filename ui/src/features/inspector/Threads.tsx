/** The session's own thread and every delegate below it; a delegate that works can be stopped without stopping the rest. */
import { useEffect, useId, useState } from "react";
import { Link } from "react-router";
import { Button } from "../../components/Button";
import { TextBox } from "../../components/Field";
import { Mark, type MarkKind } from "../../components/Mark";
import { count, usd } from "../../components/money";
import { exact, took, useNow } from "../../components/time";
import { Visible } from "../../components/Visible";
import { sessionPath } from "../../paths";
import { ulid } from "../../store/id";
import { useDesk, useDeskState } from "../../store/hooks";
import { asRefusal } from "../../transport/transport";
import type { ThreadRow } from "../../wire";
import { useSession } from "../session/view";
import css from "./Inspector.module.css";

const reasonMax = 500;

interface Read {
  readonly rows: readonly ThreadRow[];
  readonly problem: string | null;
}

export function Threads() {
  const { rows, problem } = useThreads();
  const [asking, setAsking] = useState<string | null>(null);
  return (
    <div className={css.scroll}>
      {problem !== null && <p className={css.error} role="alert">{problem}</p>}
      {rows.length === 0 && problem === null && <p className={css.note}>Reading…</p>}
      <ul aria-label="Threads">
        {rows.map((row) => <Thread key={row.session_id} row={row} asking={asking === row.session_id} onAsk={(ask) => setAsking(ask ? row.session_id : null)} />)}
      </ul>
      {rows.length === 1 && <p className={css.note}>No work has been handed to another agent.</p>}
    </div>
  );
}

/** Read anew when any session of the family moved on: the feed brings their rows, not their threads. */
function useThreads(): Read {
  const { sessionId, model } = useSession();
  const { transport } = useDesk();
  const root = model.followed.session.root_session_id;
  const moved = useDeskState((state) => [...state.sessions.values()].reduce((sum, row) => (row.root_session_id === root ? sum + row.seq : sum), 0));
  const [read, setRead] = useState<Read>({ rows: [], problem: null });
  useEffect(() => {
    let current = true;
    transport.threads(sessionId).then(
      (rows) => { if (current) setRead({ rows, problem: null }); },
      (thrown: unknown) => { if (current) setRead((before) => ({ ...before, problem: asRefusal(thrown).message })); },
    );
    return () => { current = false; };
  }, [transport, sessionId, moved]);
  return read;
}

interface ThreadProps {
  readonly row: ThreadRow;
  readonly asking: boolean;
  readonly onAsk: (ask: boolean) => void;
}

function Thread({ row, asking, onAsk }: ThreadProps) {
  const { sessionId } = useSession();
  const now = useNow(1000);
  const { word, mark } = standing(row);
  const delegate = row.parent_session_id !== null;
  const stoppable = delegate && row.ended_at === null;
  const title = <Visible text={row.title === "" ? row.agent_id : row.title} />;
  return (
    <li className={css.entry} data-depth={row.depth} style={{ paddingLeft: 14 + Math.min(row.depth, 8) * 16 }}>
      <Mark kind={mark} label={word} />
      {row.session_id === sessionId ? <b aria-current="true">{title}</b> : <Link className={css.link} to={sessionPath(row.session_id)}>{title}</Link>}
      <span className={css.clock} title={exact(row.created_at)}>{ranFor(row, now)}</span>
      <p>
        {row.agent_id} · {word} · <span title={`${count(row.usage.input_tokens)} read, ${count(row.usage.output_tokens)} written`}>{count(row.usage.input_tokens + row.usage.output_tokens)} tokens</span> · {usd(row.usage.cost_usd)}
      </p>
      {stoppable && !asking && <p className={css.act}><Button size="s" onClick={() => onAsk(true)} aria-label={`Interrupt ${row.title}…`}>Interrupt…</Button></p>}
      {stoppable && asking && <Ask row={row} onClose={() => onAsk(false)} />}
    </li>
  );
}

/** What its parent is told, and one more key to go on. */
function Ask({ row, onClose }: { row: ThreadRow; onClose: () => void }) {
  const desk = useDesk();
  const { sessionId } = useSession();
  // One id for all tries, so that a stop that arrived and was not answered is not done twice.
  const [commandId] = useState(ulid);
  const [reason, setReason] = useState("");
  const [sending, setSending] = useState(false);
  const [refusal, setRefusal] = useState<string | null>(null);
  const lead = useId();
  // The rule counts code points.
  const length = Array.from(reason).length;
  const stop = async (): Promise<void> => {
    if (sending || length > reasonMax) return;
    setSending(true);
    setRefusal(null);
    try {
      await desk.transport.interruptThread(commandId, sessionId, row.session_id, reason);
      onClose();
    } catch (thrown) {
      setRefusal(asRefusal(thrown).message);
      setSending(false);
    }
  };
  return (
    // Keys of the field and its buttons, wherever the focus is among them.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions
    <div
      className={css.ask} role="group" aria-labelledby={lead}
      onKeyDown={(event) => {
        if (event.nativeEvent.isComposing) return;
        if (event.key === "Escape") {
          event.stopPropagation();
          onClose();
        } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
          event.preventDefault();
          void stop();
        }
      }}
    >
      <p id={lead}>Ends this delegate and those below it. Whoever asked it goes on, with the reason as the answer.</p>
      {/* The person asked for exactly this; what they type next is the reason. */}
      {/* oxlint-disable-next-line jsx-a11y/no-autofocus */}
      <TextBox autoFocus label="Reason (optional)" value={reason} onChange={(event) => setReason(event.target.value)} hint={`${length} of ${reasonMax}`}
        problem={length > reasonMax ? `${length} of ${reasonMax}: shorten it by ${length - reasonMax}.` : refusal} />
      <span className={css.buttons}>
        <Button size="s" keyHint="Esc" onClick={onClose}>Keep running</Button>
        <Button size="s" look="danger" keyHint="Ctrl+Enter" disabled={sending || length > reasonMax} onClick={() => void stop()}>Interrupt</Button>
      </span>
    </div>
  );
}

function standing(row: ThreadRow): { word: string; mark: MarkKind } {
  if (row.waiting && row.ended_at === null) return { word: "waiting for you", mark: "waiting" };
  switch (row.status) {
    case "running": return { word: "running", mark: "running" };
    case "completed": return { word: "completed", mark: "done" };
    case "failed": return { word: "failed", mark: "failed" };
    case "interrupted": return { word: "interrupted", mark: "cancelled" };
    default: return { word: "idle", mark: "idle" };
  }
}

/** Time its turns took; the one that runs counts up. */
function ranFor(row: ThreadRow, now: number): string {
  const running = row.running_since === null ? 0 : Math.max(0, now - Date.parse(row.running_since));
  const start = new Date(0).toISOString();
  return row.ran_ms + running === 0 ? "" : took(start, row.ran_ms + running);
}
