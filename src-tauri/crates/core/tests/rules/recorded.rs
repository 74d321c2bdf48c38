//! Logs that earlier builds wrote, replayed on every build (E-1, D-9): `fixtures/logs/*.jsonl`, one event a line, and beside each the
//! outcome it had then. They are never edited: a build that cannot read them cannot read people's sessions.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use holdpoint_core::envelope::{envelope, whole_envelope};
use holdpoint_core::event::Event;
use holdpoint_core::id::SessionId;
use holdpoint_core::pending::pending;
use holdpoint_core::state::Session;
use holdpoint_core::time::Millis;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::story::{ID, line_of};

#[derive(Serialize, Deserialize)]
struct Line {
    seq: u64,
    at: Millis,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    turn_id: Option<holdpoint_core::id::TurnId>,
    payload: Value,
}

fn logs() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/logs")
}

/// What people and programs see of a session.
fn outcome(session: &Session) -> Value {
    let path = session.tree.path(session.tree.head());
    json!({
        "status": session.status(),
        "turn": session.current,
        "path": path.iter().map(|ix| line_of(&session.tree.node(*ix).message)).collect::<Vec<_>>(),
        "nodes": session.tree.len(),
        "turns": session.turns.iter().map(|t| format!("{} {:?} {}", t.id, t.state, t.cost)).collect::<Vec<_>>(),
        "calls": session.calls.iter().map(|c| format!("{:?} {} attempt {}", c.kind, c.status.name(), c.attempt)).collect::<Vec<_>>(),
        "pending_calls": session.pending_calls(),
        "decisions": session.decisions.iter().map(|d| format!("{} live {} attempts {}", d.trigger.kind(), d.live, d.attempts)).collect::<Vec<_>>(),
        "interrupts": session.interrupts.iter().map(|i| i.id.to_string()).collect::<Vec<_>>(),
        "state": session.state_at(session.tree.head()),
        "runs": pending(session).len(),
        "wakes": session.wake_at(),
        "cost": session.cost,
    })
}

fn names() -> Vec<PathBuf> {
    let mut names: Vec<PathBuf> = std::fs::read_dir(logs())
        .expect("the recorded logs")
        .map(|entry| entry.expect("a folder entry").path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "jsonl"))
        .collect();
    names.sort();
    assert!(names.len() >= 6, "recorded logs are not removed: {names:?}");
    names
}

fn events(name: &Path) -> Vec<Event> {
    let text = std::fs::read_to_string(name).expect("a recorded log");
    let mut events = Vec::new();
    for line in text.lines() {
        let read: Line = serde_json::from_str(line).unwrap_or_else(|problem| panic!("{}: {problem}: {line}", name.display()));
        let payload =
            serde_json::from_value(read.payload.clone()).unwrap_or_else(|problem| panic!("{}: {problem}: {line}", name.display()));
        events.push(Event { seq: read.seq, at: read.at, turn_id: read.turn_id, payload });
    }
    events
}

#[test]
fn an_event_is_shown_the_same_with_and_without_its_session_e4() {
    let mut referring = BTreeSet::new();
    for name in names() {
        let events = events(&name);
        let session = Session::fold(&SessionId::from(ID), &events).expect("a log that is not empty");
        for event in &events {
            let with = envelope(&session, event, None);
            match whole_envelope(&session.id, event) {
                Some(without) => assert_eq!(without, with, "{}", name.display()),
                None => drop(referring.insert(format!("{} {}", with["payload"]["type"], with["payload"]["trigger"]["type"]))),
            }
        }
    }
    let expected = [
        r#""decision.queued" "client.messages""#,
        r#""decision.queued" "llm.execute""#,
        r#""decision.queued" "tool.execute""#,
        r#""llm.call.requested" null"#,
    ];
    assert_eq!(referring.iter().map(String::as_str).collect::<Vec<_>>(), expected, "what the log keeps as a reference");
}

#[test]
fn logs_of_earlier_builds_read_back_and_come_to_the_same_e1_d9() {
    for name in names() {
        let events = events(&name);
        let session = Session::fold(&SessionId::from(ID), &events).expect("a log that is not empty");
        let then: Value = serde_json::from_str(&std::fs::read_to_string(name.with_extension("json")).expect("its outcome")).expect("JSON");
        assert_eq!(outcome(&session), then, "{}", name.display());
    }
}
