//! The tray icon: how many questions wait, the newest of them, each a way to its card. It is made only where something shows it;
//! elsewhere the app is the same without.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

use tauri::menu::{Menu, MenuBuilder, MenuItemBuilder};
use tauri::tray::TrayIconBuilder;
use tauri::{AppHandle, Manager as _, Wry};

use crate::desk::{CardKey, Desk, ShellEvent};
use crate::notice::Waiting;
use crate::{notify, window};

const ID: &str = "waiting";
const INBOX: &str = "inbox";
const QUIT: &str = "quit";
const NAME: &str = "Holdpoint";

/// What the tray says now; nothing before there is a tray.
#[derive(Default)]
pub struct Tray(Mutex<Option<Waiting>>);

/// Makes the tray when this desktop shows one.
pub fn open(handle: &AppHandle) {
    handle.manage(Tray::default());
    let handle = handle.clone();
    tauri::async_runtime::spawn(async move {
        if host::is_there().await {
            on_main_thread(&handle, make);
        }
    });
}

/// Says what waits now, after it may have changed.
pub fn refresh(handle: &AppHandle) {
    let said = handle.state::<Tray>().0.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let is_stale = said.is_some_and(|said| said != waiting(handle));
    if is_stale {
        on_main_thread(handle, paint);
    }
}

fn waiting(handle: &AppHandle) -> Waiting {
    handle.state::<Desk>().notices().waiting(notify::now())
}

/// Menus belong to the main thread, and nobody waits for it: it may be ending.
fn on_main_thread(handle: &AppHandle, work: fn(&AppHandle) -> tauri::Result<()>) {
    let on_it = handle.clone();
    let sent = handle.run_on_main_thread(move || {
        if let Err(error) = work(&on_it) {
            tracing::info!(%error, "the tray icon is not as it should be");
        }
    });
    if let Err(error) = sent {
        tracing::debug!(%error, "the tray icon is left as it is");
    }
}

fn make(handle: &AppHandle) -> tauri::Result<()> {
    let waiting = waiting(handle);
    let mut builder = TrayIconBuilder::with_id(ID).menu(&menu(handle, &waiting)?).on_menu_event(|handle, event| {
        chosen(handle, event.id().as_ref());
    });
    builder = builder.title(title(waiting.count)).tooltip(title(waiting.count));
    if let Some(icon) = handle.default_window_icon() {
        builder = builder.icon(icon.clone());
    }
    // Where the library is of another kind than this program, loading it panics.
    if let Ok(built) = catch_unwind(AssertUnwindSafe(|| builder.build(handle))) {
        built?;
        said(handle, waiting);
    }
    Ok(())
}

fn paint(handle: &AppHandle) -> tauri::Result<()> {
    let Some(tray) = handle.tray_by_id(ID) else { return Ok(()) };
    let waiting = waiting(handle);
    tray.set_menu(Some(menu(handle, &waiting)?))?;
    tray.set_title(Some(title(waiting.count)))?;
    tray.set_tooltip(Some(title(waiting.count)))?;
    said(handle, waiting);
    Ok(())
}

/// Notes what the tray says; what changed while it was being said is said next.
fn said(handle: &AppHandle, waiting: Waiting) {
    *handle.state::<Tray>().0.lock().unwrap_or_else(PoisonError::into_inner) = Some(waiting);
    refresh(handle);
}

/// Not every desktop shows an icon's title, so the menu opens with it.
fn menu(handle: &AppHandle, waiting: &Waiting) -> tauri::Result<Menu<Wry>> {
    let mut menu = MenuBuilder::new(handle);
    menu = menu.item(&MenuItemBuilder::new(title(waiting.count)).enabled(false).build(handle)?).separator();
    for (card, line) in &waiting.newest {
        menu = menu.text(serde_json::to_string(card)?, without_access_keys(line));
    }
    if !waiting.newest.is_empty() {
        menu = menu.separator();
    }
    menu.text(INBOX, "Open inbox").text(QUIT, "Quit").build()
}

fn title(count: usize) -> String {
    if count == 0 { NAME.to_owned() } else { format!("{NAME}: {count} waiting") }
}

/// In a menu `&` marks a key to press, and twice it is itself.
fn without_access_keys(line: &str) -> String {
    line.replace('&', "&&")
}

fn chosen(handle: &AppHandle, item: &str) {
    let card: Option<CardKey> = match item {
        QUIT => return handle.exit(0),
        INBOX => None,
        card => match serde_json::from_str(card) {
            Ok(card) => Some(card),
            Err(_) => return,
        },
    };
    window::show(handle);
    handle.state::<Desk>().tell(ShellEvent::Open { card });
}

/// A desktop without a place for icons takes none, and the library that sends ours may be absent: both are asked first.
#[cfg(all(unix, not(target_os = "macos")))]
mod host {
    use std::path::Path;
    use std::time::Duration;

    const WATCHER: &str = "org.kde.StatusNotifierWatcher";
    const LIBRARIES: [&str; 2] = ["libayatana-appindicator3.so.1", "libappindicator3.so.1"];
    const LOADER_CACHE: &str = "/etc/ld.so.cache";
    const PATIENCE: Duration = Duration::from_secs(3);

    pub async fn is_there() -> bool {
        let watched = tokio::time::timeout(PATIENCE, is_watched()).await;
        match watched {
            Ok(Ok(true)) => tokio::task::spawn_blocking(has_library).await.unwrap_or(false),
            Ok(Ok(false)) | Err(_) => false,
            Ok(Err(error)) => {
                tracing::debug!(%error, "no bus to find a tray on");
                false
            }
        }
    }

    async fn is_watched() -> zbus::Result<bool> {
        let bus = zbus::Connection::session().await?;
        Ok(zbus::fdo::DBusProxy::new(&bus).await?.name_has_owner(WATCHER.try_into()?).await?)
    }

    /// The loader's own list of libraries, then the folders that the environment adds to it.
    fn has_library() -> bool {
        let listed = std::fs::read(LOADER_CACHE).unwrap_or_default();
        LIBRARIES.iter().any(|name| listed.windows(name.len()).any(|part| part == name.as_bytes()) || is_in_added_folder(name))
    }

    fn is_in_added_folder(name: &str) -> bool {
        let folders = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        std::env::split_paths(&folders).any(|folder| Path::new(&folder).join(name).is_file())
    }
}

#[cfg(not(all(unix, not(target_os = "macos"))))]
mod host {
    /// These systems have a place for icons.
    pub async fn is_there() -> bool {
        std::future::ready(true).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_title_counts_who_waits_and_says_no_zero() {
        assert_eq!((title(0), title(1), title(3)), ("Holdpoint".into(), "Holdpoint: 1 waiting".into(), "Holdpoint: 3 waiting".into()));
    }

    #[test]
    fn a_question_presses_no_key_of_the_menu() {
        assert_eq!(without_access_keys("Fish & chips, &Quit"), "Fish && chips, &&Quit");
    }
}
