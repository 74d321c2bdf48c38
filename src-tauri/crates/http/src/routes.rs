//! The paths of §14, one module per kind of caller.

pub(crate) mod admin;
pub(crate) mod client;
pub(crate) mod desktop;
pub(crate) mod machine;
pub(crate) mod threads_v1;
