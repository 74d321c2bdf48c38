//! Rows and frames that surfaces show: plain data computed from a session's state. No rule lives here, no SQL, no I/O.
//!
//! The types derive `specta::Type`, so the web UI's bindings are generated from them.

pub mod interrupts;
pub mod patch;
pub mod row;
pub mod session;
