//! The part of the configuration that rules read. Parsing `holdpoint.toml` into it is the app's work.

use std::collections::BTreeMap;

use crate::event::WorkerRef;
use crate::message::AgentConfig;
use crate::money::Money;

#[derive(Clone, Debug, Default)]
pub struct EngineConfig {
    pub agents: BTreeMap<String, AgentSpec>,
    pub llms: BTreeMap<String, LlmBlock>,
    /// By path, `mcp.<id>`.
    pub connections: BTreeMap<String, ConnectionSpec>,
    pub max_subagent_depth: u32,
    pub session_budget: Option<Money>,
    pub tenant_budget: Option<Money>,
}

/// `[agent.<id>]`.
#[derive(Clone, Debug, Default)]
pub struct AgentSpec {
    /// `None`: the agent sets nothing of model configuration, so only its worker can (F-5).
    pub config: Option<AgentConfig>,
    pub worker: Option<WorkerRef>,
    pub description: Option<String>,
}

/// `[mcp.<id>]`, as far as rules depend on it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectionSpec {
    /// What stands before the server's tool names (M-1).
    pub prefix: Option<String>,
}

/// `[llm.<id>]`, as far as rules depend on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LlmBlock {
    pub kind: LlmKind,
    /// Type `worker` only: the provider whose own events the worker streams (P-17).
    pub format: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LlmKind {
    OpenAi,
    Anthropic,
    OpenRouter,
    /// The agent's worker answers `llm.execute`.
    Worker,
    /// Replays a file (P-32).
    Scripted,
}
