//! What is due next (K-17): model calls before tools before decisions, one after another until nothing is.
//!
//! All of it is committed with what made it due, and only then started.

use crate::approval::{Cleared, clear};
use crate::decision::Trigger;
use crate::deferred;
use crate::event::{CallKind, Payload};
use crate::message::{ErrorCode, ErrorInfo, Handler};
use crate::proposal::{check_input, propose};
use crate::response::check_calls;
use crate::state::{Call, CallStatus, Decision};

use super::Step;

impl Step<'_, '_, '_> {
    pub(super) fn advance(&mut self) {
        self.retry_fetches();
        loop {
            if let Some(call) =
                [CallKind::LlmCall, CallKind::ToolCall, CallKind::Subagent].into_iter().find_map(|kind| self.next_call(kind))
            {
                self.dispatch(&call);
            } else if let Some(decision) = self.s.next_decision(self.ctx.now).cloned() {
                self.dispatch_decision(&decision);
            } else {
                return;
            }
        }
    }

    /// I-14, I-19: nothing new is dispatched on a paused branch, nor on one that was left.
    fn next_call(&self, kind: CallKind) -> Option<Call> {
        if kind == CallKind::LlmCall && crate::connector::is_fetching(self.s) {
            return None; // its tools are not there yet (M-6)
        }
        self.s
            .open_calls()
            .filter(|call| call.kind == kind && !self.s.is_set_aside(call) && !self.s.branch_paused(call.anchor))
            .find(|call| match call.status {
                CallStatus::Queued => true,
                CallStatus::RetryScheduled => call.not_before.is_none_or(|at| at <= self.ctx.now),
                _ => false,
            })
            .cloned()
    }

    fn dispatch(&mut self, call: &Call) {
        let (id, attempt) = (call.id.clone(), call.attempt);
        match call.kind {
            CallKind::LlmCall => {
                self.emit(Payload::LlmCallDispatched { id: id.clone(), attempt });
                let Some(detail) = call.llm.as_ref().filter(|_| call.handler == Handler::Worker) else { return };
                let deadline = self.s.call(CallKind::LlmCall, &id).and_then(Call::deadline);
                let (request, format, stream) = (detail.request.clone(), detail.format.clone(), detail.stream);
                self.queue(call.turn_id.clone(), Trigger::LlmExecute { id, request, format, stream, attempt, deadline });
            }
            CallKind::ToolCall => {
                let Cleared { approved_hash, arguments_hash } = match clear(self.s, call) {
                    Ok(cleared) => cleared,
                    Err(error) => return self.tool_errored(&id, error, false),
                };
                self.emit(Payload::ToolCallDispatched { id: id.clone(), attempt, approved_hash, arguments_hash });
                if deferred::answers(call) {
                    return match deferred::answer(self.s, self.ctx.config, call) {
                        Ok(result) => self.tool_completed(&id, result, true),
                        Err(error) => self.tool_errored(&id, error, false),
                    };
                }
                if call.handler != Handler::Worker {
                    return;
                }
                let input = check_input(self.s.config_at(call.anchor), &call.name, &call.arguments);
                let deadline = self.s.tool(&id).and_then(Call::deadline);
                let (name, arguments) = (call.name.clone(), call.arguments.clone());
                self.queue(call.turn_id.clone(), Trigger::ToolExecute { id, name, arguments, input, attempt, deadline });
            }
            CallKind::Subagent => {
                self.emit(Payload::SubagentDispatched { id: id.clone() });
                // What is waited for runs already.
                if call.mode == crate::delegate::WAITING {
                    self.emit(Payload::SubagentStarted { id });
                }
            }
            CallKind::ConnectorSync => {}
        }
    }

    /// a turn starts right before its first decision is handed out. Without a worker the proposal is the answer (P-4).
    fn dispatch_decision(&mut self, decision: &Decision) {
        if let (Trigger::ClientMessages { .. }, Some(turn)) = (&decision.trigger, &decision.turn_id)
            && self.s.turn(turn).is_none()
        {
            self.emit(Payload::TurnStarted { turn_id: turn.clone() });
        }
        self.emit(Payload::DecisionDispatched { id: decision.id.clone(), attempt: decision.attempts + 1 });
        if self.s.worker.is_none()
            && let Some(live) = self.s.decision(&decision.id).cloned()
        {
            let response = propose(self.s, &live, self.ctx.config);
            match check_calls(&response, self.s, self.ctx.config, false) {
                Ok(()) => self.apply_response(&live, response),
                // The configuration changed under the session.
                Err(problem) => {
                    let error = ErrorInfo::new(ErrorCode::InvalidResponse, problem);
                    self.decision_failed(&live.id, live.attempts, error, false);
                }
            }
        }
    }
}
