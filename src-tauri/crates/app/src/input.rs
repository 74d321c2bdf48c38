//! Inputs as they come over the wire (§4): from JSON to the core's types. A missing, unexpected or wrongly typed field is
//! [`Failure::WrongShape`]; a value of the right type that cannot be is `invalid_request` or `invalid_id` (N-12).

use holdpoint_core::answer::{Answer, Responder};
use holdpoint_core::command::{Input, Settle};
use holdpoint_core::decision::ClientInfo;
use holdpoint_core::id::{CallId, InterruptId, SessionId, TurnId, is_given_id, is_session_id};
use holdpoint_core::message::{ErrorCode, ErrorInfo, LlmResponse, Message, ToolResult};
use holdpoint_core::rejection::Code;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::error::Failure;

/// A JSON object that is taken apart field by field. What is left over at the end is unexpected.
pub struct Fields {
    place: String,
    map: Map<String, Value>,
}

impl Fields {
    pub fn of(value: Value, place: &str) -> Result<Self, Failure> {
        match value {
            Value::Object(map) => Ok(Self { place: place.to_owned(), map }),
            _ => Err(Failure::WrongShape(format!("{place} must be an object"))),
        }
    }

    fn name(&self, key: &str) -> String {
        if self.place.is_empty() { key.to_owned() } else { format!("{}.{key}", self.place) }
    }

    fn missing(&self, key: &str) -> Failure {
        Failure::WrongShape(format!("{} is missing", self.name(key)))
    }

    pub fn has(&self, key: &str) -> bool {
        self.map.contains_key(key)
    }

    /// The raw value; a present null stays.
    pub fn raw(&mut self, key: &str) -> Option<Value> {
        self.map.shift_remove(key)
    }

    /// Null counts as absent.
    pub fn get<T: DeserializeOwned>(&mut self, key: &str) -> Result<Option<T>, Failure> {
        match self.map.shift_remove(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => {
                serde_json::from_value(value).map(Some).map_err(|error| Failure::WrongShape(format!("{}: {error}", self.name(key))))
            }
        }
    }

    pub fn need<T: DeserializeOwned>(&mut self, key: &str) -> Result<T, Failure> {
        self.get(key)?.ok_or_else(|| self.missing(key))
    }

    pub fn fields(&mut self, key: &str) -> Result<Option<Self>, Failure> {
        let name = self.name(key);
        self.raw(key).map(|value| Self::of(value, &name)).transpose()
    }

    pub fn need_fields(&mut self, key: &str) -> Result<Self, Failure> {
        self.fields(key)?.ok_or_else(|| self.missing(key))
    }

    /// B-4.
    pub fn given_id<T: From<String>>(&mut self, key: &str) -> Result<Option<T>, Failure> {
        let Some(id) = self.get::<String>(key)? else { return Ok(None) };
        check_given_id(&self.name(key), &id)?;
        Ok(Some(id.into()))
    }

    /// Nothing may be left over (N-12).
    pub fn end(self) -> Result<(), Failure> {
        match self.map.keys().next() {
            None => Ok(()),
            Some(key) => Err(Failure::WrongShape(format!("{} is not expected here", self.name(key)))),
        }
    }
}

fn check_given_id(name: &str, id: &str) -> Result<(), Failure> {
    if is_given_id(id) { Ok(()) } else { Err(Failure::refuse(Code::InvalidId, format!("{name} must have 1 to 200 characters"))) }
}

/// B-3: the only form a session id that is new here may have; others are unknown anyway.
pub fn session_id(id: String) -> Result<SessionId, Failure> {
    if is_session_id(&id) {
        return Ok(id.into());
    }
    Err(Failure::refuse(Code::InvalidId, "a session id is `sesn_` followed by 26 Crockford base32 characters"))
}

/// An input with what stood beside it.
#[derive(Debug)]
pub struct Parsed {
    pub input: ParsedInput,
    /// Which agent it names; only inputs that may create a session do (N-1).
    pub agent_id: Option<String>,
}

#[derive(Debug)]
pub enum ParsedInput {
    Input(Input),
    Settle(Settle),
}

/// How the addressing travels: inside the input (client) or beside it (machine submit).
pub enum Addressing {
    Inside,
    Beside { agent_id: String, turn_id: Option<TurnId>, queue: Option<bool> },
}

/// Whether the caller may use the answer form of Q-5; the desktop's own channel name never comes over the wire.
pub fn parse(input: Value, addressing: Addressing, may_answer: bool) -> Result<Parsed, Failure> {
    let mut fields = Fields::of(input, "input")?;
    let kind: String = fields.need("type")?;
    let starts_work = matches!(kind.as_str(), "client.message" | "client.append" | "client.messages" | "client.action");
    let (agent_id, turn_id, queue) = match addressing {
        Addressing::Inside if starts_work => {
            let agent_id = fields.need("agent_id")?;
            (Some(agent_id), fields.given_id("turn_id")?, if takes_queue(&kind) { fields.get("queue")? } else { None })
        }
        Addressing::Inside => (None, None, None),
        Addressing::Beside { queue: Some(_), .. } if !takes_queue(&kind) => {
            return Err(Failure::WrongShape(format!("queue does not go with {kind}")));
        }
        Addressing::Beside { turn_id: Some(_), .. } if !starts_work => {
            return Err(Failure::WrongShape(format!("turn_id does not go with {kind}")));
        }
        Addressing::Beside { agent_id, turn_id, queue } => (starts_work.then_some(agent_id), turn_id, queue),
    };
    let queue = queue.unwrap_or(false);
    let input = match kind.as_str() {
        "client.message" => {
            let message = message(fields.need("message")?, "input.message")?;
            let stream = fields.get("stream")?;
            ParsedInput::Input(Input::Append { turn_id, messages: vec![message], stream, client: None, queue })
        }
        "client.append" => ParsedInput::Input(Input::Append {
            turn_id,
            messages: messages(&mut fields)?,
            stream: fields.get("stream")?,
            client: fields.get::<ClientInfo>("client")?,
            queue,
        }),
        "client.messages" => ParsedInput::Input(Input::View {
            turn_id,
            messages: messages(&mut fields)?,
            stream: fields.get("stream")?,
            client: fields.get::<ClientInfo>("client")?,
        }),
        "client.action" => {
            let name: String = fields.need("name")?;
            if name.is_empty() {
                return Err(Failure::invalid("input.name must not be empty"));
            }
            ParsedInput::Input(Input::Action { turn_id, name, args: fields.raw("args") })
        }
        "interrupt.resume" => ParsedInput::Input(resume(&mut fields, may_answer)?),
        "tool.result" => ParsedInput::Settle(tool_result(&mut fields)?),
        "tool.error" => {
            if !fields.has("retryable") {
                return Err(fields.missing("retryable"));
            }
            ParsedInput::Settle(tool_error(&mut fields)?)
        }
        other => return Err(Failure::WrongShape(format!("there is no input {other:?}"))),
    };
    fields.end()?;
    Ok(Parsed { input, agent_id })
}

fn takes_queue(kind: &str) -> bool {
    matches!(kind, "client.message" | "client.append")
}

fn messages(fields: &mut Fields) -> Result<Vec<Message>, Failure> {
    let list: Vec<Value> = fields.need("messages")?;
    list.into_iter().enumerate().map(|(index, value)| message(value, &format!("input.messages[{index}]"))).collect()
}

fn message(value: Value, place: &str) -> Result<Message, Failure> {
    let mut fields = Fields::of(value, place)?;
    let id = fields.given_id("id")?;
    let role = fields.need("role")?;
    let message = Message {
        id,
        role,
        content: fields.get("content")?,
        tool_calls: fields.get("tool_calls")?,
        tool_call_id: fields.get("tool_call_id")?,
        name: fields.get("name")?,
    };
    fields.end()?;
    Ok(message)
}

fn resume(fields: &mut Fields, may_answer: bool) -> Result<Input, Failure> {
    let interrupt_id: InterruptId = fields.given_id("interrupt_id")?.ok_or_else(|| fields.missing("interrupt_id"))?;
    let shown_hash = fields.get("shown_hash")?;
    let Some(mut answer) = fields.fields("answer")? else {
        return Ok(Input::Resume { interrupt_id, payload: fields.raw("payload"), responder: None, shown_hash });
    };
    if fields.has("payload") {
        return Err(Failure::WrongShape("give payload or answer, not both".to_owned()));
    }
    if !may_answer {
        return Err(Failure::refuse(Code::AccessDenied, "an answer in this form is for operators and machines; send a payload"));
    }
    let channel: String = answer.need("channel")?;
    check_channel(&channel)?;
    let (option, text): (Option<u64>, Option<String>) = (answer.get("option")?, answer.get("text")?);
    let (value, cancel) = (answer.raw("value"), answer.get("cancel")?.unwrap_or(false));
    answer.end()?;
    let answer = chosen(option.map(|index| index as usize), text, value, cancel)?;
    Ok(Input::Answer { interrupt_id, answer, responder: Responder { channel, user: None }, shown_hash })
}

/// `option` (with `text`), `value` or `cancel`: exactly one.
pub fn chosen(option: Option<usize>, text: Option<String>, value: Option<Value>, cancel: bool) -> Result<Answer, Failure> {
    match (option, value, cancel) {
        (Some(index), None, false) => Ok(Answer::Option { index, text }),
        (None, Some(value), false) if text.is_none() => Ok(Answer::Value(value)),
        (None, None, true) if text.is_none() => Ok(Answer::Cancel),
        (None, None | Some(_), _) if text.is_some() => Err(Failure::invalid("a text goes with an option")),
        _ => Err(Failure::invalid("an answer is one of option, value and cancel")),
    }
}

/// the engine's own channels cannot be claimed from outside.
fn check_channel(channel: &str) -> Result<(), Failure> {
    let mut bytes = channel.bytes();
    let proper = bytes.next().is_some_and(|first| first.is_ascii_lowercase())
        && channel.len() <= 32
        && bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-');
    if !proper {
        return Err(Failure::invalid("answer.channel is a lowercase letter and up to 31 letters, digits, `_` or `-`"));
    }
    if matches!(channel, "desktop" | "slack" | "ag-ui") {
        return Err(Failure::invalid(format!("answer.channel {channel:?} is the engine's own")));
    }
    Ok(())
}

/// `calls/settle` (§14): `tool.result`, `tool.error`, `llm.result` or `llm.error`, with an id.
pub fn settle(body: Value) -> Result<Settle, Failure> {
    let mut fields = Fields::of(body, "")?;
    let kind: String = fields.need("type")?;
    let settle = match kind.as_str() {
        "tool.result" => tool_result(&mut fields)?,
        "tool.error" => tool_error(&mut fields)?,
        "llm.result" => {
            Settle::LlmResult { id: call_id(&mut fields)?, attempt: attempt(&mut fields)?, response: llm_response(&mut fields)? }
        }
        "llm.error" => {
            let (id, attempt) = (call_id(&mut fields)?, attempt(&mut fields)?);
            let (error, retryable) = error_of(&mut fields)?;
            Settle::LlmError { id, attempt, error, retryable }
        }
        other => return Err(Failure::WrongShape(format!("{other:?} settles no call"))),
    };
    fields.end()?;
    Ok(settle)
}

fn llm_response(fields: &mut Fields) -> Result<LlmResponse, Failure> {
    fields.need("response")
}

fn call_id(fields: &mut Fields) -> Result<CallId, Failure> {
    let id: String = fields.need("id")?;
    Ok(id.into())
}

fn attempt(fields: &mut Fields) -> Result<Option<u32>, Failure> {
    fields.get("attempt")
}

/// One of `result` and `content` with its companions (§3.4).
fn tool_result(fields: &mut Fields) -> Result<Settle, Failure> {
    let (id, attempt) = (call_id(fields)?, attempt(fields)?);
    let result: Option<ToolResult> = fields.get("result")?;
    let content: Option<Vec<Value>> = fields.get("content")?;
    let companions = ToolResult {
        content: Vec::new(),
        structured_content: fields.raw("structured_content").filter(|value| !value.is_null()),
        is_error: fields.get("is_error")?,
    };
    let beside = companions != ToolResult::default();
    let result = match (result, content) {
        (Some(result), None) if !beside => result,
        (None, Some(content)) => ToolResult { content, ..companions },
        (None, None) if beside => companions,
        (None, None) => return Err(fields.missing("result")),
        _ => return Err(Failure::WrongShape("give result or content, not both".to_owned())),
    };
    Ok(Settle::ToolResult { id, attempt, result })
}

fn tool_error(fields: &mut Fields) -> Result<Settle, Failure> {
    let (id, attempt) = (call_id(fields)?, attempt(fields)?);
    let (error, retryable) = error_of(fields)?;
    Ok(Settle::ToolError { id, attempt, error, retryable })
}

fn error_of(fields: &mut Fields) -> Result<(ErrorInfo, bool), Failure> {
    let message: String = fields.need("error")?;
    let retryable = fields.get("retryable")?.unwrap_or(false);
    let mut error = ErrorInfo::new(ErrorCode::HandlerError, message);
    if let Some(code) = fields.get("code")? {
        error.code = code;
    }
    error.detail = fields.get("detail")?;
    Ok((error, retryable))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn inside(input: Value) -> Result<Parsed, Failure> {
        parse(input, Addressing::Inside, true)
    }

    fn refused(input: Value) -> (u16, String) {
        let failure = inside(input).map(|_| ()).expect_err("this input is refused");
        (failure.http_status(), failure.to_string())
    }

    #[test]
    fn wrong_shapes_are_422_and_wrong_values_400_n12() {
        let user = json!({"role": "user", "content": "x"});
        for (input, status, says) in [
            (json!({"type": "client.message", "agent_id": "a"}), 422, "input.message is missing"),
            (
                json!({"type": "client.message", "agent_id": "a", "message": user, "surprise": 1}),
                422,
                "input.surprise is not expected here",
            ),
            (json!({"type": "client.message", "message": user}), 422, "input.agent_id is missing"),
            (
                json!({"type": "client.messages", "agent_id": "a", "messages": [user], "queue": true}),
                422,
                "input.queue is not expected here",
            ),
            (json!({"type": "client.message", "agent_id": "a", "message": {"role": "king"}}), 422, "input.message.role: unknown variant"),
            (json!({"type": "interrupt.resume"}), 422, "input.interrupt_id is missing"),
            (json!({"type": "interrupt.resume", "interrupt_id": ""}), 400, "input.interrupt_id must have 1 to 200 characters"),
            (json!({"type": "interrupt.resume", "interrupt_id": "i", "payload": 1, "answer": {}}), 422, "give payload or answer, not both"),
            (
                json!({"type": "interrupt.resume", "interrupt_id": "i", "answer": {"channel": "desktop", "option": 0}}),
                400,
                "the engine's own",
            ),
            (
                json!({"type": "interrupt.resume", "interrupt_id": "i", "answer": {"channel": "X", "option": 0}}),
                400,
                "answer.channel is a lowercase",
            ),
            (json!({"type": "tool.error", "id": "c", "error": "e"}), 422, "input.retryable is missing"),
            (json!({"type": "tool.result", "id": "c"}), 422, "input.result is missing"),
            (json!({"type": "tool.result", "id": "c", "result": {"content": []}, "content": []}), 422, "give result or content, not both"),
            (json!({"type": "nonsense"}), 422, "there is no input \"nonsense\""),
            (json!([1]), 422, "input must be an object"),
        ] {
            let (got, said) = refused(input.clone());
            assert_eq!(got, status, "{input}: {said}");
            assert!(said.contains(says), "{input}: said {said:?}, wanted {says:?}");
        }
    }

    #[test]
    fn a_present_null_payload_is_an_answer_i101() {
        for (input, wanted) in [
            (json!({"type": "interrupt.resume", "interrupt_id": "i", "payload": null}), Some(Value::Null)),
            (json!({"type": "interrupt.resume", "interrupt_id": "i"}), None),
        ] {
            match inside(input).map(|parsed| parsed.input) {
                Ok(ParsedInput::Input(Input::Resume { payload, .. })) => assert_eq!(payload, wanted),
                other => panic!("not a resume: {other:?}"),
            }
        }
    }

    #[test]
    fn queue_beside_an_input_that_takes_none_is_422_n14() {
        let beside = || Addressing::Beside { agent_id: "a".into(), turn_id: None, queue: Some(true) };
        let view = json!({"type": "client.messages", "messages": []});
        assert_eq!(parse(view, beside(), true).map(|_| ()).expect_err("N-14").http_status(), 422);
        let one = json!({"type": "client.message", "message": {"role": "user", "content": "x"}});
        assert!(matches!(parse(one, beside(), true).map(|p| p.input), Ok(ParsedInput::Input(Input::Append { queue: true, .. }))));
    }

    #[test]
    fn a_settle_takes_result_or_content_and_a_code() {
        assert_eq!(
            settle(json!({"type": "tool.result", "id": "c", "content": [], "is_error": true, "attempt": 2})).ok(),
            Some(Settle::ToolResult {
                id: "c".into(),
                attempt: Some(2),
                result: ToolResult { content: vec![], structured_content: None, is_error: Some(true) }
            })
        );
        let Ok(Settle::LlmError { error, retryable, .. }) = settle(json!({"type": "llm.error", "id": "m", "error": "no", "code": "mine"}))
        else {
            panic!("an llm.error settles")
        };
        assert_eq!((error.code.as_str(), retryable), ("mine", false));
    }
}
