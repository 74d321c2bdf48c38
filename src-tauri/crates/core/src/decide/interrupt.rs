//! Pauses (§6): raising, answering, clearing, and turns whose branch was left.

use serde_json::Value;

use crate::answer::{self, Answer, Responder};
use crate::budget;
use crate::command::{Caller, ClosedBefore, Receipt};
use crate::decision::Trigger;
use crate::event::{CallKind, CallRef, Payload, Rank, Verification};
use crate::id::{InterruptId, TurnId, is_given_id};
use crate::message::{ErrorCode, ErrorInfo, ToolResult};
use crate::proposal::UNCONFIGURED;
use crate::rejection::{Code, Rejection};
use crate::state::TurnState;

use super::Step;
use super::cancel::CANCELLED_TEXT;

/// Beginnings of the fixed ids of questions that the engine raises (I-65…I-67, D-12).
const RESERVED: [&str; 5] = ["mcp-approve:", "mcp-auth:", "mcp-elicit:", "call-unknown:", "budget:"];

/// How an interrupt is closed.
pub(super) struct Closing {
    pub payload: Option<Value>,
    pub responder: Option<Value>,
    pub verification: Option<Verification>,
    pub shown_hash: Option<String>,
}

impl Closing {
    pub fn silent(payload: Option<Value>) -> Self {
        Self { payload, responder: None, verification: None, shown_hash: None }
    }
}

impl Step<'_, '_, '_> {
    /// I-11, I-12, Q-8.
    pub(super) fn raise_from_outside(
        &mut self,
        caller: &Caller,
        id: Option<InterruptId>,
        reason: String,
        payload: Option<Value>,
    ) -> Result<Receipt, Rejection> {
        self.own(caller)?;
        if reason.is_empty() {
            return Err(Rejection::new(Code::InvalidRequest, "reason is empty"));
        }
        if id.as_ref().is_some_and(|id| !is_given_id(id.as_str())) {
            return Err(Rejection::new(Code::InvalidRequest, "interrupt_id has 1 to 200 characters"));
        }
        // A question that only the engine asks must not be on screen in somebody else's words.
        if let Some(own) = id.as_ref().and_then(|id| RESERVED.into_iter().find(|own| id.as_str().starts_with(own))) {
            return Err(Rejection::new(Code::InvalidRequest, format!("interrupt ids that start with {own} are the engine's own")));
        }
        let id = self.raise(id, super::input::origin(caller), reason, payload, None);
        self.void_paused_model_calls();
        Ok(Receipt { interrupt_id: Some(id), turn_id: self.s.current.clone(), ..Receipt::default() })
    }

    /// I-3, I-4, I-6, I-10. Model calls are voided by the caller, once the whole response is applied (I-14).
    pub(super) fn raise(
        &mut self,
        id: Option<InterruptId>,
        origin: Rank,
        reason: String,
        payload: Option<Value>,
        call: Option<CallRef>,
    ) -> InterruptId {
        let id = id.unwrap_or_else(|| self.ctx.ids.interrupt());
        if self.s.interrupt(id.as_str()).is_none() {
            let anchor = self.s.tree.head_id().cloned().filter(|_| origin != Rank::System);
            let turn = self.s.turn_at_head();
            self.emit_in(turn, Payload::SessionInterrupted { interrupt_id: id.clone(), origin, reason, payload, anchor, call });
        }
        id
    }

    /// I-14, I-15: model calls of paused branches end; what they answer later is ignored.
    pub(super) fn void_paused_model_calls(&mut self) {
        let paused: Vec<_> = self
            .s
            .open_calls()
            .filter(|call| call.kind == CallKind::LlmCall && self.s.branch_paused(call.anchor))
            .map(|call| call.id.clone())
            .collect();
        for id in paused {
            self.void(CallKind::LlmCall, &id);
        }
    }

    /// I-33, I-36, I-40, I-88…I-92, I-101.
    pub(super) fn resume(
        &mut self,
        caller: &Caller,
        id: &InterruptId,
        payload: Option<Value>,
        responder: Option<Value>,
        shown_hash: Option<String>,
    ) -> Result<Receipt, Rejection> {
        let Some(open) = self.s.interrupt(id.as_str()) else { return Ok(self.closed_before(id)) };
        if caller.rank < open.origin.min(Rank::Operator) {
            return Err(Rejection {
                interrupt_ids: vec![id.clone()],
                ..Rejection::new(
                    Code::AccessDenied,
                    format!("this question was raised with the rank {:?}: a higher one must answer", open.origin),
                )
            });
        }
        let verification = match &shown_hash {
            Some(hash) if *hash != open.shown_hash() => {
                return Err(Rejection {
                    interrupt_ids: vec![id.clone()],
                    ..Rejection::new(Code::InterruptChanged, "the question changed since it was shown: look at it again")
                });
            }
            Some(_) => Verification::Verified,
            None => Verification::Unverified,
        };
        let payload = match (&caller.channel, payload) {
            (None, Some(payload)) if responder.is_none() => Some(answer::without_responder(payload, open.payload.as_ref())),
            (_, payload) => payload,
        };
        if crate::connector::asked_about(open).is_some() && crate::connector::told(payload.as_ref()).is_none() {
            let why = "the question stays open: answer {outcome:\"ran\", text?}, {outcome:\"again\"} or {outcome:\"failed\"}";
            return Err(Rejection { interrupt_ids: vec![id.clone()], ..Rejection::new(Code::InvalidRequest, why) });
        }
        if let Some(Err(why)) = crate::elicit::asked_by(open).map(|_| crate::elicit::read(open.payload.as_ref(), payload.as_ref())) {
            let why = format!("the question stays open: {why}");
            return Err(Rejection { interrupt_ids: vec![id.clone()], ..Rejection::new(Code::InvalidRequest, why) });
        }
        let turn_id = self.close(id, Closing { payload, responder, verification: Some(verification), shown_hash });
        Ok(Receipt { turn_id, resumed: Some(true), ..Receipt::default() })
    }

    /// payload and responder as a channel builds them.
    pub(super) fn answer(
        &mut self,
        caller: &Caller,
        id: &InterruptId,
        chosen: &Answer,
        who: &Responder,
        shown_hash: Option<String>,
    ) -> Result<Receipt, Rejection> {
        let Some(open) = self.s.interrupt(id.as_str()) else { return Ok(self.closed_before(id)) };
        let built = answer::build(open.payload.as_ref(), chosen, who).map_err(|why| Rejection::new(Code::InvalidRequest, why))?;
        // I-63: a bare payload carries no responder, so the event does.
        let bare = built.payload.get("responder").is_none_or(|inside| *inside != built.responder);
        let stamped = Caller { channel: Some(built.responder.clone()), ..caller.clone() };
        self.resume(&stamped, id, Some(built.payload), bare.then_some(built.responder), shown_hash)
    }

    fn closed_before(&self, id: &InterruptId) -> Receipt {
        let closed = self.s.closed.get(id).map(|closed| ClosedBefore {
            at: closed.at,
            outcome: closed.outcome,
            responder: closed.responder.clone(),
        });
        Receipt { turn_id: self.s.current.clone(), resumed: Some(false), closed, ..Receipt::default() }
    }

    /// I-34, I-35: the event, and the decision when the active branch was held. I-75 when it was the last of a left branch.
    /// Returns the turn that goes on.
    pub(super) fn close(&mut self, id: &InterruptId, closing: Closing) -> Option<TurnId> {
        let open = self.s.interrupt(id.as_str())?;
        let (active, turn) = (self.s.is_active(open.anchor), open.turn_id.clone());
        let unconfigured = open.reason == UNCONFIGURED;
        let of_server = crate::elicit::asked_by(open).is_some();
        if open.reason == budget::REASON && budget::approves(closing.payload.as_ref()) {
            self.ctx.budget.approve(id.as_str());
        }
        let Closing { payload, responder, verification, shown_hash } = closing;
        let arguments_hash = crate::approval::arguments_hash(open, payload.as_ref());
        let outcome = crate::connector::asked_about(open).and_then(|_| Some((open.clone(), crate::connector::told(payload.as_ref())?)));
        self.emit(Payload::SessionInterruptResumed {
            interrupt_id: id.clone(),
            payload: payload.clone(),
            responder,
            verification,
            shown_hash,
            arguments_hash,
        });
        if let Some((closed, told)) = outcome {
            self.outcome_told(&closed, &told, active);
            if !active {
                self.end_left_turn(turn.as_ref());
                return None;
            }
            return turn;
        }
        if !active {
            self.end_left_turn(turn.as_ref());
            self.drop_stranded();
            return None;
        }
        if unconfigured {
            self.queue(None, Trigger::SessionStart {});
        }
        // M-24, M-25: what is delivered waits for the fetch.
        if let Some(path) = crate::authorization::connection_of(id.as_str()) {
            self.refetch(path.to_owned());
        }
        // A turn that was over when the question was answered gives way to the one that is there now (I-76).
        let lives = |turn: &TurnId| self.s.turn(turn).is_some_and(|turn| turn.state != TurnState::Over);
        let turn = turn.filter(lives).or_else(|| self.s.turn_at_head());
        if of_server {
            return turn; // M-35: the answer is the server's
        }
        self.queue(turn.clone(), Trigger::InterruptResumed { interrupt_id: id.clone(), payload });
        turn
    }

    /// I-44…I-46.
    pub(super) fn resolve(&mut self, id: &InterruptId, payload: Option<Value>) {
        let allowed = self.s.interrupt(id.as_str()).is_some_and(|open| {
            let settles = crate::connector::asked_about(open).is_none() || crate::connector::told(payload.as_ref()).is_some();
            let fits = crate::elicit::asked_by(open).is_none() || crate::elicit::read(open.payload.as_ref(), payload.as_ref()).is_ok();
            open.origin <= Rank::Machine && settles && fits
        });
        if allowed {
            let _ = self.close(id, Closing::silent(payload));
        }
    }

    /// Suspended turns whose answered question nobody is told any more: their branch was left before it could be.
    pub(super) fn end_left_turns(&mut self) {
        let left: Vec<TurnId> = self.s.suspended_turns().map(|turn| turn.id.clone()).collect();
        for turn in left {
            let told = |d: &crate::state::Decision| d.turn_id.as_ref() == Some(&turn) && self.s.goes_on_here(d);
            if !self.s.decisions.iter().any(told) {
                self.end_left_turn(Some(&turn));
            }
        }
    }

    /// I-75: nobody will come back to this turn.
    fn end_left_turn(&mut self, turn: Option<&TurnId>) {
        let Some(turn) = turn.filter(|t| self.s.turn(t).is_some_and(|t| t.state == TurnState::Suspended)) else { return };
        if self.s.interrupts.iter().any(|i| i.turn_id.as_ref() == Some(turn)) {
            return;
        }
        let parked: Vec<_> = self
            .s
            .open_calls()
            .filter(|call| call.turn_id.as_ref() == Some(turn))
            .map(|call| (call.kind, call.id.clone(), call.name.clone()))
            .collect();
        for (kind, id, name) in parked {
            match kind {
                CallKind::ToolCall => {
                    let result = ToolResult { is_error: Some(true), ..ToolResult::text(CANCELLED_TEXT) };
                    self.emit(Payload::ToolCallCompleted { id, name, result });
                }
                CallKind::LlmCall => self.void(kind, &id),
                CallKind::Subagent | CallKind::ConnectorSync => {}
            }
        }
        let held: Vec<_> = self.s.decisions.iter().filter(|d| d.turn_id.as_ref() == Some(turn)).map(|d| d.id.clone()).collect();
        for id in held {
            self.emit(Payload::DecisionDropped { id });
        }
        self.complete_turn(turn, None, Some(ErrorInfo::new(ErrorCode::Cancelled, CANCELLED_TEXT)));
    }
}
