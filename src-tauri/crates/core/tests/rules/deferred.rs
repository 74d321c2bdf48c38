//! Deferred tools (K-10): what the model sees of them, how it finds them, and that a call of one is a call like any other.

use holdpoint_core::command::Command;
use holdpoint_core::decision::ClientInfo;
use holdpoint_core::message::{AgentTool, ToolResult};
use serde_json::{Value, json};

use crate::connectors::{asks_for, connected, ends, fetched, question, running};
use crate::story::{Story, calls, instead, text};

/// An agent whose tools `mark` decides about; its connection `fs` has `read`, `write` and `plain`.
fn deferring(agent: &str, entry: Value, mark: Value) -> Story {
    let mut story = connected(agent, entry);
    let config = story.config.agents.get_mut(agent).and_then(|spec| spec.config.as_mut()).expect("an agent with a config");
    for (key, value) in mark.as_object().into_iter().flatten() {
        config.other.insert(key.clone(), value.clone());
    }
    story
}

fn all(agent: &str, entry: Value) -> Story {
    deferring(agent, entry, json!({"defer_tools": true}))
}

/// A call through `call_tool`.
fn through(id: &str, name: &str, arguments: Value) -> (String, String) {
    (id.to_owned(), json!({"name": name, "arguments": arguments}).to_string())
}

#[track_caller]
fn calls_through(story: &mut Story, id: &str, name: &str, arguments: Value) {
    let (id, arguments) = through(id, name, arguments);
    asks_for(story, &[(&id, "call_tool", &arguments)]);
}

fn offered(story: &Story) -> Vec<String> {
    story.request().tools.into_iter().flatten().map(|tool| tool.name).collect()
}

fn last_message(story: &Story) -> String {
    story.path().pop().expect("a message")
}

/// The names a search lists.
fn found(story: &mut Story, arguments: Value) -> Vec<String> {
    story.replies(calls(&[("s", "tool_search", &arguments.to_string())]));
    let result = &story.last("tool.call.completed")["result"]["structuredContent"]["tools"];
    result.as_array().expect("a list").iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
}

fn begun(story: &mut Story) {
    story.says("t", "go");
    fetched(story);
}

#[test]
fn what_is_deferred_is_left_out_of_the_request_and_what_its_own_entry_keeps_stays_k10() {
    let two = ["tool_search", "call_tool"];
    let own = ["look", "slow", "count", "pick"];
    let connected = ["fs__read", "fs__write", "fs__plain"];
    for (entry, mark, wanted) in [
        (json!({}), json!({"defer_tools": true}), two.to_vec()),
        (json!({}), json!({"defer_tools": {"strategy": "search", "max_matches": 3}}), two.to_vec()),
        (json!({"tools": {"defer": false}}), json!({"defer_tools": true}), [&connected[..], &two].concat()),
        (json!({"tools": {"defer": true}}), json!({}), [&own[..], &two].concat()),
        (json!({}), json!({"defer_tools": false}), [&own[..], &connected].concat()),
        (json!({}), json!({"subagents": [{"id": "agent.helper", "defer": true}]}), [&own[..], &connected, &two].concat()),
    ] {
        let mut story = deferring("solo", entry, mark.clone());
        story.config.max_subagent_depth = 5;
        begun(&mut story);
        assert_eq!(offered(&story), wanted, "{mark}");
    }
}

#[test]
fn a_search_is_answered_by_the_engine_with_the_tools_as_they_are_k10_q49() {
    let mut story = all("solo", json!({}));
    story.config.max_subagent_depth = 5;
    let config = story.config.agents.get_mut("solo").and_then(|spec| spec.config.as_mut()).expect("a config");
    config.other.insert("subagents".into(), json!(["agent.helper"]));
    begun(&mut story);
    assert_eq!(found(&mut story, json!({"query": "write"})), ["fs__write"]);
    let requested = story.last("tool.call.requested");
    assert_eq!((&requested["name"], &requested["handler"], requested.get("target")), (&json!("tool_search"), &json!("server"), None));
    assert!(running(&story).is_empty(), "no server is asked");
    let listed = json!({"tools": [{
        "name": "fs__write",
        "input": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    }]});
    assert_eq!(last_message(&story), format!("tool: {listed}"), "K-4");
    assert_eq!(found(&mut story, json!({"query": "helper look"})), ["look", "helper"]);
    assert_eq!(found(&mut story, json!({"query": "weather"})), [""; 0]);
}

#[test]
fn a_search_lists_five_matches_unless_told_otherwise_k10() {
    let every = ["look", "slow", "count", "pick", "fs__read", "fs__write", "fs__plain"];
    for (mark, limit, wanted) in [
        (json!(true), None, 5),
        (json!(true), Some(2), 2),
        (json!(true), Some(6), 6),
        (json!({"max_matches": 3}), None, 3),
        (json!({"max_matches": 3}), Some(6), 3),
        (json!({"max_matches": 7}), None, 7),
    ] {
        let mut story = deferring("solo", json!({}), json!({"defer_tools": mark}));
        begun(&mut story);
        let mut arguments = json!({"query": ""});
        if let Some(limit) = limit {
            arguments["limit"] = json!(limit);
        }
        assert_eq!(found(&mut story, arguments), every[..wanted], "{mark} {limit:?}");
    }
}

#[test]
fn a_call_through_call_tool_is_the_call_it_names_k10_k8_m8() {
    let mut story = all("solo", json!({}));
    calls_through(&mut story, "r", "fs__read", json!({"a": 1}));
    let requested = story.last("tool.call.requested");
    assert_eq!(
        (&requested["name"], &requested["target"], &requested["arguments"]),
        (&json!("fs__read"), &json!("mcp.fs/read"), &json!(r#"{"a":1}"#))
    );
    assert_eq!(running(&story), ["r#1"]);
    ends(&mut story, "r", "content");
    assert_eq!(story.last("tool.call.completed")["name"], "fs__read");
    assert_eq!(last_message(&story), "tool: content");
    story.replies(text("Done."));
    assert_eq!(story.last("turn.completed").get("error"), None);
}

#[test]
fn approval_asks_about_the_real_tool_and_binds_its_arguments_k10_m13_i93() {
    for (approve, tool, asks) in [
        ("destructive", "fs__write", true),
        ("destructive", "fs__read", false),
        ("always", "fs__read", true),
        ("never", "fs__write", false),
    ] {
        let mut story = all("solo", json!({"approve": approve}));
        calls_through(&mut story, "w", tool, json!({"path": "a"}));
        assert_eq!(story.open_interrupts() == ["mcp-approve:w"], asks, "{approve} {tool}");
        assert_eq!(running(&story).is_empty(), asks);
    }
    let mut story = all("solo", json!({"approve": "destructive"}));
    calls_through(&mut story, "w", "fs__write", json!({"path": "a"}));
    let asked = question(&story, "mcp-approve:w");
    assert_eq!(
        (&asked["metadata"]["tool"], &asked["metadata"]["arguments"], &asked["metadata"]["risk"], &asked["toolCallId"]),
        (&json!("fs__write"), &json!({"path": "a"}), &json!("high"), &json!("w"))
    );
    assert!(asked["message"].as_str().is_some_and(|message| message.starts_with("Run `fs__write`?")));
    story.resumes("mcp-approve:w", json!({"approved": true}));
    assert_eq!(running(&story), ["w#1"]);
    let sent = story.last("tool.call.dispatched");
    assert!(sent["approved_hash"].is_string() && sent["approved_hash"] == sent["arguments_hash"], "I-93: {sent}");
}

#[test]
fn a_wrapping_in_a_wrapping_gets_past_nobody_m11_m12() {
    let mut story = all("solo", json!({"approve": "always"}));
    let inner = json!({"name": "fs__write", "arguments": {"path": "a"}});
    calls_through(&mut story, "w", "call_tool", inner);
    assert_eq!(story.open_interrupts(), ["mcp-approve:w"]);
    story.resumes("mcp-approve:w", json!({"approved": false}));
    assert!(story.all("tool.call.requested").is_empty(), "M-15");
    assert!(last_message(&story).contains("declined"));
}

#[test]
fn arguments_and_results_are_held_to_the_schemas_of_the_real_tool_k2_k3_k10() {
    let mut story = all("solo", json!({}));
    calls_through(&mut story, "w", "fs__write", json!({}));
    let error = story.last("tool.call.errored");
    assert_eq!((&error["name"], &error["error"]["param"]), (&json!("fs__write"), &json!("input")));
    let (id, arguments) = through("c", "count", json!({}));
    story.replies(calls(&[(&id, "call_tool", &arguments)]));
    story.settles("c", "none");
    let error = story.last("tool.call.errored");
    assert_eq!(
        (&error["name"], &error["error"]["code"], &error["error"]["param"]),
        (&json!("count"), &json!("invalid_response"), &json!("output"))
    );
}

#[test]
fn client_tools_and_delegates_are_reached_too_k6_s1_k10() {
    let mut story = all("solo", json!({}));
    story.config.max_subagent_depth = 5;
    let config = story.config.agents.get_mut("solo").and_then(|spec| spec.config.as_mut()).expect("a config");
    config.other.insert("subagents".into(), json!(["agent.helper"]));
    let (pick, arguments) = through("p", "pick", json!({}));
    let (helper, message) = through("h", "helper", json!({"message": "Find it"}));
    asks_for(&mut story, &[(&pick, "call_tool", &arguments), (&helper, "call_tool", &message)]);
    assert_eq!(story.last("tool.call.requested")["handler"], "client");
    let spawned = story.last("subagent.requested");
    assert_eq!((&spawned["id"], &spawned["agent_id"], &spawned["message"]), (&json!("h"), &json!("helper"), &json!("Find it")));
}

#[test]
fn what_names_no_tool_is_told_to_the_model_k10() {
    for (name, arguments, code) in [
        ("call_tool", json!({"name": "nothing", "arguments": {}}), "unroutable"),
        ("call_tool", json!({"tool": "fs__read"}), "invalid_response"),
        ("call_tool", json!({"name": "", "arguments": {}}), "invalid_response"),
        ("tool_search", json!({}), "invalid_response"),
        ("tool_search", json!({"query": "x", "limit": 0}), "invalid_response"),
        ("tool_search", json!([1]), "invalid_response"),
    ] {
        let mut story = all("solo", json!({}));
        asks_for(&mut story, &[("x", name, &arguments.to_string())]);
        let error = story.last("tool.call.errored");
        assert_eq!((&error["error"]["code"], &error["retryable"]), (&json!(code), &json!(false)), "{name} {arguments}");
        assert!(story.model_runs(), "the model goes on with the error");
    }
}

#[test]
fn the_two_names_belong_to_the_engine_only_while_something_is_deferred_m5_k7() {
    let tools = ClientInfo {
        tools: Some(vec![
            serde_json::from_value::<AgentTool>(json!({"name": "call_tool"})).expect("a tool"),
            serde_json::from_value::<AgentTool>(json!({"name": "mine", "defer": false})).expect("a tool"),
        ]),
        ..ClientInfo::default()
    };
    for (mark, wanted) in [
        (json!({"defer_tools": true}), &["mine", "tool_search", "call_tool"][..]),
        (json!({}), &["look", "slow", "count", "pick", "call_tool", "mine", "fs__tool_search"][..]),
    ] {
        let mut story = deferring("solo", json!({}), mark);
        story.says_with("t", "go", tools.clone());
        let listed = vec![json!({"name": "tool_search"})];
        story.does(Command::Fetched { path: "mcp.fs".into(), attempt: 1, tools: listed, instructions: None }).expect("taken");
        assert_eq!(offered(&story), wanted);
    }
}

#[test]
fn a_worker_may_hand_on_what_the_model_wrote_k10() {
    let mut story = all("helper", json!({}));
    story.says("t", "go");
    story.accepts();
    fetched(&mut story);
    story.settles_down();
    let (id, arguments) = through("r", "fs__read", json!({}));
    story.replies(calls(&[(&id, "call_tool", &arguments)]));
    let asked = story.until("llm.finished");
    assert_eq!(asked["proposed"]["actions"], json!([{"type": "tool.call", "id": "r", "name": "fs__read", "arguments": "{}"}]));
    let own = json!([{"type": "tool.call", "id": "r", "name": "call_tool", "arguments": arguments}]);
    story.answers(instead(&asked, own));
    assert_eq!(running(&story), ["r#1"]);
}

#[test]
fn a_config_of_a_worker_may_not_take_the_names_while_it_defers_p7() {
    let mut story = Story::helper();
    story.says("t", "go");
    let mut config = story.asked()["proposed"]["agent"].clone();
    config["tools"] = json!([{"name": "tool_search"}]);
    config["defer_tools"] = json!(true);
    story.answers(json!({"agent": config}));
    let error = story.last("decision.errored");
    assert_eq!(error["error"]["code"], "invalid_response");
    assert!(
        error["error"]["message"].as_str().is_some_and(|message| message.contains("`tool_search` is the engine's own tool")),
        "{error}"
    );
}

#[test]
fn a_search_held_by_a_pause_or_lost_with_a_cancel_is_a_call_like_any_other_i14_c20() {
    let mut story = all("solo", json!({"approve": "always"}));
    let (write, arguments) = through("w", "fs__write", json!({"path": "a"}));
    asks_for(&mut story, &[("s", "tool_search", r#"{"query":"read"}"#), (&write, "call_tool", &arguments)]);
    assert!(story.all("tool.call.requested").is_empty(), "M-17: nothing of the message runs");
    story.resumes("mcp-approve:w", json!({"approved": true}));
    assert_eq!(story.last("tool.call.completed")["id"], "s");
    story.cancels();
    assert_eq!(last_message(&story), "tool: cancelled: the turn ended");
    assert_eq!(running(&story), [""; 0]);
    let late = Command::ConnectorEnded { call: "w".into(), attempt: 1, result: ToolResult::text("late") };
    let before = story.s().seq;
    story.does(late).expect("taken");
    assert_eq!(story.s().seq, before);
}
