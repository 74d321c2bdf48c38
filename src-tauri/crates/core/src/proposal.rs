//! The engine's plan for each trigger (§3.3). A decider may return it unchanged; an agent without a worker always does.

use serde_json::{Value, json};

use crate::budget;
use crate::decision::{ClientInfo, ToolInput, Trigger};
use crate::engine_config::EngineConfig;
use crate::event::CallKind;
use crate::id::CallId;
use crate::message::{AgentConfig, Content, ErrorCode, ErrorInfo, Handler, Message, Role};
use crate::prompt::Prompt;
use crate::response::{Action, LlmCallAction, Response, View, withheld_call};
use crate::retry::{RetryOverride, RetryPolicy};
use crate::state::{Decision, LlmDetail, Session};
use crate::tree::Ix;

/// Reason of an interrupt raised for an agent without config (I-68).
pub const UNCONFIGURED: &str = "agent_unconfigured";

pub fn propose(session: &Session, decision: &Decision, config: &EngineConfig) -> Response {
    crate::authorization::first(session, decision, config, plan(session, decision, config))
}

fn plan(session: &Session, decision: &Decision, config: &EngineConfig) -> Response {
    match &decision.trigger {
        Trigger::SessionStart {} => {
            let agent = config.agents.get(&session.agent_id).and_then(|spec| spec.config.clone());
            Response { agent, ..Response::default() }
        }
        Trigger::ClientMessages { messages, client, stream, after, append } => {
            let after = if *append { session.tree.head() } else { after.as_ref().and_then(|id| session.tree.find(id.as_str())) };
            client_messages(session, after, messages, client.as_ref(), *stream)
        }
        Trigger::ToolExecute { id, name, input, attempt, .. } => tool_execute(session, id, name, input, *attempt),
        Trigger::ToolFinished { id, result, error, .. } => {
            let content = match (result, error) {
                (Some(result), _) => result.for_model(),
                (None, Some(error)) => Content::Text(error.message.clone()),
                (None, None) => Content::Text(String::new()),
            };
            tool_finished(session, CallKind::ToolCall, id, content)
        }
        Trigger::SubagentFinished { id, session_id, result, error, .. } => {
            let text = delegate_text(session_id, result.as_ref(), error.as_ref());
            tool_finished(session, CallKind::Subagent, id, Content::Text(text))
        }
        Trigger::LlmFinished { message, truncated, refused, error, ok, .. } => {
            llm_finished(session, *ok, message.as_ref(), *truncated, *refused, error.as_ref())
        }
        Trigger::InterruptResumed { interrupt_id, .. } => interrupt_resumed(session, decision, interrupt_id.as_str()),
        Trigger::TurnFinished { data, .. } => actions(vec![Action::Done { data: data.clone() }]),
        Trigger::LlmExecute { .. } | Trigger::ClientAction { .. } => Response::default(),
    }
}

fn actions(actions: Vec<Action>) -> Response {
    Response { actions, ..Response::default() }
}

/// P-10.
fn client_messages(
    session: &Session,
    after: Option<Ix>,
    messages: &[Message],
    client: Option<&ClientInfo>,
    stream: Option<bool>,
) -> Response {
    let news: Vec<Message> = messages.iter().filter(|m| m.role != Role::System).cloned().collect();
    let nothing_to_say = news.is_empty() && after.is_some_and(|leaf| ends_with_reply(session, leaf));
    let config = session.config_at(after);
    let action = if config.is_none() {
        unconfigured()
    } else if nothing_to_say {
        Action::Done { data: None }
    } else {
        Action::LlmCall(LlmCallAction { stream, ..LlmCallAction::default() })
    };
    Response {
        view: Some(View { after, news }),
        agent: config.and_then(|config| with_client_tools(session, config, client)),
        ..actions(vec![action])
    }
}

fn unconfigured() -> Action {
    Action::Interrupt { id: None, reason: UNCONFIGURED.to_owned(), payload: Some(json!({"type": "agent.unconfigured"})) }
}

/// An assistant message none of whose tool calls waits for an answer.
fn ends_with_reply(session: &Session, leaf: Ix) -> bool {
    let message = &session.tree.node(leaf).message;
    message.role == Role::Assistant && message.calls().is_empty()
}

/// K-7: the submit's tools join the config for this turn, those of the submit before leave it. `None`: no change.
fn with_client_tools(session: &Session, config: &AgentConfig, client: Option<&ClientInfo>) -> Option<AgentConfig> {
    let given = client.and_then(|client| client.tools.as_ref()).map(Vec::as_slice).unwrap_or_default();
    if given.is_empty() && session.client_tools.is_empty() {
        return None;
    }
    let mut next = config.clone();
    let mut tools = next.tools.take().unwrap_or_default();
    tools.retain(|tool| !(tool.handler == Some(Handler::Client) && session.client_tools.contains(&tool.name)));
    let mut taken = crate::delegate::tool_names(config);
    taken.extend(crate::deferred::own_names(config).iter().map(|name| (*name).to_owned()));
    for tool in given.iter().filter(|tool| !taken.contains(&tool.name)) {
        if !tools.iter().any(|known| known.name == tool.name) {
            tools.push(crate::message::AgentTool { handler: Some(Handler::Client), ..tool.clone() });
        }
    }
    next.tools = Some(tools).filter(|tools| !tools.is_empty() || config.tools.is_some());
    (next != *config).then_some(next)
}

/// K-2: an undeclared tool, or arguments its schema does not take, is answered at once.
fn tool_execute(session: &Session, id: &CallId, name: &str, input: &ToolInput, attempt: u32) -> Response {
    let declared = session.config().is_some_and(|config| config.tool(name).is_some());
    let error = match input {
        _ if !declared => ErrorInfo::new(ErrorCode::Unroutable, format!("there is no tool named {name}")),
        ToolInput::Invalid { error, .. } | ToolInput::Malformed { error } => {
            ErrorInfo { param: Some("input".to_owned()), ..ErrorInfo::new(ErrorCode::InvalidResponse, error.clone()) }
        }
        ToolInput::Valid { .. } => return Response::default(),
    };
    actions(vec![Action::ToolError { id: id.clone(), attempt: Some(attempt), error, retryable: false }])
}

/// Records the tool message and, when nothing else is pending, prompts the model again (P-11, Q-12).
fn tool_finished(session: &Session, kind: CallKind, id: &CallId, content: Content) -> Response {
    let head = session.tree.head();
    let asked = session.asked_in.get(id.as_str()).copied();
    let recorded = asked.is_none() || session.tree.path(head).iter().any(|ix| answers(session, *ix, id));
    let news = if recorded { Vec::new() } else { vec![Message::tool(id, content)] };
    let others = session.awaited().any(|call| !(call.kind == kind && &call.id == id));
    let prompt = (!others).then(|| Action::LlmCall(continuation(session, asked, &news)));
    Response { view: (!news.is_empty()).then_some(View { after: head, news }), ..actions(prompt.into_iter().collect()) }
}

fn answers(session: &Session, ix: Ix, call: &CallId) -> bool {
    let message = &session.tree.node(ix).message;
    message.role == Role::Tool && message.tool_call_id.as_deref() == Some(call.as_str())
}

/// P-11: block, model, tools, sampling and retry of the call whose reply asked, over its prompt and all recorded since.
pub(crate) fn continuation(session: &Session, asked: Option<Ix>, news: &[Message]) -> LlmCallAction {
    let reply = asked.map(|ix| session.tree.node(ix).id.clone());
    let source = reply.and_then(|id| session.call(CallKind::LlmCall, &CallId::from(id.as_str())));
    let Some((call, llm)) = source.and_then(|call| Some((call, call.llm.as_ref()?))) else { return LlmCallAction::default() };
    let request = &llm.request;
    let now = session.config_index_at(session.tree.head()).map(|index| index as u32);
    let tools = request.tools.clone().or_else(|| {
        let changed = request.config.is_some() && request.config != now;
        changed.then(|| request.config_tools(session))
    });
    LlmCallAction {
        id: None,
        llm: Some(llm.block.clone()),
        model: Some(request.model.clone()),
        messages: given_prompt(session, call.anchor, llm, news),
        tools,
        temperature: request.temperature,
        max_completion_tokens: request.max_completion_tokens,
        reasoning: request.reasoning.clone(),
        stream: Some(llm.stream),
        retry: Some(as_override(&call.retry)),
    }
}

fn given_prompt(session: &Session, anchor: Option<Ix>, llm: &LlmDetail, news: &[Message]) -> Option<Vec<Message>> {
    let Prompt::Given(given) = &llm.request.prompt else { return None };
    let path = session.tree.path(session.tree.head());
    let from = anchor.and_then(|anchor| path.iter().position(|ix| *ix == anchor)).map_or(0, |at| at + 1);
    let since = path[from..].iter().map(|ix| (*session.tree.node(*ix).message).clone());
    Some(given.iter().cloned().chain(since).chain(news.iter().cloned()).collect())
}

fn as_override(policy: &RetryPolicy) -> RetryOverride {
    RetryOverride {
        queue_timeout_secs: policy.queue_timeout_secs,
        run_timeout_secs: policy.run_timeout_secs,
        total_timeout_secs: policy.total_timeout_secs,
        max_attempts: Some(policy.max_attempts),
        backoff_base_secs: Some(policy.backoff_base_secs),
        backoff_max_secs: Some(policy.backoff_max_secs),
    }
}

/// P-12.
fn llm_finished(
    session: &Session,
    ok: bool,
    message: Option<&Message>,
    truncated: bool,
    refused: bool,
    error: Option<&ErrorInfo>,
) -> Response {
    let failure = match (error, message) {
        (Some(error), _) => Some(error.clone()),
        _ if truncated => Some(ErrorInfo::new(ErrorCode::InvalidResponse, "the model's reply was cut off at its length limit")),
        _ if refused => Some(ErrorInfo::new(ErrorCode::Refused, "the model refused to answer")),
        (None, None) => Some(ErrorInfo::new(ErrorCode::ProviderError, "the model call failed")),
        _ if !ok => Some(ErrorInfo::new(ErrorCode::ProviderError, "the model call failed")),
        _ => None,
    };
    if let Some(error) = failure {
        return actions(vec![Action::Fail { error }]);
    }
    let Some(message) = message else { return Response::default() };
    if let Some(question) = crate::approval::first_question(session, message) {
        // M-12: the reply is recorded, none of its calls.
        return Response { view: Some(View { after: session.tree.head(), news: vec![message.clone()] }), ..actions(vec![question]) };
    }
    let wanted: Vec<Action> = message.calls().iter().map(|call| wanted_action(session, call)).collect();
    let done = || vec![Action::Done { data: message.content.as_ref().map(|content| json!(content)) }];
    Response {
        view: Some(View { after: session.tree.head(), news: vec![message.clone()] }),
        ..actions(if wanted.is_empty() { done() } else { wanted })
    }
}

/// What the model reads of a delegation (S-5).
pub fn delegate_text(session_id: &crate::id::SessionId, result: Option<&Value>, error: Option<&ErrorInfo>) -> String {
    match error {
        Some(error) => error.message.clone(),
        None => json!({"session": session_id, "result": result}).to_string(),
    }
}

/// A tool call, or a delegation when the tool is an agent (S-1).
pub(crate) fn wanted_action(session: &Session, call: &crate::message::ToolCall) -> Action {
    let id = CallId::from(call.id.as_str());
    let (name, arguments) = match session.config() {
        Some(config) => crate::deferred::meant(config, &call.function.name, &call.function.arguments),
        None => (call.function.name.clone(), call.function.arguments.clone()),
    };
    match session.config().and_then(|config| crate::delegate::asked(config, &name, &arguments)) {
        Some(asked) => Action::SubagentSpawn { call: id, asked: asked.with_agent_of(session), retry: None },
        None => Action::ToolCall { id: Some(id), name, arguments, retry: None },
    }
}

/// I-37, I-39, I-68, I-76.
fn interrupt_resumed(session: &Session, decision: &Decision, interrupt_id: &str) -> Response {
    if decision.turn_id.is_none() {
        return Response::default();
    }
    let reason = session.closed.get(interrupt_id).map(|closed| closed.interrupt.reason.as_str());
    if reason == Some(UNCONFIGURED) && session.config().is_none() {
        return actions(vec![unconfigured()]);
    }
    let question = session.closed.get(interrupt_id).filter(|closed| closed.interrupt.reason == budget::REASON);
    if let Some(question) = question {
        return actions(vec![after_budget(question)]);
    }
    let later = session
        .decisions
        .iter()
        .any(|d| d.id != decision.id && matches!(d.trigger, Trigger::InterruptResumed { .. }) && session.is_active(d.anchor));
    if let Some(response) = crate::approval::go_on(session, interrupt_id, later) {
        return response;
    }
    if let Some(response) = crate::authorization::go_on(session, interrupt_id, later) {
        return response;
    }
    // A message or reply that the pause held back leads to the model by itself, as the end of a call does.
    let held_back = session
        .decisions
        .iter()
        .any(|d| d.turn_id == decision.turn_id && matches!(d.trigger, Trigger::ClientMessages { .. } | Trigger::LlmFinished { .. }));
    if later || held_back || session.pending_calls() > 0 || session.config().is_none() {
        return Response::default();
    }
    let asked = crate::authorization::results_for(session, interrupt_id);
    actions(vec![Action::LlmCall(continuation(session, asked, &[]))])
}

/// I-80: the withheld call, or the end.
fn after_budget(question: &crate::state::ClosedInterrupt) -> Action {
    if budget::approves(question.payload.as_ref()) {
        let metadata = question.interrupt.payload.as_ref().and_then(|payload| payload.get("metadata"));
        return Action::LlmCall(withheld_call(metadata.and_then(|metadata| metadata.get("call"))));
    }
    Action::Fail { error: ErrorInfo::new(ErrorCode::BudgetExceeded, "the budget is used up, and nobody allowed more") }
}

/// P-14: the arguments against the tool's input schema.
pub fn check_input(config: Option<&AgentConfig>, name: &str, arguments: &str) -> ToolInput {
    let value: Value = match serde_json::from_str(if arguments.trim().is_empty() { "{}" } else { arguments }) {
        Ok(value @ Value::Object(_)) => value,
        Ok(_) => return ToolInput::Malformed { error: format!("the arguments of {name} are not a JSON object") },
        Err(problem) => return ToolInput::Malformed { error: format!("the arguments of {name} are not JSON: {problem}") },
    };
    let schema = config.and_then(|config| config.tool(name)).and_then(|tool| tool.input.as_ref());
    match schema.map(|schema| violation(schema, &value)) {
        Some(Some(problem)) => ToolInput::Invalid { value, error: format!("the arguments of {name} do not fit its schema: {problem}") },
        _ => ToolInput::Valid { value },
    }
}

/// As [`violation`], without the value that was given: the model does not see it (K-3).
pub fn masked_violation(schema: &Value, value: &Value) -> Option<String> {
    let validator = jsonschema::validator_for(schema).ok()?;
    let problem = validator.iter_errors(value).next()?;
    let at = problem.instance_path().to_string();
    let problem = problem.masked_with("it");
    Some(if at.is_empty() { problem.to_string() } else { format!("{at}: {problem}") })
}

/// The first violation, with its place. A schema that is itself broken checks nothing.
pub fn violation(schema: &Value, value: &Value) -> Option<String> {
    let validator = jsonschema::validator_for(schema).ok()?;
    let problem = validator.iter_errors(value).next()?;
    let at = problem.instance_path().to_string();
    Some(if at.is_empty() { problem.to_string() } else { format!("{at}: {problem}") })
}
