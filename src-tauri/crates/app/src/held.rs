//! Answers held back so that they can be undone. They live in the database and are sent when due, also after a restart; one that
//! is refused stays, with its reason, until the person dismisses it.

use std::time::Duration;

use holdpoint_store::HeldAnswer;
use holdpoint_view::row::{Json, Time};
use serde_json::Value;

use crate::caller::Caller;
use crate::wire::{Command, ScheduledAnswer, Submit};
use crate::{Answered, App, now};

const SCHEDULED: &str = "scheduled";
const REFUSED: &str = "refused";
/// Undo time when the settings name none.
const DEFAULT_DELAY_MS: i64 = 4000;
/// The clock may jump (sleep, NTP), so a long wait looks at it again now and then.
const LONGEST_NAP: Duration = Duration::from_secs(10);

impl App {
    pub(crate) fn held(&self) -> Answered<Vec<ScheduledAnswer>> {
        let held = self.inner.store.held_answers()?;
        Ok(held.into_iter().filter_map(|held| serde_json::from_value(held.body).ok()).collect())
    }

    /// Status and time are set here: `due_at` from the settings' undo time.
    pub(crate) async fn hold(&self, mut answer: ScheduledAnswer) -> Answered<()> {
        SCHEDULED.clone_into(&mut answer.status);
        answer.error = None;
        answer.due_at = Time(now().plus(self.undo_ms(&answer)?));
        self.keep(answer).await
    }

    async fn keep(&self, answer: ScheduledAnswer) -> Answered<()> {
        let body = serde_json::to_value(&answer).unwrap_or_default();
        let held = HeldAnswer { command_id: answer.command_id, due_at: answer.due_at.0, body };
        self.inner.store.hold_answer(held).await?;
        self.desk_changed();
        Ok(())
    }

    pub(crate) fn desk_changed(&self) {
        self.inner.desk_changed.send_modify(|count| *count += 1);
    }

    /// `undo_ms` of the settings, per risk (`undo_ms_high` …) or for all; 0 sends at once.
    fn undo_ms(&self, answer: &ScheduledAnswer) -> Answered<i64> {
        let Some(settings) = self.inner.store.settings()? else { return Ok(DEFAULT_DELAY_MS) };
        let risk = self.risk_of(answer)?;
        let named = risk.and_then(|risk| settings[format!("undo_ms_{risk}")].as_i64());
        Ok(named.or(settings["undo_ms"].as_i64()).unwrap_or(DEFAULT_DELAY_MS).max(0))
    }

    fn risk_of(&self, answer: &ScheduledAnswer) -> Answered<Option<String>> {
        let question = self.question(&answer.session_id, &answer.interrupt_id)?;
        let risk = question.and_then(|row| row.payload.0["metadata"]["risk"].as_str().map(str::to_owned));
        Ok(risk.filter(|risk| matches!(risk.as_str(), "low" | "medium" | "high")))
    }

    pub(crate) fn start_held_answers(&self) {
        let app = self.clone();
        self.inner.tasks.spawn(async move { app.send_held_answers().await });
    }

    async fn send_held_answers(&self) {
        let closing = self.closing();
        let mut changed = self.inner.desk_changed.subscribe();
        loop {
            changed.borrow_and_update();
            let nap = match self.send_due().await {
                Ok(nap) => nap,
                Err(error) => {
                    tracing::error!(%error, "scheduled answers cannot be read");
                    LONGEST_NAP
                }
            };
            tokio::select! {
                () = closing.cancelled() => return,
                _ = changed.changed() => {}
                () = tokio::time::sleep(nap) => {}
            }
        }
    }

    /// Sends what is due and gives the time until the next one.
    async fn send_due(&self) -> Answered<Duration> {
        for answer in self.held()?.into_iter().filter(|answer| answer.status == SCHEDULED) {
            let wait = answer.due_at.0.0 - now().0;
            if wait > 0 {
                return Ok(Duration::from_millis(wait as u64).min(LONGEST_NAP));
            }
            self.send_held(answer).await?;
        }
        Ok(LONGEST_NAP)
    }

    /// Sent first, dropped afterwards: a crash between sends it twice under one command id, which acts once (D-13).
    async fn send_held(&self, answer: ScheduledAnswer) -> Answered<()> {
        let sent = self.send_now(&answer).await;
        match sent {
            Ok(()) => {
                self.inner.store.drop_held_answer(answer.command_id).await?;
                self.desk_changed();
                Ok(())
            }
            Err(error) => {
                let refused = ScheduledAnswer { status: REFUSED.to_owned(), error: Some(error.into()), ..answer };
                self.keep(refused).await
            }
        }
    }

    async fn send_now(&self, answer: &ScheduledAnswer) -> Answered<()> {
        if answer.switch_first
            && let Some(leaf) = self.branch_of(&answer.session_id, &answer.interrupt_id).await?
        {
            let command = Command::MakeActive { message_id: leaf };
            self.carry_out(&Caller::operator(), &answer.session_id, command, Some(format!("{}:switch", answer.command_id))).await?;
        }
        let submit = Submit {
            command_id: answer.command_id.clone(),
            session_id: answer.session_id.clone(),
            command: Command::Answer {
                interrupt_id: answer.interrupt_id.clone(),
                shown_hash: answer.shown_hash.clone(),
                answer: answer.answer.clone(),
            },
        };
        self.submit_desktop(submit).await.map(|_| ())
    }

    /// False: it was sent already, or never there.
    pub(crate) async fn take_back(&self, command_id: &str) -> Answered<bool> {
        let waiting = self.held()?.into_iter().any(|answer| answer.command_id == command_id && answer.status == SCHEDULED);
        let taken = waiting && self.inner.store.drop_held_answer(command_id).await?;
        self.desk_changed();
        Ok(taken)
    }

    pub(crate) async fn forget_held(&self, command_id: &str) -> Answered<()> {
        let refused = self.held()?.into_iter().any(|answer| answer.command_id == command_id && answer.status == REFUSED);
        if refused {
            self.inner.store.drop_held_answer(command_id).await?;
        }
        self.desk_changed();
        Ok(())
    }
}

/// Settings as saved; an empty object before anything was.
pub(crate) fn settings_or_empty(settings: Option<Value>) -> Json {
    Json(settings.unwrap_or_else(|| Value::Object(serde_json::Map::new())))
}
