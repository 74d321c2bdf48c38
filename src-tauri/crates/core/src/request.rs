//! The decision request (P-1): what the decider is asked, with everything it may need to answer.

use serde_json::{Map, Value, json};

use crate::decision::Trigger;
use crate::engine_config::EngineConfig;
use crate::event::CallKind;
use crate::proposal::propose;
use crate::response::to_json;
use crate::state::{Call, Decision, Session};
use crate::tree::Ix;

pub fn decision_request(session: &Session, decision: &Decision, config: &EngineConfig) -> Value {
    let head = session.tree.head();
    // a view is judged by what holds where it branches off.
    let leaf = match &decision.trigger {
        Trigger::ClientMessages { append: false, after, .. } => after.as_ref().and_then(|id| session.tree.find(id.as_str())),
        _ => head,
    };
    json!({
        "session_id": session.id,
        "decision_id": decision.id,
        "agent_id": session.agent_id,
        "identity": session.identity,
        "trigger": trigger_json(session, &decision.trigger, head),
        "proposed": to_json(&propose(session, decision, config), session),
        "state": session.state_at(leaf),
        "agent": session.config_at(leaf),
        "worker": worker(session, config),
        "calls": session.open_calls().map(|call| call_json(session, call)).collect::<Vec<_>>(),
        "pending_calls": session.pending_calls(),
        "messages": messages(session, head),
        "message_tree": tree_json(session),
        "ancestry": session.ancestry,
        "attempts": decision.attempts,
        "deadline": decision.deadline,
        "turn_id": decision.turn_id,
    })
}

/// The worker as the configuration has it now; as recorded, when it is no longer there.
fn worker(session: &Session, config: &EngineConfig) -> Value {
    let now = config.agents.get(&session.agent_id).and_then(|spec| spec.worker.as_ref());
    match (&session.worker, now) {
        (Some(recorded), Some(now)) if now.id == recorded.id => json!(now),
        (recorded, _) => json!(recorded),
    }
}

pub fn messages(session: &Session, leaf: Option<Ix>) -> Vec<Value> {
    session.tree.path(leaf).into_iter().map(|ix| json!(*session.tree.node(ix).message)).collect()
}

/// `{nodes[{message, parent_id?}], head_id?}`, all branches (T-14).
pub fn tree_json(session: &Session) -> Value {
    let nodes: Vec<Value> = session
        .tree
        .nodes()
        .iter()
        .map(|node| {
            let mut out = Map::new();
            out.insert("message".into(), json!(*node.message));
            if let Some(parent) = node.parent {
                out.insert("parent_id".into(), json!(session.tree.node(parent).id));
            }
            Value::Object(out)
        })
        .collect();
    let mut tree = json!({ "nodes": nodes });
    if let Some(head) = session.tree.head_id() {
        tree["head_id"] = json!(head);
    }
    tree
}

pub fn call_json(session: &Session, call: &Call) -> Value {
    let mut out = json!({
        "id": call.id,
        "kind": call.kind,
        "status": call.status.name(),
        "attempt": call.attempt,
        "handler": call.handler,
    });
    if let Some(deadline) = call.deadline() {
        out["deadline"] = json!(deadline);
    }
    if let Some(anchor) = call.anchor {
        out["anchor"] = json!(session.tree.node(anchor).id);
    }
    match call.kind {
        CallKind::ToolCall => {
            out["name"] = json!(call.name);
            out["arguments"] = json!(call.arguments);
        }
        CallKind::LlmCall => out["stream"] = json!(call.llm.as_ref().is_none_or(|llm| llm.stream)),
        CallKind::Subagent => {
            out["agent_id"] = json!(call.name);
            out["session_id"] = json!(call.child);
        }
        CallKind::ConnectorSync => {}
    }
    out
}

/// A pause moves the deadline of a call that was handed out before it (I-77).
fn with_deadline(mut trigger: Value, call: Option<&Call>) -> Value {
    if let Some(deadline) = call.and_then(Call::deadline) {
        trigger["deadline"] = json!(deadline);
    }
    trigger
}

/// The trigger as the wire has it (§3.3, Q-55): the whole view, the whole model request.
pub fn trigger_json(session: &Session, trigger: &Trigger, head: Option<Ix>) -> Value {
    match trigger {
        Trigger::ClientMessages { messages: news, client, after, append, .. } => {
            let leaf = if *append { head } else { after.as_ref().and_then(|id| session.tree.find(id.as_str())) };
            let mut view = messages(session, leaf);
            let new_from = view.len();
            view.extend(news.iter().map(|message| json!(message)));
            let mut out = json!({"type": "client.messages", "messages": view, "new_from": new_from});
            if let Some(client) = client {
                out["client"] = json!(client);
            }
            out
        }
        Trigger::LlmExecute { id, request, .. } => {
            let mut out = with_deadline(json!(trigger), session.call(CallKind::LlmCall, id));
            out["request"] = json!(request.resolve(session));
            out
        }
        Trigger::ToolExecute { id, .. } => with_deadline(json!(trigger), session.tool(id)),
        other => json!(other),
    }
}
