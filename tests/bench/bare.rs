//! What can be had at most: the disk alone, and the smallest SQLite program that saves a pause and its answer.
//!
//! A round is two transactions: raise (event, interrupt row, session row), a reader that sees it over its own connection,
//! answer (interrupt row, session row, event), and a call to another thread in place of the worker.

use std::fs::File;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Instant;

use rusqlite::{Connection, Transaction, params};

use crate::figure::{Figure, Wrong};

const SCHEMA: &str = "
    PRAGMA page_size = 8192;
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    CREATE TABLE session (id INTEGER PRIMARY KEY, status TEXT NOT NULL, seq INTEGER NOT NULL);
    CREATE TABLE event (id INTEGER PRIMARY KEY, session INTEGER NOT NULL, seq INTEGER NOT NULL, body BLOB NOT NULL, UNIQUE (session, seq));
    CREATE TABLE interrupt (id INTEGER PRIMARY KEY, session INTEGER NOT NULL, state INTEGER NOT NULL, body BLOB NOT NULL, answer BLOB);
    CREATE INDEX interrupt_open ON interrupt (session) WHERE state = 0;
";

/// As long as an ordinary question in the log.
const BODY: [u8; 300] = [b'x'; 300];

/// 4 KiB written and flushed again and again, in place.
pub fn flush(folder: &Path, rounds: usize) -> Result<Figure, Wrong> {
    let mut file = File::options().create(true).write(true).truncate(true).open(folder.join("raw"))?;
    let page = [0xA5_u8; 4096];
    for _ in 0..rounds {
        file.write_all(&page)?;
    }
    file.sync_all()?;
    let mut took = Vec::with_capacity(rounds);
    let started = Instant::now();
    for round in 0..rounds {
        let start = Instant::now();
        file.seek(SeekFrom::Start(round as u64 * 4096))?;
        file.write_all(&page)?;
        file.sync_data()?;
        took.push(start.elapsed());
    }
    Ok(Figure::new(took, started))
}

pub fn serial(folder: &Path, rounds: usize) -> Result<Figure, Wrong> {
    let path = folder.join("serial.db");
    let mut db = database(&path, 200)?;
    let reader = Reader::start(path);
    let worker = Worker::start();
    let mut took = Vec::with_capacity(rounds);
    let started = Instant::now();
    for round in 0..rounds {
        let (session, interrupt) = ((round % 200) as i64, round as i64 + 1);
        let start = Instant::now();
        let change = db.transaction()?;
        raise(&change, session, interrupt)?;
        change.commit()?;
        reader.sees(interrupt)?;
        let change = db.transaction()?;
        answer(&change, session, interrupt)?;
        change.commit()?;
        worker.call()?;
        took.push(start.elapsed());
    }
    Ok(Figure::new(took, started))
}

/// One writer that commits together whatever waits; each session is a thread that waits for its own commits.
pub fn many(folder: &Path, sessions: usize, rounds: usize) -> Result<Figure, Wrong> {
    let path = folder.join("many.db");
    let db = database(&path, sessions)?;
    let (jobs, inbox) = mpsc::channel();
    let writer = std::thread::spawn(move || write(db, &inbox));
    let each = (rounds * 8 / sessions).max(1);
    let started = Instant::now();
    let threads: Vec<_> = (0..sessions)
        .map(|session| {
            let (jobs, path) = (jobs.clone(), path.clone());
            std::thread::spawn(move || go_round(session, each, &jobs, path))
        })
        .collect();
    let mut took = Vec::with_capacity(sessions * each);
    for thread in threads {
        took.extend(thread.join().map_err(|_| "a session of the bare loop panicked")??);
    }
    let figure = Figure::new(took, started);
    drop(jobs);
    writer.join().map_err(|_| "the writer of the bare loop panicked")??;
    Ok(figure)
}

struct Job {
    session: i64,
    interrupt: i64,
    raise: bool,
    done: mpsc::SyncSender<()>,
}

fn write(mut db: Connection, inbox: &mpsc::Receiver<Job>) -> Result<(), Wrong> {
    while let Ok(first) = inbox.recv() {
        let batch: Vec<Job> = std::iter::once(first).chain(inbox.try_iter()).collect();
        let change = db.transaction()?;
        for job in &batch {
            if job.raise { raise(&change, job.session, job.interrupt)? } else { answer(&change, job.session, job.interrupt)? }
        }
        change.commit()?;
        for job in batch {
            job.done.send(())?;
        }
    }
    Ok(())
}

fn go_round(session: usize, rounds: usize, jobs: &mpsc::Sender<Job>, path: PathBuf) -> Result<Vec<std::time::Duration>, Wrong> {
    let reader = Reader::start(path);
    let worker = Worker::start();
    let commit = |interrupt, raise| -> Result<(), Wrong> {
        let (done, wait) = mpsc::sync_channel(1);
        jobs.send(Job { session: session as i64, interrupt, raise, done })?;
        Ok(wait.recv()?)
    };
    let mut took = Vec::with_capacity(rounds);
    for round in 0..rounds {
        let interrupt = (session * rounds + round + 1) as i64;
        let start = Instant::now();
        commit(interrupt, true)?;
        reader.sees(interrupt)?;
        commit(interrupt, false)?;
        worker.call()?;
        took.push(start.elapsed());
    }
    Ok(took)
}

fn database(path: &Path, sessions: usize) -> Result<Connection, Wrong> {
    let db = Connection::open(path)?;
    db.execute_batch(SCHEMA)?;
    for session in 0..sessions {
        db.execute("INSERT INTO session VALUES (?1, 'idle', 0)", [session as i64])?;
    }
    Ok(db)
}

fn raise(change: &Transaction, session: i64, interrupt: i64) -> rusqlite::Result<()> {
    step(change, session, "interrupted")?;
    let mut insert = change.prepare_cached("INSERT INTO interrupt (id, session, state, body) VALUES (?1, ?2, 0, ?3)")?;
    insert.execute(params![interrupt, session, BODY]).map(|_| ())
}

fn answer(change: &Transaction, session: i64, interrupt: i64) -> rusqlite::Result<()> {
    let mut close = change.prepare_cached("UPDATE interrupt SET state = 1, answer = ?2 WHERE id = ?1 AND state = 0")?;
    close.execute(params![interrupt, &BODY[..120]])?;
    step(change, session, "running")
}

fn step(change: &Transaction, session: i64, status: &str) -> rusqlite::Result<()> {
    let mut update = change.prepare_cached("UPDATE session SET status = ?2, seq = seq + 1 WHERE id = ?1 RETURNING seq")?;
    let seq: i64 = update.query_row(params![session, status], |row| row.get(0))?;
    let mut insert = change.prepare_cached("INSERT INTO event (session, seq, body) VALUES (?1, ?2, ?3)")?;
    insert.execute(params![session, seq, BODY]).map(|_| ())
}

/// A client: another thread, another connection.
struct Reader(mpsc::Sender<(i64, mpsc::SyncSender<bool>)>);

impl Reader {
    fn start(path: PathBuf) -> Self {
        let (ask, asked) = mpsc::channel::<(i64, mpsc::SyncSender<bool>)>();
        std::thread::spawn(move || -> Result<(), Wrong> {
            let db = Connection::open(path)?;
            for (interrupt, reply) in asked {
                let mut open = db.prepare_cached("SELECT length(body) FROM interrupt WHERE id = ?1 AND state = 0")?;
                let length: u32 = open.query_row([interrupt], |row| row.get(0))?;
                reply.send(length as usize == BODY.len())?;
            }
            Ok(())
        });
        Self(ask)
    }

    fn sees(&self, interrupt: i64) -> Result<(), Wrong> {
        let (reply, answer) = mpsc::sync_channel(1);
        self.0.send((interrupt, reply))?;
        if answer.recv()? { Ok(()) } else { Err("the reader saw another body".into()) }
    }
}

struct Worker(mpsc::Sender<mpsc::SyncSender<()>>);

impl Worker {
    fn start() -> Self {
        let (call, calls) = mpsc::channel::<mpsc::SyncSender<()>>();
        std::thread::spawn(move || {
            for reply in calls {
                // The loop that called may have failed meanwhile, and says so itself.
                let _ = reply.send(());
            }
        });
        Self(call)
    }

    fn call(&self) -> Result<(), Wrong> {
        let (reply, answer) = mpsc::sync_channel(1);
        self.0.send(reply)?;
        Ok(answer.recv()?)
    }
}
