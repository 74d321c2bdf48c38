//! The rules of one session, each tried from outside: commands in, events out. `story` tells them; the modules follow the contract.

mod story;

mod authorization;
mod calls;
mod cancel;
mod connectors;
mod decisions;
mod deferred;
mod delegates;
mod elicitation;
mod inputs;
mod leaving;
mod log;
mod pauses;
mod properties;
mod recorded;
mod tree;
