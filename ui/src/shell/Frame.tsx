// The window around every place: rail, banners, and what floats above.

import { Activity, Bot, Inbox, Keyboard, MessagesSquare, Plus, Search, Settings } from "lucide-react";
import { useLayoutEffect } from "react";
import { Outlet, useNavigate } from "react-router";
import type { Action } from "../actions/action";
import { useActions, useKeyboard } from "../actions/hooks";
import { useForgetSentDrafts } from "../features/inbox/useAnswering";
import { useDesk, useDeskState, useUi } from "../store/hooks";
import { Announcer } from "./Announcer";
import { Banners } from "./Banners";
import css from "./Frame.module.css";
import { KeySheet } from "./KeySheet";
import { LinkDialog } from "./LinkDialog";
import { NewSessionDialog } from "./NewSessionDialog";
import { Palette } from "./Palette";
import { Rail } from "./Rail";
import { useTheme } from "./theme";
import { Toasts } from "./Toasts";
import { UndoBars, useUndo } from "./UndoBars";
import { useWaitingCount } from "./waiting";

export function Frame() {
  useKeyboard();
  useTheme();
  useForgetSentDrafts();
  useWindowActions();
  useTitle();
  const problem = useUi((ui) => ui.startProblem);
  return (
    <div className={css.frame}>
      <Rail>
        <Toasts />
        <UndoBars />
      </Rail>
      <div className={css.place}>
        <Banners />
        <main className={css.main}>{problem === null ? <Outlet /> : <StartProblem problem={problem} />}</main>
      </div>
      <Announcer />
      <Palette />
      <KeySheet />
      <LinkDialog />
      <NewSessionDialog />
    </div>
  );
}

function StartProblem({ problem }: { problem: string }) {
  return (
    <div className={css.problem} role="alert">
      <h1>Holdpoint could not start</h1>
      <p>{problem}</p>
      <button type="button" onClick={() => location.reload()}>
        Try again
      </button>
    </div>
  );
}

function useWindowActions(): void {
  const desk = useDesk();
  const navigate = useNavigate();
  const undo = useUndo();
  const agents = useDeskState((state) => state.agents);
  const overlay = (name: "palette" | "keys" | "new_session") => () => desk.ui.setState((ui) => ({ overlay: ui.overlay === name ? null : name, newSessionAgent: null }));
  const place = (id: string, title: string, path: string, key: string, icon: Action["icon"]): Action => ({
    id: `go.${id}`, title, section: "Go to", keys: [`g ${key}`], ...(icon === undefined ? {} : { icon }), run: () => void navigate(path),
  });
  useActions([
    place("inbox", "Inbox", "/inbox", "i", Inbox),
    place("sessions", "Sessions", "/sessions", "s", MessagesSquare),
    place("agents", "Agents", "/agents", "a", Bot),
    place("activity", "Activity", "/activity", "h", Activity),
    place("settings", "Settings", "/settings", ",", Settings),
    { id: "window.palette", title: "Find a command, session or question", section: "Window", keys: ["Ctrl+k"], icon: Search, run: overlay("palette") },
    { id: "window.keys", title: "All keys", section: "Window", keys: ["?"], icon: Keyboard, run: overlay("keys") },
    { id: "window.new_session", title: "New session…", section: "Window", keys: ["c", "Ctrl+n"], icon: Plus, when: () => agents.length > 0, run: overlay("new_session") },
    { id: "window.undo", title: "Undo the last answer", section: "Window", keys: ["u"], when: () => undo !== null, run: () => undo?.() },
  ]);
}

/** The title says who waits, so that a task bar tells it too. */
function useTitle(): void {
  const waiting = useWaitingCount();
  useLayoutEffect(() => {
    document.title = waiting === 0 ? "Holdpoint" : `Holdpoint (${waiting} waiting)`;
  }, [waiting]);
}
