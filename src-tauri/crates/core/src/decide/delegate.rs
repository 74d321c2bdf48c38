//! Delegations (§8): asked for, begun, ended, and results that arrive later.

use serde_json::json;

use crate::command::ChildEnd;
use crate::decision::Trigger;
use crate::delegate::{Asked, WAITING, child_id, is_waited_for, mode, refusal, result_id, result_message};
use crate::event::{CallKind, Payload};
use crate::id::CallId;
use crate::message::{ErrorInfo, Message, Role, Usage};
use crate::money::Money;
use crate::retry::{EffectKind, RetryOverride, RetryPolicy};
use crate::state::{Call, CallStatus, Decision};

use super::Step;

impl Step<'_, '_, '_> {
    /// S-2, S-3, S-7, S-8. A delegation that reaches nobody ends at once.
    pub(super) fn request_subagent(&mut self, decision: &Decision, id: CallId, asked: &Asked, retry: Option<&RetryOverride>) {
        if self.s.call(CallKind::Subagent, &id).is_some() || self.s.tool(&id).is_some() {
            return;
        }
        let refused = refusal(self.s, self.ctx.config, asked);
        let config = self.s.config();
        let retry = RetryPolicy::resolve(EffectKind::SubagentStart, config.and_then(|c| c.retry.as_ref()), retry);
        let wait = asked.is_wait().then(|| WAITING.to_owned());
        let mode = wait.unwrap_or_else(|| mode(config, &asked.agent_id, asked.mode.as_deref()));
        let session_id = asked.session_id.clone().unwrap_or_else(|| child_id(self.s, &decision.id, decision.queued_at, &id));
        let (agent_id, message) = (asked.agent_id.clone(), asked.message.clone());
        self.emit(Payload::SubagentRequested { id: id.clone(), session_id, agent_id, message, retry, mode });
        if let Some(error) = refused {
            self.emit(Payload::SubagentErrored { id: id.clone(), error: error.clone(), retryable: false });
            self.tell(&id, ChildEnd { error: Some(error), ..ChildEnd::default() });
        }
    }

    fn delegation(&self, id: &CallId, status: CallStatus) -> Option<Call> {
        self.s.call(CallKind::Subagent, id).filter(|call| call.status == status).cloned()
    }

    /// S-5; a detached call is answered here.
    pub(super) fn child_started(&mut self, id: &CallId) {
        let Some(call) = self.delegation(id, CallStatus::Pending) else { return };
        self.emit(Payload::SubagentStarted { id: id.clone() });
        if call.mode == "detached" {
            let data = json!({"session": call.child});
            self.emit(Payload::SubagentTurnCompleted {
                id: id.clone(),
                cost: Money::ZERO,
                token_usage: Usage::default(),
                data: data.clone(),
                turn_id: None,
                error: None,
            });
            self.tell(id, ChildEnd { data: Some(data), ..ChildEnd::default() });
        }
    }

    pub(super) fn spawn_failed(&mut self, id: &CallId, attempt: u32, error: ErrorInfo, retryable: bool) {
        let open = |call: &Call| call.status.is_open() && call.attempt == attempt;
        if !self.s.call(CallKind::Subagent, id).is_some_and(open) {
            return;
        }
        self.emit(Payload::SubagentErrored { id: id.clone(), error: error.clone(), retryable });
        if self.s.call(CallKind::Subagent, id).is_some_and(|call| !call.status.is_open()) {
            self.tell(id, ChildEnd { error: Some(error), ..ChildEnd::default() });
        }
    }

    /// S-5, C-32.
    pub(super) fn child_ended(&mut self, id: &CallId, end: ChildEnd) {
        if self.delegation(id, CallStatus::Running).is_none() {
            return;
        }
        self.emit(Payload::SubagentTurnCompleted {
            id: id.clone(),
            cost: end.cost,
            token_usage: end.usage.clone(),
            data: end.data.clone().unwrap_or_default(),
            turn_id: end.turn_id.clone(),
            error: end.error.clone(),
        });
        self.tell(id, end);
    }

    /// Queues `subagent.finished`. On a branch that was left for good the decision is dropped.
    fn tell(&mut self, id: &CallId, end: ChildEnd) {
        let Some(call) = self.s.call(CallKind::Subagent, id).cloned() else { return };
        let Some(session_id) = call.child else { return };
        let trigger = Trigger::SubagentFinished {
            id: id.clone(),
            ok: end.error.is_none(),
            session_id,
            agent_id: call.name,
            result: end.data.filter(|_| end.error.is_none()),
            error: end.error,
        };
        let turn = call.turn_id.clone();
        let decision = self.queue(call.turn_id, trigger);
        let left = !self.s.is_active(call.anchor) && !self.s.is_parked_at(call.anchor);
        let over = |turn: &crate::id::TurnId| self.s.turn(turn).is_some_and(|turn| turn.state == crate::state::TurnState::Over);
        if left || turn.as_ref().is_some_and(over) {
            self.emit(Payload::DecisionDropped { id: decision });
        }
    }

    /// S-11, Q-59: when no turn runs, all results that wait are told in one turn. Until then the call is asked about again.
    pub(super) fn detached_ended(&mut self, ends: Vec<(CallId, ChildEnd)>) {
        let busy = self.s.current.is_some() || self.s.waiting_turns().next().is_some() || self.s.paused();
        let told = |id: &CallId| self.s.detached.contains(id) && !is_waited_for(self.s, id);
        let known: Vec<_> = ends.into_iter().filter(|(id, _)| told(id)).collect();
        if busy || known.is_empty() || crate::thread::is_stopped(self.s) {
            return;
        }
        let turn = self.ctx.ids.turn();
        for (id, end) in known {
            let Some(call) = self.s.call(CallKind::Subagent, &id).cloned() else { continue };
            let Some(child) = call.child else { continue };
            let text = result_message(&call.name, &child, end.data.as_ref(), end.error.as_ref());
            let message = Message { id: Some(result_id(&self.s.id, &id)), ..Message::new(Role::User, text) };
            let parent_id = self.s.tree.head_id().cloned();
            self.emit_in(Some(turn.clone()), Payload::MessageNew { message, parent_id });
        }
        self.queue(Some(turn), Trigger::ClientMessages { messages: Vec::new(), client: None, stream: None, after: None, append: true });
    }
}
