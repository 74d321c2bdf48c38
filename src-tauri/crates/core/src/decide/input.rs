//! Client inputs (§4) and what a pause refuses (§6C).

use crate::command::{Caller, Creation, Input, Receipt};
use crate::ctx::Ctx;
use crate::decision::{ClientInfo, Trigger};
use crate::event::{Payload, Rank};
use crate::id::{SessionId, TurnId, is_given_id, is_session_id};
use crate::message::{Handler, Message, Role, ToolResult};
use crate::rejection::{Code, Rejection};
use crate::response::{Matching, View, plan};
use crate::retry::{EffectKind, RetryPolicy};
use crate::state::Session;

use super::Step;

fn invalid(message: impl Into<String>) -> Rejection {
    Rejection::new(Code::InvalidRequest, message)
}

/// B-3, N-1, N-18: what may bring a session into being.
pub(super) fn check_new(id: &SessionId, create: &Creation, input: &Input, ctx: &Ctx<'_>) -> Result<(), Rejection> {
    if !is_session_id(id.as_str()) {
        return Err(Rejection::new(Code::InvalidId, format!("{id:?} is no session id: it is `sesn_` and 26 Crockford base32 characters")));
    }
    if matches!(input, Input::Resume { .. } | Input::Answer { .. }) {
        return Err(Rejection::new(Code::SessionNotFound, format!("there is no session {id}")));
    }
    if !ctx.config.agents.contains_key(&create.agent_id) {
        return Err(invalid(format!("there is no agent {:?}", create.agent_id)));
    }
    check_shape(input)
}

/// B-4, and views that say nothing at all.
fn check_shape(input: &Input) -> Result<(), Rejection> {
    let (turn, messages): (Option<&TurnId>, &[Message]) = match input {
        Input::Append { turn_id, messages, .. } | Input::View { turn_id, messages, .. } => (turn_id.as_ref(), messages),
        Input::Action { turn_id, .. } => (turn_id.as_ref(), &[]),
        Input::Resume { .. } | Input::Answer { .. } => (None, &[]),
    };
    if turn.is_some_and(|id| !is_given_id(id.as_str())) {
        return Err(invalid("turn_id has 1 to 200 characters"));
    }
    if messages.iter().filter_map(|m| m.id.as_ref()).any(|id| !is_given_id(id.as_str())) {
        return Err(invalid("a message id has 1 to 200 characters"));
    }
    if messages.is_empty() && matches!(input, Input::Append { .. } | Input::View { .. }) {
        return Err(invalid("messages is empty"));
    }
    if let Some(message) = messages.iter().find(|m| m.role == Role::Tool && m.tool_call_id.is_none()) {
        return Err(invalid(format!("the tool message {:?} lacks tool_call_id", message.id)));
    }
    Ok(())
}

impl Step<'_, '_, '_> {
    pub(super) fn create(&mut self, create: &Creation) {
        let spec = self.ctx.config.agents.get(&create.agent_id);
        self.emit(Payload::SessionCreated {
            agent_id: create.agent_id.clone(),
            identity: create.identity.clone(),
            ancestry: (!create.ancestry.is_empty()).then(|| create.ancestry.clone()),
            worker_retry: RetryPolicy::default_for(EffectKind::WorkerDecision),
            worker: spec.and_then(|spec| spec.worker.clone()),
            unattended: create.unattended,
        });
        self.queue(None, Trigger::SessionStart {});
    }

    pub(super) fn input(&mut self, caller: &Caller, input: Input) -> Result<Receipt, Rejection> {
        self.own(caller)?;
        check_shape(&input)?;
        if self.s.is_child() && caller.rank != Rank::System && !matches!(input, Input::Resume { .. } | Input::Answer { .. }) {
            return Err(Rejection::new(Code::ChildSession, "a delegate's session takes messages only from its parent"));
        }
        match input {
            Input::Append { turn_id, messages, stream, client, queue } => self.append(turn_id, messages, stream, client, queue),
            Input::View { turn_id, messages, stream, client } => self.view(turn_id, messages, stream, client),
            Input::Action { turn_id, name, args } => Ok(self.action(turn_id, name, args)),
            Input::Resume { interrupt_id, payload, responder, shown_hash } => {
                self.resume(caller, &interrupt_id, payload, responder, shown_hash)
            }
            Input::Answer { interrupt_id, answer, responder, shown_hash } => {
                self.answer(caller, &interrupt_id, &answer, &responder, shown_hash)
            }
        }
    }

    /// N-3, N-5, C-30, C-40: a turn id that is known already.
    fn known_turn(&self, turn: Option<&TurnId>) -> Option<Receipt> {
        let turn = turn?;
        let waits = self.s.opener(turn).is_some() && self.s.turn(turn).is_none();
        let known = waits || self.s.turn(turn).is_some() || self.s.dropped_turns.contains(turn);
        let left = self.s.opener(turn).is_some_and(|opener| self.s.waits_for_left(opener));
        let queued = waits && (left || self.turn_ahead(Some(turn)).is_some());
        known.then(|| Receipt { turn_id: Some(turn.clone()), queued, ..Receipt::default() })
    }

    /// The turn a new message would have to wait for, `except` itself (N-2). A suspended turn does not count.
    fn turn_ahead(&self, except: Option<&TurnId>) -> Option<TurnId> {
        let mut waiting = self.s.waiting_turns().filter(|d| !self.s.waits_for_left(d));
        let first = waiting.find_map(|d| d.turn_id.clone()).filter(|turn| Some(turn) != except);
        self.s.current.clone().or(first)
    }

    fn refuse_paused(&self, ids: Vec<crate::id::InterruptId>) -> Rejection {
        Rejection {
            turn_id: self.s.current.clone(),
            interrupt_ids: ids,
            ..Rejection::new(
                Code::SessionInterrupted,
                "this branch waits for a person: answer its open question, or edit an earlier message",
            )
        }
    }

    fn refuse_active(turn: TurnId) -> Rejection {
        Rejection {
            turn_id: Some(turn),
            ..Rejection::new(Code::TurnAlreadyActive, "a turn is running: wait for it, queue the message, or cancel")
        }
    }

    /// An open client call that this message answers (N-10).
    fn answered_call(session: &Session, message: &Message) -> Option<crate::id::CallId> {
        let id = crate::id::CallId::from(message.tool_call_id.as_deref().filter(|_| message.role == Role::Tool)?);
        session.tool(&id).filter(|call| call.status.is_open() && call.handler == Handler::Client).map(|call| call.id.clone())
    }

    /// A tool message about a call that ended: its result stands, or will stand, in the tree.
    fn ended_call(session: &Session, message: &Message) -> bool {
        let id = message.tool_call_id.as_deref().filter(|_| message.role == Role::Tool).map(crate::id::CallId::from);
        id.is_some_and(|id| session.tool(&id).is_some_and(|call| !call.status.is_open()))
    }

    /// A tool message about a call whose result is on its way into the tree: the first copy won (N-10).
    fn late_copy(session: &Session, message: &Message) -> bool {
        let id = message.tool_call_id.as_deref().filter(|_| message.role == Role::Tool).map(crate::id::CallId::from);
        id.is_some_and(|id| session.pending.iter().any(|index| session.calls[*index].id == id && !session.calls[*index].status.is_open()))
    }

    fn settle_answers(&mut self, messages: &[Message], announce: bool) {
        for message in messages {
            if let Some(id) = Self::answered_call(self.s, message) {
                let content = match &message.content {
                    Some(crate::message::Content::Parts(parts)) => ToolResult { content: parts.clone(), ..ToolResult::default() },
                    _ => ToolResult::text(message.text()),
                };
                self.tool_completed(&id, content, announce);
            }
        }
    }

    /// §4 `client.message`, `client.append`.
    fn append(
        &mut self,
        turn_id: Option<TurnId>,
        mut messages: Vec<Message>,
        stream: Option<bool>,
        client: Option<ClientInfo>,
        queue: bool,
    ) -> Result<Receipt, Rejection> {
        if let Some(receipt) = self.known_turn(turn_id.as_ref()) {
            return Ok(receipt);
        }
        let only_answers = messages.iter().all(|m| Self::answered_call(self.s, m).is_some() || Self::ended_call(self.s, m));
        if only_answers {
            self.settle_answers(&messages, true);
            return Ok(Receipt { turn_id: self.s.current.clone(), ..Receipt::default() });
        }
        let pausing: Vec<_> = self.s.pausing(self.s.tree.head()).map(|i| i.id.clone()).collect();
        if !pausing.is_empty() {
            return Err(self.refuse_paused(pausing));
        }
        let ahead = self.turn_ahead(None);
        if let Some(turn) = ahead.clone().filter(|_| !queue) {
            return Err(Self::refuse_active(turn));
        }
        // The running turn goes on with its answers; what is queued comes behind it.
        self.settle_answers(&messages, true);
        messages.retain(|m| m.id.as_ref().is_none_or(|id| self.s.tree.find(id.as_str()).is_none()) && !Self::ended_call(self.s, m));
        let trigger = Trigger::ClientMessages { messages: self.with_ids(messages), client, stream, after: None, append: true };
        Ok(self.open_turn(turn_id, trigger, ahead.is_some()))
    }

    fn with_ids(&mut self, mut messages: Vec<Message>) -> Vec<Message> {
        for message in &mut messages {
            if message.id.is_none() {
                message.id = Some(self.ctx.ids.message());
            }
        }
        messages
    }

    /// the decision is committed with the input; the turn starts when it is handed out.
    fn open_turn(&mut self, turn_id: Option<TurnId>, trigger: Trigger, queued: bool) -> Receipt {
        let turn = turn_id.unwrap_or_else(|| self.ctx.ids.turn());
        self.start_again();
        self.queue(Some(turn.clone()), trigger);
        Receipt { turn_id: Some(turn), queued, ..Receipt::default() }
    }

    /// N-11: a `session.start` that failed is asked again in front of the next message.
    fn start_again(&mut self) {
        let waits = self.s.decisions.iter().any(|d| matches!(d.trigger, Trigger::SessionStart {}));
        if !self.s.started && !waits {
            self.queue(None, Trigger::SessionStart {});
        }
    }

    /// §4 `client.messages`.
    fn view(
        &mut self,
        turn_id: Option<TurnId>,
        messages: Vec<Message>,
        stream: Option<bool>,
        client: Option<ClientInfo>,
    ) -> Result<Receipt, Rejection> {
        if let Some(receipt) = self.known_turn(turn_id.as_ref()) {
            return Ok(receipt);
        }
        let View { after, mut news } = plan(self.s, messages, Matching::Client);
        news.retain(|m| !Self::late_copy(self.s, m));
        let answers = news.iter().filter(|m| Self::answered_call(self.s, m).is_some()).count();
        let said = news.iter().filter(|m| m.role != Role::System).count();
        if answers > 0 && answers == said && after == self.s.tree.head() {
            self.settle_answers(&news, true);
            return Ok(Receipt { turn_id: self.s.current.clone(), ..Receipt::default() });
        }
        if said == 0 && self.s.paused_at(after) {
            return self.switch_to_paused(after);
        }
        let pausing: Vec<_> = self.s.pausing(after).map(|i| i.id.clone()).collect();
        if !pausing.is_empty() && answers == 0 {
            return Err(self.refuse_paused(pausing));
        }
        let escapes = self.s.paused() && pausing.is_empty();
        let busy = if escapes { self.escaping_turn() } else { self.turn_ahead(None) };
        match busy {
            Some(turn) if answers == 0 => return Err(Self::refuse_active(turn)),
            _ => {}
        }
        let news = self.with_ids(news);
        self.settle_answers(&news, false);
        let after = after.map(|ix| self.s.tree.node(ix).id.clone());
        let trigger = Trigger::ClientMessages { messages: news, client, stream, after, append: false };
        if answers > 0
            && let Some(turn) = self.s.current.clone()
        {
            // N-10: the view belongs to the turn whose call it answers.
            self.queue(Some(turn.clone()), trigger);
            return Ok(Receipt { turn_id: Some(turn), ..Receipt::default() });
        }
        Ok(self.open_turn(turn_id, trigger, false))
    }

    /// The turn of an escaping view that is already on its way: in the decider's hands, or waiting for it.
    fn escaping_turn(&self) -> Option<TurnId> {
        let under_way = self.s.current.clone().filter(|turn| self.s.turn_at_head().as_ref() != Some(turn));
        let waiting = || {
            self.s
                .waiting_turns()
                .find(|d| matches!(d.trigger, Trigger::ClientMessages { append: false, .. }) && !self.s.held(d))
                .and_then(|d| d.turn_id.clone())
        };
        under_way.or_else(waiting)
    }

    /// T-15: nothing but the head moves.
    fn switch_to_paused(&mut self, after: Option<crate::tree::Ix>) -> Result<Receipt, Rejection> {
        let running = self.s.current.clone().filter(|_| !self.s.paused()).or_else(|| self.escaping_turn());
        if let Some(turn) = running {
            return Err(Self::refuse_active(turn));
        }
        if let Some(to) = after.filter(|_| after != self.s.tree.head()) {
            self.emit(Payload::HeadMoved { head_id: self.s.tree.node(to).id.clone() });
            self.strand();
        }
        Ok(Receipt { turn_id: self.s.current.clone(), ..Receipt::default() })
    }

    fn action(&mut self, turn_id: Option<TurnId>, name: String, args: Option<serde_json::Value>) -> Receipt {
        // N-16
        let over = turn_id.as_ref().filter(|turn| {
            self.s.dropped_turns.contains(*turn) || self.s.turn(turn).is_some_and(|t| t.state == crate::state::TurnState::Over)
        });
        if let Some(turn) = over {
            return Receipt { turn_id: Some(turn.clone()), ..Receipt::default() };
        }
        self.start_again();
        let current = self.s.current.clone();
        self.queue(current.clone(), Trigger::ClientAction { name, args });
        Receipt { turn_id: current, ..Receipt::default() }
    }
}

/// I-12.
pub(super) fn origin(caller: &Caller) -> Rank {
    caller.rank.min(Rank::Operator)
}
