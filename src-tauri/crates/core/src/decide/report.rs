//! Failed deliveries, clocks that ran out, and the first step after a start (D-3, D-4, K-14…K-16).

use crate::decision::Trigger;
use crate::event::{CallKind, Payload};
use crate::id::DecisionId;
use crate::message::{ErrorCode, ErrorInfo, Handler};
use crate::state::CallStatus;

use super::Step;

impl Step<'_, '_, '_> {
    pub(super) fn decision_failed(&mut self, id: &DecisionId, attempt: u32, error: ErrorInfo, retryable: bool) {
        let Some(decision) = self.s.decision(id).filter(|d| d.live && d.attempts == attempt).cloned() else { return };
        self.emit(Payload::DecisionErrored { id: id.clone(), error: error.clone(), retryable });
        if self.s.decision(id).is_some() {
            return; // it is tried again
        }
        match decision.trigger {
            Trigger::ClientAction { .. } => {} // N-7
            Trigger::SessionStart {} => self.fail_first_turn(&error),
            _ => {
                if let Some(turn) = decision.turn_id.filter(|turn| self.s.current.as_ref() == Some(turn)) {
                    self.fail_turn(&turn, error);
                }
            }
        }
    }

    /// The message behind a `session.start` that failed cannot run: its turn ends with the error (K-16).
    fn fail_first_turn(&mut self, error: &ErrorInfo) {
        let first = self.s.waiting_turns().next().map(|d| (d.id.clone(), d.turn_id.clone()));
        if let Some((id, Some(turn))) = first {
            self.emit(Payload::DecisionDropped { id });
            self.complete_turn(&turn, None, Some(error.clone()));
        }
        // What waits behind it asks again (N-11).
        if self.s.waiting_turns().next().is_some() {
            self.queue(None, Trigger::SessionStart {});
        }
    }

    /// Everything whose time has come. K-15: the message says where the time went.
    pub(super) fn tick(&mut self) {
        let now = self.ctx.now;
        let late: Vec<_> = self.s.open_calls().filter(|call| call.deadline().is_some_and(|at| at <= now)).cloned().collect();
        for call in late {
            let total = call.total_deadline().is_some_and(|at| at <= now);
            let place = if call.status == CallStatus::Queued { "still queued" } else { "running" };
            let what = if total { "total time" } else { "time for one attempt" };
            let error = ErrorInfo::new(ErrorCode::DeadlineExceeded, format!("{} was {place} when its {what} ran out", call.name));
            match call.kind {
                CallKind::LlmCall => self.llm_failed(&call.id, call.attempt, error, !total, None, None),
                CallKind::ToolCall => self.tool_errored(&call.id, error, !total),
                CallKind::Subagent => self.spawn_failed(&call.id, call.attempt, error, !total && call.status != CallStatus::Running),
                CallKind::ConnectorSync => self.fetch_failed(call.name, call.attempt, error, !total, None),
            }
        }
        if let Some(live) = self.s.live().filter(|d| d.deadline.is_some_and(|at| at <= now)).cloned() {
            let error = ErrorInfo::new(ErrorCode::DeadlineExceeded, format!("the worker was still running {}", live.trigger.kind()));
            self.decision_failed(&live.id, live.attempts, error, true);
        }
    }

    /// D-3: what was under way in the engine counts as a failed attempt and is sent again at once.
    pub(super) fn recover(&mut self) {
        self.recover_connections();
        let lost: Vec<_> = self
            .s
            .open_calls()
            .filter(|call| call.kind == CallKind::LlmCall && call.handler == Handler::Server && call.status == CallStatus::Pending)
            .map(|call| (call.id.clone(), call.attempt))
            .collect();
        for (id, attempt) in lost {
            let error = ErrorInfo::new(ErrorCode::ProviderError, "the engine stopped while the model call was running");
            self.llm_failed(&id, attempt, error, true, None, None);
            self.send_at_once(&id);
        }
        if let Some(live) = self.s.live().cloned() {
            let error = ErrorInfo::new(ErrorCode::WorkerUnreachable, "the engine stopped while the worker had this decision");
            self.decision_failed(&live.id, live.attempts, error, true);
            if self.s.decision(&live.id).is_some_and(|d| !self.s.held(d)) {
                self.emit(Payload::DecisionDispatched { id: live.id, attempt: live.attempts + 1 });
            }
        }
    }

    fn send_at_once(&mut self, id: &crate::id::CallId) {
        let again = self.s.call(CallKind::LlmCall, id).filter(|call| call.status == CallStatus::RetryScheduled);
        if let Some(attempt) = again.map(|call| call.attempt) {
            self.emit(Payload::LlmCallDispatched { id: id.clone(), attempt });
        }
    }
}
