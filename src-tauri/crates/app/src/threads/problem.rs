//! Refusals under `/v1` (TH-22): one table of status, type and code, one sentence that says what to do.

use serde_json::json;

use crate::error::Failure;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub status: u16,
    pub code: &'static str,
    pub message: String,
    /// Seconds, for `Retry-After` (TH-41).
    pub retry_after: Option<u64>,
}

impl Problem {
    pub fn new(status: u16, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), retry_after: None }
    }

    pub fn no_key() -> Self {
        Self::new(
            401,
            "invalid_api_key",
            "send a valid API key: `Authorization: Bearer sk_live_…`; this one is missing, unknown, revoked or expired",
        )
    }

    pub fn rate_limited(seconds: u64) -> Self {
        let problem = Self::new(429, "rate_limited", format!("too many requests with this key; try again in {seconds} s"));
        Self { retry_after: Some(seconds), ..problem }
    }

    pub fn parameter(name: &str, what: &str) -> Self {
        Self::new(400, "invalid_parameter", format!("{name} {what}"))
    }

    pub(super) fn no_session(session: &str) -> Self {
        Self::new(404, "thread_not_found", format!("there is no session {session}"))
    }

    pub(super) fn no_thread(thread: &str) -> Self {
        Self::new(404, "thread_not_found", format!("this session has no thread {thread}"))
    }

    fn kind(&self) -> &'static str {
        match self.status {
            401 => "authentication_error",
            404 => "not_found_error",
            409 => "conflict_error",
            429 => "rate_limit_error",
            500.. => "api_error",
            _ => "invalid_request_error",
        }
    }

    /// TH-22.
    pub fn body(&self, request_id: &str) -> String {
        let error = json!({"type": self.kind(), "code": self.code, "message": self.message});
        json!({"type": "error", "error": error, "request_id": request_id}).to_string()
    }
}

/// What is not a matter of the request is a fault of the engine here.
impl From<Failure> for Problem {
    fn from(failure: Failure) -> Self {
        tracing::error!(%failure, "a request under /v1 failed");
        Self::new(500, "internal", format!("the engine could not do this: {failure}"))
    }
}
