//! Both wires against an independent mock of the providers, an npm package that is installed with the tests' own.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use holdpoint_core::message::{Content, LlmRequest, LlmResponse, LlmTool, Message, Role, ToolCall};
use holdpoint_effects_model::{ModelBlock, Models, Secret};
use holdpoint_runtime::runner::{Delta, DeltaSink, Failure, ModelCall, ModelRunner};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;

const FIXTURES: &str = r#"{"fixtures": [
    {"match": {"hasToolResult": true}, "response": {"content": "It rains in Oslo."}},
    {"match": {"userMessage": "weather"},
     "response": {"content": "Let me look.", "toolCalls": [{"id": "call_w", "name": "get_weather", "arguments": "{\"city\":\"Oslo\"}"}]}},
    {"match": {"userMessage": "cut off"}, "response": {"content": "A long reply that nobody hears to its end."}, "truncateAfterChunks": 2, "chunkSize": 5},
    {"match": {"userMessage": "too fast"}, "response": {"error": {"message": "slow down", "type": "rate_limit_error"}, "status": 429}},
    {"match": {"userMessage": "broken"}, "response": {"error": {"message": "out of order", "type": "api_error"}, "status": 503}},
    {"match": {"userMessage": "wrong"}, "response": {"error": {"message": "no such thing", "type": "invalid_request_error"}, "status": 400}},
    {"match": {"userMessage": "hello"}, "response": {"content": "Hi there, how are you today?"}, "chunkSize": 7}
]}"#;

struct Mock {
    _process: Child, // killed when dropped
    _fixtures: tempfile::NamedTempFile,
    url: String,
}

impl Mock {
    async fn start() -> Self {
        let package = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../tests/node_modules/@copilotkit/aimock");
        let program = package.join("dist/cli.js");
        assert!(program.exists(), "@copilotkit/aimock is not installed; `cargo xtask test` installs it and runs this test");
        let fixtures = tempfile::Builder::new().suffix(".json").tempfile().expect("a temp file");
        std::fs::write(fixtures.path(), FIXTURES).expect("fixtures are written");
        let mut process = Command::new("node")
            .arg(program)
            .args(["--port", "0", "--host", "127.0.0.1", "--fixtures"])
            .arg(fixtures.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .kill_on_drop(true)
            .spawn()
            .expect("node starts");
        let mut lines = BufReader::new(process.stdout.take().expect("a pipe")).lines();
        let url = loop {
            let line = lines.next_line().await.expect("readable output").expect("the mock says where it listens");
            if let Some((_, url)) = line.split_once("listening on ") {
                break url.trim().to_owned();
            }
        };
        Self { _process: process, _fixtures: fixtures, url }
    }

    fn models(&self) -> Models {
        let key = || Some(Secret::named("MOCK_KEY", "mock"));
        Models::new([
            ("openai".to_owned(), ModelBlock::OpenAi { base_url: format!("{}/v1", self.url), api_key: key() }),
            ("anthropic".to_owned(), ModelBlock::Anthropic { base_url: self.url.clone(), api_key: key(), cache_ttl: None }),
        ])
    }
}

async fn run(models: &Models, llm: &str, messages: Vec<Message>, stream: bool) -> (Result<LlmResponse, Failure>, Vec<Delta>) {
    let weather = LlmTool {
        name: "get_weather".to_owned(),
        description: Some("The weather in a city.".to_owned()),
        input: Some(json!({"type": "object", "properties": {"city": {"type": "string"}}})),
        output: None,
    };
    let request = LlmRequest {
        model: "mock-model".to_owned(),
        messages,
        tools: Some(vec![weather]),
        temperature: None,
        max_completion_tokens: None,
        reasoning: None,
    };
    let call = ModelCall {
        session_id: "sesn_1".into(),
        call_id: "msg_1".into(),
        attempt: 1,
        llm: llm.to_owned(),
        request,
        stream,
        script_used: BTreeMap::new(),
    };
    let heard = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&heard);
    let sink = DeltaSink::new(move |delta| into.lock().expect("not poisoned").push(delta));
    let outcome = models.run(call, sink, CancellationToken::new()).await;
    let heard = heard.lock().expect("not poisoned").clone();
    (outcome.map(|reply| reply.response).map_err(|failure| failure.failure), heard)
}

fn said(text: &str) -> Vec<Message> {
    vec![Message::new(Role::System, "Be brief."), Message::new(Role::User, text)]
}

fn text_of(heard: &[Delta]) -> String {
    heard.iter().filter_map(|delta| delta.text.as_deref()).collect()
}

#[tokio::test]
async fn both_wires_agree_with_an_independent_mock_p31() {
    let mock = Mock::start().await;
    let models = mock.models();
    for llm in ["openai", "anthropic"] {
        for stream in [true, false] {
            a_plain_reply(&models, llm, stream).await;
            a_tool_loop(&models, llm, stream).await;
            failures(&models, llm, stream).await;
        }
        let (outcome, heard) = run(&models, llm, said("cut off"), true).await;
        let failure = outcome.expect_err("the stream is cut");
        assert_eq!((failure.error.code.as_str(), failure.retryable), ("provider_error", true), "Q-24, {llm}: {heard:?}");
    }
}

async fn a_plain_reply(models: &Models, llm: &str, stream: bool) {
    let (outcome, heard) = run(models, llm, said("hello"), stream).await;
    let reply = outcome.expect("a reply");
    let text = "Hi there, how are you today?";
    assert_eq!(reply.content, Some(Content::Text(text.to_owned())), "{llm}");
    assert_eq!((reply.model.as_str(), reply.finish_reason.as_deref()), ("mock-model", Some("stop")), "{llm}");
    assert_eq!((reply.tool_calls, reply.cost), (None, None), "{llm}");
    assert!(reply.usage.is_some(), "{llm}");
    assert_eq!(text_of(&heard), if stream { text } else { "" }, "{llm}");
    assert!(!stream || heard.len() > 3, "{llm} streams in pieces: {heard:?}");
}

async fn a_tool_loop(models: &Models, llm: &str, stream: bool) {
    let (outcome, heard) = run(models, llm, said("weather"), stream).await;
    let reply = outcome.expect("a reply");
    let call = ToolCall::new("call_w", "get_weather", r#"{"city":"Oslo"}"#);
    assert_eq!(reply.content, Some(Content::Text("Let me look.".to_owned())), "{llm}");
    assert_eq!((reply.tool_calls.as_deref(), reply.finish_reason.as_deref()), (Some(&[call.clone()][..]), Some("tool_calls")), "{llm}");
    if stream {
        let calls: Vec<_> = heard.iter().flat_map(|delta| delta.tool_calls.clone().unwrap_or_default()).collect();
        assert!(calls.iter().all(|call| call.id == "call_w"), "{llm}: {calls:?}");
        assert_eq!(calls[0].name.as_deref(), Some("get_weather"), "{llm}");
        assert_eq!(calls.iter().filter_map(|call| call.arguments.as_deref()).collect::<String>(), r#"{"city":"Oslo"}"#, "{llm}");
    }
    let mut messages = said("weather");
    messages.push(Message { tool_calls: reply.tool_calls, content: reply.content, ..Message::new(Role::Assistant, "") });
    messages.push(Message::tool(&"call_w".into(), Content::Text("rain".to_owned())));
    let (outcome, _) = run(models, llm, messages, stream).await;
    assert_eq!(outcome.expect("a reply").content, Some(Content::Text("It rains in Oslo.".to_owned())), "{llm}");
}

async fn failures(models: &Models, llm: &str, stream: bool) {
    for (text, code, retryable, words) in [
        ("too fast", "rate_limited", true, "answered 429: slow down"),
        ("broken", "provider_error", true, "answered 503: out of order"),
        ("wrong", "provider_error", false, "answered 400: no such thing"),
    ] {
        let failure = run(models, llm, said(text), stream).await.0.expect_err("the mock refuses");
        assert_eq!((failure.error.code.as_str(), failure.retryable), (code, retryable), "Q-24, {llm}");
        assert_eq!(failure.error.message, format!("The model server of [llm.{llm}] {words}"));
        assert_eq!(failure.retry_after_ms, (text == "too fast").then_some(1000), "{llm}");
        assert!(matches!(failure.error.detail, Some(Value::Object(_))));
    }
}
