//! Cancel (§7): the run ends for good, in one transaction and a fixed order (C-19).

use serde_json::json;

use crate::command::Receipt;
use crate::decision::Trigger;
use crate::delegate::WAITING;
use crate::event::{CallKind, Payload};
use crate::id::{CallId, TurnId};
use crate::message::{Content, ErrorCode, ErrorInfo, Message, Role, ToolResult};
use crate::state::{Call, Session, TurnState};

use super::Step;
use super::interrupt::Closing;

/// C-5, Q-50.
pub(crate) const CANCELLED_TEXT: &str = "cancelled: the turn ended";

/// What a cancel would end, for the person who is about to ask for it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Forecast {
    pub turn_id: Option<TurnId>,
    pub model_calls: Vec<String>,
    pub tool_calls: Vec<String>,
    pub subagents: Vec<String>,
    pub queued_turns: Vec<String>,
    pub decisions: u32,
    pub interrupts: Vec<String>,
    pub run: bool,
}

/// C-34.
pub fn has_run(session: &Session) -> bool {
    session.current.is_some()
        || session.suspended_turns().next().is_some()
        || session.decisions.iter().any(|d| !matches!(d.trigger, Trigger::SessionStart {}))
}

pub fn forecast_cancel(session: &Session) -> Forecast {
    if !has_run(session) {
        return Forecast::default();
    }
    // What is only waited for goes on (C-24).
    let ends = |call: &&Call| call.mode != WAITING;
    let names =
        |kind: CallKind| session.open_calls().filter(ends).filter(move |call| call.kind == kind).map(|call| call.name.clone()).collect();
    let waiting: Vec<_> = session.waiting_turns().collect();
    Forecast {
        turn_id: session.current.clone(),
        model_calls: names(CallKind::LlmCall),
        tool_calls: names(CallKind::ToolCall),
        subagents: names(CallKind::Subagent),
        queued_turns: waiting
            .iter()
            .map(|d| match &d.trigger {
                Trigger::ClientMessages { messages, .. } => messages.last().map(Message::text).unwrap_or_default(),
                _ => String::new(),
            })
            .collect(),
        decisions: (session.decisions.iter().filter(|d| !matches!(d.trigger, Trigger::SessionStart {})).count() - waiting.len()) as u32,
        interrupts: session.interrupts.iter().map(crate::apply::question).collect(),
        run: true,
    }
}

impl Step<'_, '_, '_> {
    /// `why` is the message of the turn's error (Q-50, TH-33).
    pub(super) fn cancel(&mut self, why: &str) -> Receipt {
        if !has_run(self.s) {
            return Receipt { cancelled: Some(false), ..Receipt::default() };
        }
        let turn_id = self.s.current.clone();
        self.void_engine_calls();
        let answers = self.end_tool_calls();
        self.record_answers(answers);
        self.void_children();
        self.drop_decisions();
        let open: Vec<_> = self.s.interrupts.iter().map(|i| i.id.clone()).collect();
        for id in open {
            let Closing { payload, responder, verification, shown_hash } = Closing::silent(Some(json!({"status": "cancelled"})));
            self.emit(Payload::SessionInterruptResumed {
                interrupt_id: id,
                payload,
                responder,
                verification,
                shown_hash,
                arguments_hash: None,
            });
        }
        self.end_turns(why);
        Receipt { turn_id, cancelled: Some(true), ..Receipt::default() }
    }

    fn open_ids(&self, kind: CallKind) -> Vec<(CallId, String)> {
        self.s.open_calls().filter(|call| call.kind == kind).map(|call| (call.id.clone(), call.name.clone())).collect()
    }

    fn void_engine_calls(&mut self) {
        for (id, _) in self.open_ids(CallKind::LlmCall) {
            self.emit(Payload::CallVoided { kind: CallKind::LlmCall, id, spent: None });
        }
    }

    /// The children go down with their own cancel (C-8); here their calls end.
    fn void_children(&mut self) {
        for (id, _) in self.open_ids(CallKind::Subagent) {
            let spent = self.ctx.spent.remove(&id);
            self.emit(Payload::CallVoided { kind: CallKind::Subagent, id, spent });
        }
    }

    /// C-5, C-20. Returns the texts the tree still lacks, by call.
    fn end_tool_calls(&mut self) -> Vec<(CallId, Content)> {
        // A result that had arrived and was not recorded yet is kept: the person sees what came of the call.
        let mut answers: Vec<(CallId, Content)> = self.s.decisions.iter().flat_map(|d| unrecorded(&d.trigger)).collect();
        for (id, name) in self.open_ids(CallKind::ToolCall) {
            let result = ToolResult { is_error: Some(true), ..ToolResult::text(CANCELLED_TEXT) };
            self.emit(Payload::ToolCallCompleted { id: id.clone(), name, result });
            answers.push((id, Content::Text(CANCELLED_TEXT.to_owned())));
        }
        answers
    }

    /// Every tool call of an assistant message on the active path that belongs to this run gets an answer (C-19, Q-13).
    fn record_answers(&mut self, answers: Vec<(CallId, Content)>) {
        let path = self.s.tree.path(self.s.tree.head());
        let answered: std::collections::HashSet<String> =
            path.iter().filter_map(|ix| self.s.tree.node(*ix).message.tool_call_id.clone()).collect();
        let asked: Vec<String> = path
            .iter()
            .map(|ix| self.s.tree.node(*ix))
            .filter(|node| node.message.role == Role::Assistant && self.is_of_this_run(node.turn_id.as_ref()))
            .flat_map(|node| node.message.calls().iter().map(|call| call.id.clone()))
            .filter(|id| !answered.contains(id))
            .collect();
        let turn = self.s.current.clone();
        for id in asked {
            let call = CallId::from(id.as_str());
            let known = answers.iter().find(|(own, _)| *own == call).map(|(_, content)| content.clone());
            // A delegation that ends here, or a call not asked for yet, has no result of its own.
            let delegated = self.s.call(CallKind::Subagent, &call);
            let requested = self.s.tool(&call).is_some() || delegated.is_some_and(|call| !call.status.is_open());
            let message = match known {
                Some(content) => Message::tool(&call, content),
                None if !requested => Message::tool(&call, Content::Text(CANCELLED_TEXT.to_owned())),
                None => continue, // ended by an earlier turn, as a void (P-16)
            };
            let parent_id = self.s.tree.head_id().cloned();
            let message = Message { id: Some(self.ctx.ids.message()), ..message };
            self.emit_in(turn.clone(), Payload::MessageNew { message, parent_id });
        }
    }

    fn is_of_this_run(&self, turn: Option<&TurnId>) -> bool {
        turn.and_then(|turn| self.s.turn(turn)).is_some_and(|turn| turn.state != TurnState::Over)
    }

    /// C-19: the live one, waiting ones, queued turns, actions. A start is not dropped (C-38).
    fn drop_rank(&self, decision: &crate::state::Decision) -> Option<u8> {
        match &decision.trigger {
            Trigger::SessionStart {} => None,
            _ if decision.live => Some(0),
            Trigger::ClientAction { .. } => Some(3),
            Trigger::ClientMessages { .. } if decision.turn_id.as_ref().is_some_and(|turn| self.s.turn(turn).is_none()) => Some(2),
            _ => Some(1),
        }
    }

    fn drop_decisions(&mut self) {
        let mut waiting: Vec<_> = self.s.decisions.iter().filter_map(|d| Some((self.drop_rank(d)?, d.id.clone()))).collect();
        waiting.sort_by_key(|(rank, _)| *rank); // within a rank they keep their order
        for (_, id) in waiting {
            self.emit(Payload::DecisionDropped { id });
        }
    }

    /// C-13, C-35: in order of their start, then one `session.done`.
    fn end_turns(&mut self, why: &str) {
        let open: Vec<TurnId> = self.s.turns.iter().filter(|turn| turn.state != TurnState::Over).map(|turn| turn.id.clone()).collect();
        // C-39: a child that never had a turn ends without one.
        let any = !open.is_empty() || (self.s.is_child() && self.s.turns.is_empty());
        for turn in open {
            let (cost, usage) = self.s.turn(&turn).map(|t| (t.cost, t.usage.clone())).unwrap_or_default();
            let error = Some(ErrorInfo::new(ErrorCode::Cancelled, why));
            self.emit(Payload::TurnCompleted { turn_id: turn, data: None, turn_cost: cost, turn_token_usage: usage, error });
        }
        if any {
            self.emit_in(None, Payload::SessionDone {});
        }
    }
}

/// The results that a decision would have recorded.
fn unrecorded(trigger: &Trigger) -> Vec<(CallId, Content)> {
    match trigger {
        Trigger::ToolFinished { id, result, error, .. } => {
            let content = result.as_ref().map(ToolResult::for_model);
            let content = content.or_else(|| error.as_ref().map(|e| Content::Text(e.message.clone())));
            content.map(|content| (id.clone(), content)).into_iter().collect()
        }
        Trigger::SubagentFinished { id, session_id, result, error, .. } => {
            vec![(id.clone(), Content::Text(crate::proposal::delegate_text(session_id, result.as_ref(), error.as_ref())))]
        }
        // N-10: answers beside other news.
        Trigger::ClientMessages { messages, .. } => {
            let answers = messages.iter().filter(|m| m.role == Role::Tool);
            answers.filter_map(|m| Some((CallId::from(m.tool_call_id.as_deref()?), m.content.clone()?))).collect()
        }
        _ => Vec::new(),
    }
}
