//! Connections (§10A), approval before a call (§10B), and calls of unknown outcome (D-12).

use holdpoint_core::command::Command;
use holdpoint_core::engine_config::ConnectionSpec;
use holdpoint_core::message::{ErrorCode, ErrorInfo, ToolResult};
use holdpoint_core::pending::{Effect, pending};
use holdpoint_core::rejection::Code;
use serde_json::{Value, json};

use crate::story::{Story, calls, machine, refused, settle_result, text};

/// A story whose agent uses the connection `fs` with these settings beside its path.
pub fn connected(agent: &str, entry: Value) -> Story {
    let mut story = Story::of(agent);
    let mut whole = json!({"id": "mcp.fs"});
    for (key, value) in entry.as_object().into_iter().flatten() {
        whole[key] = value.clone();
    }
    story.config.connections.insert("mcp.fs".into(), ConnectionSpec { prefix: Some("fs__".into()), ..ConnectionSpec::default() });
    let config = story.config.agents.get_mut(agent).and_then(|spec| spec.config.as_mut()).expect("an agent with a config");
    config.other.insert("mcp".into(), json!([whole]));
    story
}

fn tools() -> Vec<Value> {
    vec![
        json!({"name": "read", "annotations": {"readOnlyHint": true}}),
        json!({
            "name": "write",
            "annotations": {"destructiveHint": true},
            "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
        }),
        json!({"name": "plain"}),
    ]
}

pub fn fetched(story: &mut Story) {
    let attempt = fetch_attempt(story).expect("a fetch is under way");
    let instructions = Some("Files of the team.".to_owned());
    story.does(Command::Fetched { path: "mcp.fs".into(), attempt, tools: tools(), instructions }).expect("taken");
}

fn fetch_fails(story: &mut Story, auth: Option<&str>, retryable: bool) {
    let attempt = fetch_attempt(story).expect("a fetch is under way");
    let error = ErrorInfo::new(ErrorCode::ProviderError, "no answer");
    let auth = auth.map(str::to_owned);
    story.does(Command::FetchFailed { path: "mcp.fs".into(), attempt, error, retryable, auth }).expect("taken");
}

fn fetch_attempt(story: &Story) -> Option<u32> {
    pending(story.s()).into_iter().find_map(|effect| match effect {
        Effect::FetchTools { attempt, .. } => Some(attempt),
        _ => None,
    })
}

/// Connector calls in their servers' hands: `id#attempt`.
pub fn running(story: &Story) -> Vec<String> {
    let effects = pending(story.s()).into_iter().filter_map(|effect| match effect {
        Effect::CallTool { call, attempt } => Some(format!("{call}#{attempt}")),
        _ => None,
    });
    effects.collect()
}

pub fn ends(story: &mut Story, id: &str, result: &str) {
    let attempt = story.call(id).attempt;
    story.does(Command::ConnectorEnded { call: id.into(), attempt, result: ToolResult::text(result) }).expect("taken");
}

/// The turn up to the reply that asks for these calls.
pub fn asks_for(story: &mut Story, list: &[(&str, &str, &str)]) {
    story.says("t", "go");
    story.settles_down();
    fetched(story);
    story.settles_down();
    story.replies(calls(list));
}

pub fn question(story: &Story, id: &str) -> Value {
    story.s().interrupt(id).and_then(|open| open.payload.clone()).expect("this question is open")
}

const WRITE: (&str, &str, &str) = ("w", "fs__write", r#"{"path": "a"}"#);

/// With the responder a channel stamps.
fn answers_as_channel(story: &mut Story, answer: Value) {
    let channel = Some(answer["responder"].clone()).filter(Value::is_object);
    let caller = holdpoint_core::command::Caller { channel, ..machine() };
    story.resume_as(caller, "call-unknown:w", Some(answer), None).expect("taken");
}

fn was_queued(story: &Story, trigger: &str) -> bool {
    story.all("decision.queued").iter().any(|event| event["trigger"]["type"] == trigger)
}

// ---- connections

#[test]
fn the_turn_waits_for_the_tools_and_they_are_fetched_once_m1_m6_m7() {
    let mut story = connected("solo", json!({}));
    story.says("t", "hi");
    assert_eq!(story.last("connector.sync.requested")["retry"]["run_timeout_secs"], 5.0, "K-12");
    assert!(!story.model_runs(), "M-6: the turn waits");
    fetched(&mut story);
    assert_eq!(story.last("connector.sync.completed")["prefix"], "fs__");
    let request = story.request();
    let names: Vec<String> = request.tools.into_iter().flatten().map(|tool| tool.name).collect();
    assert_eq!(names, ["look", "slow", "count", "pick", "fs__read", "fs__write", "fs__plain"]);
    let told = r#"{"mcp_server":"fs","tools":3,"about":"Files of the team."}"#;
    assert_eq!(story.requested_texts(), [format!("system: Be good.\n{told}"), "user: hi".to_owned()], "M-7");
    story.replies(text("Hello."));
    story.chats("t2", "again", "Yes.");
    assert_eq!(story.all("connector.sync.requested").len(), 1, "M-6: once per session");
}

#[test]
fn without_its_tools_the_turn_runs_and_the_model_is_told_m6_k12() {
    for (entry, auth, told) in [
        (json!({}), None, Some("unreachable")),
        (json!({"auth_failure": "degrade"}), Some("never_authorized"), Some("needs_authorization")),
        (json!({"tool_sync_failure": "silent"}), None, None),
    ] {
        let mut story = connected("solo", entry);
        story.says("t", "hi");
        fetch_fails(&mut story, auth, true);
        assert_eq!(fetch_attempt(&story), None);
        story.advance(4_000);
        assert_eq!(fetch_attempt(&story), Some(2), "K-12: two attempts");
        fetch_fails(&mut story, auth, true);
        let line =
            told.map(|reason| format!("\n{}", json!({"mcp_server": "fs", "unavailable": true, "reason": reason}))).unwrap_or_default();
        assert_eq!(story.requested_texts(), [format!("system: Be good.{line}"), "user: hi".to_owned()]);
        assert_eq!(story.request().tools.map(|tools| tools.len()), Some(4));
    }
}

#[test]
fn a_fetch_that_takes_too_long_fails_by_its_own_bounds_k12() {
    let mut story = connected("solo", json!({}));
    story.says("t", "hi");
    story.advance(5_000);
    let error = story.last("connector.sync.errored");
    assert_eq!((&error["error"]["code"], &error["retryable"]), (&json!("deadline_exceeded"), &json!(true)));
    story.advance(4_000);
    story.advance(5_000);
    assert!(story.model_runs(), "the turn goes on without the tools");
}

#[test]
fn a_fetch_under_way_at_a_stop_counts_as_failed_and_goes_off_at_once_d3() {
    let mut story = connected("solo", json!({}));
    story.says("t", "hi");
    story.recovers();
    assert_eq!(fetch_attempt(&story), Some(2));
    fetched(&mut story);
    assert!(story.model_runs());
}

#[test]
fn own_names_win_and_shared_ones_go_to_nobody_m5() {
    let mut story = connected("solo", json!({}));
    for (id, prefix) in [("mcp.fs", None), ("mcp.two", None)] {
        story.config.connections.insert(id.into(), ConnectionSpec { prefix, ..ConnectionSpec::default() });
    }
    let config = story.config.agents.get_mut("solo").and_then(|spec| spec.config.as_mut()).expect("a config");
    config.other.insert("mcp".into(), json!(["mcp.fs", "mcp.two"]));
    story.says("t", "hi");
    for (path, names) in [("mcp.fs", ["look", "both"]), ("mcp.two", ["both", "only"])] {
        let tools = names.map(|name| json!({"name": name})).to_vec();
        story.does(Command::Fetched { path: path.into(), attempt: 1, tools, instructions: None }).expect("taken");
    }
    let names: Vec<String> = story.request().tools.into_iter().flatten().map(|tool| tool.name).collect();
    assert_eq!(names, ["look", "slow", "count", "pick", "only"]);
    let config = story.s().config().expect("a config");
    assert_eq!(holdpoint_core::connector::dropped(story.s(), config), ["both", "look"], "each dropped name is reported");
}

#[test]
fn the_engine_runs_connector_calls_and_nobody_else_settles_them_m8_k8_n8() {
    let mut story = connected("solo", json!({}));
    asks_for(&mut story, &[("r", "fs__read", "{}")]);
    let requested = story.last("tool.call.requested");
    assert_eq!((&requested["handler"], &requested["target"]), (&json!("server"), &json!("mcp.fs/read")));
    assert_eq!((&requested["retry"]["run_timeout_secs"], &requested["retry"]["max_attempts"]), (&json!(60.0), &json!(2)), "K-12");
    assert_eq!(running(&story), ["r#1"]);
    refused(story.settle_as(machine(), settle_result("r", "mine")), Code::EffectWrongHandler);
    ends(&mut story, "r", "content");
    assert_eq!(story.path().last().map(String::as_str), Some("tool: content"));
    assert!(story.model_runs());
}

#[test]
fn arguments_that_do_not_fit_are_never_sent_k2() {
    let mut story = connected("solo", json!({}));
    asks_for(&mut story, &[("a", "fs__write", "[1]"), ("b", "fs__write", "{}")]);
    assert!(running(&story).is_empty());
    let errors: Vec<Value> = story.all("tool.call.errored").into_iter().map(|event| event["error"]["param"].clone()).collect();
    assert_eq!(errors, ["input", "input"]);
    assert!(story.all("tool.call.dispatched").is_empty());
}

#[test]
fn a_worker_may_ask_for_the_tools_again_m6() {
    let mut story = connected("helper", json!({}));
    story.says("t", "hi");
    story.settles_down();
    fetched(&mut story);
    story.settles_down();
    story.replies(text("Hello."));
    story.until("turn.finished");
    story.answers(
        json!({"actions": [{"type": "connector.sync", "path": "mcp.fs"}, {"type": "connector.sync", "path": "mcp.no"}, {"type": "done"}]}),
    );
    assert_eq!(story.all("connector.sync.requested").len(), 2);
    assert_eq!(story.turn(), None, "C-33: the turn does not wait for it to end");
}

// ---- plugins

/// A worker's answer to its first question: the agent, with these keys more.
fn configured(more: Value) -> Story {
    let mut story = Story::helper();
    for path in ["plugin.p.mcp.a", "plugin.p.mcp.b"] {
        story.config.connections.insert(path.into(), ConnectionSpec::default());
    }
    story.config.plugins.insert("plugin.p".into(), vec!["plugin.p.mcp.a".into(), "plugin.p.mcp.b".into()]);
    story.says("t", "go");
    let mut agent = story.asked()["proposed"]["agent"].clone();
    for (key, value) in more.as_object().into_iter().flatten() {
        agent[key] = value.clone();
    }
    story.answers(json!({"agent": agent}));
    story
}

#[test]
fn a_plugin_of_a_workers_config_is_all_its_servers_m3_m11_p22() {
    let mut story = configured(json!({"plugins": [{"path": "plugin.p", "approve": "always"}]}));
    let asked: Vec<Value> = story.all("connector.sync.requested").iter().map(|event| event["path"].clone()).collect();
    assert_eq!(asked, ["plugin.p.mcp.a", "plugin.p.mcp.b"]);
    for (path, tool) in [("plugin.p.mcp.a", "one"), ("plugin.p.mcp.b", "two")] {
        let tools = vec![json!({"name": tool})];
        story.does(Command::Fetched { path: path.into(), attempt: 1, tools, instructions: None }).expect("taken");
    }
    story.settles_down();
    assert!(story.requested_texts()[0].contains(r#"{"mcp_server":"b","tools":1}"#), "M-7");
    story.replies(calls(&[("c", "two", "{}")]));
    story.settles_down();
    assert_eq!(story.open_interrupts(), ["mcp-approve:c"], "M-11: the entry applies to each of its servers");
}

#[test]
fn a_plugin_that_is_not_there_or_a_server_named_twice_is_malformed_f7_p7() {
    for (more, wanted) in [
        (json!({"plugins": ["plugin.q"]}), "plugins names \"plugin.q\""),
        (json!({"plugins": "plugin.p"}), "plugins is a list"),
        (json!({"plugins": ["plugin.p"], "mcp": ["plugin.p.mcp.b"]}), "`plugin.p.mcp.b` is named twice"),
    ] {
        let story = configured(more);
        let error = &story.last("decision.errored")["error"];
        assert_eq!(error["code"], "invalid_response");
        assert!(error["message"].as_str().is_some_and(|message| message.contains(wanted)), "{error}");
    }
}

// ---- approval

#[test]
fn a_gated_call_is_asked_about_before_anything_of_its_message_runs_m12_m13() {
    let mut story = connected("solo", json!({"approve": "destructive"}));
    asks_for(&mut story, &[("r", "fs__read", "{}"), WRITE, ("v", "fs__write", r#"{"path": "b"}"#)]);
    assert_eq!(story.open_interrupts(), ["mcp-approve:w"]);
    assert_eq!(story.path().last().map(String::as_str), Some("assistant asks r w v"));
    assert!(story.all("tool.call.requested").is_empty());
    let opened = story.last("session.interrupted");
    assert_eq!((&opened["reason"], &opened["origin"]), (&json!("tool_call"), &json!("frontend")));
    assert_eq!(
        opened["payload"],
        json!({
            "message": "Run `fs__write`?\n\n```json\n{\n  \"path\": \"a\"\n}\n```",
            "toolCallId": "w",
            "metadata": {
                "type": "tool.approval",
                "tool": "fs__write",
                "connection": "mcp.fs",
                "arguments": {"path": "a"},
                "remaining": 1,
                "risk": "high",
                "annotations": {"destructiveHint": true},
                "options": [
                    {"label": "Run it", "value": {"approved": true}, "style": "primary"},
                    {"label": "Decline", "value": {"approved": false}, "style": "danger"},
                ],
            },
        })
    );
}

#[test]
fn questions_come_one_at_a_time_and_then_all_runs_together_m15_m16_m17_i93() {
    let mut story = connected("solo", json!({"approve": "destructive"}));
    asks_for(&mut story, &[("r", "fs__read", "{}"), WRITE, ("v", "fs__write", r#"{"path": "b"}"#)]);
    story.resumes("mcp-approve:w", json!({"status": "resolved", "payload": {"approved": true}}));
    assert_eq!(story.open_interrupts(), ["mcp-approve:v"]);
    assert_eq!(question(&story, "mcp-approve:v")["metadata"]["remaining"], 0);
    assert!(story.all("tool.call.requested").is_empty(), "M-17: nothing runs yet");
    story.resumes("mcp-approve:v", json!({"approved": false}));
    assert_eq!(running(&story), ["r#1", "w#1"]);
    let approved = story.all("session.interrupt_resumed")[0]["arguments_hash"].clone();
    assert_eq!(approved, holdpoint_core::json::sha256_hex(br#"{"path":"a"}"#), "I-93");
    assert_eq!(story.all("session.interrupt_resumed")[1].get("arguments_hash"), None, "a decline approves nothing");
    let sent = story.all("tool.call.dispatched");
    assert_eq!((&sent[0]["id"], sent[0].get("approved_hash")), (&json!("r"), None));
    assert_eq!((&sent[1]["approved_hash"], &sent[1]["arguments_hash"]), (&approved, &approved));
    let declined = "tool: A person declined this call, so it was not run. Do not try it again.";
    assert_eq!(story.path().last().map(String::as_str), Some(declined), "M-15");
    ends(&mut story, "r", "read");
    assert!(!story.model_runs(), "M-17: the model waits for every answer");
    ends(&mut story, "w", "written");
    assert!(story.model_runs());
    assert_eq!(story.all("tool.call.requested").len(), 2, "the declined call was never asked of anybody");
}

#[test]
fn when_all_is_declined_the_model_is_told_at_once_m15() {
    let mut story = connected("solo", json!({"approve": "always"}));
    asks_for(&mut story, &[("p", "fs__plain", "")]);
    assert_eq!(question(&story, "mcp-approve:p")["metadata"]["risk"], "medium");
    story.resumes("mcp-approve:p", json!({"status": "cancelled"}));
    assert!(story.model_runs());
    assert!(story.all("tool.call.requested").is_empty());
    assert!(story.requested_texts().last().is_some_and(|text| text.starts_with("tool: A person declined")));
}

#[test]
fn never_is_the_default_and_destructive_asks_about_marked_tools_only_m11() {
    let mut story = connected("solo", json!({}));
    asks_for(&mut story, &[WRITE]);
    assert_eq!(running(&story), ["w#1"]);
    let mut story = connected("solo", json!({"approve": "destructive"}));
    asks_for(&mut story, &[("p", "fs__plain", "{}")]);
    assert_eq!(running(&story), ["p#1"]);
}

#[test]
fn a_call_that_cannot_be_sent_is_not_asked_about_m12_k2() {
    for call in [("p", "fs__plain", "not json"), ("w", "fs__write", r#"{"path": 1}"#)] {
        let mut story = connected("solo", json!({"approve": "always"}));
        asks_for(&mut story, &[call]);
        assert!(story.open_interrupts().is_empty());
        assert_eq!(story.last("tool.call.errored")["error"]["code"], "invalid_response");
    }
}

#[test]
fn what_was_not_approved_is_never_sent_i94() {
    for (name, arguments) in [("fs__write", r#"{"path": "b"}"#), ("fs__plain", r#"{"path": "a"}"#), ("slow", r#"{"path": "a"}"#)] {
        let mut story = connected("helper", json!({"approve": "destructive"}));
        asks_for(&mut story, &[WRITE]);
        story.settles_down();
        story.resumes("mcp-approve:w", json!({"approved": true}));
        assert_eq!(story.asked_kind(), Some("interrupt.resumed"));
        story.answers(json!({"actions": [{"type": "tool.call", "id": "w", "name": name, "arguments": arguments}]}));
        let error = story.last("tool.call.errored");
        assert_eq!((&error["error"]["code"], &error["retryable"]), (&json!("approval_mismatch"), &json!(false)), "{name}");
        assert!(running(&story).is_empty() && story.all("tool.call.dispatched").is_empty(), "{name}");
    }
}

#[test]
fn a_declined_call_does_not_run_under_its_id_i94_m15() {
    let mut story = connected("helper", json!({"approve": "destructive"}));
    asks_for(&mut story, &[WRITE]);
    story.settles_down();
    story.resumes("mcp-approve:w", json!({"approved": false}));
    story.answers(json!({"actions": [{"type": "tool.call", "id": "w", "name": WRITE.1, "arguments": WRITE.2}]}));
    assert_eq!(story.last("tool.call.errored")["error"]["code"], "approval_mismatch");
}

#[test]
fn a_worker_that_acts_by_itself_bypasses_the_question_m18() {
    let mut story = connected("helper", json!({"approve": "always"}));
    asks_for(&mut story, &[WRITE]);
    let asked = story.until("llm.finished");
    assert_eq!(asked["proposed"]["actions"][0]["interrupt_id"], "mcp-approve:w");
    story.answers(crate::story::instead(&asked, json!([{"type": "tool.call", "id": "w", "name": WRITE.1, "arguments": WRITE.2}])));
    assert_eq!(running(&story), ["w#1"]);
    assert_eq!(story.last("tool.call.dispatched").get("approved_hash"), None);
}

#[test]
fn an_answer_given_before_the_question_counts_for_nothing_m17() {
    let mut story = connected("solo", json!({"approve": "always"}));
    asks_for(&mut story, &[]);
    let raise = Command::Raise { caller: machine(), interrupt_id: Some("mcp-approve:w".into()), reason: "check".into(), payload: None };
    assert!(story.does(raise).is_err(), "the id is the engine's own");
    assert_eq!(story.resumes("mcp-approve:w", json!({"approved": true})).resumed, Some(false), "I-36");
    story.says("t2", "write");
    story.replies(calls(&[WRITE]));
    assert_eq!(story.open_interrupts(), ["mcp-approve:w"]);
    assert!(running(&story).is_empty());
}

#[test]
fn a_cancel_answers_the_calls_that_waited_for_approval_c5_m12() {
    let mut story = connected("solo", json!({"approve": "always"}));
    asks_for(&mut story, &[WRITE]);
    story.cancels();
    assert_eq!(story.path().last().map(String::as_str), Some("tool: cancelled: the turn ended"));
    assert!(story.all("tool.call.completed").is_empty(), "Q-13");
    assert_eq!((story.status(), story.turn()), ("idle", None));
}

#[test]
fn a_cancel_ends_a_running_connector_call_c4_c20() {
    let mut story = connected("solo", json!({}));
    asks_for(&mut story, &[WRITE]);
    story.cancels();
    assert_eq!(story.last("tool.call.completed")["result"]["isError"], true);
    assert!(running(&story).is_empty(), "its effect is over, so the server is told");
}

#[test]
fn approvals_wait_on_a_branch_that_was_left_and_go_on_there_t15_m17() {
    let mut story = connected("solo", json!({"approve": "always"}));
    asks_for(&mut story, &[WRITE]);
    let seen = story.seen();
    story.view(Some("t2"), vec![crate::story::user("u_x", "something else")]).expect("it escapes");
    story.replies(text("Fine."));
    story.view(Some("t3"), seen).expect("a switch back");
    story.resumes("mcp-approve:w", json!({"approved": true}));
    assert_eq!(running(&story), ["w#1"]);
    assert_eq!(story.turn(), Some("t"), "I-74");
}

// ---- unknown outcome

#[test]
fn a_lost_call_that_may_be_repeated_is_sent_again_as_the_same_attempt_d12_q41() {
    for (entry, call) in [(json!({}), ("r", "fs__read", "{}")), (json!({"on_unknown": "retry"}), WRITE)] {
        let mut story = connected("solo", entry);
        asks_for(&mut story, &[call]);
        story.passes(90_000);
        story.recovers();
        assert_eq!(running(&story), [format!("{}#1", call.0)]);
        assert!(story.open_interrupts().is_empty());
        story.advance(1);
        assert_eq!(running(&story), [format!("{}#1", call.0)], "its clock starts anew");
    }
}

#[test]
fn a_lost_call_whose_total_time_is_over_is_not_sent_again_k14_d12() {
    let mut story = connected("solo", json!({}));
    asks_for(&mut story, &[("r", "fs__read", "{}")]);
    story.passes(600_000);
    story.recovers();
    assert!(running(&story).is_empty());
    assert_eq!(story.last("tool.call.errored")["error"]["code"], "deadline_exceeded");
    assert_eq!(story.all("tool.call.dispatched").len(), 1);
}

/// A destructive call was lost with the engine.
fn lost() -> Story {
    let mut story = connected("solo", json!({}));
    asks_for(&mut story, &[WRITE]);
    story.passes(3_600_000);
    story.recovers();
    story
}

#[test]
fn a_lost_call_that_may_do_harm_is_asked_about_d12() {
    let mut story = lost();
    assert!(running(&story).is_empty());
    let opened = story.last("session.interrupted");
    assert_eq!((&opened["interrupt_id"], &opened["reason"]), (&json!("call-unknown:w"), &json!("input_required")));
    assert_eq!((&opened["origin"], &opened["call"]), (&json!("frontend"), &json!({"id": "w", "attempt": 1})));
    let asked = &opened["payload"];
    assert_eq!(asked["toolCallId"], "w");
    assert_eq!(asked["metadata"]["type"], "tool.unknown_outcome");
    assert_eq!((&asked["metadata"]["tool"], &asked["metadata"]["risk"]), (&json!("fs__write"), &json!("high")));
    assert_eq!(asked["metadata"]["arguments"], json!({"path": "a"}));
    let values: Vec<&Value> = asked["metadata"]["options"].as_array().into_iter().flatten().map(|option| &option["value"]).collect();
    assert_eq!(values, [&json!({"outcome": "ran"}), &json!({"outcome": "again"}), &json!({"outcome": "failed"})]);
    story.advance(86_400_000);
    assert_eq!(story.open_interrupts(), ["call-unknown:w"], "its clocks stand still");
    story.recovers();
    assert_eq!(story.all("session.interrupted").len(), 1, "another stop asks nothing new");
}

#[test]
fn it_ran_ends_the_call_with_the_persons_words_d12_q14() {
    for (answer, result) in [
        (json!({"status": "resolved", "payload": {"outcome": "ran"}, "responder": {"channel": "cli", "text": "42 lines"}}), "42 lines"),
        (json!({"outcome": "ran"}), "It ran; no result is known."),
    ] {
        let mut story = lost();
        answers_as_channel(&mut story, answer);
        assert_eq!(story.path().last(), Some(&format!("tool: {result}")));
        assert!(story.model_runs());
        assert!(!was_queued(&story, "interrupt.resumed"), "D-12: no decision of its own");
    }
}

#[test]
fn run_it_again_starts_a_fresh_policy_d12_q41() {
    let mut story = lost();
    story.resumes("call-unknown:w", json!({"outcome": "again"}));
    assert_eq!(running(&story), ["w#2"]);
    let error = ErrorInfo::new(ErrorCode::ProviderError, "the server ended");
    let command = Command::ConnectorFailed { call: "w".into(), attempt: 2, error, retryable: true, auth: None };
    story.does(command).expect("taken");
    story.advance(4_000);
    assert_eq!(running(&story), ["w#3"], "two attempts of its own");
    ends(&mut story, "w", "done");
    assert!(story.model_runs());
}

#[test]
fn report_failure_ends_the_call_with_an_error_d12() {
    let mut story = lost();
    story.resumes("call-unknown:w", json!({"outcome": "failed"}));
    assert_eq!(story.last("tool.call.errored")["error"]["code"], "internal");
    assert!(story.model_runs());
}

#[test]
fn any_other_answer_leaves_the_question_open_q14() {
    let mut story = lost();
    for answer in [json!({"approved": true}), json!({"status": "cancelled"}), json!({"outcome": "maybe"}), json!(null)] {
        refused(story.resume_as(machine(), "call-unknown:w", Some(answer), None), Code::InvalidRequest);
    }
    assert_eq!(story.open_interrupts(), ["call-unknown:w"]);
}

#[test]
fn a_lost_call_on_a_branch_that_was_left_is_parked_and_ends_in_silence_q15_t16() {
    let mut story = lost();
    story.view(Some("t2"), vec![crate::story::user("u_x", "something else")]).expect("it escapes");
    assert_eq!(story.call("w").status.name(), "pending", "neither voided nor sent");
    story.replies(text("Fine."));
    story.resumes("call-unknown:w", json!({"outcome": "again"}));
    assert!(running(&story).is_empty());
    assert!(!story.call("w").status.is_open());
    assert!(!was_queued(&story, "tool.finished"));
    assert_eq!(story.last("turn.completed")["error"]["code"], "cancelled", "I-75");
}

#[test]
fn non_destructive_hides_a_tool_and_asks_nobody_m20_m4() {
    let mut story = connected("solo", json!({"tools": {"non_destructive": true}}));
    story.says("t", "go");
    fetched(&mut story);
    let shown: Vec<String> = story.request().tools.into_iter().flatten().map(|tool| tool.name).collect();
    assert!(!shown.contains(&"fs__write".to_owned()), "M-20: marked destructive: {shown:?}");
    story.replies(calls(&[WRITE]));
    story.settles_down();
    assert!(story.all("session.interrupted").is_empty(), "M-20: nobody is asked");
    assert_eq!(running(&story), [""; 0], "and it does not run");
}
