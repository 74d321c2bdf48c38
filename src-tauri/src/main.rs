//! The desktop program. Everything is in the library, so that tests reach it.

// A console window beside the app helps nobody on Windows.
#![cfg_attr(not(debug_assertions), windows_subsystem = "windows")]

use std::process::ExitCode;

fn main() -> ExitCode {
    holdpoint_shell::run()
}
