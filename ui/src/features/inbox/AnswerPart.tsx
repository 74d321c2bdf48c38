// The answer controls of a card: options with number keys, their text boxes, typed input, a form, and withdrawing.

import { lazy, Suspense, useMemo, useRef, useState, type KeyboardEvent, type RefObject } from "react";
import { useActions } from "../../actions/hooks";
import { keyLabel, type Action } from "../../actions/action";
import { Button } from "../../components/Button";
import { TextBox } from "../../components/Field";
import type { InterruptRow } from "../../wire";
import { chooseForm, chooseOption, chooseTyped, decline, readTyped, typedKind, withdraw, type Chosen } from "./answer";
import css from "./AnswerPart.module.css";
import { FormBoundary } from "./FormBoundary";
import { Ledger } from "./Ledger";
import type { Option, Question } from "./question";
import type { Answering } from "./useAnswering";
import { canShow, faults } from "./validator";

const SchemaForm = lazy(() => import("./SchemaForm"));

interface Props {
  row: InterruptRow;
  question: Question;
  answering: Answering;
  context: "inbox" | "transcript";
  card: RefObject<HTMLElement | null>;
}

export function AnswerPart({ row, question, answering, context, card }: Props) {
  const { draft, change, pending, refusal, send } = answering;
  const [problem, setProblem] = useState<string | null>(null);
  const [strict, setStrict] = useState(false);
  const [dangerHint, setDangerHint] = useState(false);
  const [formFailed, setFormFailed] = useState(false);
  const box = useRef<HTMLTextAreaElement>(null);
  const { options, offered, schema, server } = question;
  const asForm = useMemo(() => schema !== null && canShow(schema) && !formFailed, [schema, formFailed]);
  const typedOffered = !offered && !asForm && server?.mode !== "url";
  const openOption = draft.option === null ? undefined : options[draft.option];
  const openIndex = openOption?.input === null || openOption === undefined ? null : draft.option;
  const busy = pending !== undefined;

  function focusBox(): void {
    // The box may only be on screen after this draw.
    setTimeout(() => box.current?.focus(), 0);
  }

  function choose(index: number): void {
    if (busy || !answering.armed) return;
    const option = options[index];
    if (option === undefined) return;
    setDangerHint(false);
    if (option.input !== null && openIndex !== index) {
      change({ option: index });
      setProblem(null);
      focusBox();
      return;
    }
    const chosen = chooseOption(options, index, draft.text);
    if (chosen === "text_required") {
      setProblem(`“${option.label}” needs this text.`);
      focusBox();
    } else if (chosen !== "no_such_option") {
      setProblem(null);
      send(chosen);
    }
  }

  function sendTyped(): void {
    if (draft.text.trim() === "") {
      setProblem("Type an answer first.");
      focusBox();
      return;
    }
    const wrong = schema === null ? [] : faults(schema, readTyped(draft.text).value);
    const first = wrong[0];
    if (first !== undefined) {
      setProblem(`${first.path.length === 0 ? "The answer" : first.path.join(".")} ${first.message}`);
      return;
    }
    setProblem(null);
    send(chooseTyped(draft.text));
  }

  async function sendForm(): Promise<void> {
    if (schema === null) return;
    const { startValue } = await import("./SchemaForm");
    const value = draft.form === undefined ? startValue(schema) : draft.form;
    if (faults(schema, value).length > 0) {
      setStrict(true);
      if (draft.form === undefined) change({ form: value });
      setProblem("Some fields need another look.");
      return;
    }
    setProblem(null);
    send(chooseForm(value));
  }

  /** Ctrl+Enter: the focused option's button, else the open box or the form. */
  function sendFocused(): void {
    const focused = document.activeElement?.closest("[data-option]");
    if (focused !== null && focused !== undefined && card.current?.contains(focused)) choose(Number(focused.getAttribute("data-option")));
    else if (openIndex !== null) choose(openIndex);
    else if (asForm) void sendForm();
    else if (typedOffered) sendTyped();
  }

  const mine = (): boolean => !busy && hasKeys(context, card.current);
  useActions([
    ...options.slice(0, 9).map(
      (option, index): Action => ({ id: `answer.${index + 1}`, title: `Answer “${option.label}”`, section: "Answer", keys: [String(index + 1)], when: mine, run: () => choose(index) }),
    ),
    { id: "answer.send", title: "Send what is typed or filled in", section: "Answer", keys: ["Ctrl+Enter"], when: () => mine() && (typedOffered || asForm || options.length > 0), run: sendFocused },
    { id: "answer.type", title: "Type an answer", section: "Answer", keys: ["/"], when: () => mine() && (typedOffered || openIndex !== null), run: focusBox, keysOnly: true },
  ]);

  const undo = busy ? <p className={css.pending}>“{pending.label}” is {pending.status === "sent" ? "on its way" : "held back so that you can undo it"}.</p> : null;

  return (
    <div className={css.answer} data-context={context}>
      {refusal !== null && (
        <div className={css.refusal} role="alert">
          <span>Not taken: {refusal.message}</span>
          <Button size="s" look="quiet" onClick={refusal.dismiss}>
            Dismiss
          </Button>
        </div>
      )}
      <fieldset disabled={busy} className={css.fields}>
        <legend className="visually-hidden">Your answer</legend>
        {options.length > 0 && (
          <div className={css.options}>
            {options.map((option, index) => (
              <OptionButton
                // Options have no id of their own; their place is what an answer names.
                // oxlint-disable-next-line react/no-array-index-key
                key={index}
                option={option}
                index={index}
                open={openIndex === index}
                onChoose={() => choose(index)}
                onEnterOnDanger={() => setDangerHint(true)}
              />
            ))}
            <WithdrawButton ofServer={server !== null} onClick={send} />
          </div>
        )}
        {dangerHint && <p className={css.hint} role="status">Enter alone does not choose this one. Press its number, or {keyLabel("Ctrl+Enter")}.</p>}
        {openIndex !== null && openOption?.input != null && (
          <TextBox
            ref={box}
            label={`${openOption.input.label}${openOption.input.required ? " (required)" : ""}`}
            value={draft.text}
            problem={problem}
            required={openOption.input.required}
            onChange={(event) => {
              setProblem(null);
              change({ text: event.target.value });
            }}
            hint={
              <>
                <span>Goes along with “{openOption.label}”.</span>
                <Button size="s" look={openOption.style === "danger" ? "danger" : "primary"} keyHint={keyLabel("Ctrl+Enter")} onClick={() => choose(openIndex)}>
                  Send “{openOption.label}”
                </Button>
                <Button size="s" look="quiet" onClick={() => change({ option: null })}>
                  Back
                </Button>
              </>
            }
          />
        )}
        {asForm && schema !== null && (
          <FormBoundary onFail={() => setFormFailed(true)}>
            <Suspense fallback={<p className="faint">Opening the form…</p>}>
              <SchemaForm
                schema={schema}
                value={draft.form}
                onChange={(form) => {
                  setProblem(null);
                  change({ form });
                }}
                idPrefix={`form-${row.interrupt_id}`}
                disabled={busy}
                strict={strict}
              />
            </Suspense>
            <div className={`${css.options} ${css.sendRow}`}>
              <Button look="primary" keyHint={keyLabel("Ctrl+Enter")} onClick={() => void sendForm()}>
                {server === null ? "Send" : "Submit"}
              </Button>
              {server !== null && <DeclineButton onClick={send} />}
              <WithdrawButton ofServer={server !== null} onClick={send} />
              {problem !== null && <span className={css.problem} role="alert">{problem}</span>}
            </div>
          </FormBoundary>
        )}
        {typedOffered && (
          <TextBox
            ref={box}
            label={schema === null ? (options.length > 0 ? "Or answer in your own words" : "Your answer") : "Your answer, as JSON"}
            hideLabel={options.length > 0}
            placeholder={schema !== null ? "JSON that fits the schema" : options.length > 0 ? "Or answer in your own words, or JSON" : "Text or JSON"}
            value={draft.text}
            problem={openIndex === null ? problem : null}
            onChange={(event) => {
              setProblem(null);
              change({ text: event.target.value });
            }}
            hint={draft.text.trim() !== "" && <TypedHint text={draft.text} onSend={sendTyped} />}
          />
        )}
        {options.length === 0 && !asForm && (
          <div className={css.options}>
            {server !== null && <DeclineButton onClick={send} />}
            <WithdrawButton ofServer={server !== null} onClick={send} />
          </div>
        )}
      </fieldset>
      {undo}
      <Ledger row={row} pending={pending} />
    </div>
  );
}

function TypedHint({ text, onSend }: { text: string; onSend: () => void }) {
  return (
    <>
      <Button size="s" keyHint={keyLabel("Ctrl+Enter")} onClick={onSend}>
        Send
      </Button>
      <span>will be sent as {typedKind(readTyped(text))}</span>
    </>
  );
}

function OptionButton({ option, index, open, onChoose, onEnterOnDanger }: { option: Option; index: number; open: boolean; onChoose: () => void; onEnterOnDanger: () => void }) {
  const danger = option.style === "danger";
  function onKeyDown(event: KeyboardEvent): void {
    if (event.key !== "Enter" || event.ctrlKey || event.metaKey || !danger) return;
    event.preventDefault();
    onEnterOnDanger();
  }
  return (
    <Button
      look={option.style === "primary" ? "primary" : danger ? "danger" : "plain"}
      keyHint={index < 9 ? String(index + 1) : undefined}
      data-option={index}
      aria-expanded={option.input === null ? undefined : open}
      aria-keyshortcuts={index < 9 ? String(index + 1) : undefined}
      onClick={onChoose}
      onKeyDown={onKeyDown}
    >
      {option.label}
      {option.input !== null && !open && "…"}
    </Button>
  );
}

/** Servers are told apart: declined, or closed without a word (M-34). */
function WithdrawButton({ ofServer, onClick }: { ofServer: boolean; onClick: (chosen: Chosen) => void }) {
  const label = ofServer ? "Cancel" : withdraw.label;
  return (
    <Button look="quiet" onClick={() => onClick({ ...withdraw, label })} title="Close the question without answering it">
      {label}
    </Button>
  );
}

function DeclineButton({ onClick }: { onClick: (chosen: Chosen) => void }) {
  return (
    <Button look="danger" onClick={() => onClick(decline)} title="Tell the server that you will not answer">
      {decline.label}
    </Button>
  );
}

/** In a transcript several cards may be on screen: then a key belongs to the card that has the focus, or to the only one. */
function hasKeys(context: Props["context"], card: HTMLElement | null): boolean {
  if (context === "inbox") return true;
  if (card === null) return false;
  return card.contains(document.activeElement) || document.querySelectorAll('[data-interrupt-card="open"]').length === 1;
}
