//! State + command → events, or a refusal. Everything that may change a session goes through [`decide`].
//!
//! A step applies each event as it emits it, so later rules of the step see what earlier ones did. A refusal is always given
//! before the first event. If the commit of a step fails, its state is thrown away and read from the log again.

mod cancel;
mod connector;
mod delegate;
mod elicit;
mod input;
mod interrupt;
mod report;
mod respond;
mod schedule;
mod settle;

use crate::command::{Caller, Command, Receipt};
use crate::ctx::Ctx;
use crate::decision::Trigger;
use crate::event::{CallKind, Event, Payload, Rank};
use crate::id::{CallId, DecisionId, SessionId, TurnId};
use crate::rejection::{Code, Rejection};
use crate::state::Session;

pub(crate) use cancel::CANCELLED_TEXT;
pub use cancel::{Forecast, forecast_cancel, has_run};

/// The events of one transaction and what the caller is told.
#[derive(Debug)]
pub struct Decided {
    pub events: Vec<Event>,
    pub receipt: Receipt,
}

/// Carries out one command. `session` is `None` while it does not exist; only an input with `create` makes it.
pub fn decide(session: &mut Option<Session>, id: &SessionId, command: Command, ctx: &mut Ctx<'_>) -> Result<Decided, Rejection> {
    if let (None, Command::Input { create: Some(create), input, .. }) = (session.as_ref(), &command) {
        input::check_new(id, create, input, ctx)?;
        let mut made = Session::new(id.clone());
        let mut step = Step::new(&mut made, ctx);
        step.create(create);
        let receipt = step.command(command)?;
        let events = step.events;
        *session = Some(made);
        return Ok(Decided { events, receipt });
    }
    let Some(session) = session.as_mut() else {
        return Err(Rejection::new(Code::SessionNotFound, format!("there is no session {id}")));
    };
    let mut step = Step::new(session, ctx);
    let receipt = step.command(command).inspect_err(|refusal| {
        assert!(step.events.is_empty(), "a refusal comes before the first event: {refusal:?} after {:?}", step.events);
    })?;
    Ok(Decided { events: step.events, receipt })
}

pub(crate) struct Step<'s, 'c, 'k> {
    pub s: &'s mut Session,
    pub ctx: &'c mut Ctx<'k>,
    pub events: Vec<Event>,
}

impl<'s, 'c, 'k> Step<'s, 'c, 'k> {
    fn new(s: &'s mut Session, ctx: &'c mut Ctx<'k>) -> Self {
        Self { s, ctx, events: Vec::new() }
    }

    fn command(&mut self, command: Command) -> Result<Receipt, Rejection> {
        let receipt = match command {
            Command::Input { caller, input, .. } => self.input(&caller, input)?,
            Command::Raise { caller, interrupt_id, reason, payload } => self.raise_from_outside(&caller, interrupt_id, reason, payload)?,
            Command::Settle { caller, settle } => self.settle_from_outside(&caller, settle)?,
            Command::Cancel { caller } => {
                self.own(&caller)?;
                self.cancel(CANCELLED_TEXT)
            }
            Command::Stop { reason } => self.cancel(&reason),
            Command::Answered { decision, attempt, response } => self.answered(&decision, attempt, &response)?,
            Command::DecisionFailed { decision, attempt, error, retryable } => {
                self.decision_failed(&decision, attempt, error, retryable);
                Receipt::default()
            }
            Command::LlmCompleted { call, attempt, response, script_reply } => {
                self.llm_completed(&call, attempt, response, script_reply);
                Receipt::default()
            }
            Command::LlmFailed { call, attempt, error, retryable, retry_after_ms, script_reply } => {
                self.llm_failed(&call, attempt, error, retryable, retry_after_ms, script_reply);
                Receipt::default()
            }
            Command::ChildStarted { call } => {
                self.child_started(&call);
                Receipt::default()
            }
            Command::SpawnFailed { call, attempt, error, retryable } => {
                self.spawn_failed(&call, attempt, error, retryable);
                Receipt::default()
            }
            Command::ChildEnded { call, end } => {
                self.child_ended(&call, end);
                Receipt::default()
            }
            Command::DetachedEnded { ends } => {
                self.detached_ended(ends);
                Receipt::default()
            }
            Command::CloseAlong { interrupt_id, payload } => {
                self.close(&interrupt_id, interrupt::Closing::silent(payload));
                Receipt::default()
            }
            Command::Fetched { path, attempt, tools, instructions } => {
                self.fetched(path, attempt, tools, instructions);
                Receipt::default()
            }
            Command::FetchFailed { path, attempt, error, retryable, auth } => {
                self.fetch_failed(path, attempt, error, retryable, auth);
                Receipt::default()
            }
            Command::ConnectorEnded { call, attempt, result } => {
                self.connector_call_ended(&call, attempt, result);
                Receipt::default()
            }
            Command::ConnectorFailed { call, attempt, error, retryable, auth } => {
                self.connector_call_failed(&call, attempt, error, retryable, auth);
                Receipt::default()
            }
            Command::ConnectorAsks { call, attempt, questions } => {
                self.server_asks(&call, attempt, &questions);
                Receipt::default()
            }
            Command::Tick => {
                self.tick();
                Receipt::default()
            }
            Command::Recover => {
                self.recover();
                Receipt::default()
            }
        };
        self.advance();
        Ok(receipt)
    }

    /// Emits under the turn E-5 names.
    pub fn emit(&mut self, payload: Payload) {
        let turn = self.turn_of(&payload);
        self.emit_in(turn, payload);
    }

    pub fn emit_in(&mut self, turn_id: Option<TurnId>, payload: Payload) {
        let event = Event { seq: self.s.seq + 1, at: self.ctx.now.max(self.s.last_at), turn_id, payload };
        self.s.apply(&event);
        self.events.push(event);
    }

    fn turn_of(&self, payload: &Payload) -> Option<TurnId> {
        let call = |kind: CallKind, id: &CallId| self.s.call(kind, id).and_then(|call| call.turn_id.clone());
        let decision = |id: &DecisionId| self.s.decision(id).and_then(|d| d.turn_id.clone());
        match payload {
            Payload::TurnStarted { turn_id } | Payload::TurnCompleted { turn_id, .. } => Some(turn_id.clone()),
            Payload::LlmCallDispatched { id, .. } | Payload::LlmCallCompleted { id, .. } | Payload::LlmCallErrored { id, .. } => {
                call(CallKind::LlmCall, id)
            }
            Payload::ToolCallDispatched { id, .. } | Payload::ToolCallCompleted { id, .. } | Payload::ToolCallErrored { id, .. } => {
                call(CallKind::ToolCall, id)
            }
            Payload::SubagentDispatched { id }
            | Payload::SubagentStarted { id }
            | Payload::SubagentTurnCompleted { id, .. }
            | Payload::SubagentErrored { id, .. } => call(CallKind::Subagent, id),
            Payload::CallVoided { kind, id, .. } => call(*kind, id),
            Payload::DecisionDispatched { id, .. }
            | Payload::DecisionCompleted { id }
            | Payload::DecisionErrored { id, .. }
            | Payload::DecisionDropped { id } => decision(id),
            Payload::SessionInterruptResumed { interrupt_id, .. } => {
                self.s.interrupt(interrupt_id.as_str()).and_then(|i| i.turn_id.clone()).or_else(|| self.s.current.clone())
            }
            _ => self.s.current.clone(),
        }
    }

    pub fn queue(&mut self, turn: Option<TurnId>, trigger: Trigger) -> DecisionId {
        let id = self.ctx.ids.decision();
        self.emit_in(turn, Payload::DecisionQueued { id: id.clone(), trigger });
        id
    }

    /// H-5: a frontend acts only on what it owns.
    pub fn own(&self, caller: &Caller) -> Result<(), Rejection> {
        let owner = self.s.identity.subject.as_ref();
        if caller.rank == Rank::Frontend && (caller.subject.is_none() || caller.subject.as_ref() != owner) {
            return Err(Rejection::new(Code::AccessDenied, "this session belongs to somebody else"));
        }
        Ok(())
    }
}
