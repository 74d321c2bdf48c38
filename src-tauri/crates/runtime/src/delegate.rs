//! Delegates at run time (§8): making a child's session, and telling its parent how it ended.
//!
//! Locks are taken from a parent down to its children only, never upwards, so no two of them can wait for each other.

use holdpoint_core::command::{Caller, ChildEnd, Command, Creation, Input};
use holdpoint_core::ctx::Ctx;
use holdpoint_core::decide::has_run;
use holdpoint_core::delegate::turn_of;
use holdpoint_core::event::{CallKind, Rank};
use holdpoint_core::id::{CallId, SessionId, TurnId};
use holdpoint_core::message::{ErrorCode, ErrorInfo, Message, Role};
use holdpoint_core::state::{CallStatus, Session, TurnState};
use holdpoint_core::thread::delegates_at_work;
use holdpoint_store::{Append, CommandReceipt, StoreError};
use tokio_util::sync::CancellationToken;

use crate::engine::{Call, Engine, Locked, SubmitError};

/// The message of a cancelled turn's error; a thread interrupt gives its reason instead.
const CANCELLED: &str = "cancelled: the turn ended";

/// How the parent learns of the end.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Told {
    /// The call it waits for ends (S-5).
    AsResult,
    /// A message of its own turn (S-11).
    AsMessage,
}

impl Engine {
    pub(crate) fn run_spawn(&self, parent: SessionId, call: CallId, attempt: u32, token: CancellationToken) {
        let engine = self.clone();
        self.inner.tasks.spawn(async move {
            let spawned = tokio::select! {
                () = token.cancelled() => return,
                spawned = engine.spawn_child(&parent, &call, attempt) => spawned,
            };
            if let Err(failure) = spawned {
                let (error, retryable) = match failure {
                    SubmitError::Rejected(refusal) => (ErrorInfo::new(ErrorCode::HandlerError, refusal.message), false),
                    SubmitError::Storage(failure) => (ErrorInfo::new(ErrorCode::Internal, failure.to_string()), true),
                };
                engine.report(parent, Command::SpawnFailed { call, attempt, error, retryable }).await;
            }
        });
    }

    /// Makes the child, or hands it its next message, while the parent is held: a cancel of the parent comes before or after, never between.
    async fn spawn_child(&self, parent: &SessionId, call: &CallId, attempt: u32) -> Result<(), SubmitError> {
        let slot = self.slot(parent);
        let mut loaded = slot.state.lock().await;
        loaded.load(parent, &self.inner.store)?;
        let tenant = loaded.tenant.clone();
        let Some((child, command)) = loaded.session.as_ref().and_then(|session| handover(session, call, attempt)) else { return Ok(()) };
        Box::pin(self.submit(Call { tenant: tenant.clone(), session_id: child, command, command_id: None })).await?;
        let started = Call { tenant, session_id: parent.clone(), command: Command::ChildStarted { call: call.clone() }, command_id: None };
        Box::pin(self.step(&slot, &mut loaded, &started, Vec::new())).await.map(|_| ())
    }

    pub(crate) fn await_child(&self, parent: &Session, call: &CallId, token: CancellationToken, told: Told) {
        let Some((child, turn)) = parent.call(CallKind::Subagent, call).and_then(|c| Some((c.child.clone()?, turn_of(parent, c)))) else {
            return;
        };
        let (engine, parent, call) = (self.clone(), parent.id.clone(), call.clone());
        self.inner.tasks.spawn(async move {
            let mut below = engine.watch(&child);
            let mut above = engine.watch(&parent);
            while !token.is_cancelled() {
                if let Ok(Some(end)) = engine.child_end(&child, &turn).await {
                    match told {
                        Told::AsResult => return engine.report(parent, Command::ChildEnded { call, end }).await,
                        Told::AsMessage => engine.tell_detached(&parent).await,
                    }
                }
                tokio::select! {
                    () = token.cancelled() => return,
                    _ = below.changed() => {}
                    // A detached result waits for its parent's turn to end.
                    _ = above.changed(), if told == Told::AsMessage => {}
                }
            }
        });
    }

    async fn child_end(&self, child: &SessionId, turn: &TurnId) -> Result<Option<ChildEnd>, StoreError> {
        Ok(self.read(child, |session| end_of(session, turn)).await?.flatten())
    }

    /// S-11: all results that are there go in one message turn.
    async fn tell_detached(&self, parent: &SessionId) {
        let waiting = self
            .read(parent, |session| {
                let calls = session.detached.iter().filter_map(|id| session.call(CallKind::Subagent, id));
                calls.filter_map(|call| Some((call.id.clone(), call.child.clone()?, turn_of(session, call)))).collect::<Vec<_>>()
            })
            .await;
        let mut ends = Vec::new();
        for (call, child, turn) in waiting.ok().flatten().unwrap_or_default() {
            if let Ok(Some(end)) = self.child_end(&child, &turn).await {
                ends.push((call, end));
            }
        }
        if !ends.is_empty() {
            self.report(parent.clone(), Command::DetachedEnded { ends }).await;
        }
    }
}

/// Which delegate to stop, and what its parent is told.
#[derive(Clone, Copy, Debug)]
pub struct StopThread<'a> {
    pub tenant: &'a str,
    pub parent: &'a SessionId,
    pub thread: &'a SessionId,
    pub reason: &'a str,
}

impl Engine {
    /// Stops one delegate with everything below it, and ends its parent's delegation with the reason: one transaction (TH-29, TH-33).
    /// `told` makes the answer of the stopped delegate, and what is kept of it in that transaction for the same request again.
    /// `None`: the delegate had ended (TH-26). The caller has made sure that `thread` is a delegate of this tenant.
    pub async fn stop_thread<T>(
        &self,
        stop: StopThread<'_>,
        told: impl FnOnce(&Session) -> (T, Option<CommandReceipt>),
    ) -> Result<Option<T>, SubmitError> {
        let StopThread { tenant, parent, thread, reason } = stop;
        let slot = self.slot(parent);
        let loaded = slot.state.clone().lock_owned().await;
        let mut above = Locked { slot, loaded };
        above.loaded.load(parent, &self.inner.store)?;
        let mut below = Vec::new();
        self.lock_below(vec![thread.clone()], delegates_at_work, &mut below).await?;
        let running = below.iter().any(|one| one.slot.id == *thread && one.loaded.session.as_ref().is_some_and(has_run));
        if !running {
            return Ok(None);
        }
        let (config, now) = (self.config(), self.inner.clock.now());
        let stop = |id: &SessionId| Command::Stop { reason: if id == thread { reason } else { CANCELLED }.to_owned() };
        let mut sessions = self.stop_all(&mut below, stop, now, tenant, &config)?;
        let call = above.loaded.session.as_ref().and_then(|session| {
            let mut open = session.open_calls().filter(|call| call.kind == CallKind::Subagent && call.child.as_ref() == Some(thread));
            open.next().map(|call| call.id.clone())
        });
        let ended = below.iter().find(|one| one.slot.id == *thread).and_then(|one| one.loaded.session.as_ref());
        let Some((answer, receipt)) = ended.map(told) else { return Ok(None) };
        if let Some(call) = call {
            let spent = ended.and_then(|session| session.turns.last()).map(|turn| (turn.id.clone(), turn.cost, turn.usage.clone()));
            let (turn_id, cost, usage) = spent.map(|(id, cost, usage)| (Some(id), cost, usage)).unwrap_or_default();
            let error = Some(ErrorInfo::new(ErrorCode::Cancelled, reason));
            let command = Command::ChildEnded { call, end: ChildEnd { turn_id, cost, usage, data: None, error } };
            sessions.extend(self.stop_below(&mut above, command, Ctx::new(now, rand::random(), &config), tenant)?);
        }
        below.push(above);
        self.inner.store.append(Append { sessions, receipt }).await?;
        for one in &mut below {
            self.committed(&one.slot, &mut one.loaded, &config);
        }
        Ok(Some(answer))
    }
}

/// The command that gives the child its message (S-4), if the call still waits for it.
fn handover(parent: &Session, call: &CallId, attempt: u32) -> Option<(SessionId, Command)> {
    let call = parent.call(CallKind::Subagent, call).filter(|call| call.status == CallStatus::Pending && call.attempt == attempt)?;
    let message = Message::new(Role::User, call.arguments.clone());
    let turn_id = Some(turn_of(parent, call));
    let input = Input::Append { turn_id, messages: vec![message], stream: None, client: None, queue: false };
    let ancestry = parent.ancestry.iter().cloned().chain([parent.id.clone()]).collect();
    // a delegate belongs to whom its parent belongs to.
    let create = Some(Creation { agent_id: call.name.clone(), identity: parent.identity.clone(), ancestry, unattended: parent.unattended });
    let caller = Caller { rank: Rank::System, subject: None, channel: None };
    Some((call.child.clone()?, Command::Input { caller, input, create }))
}

fn end_of(session: &Session, turn: &TurnId) -> Option<ChildEnd> {
    if let Some(over) = session.turn(turn).filter(|turn| turn.state == TurnState::Over) {
        return Some(ChildEnd {
            turn_id: Some(turn.clone()),
            cost: over.cost,
            usage: over.usage.clone(),
            data: over.data.clone(),
            error: over.error.clone().map(|error| if error.message == CANCELLED { stopped() } else { error }),
        });
    }
    session.dropped_turns.contains(turn).then(|| ChildEnd { error: Some(stopped()), ..ChildEnd::default() })
}

/// What a parent reads when its delegate was cancelled without a reason (TH-18, TH-45).
fn stopped() -> ErrorInfo {
    ErrorInfo::new(ErrorCode::Cancelled, "The delegate was stopped before it finished.")
}
