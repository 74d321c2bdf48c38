/** How a turn went wrong, where it did: the sentence, the code, and the worker's stack when there is one. */
import { Mark } from "../../components/Mark";
import { Visible } from "../../components/Visible";
import type { TurnRow } from "../../wire";
import css from "./Transcript.module.css";

export function TurnEnd({ turn }: { turn: TurnRow }) {
  if (turn.status === "cancelled") {
    return <p className={css.ended}><Mark kind="cancelled" /> This turn was cancelled.</p>;
  }
  return (
    <section className={css.failed} aria-label="Turn failed">
      <p>
        <Mark kind="failed" label="failed" /> <b>The turn failed</b>
        {turn.error_code !== null && <code>{turn.error_code}</code>}
      </p>
      <p className={css.reason}><Visible text={turn.error ?? "No reason was recorded."} /></p>
      {turn.stack !== null && (
        <details open>
          <summary>Where in the worker</summary>
          {/* A long stack scrolls, and keys scroll only what has the focus. */}
          {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
          <pre tabIndex={0}><Visible text={turn.stack} /></pre>
        </details>
      )}
    </section>
  );
}
