//! The fold (E-1): one event onto the state. Total: every type has an arm, and nothing here can fail.

use crate::answer::outcome;
use crate::connector::{self, Fetch};
use crate::decision::Trigger;
use crate::delegate;
use crate::event::{CallKind, Event, Payload};
use crate::id::{CallId, SessionId};
use crate::message::{ErrorInfo, Handler, Message, Role};
use crate::state::{Call, CallStatus, ClosedInterrupt, Decision, Interrupt, LlmDetail, Memo, Session, Turn, TurnState, Version};
use crate::time::Millis;

impl Session {
    /// Folds a whole log. `None` when it is empty.
    pub fn fold<'a>(id: &SessionId, events: impl IntoIterator<Item = &'a Event>) -> Option<Self> {
        let mut session = None;
        for event in events {
            session.get_or_insert_with(|| Self::new(id.clone())).apply(event);
        }
        session
    }

    pub fn apply(&mut self, event: &Event) {
        self.seq = event.seq;
        self.last_at = event.at;
        match &event.payload {
            Payload::SessionCreated { agent_id, identity, ancestry, worker_retry, worker, unattended } => {
                self.unattended = *unattended;
                self.agent_id.clone_from(agent_id);
                self.identity = identity.clone();
                self.ancestry = ancestry.clone().unwrap_or_default();
                self.worker_retry = worker_retry.clone();
                self.worker.clone_from(worker);
                self.created_at = event.at;
            }
            Payload::MessageNew { message, parent_id } => {
                self.add_message(event, message, parent_id.as_ref().map(crate::id::MessageId::as_str));
            }
            Payload::HeadMoved { head_id } => {
                if let Some(ix) = self.tree.find(head_id.as_str()) {
                    self.tree.move_head(ix);
                    self.head_changed(event);
                }
            }
            Payload::TurnStarted { turn_id } => self.start_turn(event, turn_id),
            Payload::TurnCompleted { turn_id, data, error, .. } => self.complete_turn(event, turn_id, data.as_ref(), error.as_ref()),
            Payload::SessionDone {} => self.done = true,
            Payload::LlmCallRequested { id, attempt, llm, request, stream, retry, handler, format } => {
                let detail = LlmDetail { block: llm.clone(), request: request.clone(), stream: *stream, format: format.clone() };
                let mut call = self.new_call(event, CallKind::LlmCall, id, *handler, retry);
                call.attempt = *attempt;
                call.name.clone_from(&request.model);
                call.llm = Some(detail);
                self.push_call(call);
            }
            Payload::ToolCallRequested { id, attempt, name, arguments, handler, target, retry } => {
                let mut call = self.new_call(event, CallKind::ToolCall, id, *handler, retry);
                call.attempt = *attempt;
                call.name.clone_from(name);
                call.arguments.clone_from(arguments);
                call.target.clone_from(target);
                self.push_call(call);
            }
            Payload::LlmCallDispatched { id, attempt } => self.dispatch(event, CallKind::LlmCall, id, *attempt),
            Payload::ToolCallDispatched { id, attempt, .. } => self.dispatch(event, CallKind::ToolCall, id, *attempt),
            Payload::LlmCallCompleted { id, response, script_reply, .. } => {
                self.count_script(id, *script_reply);
                if let Some(usage) = &response.usage {
                    self.own_usage.add(usage);
                    self.spend(event, |turn_usage, _| turn_usage.add(usage));
                }
                if let Some(cost) = response.cost {
                    self.own_cost = self.own_cost.plus(cost);
                    self.spend(event, |_, turn_cost| *turn_cost = turn_cost.plus(cost));
                }
                self.end_call(event, CallKind::LlmCall, id, CallStatus::Completed, None);
            }
            Payload::LlmCallErrored { id, error, retryable, script_reply, retry_after_ms, .. } => {
                self.count_script(id, *script_reply);
                self.fail_attempt(event, CallKind::LlmCall, id, error, *retryable, *retry_after_ms);
            }
            Payload::ToolCallCompleted { id, .. } => self.end_call(event, CallKind::ToolCall, id, CallStatus::Completed, None),
            Payload::ToolCallErrored { id, error, retryable, .. } => {
                self.fail_attempt(event, CallKind::ToolCall, id, error, *retryable, None);
            }
            Payload::SubagentRequested { id, session_id, agent_id, message, retry, mode } => {
                let mut call = self.new_call(event, CallKind::Subagent, id, Handler::Server, retry);
                call.name.clone_from(agent_id);
                call.arguments = message.clone().unwrap_or_default();
                call.child = Some(session_id.clone());
                call.mode.clone_from(mode);
                self.push_call(call);
            }
            Payload::SubagentDispatched { id } => self.dispatch(event, CallKind::Subagent, id, 1),
            Payload::SubagentStarted { id } => {
                if let Some(call) = self.call_mut(CallKind::Subagent, id) {
                    call.status = CallStatus::Running;
                    call.reached = true;
                    call.seq = event.seq;
                }
            }
            Payload::SubagentTurnCompleted { id, cost, token_usage, error, .. } => {
                self.spend(event, |usage, spent| {
                    usage.add(token_usage);
                    *spent = spent.plus(*cost);
                });
                let status = if error.is_some() { CallStatus::Failed } else { CallStatus::Completed };
                self.end_call(event, CallKind::Subagent, id, status, error.as_ref());
                self.detached_or_collected(id);
            }
            Payload::SubagentErrored { id, error, retryable } => self.fail_attempt(event, CallKind::Subagent, id, error, *retryable, None),
            Payload::ConnectorSyncRequested { path, attempt, retry } => {
                let id = CallId::from(path.as_str());
                if *attempt == 1 {
                    let mut call = self.new_call(event, CallKind::ConnectorSync, &id, Handler::Server, retry);
                    call.name.clone_from(path);
                    self.push_call(call);
                }
                self.dispatch(event, CallKind::ConnectorSync, &id, *attempt);
            }
            Payload::ConnectorSyncCompleted { path, prefix, tools, instructions } => {
                self.bad_credentials.remove(path);
                self.fetch_settled(path, Fetch::listed(prefix.clone(), tools, instructions.clone()));
                let id = CallId::from(path.as_str());
                self.end_call(event, CallKind::ConnectorSync, &id, CallStatus::Completed, None);
                self.report(CallKind::ConnectorSync, &id);
            }
            Payload::ConnectorSyncErrored { path, error, retryable, auth } => {
                let id = CallId::from(path.as_str());
                self.fail_attempt(event, CallKind::ConnectorSync, &id, error, *retryable, None);
                if self.call(CallKind::ConnectorSync, &id).is_some_and(|call| !call.status.is_open()) {
                    match auth {
                        Some(auth) => self.bad_credentials.insert(path.clone(), auth.clone()),
                        None => self.bad_credentials.remove(path),
                    };
                    self.fetch_settled(path, Fetch::failed(auth.is_some()));
                    self.report(CallKind::ConnectorSync, &id);
                }
            }
            Payload::ConnectorAuthFailed { path, auth } => {
                self.bad_credentials.insert(path.clone(), auth.clone());
            }
            Payload::SessionInterrupted { interrupt_id, origin, reason, payload, anchor, call } => {
                self.interrupts.push(Interrupt {
                    id: interrupt_id.clone(),
                    origin: *origin,
                    reason: reason.clone(),
                    payload: payload.clone(),
                    anchor: anchor.as_ref().and_then(|id| self.tree.find(id.as_str())),
                    call: call.clone(),
                    turn_id: event.turn_id.clone(),
                    opened_at: event.at,
                    opened_seq: event.seq,
                    hash: Memo::default(),
                });
                self.return_live_decision();
                self.set_clocks(event.at);
                self.restart_deliveries();
            }
            Payload::SessionInterruptResumed { interrupt_id, payload, responder, verification, .. } => {
                if let Some(at) = self.interrupts.iter().position(|i| &i.id == interrupt_id) {
                    let was_active = self.is_active(self.interrupts[at].anchor);
                    let interrupt = self.interrupts.remove(at);
                    let own_responder = payload.as_ref().and_then(|p| p.get("responder")).cloned();
                    let closed = ClosedInterrupt {
                        at: event.at,
                        seq: event.seq,
                        outcome: outcome(interrupt.payload.as_ref(), payload.as_ref()),
                        payload: payload.clone(),
                        responder: responder.clone().or(own_responder),
                        verification: *verification,
                        was_active,
                        interrupt,
                    };
                    let asked = connector::asked_about(&closed.interrupt);
                    self.closed.insert(interrupt_id.clone(), closed);
                    self.set_clocks(event.at);
                    if let Some(call) = asked {
                        self.outcome_answered(event, &call, payload.as_ref(), was_active);
                    }
                }
            }
            Payload::WorkerStateUpdated { state, anchor } => {
                let anchor = anchor.as_ref().and_then(|id| self.tree.find(id.as_str()));
                self.states.push(Version { anchor, value: state.clone() });
            }
            Payload::AgentUpdated { config, anchor } => {
                let anchor = anchor.as_ref().and_then(|id| self.tree.find(id.as_str()));
                self.configs.push(Version { anchor, value: config.clone() });
            }
            Payload::ChannelsUpdated { channels, .. } => {
                for (channel, view) in channels {
                    self.channels.insert(channel.clone(), view.clone());
                }
            }
            Payload::DecisionQueued { id, trigger } => {
                let anchor = self.decision_anchor(trigger);
                self.decisions.push(Decision {
                    id: id.clone(),
                    trigger: trigger.clone(),
                    turn_id: event.turn_id.clone(),
                    anchor,
                    live: false,
                    attempts: 0,
                    queued_at: event.at,
                    first_sent_at: None,
                    deadline: None,
                    not_before: None,
                    error: None,
                    behind: None,
                });
            }
            Payload::DecisionDispatched { id, attempt } => self.dispatch_decision(event.at, id.as_str(), *attempt),
            Payload::DecisionCompleted { id } => {
                if let Some(decision) = self.remove_decision(id.as_str()) {
                    match decision.trigger {
                        Trigger::SessionStart {} => self.started = true,
                        Trigger::ClientMessages { client, after, append, .. } => {
                            let leaf = if append { self.tree.head() } else { after.and_then(|id| self.tree.find(id.as_str())) };
                            self.join_client_tools(client.and_then(|client| client.tools).unwrap_or_default(), leaf);
                        }
                        _ => {}
                    }
                }
            }
            Payload::DecisionErrored { id, error, retryable } => self.fail_decision(event.at, id.as_str(), error, *retryable),
            Payload::DecisionDropped { id } => {
                if let Some(decision) = self.remove_decision(id.as_str())
                    && matches!(decision.trigger, Trigger::ClientMessages { .. })
                    && let Some(turn) = decision.turn_id.filter(|turn| self.turn(turn).is_none())
                {
                    self.dropped_turns.insert(turn);
                }
            }
            Payload::CallVoided { kind, id, spent } => {
                if let Some(spent) = spent {
                    self.spend(event, |usage, cost| {
                        usage.add(&spent.token_usage);
                        *cost = cost.plus(spent.cost);
                    });
                }
                self.end_call(event, *kind, id, CallStatus::Voided, None);
                self.report(*kind, id);
            }
            Payload::SessionMessageRequested { target_session_id, message } => {
                self.sends.push((event.seq, target_session_id.clone(), message.clone()));
            }
        }
    }

    /// S-11: a detached call leaves a result to be told; one that a wait collects is told there. On a branch that was left nobody
    /// reads what a wait collects.
    fn detached_or_collected(&mut self, id: &CallId) {
        let Some(call) = self.call(CallKind::Subagent, id) else { return };
        if call.mode == "detached" {
            self.detached.push(id.clone());
        } else if let Some(collected) = delegate::waited_for(self, call).filter(|_| self.is_active(call.anchor)) {
            let collected = collected.id.clone();
            self.detached.retain(|id| *id != collected);
        }
    }

    /// K-7: tools the agent does not have itself. Remembered for the session, as a fork may go back to a config that has them.
    fn join_client_tools(&mut self, given: Vec<crate::message::AgentTool>, leaf: Option<crate::tree::Ix>) {
        for tool in given {
            let own = self.config_at(leaf).is_some_and(|config| config.tool(&tool.name).is_some());
            if !own && !self.client_tools.contains(&tool.name) {
                self.client_tools.push(tool.name);
            }
        }
    }

    fn add_message(&mut self, event: &Event, message: &Message, parent: Option<&str>) {
        let parent = parent.and_then(|id| self.tree.find(id));
        let Some(id) = message.id.clone() else { return };
        let ix = self.tree.add(message.clone(), id, parent, event.seq, event.at, event.turn_id.clone());
        for call in message.calls() {
            self.asked_in.insert(call.id.clone(), ix);
        }
        if let (Role::Tool, Some(call)) = (message.role, &message.tool_call_id) {
            let id = CallId::from(call.as_str());
            for kind in [CallKind::ToolCall, CallKind::Subagent] {
                if self.call(kind, &id).is_some_and(|call| !call.status.is_open()) {
                    self.report(kind, &id);
                }
            }
        }
        if message.role == Role::User {
            // S-11: a detached result is told by a message made of its call.
            let told = message.id.clone();
            self.detached.retain(|call| Some(crate::delegate::result_id(&self.id, call)) != told);
        }
        if self.title.is_empty() && message.role == Role::User {
            self.title = first_line(&message.text());
        }
        self.head_changed(event);
    }

    /// I-73, I-74: which turn is current follows the head; so do the clocks of what is parked.
    fn head_changed(&mut self, event: &Event) {
        let left = self.current.clone().filter(|turn| {
            let own: Vec<&Interrupt> = self.interrupts.iter().filter(|i| i.turn_id.as_ref() == Some(turn)).collect();
            !own.is_empty() && !own.iter().any(|i| self.is_active(i.anchor))
        });
        if let Some(turn) = left {
            self.suspend(&turn, event.seq);
            self.current = None;
        }
        self.restore_suspended(event.seq);
        if !self.pending.is_empty() {
            self.set_clocks(event.at);
        }
    }

    /// The suspended turn that the active branch belongs to: its question is open here, or its answer or end waits here.
    fn suspended_here(&self) -> Option<crate::id::TurnId> {
        let asked = self.pausing(self.tree.head()).filter_map(|i| i.turn_id.as_ref());
        let answered = self
            .decisions
            .iter()
            .filter(|d| self.goes_on_here(d))
            .filter_map(|d| d.turn_id.as_ref())
            .filter(|turn| !self.interrupts.iter().any(|i| i.turn_id.as_ref() == Some(turn)));
        asked.chain(answered).find(|turn| self.is_suspended(turn)).cloned()
    }

    /// I-73. What was queued behind the turn goes on waiting for it (I-27).
    fn suspend(&mut self, turn: &crate::id::TurnId, seq: u64) {
        self.set_turn(turn, TurnState::Suspended, seq);
        let queued: Vec<usize> = (0..self.decisions.len()).filter(|at| self.is_queued_turn(&self.decisions[*at])).collect();
        for at in queued {
            self.decisions[at].behind = Some(turn.clone());
        }
    }

    fn restore_suspended(&mut self, seq: u64) {
        if self.current.is_none()
            && let Some(turn) = self.suspended_here()
        {
            self.set_turn(&turn, TurnState::Current, seq);
            self.current = Some(turn);
        }
    }

    fn set_turn(&mut self, turn: &crate::id::TurnId, state: TurnState, seq: u64) {
        if let Some(turn) = self.turn_mut(turn) {
            turn.state = state;
            turn.seq = seq;
        }
    }

    fn start_turn(&mut self, event: &Event, id: &crate::id::TurnId) {
        if let Some(left) = self.current.replace(id.clone()) {
            self.suspend(&left, event.seq);
            self.set_clocks(event.at);
        }
        self.done = false;
        self.push_turn(Turn {
            id: id.clone(),
            state: TurnState::Current,
            started_at: event.at,
            ended_at: None,
            cost: crate::money::Money::ZERO,
            usage: crate::message::Usage::default(),
            data: None,
            error: None,
            seq: event.seq,
        });
    }

    fn complete_turn(&mut self, event: &Event, id: &crate::id::TurnId, data: Option<&serde_json::Value>, error: Option<&ErrorInfo>) {
        if self.turn(id).is_none() {
            self.dropped_turns.insert(id.clone());
        }
        if let Some(turn) = self.turn_mut(id) {
            turn.state = TurnState::Over;
            turn.ended_at = Some(event.at);
            turn.data = data.cloned();
            turn.error = error.cloned();
            turn.seq = event.seq;
        }
        // Nobody records what its calls ended with any more.
        let calls = &self.calls;
        self.pending.retain(|index| calls[*index].status.is_open() || calls[*index].turn_id.as_ref() != Some(id));
        if self.current.as_ref() == Some(id) {
            self.current = None;
            self.restore_suspended(event.seq);
            self.set_clocks(event.at);
        }
    }

    fn new_call(&self, event: &Event, kind: CallKind, id: &CallId, handler: Handler, retry: &crate::retry::RetryPolicy) -> Call {
        Call {
            kind,
            id: id.clone(),
            turn_id: event.turn_id.clone(),
            anchor: self.tree.head(),
            status: CallStatus::Queued,
            attempt: 1,
            covered: 0,
            name: String::new(),
            handler,
            retry: retry.clone(),
            arguments: String::new(),
            target: None,
            llm: None,
            child: None,
            mode: String::new(),
            reached: false,
            requested_at: event.at,
            dispatched_at: None,
            ended_at: None,
            error: None,
            total_from: event.at,
            attempt_from: event.at,
            not_before: None,
            frozen_since: (handler != Handler::Server && self.branch_paused(self.tree.head())).then_some(event.at),
            seq: event.seq,
        }
    }

    fn dispatch(&mut self, event: &Event, kind: CallKind, id: &CallId, attempt: u32) {
        if let Some(call) = self.call_mut(kind, id) {
            call.status = CallStatus::Pending;
            call.attempt = attempt;
            call.dispatched_at = Some(event.at);
            call.attempt_from = event.at;
            call.not_before = None;
            call.seq = event.seq;
        }
    }

    /// D-12, Q-41: "Run it again" makes the call due under a fresh policy. On a branch that was left it is over.
    fn outcome_answered(&mut self, event: &Event, id: &CallId, payload: Option<&serde_json::Value>, active: bool) {
        if !active {
            self.report(CallKind::ToolCall, id);
            return;
        }
        let again = connector::told(payload) == Some(connector::Told::Again);
        let Some(call) = self.call_mut(CallKind::ToolCall, id).filter(|call| again && call.status == CallStatus::Pending) else { return };
        call.status = CallStatus::RetryScheduled;
        call.covered = call.attempt;
        call.attempt += 1;
        call.total_from = event.at;
        call.attempt_from = event.at;
        call.seq = event.seq;
    }

    fn fail_attempt(&mut self, event: &Event, kind: CallKind, id: &CallId, error: &ErrorInfo, retryable: bool, after_ms: Option<i64>) {
        let Some(call) = self.call_mut(kind, id) else { return };
        if let Some(since) = call.frozen_since {
            call.total_from = call.total_from.plus(event.at.0 - since.0);
            call.attempt_from = call.attempt_from.plus(event.at.0 - since.0);
            call.frozen_since = Some(event.at);
        }
        if call.status == CallStatus::Pending && call.handler == Handler::Server {
            call.total_from = call.total_from.plus(slept_through(call.clock(), event.at));
        }
        if call.error_is_final(retryable, event.at) {
            self.end_call(event, kind, id, CallStatus::Failed, Some(error));
            return;
        }
        call.status = CallStatus::RetryScheduled;
        call.error = Some(error.clone());
        call.attempt += 1;
        let wait = call.retry.backoff_ms(call.attempt - call.covered).max(after_ms.unwrap_or(0));
        call.not_before = Some(event.at.plus(wait));
        call.attempt_from = event.at;
        call.seq = event.seq;
    }

    fn end_call(&mut self, event: &Event, kind: CallKind, id: &CallId, status: CallStatus, error: Option<&ErrorInfo>) {
        let Some(call) = self.call_mut(kind, id) else { return };
        call.status = status;
        call.ended_at = Some(event.at);
        call.error = error.cloned();
        call.not_before = None;
        call.frozen_since = None;
        call.seq = event.seq;
    }

    /// The call's result is in the tree, or nobody will put it there: it is no longer pending.
    fn report(&mut self, kind: CallKind, id: &CallId) {
        let calls = &self.calls;
        self.pending.retain(|index| !(calls[*index].kind == kind && &calls[*index].id == id));
    }

    fn count_script(&mut self, id: &CallId, reply: Option<u32>) {
        let Some(reply) = reply else { return };
        let Some(block) = self.call(CallKind::LlmCall, id).and_then(|call| call.llm.as_ref()).map(|llm| llm.block.clone()) else { return };
        *self.script_used.entry(block).or_default().entry(reply).or_default() += 1;
    }

    fn spend(&mut self, event: &Event, add: impl Fn(&mut crate::message::Usage, &mut crate::money::Money)) {
        add(&mut self.usage, &mut self.cost);
        if let Some(turn) = event.turn_id.as_ref().and_then(|id| self.turn_mut(id)) {
            add(&mut turn.usage, &mut turn.cost);
            turn.seq = event.seq;
        }
    }

    /// Where the decision lands (I-21). Messages and actions land at the head of the moment they are delivered.
    fn decision_anchor(&self, trigger: &Trigger) -> Option<crate::tree::Ix> {
        match trigger {
            Trigger::InterruptResumed { interrupt_id, .. } => self.closed.get(interrupt_id).and_then(|closed| closed.interrupt.anchor),
            Trigger::TurnFinished { .. } => self.tree.head(),
            Trigger::ToolExecute { id, .. } | Trigger::ToolFinished { id, .. } => self.tool(id).and_then(|call| call.anchor),
            Trigger::LlmExecute { id, .. } | Trigger::LlmFinished { id, .. } => {
                self.call(CallKind::LlmCall, id).and_then(|call| call.anchor)
            }
            Trigger::SubagentFinished { id, .. } => self.call(CallKind::Subagent, id).and_then(|call| call.anchor),
            Trigger::SessionStart {} | Trigger::ClientMessages { .. } | Trigger::ClientAction { .. } => None,
        }
    }

    fn decision_mut(&mut self, id: &str) -> Option<&mut Decision> {
        self.decisions.iter_mut().find(|d| d.id.as_str() == id)
    }

    fn dispatch_decision(&mut self, at: Millis, id: &str, attempt: u32) {
        let run = self.worker_retry.run_timeout_secs;
        if let Some(decision) = self.decision_mut(id) {
            decision.live = true;
            decision.attempts = attempt;
            decision.not_before = None;
            decision.deadline = run.map(|secs| at.plus(crate::retry::ms(secs)));
            decision.first_sent_at.get_or_insert(at);
        }
    }

    fn fail_decision(&mut self, at: Millis, id: &str, error: &ErrorInfo, retryable: bool) {
        let policy = self.worker_retry.clone();
        let Some(decision) = self.decision_mut(id) else { return };
        let slept = slept_through(decision.deadline, at);
        decision.first_sent_at = decision.first_sent_at.map(|from| from.plus(slept));
        if decision.error_is_final(&policy, retryable, at) {
            self.remove_decision(id);
            return;
        }
        decision.live = false;
        decision.deadline = None;
        decision.error = Some(error.clone());
        decision.not_before = Some(at.plus(policy.backoff_ms(decision.attempts + 1)));
    }

    /// Takes a decision that is over out of the list. A call it reported is no longer pending.
    fn remove_decision(&mut self, id: &str) -> Option<Decision> {
        let at = self.decisions.iter().position(|d| d.id.as_str() == id)?;
        let decision = self.decisions.remove(at);
        match &decision.trigger {
            Trigger::ToolFinished { id, .. } => self.report(CallKind::ToolCall, id),
            Trigger::LlmFinished { id, .. } => self.report(CallKind::LlmCall, id),
            Trigger::SubagentFinished { id, .. } => self.report(CallKind::Subagent, id),
            // N-10: answers beside other news have no decision of their own.
            Trigger::ClientMessages { messages, .. } => self.report_answers(messages),
            _ => {}
        }
        Some(decision)
    }

    fn report_answers(&mut self, messages: &[Message]) {
        for call in messages.iter().filter(|m| m.role == Role::Tool).filter_map(|m| m.tool_call_id.as_deref()) {
            let id = CallId::from(call);
            if self.tool(&id).is_some_and(|call| !call.status.is_open()) {
                self.report(CallKind::ToolCall, &id);
            }
        }
    }

    /// I-22, Q-58: a decision in the decider's hands on a path that is now paused waits again.
    fn return_live_decision(&mut self) {
        let Some(at) = self.decisions.iter().position(|d| d.live) else { return };
        if self.held(&self.decisions[at]) {
            let decision = &mut self.decisions[at];
            decision.live = false;
            decision.deadline = None;
        }
    }

    /// The time a person takes is not the worker's: what is held has its whole time again when it is delivered (I-25).
    fn restart_deliveries(&mut self) {
        let held: Vec<usize> = (0..self.decisions.len()).filter(|at| self.held(&self.decisions[*at])).collect();
        for at in held {
            self.decisions[at].first_sent_at = None;
        }
    }

    /// I-77, T-16, M-36: clocks of worker and client calls stand still on a paused branch, all clocks of parked calls do.
    fn set_clocks(&mut self, at: Millis) {
        for index in self.pending.clone() {
            let call = &self.calls[index];
            if !call.status.is_open() || call.kind == CallKind::Subagent || call.kind == CallKind::ConnectorSync {
                continue;
            }
            let still = self.is_set_aside(call)
                || (call.handler != Handler::Server && self.branch_paused(call.anchor))
                || connector::outcome_is_asked(self, call)
                || crate::elicit::waits(self, call);
            let call = &mut self.calls[index];
            match (call.frozen_since, still) {
                (None, true) => call.frozen_since = Some(at),
                (Some(since), false) => {
                    let stood = at.0 - since.0;
                    call.total_from = call.total_from.plus(stood);
                    call.attempt_from = call.attempt_from.plus(stood);
                    call.not_before = call.not_before.map(|due| due.plus(stood));
                    call.frozen_since = None;
                }
                _ => {}
            }
        }
    }
}

/// How long the engine was down behind the end of an attempt: nobody worked then, so it is no part of the total time (D-2, D-3). An
/// engine that runs ends an attempt at its deadline.
fn slept_through(deadline: Option<Millis>, at: Millis) -> i64 {
    deadline.map_or(0, |end| (at.0 - end.0).max(0))
}

impl Decision {
    /// K-14, D-4: whether an error at `at` ends the decision.
    pub fn error_is_final(&self, policy: &crate::retry::RetryPolicy, retryable: bool, at: Millis) -> bool {
        let total = policy.total_timeout_secs.zip(self.first_sent_at).map(|(secs, from)| from.plus(crate::retry::ms(secs)));
        !retryable || self.attempts >= policy.max_attempts || total.is_some_and(|end| at >= end)
    }
}

/// First line, cut to 79 characters and `…`.
pub fn first_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    if line.chars().count() <= 80 { line.to_owned() } else { line.chars().take(79).chain(['…']).collect() }
}

/// The question of an interrupt in one line (I-52).
pub fn question(interrupt: &Interrupt) -> String {
    let message = interrupt.payload.as_ref().and_then(|p| p.get("message")).and_then(serde_json::Value::as_str);
    message.map_or_else(|| format!("Paused: {}", interrupt.reason), first_line)
}
