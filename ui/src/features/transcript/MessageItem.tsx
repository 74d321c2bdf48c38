/** One message: who, when, its text, the switcher where the path forks, and what can be done with it. */
import { Copy, GitBranch, Link, Pencil, RefreshCw } from "lucide-react";
import { memo, type ReactNode } from "react";
import { IconButton } from "../../components/Button";
import { Markdown } from "../../components/Markdown";
import { clock, exact } from "../../components/time";
import { Visible } from "../../components/Visible";
import type { NodeRow } from "../../wire";
import { useSession, useView } from "../session/view";
import { siblingsOf } from "../tree/treeIndex";
import { useBody } from "./bodies";
import { codeBlock } from "./CodeBlock";
import { EditMessage } from "./EditMessage";
import type { ReadMessage } from "./message";
import css from "./Transcript.module.css";

export const MessageItem = memo(function MessageItem({ node, number, forked }: { node: NodeRow; number: number; forked: boolean }) {
  const { bodies } = useSession();
  const body = useBody(bodies, node.id);
  const editing = useView((view) => view.editing === node.id);
  const focused = useView((view) => view.focusKey === node.id);
  const who = useWho(node.role);
  // The cards of its calls follow: without a text the message is only their heading.
  const onlyCalls = node.tool_calls.length > 0 && body !== null && body.text === "";
  return (
    <article className={css.message} data-role={node.role} data-focused={focused} data-bare={onlyCalls} aria-label={`${who}, message ${number}`}>
      <header className={css.head}>
        <b>{who}</b>
        <time dateTime={node.at} title={exact(node.at)}>{clock(node.at)}</time>
        {forked && <Switcher id={node.id} />}
        {forked && node.role === "user" && <Edited id={node.id} />}
        {!editing && <Actions node={node} body={body} />}
      </header>
      {editing ? <EditMessage messageId={node.id} recorded={body?.text ?? null} /> : <Body body={body} label={node.label} />}
    </article>
  );
});

export function useWho(role: string): string {
  const { model } = useSession();
  switch (role) {
    case "user": return "You";
    case "assistant": return model.followed.session.agent_id;
    case "system": return "System";
    default: return "Tool";
  }
}

/** Until the text is read, its first line stands for it. */
function Body({ body, label }: { body: ReadMessage | null; label: string }): ReactNode {
  if (body === null) return <p className={css.unread}><Visible text={label} /></p>;
  return (
    <>
      {body.text !== "" && <Markdown text={body.text} code={codeBlock} />}
      {body.otherParts.length > 0 && (
        <details className={css.parts}>
          <summary>{body.otherParts.length === 1 ? "1 part that is no text" : `${body.otherParts.length} parts that are no text`}</summary>
          <pre>{JSON.stringify(body.otherParts, null, 2)}</pre>
        </details>
      )}
    </>
  );
}

export function Switcher({ id }: { id: string }) {
  const { model, operations } = useSession();
  const { ids, position } = siblingsOf(model.index, id);
  return (
    <span className={css.switcher} role="group" aria-label={`Version ${position + 1} of ${ids.length}`}>
      <button type="button" aria-label="Version before" title="Version before" disabled={position === 0} onClick={() => operations.showSibling(id, -1)}>‹</button>
      <span>{position + 1}/{ids.length}</span>
      <button type="button" aria-label="Version after" title="Version after" disabled={position === ids.length - 1} onClick={() => operations.showSibling(id, 1)}>›</button>
    </span>
  );
}

function Edited({ id }: { id: string }) {
  const { model } = useSession();
  return siblingsOf(model.index, id).position > 0 ? <span>edited</span> : null;
}

function Actions({ node, body }: { node: NodeRow; body: ReadMessage | null }) {
  const { operations, model } = useSession();
  // After a message of the person's own, or one that asked for tools, the engine would go on at once: there is nothing to write then.
  const canBranch = node.role === "assistant" && node.tool_calls.length === 0 && model.followed.head_id !== node.id;
  return (
    <span className={css.actions} role="group" aria-label="Message actions">
      {node.role === "user" && <IconButton label="Edit" keyHint="e" onClick={() => operations.edit(node.id)}><Pencil /></IconButton>}
      {node.role === "assistant" && <IconButton label="Regenerate" keyHint="r" onClick={() => void operations.regenerate(node.id)}><RefreshCw /></IconButton>}
      {canBranch && <IconButton label="Branch from here" onClick={() => void operations.branchFrom(node.id)}><GitBranch /></IconButton>}
      <IconButton label="Copy" disabled={body === null} onClick={() => void operations.copy(body?.text ?? "", "Message")}><Copy /></IconButton>
      <IconButton label="Copy link" onClick={() => void operations.copyLink(node.id)}><Link /></IconButton>
    </span>
  );
}
