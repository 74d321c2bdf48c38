// The desk: one store fed by one transport, and the few writes that are the UI's own (drafts, settings, what is followed).

import { createStore, type StoreApi } from "zustand/vanilla";
import { asRefusal, type Line, type Transport } from "../transport/transport";
import type { Bootstrap, CardKey, Command, Frame, Receipt } from "../wire";
import { applyAll } from "./apply";
import { ulid } from "./id";
import { emptyState, readSettings, type Settings, type State } from "./state";

/** What belongs to this window alone. */
export interface Ui {
  line: Line;
  /** Why the first read failed, whole; null once it worked. */
  startProblem: string | null;
  notificationProblem: string | null;
  toasts: readonly Toast[];
  overlay: "palette" | "keys" | "new_session" | null;
  /** Said once, politely, by the live region. */
  announcement: string;
  /** Host and address of a link waiting for the person's yes. */
  link: string | null;
  /** Agent the New session dialog opens with. */
  newSessionAgent: string | null;
}

export interface Toast {
  id: string;
  kind: "refused" | "info";
  text: string;
}

export interface Desk {
  transport: Transport;
  store: StoreApi<State>;
  ui: StoreApi<Ui>;
  /** Reads the start and follows the feed, until the returned function is called. */
  start(): () => void;
  /** Follows one session in detail; null follows none. */
  follow(sessionId: string | null): void;
  /** Sends a command under a fresh id. Throws a Refusal. */
  submit(sessionId: string, command: Command): Promise<Receipt>;
  /** Keeps a draft; undefined forgets it. */
  draft(key: string, value: unknown): void;
  saveSettings(change: Partial<Settings>): void;
  /** A card is on screen until the returned function is called: the shell raises no notification for it. */
  cardShown(card: CardKey): () => void;
  toast(kind: Toast["kind"], text: string): void;
  dismissToast(id: string): void;
  /** Shows a failure as a toast, for buttons without a place of their own for it. */
  attempt<T>(work: Promise<T>): Promise<T | undefined>;
}

const deltaBatchMs = 16;

export function createDesk(transport: Transport): Desk {
  const store = createStore<State>(() => emptyState);
  const ui = createStore<Ui>(() => ({
    line: "open",
    startProblem: null,
    notificationProblem: null,
    toasts: [],
    overlay: null,
    announcement: "",
    link: null,
    newSessionAgent: null,
  }));
  let unsubscribe: (() => void) | null = null;
  let started = false;
  let waiting: Frame[] = [];
  let timer: ReturnType<typeof setTimeout> | null = null;

  function flush(): void {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    const frames = waiting;
    waiting = [];
    if (frames.length > 0) store.setState((state) => applyAll(state, frames), true);
  }

  // Rows are folded at once; letters of a reply under way are gathered, because each fold draws the transcript again.
  function take(frame: Frame): void {
    waiting.push(frame);
    if (frame.type !== "delta" && frame.type !== "progress") flush();
    else timer ??= setTimeout(flush, deltaBatchMs);
  }

  function subscribe(): void {
    unsubscribe?.();
    const { counter, followedId } = store.getState();
    unsubscribe = transport.subscribe({ after: counter, session_id: followedId, after_seq: 0 }, take, (line) => ui.setState({ line }));
  }

  function start(): () => void {
    started = true;
    transport.bootstrap().then(
      (boot) => {
        if (!started) return;
        store.setState((state) => ({ ...state, ...fromBootstrap(boot) }), true);
        ui.setState({ startProblem: null });
        subscribe();
      },
      (thrown: unknown) => ui.setState({ startProblem: asRefusal(thrown).message }),
    );
    transport.notificationStatus?.().then(
      ({ problem }) => ui.setState({ notificationProblem: problem }),
      (thrown: unknown) => ui.setState({ notificationProblem: asRefusal(thrown).message }),
    );
    return () => {
      started = false;
      flush();
      unsubscribe?.();
      unsubscribe = null;
    };
  }

  const shownCards = new Set<CardKey>();
  function tellShown(): void {
    // A card that gives way to the next one is told once, with what is on screen then.
    queueMicrotask(() => {
      transport.setVisibleInterrupts?.([...shownCards]).catch(() => undefined);
    });
  }

  const drafts = draftWriter(transport, (text) => toast("refused", text));

  function toast(kind: Toast["kind"], text: string): void {
    ui.setState((state) => ({ toasts: [...state.toasts.slice(-3), { id: ulid(), kind, text }] }));
  }

  return {
    transport,
    store,
    ui,
    start,
    follow(sessionId) {
      if (store.getState().followedId === sessionId) return;
      flush();
      store.setState({ followedId: sessionId, followed: null, deltas: new Map(), progress: new Map() });
      if (unsubscribe !== null) subscribe();
    },
    submit: (sessionId, command) => transport.submit({ command_id: ulid(), session_id: sessionId, command }),
    draft(key, value) {
      store.setState((state) => {
        const after = new Map(state.drafts);
        if (value === undefined) after.delete(key);
        else after.set(key, value);
        return { drafts: after };
      });
      drafts(key, value);
    },
    saveSettings(change) {
      const settings = { ...store.getState().settings, ...change };
      store.setState({ settings });
      transport.saveSettings(settings).catch((thrown: unknown) => toast("refused", asRefusal(thrown).message));
    },
    cardShown(card) {
      shownCards.add(card);
      tellShown();
      return () => {
        shownCards.delete(card);
        tellShown();
      };
    },
    toast,
    dismissToast: (id) => ui.setState((state) => ({ toasts: state.toasts.filter((each) => each.id !== id) })),
    attempt: (work) =>
      work.catch((thrown: unknown) => {
        toast("refused", asRefusal(thrown).message);
        return undefined;
      }),
  };
}

function fromBootstrap(boot: Bootstrap): Partial<State> {
  return {
    engine: boot.engine,
    agents: boot.agents,
    connections: boot.connections,
    config_error: boot.config_error,
    settings: readSettings(boot.settings),
    drafts: new Map(boot.drafts.map((draft) => [draft.key, draft.value])),
    scheduled: boot.scheduled,
    snoozed: boot.snoozed,
    about: {
      version: boot.version,
      user: boot.user,
      config_path: boot.config_path,
      db_path: boot.db_path,
      sample_session_id: boot.sample_session_id,
      sample_folder: boot.sample_folder,
    },
  };
}

/** One write at a time per key, always ending with the newest value, so that fast typing cannot save an older one last. */
function draftWriter(transport: Transport, failed: (text: string) => void): (key: string, value: unknown) => void {
  const newest = new Map<string, unknown>();
  const busy = new Set<string>();
  const write = async (key: string): Promise<void> => {
    busy.add(key);
    try {
      while (newest.has(key)) {
        const value = newest.get(key);
        newest.delete(key);
        await (value === undefined ? transport.deleteDraft(key) : transport.saveDraft({ key, value }));
      }
    } catch (thrown) {
      failed(`The draft is not saved: ${asRefusal(thrown).message}`);
    } finally {
      busy.delete(key);
    }
  };
  return (key, value) => {
    newest.set(key, value);
    if (!busy.has(key)) void write(key);
  };
}
