// Ctrl+K: every command by name, then questions, sessions, settings and agents.

import { useId, useMemo, useState, type KeyboardEvent } from "react";
import { useNavigate } from "react-router";
import { keyLabel } from "../actions/action";
import { useRegistry } from "../actions/hooks";
import { Dialog } from "../components/Dialog";
import { Kbd } from "../components/Kbd";
import { themeWords, undoChoices, undoWord } from "../features/settings/choices";
import type { Settings } from "../store/state";
import { agentPath } from "../features/inbox/order";
import { headline } from "../features/inbox/question";
import { interruptPath, placeOf, sessionPath } from "../paths";
import { useDesk, useDeskState, useUi } from "../store/hooks";
import { newestSessions, openInterrupts, sessionTitle } from "../store/selectors";
import css from "./Palette.module.css";
import { rank } from "./rank";

interface Entry {
  id: string;
  kind: string;
  title: string;
  hint: string;
  keys?: string | undefined;
  run: () => void;
}

const mostShown = 60;

export function Palette() {
  const desk = useDesk();
  const open = useUi((ui) => ui.overlay === "palette");
  return (
    <Dialog open={open} onClose={() => desk.ui.setState({ overlay: null })} title="Go to or do" size="l">
      {open && <Search />}
    </Dialog>
  );
}

function Search() {
  const desk = useDesk();
  const list = useId();
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const entries = useEntries();
  const link = useLinkEntry(text);
  const found = useMemo(() => link !== null ? [link] : rank(entries, text, (entry) => `${entry.title} ${entry.hint}`).slice(0, mostShown), [entries, link, text]);
  const chosen = Math.min(at, found.length - 1);

  function run(entry: Entry | undefined): void {
    if (entry === undefined) return;
    desk.ui.setState({ overlay: null });
    // The dialog gives the focus back first, so that what runs can take it.
    setTimeout(entry.run, 0);
  }

  function onKeyDown(event: KeyboardEvent): void {
    if (event.key === "ArrowDown") setAt(Math.min(found.length - 1, chosen + 1));
    else if (event.key === "ArrowUp") setAt(Math.max(0, chosen - 1));
    else if (event.key === "Enter") run(found[chosen]);
    else return;
    event.preventDefault();
  }

  return (
    <div className={css.palette}>
      <input
        // The palette is opened to type.
        // oxlint-disable-next-line jsx-a11y/no-autofocus
        autoFocus
        type="text"
        role="combobox"
        aria-expanded="true"
        aria-controls={list}
        aria-activedescendant={found.length > 0 ? `${list}-${chosen}` : undefined}
        aria-label="Command, session, question or agent"
        placeholder="Command, session, question or agent"
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setAt(0);
        }}
        onKeyDown={onKeyDown}
      />
      <ul id={list} role="listbox" aria-label="Found">
        {found.map((entry, index) => (
          // Keys are the input's: it keeps the focus, as a combobox does.
          // oxlint-disable-next-line jsx-a11y/click-events-have-key-events
          <li
            key={entry.id}
            id={`${list}-${index}`}
            role="option"
            aria-selected={index === chosen}
            ref={index === chosen ? (element) => element?.scrollIntoView?.({ block: "nearest" }) : undefined}
            onClick={() => run(entry)}
            onMouseMove={() => setAt(index)}
          >
            <span className={css.kind}>{entry.kind}</span>
            <span className={css.title}>{entry.title}</span>
            <span className={css.hint}>{entry.hint}</span>
            {entry.keys !== undefined && <Kbd keys={entry.keys} />}
          </li>
        ))}
        {found.length === 0 && <li className={css.none}>Nothing by that name.</li>}
      </ul>
    </div>
  );
}

/** A pasted `holdpoint:` link opens what it names. */
function useLinkEntry(text: string): Entry | null {
  const navigate = useNavigate();
  const interrupts = useDeskState((state) => state.interrupts);
  return useMemo(() => {
    const place = placeOf(text.trim(), openInterrupts(interrupts));
    return place === null ? null : { id: "link", kind: "Link", title: "Open what this link names", hint: "", run: () => void navigate(place) };
  }, [text, interrupts, navigate]);
}

function useEntries(): Entry[] {
  const desk = useDesk();
  const registry = useRegistry();
  const navigate = useNavigate();
  const interrupts = useDeskState((state) => state.interrupts);
  const sessions = useDeskState((state) => state.sessions);
  const agents = useDeskState((state) => state.agents);
  const chosenTheme = useDeskState((state) => state.settings.theme);
  const undoMs = useDeskState((state) => state.settings.undo_ms);
  return useMemo(
    () => [
      ...registry
        .all()
        .filter((action) => action.keysOnly !== true && action.id !== "window.palette")
        .map((action): Entry => ({ id: action.id, kind: action.section, title: action.title, hint: "", keys: action.keys?.[0] === undefined ? undefined : keyLabel(action.keys[0]), run: action.run })),
      ...openInterrupts(interrupts).map((row): Entry => ({ id: `${row.session_id}/${row.interrupt_id}`, kind: "Question", title: headline(row), hint: agentPath(row), run: () => void navigate(interruptPath(row)) })),
      ...newestSessions(sessions).map((row): Entry => ({ id: row.session_id, kind: "Session", title: sessionTitle(row), hint: row.agent_id, run: () => void navigate(sessionPath(row.session_id)) })),
      ...(Object.keys(themeWords) as Settings["theme"][]).map((theme): Entry => ({ id: `theme ${theme}`, kind: "Setting", title: `Theme: ${themeWords[theme]}`, hint: theme === chosenTheme ? "now" : "", run: () => desk.saveSettings({ theme }) })),
      ...undoChoices.map((ms): Entry => ({ id: `undo ${ms}`, kind: "Setting", title: `Time to undo: ${undoWord(ms)}`, hint: ms === undoMs ? "now" : "", run: () => desk.saveSettings({ undo_ms: ms }) })),
      ...agents.map((agent): Entry => ({ id: `agent ${agent.agent_id}`, kind: "Agent", title: `New session with ${agent.agent_id}`, hint: agent.model ?? "", run: () => desk.ui.setState({ overlay: "new_session", newSessionAgent: agent.agent_id }) })),
    ],
    [registry, interrupts, sessions, agents, chosenTheme, undoMs, navigate, desk],
  );
}
