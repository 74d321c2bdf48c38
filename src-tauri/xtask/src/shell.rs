//! One command line: run it, count what it reports, or print it so that a person can repeat it.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::count::Count;
use crate::failure::{Failure, Outcome};

#[derive(Clone, Debug)]
pub struct Shell {
    program: OsString,
    arguments: Vec<OsString>,
    folder: Option<PathBuf>,
    variables: Vec<(String, OsString)>,
}

impl Shell {
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        Self { program: program.as_ref().into(), arguments: Vec::new(), folder: None, variables: Vec::new() }
    }

    /// The cargo that runs this task.
    pub fn cargo() -> Self {
        Self::new("cargo").within(crate::root())
    }

    /// npm, under the name it has on this platform.
    pub fn npm(folder: &Path) -> Self {
        Self::new(if cfg!(windows) { "npm.cmd" } else { "npm" }).within(folder)
    }

    #[must_use]
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.arguments.push(argument.as_ref().into());
        self
    }

    #[must_use]
    pub fn args<A: AsRef<OsStr>>(self, arguments: impl IntoIterator<Item = A>) -> Self {
        arguments.into_iter().fold(self, Self::arg)
    }

    /// Every blank in `words` separates two arguments.
    #[must_use]
    pub fn words(self, words: &str) -> Self {
        self.args(words.split_whitespace())
    }

    #[must_use]
    pub fn within(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    #[must_use]
    pub fn with(mut self, variable: &str, value: impl AsRef<OsStr>) -> Self {
        self.variables.push((variable.to_owned(), value.as_ref().into()));
        self
    }

    /// Runs to the end, on this terminal.
    pub fn run(&self) -> Outcome<()> {
        let status = self.command().status().map_err(|error| self.not_started(&error))?;
        if status.success() { Ok(()) } else { Err(Failure::command(self, status.to_string())) }
    }

    /// Runs to the end, on this terminal, and adds up the test counts in what it prints.
    pub fn run_counted(&self) -> Outcome<Count> {
        let mut child = self.command().stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(|error| self.not_started(&error))?;
        let errors = child.stderr.take().map(|pipe| std::thread::spawn(move || copy(pipe, std::io::stderr())));
        let mut count = child.stdout.take().map(|pipe| copy(pipe, std::io::stdout())).unwrap_or_default();
        if let Some(Ok(more)) = errors.map(std::thread::JoinHandle::join) {
            count += more;
        }
        let status = child.wait().map_err(|error| self.not_started(&error))?;
        if status.success() { Ok(count) } else { Err(Failure::command(self, format!("{status}{}", count.failures()))) }
    }

    /// What it prints, when it can be started and ends well.
    pub fn output(&self) -> Option<String> {
        let output = self.command().stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// Whether it can be started and ends well.
    pub fn succeeds(&self) -> bool {
        self.output().is_some()
    }

    /// Starts it beside this task, silent towards this terminal's input.
    pub fn spawn(&self, stdout: Stdio) -> Outcome<Child> {
        self.command().stdin(Stdio::null()).stdout(stdout).spawn().map_err(|error| self.not_started(&error))
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).env("PATH", crate::machine::path_with_own_tools());
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        command
    }

    fn not_started(&self, error: &std::io::Error) -> Failure {
        Failure::command(self, format!("did not start: {error}"))
    }
}

impl fmt::Display for Shell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let root = crate::root();
        let folder = self.folder.as_deref().and_then(|folder| folder.strip_prefix(&root).ok()).filter(|f| *f != Path::new(""));
        if let Some(folder) = folder {
            write!(f, "cd {} && ", folder.display())?;
        }
        for (name, value) in &self.variables {
            write!(f, "{name}={} ", quoted(value))?;
        }
        write!(f, "{}", quoted(&self.program))?;
        self.arguments.iter().try_for_each(|argument| write!(f, " {}", quoted(argument)))
    }
}

/// The executable called `name` in `PATH`.
pub fn which(name: &str) -> Option<PathBuf> {
    let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    std::env::split_paths(&crate::machine::path_with_own_tools()).map(|folder| folder.join(&file)).find(|candidate| candidate.is_file())
}

fn quoted(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@+^".contains(c);
    if !word.is_empty() && word.chars().all(plain) { word.into_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

fn copy(from: impl Read, mut to: impl Write) -> Count {
    let mut count = Count::default();
    let mut lines = BufReader::new(from);
    let mut line = Vec::new();
    // Bytes, not text: a tool's output may hold anything, and none of it may be lost.
    while matches!(lines.read_until(b'\n', &mut line), Ok(1..)) {
        let _closed_terminal = to.write_all(&line).and_then(|()| to.flush());
        count += Count::in_line(&String::from_utf8_lossy(&line));
        line.clear();
    }
    count
}
