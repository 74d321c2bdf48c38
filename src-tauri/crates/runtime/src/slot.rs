//! One session in memory: its state behind a lock, what runs for it, and who is to be woken.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use holdpoint_core::id::{SessionId, TurnId};
use holdpoint_core::pending::Effect;
use holdpoint_core::state::Session;
use holdpoint_store::{Store, StoreError};
use holdpoint_view::row::PathStep;
use serde_json::Value;
use tokio::sync::{Mutex, broadcast, watch};
use tokio_util::sync::CancellationToken;

/// Deltas a slow reader may fall behind before it loses some.
const DELTAS: usize = 1024;
/// Events read at once while a log is folded.
const BATCH: usize = 5000;

pub struct Slot {
    pub id: SessionId,
    pub state: Arc<Mutex<Loaded>>,
    pub seq: watch::Sender<u64>,
    pub deltas: broadcast::Sender<Value>,
}

#[derive(Default)]
pub struct Loaded {
    /// Read from the log. False again after a commit that failed.
    pub fresh: bool,
    pub session: Option<Session>,
    pub tenant: String,
    /// From the root down to this session, with their agents (DT-2).
    pub path: Vec<PathStep>,
    pub running: HashMap<Effect, CancellationToken>,
    /// `message.send`s handed on since the session was loaded.
    pub sent: HashSet<TurnId>,
}

impl Slot {
    pub fn new(id: SessionId) -> Self {
        Self { id, state: Arc::default(), seq: watch::Sender::new(0), deltas: broadcast::Sender::new(DELTAS) }
    }

    /// Nothing runs, nobody looks: the state can go back to being only in the file.
    pub fn is_idle(&self) -> bool {
        let quiet = self.state.try_lock().is_ok_and(|loaded| loaded.running.is_empty());
        quiet && self.seq.receiver_count() == 0 && self.deltas.receiver_count() == 0
    }
}

impl Loaded {
    pub fn load(&mut self, id: &SessionId, store: &Store) -> Result<(), StoreError> {
        if self.fresh {
            return Ok(());
        }
        self.session = None;
        if let Some(meta) = store.session_meta(id)? {
            self.tenant = meta.tenant;
            self.session = fold(id, store)?;
        }
        self.fresh = true;
        Ok(())
    }

    /// The way from the root session to this one.
    pub fn find_path(&mut self, store: &Store) -> Result<(), StoreError> {
        let Some(session) = self.session.as_ref().filter(|session| self.path.len() != session.ancestry.len() + 1) else { return Ok(()) };
        let mut path = Vec::with_capacity(session.ancestry.len() + 1);
        for above in &session.ancestry {
            let agent_id = store.session_row(above)?.map(|row| row.agent_id).unwrap_or_default();
            path.push(PathStep { session_id: above.to_string(), agent_id });
        }
        path.push(PathStep { session_id: session.id.to_string(), agent_id: session.agent_id.clone() });
        self.path = path;
        Ok(())
    }
}

fn fold(id: &SessionId, store: &Store) -> Result<Option<Session>, StoreError> {
    let mut session: Option<Session> = None;
    loop {
        let after = session.as_ref().map_or(0, |session| session.seq);
        let events = store.events(id, after, BATCH)?;
        if events.is_empty() {
            return Ok(session);
        }
        match &mut session {
            None => session = Session::fold(id, &events),
            Some(session) => events.iter().for_each(|event| session.apply(event)),
        }
    }
}
