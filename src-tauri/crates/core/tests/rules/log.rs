//! Event log (§2) and basics (§1).

use holdpoint_core::rejection::Code;
use serde_json::json;

use crate::story::{Story, calls, frontend, refused, settle_result, stranger, text, user};

#[test]
fn a_plain_turn_with_one_worker_tool_writes_this_order_e11_q17() {
    let mut story = Story::helper();
    story.says("t", "go");
    story.settles_down();
    story.replies(calls(&[("x", "look", "{}")]));
    story.until("tool.execute");
    story.answers(json!({"actions": [{"type": "tool.result", "result": {"content": [{"type": "text", "text": "seen"}]}}]}));
    story.settles_down();
    story.replies(text("Done."));
    story.settles_down();
    story.expect(&[
        "session.created",
        "decision.queued session.start",
        "decision.queued client.messages",
        "decision.dispatched session.start",
        "decision.completed session.start",
        "agent.updated",
        "turn.started t",
        "decision.dispatched client.messages",
        "decision.completed client.messages",
        "message.new user: go",
        "llm.call.requested",
        "llm.call.dispatched",
        "llm.call.completed",
        "decision.queued llm.finished",
        "decision.dispatched llm.finished",
        "decision.completed llm.finished",
        "message.new assistant asks x",
        "tool.call.requested x",
        "tool.call.dispatched x",
        "decision.queued tool.execute",
        "decision.dispatched tool.execute",
        "decision.completed tool.execute",
        "tool.call.completed x",
        "decision.queued tool.finished",
        "decision.dispatched tool.finished",
        "decision.completed tool.finished",
        "message.new tool: seen",
        "llm.call.requested",
        "llm.call.dispatched",
        "llm.call.completed",
        "decision.queued llm.finished",
        "decision.dispatched llm.finished",
        "decision.completed llm.finished",
        "message.new assistant: Done.",
        "decision.queued turn.finished",
        "decision.dispatched turn.finished",
        "decision.completed turn.finished",
        "turn.completed t",
        "session.done",
    ]);
}

#[test]
fn without_a_worker_the_engine_accepts_its_own_plan_in_the_same_order_p4() {
    let (mut with, mut without) = (Story::helper(), Story::solo());
    with.chats("t", "hi", "Hello.");
    without.chats("t", "hi", "Hello.");
    assert_eq!(with.wrote(), without.wrote());
    assert_eq!(without.path(), ["user: hi", "assistant: Hello."]);
}

#[test]
fn a_queued_turn_starts_in_the_transaction_that_ends_the_one_before_e12() {
    let mut story = Story::solo();
    story.says("t", "one");
    assert!(story.queues("q", "two").queued);
    story.skip();
    story.replies(text("First."));
    let wrote = story.wrote();
    let at = wrote.iter().position(|line| line == "turn.completed t").expect("the turn ends");
    assert_eq!(wrote[at..at + 4], ["turn.completed t", "session.done", "turn.started q", "decision.dispatched client.messages"]);
    assert_eq!(story.path(), ["user: one", "assistant: First.", "user: two"], "N-4: it sees the reply it waited for");
}

#[test]
fn events_carry_the_turn_of_their_call_or_decision_e5() {
    let mut story = Story::helper();
    story.says("t", "hold");
    story.settles_down();
    story.replies(calls(&[("x", "slow", "{}")]));
    story.until("tool.execute");
    story.answers(json!({"actions": [{"type": "interrupt", "interrupt_id": "q", "reason": "check"}]}));
    // Away from the held branch: its call is parked, and a late result carries its own turn.
    story.view(Some("t2"), vec![user("u_2", "elsewhere")]).expect("the view escapes");
    story.until("client.messages");
    story.accepts();
    assert_eq!(story.turn(), Some("t2"));
    story.settles("x", "late");
    let late = story.log.iter().rev().find(|event| event.payload.kind() == "tool.call.completed").expect("recorded");
    assert_eq!(late.turn_id.as_ref().map(holdpoint_core::id::TurnId::as_str), Some("t"));
}

#[test]
fn events_of_no_turn_carry_none_e5() {
    let mut story = Story::solo();
    story.chats("t", "hi", "Hello.");
    let first = &story.log[0];
    assert_eq!((first.payload.kind(), &first.turn_id), ("session.created", &None));
    let last = story.log.last().expect("events");
    assert_eq!((last.payload.kind(), &last.turn_id), ("session.done", &None));
    assert!(
        story
            .log
            .iter()
            .filter(|e| e.payload.kind().starts_with("llm.call"))
            .all(|e| e.turn_id.as_ref().is_some_and(|t| t.as_str() == "t"))
    );
}

#[test]
fn only_the_owner_acts_as_a_frontend_b9_n8_c3() {
    let mut story = Story::helper();
    story.opens("t", &[("x", "pick", "{}")]);
    refused(story.settle_as(stranger(), settle_result("x", "mine")), Code::AccessDenied);
    refused(story.resume_as(stranger(), "q", None, None), Code::AccessDenied);
    let append = holdpoint_core::command::Input::Append {
        turn_id: None,
        messages: vec![user("u_9", "mine")],
        stream: None,
        client: None,
        queue: true,
    };
    refused(story.input(stranger(), append), Code::AccessDenied);
    story.settle_as(frontend(), settle_result("x", "blue")).expect("the owner may");
}

#[test]
fn a_tool_call_id_left_out_or_used_before_is_replaced_b13() {
    let mut story = Story::solo();
    story.says("one", "go");
    story.replies(calls(&[("same", "pick", "{}")]));
    story.settles("same", "ok");
    story.replies(text("Fine."));
    story.says("two", "again");
    story.replies(calls(&[("same", "pick", "{}"), ("", "pick", "{}"), ("new", "pick", "{}"), ("new", "pick", "{}")]));
    let ids: Vec<String> = story.all("tool.call.requested").iter().map(|call| call["id"].as_str().unwrap_or_default().to_owned()).collect();
    assert_eq!((ids.len(), ids[0].as_str(), ids[3].as_str()), (5, "same", "new"));
    for fresh in [&ids[1], &ids[2], &ids[4]] {
        assert!(fresh.starts_with("call_") && fresh.len() == 31, "B-2: {fresh}");
    }
    let distinct: std::collections::HashSet<_> = ids.iter().collect();
    assert_eq!(distinct.len(), 5);
    assert_eq!(
        story.path().last().map(String::as_str),
        Some(format!("assistant asks {} {} {} {}", ids[1], ids[2], ids[3], ids[4]).as_str())
    );
}

#[test]
fn the_status_tells_only_of_a_paused_head_b10_b11() {
    let mut story = Story::solo();
    story.says("t", "hi");
    assert_eq!((story.status(), story.turn()), ("idle", Some("t")), "a running turn is seen in turn_id");
    story.raises("q");
    assert_eq!(story.status(), "interrupted");
    story.cancels();
    assert_eq!((story.status(), story.turn()), ("idle", None));
}

#[test]
fn an_event_is_shown_whole_though_the_log_is_lean_e4_e10_q42() {
    let mut story = Story::helper();
    story.chats("t", "hi", "Hello.");
    story.chats("t2", "again", "Hello again.");
    let shown = |kind: &str, tenant: Option<&str>| {
        let event = story.log.iter().rfind(|event| event.payload.kind() == kind).expect("such an event");
        holdpoint_core::envelope::envelope(story.s(), event, tenant)
    };
    let call = shown("llm.call.requested", None);
    let keys: Vec<&str> = call.as_object().into_iter().flatten().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys, ["session_id", "seq", "occurred_at", "turn_id", "payload"]);
    assert_eq!((&call["session_id"], &call["turn_id"]), (&json!(crate::story::ID), &json!("t2")));
    assert_eq!(call["occurred_at"], "2025-10-09T08:53:20.000Z", "B-1");
    let request = &call["payload"]["request"];
    assert_eq!(request["messages"].as_array().map(Vec::len), Some(4), "system prompt, question, reply, question");
    assert_eq!((&request["model"], request["tools"].as_array().map(Vec::len)), (&json!("m"), Some(4)));
    assert!(!call.to_string().contains("null,") && !request.to_string().contains("null"), "Q-42: what is absent is left out: {request}");
    let admin = shown("turn.completed", Some("local"));
    assert_eq!(admin["tenant_id"], "local");
    assert!(admin["id"].as_str().is_some_and(|id| id.starts_with("evt_") && id.len() == 30), "B-2");
    assert_eq!(shown("turn.completed", Some("local"))["id"], admin["id"], "the same event has the same id");
}

#[test]
fn nothing_runs_before_its_event_is_written_e2_d1() {
    let mut story = Story::helper();
    story.says("t", "hi");
    let kinds: Vec<&str> = story.log.iter().map(|event| event.payload.kind()).collect();
    assert_eq!(kinds.last(), Some(&"decision.dispatched"), "what the worker is about to get");
    story.settles_down();
    let (call, attempt) = story.model_call();
    let last = story.last("llm.call.dispatched");
    assert_eq!((&last["id"], &last["attempt"]), (&json!(call), &json!(attempt)));
    assert_eq!(story.log.last().map(|event| event.payload.kind()), Some("llm.call.dispatched"));
}

#[test]
fn the_tree_is_told_whole_with_all_branches_t14() {
    let mut story = Story::solo();
    story.chats("1", "one", "First.");
    let first = story.seen();
    story.chats("2", "two", "Second.");
    story.view(Some("3"), [first, vec![user("f", "fork")]].concat()).expect("an edit");
    let tree = holdpoint_core::request::tree_json(story.s());
    assert_eq!((tree["nodes"].as_array().map(Vec::len), &tree["head_id"]), (Some(5), &json!("f")));
    assert_eq!(tree["nodes"][0], json!({"message": {"id": "u_1", "role": "user", "content": "one"}}), "a root has no parent_id");
}

#[test]
fn each_refusal_has_its_status_n12_n13() {
    let table = [
        (Code::SessionInterrupted, 409, "session_interrupted"),
        (Code::TurnAlreadyActive, 409, "turn_already_active"),
        (Code::EffectNotFound, 404, "effect_not_found"),
        (Code::EffectNotPending, 409, "effect_not_pending"),
        (Code::EffectAttemptMismatch, 409, "effect_attempt_mismatch"),
        (Code::EffectWrongHandler, 403, "effect_wrong_handler"),
        (Code::AccessDenied, 403, "access_denied"),
        (Code::SessionNotFound, 404, "session_not_found"),
        (Code::InterruptChanged, 409, "interrupt_changed"),
        (Code::InvalidId, 400, "invalid_id"),
        (Code::InvalidRequest, 400, "invalid_request"),
        (Code::ChildSession, 409, "child_session"),
        (Code::Unauthenticated, 401, "unauthenticated"),
    ];
    for (code, status, name) in table {
        assert_eq!((code.http_status(), json!(code)), (status, json!(name)));
    }
}
