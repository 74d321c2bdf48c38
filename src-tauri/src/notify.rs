//! The system's notifications: shows and withdraws what [`crate::notice`] decides, and carries clicks back. An answer given in
//! a notification goes through the same door as the card's.

use std::time::Duration;

use futures::StreamExt as _;
use holdpoint_app::App;
use holdpoint_app::wire::{FeedFrom, Frame};
use holdpoint_core::time::Millis;
use serde::Serialize;
use specta::Type;
use tauri::{AppHandle, Manager as _};
use tauri_plugin_notification::{Action, ActionType, NotificationExt as _};

use crate::desk::{Desk, ShellEvent};
use crate::notice::{self, Click, Do, Notice};
use crate::{tray, window};

/// Notification ids of [`notice::Notices`] are positive.
const TEST_ID: i32 = -1;

/// Whether a notification would reach a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Type)]
pub struct NotificationStatus {
    /// The service that answered, by name, where the platform tells.
    pub service: Option<String>,
    /// Why none would, and what to do.
    pub problem: Option<String>,
}

/// Follows the open questions for as long as the app runs.
pub fn watch(handle: &AppHandle, app: App) {
    let clicks = handle.clone();
    let reported = handle.notification().on_action(move |performed| {
        if let Some(notification) = performed.notification() {
            clicked(&clicks, notification.id(), performed.action_id());
        }
    });
    if let Err(error) = reported {
        tracing::warn!(%error, "clicks on notifications will not be reported");
    }
    let handle = handle.clone();
    tauri::async_runtime::spawn(async move {
        let mut feed = Box::pin(app.feed(FeedFrom::default()));
        loop {
            let due = handle.state::<Desk>().notices().next_due(now());
            let todo = tokio::select! {
                frame = feed.next() => match frame {
                    None => return,
                    Some(Frame::Lists { interrupts, reset, .. }) => {
                        let desk = handle.state::<Desk>();
                        let sight = desk.sight();
                        desk.notices().changed(&interrupts, reset, now(), &sight)
                    }
                    Some(Frame::Snoozed { snoozed }) => {
                        handle.state::<Desk>().notices().hide(&snoozed);
                        Vec::new()
                    }
                    Some(_) => continue,
                },
                () = until(due) => {
                    let desk = handle.state::<Desk>();
                    let sight = desk.sight();
                    desk.notices().due(now(), &sight)
                }
            };
            tray::refresh(&handle);
            perform(&handle, todo).await;
        }
    });
}

async fn until(due: Option<Millis>) {
    match due {
        Some(at) => tokio::time::sleep(Duration::from_millis((at.0 - now().0).max(0) as u64)).await,
        None => std::future::pending().await,
    }
}

pub fn perform_soon(handle: &AppHandle, todo: Vec<Do>) {
    if !todo.is_empty() {
        let handle = handle.clone();
        tauri::async_runtime::spawn(async move { perform(&handle, todo).await });
    }
}

async fn perform(handle: &AppHandle, todo: Vec<Do>) {
    for step in todo {
        match step {
            Do::Show(notice) => {
                let status = show(handle, notice).await;
                if let Some(problem) = status.problem {
                    handle.state::<Desk>().tell(ShellEvent::NotificationsUnavailable { problem });
                }
            }
            Do::Withdraw(id) => withdraw(handle, id),
        }
    }
}

pub async fn test(handle: &AppHandle) -> NotificationStatus {
    let notice = Notice {
        id: TEST_ID,
        title: "Holdpoint can notify you".to_owned(),
        body: "Click here, and the window says that the click came back.".to_owned(),
        actions: vec![(notice::OPEN.to_owned(), "It works".to_owned())],
    };
    show(handle, notice).await
}

async fn show(handle: &AppHandle, notice: Notice) -> NotificationStatus {
    let (status, markup) = service::ask().await;
    if status.problem.is_some() {
        return status;
    }
    let body = if markup { escaped(&notice.body) } else { notice.body };
    let notifications = handle.notification();
    let builder = notifications.builder().id(notice.id).title(notice.title).body(body);
    // The plugin takes labels by the name of their set; the set itself is the best name.
    let labels: Vec<&str> = notice.actions.iter().flat_map(|(id, label)| [id.as_str(), label.as_str()]).collect();
    let set = labels.join("\u{1f}");
    let actions = notice.actions.iter().map(|(id, label)| Action::builder(id, label).build()).collect();
    let sent = notifications
        .register_action_types(vec![ActionType::builder(&set).actions(actions).build()])
        .and_then(|()| builder.action_type_id(set).show());
    match sent {
        Ok(()) => status,
        Err(error) => NotificationStatus { problem: Some(format!("The notification could not be shown: {error}.")), ..status },
    }
}

fn withdraw(handle: &AppHandle, id: i32) {
    if let Err(error) = handle.notification().remove_active(vec![id]) {
        tracing::debug!(%error, id, "the notification could not be withdrawn");
    }
}

fn clicked(handle: &AppHandle, id: i32, action: &str) {
    let desk = handle.state::<Desk>();
    if id == TEST_ID {
        withdraw(handle, id);
        desk.tell(ShellEvent::TestClicked);
        window::show(handle);
        return;
    }
    let click = desk.notices().clicked(id, action);
    match click {
        None => {}
        Some(Click::Open(card)) => {
            // Some services leave a notification standing after one of its actions was taken.
            withdraw(handle, id);
            window::show(handle);
            desk.tell(ShellEvent::Open { card });
        }
        Some(Click::Answer { submit, asked, label }) => {
            let handle = handle.clone();
            tauri::async_runtime::spawn(async move {
                let result = handle.state::<App>().submit(submit).await;
                let told = notice::tell(&asked, &label, &result);
                let desk = handle.state::<Desk>();
                let follow_up = desk.notices().follow_up(&asked, &told);
                let card = asked.card;
                desk.tell(ShellEvent::Answered { card, refused: told.refused, title: told.title, body: told.body });
                perform(&handle, vec![Do::Show(follow_up)]).await;
            });
        }
    }
}

pub async fn status() -> NotificationStatus {
    service::ask().await.0
}

/// Message text is never markup: a service that reads some gets it escaped.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

pub fn now() -> Millis {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Millis(since.as_millis() as i64)
}

/// The plugin reports success even when nothing listens on the bus, so the bus is asked first.
#[cfg(all(unix, not(target_os = "macos")))]
mod service {
    use std::time::Duration;

    use super::NotificationStatus;

    const NAME: &str = "org.freedesktop.Notifications";
    const PATH: &str = "/org/freedesktop/Notifications";
    /// A service started by this very question may take a moment.
    const PATIENCE: Duration = Duration::from_secs(3);

    /// The status, and whether the service reads markup in texts.
    pub async fn ask() -> (NotificationStatus, bool) {
        let answer = tokio::time::timeout(PATIENCE, name_and_capabilities()).await;
        let problem = match answer {
            Ok(Ok((name, capabilities))) => {
                let markup = capabilities.iter().any(|capability| capability == "body-markup");
                return (NotificationStatus { service: Some(name), problem: None }, markup);
            }
            Ok(Err(error)) => {
                tracing::info!(%error, "no notification service");
                "No notification service answers on this desktop. Start or install one (dunst and mako are small), or keep this \
                 window in sight."
            }
            Err(_) => "The notification service of this desktop does not answer. Restart it, or keep this window in sight.",
        };
        (NotificationStatus { service: None, problem: Some(problem.to_owned()) }, false)
    }

    async fn name_and_capabilities() -> zbus::Result<(String, Vec<String>)> {
        let bus = zbus::Connection::session().await?;
        let call = async |method: &str| bus.call_method(Some(NAME), PATH, Some(NAME), method, &()).await;
        let (name, _vendor, _version, _spec): (String, String, String, String) =
            call("GetServerInformation").await?.body().deserialize()?;
        let capabilities: Vec<String> = call("GetCapabilities").await?.body().deserialize()?;
        Ok((name, capabilities))
    }
}

#[cfg(not(all(unix, not(target_os = "macos"))))]
mod service {
    use super::NotificationStatus;

    /// These systems always have a notification centre; whether it shows something is the person's setting, which it does not tell.
    pub async fn ask() -> (NotificationStatus, bool) {
        (NotificationStatus { service: None, problem: None }, false)
    }
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn a_message_is_text_for_a_service_that_reads_markup() {
        assert_eq!(escaped("<b>a</b> & <img src=x>"), "&lt;b&gt;a&lt;/b&gt; &amp; &lt;img src=x&gt;");
    }
}
