//! Model adapters behind the runtime's [`ModelRunner`]: OpenAI's and Anthropic's wire, and the scripted replay.
//!
//! Each adapter runs one attempt. Waiting, retrying, timeouts and money are the runtime's; blocks of type `worker` are
//! decisions and never come here.

mod anthropic;
mod failure;
mod openai;
mod parts;
mod scripted;
mod secret;
mod wire;

use std::collections::BTreeMap;

use async_trait::async_trait;
use holdpoint_core::message::{ErrorCode, LlmResponse};
use holdpoint_runtime::runner::{Delta, DeltaSink, Failure, ModelCall, ModelFailure, ModelReply, ModelRunner};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

pub use crate::scripted::{Script, ScriptError, scripted_name};
pub use crate::secret::Secret;
pub use crate::wire::retry_after_ms;

/// What an adapter needs of one `[llm.<id>]` block (P-31, Q-38).
#[derive(Clone, Debug)]
pub enum ModelBlock {
    /// `base_url` includes `/v1`. Servers on the own machine need no key.
    OpenAi {
        base_url: String,
        api_key: Option<Secret>,
    },
    /// OpenAI's wire, with the price in the usage.
    OpenRouter {
        base_url: String,
        api_key: Option<Secret>,
    },
    /// `base_url` does not include `/v1`. `cache_ttl` (`5m`, `1h`) turns prompt caching on.
    Anthropic {
        base_url: String,
        api_key: Option<Secret>,
        cache_ttl: Option<String>,
    },
    Scripted {
        script: Script,
    },
}

impl ModelBlock {
    pub const OPENAI_URL: &str = "https://api.openai.com/v1";
    pub const OPENROUTER_URL: &str = "https://openrouter.ai/api/v1";
    pub const ANTHROPIC_URL: &str = "https://api.anthropic.com";
}

/// All model blocks of the configuration.
#[derive(Debug)]
pub struct Models {
    blocks: BTreeMap<String, ModelBlock>,
    client: wire::LazyClient,
}

impl Models {
    pub fn new(blocks: impl IntoIterator<Item = (String, ModelBlock)>) -> Self {
        Self { blocks: blocks.into_iter().collect(), client: wire::LazyClient::default() }
    }

    async fn attempt(&self, call: &ModelCall, deltas: &DeltaSink) -> Result<ModelReply, ModelFailure> {
        let Some(block) = self.blocks.get(&call.llm) else {
            let message = format!("No model block named {:?} is configured", call.llm);
            return Err(plain(failure::permanent(ErrorCode::Unroutable, message)));
        };
        let reply = match block {
            ModelBlock::Scripted { script } => return script.play(call, deltas).await,
            ModelBlock::OpenAi { base_url, api_key } => {
                let model = openai::Endpoint { llm: &call.llm, base_url, api_key: api_key.as_ref(), priced: false };
                model.run(self.client.get().map_err(plain)?, call, deltas).await
            }
            ModelBlock::OpenRouter { base_url, api_key } => {
                let model = openai::Endpoint { llm: &call.llm, base_url, api_key: api_key.as_ref(), priced: true };
                model.run(self.client.get().map_err(plain)?, call, deltas).await
            }
            ModelBlock::Anthropic { base_url, api_key, cache_ttl } => {
                let cache_ttl = cache_ttl.as_deref();
                let model = anthropic::Endpoint { llm: &call.llm, base_url, api_key: api_key.as_ref(), cache_ttl };
                model.run(self.client.get().map_err(plain)?, call, deltas).await
            }
        };
        reply.map(|response| ModelReply { response, script_reply: None }).map_err(plain)
    }
}

fn plain(failure: Failure) -> ModelFailure {
    ModelFailure { failure, script_reply: None }
}

#[async_trait]
impl ModelRunner for Models {
    async fn run(&self, call: ModelCall, deltas: DeltaSink, cancel: CancellationToken) -> Result<ModelReply, ModelFailure> {
        tokio::select! {
            biased;
            // Dropping the attempt closes its connection.
            () = cancel.cancelled() => Err(plain(failure::cancelled())),
            reply = self.attempt(&call, &deltas) => reply,
        }
    }
}

/// Reads a provider's own stream, event by event. Also serves workers that pass such a stream on (P-17).
pub enum StreamReader {
    OpenAi(openai::Collector),
    Anthropic(anthropic::Collector),
}

impl StreamReader {
    /// `format` of a model block of type `worker`; `None` for a name that is no format.
    pub fn for_format(format: &str) -> Option<Self> {
        match format {
            "openai" => Some(Self::OpenAi(openai::Collector::new(false))),
            "anthropic" => Some(Self::Anthropic(anthropic::Collector::default())),
            _ => None,
        }
    }

    /// Takes in one event and gives what of it can be shown at once.
    pub fn push(&mut self, event: &Value) -> Result<Option<Delta>, Failure> {
        match self {
            Self::OpenAi(collector) => collector.push(event),
            Self::Anthropic(collector) => collector.push(event),
        }
    }

    /// Whether the reply is complete, so that nothing more need be awaited.
    fn is_done(&self) -> bool {
        match self {
            Self::OpenAi(_) => false, // usage follows the end of the reply; `[DONE]` or the end of the stream closes it
            Self::Anthropic(collector) => collector.stopped(),
        }
    }

    /// The whole reply; fails when the stream ended before the reply did.
    fn finish(self, model: &str) -> Result<LlmResponse, Failure> {
        match self {
            Self::OpenAi(collector) => collector.finish(model),
            Self::Anthropic(collector) => collector.finish(model),
        }
    }
}
