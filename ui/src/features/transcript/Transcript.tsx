/** One path of the session, from its first message to the head or to the message picked in the tree. Only items in sight exist. */
import { useVirtualizer } from "@tanstack/react-virtual";
import { useCallback, useEffect, useMemo, useRef, useState, type UIEvent } from "react";
import { useStore } from "zustand";
import { Button } from "../../components/Button";
import { useKeepFocus } from "../../components/useKeepFocus";
import { useDeskState } from "../../store/hooks";
import type { InterruptRow } from "../../wire";
import { num } from "../tree/treeIndex";
import { useSession, useView } from "../session/view";
import { InterruptCard } from "../inbox/InterruptCard";
import { useWanted } from "./bodies";
import { bodiesOf, transcriptItems, type Item } from "./items";
import { MessageItem } from "./MessageItem";
import { StreamItem } from "./StreamItem";
import { ToolCard } from "./ToolCard";
import { TurnEnd } from "./TurnEnd";
import css from "./Transcript.module.css";

export function Transcript() {
  const { model, bodies } = useSession();
  const jump = useView((now) => now.jump);
  const { index, path, followed } = model;
  const { calls, turns } = followed;
  const interrupts = useQuestions();
  const items = useMemo(() => transcriptItems({ index, path, calls, turns, interrupts }), [index, path, calls, turns, interrupts]);
  const scroller = useRef<HTMLDivElement>(null);
  // Where it opens, by estimate: drawing the first items only to scroll away from them costs most of the opening.
  const [opensAt] = useState(() => offsetOf(items, jump === null ? -1 : placeOf(items, jump.key)));
  // A new getItemKey makes it measure all items again, so it changes with the items only. Its functions read the newest measures on purpose.
  // oxlint-disable-next-line react/incompatible-library
  const virtual = useVirtualizer({
    count: items.length,
    getScrollElement: () => scroller.current,
    estimateSize: (at) => estimate(items[at]),
    initialOffset: opensAt,
    getItemKey: useCallback((at: number) => items[at]?.key ?? at, [items]),
    overscan: 4,
    paddingStart: 18,
    paddingEnd: 18,
    anchorTo: "end",
    followOnAppend: true,
    scrollEndThreshold: 60,
  });
  useKeepFocus(scroller, "[data-interrupt-card='open']");
  const shown = virtual.getVirtualItems();
  useWanted(bodies, shown.flatMap((each) => { const item = items[each.index]; return item === undefined ? [] : bodiesOf(item); }));

  // At its end it stays at its end, also when the last item is another one than before: a reply in place of its streamed text.
  const atEnd = useRef(true);
  const lastKey = items.at(-1)?.key;
  useEffect(() => {
    if (atEnd.current) virtual.scrollToEnd();
  }, [lastKey, virtual]);
  const onScroll = (event: UIEvent<HTMLElement>): void => {
    const { scrollHeight, scrollTop, clientHeight } = event.currentTarget;
    atEnd.current = scrollHeight - scrollTop - clientHeight < 60;
  };

  // A path opens at its end, or at what was asked for.
  const jumped = useRef(0);
  const shownTip = useRef<string | null>(null);
  const newest = useRef(items);
  newest.current = items;
  useEffect(() => {
    const fresh = jump !== null && jump.count !== jumped.current;
    const at = fresh ? placeOf(newest.current, jump.key) : -1;
    const last = newest.current.length - 1;
    if (at >= 0) {
      // Asked for on a path that is not drawn yet, it stays asked for.
      jumped.current = jump?.count ?? 0;
      atEnd.current = at === last;
      virtual.scrollToIndex(at, { align: at === last ? "end" : "center" });
    } else if (shownTip.current === null && last >= 0) {
      virtual.scrollToIndex(last, { align: "end" });
    }
    shownTip.current = model.tip;
  }, [jump, model.tip, virtual]);

  return (
    <div className={css.pane}>
      {!model.active && <ViewBanner />}
      <BodiesProblem />
      {/* Reading by keyboard needs the scroller to take the focus. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <div ref={scroller} className={css.scroller} role="log" aria-label="Transcript" aria-live="off" tabIndex={0} onScroll={onScroll}>
        <div className={css.items} style={{ height: virtual.getTotalSize() }}>
          {shown.map((each) => {
            const item = items[each.index];
            return item === undefined ? null : (
              <div key={each.key} ref={virtual.measureElement} data-index={each.index} className={css.place} style={{ transform: `translateY(${each.start}px)` }}>
                <ItemView item={item} />
              </div>
            );
          })}
        </div>
        {items.length === 0 && <p className={css.empty}>No message yet. Write the first one below.</p>}
      </div>
    </div>
  );
}

/**
 * Open questions, and those that closed while this window was open: their cards stay and tell how they ended.
 */
function useQuestions(): InterruptRow[] {
  const { sessionId } = useSession();
  const known = useDeskState((state) => state.interrupts);
  return useMemo(
    () => [...known.values()].filter((row) => row.session_id === sessionId).sort((a, b) => a.opened_seq - b.opened_seq),
    [known, sessionId],
  );
}

function ItemView({ item }: { item: Item }) {
  switch (item.kind) {
    case "message": return <MessageItem node={item.node} number={item.number} forked={item.forked} />;
    case "tool": return <ToolCard item={item} />;
    case "stream": return <StreamItem call={item.call} />;
    case "interrupt": return <div className={css.card}><InterruptCard row={item.interrupt} context="transcript" /></div>;
    case "ended": return <TurnEnd turn={item.turn} />;
  }
}

/** Heights before they are measured; close ones keep the scroll bar still. */
function estimate(item: Item | undefined): number {
  switch (item?.kind) {
    case "tool": return 44;
    case "interrupt": return 190;
    case "ended": return 60;
    default: return 78;
  }
}

/** Estimated place of an item; of the end for none. */
function offsetOf(items: readonly Item[], at: number): number {
  let offset = 0;
  for (let before = 0; before < (at < 0 ? items.length : at); before += 1) offset += estimate(items[before]);
  return at < 0 ? offset : Math.max(0, offset - 200);
}

/** A message, a question, or the message inside a call's card. */
function placeOf(items: readonly Item[], key: string): number {
  return items.findIndex((item) => item.key === key || (item.kind === "tool" && item.result?.id === key));
}

function ViewBanner() {
  const { model, operations } = useSession();
  const { index, tip } = model;
  const branch = num(index.branch, (tip === null ? undefined : index.at.get(tip)) ?? -1);
  return (
    <div className={css.notice} role="status">
      <span><b>Not active.</b> This is branch {branch}.</span>
      <span className={css.noticeActions}>
        <Button size="s" look="quiet" onClick={operations.showActive}>Back to active</Button>
        <Button size="s" onClick={() => tip !== null && void operations.makeActive(tip)}>Make active</Button>
      </span>
    </div>
  );
}

function BodiesProblem() {
  const { bodies, model } = useSession();
  const problem = useStore(bodies.store, (held) => held.problem);
  if (problem === null) return null;
  return (
    <div className={css.notice} role="alert" data-tone="danger">
      <span>Some messages could not be read: {problem}</span>
      <Button size="s" onClick={() => bodies.want(model.path.slice(-200).map((at) => model.index.nodes[at]?.id ?? ""))}>Try again</Button>
    </div>
  );
}
