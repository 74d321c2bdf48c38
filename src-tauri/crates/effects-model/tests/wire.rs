//! Both wires, byte by byte, against a server on loopback that misbehaves on command.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use holdpoint_core::message::{Content, Effort, LlmRequest, LlmResponse, LlmTool, Message, Reasoning, Role, ToolCall};
use holdpoint_core::money::Money;
use holdpoint_effects_model::{ModelBlock, Models, Secret};
use holdpoint_runtime::runner::{Delta, DeltaSink, Failure, ModelCall, ModelRunner};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

mod fake;

use fake::{Answer, Request, Server, data_frames};

#[derive(Clone, Copy, PartialEq, Debug)]
enum Wire {
    OpenAi,
    OpenRouter,
    Anthropic,
    Cached,
}
use Wire::{Anthropic, Cached, OpenAi, OpenRouter};

const KEY: &str = "sk-very-secret";

fn models(wire: Wire, url: &str, key: Option<&str>) -> Models {
    let api_key = key.map(|key| Secret::named("MODEL_KEY", key));
    let block = match wire {
        OpenAi => ModelBlock::OpenAi { base_url: format!("{url}/v1"), api_key },
        OpenRouter => ModelBlock::OpenRouter { base_url: format!("{url}/api/v1/"), api_key },
        Anthropic => ModelBlock::Anthropic { base_url: url.to_owned(), api_key, cache_ttl: None },
        Cached => ModelBlock::Anthropic { base_url: url.to_owned(), api_key, cache_ttl: Some("1h".to_owned()) },
    };
    Models::new([("main".to_owned(), block)])
}

fn request(messages: Vec<Message>) -> LlmRequest {
    LlmRequest { model: "m1".to_owned(), messages, tools: None, temperature: None, max_completion_tokens: None, reasoning: None }
}

fn hi() -> LlmRequest {
    request(vec![Message::new(Role::User, "hi")])
}

fn call(request: LlmRequest, stream: bool) -> ModelCall {
    ModelCall {
        session_id: "sesn_1".into(),
        call_id: "msg_1".into(),
        attempt: 1,
        llm: "main".to_owned(),
        request,
        stream,
        script_used: BTreeMap::new(),
    }
}

struct Outcome {
    reply: Result<LlmResponse, Failure>,
    heard: Vec<Value>,
    sent: Request,
}

async fn run(wire: Wire, request: LlmRequest, stream: bool, answer: Answer) -> Outcome {
    let mut server = Server::start([answer]).await;
    let heard = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&heard);
    let sink = DeltaSink::new(move |delta: Delta| into.lock().expect("not poisoned").push(serde_json::to_value(delta).expect("JSON")));
    let outcome = models(wire, &server.url, Some(KEY)).run(call(request, stream), sink, CancellationToken::new()).await;
    let heard = heard.lock().expect("not poisoned").clone();
    Outcome { reply: outcome.map(|reply| reply.response).map_err(|failure| failure.failure), heard, sent: server.request().await }
}

async fn reply(wire: Wire, answer: Answer) -> Value {
    let outcome = run(wire, hi(), true, answer).await;
    serde_json::to_value(outcome.reply.expect("a reply")).expect("JSON")
}

async fn failure(wire: Wire, answer: Answer) -> Failure {
    run(wire, hi(), true, answer).await.reply.expect_err("the call fails")
}

fn verdict(failure: &Failure) -> (&str, bool) {
    (&failure.error.code, failure.retryable)
}

async fn sent(wire: Wire, request: LlmRequest, stream: bool) -> Value {
    let outcome = run(wire, request, stream, fake::answer(500, &[], "")).await;
    outcome.sent.json()
}

fn chunk(choice: Value) -> Value {
    json!({"id": "c", "object": "chat.completion.chunk", "model": "m1-2026", "choices": [choice]})
}

fn piece(delta: Value) -> Value {
    chunk(json!({"index": 0, "delta": delta, "finish_reason": null}))
}

fn end(reason: &str) -> Value {
    chunk(json!({"index": 0, "delta": {}, "finish_reason": reason}))
}

fn done(chunks: &[Value]) -> Answer {
    let mut frames = data_frames(chunks);
    frames.push("data: [DONE]\n\n".to_owned());
    fake::events(&frames)
}

/// The frames of a stream cut into pieces of seven bytes, across characters and lines.
fn fragments(frames: &[String]) -> Vec<Vec<u8>> {
    frames.concat().into_bytes().chunks(7).map(<[u8]>::to_vec).collect()
}

fn tool() -> LlmTool {
    LlmTool { name: "find".to_owned(), description: Some("Finds.".to_owned()), input: Some(json!({"type": "object"})), output: None }
}

fn conversation() -> Vec<Message> {
    let asked = Message {
        tool_calls: Some(vec![
            ToolCall::new("call:1", "find", "{\"no\":7}"),
            ToolCall::new("c2", "find", "{broken"),
            ToolCall::new("c3", "find", ""),
        ]),
        content: None,
        ..Message::new(Role::Assistant, "")
    };
    let picture = vec![json!({"type": "text", "text": "see"}), json!({"type": "image", "data": "QQ==", "mimeType": "image/png"})];
    vec![
        Message::new(Role::System, "Be brief."),
        Message { id: Some("u1".into()), ..Message::new(Role::User, "find 7") },
        asked,
        Message::tool(&"call:1".into(), Content::Text("seven".to_owned())),
        Message::tool(&"c2".into(), Content::Parts(picture.clone())),
        Message::tool(&"c3".into(), Content::Text(String::new())),
        Message { content: Some(Content::Parts(picture)), ..Message::new(Role::User, "") },
    ]
}

// ---- OpenAI's wire ----

#[tokio::test]
async fn openai_is_asked_with_its_own_shapes_p31_q38() {
    let wanted = LlmRequest {
        tools: Some(vec![tool(), LlmTool { description: None, input: None, ..tool() }]),
        temperature: Some(0.5),
        max_completion_tokens: Some(99),
        reasoning: Some(Reasoning { effort: Some(Effort::Low), ..Reasoning::default() }),
        ..request(conversation())
    };
    let outcome = run(OpenAi, wanted.clone(), true, fake::answer(500, &[], "")).await;
    assert_eq!(outcome.sent.target, "POST /v1/chat/completions HTTP/1.1");
    assert_eq!(outcome.sent.header("authorization"), Some("Bearer sk-very-secret"));
    let call = |id: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": "find", "arguments": arguments}});
    assert_eq!(
        outcome.sent.json(),
        json!({
            "model": "m1",
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "find 7"},
                {"role": "assistant", "content": null, "tool_calls": [call("call:1", "{\"no\":7}"), call("c2", "{broken"), call("c3", "{}")]},
                {"role": "tool", "content": "seven", "tool_call_id": "call:1"},
                {"role": "tool", "content": "see\n[image – not shown to the model]", "tool_call_id": "c2"},
                {"role": "tool", "content": "", "tool_call_id": "c3"},
                {"role": "user", "content": [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,QQ=="}}]},
            ],
            "tools": [
                {"type": "function", "function": {"name": "find", "description": "Finds.", "parameters": {"type": "object"}}},
                {"type": "function", "function": {"name": "find", "parameters": {"type": "object", "properties": {}}}},
            ],
            "temperature": 0.5,
            "max_completion_tokens": 99,
            "reasoning_effort": "low",
            "stream": true,
            "stream_options": {"include_usage": true},
        })
    );
    let whole = sent(OpenAi, wanted, false).await;
    assert_eq!((whole.get("stream"), whole.get("stream_options")), (None, None));
}

#[tokio::test]
async fn openrouter_is_asked_for_prices_and_reasons_with_an_object() {
    let reasoning = Reasoning { effort: Some(Effort::High), exclude: Some(true), ..Reasoning::default() };
    let outcome = run(OpenRouter, LlmRequest { reasoning: Some(reasoning), ..hi() }, false, fake::answer(500, &[], "")).await;
    assert_eq!(outcome.sent.target, "POST /api/v1/chat/completions HTTP/1.1");
    let body = outcome.sent.json();
    assert_eq!((&body["usage"], &body["reasoning"]), (&json!({"include": true}), &json!({"effort": "high", "exclude": true})));
    let usage = json!({"prompt_tokens": 10, "completion_tokens": 2, "cost": 0.00014, "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 3}});
    let chunks = [
        piece(json!({"content": "Hi", "images": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,QQ=="}}]})),
        end("stop"),
        json!({"choices": [], "usage": usage}),
    ];
    let said = run(OpenRouter, hi(), true, done(&chunks)).await.reply.expect("a reply");
    assert_eq!(said.cost, Money::parse("0.00014"));
    let counts = said.usage.expect("usage");
    assert_eq!(
        (counts.input, counts.output, counts.cache_read, counts.cache_write, counts.uncached_input, counts.total),
        (10, 2, 4, 3, 6, 12)
    );
    assert_eq!(said.images, Some(vec![json!({"url": "data:image/png;base64,QQ=="})]));
    let unpriced =
        run(OpenAi, hi(), true, done(&[end("stop"), json!({"choices": [], "usage": {"cost": 3}})])).await.reply.expect("a reply");
    assert_eq!(unpriced.cost, None, "P-23: whose money another server means is not known");
}

#[tokio::test]
async fn a_fragmented_openai_stream_is_put_together_p20() {
    let call = |function: Value| piece(json!({"tool_calls": [{"index": 0, "function": function}]}));
    let mut frames = vec![": keep-alive\n\n".to_owned()];
    frames.extend(data_frames(&[
        piece(json!({"role": "assistant", "content": ""})),
        piece(json!({"reasoning_content": "hm"})),
        piece(json!({"content": "Grü"})),
        piece(json!({"content": "ße"})),
        piece(json!({"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": {"name": "find", "arguments": ""}}]})),
        call(json!({"arguments": "{\"no\""})),
        call(json!({"arguments": ":7}"})),
        piece(json!({"tool_calls": [{"index": 1, "id": "c2", "type": "function", "function": {"name": "stop", "arguments": "{}"}}]})),
        end("tool_calls"),
        json!({"choices": [], "usage": {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15, "prompt_tokens_details": {"cached_tokens": 4}}}),
    ]));
    frames.push("data: [DONE]\n\n".to_owned());
    let outcome = run(OpenAi, hi(), true, fake::events(&fragments(&frames))).await;
    let reply = serde_json::to_value(outcome.reply.expect("a reply")).expect("JSON");
    assert_eq!(
        reply,
        json!({
            "model": "m1-2026",
            "content": "Grüße",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "find", "arguments": "{\"no\":7}"}},
                {"id": "c2", "type": "function", "function": {"name": "stop", "arguments": "{}"}},
            ],
            "finish_reason": "tool_calls",
            "usage": {
                "input": 12, "output": 3, "uncached_input": 8, "cache_read": 4, "cache_write": 0, "total": 15,
                "provider": {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15, "prompt_tokens_details": {"cached_tokens": 4}},
            },
        })
    );
    assert_eq!(
        outcome.heard,
        vec![
            json!({"reasoning": "hm"}),
            json!({"text": "Grü"}),
            json!({"text": "ße"}),
            json!({"tool_calls": [{"id": "c1", "name": "find"}]}),
            json!({"tool_calls": [{"id": "c1", "arguments": "{\"no\""}]}),
            json!({"tool_calls": [{"id": "c1", "arguments": ":7}"}]}),
            json!({"tool_calls": [{"id": "c2", "name": "stop", "arguments": "{}"}]}),
            json!({"finish_reason": "tool_calls"}),
        ]
    );
}

#[tokio::test]
async fn quirks_of_other_servers_are_understood() {
    let calls = |calls: Value| vec![piece(json!({"content": null, "tool_calls": calls})), end("stop")];
    let named = |id: &str, arguments: &str| {
        if id.is_empty() {
            json!({"type": "function", "function": {"name": "f", "arguments": arguments}})
        } else {
            json!({"id": id, "type": "function", "function": {"name": "f", "arguments": arguments}})
        }
    };
    let whole = reply(OpenAi, done(&calls(json!([{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}])))).await;
    assert_eq!(
        whole,
        json!({"model": "m1-2026", "tool_calls": [named("a", "{}")], "finish_reason": "tool_calls"}),
        "`stop` with tool calls"
    );
    let bare = reply(
        OpenAi,
        done(&calls(json!([{"function": {"name": "f", "arguments": {"x": 1}}}, {"function": {"name": "f", "arguments": "{}"}}]))),
    )
    .await;
    assert_eq!(bare["tool_calls"], json!([named("", "{\"x\":1}"), named("", "{}")]), "no ids, no index, arguments as an object");
    let same = reply(OpenAi, done(&calls(json!([{"index": 0, "id": "a", "function": {"name": "f", "arguments": "1"}}, {"index": 0, "id": "b", "function": {"name": "f", "arguments": "2"}}])))).await;
    assert_eq!(same["tool_calls"], json!([named("a", "1"), named("b", "2")]), "two whole calls with one index");
    let no_done = reply(OpenAi, fake::events(&data_frames(&[piece(json!({"content": "Hi"})), end("stop")]))).await;
    assert_eq!(no_done, json!({"model": "m1-2026", "content": "Hi", "finish_reason": "stop"}), "no [DONE], no usage");
    let with_usage = json!({"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 1, "completion_tokens": 1}, "error": null});
    let each = reply(OpenAi, done(&[with_usage.clone(), with_usage])).await;
    assert_eq!((&each["model"], &each["usage"]["total"]), (&json!("m1"), &json!(2)), "usage on every chunk, no model");
    let ignored = reply(
        OpenAi,
        fake::json(200, &json!({"model": "m2", "choices": [{"message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}]})),
    )
    .await;
    assert_eq!(ignored, json!({"model": "m2", "content": "Hi", "finish_reason": "stop"}), "a server that ignores `stream`");
    let parts =
        reply(OpenAi, done(&[piece(json!({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]})), end("length")]))
            .await;
    assert_eq!((&parts["content"], &parts["finish_reason"]), (&json!("ab"), &json!("length")));
}

#[tokio::test]
async fn a_refusal_is_a_reply_that_was_refused() {
    let said = run(OpenAi, hi(), true, done(&[piece(json!({"refusal": "I can"})), piece(json!({"refusal": "not."})), end("stop")])).await;
    let said = said.reply.expect("a reply");
    assert!(said.refused());
    assert_eq!(said.content, Some(Content::Text("I cannot.".to_owned())));
    assert!(run(OpenAi, hi(), true, done(&[end("content_filter")])).await.reply.expect("a reply").refused());
    let stop = [json!({"type": "message_delta", "delta": {"stop_reason": "refusal"}}), json!({"type": "message_stop"})];
    assert!(run(Anthropic, hi(), true, fake::events(&data_frames(&stop))).await.reply.expect("a reply").refused());
}

// ---- Anthropic's wire ----

#[tokio::test]
async fn anthropic_is_asked_with_its_own_shapes_p31_q38() {
    let wanted =
        LlmRequest { tools: Some(vec![tool()]), temperature: Some(0.5), max_completion_tokens: Some(99), ..request(conversation()) };
    let outcome = run(Anthropic, wanted, true, fake::answer(500, &[], "")).await;
    assert_eq!(outcome.sent.target, "POST /v1/messages HTTP/1.1");
    assert_eq!((outcome.sent.header("x-api-key"), outcome.sent.header("anthropic-version")), (Some(KEY), Some("2023-06-01")));
    let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QQ=="}});
    let call = |id: &str, input: Value| json!({"type": "tool_use", "id": id, "name": "find", "input": input});
    assert_eq!(
        outcome.sent.json(),
        json!({
            "model": "m1",
            "max_tokens": 99,
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "find 7"}]},
                {"role": "assistant", "content": [
                    call("call_1", json!({"no": 7})), call("c2", json!({"malformed_arguments": "{broken"})), call("c3", json!({})),
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "call_1", "content": [{"type": "text", "text": "seven"}]},
                    {"type": "tool_result", "tool_use_id": "c2", "content": [{"type": "text", "text": "see"}, image]},
                    {"type": "tool_result", "tool_use_id": "c3", "content": []},
                    {"type": "text", "text": "see"},
                    image,
                ]},
            ],
            "system": [{"type": "text", "text": "Be brief."}],
            "tools": [{"name": "find", "description": "Finds.", "input_schema": {"type": "object"}}],
            "temperature": 0.5,
            "stream": true,
        })
    );
}

#[tokio::test]
async fn anthropic_thinks_as_much_as_its_model_can_be_told() {
    let with = |model: &str, effort: Effort, most: Option<u64>| LlmRequest {
        model: model.to_owned(),
        temperature: Some(0.5),
        max_completion_tokens: most,
        reasoning: Some(Reasoning { effort: Some(effort), ..Reasoning::default() }),
        ..hi()
    };
    let part = |body: Value| {
        (body["max_tokens"].clone(), body["thinking"].clone(), body["output_config"]["effort"].clone(), body["temperature"].clone())
    };
    let adaptive = part(sent(Anthropic, with("claude-opus-4-7", Effort::Medium, None), true).await);
    assert_eq!(adaptive, (json!(8192), json!({"type": "adaptive"}), json!("medium"), Value::Null));
    let budget = part(sent(Anthropic, with("claude-sonnet-4-5", Effort::Medium, None), true).await);
    assert_eq!(budget, (json!(16384), json!({"type": "enabled", "budget_tokens": 8192}), Value::Null, Value::Null));
    let bounded = part(sent(Anthropic, with("claude-sonnet-4-5", Effort::High, Some(4000)), true).await);
    assert_eq!(bounded.1, json!({"type": "enabled", "budget_tokens": 3999}));
    let off = part(sent(Anthropic, with("claude-sonnet-4-5", Effort::None, None), true).await);
    assert_eq!(off, (json!(8192), Value::Null, Value::Null, json!(0.5)));
    let mut after_tool = with("claude-sonnet-4-5", Effort::High, None);
    after_tool.messages = conversation()[..6].to_vec();
    assert_eq!(sent(Anthropic, after_tool, true).await.get("thinking"), None, "the thinking before the tool call is gone");
}

#[tokio::test]
async fn anthropic_caches_when_the_block_says_so() {
    let body = sent(Cached, request(conversation()), true).await;
    let mark = json!({"type": "ephemeral", "ttl": "1h"});
    assert_eq!(body["system"][0]["cache_control"], mark);
    assert_eq!(body["messages"][2]["content"][4]["cache_control"], mark);
    assert_eq!(body.to_string().matches("cache_control").count(), 2);
}

#[tokio::test]
async fn a_fragmented_anthropic_stream_is_put_together_p20() {
    let mut frames: Vec<String> = [
        json!({"type": "message_start", "message": {"model": "claude-x", "usage": {"input_tokens": 5, "cache_read_input_tokens": 40, "cache_creation_input_tokens": 7, "output_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "x"}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Grü"}}),
        json!({"type": "ping"}),
        json!({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "ße"}}),
        json!({"type": "content_block_start", "index": 2, "content_block": {"type": "tool_use", "id": "t1", "name": "find", "input": {}}}),
        json!({"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": ""}}),
        json!({"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": "{\"no\""}}),
        json!({"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": ":7}"}}),
        json!({"type": "content_block_start", "index": 3, "content_block": {"type": "tool_use", "id": "t2", "name": "stop", "input": {}}}),
        json!({"type": "from_a_later_version", "index": 9}),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 30}}),
        json!({"type": "message_stop"}),
    ]
    .iter()
    .map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().expect("a type")))
    .collect();
    frames.push("data: not read any more".to_owned());
    let outcome = run(Anthropic, hi(), true, fake::events(&fragments(&frames))).await;
    let reply = serde_json::to_value(outcome.reply.expect("a reply")).expect("JSON");
    assert_eq!(
        reply,
        json!({
            "model": "claude-x",
            "content": "Grüße",
            "tool_calls": [
                {"id": "t1", "type": "function", "function": {"name": "find", "arguments": "{\"no\":7}"}},
                {"id": "t2", "type": "function", "function": {"name": "stop", "arguments": "{}"}},
            ],
            "finish_reason": "tool_calls",
            "usage": {
                "input": 52, "output": 30, "uncached_input": 12, "cache_read": 40, "cache_write": 7, "total": 82,
                "provider": {"input_tokens": 5, "cache_read_input_tokens": 40, "cache_creation_input_tokens": 7, "output_tokens": 30},
            },
        })
    );
    assert_eq!(
        outcome.heard,
        vec![
            json!({"reasoning": "hm"}),
            json!({"text": "Grü"}),
            json!({"text": "ße"}),
            json!({"tool_calls": [{"id": "t1", "name": "find"}]}),
            json!({"tool_calls": [{"id": "t1", "arguments": "{\"no\""}]}),
            json!({"tool_calls": [{"id": "t1", "arguments": ":7}"}]}),
            json!({"tool_calls": [{"id": "t2", "name": "stop"}]}),
            json!({"finish_reason": "tool_calls"}),
        ]
    );
}

#[tokio::test]
async fn a_whole_anthropic_reply_is_read_too() {
    let body = json!({
        "type": "message", "role": "assistant", "model": "claude-x",
        "content": [{"type": "text", "text": "Hi"}, {"type": "tool_use", "id": "t1", "name": "find", "input": {"no": 7}}],
        "stop_reason": "max_tokens", "usage": {"input_tokens": 5, "output_tokens": 2},
    });
    let outcome = run(Anthropic, hi(), false, fake::json(200, &body)).await;
    assert_eq!(outcome.sent.json().get("stream"), None);
    let reply = outcome.reply.expect("a reply");
    assert!(reply.truncated());
    assert_eq!(reply.tool_calls, Some(vec![ToolCall::new("t1", "find", "{\"no\":7}")]));
    assert_eq!(reply.usage.map(|usage| (usage.input, usage.total)), Some((5, 7)));
    assert_eq!(outcome.heard, Vec::<Value>::new());
}

// ---- failures, both wires ----

#[tokio::test]
async fn statuses_become_codes_that_say_what_to_fix_q24() {
    for wire in [OpenAi, Anthropic] {
        let said = |status: u16, kind: &str| {
            fake::answer(status, &[("retry-after", "3")], &json!({"error": {"message": format!("bad {KEY}"), "type": kind}}).to_string())
        };
        let busy = failure(wire, said(429, "rate_limit_error")).await;
        assert_eq!((verdict(&busy), busy.retry_after_ms), (("rate_limited", true), Some(3000)), "{wire:?}");
        for status in [408, 500, 503, 529] {
            let broken = failure(wire, said(status, "api_error")).await;
            assert_eq!((verdict(&broken), broken.retry_after_ms), (("provider_error", true), Some(3000)), "{wire:?} {status}");
        }
        let wrong_key = failure(wire, said(401, "authentication_error")).await;
        assert_eq!((verdict(&wrong_key), wrong_key.retry_after_ms), (("provider_error", false), None), "{wire:?}");
        assert_eq!(
            wrong_key.error.message, "The model server of [llm.main] answered 401; check the key in MODEL_KEY: bad [secret]",
            "Q-52: the key is never repeated"
        );
        assert_eq!(wrong_key.error.detail, Some(json!({"status": 401, "type": "authentication_error", "code": null})));
        let wrong_place = failure(wire, fake::answer(404, &[], "nope")).await;
        assert_eq!(verdict(&wrong_place), ("provider_error", false));
        let place = "The model server of [llm.main] answered 404; check the model's name and base_url http://127.0.0.1:";
        assert!(wrong_place.error.message.starts_with(place), "{}", wrong_place.error.message);
        assert_eq!(verdict(&failure(wire, said(400, "invalid_request_error")).await), ("provider_error", false));
        let moved = failure(wire, fake::answer(301, &[("location", "http://127.0.0.1:1/")], "")).await;
        assert_eq!(verdict(&moved), ("provider_error", false));
    }
}

#[tokio::test]
async fn a_missing_key_is_asked_for_by_its_configuration_key() {
    let server = Server::start([fake::json(401, &json!({}))]).await;
    let outcome = models(OpenAi, &server.url, None).run(call(hi(), true), DeltaSink::new(|_| ()), CancellationToken::new()).await;
    let message = outcome.expect_err("no key").failure.error.message;
    assert_eq!(message, "The model server of [llm.main] answered 401; set api_key_env in [llm.main]");
}

#[tokio::test]
async fn a_server_that_is_not_there_or_no_api_is_named_q24() {
    for wire in [OpenAi, Anthropic] {
        let (_taken, gone) = fake::nobody();
        let outcome = models(wire, &gone, None).run(call(hi(), true), DeltaSink::new(|_| ()), CancellationToken::new()).await;
        let absent = outcome.expect_err("nobody listens").failure;
        assert_eq!(verdict(&absent), ("provider_error", true));
        let words = format!("The model server of [llm.main] cannot be reached at {gone}");
        assert!(absent.error.message.starts_with(&words), "{}", absent.error.message);
        assert_eq!(verdict(&failure(wire, fake::drop_connection()).await), ("provider_error", true));
        let page = failure(wire, fake::answer(200, &[("content-type", "text/html")], "<html>")).await;
        assert_eq!(verdict(&page), ("provider_error", false));
        assert!(page.error.message.contains("answered with a web page; check base_url http://127.0.0.1:"), "{}", page.error.message);
        assert_eq!(
            verdict(&failure(wire, fake::answer(200, &[("content-type", "application/json")], "{\"mod")).await),
            ("provider_error", true)
        );
    }
    let unusable = models(OpenAi, "no address", None).run(call(hi(), true), DeltaSink::new(|_| ()), CancellationToken::new()).await;
    assert_eq!(verdict(&unusable.expect_err("no address").failure), ("provider_error", false));
}

#[tokio::test]
async fn a_cut_stream_is_a_provider_error_that_is_retried_q24() {
    let text = [piece(json!({"content": "Hel"}))];
    let start = [json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hel"}})];
    for (wire, frames) in [(OpenAi, data_frames(&text)), (Anthropic, data_frames(&start))] {
        for answer in [fake::cut(&frames), fake::events(&frames), fake::events(&["data: {\"choi\n\n"])] {
            let failed = failure(wire, answer).await;
            assert_eq!(verdict(&failed), ("provider_error", true), "{wire:?}");
            assert!(failed.error.message.contains("broke off"), "{}", failed.error.message);
        }
    }
}

#[tokio::test]
async fn an_error_inside_a_good_stream_follows_its_own_type_q24() {
    let of = |error: Value| fake::events(&data_frames(&[piece(json!({"content": "Hel"})), json!({ "error": error })]));
    let limited = failure(OpenAi, of(json!({"message": "slow down", "code": 429}))).await;
    assert_eq!(verdict(&limited), ("rate_limited", true));
    assert_eq!(limited.error.message, "The model server broke off its reply: slow down");
    assert_eq!(verdict(&failure(OpenAi, of(json!({"message": "x", "type": "server_error"}))).await), ("provider_error", true));
    assert_eq!(verdict(&failure(OpenAi, of(json!({"message": "x", "type": "invalid_request_error"}))).await), ("provider_error", false));
    let whole = failure(OpenAi, fake::json(200, &json!({"error": {"message": "x", "code": 402}}))).await;
    assert_eq!(verdict(&whole), ("provider_error", false));
    let event = |kind: &str| {
        fake::events(&[format!("event: error\ndata: {{\"type\":\"error\",\"error\":{{\"type\":\"{kind}\",\"message\":\"{KEY}\"}}}}\n\n")])
    };
    let overloaded = failure(Anthropic, event("overloaded_error")).await;
    assert_eq!(verdict(&overloaded), ("provider_error", true));
    assert_eq!(overloaded.error.message, "The model server broke off its reply: [secret]", "Q-52");
    assert_eq!(verdict(&failure(Anthropic, event("rate_limit_error")).await), ("rate_limited", true));
    assert_eq!(verdict(&failure(Anthropic, event("permission_error")).await), ("provider_error", false));
}

#[tokio::test]
async fn cancelling_a_call_closes_its_connection() {
    let text = data_frames(&[piece(json!({"content": "Hel"}))]);
    for (wire, answer) in [(OpenAi, fake::silent()), (Anthropic, fake::silent()), (OpenAi, fake::hanging(&text))] {
        let mut server = Server::start([answer]).await;
        let models = models(wire, &server.url, Some(KEY));
        let cancel = CancellationToken::new();
        let stop = cancel.clone();
        let (outcome, ()) = tokio::join!(models.run(call(hi(), true), DeltaSink::new(|_| ()), cancel), async {
            server.request().await;
            stop.cancel();
            server.closed().await;
        });
        assert_eq!(outcome.expect_err("cancelled").failure.error.code, "cancelled");
    }
}
