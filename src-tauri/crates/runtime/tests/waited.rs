//! A detached delegate whose parent waits for it after all (S-11): what it found comes as the answer of the wait, whoever is first.

use std::sync::Arc;

use async_trait::async_trait;
use holdpoint_core::command::{Caller, Command, Creation, Input};
use holdpoint_core::engine_config::{AgentSpec, EngineConfig, LlmBlock, LlmKind};
use holdpoint_core::event::{Identity, Subject, Visibility};
use holdpoint_core::id::{SessionId, ulid};
use holdpoint_core::message::{Content, ErrorCode, ErrorInfo, LlmResponse, Message, Role, ToolCall, Usage};
use holdpoint_core::money::Money;
use holdpoint_core::time::Millis;
use holdpoint_runtime::runner::{
    DecisionCall, DeltaSink, Failure, ModelCall, ModelFailure, ModelReply, ModelRunner, NoConnectors, WorkerRunner,
};
use holdpoint_runtime::{Call, Engine};
use holdpoint_store::Store;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// `lead` hands work on, waits for it and tells what it got. Each goes on when it may.
#[derive(Default)]
struct Models {
    lead_waits: Gate,
    scout_answers: Gate,
}

struct Gate(Semaphore);

impl Default for Gate {
    fn default() -> Self {
        Self(Semaphore::new(0))
    }
}

impl Gate {
    fn open(&self) {
        self.0.add_permits(1);
    }
    async fn passed(&self) {
        self.0.acquire().await.expect("the gate stays").forget();
    }
}

#[async_trait]
impl ModelRunner for Models {
    async fn run(&self, call: ModelCall, _deltas: DeltaSink, _cancel: CancellationToken) -> Result<ModelReply, ModelFailure> {
        let last = call.request.messages.last().map(Message::text).unwrap_or_default();
        let told: Value = serde_json::from_str(&last).unwrap_or_default();
        let mut response = LlmResponse { model: call.request.model.clone(), ..LlmResponse::default() };
        if call.request.model == "scout" {
            self.scout_answers.passed().await;
            response.content = Some(Content::Text("North.".to_owned()));
            response.usage = Some(Usage { input: 10, output: 1, ..Usage::default() }.completed());
            response.cost = Money::parse("0.5");
        } else if let Some(result) = told["result"]["session"].as_str() {
            self.lead_waits.passed().await;
            response.tool_calls = Some(vec![ToolCall::new("call_w", "subagent_wait", json!({"session": result}).to_string())]);
        } else if last == "Go" {
            response.tool_calls = Some(vec![ToolCall::new("call_d", "scout", r#"{"message":"Where?","mode":"detached"}"#)]);
        } else {
            response.content = Some(Content::Text(format!("Told: {}", told["result"])));
        }
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

fn agent(name: &str, more: Value) -> (String, AgentSpec) {
    let mut config = json!({"model": name, "llm": "main"});
    for (key, value) in more.as_object().into_iter().flatten() {
        config[key] = value.clone();
    }
    let config = serde_json::from_value(config).expect("an agent's configuration");
    (name.to_owned(), AgentSpec { config: Some(config), ..AgentSpec::default() })
}

struct Told {
    engine: Engine,
    models: Arc<Models>,
    lead: SessionId,
    folder: tempfile::TempDir,
}

impl Told {
    async fn begun() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (models, lead) = (Arc::new(Models::default()), SessionId::new(format!("sesn_{}", ulid(Millis(1_764_000_000_000), 7))));
        let engine = open(&folder, &models).await;
        let input =
            Input::Append { turn_id: None, messages: vec![Message::new(Role::User, "Go")], stream: None, client: None, queue: false };
        let subject = Some(Subject { issuer: "operator".to_owned(), id: "local".to_owned() });
        let identity = Identity { subject, visibility: Visibility::Private, metadata: None };
        let create = Some(Creation { agent_id: "lead".to_owned(), identity, ancestry: Vec::new(), unattended: false });
        let command = Command::Input { caller: Caller::operator(), input, create };
        let call = Call { tenant: "local".to_owned(), session_id: lead.clone(), command, command_id: None };
        engine.submit(call).await.expect("the engine takes it");
        Self { engine, models, lead, folder }
    }

    async fn restarted(self) -> Self {
        self.engine.close().await;
        let engine = open(&self.folder, &self.models).await;
        Self { engine, ..self }
    }

    /// The first event of a session that fits; its payload.
    async fn event(&self, session: &SessionId, fits: impl Fn(&Value) -> bool) -> Value {
        let mut committed = self.engine.watch(session);
        loop {
            committed.borrow_and_update();
            let log = self.engine.events(session, 0, 1000).await.expect("a log");
            if let Some(event) = log.into_iter().find(|event| fits(&event["payload"])) {
                return event["payload"].clone();
            }
            committed.changed().await.expect("the session stays");
        }
    }

    async fn scout(&self) -> SessionId {
        let asked = self.event(&self.lead, |event| event["type"] == "subagent.requested").await;
        asked["session_id"].as_str().expect("S-3").into()
    }

    async fn scout_is_done(&self) {
        let scout = self.scout().await;
        self.event(&scout, |event| event["type"] == "turn.completed").await;
    }

    async fn lead_is_waiting(&self) {
        self.event(&self.lead, |event| event["type"] == "subagent.started" && event["id"] == "call_w").await;
    }

    /// One turn, with the result and the cost of what was waited for, and no message about it.
    async fn ends_well(self) {
        let over = self.event(&self.lead, |event| event["type"] == "turn.completed").await;
        assert_eq!((&over["data"], &over["turn_cost"]), (&json!("Told: \"North.\""), &json!("0.5")));
        assert_eq!(over["turn_token_usage"]["input"], 10);
        let log = self.engine.events(&self.lead, 0, 1000).await.expect("a log");
        let said = log.iter().filter(|event| event["payload"]["message"]["role"] == "user").count();
        assert_eq!(said, 1, "S-11: the message is withdrawn");
        self.engine.close().await;
    }
}

async fn open(folder: &tempfile::TempDir, models: &Arc<Models>) -> Engine {
    let lead = agent("lead", json!({"subagents": ["agent.scout"], "subagent_tools": {"wait": true}}));
    let llms = [("main".to_owned(), LlmBlock { kind: LlmKind::Scripted, format: None })].into();
    let agents = [lead, agent("scout", json!({}))].into();
    let config = EngineConfig { agents, llms, max_subagent_depth: 5, ..EngineConfig::default() };
    let store = Store::open(&folder.path().join("hp.db")).expect("a database");
    let engine = Engine::open(store, Arc::new(config), models.clone(), Arc::new(NoWorker), Arc::new(NoConnectors)).await;
    engine.expect("the engine opens")
}

#[tokio::test]
async fn a_wait_is_answered_when_the_detached_turn_ends_s11() {
    let told = Told::begun().await;
    told.models.lead_waits.open();
    told.lead_is_waiting().await;
    told.models.scout_answers.open();
    told.ends_well().await;
}

#[tokio::test]
async fn a_result_that_came_first_is_collected_at_once_s11() {
    let told = Told::begun().await;
    told.models.scout_answers.open();
    told.scout_is_done().await;
    told.models.lead_waits.open();
    told.ends_well().await;
}

#[tokio::test]
async fn a_wait_outlives_the_engine_s11_d9() {
    let told = Told::begun().await;
    told.models.lead_waits.open();
    told.lead_is_waiting().await;
    let told = told.restarted().await;
    told.models.scout_answers.open();
    told.ends_well().await;
}
