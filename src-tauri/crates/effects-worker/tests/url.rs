//! Workers behind HTTP: what is sent, how failures are named, and streamed answers.

use std::sync::{Arc, Mutex};

use holdpoint_core::event::WorkerRef;
use holdpoint_effects_model::Secret;
use holdpoint_effects_worker::{WorkerBlock, Workers};
use holdpoint_runtime::runner::{DecisionCall, Delta, DeltaSink, Failure, WorkerRunner};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

#[path = "../../effects-model/tests/fake/mod.rs"]
mod fake;

use fake::{Answer, Server};

fn workers(url: &str, secret: Option<&str>) -> Workers {
    let signing_secret = secret.map(|secret| Secret::named("HOOK_SECRET", secret));
    Workers::new([("w".to_owned(), WorkerBlock::Url { url: format!("{url}/decide"), signing_secret })])
}

fn call(request: Value) -> DecisionCall {
    DecisionCall { worker: WorkerRef { id: "w".to_owned(), url: None, file: None }, request: Arc::new(request), deltas: None, format: None }
}

async fn decide(answer: Answer) -> Result<Value, Failure> {
    let server = Server::start([answer]).await;
    workers(&server.url, None).decide(call(json!({})), CancellationToken::new()).await
}

/// Code, retryable, and the message without the address.
async fn failure(answer: Answer) -> (String, bool, String) {
    let failure = decide(answer).await.expect_err("the worker fails");
    let said = failure.error.message.split_once("/decide ").map_or(failure.error.message.clone(), |(_, said)| said.to_owned());
    (failure.error.code, failure.retryable, said)
}

fn named(code: &str, retryable: bool, said: &str) -> (String, bool, String) {
    (code.to_owned(), retryable, said.to_owned())
}

#[tokio::test]
async fn the_request_is_posted_as_json_and_signed_over_its_very_bytes_p25() {
    let mut server = Server::start([fake::json(200, &json!({"state": 1}))]).await;
    let request = json!({"session_id": "sesn_1", "state": {"b": 1, "a": "ü"}});
    let answer = workers(&server.url, Some("s3cret")).decide(call(request.clone()), CancellationToken::new()).await;
    assert_eq!(answer, Ok(json!({"state": 1})));
    let sent = server.request().await;
    assert_eq!(sent.target, "POST /decide HTTP/1.1");
    assert_eq!(sent.json(), request);
    assert_eq!(sent.header("content-type"), Some("application/json"));
    assert_eq!(sent.header("accept"), Some("text/event-stream, application/json"));
    // HMAC-SHA256 with the key `s3cret`, computed elsewhere.
    assert_eq!(String::from_utf8_lossy(&sent.body), r#"{"session_id":"sesn_1","state":{"b":1,"a":"ü"}}"#);
    assert_eq!(sent.header("x-holdpoint-signature"), Some(SIGNED));
    let trace: Vec<&str> = sent.header("traceparent").expect("a trace").split('-').collect();
    assert_eq!((trace[0], trace[1].len(), trace[2].len(), trace[3]), ("00", 32, 16, "01"));
}

const SIGNED: &str = "sha256=8bd33865d0f8e44f91385c464a83c00fc16ccb918a5898e6470b75ab7d623f81";

#[tokio::test]
async fn nothing_is_signed_without_a_secret_p25() {
    let mut server = Server::start([fake::json(200, &json!({}))]).await;
    assert_eq!(workers(&server.url, None).decide(call(json!({})), CancellationToken::new()).await, Ok(json!({})));
    assert_eq!(server.request().await.header("x-holdpoint-signature"), None);
}

#[tokio::test]
async fn statuses_are_named_as_the_table_says_p26() {
    for (status, retryable) in [
        (408, true),
        (429, true),
        (500, true),
        (503, true),
        (599, true),
        (301, false),
        (400, false),
        (401, false),
        (404, false),
        (422, false),
    ] {
        let said = failure(fake::answer(status, &[("location", "http://127.0.0.1:1/")], "{}")).await;
        assert_eq!(said, named("worker_unreachable", retryable, &format!("answered {status}")));
    }
    let busy = decide(fake::answer(503, &[("retry-after", "7")], "")).await.expect_err("busy");
    assert_eq!(busy.retry_after_ms, Some(7000));
}

#[tokio::test]
async fn a_malformed_body_is_an_invalid_response_that_is_retried_p26() {
    let said = |what: &str| named("invalid_response", true, what);
    assert_eq!(failure(fake::answer(200, &[], "")).await, said("answered with an empty body"));
    assert_eq!(failure(fake::json(200, &json!([]))).await, said("answered with JSON that is no object"));
    let html = failure(fake::answer(200, &[("content-type", "text/html")], "<html>")).await;
    assert_eq!((html.0.as_str(), html.1), ("invalid_response", true));
    let own = decide(fake::answer(201, &[("content-type", "text/plain")], "{\"state\":1}")).await;
    assert_eq!(own, Ok(json!({"state": 1})), "the body counts, not its label");
}

#[tokio::test]
async fn a_worker_that_is_not_there_or_hangs_up_is_unreachable_p26() {
    assert_eq!(failure(fake::drop_connection()).await, named("worker_unreachable", true, "broke off the connection"));
    let (_taken, gone) = fake::nobody();
    let failed = workers(&gone, None).decide(call(json!({})), CancellationToken::new()).await;
    let failed = failed.expect_err("nobody listens");
    assert_eq!((failed.error.code.as_str(), failed.retryable), ("worker_unreachable", true));
    assert!(failed.error.message.ends_with("cannot be reached"), "{}", failed.error.message);
    let unusable = workers("no address", None).decide(call(json!({})), CancellationToken::new()).await.expect_err("no address");
    assert_eq!((unusable.error.code.as_str(), unusable.retryable), ("worker_unreachable", false));
}

/// Runs a streamed `llm.execute` and gives the answer with the deltas heard.
async fn stream(answer: Answer, format: Option<&str>) -> (Result<Value, Failure>, Vec<Delta>) {
    let server = Server::start([answer]).await;
    let heard = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&heard);
    let deltas = Some(DeltaSink::new(move |delta| into.lock().expect("not poisoned").push(delta)));
    let call = DecisionCall { deltas, format: format.map(str::to_owned), ..call(json!({})) };
    let outcome = workers(&server.url, None).decide(call, CancellationToken::new()).await;
    let heard = heard.lock().expect("not poisoned").clone();
    (outcome, heard)
}

fn text(text: &str) -> Delta {
    Delta { text: Some(text.to_owned()), ..Delta::default() }
}

#[tokio::test]
async fn a_streamed_answer_passes_deltas_on_and_ends_with_its_result_p17() {
    let frames = [
        ": hello\n\nevent: llm.token.delta\ndata: {\"type\":\"llm.token.delta\",\"session_id\":\"s\",\"call_id\":\"c\",\"seq\":1,\"te",
        "xt\":\"Hel\"}\n\n",
        "data: {\"type\":\"llm.token.delta\",\"text\":\"lo.\"}\n\nevent: other\ndata: {}\n\n",
        "event: decision.result\ndata: {\"actions\":[{\"type\":\"llm.result\",\"response\":{\"model\":\"own\"}}]}\n\n",
        "event: decision.result\ndata: {\"actions\":[]}\n\n",
    ];
    let (answer, heard) = stream(fake::events(&frames), None).await;
    assert_eq!(answer, Ok(json!({"actions": [{"type": "llm.result", "response": {"model": "own"}}]})), "the first result counts");
    assert_eq!(heard, vec![text("Hel"), text("lo.")]);
}

#[tokio::test]
async fn a_worker_may_pass_its_providers_own_events_on_p17() {
    let openai = [
        "event: llm.token.delta\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Hi\"}}]}\n\n",
        "event: llm.token.delta\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c1\",\"function\":{\"name\":\"f\",\"arguments\":\"{\"}}]}}]}\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"}\"}}]}}]}\n\n",
        "data: [DONE]\n\nevent: llm.token.delta\ndata: {\"type\":\"llm.token.delta\",\"text\":\" own\"}\n\n",
        "event: decision.result\ndata: {}\n\n",
    ];
    let (answer, heard) = stream(fake::events(&openai), Some("openai")).await;
    assert_eq!(answer, Ok(json!({})));
    let heard: Vec<Value> = heard.iter().map(|delta| serde_json::to_value(delta).expect("JSON")).collect();
    assert_eq!(
        heard,
        vec![
            json!({"text": "Hi"}),
            json!({"tool_calls": [{"id": "c1", "name": "f", "arguments": "{"}]}),
            json!({"tool_calls": [{"id": "c1", "arguments": "}"}]}),
            json!({"text": " own"}),
        ]
    );
    let anthropic = [
        "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hi\"}}\n\n",
        "event: ping\ndata: {\"type\":\"ping\"}\n\nevent: decision.result\ndata: {}\n\n",
    ];
    let (answer, heard) = stream(fake::events(&anthropic), Some("anthropic")).await;
    assert_eq!((answer, heard), (Ok(json!({})), vec![text("Hi")]));
}

#[tokio::test]
async fn a_streamed_error_is_the_workers_and_retried_unless_it_says_no_p17() {
    let of = |data: &str| fake::events(&[format!("event: decision.error\ndata: {data}\n\n")]);
    assert_eq!(failure(of(r#"{"message":"tripped"}"#)).await, named("handler_error", true, "tripped"));
    assert_eq!(failure(of(r#"{"message":"no","retryable":false}"#)).await, named("handler_error", false, "no"));
}

#[tokio::test]
async fn a_stream_without_a_decision_is_an_invalid_response_that_is_retried_p17() {
    let delta = "event: llm.token.delta\ndata: {\"text\":\"Hel\"}\n\n";
    let (answer, heard) = stream(fake::events(&[delta]), None).await;
    let failed = answer.expect_err("no decision");
    assert_eq!((failed.error.code.as_str(), failed.retryable), ("invalid_response", true));
    assert!(failed.error.message.ends_with("answered with a stream that ended without a decision"), "{}", failed.error.message);
    assert_eq!(heard, vec![text("Hel")]);
    let broken = failure(fake::cut(&[delta])).await;
    assert_eq!(broken, named("worker_unreachable", true, "broke off the connection"));
    let garbage = failure(fake::events(&["event: decision.result\ndata: {nope\n\n"])).await;
    assert_eq!(garbage, named("invalid_response", true, "answered with an event that is no JSON"));
    let list = failure(fake::events(&["event: decision.result\ndata: []\n\n"])).await;
    assert_eq!(list, named("invalid_response", true, "answered with JSON that is no object"));
}

#[tokio::test]
async fn cancelling_a_decision_closes_its_connection() {
    let frames: [&str; 1] = ["event: llm.token.delta\ndata: {\"text\":\"Hel\"}\n\n"];
    for answer in [fake::silent(), fake::hanging(&frames)] {
        let mut server = Server::start([answer]).await;
        let workers = workers(&server.url, None);
        let cancel = CancellationToken::new();
        let stop = cancel.clone();
        let (outcome, ()) = tokio::join!(workers.decide(call(json!({})), cancel), async {
            server.request().await;
            stop.cancel();
            server.closed().await;
        });
        assert_eq!(outcome.map_err(|failure| failure.error.code), Err("cancelled".to_owned()));
    }
}
