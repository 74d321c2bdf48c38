//! One sleeping task for all sessions. It wakes when the earliest of them is due; with none it never wakes.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use holdpoint_core::id::SessionId;
use holdpoint_core::time::Millis;
use tokio::sync::Notify;

/// Longest sleep: a wall clock that was set back or a machine that slept must not keep a deadline waiting for long.
const LONGEST: Duration = Duration::from_mins(1);

#[derive(Default)]
pub struct Timers {
    due: Mutex<Due>,
    changed: Notify,
}

#[derive(Default)]
struct Due {
    order: BTreeSet<(Millis, SessionId)>,
    of: HashMap<SessionId, Millis>,
}

impl Timers {
    /// Replaces the session's wake-up; `None` takes it out.
    pub fn set(&self, session: &SessionId, at: Option<Millis>) {
        let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        let known = due.of.get(session).copied();
        if known == at {
            return;
        }
        if let Some(before) = known {
            due.order.remove(&(before, session.clone()));
            due.of.remove(session);
        }
        if let Some(at) = at {
            due.order.insert((at, session.clone()));
            due.of.insert(session.clone(), at);
        }
        drop(due);
        self.changed.notify_one();
    }

    /// Takes out every session that is due.
    pub fn take_due(&self, now: Millis) -> Vec<SessionId> {
        let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        let mut sessions = Vec::new();
        while let Some((at, session)) = due.order.first().cloned().filter(|(at, _)| *at <= now) {
            due.order.remove(&(at, session.clone()));
            due.of.remove(&session);
            sessions.push(session);
        }
        sessions
    }

    /// Sleeps until the earliest wake-up, or until the list changes.
    pub async fn sleep(&self, now: Millis) {
        let next = self.due.lock().unwrap_or_else(PoisonError::into_inner).order.first().map(|(at, _)| *at);
        match next {
            None => self.changed.notified().await,
            Some(at) => {
                let wait = Duration::from_millis((at.0 - now.0).max(0) as u64).min(LONGEST);
                tokio::select! {
                    () = tokio::time::sleep(wait) => {}
                    () = self.changed.notified() => {}
                }
            }
        }
    }
}
