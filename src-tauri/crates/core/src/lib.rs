//! The rules of Holdpoint: what a session is, what may happen to it, and what should be running now.
//!
//! Pure: state + command → events, events → state, state → pending effects. There is no clock, disk, network or randomness here;
//! the caller brings time and a seed in [`ctx::Ctx`]. `protocol/engine.md` is the contract, its rule ids are cited where they hold.

pub mod answer;
pub mod apply;
pub mod approval;
pub mod authorization;
pub mod budget;
pub mod command;
pub mod connector;
pub mod ctx;
pub mod decide;
pub mod decision;
pub mod deferred;
pub mod delegate;
pub mod elicit;
pub mod engine_config;
pub mod envelope;
pub mod event;
pub mod id;
pub mod json;
pub mod message;
pub mod money;
pub mod pending;
pub mod prompt;
pub mod proposal;
pub mod rejection;
pub mod request;
pub mod response;
pub mod retry;
pub mod state;
pub mod thread;
pub mod time;
pub mod tree;
