//! Python packages of the tests: reference servers in an environment of their own, always by pinned version.

use std::path::PathBuf;

use crate::failure::{Failure, Outcome};
use crate::shell::{Shell, which};

/// The environment, in the target folder.
fn environment() -> PathBuf {
    crate::target().join("xtask-tools").join("python")
}

fn wanted() -> PathBuf {
    crate::root().join("tests").join("requirements.txt")
}

/// A copy of the list that was installed last.
fn installed() -> PathBuf {
    environment().join("requirements.txt")
}

fn program() -> &'static str {
    if which("python3").is_some() { "python3" } else { "python" }
}

/// Whether a Python is there that can make an environment; Debian's own needs another package for that.
pub fn is_complete() -> bool {
    Shell::new(program()).arg("-c").arg("import ensurepip, venv").succeeds()
}

/// Whether what is listed is not what was installed last.
pub fn is_stale() -> bool {
    let read = |file: PathBuf| std::fs::read_to_string(file).ok();
    read(wanted()) != read(installed())
}

/// The commands that install what is listed, in order.
pub fn commands() -> [Shell; 2] {
    let folder = environment();
    let python = folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    let install =
        Shell::new(python).words("-m pip install --quiet --disable-pip-version-check --only-binary :all: --requirement").arg(wanted());
    [Shell::new(program()).words("-m venv --clear").arg(folder), install]
}

pub fn install() -> Outcome<()> {
    for command in commands() {
        command.run()?;
    }
    let copy = installed();
    std::fs::copy(wanted(), &copy).map(|_| ()).map_err(Failure::io(format!("writing {}", copy.display())))
}
