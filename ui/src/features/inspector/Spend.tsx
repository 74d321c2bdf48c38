/** What the session cost, turn by turn. */
import { Mark } from "../../components/Mark";
import { count, usd } from "../../components/money";
import { clock, exact, took, useNow } from "../../components/time";
import type { TurnRow } from "../../wire";
import { turnStanding } from "../session/status";
import { useSession } from "../session/view";
import css from "./Inspector.module.css";

export function Spend() {
  const { model } = useSession();
  const { session, turns } = model.followed;
  const { usage } = session;
  const newestFirst = [...turns.values()].filter((turn) => turn.started_at !== null).reverse();
  return (
    <div className={css.scroll}>
      <dl className={css.totals} aria-label="Whole session">
        <dt>Session</dt><dd>{usd(usage.cost_usd)}</dd>
        <dt>Tokens read</dt><dd>{count(usage.input_tokens)}</dd>
        <dt>of them cached</dt><dd>{count(usage.cached_input_tokens)}</dd>
        <dt>Tokens written</dt><dd>{count(usage.output_tokens)}</dd>
      </dl>
      {newestFirst.length === 0 && <p className={css.note}>No turn has run yet.</p>}
      <table className={css.table}>
        <thead><tr><th scope="col">Turn</th><th scope="col">Took</th><th scope="col">Tokens</th><th scope="col">Cost</th></tr></thead>
        <tbody>{newestFirst.slice(0, 200).map((turn) => <TurnLine key={turn.turn_id} turn={turn} />)}</tbody>
      </table>
      {newestFirst.length > 200 && <p className={css.note}>The newest 200 of {count(newestFirst.length)} turns.</p>}
    </div>
  );
}

function TurnLine({ turn }: { turn: TurnRow }) {
  const now = useNow();
  const { word, mark } = turnStanding(turn.status);
  const started = turn.started_at ?? "";
  return (
    <tr>
      <th scope="row" title={exact(started)}><Mark kind={mark} label={word} /> {clock(started)}</th>
      <td>{took(started, turn.ended_at ?? now)}</td>
      <td>{count(turn.tokens)}</td>
      <td>{usd(turn.cost_usd)}</td>
    </tr>
  );
}
