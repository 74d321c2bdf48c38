//! Refusals on the wire: N-12's status codes and N-13's body.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use holdpoint_app::error::Failure;
use serde_json::json;

#[derive(Debug)]
pub(crate) struct Refused(pub Failure);

pub(crate) type Answer<T> = Result<T, Refused>;

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        Self(failure)
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.0.http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        if status.is_server_error() {
            tracing::error!(error = %self.0, "a request failed");
        }
        let mut response = (status, Json(self.0.body())).into_response();
        if status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

pub(crate) fn a_bug() -> Response {
    let body = json!({"error": "the engine has a bug there; its log says more", "code": "internal"});
    (StatusCode::INTERNAL_SERVER_ERROR, Json(body)).into_response()
}

pub(crate) async fn no_such_path() -> Response {
    (StatusCode::NOT_FOUND, Json(json!({"error": "there is nothing at this path", "code": "not_found"}))).into_response()
}

pub(crate) async fn no_such_method() -> Response {
    let body = json!({"error": "this path does not take this method", "code": "invalid_request"});
    (StatusCode::METHOD_NOT_ALLOWED, Json(body)).into_response()
}
