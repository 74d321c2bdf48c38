//! `holdpoint.toml` (F-1…F-8): from text to checked, typed settings. Nothing here reads a secret or a script;
//! keys of features that are not built yet are known, so that a typo in them is still found.

mod connections;
mod delegates;
mod plugins;
mod reader;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use holdpoint_core::engine_config::{AgentSpec, EngineConfig, LlmBlock, LlmKind};
use holdpoint_core::event::WorkerRef;
use holdpoint_core::message::{AgentConfig, AgentRetry, AgentTool, Effort};
use holdpoint_core::money::Money;
use holdpoint_core::retry::RetryOverride;
use serde::de::DeserializeOwned;

pub use connections::ConnectionSettings;
pub use reader::ConfigError;
use reader::{Section, Source, nearest, quoted};

pub const FILE_NAME: &str = "holdpoint.toml";

/// The whole file, checked.
#[derive(Clone, Debug, Default)]
pub struct Config {
    pub file: PathBuf,
    pub name: Option<String>,
    pub db: Option<PathBuf>,
    pub log: LogLevel,
    /// What rules depend on.
    pub engine: EngineConfig,
    pub llms: BTreeMap<String, LlmSettings>,
    pub workers: BTreeMap<String, WorkerSettings>,
    /// By path, `mcp.<id>`.
    pub connections: BTreeMap<String, ConnectionSettings>,
    pub serve: Serve,
    pub remote: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogLevel {
    Error,
    Warn,
    #[default]
    Info,
    Debug,
}

impl LogLevel {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
        }
    }
}

/// `[llm.<id>]`; paths are absolute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LlmSettings {
    pub kind: LlmKind,
    pub api_key_env: Option<String>,
    pub base_url: Option<String>,
    pub format: Option<String>,
    pub cache_ttl: Option<String>,
    pub script: Option<PathBuf>,
}

/// `[worker.<id>]`: exactly one of the two (P-24).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerSettings {
    pub target: WorkerTarget,
    pub signing_secret_env: Option<String>,
    pub cpu_ms: u64,
    pub memory_mb: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkerTarget {
    Url(String),
    File(PathBuf),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Serve {
    pub host: String,
    pub port: u16,
    pub auth: bool,
    pub public_url: Option<String>,
}

impl Default for Serve {
    fn default() -> Self {
        Self { host: "127.0.0.1".to_owned(), port: 8080, auth: true, public_url: None }
    }
}

/// F-1, Q-63: the file given, or `holdpoint.toml` in `folder`.
pub fn find(given: Option<&Path>, folder: &Path) -> Result<PathBuf, ConfigError> {
    let path = given.map_or_else(|| folder.join(FILE_NAME), |given| folder.join(given));
    if path.is_file() {
        return Ok(path);
    }
    let message = if given.is_some() { "there is no such file" } else { "there is no such file; give one with -c, or start in its folder" };
    Err(ConfigError { file: path, line: None, key: None, message: message.to_owned() })
}

pub fn load(file: &Path) -> Result<Config, ConfigError> {
    let text = std::fs::read_to_string(file).map_err(|error| ConfigError {
        file: file.to_owned(),
        line: None,
        key: None,
        message: format!("cannot be read: {error}"),
    })?;
    parse(file, text)
}

/// `file` gives the folder that relative paths are relative to.
pub fn parse(file: &Path, text: String) -> Result<Config, ConfigError> {
    let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    let source = Source::parse(&file, text)?;
    let root = source.root();
    root.allow(&[
        "name",
        "db",
        "log",
        "max_subagent_depth",
        "default_worker",
        "llm",
        "worker",
        "agent",
        "mcp",
        "plugin",
        "serve",
        "remote",
        "budget",
    ])?;
    let folder = file.parent().unwrap_or(Path::new(".")).to_owned();
    let mut config = Config { file: file.clone(), name: root.text("name")?, ..Config::default() };
    config.db = root.text("db")?.map(|db| folder.join(db));
    config.log = match root.one_of("log", &["error", "warn", "info", "debug"])?.as_deref() {
        Some("error") => LogLevel::Error,
        Some("warn") => LogLevel::Warn,
        Some("debug") => LogLevel::Debug,
        _ => LogLevel::Info,
    };
    config.engine.max_subagent_depth = root.uint("max_subagent_depth", 0..=1000)?.unwrap_or(5) as u32;
    for (id, section) in root.children("llm")? {
        check_id(&section, &id)?;
        let block = llm(&section, &folder)?;
        config.engine.llms.insert(id.clone(), LlmBlock { kind: block.kind, format: block.format.clone() });
        config.llms.insert(id, block);
    }
    for (id, section) in root.children("worker")? {
        check_id(&section, &id)?;
        config.workers.insert(id, worker(&section, &folder)?);
    }
    let default_worker = root.text("default_worker")?;
    if let Some(id) = &default_worker {
        declared(&root, "default_worker", "worker", id, &config.workers)?;
    }
    ((config.connections, config.engine.connections), config.engine.plugins) = connections::connections(&root, &folder)?;
    serve(&root, &mut config)?;
    budget(&root, &mut config)?;
    for (id, section) in root.children("agent")? {
        check_id(&section, &id)?;
        let spec = agent(&section, &config, default_worker.as_deref())?;
        config.engine.agents.insert(id, spec);
    }
    for (id, section) in root.children("agent")? {
        delegates::check(&section, &config.engine.agents[&id], &config.engine.agents)?;
    }
    Ok(config)
}

/// B-2: ids are letters, digits, `_` and `-`, at most 64.
fn is_proper_id(id: &str) -> bool {
    (1..=64).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

fn check_id(section: &Section<'_>, id: &str) -> Result<(), ConfigError> {
    if is_proper_id(id) { Ok(()) } else { Err(section.own_error("an id has 1 to 64 letters, digits, `_` or `-`")) }
}

fn declared<T>(section: &Section<'_>, key: &str, kind: &str, id: &str, known: &BTreeMap<String, T>) -> Result<(), ConfigError> {
    if known.contains_key(id) {
        return Ok(());
    }
    if let Some(bare) = id.strip_prefix(&format!("{kind}.")).filter(|bare| known.contains_key(*bare)) {
        return Err(section.error(key, format!("write the bare id \"{bare}\" (Q-30)")));
    }
    let ids: Vec<&str> = known.keys().map(String::as_str).collect();
    let hint = match nearest(id, &ids) {
        Some(near) => format!("; did you mean \"{near}\"?"),
        None if ids.is_empty() => String::new(),
        None => format!("; declared: {}", quoted(&ids)),
    };
    Err(section.error(key, format!("there is no [{kind}.{id}]{hint}")))
}

fn llm(section: &Section<'_>, folder: &Path) -> Result<LlmSettings, ConfigError> {
    section.allow(&["type", "api_key_env", "base_url", "format", "cache_ttl", "script"])?;
    let kinds = ["openai", "anthropic", "openrouter", "worker", "scripted"];
    let kind = match section.one_of("type", &kinds)?.as_deref() {
        Some("openai") => LlmKind::OpenAi,
        Some("anthropic") => LlmKind::Anthropic,
        Some("openrouter") => LlmKind::OpenRouter,
        Some("worker") => LlmKind::Worker,
        Some(_) => LlmKind::Scripted,
        None => return Err(section.error("type", format!("is missing; it is one of {}", quoted(&kinds)))),
    };
    let provider = matches!(kind, LlmKind::OpenAi | LlmKind::Anthropic | LlmKind::OpenRouter);
    for (key, fits) in [
        ("script", kind == LlmKind::Scripted),
        ("format", kind == LlmKind::Worker),
        ("api_key_env", provider),
        ("base_url", provider),
        ("cache_ttl", provider),
    ] {
        if section.has(key) && !fits {
            return Err(section.error(key, "does not go with this type of model"));
        }
    }
    let script = section.text("script")?.map(|script| folder.join(script));
    if kind == LlmKind::Scripted && script.is_none() {
        return Err(section.error("script", "is missing; a scripted model replays the JSON file it names"));
    }
    let base_url = url(section, "base_url")?;
    let api_key_env = section.env_name("api_key_env")?;
    if provider && api_key_env.is_none() && base_url.is_none() {
        return Err(section.error("api_key_env", "is missing; it names the environment variable that holds the key"));
    }
    let format = section.one_of("format", &["openai", "anthropic"])?;
    Ok(LlmSettings { kind, api_key_env, base_url, format, cache_ttl: section.text("cache_ttl")?, script })
}

fn url(section: &Section<'_>, key: &str) -> Result<Option<String>, ConfigError> {
    match section.text(key)? {
        Some(url) if !url.starts_with("http://") && !url.starts_with("https://") => {
            Err(section.error(key, "must start with http:// or https://"))
        }
        other => Ok(other),
    }
}

fn worker(section: &Section<'_>, folder: &Path) -> Result<WorkerSettings, ConfigError> {
    section.allow(&["url", "file", "signing_secret_env", "cpu_ms", "memory_mb"])?;
    let target = match (url(section, "url")?, section.text("file")?) {
        (Some(url), None) => WorkerTarget::Url(url),
        (None, Some(file)) => WorkerTarget::File(folder.join(file)),
        _ => return Err(section.own_error("needs exactly one of `url` and `file`")),
    };
    for (key, fits) in [
        ("signing_secret_env", matches!(target, WorkerTarget::Url(_))),
        ("cpu_ms", matches!(target, WorkerTarget::File(_))),
        ("memory_mb", matches!(target, WorkerTarget::File(_))),
    ] {
        if section.has(key) && !fits {
            return Err(section.error(key, "does not go with this kind of worker"));
        }
    }
    Ok(WorkerSettings {
        target,
        signing_secret_env: section.env_name("signing_secret_env")?,
        cpu_ms: section.uint("cpu_ms", 1..=600_000)?.unwrap_or(1000),
        memory_mb: section.uint("memory_mb", 1..=65_536)?.unwrap_or(64),
    })
}

fn serve(root: &Section<'_>, config: &mut Config) -> Result<(), ConfigError> {
    if let Some(section) = root.table("serve")? {
        section.allow(&["host", "port", "auth", "public_url"])?;
        config.serve = Serve {
            host: section.text("host")?.unwrap_or(config.serve.host.clone()),
            port: section.uint("port", 0..=65_535)?.map_or(config.serve.port, |port| port as u16),
            auth: section.bool("auth")?.unwrap_or(true),
            public_url: url(&section, "public_url")?,
        };
    }
    if let Some(section) = root.table("remote")? {
        section.allow(&["url", "org", "project"])?;
        config.remote = url(&section, "url")?;
    }
    Ok(())
}

/// A limit that nobody enforces would be worse than none.
fn budget(root: &Section<'_>, config: &mut Config) -> Result<(), ConfigError> {
    let Some(section) = root.table("budget")? else { return Ok(()) };
    section.allow(&["session_usd", "tenant_usd"])?;
    let amount = |key: &str| -> Result<Option<Money>, ConfigError> {
        let Some(text) = section.text(key)? else { return Ok(None) };
        let amount = Money::parse(&text).filter(|amount| *amount > Money::ZERO);
        amount.map(Some).ok_or_else(|| section.error(key, "is an amount in US dollars above 0, as a string: \"2.50\""))
    };
    config.engine.session_budget = amount("session_usd")?;
    config.engine.tenant_budget = amount("tenant_usd")?;
    Ok(())
}

const AGENT_KEYS: [&str; 20] = [
    "llm",
    "model",
    "system",
    "effort",
    "description",
    "worker",
    "mcp",
    "plugins",
    "defer_tools",
    "mcp_announce",
    "mcp_auth_failure",
    "mcp_tool_sync_failure",
    "subagents",
    "subagent_tools",
    "subagent_mode",
    "max_subagent_depth",
    "tools",
    "retry",
    "slack",
    "attachments",
];

fn agent(section: &Section<'_>, config: &Config, default_worker: Option<&str>) -> Result<AgentSpec, ConfigError> {
    section.allow(&AGENT_KEYS)?;
    if let Some(slack) = section.table("slack")? {
        slack.allow(&["name", "answers"])?;
    }
    let worker = section.text("worker")?;
    if let Some(id) = &worker {
        declared(section, "worker", "worker", id, &config.workers)?;
    }
    let worker = worker.or_else(|| default_worker.map(str::to_owned)).map(|id| {
        let (url, file) = match &config.workers[&id].target {
            WorkerTarget::Url(url) => (Some(url.clone()), None),
            WorkerTarget::File(file) => (None, Some(file.display().to_string())),
        };
        WorkerRef { id, url, file }
    });
    let spec = AgentSpec { config: agent_config(section, config)?, worker, description: section.str("description")? };
    if spec.config.is_none() && spec.worker.is_none() {
        return Err(section.own_error("needs `llm` and `model`, or a `worker` that provides them"));
    }
    let block = spec.config.as_ref().and_then(|own| own.llm.as_ref()).and_then(|id| config.llms.get(id));
    if spec.worker.is_none() && block.is_some_and(|block| block.kind == LlmKind::Worker) {
        return Err(section.error("llm", "names a model that the agent's worker answers, but the agent has no `worker`"));
    }
    Ok(spec)
}

/// F-5: an agent that sets anything of model configuration needs `llm` and `model`.
fn agent_config(section: &Section<'_>, config: &Config) -> Result<Option<AgentConfig>, ConfigError> {
    let passed_on = [
        "defer_tools",
        "mcp_announce",
        "mcp_auth_failure",
        "mcp_tool_sync_failure",
        "subagent_tools",
        "subagent_mode",
        "max_subagent_depth",
        "attachments",
    ];
    let own = ["llm", "model", "system", "effort", "tools", "retry", "mcp", "plugins", "subagents"];
    let Some(first) = own.iter().chain(&passed_on).find(|key| section.has(key)) else { return Ok(None) };
    for key in ["llm", "model"] {
        if !section.has(key) {
            return Err(section.error(key, format!("is missing; an agent that sets `{first}` needs `llm` and `model`")));
        }
    }
    let llm = section.text("llm")?;
    if let Some(id) = &llm {
        declared(section, "llm", "llm", id, &config.llms)?;
    }
    check_passed_on(section)?;
    let mcp = connections::agent_entries(section, &config.engine.connections)?.map(|list| ("mcp".to_owned(), list));
    let plugins = connections::agent_plugins(section, &config.engine.plugins)?.map(|list| ("plugins".to_owned(), list));
    let subagents = delegates::subagents(section)?.map(|list| ("subagents".to_owned(), list));
    let mut own = AgentConfig {
        llm,
        model: section.text("model")?.unwrap_or_default(),
        system: section.str("system")?,
        effort: effort(section)?,
        retry: retry(section)?,
        tools: tools(section)?,
        other: passed_on
            .iter()
            .filter_map(|key| Some(((*key).to_owned(), section.json(key)?)))
            .chain(mcp)
            .chain(plugins)
            .chain(subagents)
            .collect(),
    };
    holdpoint_core::connector::expand_plugins(&mut own, &config.engine).map_err(|problem| section.error("plugins", problem))?;
    holdpoint_core::deferred::check(&own).map_err(|problem| section.own_error(problem))?;
    Ok(Some(own))
}

fn check_passed_on(section: &Section<'_>) -> Result<(), ConfigError> {
    section.one_of("mcp_announce", &["auto", "never"])?;
    section.one_of("mcp_auth_failure", &["interrupt", "degrade"])?;
    section.one_of("mcp_tool_sync_failure", &["warn", "silent"])?;
    section.one_of("subagent_mode", &["any", "blocking", "detached"])?;
    section.uint("max_subagent_depth", 0..=1000)?;
    section.bool("attachments")?;
    if let Some(table) = section.table("subagent_tools")? {
        table.allow(&["strategy", "wait"])?;
        table.one_of("strategy", &["per_agent", "single"])?;
        table.bool("wait")?;
    }
    if section.has("defer_tools") && section.bool("defer_tools").is_err() {
        let Some(table) = section.table("defer_tools")? else { return Ok(()) };
        table.allow(&["strategy", "max_matches"])?;
        table.one_of("strategy", &["search"])?;
        table.uint("max_matches", 1..=1000)?;
    }
    Ok(())
}

fn effort(section: &Section<'_>) -> Result<Option<Effort>, ConfigError> {
    let words = ["xhigh", "high", "medium", "low", "minimal", "none"];
    let Some(word) = section.one_of("effort", &words)? else { return Ok(None) };
    Ok(from_json(serde_json::Value::String(word)))
}

/// A value whose shape was just checked.
fn from_json<T: DeserializeOwned>(value: serde_json::Value) -> Option<T> {
    serde_json::from_value(value).ok()
}

fn tools(section: &Section<'_>) -> Result<Option<Vec<AgentTool>>, ConfigError> {
    if !section.has("tools") {
        return Ok(None);
    }
    let mut tools = Vec::new();
    for table in section.tables("tools")? {
        table.allow(&["name", "description", "input", "output", "handler", "defer"])?;
        let Some(name) = table.text("name")? else { return Err(table.error("name", "is missing")) };
        if table.one_of("handler", &["client"])?.is_none() {
            return Err(table.error("handler", "is missing; tools in this file are run by clients: handler = \"client\""));
        }
        table.table("input")?;
        table.table("output")?;
        tools.push(AgentTool {
            name,
            description: table.str("description")?,
            input: table.json("input"),
            output: table.json("output"),
            handler: Some(holdpoint_core::message::Handler::Client),
            defer: table.bool("defer")?,
        });
    }
    Ok(Some(tools))
}

fn retry(section: &Section<'_>) -> Result<Option<AgentRetry>, ConfigError> {
    let Some(table) = section.table("retry")? else { return Ok(None) };
    table.allow(&["default", "llm", "tool", "subagent", "connector"])?;
    Ok(Some(AgentRetry {
        default: bounds(&table, "default")?,
        llm: bounds(&table, "llm")?,
        tool: bounds(&table, "tool")?,
        subagent: bounds(&table, "subagent")?,
        connector: bounds(&table, "connector")?,
    }))
}

fn bounds(section: &Section<'_>, key: &str) -> Result<Option<RetryOverride>, ConfigError> {
    let Some(table) = section.table(key)? else { return Ok(None) };
    table.allow(&[
        "queue_timeout_secs",
        "run_timeout_secs",
        "total_timeout_secs",
        "max_attempts",
        "backoff_base_secs",
        "backoff_max_secs",
    ])?;
    Ok(Some(RetryOverride {
        queue_timeout_secs: table.seconds("queue_timeout_secs")?,
        run_timeout_secs: table.seconds("run_timeout_secs")?,
        total_timeout_secs: table.seconds("total_timeout_secs")?,
        max_attempts: table.uint("max_attempts", 1..=1000)?.map(|n| n as u32),
        backoff_base_secs: table.seconds("backoff_base_secs")?,
        backoff_max_secs: table.seconds("backoff_max_secs")?,
    }))
}

#[cfg(test)]
mod tests;
