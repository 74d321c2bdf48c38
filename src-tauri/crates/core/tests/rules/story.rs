//! A session told as a story: commands under a fixed clock and seeded ids, and what they wrote, read as short lines.
//!
//! After every command the story checks what must hold at any time: replay equals live (E-1), `seq` has no gaps (E-3), one decision
//! is live (P-1), what should run is open work, a refusal wrote nothing, a turn ends once, an interrupt opens once.

use std::collections::{BTreeMap, HashMap, HashSet};

use holdpoint_core::budget::Budget;
use holdpoint_core::command::{Caller, Command, Creation, Input, Receipt, Settle};
use holdpoint_core::ctx::Ctx;
use holdpoint_core::decide::decide;
use holdpoint_core::decision::{ClientInfo, Trigger};
use holdpoint_core::engine_config::{AgentSpec, EngineConfig, LlmBlock, LlmKind};
use holdpoint_core::event::{CallKind, Event, Identity, Payload, Rank, Subject, WorkerRef};
use holdpoint_core::id::{CallId, SessionId, TurnId};
use holdpoint_core::message::{AgentConfig, Content, ErrorCode, ErrorInfo, LlmRequest, LlmResponse, Message, Role, ToolCall, ToolResult};
use holdpoint_core::pending::{Effect, pending};
use holdpoint_core::rejection::{Code, Rejection};
use holdpoint_core::request::decision_request;
use holdpoint_core::state::{Call, Session};
use holdpoint_core::time::Millis;
use serde_json::{Value, json};

pub const START: Millis = Millis(1_760_000_000_000);
pub const ID: &str = "sesn_01K74Q9ZZZ0000000000000001";

pub struct Story {
    pub config: EngineConfig,
    pub now: Millis,
    pub session: Option<Session>,
    pub log: Vec<Event>,
    pub reachable: HashMap<SessionId, Identity>,
    /// What was spent and may be (I-78).
    pub budget: Budget,
    /// Whether the session is made where nobody can be asked to authorize (M-22).
    pub unattended: bool,
    agent: String,
    seed: u128,
    mark: usize,
}

// ---- who and what

pub fn owner() -> Identity {
    Identity { subject: Some(Subject { issuer: "app".into(), id: "ann".into() }), ..Identity::default() }
}

pub fn frontend() -> Caller {
    Caller { rank: Rank::Frontend, subject: owner().subject, channel: None }
}

pub fn stranger() -> Caller {
    Caller { rank: Rank::Frontend, subject: Some(Subject { issuer: "app".into(), id: "mallory".into() }), channel: None }
}

pub fn machine() -> Caller {
    Caller { rank: Rank::Machine, subject: None, channel: None }
}

pub fn user(id: &str, text: &str) -> Message {
    Message { id: Some(id.into()), ..Message::new(Role::User, text) }
}

pub fn tool_message(id: &str, call: &str, text: &str) -> Message {
    Message { id: Some(id.into()), ..Message::tool(&CallId::from(call), Content::Text(text.into())) }
}

pub fn failure(message: &str) -> ErrorInfo {
    ErrorInfo::new(ErrorCode::ProviderError, message)
}

/// A reply of the model that asks for these tools: (id, name, arguments).
pub fn calls(list: &[(&str, &str, &str)]) -> LlmResponse {
    let tool_calls = list.iter().map(|(id, name, arguments)| ToolCall::new(*id, *name, *arguments)).collect();
    LlmResponse { model: "m".into(), tool_calls: Some(tool_calls), finish_reason: Some("tool_calls".into()), ..LlmResponse::default() }
}

pub fn text(reply: &str) -> LlmResponse {
    LlmResponse {
        model: "m".into(),
        content: Some(Content::Text(reply.into())),
        finish_reason: Some("stop".into()),
        ..LlmResponse::default()
    }
}

/// The proposal of a request with these actions instead of its own.
pub fn instead(request: &Value, actions: Value) -> Value {
    let mut answer = request["proposed"].clone();
    answer["actions"] = actions;
    answer
}

pub fn ask(id: &str) -> Value {
    json!({"type": "interrupt", "interrupt_id": id, "reason": "check"})
}

pub fn settle_result(id: &str, text: &str) -> Settle {
    Settle::ToolResult { id: id.into(), attempt: None, result: ToolResult::text(text) }
}

fn agent(llm: &str) -> AgentConfig {
    serde_json::from_value(json!({
        "llm": llm, "model": "m", "system": "Be good.",
        "tools": [
            {"name": "look", "input": {"type": "object", "properties": {"no": {"type": "integer"}}}},
            {"name": "slow"},
            {"name": "count", "output": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}},
            {"name": "pick", "handler": "client"},
        ],
    }))
    .expect("a config of the story")
}

/// `helper` has a worker, `solo` none; `own` asks its worker instead of a model; `bare` and `shy` have no model configuration.
fn config() -> EngineConfig {
    let worker = Some(WorkerRef { id: "w".into(), url: Some("http://127.0.0.1:9/".into()), file: None });
    let file = Some(WorkerRef { id: "f".into(), url: None, file: Some("worker.js".into()) });
    let spec = |config: Option<&str>, worker: &Option<WorkerRef>| AgentSpec {
        config: config.map(agent),
        worker: worker.clone(),
        description: None,
    };
    let block = |kind| LlmBlock { kind, format: None };
    EngineConfig {
        agents: BTreeMap::from([
            ("helper".into(), spec(Some("main"), &worker)),
            ("solo".into(), spec(Some("main"), &None)),
            ("script".into(), spec(Some("main"), &file)),
            ("own".into(), spec(Some("own"), &worker)),
            ("bare".into(), spec(None, &None)),
            ("shy".into(), spec(None, &worker)),
        ]),
        llms: BTreeMap::from([("main".into(), block(LlmKind::Scripted)), ("own".into(), block(LlmKind::Worker))]),
        ..EngineConfig::default()
    }
}

impl Story {
    pub fn of(agent: &str) -> Self {
        Self {
            config: config(),
            now: START,
            session: None,
            log: Vec::new(),
            reachable: HashMap::new(),
            budget: Budget::default(),
            unattended: false,
            agent: agent.into(),
            seed: 7,
            mark: 0,
        }
    }
    /// An agent with a worker.
    pub fn helper() -> Self {
        Self::of("helper")
    }
    /// An agent without one: the engine accepts its own plan.
    pub fn solo() -> Self {
        Self::of("solo")
    }

    // ---- the session as it stands

    pub fn s(&self) -> &Session {
        self.session.as_ref().expect("the session exists")
    }
    pub fn turn(&self) -> Option<&str> {
        self.s().current.as_ref().map(TurnId::as_str)
    }
    pub fn status(&self) -> &'static str {
        self.s().status()
    }
    /// `role: text` of the active path.
    pub fn path(&self) -> Vec<String> {
        let session = self.s();
        session.tree.path(session.tree.head()).iter().map(|ix| line_of(&session.tree.node(*ix).message)).collect()
    }
    pub fn path_ids(&self) -> Vec<String> {
        let session = self.s();
        session.message_ids(&session.tree.path(session.tree.head())).iter().map(ToString::to_string).collect()
    }
    /// The messages of the active path, as a client resends them.
    pub fn seen(&self) -> Vec<Message> {
        let session = self.s();
        session.tree.path(session.tree.head()).iter().map(|ix| (*session.tree.node(*ix).message).clone()).collect()
    }
    pub fn call(&self, id: &str) -> &Call {
        let session = self.s();
        let id = CallId::from(id);
        session.tool(&id).or_else(|| session.call(CallKind::LlmCall, &id)).expect("a call of this id")
    }
    pub fn open_interrupts(&self) -> Vec<&str> {
        self.s().interrupts.iter().map(|open| open.id.as_str()).collect()
    }
    pub fn waiting(&self) -> Vec<String> {
        self.s().decisions.iter().filter(|d| !d.live).map(|d| d.trigger.kind().to_owned()).collect()
    }

    // ---- the log

    /// What was written since the last look, one short line each.
    pub fn wrote(&mut self) -> Vec<String> {
        let triggers: HashMap<String, &Trigger> = self
            .log
            .iter()
            .filter_map(|event| match &event.payload {
                Payload::DecisionQueued { id, trigger } => Some((id.to_string(), trigger)),
                _ => None,
            })
            .collect();
        let lines = self.log[self.mark..].iter().map(|event| line(&event.payload, &triggers)).collect();
        self.mark = self.log.len();
        lines
    }
    pub fn skip(&mut self) {
        self.mark = self.log.len();
    }
    #[track_caller]
    pub fn expect(&mut self, lines: &[&str]) {
        assert_eq!(self.wrote(), lines);
    }
    pub fn all(&self, kind: &str) -> Vec<Value> {
        self.log.iter().filter(|event| event.payload.kind() == kind).map(|event| json!(event.payload)).collect()
    }
    #[track_caller]
    pub fn last(&self, kind: &str) -> Value {
        self.all(kind).pop().unwrap_or_else(|| panic!("no {kind} in the log"))
    }
    /// The model request of the last `llm.call.requested`, as the model gets it.
    pub fn request(&self) -> LlmRequest {
        let mut requests = self.log.iter().filter_map(|event| match &event.payload {
            Payload::LlmCallRequested { request, .. } => Some(request),
            _ => None,
        });
        requests.next_back().expect("a model call").resolve(self.s())
    }
    pub fn requested_texts(&self) -> Vec<String> {
        self.request().messages.iter().map(line_of).collect()
    }

    // ---- commands

    pub fn does(&mut self, command: Command) -> Result<Receipt, Rejection> {
        self.seed += 1;
        let before = self.session.as_ref().map(picture);
        let mut ctx = Ctx::new(self.now, self.seed << 40, &self.config);
        ctx.reachable.clone_from(&self.reachable);
        ctx.budget.clone_from(&self.budget);
        let tick = command == Command::Tick;
        let decided = decide(&mut self.session, &SessionId::from(ID), command, &mut ctx);
        match decided {
            Ok(decided) => {
                self.log.extend(decided.events);
                self.check(tick);
                Ok(decided.receipt)
            }
            Err(refusal) => {
                assert_eq!(self.session.as_ref().map(picture), before, "a refusal changes nothing: {refusal:?}");
                Err(refusal)
            }
        }
    }

    fn check(&self, tick: bool) {
        let Some(session) = &self.session else { return };
        for (index, event) in self.log.iter().enumerate() {
            assert_eq!(event.seq, index as u64 + 1, "E-3: seq has no gaps");
        }
        let stored: Vec<Event> = self.log.iter().map(stored).collect();
        let replayed = Session::fold(&SessionId::from(ID), &stored).expect("a log that is not empty");
        assert_eq!(picture(&replayed), picture(session), "E-1: replay equals live");
        assert!(session.decisions.iter().filter(|d| d.live).count() <= 1, "P-1: one decision is live at a time");
        assert!(session.worker.is_some() || session.live().is_none(), "P-4: without a worker nothing waits for an answer");
        for effect in pending(session) {
            match effect {
                Effect::Decide { decision, attempt } => {
                    assert!(
                        session.decision(&decision).is_some_and(|d| d.live && d.attempts == attempt),
                        "pending names the live decision"
                    );
                }
                Effect::CallModel { call, attempt } => {
                    let call = session.call(CallKind::LlmCall, &call).expect("pending names a call");
                    assert!(call.status.is_open() && call.attempt == attempt, "pending names only open work");
                }
                _ => {}
            }
        }
        if tick {
            assert!(session.wake_at().is_none_or(|at| at > self.now), "after a tick nothing is due: {:?}", session.wake_at());
        }
        self.check_once();
    }

    fn check_once(&self) {
        let (mut ended, mut open, mut reported) = (HashSet::new(), HashSet::new(), HashSet::new());
        for event in &self.log {
            match &event.payload {
                Payload::TurnCompleted { turn_id, .. } => assert!(ended.insert(turn_id.clone()), "C-28: {turn_id} ended twice"),
                Payload::SessionInterrupted { interrupt_id, .. } => {
                    assert!(open.insert(interrupt_id.clone()), "I-10: {interrupt_id} opened twice");
                }
                Payload::SessionInterruptResumed { interrupt_id, .. } => assert!(open.remove(interrupt_id), "{interrupt_id} closed twice"),
                Payload::ToolCallCompleted { id, .. } => assert!(reported.insert(id.clone()), "D-5: {id} ended twice"),
                Payload::LlmCallCompleted { id, .. } => assert!(reported.insert(id.clone()), "D-5: {id} ended twice"),
                _ => {}
            }
        }
    }

    #[track_caller]
    fn taken(&mut self, command: Command) -> Receipt {
        self.does(command).unwrap_or_else(|refusal| panic!("refused: {refusal:?}"))
    }

    pub fn input(&mut self, caller: Caller, input: Input) -> Result<Receipt, Rejection> {
        let unattended = self.unattended;
        let create =
            self.session.is_none().then(|| Creation { agent_id: self.agent.clone(), identity: owner(), ancestry: Vec::new(), unattended });
        self.does(Command::Input { caller, input, create })
    }

    pub fn append(&mut self, turn: Option<&str>, messages: Vec<Message>, queue: bool) -> Result<Receipt, Rejection> {
        self.input(frontend(), Input::Append { turn_id: turn.map(Into::into), messages, stream: None, client: None, queue })
    }
    pub fn view(&mut self, turn: Option<&str>, messages: Vec<Message>) -> Result<Receipt, Rejection> {
        self.input(frontend(), Input::View { turn_id: turn.map(Into::into), messages, stream: None, client: None })
    }
    /// A message with the id `u_<turn>`, as its own turn.
    #[track_caller]
    pub fn says(&mut self, turn: &str, what: &str) -> Receipt {
        let message = user(&format!("u_{turn}"), what);
        self.append(Some(turn), vec![message], false).unwrap_or_else(|refusal| panic!("refused: {refusal:?}"))
    }
    #[track_caller]
    pub fn queues(&mut self, turn: &str, what: &str) -> Receipt {
        let message = user(&format!("u_{turn}"), what);
        self.append(Some(turn), vec![message], true).unwrap_or_else(|refusal| panic!("refused: {refusal:?}"))
    }
    #[track_caller]
    pub fn says_with(&mut self, turn: &str, what: &str, client: ClientInfo) -> Receipt {
        let messages = vec![user(&format!("u_{turn}"), what)];
        self.input(frontend(), Input::Append { turn_id: Some(turn.into()), messages, stream: None, client: Some(client), queue: false })
            .unwrap_or_else(|refusal| panic!("refused: {refusal:?}"))
    }
    #[track_caller]
    pub fn acts(&mut self, name: &str) -> Receipt {
        self.input(frontend(), Input::Action { turn_id: None, name: name.into(), args: None })
            .unwrap_or_else(|refusal| panic!("{refusal:?}"))
    }
    pub fn resume_as(&mut self, caller: Caller, id: &str, payload: Option<Value>, hash: Option<String>) -> Result<Receipt, Rejection> {
        self.input(caller, Input::Resume { interrupt_id: id.into(), payload, responder: None, shown_hash: hash })
    }
    #[track_caller]
    pub fn resumes(&mut self, id: &str, payload: Value) -> Receipt {
        self.resume_as(frontend(), id, Some(payload), None).unwrap_or_else(|refusal| panic!("refused: {refusal:?}"))
    }
    #[track_caller]
    pub fn raises(&mut self, id: &str) -> Receipt {
        self.taken(Command::Raise { caller: frontend(), interrupt_id: Some(id.into()), reason: "check".into(), payload: None })
    }
    pub fn settle_as(&mut self, caller: Caller, settle: Settle) -> Result<Receipt, Rejection> {
        self.does(Command::Settle { caller, settle })
    }
    #[track_caller]
    pub fn settles(&mut self, id: &str, text: &str) -> Receipt {
        self.taken(Command::Settle { caller: machine(), settle: settle_result(id, text) })
    }
    #[track_caller]
    pub fn cancels(&mut self) -> Receipt {
        self.taken(Command::Cancel { caller: frontend() })
    }
    pub fn advance(&mut self, ms: i64) {
        self.now = self.now.plus(ms);
        self.taken(Command::Tick);
    }
    /// Time passes and nobody looks.
    pub fn passes(&mut self, ms: i64) {
        self.now = self.now.plus(ms);
    }
    pub fn recovers(&mut self) {
        self.taken(Command::Recover);
    }

    // ---- the worker

    /// The decision in the worker's hands.
    #[track_caller]
    pub fn asked(&self) -> Value {
        let session = self.s();
        let live = session.live().expect("a decision is live");
        decision_request(session, live, &self.config)
    }
    pub fn asked_kind(&self) -> Option<&'static str> {
        self.s().live().map(|decision| decision.trigger.kind())
    }
    #[track_caller]
    pub fn answers(&mut self, response: Value) {
        let live = self.s().live().expect("a decision is live");
        let (decision, attempt) = (live.id.clone(), live.attempts);
        self.taken(Command::Answered { decision, attempt: Some(attempt), response });
    }
    /// Returns the proposal unchanged (P-4).
    #[track_caller]
    pub fn accepts(&mut self) {
        let proposed = self.asked()["proposed"].clone();
        self.answers(proposed);
    }
    /// Accepts proposals until the worker is asked this.
    #[track_caller]
    pub fn until(&mut self, kind: &str) -> Value {
        for _ in 0..20 {
            match self.asked_kind() {
                Some(asked) if asked == kind => return self.asked(),
                Some(_) => self.accepts(),
                None => break,
            }
        }
        panic!("{kind} is not asked; last: {:?}", self.log.iter().rev().take(6).map(|e| e.payload.kind()).collect::<Vec<_>>());
    }
    /// Accepts proposals until nobody is asked anything.
    pub fn settles_down(&mut self) {
        for _ in 0..50 {
            if self.asked_kind().is_none() {
                return;
            }
            self.accepts();
        }
        panic!("the worker is asked for ever");
    }
    #[track_caller]
    pub fn worker_fails(&mut self, code: ErrorCode, retryable: bool) {
        let live = self.s().live().expect("a decision is live");
        let (decision, attempt) = (live.id.clone(), live.attempts);
        self.taken(Command::DecisionFailed { decision, attempt, error: ErrorInfo::new(code, "the worker failed"), retryable });
    }

    // ---- the model

    #[track_caller]
    pub fn model_call(&self) -> (CallId, u32) {
        let running = pending(self.s()).into_iter().find_map(|effect| match effect {
            Effect::CallModel { call, attempt } => Some((call, attempt)),
            _ => None,
        });
        running.expect("a model call is running")
    }
    pub fn model_runs(&self) -> bool {
        pending(self.s()).iter().any(|effect| matches!(effect, Effect::CallModel { .. }))
    }
    #[track_caller]
    pub fn replies(&mut self, response: LlmResponse) {
        let (call, attempt) = self.model_call();
        self.taken(Command::LlmCompleted { call, attempt, response, script_reply: None });
    }
    #[track_caller]
    pub fn model_fails(&mut self, retryable: bool, retry_after_ms: Option<i64>) {
        let (call, attempt) = self.model_call();
        let error = failure("overloaded");
        self.taken(Command::LlmFailed { call, attempt, error, retryable, retry_after_ms, script_reply: None });
    }

    // ---- whole scenes

    /// A finished turn: `what`, answered with `reply`.
    #[track_caller]
    pub fn chats(&mut self, turn: &str, what: &str, reply: &str) {
        self.says(turn, what);
        self.settles_down();
        self.replies(text(reply));
        self.settles_down();
        assert_eq!(self.turn(), None, "the turn is over");
    }
    /// A turn whose reply asks for these tools; up to the point where each worker tool was handed out and left open.
    #[track_caller]
    pub fn opens(&mut self, turn: &str, list: &[(&str, &str, &str)]) {
        self.says(turn, "go");
        self.settles_down();
        self.replies(calls(list));
        while self.asked_kind().is_some() {
            if self.asked_kind() == Some("tool.execute") { self.answers(json!({})) } else { self.accepts() }
        }
    }
}

/// What the log holds of an event after it went to disk and back.
fn stored(event: &Event) -> Event {
    let payload = serde_json::from_value(json!(event.payload)).expect("an event reads back");
    assert_eq!(event.payload, payload, "an event reads back as it was written");
    Event { payload, ..event.clone() }
}

/// Everything a session holds, in an order that does not depend on hashing.
pub fn picture(s: &Session) -> Vec<String> {
    let mut out = vec![
        format!("{} {} {:?} {:?} {:?} {:?}", s.seq, s.agent_id, s.identity, s.ancestry, s.worker, s.worker_retry),
        format!("{:?} {:?} {:?} {:?} {} {}", s.created_at, s.last_at, s.title, s.current, s.started, s.done),
        format!("head {:?} leaves {}", s.tree.head_id(), s.tree.leaves()),
        format!("{:?} {} {:?} {:?}", s.usage, s.cost, s.channels, s.sends),
        format!("{:?}", s.pending),
    ];
    let mut sorted = |name: &str, mut list: Vec<String>| {
        list.sort();
        out.push(format!("{name} {list:?}"));
    };
    sorted("dropped", s.dropped_turns.iter().map(|turn| format!("{turn:?}")).collect());
    sorted("closed", s.closed.iter().map(|closed| format!("{closed:?}")).collect());
    sorted("scripts", s.script_used.iter().map(|used| format!("{used:?}")).collect());
    sorted("asked", s.asked_in.iter().map(|asked| format!("{asked:?}")).collect());
    sorted("client tools", s.client_tools.iter().map(|tool| format!("{tool:?}")).collect());
    out.extend(s.tree.nodes().iter().map(|node| format!("{node:?}")));
    out.extend(s.states.iter().map(|version| format!("{version:?}")));
    out.extend(s.configs.iter().map(|version| format!("{version:?}")));
    out.extend(s.turns.iter().map(|turn| format!("{turn:?}")));
    out.extend(s.decisions.iter().map(|decision| format!("{decision:?}")));
    out.extend(s.calls.iter().map(|call| format!("{call:?}")));
    out.extend(s.interrupts.iter().map(|interrupt| format!("{interrupt:?}")));
    out
}

pub fn line_of(message: &Message) -> String {
    let role = json!(message.role);
    let role = role.as_str().unwrap_or_default();
    let asks: Vec<&str> = message.calls().iter().map(|call| call.id.as_str()).collect();
    if asks.is_empty() { format!("{role}: {}", message.text()) } else { format!("{role} asks {}", asks.join(" ")) }
}

fn line(payload: &Payload, triggers: &HashMap<String, &Trigger>) -> String {
    let trigger = |id: &str| triggers.get(id).map_or("?", |trigger| trigger.kind());
    let detail = match payload {
        Payload::DecisionQueued { trigger, .. } => trigger.kind().to_owned(),
        Payload::DecisionDispatched { id, .. }
        | Payload::DecisionCompleted { id }
        | Payload::DecisionErrored { id, .. }
        | Payload::DecisionDropped { id } => trigger(id.as_str()).to_owned(),
        Payload::MessageNew { message, .. } => line_of(message),
        Payload::TurnStarted { turn_id } => turn_id.to_string(),
        Payload::TurnCompleted { turn_id, error, .. } => {
            let error = error.as_ref().map(|error| format!(" {}", error.code)).unwrap_or_default();
            format!("{turn_id}{error}")
        }
        Payload::ToolCallRequested { id, .. }
        | Payload::ToolCallDispatched { id, .. }
        | Payload::ToolCallCompleted { id, .. }
        | Payload::ToolCallErrored { id, .. } => id.to_string(),
        Payload::CallVoided { kind: CallKind::ToolCall, id, .. } => id.to_string(),
        Payload::CallVoided { kind: CallKind::LlmCall, .. } => "model".to_owned(),
        Payload::SessionInterrupted { interrupt_id, .. } | Payload::SessionInterruptResumed { interrupt_id, .. } => {
            interrupt_id.to_string()
        }
        Payload::HeadMoved { head_id } => head_id.to_string(),
        _ => String::new(),
    };
    format!("{} {detail}", payload.kind()).trim_end().to_owned()
}

/// The refusal of a command that must not be carried out.
#[track_caller]
pub fn refused(result: Result<Receipt, Rejection>, code: Code) -> Rejection {
    let refusal = result.expect_err("this must be refused");
    assert_eq!(refusal.code, code, "{refusal:?}");
    refusal
}
