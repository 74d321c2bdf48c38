//! `/api/admin`: lists and logs for API keys, and the keys themselves for the operator.

use axum::extract::{Path, Query as UrlQuery, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::routing::{delete, get};
use axum::{Json, Router};
use holdpoint_app::api::Query;
use serde_json::Value;

use crate::Api;
use crate::body::JsonBody;
use crate::credential::{Machine, Operator};
use crate::error::Answer;
use crate::sse;

pub(crate) fn routes() -> Router<Api> {
    Router::new()
        .route("/api/admin/sessions", get(sessions))
        .route("/api/admin/sessions/{id}", get(session))
        .route("/api/admin/sessions/{id}/events", get(events))
        .route("/api/admin/sessions/{id}/events/stream", get(stream))
        .route("/api/admin/interrupts", get(interrupts))
        .route("/api/admin/keys", get(keys).post(create_key))
        .route("/api/admin/keys/{id}", delete(revoke_key))
}

async fn sessions(State(api): State<Api>, Machine(caller): Machine, UrlQuery(query): UrlQuery<Query>) -> Answer<Json<Value>> {
    Ok(Json(api.app.admin_sessions(&caller, &query)?))
}

async fn session(State(api): State<Api>, Machine(caller): Machine, Path(id): Path<String>) -> Answer<Json<Value>> {
    Ok(Json(api.app.session(&caller, &id).await?))
}

async fn events(
    State(api): State<Api>,
    Machine(caller): Machine,
    Path(id): Path<String>,
    UrlQuery(query): UrlQuery<Query>,
) -> Answer<Json<Value>> {
    Ok(Json(api.app.admin_events(&caller, &id, &query).await?))
}

async fn stream(
    State(api): State<Api>,
    Machine(caller): Machine,
    Path(id): Path<String>,
    UrlQuery(query): UrlQuery<Query>,
    headers: HeaderMap,
) -> Answer<Response> {
    sse::session_events(&api, &caller, &id, &query, &headers, true).await
}

async fn interrupts(State(api): State<Api>, Machine(caller): Machine, UrlQuery(query): UrlQuery<Query>) -> Answer<Json<Value>> {
    Ok(Json(api.app.admin_interrupts(&caller, &query)?))
}

async fn keys(State(api): State<Api>, _: Operator) -> Answer<Json<Value>> {
    Ok(Json(api.app.api_keys()?))
}

async fn create_key(State(api): State<Api>, _: Operator, JsonBody(body): JsonBody) -> Answer<(StatusCode, Json<Value>)> {
    Ok((StatusCode::CREATED, Json(api.app.create_api_key(body).await?)))
}

async fn revoke_key(State(api): State<Api>, _: Operator, Path(id): Path<String>) -> Answer<StatusCode> {
    api.app.revoke_api_key(&id).await?;
    Ok(StatusCode::NO_CONTENT)
}
