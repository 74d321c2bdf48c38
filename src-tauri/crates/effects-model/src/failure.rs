//! How a failed attempt of a model call is named (K-18, Q-24).

use holdpoint_core::message::{ErrorCode, ErrorInfo};
use holdpoint_runtime::runner::Failure;
use serde_json::{Value, json};

pub fn retryable(code: ErrorCode, message: impl Into<String>) -> Failure {
    Failure { error: ErrorInfo::new(code, message), retryable: true, retry_after_ms: None }
}

pub fn permanent(code: ErrorCode, message: impl Into<String>) -> Failure {
    Failure { error: ErrorInfo::new(code, message), retryable: false, retry_after_ms: None }
}

/// What an aborted attempt ends with; the runtime throws it away.
pub fn cancelled() -> Failure {
    permanent(ErrorCode::Cancelled, "cancelled: the call was stopped")
}

/// Q-24, by HTTP status.
pub fn by_status(status: u16, message: String) -> Failure {
    match status {
        429 => retryable(ErrorCode::RateLimited, message),
        408 | 500.. => retryable(ErrorCode::ProviderError, message),
        _ => permanent(ErrorCode::ProviderError, message),
    }
}

/// An error object inside a reply that began with status 200 follows its own status or type.
pub fn in_stream(error: &Value, provider: &str) -> Failure {
    let said = error["message"].as_str().or(error.as_str()).unwrap_or("no message given");
    let kind = error["type"].as_str().or(error["code"].as_str()).unwrap_or_default();
    let status = error["code"].as_u64().or(error["status"].as_u64()).and_then(|n| u16::try_from(n).ok());
    let status = status.or_else(|| status_of(kind)).or_else(|| error["code"].as_str().and_then(status_of));
    let mut failure = by_status(status.unwrap_or(500), format!("{provider} broke off its reply: {said}"));
    failure.error = failure.error.with_detail(json!({ "type": kind, "status": status }));
    failure
}

fn status_of(kind: &str) -> Option<u16> {
    Some(match kind {
        "rate_limit_error" | "rate_limit_exceeded" | "rate_limited" | "requests" | "tokens" => 429,
        "overloaded_error" => 529,
        "timeout_error" => 408,
        "api_error" | "server_error" | "internal_server_error" | "service_unavailable" => 500,
        "authentication_error" | "invalid_api_key" => 401,
        "billing_error" | "insufficient_quota" => 402,
        "permission_error" => 403,
        "not_found_error" | "model_not_found" => 404,
        "invalid_request_error" | "context_length_exceeded" => 400,
        number => return number.parse().ok(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(failure: &Failure) -> (&str, bool) {
        (&failure.error.code, failure.retryable)
    }

    #[test]
    fn statuses_map_to_codes_q24() {
        let seen = [400, 401, 404, 408, 422, 429, 500, 503, 529].map(|status| {
            let failure = by_status(status, "x".to_owned());
            (status, failure.error.code, failure.retryable)
        });
        let provider = |status, again| (status, "provider_error".to_owned(), again);
        assert_eq!(
            seen,
            [
                provider(400, false),
                provider(401, false),
                provider(404, false),
                provider(408, true),
                provider(422, false),
                (429, "rate_limited".to_owned(), true),
                provider(500, true),
                provider(503, true),
                provider(529, true),
            ]
        );
    }

    #[test]
    fn an_error_in_a_stream_follows_its_own_status_or_type_q24() {
        let of = |error: Value| {
            let failure = in_stream(&error, "P");
            (verdict(&failure).0.to_owned(), verdict(&failure).1)
        };
        assert_eq!(of(json!({"type": "overloaded_error", "message": "m"})), ("provider_error".to_owned(), true));
        assert_eq!(of(json!({"type": "rate_limit_error", "message": "m"})), ("rate_limited".to_owned(), true));
        assert_eq!(of(json!({"type": "invalid_request_error", "message": "m"})), ("provider_error".to_owned(), false));
        assert_eq!(of(json!({"code": 429, "message": "m"})), ("rate_limited".to_owned(), true));
        assert_eq!(of(json!({"code": "402", "message": "m"})), ("provider_error".to_owned(), false));
        assert_eq!(of(json!({"message": "m"})), ("provider_error".to_owned(), true), "nothing named: a broken stream");
        assert_eq!(in_stream(&json!("text"), "P").error.message, "P broke off its reply: text");
    }
}
