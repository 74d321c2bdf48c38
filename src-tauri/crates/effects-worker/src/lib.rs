//! Workers behind the runtime's [`WorkerRunner`]: a decision is handed to an HTTP service or to a sandboxed script.
//!
//! Both give back raw JSON; whether it is a legal response is the core's judgement. Retries and timeouts are the runtime's.

mod script;
mod url;

use std::collections::BTreeMap;
use std::path::PathBuf;

use async_trait::async_trait;
use holdpoint_core::message::{ErrorCode, ErrorInfo};
use holdpoint_effects_model::Secret;
use holdpoint_runtime::runner::{DecisionCall, Failure, WorkerRunner};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// What is needed of one `[worker.<id>]` block (P-24).
#[derive(Clone, Debug)]
pub enum WorkerBlock {
    Url { url: String, signing_secret: Option<Secret> },
    File { path: PathBuf, cpu_ms: u64, memory_mb: u64 },
}

impl WorkerBlock {
    pub const DEFAULT_CPU_MS: u64 = 1000;
    pub const DEFAULT_MEMORY_MB: u64 = 64;
}

/// All workers of the configuration.
pub struct Workers {
    workers: BTreeMap<String, Worker>,
    client: url::LazyClient,
}

enum Worker {
    Url(url::Endpoint),
    File(script::Sandbox),
}

impl Workers {
    pub fn new(blocks: impl IntoIterator<Item = (String, WorkerBlock)>) -> Self {
        let places = script::places();
        let made = |(id, block): (String, WorkerBlock)| {
            let worker = match block {
                WorkerBlock::Url { url, signing_secret } => Worker::Url(url::Endpoint::new(&id, url, signing_secret)),
                WorkerBlock::File { path, cpu_ms, memory_mb } => {
                    Worker::File(script::Sandbox::new(&id, path, cpu_ms, memory_mb, places.clone()))
                }
            };
            (id, worker)
        };
        Self { workers: blocks.into_iter().map(made).collect(), client: url::LazyClient::default() }
    }

    /// Evaluates a script without asking it for a decision, so that a fault in it shows when the engine starts.
    /// Blocks for as long as a decision may take. A `url` worker is not asked anything.
    pub fn check(&self, id: &str) -> Result<(), Failure> {
        match self.worker(id)? {
            Worker::Url(_) => Ok(()),
            Worker::File(sandbox) => sandbox.check(),
        }
    }

    fn worker(&self, id: &str) -> Result<&Worker, Failure> {
        let missing = || permanent(ErrorCode::Unroutable, format!("No worker named {id:?} is configured"));
        self.workers.get(id).ok_or_else(missing)
    }

    async fn attempt(&self, call: &DecisionCall) -> Result<Value, Failure> {
        match self.worker(&call.worker.id)? {
            Worker::Url(endpoint) => endpoint.decide(self.client.get()?, call).await,
            Worker::File(sandbox) => sandbox.decide(&call.request).await,
        }
    }
}

#[async_trait]
impl WorkerRunner for Workers {
    async fn decide(&self, call: DecisionCall, cancel: CancellationToken) -> Result<Value, Failure> {
        tokio::select! {
            biased;
            // Dropping the attempt closes its connection or stops its script.
            () = cancel.cancelled() => Err(permanent(ErrorCode::Cancelled, "cancelled: the decision was withdrawn")),
            answer = self.attempt(&call) => answer,
        }
    }
}

fn permanent(code: ErrorCode, message: impl Into<String>) -> Failure {
    Failure { error: ErrorInfo::new(code, message), retryable: false, retry_after_ms: None }
}

fn retryable(code: ErrorCode, message: impl Into<String>) -> Failure {
    Failure { error: ErrorInfo::new(code, message), retryable: true, retry_after_ms: None }
}
