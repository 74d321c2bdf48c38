use holdpoint_core::time::Millis;
use holdpoint_store::{HeldAnswer, Snooze};
use serde_json::json;

use crate::story::{Done, Place};

#[tokio::test]
async fn drafts_settings_and_snoozed_questions_survive_a_restart() -> Done {
    let place = Place::new()?;
    let store = place.open()?;
    assert_eq!(store.settings()?, None);
    store.save_settings(json!({"undo_secs": 5})).await?;
    store.save_settings(json!({"undo_secs": 10})).await?;
    store.save_draft("composer:a", json!("Hel")).await?;
    store.save_draft("composer:a", json!("Hello")).await?;
    store.save_draft("composer:b", json!(null)).await?;
    store.delete_draft("composer:b").await?;
    let snooze = |id: &str, until| Snooze { session_id: "s".to_owned(), interrupt_id: id.to_owned(), until };
    store.snooze(snooze("1", Some(Millis(5000)))).await?;
    store.snooze(snooze("1", None)).await?;
    store.snooze(snooze("2", None)).await?;
    store.unsnooze("s", "2").await?;
    store.close();

    let store = place.open()?;
    assert_eq!(store.settings()?, Some(json!({"undo_secs": 10})));
    assert_eq!(store.drafts()?, [("composer:a".to_owned(), json!("Hello"))]);
    assert_eq!(store.snoozed()?, [snooze("1", None)]);
    Ok(())
}

#[tokio::test]
async fn of_undo_and_send_exactly_one_gets_a_held_answer() -> Done {
    let place = Place::new()?;
    let store = place.open()?;
    let held = |id: &str, due| HeldAnswer { command_id: id.to_owned(), due_at: Millis(due), body: json!({"option": 0}) };
    store.hold_answer(held("late", 9000)).await?;
    store.hold_answer(held("soon", 2000)).await?;
    assert_eq!(store.held_answers()?, [held("soon", 2000), held("late", 9000)]);

    let (undo, send) = tokio::join!(store.drop_held_answer("soon"), store.drop_held_answer("soon"));
    assert_eq!((undo?, send?), (true, false));
    assert_eq!(store.held_answers()?, [held("late", 9000)]);
    Ok(())
}
