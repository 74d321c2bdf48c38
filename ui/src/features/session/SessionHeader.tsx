/** Title, the one word the session stands in, who answers in it, and how to stop it. */
import { Ban, Link, Search } from "lucide-react";
import { ActionButton, useActions } from "../../actions/hooks";
import type { Action } from "../../actions/action";
import type { ReactNode } from "react";
import { Chip } from "../../components/Chip";
import { activityMark, activityWord, Mark } from "../../components/Mark";
import { Visible } from "../../components/Visible";
import { hasRun } from "./status";
import { useSession, useView } from "./view";
import css from "./Session.module.css";

export function SessionHeader({ tools }: { tools: ReactNode }) {
  const { model, operations, view } = useSession();
  const pending = useView((now) => now.pending);
  const { session, head_id: head } = model.followed;
  const cancellable = hasRun(session) || session.open_interrupts > 0 || session.queued_turns > 0;
  const cancel: Action = {
    id: "session.cancel", title: "Cancel run…", section: "Session", keys: ["Ctrl+.", "Escape Escape"], icon: Ban, inFields: true,
    when: () => view.getState().dialog === null, run: () => void operations.askCancel(),
  };
  const find: Action = { id: "session.find", title: "Find in tree", section: "Session", keys: ["/"], icon: Search, run: () => view.setState({ find: "" }) };
  const messageInFocus = (): string | null => view.getState().focusKey ?? head;
  useActions([
    cancel,
    find,
    { id: "session.link", title: "Copy link to this session", section: "Session", icon: Link, run: () => void operations.copyLink(null) },
    { id: "session.active", title: "Back to the active branch", section: "Session", when: () => view.getState().viewed !== null, run: operations.showActive },
    { id: "session.edit", title: "Edit the selected message", section: "Session", keys: ["e"], run: () => withId(messageInFocus(), operations.edit) },
    { id: "session.regenerate", title: "Generate the selected reply again", section: "Session", keys: ["r"], run: () => withId(messageInFocus(), (id) => void operations.regenerate(id)) },
  ]);
  return (
    <header className={css.bar}>
      <h1 title={session.title}><Visible text={session.title === "" ? "New session" : session.title} /></h1>
      <StatusPill />
      <span className={css.about}>
        <span>{session.agent_id}</span>
        {session.model !== null && <span>· {session.model}</span>}
        {session.scripted && <Chip title="Replies come from a script, not from a model">scripted</Chip>}
        <span>· {session.branches === 1 ? "1 branch" : `${session.branches} branches`}</span>
      </span>
      <span className={css.pending} role="status">{pending}</span>
      <span className={css.tools}>
        <ActionButton action={find} size="s" label="Find" />
        {cancellable && <ActionButton action={cancel} size="s" />}
        <span className={css.toggles}>{tools}</span>
      </span>
    </header>
  );
}

function StatusPill() {
  const { model } = useSession();
  const { session } = model.followed;
  return (
    <span className={css.pill} data-activity={session.activity} role="status" aria-label={`Status: ${activityWord(session)}`}>
      <Mark kind={activityMark[session.activity]} />
      {activityWord(session)}
    </span>
  );
}

function withId(id: string | null, work: (id: string) => void): void {
  if (id !== null) work(id);
}

