//! Branches left behind and returned to: §6F, §6J, T-15, T-16.

use holdpoint_core::message::Message;
use holdpoint_core::rejection::Code;
use serde_json::json;

use crate::story::{Story, ask, calls, instead, refused, text, user};

/// One finished turn, then a turn `t` held by `q` at the message "hold". Gives the path up to there.
fn held() -> (Story, Vec<Message>) {
    let mut story = Story::helper();
    story.chats("t0", "start", "Hello.");
    story.says("t", "hold");
    let asked = story.until("client.messages");
    story.answers(instead(&asked, json!([ask("q")])));
    let path = story.seen();
    (story, path)
}

/// A turn `t` whose tool call `x` asks a person by `q`, with `y` open beside it.
fn held_call() -> (Story, Vec<Message>) {
    let mut story = Story::helper();
    story.chats("t0", "start", "Hello.");
    story.says("t", "go");
    story.settles_down();
    story.replies(calls(&[("x", "look", "{}"), ("y", "slow", "{}")]));
    story.until("tool.execute");
    story.answers(json!({"actions": [ask("q")]}));
    let path = story.seen();
    (story, path)
}

/// Forks behind the first exchange, in the turn `turn`; the model runs there.
fn escapes(story: &mut Story, path: &[Message], turn: &str) {
    let view = [path[..2].to_vec(), vec![user(&format!("u_{turn}"), "free")]].concat();
    story.view(Some(turn), view).expect("the view escapes");
    story.until("client.messages");
    story.accepts();
}

fn finishes(story: &mut Story) {
    story.replies(text("Free."));
    story.settles_down();
}

#[test]
fn an_escaping_view_runs_in_a_new_turn_and_the_pause_stays_i29_i48_i73() {
    let (mut story, path) = held();
    refused(story.view(None, [path.clone(), vec![user("x", "x")]].concat()), Code::SessionInterrupted);
    story.skip();
    escapes(&mut story, &path, "t2");
    story.expect(&[
        "decision.queued client.messages",
        "turn.started t2",
        "decision.dispatched client.messages",
        "decision.completed client.messages",
        "message.new user: free",
        "llm.call.requested",
        "llm.call.dispatched",
    ]);
    assert_eq!((story.status(), story.turn(), story.open_interrupts()), ("idle", Some("t2"), vec!["q"]));
    finishes(&mut story);
    assert_eq!(story.turn(), None);
    let ended: Vec<_> = story.all("turn.completed").iter().map(|e| e["turn_id"].clone()).collect();
    assert_eq!(json!(ended), json!(["t0", "t2"]), "I-73: not completed, not current");
}

#[test]
fn back_on_the_branch_the_turn_is_current_and_goes_on_i50_i74_t15() {
    let (mut story, path) = held();
    escapes(&mut story, &path, "t2");
    finishes(&mut story);
    let free = story.seen();
    story.skip();
    for _ in 0..2 {
        let back = story.view(Some("ignored"), path.clone()).expect("T-15");
        assert_eq!((back.turn_id, story.status(), story.turn()), (Some("t".into()), "interrupted", Some("t")));
        story.expect(&["head.moved u_t"]);
        story.view(None, path.clone()).expect("T-15: at most head.moved");
        story.expect(&[]);
        story.view(None, free.clone()).expect("a switch to a free branch");
        story.settles_down();
        assert_eq!((story.status(), story.turn()), ("idle", None));
        story.skip();
    }
    story.view(None, path).expect("T-15");
    story.resumes("q", json!(1));
    assert_eq!(story.asked()["turn_id"], "t");
    story.skip();
    story.accepts();
    story.replies(text("Held no more."));
    story.settles_down();
    assert_eq!(story.all("turn.started").iter().filter(|e| e["turn_id"] == "t").count(), 1, "I-74: no turn.started");
    assert_eq!(story.path(), ["user: start", "assistant: Hello.", "user: hold", "assistant: Held no more."]);
}

#[test]
fn a_switch_to_a_paused_branch_waits_for_a_running_turn_t15_n2() {
    let (mut story, path) = held();
    escapes(&mut story, &path, "t2");
    assert_eq!(refused(story.view(None, path), Code::TurnAlreadyActive).turn_id, Some("t2".into()));
}

#[test]
fn two_paused_branches_are_switched_between_t15_i74() {
    let (mut story, path) = held();
    let view = [path[..2].to_vec(), vec![user("u_t2", "hold too")]].concat();
    story.view(Some("t2"), view).expect("it escapes");
    let asked = story.until("client.messages");
    story.answers(instead(&asked, json!([ask("q2")])));
    let second = story.seen();
    assert_eq!((story.turn(), story.status()), (Some("t2"), "interrupted"));
    assert_eq!(story.view(None, path.clone()).map(|r| r.turn_id), Ok(Some("t".into())));
    assert_eq!(story.turn(), Some("t"));
    assert_eq!(story.view(None, second).map(|r| r.turn_id), Ok(Some("t2".into())));
    story.resumes("q2", json!(2));
    assert_eq!(story.asked()["turn_id"], "t2");
    story.settles_down();
    finishes(&mut story);
    story.view(None, path).expect("T-15");
    story.resumes("q", json!(1));
    assert_eq!(story.asked()["turn_id"], "t");
}

#[test]
fn the_paused_turn_is_left_for_a_pause_without_a_turn_too_i73_i76() {
    let mut story = Story::helper();
    story.chats("t0", "start", "Hello.");
    story.chats("t1", "one", "First.");
    let first = story.seen();
    story.raises("idle");
    let view = [first[..2].to_vec(), vec![user("u_t", "hold")]].concat();
    story.view(Some("t"), view).expect("it escapes");
    let asked = story.until("client.messages");
    story.answers(instead(&asked, json!([ask("q")])));
    let held = story.seen();
    assert_eq!(story.view(None, first).map(|r| r.turn_id), Ok(None), "that pause has no turn");
    assert_eq!(story.turn(), None, "I-73: t stays with its branch");
    story.resumes("idle", json!(1));
    assert_eq!(story.asked()["turn_id"], json!(null));
    story.accepts();
    story.view(None, held).expect("T-15");
    assert_eq!(story.turn(), Some("t"));
}

#[test]
fn the_asking_call_is_parked_and_the_rest_voided_i49_t9_t16() {
    let (mut story, path) = held_call();
    story.skip();
    escapes(&mut story, &path, "t2");
    let wrote = story.wrote();
    assert!(wrote.contains(&"call.voided y".to_owned()) && !wrote.contains(&"call.voided x".to_owned()), "{wrote:?}");
    assert_eq!((story.call("x").status.name(), story.call("x").deadline()), ("pending", None), "T-16: its clocks stand still");
    finishes(&mut story);
    story.advance(24 * 3_600_000);
    story.settles("x", "late");
    assert_eq!((story.asked_kind(), story.waiting()), (None, vec!["tool.finished".to_owned()]), "held until its branch is active");
    story.says("t3", "more");
    story.settles_down();
    finishes(&mut story);
    story.view(None, path).expect("T-15");
    assert_eq!(story.waiting(), ["tool.finished"], "switching loses nothing");
    story.resumes("q", json!("yes"));
    assert_eq!(story.asked_kind(), Some("interrupt.resumed"));
    story.accepts();
    assert_eq!((story.asked_kind(), &story.asked()["turn_id"]), (Some("tool.finished"), &json!("t")));
    story.accepts();
    assert_eq!(story.path().last().map(String::as_str), Some("tool: late"));
    let texts = story.requested_texts();
    assert_eq!(texts[texts.len() - 2..], ["tool: late", "tool: voided: the branch was left"], "P-16");
}

#[test]
fn a_result_below_which_the_pause_stands_is_parked_too_t16() {
    let mut story = Story::helper();
    story.chats("t0", "start", "Hello.");
    let start = story.seen();
    story.opens("t", &[("x", "slow", "{}"), ("y", "slow", "{}")]);
    story.settles("x", "X");
    story.settles_down();
    story.raises("q");
    story.settles("y", "Y");
    let path = story.seen();
    story.view(Some("t2"), [start, vec![user("u_t2", "free")]].concat()).expect("it escapes");
    story.until("client.messages");
    story.accepts();
    assert_eq!(story.waiting(), ["tool.finished"], "the pause stands below the call, on the same branch");
    finishes(&mut story);
    story.view(None, path).expect("T-15");
    story.resumes("q", json!(1));
    story.settles_down();
    assert_eq!(story.path().last().map(String::as_str), Some("tool: Y"));
    assert!(story.model_runs());
}

#[test]
fn a_parked_call_does_not_keep_the_new_branch_waiting_p11_t16() {
    let (mut story, path) = held_call();
    escapes(&mut story, &path, "t2");
    story.replies(calls(&[("z", "look", "{}")]));
    story.until("tool.execute");
    assert_eq!(story.asked()["pending_calls"], 1);
    story.answers(json!({"actions": [{"type": "tool.result", "content": [{"type": "text", "text": "Z"}]}]}));
    assert_eq!(story.asked()["proposed"]["actions"][0]["type"], "llm.call", "only z had to end");
    story.settles_down();
    finishes(&mut story);
    assert_eq!((story.turn(), story.path().last().map(String::as_str)), (None, Some("assistant: Free.")));
}

#[test]
fn a_question_elsewhere_answered_on_the_new_branch_does_not_wait_for_the_parked_call_i37_t16() {
    let (mut story, path) = held_call();
    escapes(&mut story, &path, "t2");
    story.raises("here");
    story.resumes("here", json!(1));
    assert_eq!(story.asked()["proposed"], json!({"actions": [{"type": "llm.call"}]}));
}

#[test]
fn the_last_question_of_a_left_branch_ends_its_turn_i35_i75() {
    let (mut story, path) = held_call();
    escapes(&mut story, &path, "t2");
    story.skip();
    let receipt = story.resumes("q", json!("too late"));
    assert_eq!((receipt.resumed, receipt.turn_id), (Some(true), None));
    story.expect(&["session.interrupt_resumed q", "tool.call.completed x", "turn.completed t cancelled"]);
    assert_eq!(
        story.last("tool.call.completed")["result"],
        json!({
            "content": [{"type": "text", "text": "cancelled: the turn ended"}], "isError": true,
        })
    );
    assert_eq!(story.turn(), Some("t2"), "the turn that runs goes on");
    finishes(&mut story);
    assert_eq!(story.turn(), None);
}

#[test]
fn held_decisions_of_a_left_branch_are_dropped_with_its_last_question_i75() {
    let (mut story, path) = held_call();
    story.settles("x", "X");
    escapes(&mut story, &path, "t2");
    finishes(&mut story);
    story.skip();
    story.resumes("q", json!(1));
    story.expect(&["session.interrupt_resumed q", "decision.dropped tool.finished", "turn.completed t cancelled", "session.done"]);
    assert_eq!(story.says("t", "again").turn_id, Some("t".into()), "N-3: it is completed");
}

#[test]
fn a_left_turn_lives_while_another_question_of_it_is_open_i75() {
    let (mut story, path) = held();
    story.acts("ask more");
    story.answers(json!({"actions": [ask("q2")]}));
    escapes(&mut story, &path, "t2");
    finishes(&mut story);
    story.skip();
    story.resumes("q", json!(1));
    story.expect(&["session.interrupt_resumed q"]);
    story.view(None, path).expect("T-15");
    assert_eq!(story.turn(), Some("t"));
    story.resumes("q2", json!(2));
    story.settles_down();
    assert!(story.model_runs());
}

#[test]
fn an_answer_already_given_is_parked_with_its_branch_i39_t16() {
    let (mut story, path) = held();
    story.acts("ask more");
    story.answers(json!({"actions": [ask("q2")]}));
    story.resumes("q", json!("first"));
    escapes(&mut story, &path, "t2");
    finishes(&mut story);
    assert_eq!(story.waiting(), ["interrupt.resumed"]);
    story.view(None, path).expect("T-15");
    story.resumes("q2", json!("second"));
    assert_eq!(story.asked()["trigger"]["payload"], "first");
    assert_eq!(story.asked()["turn_id"], "t");
}

#[test]
fn what_was_queued_behind_the_paused_turn_waits_for_it_after_an_escape_i27_n4() {
    let mut story = Story::helper();
    story.chats("t0", "start", "Hello.");
    story.opens("t", &[("x", "slow", "{}")]);
    story.queues("later", "later");
    story.raises("q");
    let path = story.seen();
    escapes(&mut story, &path, "t2");
    finishes(&mut story);
    assert_eq!((story.turn(), story.waiting()), (None, vec!["client.messages".to_owned()]));
    assert!(story.queues("later", "later").queued, "N-5");
    story.says("t3", "free again");
    assert_eq!(story.turn(), Some("t3"), "a suspended turn blocks nobody, nor does what waits for it");
    story.settles_down();
    finishes(&mut story);
    story.view(None, path).expect("T-15");
    story.resumes("q", json!(1));
    story.settles_down();
    story.replies(text("Held no more."));
    story.settles_down();
    assert_eq!(story.turn(), Some("later"));
    let path = story.path();
    assert_eq!(path[path.len() - 2..], ["assistant: Held no more.", "user: later"]);
}

#[test]
fn a_message_returned_by_a_pause_stays_with_its_branch_i22_i73() {
    let mut story = Story::helper();
    story.chats("t0", "start", "Hello.");
    story.chats("t1", "one", "First.");
    let path = story.seen();
    story.says("t", "hi");
    story.raises("q");
    escapes(&mut story, &path, "t2");
    finishes(&mut story);
    assert_eq!((story.turn(), story.asked_kind()), (None, None), "the message was not for this branch");
    story.view(None, path).expect("T-15");
    assert_eq!(story.turn(), Some("t"));
    story.resumes("q", json!(1));
    story.accepts();
    assert_eq!((story.asked_kind(), &story.asked()["attempts"]), (Some("client.messages"), &json!(2)));
    story.accepts();
    assert_eq!(story.path(), ["user: start", "assistant: Hello.", "user: one", "assistant: First.", "user: hi"]);
}

#[test]
fn a_pause_raised_while_an_escape_is_under_way_belongs_to_the_branch_left_i5_i22() {
    let (mut story, path) = held();
    let view = [path[..2].to_vec(), vec![user("u_t2", "free")]].concat();
    story.view(Some("t2"), view).expect("it escapes");
    assert_eq!(story.asked_kind(), Some("client.messages"));
    story.skip();
    story.raises("q2");
    story.expect(&["session.interrupted q2"]);
    assert_eq!(story.asked_kind(), Some("client.messages"), "its path is not paused");
    story.accepts();
    assert_eq!((story.turn(), story.status()), (Some("t2"), "idle"));
    assert!(story.model_runs(), "Q-60");
    finishes(&mut story);
    story.view(None, path).expect("T-15");
    assert_eq!(story.turn(), Some("t"));
    story.resumes("q", json!(1));
    story.resumes("q2", json!(2));
    assert_eq!(story.asked()["turn_id"], "t");
}

#[test]
fn a_pause_raised_while_an_edit_is_under_way_does_not_stop_it_i5_q58() {
    let mut story = Story::helper();
    story.chats("t0", "start", "Hello.");
    story.chats("t1", "one", "First.");
    let path = story.seen();
    story.view(Some("t2"), [path[..2].to_vec(), vec![user("u_t2", "edited")]].concat()).expect("an edit");
    story.raises("q");
    assert_eq!(story.asked_kind(), Some("client.messages"), "its own path is not paused");
    story.accepts();
    assert_eq!((story.turn(), story.status()), (Some("t2"), "idle"));
    finishes(&mut story);
    assert_eq!(story.turn(), None);
    story.view(None, path).expect("T-15");
    story.resumes("q", json!(1));
    assert_eq!(story.asked()["turn_id"], json!(null), "t1 was over when it was raised: I-76");
}

#[test]
fn a_question_answered_while_an_escape_is_under_way_ends_the_turn_it_held_i75() {
    let (mut story, path) = held();
    let view = [path[..2].to_vec(), vec![user("u_t2", "free")]].concat();
    story.view(Some("t2"), view).expect("it escapes");
    assert_eq!(story.resumes("q", json!(1)).turn_id, Some("t".into()));
    story.accepts();
    assert_eq!(story.turn(), Some("t2"));
    let ended = story.last("turn.completed");
    assert_eq!((&ended["turn_id"], &ended["error"]["code"]), (&json!("t"), &json!("cancelled")), "nobody will come back to it");
    finishes(&mut story);
    assert_eq!((story.turn(), story.waiting()), (None, Vec::<String>::new()));
}

#[test]
fn an_escape_that_the_decider_turns_down_gives_the_branch_back_i74() {
    let (mut story, path) = held();
    let view = [path[..2].to_vec(), vec![user("u_t2", "free")]].concat();
    story.view(Some("t2"), view).expect("it escapes");
    story.answers(json!({}));
    assert_eq!((story.turn(), story.status()), (Some("t2"), "interrupted"));
    // Its own end waits for the pause it stayed on, or is over: either way the held turn is not lost.
    story.settles_down();
    story.resumes("q", json!(1));
    for _ in 0..10 {
        if story.model_runs() {
            story.replies(text("Done."));
        }
        story.settles_down();
    }
    assert_eq!((story.turn(), story.waiting()), (None, Vec::<String>::new()));
    assert_eq!(story.all("turn.completed").len(), 3);
}

#[test]
fn a_worker_that_leaves_a_paused_branch_suspends_its_turn_i73_i47() {
    let (mut story, path) = held();
    story.acts("leave");
    let decision = story.asked()["decision_id"].as_str().unwrap_or_default().replace("dec_", "turn_");
    story.answers(json!({"messages": [{"id": "n", "role": "user", "content": "new start"}], "actions": [{"type": "llm.call"}]}));
    assert_eq!((story.turn(), story.status()), (Some(decision.as_str()), "idle"));
    finishes(&mut story);
    story.view(None, path).expect("T-15");
    assert_eq!(story.turn(), Some("t"));
    story.resumes("q", json!(1));
    assert_eq!(story.asked()["turn_id"], "t");
}

#[test]
fn a_question_of_another_branch_is_cleared_by_a_worker_i35_i47() {
    let (mut story, path) = held();
    escapes(&mut story, &path, "t2");
    story.acts("clear");
    story.skip();
    story.answers(json!({"actions": [{"type": "interrupt.resolve", "interrupt_id": "q"}]}));
    story.expect(&["decision.completed client.action", "session.interrupt_resumed q", "turn.completed t cancelled"]);
}

#[test]
fn model_calls_of_other_branches_go_on_i16_q60() {
    let (mut story, path) = held();
    escapes(&mut story, &path, "t2");
    let running = story.model_call();
    story.skip();
    story.resumes("q", json!(1));
    assert_eq!(story.model_call(), running);
}

#[test]
fn escapes_turned_down_one_after_the_other_all_end_i74() {
    let (mut story, path) = held();
    for turn in ["t2", "t3"] {
        let view = [path[..2].to_vec(), vec![user(&format!("u_{turn}"), "free")]].concat();
        story.view(Some(turn), view).expect("it escapes");
        story.answers(json!({}));
    }
    story.resumes("q", json!(1));
    for _ in 0..10 {
        if story.model_runs() {
            story.replies(text("Done."));
        }
        story.settles_down();
    }
    assert_eq!((story.turn(), story.waiting(), story.s().suspended_turns().count()), (None, Vec::<String>::new(), 0));
    let ended: Vec<_> = story.all("turn.completed").iter().map(|e| e.get("error").is_none()).collect();
    assert_eq!(ended, [true; 4], "t0, t, t2 and t3, none of them cancelled");
}

#[test]
fn two_escapes_at_once_are_one_too_many_n2() {
    let (mut story, path) = held();
    let view = |id: &str| [path[..2].to_vec(), vec![user(id, "free")]].concat();
    story.view(Some("t2"), view("a")).expect("it escapes");
    assert_eq!(refused(story.view(Some("t3"), view("b")), Code::TurnAlreadyActive).turn_id, Some("t2".into()));
    assert_eq!(refused(story.view(None, path.clone()), Code::TurnAlreadyActive).turn_id, Some("t2".into()), "a switch back waits too");
    assert_eq!(story.view(Some("t2"), view("b")).map(|r| r.turn_id), Ok(Some("t2".into())), "N-3 goes first");
}

#[test]
fn an_escape_may_be_cancelled_before_its_answer_c19_c35() {
    let (mut story, path) = held();
    story.view(Some("t2"), [path[..2].to_vec(), vec![user("u", "free")]].concat()).expect("it escapes");
    story.skip();
    story.cancels();
    story.expect(&[
        "decision.dropped client.messages",
        "session.interrupt_resumed q",
        "turn.completed t cancelled",
        "turn.completed t2 cancelled",
        "session.done",
    ]);
}

#[test]
fn a_left_branch_is_only_left_by_a_view_above_its_anchor_i29() {
    let (mut story, path) = held();
    let regenerate = path[..2].to_vec();
    story.view(Some("t2"), regenerate).expect("it ends above the anchor");
    story.settles_down();
    assert_eq!((story.status(), story.path().len()), ("idle", 2));
    refused(story.view(None, [path, vec![user("x", "below")]].concat()), Code::SessionInterrupted);
}

#[test]
fn the_turn_of_a_held_branch_may_end_in_the_order_of_its_answers_i100_t16() {
    let mut story = Story::helper();
    story.chats("t0", "start", "Hello.");
    let start = story.seen();
    story.says("t", "hi");
    story.settles_down();
    story.replies(text("Reply."));
    let asked = story.until("llm.finished");
    story.answers(instead(&asked, json!([ask("q"), {"type": "done", "data": 5}])));
    let path = story.seen();
    escapes(&mut story, &[start, vec![]].concat(), "t2");
    finishes(&mut story);
    assert_eq!(story.waiting(), ["turn.finished"], "its end is held with its branch");
    story.view(None, path).expect("T-15");
    story.resumes("q", json!(1));
    story.answers(json!({}));
    story.accepts();
    let ended = story.last("turn.completed");
    assert_eq!((&ended["turn_id"], &ended["data"]), (&json!("t"), &json!(5)));
}

#[test]
fn an_answer_without_a_turn_is_dropped_with_the_last_question_of_its_branch_i35_i76_t9() {
    let mut story = Story::helper();
    story.chats("t0", "start", "Hello.");
    story.raises("a");
    story.raises("b");
    story.resumes("a", json!(1));
    story.view(Some("t2"), vec![user("u", "elsewhere")]).expect("it escapes");
    story.until("client.messages");
    story.accepts();
    assert_eq!(story.waiting(), ["interrupt.resumed"]);
    story.skip();
    story.resumes("b", json!(2));
    story.expect(&["session.interrupt_resumed b", "decision.dropped interrupt.resumed"]);
    finishes(&mut story);
    assert_eq!((story.turn(), story.waiting()), (None, Vec::<String>::new()));
}

#[test]
fn a_call_that_both_branches_share_ends_with_its_turn_i75() {
    let mut story = Story::helper();
    story.opens("t", &[("x", "slow", "{}"), ("y", "slow", "{}")]);
    let asked = story.seen();
    story.settles("x", "X");
    story.settles_down();
    story.raises("q");
    // The view ends above the question and still holds the message that asked for y.
    story.view(Some("t2"), asked).expect("it escapes");
    story.until("client.messages");
    story.accepts();
    assert_eq!((story.call("y").status.name(), story.s().pending_calls()), ("pending", 0), "y is t's, which may come back");
    story.skip();
    story.resumes("q", json!(1));
    story.expect(&["session.interrupt_resumed q", "tool.call.completed y", "turn.completed t cancelled"]);
    finishes(&mut story);
    assert_eq!((story.turn(), story.waiting()), (None, Vec::<String>::new()));
}

#[test]
fn the_clocks_of_a_shared_call_stand_still_while_its_turn_is_left_t16() {
    let mut story = Story::helper();
    story.opens("t", &[("x", "slow", "{}"), ("y", "slow", "{}")]);
    let asked = story.seen();
    story.settles("x", "X");
    story.settles_down();
    let path = story.seen();
    story.raises("q");
    story.view(Some("t2"), asked).expect("it escapes");
    story.until("client.messages");
    story.accepts();
    finishes(&mut story);
    story.advance(24 * 3_600_000);
    assert_eq!(story.call("y").status.name(), "pending");
    story.view(None, path).expect("T-15");
    story.resumes("q", json!(1));
    assert_eq!(story.call("y").deadline().map(|at| at.0 - story.now.0), Some(120_000));
}

#[test]
fn a_question_that_outlived_its_turn_gives_its_answer_to_no_turn_that_is_over_i76() {
    let (mut story, path) = held();
    story.acts("stop");
    story.answers(json!({"actions": [{"type": "fail", "error": {"message": "No."}}]}));
    assert_eq!((story.turn(), story.open_interrupts()), (None, vec!["q"]), "t is over, its question is not");
    story.raises("q2");
    story.view(Some("t2"), [path[..2].to_vec(), vec![user("u", "free")]].concat()).expect("it escapes");
    assert_eq!(story.resumes("q2", json!(2)).turn_id, None);
    story.accepts();
    finishes(&mut story);
    story.view(None, path).expect("T-15");
    story.resumes("q", json!(1));
    story.settles_down();
    assert_eq!((story.turn(), story.waiting()), (None, Vec::<String>::new()));
}
