//! One transaction happens at one time (TH-33, C-19), whatever number of sessions it touches: seen with a clock that never stands still.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use async_trait::async_trait;
use holdpoint_core::command::{Caller, Command, Creation, Input};
use holdpoint_core::engine_config::{AgentSpec, EngineConfig, LlmBlock, LlmKind};
use holdpoint_core::event::{Identity, Subject, Visibility};
use holdpoint_core::id::{SessionId, ulid};
use holdpoint_core::message::{ErrorCode, ErrorInfo, LlmResponse, Message, Role, ToolCall};
use holdpoint_core::time::Millis;
use holdpoint_runtime::clock::Clock;
use holdpoint_runtime::runner::{
    DecisionCall, DeltaSink, Failure, ModelCall, ModelFailure, ModelReply, ModelRunner, NoConnectors, WorkerRunner,
};
use holdpoint_runtime::{Call, Engine, StopThread};
use holdpoint_store::Store;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

const TENANT: &str = "local";

/// A millisecond later at every reading, so that two readings never give one time.
struct Restless(AtomicI64);

impl Clock for Restless {
    fn now(&self) -> Millis {
        Millis(self.0.fetch_add(1, Ordering::Relaxed))
    }
}

/// `lead` hands on to `middle`, `middle` to `lowest`; whoever was told of an end, and `lowest`, never answers.
struct Chain {
    hangs: mpsc::UnboundedSender<SessionId>,
}

#[async_trait]
impl ModelRunner for Chain {
    async fn run(&self, call: ModelCall, _deltas: DeltaSink, _cancel: CancellationToken) -> Result<ModelReply, ModelFailure> {
        let told = call.request.messages.last().is_some_and(|message| message.role == Role::Tool);
        let below = match call.request.model.as_str() {
            "lead" if !told => "middle",
            "middle" if !told => "lowest",
            _ => {
                // A test that is over listens no more.
                let _ = self.hangs.send(call.session_id);
                std::future::pending().await
            }
        };
        let ask = ToolCall::new("call_1", below, r#"{"message":"Dig"}"#);
        let response = LlmResponse { model: call.request.model, tool_calls: Some(vec![ask]), ..LlmResponse::default() };
        Ok(ModelReply { response, script_reply: None })
    }
}

struct NoWorker;

#[async_trait]
impl WorkerRunner for NoWorker {
    async fn decide(&self, _call: DecisionCall, _cancel: CancellationToken) -> Result<Value, Failure> {
        Err(Failure { error: ErrorInfo::new(ErrorCode::Internal, "there is no worker"), retryable: false, retry_after_ms: None })
    }
}

fn agent(name: &str, below: &[&str]) -> (String, AgentSpec) {
    let config = json!({"model": name, "llm": "main", "subagents": below});
    let config = serde_json::from_value(config).expect("an agent's configuration");
    (name.to_owned(), AgentSpec { config: Some(config), ..AgentSpec::default() })
}

/// Three sessions, one below the other, the lowest in a model call that hangs.
struct Tree {
    engine: Engine,
    lead: SessionId,
    middle: SessionId,
    lowest: SessionId,
    hanging: mpsc::UnboundedReceiver<SessionId>,
    _folder: tempfile::TempDir,
}

impl Tree {
    async fn grown() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (hangs, mut hanging) = mpsc::unbounded_channel();
        let agents = [agent("lead", &["agent.middle"]), agent("middle", &["agent.lowest"]), agent("lowest", &[])].into();
        let llms = [("main".to_owned(), LlmBlock { kind: LlmKind::Scripted, format: None })].into();
        let config = EngineConfig { agents, llms, max_subagent_depth: 5, ..EngineConfig::default() };
        let store = Store::open(&folder.path().join("hp.db")).expect("a new database");
        let clock = Arc::new(Restless(AtomicI64::new(1_764_000_000_000)));
        let (models, workers) = (Arc::new(Chain { hangs }), Arc::new(NoWorker));
        let engine = Engine::open_with_clock(store, Arc::new(config), models, workers, Arc::new(NoConnectors), clock).await;
        let engine = engine.expect("the engine opens");
        let lead = SessionId::new(format!("sesn_{}", ulid(Millis(1_764_000_000_000), 7)));
        submit(&engine, &lead, Command::Input { caller: Caller::operator(), input: go(), create: Some(creation()) }).await;
        let lowest = hanging.recv().await.expect("the lowest one is asked");
        let middle = child(&engine, &lead).await;
        assert_eq!(child(&engine, &middle).await, lowest);
        Self { engine, lead, middle, lowest, hanging, _folder: folder }
    }

    async fn last(&self, session: &SessionId) -> u64 {
        self.engine.events(session, 0, 1000).await.expect("a log").last().and_then(|event| event["seq"].as_u64()).expect("events")
    }

    /// Events after `seq`: their types and times.
    async fn since(&self, session: &SessionId, seq: u64) -> Vec<(String, String)> {
        let text = |value: &Value| value.as_str().expect("E-4").to_owned();
        let events = self.engine.events(session, seq, 1000).await.expect("a log");
        events.iter().map(|event| (text(&event["payload"]["type"]), text(&event["occurred_at"]))).collect()
    }

    /// All that happened after these seqs has one time.
    async fn is_one_moment(&self, seqs: [u64; 3]) {
        let [lead, middle, lowest] = seqs;
        let stopped = [self.since(&self.lowest, lowest).await, self.since(&self.middle, middle).await];
        let told = self.since(&self.lead, lead).await;
        let (_, at) = &stopped[0][0];
        assert!(stopped.iter().all(|events| events.iter().any(|(kind, _)| kind == "turn.completed")), "{stopped:?}");
        let mut all = stopped.iter().flatten().chain(&told);
        assert!(all.all(|(_, one)| one == at), "at {at}: {stopped:?} {told:?}");
    }

    async fn seqs(&self) -> [u64; 3] {
        [self.last(&self.lead).await, self.last(&self.middle).await, self.last(&self.lowest).await]
    }
}

fn go() -> Input {
    Input::Append { turn_id: None, messages: vec![Message::new(Role::User, "Go")], stream: None, client: None, queue: false }
}

fn creation() -> Creation {
    let subject = Some(Subject { issuer: "operator".to_owned(), id: TENANT.to_owned() });
    let identity = Identity { subject, visibility: Visibility::Private, metadata: None };
    Creation { agent_id: "lead".to_owned(), identity, ancestry: Vec::new(), unattended: false }
}

async fn submit(engine: &Engine, session: &SessionId, command: Command) {
    let call = Call { tenant: TENANT.to_owned(), session_id: session.clone(), command, command_id: None };
    engine.submit(call).await.expect("the engine takes it");
}

/// The session of the delegation, once its parent has recorded that it runs.
async fn child(engine: &Engine, parent: &SessionId) -> SessionId {
    let mut committed = engine.watch(parent);
    loop {
        committed.borrow_and_update();
        let log = engine.events(parent, 0, 1000).await.expect("a log");
        let payload = |kind: &str| log.iter().map(|event| &event["payload"]).find(|payload| payload["type"] == kind);
        if payload("subagent.started").is_some() {
            return payload("subagent.requested").and_then(|asked| asked["session_id"].as_str()).expect("S-3").into();
        }
        committed.changed().await.expect("the session stays");
    }
}

#[tokio::test]
async fn a_stopped_delegate_and_its_parent_record_it_at_one_time_th33() {
    let mut tree = Tree::grown().await;
    let before = tree.seqs().await;
    let stop = StopThread { tenant: TENANT, parent: &tree.lead, thread: &tree.middle, reason: "Enough." };
    let stopped = tree.engine.stop_thread(stop, |_| ((), None)).await.expect("the database takes it");
    assert_eq!(stopped, Some(()), "it ran");
    // The parent goes on: its model is asked again, in the very transaction that told it.
    assert_eq!(tree.hanging.recv().await.as_ref(), Some(&tree.lead), "TH-29");
    let told = tree.since(&tree.lead, before[0]).await;
    assert_eq!(told[0].0, "subagent.turn_completed", "TH-29: {told:?}");
    tree.is_one_moment(before).await;
    tree.engine.close().await;
}

#[tokio::test]
async fn a_cancel_is_recorded_at_one_time_in_all_the_sessions_it_reaches_c19() {
    let tree = Tree::grown().await;
    let before = tree.seqs().await;
    submit(&tree.engine, &tree.lead, Command::Cancel { caller: Caller::operator() }).await;
    let ended = tree.since(&tree.lead, before[0]).await;
    assert!(ended.iter().any(|(kind, _)| kind == "turn.completed"), "C-13: {ended:?}");
    tree.is_one_moment(before).await;
    tree.engine.close().await;
}
