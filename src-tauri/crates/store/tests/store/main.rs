//! The store against a real file: order, once, all or nothing, one owner, and what a crash or a full disk leaves.

mod append;
mod damage;
mod desktop;
mod keep;
mod kill;
mod lists;
mod ownership;
mod payloads;
mod story;
