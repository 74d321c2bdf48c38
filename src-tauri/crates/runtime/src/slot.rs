//! One session in memory: its state behind a lock, what runs for it, and who is to be woken.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, MutexGuard, PoisonError};

use holdpoint_core::event::Event;
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
/// Events kept in memory for those who follow a session.
const RECENT: usize = 128;
/// Events read at once while a log is folded.
const BATCH: usize = 5000;

pub struct Slot {
    pub id: SessionId,
    pub state: Arc<Mutex<Loaded>>,
    /// Apart from the state, so that a reader does not wait for a step that is being saved.
    recent: std::sync::Mutex<Recent>,
    pub seq: watch::Sender<u64>,
    pub deltas: broadcast::Sender<Value>,
}

/// The last events of the log without a gap: subscribers are told of them without a look into the file.
#[derive(Default)]
struct Recent {
    steps: VecDeque<Arc<[Event]>>,
    count: usize,
}

impl Recent {
    fn push(&mut self, step: Arc<[Event]>) {
        let Some(first) = step.first() else { return };
        if self.steps.back().and_then(|last| last.last()).is_some_and(|last| last.seq + 1 != first.seq) {
            // A step whose outcome was unknown was saved all the same.
            self.steps.clear();
            self.count = 0;
        }
        self.count += step.len();
        self.steps.push_back(step);
        while self.count > RECENT
            && let Some(oldest) = self.steps.pop_front()
        {
            self.count -= oldest.len();
        }
    }
}

#[derive(Default)]
pub struct Loaded {
    /// Read from the log.
    fresh: bool,
    pub session: Option<Session>,
    pub tenant: String,
    /// From the root down to this session, with their agents (DT-2).
    pub path: Vec<PathStep>,
    pub running: HashMap<Effect, CancellationToken>,
    /// Decided, and not known to be on disk. While it is there, the state runs ahead of the log.
    pub unsaved: Option<Arc<[Event]>>,
    /// `message.send`s handed on since the session was loaded.
    pub sent: HashSet<TurnId>,
}

impl Slot {
    pub fn new(id: SessionId) -> Self {
        Self {
            id,
            state: Arc::default(),
            recent: std::sync::Mutex::default(),
            seq: watch::Sender::new(0),
            deltas: broadcast::Sender::new(DELTAS),
        }
    }

    /// A step is on disk: its events may be read, and whoever watches is woken.
    pub fn publish(&self, seq: u64, saved: Option<Arc<[Event]>>) {
        if let Some(events) = saved {
            self.recent().push(events);
        }
        self.seq.send_if_modified(|seen| std::mem::replace(seen, seq) != seq);
    }

    /// Events after `after_seq`, if they are still in memory.
    pub fn recent_after<T>(&self, after_seq: u64, read: impl FnOnce(&mut dyn Iterator<Item = &Event>) -> T) -> Option<T> {
        let recent = self.recent();
        let first = recent.steps.front()?.first()?.seq;
        (after_seq + 1 >= first).then(|| read(&mut recent.steps.iter().flat_map(|step| step.iter()).filter(|event| event.seq > after_seq)))
    }

    fn recent(&self) -> MutexGuard<'_, Recent> {
        // Nothing between two changes of it can panic.
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nothing runs, nobody looks: the state can go back to being only in the file.
    pub fn is_idle(&self) -> bool {
        let quiet = self.state.try_lock().is_ok_and(|loaded| loaded.running.is_empty());
        quiet && self.seq.receiver_count() == 0 && self.deltas.receiver_count() == 0
    }
}

impl Loaded {
    pub fn load(&mut self, id: &SessionId, store: &Store) -> Result<(), StoreError> {
        if self.fresh && self.unsaved.is_none() {
            return Ok(());
        }
        // What was decided last may never have happened: the log says what is true.
        (self.fresh, self.unsaved, self.session) = (false, None, None);
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

#[cfg(test)]
mod tests {
    use holdpoint_core::event::Payload;
    use holdpoint_core::time::Millis;

    use super::*;

    fn step(first: u64, count: u64) -> Arc<[Event]> {
        (first..first + count).map(|seq| Event { seq, at: Millis(0), turn_id: None, payload: Payload::SessionDone {} }).collect()
    }

    fn after(slot: &Slot, seq: u64) -> Option<Vec<u64>> {
        slot.recent_after(seq, |events| events.map(|event| event.seq).collect())
    }

    #[test]
    fn recent_events_are_told_without_a_gap_or_not_at_all_e3() {
        let slot = Slot::new("sesn_1".into());
        assert_eq!(after(&slot, 0), None, "nothing is known yet: the file is asked");
        slot.publish(4, Some(step(3, 2)));
        assert_eq!((after(&slot, 1), after(&slot, 2), after(&slot, 4)), (None, Some(vec![3, 4]), Some(Vec::new())));
        slot.publish(7, Some(step(6, 2)));
        assert_eq!((after(&slot, 2), after(&slot, 4), after(&slot, 5)), (None, None, Some(vec![6, 7])), "event 5 was not seen here");
        slot.publish(8 + RECENT as u64, Some(step(8, RECENT as u64)));
        assert_eq!(after(&slot, 6), None, "no more than are kept");
        assert_eq!(after(&slot, 7).map(|seqs| seqs.len()), Some(RECENT));
    }
}
