//! Cancel: C-1 … C-40, without delegates.

use holdpoint_core::command::Command;
use holdpoint_core::decide::forecast_cancel;
use holdpoint_core::rejection::Code;
use serde_json::{Value, json};

use crate::story::{Story, ask, calls, instead, machine, refused, settle_result, stranger, text, tool_message, user};

#[test]
fn a_model_call_is_voided_and_its_late_answer_ignored_c1_c4_c13_c14_c36_c37() {
    let mut story = Story::solo();
    story.says("t", "go");
    let (call, attempt) = story.model_call();
    story.skip();
    let receipt = story.cancels();
    assert_eq!((receipt.cancelled, receipt.turn_id), (Some(true), Some("t".into())), "C-27, Q-51");
    story.expect(&["call.voided model", "turn.completed t cancelled", "session.done"]);
    assert_eq!(story.last("turn.completed")["error"], json!({"message": "cancelled: the turn ended", "code": "cancelled"}), "Q-50");
    story.does(Command::LlmCompleted { call, attempt, response: text("late"), script_reply: Some(0) }).expect("ignored");
    story.expect(&[]);
    story.says("t2", "again");
    assert_eq!(story.path(), ["user: go", "user: again"], "C-37: the head stays");
    assert!(story.s().script_used.is_empty(), "P-36: a voided call uses nothing up");
}

#[test]
fn one_cancel_keeps_its_order_with_everything_open_c19() {
    let mut story = Story::helper();
    story.chats("t0", "start", "Hello.");
    story.says("t", "go");
    story.settles_down();
    story.replies(calls(&[("c", "pick", "{}"), ("w", "slow", "{}"), ("f", "slow", "{}"), ("l", "slow", "{}")]));
    story.until("tool.execute");
    story.answers(json!({"actions": [{"type": "llm.call"}]})); // w stays open, and the model is asked beside it
    story.answers(json!({})); // f stays open; l is in the worker's hands
    story.queues("later", "later");
    story.acts("first");
    story.acts("second");
    story.settles("f", "F");
    let live = story.s().live().map(|d| (d.id.clone(), d.attempts)).expect("the worker has one");
    story.skip();
    story.cancels();
    story.expect(&[
        "call.voided model",
        "tool.call.completed c",
        "tool.call.completed w",
        "tool.call.completed l",
        "message.new tool: cancelled: the turn ended",
        "message.new tool: cancelled: the turn ended",
        "message.new tool: F",
        "message.new tool: cancelled: the turn ended",
        "decision.dropped tool.execute",
        "decision.dropped tool.finished",
        "decision.dropped client.messages",
        "decision.dropped client.action",
        "decision.dropped client.action",
        "turn.completed t cancelled",
        "session.done",
    ]);
    let answered: Vec<_> = story.seen().iter().filter_map(|m| m.tool_call_id.clone()).collect();
    assert_eq!(answered, ["c", "w", "f", "l"], "every tool call of an assistant message has an answer");
    let late = Command::Answered { decision: live.0, attempt: Some(live.1), response: json!({"actions": [{"type": "done"}]}) };
    story.does(late).expect("C-22: a success reply");
    story.expect(&[]);
    refused(story.settle_as(machine(), settle_result("w", "late")), Code::EffectNotPending);
    assert_eq!(story.asked_kind(), None, "C-21: nobody is told");
}

#[test]
fn an_ended_call_reads_the_text_c5_c20() {
    let mut story = Story::helper();
    story.opens("t", &[("x", "slow", "{}")]);
    story.cancels();
    let ended = json!({"content": [{"type": "text", "text": "cancelled: the turn ended"}], "isError": true});
    assert_eq!(story.last("tool.call.completed")["result"], ended);
    story.says("t2", "again");
    story.settles_down();
    let sent = ["system: Be good.", "user: go", "assistant asks x", "tool: cancelled: the turn ended", "user: again"];
    assert_eq!(story.requested_texts(), sent);
}

#[test]
fn a_paused_turn_is_cancelled_and_its_questions_closed_c12_c25_i92() {
    let mut story = Story::helper();
    story.says("t", "hold");
    let asked = story.until("client.messages");
    story.answers(instead(&asked, json!([ask("a"), ask("b")])));
    story.skip();
    story.cancels();
    story.expect(&["session.interrupt_resumed a", "session.interrupt_resumed b", "turn.completed t cancelled", "session.done"]);
    let closed = story.last("session.interrupt_resumed");
    assert_eq!(closed, json!({"type": "session.interrupt_resumed", "interrupt_id": "b", "payload": {"status": "cancelled"}}));
    assert_eq!((story.status(), story.asked_kind()), ("idle", None));
    let closed = &story.s().closed[&holdpoint_core::id::InterruptId::from("a")];
    assert_eq!(closed.outcome, holdpoint_core::answer::Outcome::Cancelled, "I-86");
}

#[test]
fn suspended_turns_end_too_in_order_of_their_start_c12_c34_c35() {
    let mut story = Story::helper();
    for (turn, question) in [("one", "q1"), ("two", "q2")] {
        story.view(Some(turn), vec![user(&format!("u_{turn}"), turn)]).expect("accepted");
        let asked = story.until("client.messages");
        story.answers(instead(&asked, json!([ask(question)])));
    }
    story.skip();
    assert_eq!(story.cancels().turn_id, Some("two".into()));
    story.expect(&[
        "session.interrupt_resumed q1",
        "session.interrupt_resumed q2",
        "turn.completed one cancelled",
        "turn.completed two cancelled",
        "session.done",
    ]);
    assert_eq!(story.cancels().cancelled, Some(false));
}

#[test]
fn a_suspended_turn_alone_is_a_run_and_its_parked_call_ends_c34_c35_t16() {
    let mut story = Story::helper();
    story.chats("t0", "start", "Hello.");
    let start = story.seen();
    story.says("t", "go");
    story.settles_down();
    story.replies(calls(&[("x", "look", "{}")]));
    story.until("tool.execute");
    story.answers(json!({"actions": [ask("q")]}));
    story.view(Some("t2"), [start, vec![user("u2", "free")]].concat()).expect("it escapes");
    story.settles_down();
    story.replies(text("Free."));
    story.settles_down();
    story.skip();
    let receipt = story.cancels();
    assert_eq!((receipt.cancelled, receipt.turn_id), (Some(true), None), "Q-51: absent without a current turn");
    story.expect(&["tool.call.completed x", "session.interrupt_resumed q", "turn.completed t cancelled", "session.done"]);
    assert_eq!(story.path().last().map(String::as_str), Some("assistant: Free."), "C-37");
}

#[test]
fn dropped_turns_count_as_completed_c10_c30_c40() {
    let mut story = Story::helper();
    story.opens("t", &[("x", "slow", "{}")]);
    story.queues("later", "later");
    story.cancels();
    story.skip();
    assert_eq!(story.says("t", "x").turn_id, Some("t".into()));
    let again = story.queues("later", "x");
    assert_eq!((again.turn_id, again.queued), (Some("later".into()), false));
    story.expect(&[]);
}

#[test]
fn without_a_run_nothing_is_written_c15_c26_c34() {
    let mut story = Story::solo();
    story.chats("t", "hi", "Hello.");
    story.raises("q");
    story.skip();
    for _ in 0..2 {
        let receipt = story.cancels();
        assert_eq!((receipt.cancelled, receipt.turn_id), (Some(false), None));
    }
    story.expect(&[]);
    assert_eq!(story.open_interrupts(), ["q"], "C-34: an open interrupt alone is none");
}

#[test]
fn a_waiting_start_is_not_dropped_and_alone_no_run_c38_q17() {
    let mut story = Story::helper();
    story.says("t", "hi");
    assert_eq!(story.asked_kind(), Some("session.start"));
    story.skip();
    let receipt = story.cancels();
    assert_eq!((receipt.cancelled, receipt.turn_id), (Some(true), None));
    story.expect(&["decision.dropped client.messages"]);
    assert_eq!(story.cancels().cancelled, Some(false));
    story.settles_down();
    assert_eq!((story.turn(), story.all("turn.started").len()), (None, 0));
    assert_eq!(story.says("t", "hi").turn_id, Some("t".into()), "C-40");
    story.chats("t2", "again", "Hello.");
}

#[test]
fn waiting_actions_alone_are_a_run_c11_c34() {
    let mut story = Story::helper();
    story.chats("t", "hi", "Hello.");
    story.acts("one");
    story.acts("two");
    story.skip();
    assert_eq!(story.cancels().cancelled, Some(true));
    story.expect(&["decision.dropped client.action", "decision.dropped client.action"]);
}

#[test]
fn an_answer_under_way_without_a_turn_is_a_run_c34_i76() {
    let mut story = Story::helper();
    story.chats("t", "hi", "Hello.");
    story.raises("q");
    story.resumes("q", json!(1));
    story.skip();
    assert_eq!(story.cancels().cancelled, Some(true));
    story.expect(&["decision.dropped interrupt.resumed"]);
}

#[test]
fn a_held_result_is_recorded_as_it_came_c5_c19() {
    let mut story = Story::helper();
    story.opens("t", &[("x", "slow", "{}")]);
    story.raises("q");
    story.settles("x", "it ran");
    story.skip();
    story.cancels();
    story.expect(&[
        "message.new tool: it ran",
        "decision.dropped tool.finished",
        "session.interrupt_resumed q",
        "turn.completed t cancelled",
        "session.done",
    ]);
}

#[test]
fn an_answer_given_beside_other_news_is_recorded_as_it_came_c19_n10() {
    let mut story = Story::helper();
    story.opens("t", &[("c", "pick", "{}")]);
    let view = [story.seen(), vec![tool_message("m", "c", "blue"), user("u2", "and")]].concat();
    story.view(None, view).expect("accepted");
    story.cancels();
    assert_eq!(story.path(), ["user: go", "assistant asks c", "tool: blue"]);
}

#[test]
fn calls_of_an_earlier_turn_are_left_as_they_are_c19() {
    let mut story = Story::helper();
    story.says("t", "go");
    story.settles_down();
    story.replies(calls(&[("x", "slow", "{}")]));
    let asked = story.until("llm.finished");
    story.answers(instead(&asked, json!([{"type": "done"}]))); // the worker does not run the call it was asked for
    story.settles_down();
    story.says("t2", "more");
    story.settles_down();
    story.skip();
    story.cancels();
    story.expect(&["call.voided model", "turn.completed t2 cancelled", "session.done"]);
}

#[test]
fn what_was_spent_stays_on_the_turn_c31_p23_q61() {
    let mut story = Story::helper();
    story.says("t", "go");
    story.settles_down();
    let mut reply = calls(&[("x", "slow", "{}")]);
    reply.cost = holdpoint_core::money::Money::parse("0.00210");
    reply.usage = Some(holdpoint_core::message::Usage { input: 120, cache_read: 40, output: 18, ..Default::default() });
    story.replies(reply);
    story.settles_down();
    story.cancels();
    let ended = story.last("turn.completed");
    assert_eq!(ended["turn_cost"], "0.0021");
    let usage = &ended["turn_token_usage"];
    assert_eq!((&usage["input"], &usage["cache_read"], &usage["output"]), (&json!(120), &json!(40), &json!(18)));
}

#[test]
fn a_stranger_cancels_nothing_c3() {
    let mut story = Story::solo();
    story.says("t", "hi");
    refused(story.does(Command::Cancel { caller: stranger() }), Code::AccessDenied);
}

#[test]
fn cancel_and_the_end_of_the_turn_race_for_one_commit_c28() {
    let mut story = Story::helper();
    story.says("t", "hi");
    story.settles_down();
    story.replies(text("Hello."));
    story.until("turn.finished");
    let live = story.s().live().map(|d| d.id.clone()).expect("live");
    story.cancels();
    story.does(Command::Answered { decision: live, attempt: None, response: json!({"actions": [{"type": "done"}]}) }).expect("C-22");
    let ended: Vec<Value> = story.all("turn.completed");
    assert_eq!((ended.len(), &ended[0]["error"]["code"]), (1, &json!("cancelled")));
}

#[test]
fn the_forecast_names_what_a_cancel_ends() {
    let mut story = Story::helper();
    assert!(story.session.is_none());
    story.opens("t", &[("x", "slow", "{}"), ("c", "pick", "{}")]);
    story.queues("later", "later");
    story.acts("first");
    story.raises("q");
    let forecast = forecast_cancel(story.s());
    assert!(forecast.run);
    assert_eq!(
        (forecast.turn_id, forecast.tool_calls, forecast.model_calls),
        (Some("t".into()), vec!["slow".into(), "pick".into()], vec![])
    );
    assert_eq!((forecast.queued_turns, forecast.decisions, forecast.interrupts), (vec!["later".into()], 1, vec!["Paused: check".into()]));
    story.cancels();
    assert!(!forecast_cancel(story.s()).run);
}

#[test]
fn a_cancelled_call_that_no_reply_asked_for_is_not_waited_for_p11_q12() {
    let mut story = Story::helper();
    story.chats("t0", "hi", "Hello.");
    story.acts("work");
    story.answers(json!({"actions": [{"type": "tool.call", "name": "slow"}]}));
    story.cancels();
    assert_eq!(story.s().pending_calls(), 0);
    story.opens("t", &[("x", "slow", "{}")]);
    story.settles("x", "X");
    assert_eq!(story.asked()["proposed"]["actions"][0]["type"], "llm.call");
}

#[test]
fn nobody_is_told_of_a_cancelled_call_and_its_late_result_is_refused_c6_c7_p8() {
    let mut story = Story::helper();
    story.opens("t", &[("x", "slow", "{}")]);
    story.cancels();
    assert_eq!(story.asked_kind(), None, "C-6: its worker is not asked anything");
    assert_eq!(holdpoint_core::pending::pending(story.s()), [], "C-6: nor is anything else sent");
    story.skip();
    refused(story.settle_as(machine(), settle_result("x", "late")), Code::EffectNotPending);
    story.expect(&[]);
    story.says("t2", "more");
    let asked = story.until("client.messages");
    let late = json!({"type": "tool.result", "id": "x", "content": [{"type": "text", "text": "late"}]});
    story.answers(instead(&asked, json!([late, {"type": "llm.call"}])));
    assert_eq!(story.all("tool.call.completed").len(), 1, "C-7: ignored inside a decision's answer");
    assert!(story.model_runs(), "P-8: the rest of that answer stands");
    assert!(!story.path().iter().any(|line| line.contains("late")), "{:?}", story.path());
}
