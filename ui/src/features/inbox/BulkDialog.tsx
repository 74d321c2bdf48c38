// Answer marked: a peek of each question, the one answer they share, and what became of each. The set is frozen when this opens.

import { ChevronRight } from "lucide-react";
import { useEffect, useMemo, useRef, useState, type KeyboardEvent } from "react";
import { keyLabel } from "../../actions/action";
import { Button } from "../../components/Button";
import { Chip } from "../../components/Chip";
import { Dialog } from "../../components/Dialog";
import { TextBox } from "../../components/Field";
import { Markdown } from "../../components/Markdown";
import { Mark, type MarkKind } from "../../components/Mark";
import { Visible } from "../../components/Visible";
import { ulid } from "../../store/id";
import { useDesk, useDeskState } from "../../store/hooks";
import { sessionTitle } from "../../store/selectors";
import { interruptKey } from "../../store/state";
import { asRefusal } from "../../transport/transport";
import type { InterruptRow } from "../../wire";
import { answerFor, scheduledFor, sharedOptions, skipReason, type SharedOption } from "./bulk";
import css from "./BulkDialog.module.css";
import { closing } from "./closing";
import { agentPath } from "./order";
import { PreviewPart, RestPart, ToolPart } from "./PreviewPart";
import { headline, readQuestion } from "./question";

/** What became of one question when the answer was sent. */
type Sent = { kind: "scheduled"; commandId: string } | { kind: "skipped"; why: string } | { kind: "refused"; why: string };

const armingMs = 400;

export function BulkDialog({ rows, onClose, onSent }: { rows: readonly InterruptRow[]; onClose: () => void; onSent: () => void }) {
  const desk = useDesk();
  const [frozen] = useState(rows);
  const shared = useMemo(() => sharedOptions(frozen), [frozen]);
  const [open, setOpen] = useState<SharedOption | null>(null);
  const [text, setText] = useState("");
  const [problem, setProblem] = useState<string | null>(null);
  const [sent, setSent] = useState<ReadonlyMap<string, Sent> | null>(null);
  const armed = useRef(false);
  useEffect(() => {
    const timer = setTimeout(() => { armed.current = true; }, armingMs);
    return () => clearTimeout(timer);
  }, []);

  async function send(choice: SharedOption | "withdraw"): Promise<void> {
    if (!armed.current || sent !== null) return;
    if (choice !== "withdraw" && choice.input !== null && open !== choice) {
      setOpen(choice);
      return;
    }
    if (choice !== "withdraw" && choice.input?.required === true && text.trim() === "") {
      setProblem(`“${choice.label}” needs this text.`);
      return;
    }
    setSent(new Map());
    for (const row of frozen) {
      // One after the other, and each looked at again right before: what changed meanwhile is not answered.
      // oxlint-disable-next-line no-await-in-loop
      const outcome = await sendOne(row, choice);
      setSent((before) => new Map(before).set(interruptKey(row), outcome));
    }
    onSent();
  }

  async function sendOne(row: InterruptRow, choice: SharedOption | "withdraw"): Promise<Sent> {
    const { interrupts, scheduled, settings } = desk.store.getState();
    const why = skipReason(row, interrupts.get(interruptKey(row)), scheduled);
    if (why !== null) return { kind: "skipped", why };
    const chosen = answerFor(row, choice, text);
    if (chosen === "text_required" || chosen === "no_such_option") return { kind: "skipped", why: "it does not take this answer" };
    const commandId = ulid();
    try {
      const refused = scheduled.find((each) => interruptKey(each) === interruptKey(row) && each.status === "refused");
      if (refused !== undefined) await desk.transport.dismissAnswer(refused.command_id);
      await desk.transport.scheduleAnswer(scheduledFor(row, chosen, commandId, new Date(Date.now() + settings.undo_ms)));
      return { kind: "scheduled", commandId };
    } catch (thrown) {
      return { kind: "refused", why: asRefusal(thrown).message };
    }
  }

  const high = frozen.filter((row) => readQuestion(row.payload).risk === "high").length;
  const title = sent === null ? `Answer ${frozen.length} marked` : `Answered ${[...sent.values()].filter((each) => each.kind === "scheduled").length} of ${frozen.length}`;
  return (
    <Dialog
      open
      onClose={onClose}
      title={title}
      size="l"
      actions={
        sent === null ? (
          <>
            <Button onClick={onClose}>Cancel</Button>
            <Button look="quiet" onClick={() => void send("withdraw")} title="Close these questions without answering them">Withdraw all</Button>
            {shared.map((option) => (
              <SharedButton key={`${option.label} ${option.style ?? ""}`} option={option} open={open === option} onChoose={() => void send(option)} />
            ))}
          </>
        ) : (
          <>
            <UndoAll sent={sent} />
            <Button onClick={onClose}>Close</Button>
          </>
        )
      }
    >
      <ul className={css.rows} aria-label="Marked questions">
        {frozen.map((row) => (
          <li key={interruptKey(row)}>
            <Peek row={row} />
            {sent !== null && <Outcome row={row} sent={sent.get(interruptKey(row))} />}
          </li>
        ))}
      </ul>
      {sent === null && (
        <div className={css.answer}>
          {shared.length === 0 && <p>These questions share no answer. Mark fewer, or withdraw them all.</p>}
          {high > 0 && <p className={css.high}>{high === 1 ? "One of them is" : `${high} of them are`} marked high risk.</p>}
          {open?.input != null && (
            <TextBox
              // The person just chose the answer that takes this text.
              // oxlint-disable-next-line jsx-a11y/no-autofocus
              autoFocus
              label={`${open.input.label}${open.input.required ? " (required)" : ""}, the same for all`}
              value={text}
              problem={problem}
              onChange={(event) => { setProblem(null); setText(event.target.value); }}
              onKeyDown={(event) => {
                if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
                event.preventDefault();
                void send(open);
              }}
              hint={<span>Goes along with “{open.label}”. {keyLabel("Ctrl+Enter")} sends.</span>}
            />
          )}
        </div>
      )}
    </Dialog>
  );
}

/** Enter alone never chooses a dangerous answer, here as on the card. */
function SharedButton({ option, open, onChoose }: { option: SharedOption; open: boolean; onChoose: () => void }) {
  const danger = option.style === "danger";
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== "Enter" || !danger) return;
    event.preventDefault();
    if (event.ctrlKey || event.metaKey) onChoose();
  };
  return (
    <Button look={option.style === "primary" ? "primary" : danger ? "danger" : "plain"} onClick={onChoose} onKeyDown={onKeyDown} title={danger ? `Chosen by click or ${keyLabel("Ctrl+Enter")}, not by Enter alone` : undefined}>
      {option.label}
      {option.input !== null && !open && "…"}
    </Button>
  );
}

function Peek({ row }: { row: InterruptRow }) {
  const question = useMemo(() => readQuestion(row.payload), [row.payload]);
  const [open, setOpen] = useState(false);
  // One line of text is all there in the summary already.
  const longer = question.message !== null && question.message.trim().includes("\n");
  return (
    <details className={css.peek} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <ChevronRight className={css.chevron} aria-hidden="true" />
        <span className={css.question}><Visible text={headline(row)} /></span>
        {question.risk !== null && <Chip tone={question.risk === "high" ? "danger" : question.risk === "medium" ? "wait" : "plain"}>{question.risk} risk</Chip>}
        <span className={css.where}>
          {agentPath(row)} · {sessionTitle({ title: row.session_title, agent_id: row.path.at(-1)?.agent_id ?? "" })}
          {!row.on_active_branch && " · other branch: an answer only clears the pause"}
        </span>
      </summary>
      {open && (
        <div className={css.whole}>
          {longer && question.message !== null && <Markdown text={question.message} />}
          {!longer && question.preview === null && question.tool === null && question.rest === undefined && <p className="muted">The question says nothing more.</p>}
          {question.preview !== null && <PreviewPart preview={question.preview} />}
          {question.tool !== null && <ToolPart tool={question.tool} risk={question.risk} hasPreview={question.preview !== null} />}
          {question.rest !== undefined && <RestPart value={question.rest} />}
        </div>
      )}
    </details>
  );
}

function Outcome({ row, sent }: { row: InterruptRow; sent: Sent | undefined }) {
  const user = useDeskState((state) => state.about.user);
  const now = useDeskState((state) => state.interrupts.get(interruptKey(row)));
  const scheduled = useDeskState((state) => (sent?.kind === "scheduled" ? state.scheduled.find((each) => each.command_id === sent.commandId) : undefined));
  const [mark, words] = told();
  return (
    <p className={css.outcome} role="status">
      <Mark kind={mark} /> {words}
    </p>
  );

  function told(): [MarkKind, string] {
    if (sent === undefined) return ["queued", "waits for its turn"];
    if (sent.kind === "skipped") return ["cancelled", `Skipped: ${sent.why}.`];
    if (sent.kind === "refused") return ["failed", `Not taken: ${sent.why}`];
    if (scheduled?.status === "refused") return ["failed", `Not taken: ${scheduled.error?.message ?? "the engine refused it."}`];
    if (now !== undefined && now.closed_at !== null) {
      const { outcome, choice } = closing(now, user);
      return ["done", choice === null ? outcome : `${outcome} “${choice}”`];
    }
    if (scheduled === undefined) return ["idle", "Sent, or taken back"];
    return scheduled.status === "sent" ? ["running", "On its way"] : ["queued", "Held back, so that you can undo it"];
  }
}

function UndoAll({ sent }: { sent: ReadonlyMap<string, Sent> }) {
  const desk = useDesk();
  const scheduled = useDeskState((state) => state.scheduled);
  const mine = new Set([...sent.values()].flatMap((each) => (each.kind === "scheduled" ? [each.commandId] : [])));
  const held = scheduled.filter((each) => each.status === "scheduled" && mine.has(each.command_id));
  if (held.length === 0) return null;
  return <Button onClick={() => held.forEach((each) => void desk.attempt(desk.transport.undoAnswer(each.command_id)))}>Undo all</Button>;
}
