//! The `scripted` model: replays a file of replies (P-32…P-36). It makes no request and needs no key.
//!
//! Which replies are used up is counted in the session's log, not here, so a restart changes nothing.

use std::collections::BTreeMap;
use std::time::Duration;

use holdpoint_core::message::{Content, ErrorCode, ErrorInfo, LlmRequest, LlmResponse, Message, Role, ToolCall, Usage};
use holdpoint_core::money::Money;
use holdpoint_runtime::runner::{Delta, DeltaSink, DeltaToolCall, Failure, ModelCall, ModelFailure, ModelReply};
use regex::Regex;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::{Instant, sleep, sleep_until};

use crate::failure::permanent;

/// The only version of the format there is.
const VERSION: u64 = 1;

/// A parsed script (P-33).
#[derive(Clone, Debug)]
pub struct Script {
    path: String,
    replies: Vec<Reply>,
}

/// Why a script is not usable; found when the engine starts (P-35).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {reason}")]
pub struct ScriptError {
    pub path: String,
    pub reason: String,
}

#[derive(Clone, Debug)]
struct Reply {
    condition: Condition,
    outcome: Outcome,
    delay: Duration,
    stream: Duration,
    /// 0 = no limit.
    times: u32,
}

#[derive(Clone, Debug)]
enum Outcome {
    Output(Output),
    Error(Failure),
}

#[derive(Clone, Debug)]
struct Output {
    text: Option<String>,
    tool_calls: Vec<ToolCall>,
    usage: Option<Usage>,
    cost: Option<Money>,
    finish_reason: String,
}

#[derive(Clone, Debug, Default)]
struct Condition {
    role: Option<Role>,
    equals: Option<String>,
    contains: Option<String>,
    regex: Option<Regex>,
    tool: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawScript {
    holdpoint_script: Value,
    replies: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawReply {
    #[serde(rename = "match")]
    condition: Option<Value>,
    text: Option<String>,
    tool_calls: Option<Vec<Value>>,
    #[serde(default)]
    delay_ms: u64,
    #[serde(default)]
    stream_ms: u64,
    usage: Option<Value>,
    cost: Option<Money>,
    finish_reason: Option<String>,
    error: Option<Value>,
    times: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCondition {
    role: Option<Role>,
    equals: Option<String>,
    contains: Option<String>,
    regex: Option<String>,
    tool: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawToolCall {
    id: Option<String>,
    name: String,
    arguments: Option<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
#[derive(Default)]
struct RawUsage {
    input: u64,
    output: u64,
    uncached_input: u64,
    cache_read: u64,
    cache_write: u64,
    total: u64,
    provider: Option<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawError {
    message: String,
    code: Option<String>,
    #[serde(default)]
    retryable: bool,
}

impl Script {
    /// Parses a script; `path` only names it in errors.
    pub fn parse(text: &str, path: &str) -> Result<Self, ScriptError> {
        let at = |reason: String| ScriptError { path: path.to_owned(), reason };
        let raw: RawScript = serde_json::from_str(text).map_err(|error| at(error.to_string()))?;
        if raw.holdpoint_script.as_u64() != Some(VERSION) {
            return Err(at(format!("holdpoint_script: version {} is not known, this engine reads {VERSION}", raw.holdpoint_script)));
        }
        let replies = raw.replies.into_iter().enumerate();
        let replies = replies.map(|(index, reply)| parse_reply(reply, &format!("replies[{index}]")).map_err(at));
        Ok(Self { path: path.to_owned(), replies: replies.collect::<Result<_, _>>()? })
    }

    /// P-34: the first reply in order that is not used up and whose `match` holds.
    fn choose(&self, request: &LlmRequest, used: &BTreeMap<u32, u32>) -> Option<(u32, &Reply)> {
        (0u32..).zip(&self.replies).find(|(index, reply)| {
            let left = reply.times == 0 || used.get(index).copied().unwrap_or(0) < reply.times;
            left && reply.condition.holds(request)
        })
    }

    /// Plays one attempt. Dropping the future is how it is cancelled.
    pub(crate) async fn play(&self, call: &ModelCall, deltas: &DeltaSink) -> Result<ModelReply, ModelFailure> {
        let Some((index, reply)) = self.choose(&call.request, &call.script_used) else {
            let message = format!("The script {} has no reply left that matches", self.path);
            return Err(ModelFailure { failure: permanent(ErrorCode::ProviderError, message), script_reply: None });
        };
        pause(reply.delay).await;
        match &reply.outcome {
            Outcome::Error(failure) => Err(ModelFailure { failure: failure.clone(), script_reply: Some(index) }),
            Outcome::Output(output) => {
                if call.stream {
                    output.stream(reply.stream, deltas).await;
                } else {
                    pause(reply.stream).await;
                }
                Ok(ModelReply { response: output.response(&call.request.model), script_reply: Some(index) })
            }
        }
    }
}

async fn pause(time: Duration) {
    if !time.is_zero() {
        sleep(time).await;
    }
}

impl Output {
    async fn stream(&self, over: Duration, deltas: &DeltaSink) {
        let start = Instant::now();
        let pieces = pieces(self.text.as_deref().unwrap_or_default(), over);
        let count = pieces.len().max(1) as u32;
        for (done, piece) in (1u32..).zip(pieces) {
            if !over.is_zero() {
                sleep_until(start + over * done / count).await;
            }
            deltas.send(Delta { text: Some(piece.to_owned()), ..Delta::default() });
        }
        for (index, call) in self.tool_calls.iter().enumerate() {
            let id = if call.id.is_empty() { format!("#{index}") } else { call.id.clone() };
            let call = DeltaToolCall { id, name: Some(call.function.name.clone()), arguments: Some(call.function.arguments.clone()) };
            deltas.send(Delta { tool_calls: Some(vec![call]), ..Delta::default() });
        }
        deltas.send(Delta { finish_reason: Some(self.finish_reason.clone()), ..Delta::default() });
    }

    fn response(&self, model: &str) -> LlmResponse {
        LlmResponse {
            model: scripted_name(model),
            content: self.text.clone().map(Content::Text),
            tool_calls: (!self.tool_calls.is_empty()).then(|| self.tool_calls.clone()),
            finish_reason: Some(self.finish_reason.clone()),
            usage: self.usage.clone(),
            cost: self.cost,
            images: None,
        }
    }
}

/// The model's name wherever it is shown (P-32, Q-44).
pub fn scripted_name(model: &str) -> String {
    format!("scripted/{model}")
}

/// The text in words, or whole when there is no time to spread it over. The pieces join to the text.
fn pieces(text: &str, over: Duration) -> Vec<&str> {
    match text {
        "" => Vec::new(),
        text if over.is_zero() => vec![text],
        text => text.split_inclusive(char::is_whitespace).collect(),
    }
}

impl Condition {
    /// P-34: every given condition holds for the last message.
    fn holds(&self, request: &LlmRequest) -> bool {
        let Some(last) = request.messages.last() else {
            return self.is_empty();
        };
        let text = last.text();
        self.role.is_none_or(|role| role == last.role)
            && self.equals.as_ref().is_none_or(|wanted| *wanted == text)
            && self.contains.as_ref().is_none_or(|wanted| text.contains(wanted))
            && self.regex.as_ref().is_none_or(|wanted| wanted.is_match(&text))
            && self.tool.as_ref().is_none_or(|wanted| answered_tool(request, last) == Some(wanted))
    }

    fn is_empty(&self) -> bool {
        let Self { role, equals, contains, regex, tool } = self;
        role.is_none() && equals.is_none() && contains.is_none() && regex.is_none() && tool.is_none()
    }
}

/// The name of the tool whose call `message` answers: the latest call with its id counts.
fn answered_tool<'a>(request: &'a LlmRequest, message: &'a Message) -> Option<&'a str> {
    let id = message.tool_call_id.as_deref().filter(|_| message.role == Role::Tool)?;
    let calls = request.messages.iter().rev().flat_map(Message::calls);
    let asked = calls.into_iter().find(|call| call.id == id);
    asked.map(|call| call.function.name.as_str()).or(message.name.as_deref())
}

fn parse_reply(raw: Value, at: &str) -> Result<Reply, String> {
    let raw: RawReply = read(raw, at)?;
    Ok(Reply {
        condition: raw.condition.clone().map(|value| parse_condition(value, &format!("{at}.match"))).transpose()?.unwrap_or_default(),
        delay: Duration::from_millis(raw.delay_ms),
        stream: Duration::from_millis(raw.stream_ms),
        times: raw.times.unwrap_or(1),
        outcome: parse_outcome(raw, at)?,
    })
}

fn parse_outcome(raw: RawReply, at: &str) -> Result<Outcome, String> {
    if let Some(error) = raw.error {
        if raw.text.is_some() || raw.tool_calls.is_some() {
            return Err(format!("{at}: `error` stands instead of `text` and `tool_calls`, not beside them"));
        }
        return parse_error(error, &format!("{at}.error")).map(Outcome::Error);
    }
    let calls = raw.tool_calls.unwrap_or_default().into_iter().enumerate();
    let tool_calls: Vec<ToolCall> =
        calls.map(|(index, call)| parse_call(call, &format!("{at}.tool_calls[{index}]"))).collect::<Result<_, _>>()?;
    let finish = if tool_calls.is_empty() { "stop" } else { "tool_calls" };
    Ok(Outcome::Output(Output {
        text: raw.text,
        usage: raw.usage.map(|value| parse_usage(value, &format!("{at}.usage"))).transpose()?,
        cost: raw.cost,
        finish_reason: raw.finish_reason.unwrap_or_else(|| finish.to_owned()),
        tool_calls,
    }))
}

fn parse_condition(raw: Value, at: &str) -> Result<Condition, String> {
    let raw: RawCondition = read(raw, at)?;
    let regex = raw.regex.map(|text| Regex::new(&text).map_err(|error| format!("{at}.regex: {error}"))).transpose()?;
    Ok(Condition { role: raw.role, equals: raw.equals, contains: raw.contains, regex, tool: raw.tool })
}

fn parse_call(raw: Value, at: &str) -> Result<ToolCall, String> {
    let raw: RawToolCall = read(raw, at)?;
    let arguments = match raw.arguments {
        None => "{}".to_owned(),
        Some(Value::String(text)) => text,
        Some(object @ Value::Object(_)) => object.to_string(),
        Some(other) => return Err(format!("{at}.arguments: {other} is neither an object nor a string")),
    };
    Ok(ToolCall::new(raw.id.unwrap_or_default(), raw.name, arguments))
}

fn parse_usage(raw: Value, at: &str) -> Result<Usage, String> {
    let RawUsage { input, output, uncached_input, cache_read, cache_write, total, provider } = read(raw, at)?;
    Ok(Usage { input, output, uncached_input, cache_read, cache_write, total, provider }.completed())
}

fn parse_error(raw: Value, at: &str) -> Result<Failure, String> {
    let raw: RawError = read(raw, at)?;
    let mut error = ErrorInfo::new(ErrorCode::ProviderError, raw.message);
    if let Some(code) = raw.code {
        error.code = code;
    }
    Ok(Failure { error, retryable: raw.retryable, retry_after_ms: None })
}

fn read<T: DeserializeOwned>(value: Value, at: &str) -> Result<T, String> {
    serde_json::from_value(value).map_err(|error| format!("{at}: {error}"))
}
