//! A session as the fold of its log (E-1): everything the rules look at, and nothing the log does not hold.
//!
//! The questions asked of it are here too: what is paused (I-5), what is parked (T-16), what may be delivered next.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::sync::OnceLock;

use serde_json::{Map, Value};

use crate::answer::Outcome;
use crate::decision::Trigger;
use crate::event::{CallKind, CallRef, Identity, Rank, Verification, WorkerRef};
use crate::id::{CallId, DecisionId, InterruptId, MessageId, SessionId, TurnId};
use crate::message::{AgentConfig, ErrorInfo, Handler, Message, Usage};
use crate::money::Money;
use crate::prompt::LoggedRequest;
use crate::retry::{RetryPolicy, ms};
use crate::time::Millis;
use crate::tree::{Ix, Tree};

#[derive(Clone, Debug)]
pub struct Session {
    pub id: SessionId,
    pub seq: u64,
    pub agent_id: String,
    pub identity: Identity,
    pub ancestry: Vec<SessionId>,
    pub worker: Option<WorkerRef>,
    pub worker_retry: RetryPolicy,
    pub created_at: Millis,
    pub last_at: Millis,
    pub title: String,
    pub tree: Tree,
    pub states: Vec<Version<Value>>,
    pub configs: Vec<Version<AgentConfig>>,
    /// The turn that runs or is paused on the active branch. Suspended ones are found in `turns`.
    pub current: Option<TurnId>,
    pub turns: Vec<Turn>,
    turn_index: HashMap<TurnId, usize>,
    /// Ids of queued turns that were dropped: they count as completed (C-40).
    pub dropped_turns: HashSet<TurnId>,
    /// Not over, in order of arrival.
    pub decisions: Vec<Decision>,
    pub calls: Vec<Call>,
    call_index: HashMap<(CallKind, CallId), usize>,
    /// Indexes of calls that are open, or settled with their result not yet in the tree.
    pub pending: Vec<usize>,
    /// Open, in order of raising.
    pub interrupts: Vec<Interrupt>,
    pub closed: HashMap<InterruptId, ClosedInterrupt>,
    /// Model block → index of the scripted reply → times used (P-36).
    pub script_used: HashMap<String, BTreeMap<u32, u32>>,
    pub usage: Usage,
    pub cost: Money,
    /// What this session's own model calls used, without its delegates (TH-20).
    pub own_usage: Usage,
    pub own_cost: Money,
    /// `session.start` was answered.
    pub started: bool,
    /// Names of client tools that ever joined the config for a turn (K-7).
    pub client_tools: Vec<String>,
    pub channels: Map<String, Value>,
    /// `message.send`s: (event, target, message).
    pub sends: Vec<(u64, SessionId, Message)>,
    /// Tool call id → node of the assistant message that asked for it.
    pub asked_in: HashMap<String, Ix>,
    /// Subagent calls whose detached child has not reported yet (S-11).
    pub detached: Vec<CallId>,
    /// Settled fetches of each connection's tools, first one first (M-6).
    pub fetches: BTreeMap<String, Vec<crate::connector::Fetch>>,
    /// Connections whose credential is at fault, with what happened to it (M-21), since their last fetch or call.
    pub bad_credentials: BTreeMap<String, String>,
    /// M-22.
    pub unattended: bool,
    /// A `session.done` was written after the last turn.
    pub done: bool,
}

/// A value that holds from its anchor on (T-12).
#[derive(Clone, Debug)]
pub struct Version<T> {
    pub anchor: Option<Ix>,
    pub value: T,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnState {
    /// Running, or paused with its branch: the current turn.
    Current,
    /// Paused, and its branch was left (I-73).
    Suspended,
    Over,
}

#[derive(Clone, Debug)]
pub struct Turn {
    pub id: TurnId,
    pub state: TurnState,
    pub started_at: Millis,
    pub ended_at: Option<Millis>,
    pub cost: Money,
    pub usage: Usage,
    pub data: Option<Value>,
    pub error: Option<ErrorInfo>,
    /// Event that changed it last.
    pub seq: u64,
}

#[derive(Clone, Debug)]
pub struct Decision {
    pub id: DecisionId,
    pub trigger: Trigger,
    pub turn_id: Option<TurnId>,
    /// Where it lands, when that is fixed already.
    pub anchor: Option<Ix>,
    pub live: bool,
    pub attempts: u32,
    pub queued_at: Millis,
    pub first_sent_at: Option<Millis>,
    /// Of the live attempt.
    pub deadline: Option<Millis>,
    /// Waits for a retry until then.
    pub not_before: Option<Millis>,
    pub error: Option<ErrorInfo>,
    /// Of a queued turn: the suspended turn whose end it waits for (I-27).
    pub behind: Option<TurnId>,
}

/// B-12.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallStatus {
    Queued,
    Pending,
    Running,
    RetryScheduled,
    Completed,
    Failed,
    Voided,
}

impl CallStatus {
    pub fn is_open(self) -> bool {
        matches!(self, Self::Queued | Self::Pending | Self::Running | Self::RetryScheduled)
    }
    pub fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Pending => "pending",
            Self::Running => "running",
            Self::RetryScheduled => "retry_scheduled",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Voided => "voided",
        }
    }
}

#[derive(Clone, Debug)]
pub struct Call {
    pub kind: CallKind,
    pub id: CallId,
    pub turn_id: Option<TurnId>,
    pub anchor: Option<Ix>,
    pub status: CallStatus,
    /// Of the running or next attempt; counts from 1.
    pub attempt: u32,
    /// Attempts that an earlier policy covered: "Run it again" starts a fresh one.
    pub covered: u32,
    /// Tool or agent name; the model of a model call.
    pub name: String,
    pub handler: Handler,
    pub retry: RetryPolicy,
    pub arguments: String,
    pub target: Option<String>,
    pub llm: Option<LlmDetail>,
    pub child: Option<SessionId>,
    /// Of a subagent: `blocking`, `detached` or `wait`.
    pub mode: String,
    /// Of a subagent: its child session exists.
    pub reached: bool,
    pub requested_at: Millis,
    pub dispatched_at: Option<Millis>,
    pub ended_at: Option<Millis>,
    pub error: Option<ErrorInfo>,
    /// Starts of the clocks, moved on by the time they stood still (I-77).
    pub total_from: Millis,
    pub attempt_from: Millis,
    pub not_before: Option<Millis>,
    pub frozen_since: Option<Millis>,
    /// Event that changed it last.
    pub seq: u64,
}

#[derive(Clone, Debug)]
pub struct LlmDetail {
    pub block: String,
    pub request: LoggedRequest,
    pub stream: bool,
    pub format: Option<String>,
}

impl Call {
    /// The earliest bound of the clocks that run now (K-12). `None` while they stand still.
    pub fn deadline(&self) -> Option<Millis> {
        if self.frozen_since.is_some() || !self.status.is_open() {
            return None;
        }
        self.clock()
    }

    /// What [`Self::deadline`] is, were the clocks running.
    pub fn clock(&self) -> Option<Millis> {
        let attempt = match self.status {
            CallStatus::Queued => self.retry.queue_timeout_secs,
            CallStatus::Pending => self.retry.run_timeout_secs,
            _ => None,
        };
        let attempt = attempt.map(|secs| self.attempt_from.plus(ms(secs)));
        let total = self.retry.total_timeout_secs.map(|secs| self.total_from.plus(ms(secs)));
        match (attempt, total) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    pub fn total_deadline(&self) -> Option<Millis> {
        self.retry.total_timeout_secs.map(|secs| self.total_from.plus(ms(secs)))
    }

    /// K-14: whether an error at `at` ends the call.
    pub fn error_is_final(&self, retryable: bool, at: Millis) -> bool {
        !retryable || self.attempt - self.covered >= self.retry.max_attempts || self.total_deadline().is_some_and(|end| at >= end)
    }

    pub fn reference(&self) -> CallRef {
        CallRef { id: self.id.clone(), attempt: self.attempt }
    }
}

/// What follows from the rest, kept once it was asked for. Two states are the same whether it was or not.
#[derive(Clone, Default)]
pub(crate) struct Memo(OnceLock<String>);

impl fmt::Debug for Memo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("_")
    }
}

#[derive(Clone, Debug)]
pub struct Interrupt {
    pub id: InterruptId,
    pub origin: Rank,
    pub reason: String,
    pub payload: Option<Value>,
    pub anchor: Option<Ix>,
    pub call: Option<CallRef>,
    pub turn_id: Option<TurnId>,
    pub opened_at: Millis,
    pub opened_seq: u64,
    pub(crate) hash: Memo,
}

impl Interrupt {
    /// Computed once: each row and each answer asks for it.
    pub fn shown_hash(&self) -> &str {
        self.hash.0.get_or_init(|| crate::json::shown_hash(self.id.as_str(), &self.reason, self.payload.as_ref()))
    }
}

#[derive(Clone, Debug)]
pub struct ClosedInterrupt {
    pub interrupt: Interrupt,
    pub at: Millis,
    pub seq: u64,
    pub outcome: Outcome,
    pub payload: Option<Value>,
    pub responder: Option<Value>,
    pub verification: Option<Verification>,
    /// Whether it paused the active branch when it was closed.
    pub was_active: bool,
}

impl Session {
    pub(crate) fn new(id: SessionId) -> Self {
        Self {
            id,
            seq: 0,
            agent_id: String::new(),
            identity: Identity::default(),
            ancestry: Vec::new(),
            worker: None,
            worker_retry: RetryPolicy::default_for(crate::retry::EffectKind::WorkerDecision),
            created_at: Millis::default(),
            last_at: Millis::default(),
            title: String::new(),
            tree: Tree::default(),
            states: Vec::new(),
            configs: Vec::new(),
            current: None,
            turns: Vec::new(),
            turn_index: HashMap::new(),
            dropped_turns: HashSet::new(),
            decisions: Vec::new(),
            calls: Vec::new(),
            call_index: HashMap::new(),
            pending: Vec::new(),
            interrupts: Vec::new(),
            closed: HashMap::new(),
            script_used: HashMap::new(),
            usage: Usage::default(),
            cost: Money::ZERO,
            own_usage: Usage::default(),
            own_cost: Money::ZERO,
            started: false,
            client_tools: Vec::new(),
            channels: Map::new(),
            sends: Vec::new(),
            asked_in: HashMap::new(),
            detached: Vec::new(),
            fetches: BTreeMap::new(),
            bad_credentials: BTreeMap::new(),
            unattended: false,
            done: false,
        }
    }

    pub fn is_child(&self) -> bool {
        !self.ancestry.is_empty()
    }

    // ---- versions (T-12)

    fn resolve<T>(&self, versions: &[Version<T>], leaf: Option<Ix>) -> Option<usize> {
        versions.iter().rposition(|version| match (version.anchor, leaf) {
            (None, _) => true,
            (Some(anchor), Some(leaf)) => self.tree.on_path(anchor, leaf),
            (Some(_), None) => false,
        })
    }
    pub fn state_at(&self, leaf: Option<Ix>) -> Option<&Value> {
        self.resolve(&self.states, leaf).map(|index| &self.states[index].value)
    }
    pub fn config_index_at(&self, leaf: Option<Ix>) -> Option<usize> {
        self.resolve(&self.configs, leaf)
    }
    pub fn config_at(&self, leaf: Option<Ix>) -> Option<&AgentConfig> {
        self.config_index_at(leaf).map(|index| &self.configs[index].value)
    }
    pub fn config(&self) -> Option<&AgentConfig> {
        self.config_at(self.tree.head())
    }
    pub fn config_version(&self, index: u32) -> Option<&AgentConfig> {
        self.configs.get(index as usize).map(|version| &version.value)
    }

    // ---- turns

    pub fn turn(&self, id: &TurnId) -> Option<&Turn> {
        self.turn_index.get(id).map(|index| &self.turns[*index])
    }
    pub(crate) fn turn_mut(&mut self, id: &TurnId) -> Option<&mut Turn> {
        self.turn_index.get(id).map(|index| &mut self.turns[*index])
    }
    pub(crate) fn push_turn(&mut self, turn: Turn) {
        self.turn_index.insert(turn.id.clone(), self.turns.len());
        self.turns.push(turn);
    }
    /// The waiting or live decision that starts this turn.
    pub fn opener(&self, id: &TurnId) -> Option<&Decision> {
        self.decisions.iter().find(|d| matches!(d.trigger, Trigger::ClientMessages { .. }) && d.turn_id.as_ref() == Some(id))
    }
    /// Turns accepted and not started, first one first.
    pub fn waiting_turns(&self) -> impl Iterator<Item = &Decision> {
        self.decisions
            .iter()
            .filter(|d| matches!(d.trigger, Trigger::ClientMessages { .. }) && d.turn_id.as_ref().is_some_and(|t| self.turn(t).is_none()))
    }
    pub fn is_suspended(&self, turn: &TurnId) -> bool {
        self.turn(turn).is_some_and(|turn| turn.state == TurnState::Suspended)
    }
    /// A queued message whose turn has not started, and which waits for no suspended turn yet.
    pub(crate) fn is_queued_turn(&self, decision: &Decision) -> bool {
        matches!(decision.trigger, Trigger::ClientMessages { append: true, .. })
            && decision.turn_id.as_ref().is_some_and(|turn| self.turn(turn).is_none())
            && !self.waits_for_left(decision)
    }
    /// Whether a queued turn waits for a turn that was left with its branch.
    pub fn waits_for_left(&self, decision: &Decision) -> bool {
        decision.behind.as_ref().is_some_and(|turn| self.is_suspended(turn))
    }
    /// The turn of the active branch. A turn that is about to leave it does not count: its branch is another one.
    pub fn turn_at_head(&self) -> Option<TurnId> {
        let current = self.current.as_ref()?;
        let (Some(head), Some(opener)) = (self.tree.head(), self.opener(current)) else { return Some(current.clone()) };
        let Trigger::ClientMessages { append: false, after, .. } = &opener.trigger else { return Some(current.clone()) };
        let after = after.as_ref().and_then(|id| self.tree.find(id.as_str()));
        if after.is_some_and(|after| self.tree.on_path(head, after)) {
            return Some(current.clone());
        }
        let lives = |turn: &TurnId| self.turn(turn).is_some_and(|turn| turn.state != TurnState::Over);
        self.pausing(Some(head)).find_map(|open| open.turn_id.clone().filter(lives))
    }
    /// What a suspended turn without an open question waits for on the active branch: its answer, or its end.
    pub(crate) fn goes_on_here(&self, decision: &Decision) -> bool {
        matches!(decision.trigger, Trigger::InterruptResumed { .. } | Trigger::TurnFinished { .. }) && self.is_active(decision.anchor)
    }
    pub fn suspended_turns(&self) -> impl Iterator<Item = &Turn> {
        self.turns.iter().filter(|turn| turn.state == TurnState::Suspended)
    }

    // ---- calls

    pub fn call(&self, kind: CallKind, id: &CallId) -> Option<&Call> {
        self.call_index.get(&(kind, id.clone())).map(|index| &self.calls[*index])
    }
    pub(crate) fn call_mut(&mut self, kind: CallKind, id: &CallId) -> Option<&mut Call> {
        self.call_index.get(&(kind, id.clone())).map(|index| &mut self.calls[*index])
    }
    pub fn tool(&self, id: &CallId) -> Option<&Call> {
        self.call(CallKind::ToolCall, id)
    }
    pub(crate) fn push_call(&mut self, call: Call) {
        let index = self.calls.len();
        self.call_index.insert((call.kind, call.id.clone()), index);
        self.calls.push(call);
        self.pending.push(index);
    }
    pub fn open_calls(&self) -> impl Iterator<Item = &Call> {
        self.pending.iter().map(|index| &self.calls[*index]).filter(|call| call.status.is_open())
    }
    /// Tool and subagent calls that the active branch waits for: open, or ended with their result not yet in the tree. What was left
    /// on another branch, or belongs to a turn suspended there, is not waited for (Q-10, T-16).
    pub fn awaited(&self) -> impl Iterator<Item = &Call> {
        let pending = self.pending.iter().map(|index| &self.calls[*index]);
        pending.filter(|call| matches!(call.kind, CallKind::ToolCall | CallKind::Subagent) && !self.is_set_aside(call))
    }
    /// Work off the active branch, or of a turn that was left though both branches share the call's place.
    pub fn is_set_aside(&self, call: &Call) -> bool {
        !self.is_active(call.anchor) || call.turn_id.as_ref().is_some_and(|turn| self.is_suspended(turn))
    }
    /// P-1 `pending_calls`.
    pub fn pending_calls(&self) -> usize {
        self.awaited().count()
    }
    /// B-13: whether this session has used the id for a tool call.
    pub fn knows_tool_call(&self, id: &str) -> bool {
        self.asked_in.contains_key(id)
            || self.call_index.contains_key(&(CallKind::ToolCall, CallId::from(id)))
            || self.call_index.contains_key(&(CallKind::Subagent, CallId::from(id)))
    }

    // ---- pauses (I-5…I-7)

    fn covers(&self, interrupt: &Interrupt, leaf: Option<Ix>) -> bool {
        match (interrupt.anchor, leaf) {
            (None, _) => true,
            (Some(anchor), Some(leaf)) => self.tree.on_path(anchor, leaf),
            (Some(_), None) => false,
        }
    }
    /// Open interrupts that pause the path to `leaf`.
    pub fn pausing(&self, leaf: Option<Ix>) -> impl Iterator<Item = &Interrupt> {
        self.interrupts.iter().filter(move |interrupt| self.covers(interrupt, leaf))
    }
    pub fn paused_at(&self, leaf: Option<Ix>) -> bool {
        self.pausing(leaf).next().is_some()
    }
    /// Whether the active branch waits for a person.
    pub fn paused(&self) -> bool {
        self.paused_at(self.tree.head())
    }
    pub fn is_active(&self, anchor: Option<Ix>) -> bool {
        match (anchor, self.tree.head()) {
            (None, _) => true,
            (Some(anchor), Some(head)) => self.tree.on_path(anchor, head),
            (Some(_), None) => false,
        }
    }
    /// Whether what a call at `anchor` leads to lands on a paused branch.
    pub fn branch_paused(&self, anchor: Option<Ix>) -> bool {
        self.paused_at(anchor) || (self.is_active(anchor) && self.paused())
    }
    /// T-16: whether a place off the active path lies on a branch with an open question, above it or below.
    pub fn is_parked_at(&self, anchor: Option<Ix>) -> bool {
        let Some(at) = anchor.filter(|_| !self.is_active(anchor)) else { return false };
        let asked = self.interrupts.iter().filter(|open| !self.is_active(open.anchor)).filter_map(|open| open.anchor);
        asked.into_iter().any(|asked| self.tree.on_path(asked, at) || self.tree.on_path(at, asked))
    }
    pub fn interrupt(&self, id: &str) -> Option<&Interrupt> {
        self.interrupts.iter().find(|interrupt| interrupt.id.as_str() == id)
    }

    // ---- decisions

    pub fn live(&self) -> Option<&Decision> {
        self.decisions.iter().find(|d| d.live)
    }
    pub fn decision(&self, id: &DecisionId) -> Option<&Decision> {
        self.decisions.iter().find(|d| &d.id == id)
    }

    /// Whether the decision waits for a person or for its branch (I-19, I-21, T-16).
    pub fn held(&self, decision: &Decision) -> bool {
        match &decision.trigger {
            Trigger::SessionStart {} | Trigger::ClientAction { .. } => false,
            // A message that a pause returned stays with the turn it opened.
            Trigger::ClientMessages { .. } if decision.turn_id.as_ref().is_some_and(|turn| self.is_suspended(turn)) => true,
            Trigger::ClientMessages { append: true, .. } => self.paused() || self.waits_for_left(decision),
            Trigger::ClientMessages { after, .. } => self.paused_at(after.as_ref().and_then(|id| self.tree.find(id.as_str()))),
            _ => !self.is_active(decision.anchor) || self.paused(),
        }
    }

    /// Whether its turn may act now: it is the current one, or may become so (N-2, N-4, I-73).
    fn turn_admits(&self, decision: &Decision) -> bool {
        let Some(turn) = &decision.turn_id else { return true };
        match (&decision.trigger, &self.current) {
            (Trigger::SessionStart {} | Trigger::ClientAction { .. }, _) => true,
            (_, Some(current)) if current == turn => true,
            (Trigger::ClientMessages { .. }, None) => true,
            // A view that escapes a paused branch suspends the turn there.
            (Trigger::ClientMessages { append: false, .. }, Some(_)) => self.paused(),
            _ => false,
        }
    }

    /// The decision to hand out next, if any may go (I-20, I-21, Q-9). A retry in front keeps its place: what is behind it waits too.
    pub fn next_decision(&self, now: Millis) -> Option<&Decision> {
        self.next_in_line().filter(|d| d.not_before.is_none_or(|at| at <= now))
    }

    fn next_in_line(&self) -> Option<&Decision> {
        if self.live().is_some() {
            return None;
        }
        let start = self.decisions.iter().find(|d| matches!(d.trigger, Trigger::SessionStart {}));
        let fetching = crate::connector::is_fetching(self);
        let ready = self
            .decisions
            .iter()
            .filter(|d| !self.held(d) && self.turn_admits(d))
            .filter(|d| !fetching || matches!(d.trigger, Trigger::ClientAction { .. }))
            .filter(|d| !matches!(d.trigger, Trigger::TurnFinished { .. }) || self.turn_is_quiet(d));
        // The first of the lowest class.
        start.or_else(|| ready.min_by_key(|d| delivery_class(d)))
    }

    /// no call of the turn is open, and nothing else of it waits. Work left on another branch does not count.
    fn turn_is_quiet(&self, finished: &Decision) -> bool {
        let turn = finished.turn_id.as_ref();
        !self.open_calls().any(|call| call.turn_id.as_ref() == turn && self.is_active(call.anchor))
            && !self.decisions.iter().any(|d| {
                d.id != finished.id && d.turn_id.as_ref() == turn && !matches!(d.trigger, Trigger::ClientAction { .. }) && !self.held(d)
            })
    }

    // ---- seen from outside

    pub fn status(&self) -> &'static str {
        if self.paused() {
            "interrupted"
        } else if self.is_child() && self.done && self.current.is_none() {
            "done"
        } else {
            "idle"
        }
    }

    /// When the engine has to act by itself, unless something happens before.
    pub fn wake_at(&self) -> Option<Millis> {
        let calls = self.open_calls().filter_map(|call| match call.status {
            CallStatus::RetryScheduled if call.frozen_since.is_none() && !self.branch_paused(call.anchor) => {
                Some(call.not_before.map_or(call.total_from, |at| call.total_deadline().map_or(at, |end| at.min(end))))
            }
            _ => call.deadline(),
        });
        let decision = match self.live() {
            Some(live) => live.deadline,
            None => self.next_in_line().and_then(|d| d.not_before),
        };
        calls.chain(decision).min()
    }

    pub fn message_ids(&self, path: &[Ix]) -> Vec<MessageId> {
        path.iter().map(|ix| self.tree.node(*ix).id.clone()).collect()
    }
}

/// I-20: answers first; the end of a turn behind what else it has.
fn delivery_class(decision: &Decision) -> u8 {
    match decision.trigger {
        Trigger::SessionStart {} => 0,
        Trigger::InterruptResumed { .. } => 1,
        Trigger::TurnFinished { .. } => 3,
        _ => 2,
    }
}
