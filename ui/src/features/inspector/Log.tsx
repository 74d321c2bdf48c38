/** The raw events, newest at the bottom: read backwards in pages, followed as they come, filtered, opened, copied. */
import { useVirtualizer } from "@tanstack/react-virtual";
import { Copy } from "lucide-react";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { Button, IconButton } from "../../components/Button";
import { exact } from "../../components/time";
import { Visible } from "../../components/Visible";
import type { EventRow } from "../../wire";
import { useSession } from "../session/view";
import css from "./Inspector.module.css";
import { useLog } from "./useLog";

export function Log() {
  const { operations } = useSession();
  const log = useLog();
  const [filter, setFilter] = useState("");
  const [follow, setFollow] = useState(true);
  const [opened, setOpened] = useState<number | null>(null);
  const scroller = useRef<HTMLDivElement>(null);
  const rows = useMemo(() => log.rows.filter((row) => passes(row, filter)), [log.rows, filter]);
  // Its functions read the newest measures on purpose.
  // oxlint-disable-next-line react/incompatible-library
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => 26,
    getItemKey: useCallback((at: number) => rows[at]?.seq ?? at, [rows]),
    overscan: 8,
    anchorTo: "end",
    followOnAppend: follow,
  });
  const last = rows.at(-1)?.seq;
  useEffect(() => {
    if (follow && last !== undefined) virtual.scrollToEnd();
  }, [follow, last, virtual]);
  return (
    <div className={css.log}>
      <div className={css.logBar}>
        <input type="search" aria-label="Filter events" placeholder="Filter: type or content" value={filter} onChange={(event) => setFilter(event.target.value)} />
        <label><input type="checkbox" checked={follow} onChange={(event) => setFollow(event.target.checked)} /> Follow</label>
        <IconButton label="Copy the events shown" onClick={() => void operations.copy(rows.map((row) => JSON.stringify(row)).join("\n"), `${rows.length} events`)}><Copy /></IconButton>
      </div>
      {log.problem !== null && <p className={css.error} role="alert">{log.problem}</p>}
      {log.older && <Button size="s" look="quiet" onClick={log.readOlder}>Read earlier events</Button>}
      {rows.length === 0 && <p className={css.note}>{log.rows.length === 0 ? "No event read yet." : "No event passes the filter."}</p>}
      {/* The rows scroll, and keys scroll only what has the focus. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <div ref={scroller} className={css.logRows} role="log" aria-label="Events" aria-live="off" tabIndex={0}>
        <div style={{ height: virtual.getTotalSize(), position: "relative" }}>
          {virtual.getVirtualItems().map((item) => {
            const row = rows[item.index];
            return row === undefined ? null : (
              <div key={item.key} ref={virtual.measureElement} data-index={item.index} className={css.place} style={{ transform: `translateY(${item.start}px)` }}>
                <EventLine row={row} open={opened === row.seq} onToggle={() => setOpened(opened === row.seq ? null : row.seq)} />
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}

function passes(row: EventRow, filter: string): boolean {
  const wanted = filter.trim().toLowerCase();
  return wanted === "" || row.kind.includes(wanted) || JSON.stringify(row.payload).toLowerCase().includes(wanted);
}

function EventLine({ row, open, onToggle }: { row: EventRow; open: boolean; onToggle: () => void }) {
  const { operations } = useSession();
  const text = JSON.stringify(row.payload, null, 2);
  return (
    <>
      <button type="button" className={css.event} aria-expanded={open} onClick={onToggle} title={exact(row.at)}>
        <span className={css.seq}>{row.seq}</span>
        <span className={css.kind}>{row.kind}</span>
        <span className={css.clock}>{row.at.slice(11, 23)}</span>
      </button>
      {open && (
        <div className={css.payload}>
          <IconButton label="Copy event" onClick={() => void operations.copy(JSON.stringify(row), "Event")}><Copy /></IconButton>
          {/* A long payload scrolls, and keys scroll only what has the focus. */}
          {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
          <pre tabIndex={0}><Visible text={text} /></pre>
        </div>
      )}
    </>
  );
}
