//! `/api/desktop`: the desk's operations over HTTP, for the operator. One path per operation of [`holdpoint_app::ops`], arguments as
//! one JSON object; the feed as a stream with one frame per `data:` line.

use axum::extract::{Path, Query as UrlQuery, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use holdpoint_app::api::Query;
use holdpoint_app::error::Failure;
use holdpoint_app::wire::{ApiError, Draft, FeedFrom, ForecastOf, ScheduledAnswer, Snoozed, Submit};
use holdpoint_view::row::{Json as AnyJson, Seq, Time};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Api;
use crate::body::JsonBody;
use crate::credential::Operator;
use crate::error::{Answer, Refused};
use crate::sse;

pub(crate) fn routes() -> Router<Api> {
    Router::new().route("/api/desktop/feed", get(feed)).route("/api/desktop/{operation}", post(operation))
}

async fn feed(State(api): State<Api>, _: Operator, UrlQuery(query): UrlQuery<Query>) -> Answer<Response> {
    let number = |key: &str| match query.get(key) {
        None => Ok(Seq(0)),
        Some(text) => text.parse().map(Seq).map_err(|_| Failure::invalid(format!("{key} is a number"))),
    };
    let session_id = query.get("session_id").filter(|id| !id.is_empty()).cloned();
    let from = FeedFrom { after: number("after")?, session_id, after_seq: number("after_seq")? };
    Ok(sse::frames(api.app.feed(from)))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OfSession {
    session_id: String,
    of: ForecastOf,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OfCommand {
    command_id: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nodes {
    session_id: String,
    ids: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sessions {
    before: Option<Time>,
    limit: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Interrupts {
    state: String,
    before: Option<Time>,
    limit: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Events {
    session_id: String,
    after_seq: Seq,
    limit: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OneKey {
    key: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    settings: AnyJson,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OneInterrupt {
    session_id: String,
    interrupt_id: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OnePath {
    path: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Token {
    path: String,
    token: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewKey {
    name: String,
    expires_at: Option<Time>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OneId {
    id: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OneSession {
    session_id: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OneThread {
    command_id: String,
    session_id: String,
    thread_session_id: String,
    reason: String,
}

/// Arguments that are one record may come bare, or under the name they have in [`holdpoint_app::ops`].
fn record<T: DeserializeOwned>(body: Value, name: &str) -> Result<T, Refused> {
    match body {
        Value::Object(mut map) if map.len() == 1 && map.contains_key(name) => args(map.remove(name).unwrap_or_default()),
        bare => args(bare),
    }
}

fn args<T: DeserializeOwned>(body: Value) -> Result<T, Refused> {
    serde_json::from_value(body).map_err(|error| Refused(Failure::WrongShape(error.to_string())))
}

async fn operation(State(api): State<Api>, _: Operator, Path(operation): Path<String>, JsonBody(body): JsonBody) -> Answer<Response> {
    let app = &api.app;
    Ok(match operation.as_str() {
        "bootstrap" => told(app.bootstrap().await),
        "submit" => told(app.submit(record::<Submit>(body, "submit")?).await),
        "forecast" => {
            let OfSession { session_id, of } = args(body)?;
            told(app.forecast(session_id, of).await)
        }
        "schedule_answer" => told(app.schedule_answer(record::<ScheduledAnswer>(body, "answer")?).await),
        "undo_answer" => told(app.undo_answer(args::<OfCommand>(body)?.command_id).await),
        "dismiss_answer" => told(app.dismiss_answer(args::<OfCommand>(body)?.command_id).await),
        "node_bodies" => {
            let Nodes { session_id, ids } = args(body)?;
            told(app.node_bodies(session_id, ids).await)
        }
        "list_sessions" => {
            let Sessions { before, limit } = args(body)?;
            told(app.list_sessions(before, limit).await)
        }
        "list_interrupts" => {
            let Interrupts { state, before, limit } = args(body)?;
            told(app.list_interrupts(state, before, limit).await)
        }
        "events" => {
            let Events { session_id, after_seq, limit } = args(body)?;
            told(app.events(session_id, after_seq, limit).await)
        }
        "threads" => told(app.threads(args::<OneSession>(body)?.session_id).await),
        "interrupt_thread" => {
            let OneThread { command_id, session_id, thread_session_id, reason } = args(body)?;
            told(app.interrupt_thread(command_id, session_id, thread_session_id, reason).await)
        }
        "save_draft" => told(app.save_draft(record::<Draft>(body, "draft")?).await),
        "delete_draft" => told(app.delete_draft(args::<OneKey>(body)?.key).await),
        "save_settings" => told(app.save_settings(args::<Settings>(body)?.settings).await),
        "connections" => told(app.connections().await),
        "authorize_connection" => told(app.authorize_connection(args::<OnePath>(body)?.path).await),
        "set_connection_token" => {
            let Token { path, token } = args(body)?;
            told(app.set_connection_token(path, token).await)
        }
        "forget_connection" => told(app.forget_connection(args::<OnePath>(body)?.path).await),
        "list_keys" => told(app.list_keys().await),
        "make_key" => {
            let NewKey { name, expires_at } = args(body)?;
            told(app.make_key(name, expires_at).await)
        }
        "revoke_key" => told(app.revoke_key(args::<OneId>(body)?.id).await),
        "snooze" => told(app.snooze(record::<Snoozed>(body, "snoozed")?).await),
        "unsnooze" => {
            let OneInterrupt { session_id, interrupt_id } = args(body)?;
            told(app.unsnooze(session_id, interrupt_id).await)
        }
        other => return Err(Failure::NotFound(format!("there is no operation {other:?}")).into()),
    })
}

/// The desktop's own error shape: `{code, message, details}`.
fn told<T: Serialize>(answer: Result<T, ApiError>) -> Response {
    match answer {
        Ok(value) => Json(value).into_response(),
        Err(error) => (status(&error), Json(error)).into_response(),
    }
}

fn status(error: &ApiError) -> axum::http::StatusCode {
    use axum::http::StatusCode;
    match error.code.as_str() {
        "unauthenticated" => StatusCode::UNAUTHORIZED,
        "access_denied" | "effect_wrong_handler" => StatusCode::FORBIDDEN,
        "session_not_found" | "effect_not_found" | "not_found" => StatusCode::NOT_FOUND,
        "invalid_id" | "invalid_request" => StatusCode::BAD_REQUEST,
        "storage_full" => StatusCode::INSUFFICIENT_STORAGE,
        "unavailable" => StatusCode::SERVICE_UNAVAILABLE,
        "failed" => StatusCode::INTERNAL_SERVER_ERROR,
        _ => StatusCode::CONFLICT,
    }
}
