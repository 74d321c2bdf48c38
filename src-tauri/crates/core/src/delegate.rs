//! Subagents (§8): which agents an agent may call, as which tools, how deep, and the ids of the sessions this makes.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::engine_config::EngineConfig;
use crate::event::CallKind;
use crate::id::{CallId, DecisionId, SessionId, TurnId, ulid};
use crate::message::{AgentConfig, ErrorCode, ErrorInfo, LlmTool};
use crate::state::{Call, Session};
use crate::time::Millis;

/// Name of the one tool of the strategy `single` (S-9).
const SINGLE: &str = "subagent";
/// Name of the tool that collects what a detached delegate found (S-11).
pub const WAIT: &str = "subagent_wait";
/// The mode of such a call: no work is handed over, a turn that was is waited for (S-10).
pub const WAITING: &str = "wait";

/// An entry of `subagents`.
#[derive(Clone, Debug, PartialEq)]
pub struct Delegate {
    pub agent_id: String,
    /// The tool's name: the agent id behind the entry's prefix.
    pub tool: String,
    pub mode: Option<String>,
    /// K-10.
    pub defer: Option<bool>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Entry {
    Path(String),
    Full {
        id: String,
        #[serde(default)]
        prefix: Option<String>,
        #[serde(default)]
        mode: Option<String>,
        #[serde(default)]
        defer: Option<bool>,
    },
}

/// Q-30: entries name agents by path, `agent.<id>`.
pub fn delegates(config: &AgentConfig) -> Vec<Delegate> {
    let entries: Vec<Entry> = config.other.get("subagents").and_then(|list| serde_json::from_value(list.clone()).ok()).unwrap_or_default();
    entries
        .into_iter()
        .map(|entry| {
            let (id, prefix, mode, defer) = match entry {
                Entry::Path(id) => (id, None, None, None),
                Entry::Full { id, prefix, mode, defer } => (id, prefix, mode, defer),
            };
            let agent_id = id.strip_prefix("agent.").unwrap_or(&id).to_owned();
            let tool = prefix.map_or_else(|| agent_id.clone(), |prefix| format!("{prefix}{agent_id}"));
            Delegate { agent_id, tool, mode, defer }
        })
        .collect()
}

/// Names under which the model may call this agent's delegates (M-5).
pub fn tool_names(config: &AgentConfig) -> Vec<String> {
    let list = delegates(config);
    let wait = offers_wait(config).then(|| WAIT.to_owned());
    let own = if is_single(config) && !list.is_empty() { vec![SINGLE.to_owned()] } else { list.into_iter().map(|d| d.tool).collect() };
    own.into_iter().chain(wait).collect()
}

fn wait_setting(config: &AgentConfig) -> Option<bool> {
    config.other.get("subagent_tools").and_then(|tools| tools["wait"].as_bool()).filter(|_| !delegates(config).is_empty())
}

/// Whether the model is shown [`WAIT`].
fn offers_wait(config: &AgentConfig) -> bool {
    wait_setting(config) == Some(true)
}

/// K-10. The one tool of the strategy `single` is deferred when every delegate behind it is.
pub fn is_deferred(config: &AgentConfig, tool: &str) -> bool {
    if tool == WAIT && offers_wait(config) {
        return false;
    }
    let single = is_single(config);
    let mut behind = delegates(config).into_iter().filter(|d| single || d.tool == tool);
    behind.all(|d| crate::deferred::is_deferred(config, d.defer))
}

fn is_single(config: &AgentConfig) -> bool {
    config.other.get("subagent_tools").is_some_and(|tools| tools["strategy"] == "single")
}

/// S-8: the agent's own limit wins over the engine's.
pub fn depth_limit(config: &AgentConfig, engine: &EngineConfig) -> u32 {
    config.other.get("max_subagent_depth").and_then(Value::as_u64).map_or(engine.max_subagent_depth, |own| own as u32)
}

/// The tools the model sees for its delegates (S-1, S-9). None at the depth limit (S-8).
pub fn tools(session: &Session, config: &AgentConfig, engine: &EngineConfig) -> Vec<LlmTool> {
    let delegates = delegates(config);
    if delegates.is_empty() || session.ancestry.len() as u32 >= depth_limit(config, engine) {
        return Vec::new();
    }
    let about = |id: &str| engine.agents.get(id).and_then(|spec| spec.description.clone());
    let schema = |names: Option<Vec<&str>>| {
        let mut properties = json!({
            "message": {"type": "string", "description": "What the agent is to do, with everything it needs to know."},
            "session": {"type": "string", "description": "Session of an earlier call, to go on with it."},
            "mode": {"type": "string", "enum": ["blocking", "detached"]},
        });
        let mut required = vec!["message"];
        if let Some(names) = names {
            properties["agent"] = json!({"type": "string", "enum": names});
            required.push("agent");
        }
        json!({"type": "object", "properties": properties, "required": required})
    };
    let wait = offers_wait(config).then(wait_tool);
    if is_single(config) {
        let names: Vec<&str> = delegates.iter().map(|d| d.agent_id.as_str()).collect();
        let lines = names.iter().filter_map(|id| about(id).map(|text| format!("{id}: {text}")));
        let description = ["Hands a task to another agent.".to_owned()].into_iter().chain(lines).collect::<Vec<_>>().join("\n");
        let one = LlmTool { name: SINGLE.to_owned(), description: Some(description), input: Some(schema(Some(names))), output: None };
        return [one].into_iter().chain(wait).collect();
    }
    let each = delegates.iter().map(|d| LlmTool {
        name: d.tool.clone(),
        description: about(&d.agent_id),
        input: Some(schema(None)),
        output: None,
    });
    each.chain(wait).collect()
}

fn wait_tool() -> LlmTool {
    let session = json!({"type": "string", "description": "The session that the detached call was answered with."});
    LlmTool {
        name: WAIT.to_owned(),
        description: Some("Waits for an agent that works detached, and returns its result.".to_owned()),
        input: Some(json!({"type": "object", "properties": {"session": session}, "required": ["session"]})),
        output: None,
    }
}

/// Those of them that are in model requests.
pub fn shown(session: &Session, config: &AgentConfig, engine: &EngineConfig) -> Vec<LlmTool> {
    tools(session, config, engine).into_iter().filter(|tool| !is_deferred(config, &tool.name)).collect()
}

/// A model's tool call read as a delegation. `None`: it is none.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    pub agent_id: String,
    pub message: Option<String>,
    pub session_id: Option<SessionId>,
    pub mode: Option<String>,
}

impl Asked {
    /// A wait for the turn of a detached call, whatever modes the config allows for work: none is handed over.
    pub fn is_wait(&self) -> bool {
        self.agent_id == WAIT || (self.mode.as_deref() == Some(WAITING) && self.session_id.is_some())
    }

    /// A wait names a session; here it gets the agent of that session.
    #[must_use]
    pub fn with_agent_of(mut self, session: &Session) -> Self {
        let of = |call: &&Call| call.kind == CallKind::Subagent && call.child.is_some() && call.child == self.session_id;
        if self.agent_id == WAIT
            && let Some(call) = session.calls.iter().find(of)
        {
            self.agent_id.clone_from(&call.name);
        }
        self
    }
}

pub fn asked(config: &AgentConfig, name: &str, arguments: &str) -> Option<Asked> {
    let list = delegates(config);
    let arguments: Value = serde_json::from_str(arguments).unwrap_or(Value::Null);
    let text = |key: &str| arguments[key].as_str().map(str::to_owned);
    // A model that knows of it may wait, shown the tool or not, unless it is switched off.
    if name == WAIT && config.tool(WAIT).is_none() && !list.is_empty() && wait_setting(config) != Some(false) {
        let (session_id, mode) = (text("session").map(SessionId::from), Some(WAITING.to_owned()));
        return Some(Asked { agent_id: WAIT.to_owned(), message: None, session_id, mode });
    }
    let agent_id = if is_single(config) && name == SINGLE && !list.is_empty() {
        text("agent").unwrap_or_default()
    } else {
        list.iter().find(|d| d.tool == name).filter(|_| !is_single(config))?.agent_id.clone()
    };
    Some(Asked { agent_id, message: text("message"), session_id: text("session").map(SessionId::from), mode: text("mode") })
}

/// S-10: the entry wins over the agent, both win over the model's choice.
pub fn mode(config: Option<&AgentConfig>, agent_id: &str, wanted: Option<&str>) -> String {
    let entry = config.map(delegates).unwrap_or_default().into_iter().find(|d| d.agent_id == agent_id).and_then(|d| d.mode);
    let own = config.and_then(|c| c.other.get("subagent_mode")).and_then(Value::as_str).map(str::to_owned);
    let fixed = entry.or(own).filter(|mode| mode != "any");
    fixed.or_else(|| wanted.map(str::to_owned)).filter(|mode| mode == "detached").unwrap_or_else(|| "blocking".to_owned())
}

/// S-3: the same spawn always names the same child.
pub fn child_id(parent: &Session, decision: &DecisionId, queued_at: Millis, call: &CallId) -> SessionId {
    format!("sesn_{}", ulid(queued_at, random_of(&format!("{}\n{decision}\n{call}\n", parent.id)))).into()
}

/// The turn of its child that a delegation is about: the one it opens or, of a wait, the one that the detached call opened.
pub fn turn_of(parent: &Session, call: &Call) -> TurnId {
    let about = waited_for(parent, call).unwrap_or(call);
    child_turn(&parent.id, &about.id, about.requested_at)
}

/// The detached call whose result a wait collects: the last one to that session.
pub fn waited_for<'a>(session: &'a Session, wait: &Call) -> Option<&'a Call> {
    let child = wait.child.as_ref().filter(|_| wait.mode == WAITING)?;
    let calls = session.calls.iter().filter(|call| call.kind == CallKind::Subagent);
    calls.take_while(|call| call.id != wait.id).filter(|call| call.mode == "detached" && call.child.as_ref() == Some(child)).last()
}

/// Whether a call on the active branch waits for this detached one: its result is then told there, and by no message (S-11).
pub fn is_waited_for(session: &Session, detached: &CallId) -> bool {
    let mut waits = session.open_calls().filter(|call| call.kind == CallKind::Subagent && session.is_active(call.anchor));
    waits.any(|wait| waited_for(session, wait).is_some_and(|call| call.id == *detached))
}

/// The turn a delegation opens in its child: made of the call, so that handing it over twice opens one turn (N-3).
fn child_turn(parent: &SessionId, call: &CallId, at: Millis) -> TurnId {
    format!("turn_{}", ulid(at, random_of(&format!("{parent}\n{call}\nturn\n")))).into()
}

/// Id of the message that tells a detached result (S-11).
pub fn result_id(parent: &SessionId, call: &CallId) -> crate::id::MessageId {
    format!("msg_{}", ulid(Millis(0), random_of(&format!("{parent}\n{call}\nresult\n")))).into()
}

/// S-11. Attribute values are ids, the text is the agent's own.
pub fn result_message(agent_id: &str, child: &SessionId, data: Option<&Value>, error: Option<&ErrorInfo>) -> String {
    let text = match (error, data) {
        (Some(error), _) => error.message.clone(),
        (None, Some(Value::String(text))) => text.clone(),
        (None, data) => data.map(Value::to_string).unwrap_or_default(),
    };
    let failed = if error.is_some() { " error=\"true\"" } else { "" };
    format!("<subagent_result agent=\"{agent_id}\" session=\"{child}\"{failed}>{text}</subagent_result>")
}

/// The first 80 bits of the SHA-256.
fn random_of(text: &str) -> u128 {
    let digest = crate::json::sha256(text.as_bytes());
    let mut random = [0u8; 16];
    random[6..].copy_from_slice(&digest[..10]);
    u128::from_be_bytes(random)
}

/// Why a delegation reaches no child (S-7, S-8, S-18), if so.
pub fn refusal(session: &Session, engine: &EngineConfig, asked: &Asked) -> Option<ErrorInfo> {
    let unroutable = |message: String| Some(ErrorInfo::new(ErrorCode::Unroutable, message));
    if asked.is_wait() {
        return wait_refusal(session, asked);
    }
    let config = session.config();
    let limit = config.map_or(engine.max_subagent_depth, |config| depth_limit(config, engine));
    if session.ancestry.len() as u32 >= limit {
        let message = format!("delegation stops at depth {limit}: this agent may not call another one");
        return Some(ErrorInfo::new(ErrorCode::BudgetExceeded, message));
    }
    if !engine.agents.contains_key(&asked.agent_id) {
        return unroutable(format!("there is no agent named {}", asked.agent_id));
    }
    if asked.message.as_ref().is_none_or(String::is_empty) {
        let error = ErrorInfo::new(ErrorCode::InvalidResponse, format!("{} was called without a message", asked.agent_id));
        return Some(ErrorInfo { param: Some("input".to_owned()), ..error });
    }
    let child = asked.session_id.as_ref()?;
    let calls = || calls_of(session, child).filter(|call| call.mode != WAITING);
    let Some(last) = calls().next_back().filter(|_| calls().any(|call| call.name == asked.agent_id && call.reached)) else {
        return unroutable(format!("{child} is no session of {} that this one started", asked.agent_id));
    };
    if last.status.is_open() || is_waited_for(session, &last.id) {
        return Some(ErrorInfo::new(ErrorCode::HandlerError, format!("{child} is still busy with an earlier task")));
    }
    let stopped = last.status == crate::state::CallStatus::Voided || last.error.as_ref().is_some_and(|e| e.is(ErrorCode::Cancelled));
    if stopped {
        return unroutable(format!("{child} was cancelled and cannot be continued"));
    }
    None
}

fn calls_of<'a>(session: &'a Session, child: &'a SessionId) -> impl DoubleEndedIterator<Item = &'a Call> {
    session.calls.iter().filter(move |call| call.kind == CallKind::Subagent && call.child.as_ref() == Some(child))
}

/// Why there is nothing to wait for, if so.
fn wait_refusal(session: &Session, asked: &Asked) -> Option<ErrorInfo> {
    let Some(child) = &asked.session_id else {
        let error = ErrorInfo::new(ErrorCode::InvalidResponse, format!("{WAIT} was called without a session"));
        return Some(ErrorInfo { param: Some("input".to_owned()), ..error });
    };
    if !calls_of(session, child).any(|call| call.name == asked.agent_id && call.reached) {
        return Some(ErrorInfo::new(ErrorCode::Unroutable, format!("{child} is no session that this one started")));
    }
    let last = calls_of(session, child).rfind(|call| call.mode == "detached");
    let message = match last.filter(|call| session.detached.contains(&call.id)) {
        None => format!("nothing of {child} is waited for: its result was told, or is waited for by the call that it works for"),
        Some(call) if is_waited_for(session, &call.id) => format!("{child} is waited for already"),
        Some(_) => return None,
    };
    Some(ErrorInfo::new(ErrorCode::HandlerError, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(other: Value) -> AgentConfig {
        let mut whole = json!({"model": "m"});
        for (key, value) in other.as_object().into_iter().flatten() {
            whole[key] = value.clone();
        }
        serde_json::from_value(whole).expect("a config")
    }

    #[test]
    fn a_tool_call_named_after_an_agent_is_a_delegation_s1_s9() {
        let each = config(json!({"subagents": ["agent.helper", {"id": "agent.scout", "prefix": "ask_"}]}));
        let asked_of = asked(&each, "helper", r#"{"message": "go", "session": "sesn_x"}"#).expect("helper is an agent");
        assert_eq!((asked_of.agent_id.as_str(), asked_of.message.as_deref()), ("helper", Some("go")));
        assert_eq!(asked_of.session_id, Some("sesn_x".into()));
        assert_eq!(asked(&each, "ask_scout", "{}").map(|a| a.agent_id), Some("scout".into()));
        assert_eq!(asked(&each, "scout", "{}"), None);
        let single = config(json!({"subagents": ["agent.helper"], "subagent_tools": {"strategy": "single"}}));
        assert_eq!(asked(&single, "subagent", r#"{"agent": "helper", "message": "go"}"#).map(|a| a.agent_id), Some("helper".into()));
        assert_eq!(asked(&single, "helper", "{}"), None);
    }

    #[test]
    fn the_entry_fixes_the_mode_over_agent_and_model_s10() {
        let both = config(
            json!({"subagents": [{"id": "agent.a", "mode": "blocking"}, "agent.b", {"id": "agent.c", "mode": "any"}], "subagent_mode": "detached"}),
        );
        assert_eq!(mode(Some(&both), "a", Some("detached")), "blocking");
        assert_eq!(mode(Some(&both), "b", Some("blocking")), "detached");
        assert_eq!(mode(Some(&both), "c", None), "blocking", "the entry says any, so the model's choice, by default blocking");
    }
}
