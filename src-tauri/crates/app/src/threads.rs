//! Threads (thread-api): a root session with all its delegates, as `/v1` and the desktop show them, and the stop of one of them.
//!
//! What answers `/v1` is a [`Problem`] or a value; the adapter brings paths, headers and bytes. An interrupt's first answer is kept in
//! the database under its idempotency key, for a stop in the very transaction of the stop, so that a retry cannot act twice (TH-12).

mod desk;
mod idempotency;
mod problem;

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use futures::Stream;
use holdpoint_core::engine_config::EngineConfig;
use holdpoint_core::id::SessionId;
use holdpoint_core::message::Usage;
use holdpoint_core::money::Money;
use holdpoint_core::state::Session;
use holdpoint_core::thread::{self, ThreadStatus};
use holdpoint_core::time::Millis;
use holdpoint_runtime::StopThread;
use holdpoint_store::{Append, CommandReceipt, Store, StoreError};
use holdpoint_view::row::{Seq, Time, UsageRow};
use serde_json::{Value, json};

use crate::api::Query;
use crate::caller::{Caller, LOCAL_TENANT};
use crate::error::Failure;
use crate::rate::Buckets;
use crate::stream::{From, Item};
use crate::versions::{self, Versions};
use crate::wire::ThreadRow;
use crate::{Answered, App, keys, now};

use idempotency::AtWork;

pub use idempotency::{Interrupt, Told};
pub use problem::Problem;

/// What a parent is told when nobody gave a reason (TH-18).
const NO_REASON: &str = "The delegate was stopped before it finished.";
const REASON_MAX: usize = 500;
const THREADS: usize = 50;
const THREADS_MAX: usize = 200;
///
const EVENTS: usize = 100;
const EVENTS_MAX: usize = 1000;

/// What an engine knows of its threads beside the log.
pub(crate) struct Threads {
    buckets: Buckets,
    at_work: AtWork,
    versions: Mutex<Versions>,
    /// Zero of the rate limit's clock.
    started: Instant,
}

impl Threads {
    /// With the versions this database knows.
    pub(crate) fn new(store: &Store) -> Result<Self, StoreError> {
        let versions = Versions::read(store.meta(versions::META)?.as_deref());
        Ok(Self { buckets: Buckets::default(), at_work: AtWork::default(), versions: Mutex::new(versions), started: Instant::now() })
    }

    /// The configuration that is about to be in force.
    pub(crate) async fn note(&self, config: &EngineConfig, store: &Store) -> Result<(), StoreError> {
        let written = {
            let mut versions = self.versions.lock().unwrap_or_else(PoisonError::into_inner);
            versions.note(config, now());
            versions.written()
        };
        store.set_meta(versions::META, written).await
    }
}

/// Who calls `/v1`: an API key, or with authentication off everybody as one (TH-7, TH-43).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyHolder {
    pub tenant: String,
    /// What rate limit and idempotency keys belong to.
    scope: String,
}

impl KeyHolder {
    pub fn local() -> Self {
        Self { tenant: LOCAL_TENANT.to_owned(), scope: format!("tenant {LOCAL_TENANT}") }
    }

    fn of_key(tenant: String, key: &str) -> Self {
        Self { tenant, scope: format!("key {}", keys::hash(key)) }
    }
}

/// One thread of a session, as its log says.
#[derive(Clone, Debug)]
struct Facts {
    id: SessionId,
    parent: Option<SessionId>,
    depth: u32,
    agent_id: String,
    title: String,
    status: ThreadStatus,
    paused: bool,
    usage: Usage,
    cost: Money,
    created_at: Millis,
    ended_at: Option<Millis>,
    ran_ms: i64,
    running_since: Option<Millis>,
}

impl Facts {
    /// `message`: what its parent asked of it.
    fn of(session: &Session, message: &str) -> Self {
        let (ran_ms, running_since) = thread::running_time(session);
        Self {
            id: session.id.clone(),
            parent: session.ancestry.last().cloned(),
            depth: session.ancestry.len() as u32,
            agent_id: session.agent_id.clone(),
            //
            title: if session.is_child() { thread::title(message, &session.agent_id) } else { session.title.clone() },
            status: thread::status(session),
            paused: session.paused(),
            usage: session.own_usage.clone(),
            cost: session.own_cost,
            created_at: session.created_at,
            ended_at: thread::ended_at(session),
            ran_ms,
            running_since,
        }
    }

    /// TH-19.
    fn object(&self, root: &SessionId, version: u32) -> Value {
        json!({
            "id": thread_id(&self.id),
            "type": "session_thread",
            "session_id": root,
            "role": if self.parent.is_some() { "delegate" } else { "primary" },
            "parent_thread_id": self.parent.as_ref().map(thread_id),
            "agent_id": format!("agt_{}", self.agent_id),
            "agent_version": version,
            "title": self.title,
            "status": self.status.name(),
            "usage": {
                "input_tokens": self.usage.input,
                "cached_input_tokens": self.usage.cache_read,
                "output_tokens": self.usage.output,
                "cost_usd": self.cost,
            },
            "created_at": self.created_at,
            "ended_at": self.ended_at,
        })
    }

    fn row(self) -> ThreadRow {
        ThreadRow {
            session_id: self.id.to_string(),
            parent_session_id: self.parent.map(|parent| parent.to_string()),
            depth: self.depth,
            agent_id: self.agent_id,
            title: self.title,
            status: self.status.name().to_owned(),
            waiting: self.paused,
            usage: UsageRow {
                input_tokens: Seq(self.usage.input),
                cached_input_tokens: Seq(self.usage.cache_read),
                output_tokens: Seq(self.usage.output),
                cost_usd: self.cost.to_string(),
            },
            created_at: Time(self.created_at),
            ended_at: self.ended_at.map(Time),
            ran_ms: Seq(self.ran_ms.max(0) as u64),
            running_since: self.running_since.map(Time),
        }
    }
}

/// TH-42.
pub fn new_request_id() -> String {
    format!("req_{}", holdpoint_core::id::ulid(now(), rand::random()))
}

/// TH-16, TH-37.
fn thread_id(session: &SessionId) -> String {
    format!("thr_{}", session.as_str().trim_start_matches("sesn_"))
}

fn session_of(thread: &str) -> Option<SessionId> {
    thread.strip_prefix("thr_").map(|ulid| format!("sesn_{ulid}").into())
}

impl App {
    /// TH-8, Q-23: an API key and nothing else.
    pub fn key_holder(&self, bearer: Option<&str>) -> Result<KeyHolder, Problem> {
        let key = bearer.filter(|bearer| bearer.starts_with("sk_live_")).ok_or_else(Problem::no_key)?;
        let caller = self.authenticate(Some(key)).map_err(|failure| match failure {
            Failure::Rejected(_) => Problem::no_key(),
            other => other.into(),
        })?;
        Ok(KeyHolder::of_key(caller.tenant, key))
    }

    /// TH-41.
    pub fn admit(&self, caller: &KeyHolder) -> Result<(), Problem> {
        let threads = &self.inner.threads;
        threads.buckets.take(&caller.scope, threads.started.elapsed()).map_err(Problem::rate_limited)
    }

    /// TH-46.
    pub async fn v1_threads(&self, caller: &KeyHolder, session: &str, query: &Query) -> Result<Value, Problem> {
        let limit = limit(query, THREADS, THREADS_MAX)?;
        let root = self.v1_root(caller, session)?;
        let family = self.inner.store.family(&root).map_err(Failure::from)?;
        let first = match query.get("cursor") {
            None => 0,
            Some(cursor) => {
                let last = session_of(cursor).and_then(|last| family.iter().position(|id| *id == last));
                last.ok_or_else(|| Problem::parameter("cursor", "is none of this list; ask for the first page again"))? + 1
            }
        };
        let page = &family[first..family.len().min(first + limit)];
        let has_more = first + page.len() < family.len();
        let next_cursor = page.last().filter(|_| has_more).map(thread_id);
        let mut data = Vec::with_capacity(page.len());
        for id in page {
            data.extend(self.facts(id).await?.map(|facts| self.thread_object(&root, &facts)));
        }
        Ok(json!({"data": data, "has_more": has_more, "next_cursor": next_cursor}))
    }

    /// TH-47.
    pub async fn v1_thread(&self, caller: &KeyHolder, session: &str, thread: &str) -> Result<Value, Problem> {
        let (root, id) = self.v1_member(caller, session, thread)?;
        let facts = self.facts(&id).await?.ok_or_else(|| Problem::no_thread(thread))?;
        Ok(self.thread_object(&root, &facts))
    }

    /// TH-48.
    pub async fn v1_events(&self, caller: &KeyHolder, session: &str, thread: &str, query: &Query) -> Result<Value, Problem> {
        let limit = limit(query, EVENTS, EVENTS_MAX)?;
        let after = match query.get("after_seq") {
            None => 0,
            Some(text) => text.parse().map_err(|_| Problem::parameter("after_seq", "is the number of an event"))?,
        };
        let (_, id) = self.v1_member(caller, session, thread)?;
        // One more than asked for tells whether there is a next page.
        let mut data = self.events_of(&caller.tenant, &id, after, limit + 1, false).await?;
        let has_more = data.len() > limit;
        data.truncate(limit);
        Ok(json!({"data": data, "has_more": has_more}))
    }

    /// TH-48, live.
    pub async fn v1_stream(
        &self,
        caller: &KeyHolder,
        session: &str,
        thread: &str,
        from: From,
    ) -> Result<impl Stream<Item = Item> + Send + use<>, Problem> {
        let (_, id) = self.v1_member(caller, session, thread)?;
        let reader = Caller::machine(caller.tenant.clone(), String::new());
        Ok(self.session_stream(&reader, id.as_str(), from, false).await?)
    }

    /// TH-17: a root session of the caller's tenant.
    fn v1_root(&self, caller: &KeyHolder, session: &str) -> Result<SessionId, Problem> {
        let id = SessionId::from(session);
        let meta = self.inner.store.session_meta(&id).map_err(Failure::from)?;
        meta.filter(|meta| meta.tenant == caller.tenant && meta.parent.is_none()).ok_or_else(|| Problem::no_session(session))?;
        Ok(id)
    }

    fn v1_member(&self, caller: &KeyHolder, session: &str, thread: &str) -> Result<(SessionId, SessionId), Problem> {
        let root = self.v1_root(caller, session)?;
        let id = session_of(thread).ok_or_else(|| Problem::no_thread(thread))?;
        let meta = self.inner.store.session_meta(&id).map_err(Failure::from)?;
        meta.filter(|meta| meta.root_session_id == root).ok_or_else(|| Problem::no_thread(thread))?;
        Ok((root, id))
    }

    fn thread_object(&self, root: &SessionId, facts: &Facts) -> Value {
        facts.object(root, self.agent_version(&facts.agent_id, facts.created_at))
    }

    async fn facts(&self, id: &SessionId) -> Answered<Option<Facts>> {
        let message = self.delegated_message(id).await?;
        Ok(self.inner.engine.read(id, |session| Facts::of(session, &message)).await?)
    }

    /// What the parent asked of it, from the parent's log: a delegate that never began has no message of its own.
    async fn delegated_message(&self, id: &SessionId) -> Answered<String> {
        let Some(parent) = self.inner.store.session_meta(id)?.and_then(|meta| meta.parent) else { return Ok(String::new()) };
        let message = self.inner.engine.read(&parent, |session| thread::delegated_message(session, id).map(str::to_owned)).await?;
        Ok(message.flatten().unwrap_or_default())
    }

    /// Stops a delegate. `keep`: the receipt of the thread object, for the same transaction. `None`: it had ended.
    async fn stop(
        &self,
        tenant: &str,
        root: &SessionId,
        id: &SessionId,
        reason: &str,
        keep: impl Fn(&Value) -> Option<CommandReceipt>,
    ) -> Answered<Option<Value>> {
        let meta = self.inner.store.session_meta(id)?;
        let Some(parent) = meta.and_then(|meta| meta.parent) else { return Ok(None) };
        let message = self.delegated_message(id).await?;
        let stop = StopThread { tenant, parent: &parent, thread: id, reason };
        let told = |session: &Session| {
            let object = self.thread_object(root, &Facts::of(session, &message));
            let receipt = keep(&object);
            (object, receipt)
        };
        self.inner.engine.stop_thread(stop, told).await.map_err(Failure::from)
    }

    /// TH-20: of this session and all its descendants, each thread's own calls once.
    pub(crate) async fn usage_below(&self, id: &SessionId) -> Answered<Value> {
        let root = self.inner.store.session_meta(id)?.map_or_else(|| id.clone(), |meta| meta.root_session_id);
        let (mut usage, mut cost) = (Usage::default(), Money::ZERO);
        for member in self.inner.store.family(&root)? {
            let own = |session: &Session| {
                let counts = session.id == *id || session.ancestry.contains(id);
                counts.then(|| (session.own_usage.clone(), session.own_cost))
            };
            if let Some((own_usage, own_cost)) = self.inner.engine.read(&member, own).await?.flatten() {
                usage.add(&own_usage);
                cost = cost.plus(own_cost);
            }
        }
        Ok(json!({
            "input_tokens": usage.input,
            "cached_input_tokens": usage.cache_read,
            "output_tokens": usage.output,
            "cost_usd": cost,
        }))
    }

    pub(crate) fn agent_version(&self, agent: &str, created_at: Millis) -> u32 {
        self.inner.threads.versions.lock().unwrap_or_else(PoisonError::into_inner).at(agent, created_at)
    }
}

fn reason_or_default(reason: Option<&str>) -> &str {
    reason.filter(|reason| !reason.trim().is_empty()).unwrap_or(NO_REASON)
}

fn limit(query: &Query, default: usize, max: usize) -> Result<usize, Problem> {
    let Some(text) = query.get("limit") else { return Ok(default) };
    let limit = text.parse().ok().filter(|limit| (1..=max).contains(limit));
    limit.ok_or_else(|| Problem::parameter("limit", &format!("is a number from 1 to {max}")))
}
