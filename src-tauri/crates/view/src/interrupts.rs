//! Rows of interrupts, open and closed (H-9).

use holdpoint_core::answer;
use holdpoint_core::event::Verification;
use holdpoint_core::state::{ClosedInterrupt, Interrupt, Session};

use crate::row::{InterruptRow, Json, Outcome, PathStep, Seq, Time};

pub fn open_row(session: &Session, interrupt: &Interrupt) -> InterruptRow {
    InterruptRow {
        session_id: session.id.to_string(),
        root_session_id: session.ancestry.first().unwrap_or(&session.id).to_string(),
        path: vec![PathStep { session_id: session.id.to_string(), agent_id: session.agent_id.clone() }],
        session_title: session.title.clone(),
        interrupt_id: interrupt.id.to_string(),
        origin: serde_json::to_value(interrupt.origin).ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default(),
        reason: interrupt.reason.clone(),
        payload: Json(interrupt.payload.clone().unwrap_or_default()),
        has_payload: interrupt.payload.is_some(),
        anchor: interrupt.anchor.map(|ix| session.tree.node(ix).id.to_string()),
        turn_id: interrupt.turn_id.as_ref().map(ToString::to_string),
        opened_at: Time(interrupt.opened_at),
        opened_seq: Seq(interrupt.opened_seq),
        on_active_branch: session.is_active(interrupt.anchor),
        shown_hash: interrupt.shown_hash().to_owned(),
        closed_at: None,
        outcome: None,
        responder: None,
        answer: None,
        verification: None,
    }
}

pub fn closed_row(session: &Session, closed: &ClosedInterrupt) -> InterruptRow {
    InterruptRow {
        on_active_branch: closed.was_active,
        closed_at: Some(Time(closed.at)),
        outcome: Some(outcome(closed.outcome)),
        responder: closed.responder.clone().map(Json),
        answer: closed.payload.clone().map(Json),
        verification: closed.verification.map(|verification| {
            match verification {
                Verification::Verified => "verified",
                Verification::Unverified => "unverified",
            }
            .to_owned()
        }),
        ..open_row(session, &closed.interrupt)
    }
}

pub fn outcome(outcome: answer::Outcome) -> Outcome {
    match outcome {
        answer::Outcome::Answered => Outcome::Answered,
        answer::Outcome::Declined => Outcome::Declined,
        answer::Outcome::Cancelled => Outcome::Cancelled,
        answer::Outcome::Expired => Outcome::Expired,
        answer::Outcome::Superseded => Outcome::Superseded,
    }
}
