//! What the runtime asks of the outside world. Implementations live in the effects crates; each call is started only
//! after the event that announces it is committed (E-2), and is aborted through its token.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use holdpoint_core::elicit::{Question, Reply};
use holdpoint_core::event::WorkerRef;
use holdpoint_core::id::{CallId, SessionId};
use holdpoint_core::message::{ErrorInfo, LlmRequest, LlmResponse, ToolResult};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// A failed attempt, with everything the retry rules need (K-12…K-15, Q-24).
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    pub error: ErrorInfo,
    pub retryable: bool,
    /// From `Retry-After`: the next attempt starts no earlier.
    pub retry_after_ms: Option<i64>,
}

/// One piece of a streamed reply (E-8). Never stored.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Delta {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<Vec<DeltaToolCall>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeltaToolCall {
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<String>,
}

/// Where deltas go while a call runs. Cheap to clone; sending never blocks.
#[derive(Clone)]
pub struct DeltaSink(Arc<dyn Fn(Delta) + Send + Sync>);

impl DeltaSink {
    pub fn new(send: impl Fn(Delta) + Send + Sync + 'static) -> Self {
        Self(Arc::new(send))
    }
    pub fn send(&self, delta: Delta) {
        (self.0)(delta);
    }
}

#[derive(Clone, Debug)]
pub struct ModelCall {
    pub session_id: SessionId,
    pub call_id: CallId,
    pub attempt: u32,
    /// Id of the `[llm.<id>]` block.
    pub llm: String,
    pub request: LlmRequest,
    pub stream: bool,
    /// Replies of this block already used by this session: index in the script → times (P-36).
    pub script_used: BTreeMap<u32, u32>,
}

#[derive(Clone, Debug)]
pub struct ModelReply {
    pub response: LlmResponse,
    pub script_reply: Option<u32>,
}

#[derive(Clone, Debug)]
pub struct ModelFailure {
    pub failure: Failure,
    pub script_reply: Option<u32>,
}

/// All model blocks of the configuration behind one door.
#[async_trait]
pub trait ModelRunner: Send + Sync {
    /// Runs one attempt. When `cancel` fires the request is aborted on the wire and the result is thrown away.
    /// Queue, run and total timeouts are the runtime's: an adapter sets only a connect timeout.
    async fn run(&self, call: ModelCall, deltas: DeltaSink, cancel: CancellationToken) -> Result<ModelReply, ModelFailure>;
}

/// One decision in the hands of a worker.
#[derive(Clone)]
pub struct DecisionCall {
    pub worker: WorkerRef,
    /// The decision request (P-1) as it goes on the wire.
    pub request: Arc<Value>,
    /// For an `llm.execute` with `stream:true`: deltas of an SSE answer (P-17) go here.
    pub deltas: Option<DeltaSink>,
    /// `format` of the worker's model block, when frames come in a provider's own shape.
    pub format: Option<String>,
}

#[async_trait]
pub trait WorkerRunner: Send + Sync {
    /// Hands the decision to the worker and returns its raw JSON answer; core checks the shape (P-7).
    /// A failure follows P-26 (`url`) or P-29 (`file`).
    async fn decide(&self, call: DecisionCall, cancel: CancellationToken) -> Result<Value, Failure>;
}

/// What a connection offers (M-6): the server's tools as it lists them, and its own words about itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listing {
    pub tools: Vec<Value>,
    pub instructions: Option<String>,
}

/// One attempt of a connector call (M-8).
#[derive(Clone, Debug)]
pub struct ConnectorCall {
    pub session_id: SessionId,
    pub call_id: CallId,
    pub attempt: u32,
    /// Path of the connection, `mcp.<id>`.
    pub connection: String,
    /// The server's own name of the tool.
    pub tool: String,
    pub arguments: serde_json::Map<String, Value>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ConnectorFailure {
    pub failure: Failure,
    /// `never_authorized`, `reauthorize` or `token_rejected`, when the credential is at fault (M-21).
    pub auth: Option<String>,
}

/// How far a running call is, in the server's words. Never stored.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    pub progress: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// The way back to the session while a connector call runs.
#[async_trait]
pub trait CallLine: Send + Sync {
    /// M-33: puts questions to a person. Returns what the server is told, in their order, once all are answered, however long that
    /// takes. `None`: the call is over, nobody waits for an answer.
    async fn ask(&self, questions: Vec<Question>) -> Option<Vec<Reply>>;
    fn progress(&self, progress: Progress);
}

/// All connections of the configuration behind one door.
#[async_trait]
pub trait ConnectorRunner: Send + Sync {
    async fn list(&self, connection: String, cancel: CancellationToken) -> Result<Listing, ConnectorFailure>;
    /// When `cancel` fires the server is told, and what it answers is thrown away (C-4).
    async fn call(&self, call: ConnectorCall, line: Arc<dyn CallLine>, cancel: CancellationToken) -> Result<ToolResult, ConnectorFailure>;
}

/// No connections at all.
pub struct NoConnectors;

#[async_trait]
impl ConnectorRunner for NoConnectors {
    async fn list(&self, connection: String, _cancel: CancellationToken) -> Result<Listing, ConnectorFailure> {
        Err(unknown_connection(&connection))
    }
    async fn call(
        &self,
        call: ConnectorCall,
        _line: Arc<dyn CallLine>,
        _cancel: CancellationToken,
    ) -> Result<ToolResult, ConnectorFailure> {
        Err(unknown_connection(&call.connection))
    }
}

/// The configuration no longer has the connection.
pub fn unknown_connection(path: &str) -> ConnectorFailure {
    let error = ErrorInfo::new(holdpoint_core::message::ErrorCode::Unroutable, format!("the configuration has no connection {path}"));
    ConnectorFailure { failure: Failure { error, retryable: false, retry_after_ms: None }, auth: None }
}
