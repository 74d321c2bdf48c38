//! Shapes that travel: messages, model requests and replies, tool results, agent configurations (P-18…P-22), errors (K-18).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::{CallId, MessageId};
use crate::money::Money;
use crate::retry::RetryOverride;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    System,
    User,
    Assistant,
    Tool,
}

/// A string, or parts (P-19). Parts stay JSON: the engine passes them on and reads only `text`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Content {
    Text(String),
    Parts(Vec<Value>),
}

impl Content {
    /// The text of all text parts.
    pub fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Parts(parts) => {
                parts.iter().filter(|part| part["type"] == "text").filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("")
            }
        }
    }
}

/// `{id, type:"function", function{name, arguments}}`; arguments are the raw string the model wrote.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id: String,
    #[serde(rename = "type", default = "function")]
    pub kind: String,
    pub function: FunctionCall,
}

fn function() -> String {
    "function".to_owned()
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FunctionCall {
    pub name: String,
    #[serde(default)]
    pub arguments: String,
}

impl ToolCall {
    pub fn new(id: impl Into<String>, name: impl Into<String>, arguments: impl Into<String>) -> Self {
        Self { id: id.into(), kind: function(), function: FunctionCall { name: name.into(), arguments: arguments.into() } }
    }
}

/// P-18. A draft may lack `id`; a recorded message has one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<MessageId>,
    pub role: Role,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Content>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<Vec<ToolCall>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl Message {
    pub fn new(role: Role, text: impl Into<String>) -> Self {
        Self { id: None, role, content: Some(Content::Text(text.into())), tool_calls: None, tool_call_id: None, name: None }
    }

    pub fn tool(call: &CallId, content: Content) -> Self {
        Self { content: Some(content), tool_call_id: Some(call.to_string()), ..Self::new(Role::Tool, "") }
    }

    pub fn calls(&self) -> &[ToolCall] {
        self.tool_calls.as_deref().unwrap_or_default()
    }

    pub fn text(&self) -> String {
        self.content.as_ref().map(Content::text).unwrap_or_default()
    }
}

/// `input` includes `cache_read` (P-20).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    pub input: u64,
    pub output: u64,
    pub uncached_input: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub total: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<Value>,
}

impl Usage {
    /// Fills what a provider or script left out: `total` and `uncached_input` follow from the others.
    #[must_use]
    pub fn completed(mut self) -> Self {
        if self.uncached_input == 0 {
            self.uncached_input = self.input.saturating_sub(self.cache_read);
        }
        if self.total == 0 {
            self.total = self.input + self.output;
        }
        self
    }

    pub fn add(&mut self, other: &Self) {
        self.input += other.input;
        self.output += other.output;
        self.uncached_input += other.uncached_input;
        self.cache_read += other.cache_read;
        self.cache_write += other.cache_write;
        self.total += other.total;
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reasoning {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exclude: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    Xhigh,
    High,
    Medium,
    Low,
    Minimal,
    None,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LlmTool {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
}

/// What a model adapter gets (P-20).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LlmRequest {
    pub model: String,
    pub messages: Vec<Message>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<LlmTool>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_completion_tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Reasoning>,
}

/// What a model adapter gives back (P-20).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LlmResponse {
    pub model: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Content>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<Vec<ToolCall>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Money>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub images: Option<Vec<Value>>,
}

impl LlmResponse {
    pub fn truncated(&self) -> bool {
        self.finish_reason.as_deref() == Some("length")
    }
    pub fn refused(&self) -> bool {
        matches!(self.finish_reason.as_deref(), Some("content_filter" | "refusal"))
    }
}

/// P-21; MCP casing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    #[serde(default)]
    pub content: Vec<Value>,
    #[serde(rename = "structuredContent", default, skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<Value>,
    #[serde(rename = "isError", default, skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
}

impl ToolResult {
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![serde_json::json!({"type": "text", "text": text.into()})], structured_content: None, is_error: None }
    }

    /// What the model reads (K-4): structured content as JSON, else the text blocks joined by newlines; media become parts.
    pub fn for_model(&self) -> Content {
        if let Some(structured) = &self.structured_content {
            return Content::Text(structured.to_string());
        }
        let texts: Vec<&str> = self.content.iter().filter(|b| b["type"] == "text").filter_map(|b| b["text"].as_str()).collect();
        let media: Vec<Value> = self.content.iter().filter(|b| b["type"] != "text").cloned().collect();
        if media.is_empty() {
            return Content::Text(texts.join("\n"));
        }
        let mut parts = Vec::new();
        if !texts.is_empty() {
            parts.push(serde_json::json!({"type": "text", "text": texts.join("\n")}));
        }
        parts.extend(media);
        Content::Parts(parts)
    }
}

/// Codes of K-18.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    ProviderError,
    RateLimited,
    Refused,
    BudgetExceeded,
    DeadlineExceeded,
    InvalidResponse,
    HandlerError,
    WorkerUnreachable,
    Unroutable,
    ApprovalMismatch,
    Internal,
    Cancelled,
}

/// K-18. `message` is one sentence fit to show. `code` is one of [`ErrorCode`], or what a worker gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ErrorInfo {
    pub message: String,
    pub code: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub param: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Value>,
}

impl ErrorInfo {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        let code = serde_json::to_value(code).ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default();
        Self { message: message.into(), code, param: None, detail: None }
    }
    #[must_use]
    pub fn with_detail(mut self, detail: Value) -> Self {
        self.detail = Some(detail);
        self
    }
    pub fn is(&self, code: ErrorCode) -> bool {
        serde_json::to_value(code).is_ok_and(|v| v == self.code.as_str())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Handler {
    Server,
    Worker,
    Client,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentTool {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "parameters")]
    pub input: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handler: Option<Handler>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub defer: Option<bool>,
}

/// Per-kind retry bounds of an agent (K-13).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentRetry {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<RetryOverride>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub llm: Option<RetryOverride>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<RetryOverride>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subagent: Option<RetryOverride>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connector: Option<RetryOverride>,
}

/// P-22: what an agent is for one path of a session. Members the engine does not read are kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentConfig {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub llm: Option<String>,
    pub model: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<AgentRetry>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<AgentTool>>,
    #[serde(flatten)]
    pub other: BTreeMap<String, Value>,
}

impl AgentConfig {
    pub fn tool(&self, name: &str) -> Option<&AgentTool> {
        self.tools.iter().flatten().find(|tool| tool.name == name)
    }
}
