//! Every operation a surface can ask for, once. Adapters (shell, HTTP, CLI) add nothing but transport.
//!
//! Desktop operations, all on [`crate::App`]; every one returns `Result<_, wire::ApiError>`:
//!
//! ```text
//! bootstrap()                                        -> Bootstrap
//! feed(FeedFrom)                                     -> stream of Frame            (Tauri channel | SSE)
//! submit(Submit)                                     -> Receipt
//! forecast(session_id, ForecastOf)                   -> Forecast
//! schedule_answer(ScheduledAnswer)                   -> ()      status and due_at are set by the app from settings
//! undo_answer(command_id)                            -> bool    false: it was sent already
//! dismiss_answer(command_id)                         -> ()      forgets a refused one
//! node_bodies(session_id, ids: Vec<String>)          -> Vec<NodeBody>              at most 200 ids
//! list_sessions(before: Option<Time>, limit: u32)    -> Vec<SessionRow>            older ones, newest first
//! list_interrupts(state: "open"|"closed"|"all", before: Option<Time>, limit: u32) -> Vec<InterruptRow>
//! events(session_id, after_seq, limit)               -> Vec<EventRow>
//! threads(session_id)                                -> Vec<ThreadRow>             of the whole session, whichever thread is named
//! interrupt_thread(command_id, session_id, thread_session_id, reason) -> ()        empty reason: the default sentence
//! save_draft(Draft) / delete_draft(key)              -> ()
//! save_settings(Json)                                -> ()
//! connections()                                      -> Vec<ConnectionRow>
//! authorize_connection(path)                         -> AuthorizationLink          for the system browser
//! set_connection_token(path, token) / forget_connection(path) -> ()
//! list_keys()                                        -> Vec<ApiKeyRow>             every API key, the oldest first
//! make_key(name, expires_at: Option<Time>)           -> MadeApiKey                 the only answer that has the key
//! revoke_key(id)                                     -> ()
//! snooze(Snoozed) / unsnooze(session_id, interrupt_id) -> ()
//! ```
//!
//! Over HTTP each is `POST /api/desktop/<name>` with its arguments as one JSON object (operator only), the feed is
//! `GET /api/desktop/feed?after=&session_id=&after_seq=` as SSE with one Frame per `data:` line.

// An operation is async whether or not it waits today, so that every surface calls all of them alike.
#![allow(clippy::unused_async)]

use holdpoint_core::answer::{Answer, Responder};
use holdpoint_core::command::{Command as Asked, Creation, Input, Receipt as Done};
use holdpoint_core::delegate::WAITING;
use holdpoint_core::event::{CallKind, Identity, Subject, Visibility};
use holdpoint_core::id::SessionId;
use holdpoint_core::message::{Message, Role};
use holdpoint_core::rejection::Code;
use holdpoint_core::state::{Call, CallStatus, Session};
use holdpoint_core::time::Millis;
use holdpoint_core::tree::Ix;
use holdpoint_store::{Health, InterruptQuery, InterruptState, SessionQuery, Snooze};
use holdpoint_view::row::{InterruptRow, Json, NodeBody, Outcome, Seq, SessionRow, Time};
use serde_json::{Value, json};

use crate::api::interrupt_state;
use crate::caller::{Caller, LOCAL_TENANT};
use crate::error::Failure;
use crate::held::settings_or_empty;
use crate::input::{chosen, session_id};
use crate::wire::{
    self, AgentRow, ApiError, Bootstrap, Closed, Command, Draft, EngineStatus, EventRow, Forecast, ForecastOf, Frame, Receipt,
    ScheduledAnswer, Snoozed, Submit,
};
use crate::{Answered, App, VERSION, now, sample};

type Told<T> = Result<T, ApiError>;

const NODE_BODIES: usize = 200;
const ROWS: usize = 500;

impl App {
    pub async fn bootstrap(&self) -> Told<Bootstrap> {
        Ok(self.bootstrap_now()?)
    }

    fn bootstrap_now(&self) -> Answered<Bootstrap> {
        let store = &self.inner.store;
        let loaded = self.loaded();
        let drafts = store.drafts()?.into_iter().map(|(key, value)| Draft { key, value: Json(value) }).collect();
        let folder = sample::folder_of(&loaded.config.file);
        Ok(Bootstrap {
            version: VERSION.to_owned(),
            engine: self.engine_status()?,
            config_path: loaded.config.file.display().to_string(),
            config_error: loaded.error.clone(),
            db_path: self.db_path().display().to_string(),
            agents: self.agent_rows(),
            connections: self.connection_rows(),
            settings: settings_or_empty(store.settings()?),
            drafts,
            scheduled: self.held()?,
            snoozed: self.snoozes()?,
            sample_session_id: if folder.is_some() { self.only_session()? } else { None },
            sample_folder: folder.map(|folder| folder.display().to_string()),
            user: os_user(),
        })
    }

    /// First run: the sample's session, while no other was made.
    fn only_session(&self) -> Answered<Option<String>> {
        let query = SessionQuery { limit: 2, ..SessionQuery::of(LOCAL_TENANT) };
        let mut rows = self.inner.store.list_sessions(&query)?.items;
        let only = if rows.len() == 1 { rows.pop() } else { None };
        Ok(only.filter(|row| row.agent_id == sample::AGENT).map(|row| row.session_id))
    }

    pub async fn submit(&self, submit: Submit) -> Told<Receipt> {
        Ok(self.submit_desktop(submit).await?)
    }

    pub(crate) async fn submit_desktop(&self, submit: Submit) -> Answered<Receipt> {
        if submit.command_id.is_empty() {
            return Err(Failure::invalid("a command needs an id of its maker"));
        }
        self.carry_out(&Caller::operator(), &submit.session_id, submit.command, Some(submit.command_id)).await
    }

    pub(crate) async fn carry_out(
        &self,
        caller: &Caller,
        session: &str,
        command: Command,
        command_id: Option<String>,
    ) -> Answered<Receipt> {
        let session = session_id(session.to_owned())?;
        let asked = self.asked(caller, &session, command).await?;
        // Two surfaces may make the same id; each has its own.
        let command_id = command_id.map(|id| format!("desktop:{id}"));
        let done = self.submit_as(caller, &session, asked, command_id).await?;
        Ok(receipt(&session, done))
    }

    async fn asked(&self, caller: &Caller, session: &SessionId, command: Command) -> Answered<Asked> {
        let input = |input| Asked::Input { caller: caller.for_rules(), input, create: None };
        let append = |text: String, queue| Input::Append {
            turn_id: None,
            messages: vec![Message::new(Role::User, text)],
            stream: None,
            client: None,
            queue,
        };
        Ok(match command {
            Command::CreateSession { agent_id, text } => Asked::Input {
                caller: caller.for_rules(),
                input: append(text, false),
                create: Some(Creation { agent_id, identity: desktop_identity(), ancestry: Vec::new(), unattended: false }),
            },
            Command::SendMessage { text, queue } => input(append(text, queue)),
            Command::EditMessage { message_id, text } => {
                let mut view = self.view_above(session, &message_id, &[Role::User]).await?;
                view.push(Message::new(Role::User, text));
                input(whole(view))
            }
            Command::Regenerate { message_id } => input(whole(self.view_above(session, &message_id, &[Role::Assistant]).await?)),
            Command::MakeActive { message_id } => input(whole(self.view_to(session, &message_id).await?)),
            Command::Answer { interrupt_id, shown_hash, answer } => input(Input::Answer {
                interrupt_id: interrupt_id.into(),
                answer: answer_of(answer)?,
                responder: Responder { channel: "desktop".to_owned(), user: Some(os_user()) },
                shown_hash: Some(shown_hash),
            }),
            Command::Cancel => Asked::Cancel { caller: caller.for_rules() },
        })
    }

    async fn read_session<T>(&self, session: &SessionId, read: impl FnOnce(&Session) -> Answered<T> + Send) -> Answered<T>
    where
        T: Send,
    {
        let missing = || Failure::no_session(session.as_str());
        let tenant = self.inner.store.session_meta(session)?.ok_or_else(missing)?.tenant;
        if tenant != LOCAL_TENANT {
            return Err(Failure::refuse(Code::AccessDenied, "this session belongs to somebody else"));
        }
        self.inner.engine.read(session, read).await?.ok_or_else(missing)?
    }

    /// The path to a node, as a view.
    async fn view_to(&self, session: &SessionId, message: &str) -> Answered<Vec<Message>> {
        self.read_session(session, |state| Ok(messages(state, &state.tree.path(Some(node(state, message)?))))).await
    }

    /// The path to the parent of a node of one of these roles.
    async fn view_above(&self, session: &SessionId, message: &str, roles: &[Role]) -> Answered<Vec<Message>> {
        self.read_session(session, |state| {
            let ix = node(state, message)?;
            if !roles.contains(&state.tree.node(ix).message.role) {
                return Err(Failure::invalid("this kind of message cannot be said again; choose another one"));
            }
            let mut path = state.tree.path(Some(ix));
            path.pop();
            Ok(messages(state, &path))
        })
        .await
    }

    /// The newest leaf below the question's anchor. `None`: it pauses everything, so there is nothing to switch to.
    pub(crate) async fn branch_of(&self, session: &str, interrupt: &str) -> Answered<Option<String>> {
        self.read_session(&session.into(), |state| {
            let Some(anchor) = state.interrupt(interrupt).and_then(|open| open.anchor) else { return Ok(None) };
            let on_active = state.tree.head().is_some_and(|head| state.tree.on_path(anchor, head));
            Ok((!on_active).then(|| state.tree.node(newest_leaf(state, anchor)).id.to_string()))
        })
        .await
    }

    pub(crate) fn question(&self, session: &str, interrupt: &str) -> Answered<Option<InterruptRow>> {
        let query = InterruptQuery { session_id: Some(session.into()), limit: ROWS, ..InterruptQuery::of(LOCAL_TENANT) };
        let open = self.inner.store.list_interrupts(&query)?.items;
        Ok(open.into_iter().find(|row| row.interrupt_id == interrupt))
    }

    pub async fn forecast(&self, session_id: String, of: ForecastOf) -> Told<Forecast> {
        let (mut told, mut below) = self.forecast_of(&session_id.into(), &of).await?;
        // A cancel reaches them (C-8); leaving a branch spares them (T-9).
        while of == ForecastOf::Cancel
            && let Some(delegate) = below.pop()
        {
            let (ends, further) = self.forecast_of(&delegate, &of).await?;
            told.model_calls.extend(ends.model_calls);
            told.tool_calls.extend(ends.tool_calls);
            told.subagents.extend(ends.subagents);
            told.queued_turns.extend(ends.queued_turns);
            told.decisions += ends.decisions;
            told.interrupts.extend(ends.interrupts);
            below.extend(further);
        }
        Ok(told)
    }

    /// Of one session, with the delegates that work for it.
    async fn forecast_of(&self, session: &SessionId, of: &ForecastOf) -> Answered<(Forecast, Vec<SessionId>)> {
        let scripted = self.scripted_blocks();
        let is_scripted = |block: &str| scripted.iter().any(|id| id == block);
        self.read_session(session, |state| Ok((forecast(state, of, &is_scripted)?, delegates(state)))).await
    }

    pub async fn schedule_answer(&self, answer: ScheduledAnswer) -> Told<()> {
        Ok(self.hold(answer).await?)
    }

    pub async fn undo_answer(&self, command_id: String) -> Told<bool> {
        Ok(self.take_back(&command_id).await?)
    }

    pub async fn dismiss_answer(&self, command_id: String) -> Told<()> {
        Ok(self.forget_held(&command_id).await?)
    }

    pub async fn node_bodies(&self, session_id: String, ids: Vec<String>) -> Told<Vec<NodeBody>> {
        if ids.len() > NODE_BODIES {
            return Err(Failure::invalid(format!("ask for at most {NODE_BODIES} messages at once")).into());
        }
        let bodies = self.read_session(&session_id.into(), |state| Ok(bodies(state, ids))).await?;
        Ok(bodies)
    }

    pub async fn list_sessions(&self, before: Option<Time>, limit: u32) -> Told<Vec<SessionRow>> {
        let query = SessionQuery { before: before.map(|at| at.0), limit: rows(limit), ..SessionQuery::of(LOCAL_TENANT) };
        Ok(self.inner.store.list_sessions(&query).map_err(Failure::from)?.items)
    }

    /// Newest first.
    pub async fn list_interrupts(&self, state: String, before: Option<Time>, limit: u32) -> Told<Vec<InterruptRow>> {
        let query = InterruptQuery {
            state: interrupt_state(&state)?,
            before: before.map(|at| at.0),
            limit: rows(limit),
            newest_first: true,
            ..InterruptQuery::of(LOCAL_TENANT)
        };
        Ok(self.inner.store.list_interrupts(&query).map_err(Failure::from)?.items)
    }

    pub async fn events(&self, session_id: String, after_seq: Seq, limit: u32) -> Told<Vec<EventRow>> {
        let session = self.readable(&Caller::operator(), &session_id).await?;
        let events = self.events_of(LOCAL_TENANT, &session, after_seq.0, rows(limit), false).await?;
        Ok(events.into_iter().map(event_row).collect())
    }

    pub async fn save_draft(&self, draft: Draft) -> Told<()> {
        Ok(self.inner.store.save_draft(draft.key, draft.value.0).await.map_err(Failure::from)?)
    }

    pub async fn delete_draft(&self, key: String) -> Told<()> {
        Ok(self.inner.store.delete_draft(key).await.map_err(Failure::from)?)
    }

    pub async fn save_settings(&self, settings: Json) -> Told<()> {
        Ok(self.inner.store.save_settings(settings.0).await.map_err(Failure::from)?)
    }

    pub async fn snooze(&self, snoozed: Snoozed) -> Told<()> {
        let Snoozed { session_id, interrupt_id, until } = snoozed;
        let snooze = Snooze { session_id, interrupt_id, until: until.map(|at| at.0) };
        self.inner.store.snooze(snooze).await.map_err(Failure::from)?;
        self.desk_changed();
        Ok(())
    }

    pub async fn unsnooze(&self, session_id: String, interrupt_id: String) -> Told<()> {
        self.inner.store.unsnooze(session_id, interrupt_id).await.map_err(Failure::from)?;
        self.desk_changed();
        Ok(())
    }

    pub(crate) fn snoozes(&self) -> Answered<Vec<Snoozed>> {
        let row =
            |snooze: Snooze| Snoozed { session_id: snooze.session_id, interrupt_id: snooze.interrupt_id, until: snooze.until.map(Time) };
        Ok(self.inner.store.snoozed()?.into_iter().map(row).collect())
    }

    pub(crate) fn config_frame(&self) -> Frame {
        Frame::Config { agents: self.agent_rows(), connections: self.connection_rows(), config_error: self.loaded().error.clone() }
    }

    fn scripted_blocks(&self) -> Vec<String> {
        let loaded = self.loaded();
        let scripted = loaded.config.llms.iter().filter(|(_, block)| block.kind == holdpoint_core::engine_config::LlmKind::Scripted);
        scripted.map(|(id, _)| id.clone()).collect()
    }

    fn agent_rows(&self) -> Vec<AgentRow> {
        let (loaded, scripted) = (self.loaded(), self.scripted_blocks());
        let row = |(id, spec): (&String, &holdpoint_core::engine_config::AgentSpec)| {
            let llm = spec.config.as_ref().and_then(|config| config.llm.clone());
            let is_scripted = llm.as_ref().is_some_and(|llm| scripted.contains(llm));
            let model = spec.config.as_ref().map(|config| shown_model(&config.model, is_scripted));
            let worker = spec.worker.as_ref().and_then(|worker| worker.file.clone().or_else(|| worker.url.clone()));
            let problem = self.inner.effects.problem(llm.as_deref(), spec.worker.as_ref().map(|worker| worker.id.as_str()));
            AgentRow { agent_id: id.clone(), description: spec.description.clone(), model, scripted: is_scripted, llm, worker, problem }
        };
        loaded.config.engine.agents.iter().map(row).collect()
    }

    pub(crate) fn engine_status(&self) -> Answered<EngineStatus> {
        let store = &self.inner.store;
        let health = store.health().borrow().clone();
        let (state, problem) = match health {
            Health::Running => ("running", None),
            Health::Paused(reason) => ("paused", Some(reason)),
        };
        let closed = InterruptQuery { state: InterruptState::Closed, newest_first: true, limit: 20, ..InterruptQuery::of(LOCAL_TENANT) };
        let last_answered_at = store.list_interrupts(&closed)?.items.iter().filter_map(|row| row.closed_at).max();
        Ok(EngineStatus {
            state: state.to_owned(),
            problem,
            address: self.address(),
            spend_today_usd: store.spend_since(LOCAL_TENANT, start_of_day(now()))?,
            running_sessions: store.unfinished()?.len() as u32,
            last_answered_at,
        })
    }
}

/// Midnight UTC.
fn start_of_day(now: Millis) -> Millis {
    const DAY: i64 = 24 * 3600 * 1000;
    Millis(now.0 - now.0.rem_euclid(DAY))
}

fn rows(limit: u32) -> usize {
    (limit as usize).clamp(1, ROWS)
}

/// P-32, Q-44.
pub(crate) fn shown_model(model: &str, scripted: bool) -> String {
    if scripted { format!("scripted/{model}") } else { model.to_owned() }
}

/// Whom the answers of this desktop are stamped with (I-64).
pub fn os_user() -> String {
    ["USER", "LOGNAME", "USERNAME"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok().filter(|user| !user.is_empty()))
        .unwrap_or_else(|| "local user".to_owned())
}

fn desktop_identity() -> Identity {
    let subject = Subject { issuer: "desktop".to_owned(), id: os_user() };
    Identity { subject: Some(subject), visibility: Visibility::Private, metadata: None }
}

fn answer_of(answer: wire::Answer) -> Answered<Answer> {
    chosen(answer.option.map(|index| index as usize), answer.text, answer.value.map(|bare| bare.value.0), answer.cancel)
}

fn whole(messages: Vec<Message>) -> Input {
    Input::View { turn_id: None, messages, stream: None, client: None }
}

fn node(state: &Session, message: &str) -> Answered<Ix> {
    state.tree.find(message).ok_or_else(|| Failure::invalid(format!("this session has no message {message}")))
}

fn messages(state: &Session, path: &[Ix]) -> Vec<Message> {
    path.iter().map(|ix| (*state.tree.node(*ix).message).clone()).collect()
}

fn newest_leaf(state: &Session, below: Ix) -> Ix {
    let mut at = below;
    while let Some(child) = state.tree.children(Some(at)).iter().copied().max() {
        at = child;
    }
    at
}

fn bodies(state: &Session, ids: Vec<String>) -> Vec<NodeBody> {
    ids.into_iter()
        .filter_map(|id| {
            let message = &state.tree.node(state.tree.find(&id)?).message;
            Some(NodeBody { id, message: Json(json!(message.as_ref())) })
        })
        .collect()
}

fn receipt(session: &SessionId, done: Done) -> Receipt {
    Receipt {
        session_id: session.to_string(),
        turn_id: done.turn_id.map(|turn| turn.to_string()),
        queued: done.queued,
        resumed: done.resumed,
        closed: done.closed.map(|closed| Closed {
            at: Time(closed.at),
            outcome: outcome(closed.outcome),
            responder: closed.responder.map(Json),
        }),
        cancelled: done.cancelled,
    }
}

fn outcome(outcome: holdpoint_core::answer::Outcome) -> Outcome {
    use holdpoint_core::answer::Outcome as Known;
    match outcome {
        Known::Answered => Outcome::Answered,
        Known::Declined => Outcome::Declined,
        Known::Cancelled => Outcome::Cancelled,
        Known::Expired => Outcome::Expired,
        Known::Superseded => Outcome::Superseded,
    }
}

fn event_row(mut envelope: Value) -> EventRow {
    let payload = envelope["payload"].take();
    EventRow {
        seq: Seq(envelope["seq"].as_u64().unwrap_or_default()),
        at: Time(envelope["occurred_at"].as_str().and_then(Millis::parse).unwrap_or_default()),
        turn_id: envelope["turn_id"].as_str().map(str::to_owned),
        kind: payload["type"].as_str().unwrap_or_default().to_owned(),
        payload: Json(payload),
    }
}

/// What would end: all open work on a cancel, work anchored off the new path when the head leaves a branch (T-9).
fn forecast(state: &Session, of: &ForecastOf, scripted: &dyn Fn(&str) -> bool) -> Answered<Forecast> {
    let mut told = Forecast { turn_id: state.current.as_ref().map(ToString::to_string), ..Forecast::default() };
    let leaf = match of {
        ForecastOf::Cancel => None,
        ForecastOf::MakeActive { message_id } => Some(Some(node(state, message_id)?)),
        ForecastOf::EditMessage { message_id } => Some(state.tree.node(node(state, message_id)?).parent),
    };
    let ends = |call: &Call| match leaf {
        None => true,
        Some(leaf) => call.status != CallStatus::Running && left(state, call.anchor, leaf) && !parked(state, call),
    };
    for call in state.open_calls().filter(|call| ends(call)) {
        match call.kind {
            CallKind::LlmCall => {
                let block = call.llm.as_ref().map(|llm| llm.block.as_str()).unwrap_or_default();
                told.model_calls.push(shown_model(&call.name, scripted(block)));
            }
            CallKind::ToolCall => told.tool_calls.push(call.name.clone()),
            CallKind::Subagent if call.mode != WAITING => told.subagents.push(call.name.clone()),
            // What is only waited for, or fetched for the session, goes on.
            CallKind::Subagent | CallKind::ConnectorSync => {}
        }
    }
    if leaf.is_none() {
        told.queued_turns = state.waiting_turns().map(|decision| waiting_text(&decision.trigger)).collect();
        told.decisions = state.decisions.len() as u32;
        told.interrupts = state.interrupts.iter().map(question_of).collect();
        // C-34: an open question alone is no run.
        told.run = state.current.is_some() || state.suspended_turns().next().is_some() || !state.decisions.is_empty();
    } else {
        told.decisions =
            state.decisions.iter().filter(|decision| leaf.is_some_and(|leaf| left(state, decision.anchor, leaf))).count() as u32;
        told.run = state.current.is_some();
    }
    Ok(told)
}

/// Sessions of those whose work this one waits for.
fn delegates(state: &Session) -> Vec<SessionId> {
    let working =
        state.open_calls().filter(|call| call.kind == CallKind::Subagent && call.status == CallStatus::Running && call.mode != WAITING);
    working.filter_map(|call| call.child.clone()).collect()
}

/// Whether what stands at `anchor` is off the path to `leaf`.
fn left(state: &Session, anchor: Option<Ix>, leaf: Option<Ix>) -> bool {
    match (anchor, leaf) {
        (None, _) => false,
        (Some(_), None) => true,
        (Some(anchor), Some(leaf)) => !state.tree.on_path(anchor, leaf),
    }
}

/// T-16: the call an open question there was raised from.
fn parked(state: &Session, call: &Call) -> bool {
    state.interrupts.iter().any(|interrupt| interrupt.call.as_ref().is_some_and(|asked| asked.id == call.id))
}

fn question_of(interrupt: &holdpoint_core::state::Interrupt) -> String {
    let asked = interrupt.payload.as_ref().and_then(|payload| payload["message"].as_str());
    let first_line = asked.and_then(|text| text.lines().find(|line| !line.trim().is_empty()));
    first_line.map_or_else(|| format!("Paused: {}", interrupt.reason), str::to_owned)
}

fn waiting_text(trigger: &holdpoint_core::decision::Trigger) -> String {
    match trigger {
        holdpoint_core::decision::Trigger::ClientMessages { messages, .. } => {
            messages.iter().map(Message::text).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}
