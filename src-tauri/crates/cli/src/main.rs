//! `holdpoint`: the engine without a window, and a guest of whichever engine runs.

mod args;
mod command;
mod guest;
mod output;

use std::process::ExitCode;

use clap::Parser as _;

use crate::output::tell;

/// A step is many small pieces of JSON; this one makes and frees them in half the time of the system's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// CL-7 and their like for every command.
pub(crate) mod exit {
    pub const FAILED: u8 = 1;
    pub const USAGE: u8 = 2;
}

/// What a command ends with, said on stderr.
#[derive(Debug)]
pub(crate) struct Ended {
    pub code: u8,
    pub message: String,
}

impl Ended {
    pub fn failed(message: impl ToString) -> Self {
        Self { code: exit::FAILED, message: message.to_string() }
    }
    /// Usage or configuration.
    pub fn usage(message: impl ToString) -> Self {
        Self { code: exit::USAGE, message: message.to_string() }
    }
}

fn main() -> ExitCode {
    let args = args::Args::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            tell!("holdpoint: {error}");
            return ExitCode::from(exit::FAILED);
        }
    };
    match runtime.block_on(command::run(args)) {
        Ok(code) => ExitCode::from(code),
        Err(ended) => {
            tell!("holdpoint: {}", ended.message);
            ExitCode::from(ended.code)
        }
    }
}
