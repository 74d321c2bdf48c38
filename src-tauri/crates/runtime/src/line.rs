//! The way from a running connector call back to its session: questions of its server (§10D), and how far it is.
//!
//! Nothing is kept here. What was asked and answered is read from the log, so a call that is sent again finds its answers (M-37).

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use holdpoint_core::command::Command;
use holdpoint_core::elicit::{self, Question, Reply};
use holdpoint_core::id::CallId;
use holdpoint_core::state::Session;
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::engine::Engine;
use crate::runner::{CallLine, Progress};
use crate::slot::Slot;

/// A person reads no more than this; what comes between is left out.
const SHOWN_EVERY: Duration = Duration::from_millis(100);
const LONGEST_MESSAGE: usize = 500;

pub(crate) struct Line {
    engine: Engine,
    slot: Arc<Slot>,
    call: CallId,
    attempt: u32,
    token: CancellationToken,
    /// What progress was shown last, and when.
    shown: Mutex<Option<(f64, Instant)>>,
    /// Frames sent.
    count: AtomicU64,
}

impl Line {
    pub fn new(engine: Engine, slot: Arc<Slot>, call: CallId, attempt: u32, token: CancellationToken) -> Self {
        Self { engine, slot, call, attempt, token, shown: Mutex::default(), count: AtomicU64::default() }
    }

    /// M-37: a call that waited for a person when the engine stopped goes off when every question is answered.
    pub async fn until_answered(&self) -> Option<()> {
        self.until(|session| session.tool(&self.call).filter(|call| !elicit::waits(session, call)).map(|_| ())).await
    }

    /// Waits for `find` to find something in the session. `None`: the call is over.
    async fn until<T>(&self, find: impl Fn(&Session) -> Option<T>) -> Option<T> {
        let mut seq = self.engine.watch(&self.slot.id);
        loop {
            seq.borrow_and_update();
            match self.engine.read(&self.slot.id, &find).await {
                Ok(Some(Some(found))) => return Some(found),
                Ok(_) => {}
                // The next change finds the database as it is then.
                Err(failure) => tracing::error!(session = %self.slot.id, %failure, "cannot read the session"),
            }
            tokio::select! {
                () = self.token.cancelled() => return None,
                changed = seq.changed() => changed.ok()?,
            }
        }
    }

    /// Whether this one is shown: not too soon after the last, and never less than was shown. The end of it always is.
    fn is_due(&self, told: &Progress) -> bool {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let complete = told.total.is_some_and(|total| told.progress >= total);
        let due = shown.is_none_or(|(last, at)| told.progress > last && (complete || at.elapsed() >= SHOWN_EVERY));
        if due {
            *shown = Some((told.progress, Instant::now()));
        }
        due
    }
}

#[async_trait]
impl CallLine for Line {
    async fn ask(&self, questions: Vec<Question>) -> Option<Vec<Reply>> {
        let command = Command::ConnectorAsks { call: self.call.clone(), attempt: self.attempt, questions: questions.clone() };
        self.engine.report(self.slot.id.clone(), command).await;
        self.until(|session| elicit::replies(session, &self.call, &questions)).await
    }

    fn progress(&self, progress: Progress) {
        if self.token.is_cancelled() || self.slot.deltas.receiver_count() == 0 || !self.is_due(&progress) {
            return;
        }
        let seq = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        let message = progress.message.map(|text| text.chars().take(LONGEST_MESSAGE).collect());
        let mut frame = json!({"type": "tool.call.progress", "session_id": self.slot.id, "call_id": self.call, "seq": seq});
        if let (Value::Object(frame), Ok(Value::Object(own))) = (&mut frame, serde_json::to_value(Progress { message, ..progress })) {
            frame.extend(own);
        }
        // An error means that the last reader has just gone.
        let _ = self.slot.deltas.send(frame);
    }
}
