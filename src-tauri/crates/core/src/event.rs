//! The event log's vocabulary (E-10). These are all the types there are.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::id::{CallId, DecisionId, InterruptId, MessageId, SessionId, TurnId};
use crate::message::{AgentConfig, ErrorInfo, Handler, LlmResponse, Message, ToolResult, Usage};
use crate::money::Money;
use crate::retry::RetryPolicy;
use crate::time::Millis;

/// One row of a session's log. `seq` starts at 1 (E-3); `turn_id` follows E-5.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    pub seq: u64,
    pub at: Millis,
    pub turn_id: Option<TurnId>,
    pub payload: Payload,
}

/// B-6, low to high, so that ranks compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rank {
    Frontend,
    Machine,
    Operator,
    System,
}

/// B-9: the owner, fixed when the session is created.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Identity {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<Subject>,
    #[serde(default)]
    pub visibility: Visibility,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Subject {
    pub issuer: String,
    pub id: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Visibility {
    #[default]
    Private,
    Shared,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallKind {
    LlmCall,
    ToolCall,
    ConnectorSync,
    Subagent,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkerRef {
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spent {
    pub cost: Money,
    pub token_usage: Usage,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallRef {
    pub id: CallId,
    pub attempt: u32,
}

/// I-92.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verification {
    Verified,
    Unverified,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum Payload {
    #[serde(rename = "session.created")]
    SessionCreated {
        agent_id: String,
        identity: Identity,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ancestry: Option<Vec<SessionId>>,
        worker_retry: RetryPolicy,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        worker: Option<WorkerRef>,
        /// M-22: made by machine submit on an engine without a window, so nobody can be asked to authorize a connection.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        unattended: bool,
    },
    #[serde(rename = "message.new")]
    MessageNew {
        message: Message,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent_id: Option<MessageId>,
    },
    #[serde(rename = "head.moved")]
    HeadMoved { head_id: MessageId },
    #[serde(rename = "turn.started")]
    TurnStarted { turn_id: TurnId },
    #[serde(rename = "turn.completed")]
    TurnCompleted {
        turn_id: TurnId,
        #[serde(default, skip_serializing_if = "Option::is_none", with = "some")]
        data: Option<Value>,
        turn_cost: Money,
        turn_token_usage: Usage,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<ErrorInfo>,
    },
    #[serde(rename = "session.done")]
    SessionDone {},
    #[serde(rename = "llm.call.requested")]
    LlmCallRequested {
        id: CallId,
        attempt: u32,
        llm: String,
        /// Lean in the log: see [`crate::prompt::LoggedRequest`]. Whole on every surface.
        request: crate::prompt::LoggedRequest,
        stream: bool,
        retry: RetryPolicy,
        handler: Handler,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        format: Option<String>,
    },
    #[serde(rename = "llm.call.dispatched")]
    LlmCallDispatched { id: CallId, attempt: u32 },
    #[serde(rename = "llm.call.completed")]
    LlmCallCompleted {
        id: CallId,
        attempt: u32,
        response: LlmResponse,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        script_reply: Option<u32>,
    },
    #[serde(rename = "llm.call.errored")]
    LlmCallErrored {
        id: CallId,
        attempt: u32,
        error: ErrorInfo,
        retryable: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        script_reply: Option<u32>,
        /// Not before this many ms, when the server said so. Ours, beside E-10.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after_ms: Option<i64>,
    },
    #[serde(rename = "tool.call.requested")]
    ToolCallRequested {
        id: CallId,
        attempt: u32,
        name: String,
        arguments: String,
        handler: Handler,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target: Option<String>,
        retry: RetryPolicy,
    },
    #[serde(rename = "tool.call.dispatched")]
    ToolCallDispatched {
        id: CallId,
        attempt: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        approved_hash: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        arguments_hash: Option<String>,
    },
    #[serde(rename = "tool.call.completed")]
    ToolCallCompleted { id: CallId, name: String, result: ToolResult },
    #[serde(rename = "tool.call.errored")]
    ToolCallErrored { id: CallId, name: String, error: ErrorInfo, retryable: bool },
    #[serde(rename = "subagent.requested")]
    SubagentRequested {
        id: CallId,
        session_id: SessionId,
        agent_id: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        retry: RetryPolicy,
        mode: String,
    },
    #[serde(rename = "subagent.dispatched")]
    SubagentDispatched { id: CallId },
    #[serde(rename = "subagent.started")]
    SubagentStarted { id: CallId },
    #[serde(rename = "subagent.turn_completed")]
    SubagentTurnCompleted {
        id: CallId,
        cost: Money,
        token_usage: Usage,
        data: Value,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn_id: Option<TurnId>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<ErrorInfo>,
    },
    #[serde(rename = "subagent.errored")]
    SubagentErrored { id: CallId, error: ErrorInfo, retryable: bool },
    #[serde(rename = "connector.sync.requested")]
    ConnectorSyncRequested { path: String, attempt: u32, retry: RetryPolicy },
    #[serde(rename = "connector.sync.completed")]
    ConnectorSyncCompleted {
        path: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prefix: Option<String>,
        tools: Vec<Value>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        instructions: Option<String>,
    },
    #[serde(rename = "connector.sync.errored")]
    ConnectorSyncErrored {
        path: String,
        error: ErrorInfo,
        retryable: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        auth: Option<String>,
    },
    #[serde(rename = "connector.auth.failed")]
    ConnectorAuthFailed { path: String, auth: String },
    #[serde(rename = "session.interrupted")]
    SessionInterrupted {
        interrupt_id: InterruptId,
        origin: Rank,
        reason: String,
        #[serde(default, skip_serializing_if = "Option::is_none", with = "some")]
        payload: Option<Value>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        anchor: Option<MessageId>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallRef>,
    },
    #[serde(rename = "session.interrupt_resumed")]
    SessionInterruptResumed {
        interrupt_id: InterruptId,
        #[serde(default, skip_serializing_if = "Option::is_none", with = "some")]
        payload: Option<Value>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        responder: Option<Value>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        verification: Option<Verification>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shown_hash: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        arguments_hash: Option<String>,
    },
    #[serde(rename = "worker.state.updated")]
    WorkerStateUpdated {
        state: Value,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        anchor: Option<MessageId>,
    },
    #[serde(rename = "agent.updated")]
    AgentUpdated {
        config: AgentConfig,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        anchor: Option<MessageId>,
    },
    #[serde(rename = "channels.updated")]
    ChannelsUpdated { decision_id: DecisionId, finishes_turn: bool, channels: Map<String, Value> },
    #[serde(rename = "decision.queued")]
    DecisionQueued { id: DecisionId, trigger: crate::decision::Trigger },
    #[serde(rename = "decision.dispatched")]
    DecisionDispatched { id: DecisionId, attempt: u32 },
    #[serde(rename = "decision.completed")]
    DecisionCompleted { id: DecisionId },
    #[serde(rename = "decision.errored")]
    DecisionErrored { id: DecisionId, error: ErrorInfo, retryable: bool },
    #[serde(rename = "decision.dropped")]
    DecisionDropped { id: DecisionId },
    #[serde(rename = "call.voided")]
    CallVoided {
        kind: CallKind,
        id: CallId,
        /// Of a delegation: what the turn that ends with it has used (S-5, C-31). In the log only.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spent: Option<Spent>,
    },
    #[serde(rename = "session.message_requested")]
    SessionMessageRequested { target_session_id: SessionId, message: Message },
}

/// `null` and absent are different answers (I-101, Q-56): a present null reads as `Some(Null)`.
pub mod some {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use serde_json::Value;

    pub fn serialize<S: Serializer>(value: &Option<Value>, to: S) -> Result<S::Ok, S::Error> {
        value.as_ref().unwrap_or(&Value::Null).serialize(to)
    }
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
        Value::deserialize(from).map(Some)
    }
}

impl Payload {
    /// The wire name, `message.new` and so on.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::SessionCreated { .. } => "session.created",
            Self::MessageNew { .. } => "message.new",
            Self::HeadMoved { .. } => "head.moved",
            Self::TurnStarted { .. } => "turn.started",
            Self::TurnCompleted { .. } => "turn.completed",
            Self::SessionDone {} => "session.done",
            Self::LlmCallRequested { .. } => "llm.call.requested",
            Self::LlmCallDispatched { .. } => "llm.call.dispatched",
            Self::LlmCallCompleted { .. } => "llm.call.completed",
            Self::LlmCallErrored { .. } => "llm.call.errored",
            Self::ToolCallRequested { .. } => "tool.call.requested",
            Self::ToolCallDispatched { .. } => "tool.call.dispatched",
            Self::ToolCallCompleted { .. } => "tool.call.completed",
            Self::ToolCallErrored { .. } => "tool.call.errored",
            Self::SubagentRequested { .. } => "subagent.requested",
            Self::SubagentDispatched { .. } => "subagent.dispatched",
            Self::SubagentStarted { .. } => "subagent.started",
            Self::SubagentTurnCompleted { .. } => "subagent.turn_completed",
            Self::SubagentErrored { .. } => "subagent.errored",
            Self::ConnectorSyncRequested { .. } => "connector.sync.requested",
            Self::ConnectorSyncCompleted { .. } => "connector.sync.completed",
            Self::ConnectorSyncErrored { .. } => "connector.sync.errored",
            Self::ConnectorAuthFailed { .. } => "connector.auth.failed",
            Self::SessionInterrupted { .. } => "session.interrupted",
            Self::SessionInterruptResumed { .. } => "session.interrupt_resumed",
            Self::WorkerStateUpdated { .. } => "worker.state.updated",
            Self::AgentUpdated { .. } => "agent.updated",
            Self::ChannelsUpdated { .. } => "channels.updated",
            Self::DecisionQueued { .. } => "decision.queued",
            Self::DecisionDispatched { .. } => "decision.dispatched",
            Self::DecisionCompleted { .. } => "decision.completed",
            Self::DecisionErrored { .. } => "decision.errored",
            Self::DecisionDropped { .. } => "decision.dropped",
            Self::CallVoided { .. } => "call.voided",
            Self::SessionMessageRequested { .. } => "session.message_requested",
        }
    }
}
