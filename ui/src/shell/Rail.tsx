// Places, who waits, what runs, and how the engine is.

import { Activity, Bot, Inbox, MessagesSquare, Settings, type LucideIcon } from "lucide-react";
import { useMemo, type ReactNode } from "react";
import { NavLink, Link } from "react-router";
import { Mark } from "../components/Mark";
import { usd } from "../components/money";
import { sessionPath } from "../paths";
import { useDeskState, useUi } from "../store/hooks";
import { newestSessions, sessionTitle } from "../store/selectors";
import type { SessionRow } from "../wire";
import css from "./Rail.module.css";
import { useWaitingCount } from "./waiting";

const mostShown = 8;

/** `children`: short notes. They have a place of their own here, so that nothing a person writes in or answers with is ever covered. */
export function Rail({ children }: { children: ReactNode }) {
  const sessions = useDeskState((state) => state.sessions);
  const newest = useMemo(() => newestSessions(sessions), [sessions]);
  const waitingCount = useWaitingCount();
  // Who waits longest stands first, as in the inbox.
  const waiting = newest.filter((row) => row.activity === "waiting_for_you").reverse();
  const running = newest.filter((row) => row.activity === "running" || row.activity === "waiting_for_tool");
  return (
    <div className={css.rail}>
      <nav className={css.places} aria-label="Main">
        <div className={css.brand}>
          <Logo />
          Holdpoint
        </div>
        <Place to="/inbox" icon={Inbox} name="Inbox" count={waitingCount} hot />
        <Place to="/sessions" icon={MessagesSquare} name="Sessions" count={newest.length} />
        <Place to="/agents" icon={Bot} name="Agents" />
        <Place to="/activity" icon={Activity} name="Activity" />
        <Place to="/settings" icon={Settings} name="Settings" />
        <div className={css.lists}>
          <Sessions title="Waiting for you" rows={waiting} />
          <Sessions title="Running" rows={running} />
        </div>
      </nav>
      <section className={css.notes} aria-label="Notes">
        {children}
      </section>
      <Foot />
    </div>
  );
}

function Place({ to, icon: Icon, name, count, hot = false }: { to: string; icon: LucideIcon; name: string; count?: number; hot?: boolean }) {
  return (
    <NavLink to={to} className={css.place ?? ""} draggable={false}>
      <Icon aria-hidden="true" />
      {name}
      {count !== undefined && count > 0 && (
        <span className={css.count} data-hot={hot}>
          {count}
          {hot && <span className="visually-hidden"> waiting</span>}
        </span>
      )}
    </NavLink>
  );
}

function Sessions({ title, rows }: { title: string; rows: SessionRow[] }) {
  if (rows.length === 0) return null;
  return (
    <section aria-label={title}>
      <h2 className={css.heading}>{title}</h2>
      <ul>
        {rows.slice(0, mostShown).map((row) => (
          <li key={row.session_id}>
            <Link to={sessionPath(row.session_id)} className={css.session} title={sessionTitle(row)} draggable={false}>
              <Mark kind={row.activity === "waiting_for_you" ? "waiting" : row.activity === "running" ? "running" : "tool"} />
              <span>{sessionTitle(row)}</span>
            </Link>
          </li>
        ))}
      </ul>
      {rows.length > mostShown && (
        <Link to="/sessions" className={css.more}>
          {rows.length - mostShown} more
        </Link>
      )}
    </section>
  );
}

function Foot() {
  const engine = useDeskState((state) => state.engine);
  const ready = useDeskState((state) => state.ready);
  const line = useUi((ui) => ui.line);
  const state = line === "lost" ? "Connecting again…" : !ready ? "Starting…" : engine.state === "running" ? "Engine running" : `Engine ${engine.state}`;
  const well = line === "open" && engine.state === "running";
  return (
    <footer className={css.foot}>
      <div className={css.engine}>
        <span data-well={well} role="status">
          {state}
        </span>
        <span title="Spent today">{usd(engine.spend_today_usd)} today</span>
      </div>
      {engine.address !== null && (
        <div className={css.address} title={`API at ${engine.address}`}>
          API {engine.address.replace(/^https?:\/\//, "")}
        </div>
      )}
    </footer>
  );
}

function Logo() {
  return (
    <svg width="20" height="20" viewBox="0 0 20 20" aria-hidden="true">
      <rect x="1" y="1" width="18" height="18" rx="5" fill="var(--text)" />
      <rect x="6" y="5.5" width="2.6" height="9" rx="1.3" fill="var(--bg)" />
      <circle cx="13" cy="10" r="2.6" fill="none" stroke="var(--bg)" strokeWidth="2" />
    </svg>
  );
}
