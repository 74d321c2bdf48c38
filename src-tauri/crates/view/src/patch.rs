//! What changed in one session since a reader's sequence number.

use holdpoint_core::apply::first_line;
use holdpoint_core::decision::Trigger;
use holdpoint_core::deferred;
use holdpoint_core::engine_config::EngineConfig;
use holdpoint_core::event::CallKind;
use holdpoint_core::message::{ErrorCode, Role, ToolCall};
use holdpoint_core::state::{Call, Decision, Session, Turn, TurnState};
use holdpoint_core::tree::Node;

use crate::interrupts::open_row;
use crate::row::{CallRow, DecisionRow, Json, NodeRow, Seq, SessionPatch, Time, TurnRow, TurnStatus};
use crate::session::{session_row, shown_model};

pub fn session_patch(session: &Session, after_seq: u64, config: &EngineConfig) -> SessionPatch {
    // Nodes are in log order, so the new ones are a tail.
    let nodes = session.tree.nodes();
    let first = nodes.partition_point(|node| node.seq <= after_seq);
    SessionPatch {
        session: session_row(session, config),
        after_seq: Seq(after_seq),
        head_id: session.tree.head_id().map(ToString::to_string),
        nodes: nodes[first..].iter().map(|node| node_row(session, node)).collect(),
        calls: session
            .calls
            .iter()
            .filter(|call| call.seq > after_seq || call.status.is_open())
            .map(|c| call_row(session, c, config))
            .collect(),
        turns: turns(session, after_seq),
        interrupts: session.interrupts.iter().map(|interrupt| open_row(session, interrupt)).collect(),
        decisions: session.decisions.iter().map(|decision| decision_row(session, decision)).collect(),
        state: Json(session.state_at(session.tree.head()).cloned().unwrap_or_default()),
        agent: Json(session.config().map(|config| serde_json::json!(config)).unwrap_or_default()),
    }
}

fn node_row(session: &Session, node: &Node) -> NodeRow {
    let message = &node.message;
    let text = first_line(&message.text());
    let label = if text.is_empty() && !message.calls().is_empty() {
        first_line(&message.calls().iter().map(|call| tool_name(session, call)).collect::<Vec<_>>().join(", "))
    } else {
        text
    };
    NodeRow {
        id: node.id.to_string(),
        parent_id: node.parent.map(|ix| session.tree.node(ix).id.to_string()),
        seq: Seq(node.seq),
        at: Time(node.at),
        turn_id: node.turn_id.as_ref().map(ToString::to_string),
        role: match message.role {
            Role::System => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::Tool => "tool",
        }
        .to_owned(),
        label,
        tool_calls: message.calls().iter().map(|call| call.id.clone()).collect(),
        tool_call_id: message.tool_call_id.clone(),
    }
}

/// Of a deferred tool the real name (K-10).
fn tool_name(session: &Session, call: &ToolCall) -> String {
    let written = &call.function;
    session.config().map_or_else(|| written.name.clone(), |config| deferred::meant(config, &written.name, &written.arguments).0)
}

fn name_of<T: serde::Serialize>(value: T) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

pub fn call_row(session: &Session, call: &Call, config: &EngineConfig) -> CallRow {
    let name = match &call.llm {
        Some(llm) => shown_model(config, Some(&llm.block), &call.name).0,
        None => call.name.clone(),
    };
    CallRow {
        id: call.id.to_string(),
        kind: name_of(call.kind),
        name,
        status: call.status.name().to_owned(),
        attempt: call.attempt,
        turn_id: call.turn_id.as_ref().map(ToString::to_string),
        anchor: call.anchor.map(|ix| session.tree.node(ix).id.to_string()),
        handler: name_of(call.handler),
        arguments: (call.kind == CallKind::ToolCall).then(|| call.arguments.clone()),
        child_session_id: call.child.as_ref().map(ToString::to_string),
        requested_at: Time(call.requested_at),
        dispatched_at: call.dispatched_at.map(Time),
        ended_at: call.ended_at.map(Time),
        deadline: call.deadline().map(Time),
        clock_stopped: call.frozen_since.is_some(),
        error: call.error.as_ref().map(|error| error.message.clone()),
        seq: Seq(call.seq),
    }
}

fn decision_row(session: &Session, decision: &Decision) -> DecisionRow {
    let status = match decision {
        d if d.live => "live",
        d if session.held(d) => "held",
        _ => "waiting",
    };
    DecisionRow {
        id: decision.id.to_string(),
        trigger: decision.trigger.kind().to_owned(),
        status: status.to_owned(),
        turn_id: decision.turn_id.as_ref().map(ToString::to_string),
        attempts: decision.attempts,
        queued_at: Time(decision.queued_at),
        error: decision.error.as_ref().map(|error| error.message.clone()),
    }
}

/// Turns changed since, then every turn that waits to start. A message dropped before its turn began leaves nothing in the
/// session, so the waiting ones are told whole: one that is told no longer has started or is gone.
fn turns(session: &Session, after_seq: u64) -> Vec<TurnRow> {
    let known =
        session.turns.iter().filter(|turn| turn.seq > after_seq || turn.state != TurnState::Over).map(|turn| turn_row(session, turn));
    let waiting = session.waiting_turns().filter_map(|decision| queued_row(session, decision));
    known.chain(waiting).collect()
}

fn turn_row(session: &Session, turn: &Turn) -> TurnRow {
    let status = match (turn.state, &turn.error) {
        (TurnState::Suspended, _) => TurnStatus::Suspended,
        (TurnState::Current, _) if session.paused() => TurnStatus::Paused,
        (TurnState::Current, _) => TurnStatus::Running,
        (TurnState::Over, None) => TurnStatus::Completed,
        (TurnState::Over, Some(error)) if error.is(ErrorCode::Cancelled) => TurnStatus::Cancelled,
        (TurnState::Over, Some(_)) => TurnStatus::Failed,
    };
    let stack = turn.error.as_ref().and_then(|error| error.detail.as_ref()?.get("stack")?.as_str().map(str::to_owned));
    TurnRow {
        turn_id: turn.id.to_string(),
        status,
        started_at: Some(Time(turn.started_at)),
        ended_at: turn.ended_at.map(Time),
        cost_usd: turn.cost.to_string(),
        tokens: Seq(turn.usage.total),
        error: turn.error.as_ref().map(|error| error.message.clone()),
        error_code: turn.error.as_ref().map(|error| error.code.clone()),
        stack,
        message: None,
        seq: Seq(turn.seq),
    }
}

/// None for a decision outside any turn: a row without an id could stand for no turn.
fn queued_row(session: &Session, decision: &Decision) -> Option<TurnRow> {
    let turn_id = decision.turn_id.as_ref()?.to_string();
    let message = match &decision.trigger {
        Trigger::ClientMessages { messages, .. } => messages.last().map(holdpoint_core::message::Message::text),
        _ => None,
    };
    Some(TurnRow {
        turn_id,
        status: TurnStatus::Queued,
        started_at: None,
        ended_at: None,
        cost_usd: "0".to_owned(),
        tokens: Seq(0),
        error: decision.error.as_ref().map(|error| error.message.clone()),
        error_code: None,
        stack: None,
        message,
        seq: Seq(session.seq),
    })
}
