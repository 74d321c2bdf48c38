//! The loop: commands in, events committed, then what should run is compared with what runs (E-2, D-2).
//!
//! There is no rule here and no wire: rules are core's, the outside world is behind [`runner`].

mod budget;
pub mod clock;
mod connect;
mod delegate;
pub mod engine;
mod line;
mod receipt;
pub mod runner;
mod slot;
mod timer;

pub use delegate::StopThread;
pub use engine::{Call, Engine, SubmitError};
