//! What the shell remembers about its one window: who listens, what is on screen, which notifications stand.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::{Mutex, MutexGuard, PoisonError};

use holdpoint_core::time::Millis;
use serde::Serialize;
use specta::Type;
use tauri::async_runtime::JoinHandle;
use tauri::ipc::Channel;

pub use crate::notice::CardKey;
use crate::notice::{Do, Notices, Sight};

/// What the shell says while no page listens is kept up to this many, so that a click during a reload is not lost.
const KEPT_EVENTS: usize = 20;

/// From the shell to the window.
#[derive(Clone, Debug, PartialEq, Serialize, Type)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ShellEvent {
    /// Show this question's card; without one the inbox.
    Open { card: Option<CardKey> },
    /// How an answer given in a notification went.
    Answered { card: CardKey, refused: bool, title: String, body: String },
    /// No notification can be shown at the moment; the sentence says what to do.
    NotificationsUnavailable { problem: String },
    /// The click on the test notification came back.
    TestClicked,
}

pub struct Desk {
    following: Mutex<Option<JoinHandle<()>>>,
    page: Mutex<Page>,
    sight: Mutex<Sight>,
    notices: Mutex<Notices>,
}

#[derive(Default)]
struct Page {
    listener: Option<Channel<ShellEvent>>,
    kept: VecDeque<ShellEvent>,
}

impl Desk {
    pub fn new(started: Millis) -> Self {
        Self { following: Mutex::default(), page: Mutex::default(), sight: Mutex::default(), notices: Mutex::new(Notices::new(started)) }
    }

    /// Runs `feed` in place of the one before.
    pub fn follow(&self, feed: impl Future<Output = ()> + Send + 'static) {
        let next = tauri::async_runtime::spawn(feed);
        if let Some(before) = lock(&self.following).replace(next) {
            before.abort();
        }
    }

    pub fn listen(&self, listener: Channel<ShellEvent>) {
        let mut page = lock(&self.page);
        for event in page.kept.drain(..) {
            // A page that is already gone again has nobody to tell.
            let _ = listener.send(event);
        }
        page.listener = Some(listener);
    }

    pub fn tell(&self, event: ShellEvent) {
        let mut page = lock(&self.page);
        if let Some(listener) = &page.listener
            && listener.send(event.clone()).is_ok()
        {
            return;
        }
        page.kept.push_back(event);
        if page.kept.len() > KEPT_EVENTS {
            page.kept.pop_front();
        }
    }

    /// The page is loaded anew: nothing of the old one listens or is on screen.
    pub fn page_left(&self) {
        if let Some(feed) = lock(&self.following).take() {
            feed.abort();
        }
        lock(&self.page).listener = None;
        lock(&self.sight).cards.clear();
    }

    pub fn set_focused(&self, focused: bool) -> Vec<Do> {
        lock(&self.sight).focused = focused;
        self.seen()
    }

    pub fn set_visible(&self, cards: Vec<CardKey>) -> Vec<Do> {
        lock(&self.sight).cards = cards;
        self.seen()
    }

    fn seen(&self) -> Vec<Do> {
        let sight = self.sight();
        self.notices().seen(&sight)
    }

    pub fn sight(&self) -> Sight {
        lock(&self.sight).clone()
    }

    pub fn notices(&self) -> MutexGuard<'_, Notices> {
        lock(&self.notices)
    }
}

/// A panic elsewhere leaves these plain values whole, so a poisoned lock is still good.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
