//! Connections at work (§10A, D-3, D-12): fetching their tools, the ends of their calls, and calls lost with the engine.

use crate::connector::{self, Fetch, Told, asked_about};
use crate::event::{CallKind, Payload, Rank};
use crate::id::CallId;
use crate::message::{ErrorCode, ErrorInfo, Handler, ToolResult};
use crate::retry::{EffectKind, RetryPolicy};
use crate::state::{Call, CallStatus, Interrupt};

use super::Step;

impl Step<'_, '_, '_> {
    /// M-6: once per session, when a config first names the connection.
    pub(super) fn fetch_new_connections(&mut self) {
        let Some(config) = self.s.config() else { return };
        let known = |path: &str| self.s.fetches.contains_key(path) || self.is_fetching(path);
        let new: Vec<String> = connector::entries(config).into_iter().map(|entry| entry.path).filter(|path| !known(path)).collect();
        for path in new {
            self.request_fetch(path);
        }
    }

    /// The action `connector.sync`.
    pub(super) fn refetch(&mut self, path: String) {
        let named = self.s.config().is_some_and(|config| connector::entries(config).iter().any(|entry| entry.path == path));
        if named && !self.is_fetching(&path) {
            self.request_fetch(path);
        }
    }

    fn is_fetching(&self, path: &str) -> bool {
        self.s.call(CallKind::ConnectorSync, &CallId::from(path)).is_some_and(|call| call.status.is_open())
    }

    fn request_fetch(&mut self, path: String) {
        let agent = self.s.config().and_then(|config| config.retry.as_ref());
        let retry = RetryPolicy::resolve(EffectKind::ConnectorFetch, agent, None);
        self.emit(Payload::ConnectorSyncRequested { path, attempt: 1, retry });
    }

    fn running_fetch(&self, path: &str, attempt: u32) -> bool {
        let call = self.s.call(CallKind::ConnectorSync, &CallId::from(path));
        call.is_some_and(|call| call.status == CallStatus::Pending && call.attempt == attempt)
    }

    /// The prefix is fixed here: a later change of the configuration renames no tool of this session (K-8).
    pub(super) fn fetched(&mut self, path: String, attempt: u32, tools: Vec<serde_json::Value>, instructions: Option<String>) {
        if self.running_fetch(&path, attempt) {
            let prefix = self.ctx.config.connections.get(&path).and_then(|connection| connection.prefix.clone());
            self.emit(Payload::ConnectorSyncCompleted { path, prefix, tools, instructions });
        }
    }

    pub(super) fn fetch_failed(&mut self, path: String, attempt: u32, error: ErrorInfo, retryable: bool, auth: Option<String>) {
        let call = self.s.call(CallKind::ConnectorSync, &CallId::from(path.as_str()));
        if call.is_some_and(|call| call.status.is_open() && call.attempt == attempt) {
            self.emit(Payload::ConnectorSyncErrored { path, error, retryable, auth });
        }
    }

    /// Fetches whose wait is over. There is no event of their own for that: a request is sent as it is recorded.
    pub(super) fn retry_fetches(&mut self) {
        let due: Vec<Call> = self
            .s
            .open_calls()
            .filter(|call| call.kind == CallKind::ConnectorSync && call.status == CallStatus::RetryScheduled)
            .filter(|call| call.not_before.is_none_or(|at| at <= self.ctx.now))
            .cloned()
            .collect();
        for call in due {
            self.emit(Payload::ConnectorSyncRequested { path: call.name, attempt: call.attempt, retry: call.retry });
        }
    }

    pub(super) fn running_call(&self, id: &CallId, attempt: u32) -> Option<&Call> {
        self.s.tool(id).filter(|call| {
            call.handler == Handler::Server
                && call.status == CallStatus::Pending
                && call.attempt == attempt
                && !connector::outcome_is_asked(self.s, call)
        })
    }

    pub(super) fn connector_call_ended(&mut self, id: &CallId, attempt: u32, result: ToolResult) {
        if self.running_call(id, attempt).is_some() {
            self.tool_completed(id, result, true);
            self.forget_questions(id);
        }
    }

    pub(super) fn connector_call_failed(&mut self, id: &CallId, attempt: u32, error: ErrorInfo, retryable: bool, auth: Option<String>) {
        let Some(call) = self.running_call(id, attempt) else { return };
        if let Some(auth) = auth {
            let (path, _) = connector::split_target(call.target.as_deref().unwrap_or_default());
            let (turn, path) = (call.turn_id.clone(), path.to_owned());
            self.emit_in(turn, Payload::ConnectorAuthFailed { path, auth });
        }
        self.call_failed(id, error, retryable);
    }

    /// D-3: a fetch under way counts as a failed attempt. D-12: a call is sent again where that does no harm, else a person is asked.
    pub(super) fn recover_connections(&mut self) {
        let fetches: Vec<Call> = self
            .s
            .open_calls()
            .filter(|call| call.kind == CallKind::ConnectorSync && call.status == CallStatus::Pending)
            .cloned()
            .collect();
        for call in fetches {
            let error = ErrorInfo::new(ErrorCode::ProviderError, "the engine stopped while the tools were fetched");
            self.fetch_failed(call.name.clone(), call.attempt, error, true, None);
            if self.is_fetching(&call.name) {
                self.emit(Payload::ConnectorSyncRequested { path: call.name, attempt: call.attempt + 1, retry: call.retry });
            }
        }
        let lost = self.s.open_calls().filter(|call| connector::in_servers_hands(self.s, call));
        // M-37: what waits for a person is sent again when it has its answer.
        let lost: Vec<Call> = lost.filter(|call| !crate::elicit::waits(self.s, call)).cloned().collect();
        for call in &lost {
            if connector::may_be_repeated(self.s, call) {
                self.send_again(call);
            } else {
                self.ask_for_outcome(call);
            }
        }
        if !lost.is_empty() {
            self.void_paused_model_calls();
        }
    }

    /// the crash uses up no attempt.
    fn send_again(&mut self, call: &Call) {
        let (id, attempt) = (call.id.clone(), call.attempt);
        if call.total_deadline().is_some_and(|end| end <= self.ctx.now) {
            let message = format!("{} was running when its total time ran out", call.name);
            self.tool_errored(&id, ErrorInfo::new(ErrorCode::DeadlineExceeded, message), false);
            return;
        }
        match crate::approval::clear(self.s, call) {
            Ok(cleared) => {
                let crate::approval::Cleared { approved_hash, arguments_hash } = cleared;
                self.emit(Payload::ToolCallDispatched { id, attempt, approved_hash, arguments_hash });
            }
            Err(error) => self.tool_errored(&id, error, false),
        }
    }

    fn ask_for_outcome(&mut self, call: &Call) {
        let payload = Some(connector::unknown_question(self.s, call));
        let anchor = call.anchor.map(|ix| self.s.tree.node(ix).id.clone());
        self.emit_in(
            call.turn_id.clone(),
            Payload::SessionInterrupted {
                interrupt_id: connector::unknown_id(&call.id).into(),
                origin: Rank::Frontend,
                reason: "input_required".to_owned(),
                payload,
                anchor,
                call: Some(call.reference()),
            },
        );
    }

    /// The answer about a call of unknown outcome, once its interrupt is closed. On a branch that was left it ends in silence.
    pub(super) fn outcome_told(&mut self, closed: &Interrupt, told: &Told, active: bool) {
        let Some(call) = asked_about(closed).and_then(|id| self.s.tool(&id)).filter(|call| call.status.is_open()).cloned() else { return };
        let (id, name) = (call.id.clone(), call.name.clone());
        let error = || ErrorInfo::new(ErrorCode::Internal, "the engine stopped during this call, and nobody knows whether it ran");
        match told {
            Told::Ran(text) => {
                let result = ToolResult::text(text.clone().unwrap_or_else(|| "It ran; no result is known.".to_owned()));
                if active {
                    self.tool_ended(&call, result);
                } else {
                    self.emit(Payload::ToolCallCompleted { id, name, result });
                }
            }
            // The fold made it due again: it goes off with everything else.
            Told::Again if active => {}
            Told::Failed if active => self.tool_errored(&id, error(), false),
            Told::Again | Told::Failed => self.emit(Payload::ToolCallErrored { id, name, error: error(), retryable: false }),
        }
    }
}

impl crate::state::Session {
    /// How the fold takes the end of a fetch.
    pub(crate) fn fetch_settled(&mut self, path: &str, fetch: Fetch) {
        self.fetches.entry(path.to_owned()).or_default().push(fetch);
    }
}
