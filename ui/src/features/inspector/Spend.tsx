/** What the session cost: whole, on the branch on show, and turn by turn. */
import { useMemo } from "react";
import { Mark } from "../../components/Mark";
import { count, sumUsd, usd } from "../../components/money";
import { clock, exact, took, useNow } from "../../components/time";
import type { TurnRow } from "../../wire";
import { turnStanding } from "../session/status";
import { useSession, type Model } from "../session/view";
import css from "./Inspector.module.css";

export function Spend() {
  const { model } = useSession();
  const { session, turns } = model.followed;
  const { usage } = session;
  const branch = useBranchSpend(model);
  const newestFirst = [...turns.values()].filter((turn) => turn.started_at !== null).reverse();
  return (
    <div className={css.scroll}>
      <dl className={css.totals} aria-label="Whole session">
        <dt>Session</dt><dd>{usd(usage.cost_usd)}</dd>
        {session.branches > 1 && <><dt>{model.active ? "This branch" : "The branch on show"}</dt><dd>{usd(branch)}</dd></>}
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

/** Of the turns that wrote the path on show, from its first message on. */
function useBranchSpend({ index, path, followed: { turns } }: Model): string {
  return useMemo(() => {
    const onPath = new Set<string>();
    for (const at of path) onPath.add(index.nodes[at]?.turn_id ?? "");
    return sumUsd([...turns.values()].filter((turn) => onPath.has(turn.turn_id)).map((turn) => turn.cost_usd));
  }, [index, path, turns]);
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
