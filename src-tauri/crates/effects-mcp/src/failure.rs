//! What went wrong on a connection, in the engine's words (K-18, Q-24, M-21, M-32).

use holdpoint_core::message::{ErrorCode, ErrorInfo};
use holdpoint_runtime::runner::{ConnectorFailure, Failure};
use rmcp::service::{ClientInitializeError, ServiceError};
use rmcp::transport::streamable_http_client::HttpStatusError;
use serde_json::json;

fn failure(code: ErrorCode, message: String, retryable: bool) -> ConnectorFailure {
    let error = ErrorInfo::new(code, message);
    ConnectorFailure { failure: Failure { error, retryable, retry_after_ms: None }, auth: None }
}

pub fn stopping(path: &str) -> ConnectorFailure {
    failure(ErrorCode::ProviderError, format!("the call to {path} was given up"), true)
}

/// The settings cannot work: trying again changes nothing.
pub fn unusable(path: &str, why: impl std::fmt::Display) -> ConnectorFailure {
    failure(ErrorCode::ProviderError, format!("{path}: {why}"), false)
}

/// M-21, as far as nobody can renew a token: who has none must bring one, who has one brought the wrong one.
fn unauthorized(path: &str, has_token: bool) -> ConnectorFailure {
    let (auth, message) = if has_token {
        ("token_rejected", format!("{path} refuses the token it was given"))
    } else {
        ("never_authorized", format!("{path} asks for authorization, and no token is set for it"))
    };
    ConnectorFailure { auth: Some(auth.to_owned()), ..failure(ErrorCode::ProviderError, message, false) }
}

pub fn of_start(path: &str, error: &ClientInitializeError, has_token: bool) -> ConnectorFailure {
    if error.is_authorization_required() || error.auth_challenge().is_some() {
        return unauthorized(path, has_token);
    }
    let retryable = matches!(error, ClientInitializeError::TransportError { .. } | ClientInitializeError::ConnectionClosed(_));
    of_status(path, error).unwrap_or_else(|| {
        failure(ErrorCode::ProviderError, format!("{path} does not answer as an MCP server: {}", chain(error)), retryable)
    })
}

pub fn of_request(path: &str, error: &ServiceError, has_token: bool) -> ConnectorFailure {
    if error.is_authorization_required() || error.auth_challenge().is_some() {
        return unauthorized(path, has_token);
    }
    match error {
        ServiceError::McpError(said) => {
            let mut failed = failure(ErrorCode::ProviderError, format!("{path}: {}", said.message), false);
            failed.failure.error.detail = Some(json!({"code": said.code, "data": said.data}));
            failed
        }
        ServiceError::TransportClosed => failure(ErrorCode::ProviderError, format!("the server of {path} ended while it was needed"), true),
        ServiceError::TransportSend(_) => of_status(path, error)
            .unwrap_or_else(|| failure(ErrorCode::ProviderError, format!("{path} cannot be reached: {}", chain(error)), true)),
        other => failure(ErrorCode::ProviderError, format!("{path}: {other}"), false),
    }
}

/// 429 and server errors may pass.
fn of_status(path: &str, error: &(dyn std::error::Error + 'static)) -> Option<ConnectorFailure> {
    let mut at = Some(error);
    while let Some(current) = at {
        if let Some(http) = current.downcast_ref::<HttpStatusError>() {
            let code = if http.status == 429 { ErrorCode::RateLimited } else { ErrorCode::ProviderError };
            let mut failed = failure(code, format!("{path} answered with HTTP {}", http.status), true);
            let seconds = http.retry_after.as_ref().and_then(|text| text.trim().parse::<i64>().ok());
            failed.failure.retry_after_ms = seconds.map(|secs| secs.saturating_mul(1000));
            return Some(failed);
        }
        at = current.source();
    }
    None
}

/// The error with its causes, the most telling one last.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut at = error.source();
    while let Some(cause) = at {
        let said = cause.to_string();
        if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
        at = cause.source();
    }
    text
}
