//! Triggers (§3.3): why a decision is asked. `decision.queued` is the only place that stores one.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::event::some;
use crate::id::{CallId, InterruptId, MessageId, SessionId, TurnId};
use crate::message::{AgentTool, ErrorInfo, Message, ToolResult, Usage};
use crate::money::Money;
use crate::prompt::LoggedRequest;
use crate::time::Millis;

/// P-15.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientInfo {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<AgentTool>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Vec<Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "some")]
    pub state: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "some")]
    pub forwarded_props: Option<Value>,
}

/// P-14.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum ToolInput {
    Valid { value: Value },
    Invalid { value: Value, error: String },
    Malformed { error: String },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum Trigger {
    #[serde(rename = "session.start")]
    SessionStart {},
    /// Stored lean: only the news. `after` is the last shared node of a view; an append (`append`) is composed at delivery (T-11).
    #[serde(rename = "client.messages")]
    ClientMessages {
        messages: Vec<Message>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        client: Option<ClientInfo>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stream: Option<bool>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<MessageId>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        append: bool,
    },
    #[serde(rename = "client.action")]
    ClientAction {
        name: String,
        #[serde(default, skip_serializing_if = "Option::is_none", with = "some")]
        args: Option<Value>,
    },
    #[serde(rename = "tool.execute")]
    ToolExecute {
        id: CallId,
        name: String,
        arguments: String,
        input: ToolInput,
        attempt: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deadline: Option<Millis>,
    },
    #[serde(rename = "tool.finished")]
    ToolFinished {
        id: CallId,
        ok: bool,
        name: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<ToolResult>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<ErrorInfo>,
    },
    #[serde(rename = "llm.execute")]
    LlmExecute {
        id: CallId,
        request: LoggedRequest,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        format: Option<String>,
        stream: bool,
        attempt: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deadline: Option<Millis>,
    },
    #[serde(rename = "llm.finished")]
    LlmFinished {
        id: CallId,
        ok: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<Message>,
        truncated: bool,
        refused: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<Money>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<ErrorInfo>,
    },
    #[serde(rename = "subagent.finished")]
    SubagentFinished {
        id: CallId,
        ok: bool,
        session_id: SessionId,
        agent_id: String,
        #[serde(default, skip_serializing_if = "Option::is_none", with = "some")]
        result: Option<Value>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<ErrorInfo>,
    },
    #[serde(rename = "interrupt.resumed")]
    InterruptResumed {
        interrupt_id: InterruptId,
        #[serde(default, skip_serializing_if = "Option::is_none", with = "some")]
        payload: Option<Value>,
    },
    #[serde(rename = "turn.finished")]
    TurnFinished {
        turn_id: TurnId,
        #[serde(default, skip_serializing_if = "Option::is_none", with = "some")]
        data: Option<Value>,
        cost: Money,
        usage: Usage,
    },
}

impl Trigger {
    pub fn kind(&self) -> &'static str {
        match self {
            Self::SessionStart {} => "session.start",
            Self::ClientMessages { .. } => "client.messages",
            Self::ClientAction { .. } => "client.action",
            Self::ToolExecute { .. } => "tool.execute",
            Self::ToolFinished { .. } => "tool.finished",
            Self::LlmExecute { .. } => "llm.execute",
            Self::LlmFinished { .. } => "llm.finished",
            Self::SubagentFinished { .. } => "subagent.finished",
            Self::InterruptResumed { .. } => "interrupt.resumed",
            Self::TurnFinished { .. } => "turn.finished",
        }
    }

    /// The call this trigger hands out or reports.
    pub fn call(&self) -> Option<&CallId> {
        match self {
            Self::ToolExecute { id, .. }
            | Self::ToolFinished { id, .. }
            | Self::LlmExecute { id, .. }
            | Self::LlmFinished { id, .. }
            | Self::SubagentFinished { id, .. } => Some(id),
            _ => None,
        }
    }

    /// Hands a call out (`tool.execute`, `llm.execute`), as opposed to reporting how one ended.
    pub fn is_execute(&self) -> bool {
        matches!(self, Self::ToolExecute { .. } | Self::LlmExecute { .. })
    }
}
