/** The message tree as a git-like graph: only rows in sight exist in the document, each with the piece of the lines that crosses it. */
import { defaultRangeExtractor, useVirtualizer } from "@tanstack/react-virtual";
import { ChevronDown, ChevronUp, X } from "lucide-react";
import { memo, useCallback, useEffect, useMemo, useRef, useState, type KeyboardEvent, type RefObject } from "react";
import { useActions } from "../../actions/hooks";
import type { Action } from "../../actions/action";
import { IconButton } from "../../components/Button";
import { Mark } from "../../components/Mark";
import { useNow } from "../../components/time";
import { isOpenCall } from "../session/status";
import { headline } from "../inbox/question";
import { useSession, useView, type Model } from "../session/view";
import { treeIntent, type TreeIntent } from "./keys";
import { layoutTree, rowOfKey, rowPath, type Layout, type Row } from "./layout";
import { describeRow, type RowWords } from "./rowWords";
import { Lines, rowHeight, textStart } from "./Lines";
import css from "./Tree.module.css";

export function Tree() {
  const { model, view, operations } = useSession();
  const opened = useView((now) => now.openedFolds);
  const focusKey = useView((now) => now.focusKey);
  const find = useView((now) => now.find);
  const layout = useTreeLayout(model, opened, focusKey);
  const focusAt = focusKey === null ? layout.headRow : rowOfKey(layout, focusKey);
  const scroller = useRef<HTMLDivElement>(null);
  const [opensAt] = useState(() => Math.max(0, (focusAt - 8) * rowHeight));
  // A new getItemKey makes it measure all rows again, so it changes with the rows only. Its functions read the newest measures on purpose.
  // oxlint-disable-next-line react/incompatible-library
  const virtual = useVirtualizer({
    count: layout.rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    initialOffset: opensAt,
    getItemKey: useCallback((at: number) => layout.rows[at]?.key ?? at, [layout]),
    overscan: 6,
    paddingStart: 6,
    paddingEnd: 12,
    // The row in focus stays in the document: the tree names it to screen readers.
    rangeExtractor: (range) => {
      const shown = defaultRangeExtractor(range);
      return focusAt < 0 || focusAt >= range.count || shown.includes(focusAt) ? shown : [...shown, focusAt].sort((a, b) => a - b);
    },
  });

  const focusRow = layout.rows[focusAt] ?? layout.rows[layout.headRow];
  const paths = useMemo(
    () => ({ active: rowPath(layout, model.followed.head_id), viewed: model.active ? [] : rowPath(layout, model.tip) }),
    [layout, model],
  );
  // The row that keys act on stays in sight: when it changes, and when the rows above it do.
  useEffect(() => {
    if (focusAt >= 0) virtual.scrollToIndex(focusAt, { align: "auto" });
  }, [focusAt, virtual]);

  const perform = (intent: TreeIntent): void => {
    switch (intent.type) {
      case "focus": {
        const row = layout.rows[rowOfKey(layout, intent.key)];
        if (row?.kind === "node") operations.show(intent.key);
        else view.setState({ focusKey: intent.key });
        return;
      }
      case "toggle_fold":
        view.setState((now) => ({ openedFolds: toggled(now.openedFolds, intent.key) }));
        return;
      case "make_active":
        void operations.makeActive(intent.id);
        return;
      case "edit":
        operations.edit(intent.id);
        return;
      case "regenerate":
        void operations.regenerate(intent.id);
        return;
      case "open_pause":
        operations.showQuestion(intent.id);
        return;
      case "find":
        view.setState({ find: "" });
        return;
      case "fit":
        view.setState({ openedFolds: new Set() });
        virtual.scrollToIndex(Math.max(0, focusAt), { align: "center" });
    }
  };
  const press = (key: string): boolean => {
    const intent = treeIntent(layout, { key: focusRow?.key ?? null, viewed: model.tip }, key);
    if (intent !== null) perform(intent);
    return intent !== null;
  };
  useTreeActions(scroller, press);

  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (press(event.key)) event.preventDefault();
  };
  // One function for all rows, so that scrolling draws only those that come into sight.
  const onPick = useCallback((picked: Row): void => {
    if (picked.kind === "fold") view.setState((now) => ({ openedFolds: toggled(now.openedFolds, picked.key) }));
    else if (picked.kind === "pause") operations.showQuestion(picked.id);
    else if (picked.kind === "node") operations.show(picked.key);
    else view.setState({ focusKey: picked.key });
  }, [operations, view]);
  const onMakeActive = useCallback((id: string): void => void operations.makeActive(id), [operations]);

  return (
    <div className={css.pane}>
      {find !== null && <FindInTree text={find} model={model} onFound={(id) => operations.show(id)} onClose={() => { view.setState({ find: null }); scroller.current?.focus(); }} />}
      <Unanchored layout={layout} model={model} />
      {layout.rows.length === 0 && <p className={css.empty}>No message yet.</p>}
      <div
        ref={scroller} className={css.tree} role="tree" aria-label="Message tree" tabIndex={0} onKeyDown={onKeyDown}
        aria-activedescendant={focusRow === undefined ? undefined : rowDomId(focusRow.key)}
      >
        <div className={css.rows} style={{ height: virtual.getTotalSize() }} role="presentation">
          {virtual.getVirtualItems().map((item) => {
            const row = layout.rows[item.index];
            if (row === undefined) return null;
            return (
              <TreeRow key={item.key} at={item.index} top={item.start} row={row} layout={layout} model={model} paths={paths}
                focused={row === focusRow} onPick={onPick} onMakeActive={onMakeActive} />
            );
          })}
        </div>
      </div>
    </div>
  );
}

export const rowDomId = (key: string): string => `tree-${key}`;

function toggled(set: ReadonlySet<string>, key: string): ReadonlySet<string> {
  const next = new Set(set);
  if (!next.delete(key)) next.add(key);
  return next;
}

function useTreeLayout(model: Model, opened: ReadonlySet<string>, focusKey: string | null): Layout {
  const { index, followed, tip } = model;
  const calls = useSame(useMemo(() => [...followed.calls.values()].filter((call) => isOpenCall(call.status)).map(({ id, anchor }) => ({ id, anchor })), [followed.calls]));
  const pauses = useSame(useMemo(() => followed.interrupts.map((row) => ({ id: row.interrupt_id, anchor: row.anchor })), [followed.interrupts]));
  const input = useMemo(() => ({ index, headId: followed.head_id, expanded: opened, calls, pauses }), [index, followed.head_id, pauses, calls, opened]);
  const layout = useMemo(() => layoutTree(input), [input]);
  // Only what a fold hides needs another layout: walking from row to row needs none.
  const hiddenTip = hiddenInFold(layout, tip);
  const hiddenFocus = hiddenInFold(layout, focusKey);
  return useMemo(() => {
    const reveal = new Set([hiddenTip, hiddenFocus].flatMap((id) => id ?? []));
    return reveal.size === 0 ? layout : layoutTree({ ...input, reveal });
  }, [layout, input, hiddenTip, hiddenFocus]);
}

function hiddenInFold(layout: Layout, id: string | null): string | null {
  const node = id === null ? undefined : layout.index.at.get(id);
  if (node === undefined) return null;
  return layout.rows[layout.rowOf[node] ?? -1]?.kind === "fold" ? id : null;
}

type Hung = readonly { readonly id: string; readonly anchor: string | null }[];

/** The list from before while it says the same: each step of a session brings new lists, few of them a new shape. */
function useSame(list: Hung): Hung {
  const [kept, keep] = useState(list);
  const same = kept.length === list.length && list.every((each, at) => each.id === kept[at]?.id && each.anchor === kept[at]?.anchor);
  if (!same) keep(list);
  return same ? kept : list;
}

interface TreeRowProps {
  readonly row: Row;
  readonly at: number;
  readonly top: number;
  readonly layout: Layout;
  readonly model: Model;
  readonly paths: { readonly active: readonly number[]; readonly viewed: readonly number[] };
  readonly focused: boolean;
  readonly onPick: (row: Row) => void;
  readonly onMakeActive: (id: string) => void;
}

const TreeRow = memo(function TreeRow({ row, at, top, layout, model, paths, focused, onPick, onMakeActive }: TreeRowProps) {
  const now = useNow(row.kind === "call" ? 1000 : undefined);
  const words = describeRow(layout, row, model, now);
  return (
    // The tree has the focus and the keys; its rows are named to screen readers by aria-activedescendant.
    // oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/interactive-supports-focus
    <div
      id={rowDomId(row.key)} role="treeitem" aria-level={row.lane + 1} aria-selected={focused} aria-label={words.name}
      aria-expanded={row.kind === "fold" ? false : row.kind === "node" && row.opened ? true : undefined}
      aria-current={row.kind === "node" && row.head ? "true" : undefined}
      className={css.row} data-kind={row.kind} data-active={row.active} style={{ transform: `translateY(${top}px)`, height: rowHeight, paddingLeft: textStart(row.lane, layout.lanes) }}
      onClick={() => onPick(row)} onDoubleClick={() => row.kind === "node" && onMakeActive(row.key)} title={words.hint}
    >
      <Lines row={row} at={at} layout={layout} paths={paths} tool={words.tool} />
      <RowText words={words} />
    </div>
  );
});

function RowText({ words }: { words: RowWords }) {
  return (
    <>
      <span className={css.text}>
        <span className={css.label}>
          {words.who !== null && <span className={css.who}>{words.who} </span>}
          <span>{words.label}</span>
          {words.mark !== null && <Mark kind={words.mark} />}
          {words.time !== null && <span className={css.time}>{words.time}</span>}
        </span>
        {words.below !== null && <span className={css.below}>{words.below}</span>}
      </span>
      {words.aside !== null && <span className={css.aside}>{words.aside}</span>}
    </>
  );
}

function Unanchored({ layout, model }: { layout: Layout; model: Model }) {
  const { operations } = useSession();
  if (layout.unanchored.length === 0) return null;
  return (
    <div className={css.banner} role="note">
      {layout.unanchored.map((id) => {
        const row = model.followed.interrupts.find((each) => each.interrupt_id === id);
        return row === undefined ? null : (
          <button key={id} type="button" className={css.bannerRow} onClick={() => operations.showQuestion(id)}>
            <Mark kind="waiting" label="waiting for you" />
            <span>
              <b>{headline(row)}</b>
              <span className={css.below}>Pauses every branch of this session</span>
            </span>
          </button>
        );
      })}
    </div>
  );
}

interface FindProps {
  readonly text: string;
  readonly model: Model;
  readonly onFound: (id: string) => void;
  readonly onClose: () => void;
}

function FindInTree({ text, model, onFound, onClose }: FindProps) {
  const { view } = useSession();
  const [position, setPosition] = useState(0);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const found = useMemo(() => matches(model, text), [model, text]);
  const go = (step: number): void => {
    if (found.length === 0) return;
    const next = (position + step + found.length) % found.length;
    setPosition(next);
    onFound(found[next] ?? "");
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "Escape") onClose();
    else if (event.key === "Enter") go(event.shiftKey ? -1 : 1);
    else return;
    event.preventDefault();
  };
  const count = text.trim() === "" ? "" : found.length === 0 ? "none" : `${Math.min(position, found.length - 1) + 1} of ${found.length}`;
  return (
    <div className={css.find} role="search">
      <input
        ref={field} type="search" aria-label="Find in tree" placeholder="Find in tree" value={text} onKeyDown={onKeyDown}
        onChange={(event) => {
          const typed = event.target.value;
          view.setState({ find: typed });
          setPosition(0);
          const first = matches(model, typed)[0];
          if (first !== undefined) onFound(first);
        }}
      />
      <span className={css.found} role="status">{count}</span>
      <IconButton label="Previous match" onClick={() => go(-1)}><ChevronUp /></IconButton>
      <IconButton label="Next match" onClick={() => go(1)}><ChevronDown /></IconButton>
      <IconButton label="Close find" onClick={onClose}><X /></IconButton>
    </div>
  );
}

function matches(model: Model, text: string): string[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return [];
  return model.index.nodes.flatMap((node) => (node.label.toLowerCase().includes(wanted) ? [node.id] : []));
}

/** The tree's keys as actions, so that the key sheet names them. They act while the tree has the focus. */
const treeKeys: readonly { readonly keys: readonly string[]; readonly press: string; readonly title: string }[] = [
  { keys: ["ArrowUp"], press: "ArrowUp", title: "Tree: message before" },
  { keys: ["ArrowDown"], press: "ArrowDown", title: "Tree: message after, along the path" },
  { keys: ["ArrowLeft"], press: "ArrowLeft", title: "Tree: sibling before" },
  { keys: ["ArrowRight"], press: "ArrowRight", title: "Tree: sibling after" },
  { keys: ["g"], press: "g", title: "Tree: first message" },
  { keys: ["Shift+g"], press: "G", title: "Tree: last message of the path" },
  { keys: ["Enter"], press: "Enter", title: "Tree: make active, open the fold or the question" },
  { keys: ["e"], press: "e", title: "Tree: edit the message" },
  { keys: ["r"], press: "r", title: "Tree: generate the reply again" },
  { keys: ["f"], press: "f", title: "Tree: fold all and centre" },
];

function useTreeActions(scroller: RefObject<HTMLDivElement | null>, press: (key: string) => boolean): void {
  const inTree = (): boolean => scroller.current !== null && scroller.current === document.activeElement;
  useActions(treeKeys.map((each): Action => ({
    id: `tree.${each.press}`, title: each.title, section: "Session", keys: each.keys, keysOnly: true, when: inTree, run: () => void press(each.press),
  })));
}
