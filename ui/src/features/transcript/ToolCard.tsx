/** A tool call on one line: how it stands, its name, its arguments, its time. Opened: the whole arguments and the whole result. */
import { ChevronRight } from "lucide-react";
import { memo, useId, useState } from "react";
import { JsonTree } from "../../components/JsonTree";
import { Mark } from "../../components/Mark";
import { took, useNow } from "../../components/time";
import { Visible } from "../../components/Visible";
import { useDeskState } from "../../store/hooks";
import type { CallRow } from "../../wire";
import { callStanding, isOpenCall } from "../session/status";
import { useSession } from "../session/view";
import { useBody } from "./bodies";
import { toolStatus, type Item } from "./items";
import { oneLine, parsedOrText } from "./message";
import { Switcher } from "./MessageItem";
import css from "./Transcript.module.css";

export const ToolCard = memo(function ToolCard({ item }: { item: Extract<Item, { kind: "tool" }> }) {
  const { bodies } = useSession();
  const [open, setOpen] = useState(false);
  const details = useId();
  const asked = useBody(bodies, item.asker.id)?.toolRequests.find((each) => each.id === item.callId);
  const result = useBody(bodies, item.result?.id ?? null);
  const name = item.call?.name ?? asked?.name ?? item.callId;
  const raw = item.call?.arguments ?? asked?.arguments ?? "";
  const standing = callStanding(toolStatus(item));
  return (
    <div className={css.tool}>
      <button type="button" className={css.toolLine} aria-expanded={open} aria-controls={details} onClick={() => setOpen(!open)} title={standing.word}>
        <Mark kind={standing.mark} label={standing.word} />
        <b>{name}</b>
        <span className={css.arguments}><Visible text={oneLine(raw)} /></span>
        <span className={css.toolTime}>{item.call === null ? standing.word : <CallTime call={item.call} word={standing.word} />}</span>
        <ChevronRight className={css.chevron} aria-hidden="true" />
      </button>
      {item.call !== null && isOpenCall(item.call.status) && <CallProgress id={item.call.id} name={name} />}
      {item.forked && item.result !== null && <Switcher id={item.result.id} />}
      {open && (
        <div id={details} className={css.toolDetails}>
          <Part title="Arguments" text={raw} />
          {item.result !== null && <Part title="Result" text={result?.text ?? item.result.label} />}
          {item.call?.error != null && <Part title="Error" text={item.call.error} />}
        </div>
      )}
    </div>
  );
});

/** How far its server says it is. Told live and never stored: after a reload there is none until the server speaks again. */
function CallProgress({ id, name }: { id: string; name: string }) {
  const told = useDeskState((state) => state.progress.get(id));
  if (told === undefined) return null;
  const { progress, total, message } = told;
  const known = total !== null && total > 0;
  return (
    <div className={css.progress}>
      {known && <progress max={total} value={Math.min(Math.max(progress, 0), total)} aria-label={`Progress of ${name}`} />}
      <span>{known ? `${plain(progress)} of ${plain(total)}` : plain(progress)}</span>
      {message !== null && <span className={css.progressText}><Visible text={message} /></span>}
    </div>
  );
}

function plain(value: number): string {
  return String(Math.round(value * 100) / 100);
}

/** How long it took; while it runs, how long it has. */
function CallTime({ call, word }: { call: CallRow; word: string }) {
  const open = isOpenCall(call.status);
  const now = useNow(open ? 1000 : 3_600_000);
  const from = call.dispatched_at ?? call.requested_at;
  if (open && call.clock_stopped) return <>{word}, clock stopped</>;
  if (open) return <>{call.status === "pending" ? "" : `${word} `}{took(from, now)}</>;
  return <>{call.ended_at === null ? word : took(from, call.ended_at)}</>;
}

function Part({ title, text }: { title: string; text: string }) {
  const value = parsedOrText(text);
  return (
    <section>
      <h2>{title}</h2>
      {typeof value === "object" && value !== null ? (
        <JsonTree value={value} label={title} />
      ) : (
        // A long result scrolls, and keys scroll only what has the focus.
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        <pre tabIndex={0}><Visible text={text} /></pre>
      )}
    </section>
  );
}
