//! Builders: a database in a folder of its own, and steps that read as what happens.

use std::error::Error;
use std::path::PathBuf;

use holdpoint_core::event::{Event, Payload};
use holdpoint_core::id::{SessionId, ulid};
use holdpoint_core::time::Millis;
use holdpoint_store::{Append, SessionAppend, Store};
use holdpoint_view::row::{Activity, InterruptRow, Json, Outcome, Seq, SessionRow, SessionStatus, Time, UsageRow};
use tempfile::TempDir;

pub type Done = Result<(), Box<dyn Error>>;

pub struct Place {
    folder: TempDir,
}

impl Place {
    pub fn new() -> Result<Self, std::io::Error> {
        Ok(Self { folder: tempfile::tempdir()? })
    }

    pub fn db(&self) -> PathBuf {
        self.folder.path().join("holdpoint.db")
    }

    pub fn open(&self) -> Result<Store, Box<dyn Error>> {
        Ok(Store::open(&self.db())?)
    }
}

/// Session number `n`, always the same id.
pub fn session(n: u64) -> SessionId {
    format!("sesn_{}", ulid(Millis(1_760_000_000_000), u128::from(n))).into()
}

pub fn row(id: &SessionId, at: i64, seq: u64) -> SessionRow {
    SessionRow {
        session_id: id.to_string(),
        root_session_id: id.to_string(),
        parent_session_id: None,
        agent_id: "clerk".to_owned(),
        title: "Pay the invoice".to_owned(),
        status: SessionStatus::Idle,
        activity: Activity::Idle,
        turn_id: None,
        top_level: true,
        open_interrupts: 0,
        pausing_interrupts: 0,
        branches: 1,
        model: Some("scripted/clerk".to_owned()),
        scripted: true,
        queued_turns: 0,
        first_event_at: Time(Millis(at)),
        last_event_at: Time(Millis(at)),
        wake_at: None,
        usage: UsageRow { cost_usd: "0".to_owned(), ..UsageRow::default() },
        seq: Seq(seq),
    }
}

/// `count` events after `expected_seq`, at time `at`.
pub fn step(id: &SessionId, expected_seq: u64, count: u64, at: i64) -> SessionAppend {
    let event = |seq| Event { seq, at: Millis(at), turn_id: Some("turn_1".into()), payload: Payload::SessionDone {} };
    SessionAppend {
        session_id: id.clone(),
        expected_seq,
        events: (1..=count).map(|n| event(expected_seq + n)).collect(),
        tenant: "local".to_owned(),
        busy: false,
        row: row(id, at, expected_seq + count),
        interrupts: Vec::new(),
        spend: Vec::new(),
    }
}

pub fn one(step: SessionAppend) -> Append {
    Append { sessions: vec![step], receipt: None }
}

pub fn child_of(mut step: SessionAppend, parent: &SessionId, root: &SessionId) -> SessionAppend {
    step.row.parent_session_id = Some(parent.to_string());
    step.row.root_session_id = root.to_string();
    step.row.top_level = false;
    step
}

pub fn interrupt(id: &SessionId, interrupt_id: &str, opened_seq: u64, at: i64) -> InterruptRow {
    InterruptRow {
        session_id: id.to_string(),
        root_session_id: id.to_string(),
        path: Vec::new(),
        session_title: "Pay the invoice".to_owned(),
        interrupt_id: interrupt_id.to_owned(),
        origin: "frontend".to_owned(),
        reason: "approval".to_owned(),
        payload: Json(serde_json::json!({"message": "Pay 12 €?"})),
        has_payload: true,
        anchor: None,
        turn_id: Some("turn_1".to_owned()),
        opened_at: Time(Millis(at)),
        opened_seq: Seq(opened_seq),
        on_active_branch: true,
        shown_hash: "00".to_owned(),
        closed_at: None,
        outcome: None,
        responder: None,
        answer: None,
        verification: None,
    }
}

pub fn closed(mut row: InterruptRow, at: i64) -> InterruptRow {
    row.closed_at = Some(Time(Millis(at)));
    row.outcome = Some(Outcome::Answered);
    row
}

pub fn seqs(store: &Store, id: &SessionId) -> Result<Vec<u64>, Box<dyn Error>> {
    Ok(store.events(id, 0, usize::MAX)?.iter().map(|event| event.seq).collect())
}
