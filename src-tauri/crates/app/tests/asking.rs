//! Servers that ask a person during a call (§10D), on a real engine: the call waits, across a restart too, and the answer reaches it.

#[path = "connectors/project.rs"]
#[allow(dead_code, reason = "each test program uses a part")]
mod project;

use std::path::{Path, PathBuf};
use std::time::Duration;

use futures::StreamExt as _;
use holdpoint_app::caller::Caller;
use holdpoint_app::stream::{From, Item};
use serde_json::{Value, json};

use project::{Project, SESSION, config, message};

const ASKED: &str = "mcp-elicit:c:1";

/// A project whose model calls this tool of the asking server.
async fn calling(mode: &str, tool: &str, record: &Path) -> Project {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../effects-mcp/tests/asking.mjs");
    let server = format!(
        "command = {}\nenv = {{ MODE = {}, TRANSPORT = \"stdio\", RECORD = {} }}",
        json!(["node", script]),
        json!(mode),
        json!(record)
    );
    let replies = json!({"holdpoint_script": 1, "replies": [
        {"match": {"equals": "hi"}, "text": "Hello."},
        {"match": {"equals": "go"}, "tool_calls": [{"id": "c", "name": format!("one__{tool}"), "arguments": {}}]},
        {"match": {"role": "tool"}, "text": "Thank you."},
    ]});
    Project::start(&config(&server, "\"mcp.one\""), &replies).await
}

fn record() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let record = folder.path().join("record");
    std::fs::write(&record, "").expect("an empty record");
    (folder, record)
}

fn calls(record: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(record).expect("the record");
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("a line of JSON"));
    lines.filter(|line| line.get("call").is_some()).collect()
}

async fn resume(project: &Project, payload: Value) {
    project.input(json!({"type": "interrupt.resume", "interrupt_id": ASKED, "payload": payload})).await;
}

fn was_decided(log: &[Value]) -> bool {
    log.iter().any(|event| event["type"] == "decision.queued" && event["trigger"]["type"] == "interrupt.resumed")
}

#[tokio::test]
async fn a_question_outlives_its_engine_and_its_call_is_sent_again_after_the_answer_m33_m35_m37() {
    for mode in ["legacy", "modern"] {
        let (_folder, record) = record();
        let project = calling(mode, "form", &record).await;
        project.input(message("go")).await;
        let (seq, asked) = project.event(0, "session.interrupted", |_| true).await;
        assert_eq!((&asked["interrupt_id"], &asked["call"]), (&json!(ASKED), &json!({"id": "c", "attempt": 1})));
        assert_eq!(asked["payload"]["message"], "Who are you?");
        assert_eq!(asked["payload"]["metadata"], json!({"type": "mcp.elicitation", "connection": "mcp.one", "mode": "form"}));
        let project = project.restart().await;
        assert_eq!(calls(&record).len(), 1, "M-37: not before the answer, {mode}");
        let body = json!({"session_id": SESSION, "input": {"type": "interrupt.resume", "interrupt_id": ASKED, "payload": {"who": 1}}});
        let refused = project.app.client_input(&Caller::operator(), body).await.expect_err("Q-16");
        assert_eq!(refused.http_status(), 400, "{refused:?}");
        resume(&project, json!({"who": "Ann"})).await;
        let (_, over) = project.event(seq, "turn.completed", |_| true).await;
        assert_eq!((&over["data"], over.get("error")), (&json!("Thank you."), None), "{mode}");
        let answer = json!({"action": "accept", "content": {"who": "Ann"}});
        let told = if mode == "modern" { json!({"inputResponses": {"only": answer}, "requestState": "the state ü"}) } else { answer };
        let log = project.log().await;
        let result = log.iter().find(|event| event["type"] == "tool.call.completed").expect("the call ended");
        let text: Value = serde_json::from_str(result["result"]["content"][0]["text"].as_str().expect("text")).expect("JSON");
        assert_eq!(text, told, "{mode}");
        let asked: Vec<&Value> = log.iter().filter(|event| event["type"] == "session.interrupted").collect();
        assert_eq!(asked.len(), 1, "M-37: the repeated question is answered from the log");
        assert!(!was_decided(&log), "M-35");
        assert_eq!(calls(&record).len(), if mode == "modern" { 3 } else { 2 });
        project.app.close().await;
    }
}

#[tokio::test]
async fn a_running_call_gets_its_answer_without_being_sent_again_m35_m36() {
    for (payload, action) in [
        (json!({"status": "resolved", "declined": true}), "decline"),
        (json!({"status": "cancelled"}), "cancel"),
        (json!({"who": "Ann"}), "accept"),
    ] {
        let (_folder, record) = record();
        let project = calling("legacy", "form", &record).await;
        project.input(message("go")).await;
        let (seq, _) = project.event(0, "session.interrupted", |_| true).await;
        resume(&project, payload).await;
        let (_, ended) = project.event(seq, "tool.call.completed", |_| true).await;
        assert!(ended["result"]["content"][0]["text"].as_str().is_some_and(|text| text.contains(action)), "{ended}");
        project.event(seq, "turn.completed", |_| true).await;
        assert_eq!(calls(&record).len(), 1);
        assert!(!was_decided(&project.log().await));
        project.app.close().await;
    }
}

#[tokio::test]
async fn a_cancel_closes_the_question_and_tells_the_server_c4_c12() {
    let (_folder, record) = record();
    let project = calling("legacy", "form", &record).await;
    project.input(message("go")).await;
    let (seq, _) = project.event(0, "session.interrupted", |_| true).await;
    project.app.cancel(&Caller::operator(), SESSION).await.expect("cancelled");
    let (_, closed) = project.event(seq, "session.interrupt_resumed", |_| true).await;
    assert_eq!(closed["payload"], json!({"status": "cancelled"}));
    let told = async {
        while !std::fs::read_to_string(&record).expect("the record").contains("\"cancelled\":true") {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_mins(5), told).await.expect("the server is told");
    project.app.close().await;
}

#[tokio::test]
async fn progress_is_told_live_and_never_stored_e13() {
    let (_folder, record) = record();
    let project = calling("legacy", "count", &record).await;
    project.input(message("hi")).await;
    let (seq, _) = project.event(0, "turn.completed", |_| true).await;
    let from = From { after_seq: Some(seq), turn_id: None };
    let stream = project.app.session_stream(&Caller::operator(), SESSION, from, false).await.expect("the session exists");
    project.input(message("go")).await;
    let mut stream = Box::pin(stream);
    let mut frames = Vec::new();
    while let Some(item) = stream.next().await {
        match item {
            Item::Delta(frame) if frame["type"] == "tool.call.progress" => {
                frames.push(frame);
                std::fs::write(format!("{}.heard", record.display()), "").expect("a file");
            }
            Item::Event { envelope, .. } if envelope["payload"]["type"] == "tool.call.completed" => break,
            _ => {}
        }
    }
    assert_eq!((&frames[0]["session_id"], &frames[0]["call_id"], &frames[0]["total"]), (&json!(SESSION), &json!("c"), &json!(3.0)));
    let values: Vec<f64> = frames.iter().filter_map(|frame| frame["progress"].as_f64()).collect();
    assert!(values.is_sorted(), "{values:?}");
    assert!(project.log().await.iter().all(|event| event["type"] != "tool.call.progress"));
    project.app.close().await;
}
