//! What is shown, withdrawn and answered, as tables: rows in, steps out.

use holdpoint_app::wire::Closed;
use holdpoint_view::row::{Json, PathStep, Seq, Time};
use serde_json::json;

use super::*;

const START: Millis = Millis(1_000_000);

fn row(id: &str, payload: Value) -> InterruptRow {
    let has_payload = !payload.is_null();
    InterruptRow {
        session_id: "sesn_1".into(),
        root_session_id: "sesn_1".into(),
        path: vec![PathStep { session_id: "sesn_1".into(), agent_id: "support".into() }],
        session_title: "Refund order 88123".into(),
        interrupt_id: id.into(),
        origin: "machine".into(),
        reason: "confirm".into(),
        payload: Json(payload),
        has_payload,
        anchor: Some("msg_1".into()),
        turn_id: None,
        opened_at: Time(START.plus(1)),
        opened_seq: Seq(7),
        on_active_branch: true,
        shown_hash: String::new(),
        closed_at: None,
        outcome: None,
        responder: None,
        answer: None,
        verification: None,
    }
}

fn asks(id: &str) -> InterruptRow {
    row(id, json!({"message": "Send the email?"}))
}

fn closed(mut row: InterruptRow) -> InterruptRow {
    row.closed_at = Some(Time(START.plus(50)));
    row
}

fn notices() -> Notices {
    Notices::new(START)
}

fn unseen() -> Sight {
    Sight::default()
}

fn sees(id: &str, focused: bool) -> Sight {
    Sight { focused, cards: vec![CardKey { session_id: "sesn_1".into(), interrupt_id: id.into() }] }
}

/// The notices shown for one row that arrives alone.
fn shown_for(row: InterruptRow) -> Notice {
    match notices().changed(&[row], false, START, &unseen()).remove(0) {
        Do::Show(notice) => notice,
        Do::Withdraw(_) => panic!("nothing was there to withdraw"),
    }
}

fn labels(notice: &Notice) -> Vec<&str> {
    notice.actions.iter().map(|(_, label)| label.as_str()).collect()
}

fn withdrawn(todo: &[Do]) -> Vec<i32> {
    todo.iter().filter_map(|step| if let Do::Withdraw(id) = step { Some(*id) } else { None }).collect()
}

fn shown_notices(todo: &[Do]) -> Vec<&Notice> {
    todo.iter().filter_map(|step| if let Do::Show(notice) = step { Some(notice) } else { None }).collect()
}

fn option(label: &str, extra: Value) -> Value {
    let mut option = json!({"label": label, "value": label});
    option.as_object_mut().expect("an object").extend(extra.as_object().cloned().unwrap_or_default());
    option
}

#[test]
fn a_new_question_is_shown_with_agent_session_question_and_the_default_pair_i52_i95() {
    let notice = shown_for(asks("int-1"));
    assert_eq!(notice.title, "support · Refund order 88123");
    assert_eq!(notice.body, "Send the email?");
    let actions = [("option-0", "Approve"), ("option-1", "Decline"), ("open", "Open")];
    assert_eq!(notice.actions, actions.map(|(id, label)| (id.to_owned(), label.to_owned())));
}

#[test]
fn the_first_two_options_are_actions_in_their_recorded_order_i53() {
    let options: Vec<Value> = ["Ship", "Wait", "Ask"].map(|label| option(label, json!({}))).to_vec();
    let notice = shown_for(row("int-1", json!({"message": "Ship?", "metadata": {"options": options}})));
    assert_eq!(labels(&notice), ["Ship", "Wait", "Open"]);
}

#[test]
fn without_a_message_the_reason_is_shown_and_only_open_offered_i95() {
    let notice = shown_for(row("int-1", Value::Null));
    assert_eq!((notice.body.as_str(), labels(&notice)), ("Paused: confirm", vec!["Open"]));
    let form = shown_for(row("int-1", json!({"message": "How many?", "responseSchema": {"type": "integer"}})));
    assert_eq!(labels(&form), ["Open"], "a form is filled in on the card");
    let page = json!({"message": "Sign in", "metadata": {"type": "mcp.elicitation", "mode": "url", "url": "https://a.example", "host": "a.example"}});
    assert_eq!(labels(&shown_for(row("int-1", page))), ["Open"], "M-33: the card shows its host");
}

#[test]
fn an_option_that_needs_more_than_a_click_opens_the_card() {
    let high = |extra: Value| json!({"message": "?", "metadata": {"risk": "high", "options": [option("Go", extra)]}});
    let low = |extra: Value| json!({"message": "?", "metadata": {"risk": "low", "options": [option("Go", extra)]}});
    let long = "x".repeat(QUESTION_CHARS + 1);
    let table = [
        ("required text", low(json!({"input": {"label": "Why", "required": true}})), true),
        ("optional text", low(json!({"input": {"label": "Why"}})), false),
        ("danger at high risk", high(json!({"style": "danger"})), true),
        ("danger at low risk", low(json!({"style": "danger"})), false),
        ("primary at high risk", high(json!({"style": "primary"})), false),
        ("a question that is not shown whole", json!({"message": long}), true),
        ("a question with hidden characters", json!({"message": "pay \u{202E}0001 to me"}), true),
    ];
    for (case, payload, opens) in table {
        let mut notices = notices();
        let todo = notices.changed(&[row("int-1", payload)], false, START, &unseen());
        let label = &shown_notices(&todo)[0].actions[0].1;
        assert_eq!(label.ends_with('…'), opens, "{case}: the label tells that more follows");
        let click = notices.clicked(1, "option-0").expect("notification 1 is known");
        assert_eq!(matches!(click, Click::Open(Some(_))), opens, "{case}");
    }
}

#[test]
fn off_the_active_branch_an_answer_is_given_on_the_card_only() {
    let mut aside = asks("int-1");
    aside.on_active_branch = false;
    assert_eq!(labels(&shown_for(aside)), ["Approve…", "Decline…", "Open"], "it would only clear the pause, which the card says");
}

#[test]
fn hidden_characters_are_drawn_and_long_text_is_cut_with_a_mark() {
    assert_eq!(shown("a\u{200B}b", 10), ("a\u{FFFD}b".to_owned(), false));
    assert_eq!(shown("abcdef", 3), ("abc…".to_owned(), false));
    assert_eq!(shown("a\nb", 3), ("a\nb".to_owned(), true));
}

#[test]
fn markdown_marks_are_left_out() {
    let notice = shown_for(row("int-1", json!({"message": "## Ship\n`v2` to **everyone**?"})));
    assert_eq!(notice.body, "Ship\nv2 to everyone?");
}

#[test]
fn an_action_sends_the_answer_of_its_option_with_the_hash_of_what_was_shown_i91() {
    let mut notices = notices();
    notices.changed(&[asks("int-1")], false, START, &unseen());
    let Some(Click::Answer { submit, label, .. }) = notices.clicked(1, "option-1") else {
        panic!("Decline answers");
    };
    assert_eq!(label, "Decline");
    assert_eq!(submit.session_id, "sesn_1");
    let hash = shown_hash("int-1", "confirm", Some(&json!({"message": "Send the email?"})));
    let answer = Answer { option: Some(1), ..Answer::default() };
    assert_eq!(submit.command, Command::Answer { interrupt_id: "int-1".into(), shown_hash: hash, answer });
    let again = notices.clicked(1, "option-1").expect("still known");
    let Click::Answer { submit: second, .. } = again else { panic!("it answers again") };
    assert_eq!(second.command_id, submit.command_id, "D-13: a click reported twice acts once");
}

#[test]
fn a_click_on_the_body_or_on_open_leads_to_exactly_that_question() {
    let mut notices = notices();
    notices.changed(&[asks("int-1"), asks("int-2")], false, START, &unseen());
    for action in ["tap", OPEN, "option-9", "nonsense"] {
        assert_eq!(notices.clicked(2, action), Some(Click::Open(Some(sees("int-2", true).cards.remove(0)))), "{action}");
    }
    assert_eq!(notices.clicked(3, "tap"), None, "no such notification");
}

#[test]
fn a_question_is_announced_once_and_again_when_it_is_raised_again_i10() {
    let mut notices = notices();
    assert_eq!(notices.changed(&[asks("int-1")], false, START, &unseen()).len(), 1);
    assert_eq!(notices.changed(&[asks("int-1")], false, START, &unseen()), [], "nothing new");
    assert_eq!(notices.changed(&[asks("int-1")], true, START, &unseen()), [], "a reset brings nothing new either");
    let mut again = asks("int-1");
    again.opened_seq = Seq(20);
    let todo = notices.changed(&[again], false, START.plus(9_000), &unseen());
    assert_eq!((withdrawn(&todo), shown_notices(&todo).len()), (vec![1], 1));
}

#[test]
fn a_question_from_before_the_start_is_not_announced_again() {
    let mut old = asks("int-1");
    old.opened_at = Time(START.plus(-1));
    assert_eq!(notices().changed(&[old], true, START, &unseen()), []);
}

#[test]
fn a_closed_question_takes_its_notification_along() {
    let mut notices = notices();
    notices.changed(&[asks("int-1")], false, START, &unseen());
    assert_eq!(notices.changed(&[closed(asks("int-1"))], false, START, &unseen()), [Do::Withdraw(1)]);
    assert_eq!(notices.changed(&[closed(asks("int-1"))], false, START, &unseen()), []);
    assert!(matches!(notices.clicked(1, "option-0"), Some(Click::Answer { .. })), "a late click still gets its refusal");
}

#[test]
fn a_reset_withdraws_what_closed_unseen() {
    let mut notices = notices();
    notices.changed(&[asks("int-1")], false, START, &unseen());
    assert_eq!(notices.changed(&[], true, START, &unseen()), [Do::Withdraw(1)]);
}

#[test]
fn no_notification_for_a_card_on_screen_in_a_focused_window() {
    let shows = |sight: Sight| {
        let mut notices = notices();
        let at_once = notices.changed(&[asks("int-1")], false, START, &sight).len();
        (at_once, notices.due(START.plus(GRACE_MS), &sight).len())
    };
    assert_eq!(shows(sees("int-1", true)), (0, 0));
    assert_eq!(shows(sees("int-1", false)), (1, 0), "the window is behind others");
    assert_eq!(shows(sees("int-2", true)), (0, 1), "another card is on screen: the window gets a moment to show this one");
}

#[test]
fn a_focused_window_gets_a_moment_to_show_the_card() {
    let away = Sight { focused: true, cards: Vec::new() };
    let mut notices = notices();
    assert_eq!(notices.changed(&[asks("int-1"), asks("int-2")], false, START, &away), []);
    assert_eq!(notices.next_due(START), Some(START.plus(GRACE_MS)));
    assert_eq!(notices.due(START.plus(GRACE_MS - 1), &away), [], "not yet");
    let todo = notices.due(START.plus(GRACE_MS), &sees("int-1", true));
    assert_eq!(shown_notices(&todo).len(), 1, "only the one that did not appear");
    assert_eq!(notices.next_due(START), None);
}

#[test]
fn a_question_closed_within_that_moment_is_not_announced() {
    let away = Sight { focused: true, cards: Vec::new() };
    let mut notices = notices();
    notices.changed(&[asks("int-1")], false, START, &away);
    assert_eq!(notices.changed(&[closed(asks("int-1"))], false, START, &away), []);
    assert_eq!((notices.next_due(START), notices.due(START.plus(GRACE_MS), &away)), (None, Vec::new()));
}

#[test]
fn looking_at_the_card_withdraws_its_notification() {
    let mut notices = notices();
    notices.changed(&[asks("int-1")], false, START, &unseen());
    assert_eq!(notices.seen(&sees("int-1", false)), []);
    assert_eq!(notices.seen(&sees("int-1", true)), [Do::Withdraw(1)]);
    assert_eq!(notices.seen(&sees("int-1", true)), []);
}

#[test]
fn the_first_runs_question_is_announced_even_with_its_card_on_screen() {
    let mut notices = notices();
    notices.announce_always("sesn_1".into());
    assert_eq!(notices.changed(&[asks("int-1")], false, START, &sees("int-1", true)).len(), 1);
    assert_eq!(notices.seen(&sees("int-1", true)), []);
}

#[test]
fn three_within_five_seconds_become_one_in_place_of_the_first_two() {
    let mut notices = notices();
    for (id, at) in [("int-1", 0), ("int-2", 2_000)] {
        let todo = notices.changed(&[asks(id)], false, START.plus(at), &unseen());
        assert_eq!((shown_notices(&todo).len(), withdrawn(&todo).len()), (1, 0), "{id} is shown alone");
    }
    let todo = notices.changed(&[asks("int-3")], false, START.plus(4_999), &unseen());
    assert_eq!(withdrawn(&todo), [1, 2]);
    let burst = shown_notices(&todo)[0].clone();
    assert_eq!((burst.id, burst.title.as_str(), labels(&burst)), (3, "3 questions wait for you", vec!["Open"]));
    assert_eq!(burst.body.lines().count(), 3);
    assert_eq!(notices.clicked(3, "tap"), Some(Click::Open(None)), "it opens the inbox");

    let more = notices.changed(&[asks("int-4")], false, START.plus(6_000), &unseen());
    assert_eq!(withdrawn(&more), [3], "the fourth replaces the notification of the three");
    assert_eq!(shown_notices(&more)[0].title, "4 questions wait for you");
}

#[test]
fn slow_arrivals_stay_single() {
    let mut notices = notices();
    for (id, at) in [("int-1", 0), ("int-2", 2_500), ("int-3", 5_000), ("int-4", 7_500)] {
        let todo = notices.changed(&[asks(id)], false, START.plus(at), &unseen());
        assert_eq!((shown_notices(&todo).len(), withdrawn(&todo).len()), (1, 0), "{id} at {at} ms");
    }
}

#[test]
fn many_at_once_are_one_from_the_start_and_stand_until_the_last_is_closed() {
    let rows: Vec<InterruptRow> = (0..7).map(|n| asks(&format!("int-{n}"))).collect();
    let mut notices = notices();
    let todo = notices.changed(&rows, false, START, &unseen());
    assert_eq!(todo.len(), 1);
    let burst = shown_notices(&todo)[0];
    assert_eq!((burst.title.as_str(), burst.body.lines().last()), ("7 questions wait for you", Some("and 2 more")));
    for row in &rows[..6] {
        assert_eq!(notices.changed(&[closed(row.clone())], false, START, &unseen()), []);
    }
    assert_eq!(notices.changed(&[closed(rows[6].clone())], false, START, &unseen()), [Do::Withdraw(1)]);
}

#[test]
fn the_outcome_of_an_answer_is_told() {
    let asked = Asked::of(&asks("int-1"));
    let receipt = |resumed, closed| Receipt { session_id: "sesn_1".into(), turn_id: None, queued: false, resumed, closed, cancelled: None };
    let told = tell(&asked, "Approve", &Ok(receipt(Some(true), None)));
    assert_eq!((told.refused, told.title.as_str()), (false, "Answered: Approve"));
    assert_eq!(told.body, "support · Refund order 88123\nSend the email?");

    let first = Closed { at: Time(START), outcome: Outcome::Declined, responder: Some(Json(json!({"channel": "slack", "user": "ann"}))) };
    let told = tell(&asked, "Approve", &Ok(receipt(Some(false), Some(first))));
    assert_eq!((told.refused, told.title.as_str()), (true, "Your answer came too late"), "I-101");
    assert!(told.body.starts_with("It was declined by ann (slack).\n"), "{}", told.body);

    let error = ApiError { code: "interrupt_changed".into(), message: "The question changed.".into(), details: Json::default() };
    let told = tell(&asked, "Approve", &Err(error));
    assert_eq!((told.refused, told.title.as_str()), (true, "Your answer was not taken"), "I-89");
    assert!(told.body.starts_with("The question changed.\n"));
}

#[test]
fn the_follow_up_of_a_refusal_leads_to_the_card() {
    let mut notices = notices();
    let asked = Asked::of(&asks("int-1"));
    let refused = AnswerTold { refused: true, title: "t".into(), body: "b".into() };
    let notice = notices.follow_up(&asked, &refused);
    assert_eq!(labels(&notice), ["Open"]);
    assert_eq!(notices.clicked(notice.id, "tap"), Some(Click::Open(Some(asked.card.clone()))));
    let taken = notices.follow_up(&asked, &AnswerTold { refused: false, ..refused });
    assert_eq!(labels(&taken), Vec::<&str>::new());
}

#[test]
fn a_menu_lists_the_five_newest_questions_with_their_paths_a_line_each() {
    let mut notices = notices();
    let asked_at = |id: &str, at: i64| InterruptRow { opened_at: Time(START.plus(at)), ..asks(id) };
    let mut hostile = row("int-9", json!({"message": format!("Pay\n\n\u{202e}now\u{7}\tto {}", "x".repeat(80))}));
    hostile.opened_at = Time(START.plus(9));
    hostile.path.push(PathStep { session_id: "sesn_2".into(), agent_id: "clerk".into() });
    let mut rows: Vec<InterruptRow> = (1..=6).map(|at| asked_at(&format!("int-{at}"), at)).collect();
    rows.push(hostile.clone());
    notices.changed(&rows, true, START, &unseen());

    let waiting = notices.waiting(START);
    let ids: Vec<&str> = waiting.newest.iter().map(|(card, _)| card.interrupt_id.as_str()).collect();
    assert_eq!((waiting.count, ids), (7, vec!["int-9", "int-6", "int-5", "int-4", "int-3"]));
    let cut = format!("support › clerk: Pay \u{FFFD}now\u{FFFD} to {}…", "x".repeat(60 - "Pay .now. to ".len()));
    assert_eq!(waiting.newest[0].1, cut);
    assert_eq!(waiting.newest[1].1, "support: Send the email?");

    notices.changed(&[closed(hostile)], false, START, &unseen());
    assert_eq!(notices.waiting(START).count, 6);
}

#[test]
fn a_hidden_question_waits_again_at_its_time_or_when_it_is_shown_by_hand() {
    let mut notices = notices();
    notices.changed(&[asks("int-1"), asks("int-2"), asks("int-3")], true, START, &unseen());
    let hidden = |id: &str, until| Snoozed { session_id: "sesn_1".into(), interrupt_id: id.into(), until };
    let back = START.plus(60_000);
    notices.hide(&[hidden("int-1", Some(Time(back))), hidden("int-2", None)]);
    assert_eq!((notices.waiting(START).count, notices.next_due(START)), (1, Some(back)));
    assert_eq!((notices.waiting(back).count, notices.next_due(back)), (2, None));
    notices.hide(&[]);
    assert_eq!(notices.waiting(START).count, 3);
}
