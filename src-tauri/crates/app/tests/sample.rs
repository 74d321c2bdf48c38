//! The sample project on a real engine: it stops at one question, survives a restart, goes on after the answer, and says something
//! else on an edited message.

use std::path::Path;

use futures::StreamExt as _;
use holdpoint_app::wire::{Answer, Command, FeedFrom, Frame, Submit};
use holdpoint_app::{App, Options, sample};
use holdpoint_view::row::{InterruptRow, NodeRow};

const SESSION: &str = "sesn_01JD3Z8K5T7V9X1B3D5F7H9K2M";

async fn open(data: &Path) -> App {
    let config = sample::write(data).expect("the folder takes files");
    let options = Options { config, db: Some(data.join("hp.db")), api_key: None, lenient: true, ..Options::default() };
    App::open(options).await.expect("the sample is valid")
}

async fn submit(app: &App, id: &str, command: Command) -> holdpoint_app::wire::Receipt {
    let submit = Submit { command_id: id.to_owned(), session_id: SESSION.to_owned(), command };
    app.submit(submit).await.expect("the engine accepts it")
}

async fn first_question(app: &App) -> InterruptRow {
    let mut feed = Box::pin(app.feed(FeedFrom::default()));
    while let Some(frame) = feed.next().await {
        if let Frame::Lists { interrupts, .. } = frame
            && let Some(row) = interrupts.into_iter().find(|row| row.closed_at.is_none())
        {
            return row;
        }
    }
    unreachable!("the feed ended without a question")
}

/// Follows the session until a message fits.
async fn message(app: &App, fits: impl Fn(&NodeRow) -> bool) -> NodeRow {
    let from = FeedFrom { session_id: Some(SESSION.to_owned()), ..FeedFrom::default() };
    let mut feed = Box::pin(app.feed(from));
    while let Some(frame) = feed.next().await {
        if let Frame::Session { patch } = frame
            && let Some(node) = patch.nodes.into_iter().find(|node| fits(node))
        {
            return node;
        }
    }
    unreachable!("the feed ended without that message")
}

/// Until no turn runs on the active branch.
async fn at_rest(app: &App) {
    let from = FeedFrom { session_id: Some(SESSION.to_owned()), ..FeedFrom::default() };
    let mut feed = Box::pin(app.feed(from));
    while let Some(frame) = feed.next().await {
        if matches!(frame, Frame::Session { patch } if patch.session.turn_id.is_none()) {
            return;
        }
    }
    unreachable!("the feed ended before the turn did")
}

#[tokio::test]
async fn the_sample_pauses_once_survives_a_restart_and_goes_on_d9() {
    let data = tempfile::tempdir().expect("a temporary folder");
    let app = open(data.path()).await;
    let create = Command::CreateSession { agent_id: sample::AGENT.to_owned(), text: sample::FIRST_MESSAGE.to_owned() };
    submit(&app, "create", create).await;
    let asked = first_question(&app).await;
    assert_eq!(asked.payload.0["metadata"]["risk"], "high");
    assert!(asked.payload.0["metadata"]["preview"]["text"].is_string() && asked.payload.0["metadata"]["options"].is_array());
    app.close().await;

    let app = open(data.path()).await;
    let same = first_question(&app).await;
    assert_eq!((same.interrupt_id, same.opened_seq), (asked.interrupt_id.clone(), asked.opened_seq), "D-9: it still waits");

    let first = message(&app, |node| node.role == "user").await;
    let edit = Command::EditMessage { message_id: first.id, text: "Write to nobody.".to_owned() };
    submit(&app, "edit", edit).await;
    let other = message(&app, |node| node.role == "assistant" && node.label.starts_with("Other words")).await;
    assert!(other.label.starts_with("Other words, another branch"), "the other branch gets other words: {}", other.label);

    at_rest(&app).await;
    let asking = message(&app, |node| node.role == "assistant" && !node.tool_calls.is_empty()).await;
    submit(&app, "back", Command::MakeActive { message_id: asking.id }).await;
    let answer = Command::Answer {
        interrupt_id: asked.interrupt_id,
        shown_hash: asked.shown_hash,
        answer: Answer { option: Some(2), text: Some("with love".to_owned()), ..Answer::default() },
    };
    let receipt = submit(&app, "answer", answer).await;
    assert_eq!(receipt.resumed, Some(true));
    let done = message(&app, |node| node.label.starts_with("Done")).await;
    assert!(done.label.contains("with your note on top"), "{}", done.label);
    app.close().await;
}
