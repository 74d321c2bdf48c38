//! What servers ask and tell during a call (§10D), over both transports and in both eras.

mod line;

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use holdpoint_core::elicit::{Action, Ask, Question};
use holdpoint_core::message::ToolResult;
use holdpoint_effects_mcp::{Connectors, Endpoint};
use holdpoint_runtime::runner::{ConnectorCall, ConnectorFailure, ConnectorRunner, Progress};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;

use line::{Line, accept, plain};

struct Asking {
    connectors: Connectors,
    record: PathBuf,
    _process: Option<Child>, // killed when dropped
    _folder: tempfile::TempDir,
}

impl Asking {
    async fn start(mode: &str, transport: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let record = folder.path().join("record");
        std::fs::write(&record, "").expect("an empty record");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/asking.mjs");
        let env = [("MODE", mode.to_owned()), ("TRANSPORT", transport.to_owned()), ("RECORD", record.display().to_string())];
        let (endpoint, process) = if transport == "http" {
            let mut process =
                Command::new("node").arg(script).envs(env).stdout(Stdio::piped()).kill_on_drop(true).spawn().expect("node starts");
            let mut lines = BufReader::new(process.stdout.take().expect("a pipe")).lines();
            let port = lines.next_line().await.expect("a line").expect("the port");
            (Endpoint::http(format!("http://127.0.0.1:{port}/mcp")), Some(process))
        } else {
            let env = env.map(|(name, value)| (name.to_owned(), value)).to_vec();
            (Endpoint::Stdio { command: vec!["node".to_owned(), script.display().to_string()], env, cwd: None }, None)
        };
        let connectors = Connectors::default();
        connectors.replace([("mcp.one".to_owned(), endpoint)]);
        Self { connectors, record, _process: process, _folder: folder }
    }

    async fn call(&self, tool: &str, line: &Arc<Line>) -> Result<ToolResult, ConnectorFailure> {
        self.connectors.call(call(tool, "sesn_1", json!({})), line.clone(), never()).await
    }

    async fn told(&self, tool: &str, line: &Arc<Line>) -> Value {
        read(&self.call(tool, line).await.expect("a result"))
    }

    fn noted(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(&self.record).expect("the record");
        text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
    }

    fn calls(&self) -> Vec<Value> {
        self.noted().into_iter().filter(|line| line.get("call").is_some()).collect()
    }

    async fn until_noted(&self, wanted: Value) {
        until(|| self.noted().contains(&wanted)).await;
    }
}

/// Waits for something that another task or process does.
async fn until(done: impl Fn() -> bool) {
    let seen = async {
        while !done() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_mins(5), seen).await.expect("it happens");
}

fn call(tool: &str, session: &str, arguments: Value) -> ConnectorCall {
    ConnectorCall {
        session_id: session.into(),
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

fn read(result: &ToolResult) -> Value {
    serde_json::from_str(result.content[0]["text"].as_str().expect("text")).expect("JSON")
}

const EVERY: [(&str, &str); 4] = [("legacy", "stdio"), ("legacy", "http"), ("modern", "stdio"), ("modern", "http")];

#[tokio::test]
async fn a_form_comes_as_the_server_wrote_it_and_all_three_answers_go_back_m33_m35() {
    for (mode, transport) in EVERY {
        let asking = Asking::start(mode, transport).await;
        let who = json!({"who": "Ann", "age": 3});
        for (reply, answer) in [
            (accept(who.clone()), json!({"action": "accept", "content": who})),
            (plain(Action::Decline), json!({"action": "decline"})),
            (plain(Action::Cancel), json!({"action": "cancel"})),
        ] {
            let line = Line::answering([reply]);
            let told = asking.told("form", &line).await;
            let [Question { message, ask: Ask::Form(schema) }] = &line.heard().questions[..] else {
                panic!("one form, {mode} {transport}")
            };
            assert_eq!(message, "Who are you?");
            assert_eq!(
                serde_json::to_string(schema).expect("JSON"),
                r#"{"type":"object","properties":{"who":{"type":"string","title":"Who?"},"age":{"type":"integer","minimum":0},"colour":{"type":"string","enum":["red","blue"]}},"required":["who"]}"#,
                "its fields in their order, {mode} {transport}"
            );
            if mode == "legacy" {
                assert_eq!(told, answer, "{transport}");
            } else {
                assert_eq!(
                    told,
                    json!({"inputResponses": {"only": answer}, "requestState": "the state ü"}),
                    "M-35: unchanged, {transport}"
                );
            }
        }
        let rounds = if mode == "legacy" { 3 } else { 6 };
        assert_eq!(asking.calls().len(), rounds, "{mode} {transport}");
        asking.connectors.close().await;
    }
}

#[tokio::test]
async fn a_page_comes_with_its_address_m33() {
    for (mode, transport) in EVERY {
        let asking = Asking::start(mode, transport).await;
        let line = Line::answering([plain(Action::Accept)]);
        let told = asking.told("page", &line).await;
        let page = Question { message: "Sign in first".into(), ask: Ask::Url("https://sign.example/in?x=1".into()) };
        assert_eq!(line.heard().questions, [page]);
        let answer = if mode == "legacy" { told } else { told["inputResponses"]["only"].clone() };
        assert_eq!(answer, json!({"action": "accept"}), "{mode} {transport}");
        asking.connectors.close().await;
    }
}

#[tokio::test]
async fn several_questions_of_one_call_each_get_their_own_answer_m33() {
    for mode in ["legacy", "modern"] {
        let asking = Asking::start(mode, "stdio").await;
        let line = Line::answering([accept(json!({"who": "1"})), accept(json!({"who": "2"}))]);
        let told = asking.told("pair", &line).await;
        assert_eq!(line.heard().questions.len(), 2);
        let one = json!({"action": "accept", "content": {"who": "1"}});
        let two = json!({"action": "accept", "content": {"who": "2"}});
        if mode == "modern" {
            assert_eq!(told, json!({"inputResponses": {"first": one, "second": two}, "requestState": "pair state"}));
        } else {
            let told = told.as_array().expect("two answers").clone();
            assert!(told.contains(&one) && told.contains(&two), "{told:?}");
        }
        asking.connectors.close().await;
    }
}

#[tokio::test]
async fn a_server_that_only_wants_to_be_asked_again_is_m35() {
    let asking = Asking::start("modern", "stdio").await;
    let line = Line::silent();
    assert_eq!(asking.told("again", &line).await, json!({"requestState": "round 1"}));
    assert!(line.heard().questions.is_empty());
    asking.connectors.close().await;
}

#[tokio::test]
async fn an_older_server_that_refuses_until_a_page_was_visited_is_called_again_m38() {
    let asking = Asking::start("legacy", "stdio").await;
    let declined = asking.call("refused", &Line::answering([plain(Action::Decline)])).await.expect_err("its refusal stands");
    assert_eq!(declined.failure.error.message, "mcp.one: sign in first");
    asking.connectors.close().await;
    let asking = Asking::start("legacy", "stdio").await;
    assert_eq!(asking.told("refused", &Line::answering([plain(Action::Accept)])).await, "let in");
    asking.connectors.close().await;
}

#[tokio::test]
async fn words_the_library_does_not_know_are_still_a_form_and_other_wishes_are_refused_m33() {
    let asking = Asking::start("legacy", "stdio").await;
    let line = Line::answering([accept(json!({"x": {}}))]);
    assert_eq!(asking.told("odd", &line).await, json!({"action": "accept", "content": {"x": {}}}));
    let capabilities = asking.noted()[0]["capabilities"].clone();
    assert_eq!(capabilities, json!({"elicitation": {"form": {}, "url": {}}}), "nothing else is promised");
    asking.connectors.close().await;
    let asking = Asking::start("modern", "stdio").await;
    let failed = asking.call("odd", &Line::silent()).await.expect_err("no roots");
    assert_eq!(
        (failed.failure.error.message.as_str(), failed.failure.retryable),
        ("mcp.one asked for something else than a person's input", false)
    );
    asking.connectors.close().await;
}

#[tokio::test]
async fn what_a_server_asks_while_it_works_never_reaches_another_session_m38() {
    let asking = Asking::start("legacy", "stdio").await;
    let send = |tool: &'static str, session: &'static str, line: &Arc<Line>| {
        let (connectors, line) = (asking.connectors.clone(), line.clone());
        tokio::spawn(async move { connectors.call(call(tool, session, json!({"message": session})), line, never()).await })
    };
    // Nobody knows yet that it asks: while calls of two sessions run, its question is refused.
    let idle = Line::silent();
    let waits = send("wait", "sesn_2", &idle);
    until(|| asking.calls().len() == 1).await;
    let (first, other) = (Line::silent(), Line::silent());
    let refused = asking.connectors.call(call("form", "sesn_1", json!({})), first.clone(), never()).await.expect("a result");
    let why = "nobody can tell which call this question belongs to: ask during one call at a time";
    assert_eq!(read(&refused), json!({"refused": why}));
    assert!(first.heard().questions.is_empty() && idle.heard().questions.is_empty());
    waits.abort();
    // From now on one session at a time, and a question that waits for its person is in nobody's way.
    let one = send("form", "sesn_1", &first);
    until(|| !first.heard().questions.is_empty()).await;
    let two = send("form", "sesn_2", &other);
    until(|| !other.heard().questions.is_empty()).await;
    let messages = |line: &Line| line.heard().questions.into_iter().map(|question| question.message).collect::<Vec<_>>();
    assert_eq!((messages(&first), messages(&other)), (vec!["sesn_1".to_owned()], vec!["sesn_2".to_owned()]));
    other.answer(accept(json!({"who": "two"})));
    first.answer(accept(json!({"who": "one"})));
    for (task, who) in [(one, "one"), (two, "two")] {
        assert_eq!(read(&task.await.expect("no panic").expect("a result"))["content"]["who"], who);
    }
    asking.connectors.close().await;
}

#[tokio::test]
async fn progress_reaches_the_call_it_is_about_e13() {
    for (mode, transport) in EVERY {
        let asking = Asking::start(mode, transport).await;
        let line = Line::silent();
        let heard_all = async {
            until(|| line.heard().progress.len() == 3).await;
            std::fs::write(format!("{}.heard", asking.record.display()), "").expect("a file");
        };
        assert_eq!(tokio::join!(asking.told("count", &line), heard_all).0, "counted");
        let said = |progress: f64, message: Option<&str>| Progress { progress, total: Some(3.0), message: message.map(str::to_owned) };
        let mut heard = line.heard().progress;
        heard.sort_by(|a, b| a.progress.total_cmp(&b.progress)); // the library hands each on in a task of its own
        assert_eq!(heard, [said(1.0, Some("one")), said(2.0, Some("two")), said(3.0, None)], "{mode} {transport}");
        asking.connectors.close().await;
    }
}

#[tokio::test]
async fn a_cancelled_call_is_told_to_the_server_c4() {
    for (mode, transport) in EVERY {
        let asking = Asking::start(mode, transport).await;
        let cancel = never();
        let running = tokio::spawn({
            let (connectors, cancel) = (asking.connectors.clone(), cancel.clone());
            async move { connectors.call(call("wait", "sesn_1", json!({})), Line::silent(), cancel).await }
        });
        until(|| !asking.calls().is_empty()).await;
        cancel.cancel();
        assert!(running.await.expect("no panic").is_err());
        // Over HTTP a newer server is told by the end of the stream.
        let sign = if mode == "modern" && transport == "http" { json!({"closed": "wait"}) } else { json!({"cancelled": true}) };
        asking.until_noted(sign).await;
        asking.connectors.close().await;
    }
}

#[tokio::test]
async fn the_everything_server_asks_and_counts_m33_m34() {
    let bin = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/node_modules/.bin/mcp-server-everything");
    assert!(bin.exists(), "run `npm ci` in tests/ first: {} is missing", bin.display());
    let connectors = Connectors::default();
    let command = vec![bin.display().to_string(), "stdio".to_owned()];
    connectors.replace([("mcp.one".to_owned(), Endpoint::Stdio { command, env: Vec::new(), cwd: None })]);
    let listing = connectors.list("mcp.one".into(), never()).await.expect("a listing");
    assert!(listing.tools.iter().any(|tool| tool["name"] == "trigger-elicitation-request"), "it is told that it may ask");
    let line = Line::answering([accept(json!({"name": "Ann", "check": true}))]);
    let result = connectors.call(call("trigger-elicitation-request", "sesn_1", json!({})), line.clone(), never()).await.expect("a result");
    let [Question { ask: Ask::Form(schema), .. }] = &line.heard().questions[..] else { panic!("one form: {:?}", line.heard().questions) };
    assert_eq!((&schema["required"], &schema["properties"]["name"]["type"]), (&json!(["name"]), &json!("string")));
    assert!(json!(result.content).to_string().contains("Ann"), "{result:?}");
    let line = Line::answering([plain(Action::Decline)]);
    let result = connectors.call(call("trigger-elicitation-request", "sesn_1", json!({})), line, never()).await.expect("a result");
    assert!(json!(result.content).to_string().contains("declined"), "{result:?}");
    let line = Line::silent();
    let steps = json!({"duration": 0.2, "steps": 2});
    connectors.call(call("trigger-long-running-operation", "sesn_1", steps), line.clone(), never()).await.expect("a result");
    until(|| line.heard().progress.len() == 2).await;
    assert!(line.heard().progress.iter().all(|told| told.total == Some(2.0)), "{:?}", line.heard().progress);
    connectors.close().await;
}
