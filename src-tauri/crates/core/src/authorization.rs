//! A connection whose credential stopped working (§10C): what a person is asked, when, and how the work goes on afterwards.
//!
//! The question takes the place of what the turn would do next (P-13). What it held back is read off the transcript once it is
//! answered: the calls of the last reply, or the next model call.

use serde_json::{Value, json};

use crate::connector::{self, AuthFailure};
use crate::decision::Trigger;
use crate::engine_config::{EngineConfig, Principal};
use crate::message::{AgentConfig, Role};
use crate::response::{Action, Response};
use crate::state::{Decision, Session};
use crate::tree::Ix;

const ID: &str = "mcp-auth:";

/// The connection that a question is about (M-23). `None`: the question is another one.
pub fn connection_of(interrupt_id: &str) -> Option<&str> {
    interrupt_id.strip_prefix(ID)
}

/// P-13: the question instead of the actions, where the turn would go on with a connection that waits for a person.
pub fn first(session: &Session, decision: &Decision, engine: &EngineConfig, planned: Response) -> Response {
    let asked_again = match &decision.trigger {
        Trigger::ClientMessages { .. } | Trigger::LlmFinished { .. } | Trigger::ToolFinished { .. } | Trigger::SubagentFinished { .. } => {
            false
        }
        Trigger::InterruptResumed { interrupt_id, .. } => connection_of(interrupt_id.as_str()).is_some() && decision.turn_id.is_some(),
        _ => return planned,
    };
    let ends = planned.actions.iter().any(|action| matches!(action, Action::Done { .. } | Action::Fail { .. }));
    if !asked_again && (ends || planned.actions.is_empty()) {
        return planned; // nothing is done for which the connection is needed
    }
    match question(session, engine) {
        Some(question) => Response { actions: vec![question], ..planned },
        None => planned,
    }
}

/// M-22, M-23: about the first connection of the agent that waits for a person.
fn question(session: &Session, engine: &EngineConfig) -> Option<Action> {
    let config = session.config().filter(|_| !session.unattended && !session.bad_credentials.is_empty())?;
    let (path, principal, case) = connector::entries(config).into_iter().find_map(|entry| {
        let case = session.bad_credentials.get(&entry.path)?;
        let known = engine.connections.get(&entry.path)?;
        let asks = entry.auth_failure.unwrap_or_else(|| for_all(config)) == AuthFailure::Interrupt;
        // One that is open already pauses a branch that was left: this one goes on without the tools.
        let open = session.interrupt(&format!("{ID}{}", entry.path)).is_some();
        (asks && !open).then_some((entry.path, known.principal, case.as_str()))
    })?;
    Some(Action::Interrupt {
        id: Some(format!("{ID}{path}").into()),
        reason: "input_required".to_owned(),
        payload: Some(payload(&path, principal, case)),
    })
}

fn for_all(config: &AgentConfig) -> AuthFailure {
    let chosen = config.other.get("mcp_auth_failure").and_then(Value::as_str);
    if chosen == Some("degrade") { AuthFailure::Degrade } else { AuthFailure::Interrupt }
}

fn payload(path: &str, principal: Principal, case: &str) -> Value {
    let what = match case {
        "never_authorized" => "asks for authorization, and nobody has given it yet",
        "reauthorize" => "needs a new authorization: the one it had is over and could not be renewed",
        _ => "refuses the token it was given",
    };
    json!({
        "message": format!("`{path}` {what}. Authorize the connection, then retry."),
        "authorize": {"connection": path, "principal": principal.name()},
        "metadata": {"options": [{"label": "Retry", "value": {"connection": path}}]},
    })
}

/// M-24: the calls of the last reply, where the question came before them.
pub fn go_on(session: &Session, interrupt_id: &str, later: bool) -> Option<Response> {
    connection_of(interrupt_id)?;
    let head = session.tree.head()?;
    let reply = session.tree.node(head).message.role == Role::Assistant;
    if reply { crate::approval::send_or_ask(session, head, later) } else { None }
}

/// The reply whose calls were answered last, where the question came before the next model call: it goes on as P-11 has it.
pub fn results_for(session: &Session, interrupt_id: &str) -> Option<Ix> {
    connection_of(interrupt_id)?;
    let answered = session.tree.node(session.tree.head()?).message.tool_call_id.clone()?;
    session.asked_in.get(&answered).copied()
}
