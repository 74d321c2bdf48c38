//! Client inputs: N-1 … N-18, and what they refuse.

use holdpoint_core::command::{Command, Creation, Input, Settle};
use holdpoint_core::message::{AgentTool, Message, ToolResult};
use holdpoint_core::rejection::Code;
use serde_json::json;

use crate::story::{Story, calls, failure, frontend, machine, owner, refused, settle_result, text, tool_message, user};

fn tool(name: &str) -> AgentTool {
    serde_json::from_value(json!({"name": name})).expect("a tool")
}

#[test]
fn a_session_begins_with_an_input_and_never_with_a_resume_n1_n18() {
    let mut story = Story::solo();
    let resume = Input::Resume { interrupt_id: "q".into(), payload: None, responder: None, shown_hash: None };
    let create = Some(Creation { agent_id: "solo".into(), identity: owner(), ancestry: Vec::new(), unattended: false });
    refused(story.does(Command::Input { caller: frontend(), input: resume, create }), Code::SessionNotFound);
    assert!(story.session.is_none(), "N-18: nothing was created");
    refused(story.does(Command::Cancel { caller: machine() }), Code::SessionNotFound);
    story.says("t", "hi");
    assert_eq!(story.s().agent_id, "solo");
}

#[test]
fn an_unknown_agent_creates_nothing_n1() {
    let mut story = Story::of("nobody");
    refused(story.append(None, vec![user("u", "hi")], false), Code::InvalidRequest);
    assert!(story.session.is_none() && story.log.is_empty());
}

#[test]
fn an_action_may_create_the_session_n1() {
    let mut story = Story::helper();
    story.acts("begin");
    story.accepts();
    assert_eq!(story.asked()["trigger"], json!({"type": "client.action", "name": "begin"}));
    assert_eq!(story.asked()["turn_id"], json!(null));
}

#[test]
fn given_ids_have_1_to_200_characters_b4() {
    let mut story = Story::solo();
    story.chats("t", "hi", "Hello.");
    for bad in [String::new(), "x".repeat(201)] {
        refused(story.append(Some(&bad), vec![user("u", "hi")], false), Code::InvalidRequest);
        refused(story.append(None, vec![user(&bad, "hi")], false), Code::InvalidRequest);
        let raise = Command::Raise { caller: machine(), interrupt_id: Some(bad.as_str().into()), reason: "r".into(), payload: None };
        refused(story.does(raise), Code::InvalidRequest);
    }
    let long = "ü".repeat(200);
    assert_eq!(story.append(Some(&long), vec![user(&long, "hi")], false).map(|r| r.turn_id), Ok(Some(long.as_str().into())));
}

#[test]
fn a_message_during_a_turn_is_refused_with_the_running_turn_n2() {
    let mut story = Story::helper();
    story.opens("t", &[("x", "slow", "{}")]);
    let mut views = story.seen();
    views.push(user("u_2", "more"));
    for result in [story.append(None, vec![user("u_2", "more")], false), story.view(None, views)] {
        assert_eq!(refused(result, Code::TurnAlreadyActive).turn_id, Some("t".into()));
    }
}

#[test]
fn a_turn_id_is_an_idempotency_key_n3_n5_q29() {
    let mut story = Story::helper();
    story.opens("t", &[("x", "slow", "{}")]);
    assert!(story.queues("q", "later").queued);
    story.skip();
    let again = story.says("t", "something else");
    assert_eq!((again.turn_id, again.queued), (Some("t".into()), false), "running");
    let waits = story.queues("q", "later");
    assert_eq!((waits.turn_id, waits.queued), (Some("q".into()), true), "N-5: it still waits");
    story.raises("hold");
    story.skip();
    assert_eq!(story.says("t", "x").turn_id, Some("t".into()), "Q-29: paused, and N-3 goes first");
    assert_eq!(story.view(Some("q"), vec![user("z", "z")]).map(|r| r.turn_id), Ok(Some("q".into())));
    story.expect(&[]);
    story.resumes("hold", json!(1));
    story.settles("x", "ok");
    story.settles_down();
    story.replies(text("Done."));
    story.settles_down();
    assert_eq!(story.turn(), Some("q"));
    story.skip();
    assert_eq!((story.says("t", "x").turn_id, story.queues("q", "x").queued), (Some("t".into()), false), "completed, and running");
    story.expect(&[]);
}

#[test]
fn a_suspended_turn_id_is_known_and_does_not_block_n2_n3() {
    let mut story = Story::helper();
    story.chats("t0", "start", "Hello.");
    story.says("t", "hold");
    story.answers(json!({"actions": [{"type": "interrupt", "reason": "r", "interrupt_id": "q"}]}));
    let start = story.seen()[..0].to_vec();
    story.view(Some("t2"), [start, vec![user("u_x", "elsewhere")]].concat()).expect("it escapes");
    story.settles_down();
    story.replies(text("There."));
    story.settles_down();
    story.skip();
    assert_eq!(story.says("t", "again").turn_id, Some("t".into()));
    story.expect(&[]);
    story.says("t3", "more");
    assert_eq!(story.turn(), Some("t3"));
}

#[test]
fn queued_turns_run_first_in_first_out_n4() {
    let mut story = Story::solo();
    story.says("t", "zero");
    for turn in ["a", "b", "c"] {
        assert!(story.queues(turn, turn).queued);
    }
    for reply in ["0", "1", "2", "3"] {
        story.replies(text(reply));
    }
    let path = ["user: zero", "assistant: 0", "user: a", "assistant: 1", "user: b", "assistant: 2", "user: c", "assistant: 3"];
    assert_eq!(story.path(), path);
    let started: Vec<_> = story.all("turn.started").iter().map(|event| event["turn_id"].clone()).collect();
    assert_eq!(json!(started), json!(["t", "a", "b", "c"]));
    assert!(!story.queues("d", "now").queued, "N-4: with no turn running it starts at once");
}

#[test]
fn an_action_answered_with_work_opens_a_turn_named_after_its_decision_n7() {
    let mut story = Story::helper();
    story.chats("t", "hi", "Hello.");
    story.acts("nothing");
    story.answers(json!({}));
    assert_eq!(story.turn(), None, "without work it opens none");
    story.acts("work");
    let decision = story.asked()["decision_id"].as_str().unwrap_or_default().to_owned();
    story.skip();
    story.answers(json!({"actions": [{"type": "llm.call"}]}));
    let turn = format!("turn_{}", decision.trim_start_matches("dec_"));
    assert_eq!(story.turn(), Some(turn.as_str()));
    let started = format!("turn.started {turn}");
    story.expect(&["decision.completed client.action", &started, "llm.call.requested", "llm.call.dispatched"]);
}

#[test]
fn an_action_delivered_after_its_turn_ended_opens_a_turn_of_its_own_n7() {
    let mut story = Story::helper();
    story.says("t", "hi");
    story.until("client.messages");
    story.acts("work");
    story.answers(json!({"actions": [{"type": "fail", "error": {"message": "No."}}]}));
    assert_eq!((story.turn(), story.asked_kind()), (None, Some("client.action")), "the action outlives the turn that failed");
    story.answers(json!({"actions": [{"type": "llm.call"}]}));
    assert!(story.turn().is_some_and(|turn| turn.starts_with("turn_")), "work never runs outside a turn");
    story.replies(text("Worked."));
    story.settles_down();
    assert_eq!(story.turn(), None);
}

#[test]
fn a_failed_action_never_ends_the_running_turn_n7_k16() {
    let mut story = Story::helper();
    story.opens("t", &[("x", "slow", "{}")]);
    story.acts("explode");
    story.skip();
    story.worker_fails(holdpoint_core::message::ErrorCode::HandlerError, false);
    story.expect(&["decision.errored client.action"]);
    assert_eq!(story.turn(), Some("t"));
}

#[test]
fn an_action_with_a_completed_turn_gets_that_turn_n16() {
    let mut story = Story::helper();
    story.chats("t", "hi", "Hello.");
    story.skip();
    let again = story.input(frontend(), Input::Action { turn_id: Some("t".into()), name: "x".into(), args: None });
    assert_eq!(again.map(|receipt| receipt.turn_id), Ok(Some("t".into())));
    story.expect(&[]);
}

#[test]
fn who_may_settle_what_n8() {
    let mut story = Story::helper();
    story.opens("t", &[("w", "slow", "{}"), ("c", "pick", "{}")]);
    refused(story.settle_as(frontend(), settle_result("w", "mine")), Code::EffectWrongHandler);
    story.settle_as(frontend(), settle_result("c", "picked")).expect("a client call");
    story.settle_as(machine(), settle_result("w", "worked")).expect("a worker call");
}

#[test]
fn settling_names_what_is_wrong_n9_k9() {
    let mut story = Story::helper();
    story.opens("t", &[("x", "slow", "{}")]);
    refused(story.settle_as(machine(), settle_result("ghost", "x")), Code::EffectNotFound);
    let stale = Settle::ToolResult { id: "x".into(), attempt: Some(9), result: ToolResult::text("x") };
    refused(story.settle_as(machine(), stale), Code::EffectAttemptMismatch);
    let receipt = story.settles("x", "ok");
    assert_eq!(receipt.turn_id, Some("t".into()), "N-6: the turn that goes on");
    refused(story.settle_as(machine(), settle_result("x", "again")), Code::EffectNotPending);
    let error = Settle::ToolError { id: "x".into(), attempt: None, error: failure("no"), retryable: true };
    refused(story.settle_as(machine(), error), Code::EffectNotPending);
}

#[test]
fn a_tool_message_that_is_all_a_view_changes_acts_like_a_result_n10() {
    let (mut by_view, mut by_settle) = (Story::helper(), Story::helper());
    for story in [&mut by_view, &mut by_settle] {
        story.opens("t", &[("c", "pick", "{}")]);
        story.skip();
    }
    let view = [by_view.seen(), vec![tool_message("mine", "c", "blue")]].concat();
    let receipt = by_view.view(None, view).expect("accepted");
    assert_eq!((receipt.turn_id, receipt.queued), (Some("t".into()), false));
    by_settle.settles("c", "blue");
    assert_eq!(by_view.asked()["trigger"], by_settle.asked()["trigger"]);
    by_view.settles_down();
    by_settle.settles_down();
    assert_eq!(by_view.wrote(), by_settle.wrote());
    by_view.replies(text("Blue it is."));
    by_view.settles_down();
    let nodes = by_view.s().tree.len();
    let mut resent = by_view.seen();
    resent[2].id = Some("another id".into());
    resent.push(user("u_2", "next"));
    by_view.view(None, resent).expect("accepted");
    by_view.until("client.messages");
    by_view.accepts();
    assert_eq!(by_view.s().tree.len(), nodes + 1, "recognised as the recorded node, whatever its id");
}

#[test]
fn the_first_copy_of_an_answer_wins_n10() {
    let mut story = Story::helper();
    story.opens("t", &[("c", "pick", "{}"), ("w", "slow", "{}")]);
    let seen = story.seen();
    story.view(None, [seen.clone(), vec![tool_message("one", "c", "blue")]].concat()).expect("the first copy");
    story.skip();
    let again = story.append(None, vec![tool_message("two", "c", "red")], false).expect("a copy is no news");
    assert_eq!(again.turn_id, Some("t".into()));
    story.expect(&[]);
    story.settles_down();
    story.settles("w", "worked");
    story.settles_down();
    assert_eq!(story.path()[2..], ["tool: blue", "tool: worked"]);
}

#[test]
fn answers_beside_other_news_settle_without_a_decision_of_their_own_n10() {
    let mut story = Story::helper();
    story.opens("t", &[("c", "pick", "{}")]);
    story.skip();
    let view = [story.seen(), vec![tool_message("mine", "c", "blue"), user("u_2", "and hurry")]].concat();
    assert_eq!(story.view(Some("t2"), view).map(|r| r.turn_id), Ok(Some("t".into())), "the view belongs to the turn it answers");
    story.expect(&["tool.call.completed c", "decision.queued client.messages", "decision.dispatched client.messages"]);
    let asked = story.asked();
    assert_eq!(asked["trigger"]["new_from"], 2);
    assert_eq!(asked["trigger"]["messages"].as_array().map(Vec::len), Some(4));
    story.accepts();
    assert_eq!(story.path(), ["user: go", "assistant asks c", "tool: blue", "user: and hurry"]);
    assert_eq!(story.s().pending_calls(), 0);
    story.replies(text("Hurrying."));
    story.settles_down();
    assert_eq!(story.turn(), None);
}

#[test]
fn an_answer_the_decider_leaves_out_is_not_waited_for_n10_p11() {
    let mut story = Story::helper();
    story.opens("t", &[("c", "pick", "{}")]);
    let view = [story.seen(), vec![tool_message("mine", "c", "blue"), user("u_2", "and hurry")]].concat();
    story.view(None, view).expect("accepted");
    story.answers(json!({"actions": [{"type": "llm.call"}]}));
    assert_eq!(story.s().pending_calls(), 0, "nobody will record it any more");
}

#[test]
fn a_queued_append_that_answers_a_call_lets_the_running_turn_go_on_n10() {
    let mut story = Story::helper();
    story.opens("t", &[("c", "pick", "{}")]);
    let messages = vec![tool_message("mine", "c", "blue"), user("u_2", "next")];
    assert!(story.append(Some("q"), messages, true).expect("accepted").queued);
    story.settles_down();
    story.replies(text("Blue it is."));
    story.settles_down();
    story.replies(text("Next it is."));
    story.settles_down();
    let path = ["user: go", "assistant asks c", "tool: blue", "assistant: Blue it is.", "user: next", "assistant: Next it is."];
    assert_eq!(story.path(), path, "the answer ends the call in its own turn, and stands in the tree once");
}

#[test]
fn parallel_answers_are_recognised_in_any_order_n10() {
    let mut story = Story::solo();
    story.says("t", "go");
    story.replies(calls(&[("a", "pick", "{}"), ("b", "pick", "{}")]));
    story.settles("b", "B");
    story.settles("a", "A");
    story.replies(text("Both."));
    let seen = story.seen();
    let (user_, asks, reply) = (seen[0].clone(), seen[1].clone(), seen[4].clone());
    let nodes = story.s().tree.len();
    let view = vec![user_, asks, tool_message("mine a", "a", "A"), tool_message("mine b", "b", "B"), reply, user("u_2", "next")];
    story.view(Some("t2"), view).expect("accepted");
    assert_eq!(story.s().tree.len(), nodes + 1, "no fork: {:?}", story.path());
}

#[test]
fn a_session_start_that_failed_runs_again_before_the_next_message_n11() {
    let mut story = Story::helper();
    story.says("one", "hi");
    story.skip();
    story.worker_fails(holdpoint_core::message::ErrorCode::HandlerError, false);
    story.expect(&[
        "decision.errored session.start",
        "decision.dropped client.messages",
        "turn.completed one handler_error",
        "session.done",
    ]);
    assert_eq!(story.turn(), None);
    story.says("two", "hi again");
    story.expect(&["decision.queued session.start", "decision.queued client.messages", "decision.dispatched session.start"]);
    story.settles_down();
    story.replies(text("Hello."));
    story.settles_down();
    assert_eq!(story.path(), ["user: hi again", "assistant: Hello."]);
}

#[test]
fn a_turn_waiting_behind_a_failed_start_asks_again_n11() {
    let mut story = Story::helper();
    story.says("one", "hi");
    story.queues("two", "more");
    story.worker_fails(holdpoint_core::message::ErrorCode::HandlerError, false);
    assert_eq!(story.asked_kind(), Some("session.start"));
    story.settles_down();
    assert_eq!((story.turn(), story.path()), (Some("two"), vec!["user: more".to_owned()]));
}

#[test]
fn the_client_object_reaches_the_decider_and_its_tools_join_for_that_turn_only_k7_p15() {
    let mut story = Story::solo();
    let client = holdpoint_core::decision::ClientInfo { tools: Some(vec![tool("show"), tool("look")]), ..Default::default() };
    story.says_with("t", "hi", client.clone());
    let names = |story: &Story| story.request().tools.unwrap_or_default().iter().map(|tool| tool.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&story), ["look", "slow", "count", "pick", "show"], "K-7: a worker tool is never replaced");
    let shown = story.s().config().and_then(|config| config.tool("show").cloned());
    assert_eq!(shown.and_then(|tool| tool.handler), Some(holdpoint_core::message::Handler::Client));
    story.replies(text("Hello."));
    story.says("t2", "again");
    assert_eq!(names(&story), ["look", "slow", "count", "pick"], "K-7: they leave after the turn");
    story.replies(text("Hello."));
    // The same tool in two turns running, then none.
    for turn in ["t3", "t4"] {
        story.says_with(turn, "hi", client.clone());
        assert_eq!(names(&story), ["look", "slow", "count", "pick", "show"]);
        story.replies(text("Hello."));
    }
    story.says("t5", "again");
    assert_eq!(names(&story), ["look", "slow", "count", "pick"]);
}

#[test]
fn a_declared_client_tool_stays_when_a_client_names_it_too_k7() {
    let mut story = Story::solo();
    let client = holdpoint_core::decision::ClientInfo { tools: Some(vec![tool("pick")]), ..Default::default() };
    story.says_with("t", "hi", client);
    story.replies(text("Hello."));
    story.says("t2", "again");
    assert!(
        story.s().config().is_some_and(|config| config.tool("pick").is_some()),
        "the agent's own tool is not the client's to take away"
    );
}

#[test]
fn client_tools_leave_on_a_fork_too_k7_t12() {
    let mut story = Story::solo();
    let client = |name: &str| holdpoint_core::decision::ClientInfo { tools: Some(vec![tool(name)]), ..Default::default() };
    story.says_with("t", "hi", client("a"));
    story.replies(text("Hello."));
    let first = story.seen();
    story.says_with("t2", "again", client("b"));
    story.replies(text("Hello."));
    story.view(Some("t3"), [first, vec![user("fork", "other")]].concat()).expect("an edit");
    let names: Vec<_> = story.request().tools.unwrap_or_default().iter().map(|tool| tool.name.clone()).collect();
    assert_eq!(names, ["look", "slow", "count", "pick"]);
}

#[test]
fn an_append_leaves_recorded_ids_out_t10() {
    let mut story = Story::solo();
    story.chats("t", "hi", "Hello.");
    let known: Message = story.seen()[0].clone();
    story.append(Some("t2"), vec![known, user("u_2", "new")], false).expect("accepted");
    assert_eq!(story.path(), ["user: hi", "assistant: Hello.", "user: new"]);
}
