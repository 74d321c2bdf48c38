//! The part of the configuration that rules read. Parsing `holdpoint.toml` into it is the app's work.

use std::collections::BTreeMap;

use crate::event::WorkerRef;
use crate::message::AgentConfig;
use crate::money::Money;

#[derive(Clone, Debug, Default)]
pub struct EngineConfig {
    pub agents: BTreeMap<String, AgentSpec>,
    pub llms: BTreeMap<String, LlmBlock>,
    /// By path, `mcp.<id>` or `plugin.<id>.mcp.<server>`.
    pub connections: BTreeMap<String, ConnectionSpec>,
    /// The connections of each plugin, by its path `plugin.<id>`.
    pub plugins: BTreeMap<String, Vec<String>>,
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
    /// Whose credential it is (M-1, M-23).
    pub principal: Principal,
}

/// `credential` of a connection: one for everybody, or one for each owner of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Principal {
    #[default]
    Shared,
    User,
}

impl Principal {
    pub fn name(self) -> &'static str {
        match self {
            Self::Shared => "shared",
            Self::User => "user",
        }
    }
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
