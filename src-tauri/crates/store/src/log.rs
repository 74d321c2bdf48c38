//! Reading the log: events, what a session is, who belongs to whom, what to wake at start.

use holdpoint_core::event::{Event, Payload};
use holdpoint_core::id::{SessionId, TurnId};
use holdpoint_core::money::Money;
use holdpoint_core::time::Millis;
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use serde_json::Value;

use crate::Store;
use crate::error::{StoreError, unreadable};

/// What is fixed when a session is made, and how far its log goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionMeta {
    pub tenant: String,
    pub root_session_id: SessionId,
    pub parent: Option<SessionId>,
    pub seq: u64,
}

impl Store {
    /// In log order, from `after_seq + 1`. Empty for a session that is not there.
    pub fn events(&self, session: &SessionId, after_seq: u64, limit: usize) -> Result<Vec<Event>, StoreError> {
        self.read(|db| {
            let mut select = db.prepare_cached(
                "SELECT seq, at, turn_id, payload FROM event
                 WHERE session = (SELECT id FROM session WHERE session_id = ?1) AND seq > ?2 ORDER BY seq LIMIT ?3",
            )?;
            let mut rows = select.query(params![session.as_str(), bounded(after_seq), bounded(limit as u64)])?;
            let mut events = Vec::new();
            while let Some(row) = rows.next()? {
                events.push(event(row)?);
            }
            Ok(events)
        })
    }

    pub fn session_meta(&self, session: &SessionId) -> Result<Option<SessionMeta>, StoreError> {
        self.read(|db| {
            let meta = db
                .prepare_cached("SELECT tenant, root, parent, seq FROM session WHERE session_id = ?1")?
                .query_row([session.as_str()], |row| {
                    Ok(SessionMeta {
                        tenant: row.get(0)?,
                        root_session_id: row.get::<_, String>(1)?.into(),
                        parent: row.get::<_, Option<String>>(2)?.map(SessionId::from),
                        seq: row.get::<_, i64>(3)? as u64,
                    })
                })
                .optional()?;
            Ok(meta)
        })
    }

    /// `root` and all its descendants, in the order they were made.
    pub fn family(&self, root: &SessionId) -> Result<Vec<SessionId>, StoreError> {
        self.read(|db| ids(db, "SELECT session_id FROM session WHERE root = ?1 ORDER BY id", [root.as_str()]))
    }

    /// Sessions with something to do by themselves, to be loaded at start. The rest sleeps in the file.
    pub fn unfinished(&self) -> Result<Vec<SessionId>, StoreError> {
        self.read(|db| ids(db, "SELECT session_id FROM session WHERE busy = 1 ORDER BY id", []))
    }

    /// The first answer of a command, if it was accepted (D-13).
    pub fn receipt(&self, command_id: &str) -> Result<Option<Value>, StoreError> {
        let body = self.read(|db| {
            let mut select = db.prepare_cached("SELECT body FROM receipt WHERE command_id = ?1")?;
            Ok(select.query_row([command_id], |row| row.get::<_, String>(0)).optional()?)
        })?;
        body.map(|body| serde_json::from_str(&body).map_err(|error| unreadable("receipt", error))).transpose()
    }

    /// What `tenant` spent since then: a decimal string in US dollars (B-1).
    pub fn spend_since(&self, tenant: &str, since: Millis) -> Result<String, StoreError> {
        self.read(|db| {
            let mut select = db.prepare_cached("SELECT cost FROM spend WHERE tenant = ?1 AND at >= ?2")?;
            let mut rows = select.query(params![tenant, since.0])?;
            let mut sum = Money::ZERO;
            while let Some(row) = rows.next()? {
                let cost: String = row.get(0)?;
                sum = sum.plus(Money::parse(&cost).ok_or_else(|| StoreError::Corrupt { detail: format!("cost {cost:?}") })?);
            }
            Ok(sum.to_string())
        })
    }
}

fn event(row: &Row<'_>) -> Result<Event, StoreError> {
    let seq = row.get::<_, i64>(0)? as u64;
    let text = row.get_ref(3)?;
    let text = text.as_str().map_err(|_| rusqlite::Error::InvalidColumnType(3, "payload".to_owned(), Type::Text))?;
    let payload: Payload = serde_json::from_str(text).map_err(|error| unreadable(&format!("event {seq}"), error))?;
    Ok(Event { seq, at: Millis(row.get(1)?), turn_id: row.get::<_, Option<String>>(2)?.map(TurnId::from), payload })
}

fn ids<P: rusqlite::Params>(db: &Connection, sql: &str, params: P) -> Result<Vec<SessionId>, StoreError> {
    let mut select = db.prepare_cached(sql)?;
    let ids = select.query_map(params, |row| Ok(row.get::<_, String>(0)?.into()))?;
    Ok(ids.collect::<Result<_, _>>()?)
}

/// SQLite's integers end where `i64` ends.
pub(crate) fn bounded(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
