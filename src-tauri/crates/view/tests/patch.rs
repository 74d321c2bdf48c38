//! What a reader of one session is told.

use holdpoint_core::engine_config::EngineConfig;
use holdpoint_core::event::{Event, Payload};
use holdpoint_core::id::{SessionId, TurnId};
use holdpoint_core::state::Session;
use holdpoint_core::time::Millis;
use holdpoint_view::patch::session_patch;
use holdpoint_view::row::TurnStatus;
use serde_json::{Value, json};

const ID: &str = "sesn_01K74Q9ZZZ0000000000000001";

fn event(seq: u64, turn: Option<&str>, payload: Value) -> Event {
    let payload: Payload = serde_json::from_value(payload).expect("a payload of this engine");
    Event { seq, at: Millis(1_760_000_000_000), turn_id: turn.map(TurnId::from), payload }
}

fn queued(id: &str, text: &str) -> Value {
    json!({"type": "decision.queued", "id": id, "trigger": {"type": "client.messages", "messages": [{"role": "user", "content": text}]}})
}

#[test]
fn messages_that_wait_are_told_whole_each_time_and_a_dropped_one_no_longer() {
    let retry = json!({"queue_timeout_secs": null, "run_timeout_secs": null, "total_timeout_secs": null, "max_attempts": 1, "backoff_base_secs": 0.5, "backoff_max_secs": 1.0});
    let mut log = vec![
        event(1, None, json!({"type": "session.created", "agent_id": "clerk", "identity": {}, "worker_retry": retry})),
        event(2, Some("turn_a"), queued("dec_a", "first")),
        event(3, Some("turn_b"), queued("dec_b", "second")),
    ];
    let told = |log: &[Event]| -> Vec<(String, TurnStatus, Option<String>)> {
        let session = Session::fold(&SessionId::from(ID), log).expect("the session was created");
        let patch = session_patch(&session, session.seq, &EngineConfig::default());
        patch.turns.into_iter().map(|turn| (turn.turn_id, turn.status, turn.message)).collect()
    };
    let row = |id: &str, text: &str| (id.to_owned(), TurnStatus::Queued, Some(text.to_owned()));
    assert_eq!(told(&log), [row("turn_a", "first"), row("turn_b", "second")], "also to a reader who has seen everything");
    log.push(event(4, Some("turn_a"), json!({"type": "decision.dropped", "id": "dec_a"})));
    assert_eq!(told(&log), [row("turn_b", "second")]);
}
