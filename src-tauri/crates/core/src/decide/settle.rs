//! Ends of tool and model calls: told from outside (N-8…N-10), by the decider, or by the engine's own runners.

use crate::command::{Caller, Receipt, Settle};
use crate::decision::Trigger;
use crate::event::{CallKind, Payload, Rank};
use crate::id::CallId;
use crate::message::{Content, ErrorCode, ErrorInfo, Handler, LlmResponse, Message, Role, ToolResult};
use crate::proposal::masked_violation;
use crate::rejection::{Code, Rejection};
use crate::state::Call;

use super::Step;

impl Step<'_, '_, '_> {
    pub(super) fn settle_from_outside(&mut self, caller: &Caller, settle: Settle) -> Result<Receipt, Rejection> {
        self.own(caller)?;
        let (kind, id, attempt) = match &settle {
            Settle::ToolResult { id, attempt, .. } | Settle::ToolError { id, attempt, .. } => (CallKind::ToolCall, id, *attempt),
            Settle::LlmResult { id, attempt, .. } | Settle::LlmError { id, attempt, .. } => (CallKind::LlmCall, id, *attempt),
        };
        let call = self.s.call(kind, id).ok_or_else(|| Rejection::new(Code::EffectNotFound, format!("there is no call {id}")))?;
        let denied = call.handler == Handler::Server || (caller.rank == Rank::Frontend && call.handler != Handler::Client);
        if denied {
            return Err(Rejection::new(Code::EffectWrongHandler, format!("the call {id} is not yours to settle")));
        }
        if !call.status.is_open() {
            return Err(Rejection::new(Code::EffectNotPending, format!("the call {id} has ended: it is {}", call.status.name())));
        }
        if attempt.is_some_and(|attempt| attempt != call.attempt) {
            let message = format!("the call {id} is at attempt {}", call.attempt);
            return Err(Rejection::new(Code::EffectAttemptMismatch, message));
        }
        let turn_id = self.s.current.clone().filter(|_| self.s.is_active(call.anchor));
        self.settle(settle);
        Ok(Receipt { turn_id, ..Receipt::default() })
    }

    /// P-8: a settle of a call that is not open, or of another attempt, is ignored.
    pub(super) fn settle(&mut self, settle: Settle) {
        match settle {
            Settle::ToolResult { id, attempt, result } if self.takes(CallKind::ToolCall, &id, attempt) => {
                self.tool_completed(&id, result, true);
            }
            Settle::ToolError { id, attempt, error, retryable } if self.takes(CallKind::ToolCall, &id, attempt) => {
                self.tool_errored(&id, error, retryable);
            }
            Settle::LlmResult { id, attempt, response } if self.takes(CallKind::LlmCall, &id, attempt) => {
                let attempt = attempt.unwrap_or_else(|| self.attempt_of(CallKind::LlmCall, &id));
                self.llm_completed(&id, attempt, response, None);
            }
            Settle::LlmError { id, attempt, error, retryable } if self.takes(CallKind::LlmCall, &id, attempt) => {
                let attempt = attempt.unwrap_or_else(|| self.attempt_of(CallKind::LlmCall, &id));
                self.llm_failed(&id, attempt, error, retryable, None, None);
            }
            _ => {}
        }
    }

    fn takes(&self, kind: CallKind, id: &CallId, attempt: Option<u32>) -> bool {
        self.s.call(kind, id).is_some_and(|call| {
            call.status.is_open() && call.handler != Handler::Server && attempt.is_none_or(|attempt| attempt == call.attempt)
        })
    }

    fn attempt_of(&self, kind: CallKind, id: &CallId) -> u32 {
        self.s.call(kind, id).map_or(1, |call| call.attempt)
    }

    /// `announce`: the decider is told by a `tool.finished` of its own (not so for N-10 with other news).
    pub(super) fn tool_completed(&mut self, id: &CallId, result: ToolResult, announce: bool) {
        let Some(call) = self.s.tool(id).cloned() else { return };
        if let Some(error) = self.output_violation(&call, &result) {
            self.tool_errored(id, error, false);
            return;
        }
        if announce {
            self.tool_ended(&call, result);
            return;
        }
        self.emit(Payload::ToolCallCompleted { id: id.clone(), name: call.name, result });
        self.drop_execute(CallKind::ToolCall, id);
    }

    pub(super) fn tool_ended(&mut self, call: &Call, result: ToolResult) {
        let (id, name) = (call.id.clone(), call.name.clone());
        self.emit(Payload::ToolCallCompleted { id: id.clone(), name: name.clone(), result: result.clone() });
        self.drop_execute(CallKind::ToolCall, &id);
        self.queue(call.turn_id.clone(), Trigger::ToolFinished { id, ok: true, name, result: Some(result), error: None });
    }

    /// K-3.
    fn output_violation(&self, call: &Call, result: &ToolResult) -> Option<ErrorInfo> {
        let declared = self.s.config_at(call.anchor).and_then(|config| config.tool(&call.name)).and_then(|tool| tool.output.clone());
        let schema = declared.or_else(|| crate::connector::tool_of(self.s, call).and_then(|tool| tool.tool.output.clone()))?;
        if result.is_error == Some(true) {
            return None;
        }
        let value = result.structured_content.clone().unwrap_or_else(|| {
            let text = match result.for_model() {
                Content::Text(text) => text,
                Content::Parts(_) => String::new(),
            };
            serde_json::from_str(&text).unwrap_or(serde_json::Value::String(text))
        });
        let problem = masked_violation(&schema, &value)?;
        let message = format!("the result of {} does not fit its output schema: {problem}", call.name);
        Some(ErrorInfo { param: Some("output".to_owned()), ..ErrorInfo::new(ErrorCode::InvalidResponse, message) })
    }

    pub(super) fn tool_errored(&mut self, id: &CallId, error: ErrorInfo, retryable: bool) {
        let Some(call) = self.s.tool(id).cloned() else { return };
        self.emit(Payload::ToolCallErrored { id: id.clone(), name: call.name.clone(), error: error.clone(), retryable });
        self.drop_execute(CallKind::ToolCall, id);
        if self.s.tool(id).is_some_and(|call| !call.status.is_open()) {
            let trigger = Trigger::ToolFinished { id: id.clone(), ok: false, name: call.name, result: None, error: Some(error) };
            self.queue(call.turn_id, trigger);
        }
    }

    pub(super) fn llm_completed(&mut self, id: &CallId, attempt: u32, response: LlmResponse, script_reply: Option<u32>) {
        let open = |call: &&Call| call.status == crate::state::CallStatus::Pending && call.attempt == attempt;
        let Some(call) = self.s.call(CallKind::LlmCall, id).filter(open).cloned() else { return };
        self.emit(Payload::LlmCallCompleted { id: id.clone(), attempt, response: response.clone(), script_reply });
        self.ctx.budget.spend(response.cost.unwrap_or_default());
        self.drop_execute(CallKind::LlmCall, id);
        let (truncated, refused) = (response.truncated(), response.refused());
        let trigger = Trigger::LlmFinished {
            id: id.clone(),
            ok: !truncated && !refused,
            message: Some(self.reply(id, &response)),
            truncated,
            refused,
            usage: response.usage,
            cost: response.cost,
            error: None,
        };
        self.queue(call.turn_id, trigger);
    }

    /// The reply as a message: its id is the call's (B-2), tool call ids that are missing or used are replaced (B-13).
    fn reply(&mut self, id: &CallId, response: &LlmResponse) -> Message {
        let mut seen = std::collections::HashSet::new();
        let tool_calls = response.tool_calls.clone().filter(|calls| !calls.is_empty()).map(|mut calls| {
            for call in &mut calls {
                if call.id.is_empty() || self.s.knows_tool_call(&call.id) || !seen.insert(call.id.clone()) {
                    call.id = self.ctx.ids.tool_call().to_string();
                }
            }
            calls
        });
        let content = match (&response.content, &response.images) {
            (content, None) => content.clone(),
            (content, Some(images)) => {
                let text = content.iter().map(|c| serde_json::json!({"type": "text", "text": c.text()}));
                let images = images.iter().map(|image| serde_json::json!({"type": "image_url", "image_url": image}));
                Some(Content::Parts(text.chain(images).collect()))
            }
        };
        Message { id: Some(id.as_str().into()), role: Role::Assistant, content, tool_calls, tool_call_id: None, name: None }
    }

    pub(super) fn llm_failed(
        &mut self,
        id: &CallId,
        attempt: u32,
        error: ErrorInfo,
        retryable: bool,
        retry_after_ms: Option<i64>,
        script_reply: Option<u32>,
    ) {
        let open = |call: &&Call| call.status.is_open() && call.attempt == attempt;
        let Some(call) = self.s.call(CallKind::LlmCall, id).filter(open).cloned() else { return };
        self.emit(Payload::LlmCallErrored { id: id.clone(), attempt, error: error.clone(), retryable, script_reply, retry_after_ms });
        self.drop_execute(CallKind::LlmCall, id);
        if self.s.call(CallKind::LlmCall, id).is_some_and(|call| !call.status.is_open()) {
            let trigger = Trigger::LlmFinished {
                id: id.clone(),
                ok: false,
                message: None,
                truncated: false,
                refused: false,
                usage: None,
                cost: None,
                error: Some(error),
            };
            self.queue(call.turn_id, trigger);
        }
    }

    /// Nobody needs to be asked to run a call that is over. A delivery under way is answered as it comes (P-8).
    fn drop_execute(&mut self, kind: CallKind, id: &CallId) {
        let same = |trigger: &Trigger| match trigger {
            Trigger::ToolExecute { id: own, .. } => kind == CallKind::ToolCall && own == id,
            Trigger::LlmExecute { id: own, .. } => kind == CallKind::LlmCall && own == id,
            _ => false,
        };
        let waiting: Vec<_> = self.s.decisions.iter().filter(|d| !d.live && same(&d.trigger)).map(|d| d.id.clone()).collect();
        for id in waiting {
            self.emit(Payload::DecisionDropped { id });
        }
    }

    pub(super) fn void(&mut self, kind: CallKind, id: &CallId) {
        self.emit(Payload::CallVoided { kind, id: id.clone(), spent: None });
        self.drop_execute(kind, id);
    }
}
