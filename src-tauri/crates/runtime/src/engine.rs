//! The engine: takes commands for sessions, commits what core decides, and keeps running what the state says should run.
//!
//! Nothing is shown, sent or started before its commit. After each commit, and equally after a start, [`pending`] is compared with
//! what runs; the difference is started or stopped. So recovery is the same code as every day's work.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use futures::FutureExt as _;
use holdpoint_core::command::{Caller, Command, Input, Receipt};
use holdpoint_core::ctx::Ctx;
use holdpoint_core::decide::{Decided, decide, has_run};
use holdpoint_core::decision::Trigger;
use holdpoint_core::delegate::{WAITING, turn_of};
use holdpoint_core::engine_config::EngineConfig;
use holdpoint_core::envelope::{envelope, whole_envelope};
use holdpoint_core::event::{CallKind, Event, Identity, Payload, Spent};
use holdpoint_core::id::{CallId, SessionId};
use holdpoint_core::message::{ErrorCode, ErrorInfo};
use holdpoint_core::pending::{Effect, pending, sends};
use holdpoint_core::rejection::{Code, Rejection};
use holdpoint_core::request::decision_request;
use holdpoint_core::state::Session;
use holdpoint_core::time::Millis;
use holdpoint_store::{Append, CommandReceipt, SessionAppend, Spend, Store, StoreError};
use holdpoint_view::interrupts::{closed_row, open_row};
use holdpoint_view::patch::session_patch;
use holdpoint_view::row::{InterruptRow, PathStep, SessionPatch};
use holdpoint_view::session::session_row;
use serde_json::{Value, json};
use tokio::sync::{OwnedMutexGuard, broadcast, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::clock::{Clock, SystemClock};
use crate::connect::connector_call;
use crate::delegate::Told;
use crate::receipt;
use crate::runner::{ConnectorRunner, DecisionCall, Delta, DeltaSink, Failure, ModelCall, ModelFailure, ModelRunner, WorkerRunner};
use crate::slot::{Loaded, Slot};
use crate::timer::Timers;

/// Sessions kept in memory beyond those that run or are watched.
const KEPT: usize = 64;
/// Sessions recovered at the same time.
const RECOVERED_AT_ONCE: usize = 64;

/// A delegate's session, held while its parent is cancelled.
pub(crate) struct Locked {
    pub slot: Arc<Slot>,
    pub loaded: OwnedMutexGuard<Loaded>,
}

/// What delegates that were stopped have used in the turns of this session's open calls (C-31).
fn spent(session: Option<&Session>, stopped: &[Locked]) -> HashMap<CallId, Spent> {
    let open = session.into_iter().flat_map(Session::open_calls).filter(|call| call.kind == CallKind::Subagent);
    let used = open.filter_map(|call| {
        let child = stopped.iter().find(|one| Some(&one.slot.id) == call.child.as_ref())?.loaded.session.as_ref()?;
        let turn = child.turn(&turn_of(session?, call))?;
        Some((call.id.clone(), Spent { cost: turn.cost, token_usage: turn.usage.clone() }))
    });
    used.collect()
}

/// Sessions of the delegations that are open in this one. One that is only waited for is detached, and goes on (C-24).
pub(crate) fn open_children(session: &Session) -> Vec<SessionId> {
    session
        .open_calls()
        .filter(|call| call.kind == CallKind::Subagent && call.mode != WAITING)
        .filter_map(|call| call.child.clone())
        .collect()
}

/// A command for one session, with the tenant it may act in (B-5) and the id that makes it repeatable (D-13).
#[derive(Clone, Debug)]
pub struct Call {
    pub tenant: String,
    pub session_id: SessionId,
    pub command: Command,
    /// Unique for the caller: scope it by tenant and surface.
    pub command_id: Option<String>,
}

#[derive(Clone, Debug, thiserror::Error)]
pub enum SubmitError {
    /// The rules refuse it; nothing was written.
    #[error("{0}")]
    Rejected(Rejection),
    /// The database does; nothing was acknowledged.
    #[error("{0}")]
    Storage(#[from] StoreError),
}

/// Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) store: Store,
    config: RwLock<Arc<EngineConfig>>,
    models: Arc<dyn ModelRunner>,
    workers: Arc<dyn WorkerRunner>,
    pub(crate) connectors: Arc<dyn ConnectorRunner>,
    pub(crate) clock: Arc<dyn Clock>,
    slots: Mutex<HashMap<SessionId, Arc<Slot>>>,
    timers: Timers,
    pub(crate) tasks: TaskTracker,
    closing: CancellationToken,
}

impl Engine {
    /// Opens on a store, and takes up what was under way when it was last closed or killed (D-2, D-3).
    pub async fn open(
        store: Store,
        config: Arc<EngineConfig>,
        models: Arc<dyn ModelRunner>,
        workers: Arc<dyn WorkerRunner>,
        connectors: Arc<dyn ConnectorRunner>,
    ) -> Result<Self, StoreError> {
        Self::open_with_clock(store, config, models, workers, connectors, Arc::new(SystemClock)).await
    }

    pub async fn open_with_clock(
        store: Store,
        config: Arc<EngineConfig>,
        models: Arc<dyn ModelRunner>,
        workers: Arc<dyn WorkerRunner>,
        connectors: Arc<dyn ConnectorRunner>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, StoreError> {
        let inner = Inner {
            store,
            config: RwLock::new(config),
            models,
            workers,
            connectors,
            clock,
            slots: Mutex::default(),
            timers: Timers::default(),
            tasks: TaskTracker::new(),
            closing: CancellationToken::new(),
        };
        let engine = Self { inner: Arc::new(inner) };
        engine.recover().await?;
        let timer = engine.clone();
        engine.inner.tasks.spawn(async move { timer.run_timers().await });
        Ok(engine)
    }

    async fn recover(&self) -> Result<(), StoreError> {
        let unfinished = self.inner.store.unfinished()?;
        for some in unfinished.chunks(RECOVERED_AT_ONCE) {
            let steps = some.iter().map(|session| self.report(session.clone(), Command::Recover));
            futures::future::join_all(steps).await;
        }
        Ok(())
    }

    async fn run_timers(&self) {
        loop {
            tokio::select! {
                () = self.inner.closing.cancelled() => return,
                () = self.inner.timers.sleep(self.inner.clock.now()) => {}
            }
            for session in self.inner.timers.take_due(self.inner.clock.now()) {
                let engine = self.clone();
                self.inner.tasks.spawn(async move { engine.report(session, Command::Tick).await });
            }
        }
    }

    pub fn set_config(&self, config: Arc<EngineConfig>) {
        *self.inner.config.write().unwrap_or_else(PoisonError::into_inner) = config;
    }

    pub(crate) fn config(&self) -> Arc<EngineConfig> {
        self.inner.config.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn slot(&self, session: &SessionId) -> Arc<Slot> {
        let mut slots = self.inner.slots.lock().unwrap_or_else(PoisonError::into_inner);
        if slots.len() > KEPT && !slots.contains_key(session) {
            slots.retain(|_, slot| Arc::strong_count(slot) > 1 || !slot.is_idle());
        }
        slots.entry(session.clone()).or_insert_with(|| Arc::new(Slot::new(session.clone()))).clone()
    }

    // ---- commands

    /// Carries out one command. When this returns, it is on disk.
    pub async fn submit(&self, call: Call) -> Result<Receipt, SubmitError> {
        let slot = self.slot(&call.session_id);
        let mut loaded = slot.state.lock().await;
        // Not before the session is held: the same command may be on its way.
        if let Some(first) = self.first_receipt(call.command_id.as_deref())? {
            return Ok(first);
        }
        self.carry_out(&slot, &mut loaded, &call).await
    }

    async fn carry_out(&self, slot: &Arc<Slot>, loaded: &mut Loaded, call: &Call) -> Result<Receipt, SubmitError> {
        loop {
            let family = self.delegates_to_cancel(slot, loaded, call).await?;
            match self.step(slot, loaded, call, family).await {
                // Somebody else appended first: decide again on what is there now (D-10).
                Err(SubmitError::Storage(StoreError::Conflict { .. })) => {}
                Err(SubmitError::Storage(StoreError::Repeated { command_id })) => {
                    return self.first_receipt(Some(&command_id))?.ok_or(SubmitError::Storage(StoreError::Repeated { command_id }));
                }
                result => return result,
            }
        }
    }

    fn first_receipt(&self, command_id: Option<&str>) -> Result<Option<Receipt>, StoreError> {
        let Some(id) = command_id else { return Ok(None) };
        Ok(self.inner.store.receipt(id)?.map(|kept| receipt::from_json(&kept)))
    }

    /// One command in one transaction. `below`: the delegates a cancel takes along, children first (C-19).
    pub(crate) async fn step(
        &self,
        slot: &Arc<Slot>,
        loaded: &mut Loaded,
        call: &Call,
        mut below: Vec<Locked>,
    ) -> Result<Receipt, SubmitError> {
        loaded.load(&slot.id, &self.inner.store)?;
        if loaded.session.is_some() && loaded.tenant != call.tenant {
            let refusal = Rejection::new(Code::AccessDenied, "this session belongs to somebody else");
            return Err(SubmitError::Rejected(refusal));
        }
        let config = self.config();
        // One transaction happens at one time, whatever number of sessions it touches.
        let now = self.inner.clock.now();
        let mut sessions = Vec::new();
        sessions.extend(self.stop_all(&mut below, |_| Command::Cancel { caller: Caller::operator() }, now, &call.tenant, &config)?);
        let mut ctx = Ctx::new(now, rand::random(), &config);
        ctx.spent = spent(loaded.session.as_ref(), &below);
        ctx.reachable = self.reachable(&call.tenant, &call.command)?;
        ctx.budget = self.budget(call, loaded.session.as_ref(), &config)?;
        let Decided { events, receipt } =
            decide(&mut loaded.session, &slot.id, call.command.clone(), &mut ctx).map_err(SubmitError::Rejected)?;
        let kept = call.command_id.as_ref().map(|id| CommandReceipt { command_id: id.clone(), body: receipt::to_json(&receipt) });
        if loaded.session.is_none() {
            return Ok(receipt);
        }
        sessions.extend(self.prepare(loaded, &call.tenant, events, &config)?);
        if !sessions.is_empty() || kept.is_some() {
            self.inner.store.append(Append { sessions, receipt: kept }).await?;
        }
        for child in &mut below {
            self.committed(&child.slot, &mut child.loaded, &config);
        }
        self.committed(slot, loaded, &config);
        self.close_along(slot, loaded, &call.command, &receipt);
        Ok(receipt)
    }

    /// Held delegates, children first, each with its part of somebody else's transaction.
    pub(crate) fn stop_all(
        &self,
        below: &mut [Locked],
        command: impl Fn(&SessionId) -> Command,
        now: Millis,
        tenant: &str,
        config: &Arc<EngineConfig>,
    ) -> Result<Vec<SessionAppend>, SubmitError> {
        let mut sessions = Vec::new();
        for at in 0..below.len() {
            let (stopped, rest) = below.split_at_mut(at);
            let Some(child) = rest.first_mut() else { break };
            let mut ctx = Ctx::new(now, rand::random(), config);
            ctx.spent = spent(child.loaded.session.as_ref(), stopped);
            sessions.extend(self.stop_below(child, command(&child.slot.id), ctx, tenant)?);
        }
        Ok(sessions)
    }

    pub(crate) fn stop_below(
        &self,
        child: &mut Locked,
        command: Command,
        mut ctx: Ctx<'_>,
        tenant: &str,
    ) -> Result<Option<SessionAppend>, SubmitError> {
        let config = ctx.config;
        let decided = decide(&mut child.loaded.session, &child.slot.id, command, &mut ctx).map_err(SubmitError::Rejected)?;
        Ok(self.prepare(&mut child.loaded, tenant, decided.events, config)?)
    }

    /// What is to be saved of a session after a step.
    fn prepare(
        &self,
        loaded: &mut Loaded,
        tenant: &str,
        events: Vec<Event>,
        config: &EngineConfig,
    ) -> Result<Option<SessionAppend>, StoreError> {
        if events.is_empty() {
            return Ok(None);
        }
        let events: Arc<[Event]> = events.into();
        loaded.unsaved = Some(events.clone());
        loaded.find_path(&self.inner.store)?;
        if loaded.tenant != tenant {
            tenant.clone_into(&mut loaded.tenant);
        }
        Ok(loaded.session.as_ref().map(|session| append(session, tenant, events, config, &loaded.path)))
    }

    /// Sessions of open delegations, to any depth, locked from the top down and listed children first (C-8).
    async fn delegates_to_cancel(&self, slot: &Arc<Slot>, loaded: &mut Loaded, call: &Call) -> Result<Vec<Locked>, SubmitError> {
        let mut found = Vec::new();
        if !matches!(call.command, Command::Cancel { .. }) {
            return Ok(found);
        }
        loaded.load(&slot.id, &self.inner.store)?;
        let Some(session) = loaded.session.as_ref().filter(|session| loaded.tenant == call.tenant && has_run(session)) else {
            return Ok(found);
        };
        self.lock_below(open_children(session), open_children, &mut found).await?;
        Ok(found)
    }

    /// Locks these sessions and what `children` finds below them; adds them children first.
    pub(crate) async fn lock_below(
        &self,
        mut waiting: Vec<SessionId>,
        children: fn(&Session) -> Vec<SessionId>,
        into: &mut Vec<Locked>,
    ) -> Result<(), SubmitError> {
        let mut found: Vec<Locked> = Vec::new();
        while let Some(id) = waiting.pop() {
            // Two delegations may be to one session; its lock is taken once.
            if found.iter().any(|one| one.slot.id == id) {
                continue;
            }
            let slot = self.slot(&id);
            let mut loaded = slot.state.clone().lock_owned().await;
            loaded.load(&id, &self.inner.store)?;
            if let Some(session) = &loaded.session {
                waiting.extend(children(session));
                found.push(Locked { slot, loaded });
            }
        }
        found.reverse();
        into.extend(found);
        Ok(())
    }

    /// Owners of the sessions a `message.send` names, read from their logs (§3.4).
    fn reachable(&self, tenant: &str, command: &Command) -> Result<HashMap<SessionId, Identity>, StoreError> {
        let mut owners = HashMap::new();
        let Command::Answered { response, .. } = command else { return Ok(owners) };
        for action in response["actions"].as_array().into_iter().flatten().filter(|action| action["type"] == "message.send") {
            let Some(target) = action["session_id"].as_str().map(SessionId::from) else { continue };
            let same_tenant = self.inner.store.session_meta(&target)?.is_some_and(|meta| meta.tenant == tenant && meta.parent.is_none());
            let first = if same_tenant { self.inner.store.events(&target, 0, 1)? } else { Vec::new() };
            if let Some(Event { payload: Payload::SessionCreated { identity, .. }, .. }) = first.into_iter().next() {
                owners.insert(target, identity);
            }
        }
        Ok(owners)
    }

    /// A report of the engine's own runners. The database may be full for a while; the report waits for it and is not lost.
    pub(crate) async fn report(&self, session: SessionId, command: Command) {
        let slot = self.slot(&session);
        let mut call = Call { tenant: String::new(), session_id: session.clone(), command, command_id: None };
        loop {
            let mut loaded = slot.state.lock().await;
            let done = match loaded.load(&session, &self.inner.store) {
                Ok(()) => {
                    call.tenant.clone_from(&loaded.tenant);
                    self.carry_out(&slot, &mut loaded, &call).await
                }
                Err(failure) => Err(failure.into()),
            };
            drop(loaded);
            match done {
                Ok(_) => return,
                Err(SubmitError::Rejected(refusal)) => {
                    tracing::warn!(%session, %refusal, "a report was refused");
                    return;
                }
                Err(SubmitError::Storage(StoreError::Closed)) => return,
                Err(SubmitError::Storage(failure)) => {
                    tracing::error!(%session, %failure, "cannot save a report; trying again");
                    tokio::select! {
                        () = self.inner.closing.cancelled() => return,
                        () = tokio::time::sleep(Duration::from_secs(1)) => {}
                    }
                }
            }
        }
    }

    // ---- after a commit

    pub(crate) fn committed(&self, slot: &Arc<Slot>, loaded: &mut Loaded, config: &Arc<EngineConfig>) {
        let Some(session) = &loaded.session else { return };
        slot.publish(session.seq, loaded.unsaved.take());
        if self.inner.closing.is_cancelled() {
            return;
        }
        self.inner.timers.set(&slot.id, session.wake_at());
        let wanted: HashSet<Effect> = pending(session).into_iter().collect();
        loaded.running.retain(|effect, token| {
            let stays = wanted.contains(effect);
            if !stays {
                token.cancel();
            }
            stays
        });
        for effect in wanted {
            if let Entry::Vacant(free) = loaded.running.entry(effect) {
                let token = self.inner.closing.child_token();
                self.start(slot, session, config, free.key(), token.clone());
                free.insert(token);
            }
        }
        let due: Vec<_> =
            sends(session).filter(|(turn, ..)| !loaded.sent.contains(turn)).map(|(t, s, m)| (t, s.clone(), m.clone())).collect();
        for (turn, target, message) in due {
            loaded.sent.insert(turn.clone());
            self.send_message(loaded.tenant.clone(), turn, target, message);
        }
    }

    /// A `message.send`: a queued message to another session (§3.4).
    fn send_message(&self, tenant: String, turn: holdpoint_core::id::TurnId, target: SessionId, message: holdpoint_core::message::Message) {
        let engine = self.clone();
        self.inner.tasks.spawn(async move {
            let input = Input::Append { turn_id: Some(turn), messages: vec![message], stream: None, client: None, queue: true };
            let command = Command::Input { caller: Caller::operator(), input, create: None };
            let call = Call { tenant, session_id: target.clone(), command, command_id: None };
            if let Err(refusal) = engine.submit(call).await {
                tracing::warn!(%target, %refusal, "a message to another session was not taken");
            }
        });
    }

    fn start(&self, slot: &Arc<Slot>, session: &Session, config: &Arc<EngineConfig>, effect: &Effect, token: CancellationToken) {
        match effect {
            Effect::Decide { decision, attempt } => {
                let Some(decision) = session.decision(decision) else { return };
                let Some(worker) = &session.worker else { return };
                let request = Arc::new(decision_request(session, decision, config));
                let (deltas, format) = match &decision.trigger {
                    Trigger::LlmExecute { id, stream: true, format, .. } => (Some(sink(slot, id.as_str(), &token)), format.clone()),
                    _ => (None, None),
                };
                let call = DecisionCall { worker: worker.clone(), request, deltas, format };
                self.run_decision(slot.id.clone(), decision.id.clone(), *attempt, call, token);
            }
            Effect::CallModel { call, attempt } => {
                let Some(call) = session.call(CallKind::LlmCall, call) else { return };
                let Some(detail) = &call.llm else { return };
                let deltas = if detail.stream { sink(slot, call.id.as_str(), &token) } else { DeltaSink::new(|_| {}) };
                let model = ModelCall {
                    session_id: session.id.clone(),
                    call_id: call.id.clone(),
                    attempt: *attempt,
                    llm: detail.block.clone(),
                    request: detail.request.resolve(session),
                    stream: detail.stream,
                    script_used: session.script_used.get(&detail.block).cloned().unwrap_or_default(),
                };
                self.run_model(model, deltas, token);
            }
            Effect::FetchTools { path, attempt } => self.run_fetch(slot.id.clone(), path.clone(), *attempt, token),
            Effect::CallTool { call, .. } => {
                if let Some(sent) = connector_call(session, call) {
                    let asked = !holdpoint_core::elicit::open(session, call).is_empty();
                    self.run_connector_call(slot, sent, asked, token);
                }
            }
            Effect::Spawn { call, attempt } => self.run_spawn(slot.id.clone(), call.clone(), *attempt, token),
            Effect::AwaitChild { call } => self.await_child(session, call, token, Told::AsResult),
            Effect::AwaitDetached { call } => self.await_child(session, call, token, Told::AsMessage),
        }
    }

    fn run_decision(
        &self,
        session: SessionId,
        decision: holdpoint_core::id::DecisionId,
        attempt: u32,
        call: DecisionCall,
        token: CancellationToken,
    ) {
        let engine = self.clone();
        self.inner.tasks.spawn(async move {
            let run = AssertUnwindSafe(engine.inner.workers.decide(call, token.clone())).catch_unwind();
            let result = tokio::select! {
                () = token.cancelled() => return,
                result = run => result.unwrap_or_else(|_| Err(panicked("the worker's runner"))),
            };
            if token.is_cancelled() {
                return;
            }
            let command = match result {
                Ok(response) => Command::Answered { decision, attempt: Some(attempt), response },
                Err(Failure { error, retryable, .. }) => Command::DecisionFailed { decision, attempt, error, retryable },
            };
            engine.report(session, command).await;
        });
    }

    fn run_model(&self, model: ModelCall, deltas: DeltaSink, token: CancellationToken) {
        let engine = self.clone();
        let (session, call, attempt) = (model.session_id.clone(), model.call_id.clone(), model.attempt);
        self.inner.tasks.spawn(async move {
            let run = AssertUnwindSafe(engine.inner.models.run(model, deltas, token.clone())).catch_unwind();
            let result = tokio::select! {
                () = token.cancelled() => return,
                result = run => result.unwrap_or_else(|_| Err(ModelFailure { failure: panicked("the model's runner"), script_reply: None })),
            };
            if token.is_cancelled() {
                return;
            }
            let command = match result {
                Ok(reply) => Command::LlmCompleted { call, attempt, response: reply.response, script_reply: reply.script_reply },
                Err(ModelFailure { failure: Failure { error, retryable, retry_after_ms }, script_reply }) => {
                    Command::LlmFailed { call, attempt, error, retryable, retry_after_ms, script_reply }
                }
            };
            engine.report(session, command).await;
        });
    }

    // ---- reading

    /// Reads the state of a session that exists.
    pub async fn read<T>(&self, session: &SessionId, read: impl FnOnce(&Session) -> T) -> Result<Option<T>, StoreError> {
        let slot = self.slot(session);
        let mut loaded = slot.state.lock().await;
        loaded.load(session, &self.inner.store)?;
        Ok(loaded.session.as_ref().map(read))
    }

    /// Everything that changed in the session after `after_seq`.
    pub async fn patch(&self, session: &SessionId, after_seq: u64) -> Result<Option<SessionPatch>, StoreError> {
        let config = self.config();
        let slot = self.slot(session);
        let mut loaded = slot.state.lock().await;
        loaded.load(session, &self.inner.store)?;
        loaded.find_path(&self.inner.store)?;
        let Some(state) = &loaded.session else { return Ok(None) };
        let mut patch = session_patch(state, after_seq, &config);
        patch.interrupts.iter_mut().for_each(|row| row.path.clone_from(&loaded.path));
        Ok(Some(patch))
    }

    /// Envelopes (E-4), written out whole.
    pub async fn events(&self, session: &SessionId, after_seq: u64, limit: usize) -> Result<Vec<Value>, StoreError> {
        let slot = self.slot(session);
        let whole = |events: &mut dyn Iterator<Item = &Event>| {
            events.take(limit).map(|event| whole_envelope(session, event)).collect::<Option<Vec<_>>>()
        };
        if let Some(Some(shown)) = slot.recent_after(after_seq, whole) {
            return Ok(shown);
        }
        let events = self.inner.store.events(session, after_seq, limit)?;
        if events.is_empty() {
            return Ok(Vec::new());
        }
        let shown = self.read(session, |state| events.iter().map(|event| envelope(state, event, None)).collect()).await?;
        Ok(shown.unwrap_or_default())
    }

    /// Changes with the session's last committed event.
    pub fn watch(&self, session: &SessionId) -> watch::Receiver<u64> {
        self.slot(session).seq.subscribe()
    }

    /// `llm.token.delta` frames (E-8), lossy for a slow reader.
    pub fn deltas(&self, session: &SessionId) -> broadcast::Receiver<Value> {
        self.slot(session).deltas.subscribe()
    }

    /// Stops what runs, waits for reports that are being saved. What was under way is taken up at the next start.
    pub async fn close(self) {
        self.inner.closing.cancel();
        self.inner.tasks.close();
        self.inner.tasks.wait().await;
    }
}

pub(crate) fn panicked(what: &str) -> Failure {
    let error = ErrorInfo::new(ErrorCode::Internal, format!("{what} stopped with a bug"));
    Failure { error, retryable: false, retry_after_ms: None }
}

/// Deltas of one call onto the session's live streams, numbered (E-8). After a cancel nothing more is sent (C-22).
fn sink(slot: &Arc<Slot>, call: &str, token: &CancellationToken) -> DeltaSink {
    let (slot, call, token) = (slot.clone(), call.to_owned(), token.clone());
    let count = std::sync::atomic::AtomicU64::new(0);
    DeltaSink::new(move |delta: Delta| {
        if token.is_cancelled() || slot.deltas.receiver_count() == 0 {
            return;
        }
        let seq = count.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
        let mut frame = json!({"type": "llm.token.delta", "session_id": slot.id, "call_id": call, "seq": seq});
        if let (Value::Object(frame), Ok(Value::Object(own))) = (&mut frame, serde_json::to_value(delta)) {
            frame.extend(own);
        }
        // An error means that the last reader has just gone.
        let _ = slot.deltas.send(frame);
    })
}

/// What one step did to one session, with its rows as they are now.
fn append(session: &Session, tenant: &str, events: Arc<[Event]>, config: &EngineConfig, path: &[PathStep]) -> SessionAppend {
    let sends = events.iter().any(|event| matches!(event.payload, Payload::SessionMessageRequested { .. }));
    SessionAppend {
        session_id: session.id.clone(),
        expected_seq: session.seq - events.len() as u64,
        tenant: tenant.to_owned(),
        busy: sends || session.wake_at().is_some() || !pending(session).is_empty(),
        row: session_row(session, config),
        interrupts: changed_interrupts(session, &events, path),
        spend: events.iter().filter_map(spend).collect(),
        events,
    }
}

fn spend(event: &Event) -> Option<Spend> {
    match &event.payload {
        Payload::LlmCallCompleted { response, .. } => response.cost.map(|cost| Spend { seq: event.seq, at: event.at, cost }),
        _ => None,
    }
}

/// Rows of interrupts that this step opened or closed, and of open ones when the head moved (their branch may be another now).
fn changed_interrupts(session: &Session, events: &[Event], path: &[PathStep]) -> Vec<InterruptRow> {
    let touched: HashSet<&str> = events
        .iter()
        .filter_map(|event| match &event.payload {
            Payload::SessionInterrupted { interrupt_id, .. } | Payload::SessionInterruptResumed { interrupt_id, .. } => {
                Some(interrupt_id.as_str())
            }
            _ => None,
        })
        .collect();
    let moved = events.iter().any(|event| matches!(event.payload, Payload::HeadMoved { .. } | Payload::MessageNew { .. }));
    let open = session.interrupts.iter().filter(|open| moved || touched.contains(open.id.as_str())).map(|open| open_row(session, open));
    // An id that was closed and raised again in one step: the closed row is the earlier raising.
    let first = events.first().map_or(0, |event| event.seq);
    let closed = touched.iter().filter_map(|id| session.closed.get(*id)).filter(|closed| closed.seq >= first);
    let rows = closed.map(|closed| closed_row(session, closed)).chain(open);
    rows.map(|row| InterruptRow { path: path.to_vec(), ..row }).collect()
}
