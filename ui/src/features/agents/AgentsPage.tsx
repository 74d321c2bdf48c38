// The agents of the configuration, each with what keeps it from running, whole, where the person looks; and its connections.

import { Bot, Plug, Plus, TriangleAlert } from "lucide-react";
import { Button } from "../../components/Button";
import { Chip } from "../../components/Chip";
import page from "../../components/Page.module.css";
import { useDesk, useDeskState } from "../../store/hooks";
import type { AgentRow } from "../../wire";
import { ConnectionControls, ConnectionStanding } from "../connections/Connection";
import css from "./AgentsPage.module.css";

export function AgentsPage() {
  const agents = useDeskState((state) => state.agents);
  const path = useDeskState((state) => state.about.config_path);
  return (
    <div className={page.page}>
      <div className={page.bar}>
        <h1>Agents</h1>
        <span className="faint">{path !== "" && `from ${path}`}</span>
      </div>
      <div className={page.body}>
        {agents.length === 0 && <p className="muted">No agent is configured. Add an [agent.name] block to {path === "" ? "holdpoint.toml" : path}; it is read again when you save it.</p>}
        <ul className={css.list}>
          {agents.map((agent) => (
            <Agent key={agent.agent_id} agent={agent} />
          ))}
        </ul>
        <Connections />
      </div>
    </div>
  );
}

function Connections() {
  const connections = useDeskState((state) => state.connections);
  if (connections.length === 0) return null;
  return (
    <section aria-labelledby="connections">
      <h2 id="connections" className={css.part}>Connections</h2>
      <ul className={css.list}>
        {connections.map((row) => (
          <li key={row.path} className={css.agent} aria-label={row.path}>
            <Plug className={css.sign} aria-hidden="true" />
            <div className={css.text}>
              <h3>{row.path}</h3>
              <p className={css.facts}>{row.server}</p>
              <ConnectionStanding row={row} />
              <ConnectionControls row={row} />
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Agent({ agent }: { agent: AgentRow }) {
  const desk = useDesk();
  return (
    <li className={css.agent} aria-label={agent.agent_id}>
      <Bot className={css.sign} aria-hidden="true" />
      <div className={css.text}>
        <h2>
          {agent.agent_id}
          {agent.scripted && <Chip>scripted</Chip>}
          {agent.problem !== null && <Chip tone="danger">cannot run</Chip>}
        </h2>
        {agent.description !== null && <p>{agent.description}</p>}
        <p className={css.facts}>
          <span>{agent.model ?? "no model: its worker decides everything"}</span>
          {agent.worker !== null && <span>worker {agent.worker}</span>}
        </p>
        {agent.problem !== null && (
          <div className={css.problem}>
            <TriangleAlert aria-hidden="true" />
            <pre>{agent.problem}</pre>
          </div>
        )}
      </div>
      <Button size="s" icon={<Plus aria-hidden="true" />} aria-label={`New session with ${agent.agent_id}`} onClick={() => desk.ui.setState({ overlay: "new_session", newSessionAgent: agent.agent_id })}>
        New session
      </Button>
    </li>
  );
}
