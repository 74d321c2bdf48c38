//! Who writes. A step that comes alone is committed on its caller's own thread; when more wait, the writer thread commits them
//! together.
//!
//! Two thread switches cost about as much as a quick disk, so a lone step takes half the time without them. No more than one
//! caller is held up by the disk at a time, and none by a slow one.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::error::StoreError;
use crate::writer::{Job, Writer};

/// Bounds how long the first job of a batch waits for the last one.
const BATCH: usize = 256;
/// A disk that took longer for the last commit is left to the thread.
const QUICK: Duration = Duration::from_millis(2);
/// Quiet for this long means idle: time to move the journal into the file.
const IDLE: Duration = Duration::from_millis(200);
/// How often a paused writer looks whether space came back.
const PROBE: Duration = Duration::from_secs(3);
const PRUNE_EVERY: Duration = Duration::from_hours(24);

pub(crate) enum Message {
    Job(Box<dyn Job>),
    /// A caller wrote by itself: there will be a journal to move when it is quiet.
    Written,
    SetAddress(Option<String>, oneshot::Sender<Result<(), StoreError>>),
    /// The check of a large file found it broken: nothing more may be built on it.
    Damaged(StoreError),
    /// Commit what came before, then end.
    Close,
}

pub(crate) struct Desk {
    /// `None` once it is closed.
    writer: Mutex<Option<Writer>>,
    inbox: Sender<Message>,
    /// Jobs that the thread has not committed yet.
    waiting: AtomicUsize,
    /// There is a journal to move, and the thread knows. So it is at the start: the last engine may have been killed.
    written: AtomicBool,
}

impl Desk {
    pub fn new(writer: Writer) -> (Self, Receiver<Message>) {
        let (inbox, messages) = mpsc::channel();
        let desk = Self { writer: Mutex::new(Some(writer)), inbox, waiting: AtomicUsize::new(0), written: AtomicBool::new(true) };
        (desk, messages)
    }

    pub fn send(&self, message: Message) -> Result<(), StoreError> {
        self.inbox.send(message).map_err(|_| StoreError::Closed)
    }

    /// The job is answered by the time this returns, or will be by the thread.
    pub fn take(&self, job: Box<dyn Job>) -> Result<(), StoreError> {
        let Some(job) = self.write_here(job)? else { return Ok(()) };
        self.waiting.fetch_add(1, Ordering::AcqRel);
        self.send(Message::Job(job))
    }

    /// Gives the job back when somebody else writes, waits, or the disk is slow.
    fn write_here(&self, job: Box<dyn Job>) -> Result<Option<Box<dyn Job>>, StoreError> {
        if self.waiting.load(Ordering::Acquire) > 0 {
            return Ok(Some(job));
        }
        let mut held = match self.writer.try_lock() {
            Ok(held) => held,
            Err(TryLockError::WouldBlock) => return Ok(Some(job)),
            // The writer panicked: what it holds is not to be trusted.
            Err(TryLockError::Poisoned(_)) => return Err(StoreError::Closed),
        };
        let writer = held.as_mut().ok_or(StoreError::Closed)?;
        if writer.last.took > QUICK {
            return Ok(Some(job));
        }
        writer.commit(vec![job]);
        drop(held);
        if !self.written.swap(true, Ordering::AcqRel) {
            self.send(Message::Written)?;
        }
        Ok(None)
    }

    /// The writer thread.
    pub fn run(&self, messages: &Receiver<Message>) {
        let mut pruned: Option<Instant> = None;
        loop {
            let message = match self.patience() {
                Some(wait) => messages.recv_timeout(wait),
                None => messages.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            let after = match message {
                Ok(Message::Job(first)) => self.write_together(first, messages),
                Ok(other) => Some(other),
                Err(RecvTimeoutError::Timeout) => {
                    self.tidy(&mut pruned);
                    None
                }
                Err(RecvTimeoutError::Disconnected) => Some(Message::Close),
            };
            if matches!(after, Some(Message::Close)) {
                break;
            }
            if let Some(other) = after {
                self.handle(other);
            }
        }
        if let Some(writer) = self.held().take() {
            writer.end();
        }
    }

    /// `first` and whatever else waits. A message that is no job ends the batch and is handled after it.
    fn write_together(&self, first: Box<dyn Job>, messages: &Receiver<Message>) -> Option<Message> {
        let mut held = self.held();
        let (mut jobs, mut after) = (vec![first], None);
        while jobs.len() < BATCH && after.is_none() {
            match messages.try_recv() {
                Ok(Message::Job(job)) => jobs.push(job),
                Ok(other) => after = Some(other),
                Err(_) => break,
            }
        }
        let count = jobs.len();
        if let Some(writer) = held.as_mut() {
            self.written.store(true, Ordering::Release);
            writer.commit(jobs);
        }
        self.waiting.fetch_sub(count, Ordering::AcqRel);
        after
    }

    fn handle(&self, message: Message) {
        let mut held = self.held();
        let Some(writer) = held.as_mut() else { return };
        match message {
            Message::SetAddress(address, reply) => {
                let _ = reply.send(writer.ownership.set_address(address));
            }
            Message::Damaged(damage) => writer.damaged(damage),
            Message::Job(_) | Message::Written | Message::Close => {}
        }
    }

    /// How long to wait for a message; a paused or recently busy writer has something to do later, an idle one sleeps.
    fn patience(&self) -> Option<Duration> {
        let held = self.held();
        // A broken file gets no better by waiting.
        let writer = held.as_ref().filter(|writer| writer.damage.is_none())?;
        if writer.paused() {
            return Some(PROBE);
        }
        let quiet = writer.last.ended.map_or(Duration::ZERO, |at| at.elapsed());
        self.written.load(Ordering::Acquire).then(|| IDLE.saturating_sub(quiet))
    }

    fn tidy(&self, pruned: &mut Option<Instant>) {
        let mut held = self.held();
        let Some(writer) = held.as_mut() else { return };
        if writer.paused() {
            return writer.probe();
        }
        if writer.last.ended.is_some_and(|at| at.elapsed() < IDLE) {
            return;
        }
        if pruned.is_none_or(|at| at.elapsed() > PRUNE_EVERY) {
            *pruned = Some(Instant::now());
            writer.prune();
        }
        writer.checkpoint();
        // While the writer is held: the next one to write says so.
        self.written.store(false, Ordering::Release);
    }

    fn held(&self) -> MutexGuard<'_, Option<Writer>> {
        self.writer.lock().unwrap_or_else(|poisoned| {
            // A caller panicked while it wrote: nothing more is built on that.
            let mut held = PoisonError::into_inner(poisoned);
            *held = None;
            held
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::thread::ThreadId;

    use super::*;
    use crate::writer::Write;

    fn desk(folder: &Path) -> Result<(Desk, Receiver<Message>), StoreError> {
        let path = folder.join("holdpoint.db");
        Ok(Desk::new(Writer::on(path)?))
    }

    type Answer<T> = oneshot::Receiver<Result<T, StoreError>>;

    /// Tells which thread wrote it, and how many rows were there before.
    fn job(key: &'static str) -> (Box<dyn Job>, Answer<(ThreadId, u32)>) {
        let work = move |db: &rusqlite::Connection, _: &mut u64| {
            let before = db.query_row("SELECT count(*) FROM meta", [], |row| row.get(0))?;
            db.execute("INSERT INTO meta VALUES (?1, '')", [key])?;
            Ok((std::thread::current().id(), before))
        };
        Write::job(work, true)
    }

    /// However long the disk under the test takes.
    fn disk_took(desk: &Desk, took: Duration) {
        if let Some(writer) = desk.held().as_mut() {
            writer.last.took = took;
        }
    }

    #[test]
    fn a_lone_job_is_written_by_its_caller_and_the_thread_learns_of_the_journal() -> Result<(), StoreError> {
        let folder = tempfile::tempdir()?;
        let (desk, messages) = desk(folder.path())?;
        desk.written.store(false, Ordering::Release);
        let ((first, answer), (second, _)) = (job("a"), job("b"));
        desk.take(first)?;
        assert_eq!(answer.blocking_recv(), Ok(Ok((std::thread::current().id(), 0))));
        assert!(matches!(messages.try_recv(), Ok(Message::Written)));
        disk_took(&desk, QUICK);
        desk.take(second)?;
        assert!(messages.try_recv().is_err(), "said once until the journal is moved");
        Ok(())
    }

    #[test]
    fn jobs_that_meet_a_busy_writer_are_committed_together_by_the_thread() -> Result<(), StoreError> {
        let folder = tempfile::tempdir()?;
        let (desk, messages) = desk(folder.path())?;
        let busy = desk.held();
        let ((first, first_answer), (second, second_answer), (late, late_answer)) = (job("a"), job("b"), job("c"));
        desk.take(first)?;
        drop(busy);
        // The writer is free, but somebody waits: no overtaking.
        desk.take(second)?;
        let Ok(Message::Job(oldest)) = messages.try_recv() else { return Err(StoreError::Closed) };
        let before = desk.held().as_ref().map(|writer| *writer.changed.borrow());
        assert!(desk.write_together(oldest, &messages).is_none());
        assert_eq!(first_answer.blocking_recv(), Ok(Ok((std::thread::current().id(), 0))));
        assert_eq!(second_answer.blocking_recv(), Ok(Ok((std::thread::current().id(), 1))));
        assert_eq!((before, desk.waiting.load(Ordering::Acquire)), (Some(0), 0));
        disk_took(&desk, QUICK);
        desk.take(late)?;
        assert_eq!(late_answer.blocking_recv(), Ok(Ok((std::thread::current().id(), 2))), "again by its caller");
        Ok(())
    }

    #[test]
    fn a_slow_disk_is_left_to_the_thread() -> Result<(), StoreError> {
        let folder = tempfile::tempdir()?;
        let (desk, messages) = desk(folder.path())?;
        disk_took(&desk, QUICK + Duration::from_nanos(1));
        desk.take(job("a").0)?;
        assert!(matches!(messages.try_recv(), Ok(Message::Job(_))));
        assert_eq!(desk.waiting.load(Ordering::Acquire), 1);
        Ok(())
    }

    #[test]
    fn a_desk_with_a_broken_file_waits_for_messages_only() -> Result<(), StoreError> {
        let folder = tempfile::tempdir()?;
        let (desk, _messages) = desk(folder.path())?;
        assert_eq!(desk.patience(), Some(IDLE), "the journal of the last engine is to be moved");
        desk.handle(Message::Damaged(StoreError::Corrupt { detail: "page 7".to_owned() }));
        assert_eq!(desk.patience(), None);
        Ok(())
    }

    #[test]
    fn nothing_is_built_on_a_write_that_panicked() -> Result<(), StoreError> {
        let folder = tempfile::tempdir()?;
        let (desk, _messages) = desk(folder.path())?;
        let (job, _answer) = Write::job(|_, _| -> Result<(), StoreError> { panic!("a bug") }, true);
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| desk.take(job)));
        assert!(caught.is_err());
        assert_eq!(desk.take(self::job("a").0).err(), Some(StoreError::Closed));
        assert!(desk.held().is_none(), "the file is let go");
        Ok(())
    }

    #[test]
    fn a_closed_desk_takes_nothing() -> Result<(), StoreError> {
        let folder = tempfile::tempdir()?;
        let (desk, messages) = desk(folder.path())?;
        desk.send(Message::Close)?;
        desk.run(&messages);
        assert_eq!(desk.take(job("a").0).err(), Some(StoreError::Closed));
        Ok(())
    }
}
