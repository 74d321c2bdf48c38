//! What writing is: every job of a batch in one transaction, and no answer before its commit. The disk is waited for once
//! for all of them.
//!
//! A job that refuses undoes its savepoint alone; one that refuses before its first write needs none. When the commit or the
//! disk fails, every job of the batch is told so and nothing counts; the writer lives on and tries again.

use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use rusqlite::Connection;
use tokio::sync::{oneshot, watch};

use crate::error::StoreError;
use crate::owner::Ownership;
use crate::read::Pool;
use crate::schema::open_writer;

/// Whether the database takes writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    Running,
    /// Nothing is saved, so nothing new may start. The reason is a sentence fit to show.
    Paused(String),
}

const RECEIPTS_KEPT: Duration = Duration::from_hours(30 * 24);

/// One all-or-nothing change.
pub(crate) trait Job: Send {
    /// It refuses before its first write, or not at all: a savepoint would copy every page it touches for nothing.
    fn refuses_first(&self) -> bool;
    fn apply(&mut self, db: &Connection, counter: &mut u64) -> Result<(), StoreError>;
    fn answer(self: Box<Self>, outcome: Result<(), StoreError>);
}

/// The common job: runs `work`, hands its value to `reply` once it is on disk.
pub(crate) struct Write<T, F> {
    work: Option<F>,
    refuses_first: bool,
    value: Option<T>,
    reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<T, F> Write<T, F>
where
    T: Send + 'static,
    F: FnOnce(&Connection, &mut u64) -> Result<T, StoreError> + Send + 'static,
{
    pub fn job(work: F, refuses_first: bool) -> (Box<dyn Job>, oneshot::Receiver<Result<T, StoreError>>) {
        let (reply, answer) = oneshot::channel();
        (Box::new(Self { work: Some(work), refuses_first, value: None, reply }), answer)
    }
}

impl<T, F> Job for Write<T, F>
where
    T: Send,
    F: FnOnce(&Connection, &mut u64) -> Result<T, StoreError> + Send,
{
    fn refuses_first(&self) -> bool {
        self.refuses_first
    }

    fn apply(&mut self, db: &Connection, counter: &mut u64) -> Result<(), StoreError> {
        let work = self.work.take().ok_or_else(|| StoreError::Bug { detail: "a job is applied once".to_owned() })?;
        self.value = Some(work(db, counter)?);
        Ok(())
    }

    fn answer(self: Box<Self>, outcome: Result<(), StoreError>) {
        let Self { value, reply, .. } = *self;
        // Nobody listens when the caller gave up waiting; the change stands all the same.
        let _ = reply.send(outcome.and_then(|()| value.ok_or(StoreError::Closed)));
    }
}

pub(crate) struct Writer {
    pub path: PathBuf,
    /// `None` after a failure that SQLite's view of the file may not have survived: opened anew before the next write.
    pub db: Option<Connection>,
    pub damage: Option<StoreError>,
    pub counter: u64,
    pub ownership: Ownership,
    pub pool: std::sync::Arc<Pool>,
    pub changed: watch::Sender<u64>,
    pub health: watch::Sender<Health>,
    pub last: Commit,
}

/// When the last commit was, and how long the disk took.
#[derive(Default)]
pub(crate) struct Commit {
    pub ended: Option<Instant>,
    pub took: Duration,
}

impl Writer {
    pub fn paused(&self) -> bool {
        *self.health.borrow() != Health::Running
    }

    pub fn commit(&mut self, mut jobs: Vec<Box<dyn Job>>) {
        let started = Instant::now();
        let applied = self.apply_all(&mut jobs);
        self.last = Commit { ended: Some(Instant::now()), took: started.elapsed() };
        match applied {
            Ok(outcomes) => {
                self.recovered();
                self.changed.send_if_modified(|seen| std::mem::replace(seen, self.counter) != self.counter);
                for (job, outcome) in jobs.into_iter().zip(outcomes) {
                    job.answer(outcome);
                }
            }
            Err(error) => {
                self.failed(&error);
                for job in jobs {
                    job.answer(Err(error.clone()));
                }
            }
        }
    }

    /// One transaction. `Err` means that none of it holds.
    fn apply_all(&mut self, jobs: &mut [Box<dyn Job>]) -> Result<Vec<Result<(), StoreError>>, StoreError> {
        let mut counter = self.counter;
        let db = self.connection()?;
        db.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        let applied = jobs.iter_mut().map(|job| apart(db, job.as_mut(), &mut counter)).collect::<Result<Vec<_>, _>>();
        let committed = applied.and_then(|outcomes| {
            db.prepare_cached("COMMIT")?.execute([])?;
            Ok(outcomes)
        });
        if committed.is_err() && !db.is_autocommit() {
            let _ = db.execute_batch("ROLLBACK");
        }
        let outcomes = committed?;
        self.counter = counter;
        Ok(outcomes)
    }

    fn connection(&mut self) -> Result<&Connection, StoreError> {
        if let Some(damage) = &self.damage {
            return Err(damage.clone());
        }
        if self.db.is_none() {
            let db = open_writer(&self.path)?;
            self.counter = self.counter.max(last_counter(&db)?);
            self.db = Some(db);
        }
        self.db.as_ref().ok_or(StoreError::Closed)
    }

    pub fn damaged(&mut self, damage: StoreError) {
        self.failed(&damage);
        self.damage = Some(damage);
    }

    fn failed(&mut self, error: &StoreError) {
        if matches!(error, StoreError::Io { .. }) {
            // After a failed sync the kernel may hold pages that never reach the disk: forget what we think we know.
            self.db = None;
            self.pool.forget();
        }
        if matches!(error, StoreError::Io { .. } | StoreError::Full | StoreError::Corrupt { .. }) {
            tracing::error!(%error, "the database refuses writes");
            let reason = Health::Paused(error.to_string());
            self.health.send_if_modified(|health| std::mem::replace(health, reason.clone()) != reason);
        }
    }

    fn recovered(&self) {
        if self.health.send_if_modified(|health| std::mem::replace(health, Health::Running) != Health::Running) {
            tracing::info!("the database takes writes again");
        }
    }

    /// Writes and removes enough to need fresh pages, so that success means there is room again.
    pub fn probe(&mut self) {
        let wrote = self.connection().and_then(|db| {
            db.execute_batch("BEGIN IMMEDIATE; INSERT OR REPLACE INTO meta VALUES ('probe', hex(zeroblob(32768))); COMMIT")
                .and_then(|()| db.execute_batch("DELETE FROM meta WHERE key = 'probe'"))
                .map_err(|error| {
                    if !db.is_autocommit() {
                        let _ = db.execute_batch("ROLLBACK");
                    }
                    error.into()
                })
        });
        match wrote {
            Ok(()) => self.recovered(),
            Err(error) => self.failed(&error),
        }
    }

    /// Lets the file go at rest: the next engine must find it so, and the lock goes last.
    pub fn end(mut self) {
        self.pool.close();
        self.checkpoint();
        drop(self.db.take());
        drop(self.ownership);
    }

    /// Passive: takes what no reader needs and never waits. The journal file is kept, since reusing it beats growing it.
    pub fn checkpoint(&mut self) {
        let moved = self.connection().and_then(|db| Ok(db.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?));
        if let Err(error) = moved {
            self.failed(&error);
        }
    }

    pub fn prune(&mut self) {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let before = now.saturating_sub(RECEIPTS_KEPT).as_millis() as i64;
        if let Err(error) = self.connection().and_then(|db| prune_receipts(db, before)) {
            self.failed(&error);
        }
    }
}

/// Applies a job so that its refusal leaves nothing behind. Inner result: the job's own. Outer error: the transaction is gone.
fn apart(db: &Connection, job: &mut dyn Job, counter: &mut u64) -> Result<Result<(), StoreError>, StoreError> {
    if !job.refuses_first() {
        return in_savepoint(db, job, counter);
    }
    match job.apply(db, counter) {
        outcome @ (Ok(()) | Err(StoreError::Conflict { .. } | StoreError::Repeated { .. })) => Ok(outcome),
        Err(error) => Err(error),
    }
}

fn in_savepoint(db: &Connection, job: &mut dyn Job, counter: &mut u64) -> Result<Result<(), StoreError>, StoreError> {
    let before = *counter;
    db.prepare_cached("SAVEPOINT job")?.execute([])?;
    let outcome = job.apply(db, counter);
    match &outcome {
        Ok(()) => {}
        // The disk's own refusals concern the whole batch.
        Err(error @ (StoreError::Full | StoreError::Io { .. } | StoreError::Corrupt { .. })) => return Err(error.clone()),
        Err(_) => {
            *counter = before;
            db.prepare_cached("ROLLBACK TO job")?.execute([])?;
        }
    }
    db.prepare_cached("RELEASE job")?.execute([])?;
    Ok(outcome)
}

/// Rows keep the highest counter ever given, so no separate record of it is needed.
pub(crate) fn last_counter(db: &Connection) -> Result<u64, StoreError> {
    let last = "SELECT max(coalesce((SELECT max(changed) FROM session), 0), coalesce((SELECT max(changed) FROM interrupt), 0))";
    Ok(db.query_row(last, [], |row| row.get::<_, i64>(0))? as u64)
}

/// From the old end, in steps: reads no more than it deletes.
pub(crate) fn prune_receipts(db: &Connection, before: i64) -> Result<usize, StoreError> {
    let mut pruned = 0;
    loop {
        let oldest = "DELETE FROM receipt WHERE at < ?1 AND id IN (SELECT id FROM receipt ORDER BY id LIMIT 500)";
        let step = db.execute(oldest, [before])?;
        pruned += step;
        if step < 500 {
            return Ok(pruned);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tempfile::TempDir;

    use super::*;
    use crate::schema::open_and_migrate;

    impl Writer {
        /// A writer without its thread, so that each of its moves can be looked at.
        pub(crate) fn on(path: PathBuf) -> Result<Self, StoreError> {
            Ok(Self {
                db: Some(open_and_migrate(&path)?),
                damage: None,
                counter: 0,
                ownership: Ownership::take(&path)?,
                pool: Arc::new(Pool::new(path.clone())),
                changed: watch::channel(0).0,
                health: watch::channel(Health::Running).0,
                last: Commit::default(),
                path,
            })
        }
    }

    fn writer(folder: &TempDir) -> Result<Writer, StoreError> {
        Writer::on(folder.path().join("holdpoint.db"))
    }

    type Answer<T> = oneshot::Receiver<Result<T, StoreError>>;

    fn job<T: Send + 'static>(
        work: impl FnOnce(&Connection, &mut u64) -> Result<T, StoreError> + Send + 'static,
    ) -> (Box<dyn Job>, Answer<T>) {
        Write::job(work, false)
    }

    fn save(key: &'static str, bytes: i64) -> (Box<dyn Job>, Answer<()>) {
        job(move |db, _| {
            db.execute("INSERT INTO meta VALUES (?1, hex(zeroblob(?2)))", rusqlite::params![key, bytes / 2])?;
            Ok(())
        })
    }

    fn saved(writer: &Writer) -> Result<Vec<String>, StoreError> {
        writer
            .pool
            .read(|db| Ok(db.prepare("SELECT key FROM meta ORDER BY key")?.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?))
    }

    /// Stands for a disk of that size: SQLite refuses to grow the file, with the same error.
    fn disk_of(writer: &Writer, pages: Option<u32>) -> Result<(), StoreError> {
        let db = writer.db.as_ref().ok_or(StoreError::Closed)?;
        let now: u32 = db.pragma_query_value(None, "page_count", |row| row.get(0))?;
        Ok(db.pragma_update_and_check(None, "max_page_count", pages.map_or(1_000_000, |more| now + more), |_| Ok(()))?)
    }

    #[test]
    fn a_full_disk_acknowledges_nothing_and_the_writer_goes_on_when_space_returns() -> Result<(), StoreError> {
        let folder = tempfile::tempdir()?;
        let mut writer = writer(&folder)?;
        disk_of(&writer, Some(2))?;
        let ((small, small_answer), (large, large_answer)) = (save("small", 10), save("large", 1 << 20));

        writer.commit(vec![small, large]);
        assert_eq!(small_answer.blocking_recv(), Ok(Err(StoreError::Full)), "the commit that would have held it failed");
        assert_eq!(large_answer.blocking_recv(), Ok(Err(StoreError::Full)));
        assert_eq!(*writer.health.borrow(), Health::Paused("the disk is full".to_owned()));
        assert_eq!(saved(&writer)?, [""; 0]);

        writer.probe();
        assert_eq!(*writer.health.borrow(), Health::Paused("the disk is full".to_owned()), "a probe needs room");
        disk_of(&writer, None)?;
        writer.probe();
        assert_eq!(*writer.health.borrow(), Health::Running);

        let (again, answer) = save("large", 1 << 20);
        writer.commit(vec![again]);
        assert_eq!(answer.blocking_recv(), Ok(Ok(())));
        assert_eq!(saved(&writer)?, ["large"], "the probe leaves nothing behind");
        Ok(())
    }

    #[test]
    fn a_paused_writer_goes_on_with_the_next_job_that_fits() -> Result<(), StoreError> {
        let folder = tempfile::tempdir()?;
        let mut writer = writer(&folder)?;
        disk_of(&writer, Some(2))?;
        writer.commit(vec![save("large", 1 << 20).0]);
        assert!(writer.paused());
        disk_of(&writer, None)?;
        let (next, answer) = save("next", 10);
        writer.commit(vec![next]);
        assert_eq!(answer.blocking_recv(), Ok(Ok(())));
        assert_eq!(*writer.health.borrow(), Health::Running);
        Ok(())
    }

    #[test]
    fn after_a_failed_sync_the_file_is_opened_anew() -> Result<(), StoreError> {
        let folder = tempfile::tempdir()?;
        let mut writer = writer(&folder)?;
        let (lost, lost_answer) = job(|_, counter| {
            *counter += 1;
            Ok(())
        });
        let failure = StoreError::Io { detail: "disk I/O error".to_owned() };
        let told = failure.clone();
        let (failing, answer) = job::<()>(move |_, _| Err(told));

        writer.commit(vec![lost, failing]);
        assert_eq!(lost_answer.blocking_recv(), Ok(Err(failure.clone())));
        assert_eq!(answer.blocking_recv(), Ok(Err(failure)));
        assert!(writer.db.is_none(), "what the connection believes is not trusted");
        assert_eq!((writer.counter, writer.paused()), (0, true));

        let (next, answer) = save("next", 10);
        writer.commit(vec![next]);
        assert_eq!(answer.blocking_recv(), Ok(Ok(())));
        assert_eq!(saved(&writer)?, ["next"]);
        assert_eq!(*writer.health.borrow(), Health::Running);
        Ok(())
    }

    #[test]
    fn a_job_that_fails_after_its_first_write_takes_the_batch_along_where_no_savepoint_holds_it() -> Result<(), StoreError> {
        let folder = tempfile::tempdir()?;
        let mut writer = writer(&folder)?;
        let refuse = |error: StoreError| Write::job(move |_, _| -> Result<(), StoreError> { Err(error) }, true);
        let repeated = StoreError::Repeated { command_id: "x".to_owned() };
        let (refused, answer) = refuse(repeated.clone());
        writer.commit(vec![save("first", 10).0, refused]);
        assert_eq!(answer.blocking_recv(), Ok(Err(repeated)), "a refusal is the job's own");
        assert_eq!(saved(&writer)?, ["first"]);

        let bug = StoreError::Bug { detail: "half written".to_owned() };
        let told = bug.clone();
        let work = move |db: &Connection, _: &mut u64| -> Result<(), StoreError> {
            db.execute("INSERT INTO meta VALUES ('half', '')", [])?;
            Err(told)
        };
        let ((failing, answer), (other, other_answer)) = (Write::job(work, true), save("second", 10));
        writer.commit(vec![other, failing]);
        assert_eq!((answer.blocking_recv(), other_answer.blocking_recv()), (Ok(Err(bug.clone())), Ok(Err(bug))));
        assert_eq!(saved(&writer)?, ["first"]);
        Ok(())
    }

    #[test]
    fn a_refused_job_undoes_itself_alone() -> Result<(), StoreError> {
        let folder = tempfile::tempdir()?;
        let mut writer = writer(&folder)?;
        let refusal = StoreError::Repeated { command_id: "x".to_owned() };
        let told = refusal.clone();
        let (refused, answer) = job::<()>(move |db, counter| {
            *counter += 1;
            db.execute("INSERT INTO meta VALUES ('half', '')", [])?;
            Err(told)
        });
        writer.commit(vec![save("first", 10).0, refused, save("last", 10).0]);
        assert_eq!(answer.blocking_recv(), Ok(Err(refusal)));
        assert_eq!(saved(&writer)?, ["first", "last"]);
        assert_eq!(writer.counter, 0);
        Ok(())
    }
}
