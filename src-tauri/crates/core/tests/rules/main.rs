//! The rules of one session, each tried from outside: commands in, events out. `story` tells them; the modules follow the contract.

mod story;

mod log;
