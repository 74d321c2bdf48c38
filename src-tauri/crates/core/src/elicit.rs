//! What a server asks during a call (§10D): which question that is, what an answer to it means, and what the server is told.
//!
//! Questions and answers live in the log alone, so one that a server repeats is answered without asking anybody again (M-37).

use serde_json::{Map, Value, json};

use crate::id::{CallId, InterruptId};
use crate::json::same;
use crate::proposal::violation;
use crate::state::{Call, ClosedInterrupt, Interrupt, Session};

const ID: &str = "mcp-elicit:";
const TYPE: &str = "mcp.elicitation";

/// M-33: one question of a server.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    pub message: String,
    pub ask: Ask,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Ask {
    /// `requestedSchema`, as the server wrote it.
    Form(Value),
    Url(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Accept,
    Decline,
    Cancel,
}

/// M-35: what the server is told. Content goes with an accepted form only.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    pub action: Action,
    pub content: Option<Value>,
}

impl Question {
    pub(crate) fn payload(&self, call: &Call) -> Value {
        let (connection, _) = crate::connector::split_target(call.target.as_deref().unwrap_or_default());
        let mut metadata = json!({"type": TYPE, "connection": connection});
        let mut payload = json!({"message": self.message, "toolCallId": call.id});
        match &self.ask {
            Ask::Form(schema) => {
                metadata["mode"] = json!("form");
                payload["responseSchema"] = schema.clone();
            }
            Ask::Url(url) => {
                metadata["mode"] = json!("url");
                metadata["url"] = json!(url);
                metadata["host"] = json!(host(url));
            }
        }
        payload["metadata"] = metadata;
        payload
    }

    /// M-37: the same message and the same schema or address.
    fn is_asked_by(&self, payload: Option<&Value>) -> bool {
        let Some(payload) = payload.filter(|payload| payload["message"] == self.message.as_str()) else { return false };
        match &self.ask {
            Ask::Form(schema) => payload.get("responseSchema").is_some_and(|asked| same(asked, schema)),
            Ask::Url(url) => payload["metadata"]["url"] == url.as_str(),
        }
    }
}

/// The part of an address that says who is visited. Names and passwords before an `@` are no part of it.
fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or("", |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    authority.rsplit_once('@').map_or(authority, |(_, host)| host)
}

/// The call that a question of the engine's own is about. Somebody else's interrupt under such an id has no call with it.
pub fn asked_by(interrupt: &Interrupt) -> Option<CallId> {
    let rest = interrupt.id.as_str().strip_prefix(ID)?;
    let call = interrupt.call.as_ref()?;
    rest.strip_prefix(call.id.as_str())?.strip_prefix(':')?.parse::<u32>().ok()?;
    Some(call.id.clone())
}

/// Open questions of a call.
pub fn open(session: &Session, call: &CallId) -> Vec<InterruptId> {
    let own = session.interrupts.iter().filter(|open| asked_by(open).as_ref() == Some(call));
    own.map(|open| open.id.clone()).collect()
}

/// M-36, M-37: the call waits for a person.
pub fn waits(session: &Session, call: &Call) -> bool {
    session.interrupts.iter().any(|open| asked_by(open).as_ref() == Some(&call.id))
}

pub(crate) fn is_open(session: &Session, call: &CallId, question: &Question) -> bool {
    let own = |open: &&Interrupt| asked_by(open).as_ref() == Some(call);
    session.interrupts.iter().filter(own).any(|open| question.is_asked_by(open.payload.as_ref()))
}

/// The log's answer to an equal question of the call. Answers are few, so looking at all of them costs nothing.
fn answered<'a>(session: &'a Session, call: &CallId, question: &Question) -> Option<&'a ClosedInterrupt> {
    let own = session.closed.values().filter(|closed| asked_by(&closed.interrupt).as_ref() == Some(call));
    own.filter(|closed| question.is_asked_by(closed.interrupt.payload.as_ref())).max_by_key(|closed| closed.seq)
}

pub(crate) fn is_answered(session: &Session, call: &CallId, question: &Question) -> bool {
    answered(session, call, question).is_some()
}

/// What the server is told about its questions, once all of them are answered.
pub fn replies(session: &Session, call: &CallId, questions: &[Question]) -> Option<Vec<Reply>> {
    let reply = |question: &Question| {
        let closed = answered(session, call, question).filter(|_| !is_open(session, call, question))?;
        Some(read(closed.interrupt.payload.as_ref(), closed.payload.as_ref()).unwrap_or(Reply { action: Action::Cancel, content: None }))
    };
    questions.iter().map(reply).collect()
}

/// `mcp-elicit:<tool call id>:<n>`, the first n from 1 that nobody has used.
pub(crate) fn next_id(session: &Session, call: &CallId) -> InterruptId {
    let id = |n: u32| InterruptId::from(format!("{ID}{call}:{n}"));
    let used = |id: &InterruptId| session.closed.contains_key(id) || session.interrupt(id.as_str()).is_some();
    (1..u32::MAX).map(id).find(|id| !used(id)).unwrap_or_else(|| id(0))
}

/// Form or address, of a payload that a server's question made.
pub fn mode(payload: Option<&Value>) -> Option<&str> {
    let metadata = payload?.get("metadata")?;
    metadata.get("mode")?.as_str().filter(|_| metadata["type"] == TYPE)
}

/// M-34: what every channel offers beside withdrawing. A form's value goes with the first.
pub fn choices(payload: Option<&Value>) -> Option<Vec<Value>> {
    let first = if mode(payload)? == "url" { "Continue" } else { "Submit" };
    Some(vec![
        json!({"label": first, "value": {"action": "accept"}, "style": "primary"}),
        json!({"label": "Decline", "value": {"action": "decline"}, "style": "danger"}),
    ])
}

/// M-34, Q-16: what an answer says, or why it is none and the question stays open.
pub fn read(asked: Option<&Value>, payload: Option<&Value>) -> Result<Reply, String> {
    let plain = |action: Action| Ok(Reply { action, content: None });
    let said = payload.unwrap_or(&Value::Null);
    if said.get("status").is_some_and(|status| status == "cancelled") {
        return plain(Action::Cancel); // I-99: checks do not apply to it
    }
    let wrapped = is_wrapped(said);
    if refuses(asked, said) || (wrapped && said.get("payload").is_some_and(|inner| refuses(asked, inner))) {
        return plain(Action::Decline);
    }
    if mode(asked) == Some("url") {
        return plain(Action::Accept);
    }
    let nothing = json!({});
    let content = if wrapped { said.get("payload").unwrap_or(&nothing) } else { said };
    check(asked, content)?;
    Ok(Reply { action: Action::Accept, content: Some(content.clone()) })
}

/// I-97.
fn check(asked: Option<&Value>, content: &Value) -> Result<(), String> {
    if !content.is_object() {
        return Err("the answer is an object, as the form describes it".into());
    }
    let schema = asked.and_then(|asked| asked.get("responseSchema")).unwrap_or(&Value::Null);
    violation(schema, content).map_or(Ok(()), Err)
}

/// `{status:"resolved", payload?, declined?, responder?}` and nothing else: a form may have a `status` of its own.
fn is_wrapped(said: &Value) -> bool {
    let Some(said) = said.as_object() else { return false };
    let known = ["status", "payload", "declined", "responder"];
    said.get("status").is_some_and(|status| status == "resolved") && said.keys().all(|key| known.contains(&key.as_str()))
}

/// Q-7, unless the form has such a field.
fn refuses(asked: Option<&Value>, said: &Value) -> bool {
    let is_field = |name: &str| asked.is_some_and(|asked| asked["responseSchema"]["properties"].get(name).is_some());
    let says = |name: &str, value: bool| said.get(name).is_some_and(|given| *given == value) && !is_field(name);
    says("declined", true) || says("approved", false)
}

/// What a channel delivers (M-34). The error names what to change.
pub(crate) fn wrap(asked: Option<&Value>, chosen: &crate::answer::Answer, responder: &Map<String, Value>) -> Result<Value, String> {
    use crate::answer::Answer;
    let styled = |index: usize| {
        let mut responder = responder.clone();
        let choice = choices(asked).and_then(|choices| choices.into_iter().nth(index)).unwrap_or_default();
        for key in ["label", "style"] {
            responder.insert(key.into(), choice[key].clone());
        }
        Value::Object(responder)
    };
    let is_url = mode(asked) == Some("url");
    match chosen {
        Answer::Cancel => Ok(json!({"status": "cancelled", "responder": responder})),
        Answer::Option { index: 0, .. } if is_url => Ok(json!({"status": "resolved", "responder": styled(0)})),
        Answer::Option { index: 0, .. } => submit(asked, &json!({}), &styled(0)),
        Answer::Option { index: 1, .. } => Ok(json!({"status": "resolved", "declined": true, "responder": styled(1)})),
        Answer::Option { index, .. } => Err(format!("there is no option {index}: the question offers 2")),
        Answer::Value(_) if is_url => Err("this question asks to visit a page: go on with option 0, or decline with option 1".into()),
        Answer::Value(value) => submit(asked, value, &styled(0)),
    }
}

fn submit(asked: Option<&Value>, value: &Value, responder: &Value) -> Result<Value, String> {
    check(asked, value)?;
    Ok(json!({"status": "resolved", "payload": value, "responder": responder}))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::{Answer, Outcome, Responder, build, outcome};

    fn form() -> Value {
        let schema =
            json!({"type": "object", "properties": {"n": {"type": "integer"}, "approved": {"type": "boolean"}}, "required": ["n"]});
        json!({"message": "How many?", "responseSchema": schema, "metadata": {"type": TYPE, "mode": "form"}})
    }
    fn page() -> Value {
        json!({"message": "Sign in", "metadata": {"type": TYPE, "mode": "url", "url": "https://a.example/x", "host": "a.example"}})
    }
    fn action(asked: &Value, said: &Value) -> Option<Action> {
        read(Some(asked), Some(said)).ok().map(|reply| reply.action)
    }

    #[test]
    fn bare_values_that_fit_accept_and_others_are_no_answer_m34_q16() {
        for (said, content) in [
            (json!({"n": 3}), json!({"n": 3})),
            (json!({"n": 3, "approved": false}), json!({"n": 3, "approved": false})),
            (json!({"status": "resolved", "payload": {"n": 3}}), json!({"n": 3})),
            (json!({"n": 3, "status": "resolved"}), json!({"n": 3, "status": "resolved"})),
        ] {
            assert_eq!(read(Some(&form()), Some(&said)), Ok(Reply { action: Action::Accept, content: Some(content) }), "{said}");
        }
        for said in [json!({"n": "x"}), json!({}), json!(3), json!(null), json!({"status": "resolved"}), json!({"approved": true})] {
            assert_eq!(action(&form(), &said), None, "{said}");
        }
        assert!(read(Some(&form()), None).is_err());
    }

    #[test]
    fn declining_and_withdrawing_need_no_schema_m34_i99() {
        for asked in [form(), page()] {
            assert_eq!(action(&asked, &json!({"status": "resolved", "declined": true})), Some(Action::Decline));
            assert_eq!(action(&asked, &json!({"declined": true})), Some(Action::Decline));
            assert_eq!(action(&asked, &json!({"status": "cancelled"})), Some(Action::Cancel));
        }
        assert_eq!(action(&page(), &json!({"approved": false})), Some(Action::Decline));
        for yes in [json!({"status": "resolved"}), json!({}), json!(true), json!({"approved": true})] {
            assert_eq!(read(Some(&page()), Some(&yes)), Ok(Reply { action: Action::Accept, content: None }), "{yes}");
        }
    }

    #[test]
    fn channels_deliver_the_three_answers_wrapped_m34() {
        let who = Responder { channel: "cli".into(), user: None };
        let sends = |asked: &Value, chosen: Answer| build(Some(asked), &chosen, &who).map(|built| built.payload);
        let option = |index| Answer::Option { index, text: None };
        let submitted = json!({"channel": "cli", "label": "Submit", "style": "primary"});
        let wanted = json!({"status": "resolved", "payload": {"n": 3}, "responder": submitted});
        assert_eq!(sends(&form(), Answer::Value(json!({"n": 3}))), Ok(wanted));
        assert!(sends(&form(), Answer::Value(json!({"n": "x"}))).is_err_and(|why| why.contains("/n")), "I-97");
        assert!(sends(&form(), option(0)).is_err(), "a form has to be filled in");
        let responder = json!({"channel": "cli", "label": "Continue", "style": "primary"});
        assert_eq!(sends(&page(), option(0)), Ok(json!({"status": "resolved", "responder": responder})));
        assert!(sends(&page(), Answer::Value(json!(1))).is_err() && sends(&page(), option(2)).is_err());
        for asked in [form(), page()] {
            let declined = sends(&asked, option(1)).expect("always possible");
            let responder = json!({"channel": "cli", "label": "Decline", "style": "danger"});
            assert_eq!(declined, json!({"status": "resolved", "declined": true, "responder": responder}));
            assert_eq!(outcome(Some(&asked), Some(&declined)), Outcome::Declined, "I-85");
            let withdrawn = sends(&asked, Answer::Cancel).expect("always possible");
            assert_eq!(withdrawn, json!({"status": "cancelled", "responder": {"channel": "cli"}}));
        }
    }

    #[test]
    fn the_host_is_whom_one_visits_m33() {
        for (url, visited) in [
            ("https://a.example/x?y", "a.example"),
            ("https://bank.example@evil.example/", "evil.example"),
            ("http://127.0.0.1:99#x", "127.0.0.1:99"),
            ("https://evil.example\\@bank.example", "evil.example"),
            ("mailto:x", ""),
        ] {
            assert_eq!(host(url), visited, "{url}");
        }
    }
}
