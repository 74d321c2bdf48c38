// The decision log: every closed question, the newest first.

import { Download } from "lucide-react";
import { useEffect, useMemo, useRef, useState } from "react";
import { Link } from "react-router";
import { useActions } from "../../actions/hooks";
import { Button } from "../../components/Button";
import { Mark } from "../../components/Mark";
import { Menu } from "../../components/Menu";
import page from "../../components/Page.module.css";
import { FilterBox, RowList, useRows } from "../../components/RowList";
import { ago, exact, took, useNow } from "../../components/time";
import { Visible } from "../../components/Visible";
import { interruptPath, sessionPath } from "../../paths";
import { useDesk, useDeskState } from "../../store/hooks";
import { interruptKey } from "../../store/state";
import { asRefusal } from "../../transport/transport";
import type { InterruptRow } from "../../wire";
import { closing } from "../inbox/closing";
import { agentPath } from "../inbox/order";
import { headline } from "../inbox/question";
import css from "./ActivityPage.module.css";
import { decisionOf, matches, toCsv, toJson } from "./log";

const pageSize = 200;

export function ActivityPage() {
  const desk = useDesk();
  const now = useNow();
  const live = useDeskState((state) => state.interrupts);
  const user = useDeskState((state) => state.about.user);
  const [read, setRead] = useState<readonly InterruptRow[]>([]);
  const [more, setMore] = useState(true);
  const [problem, setProblem] = useState<string | null>(null);
  const [text, setText] = useState("");
  const filter = useRef<HTMLInputElement>(null);
  const before = read.at(-1)?.opened_at ?? null;

  async function readMore(): Promise<void> {
    try {
      const found = await desk.transport.listInterrupts("closed", before, pageSize);
      setRead((known) => [...known, ...found]);
      setMore(found.length === pageSize);
      setProblem(null);
    } catch (thrown) {
      setProblem(asRefusal(thrown).message);
    }
  }
  useEffect(() => {
    void readMore();
    // Once, when the place is opened; the rest comes by scrolling and by the feed.
    // oxlint-disable-next-line react/exhaustive-deps
  }, []);

  const rows = useMemo(() => newestFirst(read, [...live.values()]), [read, live]);
  const shown = useMemo(() => rows.filter((row) => matches(decisionOf(row, user), text)), [rows, text, user]);

  const list = useRows(
    shown.length,
    (index) => {
      const row = shown[index];
      return row === undefined ? String(index) : `${interruptKey(row)}#${row.opened_seq}`;
    },
    60,
  );

  function save(kind: "csv" | "json"): void {
    const decisions = shown.map((row) => decisionOf(row, user));
    download(`holdpoint-activity.${kind}`, kind === "csv" ? "text/csv" : "application/json", kind === "csv" ? toCsv(decisions) : toJson(decisions));
  }
  useActions([
    { id: "activity.filter", title: "Search the activity", section: "Window", keys: ["/", "f"], run: () => filter.current?.focus() },
    { id: "activity.csv", title: "Export the activity as CSV", section: "Window", run: () => save("csv") },
    { id: "activity.json", title: "Export the activity as JSON", section: "Window", run: () => save("json") },
  ]);

  return (
    <div className={page.page}>
      <div className={page.bar}>
        <h1>Activity</h1>
        <FilterBox ref={filter} label="Search the activity" placeholder="Question, agent, person, channel, outcome" value={text} onChange={setText} />
        <span className="faint">
          {shown.length} {shown.length === 1 ? "decision" : "decisions"}
        </span>
        <span className={css.export}>
          <Menu
            trigger={
              <Button size="s" icon={<Download aria-hidden="true" />} disabled={shown.length === 0}>
                Export
              </Button>
            }
            sections={[{ items: [{ label: "CSV", run: () => save("csv") }, { label: "JSON", run: () => save("json") }] }]}
          />
        </span>
      </div>
      {problem !== null && (
        <p className={css.problem} role="alert">
          The log could not be read: {problem}
        </p>
      )}
      <div className={css.rows}>
        <RowList
          rows={list}
          label="Decisions"
          renderRow={(index) => {
            const row = shown[index];
            return row !== undefined && <DecisionView row={row} user={user} now={now} />;
          }}
        >
          {shown.length === 0 && <p className={css.none}>{text === "" ? "No question was closed yet." : "No decision matches."}</p>}
          {more && shown.length > 0 && (
            <div className={css.more}>
              <Button size="s" onClick={() => void readMore()}>
                Read older decisions
              </Button>
            </div>
          )}
        </RowList>
      </div>
    </div>
  );
}

function DecisionView({ row, user, now }: { row: InterruptRow; user: string; now: number }) {
  const told = closing(row, user);
  const at = row.closed_at ?? row.opened_at;
  const inWindow = useDeskState((state) => state.interrupts.has(interruptKey(row)));
  return (
    <div className={css.item}>
      <Mark kind={row.outcome === "declined" ? "failed" : row.outcome === "answered" ? "done" : "cancelled"} />
      <span className={css.question}>
        {inWindow ? (
          <Link to={interruptPath(row)}>
            <Visible text={headline(row)} />
          </Link>
        ) : (
          <Visible text={headline(row)} />
        )}
      </span>
      <span className={css.told}>
        <b>{told.outcome}</b>
        {told.choice !== null && (
          <>
            {" "}“<Visible text={told.choice} />”
          </>
        )}
        {told.value !== undefined && <code> {shorten(JSON.stringify(told.value) ?? "")}</code>} {told.by}
        {told.text !== null && (
          <>
            : “<Visible text={told.text} />”
          </>
        )}
      </span>
      <span className={css.where}>
        {agentPath(row)} · <Link to={sessionPath(row.session_id, row.anchor)}>{row.session_title}</Link>
      </span>
      <span className={css.when}>
        <time title={exact(at)}>{ago(at, now)}</time> · waited {took(row.opened_at, at)}
      </span>
    </div>
  );
}

/** Rows read and rows that came by the feed, each once, closed ones only. */
function newestFirst(read: readonly InterruptRow[], live: readonly InterruptRow[]): InterruptRow[] {
  const byRaising = new Map([...read, ...live].filter((row) => row.closed_at !== null).map((row) => [`${interruptKey(row)}#${row.opened_seq}`, row]));
  return [...byRaising.values()].sort((a, b) => ((a.closed_at ?? "") < (b.closed_at ?? "") ? 1 : -1));
}

function shorten(text: string): string {
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}

function download(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
