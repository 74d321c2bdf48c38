//! The decision protocol: P-1 … P-16, and deliveries that fail (D-3, D-4, K-16).

use holdpoint_core::command::Command;
use holdpoint_core::message::{ErrorCode, LlmResponse, ToolResult};
use holdpoint_core::rejection::Code;
use serde_json::{Value, json};

use crate::story::{ID, Story, ask, calls, failure, instead, owner, refused, text, user};

fn fields(value: &Value) -> Vec<&str> {
    value.as_object().into_iter().flatten().map(|(key, _)| key.as_str()).collect()
}

#[test]
fn a_request_has_every_field_p1() {
    let mut story = Story::helper();
    story.says("t", "go");
    let start = story.asked();
    let all = [
        "session_id",
        "decision_id",
        "agent_id",
        "identity",
        "trigger",
        "proposed",
        "state",
        "agent",
        "worker",
        "calls",
        "pending_calls",
        "messages",
        "message_tree",
        "ancestry",
        "attempts",
        "deadline",
        "turn_id",
    ];
    assert_eq!(fields(&start), all);
    assert_eq!((&start["session_id"], &start["agent_id"], &start["attempts"]), (&json!(ID), &json!("helper"), &json!(1)));
    assert_eq!((&start["agent"], &start["state"], &start["turn_id"]), (&json!(null), &json!(null), &json!(null)));
    assert_eq!(start["identity"], json!({"subject": {"issuer": "app", "id": "ann"}, "visibility": "private"}));
    assert_eq!(start["worker"], json!({"id": "w", "url": "http://127.0.0.1:9/"}));
    assert_eq!((start["trigger"].clone(), fields(&start["proposed"])), (json!({"type": "session.start"}), vec!["agent"]));
    story.accepts();
    let asked = story.asked();
    assert_eq!((&asked["turn_id"], &asked["messages"], &asked["message_tree"]), (&json!("t"), &json!([]), &json!({"nodes": []})));
    assert_eq!(asked["proposed"], json!({"messages": [user("u_t", "go")], "actions": [{"type": "llm.call"}]}), "P-10");
    story.accepts();
    let mut reply = calls(&[("x", "look", "{\"no\": 1}")]);
    reply.cost = holdpoint_core::money::Money::parse("0.50");
    story.replies(reply);
    let finished = story.asked();
    assert_eq!((&finished["trigger"]["ok"], &finished["trigger"]["cost"]), (&json!(true), &json!("0.5")));
    assert_eq!((&finished["trigger"]["truncated"], &finished["trigger"]["refused"]), (&json!(false), &json!(false)));
    let wanted = json!([{"type": "tool.call", "id": "x", "name": "look", "arguments": "{\"no\": 1}"}]);
    assert_eq!(finished["proposed"]["actions"], wanted, "P-12");
    story.accepts();
    let execute = story.asked();
    let input = json!({"status": "valid", "value": {"no": 1}});
    let deadline = execute["calls"][0]["deadline"].clone();
    assert!(deadline.is_string());
    assert_eq!(
        execute["trigger"],
        json!({
            "type": "tool.execute", "id": "x", "name": "look", "arguments": "{\"no\": 1}", "input": input, "attempt": 1, "deadline": deadline,
        })
    );
    assert_eq!(
        execute["calls"],
        json!([{
            "id": "x", "kind": "tool_call", "status": "pending", "attempt": 1, "handler": "worker", "deadline": deadline,
            "anchor": story.path_ids()[1], "name": "look", "arguments": "{\"no\": 1}",
        }])
    );
    assert_eq!((&execute["pending_calls"], &execute["proposed"]), (&json!(1), &json!({})));
    story.settles("x", "seen");
    story.answers(json!({}));
    let told = story.asked();
    assert_eq!(
        told["trigger"],
        json!({
            "type": "tool.finished", "id": "x", "ok": true, "name": "look", "result": {"content": [{"type": "text", "text": "seen"}]},
        })
    );
    assert_eq!((&told["calls"], &told["pending_calls"]), (&json!([]), &json!(1)));
    story.accepts();
    story.replies(text("Done."));
    story.accepts();
    let ended = story.asked();
    assert_eq!(
        (&ended["trigger"]["turn_id"], &ended["trigger"]["data"], &ended["trigger"]["cost"]),
        (&json!("t"), &json!("Done."), &json!("0.5"))
    );
    assert_eq!(ended["proposed"], json!({"actions": [{"type": "done", "data": "Done."}]}));
    assert_eq!(ended["message_tree"]["head_id"], json!(story.path_ids()[3]));
}

#[test]
fn an_empty_answer_writes_nothing_and_ends_the_turn_p3_p9() {
    let mut story = Story::helper();
    story.says("t", "hi");
    story.accepts();
    story.skip();
    story.answers(json!({}));
    story.accepts();
    story.expect(&[
        "decision.completed client.messages",
        "decision.queued turn.finished",
        "decision.dispatched turn.finished",
        "decision.completed turn.finished",
        "turn.completed t",
        "session.done",
    ]);
    assert_eq!(story.last("turn.completed").get("data"), None);
}

#[test]
fn the_parts_of_an_answer_are_applied_in_order_p5() {
    let mut story = Story::helper();
    story.says("t", "go");
    let asked = story.until("client.messages");
    let mut agent = asked["agent"].clone();
    agent["system"] = json!("New.");
    story.skip();
    story.answers(json!({
        "actions": [
            {"type": "tool.call", "id": "b", "name": "slow"}, {"type": "llm.call", "id": "m_1"},
            {"type": "tool.call", "id": "a", "name": "pick", "arguments": {"n": 1}},
        ],
        "channels": {"slack": {"view": 1}}, "agent": agent, "state": {"n": 1}, "messages": asked["proposed"]["messages"],
    }));
    story.expect(&[
        "decision.completed client.messages",
        "message.new user: go",
        "worker.state.updated",
        "agent.updated",
        "channels.updated",
        "tool.call.requested b",
        "llm.call.requested",
        "tool.call.requested a",
        "llm.call.dispatched",
        "tool.call.dispatched b",
        "decision.queued tool.execute",
        "tool.call.dispatched a",
        "decision.dispatched tool.execute",
    ]);
    assert_eq!(
        (story.last("worker.state.updated")["anchor"].clone(), story.last("agent.updated")["anchor"].clone()),
        (json!("u_t"), json!("u_t"))
    );
    let view = story.last("channels.updated");
    assert_eq!((&view["finishes_turn"], &view["channels"]), (&json!(false), &json!({"slack": {"view": 1}})));
    assert_eq!(story.last("tool.call.requested")["arguments"], "{\"n\":1}", "Q-34");
    assert_eq!(story.requested_texts()[0], "system: New.");
}

#[test]
fn the_answer_to_turn_finished_finishes_the_turns_view() {
    let mut story = Story::helper();
    story.says("t", "hi");
    story.settles_down();
    story.replies(text("Hello."));
    story.until("turn.finished");
    story.answers(json!({"actions": [{"type": "done", "data": [1]}], "channels": {"slack": 1}}));
    assert_eq!(story.last("channels.updated")["finishes_turn"], true);
    assert_eq!(story.last("turn.completed")["data"], json!([1]));
}

#[test]
fn turn_finished_answered_with_work_goes_on_p9() {
    let mut story = Story::helper();
    story.says("t", "hi");
    story.settles_down();
    story.replies(text("Hello."));
    story.until("turn.finished");
    story.answers(json!({"actions": [{"type": "llm.call"}]}));
    assert_eq!(story.turn(), Some("t"));
    story.replies(text("More."));
    story.settles_down();
    assert_eq!((story.turn(), story.last("turn.completed")["data"].clone()), (None, json!("More.")));
}

#[test]
fn done_waits_for_the_open_calls_of_its_turn_q9() {
    let mut story = Story::helper();
    story.opens("t", &[("x", "slow", "{}")]);
    story.acts("finish");
    story.answers(json!({"actions": [{"type": "done", "data": 1}]}));
    assert_eq!((story.asked_kind(), story.waiting()), (None, vec!["turn.finished".to_owned()]));
    story.settles("x", "X");
    assert_eq!(story.asked_kind(), Some("tool.finished"));
    let asked = story.asked();
    story.answers(instead(&asked, json!([])));
    assert_eq!(story.asked_kind(), Some("turn.finished"));
    story.accepts();
    assert_eq!(story.last("turn.completed")["data"], 1);
}

#[test]
fn an_answer_counts_once_and_only_while_it_is_live_p6_d5() {
    let mut story = Story::helper();
    story.says("t", "hi");
    story.accepts();
    let (decision, attempt) = story.s().live().map(|d| (d.id.clone(), d.attempts)).expect("live");
    story.accepts();
    story.skip();
    for attempt in [Some(attempt), None, Some(9)] {
        story.does(Command::Answered { decision: decision.clone(), attempt, response: json!("nonsense") }).expect("no error");
    }
    story.does(Command::Answered { decision: "dec_nobody".into(), attempt: None, response: json!({"state": 1}) }).expect("no error");
    story.does(Command::DecisionFailed { decision, attempt, error: failure("late"), retryable: false }).expect("no error");
    story.expect(&[]);
}

#[test]
fn a_malformed_answer_changes_nothing_p7() {
    let malformed = [
        json!("nonsense"),
        json!([]),
        json!({"actions": {}}),
        json!({"messages": [{"role": "king", "content": "x"}]}),
        json!({"actions": [{"type": "interrupt"}]}),
        json!({"actions": [{"type": "interrupt", "reason": ""}]}),
        json!({"actions": [{"type": "tool.result", "content": []}]}),
        json!({"actions": [{"type": "tool.error", "error": "x"}]}),
        json!({"actions": [{"type": "llm.result", "response": {"model": "m"}}]}),
        json!({"actions": [{"type": "llm.call", "llm": "nowhere"}]}),
        json!({"agent": {"model": "m", "llm": "nowhere"}}),
        json!({"agent": {"llm": "main"}}),
        json!({"agent": {"model": "m", "tools": [{"name": "x", "handler": "server"}]}}),
        json!({"actions": [{"type": "llm.result", "id": "x", "response": {"content": 7}}]}),
        json!({"actions": [{"type": "tool.result", "id": "x", "result": {"content": []}, "content": []}]}),
        json!({"actions": [{"type": "tool.result", "id": "x"}]}),
        json!({"actions": [{"type": "teleport"}]}),
        json!({"actions": [{"type": "message.send", "session_id": "sesn_01K74Q9ZZZ0000000000000002", "message": {"role": "user", "content": "x"}}]}),
    ];
    for response in malformed {
        let mut story = Story::of("script");
        story.says("t", "hi");
        story.accepts();
        story.skip();
        let mut response = response;
        if let Some(object) = response.as_object_mut() {
            object.insert("state".into(), json!(1));
        }
        story.answers(response.clone());
        let lines = ["decision.errored client.messages", "turn.completed t invalid_response", "session.done"];
        assert_eq!(story.wrote(), lines, "P-29: a file is not asked again: {response}");
    }
}

#[test]
fn a_malformed_answer_of_a_service_is_asked_for_again_p26() {
    let mut story = Story::helper();
    story.says("t", "hi");
    story.accepts();
    story.answers(json!({"actions": [{"type": "teleport"}]}));
    let errored = story.last("decision.errored");
    assert_eq!((&errored["error"]["code"], &errored["retryable"]), (&json!("invalid_response"), &json!(true)));
    story.advance(4_000);
    assert_eq!((story.asked_kind(), &story.asked()["attempts"]), (Some("client.messages"), &json!(2)));
}

#[test]
fn a_malformed_submit_is_refused_and_the_decision_stays_live_p7() {
    let mut story = Story::helper();
    story.says("t", "hi");
    story.accepts();
    let decision = story.s().live().map(|d| d.id.clone()).expect("live");
    for response in [json!({"actions": [{"type": "teleport"}]}), json!({"actions": [{"type": "llm.call"}]})] {
        let submit = Command::Answered { decision: decision.clone(), attempt: None, response };
        refused(story.does(submit), Code::InvalidRequest);
    }
    let good = json!({"session_id": ID, "decision_id": decision, "actions": [{"type": "llm.call", "model": "m"}]});
    story.does(Command::Answered { decision, attempt: None, response: good }).expect("accepted");
    assert!(story.model_runs());
}

#[test]
fn a_settle_of_a_call_that_is_not_open_is_ignored_p8() {
    let mut story = Story::helper();
    story.says("t", "hi");
    let asked = story.until("client.messages");
    let mut answer = instead(&asked, json!([{"type": "tool.result", "id": "ghost", "content": []}, {"type": "llm.call"}]));
    answer["state"] = json!(1);
    story.answers(answer);
    assert_eq!((story.all("worker.state.updated").len(), story.model_runs(), story.all("tool.call.completed").len()), (1, true, 0));
}

#[test]
fn fail_voids_what_is_open_and_leaves_queued_turns() {
    let mut story = Story::helper();
    story.opens("t", &[("x", "slow", "{}"), ("y", "slow", "{}")]);
    story.queues("later", "later");
    story.acts("stop");
    story.settles("y", "Y");
    story.skip();
    story.answers(json!({"actions": [{"type": "fail", "error": {"message": "No.", "code": "handler_error", "detail": 7}}]}));
    story.expect(&[
        "decision.completed client.action",
        "call.voided x",
        "decision.dropped tool.finished",
        "turn.completed t handler_error",
        "session.done",
        "turn.started later",
        "decision.dispatched client.messages",
    ]);
    assert_eq!(story.last("turn.completed")["error"], json!({"message": "No.", "code": "handler_error", "detail": 7}));
}

#[test]
fn the_view_with_nothing_new_is_done_only_behind_a_reply_p10() {
    let mut story = Story::helper();
    story.chats("t", "hi", "Hello.");
    let seen = story.seen();
    story.view(Some("t2"), seen[..1].to_vec()).expect("accepted");
    assert_eq!(story.asked()["proposed"]["actions"], json!([{"type": "llm.call"}]), "it ends on a user message");
    story.answers(json!({}));
    story.settles_down();
}

#[test]
fn the_stream_wish_of_a_client_reaches_the_model_call() {
    let mut story = Story::solo();
    let input = holdpoint_core::command::Input::Append {
        turn_id: None,
        messages: vec![user("u", "hi")],
        stream: Some(false),
        client: None,
        queue: false,
    };
    story.input(crate::story::frontend(), input).expect("accepted");
    assert_eq!(story.last("llm.call.requested")["stream"], false);
    story.replies(text("Hello."));
    story.says("t", "again");
    assert_eq!(story.last("llm.call.requested")["stream"], true, "it defaults to true");
}

#[test]
fn the_model_goes_on_when_all_calls_of_its_reply_ended_p11_k5_s6() {
    let mut story = Story::helper();
    story.opens("t", &[("a", "slow", "{}"), ("b", "slow", "{}")]);
    story.settles("a", "A");
    assert_eq!(story.asked()["proposed"]["actions"], json!(null), "another one is open");
    story.accepts();
    story.settles("b", "B");
    assert_eq!(story.asked()["proposed"]["actions"][0]["type"], "llm.call");
    story.accepts();
    assert_eq!(story.requested_texts()[1..], ["user: go", "assistant asks a b", "tool: A", "tool: B"]);
}

#[test]
fn the_model_goes_on_as_it_was_asked_p11() {
    let mut story = Story::helper();
    story.says("t", "hi");
    let asked = story.until("client.messages");
    let call = json!({"type": "llm.call", "model": "other", "messages": [{"role": "user", "content": "Alone."}], "temperature": 0.25,
        "max_completion_tokens": 9, "reasoning": {"effort": "low"}, "stream": false, "retry": {"max_attempts": 2},
        "tools": [{"name": "look"}]});
    story.answers(instead(&asked, json!([call])));
    assert_eq!(story.requested_texts(), ["user: Alone."], "with messages no system prompt is added");
    story.replies(calls(&[("x", "look", "{}")]));
    story.until("tool.execute");
    story.answers(json!({"actions": [{"type": "tool.result", "content": [{"type": "text", "text": "seen"}]}]}));
    story.accepts();
    assert_eq!(story.requested_texts(), ["user: Alone.", "assistant asks x", "tool: seen"], "its prompt plus everything since");
    let (request, event) = (story.request(), story.last("llm.call.requested"));
    assert_eq!((request.model.as_str(), request.temperature, request.max_completion_tokens), ("other", Some(0.25), Some(9)));
    assert_eq!(request.tools.map(|tools| tools.len()), Some(1));
    assert_eq!((&event["stream"], &event["retry"]["max_attempts"], &event["llm"]), (&json!(false), &json!(2), &json!("main")));
}

#[test]
fn a_workers_own_tool_call_gets_no_message_q12() {
    let mut story = Story::helper();
    story.says("t", "hi");
    let asked = story.until("client.messages");
    story.answers(instead(&asked, json!([{"type": "tool.call", "id": "own", "name": "look"}])));
    story.answers(json!({"actions": [{"type": "tool.result", "content": [{"type": "text", "text": "seen"}]}]}));
    assert_eq!(story.asked()["proposed"], json!({"actions": [{"type": "llm.call"}]}));
    story.accepts();
    assert_eq!((story.path(), story.s().pending_calls()), (vec!["user: hi".to_owned()], 0));
    assert_eq!(story.requested_texts(), ["system: Be good.", "user: hi"]);
}

#[test]
fn a_known_id_of_a_tool_call_has_no_effect() {
    let mut story = Story::helper();
    story.opens("t", &[("x", "slow", "{}")]);
    story.acts("again");
    story.skip();
    story.answers(json!({"actions": [{"type": "tool.call", "id": "x", "name": "look"}]}));
    story.expect(&["decision.completed client.action"]);
}

#[test]
fn a_failed_truncated_or_refused_reply_fails_the_turn_p12_i69() {
    let reply = |reason: &str| LlmResponse { finish_reason: Some(reason.into()), ..text("cut") };
    for (response, code) in [(reply("length"), "invalid_response"), (reply("content_filter"), "refused")] {
        let mut story = Story::solo();
        story.says("t", "hi");
        story.replies(response);
        assert_eq!(story.last("turn.completed")["error"]["code"], code);
        assert!(story.open_interrupts().is_empty() && story.path() == ["user: hi"]);
    }
    let mut story = Story::solo();
    story.says("t", "hi");
    story.model_fails(false, None);
    assert_eq!(story.last("turn.completed")["error"], json!({"message": "overloaded", "code": "provider_error"}));
}

#[test]
fn a_plan_the_configuration_no_longer_allows_fails_the_turn() {
    let mut story = Story::solo();
    story.chats("t", "hi", "Hello.");
    story.config.llms.remove("main");
    story.says("t2", "again");
    assert_eq!(story.last("turn.completed")["error"]["code"], "invalid_response", "no silent end of the turn");
}

#[test]
fn the_input_of_a_tool_is_checked_before_it_runs_k2_p14() {
    for (arguments, status, proposes) in [
        ("{\"no\": 1}", "valid", false),
        ("", "valid", false),
        ("{\"no\": \"x\"}", "invalid", true),
        ("[1]", "malformed", true),
        ("{", "malformed", true),
    ] {
        let mut story = Story::helper();
        story.says("t", "go");
        story.settles_down();
        story.replies(calls(&[("x", "look", arguments)]));
        let asked = story.until("tool.execute");
        assert_eq!(asked["trigger"]["input"]["status"], status, "{arguments}");
        assert_eq!(asked["trigger"]["arguments"], arguments, "raw");
        assert_eq!(asked["proposed"]["actions"][0]["type"] == "tool.error", proposes, "{arguments}");
    }
    let mut story = Story::solo();
    story.says("t", "go");
    story.replies(calls(&[("x", "ghost", "{}")]));
    assert_eq!(story.last("tool.call.errored")["retryable"], false, "undeclared");
    assert!(story.model_runs(), "the model reads the error");
    assert_eq!(story.path()[2], "tool: there is no tool named ghost");
}

#[test]
fn an_output_that_does_not_fit_is_not_shown_to_the_model_k3() {
    let mut story = Story::helper();
    story.opens("t", &[("x", "count", "{}")]);
    let structured = ToolResult { structured_content: Some(json!({"n": "SECRET-7"})), ..ToolResult::default() };
    story
        .settle_as(
            crate::story::machine(),
            holdpoint_core::command::Settle::ToolResult { id: "x".into(), attempt: None, result: structured },
        )
        .expect("taken");
    let errored = story.last("tool.call.errored");
    assert_eq!(
        (&errored["error"]["code"], &errored["error"]["param"], &errored["retryable"]),
        (&json!("invalid_response"), &json!("output"), &json!(false))
    );
    story.settles_down();
    assert!(!format!("{:?}", story.path()).contains("SECRET"), "{:?}", story.path());
    let mut story = Story::helper();
    story.opens("t", &[("x", "count", "{}")]);
    story.settles("x", "{\"n\": 7}");
    assert_eq!(story.all("tool.call.completed").len(), 1, "text that is JSON and fits");
}

#[test]
fn a_worker_answers_model_calls_k11() {
    let mut story = Story::of("own");
    story.says("t", "hi");
    let asked = story.until("llm.execute");
    let request = &asked["trigger"]["request"];
    assert_eq!(request["messages"], json!([{"role": "system", "content": "Be good."}, user("u_t", "hi")]));
    assert_eq!((&asked["trigger"]["stream"], &asked["trigger"]["attempt"], &asked["proposed"]), (&json!(true), &json!(1), &json!({})));
    assert_eq!(asked["calls"][0]["kind"], "llm_call");
    story.answers(json!({"actions": [{"type": "llm.result", "response": {"model": "own", "content": "From me.", "usage": {"input": 3, "output": 2}}}]}));
    story.settles_down();
    assert_eq!(story.path(), ["user: hi", "assistant: From me."]);
    assert_eq!(story.last("turn.completed")["turn_token_usage"]["total"], 5);
}

#[test]
fn an_error_of_a_workers_model_call_is_retried_or_final_k14() {
    let mut story = Story::of("own");
    story.says("t", "hi");
    story.until("llm.execute");
    story.answers(json!({"actions": [{"type": "llm.error", "error": "busy", "retryable": true}]}));
    story.advance(3_999);
    assert_eq!(story.asked_kind(), None);
    story.advance(1);
    assert_eq!((story.asked_kind(), &story.asked()["trigger"]["attempt"]), (Some("llm.execute"), &json!(2)));
    story.answers(json!({"actions": [{"type": "llm.error", "error": "no", "code": "refused"}]}));
    story.settles_down();
    assert_eq!(story.last("turn.completed")["error"], json!({"message": "no", "code": "refused"}));
}

#[test]
fn an_interrupt_in_answer_to_a_model_call_voids_it_i1_i15() {
    let mut story = Story::of("own");
    story.says("t", "hi");
    story.until("llm.execute");
    story.answers(json!({"actions": [ask("q")]}));
    assert_eq!(story.last("call.voided")["kind"], "llm_call");
    story.resumes("q", json!(1));
    story.accepts();
    assert_eq!(story.asked_kind(), Some("llm.execute"));
}

#[test]
fn a_message_goes_to_another_session_of_the_same_owner_only() {
    let mut story = Story::helper();
    story.chats("t", "hi", "Hello.");
    let other = "sesn_01K74Q9ZZZ0000000000000002";
    let send = json!({"actions": [{"type": "message.send", "session_id": other, "message": {"role": "user", "content": "ping"}}]});
    story.acts("send");
    story.reachable.insert(other.into(), owner());
    story.answers(send.clone());
    let sent = story.last("session.message_requested");
    assert_eq!((&sent["target_session_id"], &sent["message"]["content"]), (&json!(other), &json!("ping")));
    let due: Vec<_> = holdpoint_core::pending::sends(story.s()).map(|(turn, target, _)| (turn, target.clone())).collect();
    assert_eq!((due.len(), due[0].1.as_str()), (1, other));
    assert!(due[0].0.as_str().starts_with("turn_"), "its turn id makes a repeat harmless (N-3)");
    story.acts("send");
    story.reachable.insert(other.into(), holdpoint_core::event::Identity::default());
    story.answers(send);
    assert_eq!(story.last("decision.errored")["error"]["code"], "invalid_response");
}

#[test]
fn a_decision_past_its_deadline_is_delivered_again_d4_k12() {
    let mut story = Story::helper();
    story.says("t", "hi");
    story.accepts();
    assert_eq!(story.s().wake_at().map(|at| at.0 - story.now.0), Some(20_000));
    story.advance(20_000);
    let errored = story.last("decision.errored");
    assert_eq!((&errored["error"]["code"], &errored["retryable"]), (&json!("deadline_exceeded"), &json!(true)));
    assert_eq!(story.asked_kind(), None);
    story.advance(4_000);
    assert_eq!((story.asked_kind(), &story.asked()["attempts"]), (Some("client.messages"), &json!(2)));
}

#[test]
fn deliveries_end_after_ten_attempts_and_the_session_stays_d4_k16() {
    let mut story = Story::helper();
    story.says("t", "hi");
    story.accepts();
    for attempt in 1..=10 {
        assert_eq!(story.asked()["attempts"], attempt);
        story.worker_fails(ErrorCode::WorkerUnreachable, true);
        story.advance(30_000);
    }
    assert_eq!(story.last("turn.completed")["error"]["code"], "worker_unreachable");
    story.chats("t2", "again", "Hello.");
}

#[test]
fn a_final_error_of_a_decision_fails_the_run_k14_k16() {
    let mut story = Story::helper();
    story.opens("t", &[("x", "slow", "{}")]);
    story.settles("x", "X");
    story.skip();
    story.worker_fails(ErrorCode::WorkerUnreachable, false);
    story.expect(&["decision.errored tool.finished", "turn.completed t worker_unreachable", "session.done"]);
}

#[test]
fn what_is_behind_a_waiting_retry_waits_too_and_no_timer_spins_k17() {
    let mut story = Story::helper();
    story.chats("t0", "hi", "Hello.");
    story.says("t", "hi");
    story.worker_fails(ErrorCode::WorkerUnreachable, true);
    story.acts("behind");
    assert_eq!(story.asked_kind(), None);
    story.advance(4_000);
    assert_eq!(story.asked_kind(), Some("client.messages"));
    story.raises("q");
    story.acts("pass");
    assert_eq!(story.asked_kind(), Some("client.action"), "I-32");
    story.advance(1_000);
}

#[test]
fn no_timer_spins_behind_a_live_decision_k17() {
    let mut story = Story::helper();
    story.opens("t", &[("x", "slow", "{}")]);
    story.settles("x", "X");
    story.worker_fails(ErrorCode::WorkerUnreachable, true);
    story.raises("q");
    story.resumes("q", json!(1));
    assert_eq!(story.asked_kind(), Some("interrupt.resumed"), "it goes in front of the retry");
    story.advance(10_000);
    assert_eq!(story.asked_kind(), Some("interrupt.resumed"));
}

#[test]
fn a_start_sends_again_what_was_under_way_at_once_d3_q41() {
    let mut story = Story::helper();
    story.says("t", "hi");
    story.accepts();
    story.skip();
    story.recovers();
    story.expect(&["decision.errored client.messages", "decision.dispatched client.messages"]);
    assert_eq!(story.asked()["attempts"], 2);
    story.accepts();
    story.skip();
    story.recovers();
    story.expect(&["llm.call.errored", "llm.call.dispatched"]);
    assert_eq!(story.model_call().1, 2, "Q-41: a crash uses up an attempt");
    story.replies(calls(&[("x", "slow", "{}"), ("c", "pick", "{}")]));
    story.until("tool.execute");
    story.answers(json!({}));
    story.skip();
    story.recovers();
    story.expect(&[]);
    assert_eq!((story.call("x").status.name(), story.call("c").status.name()), ("pending", "pending"), "worker and client calls stay open");
}

#[test]
fn a_long_stop_of_the_engine_is_nobodys_time_d2_d3() {
    let mut story = Story::helper();
    story.says("t", "hi");
    story.accepts();
    story.passes(14 * 3_600_000);
    story.recovers();
    assert_eq!((story.asked_kind(), story.turn()), (Some("client.messages"), Some("t")), "sent again at once");
    story.worker_fails(ErrorCode::WorkerUnreachable, true);
    story.advance(8_000);
    assert_eq!(story.asked()["attempts"], 3, "and it has the rest of its time");
    story.accepts();
    story.passes(14 * 3_600_000);
    story.recovers();
    assert_eq!(story.model_call().1, 2);
    story.model_fails(true, None);
    story.advance(8_000);
    assert_eq!(story.model_call().1, 3);
}

#[test]
fn a_paused_session_is_still_paused_after_a_start_i25_i42() {
    let mut story = Story::helper();
    story.opens("t", &[("x", "slow", "{}")]);
    story.raises("q");
    story.passes(90 * 24 * 3_600_000);
    story.skip();
    story.recovers();
    story.advance(0);
    story.expect(&[]);
    story.resumes("q", json!(1));
    assert_eq!(story.asked_kind(), Some("interrupt.resumed"));
}

#[test]
fn the_agent_a_worker_returns_replaces_the_configured_one_on_its_path_f8_t12() {
    let mut story = Story::helper();
    story.chats("t", "hi", "Hello.");
    let above = story.seen();
    story.says("t2", "change");
    let asked = story.until("client.messages");
    let mut answer = asked["proposed"].clone();
    answer["agent"] = json!({"llm": "main", "model": "other"});
    story.answers(answer);
    let request = story.request();
    assert_eq!((request.model.as_str(), request.tools.as_ref().map(Vec::len).unwrap_or_default()), ("other", 0), "F-8: whole, not merged");
    assert!(!story.requested_texts().iter().any(|line| line.starts_with("system:")), "nor is its prompt left over");
    story.replies(text("Changed."));
    story.settles_down();
    story.view(Some("t3"), [above, vec![user("u_t3", "elsewhere")]].concat()).expect("accepted");
    story.settles_down();
    assert_eq!((story.request().model.as_str(), story.requested_texts()[0].as_str()), ("m", "system: Be good."), "F-8: on its path only");
}

#[test]
fn a_message_is_one_of_four_roles_with_text_or_parts_p18() {
    use holdpoint_core::message::Message;

    let call = json!({"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}});
    for message in [
        json!({"id": "m1", "role": "system", "content": "Be good."}),
        json!({"role": "user", "content": "a draft without id"}),
        json!({"id": "m2", "role": "user", "content": [{"type": "text", "text": "in parts"}], "name": "ann"}),
        json!({"id": "m3", "role": "assistant", "tool_calls": [call]}),
        json!({"id": "m4", "role": "tool", "content": "7", "tool_call_id": "c"}),
    ] {
        let read: Message = serde_json::from_value(message.clone()).expect("a message");
        assert_eq!(json!(read), message, "nothing added, nothing lost");
    }
    for wrong in [json!({"role": "developer", "content": "x"}), json!({"content": "x"}), json!({"role": "user", "content": 7})] {
        assert!(serde_json::from_value::<Message>(wrong.clone()).is_err(), "{wrong}");
    }
}
