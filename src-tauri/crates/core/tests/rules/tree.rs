//! Message tree: T-1 … T-16.

use holdpoint_core::message::{Message, Role};
use serde_json::{Value, json};

use crate::story::{Story, instead, text, user};

fn chain(story: &Story) -> Vec<(String, Option<String>)> {
    let tree = &story.s().tree;
    tree.nodes().iter().map(|n| (n.id.to_string(), n.parent.map(|up| tree.node(up).id.to_string()))).collect()
}

fn two_turns(mut story: Story) -> Story {
    story.chats("1", "one", "First.");
    story.chats("2", "two", "Second.");
    story
}

#[test]
fn messages_form_one_path_and_a_reply_has_its_calls_id_t1_b2() {
    let story = two_turns(Story::solo());
    let calls: Vec<Value> = story.all("llm.call.requested").iter().map(|call| call["id"].clone()).collect();
    assert_eq!(json!(story.path_ids()), json!(["u_1", calls[0], "u_2", calls[1]]));
    assert!(story.all("head.moved").is_empty());
}

#[test]
fn views_are_compared_by_id_only_t2() {
    let mut story = two_turns(Story::solo());
    let mut view = story.seen();
    view[0] = user("u_1", "TAMPERED");
    view.push(user("u_3", "three"));
    story.view(None, view).expect("accepted");
    assert_eq!(story.path()[0], "user: one");
    assert_eq!(story.path().len(), 5);
}

#[test]
fn new_from_is_the_index_of_the_first_news_t3_q55() {
    let mut story = two_turns(Story::helper());
    let path = story.seen();
    for (view, new_from) in [
        ([path.clone(), vec![user("x", "x")]].concat(), 4),
        ([path[..2].to_vec(), vec![user("y", "y")]].concat(), 2),
        (vec![user("z", "z")], 0),
        (path.clone(), 4),
    ] {
        story.view(None, view.clone()).expect("accepted");
        let asked = story.asked();
        assert_eq!(asked["trigger"]["new_from"], new_from);
        assert_eq!(asked["trigger"]["messages"], json!(view), "Q-55: the whole view");
        story.answers(json!({}));
        story.settles_down();
    }
}

#[test]
fn an_appended_message_is_asked_as_a_whole_view_q55() {
    let mut story = two_turns(Story::helper());
    story.says("3", "three");
    assert_eq!(story.asked()["trigger"]["new_from"], 4);
    assert_eq!(story.asked()["trigger"]["messages"].as_array().map(Vec::len), Some(5));
}

#[test]
fn a_known_id_behind_the_news_becomes_a_node_of_its_own_t4() {
    let mut story = two_turns(Story::solo());
    let path = story.seen();
    let view = vec![path[0].clone(), path[1].clone(), user("in", "inserted"), path[2].clone()];
    story.view(None, view).expect("accepted");
    let ids = story.path_ids();
    assert_eq!(ids[..3], ["u_1".to_owned(), story.path_ids()[1].clone(), "in".to_owned()]);
    assert!(ids[3].starts_with("msg_") && story.path()[3] == "user: two");
    assert!(chain(&story).contains(&("u_2".into(), Some(ids[1].clone()))), "the old node is untouched");
}

#[test]
fn an_edit_branches_and_the_old_branch_stays_t5() {
    let mut story = two_turns(Story::solo());
    let (path, before) = (story.seen(), chain(&story));
    story.view(None, [path[..2].to_vec(), vec![Message::new(Role::User, "better")]].concat()).expect("accepted");
    let now = story.path_ids();
    assert!(now[2].starts_with("msg_"), "a draft gets an id");
    assert_eq!(chain(&story)[..4], before);
    assert_eq!(chain(&story)[4], (now[2].clone(), Some(now[1].clone())));
}

#[test]
fn a_regenerated_reply_is_a_sibling_t6() {
    let mut story = two_turns(Story::solo());
    let path = story.seen();
    story.view(Some("r"), path[..3].to_vec()).expect("accepted");
    story.replies(text("Again."));
    let old = path[3].id.clone().map(|id| id.to_string());
    let parent = |id: &str| chain(&story).into_iter().find(|(own, _)| own == id).and_then(|(_, parent)| parent);
    assert_eq!(story.path(), ["user: one", "assistant: First.", "user: two", "assistant: Again."]);
    assert_eq!(parent(&story.path_ids()[3]), parent(&old.unwrap_or_default()));
}

#[test]
fn a_known_path_moves_the_head_and_runs_no_model_t7_p10() {
    let mut story = two_turns(Story::solo());
    let path = story.seen();
    let target = path[1].id.clone().map(|id| id.to_string()).unwrap_or_default();
    story.skip();
    story.view(Some("s"), path[..2].to_vec()).expect("accepted");
    let moved = format!("head.moved {target}");
    story.expect(&[
        "decision.queued client.messages",
        "turn.started s",
        "decision.dispatched client.messages",
        "decision.completed client.messages",
        &moved,
        "decision.queued turn.finished",
        "decision.dispatched turn.finished",
        "decision.completed turn.finished",
        "turn.completed s",
        "session.done",
    ]);
    story.says("3", "from here");
    assert_eq!(story.path(), ["user: one", "assistant: First.", "user: from here"]);
}

#[test]
fn an_equal_view_is_still_delivered_and_writes_nothing_t8_d7() {
    let mut story = two_turns(Story::helper());
    let seen = story.seen();
    story.view(None, seen).expect("accepted");
    assert_eq!(story.asked()["proposed"]["actions"], json!([{"type": "done"}]));
    story.settles_down();
    assert_eq!(story.s().tree.len(), 4);
    assert!(story.all("head.moved").is_empty());
}

#[test]
fn leaving_a_branch_ends_its_work_t9() {
    let mut story = Story::helper();
    story.opens("t", &[("a", "slow", "{}"), ("b", "slow", "{}")]);
    story.acts("leave");
    story.settles("a", "from a");
    story.skip();
    story.answers(json!({"messages": [{"id": "n", "role": "user", "content": "new start"}], "actions": [{"type": "llm.call"}]}));
    story.expect(&[
        "decision.completed client.action",
        "message.new user: new start",
        "call.voided b",
        "decision.dropped tool.finished",
        "llm.call.requested",
        "llm.call.dispatched",
    ]);
    assert_eq!(story.s().pending_calls(), 0);
    story.replies(text("There."));
    story.settles_down();
    assert_eq!(story.turn(), None);
}

#[test]
fn a_turn_left_without_work_by_an_action_ends_p9_t9() {
    let mut story = Story::helper();
    story.opens("t", &[("a", "slow", "{}")]);
    story.acts("leave");
    story.answers(json!({"messages": [{"id": "n", "role": "user", "content": "new start"}]}));
    assert_eq!(story.asked_kind(), Some("turn.finished"), "P-9: nothing is left to do");
    story.settles_down();
    assert_eq!(story.turn(), None);
}

#[test]
fn the_decider_may_alter_the_view_and_nothing_is_written_before_t11() {
    let mut story = Story::helper();
    story.says("t", "my card is 4111");
    story.accepts();
    assert_eq!(story.path(), Vec::<String>::new());
    story.answers(json!({"messages": [{"id": "u_t", "role": "user", "content": "my card is ****"}], "actions": [{"type": "llm.call"}]}));
    assert_eq!(story.path(), ["user: my card is ****"]);
    assert!(!format!("{:?}", story.request()).contains("4111"));
}

#[test]
fn state_and_config_follow_the_path_t12_q11() {
    let mut story = Story::helper();
    for (turn, value) in [("1", 1), ("2", 2)] {
        story.says(turn, "set");
        let asked = story.until("client.messages");
        let mut answer = asked["proposed"].clone();
        answer["state"] = json!({"v": value});
        story.answers(answer);
        story.replies(text("Set."));
        assert_eq!(story.asked()["state"], json!({"v": value}));
        story.settles_down();
    }
    let anchors: Vec<_> = story.all("worker.state.updated").iter().map(|e| e["anchor"].clone()).collect();
    assert_eq!(json!(anchors), json!(["u_1", "u_2"]), "P-5: at the head behind the answer's messages");
    let path = story.seen();
    story.view(None, [path[..2].to_vec(), vec![user("f", "fork")]].concat()).expect("an edit");
    assert_eq!(story.asked()["state"], json!({"v": 1}), "Q-11: as of the last shared node");
    story.accepts();
    story.replies(text("Forked."));
    assert_eq!(story.asked()["state"], json!({"v": 1}));
    story.settles_down();
    story.view(None, vec![user("r", "root")]).expect("a second root");
    assert_eq!(story.asked()["state"], json!(null), "Q-11: nothing is shared");
    assert_eq!(story.asked()["agent"]["model"], "m", "a version without anchor matches every path");
}

#[test]
fn an_equal_value_writes_no_version_t12_p2() {
    let mut story = Story::helper();
    story.chats("t", "hi", "Hello.");
    let values = [
        json!({"a": 1, "b": [true]}),
        json!({"b": [true], "a": 1.0}),
        json!(null),
        json!({"a": 1, "b": [true], "c": null}),
        json!({}),
        json!(7),
    ];
    for value in &values {
        story.acts("set");
        story.answers(json!({"state": value}));
    }
    let written: Vec<_> = story.all("worker.state.updated").iter().map(|e| e["state"].clone()).collect();
    assert_eq!(written, [values[0].clone(), values[3].clone(), json!({}), json!(7)]);
    story.acts("config");
    let same = story.asked()["agent"].clone();
    story.answers(json!({"agent": same}));
    assert_eq!(story.all("agent.updated").len(), 1);
}

#[test]
fn a_view_that_shares_nothing_is_a_second_root_t13() {
    let mut story = two_turns(Story::solo());
    story.view(None, vec![user("r", "root")]).expect("accepted");
    assert_eq!(story.path(), ["user: root"]);
    assert_eq!(chain(&story)[4], ("r".into(), None));
}

#[test]
fn system_messages_of_a_client_reach_the_decider_and_not_the_tree_p10() {
    let mut story = Story::helper();
    let system = Message { id: Some("s".into()), ..Message::new(Role::System, "You are evil.") };
    story.view(Some("t"), vec![system.clone(), user("u", "hi")]).expect("accepted");
    story.accepts();
    let asked = story.asked();
    assert_eq!(asked["trigger"]["messages"], json!([system, user("u", "hi")]), "Q-55: the whole view");
    assert_eq!((&asked["trigger"]["new_from"], &asked["proposed"]["messages"]), (&json!(0), &json!([user("u", "hi")])));
    story.accepts();
    story.replies(text("Hello."));
    story.settles_down();
    let resent = [vec![system], story.seen(), vec![user("u2", "more")]].concat();
    story.view(None, resent).expect("accepted");
    story.accepts();
    assert_eq!(story.path(), ["user: hi", "assistant: Hello.", "user: more"], "a resent system message forks nothing");
}

#[test]
fn a_request_keeps_each_answer_behind_its_call_p16() {
    let mut story = Story::helper();
    story.opens("t", &[("x", "slow", "{}")]);
    story.acts("ask anyway");
    story.answers(json!({"actions": [{"type": "llm.call"}]}));
    assert_eq!(story.requested_texts().last().map(String::as_str), Some("tool: pending: no result yet"));
    story.replies(text("Waiting."));
    story.accepts();
    story.settles("x", "here");
    story.settles_down();
    assert_eq!(story.path(), ["user: go", "assistant asks x", "assistant: Waiting.", "tool: here"]);
    let sent = ["system: Be good.", "user: go", "assistant asks x", "tool: here", "assistant: Waiting."];
    assert_eq!(story.requested_texts(), sent, "no model takes an answer that stands apart from its call");
}

#[test]
fn a_proposal_without_a_change_can_be_returned_by_a_worker_p4() {
    let mut story = Story::helper();
    story.says("t", "hi");
    let asked = story.until("client.messages");
    story.answers(instead(&asked, json!([{"type": "llm.call"}])));
    story.replies(text("Hello."));
    story.settles_down();
    assert_eq!(story.path(), ["user: hi", "assistant: Hello."]);
}

#[test]
fn a_delegation_not_begun_ends_with_its_branch_and_a_running_one_is_spared_t9_q10() {
    for begun in [false, true] {
        let mut story = Story::helper();
        story.chats("t0", "hi", "Hello.");
        story.config.max_subagent_depth = 5;
        story.acts("delegate");
        story.answers(json!({"actions": [{"type": "subagent.spawn", "agent_id": "solo", "tool_call_id": "s", "message": "go"}]}));
        if begun {
            story.does(holdpoint_core::command::Command::ChildStarted { call: "s".into() }).expect("begun");
        }
        story.acts("leave");
        story.answers(json!({"messages": [{"id": "n", "role": "user", "content": "new start"}]}));
        assert_eq!(story.all("call.voided").len(), usize::from(!begun));
        story.settles_down();
        assert_eq!((story.turn(), story.s().pending_calls()), (None, 0), "the turn does not wait for it");
        if begun {
            let end = holdpoint_core::command::ChildEnd::default();
            story.skip();
            story.does(holdpoint_core::command::Command::ChildEnded { call: "s".into(), end }).expect("recorded");
            story.expect(&["subagent.turn_completed", "decision.queued subagent.finished", "decision.dropped subagent.finished"]);
        }
    }
}
