//! The one way events get in: events, rows, spend and receipt of a step in one transaction (E-3, D-10, D-13).

use std::sync::Arc;

use holdpoint_core::event::Event;
use holdpoint_core::id::{SessionId, TurnId};
use holdpoint_core::money::Money;
use holdpoint_core::time::Millis;
use holdpoint_view::row::{InterruptRow, SessionRow};
use rusqlite::{Connection, OptionalExtension as _, params};
use serde::Serialize;
use serde_json::Value;

use crate::error::StoreError;

/// What one step did to one session.
#[derive(Clone, Debug)]
pub struct SessionAppend {
    pub session_id: SessionId,
    /// The session's last event before this step; 0 makes the session.
    pub expected_seq: u64,
    /// Numbered from `expected_seq + 1`, without gaps. May be empty when only rows change.
    pub events: Arc<[Event]>,
    pub tenant: String,
    /// Something runs or waits to run: this session is to be loaded at start.
    pub busy: bool,
    pub row: SessionRow,
    /// Rows that changed, open or closed.
    pub interrupts: Vec<InterruptRow>,
    pub spend: Vec<Spend>,
}

/// What one call cost, in US dollars.
#[derive(Clone, Debug, PartialEq)]
pub struct Spend {
    pub seq: u64,
    pub at: Millis,
    pub cost: Money,
}

/// One step: all of it or nothing, over several sessions when it reaches children.
#[derive(Clone, Debug, Default)]
pub struct Append {
    pub sessions: Vec<SessionAppend>,
    pub receipt: Option<CommandReceipt>,
}

/// The first answer of a command. `command_id` is made unique by the caller (tenant, surface).
#[derive(Clone, Debug, PartialEq)]
pub struct CommandReceipt {
    pub command_id: String,
    pub body: Value,
}

/// An [`Append`] as the writer needs it: the JSON is written on the caller's side, so that the writer only stores.
pub(crate) struct Prepared {
    sessions: Vec<PreparedSession>,
    receipt: Option<(String, String)>,
    now: i64,
}

struct PreparedSession {
    step: SessionAppend,
    payloads: Vec<String>,
    row: String,
    interrupts: Vec<String>,
}

impl Prepared {
    pub fn new(append: Append, now: Millis) -> Result<Self, StoreError> {
        let sessions = append.sessions.into_iter().map(PreparedSession::new).collect::<Result<_, _>>()?;
        let receipt = append.receipt.map(|receipt| (receipt.command_id, receipt.body.to_string()));
        Ok(Self { sessions, receipt, now: now.0 })
    }

    /// Refuses before the first write (D-10, D-13); what fails after that is the disk's.
    pub fn apply(&self, db: &Connection, counter: &mut u64) -> Result<(), StoreError> {
        if let Some((command_id, _)) = &self.receipt {
            refuse_repeated(db, command_id)?;
        }
        let found = self.sessions.iter().map(|session| session.find(db)).collect::<Result<Vec<_>, _>>()?;
        if let Some((command_id, body)) = &self.receipt {
            insert_receipt(db, command_id, body, self.now)?;
        }
        if found.is_empty() {
            return Ok(());
        }
        *counter += 1;
        self.sessions.iter().zip(found).try_for_each(|(session, id)| session.put(db, id, *counter as i64))
    }
}

impl PreparedSession {
    fn new(step: SessionAppend) -> Result<Self, StoreError> {
        let first = step.expected_seq + 1;
        let dense = step.events.iter().zip(first..).all(|(event, seq)| event.seq == seq);
        assert!(dense, "E-3: events of {} do not follow event {}", step.session_id, step.expected_seq);
        assert_eq!(step.row.session_id, step.session_id.as_str(), "a step carries its own session's row");
        Ok(Self {
            payloads: step.events.iter().map(|event| json(&event.payload)).collect::<Result<_, _>>()?,
            row: json(&step.row)?,
            interrupts: step.interrupts.iter().map(json).collect::<Result<_, _>>()?,
            step,
        })
    }

    /// The session's number, if it has one, after a check of the expected seq.
    fn find(&self, db: &Connection) -> Result<Option<i64>, StoreError> {
        let SessionAppend { session_id, expected_seq, .. } = &self.step;
        let found: Option<(i64, i64)> = db
            .prepare_cached("SELECT id, seq FROM session WHERE session_id = ?1")?
            .query_row([session_id.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        let stored_seq = found.map_or(0, |(_, seq)| seq as u64);
        if stored_seq != *expected_seq {
            return Err(StoreError::Conflict { session_id: session_id.clone(), seq: stored_seq });
        }
        Ok(found.map(|(id, _)| id))
    }

    fn put(&self, db: &Connection, found: Option<i64>, changed: i64) -> Result<(), StoreError> {
        let session = self.put_session(db, found, changed)?;
        self.put_events(db, session)?;
        self.put_interrupts(db, session, changed)?;
        self.put_spend(db, session)
    }

    fn put_session(&self, db: &Connection, found: Option<i64>, changed: i64) -> Result<i64, StoreError> {
        let SessionAppend { session_id, expected_seq, events, tenant, busy, row, .. } = &self.step;
        let seq = (expected_seq + events.len() as u64) as i64;
        let mutable = params![row.last_event_at.0.0, row.wake_at.map(|at| at.0.0), busy, seq, changed, self.row];
        if let Some(id) = found {
            // Only what changes: naming the column of an index rewrites it.
            let mut update = db.prepare_cached(
                "UPDATE session SET last_event_at = ?1, wake_at = ?2, busy = ?3, seq = ?4, changed = ?5, row = ?6 WHERE id = ?7",
            )?;
            update.execute(&[mutable, params![id]].concat()[..])?;
            return Ok(id);
        }
        let mut insert = db.prepare_cached(
            "INSERT INTO session (last_event_at, wake_at, busy, seq, changed, row, session_id, tenant, root, parent, agent_id,
             top_level, first_event_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
        )?;
        let fixed = params![
            session_id.as_str(),
            tenant,
            row.root_session_id,
            row.parent_session_id,
            row.agent_id,
            row.top_level,
            row.first_event_at.0.0
        ];
        Ok(insert.insert(&[mutable, fixed].concat()[..])?)
    }

    fn put_events(&self, db: &Connection, session: i64) -> Result<(), StoreError> {
        let mut insert = db.prepare_cached("INSERT INTO event (session, seq, at, turn_id, payload) VALUES (?1, ?2, ?3, ?4, ?5)")?;
        for (event, payload) in self.step.events.iter().zip(&self.payloads) {
            let turn = event.turn_id.as_ref().map(TurnId::as_str);
            insert.execute(params![session, event.seq as i64, event.at.0, turn, payload])?;
        }
        Ok(())
    }

    fn put_interrupts(&self, db: &Connection, session: i64, changed: i64) -> Result<(), StoreError> {
        let mut upsert = db.prepare_cached(
            "INSERT INTO interrupt (session, interrupt_id, opened_seq, tenant, open, opened_at, changed, row)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
             ON CONFLICT (session, interrupt_id, opened_seq) DO UPDATE SET open = ?5, changed = ?7, row = ?8",
        )?;
        for (interrupt, row) in self.step.interrupts.iter().zip(&self.interrupts) {
            upsert.execute(params![
                session,
                interrupt.interrupt_id,
                interrupt.opened_seq.0 as i64,
                self.step.tenant,
                interrupt.closed_at.is_none(),
                interrupt.opened_at.0.0,
                changed,
                row,
            ])?;
        }
        Ok(())
    }

    fn put_spend(&self, db: &Connection, session: i64) -> Result<(), StoreError> {
        let mut insert = db.prepare_cached("INSERT INTO spend (session, seq, tenant, at, cost) VALUES (?1, ?2, ?3, ?4, ?5)")?;
        for spend in &self.step.spend {
            insert.execute(params![session, spend.seq as i64, self.step.tenant, spend.at.0, spend.cost.to_string()])?;
        }
        Ok(())
    }
}

fn refuse_repeated(db: &Connection, command_id: &str) -> Result<(), StoreError> {
    let known = db.prepare_cached("SELECT 1 FROM receipt WHERE command_id = ?1")?.exists([command_id])?;
    if known { Err(StoreError::Repeated { command_id: command_id.to_owned() }) } else { Ok(()) }
}

fn insert_receipt(db: &Connection, command_id: &str, body: &str, now: i64) -> Result<(), StoreError> {
    let mut insert = db.prepare_cached("INSERT INTO receipt (command_id, at, body) VALUES (?1, ?2, ?3)")?;
    insert.execute(params![command_id, now, body])?;
    Ok(())
}

fn json<T: Serialize>(value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Bug { detail: error.to_string() })
}
