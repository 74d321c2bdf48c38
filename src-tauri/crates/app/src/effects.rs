//! The outside world as the configuration names it: model blocks and workers, replaced as a whole when the file changes.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use async_trait::async_trait;
use holdpoint_core::engine_config::LlmKind;
use holdpoint_core::id::SessionId;
use holdpoint_core::message::{ErrorCode, ErrorInfo};
use holdpoint_effects_mcp::{Auth, Connectors, Credentials, Endpoint, OauthSettings};
use holdpoint_effects_model::{ModelBlock, Models, Script, ScriptError, Secret};
use holdpoint_effects_worker::{WorkerBlock, Workers};
use holdpoint_runtime::runner::{DecisionCall, DeltaSink, Failure, ModelCall, ModelFailure, ModelReply, ModelRunner, WorkerRunner};
use holdpoint_store::Store;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::blobs;
use crate::config::{Config, ConnectionSettings, LlmSettings, WorkerSettings, WorkerTarget};

#[derive(Debug, thiserror::Error)]
pub enum EffectsError {
    /// P-35: a script is checked when the engine starts.
    #[error("llm.{llm}.script: {error}")]
    Script { llm: String, error: ScriptError },
    #[error("llm.{llm}.script: {path}: {error}")]
    ScriptFile { llm: String, path: String, error: std::io::Error },
}

pub struct Effects {
    current: RwLock<Current>,
    connectors: Connectors,
    /// Where attachments lie. Set before the first call.
    store: OnceLock<Store>,
}

struct Current {
    models: Arc<Models>,
    workers: Arc<Workers>,
    worker_ids: Vec<String>,
    /// What is wrong with a block or a worker, by its id; shown at the agents that use it.
    llm_problems: BTreeMap<String, String>,
    worker_problems: BTreeMap<String, String>,
}

impl Effects {
    /// `lenient`: a broken script is a problem of its agents, not of the engine.
    pub fn new(config: &Config, lenient: bool, credentials: Credentials) -> Result<Self, EffectsError> {
        let connectors = Connectors::new(credentials);
        let effects = Self { current: RwLock::new(build(config, lenient)?), connectors, store: OnceLock::new() };
        effects.connectors.replace(endpoints(&config.connections));
        Ok(effects)
    }

    pub fn attach(&self, store: Store) {
        let _ = self.store.set(store);
    }

    pub fn replace(&self, config: &Config) -> Result<(), EffectsError> {
        let next = build(config, false)?;
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = next;
        self.connectors.replace(endpoints(&config.connections));
        Ok(())
    }

    /// All of them share their servers.
    pub fn connectors(&self) -> Connectors {
        self.connectors.clone()
    }

    /// Evaluates every worker file once, so that a broken one shows at its agents before it is needed. Blocks meanwhile.
    pub fn check_workers(&self) {
        let (workers, ids) = {
            let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
            (current.workers.clone(), current.worker_ids.clone())
        };
        let found = ids.into_iter().filter_map(|id| workers.check(&id).err().map(|failure| (id, told(&failure)))).collect();
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        if Arc::ptr_eq(&current.workers, &workers) {
            current.worker_problems = found;
        }
    }

    /// Why an agent on this block and this worker cannot run now.
    pub fn problem(&self, llm: Option<&str>, worker: Option<&str>) -> Option<String> {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        let llm = llm.and_then(|id| current.llm_problems.get(id));
        llm.or_else(|| worker.and_then(|id| current.worker_problems.get(id))).cloned()
    }
}

fn build(config: &Config, lenient: bool) -> Result<Current, EffectsError> {
    let (mut blocks, mut llm_problems) = (Vec::new(), BTreeMap::new());
    for (id, settings) in &config.llms {
        if let Some(name) = settings.api_key_env.as_ref().filter(|name| env(name).is_none()) {
            llm_problems.insert(id.clone(), format!("The environment variable {name} is not set, so the model has no key."));
        }
        match block(id, settings) {
            Ok(Some(block)) => blocks.push((id.clone(), block)),
            Ok(None) => {}
            Err(error) if lenient => {
                llm_problems.insert(id.clone(), error.to_string());
            }
            Err(error) => return Err(error),
        }
    }
    let ids = config.workers.keys().cloned().collect();
    let workers = Arc::new(workers(&config.workers));
    Ok(Current { models: Arc::new(Models::new(blocks)), workers, worker_ids: ids, llm_problems, worker_problems: BTreeMap::new() })
}

fn endpoints(settings: &BTreeMap<String, ConnectionSettings>) -> impl Iterator<Item = (String, Endpoint)> {
    settings.iter().map(|(path, settings)| {
        let endpoint = match settings.clone() {
            ConnectionSettings::Stdio { command, env, cwd } => Endpoint::Stdio { command, env, cwd: Some(cwd) },
            ConnectionSettings::Http { url, auth, header, scopes, client_id_env, client_secret_env } => {
                let token = env(&token_name(path)).filter(|_| matches!(auth, Auth::Ask | Auth::Token));
                Endpoint::Http { url, auth, token, header, oauth: oauth(scopes, client_id_env, client_secret_env) }
            }
        };
        (path.clone(), endpoint)
    })
}

fn oauth(scopes: Vec<String>, id: Option<String>, secret: Option<String>) -> OauthSettings {
    let missing = id.iter().chain(&secret).find(|name| env(name).is_none()).cloned();
    OauthSettings { scopes, client_id: id.and_then(|name| env(&name)), client_secret: secret.and_then(|name| env(&name)), missing }
}

/// M-2: `HOLDPOINT_MCP_TOKEN_<ID>`, of a plugin's server `HOLDPOINT_MCP_TOKEN_<PLUGIN>_<SERVER>`; a variable's name has no `-`.
fn token_name(path: &str) -> String {
    let id = path.strip_prefix("mcp.").or_else(|| path.strip_prefix("plugin.")).unwrap_or(path).replace(".mcp.", "_");
    format!("HOLDPOINT_MCP_TOKEN_{}", id.to_ascii_uppercase().replace('-', "_"))
}

#[cfg(test)]
#[test]
fn a_token_is_found_under_the_name_of_its_connection_m2() {
    assert_eq!(token_name("mcp.my-files"), "HOLDPOINT_MCP_TOKEN_MY_FILES");
    assert_eq!(token_name("plugin.team.mcp.git"), "HOLDPOINT_MCP_TOKEN_TEAM_GIT");
}

/// F-6.
fn env(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn secret(name: Option<&String>) -> Option<Secret> {
    let name = name?;
    env(name).map(|value| Secret::named(name.clone(), value))
}

fn block(id: &str, settings: &LlmSettings) -> Result<Option<ModelBlock>, EffectsError> {
    let api_key = secret(settings.api_key_env.as_ref());
    let base_url = |default: &str| settings.base_url.clone().unwrap_or_else(|| default.to_owned());
    Ok(match settings.kind {
        LlmKind::OpenAi => Some(ModelBlock::OpenAi { base_url: base_url(ModelBlock::OPENAI_URL), api_key }),
        LlmKind::OpenRouter => Some(ModelBlock::OpenRouter { base_url: base_url(ModelBlock::OPENROUTER_URL), api_key }),
        LlmKind::Anthropic => {
            let cache_ttl = settings.cache_ttl.clone();
            Some(ModelBlock::Anthropic { base_url: base_url(ModelBlock::ANTHROPIC_URL), api_key, cache_ttl })
        }
        LlmKind::Worker => None, // its calls are decisions
        LlmKind::Scripted => Some(ModelBlock::Scripted { script: script(id, settings)? }),
    })
}

fn script(id: &str, settings: &LlmSettings) -> Result<Script, EffectsError> {
    let path = settings.script.clone().unwrap_or_default();
    let shown = path.display().to_string();
    let text =
        std::fs::read_to_string(&path).map_err(|error| EffectsError::ScriptFile { llm: id.to_owned(), path: shown.clone(), error })?;
    Script::parse(&text, &shown).map_err(|error| EffectsError::Script { llm: id.to_owned(), error })
}

fn workers(settings: &BTreeMap<String, WorkerSettings>) -> Workers {
    Workers::new(settings.iter().map(|(id, worker)| {
        let block = match &worker.target {
            WorkerTarget::Url(url) => WorkerBlock::Url { url: url.clone(), signing_secret: secret(worker.signing_secret_env.as_ref()) },
            WorkerTarget::File(path) => WorkerBlock::File { path: path.clone(), cpu_ms: worker.cpu_ms, memory_mb: worker.memory_mb },
        };
        (id.clone(), block)
    }))
}

/// What a person can act on: the sentence, and the stack under it when there is one (P-29).
fn told(failure: &Failure) -> String {
    let stack = failure.error.detail.as_ref().and_then(|detail| detail["stack"].as_str());
    stack.map_or_else(|| failure.error.message.clone(), |stack| format!("{}\n{stack}", failure.error.message))
}

#[async_trait]
impl ModelRunner for Effects {
    async fn run(&self, mut call: ModelCall, deltas: DeltaSink, cancel: CancellationToken) -> Result<ModelReply, ModelFailure> {
        let models = self.current.read().unwrap_or_else(PoisonError::into_inner).models.clone();
        if let Some(store) = self.store.get() {
            blobs::resolve(store, &mut call.request.messages);
        }
        models.run(call, deltas, cancel).await
    }
}

#[async_trait]
impl WorkerRunner for Effects {
    async fn decide(&self, call: DecisionCall, cancel: CancellationToken) -> Result<Value, Failure> {
        let workers = self.current.read().unwrap_or_else(PoisonError::into_inner).workers.clone();
        let session = call.request["session_id"].as_str().map(SessionId::from);
        let mut response = workers.decide(call, cancel).await?;
        if let (Some(store), Some(session)) = (self.store.get(), session) {
            let stored = blobs::store_response(store, &session, &mut response).await;
            stored.map_err(|failure| Failure {
                error: ErrorInfo::new(ErrorCode::InvalidResponse, failure.to_string()),
                retryable: true,
                retry_after_ms: None,
            })?;
        }
        Ok(response)
    }
}
