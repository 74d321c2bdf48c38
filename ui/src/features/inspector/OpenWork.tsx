/** Everything that is not over: calls, decisions, queued turns, each with its clock. */
import { Mark, type MarkKind } from "../../components/Mark";
import { exact, span, took, useNow } from "../../components/time";
import { Visible } from "../../components/Visible";
import type { Followed } from "../../store/state";
import type { CallRow, DecisionRow, TurnRow } from "../../wire";
import { callStanding, isOpenCall, queuedTurns } from "../session/status";
import { useSession } from "../session/view";
import css from "./Inspector.module.css";

interface Open {
  readonly calls: readonly CallRow[];
  readonly decisions: readonly DecisionRow[];
  readonly turns: readonly TurnRow[];
}

function openWork(followed: Followed): Open {
  const turns = queuedTurns(followed);
  const queued = new Set(turns.map((turn) => turn.turn_id));
  return {
    calls: [...followed.calls.values()].filter((call) => isOpenCall(call.status)),
    // The decision of a queued turn is that turn.
    decisions: followed.decisions.filter((row) => row.status !== "waiting" || !queued.has(row.turn_id ?? "")),
    turns,
  };
}

export function openCount(followed: Followed): number {
  const { calls, decisions, turns } = openWork(followed);
  return calls.length + decisions.length + turns.length;
}

export function OpenWork() {
  const { model } = useSession();
  const now = useNow(1000);
  const { calls, decisions, turns } = openWork(model.followed);
  const { wake_at: wake } = model.followed.session;
  if (calls.length + decisions.length + turns.length === 0) return <p className={css.empty}>Nothing is open.</p>;
  return (
    <div className={css.scroll}>
      {wake !== null && <p className={css.note} title={exact(wake)}>The engine acts by itself next {until(wake, now)}.</p>}
      {calls.length > 0 && <Group title="Calls">{calls.map((call) => <OpenCall key={call.id} call={call} now={now} />)}</Group>}
      {decisions.length > 0 && <Group title="Worker decisions">{decisions.map((row) => <Decision key={row.id} row={row} now={now} />)}</Group>}
      {turns.length > 0 && (
        <Group title="Queued turns">
          {turns.map((turn) => <Entry key={turn.turn_id} mark="queued" word="queued" name={turn.message ?? "A turn without a message"} clock="" />)}
        </Group>
      )}
    </div>
  );
}

function Group({ title, children }: { title: string; children: React.ReactNode }) {
  return (
    <section aria-label={title}>
      <h2 className={css.heading}>{title}</h2>
      <ul>{children}</ul>
    </section>
  );
}

const kinds: Record<string, string> = { llm_call: "model call", tool_call: "tool", subagent: "sub-agent", connector_sync: "connection" };

function OpenCall({ call, now }: { call: CallRow; now: number }) {
  const standing = callStanding(call.status);
  const bounds = call.clock_stopped ? "clock stopped by a pause" : call.deadline === null ? null : `deadline ${until(call.deadline, now)}`;
  const attempt = call.attempt > 1 ? `attempt ${call.attempt}` : null;
  const by = call.kind === "tool_call" ? `run by ${call.handler}` : null;
  return (
    <Entry mark={standing.mark} word={standing.word} name={call.name} clock={took(call.dispatched_at ?? call.requested_at, now)}
      detail={[kinds[call.kind] ?? call.kind, standing.word, by, attempt, bounds].filter((part) => part !== null).join(" · ")} error={call.error} />
  );
}

const decisionWords: Record<string, { word: string; mark: MarkKind }> = {
  live: { word: "in the worker's hands", mark: "running" },
  waiting: { word: "waiting", mark: "queued" },
  held: { word: "held: its branch is paused or left", mark: "waiting" },
};

function Decision({ row, now }: { row: DecisionRow; now: number }) {
  const { word, mark } = decisionWords[row.status] ?? { word: row.status, mark: "idle" as const };
  const attempts = row.attempts > 1 ? ` · attempt ${row.attempts}` : "";
  return <Entry mark={mark} word={word} name={row.trigger} clock={span(Date.parse(row.queued_at), now)} detail={`${word}${attempts}`} error={row.error} />;
}

interface EntryProps {
  readonly mark: MarkKind;
  readonly word: string;
  readonly name: string;
  readonly clock: string;
  readonly detail?: string;
  readonly error?: string | null;
}

function Entry({ mark, word, name, clock, detail, error }: EntryProps) {
  return (
    <li className={css.entry}>
      <Mark kind={mark} label={word} />
      <b><Visible text={name} /></b>
      <span className={css.clock}>{clock}</span>
      {detail !== undefined && <p>{detail}</p>}
      {error != null && <p className={css.error}><Visible text={error} /></p>}
    </li>
  );
}

function until(at: string, now: number): string {
  const due = Date.parse(at);
  return due <= now ? "now" : `in ${took(new Date(now).toISOString(), due)}`;
}
