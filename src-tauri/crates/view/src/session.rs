//! The one row a session is listed with.

use holdpoint_core::decision::Trigger;
use holdpoint_core::engine_config::{EngineConfig, LlmKind};
use holdpoint_core::event::CallKind;
use holdpoint_core::message::ErrorCode;
use holdpoint_core::state::{Session, TurnState};

use crate::row::{Activity, Seq, SessionRow, SessionStatus, Time, UsageRow};

pub fn session_row(session: &Session, config: &EngineConfig) -> SessionRow {
    let (model, scripted) = model_of(session, config);
    SessionRow {
        session_id: session.id.to_string(),
        root_session_id: session.ancestry.first().unwrap_or(&session.id).to_string(),
        parent_session_id: session.ancestry.last().map(ToString::to_string),
        agent_id: session.agent_id.clone(),
        title: session.title.clone(),
        status: status(session),
        activity: activity(session),
        turn_id: session.current.as_ref().map(ToString::to_string),
        top_level: !session.is_child(),
        open_interrupts: session.interrupts.len() as u32,
        pausing_interrupts: session.pausing(session.tree.head()).count() as u32,
        branches: session.tree.leaves(),
        model,
        scripted,
        queued_turns: session.waiting_turns().count() as u32,
        first_event_at: Time(session.created_at),
        last_event_at: Time(session.last_at),
        wake_at: session.wake_at().map(Time),
        usage: UsageRow {
            input_tokens: Seq(session.usage.input),
            cached_input_tokens: Seq(session.usage.cache_read),
            output_tokens: Seq(session.usage.output),
            cost_usd: session.cost.to_string(),
        },
        seq: Seq(session.seq),
    }
}

/// The model as every surface names it (P-32, Q-44), and whether it is a script.
pub fn shown_model(config: &EngineConfig, llm: Option<&str>, model: &str) -> (String, bool) {
    let scripted = llm.and_then(|llm| config.llms.get(llm)).is_some_and(|block| block.kind == LlmKind::Scripted);
    if scripted { (format!("scripted/{model}"), true) } else { (model.to_owned(), false) }
}

fn model_of(session: &Session, config: &EngineConfig) -> (Option<String>, bool) {
    let configured = config.agents.get(&session.agent_id).and_then(|spec| spec.config.as_ref());
    let agent = session.config().or(configured);
    match agent.map(|agent| shown_model(config, agent.llm.as_deref(), &agent.model)) {
        Some((model, scripted)) => (Some(model), scripted),
        None => (None, false),
    }
}

/// B-10, B-11.
pub fn status(session: &Session) -> SessionStatus {
    match session.status() {
        "interrupted" => SessionStatus::Interrupted,
        "done" => SessionStatus::Done,
        _ => SessionStatus::Idle,
    }
}

/// The word that never lies: the first that holds, in the order of [`Activity`].
pub fn activity(session: &Session) -> Activity {
    if session.paused() {
        return Activity::WaitingForYou;
    }
    // A call parked on a branch that was left waits for that branch, and says nothing about the active one.
    let open = |kind: CallKind| session.open_calls().any(|call| call.kind == kind && session.is_active(call.anchor));
    let deciding = session.decisions.iter().any(|d| d.live || (d.turn_id.is_some() && d.turn_id == session.current && !session.held(d)));
    let starting = session.decisions.iter().any(|d| matches!(d.trigger, Trigger::SessionStart {}));
    if open(CallKind::LlmCall) || deciding || starting {
        return Activity::Running;
    }
    if open(CallKind::ToolCall) || open(CallKind::ConnectorSync) {
        return Activity::WaitingForTool;
    }
    if session.current.is_some() || open(CallKind::Subagent) {
        return Activity::Running;
    }
    if session.waiting_turns().next().is_some() {
        return Activity::Queued;
    }
    let last = session.turns.iter().filter(|turn| turn.state == TurnState::Over).max_by_key(|turn| turn.seq);
    match last.and_then(|turn| turn.error.as_ref()) {
        Some(error) if error.is(ErrorCode::Cancelled) => Activity::Cancelled,
        Some(_) => Activity::Failed,
        None => Activity::Idle,
    }
}
