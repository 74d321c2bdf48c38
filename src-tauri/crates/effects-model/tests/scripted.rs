//! The scripted model (P-32…P-36): a clock that stands still until a test moves it shows every wait exactly.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use holdpoint_core::message::{Content, LlmRequest, Message, Role, ToolCall};
use holdpoint_effects_model::{ModelBlock, Models, Script};
use holdpoint_runtime::runner::{Delta, DeltaSink, ModelCall, ModelFailure, ModelReply, ModelRunner};
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

fn script(replies: Value) -> Script {
    Script::parse(&json!({"holdpoint_script": 1, "replies": replies}).to_string(), "demo.json").expect("a good script")
}

fn refused(text: &str) -> String {
    Script::parse(text, "demo.json").expect_err("a bad script").to_string()
}

fn call(messages: Vec<Message>, used: &[(u32, u32)]) -> ModelCall {
    let request =
        LlmRequest { model: "m1".to_owned(), messages, tools: None, temperature: None, max_completion_tokens: None, reasoning: None };
    ModelCall {
        session_id: "sesn_1".into(),
        call_id: "msg_1".into(),
        attempt: 1,
        llm: "main".to_owned(),
        request,
        stream: true,
        script_used: used.iter().copied().collect(),
    }
}

fn user(text: &str) -> Vec<Message> {
    vec![Message::new(Role::User, text)]
}

/// Deltas with the milliseconds at which they came.
type Heard = Arc<Mutex<Vec<(u64, Delta)>>>;

async fn play_with(
    script: Script,
    call: ModelCall,
    cancel: CancellationToken,
) -> (Result<ModelReply, ModelFailure>, Vec<(u64, Delta)>, u64) {
    let start = Instant::now();
    let heard: Heard = Arc::default();
    let into = Arc::clone(&heard);
    let sink = DeltaSink::new(move |delta| into.lock().expect("not poisoned").push((start.elapsed().as_millis() as u64, delta)));
    let models = Models::new([("main".to_owned(), ModelBlock::Scripted { script })]);
    let outcome = models.run(call, sink, cancel).await;
    let heard = heard.lock().expect("not poisoned").clone();
    (outcome, heard, start.elapsed().as_millis() as u64)
}

async fn play(replies: Value, call: ModelCall) -> Result<ModelReply, ModelFailure> {
    play_with(script(replies), call, CancellationToken::new()).await.0
}

/// The text of the reply chosen, with its index.
async fn chosen(replies: &Value, messages: Vec<Message>, used: &[(u32, u32)]) -> (Option<u32>, String) {
    match play(replies.clone(), call(messages, used)).await {
        Ok(reply) => (reply.script_reply, reply.response.content.map(|content| content.text()).unwrap_or_default()),
        Err(failure) => (failure.script_reply, failure.failure.error.message),
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_reply_that_matches_and_is_left_is_taken_p34_p36() {
    let replies = json!([
        {"match": {"role": "user", "contains": "refund"}, "text": "a"},
        {"match": {"equals": "exactly"}, "text": "b", "times": 2},
        {"match": {"regex": "^[0-9]+$"}, "text": "c", "times": 0},
        {"text": "d"},
    ]);
    assert_eq!(chosen(&replies, user("a refund please"), &[]).await, (Some(0), "a".to_owned()));
    assert_eq!(chosen(&replies, user("a refund please"), &[(0, 1)]).await, (Some(3), "d".to_owned()), "used up");
    assert_eq!(chosen(&replies, user("exactly"), &[(1, 1)]).await, (Some(1), "b".to_owned()), "times: 2");
    assert_eq!(chosen(&replies, user("exactly"), &[(1, 2)]).await, (Some(3), "d".to_owned()));
    assert_eq!(chosen(&replies, user("not exactly"), &[]).await, (Some(3), "d".to_owned()));
    assert_eq!(chosen(&replies, user("12345"), &[(2, 99)]).await, (Some(2), "c".to_owned()), "times: 0 has no limit");
    let assistant = vec![Message::new(Role::Assistant, "a refund")];
    assert_eq!(chosen(&replies, assistant, &[]).await, (Some(3), "d".to_owned()), "every given condition must hold");
    let none = (None, "The script demo.json has no reply left that matches".to_owned());
    assert_eq!(chosen(&replies, user("x"), &[(3, 1)]).await, none);
    let failure = play(replies, call(user("x"), &[(3, 1)])).await.expect_err("none left").failure;
    assert_eq!((failure.error.code.as_str(), failure.retryable), ("provider_error", false), "P-36");
}

#[tokio::test(start_paused = true)]
async fn a_tool_message_is_matched_by_the_tool_it_answers_p34() {
    let replies = json!([{"match": {"tool": "other"}, "text": "no"}, {"match": {"role": "tool", "tool": "find_order"}, "text": "yes"}]);
    let asked = Message { tool_calls: Some(vec![ToolCall::new("c1", "find_order", "{}")]), ..Message::new(Role::Assistant, "") };
    let answered = Message::tool(&"c1".into(), Content::Text("7".to_owned()));
    assert_eq!(chosen(&replies, vec![asked, answered], &[]).await, (Some(1), "yes".to_owned()));
    let named = Message { name: Some("other".to_owned()), ..Message::tool(&"c9".into(), Content::Text("7".to_owned())) };
    assert_eq!(chosen(&replies, vec![named], &[]).await, (Some(0), "no".to_owned()), "without the call its name counts");
}

#[tokio::test(start_paused = true)]
async fn the_text_of_parts_is_matched_and_an_empty_request_matches_only_unconditional_replies() {
    let replies = json!([{"match": {"equals": "one two"}, "text": "parts"}, {"text": "any"}]);
    let parts = vec![json!({"type": "text", "text": "one "}), json!({"type": "image_url"}), json!({"type": "text", "text": "two"})];
    let message = Message { content: Some(Content::Parts(parts)), ..Message::new(Role::User, "") };
    assert_eq!(chosen(&replies, vec![message], &[]).await, (Some(0), "parts".to_owned()));
    assert_eq!(chosen(&replies, Vec::new(), &[]).await, (Some(1), "any".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_reply_has_every_field_of_the_script_p32_p35() {
    let replies = json!([{
        "text": "Let me look.",
        "tool_calls": [{"id": "call_a", "name": "find_order", "arguments": {"no": 7}}, {"name": "raw", "arguments": "{not json"}],
        "usage": {"input": 120, "cache_read": 40, "output": 18}, "cost": "0.0021"
    }]);
    let reply = play(replies, call(user("x"), &[])).await.expect("a reply");
    assert_eq!(reply.script_reply, Some(0));
    assert_eq!(
        serde_json::to_value(&reply.response).expect("JSON"),
        json!({
            "model": "scripted/m1",
            "content": "Let me look.",
            "tool_calls": [
                {"id": "call_a", "type": "function", "function": {"name": "find_order", "arguments": "{\"no\":7}"}},
                {"type": "function", "function": {"name": "raw", "arguments": "{not json"}},
            ],
            "finish_reason": "tool_calls",
            "usage": {"input": 120, "output": 18, "uncached_input": 80, "cache_read": 40, "cache_write": 0, "total": 138},
            "cost": "0.0021",
        })
    );
    let bare = play(json!([{}]), call(user("x"), &[])).await.expect("a reply").response;
    assert_eq!(serde_json::to_value(&bare).expect("JSON"), json!({"model": "scripted/m1", "finish_reason": "stop"}));
    let cut = play(json!([{"text": "half", "finish_reason": "length"}]), call(user("x"), &[])).await.expect("a reply").response;
    assert!(cut.truncated());
    let refused = play(json!([{"finish_reason": "content_filter"}]), call(user("x"), &[])).await.expect("a reply").response;
    assert!(refused.refused());
}

#[tokio::test(start_paused = true)]
async fn an_error_reply_fails_with_its_code_and_counts_as_used_p35_p36() {
    let replies = json!([{"error": {"message": "overloaded", "code": "rate_limited", "retryable": true}, "delay_ms": 250}, {"error": {"message": "no"}}]);
    let (outcome, _, took) = play_with(script(replies.clone()), call(user("x"), &[]), CancellationToken::new()).await;
    let failure = outcome.expect_err("an error");
    assert_eq!((failure.script_reply, took), (Some(0), 250));
    let Value::Object(error) = serde_json::to_value(&failure.failure.error).expect("JSON") else { panic!("an object") };
    assert_eq!(Value::Object(error), json!({"message": "overloaded", "code": "rate_limited"}));
    assert!(failure.failure.retryable);
    let plain = play(replies, call(user("x"), &[(0, 1)])).await.expect_err("an error");
    assert_eq!((plain.script_reply, plain.failure.error.code.as_str(), plain.failure.retryable), (Some(1), "provider_error", false));
}

fn text(at: u64, text: &str) -> (u64, Delta) {
    (at, Delta { text: Some(text.to_owned()), ..Delta::default() })
}

#[tokio::test(start_paused = true)]
async fn text_is_spread_over_the_stream_time_after_the_delay_p35() {
    let replies = json!([{"text": "one two three four", "delay_ms": 400, "stream_ms": 800}]);
    let (outcome, heard, took) = play_with(script(replies.clone()), call(user("x"), &[]), CancellationToken::new()).await;
    outcome.expect("a reply");
    let stop = Delta { finish_reason: Some("stop".to_owned()), ..Delta::default() };
    assert_eq!(heard, vec![text(600, "one "), text(800, "two "), text(1000, "three "), text(1200, "four"), (1200, stop)]);
    assert_eq!(took, 1200);
    let whole = ModelCall { stream: false, ..call(user("x"), &[]) };
    let (outcome, heard, took) = play_with(script(replies), whole, CancellationToken::new()).await;
    outcome.expect("a reply");
    assert_eq!((heard.len(), took), (0, 1200), "without streaming it takes as long and shows nothing");
}

#[tokio::test(start_paused = true)]
async fn tool_calls_are_shown_whole_after_the_text() {
    let replies = json!([{"text": "T", "tool_calls": [{"id": "c1", "name": "f", "arguments": {}}, {"name": "g", "arguments": {}}]}]);
    let (outcome, heard, took) = play_with(script(replies), call(user("x"), &[]), CancellationToken::new()).await;
    outcome.expect("a reply");
    assert_eq!(took, 0);
    let heard: Vec<Value> = heard.into_iter().map(|(_, delta)| serde_json::to_value(delta).expect("JSON")).collect();
    assert_eq!(
        heard,
        vec![
            json!({"text": "T"}),
            json!({"tool_calls": [{"id": "c1", "name": "f", "arguments": "{}"}]}),
            json!({"tool_calls": [{"id": "#1", "name": "g", "arguments": "{}"}]}),
            json!({"finish_reason": "tool_calls"}),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_reply_ends_at_once() {
    let cancel = CancellationToken::new();
    let stop = cancel.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(700)).await;
        stop.cancel();
    });
    let replies = json!([{"text": "one two three four", "delay_ms": 400, "stream_ms": 800}]);
    let (outcome, heard, took) = play_with(script(replies), call(user("x"), &[]), cancel).await;
    assert_eq!(outcome.expect_err("cancelled").failure.error.code, "cancelled");
    assert_eq!((heard, took), (vec![text(600, "one ")], 700));
}

#[tokio::test(start_paused = true)]
async fn an_unknown_block_is_unroutable() {
    let models = Models::new([]);
    let outcome = models.run(call(user("x"), &[]), DeltaSink::new(|_| ()), CancellationToken::new()).await;
    let failure = outcome.expect_err("no such block").failure;
    assert_eq!(
        (failure.error.code.as_str(), failure.error.message.as_str()),
        ("unroutable", "No model block named \"main\" is configured")
    );
}

#[test]
fn a_fault_in_a_script_is_named_with_its_path_p35() {
    let bad = |reply: Value| refused(&json!({"holdpoint_script": 1, "replies": [{}, reply]}).to_string());
    assert_eq!(
        refused(r#"{"holdpoint_script": 2, "replies": []}"#),
        "demo.json: holdpoint_script: version 2 is not known, this engine reads 1"
    );
    assert_eq!(
        refused(r#"{"holdpoint_script": "1", "replies": []}"#),
        "demo.json: holdpoint_script: version \"1\" is not known, this engine reads 1"
    );
    assert!(refused(r#"{"replies": []}"#).starts_with("demo.json: missing field `holdpoint_script`"), "no version");
    assert!(
        refused(r#"{"holdpoint_script": 1, "replies": [], "reply": 1}"#).starts_with("demo.json: unknown field `reply`, expected"),
        "top"
    );
    let starts = |reply: Value, start: &str| {
        let said = bad(reply);
        assert!(said.starts_with(start), "{said}");
    };
    starts(json!({"txt": "x"}), "demo.json: replies[1]: unknown field `txt`, expected");
    starts(json!({"match": {"rolle": "user"}}), "demo.json: replies[1].match: unknown field `rolle`, expected");
    starts(json!({"match": {"role": "human"}}), "demo.json: replies[1].match: unknown variant `human`");
    starts(json!({"match": {"regex": "("}}), "demo.json: replies[1].match.regex: ");
    starts(
        json!({"tool_calls": [{"name": "a", "arguments": {}}, {"nam": "b"}]}),
        "demo.json: replies[1].tool_calls[1]: unknown field `nam`",
    );
    starts(json!({"tool_calls": [{"name": "a", "arguments": [1]}]}), "demo.json: replies[1].tool_calls[0].arguments: [1] is neither");
    starts(json!({"usage": {"in": 1}}), "demo.json: replies[1].usage: unknown field `in`");
    starts(json!({"error": {"text": "x"}}), "demo.json: replies[1].error: unknown field `text`");
    starts(json!({"error": {"message": "x"}, "text": "y"}), "demo.json: replies[1]: `error` stands instead of");
    starts(json!({"cost": "cheap"}), "demo.json: replies[1]: \"cheap\" is no amount of money");
    assert!(refused("{").starts_with("demo.json: EOF while parsing"), "no JSON");
}

#[tokio::test(start_paused = true)]
async fn a_script_is_a_version_and_a_list_of_replies_p33() {
    let file = r#"{"holdpoint_script": 1, "replies": [
        {"match": {"role": "user", "contains": "order"}, "text": "I look.", "tool_calls": [{"id": "c1", "name": "find", "arguments": {"no": 7}}],
         "delay_ms": 40, "stream_ms": 60, "usage": {"input": 12, "cache_read": 4, "output": 3}, "cost": "0.0021"},
        {"match": {"role": "tool", "tool": "find"}, "text": "Found.", "finish_reason": "stop"},
        {"error": {"message": "overloaded", "code": "rate_limited", "retryable": true}},
        {"text": "Anything else?", "times": 0}]}"#;
    let play = async |messages: Vec<Message>, used: &[(u32, u32)]| {
        let script = Script::parse(file, "demo.json").expect("every member is known");
        play_with(script, call(messages, used), CancellationToken::new()).await
    };
    let (first, _, took) = play(user("my order"), &[]).await;
    let first = first.expect("a reply").response;
    assert_eq!((first.tool_calls.as_ref().map(Vec::len), first.finish_reason.as_deref(), took), (Some(1), Some("tool_calls"), 100));
    let asked = Message { tool_calls: first.tool_calls, ..Message::new(Role::Assistant, "I look.") };
    let found = Message::tool(&"c1".into(), Content::Text("7".to_owned()));
    let second = play(vec![asked, found], &[(0, 1)]).await.0.expect("a reply");
    assert_eq!((second.script_reply, second.response.finish_reason.as_deref()), (Some(1), Some("stop")));
    let third = play(user("and?"), &[(0, 1), (1, 1)]).await.0.expect_err("an error reply");
    assert_eq!((third.script_reply, third.failure.error.code.as_str(), third.failure.retryable), (Some(2), "rate_limited", true));
    for times in [0, 9] {
        let last = play(user("and?"), &[(0, 1), (1, 1), (2, 1), (3, times)]).await.0.expect("it has no limit");
        assert_eq!(last.script_reply, Some(3));
    }
}
