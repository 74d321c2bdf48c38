//! Anthropic's Messages wire.

use holdpoint_core::message::{Content, Effort, ErrorCode, LlmRequest, LlmResponse, LlmTool, Message, Reasoning, Role, ToolCall, Usage};
use holdpoint_runtime::runner::{Delta, DeltaSink, DeltaToolCall, Failure, ModelCall};
use reqwest::Client;
use serde_json::{Map, Value, json};

use crate::StreamReader;
use crate::failure::{in_stream, retryable};
use crate::parts::{self, Part};
use crate::secret::Secret;
use crate::wire::Provider;

const NAME: &str = "The model server";
const VERSION: &str = "2023-06-01";
/// The wire wants a bound; this one every current model takes.
const DEFAULT_MAX_TOKENS: u64 = 8192;
/// The smallest thinking budget the wire takes.
const LEAST_THINKING: u64 = 1024;

/// One block of type `anthropic`.
pub struct Endpoint<'a> {
    pub llm: &'a str,
    pub base_url: &'a str,
    pub api_key: Option<&'a Secret>,
    pub cache_ttl: Option<&'a str>,
}

impl Endpoint<'_> {
    pub async fn run(&self, client: &Client, call: &ModelCall, deltas: &DeltaSink) -> Result<LlmResponse, Failure> {
        let url = format!("{}/v1/messages", self.base_url.trim_end_matches('/'));
        let body = body(&call.request, call.stream, self.cache_ttl);
        let mut request = client.post(url).header("anthropic-version", VERSION).json(&body);
        if let Some(key) = self.api_key {
            request = request.header("x-api-key", key.expose());
        }
        let provider = Provider { llm: self.llm, base_url: self.base_url, api_key: self.api_key };
        let reader = StreamReader::Anthropic(Collector::default());
        let whole = |reply: &Value| whole(reply, &call.request.model);
        provider.ask(request, reader, whole, &call.request.model, deltas).await
    }
}

fn body(request: &LlmRequest, stream: bool, cache_ttl: Option<&str>) -> Value {
    let thinking = thinking(request);
    let most = request.max_completion_tokens.unwrap_or(DEFAULT_MAX_TOKENS + thinking.budget());
    let mut body = json!({ "model": request.model, "max_tokens": most, "messages": turns(&request.messages) });
    let system = system(&request.messages);
    if !system.is_empty() {
        body["system"] = json!([parts::text(system)]);
    }
    if let Some(tools) = request.tools.as_ref().filter(|tools| !tools.is_empty()) {
        body["tools"] = tools.iter().map(tool).collect();
    }
    match thinking {
        // The wire takes no temperature beside thinking.
        Thinking::Budget(tokens) => body["thinking"] = json!({ "type": "enabled", "budget_tokens": tokens }),
        Thinking::Adaptive(effort) => {
            body["thinking"] = json!({ "type": "adaptive" });
            body["output_config"] = json!({ "effort": effort });
        }
        Thinking::Off => {
            if let Some(temperature) = request.temperature {
                body["temperature"] = json!(temperature);
            }
        }
    }
    if stream {
        body["stream"] = json!(true);
    }
    if let Some(ttl) = cache_ttl {
        mark_cached(&mut body, ttl);
    }
    body
}

/// Two marks: what never changes (tools and system prompt), and the conversation so far.
fn mark_cached(body: &mut Value, ttl: &str) {
    let mark = json!({ "type": "ephemeral", "ttl": ttl });
    let fixed = if body.get("system").is_some() { "system" } else { "tools" };
    if let Some(last) = body.get_mut(fixed).and_then(Value::as_array_mut).and_then(|blocks| blocks.last_mut()) {
        last["cache_control"] = mark.clone();
    }
    let last_turn = body["messages"].as_array_mut().and_then(|turns| turns.last_mut());
    if let Some(block) = last_turn.and_then(|turn| turn["content"].as_array_mut()).and_then(|blocks| blocks.last_mut()) {
        block["cache_control"] = mark;
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Thinking {
    Off,
    /// Models up to 4.5 take a number of tokens.
    Budget(u64),
    /// Later ones take an effort and choose for themselves.
    Adaptive(&'static str),
}

impl Thinking {
    fn budget(self) -> u64 {
        if let Self::Budget(tokens) = self { tokens } else { 0 }
    }
}

fn thinking(request: &LlmRequest) -> Thinking {
    let Some(reasoning) = &request.reasoning else { return Thinking::Off };
    let Reasoning { effort, max_tokens, enabled, .. } = reasoning;
    let asked = enabled.unwrap_or(false) || max_tokens.is_some() || effort.is_some();
    if !asked || *enabled == Some(false) || *effort == Some(Effort::None) {
        return Thinking::Off;
    }
    if !takes_budget(&request.model) {
        return Thinking::Adaptive(effort_name(effort.unwrap_or(Effort::High)));
    }
    // With a fixed budget the wire wants the thinking before a tool call repeated; the log does not keep it.
    if request.messages.last().is_some_and(|last| last.role == Role::Tool) {
        return Thinking::Off;
    }
    let wanted = max_tokens.unwrap_or_else(|| budget_of(effort.unwrap_or(Effort::Medium))).max(LEAST_THINKING);
    match request.max_completion_tokens {
        Some(most) if most <= LEAST_THINKING => Thinking::Off,
        Some(most) => Thinking::Budget(wanted.min(most - 1)),
        None => Thinking::Budget(wanted),
    }
}

fn takes_budget(model: &str) -> bool {
    ["claude-3", "-4-0", "-4-1", "-4-5", "-4-2025"].iter().any(|old| model.contains(old))
}

fn effort_name(effort: Effort) -> &'static str {
    match effort {
        Effort::Xhigh => "max",
        Effort::High => "high",
        Effort::Medium => "medium",
        Effort::Low | Effort::Minimal | Effort::None => "low",
    }
}

fn budget_of(effort: Effort) -> u64 {
    match effort {
        Effort::Xhigh => 32_768,
        Effort::High => 16_384,
        Effort::Medium => 8192,
        Effort::Low => 2048,
        Effort::Minimal | Effort::None => LEAST_THINKING,
    }
}

fn tool(tool: &LlmTool) -> Value {
    let mut sent = json!({ "name": tool.name });
    if let Some(description) = &tool.description {
        sent["description"] = json!(description);
    }
    sent["input_schema"] = tool.input.clone().unwrap_or_else(|| json!({ "type": "object", "properties": {} }));
    sent
}

/// All system messages, wherever they stand: the wire has one place for them.
fn system(messages: &[Message]) -> String {
    let texts = messages.iter().filter(|message| message.role == Role::System).map(Message::text);
    texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n")
}

/// The conversation in turns that alternate: neighbours of one side are one turn, tool results speak for the user.
fn turns(messages: &[Message]) -> Vec<Value> {
    let mut turns: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in messages {
        let (side, blocks) = match message.role {
            Role::System => continue,
            Role::User => ("user", content(message.content.as_ref())),
            Role::Tool => ("user", vec![tool_result(message)]),
            Role::Assistant => ("assistant", assistant(message)),
        };
        if blocks.is_empty() {
            continue; // the wire takes no empty turn
        }
        match turns.last_mut() {
            Some((last, into)) if *last == side => into.extend(blocks),
            _ => turns.push((side, blocks)),
        }
    }
    turns.into_iter().map(|(role, content)| json!({ "role": role, "content": content })).collect()
}

fn assistant(message: &Message) -> Vec<Value> {
    let mut blocks = content(message.content.as_ref());
    blocks.extend(message.calls().iter().enumerate().map(|(index, call)| {
        let id = if call.id.is_empty() { format!("call_{index}") } else { wire_id(&call.id) };
        json!({ "type": "tool_use", "id": id, "name": call.function.name, "input": input(&call.function.arguments) })
    }));
    blocks
}

/// The wire takes objects only; what the model once wrote otherwise is kept in words.
fn input(arguments: &str) -> Value {
    match serde_json::from_str(arguments) {
        Ok(Value::Object(object)) => Value::Object(object),
        _ if arguments.trim().is_empty() => Value::Object(Map::new()),
        _ => json!({ "malformed_arguments": arguments }),
    }
}

/// Ids given by other models may hold characters this wire refuses; the same id always becomes the same.
fn wire_id(id: &str) -> String {
    id.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' }).collect()
}

fn tool_result(message: &Message) -> Value {
    let id = wire_id(message.tool_call_id.as_deref().unwrap_or_default());
    let mut blocks = content(message.content.as_ref());
    blocks.retain(|block| block["type"] != "document");
    json!({ "type": "tool_result", "tool_use_id": id, "content": blocks })
}

fn content(content: Option<&Content>) -> Vec<Value> {
    let blocks: Vec<Value> = match content {
        None => return Vec::new(),
        Some(Content::Text(text)) => vec![parts::text(text.as_str())],
        Some(Content::Parts(given)) => given.iter().map(block).collect(),
    };
    // The wire refuses empty texts.
    blocks.into_iter().filter(|block| block["text"].as_str().is_none_or(|text| !text.is_empty())).collect()
}

fn block(part: &Value) -> Value {
    match parts::read(part) {
        Part::Text(text) => parts::text(text),
        Part::Note(note) => parts::text(note),
        Part::Image(url) => json!({ "type": "image", "source": source(&url) }),
        Part::File { name, data } => match parts::split_data(data) {
            Some(("application/pdf", _)) => json!({ "type": "document", "title": name, "source": source(data) }),
            _ => parts::text(format!("[file {name} – not shown to the model]")),
        },
    }
}

fn source(url: &str) -> Value {
    match parts::split_data(url) {
        Some((mime, data)) => json!({ "type": "base64", "media_type": mime, "data": data }),
        None => json!({ "type": "url", "url": url }),
    }
}

/// A reply that came in one piece.
fn whole(reply: &Value, model: &str) -> Result<LlmResponse, Failure> {
    if reply["type"] == "error" {
        return Err(in_stream(&reply["error"], NAME));
    }
    let mut collector = Collector::default();
    collector.start(reply);
    for (index, block) in (0u64..).zip(reply["content"].as_array().into_iter().flatten()) {
        collector.open_block(index, block);
    }
    collector.stop_reason = reply["stop_reason"].as_str().map(str::to_owned);
    collector.finish(model)
}

/// Puts a reply together from its events.
#[derive(Default)]
pub struct Collector {
    model: Option<String>,
    text: Option<String>,
    calls: Vec<PartialCall>,
    stop_reason: Option<String>,
    stopped: bool,
    usage: Map<String, Value>,
}

struct PartialCall {
    index: u64,
    id: String,
    name: String,
    arguments: String,
}

impl Collector {
    pub fn stopped(&self) -> bool {
        self.stopped
    }

    pub fn push(&mut self, event: &Value) -> Result<Option<Delta>, Failure> {
        let index = event["index"].as_u64().unwrap_or(0);
        Ok(match event["type"].as_str().unwrap_or_default() {
            "error" => return Err(in_stream(&event["error"], NAME)),
            "message_start" => {
                self.start(&event["message"]);
                None
            }
            "content_block_start" => self.open_block(index, &event["content_block"]),
            "content_block_delta" => self.extend_block(index, &event["delta"]),
            "message_delta" => {
                self.take_usage(&event["usage"]);
                self.stop_reason = event["delta"]["stop_reason"].as_str().map(str::to_owned).or(self.stop_reason.take());
                self.stop_reason.as_ref().map(|_| Delta { finish_reason: Some(self.finish_reason()), ..Delta::default() })
            }
            "message_stop" => {
                self.stopped = true;
                None
            }
            _ => None, // pings and what later versions add
        })
    }

    fn start(&mut self, message: &Value) {
        self.model = message["model"].as_str().map(str::to_owned);
        self.take_usage(&message["usage"]);
    }

    /// Later counts replace earlier ones: they are cumulative.
    fn take_usage(&mut self, usage: &Value) {
        let counts = usage.as_object().into_iter().flatten().filter(|(_, count)| !count.is_null());
        self.usage.extend(counts.map(|(name, count)| (name.clone(), count.clone())));
    }

    fn open_block(&mut self, index: u64, block: &Value) -> Option<Delta> {
        match block["type"].as_str()? {
            "text" => self.add_text(block["text"].as_str().unwrap_or_default()),
            "tool_use" => {
                let word = |key: &str| block[key].as_str().unwrap_or_default().to_owned();
                // In a stream the input is empty here and follows in pieces.
                let given = block["input"].as_object().filter(|input| !input.is_empty());
                let arguments = given.map(|_| block["input"].to_string()).unwrap_or_default();
                let call = PartialCall { index, id: word("id"), name: word("name"), arguments };
                let delta = DeltaToolCall { id: call.id.clone(), name: Some(call.name.clone()), arguments: None };
                self.calls.push(call);
                Some(Delta { tool_calls: Some(vec![delta]), ..Delta::default() })
            }
            _ => None,
        }
    }

    fn extend_block(&mut self, index: u64, delta: &Value) -> Option<Delta> {
        match delta["type"].as_str()? {
            "text_delta" => self.add_text(delta["text"].as_str()?),
            "thinking_delta" => {
                let reasoning = delta["thinking"].as_str().filter(|text| !text.is_empty())?.to_owned();
                Some(Delta { reasoning: Some(reasoning), ..Delta::default() })
            }
            "input_json_delta" => {
                let piece = delta["partial_json"].as_str().filter(|piece| !piece.is_empty())?;
                let call = self.calls.iter_mut().find(|call| call.index == index)?;
                call.arguments.push_str(piece);
                let call = DeltaToolCall { id: call.id.clone(), name: None, arguments: Some(piece.to_owned()) };
                Some(Delta { tool_calls: Some(vec![call]), ..Delta::default() })
            }
            _ => None,
        }
    }

    fn add_text(&mut self, piece: &str) -> Option<Delta> {
        if piece.is_empty() {
            return None;
        }
        self.text.get_or_insert_default().push_str(piece);
        Some(Delta { text: Some(piece.to_owned()), ..Delta::default() })
    }

    /// In the words of P-20 and P-35.
    fn finish_reason(&self) -> String {
        match self.stop_reason.as_deref() {
            Some("max_tokens" | "model_context_window_exceeded") => "length",
            Some("tool_use") => "tool_calls",
            Some("refusal") => "refusal",
            _ if !self.calls.is_empty() => "tool_calls",
            _ => "stop",
        }
        .to_owned()
    }

    pub fn finish(self, model: &str) -> Result<LlmResponse, Failure> {
        if self.stop_reason.is_none() {
            return Err(retryable(ErrorCode::ProviderError, format!("{NAME} broke off its reply before the end")));
        }
        let finish_reason = self.finish_reason();
        let whole = |call: PartialCall| {
            let arguments = if call.arguments.is_empty() { "{}".to_owned() } else { call.arguments };
            ToolCall::new(call.id, call.name, arguments)
        };
        let calls: Vec<ToolCall> = self.calls.into_iter().map(whole).collect();
        // A reply without tool calls has a text, be it empty.
        let text = self.text.or_else(|| calls.is_empty().then(String::new));
        Ok(LlmResponse {
            model: self.model.unwrap_or_else(|| model.to_owned()),
            content: text.map(Content::Text),
            tool_calls: (!calls.is_empty()).then_some(calls),
            finish_reason: Some(finish_reason),
            usage: (!self.usage.is_empty()).then(|| usage(self.usage)),
            cost: None,
            images: None,
        })
    }
}

/// P-20: `input` includes what was read from and written to the cache; the wire counts those apart.
fn usage(reported: Map<String, Value>) -> Usage {
    let count = |name: &str| reported.get(name).and_then(Value::as_u64).unwrap_or(0);
    let (cache_read, cache_write) = (count("cache_read_input_tokens"), count("cache_creation_input_tokens"));
    Usage {
        input: count("input_tokens") + cache_read + cache_write,
        output: count("output_tokens"),
        uncached_input: 0,
        cache_read,
        cache_write,
        total: 0,
        provider: Some(Value::Object(reported)),
    }
    .completed()
}
