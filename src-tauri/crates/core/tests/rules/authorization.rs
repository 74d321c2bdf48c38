//! A credential stops working (§10C): who is asked what, what waits for the answer, and where nobody is asked.

use holdpoint_core::command::Command;
use holdpoint_core::engine_config::{ConnectionSpec, Principal};
use holdpoint_core::message::{ErrorCode, ErrorInfo, ToolResult};
use holdpoint_core::pending::{Effect, pending};
use holdpoint_core::rejection::Code;
use serde_json::{Value, json};

use crate::story::{Story, ask, calls, instead, machine, refused, text};

const QUESTION: &str = "mcp-auth:mcp.fs";
const READ: (&str, &str, &str) = ("r", "fs__read", "{}");

/// A story whose agent uses the connection `fs` with these settings beside its path.
fn connected(agent: &str, entry: Value) -> Story {
    let mut story = Story::of(agent);
    let mut whole = json!({"id": "mcp.fs"});
    for (key, value) in entry.as_object().into_iter().flatten() {
        whole[key] = value.clone();
    }
    let spec = ConnectionSpec { prefix: Some("fs__".into()), ..ConnectionSpec::default() };
    story.config.connections.insert("mcp.fs".into(), spec);
    set(&mut story, agent, "mcp", json!([whole]));
    story
}

fn set(story: &mut Story, agent: &str, key: &str, value: Value) {
    let config = story.config.agents.get_mut(agent).and_then(|spec| spec.config.as_mut()).expect("an agent with a config");
    config.other.insert(key.into(), value);
}

fn fetching(story: &Story) -> Vec<(String, u32)> {
    let effects = pending(story.s()).into_iter().filter_map(|effect| match effect {
        Effect::FetchTools { path, attempt } => Some((path, attempt)),
        _ => None,
    });
    effects.collect()
}

fn fetched(story: &mut Story, path: &str) {
    let tools = vec![json!({"name": "read", "annotations": {"readOnlyHint": true}}), json!({"name": "plain"})];
    story.does(Command::Fetched { path: path.into(), attempt: 1, tools, instructions: None }).expect("taken");
}

fn fetch_refused(story: &mut Story, path: &str, auth: Option<&str>) {
    let error = ErrorInfo::new(ErrorCode::ProviderError, "refused");
    let auth = auth.map(str::to_owned);
    story.does(Command::FetchFailed { path: path.into(), attempt: 1, error, retryable: false, auth }).expect("taken");
}

fn call_refused(story: &mut Story, id: &str, auth: &str) {
    let error = ErrorInfo::new(ErrorCode::ProviderError, "mcp.fs needs authorization");
    let command = Command::ConnectorFailed { call: id.into(), attempt: 1, error, retryable: false, auth: Some(auth.into()) };
    story.does(command).expect("taken");
}

fn retry() -> Value {
    json!({"status": "resolved", "payload": {"connection": "mcp.fs"}})
}

fn kinds(story: &Story) -> Vec<String> {
    let queued = story.all("decision.queued");
    queued.iter().map(|event| event["trigger"]["type"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn a_connection_nobody_authorized_is_asked_about_before_the_model_m23_p13() {
    let mut story = connected("solo", json!({}));
    story.says("t", "hi");
    fetch_refused(&mut story, "mcp.fs", Some("never_authorized"));
    assert_eq!(story.open_interrupts(), [QUESTION]);
    assert!(!story.model_runs());
    assert_eq!(story.path(), ["user: hi"], "P-13: the messages stay");
    let opened = story.last("session.interrupted");
    assert_eq!((&opened["reason"], &opened["origin"]), (&json!("input_required"), &json!("frontend")));
    assert_eq!(
        opened["payload"],
        json!({
            "message": "`mcp.fs` asks for authorization, and nobody has given it yet. Authorize the connection, then retry.",
            "authorize": {"connection": "mcp.fs", "principal": "shared"},
            "metadata": {"options": [{"label": "Retry", "value": {"connection": "mcp.fs"}}]},
        })
    );
}

#[test]
fn each_of_the_three_cases_is_said_and_whose_credential_it_is_m21_m23_sl10() {
    for (case, said) in [
        ("never_authorized", "nobody has given it yet"),
        ("reauthorize", "is over and could not be renewed"),
        ("token_rejected", "refuses the token it was given"),
    ] {
        let mut story = connected("solo", json!({"auth_failure": "interrupt"}));
        let spec = ConnectionSpec { prefix: None, principal: Principal::User };
        story.config.connections.insert("mcp.fs".into(), spec);
        story.says("t", "hi");
        fetch_refused(&mut story, "mcp.fs", Some(case));
        let asked = story.last("session.interrupted")["payload"].clone();
        assert!(asked["message"].as_str().is_some_and(|text| text.contains(said)), "{asked}");
        assert_eq!(asked["authorize"]["principal"], "user");
    }
}

#[test]
fn the_answer_fetches_the_tools_again_and_its_decision_waits_for_that_m24_m25() {
    let mut story = connected("solo", json!({}));
    story.says("t", "hi");
    fetch_refused(&mut story, "mcp.fs", Some("never_authorized"));
    story.resumes(QUESTION, retry());
    assert_eq!(fetching(&story), [("mcp.fs".to_owned(), 1)]);
    assert_eq!(kinds(&story).last().map(String::as_str), Some("interrupt.resumed"));
    assert_eq!(story.all("decision.dispatched").len(), 2, "M-25: the start and the message; the answer waits");
    fetched(&mut story, "mcp.fs");
    assert_eq!(story.all("decision.dispatched").len(), 3);
    let names: Vec<String> = story.request().tools.into_iter().flatten().map(|tool| tool.name).collect();
    assert_eq!(names, ["look", "slow", "count", "pick", "fs__read", "fs__plain"]);
    assert!(story.requested_texts()[0].contains(r#""tools":2"#), "the model is told of the tools it has now");
    story.replies(text("Hello."));
    assert_eq!((story.status(), story.turn()), ("idle", None));
}

#[test]
fn a_credential_that_is_still_bad_is_asked_about_again_m24() {
    let mut story = connected("solo", json!({}));
    story.says("t", "hi");
    fetch_refused(&mut story, "mcp.fs", Some("never_authorized"));
    for answer in [retry(), json!({"status": "cancelled"}), json!("whatever")] {
        story.resumes(QUESTION, answer);
        assert!(story.open_interrupts().is_empty());
        fetch_refused(&mut story, "mcp.fs", Some("token_rejected"));
        assert_eq!(story.open_interrupts(), [QUESTION]);
    }
    assert_eq!(story.all("session.interrupted").len(), 4);
    story.resumes(QUESTION, retry());
    fetch_refused(&mut story, "mcp.fs", None);
    assert!(story.model_runs(), "M-6: a server that is away is not a matter of credentials");
}

#[test]
fn a_call_that_meets_a_bad_credential_is_recorded_and_asked_about_before_the_next_model_call_p13() {
    for case in ["reauthorize", "token_rejected"] {
        let mut story = connected("solo", json!({}));
        story.says("t", "go");
        fetched(&mut story, "mcp.fs");
        story.replies(calls(&[READ]));
        call_refused(&mut story, "r", case);
        assert_eq!(story.last("connector.auth.failed"), json!({"type": "connector.auth.failed", "path": "mcp.fs", "auth": case}));
        assert_eq!(story.path().last().map(String::as_str), Some("tool: mcp.fs needs authorization"));
        assert_eq!(story.open_interrupts(), [QUESTION]);
        assert!(!story.model_runs());
        story.resumes(QUESTION, retry());
        fetched(&mut story, "mcp.fs");
        assert!(story.model_runs());
        assert_eq!(story.requested_texts().last().map(String::as_str), Some("tool: mcp.fs needs authorization"));
    }
}

#[test]
fn the_calls_of_a_reply_wait_and_go_off_after_the_answer_p13_m24() {
    let mut story = connected("solo", json!({}));
    story.says("t", "go");
    fetched(&mut story, "mcp.fs");
    story.replies(calls(&[("r", "fs__read", "{}"), ("s", "slow", "{}")]));
    call_refused(&mut story, "r", "reauthorize");
    assert!(story.open_interrupts().is_empty(), "P-11: another call is still running");
    story
        .does(Command::ConnectorEnded { call: "s".into(), attempt: 1, result: ToolResult::text("no") })
        .expect("ignored: not the engine's");
    story.settle_as(machine(), crate::story::settle_result("s", "done")).expect("taken");
    assert_eq!(story.open_interrupts(), [QUESTION]);
    story.resumes(QUESTION, retry());
    fetched(&mut story, "mcp.fs");
    assert!(story.model_runs());
}

#[test]
fn a_reply_that_arrives_while_the_connection_waits_is_recorded_and_nothing_of_it_runs_p13_m17() {
    let mut story = connected("helper", json!({"approve": "always"}));
    story.says("t", "go");
    story.settles_down();
    fetched(&mut story, "mcp.fs");
    story.settles_down();
    story.replies(calls(&[READ]));
    // The worker has the tools fetched again before it takes the reply, and that fails.
    let asked = story.until("llm.finished");
    story.answers(instead(&asked, json!([ask("wait"), {"type": "connector.sync", "path": "mcp.fs"}])));
    fetch_refused(&mut story, "mcp.fs", Some("reauthorize"));
    story.resumes("wait", json!("go on"));
    let asked = story.until("interrupt.resumed");
    assert_eq!(asked["proposed"]["actions"][0]["interrupt_id"], QUESTION, "P-13: also after another question");
    story.answers(asked["proposed"].clone());
    assert_eq!(story.open_interrupts(), [QUESTION]);
    story.resumes(QUESTION, retry());
    fetched(&mut story, "mcp.fs");
    let asked = story.until("interrupt.resumed");
    assert_eq!(asked["proposed"]["actions"][0]["interrupt_id"], "mcp-approve:r", "then the reply's calls, as ever");
    story.answers(asked["proposed"].clone());
    assert!(story.all("tool.call.requested").is_empty());
    story.resumes("mcp-approve:r", json!({"approved": true}));
    story.settles_down();
    assert_eq!(story.all("tool.call.dispatched").len(), 1);
}

#[test]
fn an_agent_that_degrades_goes_on_without_asking_m22() {
    for agent_wide in [false, true] {
        let entry = if agent_wide { json!({}) } else { json!({"auth_failure": "degrade"}) };
        let mut story = connected("solo", entry);
        if agent_wide {
            set(&mut story, "solo", "mcp_auth_failure", json!("degrade"));
        }
        story.says("t", "hi");
        fetched(&mut story, "mcp.fs");
        story.replies(calls(&[READ]));
        call_refused(&mut story, "r", "reauthorize");
        assert!(story.open_interrupts().is_empty());
        assert_eq!(story.requested_texts().last().map(String::as_str), Some("tool: mcp.fs needs authorization"));
    }
}

#[test]
fn a_connections_own_choice_wins_over_the_agents_m3_m22() {
    let mut story = connected("solo", json!({"auth_failure": "interrupt"}));
    set(&mut story, "solo", "mcp_auth_failure", json!("degrade"));
    story.says("t", "hi");
    fetch_refused(&mut story, "mcp.fs", Some("never_authorized"));
    assert_eq!(story.open_interrupts(), [QUESTION]);
}

#[test]
fn where_nobody_can_authorize_a_session_degrades_whatever_is_set_m22() {
    let mut story = connected("solo", json!({"auth_failure": "interrupt"}));
    story.unattended = true;
    story.says("t", "hi");
    assert_eq!(story.all("session.created")[0]["unattended"], true);
    fetch_refused(&mut story, "mcp.fs", Some("never_authorized"));
    assert!(story.open_interrupts().is_empty() && story.model_runs());
    assert!(story.requested_texts()[0].contains("needs_authorization"));
    let mut story = connected("solo", json!({}));
    story.says("t", "hi");
    assert_eq!(story.all("session.created")[0].get("unattended"), None);
}

#[test]
fn two_connections_are_asked_about_one_after_the_other_m23() {
    let mut story = connected("solo", json!({}));
    story.config.connections.insert("mcp.two".into(), ConnectionSpec::default());
    set(&mut story, "solo", "mcp", json!(["mcp.fs", "mcp.two"]));
    story.says("t", "hi");
    fetch_refused(&mut story, "mcp.fs", Some("never_authorized"));
    assert!(story.open_interrupts().is_empty(), "M-6: the turn waits for both fetches");
    fetch_refused(&mut story, "mcp.two", Some("never_authorized"));
    assert_eq!(story.open_interrupts(), [QUESTION]);
    story.resumes(QUESTION, retry());
    assert_eq!(fetching(&story), [("mcp.fs".to_owned(), 1)], "only what was asked about is fetched again");
    fetched(&mut story, "mcp.fs");
    assert_eq!(story.open_interrupts(), ["mcp-auth:mcp.two"]);
    story.resumes("mcp-auth:mcp.two", retry());
    fetched(&mut story, "mcp.two");
    assert!(story.model_runs());
}

#[test]
fn a_turn_that_has_ended_needs_no_connection_p13() {
    let mut story = connected("solo", json!({}));
    story.says("t", "hi");
    fetched(&mut story, "mcp.fs");
    story.replies(calls(&[READ]));
    call_refused(&mut story, "r", "token_rejected");
    story.cancels();
    assert_eq!((story.status(), story.turn()), ("idle", None), "C-3: a cancel closes the question");
    assert!(fetching(&story).is_empty(), "and fetches nothing");
}

#[test]
fn a_restart_keeps_the_question_and_a_fetch_after_its_answer_goes_off_again_d3_i42() {
    let mut story = connected("solo", json!({}));
    story.says("t", "hi");
    fetch_refused(&mut story, "mcp.fs", Some("never_authorized"));
    story.recovers();
    assert_eq!(story.open_interrupts(), [QUESTION]);
    story.resumes(QUESTION, retry());
    story.recovers();
    assert_eq!(fetching(&story), [("mcp.fs".to_owned(), 2)]);
    let tools = vec![json!({"name": "read"})];
    story.does(Command::Fetched { path: "mcp.fs".into(), attempt: 2, tools, instructions: None }).expect("taken");
    assert!(story.model_runs());
}

#[test]
fn a_question_on_a_branch_that_was_left_fetches_nothing_i35() {
    let mut story = connected("solo", json!({}));
    story.says("t", "hi");
    fetch_refused(&mut story, "mcp.fs", Some("never_authorized"));
    story.view(Some("t2"), vec![crate::story::user("u_x", "something else")]).expect("it escapes");
    assert_eq!(story.open_interrupts(), [QUESTION], "M-23: at most one is open");
    assert!(story.model_runs(), "the new branch goes on without the tools");
    assert!(story.requested_texts()[0].contains("needs_authorization"));
    refused(story.resume_as(crate::story::stranger(), QUESTION, Some(retry()), None), Code::AccessDenied);
    story.resumes(QUESTION, retry());
    assert!(fetching(&story).is_empty());
}
