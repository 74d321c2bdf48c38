//! `/api/client`: what a frontend does for one owner. Browsers of other origins may call it.

use axum::extract::{Path, Query as UrlQuery, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use holdpoint_app::api::Query;
use holdpoint_app::error::Failure;
use serde_json::Value;
use tower_http::cors::{Any, CorsLayer};

use crate::Api;
use crate::body::JsonBody;
use crate::credential::Client;
use crate::error::{self, Answer};
use crate::sse;

pub(crate) fn routes() -> Router<Api> {
    let cors = CorsLayer::new().allow_origin(Any).allow_methods([Method::GET, Method::POST]).allow_headers([
        header::AUTHORIZATION,
        header::CONTENT_TYPE,
        HeaderName::from_static("last-event-id"),
    ]);
    Router::new()
        .route("/api/client/sessions/input", post(input))
        .route("/api/client/sessions/{id}", get(session))
        .route("/api/client/sessions/{id}/events/stream", get(stream))
        .route("/api/client/sessions/{id}/interrupt", post(raise))
        .route("/api/client/sessions/{id}/cancel", post(cancel))
        .route("/api/client/blobs", get(blob))
        // Before the layer: a preflight is answered by whatever stands here for its method.
        .method_not_allowed_fallback(error::no_such_method)
        .layer(cors)
}

async fn input(State(api): State<Api>, Client(caller): Client, JsonBody(body): JsonBody) -> Answer<(StatusCode, Json<Value>)> {
    Ok((StatusCode::ACCEPTED, Json(api.app.client_input(&caller, body).await?)))
}

async fn session(State(api): State<Api>, Client(caller): Client, Path(id): Path<String>) -> Answer<Json<Value>> {
    Ok(Json(api.app.session(&caller, &id).await?))
}

async fn stream(
    State(api): State<Api>,
    Client(caller): Client,
    Path(id): Path<String>,
    UrlQuery(query): UrlQuery<Query>,
    headers: HeaderMap,
) -> Answer<Response> {
    sse::session_events(&api, &caller, &id, &query, &headers, false).await
}

async fn raise(State(api): State<Api>, Client(caller): Client, Path(id): Path<String>, JsonBody(body): JsonBody) -> Answer<Json<Value>> {
    Ok(Json(api.app.raise(&caller, &id, body).await?))
}

/// Sent as a download that no browser opens as a page: what people attach is untrusted.
async fn blob(State(api): State<Api>, Client(caller): Client, UrlQuery(query): UrlQuery<Query>) -> Answer<Response> {
    let uri = query.get("uri").ok_or_else(|| Failure::WrongShape("uri is missing".to_owned()))?;
    let blob = api.app.blob(&caller, uri).await?;
    let mime = HeaderValue::from_str(&blob.media_type).unwrap_or(HeaderValue::from_static("application/octet-stream"));
    let headers = [
        (header::CONTENT_TYPE, mime),
        (header::CONTENT_DISPOSITION, HeaderValue::from_static("attachment")),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox; default-src 'none'")),
    ];
    Ok((headers, blob.bytes).into_response())
}

async fn cancel(State(api): State<Api>, Client(caller): Client, Path(id): Path<String>) -> Answer<Json<Value>> {
    Ok(Json(api.app.cancel(&caller, &id).await?))
}
