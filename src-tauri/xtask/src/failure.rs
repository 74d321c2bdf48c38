//! Why a task ended: always with what to do next.

use std::fmt;

use crate::shell::Shell;

pub type Outcome<T> = Result<T, Failure>;

#[derive(Debug)]
pub enum Failure {
    /// The arguments make no sense; the text says which would.
    Usage(String),
    /// Something this machine lacks and the task may not or cannot install.
    Missing { what: Vec<String>, install: String },
    /// A command ended badly; running it again by hand shows the same.
    Command { command: String, ended: String },
    /// A file or process could not be used.
    Io { doing: String, error: std::io::Error },
    /// A check found something.
    Check(String),
}

impl Failure {
    pub fn usage(text: &str) -> Self {
        Self::Usage(text.to_owned())
    }

    pub fn io(doing: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let doing = doing.into();
        move |error| Self::Io { doing, error }
    }

    pub fn command(shell: &Shell, ended: impl Into<String>) -> Self {
        Self::Command { command: shell.to_string(), ended: ended.into() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(text) | Self::Check(text) => f.write_str(text),
            Self::Missing { what, install } => write!(f, "missing:\n    {}\n  {install}", what.join("\n    ")),
            Self::Command { command, ended } => write!(f, "failed ({ended}); to repeat:\n  {command}"),
            Self::Io { doing, error } => write!(f, "{doing}: {error}"),
        }
    }
}
