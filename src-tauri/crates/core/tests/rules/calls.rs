//! Calls, retries and clocks: K-2 … K-18, P-36, Q-24.

use holdpoint_core::command::{Command, Settle};
use holdpoint_core::message::{Content, ToolResult};
use holdpoint_core::rejection::Code;
use serde_json::{Value, json};

use crate::story::{Story, calls, failure, machine, refused, text};

fn retrying(retry: Value) -> Story {
    let mut story = Story::helper();
    story.chats("t0", "hi", "Hello.");
    story.acts("begin");
    story.answers(json!({"actions": [{"type": "tool.call", "id": "x", "name": "slow", "retry": retry}]}));
    story
}

#[test]
fn a_model_call_is_tried_five_times_with_growing_waits_k12_k14() {
    let mut story = Story::solo();
    story.says("t", "hi");
    for (attempt, wait) in [(1, 4_000), (2, 8_000), (3, 16_000), (4, 30_000)] {
        assert_eq!(story.model_call().1, attempt);
        story.model_fails(true, None);
        assert_eq!(story.s().wake_at().map(|at| at.0 - story.now.0), Some(wait));
        story.advance(wait - 1);
        assert!(!story.model_runs());
        story.advance(1);
    }
    story.model_fails(true, None);
    assert_eq!(story.last("turn.completed")["error"]["code"], "provider_error");
    assert_eq!(story.all("llm.call.errored").len(), 5);
}

#[test]
fn a_retry_waits_as_long_as_the_server_said_q24() {
    let mut story = Story::solo();
    story.says("t", "hi");
    story.model_fails(true, Some(45_000));
    story.advance(44_999);
    assert!(!story.model_runs());
    story.advance(1);
    assert!(story.model_runs());
    story.model_fails(true, Some(1_000));
    story.advance(7_999);
    assert!(!story.model_runs(), "never earlier than the policy says");
    story.advance(1);
    assert!(story.model_runs());
}

#[test]
fn a_wait_never_outlasts_the_total_time_q24_k14() {
    let mut story = Story::solo();
    story.says("t", "hi");
    story.model_fails(true, Some(7_200_000));
    story.advance(1_800_000);
    let error = story.last("turn.completed")["error"].clone();
    assert_eq!(error["code"], "deadline_exceeded");
}

#[test]
fn a_model_call_that_runs_too_long_is_tried_again_k12_k15() {
    let mut story = Story::solo();
    story.says("t", "hi");
    assert_eq!(story.s().wake_at().map(|at| at.0 - story.now.0), Some(180_000));
    story.advance(180_000);
    let errored = story.last("llm.call.errored");
    assert_eq!((&errored["error"]["code"], &errored["retryable"]), (&json!("deadline_exceeded"), &json!(true)));
    assert!(errored["error"]["message"].as_str().is_some_and(|message| message.contains("running")), "K-15");
    story.advance(4_000);
    assert_eq!(story.model_call().1, 2);
}

#[test]
fn a_late_answer_of_a_replaced_attempt_is_ignored_d6_k9() {
    let mut story = Story::solo();
    story.says("t", "hi");
    let (call, attempt) = story.model_call();
    story.model_fails(true, None);
    story.advance(4_000);
    story.skip();
    story.does(Command::LlmCompleted { call, attempt, response: text("late"), script_reply: None }).expect("dropped silently");
    story.expect(&[]);
    story.replies(text("Hello."));
    assert_eq!(story.path(), ["user: hi", "assistant: Hello."]);
}

#[test]
fn a_worker_tool_is_tried_once_and_the_model_reads_the_error_k12_k16() {
    let mut story = Story::helper();
    story.opens("t", &[("x", "slow", "{}")]);
    let error = Settle::ToolError { id: "x".into(), attempt: None, error: failure("It broke."), retryable: true };
    story.settle_as(machine(), error).expect("taken");
    assert_eq!(
        story.asked()["trigger"],
        json!({
            "type": "tool.finished", "id": "x", "ok": false, "name": "slow", "error": {"message": "It broke.", "code": "provider_error"},
        })
    );
    story.settles_down();
    assert_eq!(story.path().last().map(String::as_str), Some("tool: It broke."));
    assert!(story.model_runs());
}

#[test]
fn a_tool_runs_out_of_time_k12_k15() {
    let mut story = Story::helper();
    story.opens("t", &[("x", "slow", "{}")]);
    story.advance(119_999);
    assert_eq!(story.call("x").status.name(), "pending");
    story.advance(1);
    assert_eq!(story.last("tool.call.errored")["error"]["code"], "deadline_exceeded");
    assert_eq!(story.asked_kind(), Some("tool.finished"));
}

#[test]
fn a_retried_tool_is_handed_out_as_its_next_attempt_k9_k14() {
    let mut story = retrying(json!({"max_attempts": 3, "run_timeout_secs": 15.0}));
    assert_eq!(story.asked()["trigger"]["attempt"], 1);
    story.answers(json!({"actions": [{"type": "tool.error", "error": "busy", "retryable": true}]}));
    assert_eq!((story.call("x").status.name(), story.turn().is_some()), ("retry_scheduled", true));
    story.advance(4_000);
    assert_eq!(story.asked()["trigger"]["attempt"], 2);
    story.answers(json!({}));
    let stale = Settle::ToolResult { id: "x".into(), attempt: Some(1), result: ToolResult::text("late") };
    refused(story.settle_as(machine(), stale), Code::EffectAttemptMismatch);
    story.advance(15_000);
    story.advance(8_000);
    assert_eq!(story.asked()["trigger"]["attempt"], 3);
    story.answers(json!({"actions": [{"type": "tool.error", "error": "busy", "retryable": true}]}));
    assert_eq!(story.asked_kind(), Some("tool.finished"), "attempts are used up");
}

#[test]
fn an_answer_to_a_replaced_hand_out_is_ignored_k9_p8() {
    let mut story = retrying(json!({"max_attempts": 2, "run_timeout_secs": 10.0}));
    story.advance(10_000);
    assert_eq!((story.call("x").attempt, story.asked_kind()), (2, Some("tool.execute")), "the worker still holds the first hand-out");
    story.answers(json!({"actions": [{"type": "tool.result", "content": [{"type": "text", "text": "late"}]}], "state": 1}));
    assert_eq!((story.all("tool.call.completed").len(), story.all("worker.state.updated").len()), (0, 1), "the rest stands");
    story.advance(4_000);
    assert_eq!(story.asked()["trigger"]["attempt"], 2);
}

#[test]
fn policies_are_layered_and_never_touch_decisions_k13() {
    let mut story = Story::solo();
    let spec = story.config.agents.get_mut("solo").expect("an agent");
    let config = spec.config.as_mut().expect("a config");
    config.retry = serde_json::from_value(json!({
        "default": {"max_attempts": 2, "run_timeout_secs": 9.0}, "llm": {"max_attempts": 3}, "tool": {"run_timeout_secs": 5.0},
    }))
    .expect("a policy");
    story.says("t", "hi");
    let retry = story.last("llm.call.requested")["retry"].clone();
    assert_eq!((&retry["max_attempts"], &retry["run_timeout_secs"], &retry["queue_timeout_secs"]), (&json!(3), &json!(9.0), &json!(60.0)));
    story.replies(calls(&[("x", "slow", "{}")]));
    let retry = story.last("tool.call.requested")["retry"].clone();
    assert_eq!((&retry["max_attempts"], &retry["run_timeout_secs"]), (&json!(2), &json!(5.0)), "Q-46");
    let retry = story.all("session.created")[0]["worker_retry"].clone();
    assert_eq!(
        (&retry["max_attempts"], &retry["run_timeout_secs"], &retry["total_timeout_secs"]),
        (&json!(10), &json!(20.0), &json!(300.0))
    );
}

#[test]
fn handler_and_target_are_fixed_when_the_call_is_asked_for_k8() {
    let mut story = Story::helper();
    story.opens("t", &[("c", "pick", "{}")]);
    story.acts("reroute");
    let mut agent = story.asked()["agent"].clone();
    agent["tools"] = json!([{"name": "pick"}]);
    story.answers(json!({"agent": agent}));
    assert_eq!(story.call("c").handler, holdpoint_core::message::Handler::Client);
}

#[test]
fn the_model_reads_structured_content_else_the_text_k4() {
    let result = ToolResult { structured_content: Some(json!({"n": 1})), ..ToolResult::text("one") };
    assert_eq!(result.for_model(), Content::Text("{\"n\":1}".into()));
    let result =
        ToolResult { content: vec![json!({"type": "text", "text": "a"}), json!({"type": "text", "text": "b"})], ..ToolResult::default() };
    assert_eq!(result.for_model(), Content::Text("a\nb".into()));
    let image = json!({"type": "image", "data": "AA==", "mimeType": "image/png"});
    let result = ToolResult { content: vec![json!({"type": "text", "text": "a"}), image.clone()], ..ToolResult::default() };
    assert_eq!(result.for_model(), Content::Parts(vec![json!({"type": "text", "text": "a"}), image]));
}

#[test]
fn scripted_replies_are_counted_by_block_p36() {
    let mut story = Story::solo();
    story.says("t", "hi");
    let (call, attempt) = story.model_call();
    story
        .does(Command::LlmFailed { call, attempt, error: failure("x"), retryable: true, retry_after_ms: None, script_reply: Some(2) })
        .expect("taken");
    story.advance(4_000);
    let (call, attempt) = story.model_call();
    story.does(Command::LlmCompleted { call, attempt, response: text("Hello."), script_reply: Some(0) }).expect("taken");
    assert_eq!(story.s().script_used["main"].iter().map(|(k, v)| (*k, *v)).collect::<Vec<_>>(), [(0, 1), (2, 1)]);
}

#[test]
fn money_sums_leave_out_what_is_unknown_p23() {
    let mut story = Story::solo();
    story.says("t", "hi");
    let mut reply = text("Hello.");
    reply.usage = Some(holdpoint_core::message::Usage { input: 5, output: 2, ..Default::default() });
    story.replies(reply);
    let ended = story.last("turn.completed");
    assert_eq!((&ended["turn_cost"], &ended["turn_token_usage"]["input"]), (&json!("0"), &json!(5)));
}

#[test]
fn images_of_a_reply_become_parts_p20() {
    let mut story = Story::solo();
    story.says("t", "hi");
    let mut reply = text("Look.");
    reply.images = Some(vec![json!({"url": "blob:1"})]);
    story.replies(reply);
    let recorded = story.seen().pop().and_then(|message| message.content);
    let parts = vec![json!({"type": "text", "text": "Look."}), json!({"type": "image_url", "image_url": {"url": "blob:1"}})];
    assert_eq!(recorded, Some(Content::Parts(parts)));
}
