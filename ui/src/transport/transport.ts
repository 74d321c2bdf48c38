// The one door to the app. The UI is the same behind Tauri, HTTP and the fake of the tests.

import type {
  ApiError, ApiKeyRow, AuthorizationLink, Bootstrap, CardKey, Draft, EventRow, FeedFrom, Forecast, ForecastOf, Frame, InterruptRow, MadeApiKey, NodeBody, NotificationStatus,
  Receipt, ScheduledAnswer, SessionRow, ShellEvent, Snoozed, Submit, ThreadRow, Time,
} from "../wire";

export interface Transport {
  bootstrap(): Promise<Bootstrap>;
  /** Frames from where the reader stands, until the returned function is called. Losing the line is the transport's to mend. */
  subscribe(from: FeedFrom, onFrame: (frame: Frame) => void, onLine?: (line: Line) => void): () => void;
  submit(submit: Submit): Promise<Receipt>;
  forecast(sessionId: string, of: ForecastOf): Promise<Forecast>;
  scheduleAnswer(answer: ScheduledAnswer): Promise<void>;
  /** False: it was sent already. */
  undoAnswer(commandId: string): Promise<boolean>;
  dismissAnswer(commandId: string): Promise<void>;
  /** At most 200 ids. */
  nodeBodies(sessionId: string, ids: string[]): Promise<NodeBody[]>;
  listSessions(before: Time | null, limit: number): Promise<SessionRow[]>;
  listInterrupts(state: "open" | "closed" | "all", before: Time | null, limit: number): Promise<InterruptRow[]>;
  events(sessionId: string, afterSeq: number, limit: number): Promise<EventRow[]>;
  /** The whole family of the session, whichever member is named; the primary thread first. */
  threads(sessionId: string): Promise<ThreadRow[]>;
  /** Stops one delegate with those below it. The same command id again changes nothing. */
  interruptThread(commandId: string, sessionId: string, threadSessionId: string, reason: string): Promise<void>;
  saveDraft(draft: Draft): Promise<void>;
  deleteDraft(key: string): Promise<void>;
  saveSettings(settings: unknown): Promise<void>;
  snooze(snoozed: Snoozed): Promise<void>;
  unsnooze(sessionId: string, interruptId: string): Promise<void>;
  /** A link for the person's browser. How it went arrives with the connection's row. */
  authorizeConnection(path: string): Promise<AuthorizationLink>;
  setConnectionToken(path: string, token: string): Promise<void>;
  forgetConnection(path: string): Promise<void>;
  listKeys(): Promise<ApiKeyRow[]>;
  /** The key is in this answer and nowhere else. */
  makeKey(name: string, expiresAt: Time | null): Promise<MadeApiKey>;
  revokeKey(id: string): Promise<void>;

  // What only some surfaces can do. Absent means: show nothing for it.
  openExternal?: (url: string) => Promise<void>;
  notificationTest?: () => Promise<NotificationStatus>;
  /** Whether a notification would reach a person now. */
  notificationStatus?: () => Promise<NotificationStatus>;
  /** What the shell has to say: show a question, how an answer from a notification went. */
  onShell?: (listener: (event: ShellEvent) => void) => () => void;
  /** The cards on screen: the shell raises no notification for them while the window has the focus. */
  setVisibleInterrupts?: (cards: CardKey[]) => Promise<void>;
}

export type Line = "open" | "lost";

/** A refusal or failure, with the sentence that says what to do next. */
export class Refusal extends Error {
  readonly code: string;
  readonly details: unknown;
  constructor(error: ApiError) {
    super(error.message);
    this.name = "Refusal";
    this.code = error.code;
    this.details = error.details;
  }
}

/** Any thrown thing as a refusal, so that screens have one kind of failure to show. */
export function asRefusal(thrown: unknown): Refusal {
  if (thrown instanceof Refusal) return thrown;
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new Refusal({ code: "failed", message, details: null });
}
