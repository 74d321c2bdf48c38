//! Read connections. A reader never waits for the writer, nor the writer for a reader.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;

use crate::error::StoreError;
use crate::schema::open_reader;

/// More may be in use at once; only this many are kept afterwards.
const KEPT: usize = 4;

pub(crate) struct Pool {
    path: PathBuf,
    idle: Mutex<Idle>,
}

#[derive(Default)]
struct Idle {
    connections: Vec<Connection>,
    closed: bool,
    /// Grows when connections are to be forgotten, so that those in use are not taken back.
    generation: u64,
}

impl Pool {
    pub fn new(path: PathBuf) -> Self {
        Self { path, idle: Mutex::default() }
    }

    /// Everything `read` sees is of one moment.
    pub fn read<T>(&self, read: impl FnOnce(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let (db, generation) = self.take()?;
        db.prepare_cached("BEGIN")?.execute([])?;
        let result = read(&db);
        // One that cannot end its transaction would read the same moment for ever; it is dropped.
        if db.prepare_cached("COMMIT")?.execute([]).is_ok() {
            self.give_back(db, generation);
        }
        result
    }

    pub fn close(&self) {
        let mut idle = self.idle();
        idle.closed = true;
        idle.connections.clear();
    }

    pub fn forget(&self) {
        let mut idle = self.idle();
        idle.generation += 1;
        idle.connections.clear();
    }

    fn take(&self) -> Result<(Connection, u64), StoreError> {
        let mut idle = self.idle();
        if idle.closed {
            return Err(StoreError::Closed);
        }
        let generation = idle.generation;
        let ready = idle.connections.pop();
        drop(idle);
        Ok((ready.map_or_else(|| open_reader(&self.path), Ok)?, generation))
    }

    fn give_back(&self, db: Connection, generation: u64) {
        let mut idle = self.idle();
        if !idle.closed && idle.generation == generation && idle.connections.len() < KEPT {
            idle.connections.push(db);
        }
    }

    fn idle(&self) -> MutexGuard<'_, Idle> {
        // A reader that panicked dropped its own connection; the list is whole.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
