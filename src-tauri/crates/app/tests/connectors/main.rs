//! MCP servers named in a configuration file, on a real engine: the reference file server behind approvals, and a call that is lost.

mod project;
mod servers;

use std::path::Path;

use holdpoint_app::caller::Caller;
use serde_json::{Value, json};

use project::{Project, SESSION, config, message, reference};

#[tokio::test]
async fn a_declined_write_leaves_no_file_and_an_approved_one_writes_what_was_shown_m12_m15_m17_i93() {
    let root = tempfile::tempdir().expect("a temporary folder");
    let files = root.path().canonicalize().expect("a real path");
    let (yes, no) = (files.join("yes.txt"), files.join("no.txt"));
    let write =
        |id: &str, path: &Path| json!({"id": id, "name": "one__write_file", "arguments": {"path": path, "content": "exactly\nthis"}});
    let script = json!({"holdpoint_script": 1, "replies": [
        {"match": {"role": "user"}, "tool_calls": [write("call_yes", &yes), write("call_no", &no)]},
        {"match": {"role": "tool"}, "text": "As you wish."},
    ]});
    let program = reference("mcp-server-filesystem");
    let server = format!("command = {}", json!([program, files]));
    let project = Project::start(&config(&server, "{ id = \"mcp.one\", approve = \"destructive\" }"), &script).await;

    project.input(message("Write two files.")).await;
    let (seq, asked) = project.event(0, "session.interrupted", |_| true).await;
    assert_eq!(asked["interrupt_id"], "mcp-approve:call_yes");
    let metadata = &asked["payload"]["metadata"];
    assert_eq!((&metadata["risk"], &metadata["remaining"]), (&json!("high"), &json!(1)));
    assert_eq!(metadata["arguments"], json!({"path": yes, "content": "exactly\nthis"}));
    // A question outlives its engine (M-19, D-9).
    let project = project.restart().await;
    project.input(json!({"type": "interrupt.resume", "interrupt_id": "mcp-approve:call_yes", "payload": {"approved": true}})).await;
    let (seq, asked) = project.event(seq, "session.interrupted", |_| true).await;
    assert_eq!(asked["interrupt_id"], "mcp-approve:call_no");
    assert!(!yes.exists(), "M-17: nothing runs before all is answered");
    project.input(json!({"type": "interrupt.resume", "interrupt_id": "mcp-approve:call_no", "payload": {"approved": false}})).await;
    let (_, over) = project.event(seq, "turn.completed", |_| true).await;
    assert_eq!((&over["data"], over.get("error")), (&json!("As you wish."), None));
    assert_eq!(std::fs::read_to_string(&yes).expect("it was approved"), "exactly\nthis");
    assert!(!no.exists(), "M-15: it was declined");
    let log = project.log().await;
    let sent: Vec<&Value> = log.iter().filter(|event| event["type"] == "tool.call.dispatched").collect();
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0]["approved_hash"], sent[0]["arguments_hash"]);
    assert!(sent[0]["approved_hash"].is_string());
    project.app.close().await;
}

/// The small server of the connection's own tests; its `wait` never answers.
fn small(record: &Path) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../effects-mcp/tests/server.mjs");
    format!("command = {}\nenv = {{ RECORD = {} }}", json!(["node", script]), json!(record))
}

async fn until_noted(record: &Path, wanted: &str) {
    let noted = async {
        while !std::fs::read_to_string(record).is_ok_and(|text| text.contains(wanted)) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_mins(5), noted).await.expect("the server notes it in time");
}

#[tokio::test]
async fn a_call_lost_with_the_engine_is_settled_by_a_person_d12_q14() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let record = folder.path().join("record");
    let script = json!({"holdpoint_script": 1, "replies": [
        {"match": {"role": "user"}, "tool_calls": [{"id": "call_w", "name": "one__wait", "arguments": {"n": 1}}]},
        {"match": {"role": "tool", "contains": "42 lines"}, "text": "Good."},
    ]});
    let project = Project::start(&config(&small(&record), "\"mcp.one\""), &script).await;
    project.input(message("Go.")).await;
    until_noted(&record, "\"wait\"").await;
    let project = project.restart().await;
    let (seq, asked) = project.event(0, "session.interrupted", |_| true).await;
    assert_eq!(asked["interrupt_id"], "call-unknown:call_w");
    let answer = json!({"channel": "cli", "option": 0, "text": "42 lines"});
    project.input(json!({"type": "interrupt.resume", "interrupt_id": "call-unknown:call_w", "answer": answer})).await;
    let (_, over) = project.event(seq, "turn.completed", |_| true).await;
    assert_eq!(over["data"], "Good.");
    let calls = std::fs::read_to_string(&record).expect("the record").matches("\"wait\"").count();
    assert_eq!(calls, 1, "it was not sent a second time");
    project.app.close().await;
}

#[tokio::test]
async fn a_cancel_reaches_the_server_and_the_session_goes_on_c4_c14() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let record = folder.path().join("record");
    let script = json!({"holdpoint_script": 1, "replies": [
        {"match": {"role": "user", "contains": "slow"}, "tool_calls": [{"name": "one__wait", "arguments": {}}]},
        {"match": {"role": "user", "contains": "quick"}, "tool_calls": [{"name": "one__echo", "arguments": {"a": 1}}]},
        {"match": {"role": "tool", "contains": "{\"a\":1}"}, "text": "Echoed."},
    ]});
    let project = Project::start(&config(&small(&record), "\"mcp.one\""), &script).await;
    project.input(message("slow")).await;
    until_noted(&record, "\"wait\"").await;
    project.app.cancel(&Caller::operator(), SESSION).await.expect("it runs");
    until_noted(&record, "cancelled").await;
    let (seq, over) = project.event(0, "turn.completed", |_| true).await;
    assert_eq!(over["error"]["code"], "cancelled");
    project.input(message("quick")).await;
    let (_, over) = project.event(seq, "turn.completed", |_| true).await;
    assert_eq!(over["data"], "Echoed.");
    project.app.close().await;
}

#[tokio::test]
async fn a_server_that_dies_during_a_call_is_started_again_for_the_next_attempt_m32_k12() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let record = folder.path().join("record");
    let script = json!({"holdpoint_script": 1, "replies": [
        {"match": {"role": "user"}, "tool_calls": [{"id": "call_d", "name": "one__die", "arguments": {}}]},
        {"match": {"role": "tool"}, "text": "It is broken."},
    ]});
    let project = Project::start(&config(&small(&record), "\"mcp.one\""), &script).await;
    project.input(message("Go.")).await;
    let (_, over) = project.event(0, "turn.completed", |_| true).await;
    assert_eq!(over["data"], "It is broken.");
    let log = project.log().await;
    let errors: Vec<&Value> = log.iter().filter(|event| event["type"] == "tool.call.errored").collect();
    assert_eq!(errors.len(), 2, "K-12: two attempts");
    assert_eq!((&errors[0]["error"]["code"], &errors[0]["retryable"]), (&json!("provider_error"), &json!(true)));
    assert_eq!(std::fs::read_to_string(&record).expect("the record").matches("\"die\"").count(), 2);
    project.app.close().await;
}
