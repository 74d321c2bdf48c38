//! Connections to MCP servers as the rules see them (§10A): which an agent names, what they offer it, and under which names.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::engine_config::EngineConfig;
use crate::event::CallKind;
use crate::id::CallId;
use crate::message::{AgentConfig, ErrorCode, ErrorInfo, LlmTool};
use crate::state::{Call, CallStatus, Session};

/// M-11.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Approve {
    #[default]
    Never,
    /// Tools the server marks destructive.
    Destructive,
    Always,
}

/// D-12.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnUnknown {
    #[default]
    Ask,
    Retry,
}

/// M-6: whether the model is told that a connection's tools are missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SyncFailure {
    #[default]
    Warn,
    Silent,
}

/// M-4: which of a server's tools are used. Each part can only remove.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Filter {
    pub read_only: bool,
    pub non_destructive: bool,
    pub idempotent: bool,
    pub include: Option<Vec<String>>,
    pub exclude: Vec<String>,
    /// K-10. No filter: what passes is left out of model requests, or not.
    pub defer: Option<bool>,
}

/// An entry of an agent's `mcp` (M-3).
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// `mcp.<id>`.
    #[serde(alias = "id")]
    pub path: String,
    #[serde(default)]
    pub tools: Filter,
    #[serde(default)]
    pub approve: Approve,
    #[serde(default)]
    pub tool_sync_failure: Option<SyncFailure>,
    #[serde(default)]
    pub auth_failure: Option<AuthFailure>,
    #[serde(default)]
    pub on_unknown: OnUnknown,
}

/// M-22: what happens when a connection waits for a person to authorize it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuthFailure {
    /// The person is asked.
    #[default]
    Interrupt,
    /// The agent goes on without the tools.
    Degrade,
}

/// The `mcp` of a config, or what is wrong with it.
pub fn parse_entries(config: &AgentConfig) -> Result<Vec<Entry>, String> {
    let Some(list) = config.other.get("mcp") else { return Ok(Vec::new()) };
    let list = list.as_array().ok_or("mcp is a list of connections")?;
    list.iter()
        .map(|entry| match entry {
            Value::String(path) => Ok(Entry { path: path.clone(), ..Entry::default() }),
            entry => serde_json::from_value(entry.clone()).map_err(|problem| format!("mcp: {problem}")),
        })
        .collect()
}

/// Reads `plugins` as entries of `mcp`: each server of a plugin under the settings of the plugin's entry (M-11, F-7).
pub fn expand_plugins(config: &mut AgentConfig, engine: &EngineConfig) -> Result<(), String> {
    let Some(plugins) = config.other.remove("plugins") else { return Ok(()) };
    let mut list = match config.other.remove("mcp") {
        None => Vec::new(),
        Some(Value::Array(list)) => list,
        Some(_) => return Err("mcp is a list of connections".to_owned()),
    };
    for plugin in plugins.as_array().ok_or("plugins is a list of plugins")? {
        let named = plugin.get("path").or_else(|| plugin.get("id")).unwrap_or(plugin);
        let servers = named.as_str().and_then(|path| engine.plugins.get(path));
        let servers = servers.ok_or_else(|| format!("plugins names {named}, and the configuration has no such plugin"))?;
        let settings: Map<String, Value> = plugin
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(key, _)| *key != "path" && *key != "id")
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect();
        for path in servers {
            let own = Map::from_iter([("path".to_owned(), json!(path))]);
            list.push(if settings.is_empty() { json!(path) } else { own.into_iter().chain(settings.clone()).collect() });
        }
    }
    if !list.is_empty() {
        config.other.insert("mcp".to_owned(), Value::Array(list));
    }
    no_server_twice(config)
}

fn no_server_twice(config: &AgentConfig) -> Result<(), String> {
    let mut seen = HashSet::new();
    let twice = parse_entries(config)?.into_iter().find(|entry| !seen.insert(entry.path.clone()));
    twice.map_or(Ok(()), |entry| Err(format!("`{}` is named twice, by mcp or through plugins", entry.path)))
}

/// What a worker's config names must exist, and once only.
pub fn check(config: &AgentConfig, engine: &EngineConfig) -> Result<(), String> {
    crate::deferred::check(config)?;
    for entry in parse_entries(config)? {
        if !engine.connections.contains_key(&entry.path) {
            return Err(format!("mcp names `{}`, and the configuration has no such connection", entry.path));
        }
    }
    no_server_twice(config)
}

/// Configs are checked before they are recorded, so nothing is lost here.
pub fn entries(config: &AgentConfig) -> Vec<Entry> {
    parse_entries(config).unwrap_or_default()
}

/// One tool in the words of its server. The annotations are hints: unset ones stay unset.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerTool {
    pub name: String,
    pub description: Option<String>,
    pub input: Option<Value>,
    pub output: Option<Value>,
    pub read_only: Option<bool>,
    pub destructive: Option<bool>,
    pub idempotent: Option<bool>,
}

impl ServerTool {
    /// `None`: it cannot be called plainly (it wants to be run as a task, or has no name).
    fn read(tool: &Value) -> Option<Self> {
        let hint = |name: &str| tool["annotations"][name].as_bool();
        let text = |name: &str| tool[name].as_str().map(str::to_owned);
        let schema = |name: &str| tool.get(name).filter(|schema| schema.is_object()).cloned();
        if tool["execution"]["taskSupport"] == "required" {
            return None;
        }
        Some(Self {
            name: text("name").filter(|name| !name.is_empty())?,
            description: text("description").or_else(|| text("title")),
            input: schema("inputSchema"),
            output: schema("outputSchema"),
            read_only: hint("readOnlyHint"),
            destructive: hint("destructiveHint"),
            idempotent: hint("idempotentHint"),
        })
    }

    /// M-11, M-13.
    pub fn is_marked_destructive(&self) -> bool {
        self.destructive == Some(true)
    }
    fn is_read_only(&self) -> bool {
        self.read_only == Some(true)
    }
    /// D-12: doing it twice is like doing it once.
    fn may_repeat(&self) -> bool {
        self.is_read_only() || self.idempotent == Some(true)
    }

    /// The hints the server gave, under its names.
    pub fn annotations(&self) -> Value {
        let hints = [("readOnlyHint", self.read_only), ("destructiveHint", self.destructive), ("idempotentHint", self.idempotent)];
        hints.into_iter().filter_map(|(name, hint)| Some((name.to_owned(), hint?.into()))).collect::<Map<_, _>>().into()
    }

    /// `low`, `medium` or `high` (M-13).
    pub fn risk(&self) -> &'static str {
        match (self.is_marked_destructive(), self.is_read_only()) {
            (true, _) => "high",
            (false, true) => "low",
            (false, false) => "medium",
        }
    }

    fn passes(&self, filter: &Filter) -> bool {
        let harmless = !self.is_marked_destructive() && (self.destructive == Some(false) || self.is_read_only());
        (!filter.read_only || self.is_read_only())
            && (!filter.non_destructive || harmless)
            && (!filter.idempotent || self.may_repeat())
            && filter.include.as_ref().is_none_or(|globs| globs.iter().any(|glob| matches(glob, &self.name)))
            && !filter.exclude.iter().any(|glob| matches(glob, &self.name))
    }
}

/// `*` stands for any run of characters, `?` for one.
fn matches(glob: &str, name: &str) -> bool {
    let (glob, name): (Vec<char>, Vec<char>) = (glob.chars().collect(), name.chars().collect());
    let (mut g, mut n) = (0, 0);
    // Where the last `*` stands, and how far its run reaches.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        if glob.get(g) == Some(&'*') {
            star = Some((g, n));
            g += 1;
        } else if glob.get(g).is_some_and(|c| *c == '?' || *c == name[n]) {
            (g, n) = (g + 1, n + 1);
        } else if let Some((at, reach)) = star {
            star = Some((at, reach + 1));
            (g, n) = (at + 1, reach + 1);
        } else {
            return false;
        }
    }
    glob[g..].iter().all(|c| *c == '*')
}

/// How a fetch of a connection's tools ended (M-6).
#[derive(Clone, Debug, Default)]
pub struct Fetch {
    pub prefix: Option<String>,
    pub tools: Vec<ServerTool>,
    pub instructions: Option<String>,
    pub failed: bool,
    /// The failure was the credential's.
    pub auth: bool,
}

impl Fetch {
    pub fn listed(prefix: Option<String>, tools: &[Value], instructions: Option<String>) -> Self {
        Self { prefix, tools: tools.iter().filter_map(ServerTool::read).collect(), instructions, ..Self::default() }
    }
    pub fn failed(auth: bool) -> Self {
        Self { failed: true, auth, ..Self::default() }
    }
}

/// Which fetch of each connection holds: the n-th that settled, or will settle (a model request waits for it).
pub type Fetches = BTreeMap<String, u32>;

/// The newest fetch of every connection that the config names.
pub fn current(session: &Session, config: &AgentConfig) -> Fetches {
    let newest = |entry: Entry| {
        let settled = session.fetches.get(&entry.path).map_or(0, Vec::len) as u32;
        let open = session.call(CallKind::ConnectorSync, &CallId::from(entry.path.as_str())).is_some_and(|call| call.status.is_open());
        let index = if open { Some(settled) } else { settled.checked_sub(1) };
        index.map(|index| (entry.path, index))
    };
    entries(config).into_iter().filter_map(newest).collect()
}

/// A tool as the model sees it, and what stands behind the name.
#[derive(Clone, Debug)]
pub struct ConnectorTool<'a> {
    pub name: String,
    pub path: String,
    pub tool: &'a ServerTool,
    pub approve: Approve,
    pub on_unknown: OnUnknown,
    /// K-10.
    pub deferred: bool,
}

impl ConnectorTool<'_> {
    pub fn for_model(&self) -> LlmTool {
        let ServerTool { description, input, output, .. } = self.tool;
        LlmTool { name: self.name.clone(), description: description.clone(), input: input.clone(), output: output.clone() }
    }

    /// Fixed in the call when it is requested (K-8).
    pub fn target(&self) -> String {
        format!("{}/{}", self.path, self.tool.name)
    }
}

/// The connection and the server's own tool name of a target.
pub fn split_target(target: &str) -> (&str, &str) {
    target.split_once('/').unwrap_or((target, ""))
}

/// The tools of all connections a config names, after filters (M-4) and name clashes (M-5).
pub fn catalogue<'a>(session: &'a Session, config: &AgentConfig, fetches: &Fetches) -> Vec<ConnectorTool<'a>> {
    let mut tools = offered(session, config, fetches);
    let mut uses: HashMap<String, usize> = HashMap::new();
    for tool in &tools {
        *uses.entry(tool.name.clone()).or_default() += 1;
    }
    let of_engine = crate::deferred::own_names(config).iter().map(|name| (*name).to_owned());
    let own: HashSet<String> = crate::delegate::tool_names(config).into_iter().chain(of_engine).collect();
    tools.retain(|tool| uses[&tool.name] == 1 && config.tool(&tool.name).is_none() && !own.contains(&tool.name));
    tools
}

/// Names that two tools claim, and that no connection's tool therefore has (M-5).
pub fn dropped(session: &Session, config: &AgentConfig) -> Vec<String> {
    let fetches = current(session, config);
    let kept: HashSet<String> = catalogue(session, config, &fetches).into_iter().map(|tool| tool.name).collect();
    let mut names: Vec<String> = offered(session, config, &fetches).into_iter().map(|tool| tool.name).collect();
    names.retain(|name| !kept.contains(name));
    names.sort();
    names.dedup();
    names
}

fn offered<'a>(session: &'a Session, config: &AgentConfig, fetches: &Fetches) -> Vec<ConnectorTool<'a>> {
    let mut all = Vec::new();
    for entry in entries(config) {
        let Some(fetch) = fetch(session, fetches, &entry.path) else { continue };
        let prefix = fetch.prefix.as_deref().unwrap_or_default();
        let used = fetch.tools.iter().filter(|tool| tool.passes(&entry.tools));
        all.extend(used.map(|tool| ConnectorTool {
            name: format!("{prefix}{}", tool.name),
            path: entry.path.clone(),
            tool,
            approve: entry.approve,
            on_unknown: entry.on_unknown,
            deferred: crate::deferred::is_deferred(config, entry.tools.defer),
        }));
    }
    all
}

fn fetch<'a>(session: &'a Session, fetches: &Fetches, path: &str) -> Option<&'a Fetch> {
    session.fetches.get(path)?.get(*fetches.get(path)? as usize)
}

/// The tool behind a name, as the session's connections are now.
pub fn find<'a>(session: &'a Session, config: &AgentConfig, name: &str) -> Option<ConnectorTool<'a>> {
    if !config.other.contains_key("mcp") {
        return None;
    }
    catalogue(session, config, &current(session, config)).into_iter().find(|tool| tool.name == name)
}

/// The tool a call is bound to, under the config of its place.
pub fn tool_of<'a>(session: &'a Session, call: &Call) -> Option<ConnectorTool<'a>> {
    let config = session.config_at(call.anchor)?;
    find(session, config, &call.name).filter(|tool| call.target.as_deref() == Some(tool.target().as_str()))
}

pub fn llm_tools(session: &Session, config: &AgentConfig, fetches: &Fetches) -> Vec<LlmTool> {
    catalogue(session, config, fetches).iter().filter(|tool| !tool.deferred).map(ConnectorTool::for_model).collect()
}

/// What the model is told about its connections, one JSON object a line (M-6, M-7).
pub fn announcements(session: &Session, config: &AgentConfig, fetches: &Fetches) -> Vec<String> {
    let setting = |key: &str| config.other.get(key).and_then(Value::as_str);
    let tools = catalogue(session, config, fetches);
    let line = |entry: Entry| {
        let fetch = fetch(session, fetches, &entry.path)?;
        let name = entry.path.rsplit('.').next().unwrap_or(&entry.path);
        let mut told = Map::from_iter([("mcp_server".to_owned(), json!(name))]);
        if fetch.failed {
            let all = if setting("mcp_tool_sync_failure") == Some("silent") { SyncFailure::Silent } else { SyncFailure::Warn };
            if entry.tool_sync_failure.unwrap_or(all) == SyncFailure::Silent {
                return None;
            }
            told.insert("unavailable".to_owned(), json!(true));
            told.insert("reason".to_owned(), json!(if fetch.auth { "needs_authorization" } else { "unreachable" }));
        } else if setting("mcp_announce") == Some("never") {
            return None;
        } else {
            told.insert("tools".to_owned(), json!(tools.iter().filter(|tool| tool.path == entry.path).count()));
            if let Some(about) = &fetch.instructions {
                told.insert("about".to_owned(), json!(about));
            }
        }
        Some(Value::Object(told).to_string())
    };
    entries(config).into_iter().filter_map(line).collect()
}

/// The turn waits while tools are fetched (M-6).
pub fn is_fetching(session: &Session) -> bool {
    session.open_calls().any(|call| call.kind == CallKind::ConnectorSync)
}

/// The arguments of a call as an object; what the model wrote may be none.
pub fn arguments(text: &str) -> Option<Map<String, Value>> {
    match serde_json::from_str(if text.trim().is_empty() { "{}" } else { text }) {
        Ok(Value::Object(map)) => Some(map),
        _ => None,
    }
}

// ---- calls whose outcome nobody knows (D-12)

const UNKNOWN: &str = "call-unknown:";

pub fn unknown_id(call: &CallId) -> String {
    format!("{UNKNOWN}{call}")
}

/// The engine's own question about this call is open. Somebody else's under the same id does not count.
pub fn outcome_is_asked(session: &Session, call: &Call) -> bool {
    let open = session.interrupt(&unknown_id(&call.id));
    open.is_some_and(|open| open.call.as_ref().is_some_and(|asked| asked.id == call.id))
}

/// The call a closed or open interrupt of the engine asks about.
pub fn asked_about(interrupt: &crate::state::Interrupt) -> Option<CallId> {
    let id = interrupt.id.as_str().strip_prefix(UNKNOWN)?;
    interrupt.call.as_ref().filter(|call| call.id.as_str() == id).map(|call| call.id.clone())
}

///
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    Ran(Option<String>),
    Again,
    Failed,
}

pub fn told(payload: Option<&Value>) -> Option<Told> {
    let payload = payload?;
    let wrapped = payload.get("status").is_some_and(|status| status == "resolved");
    let answer = if wrapped { payload.get("payload")? } else { payload };
    let text = || {
        let said = payload.get("responder").and_then(|who| who.get("text")).or_else(|| answer.get("text")).or_else(|| payload.get("text"));
        said.and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
    };
    match answer.get("outcome")?.as_str()? {
        "ran" => Some(Told::Ran(text())),
        "again" => Some(Told::Again),
        "failed" => Some(Told::Failed),
        _ => None,
    }
}

/// Lost with the engine: sent again by itself, or a person is asked.
pub fn may_be_repeated(session: &Session, call: &Call) -> bool {
    tool_of(session, call).is_some_and(|tool| tool.on_unknown == OnUnknown::Retry || tool.tool.may_repeat())
}

/// The server has it. What is in this state when the engine starts is lost (D-12).
pub fn in_servers_hands(session: &Session, call: &Call) -> bool {
    call.kind == CallKind::ToolCall
        && call.handler == crate::message::Handler::Server
        && !crate::deferred::answers(call)
        && call.status == CallStatus::Pending
        && !outcome_is_asked(session, call)
}

pub fn unknown_question(session: &Session, call: &Call) -> Value {
    let risk = tool_of(session, call).map_or("medium", |tool| tool.tool.risk());
    let arguments = arguments(&call.arguments).unwrap_or_default();
    let (connection, _) = split_target(call.target.as_deref().unwrap_or_default());
    json!({
        "message": format!("The engine stopped while `{}` was running. Nobody knows whether it ran.\n\n{}", call.name, crate::approval::shown(&arguments)),
        "toolCallId": call.id,
        "metadata": {
            "type": "tool.unknown_outcome",
            "tool": call.name,
            "connection": connection,
            "arguments": arguments,
            "risk": risk,
            "options": [
                {"label": "It ran", "value": {"outcome": "ran"}, "input": {"label": "Result for the model"}},
                {"label": "Run it again", "value": {"outcome": "again"}, "style": "danger"},
                {"label": "Report failure", "value": {"outcome": "failed"}},
            ],
        },
    })
}

/// How the arguments miss the tool's schema, if they do.
pub fn misfit(tool: &ServerTool, arguments: &Map<String, Value>) -> Option<String> {
    crate::proposal::violation(tool.input.as_ref()?, &Value::Object(arguments.clone()))
}

/// What keeps a call from being sent at all (K-2): arguments that are none, or do not fit.
pub fn input_error(session: &Session, call: &Call) -> Option<ErrorInfo> {
    let error =
        |message: String| Some(ErrorInfo { param: Some("input".to_owned()), ..ErrorInfo::new(ErrorCode::InvalidResponse, message) });
    let Some(arguments) = arguments(&call.arguments) else {
        return error(format!("the arguments of {} are not a JSON object", call.name));
    };
    let problem = misfit(tool_of(session, call)?.tool, &arguments)?;
    error(format!("the arguments of {} do not fit its schema: {problem}", call.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(annotations: Value) -> ServerTool {
        ServerTool::read(&json!({"name": "t", "annotations": annotations})).expect("a tool")
    }

    #[test]
    fn filters_only_remove_and_need_the_annotation_m4() {
        let only = |filter: Value| -> Filter { serde_json::from_value(filter).expect("a filter") };
        let (bare, read, write) = (tool(json!({})), tool(json!({"readOnlyHint": true})), tool(json!({"destructiveHint": true})));
        let careful = tool(json!({"destructiveHint": false, "idempotentHint": true}));
        for (filter, passing) in [
            (json!({}), [true, true, true, true]),
            (json!({"read_only": true}), [false, true, false, false]),
            (json!({"non_destructive": true}), [false, true, false, true]),
            (json!({"idempotent": true}), [false, true, false, true]),
            (json!({"include": ["x*"]}), [false; 4]),
            (json!({"include": ["?"], "exclude": ["t"]}), [false; 4]),
        ] {
            let filter = only(filter);
            assert_eq!([&bare, &read, &write, &careful].map(|tool| tool.passes(&filter)), passing, "{filter:?}");
        }
    }

    #[test]
    fn globs_match_whole_names_m4() {
        for (glob, name, fits) in [
            ("read_*", "read_file", true),
            ("*_file", "read_file", true),
            ("*e*i*e", "read_file", true),
            ("read", "read_file", false),
            ("?ead_file", "read_file", true),
            ("*", "", true),
            ("a*b", "acd", false),
        ] {
            assert_eq!(matches(glob, name), fits, "{glob} {name}");
        }
    }

    #[test]
    fn answers_about_an_unknown_outcome_q14() {
        assert_eq!(told(Some(&json!({"outcome": "ran", "text": "42"}))), Some(Told::Ran(Some("42".into()))));
        let wrapped = json!({"status": "resolved", "payload": {"outcome": "ran"}, "responder": {"channel": "desktop", "text": "done"}});
        assert_eq!(told(Some(&wrapped)), Some(Told::Ran(Some("done".into()))));
        assert_eq!(told(Some(&json!({"outcome": "again"}))), Some(Told::Again));
        assert_eq!(told(Some(&json!({"outcome": "failed"}))), Some(Told::Failed));
        for other in [json!({"status": "cancelled"}), json!({"outcome": "maybe"}), json!("ran"), json!({"status": "resolved"})] {
            assert_eq!(told(Some(&other)), None, "{other}");
        }
        assert_eq!(told(None), None);
    }

    #[test]
    fn risk_follows_what_is_marked_m13() {
        assert_eq!(tool(json!({})).risk(), "medium");
        assert_eq!(tool(json!({"destructiveHint": true})).risk(), "high");
        assert_eq!(tool(json!({"readOnlyHint": true})).risk(), "low");
    }
}
