// Who waits for the person: the list on the left, the chosen question on the right.

import { AlarmClock, BellOff, Link, ListChecks, ListFilter, SquareArrowOutUpRight, SquareCheck } from "lucide-react";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { useNavigate, useParams } from "react-router";
import { ActionButton, useActions } from "../../actions/hooks";
import { keyLabel, type Action } from "../../actions/action";
import { Button, IconButton } from "../../components/Button";
import { Dialog } from "../../components/Dialog";
import { Kbd } from "../../components/Kbd";
import { Menu } from "../../components/Menu";
import { FilterBox, RowList, useRows } from "../../components/RowList";
import { useNow } from "../../components/time";
import { useKeepFocus } from "../../components/useKeepFocus";
import { interruptLink, interruptPath, sessionPath } from "../../paths";
import { useDesk, useDeskState } from "../../store/hooks";
import { openInterrupts } from "../../store/selectors";
import { interruptKey } from "../../store/state";
import type { InterruptRow } from "../../wire";
import { FirstRun } from "../onboarding/FirstRun";
import { rangeOf } from "./bulk";
import { BulkDialog } from "./BulkDialog";
import { EmptyInbox } from "./EmptyInbox";
import css from "./InboxPage.module.css";
import { InterruptCard } from "./InterruptCard";
import { InterruptItem } from "./InterruptItem";
import { grouped, parseFilter, passes, sleepOf, snoozeChoices, sorted, type Grouping, type Sort } from "./order";

type Line = { kind: "head"; name: string; count: number } | { kind: "row"; row: InterruptRow; back: boolean } | { kind: "hidden"; count: number } | { kind: "asleep"; row: InterruptRow };

const sorts: Record<Sort, string> = { oldest: "Oldest first", risk: "Highest risk first", expiry: "Next to expire first", session: "By session" };
const noMarks: ReadonlySet<string> = new Set();
const groupings: Record<Grouping, string> = { none: "No groups", session: "By session", agent: "By agent", reason: "By reason" };

export function InboxPage() {
  const desk = useDesk();
  const navigate = useNavigate();
  const params = useParams();
  const now = useNow(1000);
  const [filterText, setFilterText] = useState("");
  const [showHidden, setShowHidden] = useState(false);
  const [snoozing, setSnoozing] = useState(false);
  const [custom, setCustom] = useState(false);
  const [marks, setMarks] = useState<ReadonlySet<string>>(noMarks);
  const lastMarked = useRef<string | null>(null);
  /** Set while the dialog is open: the questions as they stood then. */
  const [bulk, setBulk] = useState<readonly InterruptRow[] | null>(null);
  const interrupts = useDeskState((state) => state.interrupts);
  const snoozed = useDeskState((state) => state.snoozed);
  const ready = useDeskState((state) => state.ready);
  const scheduled = useDeskState((state) => state.scheduled);
  const sort = useDeskState((state) => (state.settings.inbox_sort as Sort | undefined) ?? "oldest");
  const grouping = useDeskState((state) => (state.settings.inbox_group as Grouping | undefined) ?? "none");
  const filterBox = useRef<HTMLInputElement>(null);
  const detail = useRef<HTMLElement>(null);

  useKeepFocus(detail, "[data-interrupt-card]");

  const open = useMemo(() => openInterrupts(interrupts), [interrupts]);
  // Only a snooze makes the list depend on the time.
  const tick = snoozed.length > 0 ? now : 0;
  const { lines, awake } = useMemo(() => {
    const filter = parseFilter(filterText);
    return arrange(open.filter((row) => passes(row, filter)), sort, grouping, (row) => sleepOf(row, snoozed, tick), showHidden);
  }, [open, filterText, sort, grouping, snoozed, tick, showHidden]);
  const hiddenCount = useMemo(() => open.filter((row) => sleepOf(row, snoozed, tick).state !== "awake").length, [open, snoozed, tick]);

  const chosenKey = params.session !== undefined && params.interrupt !== undefined ? `${params.session}/${params.interrupt}` : null;
  const chosen = chosenKey === null ? undefined : interrupts.get(chosenKey);
  const pendingKeys = useMemo(() => new Set(scheduled.filter((each) => each.status !== "refused").map(interruptKey)), [scheduled]);

  const show = useCallback((row: InterruptRow | undefined, replace = false) => void (row !== undefined && navigate(interruptPath(row), { replace })), [navigate]);

  // Nothing chosen yet: the first one stands open, so that the first key answers it.
  const first = awake[0];
  useEffect(() => {
    if (chosenKey === null && first !== undefined) show(first, true);
  }, [chosenKey, first, show]);

  function move(by: number): void {
    const at = awake.findIndex((row) => interruptKey(row) === chosenKey);
    const next = at < 0 ? awake[by > 0 ? 0 : awake.length - 1] : awake[Math.min(awake.length - 1, Math.max(0, at + by))];
    show(next);
  }

  /** After an answer: the next one that still waits, from here on and then from the top. */
  function next(): void {
    const at = awake.findIndex((row) => interruptKey(row) === chosenKey);
    const order = [...awake.slice(at + 1), ...awake.slice(0, Math.max(0, at))];
    show(order.find((row) => !pendingKeys.has(interruptKey(row))));
  }

  function snooze(until: Date | null): void {
    if (chosen === undefined) return;
    next();
    void desk.attempt(desk.transport.snooze({ session_id: chosen.session_id, interrupt_id: chosen.interrupt_id, until: until?.toISOString() ?? null }));
  }

  const marked = useMemo(() => open.filter((row) => marks.has(interruptKey(row))), [open, marks]);

  function mark(range: boolean): void {
    if (chosen === undefined || chosen.closed_at !== null || chosenKey === null) return;
    const after = new Set(marks);
    if (range) for (const key of rangeOf(awake.map(interruptKey), lastMarked.current, chosenKey)) after.add(key);
    else if (!after.delete(chosenKey)) after.add(chosenKey);
    lastMarked.current = chosenKey;
    setMarks(after);
  }

  async function copyLink(): Promise<void> {
    if (chosen === undefined) return;
    const written = await desk.attempt(navigator.clipboard.writeText(interruptLink(chosen)).then(() => true));
    if (written === true) desk.toast("info", "Link copied.");
  }

  const someChosen = (): boolean => chosen !== undefined && chosen.closed_at === null;
  const openSession: Action = { id: "inbox.open_session", title: "Open in session", section: "Inbox", keys: ["o"], icon: SquareArrowOutUpRight, when: () => chosen !== undefined, run: () => void (chosen !== undefined && navigate(sessionPath(chosen.session_id, chosen.anchor))) };
  const snoozeAction: Action = { id: "inbox.snooze", title: "Snooze…", section: "Inbox", keys: ["s"], icon: AlarmClock, when: someChosen, run: () => setSnoozing(true) };
  const answerMarked: Action = { id: "inbox.answer_marked", title: "Answer marked…", section: "Inbox", keys: ["a"], icon: ListChecks, when: () => marked.length > 0, run: () => setBulk(marked) };
  const actions: Action[] = [
    { id: "inbox.next", title: "Next question", section: "Inbox", keys: ["j", "ArrowDown"], run: () => move(1), keysOnly: true },
    { id: "inbox.previous", title: "Previous question", section: "Inbox", keys: ["k", "ArrowUp"], run: () => move(-1), keysOnly: true },
    {
      id: "inbox.read", title: "Read the question", section: "Inbox", keys: ["Enter"], when: () => chosen !== undefined, keysOnly: true,
      run: () => detail.current?.querySelector<HTMLElement>("[data-interrupt-card]")?.focus(),
    },
    openSession,
    snoozeAction,
    { id: "inbox.hide", title: "Hide this question here", section: "Inbox", icon: BellOff, when: someChosen, run: () => snooze(null) },
    { id: "inbox.mark", title: "Mark this question, or take the mark off", section: "Inbox", keys: ["x"], icon: SquareCheck, when: someChosen, run: () => mark(false) },
    { id: "inbox.mark_range", title: "Mark up to this question", section: "Inbox", keys: ["Shift+x"], when: someChosen, run: () => mark(true) },
    answerMarked,
    { id: "inbox.unmark", title: "Take off all marks", section: "Inbox", keys: ["Escape"], when: () => marks.size > 0, run: () => setMarks(noMarks) },
    { id: "inbox.link", title: "Copy link to this question", section: "Inbox", icon: Link, when: () => chosen !== undefined, run: () => void copyLink() },
    { id: "inbox.hidden", title: showHidden ? "Fold the hidden questions" : "Show hidden questions", section: "Inbox", when: () => hiddenCount > 0, run: () => setShowHidden(!showHidden) },
    { id: "inbox.filter", title: "Filter the inbox", section: "Inbox", keys: ["f"], run: () => filterBox.current?.focus() },
  ];
  useActions(actions);

  const list = useRows(lines.length, (index) => lineKey(lines[index], index), (index) => (lines[index]?.kind === "row" || lines[index]?.kind === "asleep" ? 58 : 34));
  const { virtual } = list;
  const chosenLine = lines.findIndex((line) => line.kind === "row" && interruptKey(line.row) === chosenKey);
  useEffect(() => {
    if (chosenLine >= 0) virtual.scrollToIndex(chosenLine, { align: "auto" });
    // Only a new choice scrolls; rows that come and go leave the list where the person put it.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [chosenKey]);

  return (
    <div className={css.inbox}>
      <section className={css.list} aria-label="Waiting questions">
        <div className={css.bar}>
          <h1>Inbox</h1>
          <FilterBox ref={filterBox} label="Filter the inbox" placeholder="agent: reason: session: risk:" value={filterText} onChange={setFilterText} />
          <Menu
            trigger={
              <IconButton label="Sort and group">
                <ListFilter />
              </IconButton>
            }
            sections={[
              { title: "Sort", items: (Object.keys(sorts) as Sort[]).map((each) => ({ label: sorts[each], chosen: each === sort, run: () => desk.saveSettings({ inbox_sort: each }) })) },
              { title: "Group", items: (Object.keys(groupings) as Grouping[]).map((each) => ({ label: groupings[each], chosen: each === grouping, run: () => desk.saveSettings({ inbox_group: each }) })) },
            ]}
          />
        </div>
        {marked.length > 0 ? (
          <div className={css.marked} role="status">
            <span>{marked.length} marked</span>
            <ActionButton action={answerMarked} size="s" />
            <Button size="s" look="quiet" keyHint="Esc" onClick={() => setMarks(noMarks)}>
              Clear
            </Button>
          </div>
        ) : (
          <div className={css.summary}>
            <span>{sorts[sort]}</span>
            <span>
              {awake.length} waiting{hiddenCount > 0 && ` · ${hiddenCount} hidden`}
            </span>
          </div>
        )}
        <RowList
          rows={list}
          label="Questions"
          renderRow={(index) => {
            const line = lines[index];
            return line !== undefined && <LineView line={line} chosenKey={chosenKey} pendingKeys={pendingKeys} marks={marks} now={now} showHidden={showHidden} onShowHidden={() => setShowHidden(!showHidden)} />;
          }}
        >
          {ready && awake.length === 0 && filterText !== "" && <p className={css.none}>No waiting question matches this filter.</p>}
        </RowList>
      </section>
      <section ref={detail} tabIndex={-1} className={css.detail} aria-label="Question">
        {chosen === undefined ? (
          ready && (awake.length === 0 || chosenKey !== null) && <EmptyInbox gone={chosenKey !== null && awake.length > 0} />
        ) : (
          <>
            <InterruptCard key={interruptKey(chosen)} row={chosen} context="inbox" onAnswered={next}>
              <FirstRun row={chosen} />
            </InterruptCard>
            <footer className={css.foot}>
              <span>
                <Kbd keys="j k" /> move
              </span>
              <ActionButton action={openSession} size="s" look="quiet" />
              {someChosen() && (
                <Menu
                  open={snoozing}
                  onOpenChange={setSnoozing}
                  trigger={
                    <Button size="s" look="quiet" icon={<AlarmClock aria-hidden="true" />} keyHint="s">
                      Snooze…
                    </Button>
                  }
                  sections={[
                    {
                      title: "Hide here until",
                      items: [
                        ...snoozeChoices(new Date(now)).map((choice) => ({ label: choice.label, run: () => snooze(choice.until) })),
                        { label: "Another time…", run: () => setCustom(true) },
                        { label: "I show it again", run: () => snooze(null) },
                      ],
                    },
                  ]}
                />
              )}
              <span className={css.keys}>
                <Kbd keys={keyLabel("?")} /> all keys
              </span>
            </footer>
          </>
        )}
      </section>
      {bulk !== null && <BulkDialog rows={bulk} onClose={() => setBulk(null)} onSent={() => setMarks(noMarks)} />}
      <CustomSnooze open={custom} onClose={() => setCustom(false)} onChoose={snooze} />
    </div>
  );
}

function arrange(rows: InterruptRow[], sort: Sort, grouping: Grouping, sleep: (row: InterruptRow) => ReturnType<typeof sleepOf>, showHidden: boolean): { lines: Line[]; awake: InterruptRow[] } {
  const lines: Line[] = [];
  const asleep = rows.filter((row) => sleep(row).state !== "awake");
  const groups = grouped(sorted(rows.filter((row) => sleep(row).state === "awake"), sort), grouping);
  for (const group of groups) {
    if (group.name !== null) lines.push({ kind: "head", name: group.name, count: group.rows.length });
    for (const row of group.rows) {
      const state = sleep(row);
      lines.push({ kind: "row", row, back: state.state === "awake" && state.back });
    }
  }
  if (asleep.length > 0) lines.push({ kind: "hidden", count: asleep.length });
  if (showHidden) lines.push(...sorted(asleep, sort).map((row): Line => ({ kind: "asleep", row })));
  return { lines, awake: groups.flatMap((group) => group.rows) };
}

function lineKey(line: Line | undefined, index: number): string {
  if (line === undefined) return String(index);
  if (line.kind === "row" || line.kind === "asleep") return interruptKey(line.row);
  return line.kind === "head" ? `head ${line.name}` : "hidden";
}

function LineView(props: { line: Line; chosenKey: string | null; pendingKeys: ReadonlySet<string>; marks: ReadonlySet<string>; now: number; showHidden: boolean; onShowHidden: () => void }) {
  const { line } = props;
  switch (line.kind) {
    case "head":
      return (
        <h2 className={css.group}>
          <span>{line.name}</span>
          <span>{line.count}</span>
        </h2>
      );
    case "hidden":
      return (
        <button type="button" className={css.hidden} aria-expanded={props.showHidden} onClick={props.onShowHidden}>
          {props.showHidden ? "▾" : "▸"} {line.count} hidden
        </button>
      );
    case "row":
      return <InterruptItem row={line.row} now={props.now} chosen={interruptKey(line.row) === props.chosenKey} pending={props.pendingKeys.has(interruptKey(line.row))} back={line.back} marked={props.marks.has(interruptKey(line.row))} />;
    case "asleep":
      return <InterruptItem row={line.row} now={props.now} chosen={interruptKey(line.row) === props.chosenKey} pending={false} back={false} asleep />;
  }
}

function CustomSnooze({ open, onClose, onChoose }: { open: boolean; onClose: () => void; onChoose: (until: Date) => void }) {
  const now = useNow(1000);
  const [text, setText] = useState("");
  const until = new Date(text);
  const usable = !Number.isNaN(until.getTime()) && until.getTime() > now;
  return (
    <Dialog
      open={open}
      onClose={onClose}
      title="Snooze until"
      size="s"
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            look="primary"
            disabled={!usable}
            onClick={() => {
              onClose();
              onChoose(until);
            }}
          >
            Snooze
          </Button>
        </>
      }
    >
      <input type="datetime-local" aria-label="Date and time" className={css.when} value={text} onChange={(event) => setText(event.target.value)} />
      {text !== "" && !usable && <p className="muted">That time is past.</p>}
    </Dialog>
  );
}
