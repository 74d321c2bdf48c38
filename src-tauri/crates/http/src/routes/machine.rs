//! `/api/machine`: programs with an API key.

use axum::body::{Body, to_bytes};
use axum::extract::{Path, Query as UrlQuery, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::{get, post};
use axum::{Json, Router};
use holdpoint_app::api::Query;
use serde_json::Value;

use crate::Api;
use crate::body::JsonBody;
use crate::credential::Machine;
use crate::error::Answer;
use crate::sse;

pub(crate) fn routes() -> Router<Api> {
    let with_ok = Router::new()
        .route("/api/machine/sessions/submit", post(submit))
        .route("/api/machine/sessions/{id}/calls/settle", post(settle))
        .route_layer(middleware::from_fn(say_not_ok));
    Router::new()
        .route("/api/machine/client-tokens", post(mint))
        .route("/api/machine/workers/submit", post(worker))
        .route("/api/machine/sessions/{id}/cancel", post(cancel))
        .route("/api/machine/sessions/{id}/events/stream", get(stream))
        .merge(with_ok)
}

async fn mint(State(api): State<Api>, Machine(caller): Machine, JsonBody(body): JsonBody) -> Answer<Json<Value>> {
    Ok(Json(api.app.mint_client_token(&caller, body)?))
}

async fn submit(State(api): State<Api>, Machine(caller): Machine, JsonBody(body): JsonBody) -> Answer<(StatusCode, Json<Value>)> {
    Ok((StatusCode::ACCEPTED, Json(api.app.machine_submit(&caller, body).await?)))
}

async fn settle(State(api): State<Api>, Machine(caller): Machine, Path(id): Path<String>, JsonBody(body): JsonBody) -> Answer<Json<Value>> {
    Ok(Json(api.app.settle(&caller, &id, body).await?))
}

async fn worker(State(api): State<Api>, Machine(caller): Machine, JsonBody(body): JsonBody) -> Answer<Json<Value>> {
    Ok(Json(api.app.worker_submit(&caller, body).await?))
}

async fn cancel(State(api): State<Api>, Machine(caller): Machine, Path(id): Path<String>) -> Answer<Json<Value>> {
    Ok(Json(api.app.cancel(&caller, &id).await?))
}

async fn stream(
    State(api): State<Api>,
    Machine(caller): Machine,
    Path(id): Path<String>,
    UrlQuery(query): UrlQuery<Query>,
    headers: HeaderMap,
) -> Answer<Response> {
    sse::session_events(&api, &caller, &id, &query, &headers, false).await
}

/// N-13: refusals of submit and settle say `ok:false`, whoever refused: credential, body or rule.
async fn say_not_ok(request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    if response.status().is_success() {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let bytes = to_bytes(body, 1 << 20).await.unwrap_or_default();
    let Ok(Value::Object(mut told)) = serde_json::from_slice(&bytes) else {
        return Response::from_parts(parts, Body::from(bytes));
    };
    told.insert("ok".to_owned(), Value::Bool(false));
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, Body::from(Value::Object(told).to_string()))
}
