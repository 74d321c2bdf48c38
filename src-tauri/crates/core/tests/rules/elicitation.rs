//! What servers ask during a call (§10D): raised, answered, asked again after a restart, and closed with the call.

use holdpoint_core::command::Command;
use holdpoint_core::elicit::{Action, Ask, Question, Reply, replies};
use holdpoint_core::engine_config::ConnectionSpec;
use holdpoint_core::id::{CallId, InterruptId};
use holdpoint_core::message::{ErrorCode, ErrorInfo, ToolResult};
use holdpoint_core::pending::{Effect, pending};
use holdpoint_core::rejection::Code;
use serde_json::{Value, json};

use crate::story::{Story, calls, frontend, machine, refused, text};

const ASKED: &str = "mcp-elicit:c:1";

fn schema() -> Value {
    json!({"type": "object", "properties": {"name": {"type": "string", "minLength": 1}, "age": {"type": "integer"}}, "required": ["name"]})
}

fn form() -> Question {
    Question { message: "Who are you?".into(), ask: Ask::Form(schema()) }
}

fn page() -> Question {
    Question { message: "Sign in".into(), ask: Ask::Url("https://sign.example/in?x=1".into()) }
}

/// A turn whose calls `c` (and `d`) are in the server's hands.
fn calling(list: &[(&str, &str, &str)]) -> Story {
    let mut story = Story::solo();
    story.config.connections.insert("mcp.ask".into(), ConnectionSpec { prefix: Some("ask__".into()), ..ConnectionSpec::default() });
    let config = story.config.agents.get_mut("solo").and_then(|spec| spec.config.as_mut()).expect("an agent with a config");
    config.other.insert("mcp".into(), json!(["mcp.ask"]));
    story.says("t", "go");
    let tools = vec![json!({"name": "one"}), json!({"name": "two", "annotations": {"readOnlyHint": true}})];
    story.does(Command::Fetched { path: "mcp.ask".into(), attempt: 1, tools, instructions: None }).expect("taken");
    story.replies(calls(list));
    story
}

fn one() -> Story {
    calling(&[("c", "ask__one", "{}")])
}

fn asks(story: &mut Story, call: &str, questions: &[Question]) {
    let attempt = story.call(call).attempt;
    story.does(Command::ConnectorAsks { call: call.into(), attempt, questions: questions.to_vec() }).expect("taken");
}

fn ends(story: &mut Story, call: &str, result: &str) {
    let attempt = story.call(call).attempt;
    story.does(Command::ConnectorEnded { call: call.into(), attempt, result: ToolResult::text(result) }).expect("taken");
}

fn fails(story: &mut Story, call: &str, retryable: bool) {
    let error = ErrorInfo::new(ErrorCode::ProviderError, "it ended");
    let attempt = story.call(call).attempt;
    story.does(Command::ConnectorFailed { call: call.into(), attempt, error, retryable, auth: None }).expect("taken");
}

fn runs(story: &Story, call: &str) -> bool {
    pending(story.s()).iter().any(|effect| matches!(effect, Effect::CallTool { call: id, .. } if id.as_str() == call))
}

fn told(story: &Story, question: &Question) -> Option<Reply> {
    replies(story.s(), &CallId::from("c"), std::slice::from_ref(question)).map(|mut all| all.remove(0))
}

fn accepts(content: Value) -> Reply {
    Reply { action: Action::Accept, content: Some(content) }
}

#[test]
fn a_form_is_raised_where_the_call_is_and_the_call_stays_open_m33_i12() {
    let mut story = one();
    asks(&mut story, "c", &[form()]);
    let event = story.last("session.interrupted");
    assert_eq!((&event["interrupt_id"], &event["origin"], &event["reason"]), (&json!(ASKED), &json!("frontend"), &json!("input_required")));
    assert_eq!(event["call"], json!({"id": "c", "attempt": 1}));
    assert_eq!(event["anchor"], json!(story.path_ids().last()));
    let metadata = json!({"type": "mcp.elicitation", "connection": "mcp.ask", "mode": "form"});
    assert_eq!(event["payload"], json!({"message": "Who are you?", "toolCallId": "c", "responseSchema": schema(), "metadata": metadata}));
    assert_eq!((story.status(), story.call("c").status.name()), ("interrupted", "pending"));
    assert!(runs(&story, "c"), "the server still waits");
    assert_eq!(told(&story, &form()), None);
}

#[test]
fn a_page_is_raised_with_its_host_m33() {
    let mut story = one();
    asks(&mut story, "c", &[page()]);
    let metadata = json!({
        "type": "mcp.elicitation", "connection": "mcp.ask", "mode": "url", "url": "https://sign.example/in?x=1", "host": "sign.example",
    });
    assert_eq!(story.last("session.interrupted")["payload"], json!({"message": "Sign in", "toolCallId": "c", "metadata": metadata}));
    story.resume_as(frontend(), ASKED, Some(json!({"status": "resolved"})), None).expect("the owner may answer");
    assert_eq!(told(&story, &page()), Some(Reply { action: Action::Accept, content: None }));
}

#[test]
fn answers_go_to_the_server_and_to_nobody_else_m35_i34() {
    let (bob, none) = (json!({"name": "Bob"}), None::<Value>);
    for (payload, action, content, outcome) in [
        (bob.clone(), Action::Accept, Some(bob.clone()), "Answered"),
        (json!({"status": "resolved", "payload": bob, "responder": {"channel": "desktop"}}), Action::Accept, Some(bob.clone()), "Answered"),
        (json!({"status": "resolved", "declined": true}), Action::Decline, none.clone(), "Declined"),
        (json!({"status": "cancelled"}), Action::Cancel, none, "Cancelled"),
    ] {
        let mut story = one();
        asks(&mut story, "c", &[form()]);
        story.skip();
        let receipt = story.resumes(ASKED, payload);
        assert_eq!((receipt.turn_id.as_ref().map(ToString::to_string), receipt.resumed), (Some("t".into()), Some(true)));
        assert_eq!(story.wrote(), [format!("session.interrupt_resumed {ASKED}")], "M-35: no decision");
        assert_eq!(told(&story, &form()), Some(Reply { action, content }));
        assert_eq!(format!("{:?}", story.s().closed[&InterruptId::from(ASKED)].outcome), outcome, "I-85");
        assert_eq!((story.status(), runs(&story, "c")), ("idle", true));
        ends(&mut story, "c", "thanks");
        assert_eq!(story.path().last().map(String::as_str), Some("tool: thanks"));
        assert!(story.model_runs());
    }
}

#[test]
fn a_value_that_does_not_fit_is_refused_and_the_question_stays_q16() {
    let mut story = one();
    asks(&mut story, "c", &[form()]);
    for wrong in [Some(json!({"age": 3})), Some(json!({"name": ""})), Some(json!("Bob")), Some(json!({"status": "resolved"})), None] {
        let refusal = refused(story.resume_as(machine(), ASKED, wrong.clone(), None), Code::InvalidRequest);
        assert_eq!(refusal.interrupt_ids, [ASKED.into()], "{wrong:?}");
    }
    assert_eq!(story.open_interrupts(), [ASKED]);
    // A responder is a channel's to write, unless the form has such a field.
    story.resumes(ASKED, json!({"name": "Bob", "responder": "me"}));
    assert_eq!(told(&story, &form()), Some(accepts(json!({"name": "Bob"}))));
    let own = json!({"type": "object", "properties": {"responder": {"type": "string"}}, "required": ["responder"]});
    let own = Question { message: "Who answers?".into(), ask: Ask::Form(own) };
    asks(&mut story, "c", std::slice::from_ref(&own));
    story.resumes("mcp-elicit:c:2", json!({"responder": "me"}));
    assert_eq!(told(&story, &own), Some(accepts(json!({"responder": "me"}))));
}

#[test]
fn clocks_stand_still_while_the_question_is_open_m36_k17() {
    let mut story = one();
    story.advance(50_000);
    asks(&mut story, "c", &[form()]);
    assert_eq!(story.s().wake_at(), None, "K-17: no timer");
    story.advance(3_600_000);
    assert_eq!(story.call("c").status.name(), "pending");
    story.resumes(ASKED, json!({"name": "Bob"}));
    story.advance(9_000);
    assert_eq!(story.call("c").attempt, 1, "10 of its 60 seconds were left");
    story.advance(1_000);
    let error = story.last("tool.call.errored");
    assert_eq!((&error["error"]["code"], &error["retryable"]), (&json!("deadline_exceeded"), &json!(true)));
}

#[test]
fn results_of_other_calls_are_held_and_go_on_after_the_answer_m35_i19() {
    let mut story = calling(&[("c", "ask__one", "{}"), ("d", "ask__two", "{}")]);
    asks(&mut story, "c", &[form()]);
    ends(&mut story, "d", "two");
    assert_eq!(story.path().last().map(String::as_str), Some("assistant asks c d"), "I-19: held");
    story.resumes(ASKED, json!({"name": "Bob"}));
    assert_eq!(story.path().last().map(String::as_str), Some("tool: two"));
    ends(&mut story, "c", "one");
    assert!(story.model_runs());
}

#[test]
fn after_a_restart_the_question_is_open_and_its_repeat_is_answered_from_the_log_m37_d3() {
    let mut story = one();
    asks(&mut story, "c", &[form()]);
    story.skip();
    story.recovers();
    assert!(story.wrote().is_empty(), "no question about the outcome, no failure");
    assert_eq!(story.open_interrupts(), [ASKED]);
    story.resumes(ASKED, json!({"name": "Bob"}));
    assert!(runs(&story, "c"), "it is sent again, by whoever runs it now");
    asks(&mut story, "c", &[form()]);
    assert!(story.open_interrupts().is_empty(), "an equal question is not asked twice");
    assert_eq!(told(&story, &form()), Some(accepts(json!({"name": "Bob"}))));
    let other = Question { message: "Who are you?".into(), ask: Ask::Form(json!({"type": "object"})) };
    asks(&mut story, "c", &[other, page()]);
    assert_eq!(story.open_interrupts(), ["mcp-elicit:c:2", "mcp-elicit:c:3"], "another schema is another question");
}

#[test]
fn an_answered_call_that_is_lost_has_an_unknown_outcome_d12() {
    let mut story = one();
    asks(&mut story, "c", &[form()]);
    story.resumes(ASKED, json!({"name": "Bob"}));
    story.recovers();
    assert_eq!(story.open_interrupts(), ["call-unknown:c"]);
}

#[test]
fn a_server_that_fails_meanwhile_is_called_again_after_the_answer_m37_m38() {
    let mut story = one();
    asks(&mut story, "c", &[form()]);
    story.advance(3_600_000);
    fails(&mut story, "c", true);
    story.advance(3_600_000);
    assert_eq!((story.open_interrupts(), story.call("c").status.name()), (vec![ASKED], "retry_scheduled"));
    story.resumes(ASKED, json!({"name": "Bob"}));
    story.advance(4_000);
    assert_eq!(story.last("tool.call.dispatched")["attempt"], 2);
    asks(&mut story, "c", &[form()]);
    assert_eq!(told(&story, &form()), Some(accepts(json!({"name": "Bob"}))));
}

#[test]
fn a_question_ends_with_its_call_m38() {
    for last in ["result", "failure"] {
        let mut story = one();
        asks(&mut story, "c", &[form()]);
        match last {
            "result" => ends(&mut story, "c", "never mind"),
            _ => fails(&mut story, "c", false),
        }
        let closed = story.last("session.interrupt_resumed");
        assert_eq!((&closed["interrupt_id"], &closed["payload"]), (&json!(ASKED), &json!({"status": "cancelled"})));
        assert_eq!(story.status(), "idle");
        assert!(story.model_runs(), "what was held goes on");
    }
}

#[test]
fn a_cancel_closes_the_question_and_the_call_c5_c12() {
    let mut story = one();
    asks(&mut story, "c", &[form()]);
    story.cancels();
    assert_eq!(story.last("session.interrupt_resumed")["payload"], json!({"status": "cancelled"}));
    assert_eq!(story.path().last().map(String::as_str), Some("tool: cancelled: the turn ended"));
    assert!(!runs(&story, "c") && story.open_interrupts().is_empty());
    story.chats("t2", "again", "Yes.");
}

#[test]
fn a_question_of_a_left_branch_ends_its_turn_when_it_is_answered_there_i35_i75() {
    let mut story = one();
    asks(&mut story, "c", &[form()]);
    story.view(Some("t2"), vec![crate::story::user("u9", "something else")]).expect("an escaping view");
    story.replies(text("Fine."));
    assert!(runs(&story, "c"), "T-16: parked, not ended");
    story.resumes(ASKED, json!({"name": "Bob"}));
    assert!(!runs(&story, "c"));
    let over = story.all("turn.completed").into_iter().find(|event| event["turn_id"] == "t").expect("the turn that was left ends");
    assert_eq!(over["error"]["code"], "cancelled", "I-75");
}

#[test]
fn only_the_server_of_a_running_attempt_asks_d5_b13() {
    let mut story = one();
    let late = Command::ConnectorAsks { call: "c".into(), attempt: 7, questions: vec![form()] };
    story.does(late).expect("ignored");
    assert!(story.open_interrupts().is_empty());
    ends(&mut story, "c", "done");
    asks(&mut story, "c", &[form()]);
    assert!(story.open_interrupts().is_empty());
}
