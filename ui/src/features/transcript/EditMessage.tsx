/** A message edited in place. The line under it says what sending will do, before it is sent. */
import { useEffect, useRef, useState, type KeyboardEvent } from "react";
import { Button } from "../../components/Button";
import { useDesk, useDeskState } from "../../store/hooks";
import { asRefusal } from "../../transport/transport";
import type { Forecast } from "../../wire";
import { useSession } from "../session/view";
import { editConsequence } from "./consequence";
import css from "./Transcript.module.css";

export function editDraftKey(sessionId: string, messageId: string): string {
  return `edit:${sessionId}:${messageId}`;
}

/** `recorded` is null while the message is still being read; the field opens with it when it comes. */
export function EditMessage({ messageId, recorded }: { messageId: string; recorded: string | null }) {
  const { sessionId, view, model } = useSession();
  const desk = useDesk();
  const key = editDraftKey(sessionId, messageId);
  const draft = useDeskState((state) => state.drafts.get(key));
  const text = typeof draft === "string" ? draft : (recorded ?? "");
  const [sending, setSending] = useState(false);
  const [refusal, setRefusal] = useState<string | null>(null);
  const forecast = useEditForecast(messageId);
  const field = useRef<HTMLTextAreaElement>(null);
  const unread = recorded === null;
  useEffect(() => {
    if (unread) return;
    field.current?.focus();
    field.current?.setSelectionRange(field.current.value.length, field.current.value.length);
  }, [unread]);

  const close = (): void => view.setState({ editing: null });
  const save = async (): Promise<void> => {
    if (sending || text.trim() === "") return;
    setSending(true);
    setRefusal(null);
    try {
      await desk.submit(sessionId, { type: "edit_message", message_id: messageId, text });
      desk.draft(key, undefined);
      view.setState({ editing: null, viewed: null, focusKey: null });
    } catch (thrown) {
      setRefusal(asRefusal(thrown).message);
      setSending(false);
    }
  };
  const discard = (): void => {
    desk.draft(key, undefined);
    close();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void save();
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
  };
  return (
    <div className={css.editor}>
      <textarea
        ref={field} aria-label="Edit message" value={text} disabled={unread} rows={Math.min(14, Math.max(2, text.split("\n").length))}
        onChange={(event) => desk.draft(key, event.target.value)} onKeyDown={onKeyDown}
      />
      <p className={css.consequence} role="status">
        {editConsequence({ index: model.index, messageId, headId: model.followed.head_id, interrupts: model.followed.interrupts, forecast })}
      </p>
      {refusal !== null && <p className={css.refusal} role="alert">Not saved: {refusal}</p>}
      <div className={css.editorActions}>
        <Button size="s" look="primary" keyHint="Ctrl+Enter" disabled={sending || text.trim() === ""} onClick={() => void save()}>{sending ? "Saving…" : "Save and run"}</Button>
        <Button size="s" keyHint="Esc" onClick={close}>Keep draft</Button>
        <Button size="s" look="quiet" onClick={discard}>Discard</Button>
      </div>
    </div>
  );
}

function useEditForecast(messageId: string): Forecast | null {
  const { sessionId, model } = useSession();
  const desk = useDesk();
  const [told, setTold] = useState<{ forecast: Forecast; at: number } | null>(null);
  const seq = model.followed.session.seq;
  // What would end changes while the person types, so it is asked again with each step of the session.
  useEffect(() => {
    let current = true;
    desk.transport.forecast(sessionId, { type: "edit_message", message_id: messageId }).then(
      (forecast) => { if (current) setTold({ forecast, at: seq }); },
      () => undefined,
    );
    return () => { current = false; };
  }, [desk, sessionId, messageId, seq]);
  return told?.forecast ?? null;
}
