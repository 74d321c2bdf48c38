//! A server's questions during a call (§10D): raising them, and closing those that nobody waits for any more.

use serde_json::json;

use crate::elicit::{self, Question};
use crate::event::{Payload, Rank};
use crate::id::CallId;
use crate::message::ErrorInfo;

use super::Step;

impl Step<'_, '_, '_> {
    /// M-33. A question that is open already, or that was answered, is not asked again (M-37).
    pub(super) fn server_asks(&mut self, id: &CallId, attempt: u32, questions: &[Question]) {
        let Some(call) = self.running_call(id, attempt).cloned() else { return };
        let anchor = call.anchor.map(|ix| self.s.tree.node(ix).id.clone());
        for question in questions {
            if elicit::is_open(self.s, id, question) || elicit::is_answered(self.s, id, question) {
                continue;
            }
            self.emit_in(
                call.turn_id.clone(),
                Payload::SessionInterrupted {
                    interrupt_id: elicit::next_id(self.s, id),
                    origin: Rank::Frontend,
                    reason: "input_required".to_owned(),
                    payload: Some(question.payload(&call)),
                    anchor: anchor.clone(),
                    call: Some(call.reference()),
                },
            );
        }
        self.void_paused_model_calls();
    }

    /// A failed attempt keeps its questions when the call is sent again: their answers are wanted then (M-37).
    pub(super) fn call_failed(&mut self, id: &CallId, error: ErrorInfo, retryable: bool) {
        self.tool_errored(id, error, retryable);
        self.forget_questions(id);
    }

    /// The call is over, so an answer would reach nobody.
    pub(super) fn forget_questions(&mut self, id: &CallId) {
        if self.s.tool(id).is_some_and(|call| call.status.is_open()) {
            return;
        }
        for interrupt_id in elicit::open(self.s, id) {
            self.emit(Payload::SessionInterruptResumed {
                interrupt_id,
                payload: Some(json!({"status": "cancelled"})),
                responder: None,
                verification: None,
                shown_hash: None,
                arguments_hash: None,
            });
        }
    }
}
