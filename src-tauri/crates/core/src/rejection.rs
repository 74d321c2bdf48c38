//! Refusals: normal answers to a command that may not be carried out. Nothing was written.

use serde::Serialize;

use crate::id::{InterruptId, TurnId};

/// Codes of N-13.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    SessionInterrupted,
    TurnAlreadyActive,
    EffectNotFound,
    EffectNotPending,
    EffectAttemptMismatch,
    EffectWrongHandler,
    AccessDenied,
    SessionNotFound,
    InterruptChanged,
    InvalidId,
    InvalidRequest,
    ChildSession,
    Unauthenticated,
}

impl Code {
    /// N-12.
    pub fn http_status(self) -> u16 {
        match self {
            Self::SessionInterrupted
            | Self::TurnAlreadyActive
            | Self::EffectNotPending
            | Self::EffectAttemptMismatch
            | Self::InterruptChanged
            | Self::ChildSession => 409,
            Self::EffectNotFound | Self::SessionNotFound => 404,
            Self::AccessDenied | Self::EffectWrongHandler => 403,
            Self::InvalidId | Self::InvalidRequest => 400,
            Self::Unauthenticated => 401,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Rejection {
    pub code: Code,
    /// One sentence that names what to fix.
    pub message: String,
    pub turn_id: Option<TurnId>,
    pub interrupt_ids: Vec<InterruptId>,
}

impl Rejection {
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), turn_id: None, interrupt_ids: Vec::new() }
    }
}

impl std::fmt::Display for Rejection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Rejection {}
