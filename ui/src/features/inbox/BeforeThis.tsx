// The last few messages before the question, read only when the person opens them.

import { useEffect, useMemo, useState } from "react";
import { Markdown } from "../../components/Markdown";
import { useDesk, useDeskState } from "../../store/hooks";
import type { Followed } from "../../store/state";
import type { InterruptRow, NodeRow } from "../../wire";
import { usd } from "../../components/money";
import css from "./BeforeThis.module.css";

const shown = 6;

export function BeforeThis({ row }: { row: InterruptRow }) {
  const [open, setOpen] = useState(false);
  const session = useDeskState((state) => state.sessions.get(row.session_id));
  return (
    <details className={css.before} open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        Before this, on this branch
        {session !== undefined && <span className={css.spend}> · {usd(session.usage.cost_usd)} spent in this session so far</span>}
      </summary>
      {open && <Messages row={row} />}
    </details>
  );
}

function Messages({ row }: { row: InterruptRow }) {
  const desk = useDesk();
  const followed = useDeskState((state) => state.followed);
  const [bodies, setBodies] = useState<ReadonlyMap<string, string>>(new Map());
  const { session_id, anchor } = row;
  useEffect(() => {
    desk.follow(session_id);
    return () => desk.follow(null);
  }, [desk, session_id]);
  const path = useMemo(() => (followed?.session.session_id === session_id ? lastMessages(followed, anchor) : null), [followed, session_id, anchor]);
  const wanted = path?.map((node) => node.id).join("\n") ?? "";
  useEffect(() => {
    if (wanted === "") return;
    let current = true;
    desk.transport.nodeBodies(session_id, wanted.split("\n")).then(
      (found) => current && setBodies(new Map(found.map((body) => [body.id, messageText(body.message)]))),
      () => undefined,
    );
    return () => {
      current = false;
    };
  }, [desk, session_id, wanted]);
  if (path === null) return <p className="faint">Reading…</p>;
  if (path.length === 0) return <p className="faint">Nothing was said before this.</p>;
  return path.map((node) => (
    <div key={node.id} className={css.message}>
      <b>{node.role === "user" ? "You" : node.role === "assistant" ? (row.path.at(-1)?.agent_id ?? "Agent") : node.role}</b>
      <Markdown text={bodies.get(node.id) || node.label} />
    </div>
  ));
}

/** From the anchor (else the head) up, oldest first; tool results and system messages left out. */
function lastMessages(followed: Pick<Followed, "nodeById" | "head_id">, anchor: string | null): NodeRow[] {
  const found: NodeRow[] = [];
  let at = followed.nodeById.get(anchor ?? followed.head_id ?? "");
  while (at !== undefined && found.length < shown) {
    if (at.role === "user" || at.role === "assistant") found.unshift(at);
    at = at.parent_id === null ? undefined : followed.nodeById.get(at.parent_id);
  }
  return found;
}

/** The text of a message: its string, or the text of its parts. */
function messageText(message: unknown): string {
  const content = typeof message === "object" && message !== null ? (message as { content?: unknown }).content : undefined;
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part: unknown) => (typeof part === "object" && part !== null && typeof (part as { text?: unknown }).text === "string" ? (part as { text: string }).text : "")).join("");
}
