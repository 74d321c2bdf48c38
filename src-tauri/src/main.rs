//! The desktop program. Everything is in the library, so that tests reach it.

// A console window beside the app helps nobody on Windows.
#![cfg_attr(not(debug_assertions), windows_subsystem = "windows")]

use std::process::ExitCode;

/// A step is many small pieces of JSON; this one makes and frees them in half the time of the system's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    holdpoint_shell::run()
}
