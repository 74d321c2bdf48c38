//! A session seen as a thread (thread-api): its status, when it ended, its title.

use crate::event::CallKind;
use crate::id::SessionId;
use crate::message::ErrorCode;
use crate::state::{Session, Turn, TurnState};
use crate::time::Millis;

/// TH-38.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadStatus {
    Running,
    Idle,
    Completed,
    Failed,
    Interrupted,
}

impl ThreadStatus {
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Idle => "idle",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
        }
    }

    /// TH-24: an idle delegate has not ended.
    pub fn has_ended(self) -> bool {
        !matches!(self, Self::Running | Self::Idle)
    }
}

/// TH-38. A primary thread never ends; a delegate that was given more work runs again.
pub fn status(session: &Session) -> ThreadStatus {
    let active = session.turns.iter().any(|turn| turn.state != TurnState::Over);
    if active {
        return ThreadStatus::Running;
    }
    if !session.is_child() {
        return ThreadStatus::Idle;
    }
    let waits = crate::decide::has_run(session);
    match session.turns.last() {
        None if waits || !session.done => ThreadStatus::Idle,
        None => ThreadStatus::Interrupted,
        Some(_) if waits => ThreadStatus::Running,
        Some(last) if last.error.as_ref().is_some_and(|error| error.is(ErrorCode::Cancelled)) || was_refused_more(session, last) => {
            ThreadStatus::Interrupted
        }
        Some(last) if last.error.is_some() => ThreadStatus::Failed,
        Some(_) => ThreadStatus::Completed,
    }
}

/// Whether a turn asked for after the last one was dropped before it began. A delegate's turn ids carry the time of the request.
fn was_refused_more(session: &Session, last: &Turn) -> bool {
    session.dropped_turns.iter().any(|dropped| *dropped > last.id)
}

/// TH-44: when the event that ended the thread happened.
pub fn ended_at(session: &Session) -> Option<Millis> {
    if !status(session).has_ended() {
        return None;
    }
    let last = session.turns.last().filter(|last| !was_refused_more(session, last));
    // Without a turn of its own the thread ended with its last event (C-39).
    Some(last.and_then(|turn| turn.ended_at).unwrap_or(session.last_at))
}

/// A delegate that was stopped does not start again by itself, whatever its own delegates still report (S-18, TH-4).
pub fn is_stopped(session: &Session) -> bool {
    session.is_child() && status(session) == ThreadStatus::Interrupted
}

/// TH-40. `message`: what the delegate was asked, `agent_id` stands in for none.
pub fn title(message: &str, agent_id: &str) -> String {
    let line = message.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).find(|line| !line.is_empty());
    let line = line.unwrap_or_else(|| agent_id.to_owned());
    //
    if line.chars().count() <= 80 { line } else { line.chars().take(79).chain(['…']).collect() }
}

/// What this session first asked of that delegate.
pub fn delegated_message<'a>(parent: &'a Session, child: &SessionId) -> Option<&'a str> {
    let mut calls = parent.calls.iter().filter(|call| call.kind == CallKind::Subagent);
    calls.find(|call| call.child.as_ref() == Some(child)).map(|call| call.arguments.as_str())
}

/// Delegates that may still work for this session: of open calls, and detached ones that have not reported (TH-28).
pub fn delegates_at_work(session: &Session) -> Vec<SessionId> {
    let open = session.open_calls().filter(|call| call.kind == CallKind::Subagent);
    let detached = session.detached.iter().filter_map(|id| session.call(CallKind::Subagent, id));
    open.chain(detached).filter_map(|call| call.child.clone()).collect()
}

/// How long its turns have run, and since when one is running.
pub fn running_time(session: &Session) -> (i64, Option<Millis>) {
    let over = session.turns.iter().filter_map(|turn| Some(turn.ended_at?.0 - turn.started_at.0)).sum();
    (over, session.turns.iter().filter(|turn| turn.state != TurnState::Over).map(|turn| turn.started_at).min())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_the_first_line_in_single_spaces_th40() {
        assert_eq!(title("\n  Compare\t the   offers \nsecond line", "a"), "Compare the offers");
        assert_eq!(title(" \n\t", "price_checker"), "price_checker");
        assert_eq!(title(&"ü".repeat(80), "a"), "ü".repeat(80));
        assert_eq!(title(&"ü".repeat(81), "a"), format!("{}…", "ü".repeat(79)));
    }
}
