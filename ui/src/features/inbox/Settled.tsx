// How a question was closed: by whom, from where, with what, and how far the answer got.

import { useDeskState } from "../../store/hooks";
import { JsonTree } from "../../components/JsonTree";
import { Mark } from "../../components/Mark";
import { ago, exact, took, useNow } from "../../components/time";
import { Visible } from "../../components/Visible";
import type { InterruptRow } from "../../wire";
import { closing } from "./closing";
import type { CardDraft } from "./draft";
import { Ledger } from "./Ledger";
import css from "./Settled.module.css";

export function Settled({ row, draft }: { row: InterruptRow; draft: CardDraft }) {
  const now = useNow();
  const user = useDeskState((state) => state.about.user);
  const told = closing(row, user);
  const at = row.closed_at ?? row.opened_at;
  return (
    <div className={css.settled} role="status">
      <p className={css.line}>
        <Mark kind={row.outcome === "declined" ? "failed" : row.outcome === "answered" ? "done" : "cancelled"} />
        <span>
          <b>{told.outcome}</b>
          {told.choice !== null && (
            <>
              {" "}
              “<Visible text={told.choice} />”
            </>
          )}{" "}
          {told.by}
        </span>
        <time className={css.time} dateTime={at} title={exact(at)}>
          {ago(at, now)}, after {took(row.opened_at, at)}
        </time>
      </p>
      {told.text !== null && (
        <p className={css.text}>
          <Visible text={told.text} />
        </p>
      )}
      {told.value !== undefined && <JsonTree value={told.value} label="The answer" />}
      <Ledger row={row} />
      {draft.text.trim() !== "" && draft.sent === null && (
        <div className={css.kept}>
          <span>Your unsent text is kept:</span>
          <p>
            <Visible text={draft.text} />
          </p>
        </div>
      )}
    </div>
  );
}
