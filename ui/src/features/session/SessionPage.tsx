/** One session: tree, transcript with composer, inspector. Follows its session in the feed while it is on screen. */
import { useEffect, useLayoutEffect, useMemo, useState } from "react";
import { useParams, useSearchParams } from "react-router";
import { useStore } from "zustand";
import { createStore } from "zustand/vanilla";
import { useDesk, useDeskState } from "../../store/hooks";
import { createBodies } from "../transcript/bodies";
import { buildTreeIndex } from "../tree/treeIndex";
import { AskDialog } from "./AskDialog";
import { Panes } from "./Panes";
import { createOperations } from "./operations";
import { createView, modelOf, SessionContext, type Model, type SessionScope } from "./view";
import css from "./Session.module.css";

export function SessionPage() {
  const { id = "" } = useParams();
  const [search] = useSearchParams();
  const node = search.get("node");
  // Another session, or a link to another message, starts with a fresh view.
  return <OpenSession key={`${id} ${node ?? ""}`} sessionId={id} node={node} />;
}

function OpenSession({ sessionId, node }: { sessionId: string; node: string | null }) {
  const desk = useDesk();
  const followed = useDeskState((state) => (state.followedId === sessionId ? state.followed : null));
  const [view] = useState(() => createView(node));
  const viewed = useStore(view, (now) => now.viewed);
  const [newest] = useState(() => createStore<{ model: Model | null }>(() => ({ model: null })));
  const bodies = useMemo(() => createBodies(desk.transport, sessionId), [desk, sessionId]);
  const operations = useMemo(() => createOperations({ desk, sessionId, view, model: () => newest.getState().model }), [desk, sessionId, view, newest]);

  useEffect(() => {
    desk.follow(sessionId);
    return () => desk.follow(null);
  }, [desk, sessionId]);

  const nodes = followed?.nodes;
  const index = useMemo(() => (nodes === undefined ? null : buildTreeIndex(nodes)), [nodes]);
  const model = useMemo(() => (followed === null || index === null ? null : modelOf(followed, index, viewed)), [followed, index, viewed]);
  useLayoutEffect(() => newest.setState({ model }), [newest, model]);
  // A link may name a message of the active path: then nothing but the place to scroll to differs.
  const opened = model !== null;
  useLayoutEffect(() => {
    if (opened && node !== null) operations.show(node);
  }, [opened, node, operations]);

  const scope = useMemo((): SessionScope | null => (model === null ? null : { sessionId, view, model, operations, bodies }), [sessionId, view, model, operations, bodies]);
  if (scope === null) return <Opening sessionId={sessionId} />;
  return (
    <SessionContext value={scope}>
      <section className={css.page} aria-label="Session">
        <Panes />
        <AskDialog />
      </section>
    </SessionContext>
  );
}

function Opening({ sessionId }: { sessionId: string }) {
  const title = useDeskState((state) => state.sessions.get(sessionId)?.title);
  return (
    <section className={css.page} aria-label="Session" aria-busy="true">
      <header className={css.bar}><h1>{title === undefined || title === "" ? "Session" : title}</h1></header>
      <p className={css.opening}>Opening the session…</p>
    </section>
  );
}
