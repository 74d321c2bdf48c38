//! What can go wrong, told apart by what the caller can do about it.

use holdpoint_core::id::SessionId;
use rusqlite::ErrorCode;

/// Cloned to every command of a commit that failed as a whole.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Somebody else appended first (D-10): reload the session and decide again. `seq` is its last event now.
    #[error("session {session_id} is at event {seq} already")]
    Conflict { session_id: SessionId, seq: u64 },
    /// This command id has a receipt (D-13): answer with it.
    #[error("command {command_id} was accepted before")]
    Repeated { command_id: String },
    /// Another engine holds the file (D-11): talk to it, or stop it.
    #[error("the database is held by process {pid}{}", .address.as_ref().map(|at| format!(" at {at}")).unwrap_or_default())]
    Owned { pid: u32, address: Option<String> },
    /// Update Holdpoint. The file was not touched.
    #[error("the database has schema {found}, this version knows up to {supported}: update Holdpoint")]
    NewerSchema { found: u32, supported: u32 },
    /// The file is kept as it is: restore a copy, or export what can still be read.
    #[error("the database is damaged: {detail}")]
    Corrupt { detail: String },
    /// Free space; the engine goes on by itself. Nothing of this command was saved.
    #[error("the disk is full")]
    Full,
    /// The disk refused. Whether this command was saved is unknown: reload before going on.
    #[error("the database cannot be read or written: {detail}")]
    Io { detail: String },
    /// Ask for the first page again.
    #[error("the cursor is none of this list")]
    BadCursor,
    /// The engine is shutting down.
    #[error("the database is closed")]
    Closed,
    /// A bug here: SQL or data that this crate should not have made.
    #[error("internal: {detail}")]
    Bug { detail: String },
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        let detail = error.to_string();
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full,
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Corrupt { detail },
            Some(
                ErrorCode::SystemIoFailure
                | ErrorCode::CannotOpen
                | ErrorCode::ReadOnly
                | ErrorCode::PermissionDenied
                | ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::FileLockingProtocolFailed
                | ErrorCode::NoLargeFileSupport
                | ErrorCode::OutOfMemory,
            ) => Self::Io { detail },
            _ => Self::Bug { detail },
        }
    }
}

impl From<std::io::Error> for StoreError {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => Self::Full,
            _ => Self::Io { detail: error.to_string() },
        }
    }
}

/// Stored JSON that does not read back is damage, not a bug of the caller.
pub(crate) fn unreadable(what: &str, error: serde_json::Error) -> StoreError {
    StoreError::Corrupt { detail: format!("{what}: {error}") }
}
