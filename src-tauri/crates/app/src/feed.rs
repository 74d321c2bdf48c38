//! The one feed the desktop lives on: rows that changed, the followed session in detail, and how the engine does. A reader is
//! woken and then reads from its own place, so a reload, a lag and a second window heal by themselves; only deltas are lossy.

use std::collections::VecDeque;
use std::time::Duration;

use futures::stream::{self, Stream};
use holdpoint_core::id::SessionId;
use holdpoint_store::{Health, InterruptQuery, InterruptState, SessionQuery};
use holdpoint_view::row::{InterruptRow, Seq, SessionRow};
use serde_json::Value;
use tokio::sync::{broadcast, watch};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::caller::LOCAL_TENANT;
use crate::wire::{EngineStatus, FeedFrom, Frame};
use crate::{Answered, App};

/// Sessions a fresh reader gets; older ones come by `list_sessions`.
const FIRST_SESSIONS: usize = 500;
const CHANGES: usize = 500;
/// The engine's status costs a few queries; a busy engine tells it this often at most.
const STATUS_EVERY: Duration = Duration::from_millis(500);

impl App {
    pub fn feed(&self, from: FeedFrom) -> impl Stream<Item = Frame> + Send + 'static + use<> {
        let session = from.session_id.as_deref().map(SessionId::from);
        let reader = Reader {
            changed: self.inner.store.changed(),
            health: self.inner.store.health(),
            desk: self.inner.desk_changed.subscribe(),
            config: self.inner.config_changed.subscribe(),
            watch: session.as_ref().map(|session| self.inner.engine.watch(session)),
            deltas: session.as_ref().map(|session| self.inner.engine.deltas(session)),
            closing: self.closing(),
            app: self.clone(),
            session,
            counter: from.after.0,
            after_seq: from.after_seq.0,
            started: false,
            patched: false,
            engine: None,
            told_at: Instant::now(),
            status_due: false,
            ready: VecDeque::new(),
        };
        stream::unfold(reader, |mut reader| async move { reader.next().await.map(|frame| (frame, reader)) })
    }
}

struct Reader {
    app: App,
    session: Option<SessionId>,
    counter: u64,
    after_seq: u64,
    started: bool,
    /// The followed session was read at least once.
    patched: bool,
    /// The status sent last.
    engine: Option<EngineStatus>,
    told_at: Instant,
    /// Rows changed since it was read.
    status_due: bool,
    ready: VecDeque<Frame>,
    changed: watch::Receiver<u64>,
    health: watch::Receiver<Health>,
    desk: watch::Receiver<u64>,
    config: watch::Receiver<u64>,
    watch: Option<watch::Receiver<u64>>,
    deltas: Option<broadcast::Receiver<Value>>,
    closing: CancellationToken,
}

/// What woke the reader.
enum Woken {
    Rows,
    Session,
    Delta(Value),
    Engine,
    Desk,
    Config,
    End,
}

impl Reader {
    async fn next(&mut self) -> Option<Frame> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                return Some(frame);
            }
            let read = if self.started { self.wait_and_read().await } else { self.start().await };
            match read {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => {
                    // The reader's transport opens a new feed; a database that cannot be read is told by its health.
                    tracing::warn!(%error, "a feed ends");
                    return None;
                }
            }
        }
    }

    async fn start(&mut self) -> Answered<bool> {
        self.started = true;
        if self.counter == 0 || self.counter > self.app.inner.store.counter() {
            self.reset()?;
        } else {
            self.rows()?;
        }
        self.patch().await?;
        self.desk_frames()?;
        self.ready.push_back(self.app.config_frame());
        self.engine_frame()?;
        Ok(true)
    }

    /// The newest sessions and every open question.
    fn reset(&mut self) -> Answered<()> {
        let store = &self.app.inner.store;
        // Read before the rows: what changes meanwhile comes twice rather than never.
        let counter = store.counter();
        let query = SessionQuery { limit: FIRST_SESSIONS, ..SessionQuery::of(LOCAL_TENANT) };
        let sessions = store.list_sessions(&query)?.items;
        let interrupts = self.open_interrupts()?;
        self.lists(counter, true, sessions, interrupts);
        Ok(())
    }

    fn open_interrupts(&self) -> Answered<Vec<InterruptRow>> {
        let mut query = InterruptQuery { state: InterruptState::Open, limit: CHANGES, ..InterruptQuery::of(LOCAL_TENANT) };
        let mut all = Vec::new();
        loop {
            let page = self.app.inner.store.list_interrupts(&query)?;
            all.extend(page.items);
            match page.next_cursor {
                Some(cursor) => query.cursor = Some(cursor),
                None => return Ok(all),
            }
        }
    }

    fn lists(&mut self, counter: u64, reset: bool, sessions: Vec<SessionRow>, interrupts: Vec<InterruptRow>) {
        self.counter = counter;
        self.ready.push_back(Frame::Lists { counter: Seq(counter), reset, sessions, interrupts });
    }

    async fn wait_and_read(&mut self) -> Answered<bool> {
        match self.wait().await {
            Woken::Rows => {
                self.rows()?;
                self.status_due = true;
            }
            Woken::Session => self.patch().await?,
            Woken::Delta(delta) => self.delta(&delta),
            Woken::Engine => self.engine_frame()?,
            Woken::Desk => self.desk_frames()?,
            Woken::Config => self.ready.push_back(self.app.config_frame()),
            Woken::End => return Ok(false),
        }
        Ok(true)
    }

    async fn wait(&mut self) -> Woken {
        let session = async {
            match &mut self.watch {
                Some(watch) => watch.changed().await.is_ok(),
                None => std::future::pending().await,
            }
        };
        let delta = async {
            match &mut self.deltas {
                Some(deltas) => deltas.recv().await,
                None => std::future::pending().await,
            }
        };
        let (due, at) = (self.status_due, self.told_at + STATUS_EVERY);
        tokio::select! {
            biased;
            () = self.closing.cancelled() => Woken::End,
            // Rows and nodes first: a delta then never shows up before the message it belongs behind.
            open = self.changed.changed() => if open.is_ok() { Woken::Rows } else { Woken::End },
            open = session => if open { Woken::Session } else { Woken::End },
            _ = self.health.changed() => Woken::Engine,
            _ = self.desk.changed() => Woken::Desk,
            _ = self.config.changed() => Woken::Config,
            () = sleep_until(at), if due => Woken::Engine,
            delta = delta => match delta {
                Ok(delta) => Woken::Delta(delta),
                Err(broadcast::error::RecvError::Lagged(_)) => Woken::Session,
                Err(broadcast::error::RecvError::Closed) => Woken::End,
            },
        }
    }

    fn rows(&mut self) -> Answered<()> {
        loop {
            let changes = self.app.inner.store.changes_since(LOCAL_TENANT, self.counter, CHANGES)?;
            let more = changes.counter > self.counter;
            if !changes.sessions.is_empty() || !changes.interrupts.is_empty() {
                self.lists(changes.counter, false, changes.sessions, changes.interrupts);
            }
            self.counter = changes.counter;
            if !more {
                return Ok(());
            }
        }
    }

    /// What is new in the followed session. One that is not there yet is followed all the same.
    async fn patch(&mut self) -> Answered<()> {
        let Some(session) = &self.session else { return Ok(()) };
        let Some(patch) = self.app.inner.engine.patch(session, self.after_seq).await? else { return Ok(()) };
        if self.patched && patch.session.seq.0 <= self.after_seq {
            return Ok(());
        }
        self.patched = true;
        self.after_seq = patch.session.seq.0;
        self.ready.push_back(Frame::Session { patch });
        Ok(())
    }

    fn delta(&mut self, delta: &Value) {
        let text = |key: &str| delta[key].as_str().map(str::to_owned);
        let (Some(session_id), Some(call_id)) = (text("session_id"), text("call_id")) else { return };
        if let Some(progress) = delta["progress"].as_f64() {
            let (seq, total, message) = (Seq(delta["seq"].as_u64().unwrap_or_default()), delta["total"].as_f64(), text("message"));
            self.ready.push_back(Frame::Progress { session_id, call_id, seq, progress, total, message });
            return;
        }
        let (shown, reasoning) = (text("text"), text("reasoning"));
        if shown.is_some() || reasoning.is_some() {
            let seq = Seq(delta["seq"].as_u64().unwrap_or_default());
            self.ready.push_back(Frame::Delta { session_id, call_id, seq, text: shown, reasoning });
        }
    }

    fn desk_frames(&mut self) -> Answered<()> {
        self.ready.push_back(Frame::Scheduled { scheduled: self.app.held()? });
        self.ready.push_back(Frame::Snoozed { snoozed: self.app.snoozes()? });
        Ok(())
    }

    fn engine_frame(&mut self) -> Answered<()> {
        (self.told_at, self.status_due) = (Instant::now(), false);
        let engine = self.app.engine_status()?;
        if self.engine.as_ref() != Some(&engine) {
            self.engine = Some(engine.clone());
            self.ready.push_back(Frame::Engine { engine });
        }
        Ok(())
    }
}
