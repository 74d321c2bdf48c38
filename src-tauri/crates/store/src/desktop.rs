//! What belongs to the desktop alone and to no session's log: drafts, settings, snoozed questions, answers not sent yet.

use holdpoint_core::time::Millis;
use rusqlite::{OptionalExtension as _, params};
use serde_json::Value;

use crate::Store;
use crate::error::{StoreError, unreadable};

/// A question put aside. `until` null: until it is brought back by hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snooze {
    pub session_id: String,
    pub interrupt_id: String,
    pub until: Option<Millis>,
}

/// An answer that can still be undone, or was refused when sent. `body` is the surface's own JSON.
#[derive(Clone, Debug, PartialEq)]
pub struct HeldAnswer {
    pub command_id: String,
    pub due_at: Millis,
    pub body: Value,
}

impl Store {
    pub fn drafts(&self) -> Result<Vec<(String, Value)>, StoreError> {
        self.read(|db| {
            let mut select = db.prepare_cached("SELECT key, value FROM draft ORDER BY key")?;
            let mut rows = select.query([])?;
            let mut drafts = Vec::new();
            while let Some(row) = rows.next()? {
                drafts.push((row.get(0)?, parse(&row.get::<_, String>(1)?)?));
            }
            Ok(drafts)
        })
    }

    pub async fn save_draft(&self, key: impl Into<String>, value: Value) -> Result<(), StoreError> {
        let key = key.into();
        self.write(move |db| {
            db.prepare_cached("INSERT OR REPLACE INTO draft (key, value) VALUES (?1, ?2)")?.execute([key, value.to_string()])?;
            Ok(())
        })
        .await
    }

    pub async fn delete_draft(&self, key: impl Into<String>) -> Result<(), StoreError> {
        let key = key.into();
        self.write(move |db| {
            db.prepare_cached("DELETE FROM draft WHERE key = ?1")?.execute([key])?;
            Ok(())
        })
        .await
    }

    /// `None` before anything was saved.
    pub fn settings(&self) -> Result<Option<Value>, StoreError> {
        let text: Option<String> = self.read(|db| Ok(db.query_row("SELECT value FROM setting", [], |row| row.get(0)).optional()?))?;
        text.map(|text| parse(&text)).transpose()
    }

    pub async fn save_settings(&self, settings: Value) -> Result<(), StoreError> {
        self.write(move |db| {
            let replace = "INSERT OR REPLACE INTO setting (only_row, value) VALUES (1, ?1)";
            db.prepare_cached(replace)?.execute([settings.to_string()])?;
            Ok(())
        })
        .await
    }

    pub fn snoozed(&self) -> Result<Vec<Snooze>, StoreError> {
        self.read(|db| {
            let mut select = db.prepare_cached("SELECT session_id, interrupt_id, until FROM snooze ORDER BY session_id, interrupt_id")?;
            let snoozed = select.query_map([], |row| {
                let until = row.get::<_, Option<i64>>(2)?.map(Millis);
                Ok(Snooze { session_id: row.get(0)?, interrupt_id: row.get(1)?, until })
            })?;
            Ok(snoozed.collect::<Result<_, _>>()?)
        })
    }

    pub async fn snooze(&self, snooze: Snooze) -> Result<(), StoreError> {
        self.write(move |db| {
            let replace = "INSERT OR REPLACE INTO snooze (session_id, interrupt_id, until) VALUES (?1, ?2, ?3)";
            db.prepare_cached(replace)?.execute(params![snooze.session_id, snooze.interrupt_id, snooze.until.map(|at| at.0)])?;
            Ok(())
        })
        .await
    }

    pub async fn unsnooze(&self, session_id: impl Into<String>, interrupt_id: impl Into<String>) -> Result<(), StoreError> {
        let key = [session_id.into(), interrupt_id.into()];
        self.write(move |db| {
            db.prepare_cached("DELETE FROM snooze WHERE session_id = ?1 AND interrupt_id = ?2")?.execute(key)?;
            Ok(())
        })
        .await
    }

    /// The next due first.
    pub fn held_answers(&self) -> Result<Vec<HeldAnswer>, StoreError> {
        self.read(|db| {
            let mut select = db.prepare_cached("SELECT command_id, due_at, body FROM scheduled_answer ORDER BY due_at, command_id")?;
            let mut rows = select.query([])?;
            let mut held = Vec::new();
            while let Some(row) = rows.next()? {
                let body = parse(&row.get::<_, String>(2)?)?;
                held.push(HeldAnswer { command_id: row.get(0)?, due_at: Millis(row.get(1)?), body });
            }
            Ok(held)
        })
    }

    /// Adds it, or replaces the one of this command id.
    pub async fn hold_answer(&self, answer: HeldAnswer) -> Result<(), StoreError> {
        self.write(move |db| {
            let replace = "INSERT OR REPLACE INTO scheduled_answer (command_id, due_at, body) VALUES (?1, ?2, ?3)";
            db.prepare_cached(replace)?.execute(params![answer.command_id, answer.due_at.0, answer.body.to_string()])?;
            Ok(())
        })
        .await
    }

    /// False: it was not there any more. Of two callers that race for one answer exactly one gets true.
    pub async fn drop_held_answer(&self, command_id: impl Into<String>) -> Result<bool, StoreError> {
        let command_id = command_id.into();
        self.write(move |db| Ok(db.prepare_cached("DELETE FROM scheduled_answer WHERE command_id = ?1")?.execute([command_id])? > 0)).await
    }
}

fn parse(text: &str) -> Result<Value, StoreError> {
    serde_json::from_str(text).map_err(|error| unreadable("desktop value", error))
}
