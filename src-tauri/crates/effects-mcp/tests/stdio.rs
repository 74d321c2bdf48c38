//! Local servers (M-31, M-32): a small scripted one of either era, and the reference servers.

mod line;

use std::path::{Path, PathBuf};
use std::time::Duration;

use holdpoint_effects_mcp::{Connectors, Endpoint};
use holdpoint_runtime::runner::{ConnectorCall, ConnectorRunner};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use line::Line;

struct Server {
    connectors: Connectors,
    record: PathBuf,
    _folder: tempfile::TempDir,
}

impl Server {
    fn small(mode: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let record = folder.path().join("record");
        std::fs::write(&record, "").expect("an empty record");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/server.mjs");
        let env = vec![
            ("MODE".to_owned(), mode.to_owned()),
            ("RECORD".to_owned(), record.display().to_string()),
            ("TAKEN".to_owned(), "$CARGO_MANIFEST_DIR".to_owned()),
        ];
        let command = vec!["node".to_owned(), script.display().to_string()];
        Self { connectors: connectors(command, env), record, _folder: folder }
    }

    fn noted(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(&self.record).expect("the record");
        text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
    }

    /// Waits for the server to have noted `wanted`.
    async fn until_noted(&self, wanted: Value) {
        let seen = async {
            while !self.noted().contains(&wanted) {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_mins(5), seen).await.expect("the server notes it in time");
    }
}

fn connectors(command: Vec<String>, env: Vec<(String, String)>) -> Connectors {
    let connectors = Connectors::default();
    connectors.replace([("mcp.one".to_owned(), Endpoint::Stdio { command, env, cwd: None })]);
    connectors
}

fn call(tool: &str, arguments: Value) -> ConnectorCall {
    ConnectorCall {
        session_id: "sesn_1".into(),
        call_id: "call_1".into(),
        attempt: 1,
        connection: "mcp.one".to_owned(),
        tool: tool.to_owned(),
        arguments: arguments.as_object().expect("an object").clone(),
    }
}

fn never() -> CancellationToken {
    CancellationToken::new()
}

fn reference(name: &str, arguments: &[&str]) -> Connectors {
    let bin = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/node_modules/.bin").join(name);
    assert!(bin.exists(), "run `npm ci` in tests/ first: {} is missing", bin.display());
    let command = [bin.display().to_string()].into_iter().chain(arguments.iter().map(|a| (*a).to_owned())).collect();
    connectors(command, Vec::new())
}

#[tokio::test]
async fn both_eras_list_all_pages_and_answer_calls_m6_m8() {
    for mode in ["legacy", "modern"] {
        let server = Server::small(mode);
        let listing = server.connectors.list("mcp.one".into(), never()).await.expect("a listing");
        let names: Vec<&str> = listing.tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
        assert_eq!(names, ["echo", "env", "die", "wait", "refuse"], "{mode}");
        assert_eq!(listing.tools[0]["annotations"], json!({"readOnlyHint": true}), "{mode}");
        assert_eq!(listing.instructions.as_deref(), Some("Be brief."), "{mode}");
        let result = server.connectors.call(call("echo", json!({"a": [1, "ü"]})), Line::silent(), never()).await.expect("a result");
        assert_eq!(result.content, [json!({"type": "text", "text": "{\"a\":[1,\"ü\"]}"})], "{mode}");
        server.connectors.close().await;
        server.until_noted(json!({"closed": true})).await;
    }
}

#[tokio::test]
async fn a_server_gets_path_home_and_env_only_m32() {
    let server = Server::small("legacy");
    let result = server.connectors.call(call("env", json!({})), Line::silent(), never()).await.expect("a result");
    let seen: Value = serde_json::from_str(result.content[0]["text"].as_str().expect("text")).expect("JSON");
    let mut names: Vec<&String> = seen.as_object().expect("variables").keys().collect();
    names.sort();
    assert_eq!(names, ["HOME", "MODE", "PATH", "RECORD", "TAKEN"]);
    assert_eq!(seen["TAKEN"], env!("CARGO_MANIFEST_DIR"), "F-6: $NAME takes the engine's variable");
}

#[tokio::test]
async fn a_server_that_ends_during_a_call_is_retryable_and_starts_anew_m32() {
    let server = Server::small("legacy");
    let failed = server.connectors.call(call("die", json!({})), Line::silent(), never()).await.expect_err("it dies");
    assert_eq!((failed.failure.error.code.as_str(), failed.failure.retryable), ("provider_error", true));
    assert_eq!(failed.failure.error.message, "the server of mcp.one ended while it was needed");
    let again = server.connectors.call(call("echo", json!({})), Line::silent(), never()).await.expect("a new process answers");
    assert_eq!(again.content[0]["text"], "{}");
}

#[tokio::test]
async fn a_server_that_takes_nothing_any_more_is_left_for_a_new_one_m32() {
    let server = Server::small("legacy");
    server.connectors.call(call("deaf", json!({})), Line::silent(), never()).await.expect("its last answer");
    let failed = server.connectors.call(call("echo", json!({})), Line::silent(), never()).await.expect_err("nobody takes it");
    assert_eq!((failed.failure.error.code.as_str(), failed.failure.retryable), ("provider_error", true));
    let again = server.connectors.call(call("echo", json!({})), Line::silent(), never()).await.expect("a new process answers");
    assert_eq!(again.content[0]["text"], "{}");
}

#[tokio::test]
async fn a_cancelled_call_is_told_to_the_server_c4() {
    let server = Server::small("legacy");
    let cancel = never();
    let running = tokio::spawn({
        let (connectors, cancel) = (server.connectors.clone(), cancel.clone());
        async move { connectors.call(call("wait", json!({})), Line::silent(), cancel).await }
    });
    server.until_noted(json!({"call": "wait", "arguments": {}})).await;
    cancel.cancel();
    assert!(running.await.expect("no panic").is_err());
    server.until_noted(json!({"cancelled": true})).await;
    let other = server.connectors.call(call("echo", json!({})), Line::silent(), never()).await;
    assert!(other.is_ok(), "the connection goes on");
}

#[tokio::test]
async fn a_refusal_of_the_server_is_final_k14() {
    let server = Server::small("legacy");
    let failed = server.connectors.call(call("refuse", json!({})), Line::silent(), never()).await.expect_err("refused");
    assert_eq!((failed.failure.error.message.as_str(), failed.failure.retryable), ("mcp.one: no such thing", false));
}

#[tokio::test]
async fn a_command_that_is_not_there_is_named_m32() {
    let missing = connectors(vec!["no-such-program-here".into()], Vec::new());
    let failed = missing.list("mcp.one".into(), never()).await.expect_err("nothing to start");
    assert!(failed.failure.error.message.starts_with("mcp.one: no-such-program-here cannot be started: "), "{failed:?}");
    assert!(!failed.failure.retryable);
    let unknown = missing.list("mcp.two".into(), never()).await.expect_err("not configured");
    assert_eq!(unknown.failure.error.code, "unroutable");
}

#[tokio::test]
async fn the_filesystem_server_writes_and_marks_what_is_destructive_m4() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().canonicalize().expect("a real path");
    let server = reference("mcp-server-filesystem", &[&root.display().to_string()]);
    let listing = server.list("mcp.one".into(), never()).await.expect("a listing");
    let write = listing.tools.iter().find(|tool| tool["name"] == "write_file").expect("write_file");
    assert_eq!(write["annotations"]["destructiveHint"], true);
    let file = root.join("note.txt");
    let result =
        server.call(call("write_file", json!({"path": file, "content": "exactly this"})), Line::silent(), never()).await.expect("written");
    assert_ne!(result.is_error, Some(true));
    assert_eq!(std::fs::read_to_string(file).expect("the file"), "exactly this");
    server.close().await;
}

#[tokio::test]
async fn the_everything_server_adds_up_m8() {
    let server = reference("mcp-server-everything", &["stdio"]);
    let result = server.call(call("get-sum", json!({"a": 2, "b": 40})), Line::silent(), never()).await.expect("a sum");
    assert_eq!(result.content, [json!({"type": "text", "text": "The sum of 2 and 40 is 42."})]);
    server.close().await;
}
