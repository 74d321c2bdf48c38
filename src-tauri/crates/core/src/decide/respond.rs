//! Applying a decider's answer (P-5…P-9) in its fixed order.

use serde_json::Value;

use crate::budget;
use crate::command::{Receipt, Settle};
use crate::connector;
use crate::decision::Trigger;
use crate::deferred;
use crate::event::{CallKind, CallRef, Payload, Rank};
use crate::id::{CallId, DecisionId, MessageId, TurnId};
use crate::json::same;
use crate::message::{AgentConfig, ErrorCode, ErrorInfo, Handler, Reasoning};
use crate::prompt::{LoggedRequest, Prompt};
use crate::rejection::{Code, Rejection};
use crate::response::{Action, LlmCallAction, Response, View, action_json, needs_id, parse, remembered_call};
use crate::retry::{EffectKind, RetryOverride, RetryPolicy};
use crate::state::{Call, CallStatus, Decision};

use super::Step;

impl Step<'_, '_, '_> {
    /// P-6: an answer to a decision that is not live changes nothing and is no error.
    pub(super) fn answered(&mut self, id: &DecisionId, attempt: Option<u32>, raw: &Value) -> Result<Receipt, Rejection> {
        let Some(decision) = self.s.decision(id).filter(|d| d.live && attempt.is_none_or(|a| a == d.attempts)).cloned() else {
            return Ok(Receipt::default());
        };
        let strict = attempt.is_none();
        let parsed = parse(raw, self.s, &decision, self.ctx.config, strict).and_then(|response| self.reachable(response));
        match parsed {
            Ok(response) => self.apply_response(&decision, response),
            Err(problem) if strict => return Err(Rejection::new(Code::InvalidRequest, problem)),
            Err(problem) => {
                // P-26, P-29: a web service may answer better next time, a file will not.
                let retryable = self.s.worker.as_ref().is_some_and(|worker| worker.url.is_some());
                self.decision_failed(id, decision.attempts, ErrorInfo::new(ErrorCode::InvalidResponse, problem), retryable);
            }
        }
        Ok(Receipt::default())
    }

    /// `message.send` goes to another root session of the same tenant and owner (§3.4).
    fn reachable(&self, response: Response) -> Result<Response, String> {
        for action in &response.actions {
            if let Action::MessageSend { session_id, .. } = action {
                let mine = self.ctx.reachable.get(session_id).is_some_and(|identity| identity.subject == self.s.identity.subject);
                if !mine || session_id == &self.s.id {
                    return Err(format!("message.send: {session_id} is no other session of this owner"));
                }
            }
        }
        Ok(response)
    }

    pub(super) fn apply_response(&mut self, decision: &Decision, response: Response) {
        self.emit(Payload::DecisionCompleted { id: decision.id.clone() });
        if let Some(view) = response.view {
            self.record(view);
        }
        if let Some(state) = response.state {
            self.new_state(state);
        }
        if let Some(config) = response.agent {
            self.new_config(config);
        }
        let starts_work =
            response.actions.iter().any(|a| matches!(a, Action::LlmCall(_) | Action::ToolCall { .. } | Action::SubagentSpawn { .. }));
        let free = matches!(decision.trigger, Trigger::ClientAction { .. })
            || decision.turn_id.as_ref().is_none_or(|turn| self.s.turn(turn).is_none());
        if starts_work && self.s.current.is_none() && free {
            let turn = TurnId::from(format!("turn_{}", decision.id.as_str().trim_start_matches("dec_"))); // N-7
            self.emit(Payload::TurnStarted { turn_id: turn });
        }
        if let Some(channels) = response.channels {
            let finishes_turn = matches!(decision.trigger, Trigger::TurnFinished { .. });
            self.emit(Payload::ChannelsUpdated { decision_id: decision.id.clone(), finishes_turn, channels });
        }
        let mut done = None;
        let mut failed = None;
        for action in response.actions {
            match action {
                Action::Done { data } => done = Some(data),
                Action::Fail { error } => failed = Some(error),
                other => self.act(decision, other),
            }
        }
        self.void_paused_model_calls();
        self.finish(decision, done, failed);
    }

    /// How the answer leaves its turn (`done`, `fail`, P-9, I-100).
    fn finish(&mut self, decision: &Decision, done: Option<Option<Value>>, failed: Option<ErrorInfo>) {
        // The turn the answer is about: its own, or the one an action opened or met.
        let own = match &decision.trigger {
            Trigger::SessionStart {} => None,
            // Its turn may be over, or left with its branch, since it was queued.
            Trigger::ClientAction { .. } => self.s.current.clone(),
            _ => decision.turn_id.clone().or_else(|| self.s.current.clone()),
        };
        let Some(turn) = own.filter(|turn| self.s.current.as_ref() == Some(turn)) else { return };
        if let Some(error) = failed {
            self.fail_turn(&turn, error);
            return;
        }
        let idle = self.turn_is_idle(&turn) && !self.waits_for_its_own_answer(&turn);
        let Some(data) = done.or_else(|| idle.then_some(None)) else { return };
        let ends = matches!(&decision.trigger, Trigger::TurnFinished { turn_id, .. } if *turn_id == turn);
        if ends && self.turn_is_idle(&turn) && !self.s.paused() {
            self.complete_turn(&turn, data, None);
            return;
        }
        let waits = self.s.decisions.iter().any(|d| matches!(&d.trigger, Trigger::TurnFinished { turn_id, .. } if *turn_id == turn));
        if !waits {
            let (cost, usage) = self.s.turn(&turn).map(|t| (t.cost, t.usage.clone())).unwrap_or_default();
            self.queue(Some(turn.clone()), Trigger::TurnFinished { turn_id: turn, data, cost, usage });
        }
    }

    /// A turn on a branch that another turn's question holds has nothing to wait for: it may end there (I-74, I-100).
    fn waits_for_its_own_answer(&self, turn: &TurnId) -> bool {
        self.s.pausing(self.s.tree.head()).any(|open| open.turn_id.as_ref().is_none_or(|of| of == turn))
    }

    /// No open call and no waiting decision of the turn. Work spared on a branch that was left does not count.
    fn turn_is_idle(&self, turn: &TurnId) -> bool {
        let works =
            |call: &Call| call.kind != CallKind::ConnectorSync && call.turn_id.as_ref() == Some(turn) && self.s.is_active(call.anchor);
        !self.s.open_calls().any(works)
            && !self.s.decisions.iter().any(|d| {
                d.turn_id.as_ref() == Some(turn) && self.s.is_active(d.anchor) && !matches!(d.trigger, Trigger::ClientAction { .. })
            })
    }

    /// T-3…T-8: the view into the tree, then what it strands.
    fn record(&mut self, view: View) {
        let before = self.s.tree.head();
        if view.news.is_empty() {
            if let Some(to) = view.after.filter(|_| view.after != before) {
                self.emit(Payload::HeadMoved { head_id: self.s.tree.node(to).id.clone() });
                self.strand();
            }
            return;
        }
        let leaves = view.after != before;
        let mut parent: Option<MessageId> = view.after.map(|ix| self.s.tree.node(ix).id.clone());
        for mut message in view.news {
            if needs_id(self.s, message.id.as_ref()) {
                message.id = Some(self.ctx.ids.message());
            }
            let id = message.id.clone();
            self.emit(Payload::MessageNew { message, parent_id: parent });
            parent = id;
        }
        if leaves {
            self.strand();
        }
    }

    /// T-9, T-16, Q-10: work anchored off the new path ends, unless it is parked behind an open interrupt there.
    pub(super) fn strand(&mut self) {
        let parked_calls: Vec<CallId> = self
            .s
            .interrupts
            .iter()
            .filter(|i| !self.s.is_active(i.anchor))
            .filter_map(|i| i.call.as_ref())
            .map(|c| c.id.clone())
            .collect();
        let stranded: Vec<_> = self
            .s
            .open_calls()
            .filter(|call| !self.s.is_active(call.anchor) && !parked_calls.contains(&call.id))
            .filter(|call| match call.kind {
                CallKind::LlmCall | CallKind::ToolCall => true,
                CallKind::Subagent => call.status != CallStatus::Running,
                CallKind::ConnectorSync => false,
            })
            .map(|call| (call.kind, call.id.clone()))
            .collect();
        for (kind, id) in stranded {
            self.void(kind, &id);
        }
        self.drop_stranded();
        self.end_left_turns();
    }

    /// Decisions on a branch that was left, unless a question open there keeps them.
    pub(super) fn drop_stranded(&mut self) {
        let dropped: Vec<_> = self
            .s
            .decisions
            .iter()
            .filter(|d| !d.live && d.anchor.is_some() && !self.s.is_active(d.anchor))
            .filter(|d| !(self.s.is_parked_at(d.anchor) && is_parked_report(d)))
            .map(|d| d.id.clone())
            .collect();
        for id in dropped {
            self.emit(Payload::DecisionDropped { id });
        }
    }

    fn new_state(&mut self, state: Value) {
        if !self.s.state_at(self.s.tree.head()).is_some_and(|known| same(known, &state)) {
            let anchor = self.s.tree.head_id().cloned();
            self.emit(Payload::WorkerStateUpdated { state, anchor });
        }
    }

    fn new_config(&mut self, config: AgentConfig) {
        let known = self.s.config().map(|known| serde_json::json!(known));
        if !known.is_some_and(|known| same(&known, &serde_json::json!(config))) {
            let anchor = self.s.tree.head_id().cloned();
            self.emit(Payload::AgentUpdated { config, anchor });
            self.fetch_new_connections();
        }
    }

    fn act(&mut self, decision: &Decision, action: Action) {
        match action {
            Action::LlmCall(call) => self.request_model(call),
            Action::ToolCall { id, name, arguments, retry } => self.request_tool(id, name, arguments, retry.as_ref()),
            Action::ToolResult { id, attempt, result } => self.settle(Settle::ToolResult { id, attempt, result }),
            Action::ToolError { id, attempt, error, retryable } => self.settle(Settle::ToolError { id, attempt, error, retryable }),
            Action::LlmResult { id, attempt, response } => self.settle(Settle::LlmResult { id, attempt, response }),
            Action::LlmError { id, attempt, error, retryable } => self.settle(Settle::LlmError { id, attempt, error, retryable }),
            Action::SubagentSpawn { call, asked, retry } => self.request_subagent(decision, call, &asked, retry.as_ref()),
            Action::MessageSend { session_id, message } => {
                let mut message = message;
                message.id.get_or_insert_with(|| self.ctx.ids.message());
                self.emit(Payload::SessionMessageRequested { target_session_id: session_id, message });
            }
            Action::Interrupt { id, reason, payload } => {
                let call = self.interrupted_call(decision);
                self.raise(id, Rank::Frontend, reason, payload, call);
            }
            Action::Resolve { id, payload } => self.resolve(&id, payload),
            Action::ConnectorSync { path } => self.refetch(path),
            Action::Done { .. } | Action::Fail { .. } => {}
        }
    }

    /// I-13, I-38, Q-6.
    fn interrupted_call(&self, decision: &Decision) -> Option<CallRef> {
        match &decision.trigger {
            Trigger::ToolExecute { id, .. } => self.s.tool(id).filter(|call| call.status.is_open()).map(crate::state::Call::reference),
            _ => remembered_call(self.s, decision).filter(|call| self.s.tool(&call.id).is_some_and(|call| call.status.is_open())),
        }
    }

    /// §3.4 `llm.call`: bare, it is the config over the conversation.
    fn request_model(&mut self, action: LlmCallAction) {
        if let Some((id, scope)) = self.ctx.budget.exhausted() {
            let payload = budget::question(id, scope, action_json(&Action::LlmCall(action)));
            self.raise(Some(id.into()), Rank::System, budget::REASON.to_owned(), Some(payload), None);
            return;
        }
        let id = action.id.clone().unwrap_or_else(|| self.ctx.ids.model_call());
        if self.s.call(CallKind::LlmCall, &id).is_some() || self.s.tree.find(id.as_str()).is_some() {
            return;
        }
        let index = self.s.config_index_at(self.s.tree.head());
        let config = index.and_then(|index| self.s.config_version(index as u32));
        let block = action.llm.or_else(|| config.and_then(|c| c.llm.clone())).unwrap_or_default();
        let Some(info) = self.ctx.config.llms.get(&block).cloned() else { return };
        let retry = RetryPolicy::resolve(EffectKind::ModelCall, config.and_then(|c| c.retry.as_ref()), action.retry.as_ref());
        let effort = config.and_then(|c| c.effort).map(|effort| Reasoning { effort: Some(effort), ..Reasoning::default() });
        let request = LoggedRequest {
            model: action.model.or_else(|| config.map(|c| c.model.clone())).unwrap_or_default(),
            prompt: match action.messages {
                Some(messages) => Prompt::Given(messages),
                None => Prompt::Path { head: self.s.tree.head_id().cloned(), open: self.unanswered() },
            },
            delegates: config
                .filter(|_| action.tools.is_none())
                .map(|c| crate::delegate::shown(self.s, c, self.ctx.config))
                .unwrap_or_default(),
            connections: config.filter(|_| action.tools.is_none()).map(|c| connector::current(self.s, c)).unwrap_or_default(),
            tools: action.tools,
            config: index.map(|index| index as u32),
            temperature: action.temperature,
            max_completion_tokens: action.max_completion_tokens,
            reasoning: action.reasoning.or(effort),
        };
        let handler = if info.kind == crate::engine_config::LlmKind::Worker { Handler::Worker } else { Handler::Server };
        let stream = action.stream.unwrap_or(true);
        self.emit(Payload::LlmCallRequested { id, attempt: 1, llm: block, request, stream, retry, handler, format: info.format });
    }

    /// Calls whose result is not in the tree yet: the model is told they are pending (P-16).
    fn unanswered(&self) -> Vec<CallId> {
        let pending = self.s.pending.iter().map(|index| &self.s.calls[*index]);
        pending.filter(|call| matches!(call.kind, CallKind::ToolCall | CallKind::Subagent)).map(|call| call.id.clone()).collect()
    }

    /// §3.4 `tool.call`, K-8: handler and policy are fixed here. A known id has no effect.
    fn request_tool(&mut self, id: Option<CallId>, name: String, arguments: String, retry: Option<&RetryOverride>) {
        let id = id.unwrap_or_else(|| self.ctx.ids.tool_call());
        if self.s.tool(&id).is_some() {
            return;
        }
        let config = self.s.config();
        // A worker may hand on what the model wrote (K-10).
        let (name, arguments) = config.map_or_else(|| (name.clone(), arguments.clone()), |c| deferred::meant(c, &name, &arguments));
        let declared = config.and_then(|c| c.tool(&name));
        let target = config.filter(|_| declared.is_none()).and_then(|c| connector::find(self.s, c, &name)).map(|tool| tool.target());
        let (handler, kind) = match declared.and_then(|tool| tool.handler) {
            Some(Handler::Client) => (Handler::Client, EffectKind::ClientTool),
            _ if target.is_some() || config.is_some_and(|c| deferred::is_own(c, &name)) => (Handler::Server, EffectKind::ConnectorTool),
            _ => (Handler::Worker, EffectKind::WorkerTool),
        };
        let retry = RetryPolicy::resolve(kind, config.and_then(|c| c.retry.as_ref()), retry);
        self.emit(Payload::ToolCallRequested { id, attempt: 1, name, arguments, handler, target, retry });
    }

    /// §3.4 `fail`, K-16: open calls are voided, what waits for this turn is dropped, the turn ends with the error.
    pub(super) fn fail_turn(&mut self, turn: &TurnId, error: ErrorInfo) {
        let open: Vec<_> = self
            .s
            .open_calls()
            // A fetch serves the session, not the turn (C-33).
            .filter(|c| c.turn_id.as_ref() == Some(turn) && c.kind != CallKind::ConnectorSync)
            .map(|c| (c.kind, c.id.clone()))
            .collect();
        for (kind, id) in open {
            self.void(kind, &id);
        }
        let waiting: Vec<_> = self
            .s
            .decisions
            .iter()
            .filter(|d| d.turn_id.as_ref() == Some(turn) && !matches!(d.trigger, Trigger::ClientAction { .. }))
            .map(|d| d.id.clone())
            .collect();
        for id in waiting {
            self.emit(Payload::DecisionDropped { id });
        }
        self.complete_turn(turn, None, Some(error));
    }

    pub(super) fn complete_turn(&mut self, turn: &TurnId, data: Option<Value>, error: Option<ErrorInfo>) {
        let (cost, usage) = self.s.turn(turn).map(|t| (t.cost, t.usage.clone())).unwrap_or_default();
        self.emit(Payload::TurnCompleted { turn_id: turn.clone(), data, turn_cost: cost, turn_token_usage: usage, error });
        if self.s.current.is_none() {
            self.emit_in(None, Payload::SessionDone {});
        }
    }
}

/// Held decisions about calls that have settled, answers given, and a held end (T-16): they wait for their branch.
fn is_parked_report(decision: &Decision) -> bool {
    !decision.trigger.is_execute()
}
