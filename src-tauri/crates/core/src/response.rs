//! The decider's answer (§3.2, §3.4): parsing with every check of P-7, so that nothing of a malformed one is applied.

use serde_json::{Map, Value, json};

use crate::delegate::Asked;
use crate::engine_config::EngineConfig;
use crate::id::{CallId, InterruptId, MessageId, SessionId};
use crate::message::{AgentConfig, Content, ErrorCode, ErrorInfo, Handler, LlmResponse, LlmTool, Message, Reasoning, Role, ToolResult};
use crate::retry::RetryOverride;
use crate::state::{Decision, Session};
use crate::tree::Ix;

/// A view against the tree: the node it shares last, and what is new behind it (T-3).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct View {
    pub after: Option<Ix>,
    pub news: Vec<Message>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Response {
    pub view: Option<View>,
    pub actions: Vec<Action>,
    pub state: Option<Value>,
    pub agent: Option<AgentConfig>,
    pub channels: Option<Map<String, Value>>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct LlmCallAction {
    pub id: Option<CallId>,
    pub llm: Option<String>,
    pub model: Option<String>,
    pub messages: Option<Vec<Message>>,
    pub tools: Option<Vec<LlmTool>>,
    pub temperature: Option<f64>,
    pub max_completion_tokens: Option<u64>,
    pub reasoning: Option<Reasoning>,
    pub stream: Option<bool>,
    pub retry: Option<RetryOverride>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    LlmCall(LlmCallAction),
    ToolCall { id: Option<CallId>, name: String, arguments: String, retry: Option<RetryOverride> },
    ToolResult { id: CallId, attempt: Option<u32>, result: ToolResult },
    ToolError { id: CallId, attempt: Option<u32>, error: ErrorInfo, retryable: bool },
    LlmResult { id: CallId, attempt: Option<u32>, response: LlmResponse },
    LlmError { id: CallId, attempt: Option<u32>, error: ErrorInfo, retryable: bool },
    SubagentSpawn { call: CallId, asked: Asked, retry: Option<RetryOverride> },
    MessageSend { session_id: SessionId, message: Message },
    Interrupt { id: Option<InterruptId>, reason: String, payload: Option<Value> },
    Resolve { id: InterruptId, payload: Option<Value> },
    ConnectorSync { path: String },
    Done { data: Option<Value> },
    Fail { error: ErrorInfo },
}

/// Parses a raw answer to `decision`. The error says what is malformed (P-7).
pub fn parse(value: &Value, session: &Session, decision: &Decision, config: &EngineConfig, strict: bool) -> Result<Response, String> {
    let object = value.as_object().ok_or("a decision response is a JSON object")?;
    let mut response = Response::default();
    for (key, value) in object {
        match key.as_str() {
            "messages" if value.is_null() => {}
            "messages" => {
                let messages: Vec<Message> = parse_as(value, "messages")?;
                response.view = Some(plan(session, messages, Matching::Strict));
            }
            "actions" if value.is_null() => {}
            "actions" => {
                let list = value.as_array().ok_or("actions is a list")?;
                let parser = Parser { session, decision, strict };
                response.actions = list.iter().map(|action| parser.action(action)).collect::<Result<_, _>>()?;
            }
            "state" => response.state = Some(value.clone()).filter(|state| !state.is_null()),
            "agent" if value.is_null() => {}
            "agent" => response.agent = Some(parse_agent(value, config)?),
            "channels" if value.is_null() => {}
            "channels" => response.channels = Some(value.as_object().ok_or("channels is a map")?.clone()),
            "session_id" | "decision_id" if strict => {}
            other => return Err(format!("a decision response has no member `{other}`")),
        }
    }
    check_calls(&response, session, config, strict)?;
    Ok(response)
}

fn parse_agent(value: &Value, config: &EngineConfig) -> Result<AgentConfig, String> {
    let mut agent: AgentConfig = parse_as(value, "agent")?;
    crate::connector::expand_plugins(&mut agent, config).map_err(|problem| format!("agent.{problem}"))?;
    if let Some(tool) = agent.tools.iter().flatten().find(|tool| tool.handler == Some(Handler::Server)) {
        return Err(format!("tool `{}` declares handler \"server\", which is the engine's own", tool.name));
    }
    if let Some(llm) = agent.llm.as_ref().filter(|llm| !config.llms.contains_key(*llm)) {
        return Err(format!("agent.llm names `{llm}`, and the configuration has no such block"));
    }
    crate::connector::check(&agent, config).map_err(|problem| format!("agent.{problem}"))?;
    Ok(agent)
}

/// `llm.call` needs a model and a known block, by the config that will hold where it is made.
pub fn check_calls(response: &Response, session: &Session, config: &EngineConfig, strict: bool) -> Result<(), String> {
    let leaf = response.view.as_ref().map_or(session.tree.head(), |view| view.after);
    let agent = response.agent.as_ref().or_else(|| session.config_at(leaf));
    for action in &response.actions {
        let Action::LlmCall(call) = action else { continue };
        if call.model.is_none() && (strict || agent.is_none()) {
            return Err("llm.call names no model, and there is no configuration to take it from".to_owned());
        }
        let llm = call.llm.as_ref().or_else(|| agent.and_then(|a| a.llm.as_ref()));
        match llm {
            None => return Err("llm.call names no model block (`llm`), and the configuration has none".to_owned()),
            Some(llm) if !config.llms.contains_key(llm) => {
                return Err(format!("llm.call names the model block `{llm}`, which is not in the configuration"));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

fn parse_as<T: serde::de::DeserializeOwned>(value: &Value, what: &str) -> Result<T, String> {
    serde_json::from_value(value.clone()).map_err(|problem| format!("{what}: {problem}"))
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Matching {
    /// A decider's view.
    Strict,
    /// A client's view: system messages are the client's own and do not count (P-10).
    Client,
}

/// T-2, T-3: the longest leading run of recorded nodes. N-10: a recorded tool answer is recognised under any id, and answers to calls
/// of one reply in any order.
pub fn plan(session: &Session, messages: Vec<Message>, matching: Matching) -> View {
    let tree = &session.tree;
    let mut view = View::default();
    let mut own: Vec<Message> = Vec::new();
    let mut at = 0;
    while let Some(message) = messages.get(at) {
        let by_id = message.id.as_ref().and_then(|id| tree.find(id.as_str()));
        if matching == Matching::Client && message.role == Role::System && by_id.is_none() {
            own.push(message.clone());
            at += 1;
            continue;
        }
        let same = by_id.filter(|ix| tree.node(*ix).parent == view.after);
        let same = same.or_else(|| message.tool_call_id.as_ref().and_then(|call| tree.answer_below(view.after, call)));
        if let Some(ix) = same {
            view.after = Some(ix);
            at += 1;
            continue;
        }
        let run: Vec<&Message> = messages[at..].iter().take_while(|m| m.role == Role::Tool).collect();
        let answers: Vec<&str> = run.iter().filter_map(|m| m.tool_call_id.as_deref()).collect();
        let found = tree.answers_below(view.after, &answers);
        let Some(end) = found.last() else { break };
        view.after = Some(*end);
        let known: Vec<Option<&str>> = found.iter().map(|ix| tree.node(*ix).message.tool_call_id.as_deref()).collect();
        let news = run.iter().filter(|m| !known.contains(&m.tool_call_id.as_deref()));
        view.news.extend(news.map(|m| (*m).clone()));
        at += run.len();
        if !view.news.is_empty() {
            break;
        }
    }
    view.news.extend(messages.into_iter().skip(at));
    if view.after.is_none() {
        // Nothing is recorded of this view: the decider sees the client's system messages where they stood.
        view.news.splice(0..0, own);
    }
    view
}

struct Parser<'a> {
    session: &'a Session,
    decision: &'a Decision,
    /// `/workers/submit`: settles need an id (§14).
    strict: bool,
}

impl Parser<'_> {
    fn action(&self, value: &Value) -> Result<Action, String> {
        let object = value.as_object().ok_or("an action is an object")?;
        let kind = object.get("type").and_then(Value::as_str).ok_or("an action has a `type`")?;
        let fields = Fields { kind, object };
        match kind {
            "llm.call" => llm_call(&fields).map(Action::LlmCall),
            "tool.call" => {
                fields.only(&["id", "name", "arguments", "retry"])?;
                let arguments = match object.get("arguments") {
                    None | Some(Value::Null) => "{}".to_owned(),
                    Some(Value::String(text)) => text.clone(),
                    Some(value @ Value::Object(_)) => value.to_string(),
                    Some(_) => return Err("tool.call: arguments is a string of JSON or an object".to_owned()),
                };
                Ok(Action::ToolCall {
                    id: fields.given_id("id")?.map(CallId::from),
                    name: fields.need("name")?,
                    arguments,
                    retry: fields.get("retry")?,
                })
            }
            "tool.result" => {
                fields.only(&["id", "attempt", "result", "content", "structured_content", "is_error"])?;
                let (id, attempt) = self.settled_call(&fields, "tool.execute")?;
                Ok(Action::ToolResult { id, attempt, result: tool_result(object)? })
            }
            "tool.error" => {
                fields.only(&["id", "attempt", "error", "retryable", "code", "detail"])?;
                let (id, attempt) = self.settled_call(&fields, "tool.execute")?;
                Ok(Action::ToolError { id, attempt, error: error_info(&fields)?, retryable: fields.get("retryable")?.unwrap_or(false) })
            }
            "llm.result" => {
                fields.only(&["id", "attempt", "response"])?;
                let (id, attempt) = self.settled_call(&fields, "llm.execute")?;
                Ok(Action::LlmResult { id, attempt, response: llm_response(object.get("response"))? })
            }
            "llm.error" => {
                fields.only(&["id", "attempt", "error", "retryable", "code", "detail"])?;
                let (id, attempt) = self.settled_call(&fields, "llm.execute")?;
                Ok(Action::LlmError { id, attempt, error: error_info(&fields)?, retryable: fields.get("retryable")?.unwrap_or(false) })
            }
            "subagent.spawn" => {
                fields.only(&["session_id", "agent_id", "tool_call_id", "message", "retry", "mode"])?;
                let mode: Option<String> = fields.get("mode")?;
                if mode.as_ref().is_some_and(|mode| !["blocking", "detached", "wait"].contains(&mode.as_str())) {
                    return Err("subagent.spawn: mode is \"blocking\", \"detached\" or \"wait\"".to_owned());
                }
                if mode.as_deref() == Some("wait") && fields.get::<SessionId>("session_id")?.is_none() {
                    return Err("subagent.spawn: mode \"wait\" needs the `session_id` that is waited for".to_owned());
                }
                let asked = Asked {
                    agent_id: fields.need("agent_id")?,
                    message: fields.get("message")?,
                    session_id: fields.get("session_id")?,
                    mode,
                };
                let call = fields.given_id("tool_call_id")?.ok_or("subagent.spawn needs `tool_call_id`")?;
                Ok(Action::SubagentSpawn { call: call.into(), asked, retry: fields.get("retry")? })
            }
            "message.send" => {
                fields.only(&["session_id", "message"])?;
                Ok(Action::MessageSend { session_id: fields.need::<SessionId>("session_id")?, message: fields.need("message")? })
            }
            "interrupt" => {
                fields.only(&["interrupt_id", "reason", "payload"])?;
                let reason: String = fields.need("reason")?;
                if reason.is_empty() {
                    return Err("interrupt: reason is empty".to_owned());
                }
                let id = fields.given_id("interrupt_id")?.map(InterruptId::from);
                Ok(Action::Interrupt { id, reason, payload: object.get("payload").cloned() })
            }
            "interrupt.resolve" => {
                fields.only(&["interrupt_id", "payload"])?;
                Ok(Action::Resolve { id: fields.need::<InterruptId>("interrupt_id")?, payload: object.get("payload").cloned() })
            }
            "connector.sync" => {
                fields.only(&["path"])?;
                Ok(Action::ConnectorSync { path: fields.need("path")? })
            }
            "done" => {
                fields.only(&["data"])?;
                Ok(Action::Done { data: object.get("data").cloned() })
            }
            "fail" => {
                fields.only(&["error"])?;
                Ok(Action::Fail { error: fail_error(object.get("error"))? })
            }
            other => Err(format!("there is no action `{other}`")),
        }
    }

    /// K-11, I-38: a settle without id ends the call that was handed out, or the one the interrupt remembers.
    fn settled_call(&self, fields: &Fields, execute: &str) -> Result<(CallId, Option<u32>), String> {
        let attempt: Option<u32> = fields.get("attempt")?;
        if let Some(id) = fields.get::<CallId>("id")? {
            return Ok((id, attempt));
        }
        if self.strict {
            return Err(format!("{} needs an `id` here", fields.kind));
        }
        let trigger = &self.decision.trigger;
        if trigger.is_execute() && trigger.kind() == execute {
            let own = match trigger {
                crate::decision::Trigger::ToolExecute { attempt, .. } | crate::decision::Trigger::LlmExecute { attempt, .. } => *attempt,
                _ => 1,
            };
            if let Some(id) = trigger.call() {
                return Ok((id.clone(), attempt.or(Some(own))));
            }
        }
        if let Some(call) = remembered_call(self.session, self.decision).filter(|_| execute == "tool.execute") {
            return Ok((call.id, attempt.or(Some(call.attempt))));
        }
        Err(format!("{} names no call, and this decision hands none out", fields.kind))
    }
}

/// I-38, Q-6: the call whose `tool.execute` the interrupt answered here was raised from.
pub fn remembered_call(session: &Session, decision: &Decision) -> Option<crate::event::CallRef> {
    match &decision.trigger {
        crate::decision::Trigger::InterruptResumed { interrupt_id, .. } => session.closed.get(interrupt_id)?.interrupt.call.clone(),
        _ => None,
    }
}

struct Fields<'a> {
    kind: &'a str,
    object: &'a Map<String, Value>,
}

impl Fields<'_> {
    fn only(&self, known: &[&str]) -> Result<(), String> {
        match self.object.keys().find(|key| *key != "type" && !known.contains(&key.as_str())) {
            Some(key) => Err(format!("{} has no field `{key}`", self.kind)),
            None => Ok(()),
        }
    }
    fn get<T: serde::de::DeserializeOwned>(&self, key: &str) -> Result<Option<T>, String> {
        match self.object.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => parse_as(value, &format!("{}: {key}", self.kind)).map(Some),
        }
    }
    fn need<T: serde::de::DeserializeOwned>(&self, key: &str) -> Result<T, String> {
        self.get(key)?.ok_or_else(|| format!("{} needs `{key}`", self.kind))
    }
    fn given_id(&self, key: &str) -> Result<Option<String>, String> {
        match self.get::<String>(key)? {
            Some(id) if !crate::id::is_given_id(&id) => Err(format!("{}: {key} has 1 to 200 characters", self.kind)),
            id => Ok(id),
        }
    }
}

fn llm_call(fields: &Fields) -> Result<LlmCallAction, String> {
    let known = ["id", "llm", "model", "messages", "tools", "temperature", "max_completion_tokens", "reasoning", "stream", "retry"];
    fields.only(&known)?;
    Ok(LlmCallAction {
        id: fields.given_id("id")?.map(CallId::from),
        llm: fields.get("llm")?,
        model: fields.get("model")?,
        messages: fields.get("messages")?,
        tools: fields.get("tools")?,
        temperature: fields.get("temperature")?,
        max_completion_tokens: fields.get("max_completion_tokens")?,
        reasoning: fields.get("reasoning")?,
        stream: fields.get("stream")?,
        retry: fields.get("retry")?,
    })
}

/// A withheld `llm.call` as its question kept it (I-80). Bare, should it not read back.
pub fn withheld_call(kept: Option<&Value>) -> LlmCallAction {
    let object = kept.and_then(Value::as_object);
    object.and_then(|object| llm_call(&Fields { kind: "llm.call", object }).ok()).unwrap_or_default()
}

/// One of `result` and `content` (P-7).
pub fn tool_result(object: &Map<String, Value>) -> Result<ToolResult, String> {
    let short = ["content", "structured_content", "is_error"].iter().any(|key| object.get(*key).is_some_and(|v| !v.is_null()));
    match object.get("result").filter(|value| !value.is_null()) {
        Some(_) if short => Err("tool.result: give `result` or `content`, not both".to_owned()),
        Some(result) => parse_as(result, "tool.result: result"),
        None if object.get("content").is_none_or(Value::is_null) && object.get("structured_content").is_none_or(Value::is_null) => {
            Err("tool.result needs `result` or `content`".to_owned())
        }
        None => {
            let mut whole = json!({"content": object.get("content").cloned().filter(|v| !v.is_null()).unwrap_or_else(|| json!([]))});
            if let Some(value) = object.get("structured_content").filter(|v| !v.is_null()) {
                whole["structuredContent"] = value.clone();
            }
            if let Some(value) = object.get("is_error").filter(|v| !v.is_null()) {
                whole["isError"] = value.clone();
            }
            parse_as(&whole, "tool.result")
        }
    }
}

/// A message with a code, `handler_error` where none was given (K-18); an ErrorInfo object is taken whole.
fn error_info(fields: &Fields) -> Result<ErrorInfo, String> {
    let code: Option<String> = fields.get("code")?;
    let detail: Option<Value> = fields.get("detail")?;
    let mut error = match fields.object.get("error") {
        Some(Value::String(message)) => ErrorInfo::new(ErrorCode::HandlerError, message.clone()),
        Some(value @ Value::Object(_)) => fail_error(Some(value))?,
        _ => return Err(format!("{} needs `error`, the text of what went wrong", fields.kind)),
    };
    if let Some(code) = code {
        error.code = code;
    }
    error.detail = detail.or(error.detail);
    Ok(error)
}

fn fail_error(value: Option<&Value>) -> Result<ErrorInfo, String> {
    match value {
        Some(Value::String(message)) => Ok(ErrorInfo::new(ErrorCode::HandlerError, message.clone())),
        Some(Value::Object(object)) => {
            let message = object.get("message").and_then(Value::as_str).ok_or("error needs a `message`")?;
            let mut error = ErrorInfo::new(ErrorCode::HandlerError, message);
            if let Some(code) = object.get("code").and_then(Value::as_str) {
                code.clone_into(&mut error.code);
            }
            error.param = object.get("param").and_then(Value::as_str).map(str::to_owned);
            error.detail = object.get("detail").filter(|v| !v.is_null()).cloned();
            Ok(error)
        }
        _ => Err("fail needs `error` with a `message`".to_owned()),
    }
}

/// P-7: "a bad model response".
pub fn llm_response(value: Option<&Value>) -> Result<LlmResponse, String> {
    let value = value.ok_or("llm.result needs `response`")?;
    let mut response: LlmResponse = parse_as(value, "llm.result: response")?;
    response.usage = response.usage.map(crate::message::Usage::completed);
    if let Some(Content::Parts(parts)) = &response.content
        && parts.iter().any(|part| !part.is_object())
    {
        return Err("llm.result: content is a string or a list of parts".to_owned());
    }
    Ok(response)
}

/// The answer as the wire has it: `messages` is the whole active view.
pub fn to_json(response: &Response, session: &Session) -> Value {
    let mut out = Map::new();
    if let Some(view) = &response.view {
        let path = session.tree.path(view.after);
        let known = path.iter().map(|ix| json!(*session.tree.node(*ix).message));
        out.insert("messages".into(), known.chain(view.news.iter().map(|message| json!(message))).collect());
    }
    if !response.actions.is_empty() {
        out.insert("actions".into(), response.actions.iter().map(action_json).collect());
    }
    if let Some(agent) = &response.agent {
        out.insert("agent".into(), json!(agent));
    }
    if let Some(state) = &response.state {
        out.insert("state".into(), state.clone());
    }
    Value::Object(out)
}

pub(crate) fn action_json(action: &Action) -> Value {
    let mut out = match action {
        Action::LlmCall(call) => json!({
            "type": "llm.call", "id": call.id, "llm": call.llm, "model": call.model, "messages": call.messages, "tools": call.tools,
            "temperature": call.temperature, "max_completion_tokens": call.max_completion_tokens, "reasoning": call.reasoning,
            "stream": call.stream, "retry": call.retry,
        }),
        Action::ToolCall { id, name, arguments, retry } => {
            json!({"type": "tool.call", "id": id, "name": name, "arguments": arguments, "retry": retry})
        }
        Action::ToolResult { id, attempt, result } => json!({"type": "tool.result", "id": id, "attempt": attempt, "result": result}),
        Action::ToolError { id, attempt, error, retryable } => json!({
            "type": "tool.error", "id": id, "attempt": attempt, "error": error.message, "code": error.code, "detail": error.detail,
            "retryable": retryable,
        }),
        Action::LlmResult { id, attempt, response } => json!({"type": "llm.result", "id": id, "attempt": attempt, "response": response}),
        Action::LlmError { id, attempt, error, retryable } => json!({
            "type": "llm.error", "id": id, "attempt": attempt, "error": error.message, "code": error.code, "detail": error.detail,
            "retryable": retryable,
        }),
        Action::SubagentSpawn { call, asked, retry } => json!({
            "type": "subagent.spawn", "session_id": asked.session_id, "agent_id": asked.agent_id, "tool_call_id": call,
            "message": asked.message, "retry": retry, "mode": asked.mode,
        }),
        Action::MessageSend { session_id, message } => json!({"type": "message.send", "session_id": session_id, "message": message}),
        Action::Interrupt { id, reason, payload } => {
            let mut value = json!({"type": "interrupt", "reason": reason});
            if let Some(id) = id {
                value["interrupt_id"] = json!(id);
            }
            if let Some(payload) = payload {
                value["payload"] = payload.clone();
            }
            return value;
        }
        Action::Resolve { id, payload } => json!({"type": "interrupt.resolve", "interrupt_id": id, "payload": payload}),
        Action::ConnectorSync { path } => json!({"type": "connector.sync", "path": path}),
        Action::Done { data } => match data {
            Some(data) => return json!({"type": "done", "data": data}),
            None => json!({"type": "done"}),
        },
        Action::Fail { error } => json!({"type": "fail", "error": error}),
    };
    if let Value::Object(map) = &mut out {
        map.retain(|_, value| !value.is_null());
    }
    out
}

/// A fresh message id where a draft or a repeated id needs one (T-4, P-18).
pub fn needs_id(session: &Session, id: Option<&MessageId>) -> bool {
    id.is_none_or(|id| session.tree.find(id.as_str()).is_some())
}
