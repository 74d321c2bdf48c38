/**
 * What a person can do inside a session, once; buttons, keys and dialogs call these. Each sends a typed command and shows it as pending;
 * nothing changes before the engine's event arrives.
 */
import type { Desk } from "../../store/desk";
import { sessionLink } from "../../paths";
import type { Forecast } from "../../wire";
import { idAt, siblingsOf } from "../tree/treeIndex";
import { pauseKey } from "../tree/layout";
import { viewedFor, type Model, type ViewStore } from "./view";

export interface Operations {
  /** Shows a message: selects it in the tree and scrolls the transcript to it. */
  readonly show: (messageId: string) => void;
  readonly showActive: () => void;
  readonly showSibling: (messageId: string, step: 1 | -1) => void;
  /** Scrolls to a question, on whatever branch it is. */
  readonly showQuestion: (interruptId: string) => void;
  readonly edit: (messageId: string) => void;
  readonly regenerate: (messageId: string) => Promise<void>;
  /** Asks first when it would end something. */
  readonly makeActive: (messageId: string) => Promise<void>;
  /** Makes it active and puts the caret where the next message is written. */
  readonly branchFrom: (messageId: string) => Promise<void>;
  readonly confirmMakeActive: (messageId: string) => Promise<void>;
  readonly askCancel: () => Promise<void>;
  readonly confirmCancel: () => Promise<void>;
  readonly copy: (text: string, what: string) => Promise<void>;
  readonly copyLink: (messageId: string | null) => Promise<void>;
}

export interface OperationsOver {
  readonly desk: Desk;
  readonly sessionId: string;
  readonly view: ViewStore;
  readonly model: () => Model | null;
}

export function createOperations({ desk, sessionId, view, model }: OperationsOver): Operations {
  const jumpTo = (key: string): void => view.setState((now) => ({ jump: { key, count: (now.jump?.count ?? 0) + 1 } }));

  /** False when it was refused; the reason is told then. */
  const during = async (words: string, work: Promise<unknown>): Promise<boolean> => {
    view.setState({ pending: words });
    const taken = await desk.attempt(work.then(() => true));
    view.setState({ pending: null });
    return taken === true;
  };

  const roleOf = (messageId: string): string | undefined => model()?.followed.nodeById.get(messageId)?.role;

  const operations: Operations = {
    show(messageId) {
      const now = model();
      if (now === null) return;
      view.setState({ viewed: viewedFor(now, messageId), focusKey: messageId });
      jumpTo(messageId);
    },
    showActive() {
      const head = model()?.followed.head_id ?? null;
      view.setState({ viewed: null, focusKey: head });
      if (head !== null) jumpTo(head);
    },
    showSibling(messageId, step) {
      const now = model();
      if (now === null) return;
      const { ids, position } = siblingsOf(now.index, messageId);
      const next = ids[position + step];
      if (next !== undefined) operations.show(next);
    },
    showQuestion(interruptId) {
      const row = model()?.followed.interrupts.find((each) => each.interrupt_id === interruptId);
      if (row === undefined) return;
      if (row.anchor !== null) operations.show(row.anchor);
      view.setState({ focusKey: pauseKey(interruptId) });
      jumpTo(pauseKey(interruptId));
    },
    edit(messageId) {
      if (roleOf(messageId) !== "user") {
        desk.toast("info", "Only your own messages can be edited. A reply can be generated again.");
        return;
      }
      operations.show(messageId);
      view.setState({ editing: messageId });
    },
    async regenerate(messageId) {
      if (roleOf(messageId) !== "assistant") {
        desk.toast("info", "Only a reply can be generated again. Your own messages can be edited.");
        return;
      }
      await during("Asking for another reply…", desk.submit(sessionId, { type: "regenerate", message_id: messageId }));
      view.setState({ viewed: null });
    },
    async makeActive(messageId) {
      if (model()?.followed.head_id === messageId) return;
      const forecast = await desk.attempt(desk.transport.forecast(sessionId, { type: "make_active", message_id: messageId }));
      if (forecast === undefined) return;
      if (endsNothing(forecast)) await operations.confirmMakeActive(messageId);
      else view.setState({ dialog: { kind: "make_active", messageId, forecast } });
    },
    async branchFrom(messageId) {
      view.setState({ writeAfter: messageId });
      await operations.makeActive(messageId);
    },
    async confirmMakeActive(messageId) {
      view.setState({ dialog: null });
      const taken = await during("Making this branch active…", desk.submit(sessionId, { type: "make_active", message_id: messageId }));
      // What was on show may reach beyond the new head, and would then still be another branch.
      view.setState(taken ? { viewed: null } : { writeAfter: null });
    },
    async askCancel() {
      const forecast = await desk.attempt(desk.transport.forecast(sessionId, { type: "cancel" }));
      if (forecast === undefined) return;
      if (!forecast.run) desk.toast("info", "Nothing is running, so there is nothing to cancel.");
      else view.setState({ dialog: { kind: "cancel", forecast } });
    },
    async confirmCancel() {
      view.setState({ dialog: null });
      await during("Cancelling the run…", desk.submit(sessionId, { type: "cancel" }));
    },
    async copy(text, what) {
      const written = await desk.attempt(navigator.clipboard.writeText(text).then(() => true));
      if (written === true) desk.toast("info", `${what} copied.`);
    },
    copyLink(messageId) {
      return operations.copy(sessionLink(sessionId, messageId), "Link");
    },
  };
  return operations;
}

function endsNothing(forecast: Forecast): boolean {
  const { model_calls, tool_calls, subagents, queued_turns, interrupts, decisions } = forecast;
  return decisions === 0 && [model_calls, tool_calls, subagents, queued_turns, interrupts].every((list) => list.length === 0);
}

/** Where a branch begins: what drafts of its composer are kept by, because the head moves on while a person types. */
export function branchStart(model: Pick<Model, "index" | "path">): string {
  const { index, path } = model;
  const tip = path.at(-1);
  if (tip === undefined) return "start";
  const branch = index.branch[tip];
  const first = path.find((at) => index.branch[at] === branch);
  return first === undefined ? "start" : idAt(index, first);
}
