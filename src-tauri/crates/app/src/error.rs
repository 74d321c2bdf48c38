//! Why something was not done: refused by a rule, of a wrong shape, or failed. One type for every adapter; what goes on the wire
//! is [`crate::wire::ApiError`] or N-13's body.

use holdpoint_core::rejection::{Code, Rejection};
use holdpoint_store::StoreError;
use serde_json::{Map, Value, json};

use crate::wire::ApiError;

#[derive(Clone, Debug, thiserror::Error)]
pub enum Failure {
    /// A rule refused it; nothing was written.
    #[error("{0}")]
    Rejected(Rejection),
    /// A field is missing, unexpected or of another type (N-12: 422).
    #[error("{0}")]
    WrongShape(String),
    /// It is not there, and no rule has a code for it (N-12: 404).
    #[error("{0}")]
    NotFound(String),
    /// The delegate to be stopped has ended (TH-26).
    #[error("{0}")]
    NotRunning(String),
    /// The database refused.
    #[error("{0}")]
    Storage(StoreError),
    /// The answer does not come from here now (the engine is closing).
    #[error("{0}")]
    Unavailable(String),
}

impl Failure {
    pub fn refuse(code: Code, message: impl Into<String>) -> Self {
        Self::Rejected(Rejection::new(code, message))
    }

    /// A value of the right type that is not possible (N-12: 400).
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::refuse(Code::InvalidRequest, message)
    }

    pub fn no_session(id: &str) -> Self {
        Self::refuse(Code::SessionNotFound, format!("there is no session {id}"))
    }

    /// N-12, and 5xx for what is not the caller's doing.
    pub fn http_status(&self) -> u16 {
        match self {
            Self::Rejected(rejection) => rejection.code.http_status(),
            Self::WrongShape(_) => 422,
            Self::NotFound(_) => 404,
            Self::NotRunning(_) => 409,
            Self::Storage(StoreError::BadCursor) => 400,
            Self::Storage(StoreError::Full) => 507,
            Self::Storage(_) => 500,
            Self::Unavailable(_) => 503,
        }
    }

    pub fn code(&self) -> String {
        match self {
            Self::Rejected(rejection) => json!(rejection.code).as_str().unwrap_or("invalid_request").to_owned(),
            Self::WrongShape(_) | Self::Storage(StoreError::BadCursor) => "invalid_request".to_owned(),
            Self::NotFound(_) => "not_found".to_owned(),
            Self::NotRunning(_) => "thread_not_running".to_owned(),
            Self::Storage(StoreError::Full) => "storage_full".to_owned(),
            Self::Storage(_) => "failed".to_owned(),
            Self::Unavailable(_) => "unavailable".to_owned(),
        }
    }

    fn details(&self) -> Map<String, Value> {
        let mut details = Map::new();
        if let Self::Rejected(rejection) = self {
            if let Some(turn) = &rejection.turn_id {
                details.insert("turn_id".to_owned(), json!(turn));
            }
            if !rejection.interrupt_ids.is_empty() {
                details.insert("interrupt_ids".to_owned(), json!(rejection.interrupt_ids));
            }
        }
        details
    }

    /// N-13: `{error, code, turn_id?, interrupt_ids?}`.
    pub fn body(&self) -> Value {
        let mut body = Map::new();
        body.insert("error".to_owned(), self.to_string().into());
        body.insert("code".to_owned(), self.code().into());
        body.extend(self.details());
        Value::Object(body)
    }
}

impl From<Failure> for ApiError {
    fn from(failure: Failure) -> Self {
        let details = holdpoint_view::row::Json(Value::Object(failure.details()));
        Self { code: failure.code(), message: failure.to_string(), details }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Storage(error)
    }
}

impl From<Rejection> for Failure {
    fn from(rejection: Rejection) -> Self {
        Self::Rejected(rejection)
    }
}
