/** Where the next message is written. The draft is kept per session and branch; a refused message comes back with its reason. */
import { useId, useRef, useState, type KeyboardEvent } from "react";
import { Link } from "react-router";
import { useActions } from "../../actions/hooks";
import { Button } from "../../components/Button";
import { Mark } from "../../components/Mark";
import { Visible } from "../../components/Visible";
import { sessionPath } from "../../paths";
import { useDesk, useDeskState } from "../../store/hooks";
import { asRefusal } from "../../transport/transport";
import type { TurnRow } from "../../wire";
import { branchStart } from "../session/operations";
import { hasRun, queuedTurns } from "../session/status";
import { useSession } from "../session/view";
import css from "./Composer.module.css";

export function Composer() {
  const { model } = useSession();
  if (!model.followed.session.top_level) return <OfDelegate />;
  if (!model.active) return <NotActive />;
  if (model.followed.session.activity === "waiting_for_you") return <WaitsForAnswer />;
  return <Writer />;
}

export function composerDraftKey(sessionId: string, branch: string): string {
  return `composer:${sessionId}:${branch}`;
}

function WaitsForAnswer() {
  const { model, operations } = useSession();
  const { interrupts } = model.followed;
  const question = interrupts.find((row) => row.on_active_branch) ?? interrupts[0];
  useActions([{
    id: "session.question", title: "Go to the question", section: "Session", keys: ["q"],
    when: () => question !== undefined, run: () => question !== undefined && operations.showQuestion(question.interrupt_id),
  }]);
  return (
    <div className={css.composer}>
      <Queued />
      <div className={css.blocked}>
        <span>This branch waits for your answer. Edit an earlier message to try another way.</span>
        {question !== undefined && <Button size="s" keyHint="q" onClick={() => operations.showQuestion(question.interrupt_id)}>Go to question</Button>}
      </div>
    </div>
  );
}

/** S-17. Its questions are answered here all the same. */
function OfDelegate() {
  const { model } = useSession();
  const parent = model.followed.session.parent_session_id;
  return (
    <div className={css.composer}>
      <div className={css.blocked}>
        <span>This is a delegate; it takes messages only from its parent.</span>
        {parent !== null && <Link to={sessionPath(parent)}>Open the parent</Link>}
      </div>
    </div>
  );
}

function NotActive() {
  const { model, operations } = useSession();
  const { tip } = model;
  return (
    <div className={css.composer}>
      <div className={css.blocked}>
        <span>This branch is not active. Make it active to write here.</span>
        <Button size="s" onClick={() => tip !== null && void operations.makeActive(tip)}>Make active</Button>
      </div>
    </div>
  );
}

function Writer() {
  const { sessionId, model, operations } = useSession();
  const desk = useDesk();
  const key = composerDraftKey(sessionId, branchStart(model));
  const draft = useDeskState((state) => state.drafts.get(key));
  const text = typeof draft === "string" ? draft : "";
  const [sending, setSending] = useState<string | null>(null);
  const [refusal, setRefusal] = useState<string | null>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  const reason = useId();
  const running = hasRun(model.followed.session);
  useActions([{ id: "session.write", title: "Write a message", section: "Session", keys: ["w"], run: () => field.current?.focus() }]);

  const send = async (): Promise<void> => {
    if (sending !== null || text.trim() === "") return;
    setSending(text);
    setRefusal(null);
    desk.draft(key, undefined);
    try {
      await desk.submit(sessionId, { type: "send_message", text, queue: running });
    } catch (thrown) {
      setRefusal(asRefusal(thrown).message);
      // What was typed meanwhile stays, below what comes back.
      const typed = desk.store.getState().drafts.get(key);
      desk.draft(key, typeof typed === "string" && typed !== "" ? `${text}\n${typed}` : text);
    } finally {
      setSending(null);
      field.current?.focus();
    }
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    void send();
  };
  return (
    <div className={css.composer}>
      <Queued />
      {sending !== null && <p className={css.sending} role="status">Sending: {sending}</p>}
      {refusal !== null && <p id={reason} className={css.refusal} role="alert">Not sent: {refusal}</p>}
      <div className={css.box}>
        <textarea
          ref={field} aria-label="Message" rows={Math.min(8, Math.max(1, text.split("\n").length))} value={text}
          placeholder={running ? "Queue a message" : `Message ${model.followed.session.agent_id}`}
          aria-invalid={refusal !== null} aria-describedby={refusal === null ? undefined : reason} onKeyDown={onKeyDown}
          onChange={(event) => {
            setRefusal(null);
            desk.draft(key, event.target.value === "" ? undefined : event.target.value);
          }}
        />
        <div className={css.buttons}>
          {running && <Button size="s" onClick={() => void operations.askCancel()}>Cancel run…</Button>}
          <Button size="s" look="primary" keyHint="Enter" disabled={text.trim() === "" || sending !== null} onClick={() => void send()}>{running ? "Queue" : "Send"}</Button>
        </div>
      </div>
    </div>
  );
}

function Queued() {
  const { model } = useSession();
  const waiting = queuedTurns(model.followed);
  if (waiting.length === 0) return null;
  return (
    <ul className={css.queued} aria-label="Queued messages">
      {waiting.map((turn) => <QueuedTurn key={turn.turn_id} turn={turn} />)}
    </ul>
  );
}

function QueuedTurn({ turn }: { turn: TurnRow }) {
  return (
    <li>
      <Mark kind="queued" label="queued" />
      <span><Visible text={turn.message ?? "A turn without a message"} /></span>
    </li>
  );
}
