//! What the webview may call: each command hands its arguments to the app and its answer back. No rule lives here.

use futures::StreamExt as _;
use holdpoint_app::App;
use holdpoint_app::wire::{
    ApiError, ApiKeyRow, AuthorizationLink, Bootstrap, ConnectionRow, Draft, EventRow, FeedFrom, Forecast, ForecastOf, Frame, MadeApiKey,
    Receipt, ScheduledAnswer, Snoozed, Submit, ThreadRow,
};
use holdpoint_view::row::{InterruptRow, Json, NodeBody, Seq, SessionRow, Time};
use tauri::ipc::Channel;
use tauri::{AppHandle, State};
use tauri_plugin_opener::OpenerExt as _;

use crate::desk::{CardKey, Desk, ShellEvent};
use crate::notify::{self, NotificationStatus};

type Answered<T> = Result<T, ApiError>;

/// At most this many frames travel in one message, so that none grows past what the bridge carries quickly.
const FRAMES_A_MESSAGE: usize = 64;

#[tauri::command]
#[specta::specta]
pub async fn bootstrap(app: State<'_, App>) -> Answered<Bootstrap> {
    app.bootstrap().await
}

/// Frames until the next call: the window follows one feed at a time, and a reload leaves none behind.
#[tauri::command]
#[specta::specta]
pub async fn feed(app: State<'_, App>, desk: State<'_, Desk>, from: FeedFrom, frames: Channel<Vec<Frame>>) -> Answered<()> {
    let mut feed = Box::pin(app.feed(from).ready_chunks(FRAMES_A_MESSAGE));
    desk.follow(async move {
        while let Some(batch) = feed.next().await {
            if frames.send(batch).is_err() {
                break;
            }
        }
    });
    Ok(())
}

#[tauri::command]
#[specta::specta]
pub async fn submit(app: State<'_, App>, submit: Submit) -> Answered<Receipt> {
    app.submit(submit).await
}

#[tauri::command]
#[specta::specta]
pub async fn forecast(app: State<'_, App>, session_id: String, of: ForecastOf) -> Answered<Forecast> {
    app.forecast(session_id, of).await
}

#[tauri::command]
#[specta::specta]
pub async fn schedule_answer(app: State<'_, App>, answer: ScheduledAnswer) -> Answered<()> {
    app.schedule_answer(answer).await
}

#[tauri::command]
#[specta::specta]
pub async fn undo_answer(app: State<'_, App>, command_id: String) -> Answered<bool> {
    app.undo_answer(command_id).await
}

#[tauri::command]
#[specta::specta]
pub async fn dismiss_answer(app: State<'_, App>, command_id: String) -> Answered<()> {
    app.dismiss_answer(command_id).await
}

#[tauri::command]
#[specta::specta]
pub async fn node_bodies(app: State<'_, App>, session_id: String, ids: Vec<String>) -> Answered<Vec<NodeBody>> {
    app.node_bodies(session_id, ids).await
}

#[tauri::command]
#[specta::specta]
pub async fn list_sessions(app: State<'_, App>, before: Option<Time>, limit: u32) -> Answered<Vec<SessionRow>> {
    app.list_sessions(before, limit).await
}

#[tauri::command]
#[specta::specta]
pub async fn list_interrupts(app: State<'_, App>, state: String, before: Option<Time>, limit: u32) -> Answered<Vec<InterruptRow>> {
    app.list_interrupts(state, before, limit).await
}

#[tauri::command]
#[specta::specta]
pub async fn events(app: State<'_, App>, session_id: String, after_seq: Seq, limit: u32) -> Answered<Vec<EventRow>> {
    app.events(session_id, after_seq, limit).await
}

#[tauri::command]
#[specta::specta]
pub async fn threads(app: State<'_, App>, session_id: String) -> Answered<Vec<ThreadRow>> {
    app.threads(session_id).await
}

#[tauri::command]
#[specta::specta]
pub async fn interrupt_thread(
    app: State<'_, App>,
    command_id: String,
    session_id: String,
    thread_session_id: String,
    reason: String,
) -> Answered<()> {
    app.interrupt_thread(command_id, session_id, thread_session_id, reason).await
}

#[tauri::command]
#[specta::specta]
pub async fn save_draft(app: State<'_, App>, draft: Draft) -> Answered<()> {
    app.save_draft(draft).await
}

#[tauri::command]
#[specta::specta]
pub async fn delete_draft(app: State<'_, App>, key: String) -> Answered<()> {
    app.delete_draft(key).await
}

#[tauri::command]
#[specta::specta]
pub async fn save_settings(app: State<'_, App>, settings: Json) -> Answered<()> {
    app.save_settings(settings).await
}

#[tauri::command]
#[specta::specta]
pub async fn snooze(app: State<'_, App>, snoozed: Snoozed) -> Answered<()> {
    app.snooze(snoozed).await
}

#[tauri::command]
#[specta::specta]
pub async fn unsnooze(app: State<'_, App>, session_id: String, interrupt_id: String) -> Answered<()> {
    app.unsnooze(session_id, interrupt_id).await
}

#[tauri::command]
#[specta::specta]
pub async fn connections(app: State<'_, App>) -> Answered<Vec<ConnectionRow>> {
    app.connections().await
}

#[tauri::command]
#[specta::specta]
pub async fn authorize_connection(app: State<'_, App>, path: String) -> Answered<AuthorizationLink> {
    app.authorize_connection(path).await
}

#[tauri::command]
#[specta::specta]
pub async fn set_connection_token(app: State<'_, App>, path: String, token: String) -> Answered<()> {
    app.set_connection_token(path, token).await
}

#[tauri::command]
#[specta::specta]
pub async fn forget_connection(app: State<'_, App>, path: String) -> Answered<()> {
    app.forget_connection(path).await
}

#[tauri::command]
#[specta::specta]
pub async fn list_keys(app: State<'_, App>) -> Answered<Vec<ApiKeyRow>> {
    app.list_keys().await
}

#[tauri::command]
#[specta::specta]
pub async fn make_key(app: State<'_, App>, name: String, expires_at: Option<Time>) -> Answered<MadeApiKey> {
    app.make_key(name, expires_at).await
}

#[tauri::command]
#[specta::specta]
pub async fn revoke_key(app: State<'_, App>, id: String) -> Answered<()> {
    app.revoke_key(id).await
}

/// What the shell has to say to the window: show a question, tell how an answer from a notification went.
#[tauri::command]
#[specta::specta]
pub fn listen_shell(desk: State<'_, Desk>, events: Channel<ShellEvent>) {
    desk.listen(events);
}

/// Whether a notification would reach a person now.
#[tauri::command]
#[specta::specta]
pub async fn notification_status() -> NotificationStatus {
    notify::status().await
}

/// Shows a notification and returns at once; its click arrives as a shell event.
#[tauri::command]
#[specta::specta]
pub async fn notification_test(handle: AppHandle) -> NotificationStatus {
    notify::test(&handle).await
}

/// A link of a message, in the person's browser. Nothing but web pages: a `file:` or custom scheme could start a program.
#[tauri::command]
#[specta::specta]
pub fn open_external(handle: AppHandle, url: String) -> Answered<()> {
    let page = web_page(&url)?;
    handle
        .opener()
        .open_url(page, None::<&str>)
        .map_err(|error| refusal("failed", format!("The browser could not be opened ({error}). Copy the link instead.")))
}

/// The cards on screen, so that no notification is raised for them while the window has the focus.
#[tauri::command]
#[specta::specta]
pub fn set_visible_interrupts(handle: AppHandle, desk: State<'_, Desk>, ids: Vec<CardKey>) {
    notify::perform_soon(&handle, desk.set_visible(ids));
}

fn web_page(url: &str) -> Answered<String> {
    let parsed = tauri::Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    parsed
        .map(String::from)
        .ok_or_else(|| refusal("invalid_request", "Only http and https links are opened. Copy the link instead.".to_owned()))
}

fn refusal(code: &str, message: String) -> ApiError {
    ApiError { code: code.to_owned(), message, details: Json::default() }
}

#[cfg(test)]
mod tests {
    use super::web_page;

    #[test]
    fn only_web_pages_are_handed_to_the_browser() {
        assert_eq!(web_page("https://example.org/a?b=c#d").expect("a web page"), "https://example.org/a?b=c#d");
        assert_eq!(web_page("HTTP://EXAMPLE.org").expect("a web page"), "http://example.org/");
        for link in ["file:///etc/passwd", "javascript:alert(1)", "data:text/html,x", "holdpoint://x", "-x", "", "//a.b"] {
            assert_eq!(web_page(link).expect_err(link).code, "invalid_request", "{link} is no web page");
        }
    }
}
