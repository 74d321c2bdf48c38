/** Before something ends: what would end, by name, and one more key to go on. */
import type { KeyboardEvent } from "react";
import { Button } from "../../components/Button";
import { Dialog } from "../../components/Dialog";
import { Visible } from "../../components/Visible";
import type { Forecast } from "../../wire";
import { useSession, useView, type Ask } from "./view";
import css from "./Session.module.css";

export function AskDialog() {
  const ask = useView((now) => now.dialog);
  return ask === null ? null : <Asking ask={ask} />;
}

const words = {
  cancel: { title: "Cancel this run?", lead: "These end now and cannot be taken up again:", yes: "Cancel run", no: "Keep running" },
  make_active: { title: "Make this branch active?", lead: "Leaving the active branch ends:", yes: "Make active", no: "Stay here" },
} as const;

function Asking({ ask }: { ask: Ask }) {
  const { view, operations } = useSession();
  const { title, lead, yes: goOn, no } = words[ask.kind];
  const close = (): void => view.setState({ dialog: null, writeAfter: null });
  const confirm = (): void => void (ask.kind === "cancel" ? operations.confirmCancel() : operations.confirmMakeActive(ask.messageId));
  // The key that asked also confirms, so that stopping never needs a search for the button.
  const onKeyDown = (event: KeyboardEvent): void => {
    if (ask.kind !== "cancel" || event.key !== "." || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    confirm();
  };
  return (
    // Keys reach this element through React from the dialog, which stands elsewhere in the document.
    // oxlint-disable-next-line jsx-a11y/no-static-element-interactions
    <div onKeyDown={onKeyDown}>
      <Dialog
        open onClose={close} title={title}
        actions={<>
          <Button keyHint="Esc" onClick={close}>{no}</Button>
          {/* The person asked for exactly this with a key; the next key may finish it. */}
          {/* oxlint-disable-next-line jsx-a11y/no-autofocus */}
          <Button autoFocus look={ask.kind === "cancel" ? "danger" : "primary"} keyHint="Enter" onClick={confirm}>{goOn}</Button>
        </>}
      >
        <p>{lead}</p>
        <Ends forecast={ask.forecast} />
      </Dialog>
    </div>
  );
}

function Ends({ forecast }: { forecast: Forecast }) {
  const groups: readonly [string, readonly string[]][] = [
    ["Model calls", forecast.model_calls],
    ["Tools", forecast.tool_calls],
    ["Sub-agents", forecast.subagents],
    ["Queued messages", forecast.queued_turns],
    ["Open questions", forecast.interrupts],
    ["Worker decisions", forecast.decisions === 0 ? [] : [forecast.decisions === 1 ? "1 waiting" : `${forecast.decisions} waiting`]],
  ];
  const ending = groups.filter(([, things]) => things.length > 0);
  if (ending.length === 0) return <p className={css.nothing}>Nothing but the turn itself.</p>;
  return (
    <dl className={css.ends}>
      {ending.map(([name, things]) => (
        <div key={name}>
          <dt>{name}</dt>
          {/* Two calls of one tool share their text. */}
          {/* oxlint-disable-next-line react/no-array-index-key */}
          {things.map((thing, at) => <dd key={at}><Visible text={thing} /></dd>)}
        </div>
      ))}
    </dl>
  );
}
