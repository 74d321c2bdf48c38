/** The events of the session on screen: the newest page first, older ones when asked for, new ones as the session moves on. */
import { useCallback, useEffect, useRef, useState } from "react";
import { useDesk } from "../../store/hooks";
import { asRefusal } from "../../transport/transport";
import type { EventRow } from "../../wire";
import { useSession } from "../session/view";

const page = 500;

export interface EventLog {
  readonly rows: readonly EventRow[];
  readonly older: boolean;
  readonly problem: string | null;
  readonly readOlder: () => void;
}

export function useLog(): EventLog {
  const { sessionId, model } = useSession();
  const desk = useDesk();
  const newest = model.followed.session.seq;
  const [rows, setRows] = useState<readonly EventRow[]>([]);
  const [problem, setProblem] = useState<string | null>(null);
  const held = useRef<readonly EventRow[]>([]);
  // One read at a time, so that pages cannot arrive in the wrong order.
  const line = useRef<Promise<void>>(Promise.resolve());

  const read = useCallback((range: () => { after: number; upTo: number } | null): void => {
    line.current = line.current.then(async () => {
      const wanted = range();
      if (wanted === null) return;
      try {
        const found = await desk.transport.events(sessionId, wanted.after, Math.min(page, wanted.upTo - wanted.after));
        const known = new Set(held.current.map((row) => row.seq));
        held.current = [...held.current, ...found.filter((row) => !known.has(row.seq))].sort((a, b) => a.seq - b.seq);
        setRows(held.current);
        setProblem(null);
      } catch (thrown) {
        setProblem(asRefusal(thrown).message);
      }
    });
  }, [desk, sessionId]);

  useEffect(() => {
    read(() => {
      const last = held.current.at(-1)?.seq ?? Math.max(0, newest - page);
      // Far behind means the pane was hidden for long: the gap is left to "earlier".
      if (newest - last > page) held.current = [];
      return newest > last ? { after: Math.max(last, newest - page), upTo: newest } : null;
    });
  }, [newest, read]);

  const first = rows[0]?.seq ?? 1;
  const readOlder = useCallback(() => {
    read(() => {
      const oldest = held.current[0]?.seq ?? 1;
      return oldest > 1 ? { after: Math.max(0, oldest - 1 - page), upTo: oldest - 1 } : null;
    });
  }, [read]);
  return { rows, older: first > 1, problem, readOlder };
}
