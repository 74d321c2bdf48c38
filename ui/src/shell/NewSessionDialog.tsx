// A new session: which agent, and the first message. Opens the session once the engine took it.

import { useState } from "react";
import { useNavigate } from "react-router";
import { keyLabel } from "../actions/action";
import { Button } from "../components/Button";
import { Dialog } from "../components/Dialog";
import { Select, TextBox } from "../components/Field";
import { sessionPath } from "../paths";
import { newSessionId } from "../store/id";
import { useDesk, useDeskState, useUi } from "../store/hooks";
import { asRefusal } from "../transport/transport";
import css from "./NewSessionDialog.module.css";

const draftKey = "new_session";

export function NewSessionDialog() {
  const open = useUi((ui) => ui.overlay === "new_session");
  return open ? <Content /> : null;
}

function Content() {
  const desk = useDesk();
  const navigate = useNavigate();
  const agents = useDeskState((state) => state.agents);
  const given = useUi((ui) => ui.newSessionAgent);
  const saved = useDeskState((state) => state.drafts.get(draftKey));
  const text = typeof saved === "string" ? saved : "";
  const [picked, setPicked] = useState(given ?? agents.find((agent) => agent.problem === null)?.agent_id ?? agents[0]?.agent_id ?? "");
  const [problem, setProblem] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const agent = agents.find((each) => each.agent_id === picked);
  const close = (): void => desk.ui.setState({ overlay: null, newSessionAgent: null });

  async function create(): Promise<void> {
    if (text.trim() === "") {
      setProblem("Write the first message.");
      return;
    }
    setBusy(true);
    setProblem(null);
    const id = newSessionId();
    try {
      await desk.submit(id, { type: "create_session", agent_id: picked, text });
      desk.draft(draftKey, undefined);
      close();
      void navigate(sessionPath(id));
    } catch (thrown) {
      setProblem(asRefusal(thrown).message);
    } finally {
      setBusy(false);
    }
  }

  return (
    <Dialog
      open
      onClose={close}
      title="New session"
      actions={
        <>
          <Button onClick={close}>Cancel</Button>
          <Button look="primary" keyHint={keyLabel("Ctrl+Enter")} disabled={busy || picked === ""} onClick={() => void create()}>
            Start
          </Button>
        </>
      }
    >
      <div className={css.fields}>
        <Select label="Agent" value={picked} onChange={(event) => setPicked(event.target.value)}>
          {agents.map((each) => (
            <option key={each.agent_id} value={each.agent_id}>
              {each.agent_id}
              {each.model === null ? "" : ` · ${each.model}`}
            </option>
          ))}
        </Select>
        {agent?.description != null && <p className="muted">{agent.description}</p>}
        {agent?.problem != null && <pre className={css.problem}>{agent.problem}</pre>}
        <TextBox
          // The dialog is opened to write this.
          // oxlint-disable-next-line jsx-a11y/no-autofocus
          autoFocus
          label="First message"
          tall
          value={text}
          problem={problem}
          onChange={(event) => desk.draft(draftKey, event.target.value === "" ? undefined : event.target.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
              event.preventDefault();
              void create();
            }
          }}
        />
      </div>
    </Dialog>
  );
}
