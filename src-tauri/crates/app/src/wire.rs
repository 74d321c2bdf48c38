//! The desktop's wire: what the UI sends and gets, over Tauri or HTTP alike. Optional means "or null".
//!
//! State arrives by the feed only: a command returns a receipt and nothing else.

use holdpoint_view::row::{InterruptRow, Json, Outcome, Seq, SessionPatch, SessionRow, Time, UsageRow};
use serde::{Deserialize, Serialize};
use specta::Type;

/// Every refusal and failure. `code` is one of N-13's or `failed`, `storage_full`, `config_invalid`, `unavailable`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type)]
pub struct ApiError {
    pub code: String,
    /// One sentence that says what to do next.
    pub message: String,
    pub details: Json,
}

/// A command with the id its maker gave it: the same id again gives the first receipt and acts once (D-13).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type)]
pub struct Submit {
    pub command_id: String,
    pub session_id: String,
    pub command: Command,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Command {
    /// Makes the session (the UI makes its id) and sends the first message.
    CreateSession {
        agent_id: String,
        text: String,
    },
    /// At the head. With `queue` it waits behind a running turn.
    SendMessage {
        text: String,
        queue: bool,
    },
    /// A user message said again in other words: a new branch at its parent (T-5).
    EditMessage {
        message_id: String,
        text: String,
    },
    /// Another reply beside this assistant message (T-6).
    Regenerate {
        message_id: String,
    },
    /// The head goes to this known node (T-7).
    MakeActive {
        message_id: String,
    },
    Answer {
        interrupt_id: String,
        shown_hash: String,
        answer: Answer,
    },
    Cancel,
}

/// What the person chose. The engine builds payload and responder from it (I-56, I-63, Q-5).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Type)]
pub struct Answer {
    /// Index in `metadata.options`, or of the default pair (0 approve, 1 decline).
    pub option: Option<u32>,
    /// For the option's input.
    pub text: Option<String>,
    /// A bare answer: typed input or a form. Wrapped in an object so that `null` is an answer too.
    pub value: Option<BareAnswer>,
    /// Withdraw from the question (I-99).
    pub cancel: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type)]
pub struct BareAnswer {
    pub value: Json,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type)]
pub struct Receipt {
    pub session_id: String,
    pub turn_id: Option<String>,
    pub queued: bool,
    /// Of an answer: whether this one closed the interrupt; `closed` tells who was first when not (I-101).
    pub resumed: Option<bool>,
    pub closed: Option<Closed>,
    /// Of a cancel.
    pub cancelled: Option<bool>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type)]
pub struct Closed {
    pub at: Time,
    pub outcome: Outcome,
    pub responder: Option<Json>,
}

/// An answer held back so that it can be undone. It lives in the database and is sent by the engine when due.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type)]
pub struct ScheduledAnswer {
    pub command_id: String,
    pub session_id: String,
    pub interrupt_id: String,
    pub shown_hash: String,
    pub answer: Answer,
    /// What the bar says: the option's label or the typed text.
    pub label: String,
    pub session_title: String,
    pub due_at: Time,
    /// Also make the anchor's branch active first (Switch and answer).
    pub switch_first: bool,
    /// `scheduled` | `sent` | `refused`; a refused one keeps `error` until it is dismissed.
    pub status: String,
    pub error: Option<ApiError>,
}

/// What a cancel, or leaving a branch, would end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Type)]
pub struct Forecast {
    pub turn_id: Option<String>,
    /// Models' names as shown.
    pub model_calls: Vec<String>,
    pub tool_calls: Vec<String>,
    pub subagents: Vec<String>,
    /// Texts of the waiting messages.
    pub queued_turns: Vec<String>,
    pub decisions: u32,
    /// Questions that would close.
    pub interrupts: Vec<String>,
    /// False: there is no run, so a cancel would do nothing (C-15).
    pub run: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ForecastOf {
    Cancel,
    MakeActive { message_id: String },
    EditMessage { message_id: String },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type)]
pub struct AgentRow {
    pub agent_id: String,
    pub description: Option<String>,
    /// As shown, `scripted/<model>` included; null for a worker-only agent.
    pub model: Option<String>,
    pub scripted: bool,
    pub llm: Option<String>,
    /// File or URL of its worker.
    pub worker: Option<String>,
    /// Why it cannot run now (missing key, broken script or worker file), with the stack when there is one.
    pub problem: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type)]
pub struct EngineStatus {
    /// `running` | `paused` (the database refuses writes) | `stopped`.
    pub state: String,
    pub problem: Option<String>,
    /// `http://127.0.0.1:8080`, when the API is on.
    pub address: Option<String>,
    pub spend_today_usd: String,
    pub running_sessions: u32,
    pub last_answered_at: Option<Time>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type)]
pub struct Bootstrap {
    pub version: String,
    pub engine: EngineStatus,
    pub config_path: String,
    /// The file's error, whole, when it could not be read; the last good configuration stays in force.
    pub config_error: Option<String>,
    pub db_path: String,
    pub agents: Vec<AgentRow>,
    pub connections: Vec<ConnectionRow>,
    pub settings: Json,
    /// Every saved draft: key → value.
    pub drafts: Vec<Draft>,
    pub scheduled: Vec<ScheduledAnswer>,
    pub snoozed: Vec<Snoozed>,
    /// The session of the sample project, while it is the only one (first run).
    pub sample_session_id: Option<String>,
    /// Folder the sample project was written to, when it was.
    pub sample_folder: Option<String>,
    /// OS user name, as it will appear in `responder.user`.
    pub user: String,
}

/// `key` is the UI's: `interrupt:<session>:<id>`, `composer:<session>:<head>`, `edit:<session>:<message>`, …
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type)]
pub struct Draft {
    pub key: String,
    pub value: Json,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type)]
pub struct Snoozed {
    pub session_id: String,
    pub interrupt_id: String,
    /// Null: dismissed, until shown again by hand.
    pub until: Option<Time>,
}

/// Where a reader stands. The lists are read from `after`; at most one session is followed in detail.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Type)]
pub struct FeedFrom {
    pub after: Seq,
    pub session_id: Option<String>,
    pub after_seq: Seq,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Frame {
    /// Rows changed after the last frame. The first one has the newest 500 sessions and every open interrupt (`reset`).
    /// A closed interrupt arrives once more with `closed_at`.
    Lists {
        counter: Seq,
        reset: bool,
        sessions: Vec<SessionRow>,
        interrupts: Vec<InterruptRow>,
    },
    Session {
        patch: SessionPatch,
    },
    /// Text of a reply under way. Lossy: the reply itself arrives as a node.
    Delta {
        session_id: String,
        call_id: String,
        seq: Seq,
        text: Option<String>,
        reasoning: Option<String>,
    },
    /// How far a tool call under way is, as its server tells it. Lossy, and forgotten with the call.
    Progress {
        session_id: String,
        call_id: String,
        seq: Seq,
        progress: f64,
        total: Option<f64>,
        message: Option<String>,
    },
    Engine {
        engine: EngineStatus,
    },
    Scheduled {
        scheduled: Vec<ScheduledAnswer>,
    },
    Snoozed {
        snoozed: Vec<Snoozed>,
    },
    Config {
        agents: Vec<AgentRow>,
        connections: Vec<ConnectionRow>,
        config_error: Option<String>,
    },
}

/// A connection to an MCP server, and how it stands with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type)]
pub struct ConnectionRow {
    /// `mcp.<id>` or `plugin.<id>.mcp.<server>`.
    pub path: String,
    /// The server's address, or the command that is it.
    pub server: String,
    /// `ask` (the server says what it wants) | `token` | `oauth` | `none`. Null: a local server.
    pub auth: Option<String>,
    /// What is shown to it: `token` | `oauth` | `environment` (its token stands in a variable). Null: nothing.
    pub credential: Option<String>,
    /// `never_authorized` | `reauthorize` | `token_rejected`, when only a person can help (M-21).
    pub needs: Option<String>,
    /// A person is giving the authorization in a browser.
    pub waiting: bool,
    /// Why the last authorization was not given, or what else is wrong.
    pub problem: Option<String>,
}

/// Where a person authorizes a connection (M-23). Made when it is shown, and good for ten minutes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type)]
pub struct AuthorizationLink {
    pub url: String,
    /// Of that address, to be shown before it is opened.
    pub host: String,
}

/// An API key (H-3), without the key itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type)]
pub struct ApiKeyRow {
    pub id: String,
    pub name: String,
    /// Null: the desktop's own.
    pub tenant: Option<String>,
    pub created_at: Time,
    /// Null: never.
    pub expires_at: Option<Time>,
    pub revoked_at: Option<Time>,
}

/// A key that was just made. Without `Debug`, so that no log can have it.
#[derive(Serialize, Type)]
pub struct MadeApiKey {
    pub id: String,
    /// Shown now and never again.
    pub key: String,
}

/// One thread of a session: the session itself or a delegate at any depth, in the order of their making.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type)]
pub struct ThreadRow {
    pub session_id: String,
    /// Null: the primary thread.
    pub parent_session_id: Option<String>,
    /// 0 for the primary thread.
    pub depth: u32,
    pub agent_id: String,
    pub title: String,
    /// `running` | `idle` | `completed` | `failed` | `interrupted` (TH-38).
    pub status: String,
    /// A question of this thread pauses it.
    pub waiting: bool,
    /// Of this thread's own model calls.
    pub usage: UsageRow,
    pub created_at: Time,
    pub ended_at: Option<Time>,
    /// Milliseconds that its finished turns took.
    pub ran_ms: Seq,
    /// Start of the turn that runs.
    pub running_since: Option<Time>,
}

/// One event as the log inspector shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type)]
pub struct EventRow {
    pub seq: Seq,
    pub at: Time,
    pub turn_id: Option<String>,
    pub kind: String,
    pub payload: Json,
}
