//! Interrupts on the active branch: raising, what stops, what is refused, resuming (§6A–6E, 6G, 6N, I-76, I-77, I-100).

use holdpoint_core::answer::{Answer, Outcome, Responder};
use holdpoint_core::command::{Caller, Command, Input, Settle};
use holdpoint_core::event::Rank;
use holdpoint_core::json::shown_hash;
use holdpoint_core::message::ToolResult;
use holdpoint_core::rejection::Code;
use serde_json::{Value, json};

use crate::story::{Story, ask, calls, failure, frontend, instead, machine, refused, text, tool_message, user};

/// A turn whose message was answered with the proposal's messages and one question.
fn held(mut story: Story) -> Story {
    story.says("t", "hold");
    let asked = story.until("client.messages");
    story.answers(instead(&asked, json!([ask("q")])));
    story
}

fn raise(caller: Caller, id: &str) -> Command {
    Command::Raise { caller, interrupt_id: Some(id.into()), reason: "check".into(), payload: Some(json!({"message": "Go?"})) }
}

#[test]
fn nobody_outside_asks_under_an_id_of_the_engines_own_i65_i66_i67() {
    let mut story = Story::solo();
    story.chats("t", "hi", "Hello.");
    for id in ["mcp-approve:call_1", "mcp-auth:mcp.x", "mcp-elicit:call_1:1", "call-unknown:call_1", "budget:session"] {
        let refused = story.does(raise(machine(), id)).expect_err("the engine's own");
        assert_eq!(refused.code, Code::InvalidRequest, "{id}");
    }
    assert!(story.all("session.interrupted").is_empty());
}

#[test]
fn a_worker_raises_at_the_head_behind_its_own_messages_i1_i4_i9_i12() {
    let mut story = held(Story::helper());
    assert_eq!(
        story.last("session.interrupted"),
        json!({
            "type": "session.interrupted", "interrupt_id": "q", "origin": "frontend", "reason": "check", "anchor": "u_t",
        })
    );
    assert_eq!((story.status(), story.turn()), ("interrupted", Some("t")));
    assert!(story.all("turn.completed").is_empty() && story.all("session.done").is_empty(), "I-23");
    story.resumes("q", json!({"a": 1}));
    assert_eq!(story.asked()["trigger"], json!({"type": "interrupt.resumed", "interrupt_id": "q", "payload": {"a": 1}}), "I-34");
    assert_eq!(story.asked()["proposed"], json!({"actions": [{"type": "llm.call"}]}), "I-37");
    assert_eq!(story.asked()["turn_id"], "t", "I-24");
    story.accepts();
    story.replies(text("Going."));
    story.settles_down();
    assert_eq!(story.all("turn.started").len(), 1, "I-24: a resume starts no turn");
}

#[test]
fn an_interrupt_without_id_gets_one_and_null_payloads_are_kept_i3_q56() {
    let mut story = Story::helper();
    story.says("t", "hold");
    let asked = story.until("client.messages");
    story.answers(instead(&asked, json!([{"type": "interrupt", "reason": "r", "payload": null}, {"type": "interrupt", "reason": "r"}])));
    let raised = story.all("session.interrupted");
    assert!(raised.iter().all(|event| event["interrupt_id"].as_str().is_some_and(|id| id.starts_with("int_") && id.len() == 30)));
    assert_eq!((raised[0].get("payload"), raised[1].get("payload")), (Some(&json!(null)), None));
    assert_eq!(raised[0]["anchor"], raised[1]["anchor"], "I-8");
}

#[test]
fn on_an_empty_tree_an_interrupt_has_no_anchor_and_pauses_everything_i6_i30() {
    let mut story = Story::helper();
    story.says("t", "hi");
    story.answers(json!({"actions": [ask("q")]}));
    assert_eq!(story.last("session.interrupted").get("anchor"), None);
    assert_eq!((story.waiting(), story.turn()), (vec!["client.messages".to_owned()], None));
    refused(story.view(None, vec![user("x", "x")]), Code::SessionInterrupted);
    story.resumes("q", json!(null));
    assert_eq!(story.asked()["turn_id"], json!(null), "I-76: raised while no turn ran");
    assert_eq!(story.asked()["proposed"], json!({}));
    story.accepts();
    assert_eq!((story.asked_kind(), story.turn()), (Some("client.messages"), Some("t")));
}

#[test]
fn raising_an_open_id_changes_nothing_and_a_closed_one_may_open_again_i10() {
    let mut story = held(Story::helper());
    story.skip();
    assert_eq!(story.raises("q").interrupt_id, Some("q".into()));
    story.expect(&[]);
    story.resumes("q", json!(1));
    story.answers(json!({"actions": [{"type": "interrupt", "interrupt_id": "q", "reason": "again"}]}));
    assert_eq!(story.last("session.interrupted")["reason"], "again");
    assert_eq!(story.status(), "interrupted");
}

#[test]
fn the_origin_is_the_callers_rank_and_a_resume_must_reach_it_i12_i40_i41() {
    let mut story = Story::solo();
    story.chats("t", "hi", "Hello.");
    story.does(raise(machine(), "m")).expect("raised");
    story.does(raise(Caller::operator(), "o")).expect("raised");
    let origins: Vec<_> = story.all("session.interrupted").iter().map(|e| e["origin"].clone()).collect();
    assert_eq!(json!(origins), json!(["machine", "operator"]));
    story.skip();
    let refusal = refused(story.resume_as(frontend(), "m", Some(json!(1)), None), Code::AccessDenied);
    assert_eq!(refusal.interrupt_ids, ["m".into()]);
    refused(story.resume_as(machine(), "o", Some(json!(1)), None), Code::AccessDenied);
    story.expect(&[]);
    assert_eq!(story.resume_as(machine(), "m", Some(json!(1)), None).map(|r| r.resumed), Ok(Some(true)));
    assert_eq!(story.resume_as(Caller::operator(), "o", Some(json!(1)), None).map(|r| r.resumed), Ok(Some(true)));
    assert!(Rank::System > Rank::Operator && Rank::Machine > Rank::Frontend, "B-6");
}

#[test]
fn an_empty_reason_is_refused_i2() {
    let mut story = Story::solo();
    story.chats("t", "hi", "Hello.");
    let raise = Command::Raise { caller: machine(), interrupt_id: None, reason: String::new(), payload: None };
    refused(story.does(raise), Code::InvalidRequest);
}

#[test]
fn a_tool_call_stays_open_and_a_settle_without_id_ends_it_i13_i38_k11() {
    let mut story = Story::helper();
    story.says("t", "go");
    story.settles_down();
    story.replies(calls(&[("x", "look", "{}")]));
    story.until("tool.execute");
    story.answers(json!({"actions": [ask("q")]}));
    assert_eq!(story.last("session.interrupted")["call"], json!({"id": "x", "attempt": 1}));
    assert_eq!(story.call("x").status.name(), "pending");
    story.resumes("q", json!("yes"));
    assert_eq!(story.asked()["proposed"], json!({}), "I-37: the call will prompt the model");
    story.answers(json!({"actions": [{"type": "tool.result", "content": [{"type": "text", "text": "allowed"}]}]}));
    story.settles_down();
    assert_eq!(story.path().last().map(String::as_str), Some("tool: allowed"));
}

#[test]
fn raised_again_it_remembers_the_call_of_the_one_before_q6_i61() {
    let mut story = Story::helper();
    story.says("t", "go");
    story.settles_down();
    story.replies(calls(&[("x", "look", "{}")]));
    story.until("tool.execute");
    story.answers(json!({"actions": [ask("q")]}));
    story.resumes("q", json!("maybe"));
    story.answers(json!({"actions": [ask("q2")]}));
    assert_eq!(story.last("session.interrupted")["call"], json!({"id": "x", "attempt": 1}));
    story.resumes("q2", json!("yes"));
    story.answers(json!({"actions": [{"type": "tool.error", "error": "no"}]}));
    assert_eq!(story.last("tool.call.errored")["id"], "x");
}

#[test]
fn a_settle_without_id_is_malformed_for_an_interrupt_raised_elsewhere_i38() {
    let mut story = Story::of("script");
    story.opens("t", &[("x", "slow", "{}")]);
    story.raises("q");
    story.resumes("q", json!(1));
    story.answers(json!({"actions": [{"type": "tool.result", "content": []}]}));
    assert_eq!(story.last("turn.completed")["error"]["code"], "invalid_response", "however many calls are open");
}

#[test]
fn a_model_call_asked_for_beside_an_interrupt_is_voided_in_either_order_i14() {
    for actions in [json!([ask("q"), {"type": "llm.call"}]), json!([{"type": "llm.call"}, ask("q")])] {
        let mut story = Story::helper();
        story.says("t", "hold");
        let asked = story.until("client.messages");
        story.skip();
        let mut answer = instead(&asked, actions.clone());
        answer["actions"].as_array_mut().expect("a list").push(json!({"type": "tool.call", "id": "x", "name": "slow"}));
        story.answers(answer);
        let mut wrote = story.wrote();
        assert_eq!(wrote.pop().as_deref(), Some("call.voided model"), "once the whole response is applied");
        assert_eq!(wrote.iter().filter(|line| line.as_str() == "llm.call.requested").count(), 1);
        assert_eq!(story.call("x").status.name(), "queued", "other calls wait for the resume");
        story.resumes("q", json!(1));
        assert_eq!(story.call("x").status.name(), "pending");
    }
}

#[test]
fn raising_voids_the_model_calls_of_the_paused_branch_i15() {
    let mut story = Story::helper();
    story.says("t", "hi");
    story.settles_down();
    let (call, attempt) = story.model_call();
    story.skip();
    story.raises("q");
    story.expect(&["session.interrupted q", "call.voided model"]);
    let late = Command::LlmCompleted { call, attempt, response: text("late"), script_reply: None };
    story.does(late).expect("ignored");
    story.expect(&[]);
    story.resumes("q", json!(1));
    story.accepts();
    story.replies(text("Fresh."));
    story.settles_down();
    assert_eq!(story.path(), ["user: hi", "assistant: Fresh."]);
}

#[test]
fn a_model_call_waiting_for_its_retry_is_voided_too_i15() {
    let mut story = Story::solo();
    story.says("t", "hi");
    story.model_fails(true, None);
    story.raises("q");
    story.advance(10_000);
    assert!(!story.model_runs());
    assert_eq!(story.last("call.voided")["kind"], "llm_call");
}

#[test]
fn results_are_recorded_at_once_and_what_follows_is_held_i17_i18_i19_i20() {
    let mut story = Story::helper();
    story.opens("t", &[("a", "slow", "{}"), ("b", "slow", "{}")]);
    story.raises("q");
    story.skip();
    story.settles("b", "B");
    story.settles("a", "A");
    story.expect(&["tool.call.completed b", "decision.queued tool.finished", "tool.call.completed a", "decision.queued tool.finished"]);
    assert_eq!(story.asked_kind(), None, "I-19: held");
    story.resumes("q", json!(1));
    assert_eq!(story.asked_kind(), Some("interrupt.resumed"), "I-20: the answer first");
    assert_eq!(story.asked()["proposed"], json!({}), "I-37: the calls that ended will prompt the model");
    story.accepts();
    assert_eq!(story.asked()["trigger"]["id"], "b", "then in order of arrival");
    story.settles_down();
    assert_eq!(story.path()[2..], ["tool: B", "tool: A"]);
    assert!(story.model_runs());
}

#[test]
fn a_live_decision_returned_by_a_pause_is_delivered_again_behind_the_answer_i22_q58() {
    let mut story = Story::helper();
    story.chats("t0", "start", "Hello.");
    story.says("t", "hi");
    let live = story.s().live().map(|d| (d.id.clone(), d.attempts)).expect("live");
    story.skip();
    story.raises("q");
    story.expect(&["session.interrupted q"]);
    let late = Command::Answered { decision: live.0.clone(), attempt: Some(live.1), response: json!({"messages": [], "state": 9}) };
    story.does(late).expect("P-6: no error");
    story.does(Command::Answered { decision: live.0.clone(), attempt: None, response: json!({"state": 9}) }).expect("P-6");
    story.expect(&[]);
    story.resumes("q", json!(1));
    assert_eq!(story.asked_kind(), Some("interrupt.resumed"));
    assert_eq!(story.asked()["proposed"], json!({}), "the message behind it will prompt the model");
    story.accepts();
    let asked = story.asked();
    assert_eq!(
        (&asked["trigger"]["type"], &asked["attempts"], &asked["decision_id"]),
        (&json!("client.messages"), &json!(2), &json!(live.0))
    );
    story.settles_down();
    story.replies(text("Hi."));
    story.settles_down();
    assert_eq!(story.path(), ["user: start", "assistant: Hello.", "user: hi", "assistant: Hi."]);
    assert_eq!(story.all("llm.call.requested").len(), 2, "one question, one model call");
}

#[test]
fn a_returned_decision_has_its_whole_time_again_i22_i25() {
    let mut story = Story::helper();
    story.chats("t0", "start", "Hello.");
    story.says("t", "hi");
    story.raises("q");
    story.advance(24 * 3_600_000);
    story.resumes("q", json!(1));
    story.accepts();
    story.worker_fails(holdpoint_core::message::ErrorCode::WorkerUnreachable, true);
    assert_eq!(story.turn(), Some("t"), "a day of waiting for a person is not the worker's");
    story.advance(30_000);
    assert_eq!(story.asked_kind(), Some("client.messages"));
}

#[test]
fn a_decision_waiting_for_its_retry_has_its_whole_time_again_behind_a_pause_i25() {
    let mut story = Story::helper();
    story.chats("t0", "start", "Hello.");
    story.says("t", "hi");
    story.worker_fails(holdpoint_core::message::ErrorCode::WorkerUnreachable, true);
    story.raises("q");
    story.advance(24 * 3_600_000);
    story.resumes("q", json!(1));
    story.accepts();
    assert_eq!(story.asked_kind(), Some("client.messages"));
    story.worker_fails(holdpoint_core::message::ErrorCode::WorkerUnreachable, true);
    assert_eq!(story.turn(), Some("t"));
}

#[test]
fn a_held_reply_of_the_model_is_used_instead_of_a_second_call_i37() {
    let mut story = Story::helper();
    story.says("t", "hi");
    story.settles_down();
    story.replies(text("Hello."));
    assert_eq!(story.asked_kind(), Some("llm.finished"));
    story.raises("q");
    story.resumes("q", json!(1));
    assert_eq!(story.asked()["proposed"], json!({}));
    story.settles_down();
    assert_eq!((story.path(), story.turn()), (vec!["user: hi".to_owned(), "assistant: Hello.".to_owned()], None));
}

#[test]
fn while_paused_messages_are_refused_and_answers_pass_i26_i27_i28_i31_n15() {
    let mut story = Story::helper();
    story.opens("t", &[("c", "pick", "{}")]);
    story.raises("q");
    story.skip();
    let longer = [story.seen(), vec![user("x", "x")]].concat();
    for result in [
        story.append(None, vec![user("x", "x")], false),
        story.append(None, vec![user("x", "x")], true),
        story.append(None, vec![tool_message("m", "c", "blue"), user("x", "x")], true),
        story.view(None, longer),
    ] {
        let refusal = refused(result, Code::SessionInterrupted);
        assert_eq!((refusal.interrupt_ids, refusal.turn_id), (vec!["q".into()], Some("t".into())));
    }
    story.expect(&[]);
    let answer = story.append(None, vec![tool_message("m", "c", "blue")], false).expect("it answers an open client call");
    assert_eq!(answer.turn_id, Some("t".into()));
    story.expect(&["tool.call.completed c", "decision.queued tool.finished"]);
    story.acts("look");
    assert_eq!(story.asked_kind(), Some("client.action"), "I-32: at once");
}

#[test]
fn a_view_that_answers_a_client_call_passes_a_pause_without_anchor_i28_q64() {
    let mut story = Story::helper();
    story.says("t", "hi");
    story.answers(json!({"actions": [ask("q")]}));
    story.acts("begin");
    story.answers(json!({
        "messages": [{"id": "u", "role": "user", "content": "go"},
            {"id": "a", "role": "assistant", "tool_calls": [{"id": "c", "type": "function", "function": {"name": "pick", "arguments": "{}"}}]}],
        "agent": {"model": "m", "llm": "main", "tools": [{"name": "pick", "handler": "client"}]},
        "actions": [{"type": "tool.call", "id": "c", "name": "pick", "arguments": {}}]}));
    let view = [story.seen(), vec![tool_message("m", "c", "blue")]].concat();
    story.view(None, view.clone()).expect("Q-64: it only answers");
    refused(story.view(None, [view, vec![user("x", "x")]].concat()), Code::SessionInterrupted);
}

#[test]
fn queued_before_the_pause_waits_for_the_end_of_the_paused_turn_i27() {
    let mut story = Story::solo();
    story.says("t", "one");
    story.queues("q1", "two");
    story.raises("q");
    assert_eq!(story.turn(), Some("t"));
    story.resumes("q", json!(1));
    assert_eq!(story.turn(), Some("t"));
    story.replies(text("First."));
    assert_eq!(story.turn(), Some("q1"));
}

#[test]
fn a_second_resume_writes_nothing_and_says_who_was_first_i36_i62_i101() {
    let mut story = held(Story::helper());
    let channel = Caller { channel: Some(json!({"channel": "desktop"})), ..frontend() };
    let payload = json!({"approved": false, "responder": {"channel": "desktop", "user": "ann"}});
    let first = story.resume_as(channel, "q", Some(payload.clone()), None).expect("closes");
    assert_eq!((first.resumed, first.turn_id), (Some(true), Some("t".into())));
    story.skip();
    let second = story.resume_as(frontend(), "q", Some(json!(2)), Some("a hash".into())).expect("I-90: no hash is checked");
    assert_eq!((second.resumed, second.turn_id), (Some(false), Some("t".into())));
    let closed = second.closed.expect("I-101");
    assert_eq!(
        (closed.at, closed.outcome, closed.responder),
        (story.now, Outcome::Declined, Some(json!({"channel": "desktop", "user": "ann"})))
    );
    assert_eq!(story.resume_as(frontend(), "never", None, None).map(|r| (r.resumed, r.closed)), Ok((Some(false), None)));
    story.expect(&[]);
}

#[test]
fn falsy_answers_are_answers_and_an_absent_one_stays_absent_i101_q56() {
    for payload in [Some(json!(false)), Some(json!(0)), Some(json!("")), Some(json!({})), Some(json!([])), Some(json!(null)), None] {
        let mut story = held(Story::helper());
        story.resume_as(frontend(), "q", payload.clone(), None).expect("an answer like any other");
        assert_eq!(story.last("session.interrupt_resumed").get("payload"), payload.as_ref());
        assert_eq!(story.asked()["trigger"].get("payload"), payload.as_ref());
    }
}

#[test]
fn two_answers_are_delivered_in_order_of_closing_and_the_last_prompts_i39() {
    let mut story = Story::helper();
    story.says("t", "hold");
    let asked = story.until("client.messages");
    story.answers(instead(&asked, json!([ask("a"), ask("b"), ask("c")])));
    story.resumes("c", json!("C"));
    assert_eq!((story.asked_kind(), story.status()), (None, "interrupted"));
    story.resumes("a", json!("A"));
    assert_eq!(story.asked_kind(), None);
    story.resumes("b", json!("B"));
    for (id, proposed) in [("c", json!({})), ("a", json!({})), ("b", json!({"actions": [{"type": "llm.call"}]}))] {
        assert_eq!(story.asked()["trigger"]["interrupt_id"], id);
        assert_eq!(story.asked()["proposed"], proposed, "{id}");
        story.accepts();
    }
    assert_eq!(story.all("llm.call.requested").len(), 1);
    story.replies(text("Fine."));
    story.settles_down();
    assert_eq!(story.turn(), None);
}

#[test]
fn the_hash_of_what_was_shown_binds_the_answer_i88_i89_i92() {
    let mut story = held(Story::helper());
    refused(story.resume_as(frontend(), "q", Some(json!(1)), Some("0".repeat(64))), Code::InterruptChanged);
    assert_eq!(story.open_interrupts(), ["q"], "it stays open");
    let hash = shown_hash("q", "check", None);
    story.resume_as(frontend(), "q", Some(json!(1)), Some(hash.clone())).expect("what was shown");
    let closed = story.last("session.interrupt_resumed");
    assert_eq!((&closed["verification"], &closed["shown_hash"]), (&json!("verified"), &json!(hash)));
    let mut other = held(Story::helper());
    other.resumes("q", json!(1));
    let closed = other.last("session.interrupt_resumed");
    assert_eq!((&closed["verification"], closed.get("shown_hash")), (&json!("unverified"), None));
}

#[test]
fn a_responder_in_an_api_payload_is_removed_and_nothing_else_i58() {
    let mut story = held(Story::helper());
    story.resumes("q", json!({"responder": {"channel": "slack"}, "status": "resolved", "deep": {"responder": 1}}));
    assert_eq!(story.asked()["trigger"]["payload"], json!({"status": "resolved", "deep": {"responder": 1}}));
}

fn answer(story: &mut Story, answer: Answer) -> Result<Option<bool>, Code> {
    let responder = Responder { channel: "pager".into(), user: None };
    let input = Input::Answer { interrupt_id: "q".into(), answer, responder, shown_hash: None };
    story.input(machine(), input).map(|receipt| receipt.resumed).map_err(|refusal| refusal.code)
}

#[test]
fn an_option_is_delivered_wrapped_with_its_responder_i56_i57_i59_i61_q5() {
    let mut story = Story::helper();
    story.says("t", "hold");
    let asked = story.until("client.messages");
    let options = json!([{"label": "Ship", "value": {"go": true}, "style": "primary"}]);
    let question =
        json!({"type": "interrupt", "interrupt_id": "q", "reason": "r", "payload": {"message": "Ship?", "metadata": {"options": options}}});
    story.answers(instead(&asked, json!([question])));
    assert_eq!(answer(&mut story, Answer::Option { index: 7, text: None }), Err(Code::InvalidRequest));
    assert_eq!(answer(&mut story, Answer::Option { index: 0, text: None }), Ok(Some(true)));
    let whole =
        json!({"status": "resolved", "payload": {"go": true}, "responder": {"channel": "pager", "label": "Ship", "style": "primary"}});
    assert_eq!(story.asked()["trigger"]["payload"], whole);
}

#[test]
fn a_bare_answer_keeps_its_responder_in_the_event_only_i63_i95() {
    let mut story = Story::helper();
    story.says("t", "hold");
    let asked = story.until("client.messages");
    let question = json!({"type": "interrupt", "interrupt_id": "q", "reason": "r", "payload": {"message": "Ship?"}});
    story.answers(instead(&asked, json!([question])));
    assert_eq!(answer(&mut story, Answer::Option { index: 1, text: None }), Ok(Some(true)));
    let closed = story.last("session.interrupt_resumed");
    assert_eq!(closed["payload"], json!({"approved": false}));
    assert_eq!(closed["responder"], json!({"channel": "pager", "label": "Decline", "style": "danger"}));
    assert_eq!(story.asked()["trigger"], json!({"type": "interrupt.resumed", "interrupt_id": "q", "payload": {"approved": false}}));
}

#[test]
fn a_person_may_withdraw_from_a_question_i99() {
    let mut story = held(Story::helper());
    assert_eq!(answer(&mut story, Answer::Cancel), Ok(Some(true)));
    assert_eq!(story.asked()["trigger"]["payload"], json!({"status": "cancelled"}));
    assert_eq!(story.turn(), Some("t"), "it is an answer, no cancel of the run");
}

#[test]
fn a_worker_clears_its_own_interrupt_i44_i46_i47() {
    let mut story = held(Story::helper());
    story.acts("clear");
    let resolve = |id: &str| json!({"type": "interrupt.resolve", "interrupt_id": id, "payload": {"by": "worker"}});
    story.skip();
    story.answers(json!({"actions": [resolve("nobody"), resolve("q")], "state": 1}));
    story.expect(&[
        "decision.completed client.action",
        "worker.state.updated",
        "session.interrupt_resumed q",
        "decision.queued interrupt.resumed",
        "decision.dispatched interrupt.resumed",
    ]);
    assert_eq!(story.last("session.interrupt_resumed").get("verification"), None, "I-92");
    assert_eq!(story.asked()["trigger"]["payload"], json!({"by": "worker"}));
}

#[test]
fn a_worker_cannot_clear_what_needs_more_than_a_machine_i45() {
    let mut story = Story::helper();
    story.chats("t", "hi", "Hello.");
    story.does(raise(Caller::operator(), "o")).expect("raised");
    story.acts("clear");
    story.answers(json!({"actions": [{"type": "interrupt.resolve", "interrupt_id": "o"}], "state": 1}));
    assert_eq!((story.open_interrupts(), story.all("worker.state.updated").len()), (vec!["o"], 1), "the rest stands");
}

#[test]
fn a_pause_without_a_turn_answers_into_a_turn_of_its_own_i76_n7() {
    let mut story = Story::helper();
    story.chats("t", "hi", "Hello.");
    story.raises("q");
    refused(story.append(None, vec![user("x", "x")], false), Code::SessionInterrupted);
    story.resumes("q", json!(1));
    let asked = story.asked();
    assert_eq!((&asked["turn_id"], &asked["proposed"]), (&json!(null), &json!({})));
    let decision = asked["decision_id"].as_str().unwrap_or_default().replace("dec_", "turn_");
    story.answers(json!({"actions": [{"type": "llm.call"}]}));
    assert_eq!(story.turn(), Some(decision.as_str()));
    story.replies(text("Done."));
    story.settles_down();
    assert_eq!(story.turn(), None);
}

#[test]
fn a_pause_without_a_turn_answered_without_work_opens_none_i76() {
    let mut story = Story::solo();
    story.chats("t", "hi", "Hello.");
    story.raises("q");
    story.skip();
    assert_eq!(story.resumes("q", json!(1)).turn_id, None);
    story.expect(&[
        "session.interrupt_resumed q",
        "decision.queued interrupt.resumed",
        "decision.dispatched interrupt.resumed",
        "decision.completed interrupt.resumed",
    ]);
}

#[test]
fn a_pause_stops_the_clocks_of_worker_calls_i77() {
    let mut story = Story::helper();
    story.opens("t", &[("x", "slow", "{}")]);
    story.advance(100_000);
    story.raises("q");
    assert_eq!((story.call("x").deadline(), story.s().wake_at()), (None, None), "I-25: a paused session needs no timer");
    story.advance(24 * 3_600_000);
    assert_eq!(story.call("x").status.name(), "pending");
    story.resumes("q", json!(1));
    let left = |story: &Story| story.call("x").deadline().map(|at| at.0 - story.now.0);
    assert_eq!(left(&story), Some(20_000), "120 s less the 100 that had passed");
    let total = story.call("x").total_deadline().map(|at| at.0 - story.now.0);
    assert_eq!(total, Some(500_000));
    story.accepts();
    story.advance(19_999);
    assert_eq!(story.call("x").status.name(), "pending");
    story.advance(1);
    assert_eq!(story.last("tool.call.errored")["error"]["code"], "deadline_exceeded", "K-15");
}

#[test]
fn an_error_during_a_pause_does_not_count_the_pause_i77_i18() {
    let mut story = Story::helper();
    story.chats("t0", "hi", "Hello.");
    story.acts("begin");
    story.answers(json!({"actions": [{"type": "tool.call", "id": "x", "name": "slow", "retry": {"max_attempts": 2}}]}));
    story.answers(json!({}));
    story.raises("q");
    story.passes(3_600_000);
    let error = Settle::ToolError { id: "x".into(), attempt: None, error: failure("busy"), retryable: true };
    story.settle_as(machine(), error).expect("I-18");
    assert_eq!((story.call("x").status.name(), story.call("x").attempt), ("retry_scheduled", 2), "the total clock stood still");
    story.passes(3_600_000);
    story.resumes("q", json!(1));
    let wait = story.call("x").not_before.map(|at| at.0 - story.now.0);
    assert_eq!(wait, Some(4_000), "K-12: 2^2 s, counted from the error and without the pause");
    story.settles_down();
    story.advance(4_000);
    assert_eq!((story.call("x").status.name(), story.asked_kind()), ("pending", Some("tool.execute")));
}

#[test]
fn a_client_call_has_no_limit_k6() {
    let mut story = Story::solo();
    story.says("t", "go");
    story.replies(calls(&[("c", "pick", "{}")]));
    story.advance(400 * 24 * 3_600_000);
    assert_eq!((story.call("c").status.name(), story.s().wake_at()), ("pending", None));
    assert!(story.all("decision.queued").iter().all(|d| d["trigger"]["type"] != "tool.execute"), "K-6");
}

#[test]
fn done_for_a_paused_branch_is_held_i100() {
    let mut story = Story::helper();
    story.says("t", "hi");
    story.settles_down();
    story.replies(text("Hello."));
    let asked = story.until("llm.finished");
    story.skip();
    story.answers(instead(&asked, json!([ask("q"), {"type": "done", "data": 5}])));
    story.expect(&[
        "decision.completed llm.finished",
        "message.new assistant: Hello.",
        "session.interrupted q",
        "decision.queued turn.finished",
    ]);
    story.resumes("q", json!(1));
    assert_eq!(story.asked_kind(), Some("interrupt.resumed"));
    story.answers(json!({}));
    assert_eq!(story.asked()["trigger"]["data"], 5);
    story.accepts();
    let ended = story.last("turn.completed");
    assert_eq!((&ended["data"], ended.get("error")), (&json!(5), None));
}

#[test]
fn an_unconfigured_agent_asks_for_its_configuration_and_starts_again_i68_p10() {
    let mut story = Story::of("bare");
    story.says("t", "hi");
    let raised = story.last("session.interrupted");
    assert_eq!((&raised["reason"], &raised["payload"]), (&json!("agent_unconfigured"), &json!({"type": "agent.unconfigured"})));
    assert_eq!(story.path(), ["user: hi"], "the message is recorded");
    let first = story.open_interrupts()[0].to_owned();
    story.resumes(&first, json!(1));
    assert_eq!((story.all("session.interrupted").len(), story.open_interrupts().len()), (2, 1), "still none, so it is raised again");
    let solo = story.config.agents["solo"].clone();
    story.config.agents.insert("bare".into(), solo);
    let second = story.open_interrupts()[0].to_owned();
    story.resumes(&second, json!(1));
    assert!(story.model_runs(), "with a config the proposal is llm.call");
    story.replies(text("Hello."));
    assert_eq!((story.turn(), story.path()), (None, vec!["user: hi".to_owned(), "assistant: Hello.".to_owned()]));
}

#[test]
fn an_interrupt_comes_from_every_trigger_i1() {
    for kind in ["session.start", "client.messages", "llm.finished", "tool.execute", "tool.finished", "turn.finished", "interrupt.resumed"]
    {
        let mut story = Story::helper();
        story.says("t", "go");
        let mut asked_once = false;
        for _ in 0..40 {
            if story.model_runs() {
                let reply = if story.path().len() == 1 { calls(&[("x", "look", "{}")]) } else { text("Done.") };
                story.replies(reply);
            }
            match story.asked_kind() {
                Some(asked) if asked == kind && !asked_once => {
                    asked_once = true;
                    let asked = story.asked();
                    story.answers(instead(&asked, json!([ask("r")])));
                }
                Some("tool.execute") => {
                    story.answers(json!({"actions": [{"type": "tool.result", "content": [{"type": "text", "text": "ok"}]}]}));
                }
                Some("tool.finished") if kind == "interrupt.resumed" && story.open_interrupts().is_empty() && !asked_once => {
                    let asked = story.asked();
                    story.answers(instead(&asked, json!([ask("before")])));
                    story.resumes("before", json!(1));
                }
                Some(_) => story.accepts(),
                None if story.status() == "interrupted" => break,
                None => assert!(story.model_runs(), "{kind}: stuck after {:?}", story.wrote().last()),
            }
        }
        assert_eq!(story.open_interrupts(), ["r"], "{kind}");
        story.resumes("r", json!({"from": kind}));
        assert_eq!(story.asked()["trigger"]["payload"], json!({"from": kind}), "{kind}");
    }
}

#[test]
fn an_action_on_a_paused_branch_may_raise_and_its_answer_is_unbound_i32() {
    let mut story = held(Story::helper());
    story.acts("more");
    story.answers(json!({"actions": [ask("q2")]}));
    assert_eq!(story.open_interrupts(), ["q", "q2"]);
    assert_eq!(story.last("session.interrupted").get("call"), None::<&Value>);
    story.resumes("q", json!(1));
    story.resumes("q2", json!(2));
    story.settles_down();
    assert!(story.model_runs());
}

#[test]
fn late_tool_results_after_many_pauses_count_once_d5() {
    let mut story = Story::helper();
    story.opens("t", &[("x", "slow", "{}")]);
    for round in 0..3 {
        story.raises(&format!("q{round}"));
        story.resumes(&format!("q{round}"), json!(round));
        story.settles_down();
    }
    story.settles("x", "ok");
    let again = Settle::ToolResult { id: "x".into(), attempt: None, result: ToolResult::text("x") };
    refused(story.settle_as(machine(), again), Code::EffectNotPending);
    story.settles_down();
    story.replies(text("Done."));
    story.settles_down();
    assert_eq!(story.turn(), None);
}

#[test]
fn a_tool_in_the_workers_hands_is_handed_out_again_after_the_answer_i22_i77() {
    let mut story = Story::helper();
    story.says("t", "go");
    story.settles_down();
    story.replies(calls(&[("x", "look", "{}")]));
    let before = story.until("tool.execute");
    story.passes(5_000);
    story.raises("q");
    assert_eq!(story.asked_kind(), None);
    story.passes(3_600_000);
    story.resumes("q", json!(1));
    assert_eq!(story.asked()["proposed"], json!({}));
    story.accepts();
    let after = story.asked();
    assert_eq!((&after["trigger"]["type"], &after["attempts"]), (&json!("tool.execute"), &json!(2)));
    assert_eq!(after["trigger"]["attempt"], 1, "the call is still at its first attempt");
    assert_eq!(after["trigger"]["deadline"], after["calls"][0]["deadline"], "I-77: moved by the pause");
    assert_ne!(after["trigger"]["deadline"], before["trigger"]["deadline"]);
}

#[test]
fn a_view_with_answers_and_news_waits_behind_the_pause_i28_n10() {
    let mut story = Story::helper();
    story.opens("t", &[("c", "pick", "{}")]);
    story.raises("q");
    let view = [story.seen(), vec![tool_message("m", "c", "blue"), user("u2", "and more")]].concat();
    assert_eq!(story.view(None, view).map(|r| r.turn_id), Ok(Some("t".into())), "it answers an open client call");
    assert_eq!(story.asked_kind(), None);
    story.resumes("q", json!(1));
    story.settles_down();
    assert_eq!(story.path()[2..], ["tool: blue", "user: and more"]);
    assert_eq!(story.all("llm.call.requested").len(), 2, "the model is asked once more, not twice");
}

#[test]
fn an_anchored_pause_holds_every_path_through_it_and_no_other_i5() {
    let mut story = Story::helper();
    story.chats("1", "one", "First.");
    let first = story.seen();
    story.chats("2", "two", "Second.");
    let second = story.seen();
    story.view(None, first.clone()).expect("a switch");
    story.settles_down();
    story.raises("q");
    assert_eq!(story.last("session.interrupted")["anchor"], json!(first[1].id));
    let longer = refused(story.view(None, [second.clone(), vec![user("x", "x")]].concat()), Code::SessionInterrupted);
    assert_eq!(longer.interrupt_ids, ["q".into()], "the longer path holds the anchor too");
    story.view(None, second).expect("T-15");
    assert_eq!(story.status(), "interrupted");
    story.view(Some("t"), vec![first[0].clone(), user("y", "y")]).expect("this one forks above it");
    story.until("client.messages");
    story.accepts();
    assert_eq!(story.status(), "idle");
}

#[test]
fn a_system_message_alone_adds_nothing_to_a_held_branch_t15_p10() {
    let mut story = held(Story::helper());
    let system = holdpoint_core::message::Message {
        id: Some("s".into()),
        ..holdpoint_core::message::Message::new(holdpoint_core::message::Role::System, "Be brief.")
    };
    let view = [vec![system], story.seen()].concat();
    story.skip();
    assert_eq!(story.view(None, view).map(|r| r.turn_id), Ok(Some("t".into())));
    story.expect(&[]);
}

#[test]
fn owners_machines_and_operators_raise_and_strangers_do_not_i11_q8() {
    let mut story = Story::solo();
    story.chats("t", "hi", "Hello.");
    refused(story.does(raise(crate::story::stranger(), "s")), Code::AccessDenied);
    for (caller, id) in [(frontend(), "f"), (machine(), "m"), (Caller::operator(), "o")] {
        assert_eq!(story.does(raise(caller, id)).map(|receipt| receipt.interrupt_id), Ok(Some(id.into())));
    }
    assert_eq!(story.open_interrupts(), ["f", "m", "o"]);
}

#[test]
fn decisions_that_land_elsewhere_pass_the_held_ones_i21() {
    let mut story = Story::helper();
    story.opens("t", &[("x", "slow", "{}")]);
    story.raises("q");
    story.settles("x", "X");
    story.acts("one");
    assert_eq!((story.asked_kind(), story.waiting()), (Some("client.action"), vec!["tool.finished".to_owned()]));
    story.answers(json!({}));
    assert_eq!(story.waiting(), ["tool.finished"]);
}

#[test]
fn closed_questions_tell_their_outcome_i85_i86_q7() {
    let cases = [
        (json!({"approved": true}), Outcome::Answered),
        (json!({"approved": false}), Outcome::Declined),
        (json!({"status": "resolved", "payload": {"approved": false}}), Outcome::Declined),
        (json!({"status": "resolved", "declined": true}), Outcome::Declined),
        (json!({"status": "cancelled", "declined": true}), Outcome::Cancelled),
        (json!(false), Outcome::Answered),
    ];
    for (payload, outcome) in cases {
        let mut story = held(Story::helper());
        story.resumes("q", payload.clone());
        assert_eq!(story.s().closed[&holdpoint_core::id::InterruptId::from("q")].outcome, outcome, "{payload}");
    }
}

#[test]
fn a_pause_of_the_system_has_no_anchor_and_holds_every_branch_i7_i78_i79() {
    use holdpoint_core::budget::{Budget, Scope};
    use holdpoint_core::money::Money;

    let usd = |text: &str| Money::parse(text).expect("an amount");
    let mut story = Story::helper();
    story.chats("t", "hi", "Hello.");
    story.budget = Budget { session: Some(Scope { limit: usd("1"), spent: usd("1"), allowance: usd("1") }), tenant: None };
    story.says("t2", "more");
    story.settles_down();
    let raised = story.last("session.interrupted");
    assert_eq!((&raised["interrupt_id"], &raised["origin"]), (&json!("budget:session"), &json!("system")));
    assert_eq!(raised.get("anchor"), None, "I-7: whatever the tree holds");
    assert_eq!(story.status(), "interrupted");
    refused(story.view(None, vec![user("elsewhere", "from the start")]), Code::SessionInterrupted);
    refused(story.append(None, vec![user("u3", "on")], false), Code::SessionInterrupted);
}

#[test]
fn a_question_travels_as_it_was_asked_whatever_its_reason_i54_i55() {
    let payload = json!({
        "message": "Ship it?",
        "toolCallId": "call_9",
        "responseSchema": {"type": "object", "properties": {"by": {"type": "string"}}},
        "expiresAt": "2031-01-01T00:00:00.000Z",
        "metadata": {"x": [1, {"deep": null}], "risk": "low", "com.example/own": true},
    });
    for reason in ["tool_call", "input_required", "confirmation", "com.example:four-eyes"] {
        let mut story = Story::helper();
        story.says("t", "hold");
        let asked = story.until("client.messages");
        let question = json!({"type": "interrupt", "interrupt_id": "q", "reason": reason, "payload": payload});
        story.answers(instead(&asked, json!([question])));
        let open = story.s().interrupt("q").expect("it is open");
        assert_eq!((open.reason.as_str(), open.payload.as_ref()), (reason, Some(&payload)), "I-54, I-55");
        assert_eq!(story.last("session.interrupted")["payload"], payload);
        story.resumes("q", json!({"by": "ann"}));
        assert_eq!(story.asked()["trigger"]["payload"], json!({"by": "ann"}));
    }
}

#[test]
fn a_wrapped_answer_is_resolved_or_cancelled_i60_i99() {
    let payload = json!({"message": "?", "metadata": {"options": [{"label": "Yes", "value": 1, "style": "danger"}]}});
    for (answer, status) in [(Answer::Option { index: 0, text: None }, "resolved"), (Answer::Cancel, "cancelled")] {
        let mut story = Story::solo();
        story.chats("t", "hi", "Hello.");
        let raise =
            Command::Raise { caller: machine(), interrupt_id: Some("q".into()), reason: "r".into(), payload: Some(payload.clone()) };
        story.does(raise).expect("raised");
        let responder = Responder { channel: "cli".into(), user: None };
        let input = Input::Answer { interrupt_id: "q".into(), answer, responder, shown_hash: None };
        story.input(machine(), input).expect("taken");
        assert_eq!(story.last("session.interrupt_resumed")["payload"]["status"], status);
    }
}

#[test]
fn a_question_whose_time_is_over_stays_open_and_takes_an_answer_i84() {
    let mut story = Story::solo();
    story.chats("t", "hi", "Hello.");
    let payload = Some(json!({"message": "Today?", "expiresAt": story.now.plus(60_000)}));
    story.does(Command::Raise { caller: frontend(), interrupt_id: Some("q".into()), reason: "r".into(), payload }).expect("raised");
    assert_eq!(story.s().wake_at(), None, "nobody waits for that moment");
    story.skip();
    story.advance(3_600_000);
    story.expect(&[]);
    assert_eq!(story.open_interrupts(), ["q"]);
    assert_eq!(story.resumes("q", json!(true)).resumed, Some(true));
    assert_eq!(story.s().closed[&holdpoint_core::id::InterruptId::from("q")].outcome, Outcome::Answered, "like any other");
}
