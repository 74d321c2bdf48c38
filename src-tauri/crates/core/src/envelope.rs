//! Events as every surface shows them (E-4): the lean log written out whole.

use serde_json::{Value, json};

use crate::decision::Trigger;
use crate::event::{Event, Payload};
use crate::id::SessionId;
use crate::state::Session;

/// `{session_id, seq, occurred_at, turn_id?, payload}`; the admin form adds `id` and `tenant_id`.
pub fn envelope(session: &Session, event: &Event, tenant: Option<&str>) -> Value {
    let mut out = framed(&session.id, event, payload(Some(session), &event.payload).unwrap_or_default());
    if let Some(tenant) = tenant {
        out["id"] = json!(crate::id::event_id(&session.id, event.seq, event.at));
        out["tenant_id"] = json!(tenant);
    }
    out
}

/// The envelope of an event without its session; `None` where the log refers to the session's messages.
pub fn whole_envelope(session: &SessionId, event: &Event) -> Option<Value> {
    Some(framed(session, event, payload(None, &event.payload)?))
}

fn framed(session: &SessionId, event: &Event, payload: Value) -> Value {
    let mut out = json!({"session_id": session, "seq": event.seq, "occurred_at": event.at});
    if let Some(turn) = &event.turn_id {
        out["turn_id"] = json!(turn);
    }
    out["payload"] = payload;
    out
}

/// `None` only without a session.
fn payload(session: Option<&Session>, payload: &Payload) -> Option<Value> {
    Some(match payload {
        Payload::LlmCallRequested { request, .. } => {
            let session = session?;
            with(payload, "request", json!(request.resolve(session)))
        }
        Payload::DecisionQueued {
            trigger: trigger @ (Trigger::ClientMessages { .. } | Trigger::LlmExecute { .. } | Trigger::ToolExecute { .. }),
            ..
        } => {
            let session = session?;
            // An append is composed at delivery (T-11), so its event shows what was sent.
            let append = matches!(trigger, Trigger::ClientMessages { append: true, .. });
            let head = if append { None } else { session.tree.head() };
            with(payload, "trigger", crate::request::trigger_json(session, trigger, head))
        }
        // It is the fold's own (E-10); readers find the sum in `turn.completed`.
        Payload::CallVoided { spent: Some(_), .. } => {
            let mut out = json!(payload);
            let _ = out.as_object_mut().map(|whole| whole.remove("spent"));
            out
        }
        whole => json!(whole),
    })
}

fn with(payload: &Payload, key: &str, value: Value) -> Value {
    let mut out = json!(payload);
    out[key] = value;
    out
}
