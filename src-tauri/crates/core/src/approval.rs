//! Approval before a call (§10B): what is asked, in which order, what an answer means, and what it allows to run.
//!
//! Questions and answers live in the log alone: what is open and what was said is read from the interrupts of the calls.

use serde_json::{Map, Value, json};

use crate::connector::{self, Approve, ServerTool};
use crate::deferred;
use crate::id::CallId;
use crate::json::{canonical, same, sha256_hex};
use crate::message::{AgentConfig, Content, ErrorCode, ErrorInfo, Handler, Message, Role, ToolCall};
use crate::proposal::{continuation, wanted_action};
use crate::response::{Action, LlmCallAction, Response, View};
use crate::state::{Call, ClosedInterrupt, Interrupt, Session};
use crate::tree::Ix;

const ID: &str = "mcp-approve:";

/// M-15: what the model reads instead of a result.
pub const DECLINED: &str = "A person declined this call, so it was not run. Do not try it again.";

/// A call that needs a person's word, with what is shown of it.
struct Gate<'a> {
    call: &'a ToolCall,
    /// Of a deferred tool the real name (M-13).
    name: String,
    connection: String,
    tool: &'a ServerTool,
    arguments: Map<String, Value>,
}

/// M-11. A call whose arguments cannot be sent is not asked about: it ends by itself.
fn gate<'a>(session: &'a Session, config: &AgentConfig, call: &'a ToolCall) -> Option<Gate<'a>> {
    let (name, arguments) = deferred::meant(config, &call.function.name, &call.function.arguments);
    let tool = connector::find(session, config, &name)?;
    let asks = match tool.approve {
        Approve::Never => false,
        Approve::Destructive => tool.tool.is_marked_destructive(),
        Approve::Always => true,
    };
    let arguments = connector::arguments(&arguments).filter(|_| asks)?;
    if connector::misfit(tool.tool, &arguments).is_some() {
        return None;
    }
    Some(Gate { call, name, connection: tool.path.clone(), tool: tool.tool, arguments })
}

/// M-13.
fn question(gate: &Gate, remaining: usize) -> Action {
    let name = &gate.name;
    let payload = json!({
        "message": format!("Run `{name}`?\n\n{}", shown(&gate.arguments)),
        "toolCallId": gate.call.id,
        "metadata": {
            "type": "tool.approval",
            "tool": name,
            "connection": gate.connection,
            "arguments": gate.arguments,
            "remaining": remaining,
            "risk": gate.tool.risk(),
            "annotations": gate.tool.annotations(),
            "options": [
                {"label": "Run it", "value": {"approved": true}, "style": "primary"},
                {"label": "Decline", "value": {"approved": false}, "style": "danger"},
            ],
        },
    });
    Action::Interrupt { id: Some(format!("{ID}{}", gate.call.id).into()), reason: "tool_call".to_owned(), payload: Some(payload) }
}

/// The arguments as a code block, whole, whatever they contain.
pub fn shown(arguments: &Map<String, Value>) -> String {
    let text = serde_json::to_string_pretty(arguments).unwrap_or_default();
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}json\n{text}\n{fence}")
}

/// M-12: the question a reply leads to, before any of its calls.
pub fn first_question(session: &Session, reply: &Message) -> Option<Action> {
    let config = session.config()?;
    let gates: Vec<Gate> = reply.calls().iter().filter_map(|call| gate(session, config, call)).collect();
    gates.first().map(|first| question(first, gates.len() - 1))
}

/// M-15…M-17: after an answer, the next question, or everything the message asked for at once. `None`: the interrupt was no approval.
pub fn go_on(session: &Session, interrupt_id: &str, later: bool) -> Option<Response> {
    let id = interrupt_id.strip_prefix(ID)?;
    let node = *session.asked_in.get(id)?;
    let head = session.tree.head()?;
    if session.tree.on_path(node, head) { send_or_ask(session, node, later) } else { None }
}

/// What a recorded message's calls lead to that nobody has touched yet. `None`: there are none.
pub fn send_or_ask(session: &Session, node: Ix, later: bool) -> Option<Response> {
    let config = session.config()?;
    let open: Vec<&ToolCall> = session.tree.node(node).message.calls().iter().filter(|call| is_untouched(session, call)).collect();
    if open.is_empty() {
        return None;
    }
    let gates: Vec<Gate> = open.iter().filter_map(|call| gate(session, config, call)).collect();
    let mut unanswered = gates.iter().filter(|gate| answer(session, &CallId::from(gate.call.id.as_str())).is_none());
    if let Some(next) = unanswered.next() {
        return Some(Response { actions: vec![question(next, unanswered.count())], ..Response::default() });
    }
    let declined = |call: &ToolCall| {
        let gated = gates.iter().any(|gate| gate.call.id == call.id);
        let said = answer(session, &CallId::from(call.id.as_str()));
        said.map_or(gated, |closed| !approves(closed.payload.as_ref()))
    };
    let (refused, wanted): (Vec<&ToolCall>, Vec<&ToolCall>) = open.into_iter().partition(|call| declined(call));
    let news = refused.iter().map(|call| Message::tool(&CallId::from(call.id.as_str()), Content::Text(DECLINED.to_owned()))).collect();
    Some(run(session, node, news, &wanted, later))
}

/// M-17: approved and ungated calls go off together; the model is prompted when every call has its answer.
fn run(session: &Session, asked: Ix, news: Vec<Message>, wanted: &[&ToolCall], later: bool) -> Response {
    let mut actions: Vec<Action> = wanted.iter().map(|call| wanted_action(session, call)).collect();
    if actions.is_empty() && session.pending_calls() == 0 && !later {
        let prompt: LlmCallAction = continuation(session, Some(asked), &news);
        actions.push(Action::LlmCall(prompt));
    }
    let view = (!news.is_empty()).then(|| View { after: session.tree.head(), news });
    Response { view, actions, ..Response::default() }
}

/// Neither requested nor answered.
fn is_untouched(session: &Session, call: &ToolCall) -> bool {
    let id = CallId::from(call.id.as_str());
    let requested = session.tool(&id).is_some() || session.call(crate::event::CallKind::Subagent, &id).is_some();
    !requested
        && !session.tree.path(session.tree.head()).iter().any(|ix| {
            let message = &session.tree.node(*ix).message;
            message.role == Role::Tool && message.tool_call_id.as_ref() == Some(&call.id)
        })
}

/// The answer to the question about a call. One given under the same id before the call was asked for does not count.
fn answer<'a>(session: &'a Session, call: &CallId) -> Option<&'a ClosedInterrupt> {
    let asked = session.tree.node(*session.asked_in.get(call.as_str())?).seq;
    let id = crate::id::InterruptId::from(format!("{ID}{call}"));
    session.closed.get(&id).filter(|closed| closed.interrupt.opened_seq > asked)
}

/// M-14: exactly `{approved:true}`, bare or as the payload of a `resolved` answer.
pub fn approves(payload: Option<&Value>) -> bool {
    let yes = json!({"approved": true});
    payload.is_some_and(|payload| {
        let resolved = payload.get("status").is_some_and(|status| status == "resolved");
        same(payload, &yes) || (resolved && payload.get("payload").is_some_and(|inner| same(inner, &yes)))
    })
}

/// I-93: the hash of what was shown, when this answer approves it.
pub fn arguments_hash(open: &Interrupt, payload: Option<&Value>) -> Option<String> {
    let is_approval = open.id.as_str().starts_with(ID) && approves(payload);
    let asked = open.payload.as_ref().filter(|_| is_approval)?.get("metadata")?.get("arguments")?;
    Some(hash(asked))
}

fn hash(arguments: &Value) -> String {
    sha256_hex(canonical(arguments).as_bytes())
}

/// Hashes that `tool.call.dispatched` records for a call that was asked about.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cleared {
    pub approved_hash: Option<String>,
    pub arguments_hash: Option<String>,
}

/// I-94: whether a call may be sent, given what a person said about it.
pub fn clear(session: &Session, call: &Call) -> Result<Cleared, ErrorInfo> {
    let mismatch = |message: String| Err(ErrorInfo::new(ErrorCode::ApprovalMismatch, message));
    if let Some(error) = connector::input_error(session, call).filter(|_| call.handler == Handler::Server) {
        return Err(error);
    }
    let Some(closed) = answer(session, &call.id) else { return Ok(Cleared::default()) };
    let Some(approved) = arguments_hash(&closed.interrupt, closed.payload.as_ref()) else {
        return mismatch(format!("a person declined {}: it was not run", call.name));
    };
    let metadata = closed.interrupt.payload.as_ref().map(|payload| &payload["metadata"]);
    let (connection, _) = connector::split_target(call.target.as_deref().unwrap_or_default());
    if !metadata.is_some_and(|asked| asked["tool"] == call.name.as_str() && asked["connection"] == connection) {
        return mismatch(format!("{} is not the tool that was approved: it was not run", call.name));
    }
    let now = hash(&Value::Object(connector::arguments(&call.arguments).unwrap_or_default()));
    if now != approved {
        return mismatch(format!("the arguments of {} are not the approved ones: it was not run", call.name));
    }
    Ok(Cleared { approved_hash: Some(approved), arguments_hash: Some(now) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_approved_true_approves_m14() {
        for yes in
            [json!({"approved": true}), json!({"status": "resolved", "payload": {"approved": true}, "responder": {"channel": "cli"}})]
        {
            assert!(approves(Some(&yes)), "{yes}");
        }
        for no in [
            json!({"approved": false}),
            json!({"approved": "true"}),
            json!({"approved": true, "status": "cancelled"}),
            json!({"status": "cancelled", "payload": {"approved": true}}),
            json!({"payload": {"approved": true}}),
            json!(true),
            json!({}),
            json!(null),
        ] {
            assert!(!approves(Some(&no)), "{no}");
        }
        assert!(!approves(None));
    }

    #[test]
    fn arguments_cannot_leave_their_code_block_m13() {
        let sly = json!({"text": "a\n````\nb"});
        let block = shown(sly.as_object().expect("an object"));
        assert!(block.starts_with("`````json\n") && block.ends_with("\n`````"), "{block}");
    }
}
