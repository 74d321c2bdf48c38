//! What should be running now, derived from state alone. After each commit, and equally after a start, the runtime compares this
//! with what runs and starts or stops the difference.

use crate::connector;
use crate::event::CallKind;
use crate::id::{CallId, DecisionId, SessionId};
use crate::message::{Handler, Message};
use crate::state::{CallStatus, Session};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// The live decision is in the worker's hands.
    Decide { decision: DecisionId, attempt: u32 },
    /// The engine runs this model call.
    CallModel { call: CallId, attempt: u32 },
    /// The tools of this connection are being fetched.
    FetchTools { path: String, attempt: u32 },
    /// The engine runs this connector call.
    CallTool { call: CallId, attempt: u32 },
    /// The delegate's session is to be made, or its next message handed over.
    Spawn { call: CallId, attempt: u32 },
    /// The delegate works; its turn's end is waited for.
    AwaitChild { call: CallId },
    /// A detached delegate's result is to be told to this session (S-11).
    AwaitDetached { call: CallId },
}

pub fn pending(session: &Session) -> Vec<Effect> {
    let decide = session
        .live()
        .filter(|_| session.worker.is_some())
        .map(|decision| Effect::Decide { decision: decision.id.clone(), attempt: decision.attempts });
    let models = session
        .open_calls()
        .filter(|call| call.kind == CallKind::LlmCall && call.status == CallStatus::Pending && call.handler == Handler::Server)
        .map(|call| Effect::CallModel { call: call.id.clone(), attempt: call.attempt });
    let fetches = session
        .open_calls()
        .filter(|call| call.kind == CallKind::ConnectorSync && call.status == CallStatus::Pending)
        .map(|call| Effect::FetchTools { path: call.name.clone(), attempt: call.attempt });
    let tools = session
        .open_calls()
        .filter(|call| connector::in_servers_hands(session, call))
        .map(|call| Effect::CallTool { call: call.id.clone(), attempt: call.attempt });
    let children = session.open_calls().filter(|call| call.kind == CallKind::Subagent).filter_map(|call| match call.status {
        CallStatus::Pending => Some(Effect::Spawn { call: call.id.clone(), attempt: call.attempt }),
        CallStatus::Running => Some(Effect::AwaitChild { call: call.id.clone() }),
        _ => None,
    });
    let told = if crate::thread::is_stopped(session) { &[][..] } else { &session.detached[..] };
    let told = told.iter().filter(|call| !crate::delegate::is_waited_for(session, call));
    let detached = told.map(|call| Effect::AwaitDetached { call: call.clone() });
    decide.into_iter().chain(models).chain(fetches).chain(tools).chain(children).chain(detached).collect()
}

/// Messages to other sessions. Each is delivered under a turn id made of its event, so a repeat does nothing (N-3).
pub fn sends(session: &Session) -> impl Iterator<Item = (crate::id::TurnId, &SessionId, &Message)> {
    session.sends.iter().map(|(seq, target, message)| {
        let digest = crate::json::sha256(format!("{}\n{seq}\nmessage.send\n", session.id).as_bytes());
        let mut random = [0u8; 16];
        random[6..].copy_from_slice(&digest[..10]);
        let turn = format!("turn_{}", crate::id::ulid(session.created_at, u128::from_be_bytes(random)));
        (turn.into(), target, message)
    })
}
