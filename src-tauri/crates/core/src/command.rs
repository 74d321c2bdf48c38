//! Everything that can be asked of a session: inputs of people and programs (§4), and reports of the outside world.

use serde_json::Value;

use crate::decision::ClientInfo;
use crate::event::{Identity, Rank, Subject};
use crate::id::{CallId, DecisionId, InterruptId, TurnId};
use crate::message::{ErrorInfo, LlmResponse, Message, ToolResult};
use crate::time::Millis;

/// Who asks. The tenant was settled before: a session of another tenant does not exist for the caller.
#[derive(Clone, Debug, PartialEq)]
pub struct Caller {
    pub rank: Rank,
    /// Of a frontend: whom it acts for. It acts only on sessions of this owner (H-5).
    pub subject: Option<Subject>,
    /// Set by a channel of the engine itself (desktop, cli, slack, ag-ui): the responder it stamps (I-58, I-64).
    pub channel: Option<Value>,
}

impl Caller {
    pub fn operator() -> Self {
        Self { rank: Rank::Operator, subject: None, channel: None }
    }
}

/// Agent and owner of a session that an input may create (N-1).
#[derive(Clone, Debug, PartialEq)]
pub struct Creation {
    pub agent_id: String,
    pub identity: Identity,
    /// Of a delegate: its parents, root first (S-2).
    pub ancestry: Vec<crate::id::SessionId>,
    /// M-22: nobody is there to authorize a connection.
    pub unattended: bool,
}

/// How a tool or model call ended, told from outside.
#[derive(Clone, Debug, PartialEq)]
pub enum Settle {
    ToolResult { id: CallId, attempt: Option<u32>, result: ToolResult },
    ToolError { id: CallId, attempt: Option<u32>, error: ErrorInfo, retryable: bool },
    LlmResult { id: CallId, attempt: Option<u32>, response: LlmResponse },
    LlmError { id: CallId, attempt: Option<u32>, error: ErrorInfo, retryable: bool },
}

#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// `client.message` and `client.append`: at the head.
    Append {
        turn_id: Option<TurnId>,
        messages: Vec<Message>,
        stream: Option<bool>,
        client: Option<ClientInfo>,
        queue: bool,
    },
    /// `client.messages`: a full view.
    View {
        turn_id: Option<TurnId>,
        messages: Vec<Message>,
        stream: Option<bool>,
        client: Option<ClientInfo>,
    },
    Action {
        turn_id: Option<TurnId>,
        name: String,
        args: Option<Value>,
    },
    /// `payload: None` is an answer without payload (I-101). `responder` is a channel's, for a bare answer (I-63).
    Resume {
        interrupt_id: InterruptId,
        payload: Option<Value>,
        responder: Option<Value>,
        shown_hash: Option<String>,
    },
    /// the engine builds payload and responder as a channel does.
    Answer {
        interrupt_id: InterruptId,
        answer: crate::answer::Answer,
        responder: crate::answer::Responder,
        shown_hash: Option<String>,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// `create` is given when the input may make the session.
    Input {
        caller: Caller,
        input: Input,
        create: Option<Creation>,
    },
    /// I-11.
    Raise {
        caller: Caller,
        interrupt_id: Option<InterruptId>,
        reason: String,
        payload: Option<Value>,
    },
    Settle {
        caller: Caller,
        settle: Settle,
    },
    Cancel {
        caller: Caller,
    },
    /// A thread interrupt: the cancel of a delegate, with the reason its turn ends with (TH-33).
    Stop {
        reason: String,
    },
    /// The decider's raw answer. `attempt: None` when it came over `/workers/submit`.
    Answered {
        decision: DecisionId,
        attempt: Option<u32>,
        response: Value,
    },
    DecisionFailed {
        decision: DecisionId,
        attempt: u32,
        error: ErrorInfo,
        retryable: bool,
    },
    LlmCompleted {
        call: CallId,
        attempt: u32,
        response: LlmResponse,
        script_reply: Option<u32>,
    },
    LlmFailed {
        call: CallId,
        attempt: u32,
        error: ErrorInfo,
        retryable: bool,
        retry_after_ms: Option<i64>,
        script_reply: Option<u32>,
    },
    /// The delegate's session exists and has its message (S-5).
    ChildStarted {
        call: CallId,
    },
    SpawnFailed {
        call: CallId,
        attempt: u32,
        error: ErrorInfo,
        retryable: bool,
    },
    /// The delegate's turn ended.
    ChildEnded {
        call: CallId,
        end: ChildEnd,
    },
    /// Detached delegates that ended: told together when no turn runs (S-11).
    DetachedEnded {
        ends: Vec<(CallId, ChildEnd)>,
    },
    /// The same budget question was approved in another session: closed along with it.
    CloseAlong {
        interrupt_id: InterruptId,
        payload: Option<Value>,
    },
    /// A connection's tools are there (M-6).
    Fetched {
        path: String,
        attempt: u32,
        tools: Vec<Value>,
        instructions: Option<String>,
    },
    FetchFailed {
        path: String,
        attempt: u32,
        error: ErrorInfo,
        retryable: bool,
        auth: Option<String>,
    },
    /// A connector call has its result (M-8).
    ConnectorEnded {
        call: CallId,
        attempt: u32,
        result: ToolResult,
    },
    ConnectorFailed {
        call: CallId,
        attempt: u32,
        error: ErrorInfo,
        retryable: bool,
        auth: Option<String>,
    },
    /// The server asks during a call (M-33).
    ConnectorAsks {
        call: CallId,
        attempt: u32,
        questions: Vec<crate::elicit::Question>,
    },
    /// Something may be due.
    Tick,
    /// First command after the engine started (D-3).
    Recover,
}

/// How a delegate's turn ended, as its parent is told.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChildEnd {
    pub turn_id: Option<TurnId>,
    pub cost: crate::money::Money,
    pub usage: crate::message::Usage,
    pub data: Option<Value>,
    pub error: Option<ErrorInfo>,
}

/// What a carried-out command tells its caller. Fields a command has nothing to say about stay empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Receipt {
    pub turn_id: Option<TurnId>,
    pub queued: bool,
    pub interrupt_id: Option<InterruptId>,
    /// I-101.
    pub resumed: Option<bool>,
    pub closed: Option<ClosedBefore>,
    /// C-27.
    pub cancelled: Option<bool>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ClosedBefore {
    pub at: Millis,
    pub outcome: crate::answer::Outcome,
    pub responder: Option<Value>,
}
