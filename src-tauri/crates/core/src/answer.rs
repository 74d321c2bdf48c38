//! From a person's choice to the delivered payload (I-56…I-63, I-95…I-99, Q-5), and what an answer amounts to (I-85, I-86, Q-7).
//!
//! Every channel goes through [`build`], so a click can never send a value that the recorded interrupt did not offer (I-57).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::json::same;

/// What was chosen.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// Index of a recorded option, or of the default pair; `text` is for the option's input.
    Option { index: usize, text: Option<String> },
    /// A bare value: typed input or a form.
    Value(Value),
    /// The person withdraws from the question (I-99).
    Cancel,
}

/// Who answers, as the channel knows it (I-64). Label, style and text are added here.
#[derive(Clone, Debug, PartialEq)]
pub struct Responder {
    pub channel: String,
    pub user: Option<String>,
}

/// The payload to record and deliver, and the responder that is recorded beside a bare one (I-63).
#[derive(Clone, Debug, PartialEq)]
pub struct Built {
    pub payload: Value,
    pub responder: Value,
}

/// Outcomes of closed interrupts, and of open ones where Q-47 names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Answered,
    Declined,
    Cancelled,
    Expired,
    Superseded,
}

/// I-53: the options as recorded. `None` when the requester offered none.
pub fn options(payload: Option<&Value>) -> Option<&Vec<Value>> {
    payload?.get("metadata")?.get("options")?.as_array().filter(|list| !list.is_empty())
}

/// I-95: with a message, no options and no schema. M-34: what a server's question is answered with.
pub fn default_pair(payload: Option<&Value>) -> Option<Vec<Value>> {
    let payload = payload?;
    if let Some(choices) = crate::elicit::choices(Some(payload)) {
        return Some(choices);
    }
    let asked = payload.get("message").is_some_and(Value::is_string);
    (asked && options(Some(payload)).is_none() && payload.get("responseSchema").is_none_or(Value::is_null)).then(|| {
        vec![
            json!({"label": "Approve", "value": {"approved": true}, "style": "primary"}),
            json!({"label": "Decline", "value": {"approved": false}, "style": "danger"}),
        ]
    })
}

/// Builds what a channel delivers for `answer` to the recorded question. The error names what to change.
pub fn build(recorded: Option<&Value>, answer: &Answer, who: &Responder) -> Result<Built, String> {
    let offered = options(recorded);
    let mut responder = Map::new();
    responder.insert("channel".into(), who.channel.clone().into());
    if let Some(user) = &who.user {
        responder.insert("user".into(), user.clone().into());
    }
    if crate::elicit::mode(recorded).is_some() && offered.is_none() {
        let payload = crate::elicit::wrap(recorded, answer, &responder)?;
        return Ok(Built { responder: payload["responder"].clone(), payload });
    }
    match answer {
        Answer::Cancel => {
            let responder = Value::Object(responder);
            let payload = match offered {
                Some(_) => json!({"status": "cancelled", "responder": responder}),
                None => json!({"status": "cancelled"}),
            };
            Ok(Built { payload, responder })
        }
        Answer::Value(value) => {
            if offered.is_some() {
                return Err("this question offers options: choose one of them by its index".into());
            }
            if let Some(schema) = recorded.and_then(|p| p.get("responseSchema")).filter(|s| !s.is_null()) {
                check_schema(schema, value)?;
            }
            Ok(Built { payload: value.clone(), responder: Value::Object(responder) })
        }
        Answer::Option { index, text } => {
            let pair = default_pair(recorded);
            let list = offered.or(pair.as_ref()).ok_or("this question offers no options: answer with a value")?;
            let option = list.get(*index).ok_or_else(|| format!("there is no option {index}: the question offers {}", list.len()))?;
            let input = option.get("input").filter(|input| input.is_object());
            let required = input.is_some_and(|input| input["required"] == true);
            let text = text.as_ref().filter(|text| !text.is_empty());
            if required && text.is_none() {
                return Err(format!("option {} needs a text: {}", option["label"], input.map_or(&Value::Null, |i| &i["label"])));
            }
            for key in ["label", "style"] {
                if let Some(value) = option.get(key).filter(|value| value.is_string()) {
                    responder.insert(key.into(), value.clone());
                }
            }
            if let Some(text) = text.filter(|_| input.is_some()) {
                responder.insert("text".into(), text.clone().into());
            }
            let value = option.get("value").cloned().unwrap_or(Value::Null);
            let responder = Value::Object(responder);
            let payload = match offered {
                Some(_) => json!({"status": "resolved", "payload": value, "responder": responder}),
                None => value,
            };
            Ok(Built { payload, responder })
        }
    }
}

/// I-97: a form's value is checked before it is sent.
fn check_schema(schema: &Value, value: &Value) -> Result<(), String> {
    // A schema that is itself broken cannot be shown as a form and checks nothing (I-97: JSON input).
    let Ok(validator) = jsonschema::validator_for(schema) else { return Ok(()) };
    match validator.iter_errors(value).next() {
        None => Ok(()),
        Some(problem) => {
            let at = problem.instance_path().to_string();
            Err(if at.is_empty() { problem.to_string() } else { format!("{at}: {problem}") })
        }
    }
}

/// I-58: a responder is a channel's to write. Nothing else in an API payload is changed; one that a schema declares stays.
#[must_use]
pub fn without_responder(mut payload: Value, recorded: Option<&Value>) -> Value {
    let declared = recorded.and_then(|p| p.get("responseSchema")).is_some_and(|s| s["properties"].get("responder").is_some());
    if let Value::Object(map) = &mut payload
        && !declared
    {
        map.shift_remove("responder");
    }
    payload
}

/// I-86 as Q-7 has it: cancelled, declined, answered, in this order.
pub fn outcome(recorded: Option<&Value>, payload: Option<&Value>) -> Outcome {
    let Some(payload) = payload else { return Outcome::Answered };
    if payload.get("status").is_some_and(|status| status == "cancelled") {
        return Outcome::Cancelled;
    }
    let says_no = |value: &Value| value.get("approved").is_some_and(|v| v == false) || value.get("declined").is_some_and(|v| v == true);
    let inner = payload.get("payload");
    let chosen = inner.unwrap_or(payload);
    let option_declines = options(recorded)
        .into_iter()
        .flatten()
        .any(|option| option["declines"] == true && option.get("value").is_some_and(|value| same(value, chosen)));
    if says_no(payload) || inner.is_some_and(says_no) || option_declines { Outcome::Declined } else { Outcome::Answered }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn who() -> Responder {
        Responder { channel: "desktop".into(), user: Some("ann".into()) }
    }
    fn question() -> Value {
        json!({"message": "Ship?", "metadata": {"options": [
            {"label": "Ship", "value": {"go": 1}, "style": "primary"},
            {"label": "Wait", "value": {"go": 0}, "input": {"label": "Why", "required": true}, "declines": true}]}})
    }

    #[test]
    fn an_option_is_read_from_the_record_and_wrapped_i56_i57() {
        let built = build(Some(&question()), &Answer::Option { index: 0, text: None }, &who()).expect("option 0 exists");
        let responder = json!({"channel": "desktop", "user": "ann", "label": "Ship", "style": "primary"});
        assert_eq!(built.payload, json!({"status": "resolved", "payload": {"go": 1}, "responder": responder}));
        assert!(
            build(Some(&question()), &Answer::Option { index: 2, text: None }, &who()).is_err(),
            "I-57: a foreign index resolves nothing"
        );
    }

    #[test]
    fn a_required_text_blocks_and_travels_as_responder_text_i98() {
        let none = build(Some(&question()), &Answer::Option { index: 1, text: Some(String::new()) }, &who());
        assert!(none.is_err_and(|why| why.contains("Why")));
        let built = build(Some(&question()), &Answer::Option { index: 1, text: Some("late".into()) }, &who()).expect("with text");
        assert_eq!((&built.payload["payload"], &built.payload["responder"]["text"]), (&json!({"go": 0}), &json!("late")));
        assert_eq!(outcome(Some(&question()), Some(&built.payload)), Outcome::Declined, "Q-7: declines:true");
    }

    #[test]
    fn without_options_the_answer_is_bare_i63_i95() {
        let asked = json!({"message": "Sure?"});
        let built = build(Some(&asked), &Answer::Option { index: 1, text: None }, &who()).expect("default pair");
        assert_eq!(built.payload, json!({"approved": false}));
        assert_eq!(built.responder, json!({"channel": "desktop", "user": "ann", "label": "Decline", "style": "danger"}));
        let typed = build(Some(&asked), &Answer::Value(json!(0)), &who()).expect("typed");
        assert_eq!(typed.payload, json!(0), "I-101: falsy answers are answers");
        assert_eq!(default_pair(Some(&json!({"note": 1}))), None, "no message, no pair");
    }

    #[test]
    fn a_form_value_is_checked_before_it_is_sent_i97() {
        let asked = json!({"message": "How many?", "responseSchema": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}});
        assert!(build(Some(&asked), &Answer::Value(json!({"n": "x"})), &who()).is_err_and(|why| why.contains("/n")));
        assert_eq!(build(Some(&asked), &Answer::Value(json!({"n": 3})), &who()).map(|b| b.payload), Ok(json!({"n": 3})));
    }

    #[test]
    fn withdrawing_is_wrapped_only_beside_options_i99() {
        let with = build(Some(&question()), &Answer::Cancel, &who()).expect("always possible");
        assert_eq!(with.payload, json!({"status": "cancelled", "responder": {"channel": "desktop", "user": "ann"}}));
        let without = build(None, &Answer::Cancel, &who()).expect("always possible");
        assert_eq!(without.payload, json!({"status": "cancelled"}));
        assert_eq!(outcome(None, Some(&without.payload)), Outcome::Cancelled, "I-86: cancelled first");
    }

    #[test]
    fn style_never_decides_the_outcome_q7() {
        let danger = json!({"status": "resolved", "payload": {"approved": true}, "responder": {"style": "danger"}});
        assert_eq!(outcome(None, Some(&danger)), Outcome::Answered);
        assert_eq!(outcome(None, Some(&json!({"declined": true}))), Outcome::Declined);
        assert_eq!(outcome(None, None), Outcome::Answered);
    }

    #[test]
    fn only_a_top_level_responder_is_removed_i58() {
        let payload = json!({"responder": 1, "deep": {"responder": 2}});
        assert_eq!(without_responder(payload.clone(), None), json!({"deep": {"responder": 2}}));
        let schema = json!({"responseSchema": {"properties": {"responder": {}}}});
        assert_eq!(without_responder(payload.clone(), Some(&schema)), payload, "Q-16");
    }
}
