//! Delegations as one session sees them: asked for, begun, ended, refused, detached, cancelled (§8, C-8, C-32).

use holdpoint_core::command::{ChildEnd, Command};
use holdpoint_core::delegate::turn_of;
use holdpoint_core::event::CallKind;
use holdpoint_core::id::SessionId;
use holdpoint_core::message::{ErrorCode, ErrorInfo};
use holdpoint_core::money::Money;
use holdpoint_core::pending::{Effect, pending};
use serde_json::{Value, json};

use crate::story::{Story, calls, text};

/// An agent without a worker that may call `helper`.
fn boss(more: Value) -> Story {
    let mut story = Story::of("solo");
    let agent = story.config.agents.get_mut("solo").and_then(|spec| spec.config.as_mut()).expect("solo has a config");
    agent.other.insert("subagents".into(), json!(["agent.helper"]));
    for (key, value) in more.as_object().into_iter().flatten() {
        agent.other.insert(key.clone(), value.clone());
    }
    story.config.max_subagent_depth = 5;
    story
}

/// A turn whose model hands a task over under the call `d`.
fn handed_over(more: Value) -> Story {
    let mut story = boss(more);
    story.says("t", "go");
    story.replies(calls(&[("d", "helper", r#"{"message":"Find it"}"#)]));
    story
}

fn child(story: &Story) -> SessionId {
    story.last("subagent.requested")["session_id"].as_str().expect("a child").into()
}

fn started(story: &mut Story) {
    story.does(Command::ChildStarted { call: "d".into() }).expect("the child exists");
}

fn ended(story: &mut Story, end: ChildEnd) {
    story.does(Command::ChildEnded { call: "d".into(), end }).expect("a report");
}

fn found() -> ChildEnd {
    ChildEnd { data: Some(json!("It is here.")), cost: Money::parse("0.2").expect("an amount"), ..ChildEnd::default() }
}

#[test]
fn a_delegate_is_a_tool_and_its_message_travels_with_the_spawn_s1_s2_s3_s4() {
    let story = handed_over(json!({}));
    let requested = story.last("subagent.requested");
    assert_eq!(
        (&requested["agent_id"], &requested["message"], &requested["mode"]),
        (&json!("helper"), &json!("Find it"), &json!("blocking"))
    );
    assert!(holdpoint_core::id::is_session_id(child(&story).as_str()), "S-3");
    assert_eq!(pending(story.s()), [Effect::Spawn { call: "d".into(), attempt: 1 }]);
}

#[test]
fn its_end_is_recorded_with_its_session_and_its_cost_is_the_turns_s5_s15() {
    let mut story = handed_over(json!({}));
    started(&mut story);
    assert_eq!(pending(story.s()), [Effect::AwaitChild { call: "d".into() }], "S-15: once it exists, only its end is waited for");
    ended(&mut story, found());
    let session = child(&story);
    assert_eq!(story.path().last(), Some(&format!("tool: {}", json!({"session": session, "result": "It is here."}))));
    story.replies(text("Done."));
    assert_eq!(story.last("turn.completed")["turn_cost"], "0.2");
}

#[test]
fn a_failed_delegate_is_read_as_its_error_c32_s5() {
    let mut story = handed_over(json!({}));
    started(&mut story);
    ended(&mut story, ChildEnd { error: Some(ErrorInfo::new(ErrorCode::Cancelled, "stopped")), ..ChildEnd::default() });
    assert_eq!(story.path().last().map(String::as_str), Some("tool: stopped"));
    assert_eq!(story.last("subagent.turn_completed")["error"]["code"], "cancelled");
    story.replies(calls(&[("again", "helper", &json!({"message": "More", "session": child(&story)}).to_string())]));
    assert_eq!(story.last("subagent.errored")["error"]["code"], "unroutable", "S-18: a stopped child is not continued");
}

#[test]
fn only_an_own_and_idle_child_of_the_same_agent_is_continued_s7() {
    let mut story = handed_over(json!({}));
    started(&mut story);
    ended(&mut story, found());
    story.replies(calls(&[("foreign", "helper", r#"{"message":"More","session":"sesn_01JC7M2K4P6R8T0V2X4Z000000"}"#)]));
    assert_eq!(story.last("subagent.errored")["error"]["code"], "unroutable");
    let first = child_of(&story, "d");
    story.replies(calls(&[("more", "helper", &json!({"message": "More", "session": first}).to_string())]));
    assert_eq!(story.last("subagent.requested")["session_id"], json!(first));
    assert_eq!(pending(story.s()), [Effect::Spawn { call: "more".into(), attempt: 1 }]);
}

fn child_of(story: &Story, call: &str) -> Value {
    let requested = story.all("subagent.requested");
    requested.iter().find(|event| event["id"] == call).map(|event| event["session_id"].clone()).expect("that delegation")
}

#[test]
fn at_the_depth_limit_no_delegate_is_shown_and_a_spawn_names_the_limit_s8() {
    let mut story = boss(json!({"max_subagent_depth": 0}));
    story.says("t", "go");
    assert!(!story.request().tools.iter().flatten().any(|tool| tool.name == "helper"));
    story.replies(calls(&[("d", "helper", r#"{"message":"Find it"}"#)]));
    let error = &story.last("subagent.errored")["error"];
    assert_eq!(error["code"], "budget_exceeded");
    assert!(error["message"].as_str().is_some_and(|message| message.contains('0')), "{error}");
}

#[test]
fn a_detached_call_is_answered_at_once_and_told_later_in_a_turn_of_its_own_s11_q18() {
    let mut story = handed_over(json!({"subagent_mode": "detached"}));
    started(&mut story);
    let session = child(&story);
    assert_eq!(story.last("subagent.turn_completed")["data"], json!({"session": session}), "Q-18");
    let ends = vec![("d".into(), found())];
    story.does(Command::DetachedEnded { ends: ends.clone() }).expect("a report");
    assert_eq!(story.turn(), Some("t"), "a running turn is not disturbed");
    story.replies(text("Later then."));
    story.does(Command::DetachedEnded { ends: ends.clone() }).expect("a report");
    let told = format!(r#"user: <subagent_result agent="helper" session="{session}">It is here.</subagent_result>"#);
    assert_eq!(story.path().last(), Some(&told));
    story.replies(text("Thanks."));
    story.does(Command::DetachedEnded { ends }).expect("a report");
    assert_eq!(story.all("turn.started").len(), 2, "it is told once");
}

#[test]
fn a_paused_parent_records_the_result_and_holds_the_decision_s14() {
    let mut story = handed_over(json!({}));
    started(&mut story);
    story.raises("q");
    ended(&mut story, found());
    assert_eq!(story.all("subagent.turn_completed").len(), 1);
    assert_eq!(story.waiting(), ["subagent.finished"]);
    story.resumes("q", json!(1));
    assert!(story.path().last().is_some_and(|line| line.contains("It is here.")));
}

#[test]
fn a_cancel_voids_the_delegation_and_a_late_end_changes_nothing_c8_c23_s12() {
    let mut story = handed_over(json!({}));
    started(&mut story);
    story.cancels();
    assert_eq!(story.last("call.voided"), json!({"type": "call.voided", "kind": "subagent", "id": "d"}));
    assert_eq!(story.path().last().map(String::as_str), Some("tool: cancelled: the turn ended"));
    let before = story.s().seq;
    ended(&mut story, found());
    assert_eq!(story.s().seq, before, "C-23");
}

#[test]
fn a_cancel_leaves_a_detached_delegate_whose_call_has_settled_c24() {
    let mut story = handed_over(json!({"subagent_mode": "detached"}));
    started(&mut story);
    let of_this_run = |story: &Story| {
        let open = story.s().open_calls().filter(|call| call.kind == holdpoint_core::event::CallKind::Subagent);
        open.filter_map(|call| call.child.clone()).collect::<Vec<_>>()
    };
    assert_eq!(of_this_run(&story), [], "its call is settled, so the cancel has no way down to it");
    story.cancels();
    assert!(!story.all("call.voided").iter().any(|event| event["kind"] == "subagent"));
    assert_eq!(pending(story.s()), [Effect::AwaitDetached { call: "d".into() }], "its result is still waited for");
    story.does(Command::DetachedEnded { ends: vec![("d".into(), found())] }).expect("a report");
    assert!(story.path().last().is_some_and(|line| line.contains("It is here.")), "S-11: and told: {:?}", story.path());
}

#[test]
fn a_child_takes_messages_from_its_parent_only_s17() {
    use holdpoint_core::command::{Caller, Creation, Input};
    use holdpoint_core::event::Rank;
    use holdpoint_core::message::{Message, Role};
    use holdpoint_core::rejection::Code;

    let mut story = Story::helper();
    let parent: SessionId = "sesn_01K74Q9ZZZ0000000000000009".into();
    let hello = |text: &str| vec![Message::new(Role::User, text)];
    let append = |text: &str| Input::Append { turn_id: None, messages: hello(text), stream: None, client: None, queue: false };
    let create = Some(Creation { agent_id: "helper".into(), identity: crate::story::owner(), ancestry: vec![parent], unattended: false });
    let system = Caller { rank: Rank::System, subject: None, channel: None };
    story.does(Command::Input { caller: system, input: append("Find it"), create }).expect("the parent's message");
    story.until("client.messages");
    for caller in [Caller::operator(), crate::story::machine(), crate::story::frontend()] {
        let mut view = story.seen();
        view.extend(hello("more"));
        for input in [
            append("more"),
            Input::View { turn_id: None, messages: view, stream: None, client: None },
            Input::Action { turn_id: None, name: "go".into(), args: None },
        ] {
            crate::story::refused(story.input(caller.clone(), input), Code::ChildSession);
        }
    }
    story.raises("q");
    story.resumes("q", json!(1));
    story.settles_down();
    story.replies(calls(&[("x", "slow", "{}")]));
    story.until("tool.execute");
    story.settles("x", "done");
    assert_eq!(story.cancels().cancelled, Some(true), "S-17: resume, settle and cancel are taken");
}

/// A detached delegate works under the call `d`; the model calls `subagent_wait` for it under `w`.
fn waits(more: Value) -> Story {
    let mut story = handed_over(more);
    started(&mut story);
    let session = child(&story);
    story.replies(calls(&[("w", "subagent_wait", &json!({"session": session}).to_string())]));
    story
}

fn detached() -> Value {
    json!({"subagent_mode": "detached", "subagent_tools": {"wait": true}})
}

#[test]
fn the_tool_that_waits_is_shown_where_the_config_says_so_s10_s11() {
    let names = |more: Value| -> Vec<String> {
        let mut story = boss(more);
        story.says("t", "go");
        story.request().tools.into_iter().flatten().map(|tool| tool.name).collect()
    };
    assert_eq!(names(detached())[4..], ["helper", "subagent_wait"]);
    assert_eq!(names(json!({}))[4..], ["helper"]);
    assert_eq!(names(json!({"subagent_tools": {"strategy": "single", "wait": true}}))[4..], ["subagent", "subagent_wait"]);
    assert_eq!(names(json!({"max_subagent_depth": 0, "subagent_tools": {"wait": true}})).len(), 4, "S-8");
    let deferred = names(json!({"defer_tools": true, "subagent_tools": {"wait": true}}));
    assert_eq!(deferred, ["subagent_wait", "tool_search", "call_tool"], "K-10: it is small, and needed at once");
}

#[test]
fn a_wait_collects_the_result_and_its_cost_and_no_message_tells_it_s10_s11_s5() {
    let mut story = waits(detached());
    let session = child_of(&story, "d");
    let asked = story.last("subagent.requested");
    assert_eq!(
        (&asked["session_id"], &asked["agent_id"], &asked["mode"], asked.get("message")),
        (&session, &json!("helper"), &json!("wait"), None)
    );
    assert_eq!(pending(story.s()), [Effect::AwaitChild { call: "w".into() }], "it runs already, and is told once");
    let wait = story.s().call(CallKind::Subagent, &"w".into()).expect("the wait");
    let work = story.s().call(CallKind::Subagent, &"d".into()).expect("the work");
    assert_eq!(turn_of(story.s(), wait), turn_of(story.s(), work), "the turn that is waited for");
    story.does(Command::DetachedEnded { ends: vec![("d".into(), found())] }).expect("a report");
    story.does(Command::ChildEnded { call: "w".into(), end: found() }).expect("a report");
    assert_eq!(story.path().last(), Some(&format!("tool: {}", json!({"session": session, "result": "It is here."}))));
    story.replies(text("Done."));
    assert_eq!(story.last("turn.completed")["turn_cost"], "0.2");
    assert_eq!(pending(story.s()), []);
    story.does(Command::DetachedEnded { ends: vec![("d".into(), found())] }).expect("a report");
    assert_eq!(story.all("turn.started").len(), 1, "the message is withdrawn");
}

#[test]
fn a_wait_that_has_nothing_to_wait_for_says_so_s7_s11() {
    let mut story = waits(detached());
    let session = child_of(&story, "d");
    let waits = |story: &mut Story, id: &str, arguments: Value| {
        story.replies(calls(&[(id, "subagent_wait", &arguments.to_string())]));
        story.last("subagent.errored")["error"].clone()
    };
    story.does(Command::ChildEnded { call: "w".into(), end: found() }).expect("a report");
    let again = waits(&mut story, "w2", json!({"session": session}));
    assert_eq!(again["code"], "handler_error");
    assert!(again["message"].as_str().is_some_and(|message| message.contains("its result was told")), "{again}");
    assert_eq!(waits(&mut story, "w3", json!({"session": "sesn_01JC7M2K4P6R8T0V2X4Z000000"}))["code"], "unroutable");
    let without = waits(&mut story, "w4", json!({}));
    assert_eq!((&without["code"], &without["param"]), (&json!("invalid_response"), &json!("input")));
    story.replies(calls(&[("more", "helper", &json!({"message": "More", "session": session}).to_string())]));
    assert_eq!(pending(story.s()), [Effect::Spawn { call: "more".into(), attempt: 1 }], "S-7: it can be continued");
}

#[test]
fn two_waits_for_one_delegate_are_one_too_many_s11() {
    let mut story = handed_over(detached());
    started(&mut story);
    let arguments = json!({"session": child(&story)}).to_string();
    story.replies(calls(&[("w", "subagent_wait", &arguments), ("v", "subagent_wait", &arguments)]));
    let error = story.last("subagent.errored");
    assert_eq!((&error["id"], &error["error"]["code"]), (&json!("v"), &json!("handler_error")));
    assert_eq!(pending(story.s()), [Effect::AwaitChild { call: "w".into() }]);
}

#[test]
fn a_wait_that_is_cancelled_or_runs_out_of_time_leaves_the_result_to_be_told_c24_s11_s18() {
    for cancelled in [true, false] {
        let mut story = waits(detached());
        let session = child_of(&story, "d");
        if cancelled {
            story.cancels();
        } else {
            story.advance(3_600_000);
            assert_eq!(story.last("subagent.errored")["error"]["code"], "deadline_exceeded", "S-15");
            story.replies(text("Later then."));
        }
        assert_eq!(pending(story.s()), [Effect::AwaitDetached { call: "d".into() }]);
        story.does(Command::DetachedEnded { ends: vec![("d".into(), found())] }).expect("a report");
        assert!(story.path().last().is_some_and(|line| line.contains("It is here.")), "it is told after all");
        story.replies(calls(&[("more", "helper", &json!({"message": "More", "session": session}).to_string())]));
        assert_eq!(pending(story.s()), [Effect::Spawn { call: "more".into(), attempt: 1 }], "S-18: it was not cancelled itself");
    }
}

#[test]
fn a_worker_may_wait_by_its_own_spawn_and_must_name_a_session_p7_s10() {
    let mut story = Story::helper();
    story.says("t", "go");
    story.settles_down();
    story.replies(calls(&[("c", "look", "{}")]));
    let asked = story.until("tool.execute");
    let spawn = json!({"type": "subagent.spawn", "agent_id": "solo", "tool_call_id": "x", "mode": "wait"});
    story.answers(crate::story::instead(&asked, json!([spawn])));
    let error = &story.last("decision.errored")["error"];
    assert!(error["message"].as_str().is_some_and(|message| message.contains("needs the `session_id`")), "{error}");
}
