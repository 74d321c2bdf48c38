//! Request bodies: JSON whatever the content type says, with errors in N-13's form.

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequest, Request};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use holdpoint_app::error::Failure;
use serde_json::{Value, json};

use crate::error::Refused;

/// A JSON body. Malformed: 400 (N-12).
pub(crate) struct JsonBody(pub Value);

impl<S: Send + Sync> FromRequest<S> for JsonBody {
    type Rejection = Response;

    async fn from_request(request: Request, state: &S) -> Result<Self, Response> {
        let bytes = Bytes::from_request(request, state).await.map_err(unreadable)?;
        let body = serde_json::from_slice(&bytes);
        body.map(Self).map_err(|error| Refused(Failure::invalid(format!("the body is not valid JSON: {error}"))).into_response())
    }
}

fn unreadable(rejection: BytesRejection) -> Response {
    if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
        let limit = crate::BODY_BYTES >> 20;
        let body = json!({"error": format!("the body is larger than {limit} MiB; send less"), "code": "invalid_request"});
        return (StatusCode::PAYLOAD_TOO_LARGE, axum::Json(body)).into_response();
    }
    Refused(Failure::invalid(format!("the body could not be read: {rejection}"))).into_response()
}
