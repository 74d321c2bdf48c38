//! The database: one SQLite file with everything the engine knows (D-8), one writer at a time, any number of readers.
//!
//! The log is the truth; rows of sessions and interrupts are stored beside it in the same transaction, computed by the
//! caller. There is no rule here: what may be appended is decided elsewhere, and only the order (D-10), the once (D-13)
//! and the safety on disk are this crate's. Reads are synchronous and cheap; wrap long ones in `spawn_blocking`.

mod append;
mod budget;
mod desk;
mod desktop;
mod error;
mod keep;
mod list;
mod log;
mod owner;
mod read;
mod schema;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::SystemTime;

use holdpoint_core::time::Millis;
use rusqlite::{Connection, InterruptHandle};
use tokio::sync::{oneshot, watch};

pub use append::{Append, CommandReceipt, SessionAppend, Spend};
pub use budget::BudgetScope;
pub use desktop::{HeldAnswer, Snooze};
pub use error::StoreError;
pub use keep::{ApiKey, Blob};
pub use list::{Changes, InterruptQuery, InterruptState, Page, SessionQuery, SessionSort};
pub use log::SessionMeta;
pub use owner::{Owner, read_owner};
pub use writer::Health;

use append::Prepared;
use desk::{Desk, Message};
use read::Pool;
use writer::{Commit, Write, Writer};

/// Cheap to clone. When the last clone goes, what is queued is committed and the file is let go.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    path: PathBuf,
    desk: Arc<Desk>,
    pool: Arc<Pool>,
    changed: watch::Receiver<u64>,
    health: watch::Receiver<Health>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// Stops the check of a large file that runs beside the work.
    check: Option<InterruptHandle>,
}

impl Store {
    /// Takes the file for this process (D-11), checks and migrates it, and starts the writer. The folder must exist.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let path = absolute(path)?;
        let ownership = owner::Ownership::take(&path)?;
        let db = schema::open_and_migrate(&path)?;
        let counter = writer::last_counter(&db)?;
        let pool = Arc::new(Pool::new(path.clone()));
        let (changed, seen) = watch::channel(counter);
        let (health, condition) = watch::channel(Health::Running);
        let (db, last) = (Some(db), Commit::default());
        let writer = Writer { path: path.clone(), db, damage: None, counter, ownership, pool: pool.clone(), changed, health, last };
        let (desk, messages) = Desk::new(writer);
        let desk = Arc::new(desk);
        let by_thread = desk.clone();
        let mut threads = vec![spawn("store writer", move || by_thread.run(&messages))?];
        let mut check = None;
        if let Some(db) = schema::check_beside(&path)? {
            check = Some(db.get_interrupt_handle());
            let report = desk.clone();
            threads.push(spawn("store check", move || {
                if let Err(damage @ StoreError::Corrupt { .. }) = schema::quick_check(&db) {
                    let _ = report.send(Message::Damaged(damage));
                }
            })?);
        }
        let threads = Mutex::new(threads);
        Ok(Self { inner: Arc::new(Inner { path, desk, pool, changed: seen, health: condition, threads, check }) })
    }

    /// All of it on disk, or none (E-3). Refused with `Conflict` when a session moved on, with `Repeated` when the command
    /// was accepted before.
    pub async fn append(&self, append: Append) -> Result<(), StoreError> {
        let prepared = Prepared::new(append, now())?;
        self.send(true, move |db, counter| prepared.apply(db, counter)).await
    }

    /// Number of the last commit that changed rows.
    pub fn counter(&self) -> u64 {
        *self.inner.changed.borrow()
    }

    /// Bumped after each commit that changed rows: read [`Store::changes_since`] then.
    pub fn changed(&self) -> watch::Receiver<u64> {
        self.inner.changed.clone()
    }

    pub fn health(&self) -> watch::Receiver<Health> {
        self.inner.health.clone()
    }

    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// What a second engine is told (D-11).
    pub async fn set_address(&self, address: Option<String>) -> Result<(), StoreError> {
        let (reply, answer) = oneshot::channel();
        self.inner.desk.send(Message::SetAddress(address, reply))?;
        answer.await.unwrap_or(Err(StoreError::Closed))
    }

    /// Commits what is queued, moves the journal into the file and lets it go. Other clones get `Closed` from here on.
    pub fn close(self) {
        self.inner.end();
    }

    fn read<T>(&self, read: impl FnOnce(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.inner.pool.read(read)
    }

    async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.send(false, move |db, _| work(db)).await
    }

    async fn send<T: Send + 'static>(
        &self,
        refuses_first: bool,
        work: impl FnOnce(&Connection, &mut u64) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (job, answer) = Write::job(work, refuses_first);
        self.inner.desk.take(job)?;
        answer.await.unwrap_or(Err(StoreError::Closed))
    }
}

impl Inner {
    fn end(&self) {
        let _ = self.desk.send(Message::Close);
        if let Some(check) = &self.check {
            check.interrupt();
        }
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            if thread.join().is_err() {
                tracing::error!("a thread of the store panicked");
            }
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.end();
    }
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, StoreError> {
    Ok(std::thread::Builder::new().name(name.to_owned()).spawn(run)?)
}

/// Two names of one file must meet at one lock.
fn absolute(path: &Path) -> Result<PathBuf, StoreError> {
    if path.exists() {
        return Ok(path.canonicalize()?);
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().ok_or_else(|| StoreError::Io { detail: format!("{} names no file", path.display()) })?;
    Ok(folder.canonicalize()?.join(name))
}

fn now() -> Millis {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Millis(since.as_millis() as i64)
}
