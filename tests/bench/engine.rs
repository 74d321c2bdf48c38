//! The engine in this process: a worker that asks again after each answer, and a person who answers as soon as they see it.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use holdpoint_core::command::{Caller, Command, Creation, Input};
use holdpoint_core::engine_config::{AgentSpec, EngineConfig};
use holdpoint_core::event::{Identity, Subject, Visibility, WorkerRef};
use holdpoint_core::id::{SessionId, ulid};
use holdpoint_core::message::{ErrorCode, ErrorInfo, Message, Role};
use holdpoint_core::time::Millis;
use holdpoint_runtime::runner::{
    DecisionCall, DeltaSink, Failure, ModelCall, ModelFailure, ModelReply, ModelRunner, NoConnectors, WorkerRunner,
};
use holdpoint_runtime::{Call, Engine};
use holdpoint_store::Store;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::figure::{Figure, Wrong};

const AGENT: &str = "asker";
const TENANT: &str = "local";

pub struct Serial {
    pub raise: Figure,
    pub answer: Figure,
    pub round: Figure,
}

/// On a task of the runtime, as every surface of the product is.
pub async fn serial(folder: &Path, rounds: usize) -> Result<Serial, Wrong> {
    let (engine, calls) = open(&folder.join("engine-serial.db")).await?;
    let person = Person::start(&engine, 0).await?;
    let told = tokio::spawn(person.go_round_alone(calls, rounds)).await??;
    engine.close().await;
    Ok(told)
}

pub async fn many(folder: &Path, sessions: usize, rounds: usize) -> Result<Figure, Wrong> {
    let (engine, _calls) = open(&folder.join("engine-many.db")).await?;
    let each = (rounds * 8 / sessions).max(1);
    let mut people = Vec::with_capacity(sessions);
    for number in 0..sessions {
        people.push(Person::start(&engine, number as u128).await?);
    }
    let started = Instant::now();
    let tasks: Vec<_> = people.into_iter().map(|person| tokio::spawn(person.go_round(each))).collect();
    let mut took = Vec::with_capacity(sessions * each);
    for task in tasks {
        took.extend(task.await??);
    }
    let figure = Figure::new(took, started);
    engine.close().await;
    Ok(figure)
}

async fn open(path: &Path) -> Result<(Engine, mpsc::UnboundedReceiver<(Instant, Instant)>), Wrong> {
    let (told, calls) = mpsc::unbounded_channel();
    let worker = WorkerRef { id: "asker".to_owned(), url: None, file: Some("asker.mjs".to_owned()) };
    let agent = AgentSpec { worker: Some(worker), ..AgentSpec::default() };
    let config = EngineConfig { agents: [(AGENT.to_owned(), agent)].into(), ..EngineConfig::default() };
    let engine =
        Engine::open(Store::open(path)?, Arc::new(config), Arc::new(NoModel), Arc::new(Asker { told }), Arc::new(NoConnectors)).await?;
    Ok((engine, calls))
}

/// Asks in answer to a message and to every answer.
struct Asker {
    told: mpsc::UnboundedSender<(Instant, Instant)>,
}

#[async_trait]
impl WorkerRunner for Asker {
    async fn decide(&self, call: DecisionCall, _cancel: CancellationToken) -> Result<Value, Failure> {
        let called = Instant::now();
        let response = match call.request["trigger"]["type"].as_str() {
            Some("client.messages") => json!({"messages": call.request["proposed"]["messages"], "actions": [question()]}),
            Some("interrupt.resumed") => json!({"actions": [question()]}),
            _ => json!({}),
        };
        // A bench that ended listens no more.
        let _ = self.told.send((called, Instant::now()));
        Ok(response)
    }
}

fn question() -> Value {
    json!({"type": "interrupt", "interrupt_id": "ask", "reason": "confirmation", "payload": {"message": "x".repeat(220)}})
}

struct NoModel;

#[async_trait]
impl ModelRunner for NoModel {
    async fn run(&self, _call: ModelCall, _deltas: DeltaSink, _cancel: CancellationToken) -> Result<ModelReply, ModelFailure> {
        let error = ErrorInfo::new(ErrorCode::ProviderError, "the benchmark has no model");
        Err(ModelFailure { failure: Failure { error, retryable: false, retry_after_ms: None }, script_reply: None })
    }
}

/// Reads a session's events as they are committed, and answers.
struct Person {
    engine: Engine,
    session: SessionId,
    committed: tokio::sync::watch::Receiver<u64>,
    read: u64,
}

impl Person {
    async fn start(engine: &Engine, number: u128) -> Result<Self, Wrong> {
        let session = SessionId::new(format!("sesn_{}", ulid(Millis(1_764_000_000_000), number)));
        let committed = engine.watch(&session);
        let mut person = Self { engine: engine.clone(), session, committed, read: 0 };
        let identity = Identity {
            subject: Some(Subject { issuer: "operator".to_owned(), id: TENANT.to_owned() }),
            visibility: Visibility::Private,
            metadata: None,
        };
        let input =
            Input::Append { turn_id: None, messages: vec![Message::new(Role::User, "Begin")], stream: None, client: None, queue: false };
        let create = Creation { agent_id: AGENT.to_owned(), identity, ancestry: Vec::new(), unattended: false };
        person.submit(input, Some(create)).await?;
        person.sees_a_question().await?;
        Ok(person)
    }

    async fn go_round(mut self, rounds: usize) -> Result<Vec<Duration>, Wrong> {
        let mut took = Vec::with_capacity(rounds);
        for _ in 0..rounds {
            let start = Instant::now();
            self.answer().await?;
            self.sees_a_question().await?;
            took.push(start.elapsed());
        }
        Ok(took)
    }

    async fn go_round_alone(mut self, mut calls: mpsc::UnboundedReceiver<(Instant, Instant)>, rounds: usize) -> Result<Serial, Wrong> {
        while calls.try_recv().is_ok() {}
        let (mut raise, mut answer, mut round) = (Vec::new(), Vec::new(), Vec::new());
        let started = Instant::now();
        for _ in 0..rounds {
            let start = Instant::now();
            self.answer().await?;
            self.sees_a_question().await?;
            let seen = Instant::now();
            let (called, returned) = calls.recv().await.ok_or("the worker was called")?;
            answer.push(called - start);
            raise.push(seen - returned);
            round.push(seen - start);
        }
        Ok(Serial { raise: Figure::new(raise, started), answer: Figure::new(answer, started), round: Figure::new(round, started) })
    }

    async fn answer(&self) -> Result<(), Wrong> {
        let payload = Some(json!({"approved": true}));
        self.submit(Input::Resume { interrupt_id: "ask".into(), payload, responder: None, shown_hash: None }, None).await
    }

    async fn sees_a_question(&mut self) -> Result<(), Wrong> {
        loop {
            let committed = *self.committed.borrow_and_update();
            let events = if committed > self.read { self.engine.events(&self.session, self.read, 100).await? } else { Vec::new() };
            self.read = events.last().and_then(|event| event["seq"].as_u64()).unwrap_or(self.read);
            if events.iter().any(|event| event["payload"]["type"] == "session.interrupted") {
                return Ok(());
            }
            self.committed.changed().await?;
        }
    }

    async fn submit(&self, input: Input, create: Option<Creation>) -> Result<(), Wrong> {
        let command = Command::Input { caller: Caller::operator(), input, create };
        let call = Call { tenant: TENANT.to_owned(), session_id: self.session.clone(), command, command_id: None };
        self.engine.submit(call).await?;
        Ok(())
    }
}
