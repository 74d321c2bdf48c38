// Every session, the newest first, each with the one word for how it stands.

import { Plus } from "lucide-react";
import { useEffect, useMemo, useRef, useState } from "react";
import { Link, useNavigate } from "react-router";
import { useActions } from "../../actions/hooks";
import { Button } from "../../components/Button";
import { Chip } from "../../components/Chip";
import { activityMark, activityWord, Mark } from "../../components/Mark";
import { usd } from "../../components/money";
import { FilterBox, RowList, useRows } from "../../components/RowList";
import { ago, exact, useNow } from "../../components/time";
import { sessionPath } from "../../paths";
import { useDesk, useDeskState } from "../../store/hooks";
import { newestSessions, sessionTitle } from "../../store/selectors";
import type { SessionRow } from "../../wire";
import css from "./SessionsPage.module.css";

const pageSize = 200;

export function SessionsPage() {
  const desk = useDesk();
  const navigate = useNavigate();
  const now = useNow();
  const sessions = useDeskState((state) => state.sessions);
  const ready = useDeskState((state) => state.ready);
  const agents = useDeskState((state) => state.agents);
  const [older, setOlder] = useState<ReadonlyMap<string, SessionRow>>(new Map());
  const [ended, setEnded] = useState(false);
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const filter = useRef<HTMLInputElement>(null);
  const all = useMemo(() => newestSessions(new Map([...older, ...sessions])), [older, sessions]);
  const rows = useMemo(() => all.filter((row) => matches(row, text)), [all, text]);
  const chosen = Math.min(at, rows.length - 1);

  const list = useRows(rows.length, (index) => rows[index]?.session_id ?? String(index), 58);
  const { virtual } = list;
  const last = virtual.getVirtualItems().at(-1)?.index ?? 0;
  const oldest = all.at(-1)?.last_event_at;
  const wantsOlder = ready && !ended && oldest !== undefined && last >= rows.length - 1;
  useEffect(() => {
    if (!wantsOlder || oldest === undefined) return;
    let current = true;
    void desk.attempt(desk.transport.listSessions(oldest, pageSize)).then((found) => {
      if (!current) return;
      if (found === undefined || found.length < pageSize) setEnded(true);
      if (found !== undefined && found.length > 0) setOlder((before) => new Map([...before, ...found.map((row): [string, SessionRow] => [row.session_id, row])]));
    });
    return () => {
      current = false;
    };
  }, [desk, wantsOlder, oldest]);

  function move(by: number): void {
    const next = Math.max(0, Math.min(rows.length - 1, chosen + by));
    setAt(next);
    virtual.scrollToIndex(next, { align: "auto" });
  }
  useActions([
    { id: "sessions.next", title: "Next session", section: "Session", keys: ["j", "ArrowDown"], run: () => move(1), keysOnly: true },
    { id: "sessions.previous", title: "Previous session", section: "Session", keys: ["k", "ArrowUp"], run: () => move(-1), keysOnly: true },
    {
      id: "sessions.open", title: "Open the chosen session", section: "Session", keys: ["Enter", "o"], keysOnly: true,
      run: () => {
        const row = rows[chosen];
        if (row !== undefined) void navigate(sessionPath(row.session_id));
      },
    },
    { id: "sessions.filter", title: "Filter sessions", section: "Session", keys: ["/", "f"], run: () => filter.current?.focus() },
  ]);

  return (
    <div className={css.page}>
      <div className={css.bar}>
        <h1>Sessions</h1>
        <FilterBox ref={filter} label="Filter sessions" placeholder="Title, agent or status" value={text} onChange={setText} />
        <Button look="primary" size="s" icon={<Plus aria-hidden="true" />} keyHint="c" disabled={agents.length === 0} onClick={() => desk.ui.setState({ overlay: "new_session", newSessionAgent: null })}>
          New session
        </Button>
      </div>
      <RowList
        rows={list}
        label="Sessions"
        renderRow={(index) => {
          const row = rows[index];
          return row !== undefined && <SessionItem row={row} now={now} chosen={index === chosen} />;
        }}
      >
        {ready && rows.length === 0 && <p className={css.none}>{text === "" ? "No session yet. Start one with New session." : "No session matches."}</p>}
      </RowList>
    </div>
  );
}

function SessionItem({ row, now, chosen }: { row: SessionRow; now: number; chosen: boolean }) {
  return (
    <div className={css.item} data-chosen={chosen}>
      <Mark kind={activityMark[row.activity]} />
      <Link className={css.link} to={sessionPath(row.session_id)} draggable={false}>
        {sessionTitle(row)}
      </Link>
      <span className={css.status} data-activity={row.activity}>
        {activityWord(row)}
        {row.queued_turns > 0 && row.activity !== "queued" && ` · ${row.queued_turns} queued`}
      </span>
      <span className={css.about}>
        {row.agent_id}
        {row.model !== null && ` · ${row.model}`}
        {row.scripted && <Chip>scripted</Chip>}
        {row.branches > 1 && <span>{row.branches} branches</span>}
        {row.open_interrupts > row.pausing_interrupts && <span>{row.open_interrupts - row.pausing_interrupts} waiting on another branch</span>}
      </span>
      <span className={css.when}>
        {usd(row.usage.cost_usd)} · <time title={exact(row.last_event_at)}>{ago(row.last_event_at, now)}</time>
      </span>
    </div>
  );
}

function matches(row: SessionRow, text: string): boolean {
  const all = `${sessionTitle(row)} ${row.agent_id} ${row.model ?? ""} ${activityWord(row)} ${row.session_id}`.toLowerCase();
  return text.toLowerCase().split(/\s+/).every((word) => all.includes(word));
}
