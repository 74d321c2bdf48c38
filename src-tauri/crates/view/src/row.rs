//! The rows. Names are the spec's; optional means "or null" on this internal wire, so that generated types stay simple.

use holdpoint_core::time::Millis;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use specta::Type;

/// A counter that fits a JavaScript number. (As `f64` it would be exported as `number | null`, for NaN.)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, Type)]
#[serde(transparent)]
pub struct Seq(#[specta(type = u32)] pub u64);

/// Any JSON; `unknown` for the UI.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Type)]
#[serde(transparent)]
pub struct Json(#[specta(type = specta_typescript::Unknown)] pub Value);

/// RFC 3339 in UTC with milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, Type)]
#[serde(transparent)]
pub struct Time(#[specta(type = String)] pub Millis);

/// B-10.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Type)]
#[serde(rename_all = "snake_case")]
pub enum SessionStatus {
    Idle,
    Interrupted,
    Done,
}

/// The one word a session is shown with. Ordered: the first that holds wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Type)]
#[serde(rename_all = "snake_case")]
pub enum Activity {
    /// An open interrupt pauses the active branch, whatever else runs.
    WaitingForYou,
    /// A model call is under way, or a decision is in the worker's hands.
    Running,
    /// Only tool calls (worker, client or connector) are open.
    WaitingForTool,
    /// Accepted, not started.
    Queued,
    /// The last turn ended with an error.
    Failed,
    /// The last turn was cancelled.
    Cancelled,
    Idle,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Type)]
pub struct UsageRow {
    pub input_tokens: Seq,
    pub cached_input_tokens: Seq,
    pub output_tokens: Seq,
    /// Decimal string, US dollars.
    pub cost_usd: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type)]
pub struct SessionRow {
    pub session_id: String,
    pub root_session_id: String,
    pub parent_session_id: Option<String>,
    pub agent_id: String,
    /// First line of the first user message, at most 80 characters; empty before it.
    pub title: String,
    pub status: SessionStatus,
    pub activity: Activity,
    pub turn_id: Option<String>,
    pub top_level: bool,
    /// Open interrupts of all branches of this session alone.
    pub open_interrupts: u32,
    /// Open interrupts that pause the active branch.
    pub pausing_interrupts: u32,
    pub branches: u32,
    /// As shown: `scripted/<model>` for a scripted block (P-32); null without model configuration.
    pub model: Option<String>,
    pub scripted: bool,
    pub queued_turns: u32,
    pub first_event_at: Time,
    pub last_event_at: Time,
    /// When the engine next has to act by itself (a deadline or a retry), if ever.
    pub wake_at: Option<Time>,
    pub usage: UsageRow,
    /// Last event of the session.
    pub seq: Seq,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Type)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Answered,
    Declined,
    Cancelled,
    Expired,
    Superseded,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type)]
pub struct PathStep {
    pub session_id: String,
    pub agent_id: String,
}

/// H-9, with what a card needs beside it. One row per raising: an id raised again (I-10) is a new row with a later `opened_seq`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type)]
pub struct InterruptRow {
    pub session_id: String,
    pub root_session_id: String,
    pub path: Vec<PathStep>,
    pub session_title: String,
    pub interrupt_id: String,
    /// `frontend` | `machine` | `operator` | `system`.
    pub origin: String,
    pub reason: String,
    /// Null also when absent; `has_payload` tells.
    pub payload: Json,
    pub has_payload: bool,
    pub anchor: Option<String>,
    pub turn_id: Option<String>,
    pub opened_at: Time,
    pub opened_seq: Seq,
    pub on_active_branch: bool,
    /// I-88, of the recorded question. A surface sends the hash of what it rendered, computed by itself.
    pub shown_hash: String,
    pub closed_at: Option<Time>,
    pub outcome: Option<Outcome>,
    pub responder: Option<Json>,
    /// The recorded answer, when closed.
    pub answer: Option<Json>,
    /// `verified` | `unverified`, when closed by a resume.
    pub verification: Option<String>,
}

/// A tree node without its body. Enough to draw tree and lanes; bodies come by id.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type)]
pub struct NodeRow {
    pub id: String,
    pub parent_id: Option<String>,
    pub seq: Seq,
    pub at: Time,
    pub turn_id: Option<String>,
    /// `user` | `assistant` | `tool` | `system`.
    pub role: String,
    /// First line of the text, at most 80 characters; for an assistant that only calls tools their names.
    pub label: String,
    /// Ids of the tool calls this message asks for.
    pub tool_calls: Vec<String>,
    /// Role tool: the call it answers.
    pub tool_call_id: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type)]
pub struct NodeBody {
    pub id: String,
    /// P-18.
    pub message: Json,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type)]
pub struct CallRow {
    pub id: String,
    /// `llm_call` | `tool_call` | `subagent` | `connector_sync`.
    pub kind: String,
    /// Tool or agent name; for a model call the model as shown.
    pub name: String,
    /// B-12.
    pub status: String,
    pub attempt: u32,
    pub turn_id: Option<String>,
    pub anchor: Option<String>,
    /// `server` | `worker` | `client`.
    pub handler: String,
    /// Raw arguments of a tool call.
    pub arguments: Option<String>,
    pub child_session_id: Option<String>,
    pub requested_at: Time,
    pub dispatched_at: Option<Time>,
    pub ended_at: Option<Time>,
    pub deadline: Option<Time>,
    /// A pause or a left branch stops its clock (I-77, T-16).
    pub clock_stopped: bool,
    pub error: Option<String>,
    /// Event that changed it last.
    pub seq: Seq,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type)]
pub struct DecisionRow {
    pub id: String,
    /// Trigger type, `tool.finished` and so on.
    pub trigger: String,
    /// `waiting` | `live` | `held` (its branch is paused or left).
    pub status: String,
    pub turn_id: Option<String>,
    pub attempts: u32,
    pub queued_at: Time,
    pub error: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Type)]
#[serde(rename_all = "snake_case")]
pub enum TurnStatus {
    Queued,
    Running,
    Paused,
    Suspended,
    Completed,
    Failed,
    Cancelled,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type)]
pub struct TurnRow {
    pub turn_id: String,
    pub status: TurnStatus,
    pub started_at: Option<Time>,
    pub ended_at: Option<Time>,
    pub cost_usd: String,
    pub tokens: Seq,
    pub error: Option<String>,
    pub error_code: Option<String>,
    /// `error.detail.stack` of a file worker (P-29), when there is one.
    pub stack: Option<String>,
    /// Of a queued turn: the waiting text.
    pub message: Option<String>,
    pub seq: Seq,
}

/// Everything that changed in one session after `after_seq`: new nodes and changed calls and turns; small sets whole.
/// Reading with `after_seq = 0` gives the session from the start, so a reload needs no other call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type)]
pub struct SessionPatch {
    pub session: SessionRow,
    pub after_seq: Seq,
    pub head_id: Option<String>,
    /// In log order.
    pub nodes: Vec<NodeRow>,
    pub calls: Vec<CallRow>,
    pub turns: Vec<TurnRow>,
    /// All open interrupts of the session, in the order they opened.
    pub interrupts: Vec<InterruptRow>,
    /// All decisions not over, in the order they wait.
    pub decisions: Vec<DecisionRow>,
    /// Worker state and config resolved for the active path.
    pub state: Json,
    pub agent: Json,
}
