//! OpenAI's chat completions, as many servers speak it. Strict in what is sent, lenient in what is read.

use holdpoint_core::message::{Content, Effort, ErrorCode, LlmRequest, LlmResponse, LlmTool, Message, Role, ToolCall, Usage};
use holdpoint_core::money::Money;
use holdpoint_runtime::runner::{Delta, DeltaSink, DeltaToolCall, Failure, ModelCall};
use reqwest::Client;
use serde_json::{Map, Value, json};

use crate::StreamReader;
use crate::failure::{in_stream, retryable};
use crate::parts::{self, Part};
use crate::secret::Secret;
use crate::wire::Provider;

const NAME: &str = "The model server";

/// One block of type `openai` or `openrouter`.
pub struct Endpoint<'a> {
    pub llm: &'a str,
    pub base_url: &'a str,
    pub api_key: Option<&'a Secret>,
    /// OpenRouter: the usage holds the price, and reasoning is asked for with an object.
    pub priced: bool,
}

impl Endpoint<'_> {
    pub async fn run(&self, client: &Client, call: &ModelCall, deltas: &DeltaSink) -> Result<LlmResponse, Failure> {
        let url = format!("{}/chat/completions", self.base_url.trim_end_matches('/'));
        let mut request = client.post(url).json(&self.body(&call.request, call.stream));
        if let Some(key) = self.api_key {
            request = request.bearer_auth(key.expose());
        }
        let provider = Provider { llm: self.llm, base_url: self.base_url, api_key: self.api_key };
        let reader = StreamReader::OpenAi(Collector::new(self.priced));
        let whole = |reply: &Value| whole(reply, &call.request.model, self.priced);
        provider.ask(request, reader, whole, &call.request.model, deltas).await
    }

    fn body(&self, request: &LlmRequest, stream: bool) -> Value {
        let mut body = json!({
            "model": request.model,
            "messages": request.messages.iter().map(message).collect::<Vec<_>>(),
        });
        let mut set = |key: &str, value: Value| body[key] = value;
        if let Some(tools) = request.tools.as_ref().filter(|tools| !tools.is_empty()) {
            set("tools", tools.iter().map(tool).collect());
        }
        if let Some(temperature) = request.temperature {
            set("temperature", json!(temperature));
        }
        if let Some(most) = request.max_completion_tokens {
            set("max_completion_tokens", json!(most));
        }
        if let Some(reasoning) = &request.reasoning {
            if self.priced {
                set("reasoning", json!(reasoning));
            } else if let Some(effort) = reasoning.effort {
                set("reasoning_effort", json!(effort));
            } else if reasoning.enabled == Some(false) {
                set("reasoning_effort", json!(Effort::None));
            }
        }
        if self.priced {
            set("usage", json!({ "include": true }));
        }
        if stream {
            set("stream", json!(true));
            set("stream_options", json!({ "include_usage": true }));
        }
        body
    }
}

fn tool(tool: &LlmTool) -> Value {
    let mut function = json!({ "name": tool.name });
    if let Some(description) = &tool.description {
        function["description"] = json!(description);
    }
    function["parameters"] = tool.input.clone().unwrap_or_else(|| json!({ "type": "object", "properties": {} }));
    json!({ "type": "function", "function": function })
}

fn message(message: &Message) -> Value {
    let mut sent = Map::new();
    sent.insert("role".to_owned(), json!(message.role));
    sent.insert("content".to_owned(), message.content.as_ref().map_or(Value::Null, |content| self::content(content, message.role)));
    if !message.calls().is_empty() {
        let calls = message.calls().iter().enumerate().map(|(index, call)| sent_call(index, call));
        sent.insert("tool_calls".to_owned(), calls.collect());
    }
    if let Some(id) = &message.tool_call_id {
        sent.insert("tool_call_id".to_owned(), json!(id));
    }
    if let Some(name) = message.name.as_ref().filter(|_| message.role != Role::Tool) {
        sent.insert("name".to_owned(), json!(name));
    }
    Value::Object(sent)
}

fn sent_call(index: usize, call: &ToolCall) -> Value {
    let id = if call.id.is_empty() { format!("call_{index}") } else { call.id.clone() };
    let arguments = if call.function.arguments.is_empty() { "{}" } else { &call.function.arguments };
    json!({ "id": id, "type": "function", "function": { "name": call.function.name, "arguments": arguments } })
}

/// Only a user's message may hold pictures and files on this wire.
fn content(content: &Content, role: Role) -> Value {
    let given = match content {
        Content::Text(text) => return json!(text),
        Content::Parts(parts) => parts,
    };
    let known = |part: &Value| matches!(part["type"].as_str(), Some("file" | "input_audio" | "video_url"));
    if role != Role::User {
        return given.iter().map(in_words).collect::<Vec<_>>().join("\n").into();
    }
    let part = |part: &Value| match parts::read(part) {
        _ if known(part) => part.clone(),
        Part::Text(text) => parts::text(text),
        Part::Image(url) => json!({ "type": "image_url", "image_url": { "url": url } }),
        Part::File { name, data } => json!({ "type": "file", "file": { "filename": name, "file_data": data } }),
        Part::Note(note) => parts::text(note),
    };
    given.iter().map(part).collect()
}

fn in_words(part: &Value) -> String {
    match parts::read(part) {
        Part::Text(text) => text.to_owned(),
        Part::Note(note) => note,
        Part::Image(_) => "[image – not shown to the model]".to_owned(),
        Part::File { name, .. } => format!("[file {name} – not shown to the model]"),
    }
}

/// A reply that came in one piece.
fn whole(reply: &Value, model: &str, priced: bool) -> Result<LlmResponse, Failure> {
    let mut collector = Collector::new(priced);
    collector.push(reply)?;
    collector.finish(model)
}

/// Puts a reply together from its chunks; a whole reply counts as one chunk.
#[derive(Default)]
pub struct Collector {
    priced: bool,
    model: Option<String>,
    text: Option<String>,
    refusal: String,
    calls: Vec<PartialCall>,
    images: Vec<Value>,
    finish: Option<String>,
    usage: Option<Value>,
}

#[derive(Default)]
struct PartialCall {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

impl Collector {
    pub fn new(priced: bool) -> Self {
        Self { priced, ..Self::default() }
    }

    pub fn push(&mut self, chunk: &Value) -> Result<Option<Delta>, Failure> {
        if let Some(error) = chunk.get("error").filter(|error| !error.is_null()) {
            return Err(in_stream(error, NAME));
        }
        if let Some(model) = chunk["model"].as_str().filter(|model| !model.is_empty()) {
            self.model = Some(model.to_owned());
        }
        if chunk["usage"].is_object() {
            self.usage = Some(chunk["usage"].clone());
        }
        let choice = &chunk["choices"][0];
        let piece = if choice["delta"].is_object() { &choice["delta"] } else { &choice["message"] };
        let mut delta = self.take_piece(piece);
        if let Some(reason) = choice["finish_reason"].as_str() {
            self.finish = Some(reason.to_owned());
            delta.finish_reason = Some(self.finish_reason());
        }
        Ok((delta != Delta::default()).then_some(delta))
    }

    fn take_piece(&mut self, piece: &Value) -> Delta {
        let text = piece["content"].as_str().map(str::to_owned).or_else(|| joined(&piece["content"]));
        if let Some(text) = &text {
            self.text.get_or_insert_default().push_str(text);
        }
        self.refusal.push_str(piece["refusal"].as_str().unwrap_or_default());
        let images = piece["images"].as_array().into_iter().flatten();
        self.images.extend(images.filter_map(|image| image["image_url"]["url"].as_str()).map(|url| json!({ "url": url })));
        let calls: Vec<DeltaToolCall> = piece["tool_calls"].as_array().into_iter().flatten().map(|call| self.take_call(call)).collect();
        let reasoning = piece["reasoning_content"].as_str().or(piece["reasoning"].as_str());
        Delta {
            text: text.filter(|text| !text.is_empty()),
            reasoning: reasoning.filter(|text| !text.is_empty()).map(str::to_owned),
            tool_calls: (!calls.is_empty()).then_some(calls),
            finish_reason: None,
        }
    }

    fn take_call(&mut self, piece: &Value) -> DeltaToolCall {
        let id = piece["id"].as_str().unwrap_or_default();
        let name = piece["function"]["name"].as_str().unwrap_or_default();
        let position = self.position(piece["index"].as_u64(), id, name);
        let arguments = match &piece["function"]["arguments"] {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            object => object.to_string(), // some servers send the object itself
        };
        let call = &mut self.calls[position];
        let named = call.name.is_empty() && !name.is_empty();
        if call.id.is_empty() {
            id.clone_into(&mut call.id);
        }
        if named {
            name.clone_into(&mut call.name);
        }
        call.arguments.push_str(&arguments);
        DeltaToolCall {
            id: if call.id.is_empty() { format!("#{position}") } else { call.id.clone() },
            name: named.then(|| name.to_owned()),
            arguments: (!arguments.is_empty()).then_some(arguments),
        }
    }

    /// Which call a fragment belongs to: by index; without one by id; a fragment with neither that names a function
    /// opens a call, any other goes on with the last.
    fn position(&mut self, index: Option<u64>, id: &str, name: &str) -> usize {
        let found = match index {
            Some(index) => self.calls.iter().rposition(|call| call.index == Some(index)),
            None if !id.is_empty() => self.calls.iter().position(|call| call.id == id),
            None if name.is_empty() => self.calls.len().checked_sub(1),
            None => None,
        };
        // Whole calls that all claim the same index are still different calls.
        let found = found.filter(|&at| id.is_empty() || self.calls[at].id.is_empty() || self.calls[at].id == id);
        found.unwrap_or_else(|| {
            self.calls.push(PartialCall { index, ..PartialCall::default() });
            self.calls.len() - 1
        })
    }

    /// In the words of P-20 and P-35.
    fn finish_reason(&self) -> String {
        if !self.refusal.is_empty() {
            return "refusal".to_owned();
        }
        match self.finish.as_deref() {
            Some("stop" | "function_call" | "") | None if !self.calls.is_empty() => "tool_calls".to_owned(),
            Some("max_tokens") => "length".to_owned(),
            Some("") | None => "stop".to_owned(),
            Some(other) => other.to_owned(),
        }
    }

    pub fn finish(self, model: &str) -> Result<LlmResponse, Failure> {
        if self.finish.is_none() {
            return Err(retryable(ErrorCode::ProviderError, format!("{NAME} broke off its reply before the end")));
        }
        let cost = self.usage.as_ref().filter(|_| self.priced).and_then(|usage| Money::parse(&usage["cost"].as_number()?.to_string()));
        let finish_reason = self.finish_reason();
        let text = if self.refusal.is_empty() { self.text } else { Some(self.refusal) };
        let calls: Vec<ToolCall> = self.calls.into_iter().map(|call| ToolCall::new(call.id, call.name, call.arguments)).collect();
        Ok(LlmResponse {
            model: self.model.unwrap_or_else(|| model.to_owned()),
            // An empty text beside tool calls says nothing.
            content: text.filter(|text| calls.is_empty() || !text.is_empty()).map(Content::Text),
            tool_calls: (!calls.is_empty()).then_some(calls),
            finish_reason: Some(finish_reason),
            usage: self.usage.map(usage),
            cost,
            images: (!self.images.is_empty()).then_some(self.images),
        })
    }
}

/// The text of a `content` given as parts.
fn joined(content: &Value) -> Option<String> {
    let parts = content.as_array()?;
    Some(parts.iter().filter_map(|part| part["text"].as_str()).collect())
}

fn usage(reported: Value) -> Usage {
    let count = |value: &Value| value.as_u64().unwrap_or(0);
    let details = &reported["prompt_tokens_details"];
    Usage {
        input: count(&reported["prompt_tokens"]),
        output: count(&reported["completion_tokens"]),
        uncached_input: 0,
        cache_read: count(&details["cached_tokens"]),
        cache_write: count(&details["cache_write_tokens"]),
        total: count(&reported["total_tokens"]),
        provider: Some(reported),
    }
    .completed()
}
