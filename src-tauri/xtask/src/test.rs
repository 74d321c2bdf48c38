//! `cargo xtask test`: every check of the repository, the cheap ones first, each thing built once.

use std::time::Instant;

use crate::count::Count;
use crate::failure::{Failure, Outcome};
use crate::need::For;
use crate::run::build_ui;
use crate::setup::Setup;
use crate::shell::{Shell, which};

/// One set of packages and features for clippy, build and test: another would compile Tauri again.
const WORKSPACE: &str = "--workspace";

struct Step {
    name: &'static str,
    about: &'static str,
    only_linux: bool,
    work: fn() -> Outcome<Count>,
}

const STEPS: &[Step] = &[
    Step {
        name: "format",
        about: "Rust code is formatted",
        only_linux: false,
        work: || quiet(&Shell::cargo().words("fmt --all -- --check -l")),
    },
    Step { name: "ui", about: "types, lints and unit tests of the web part", only_linux: false, work: || ui("check").run_counted() },
    Step { name: "specs", about: "types of the browser and desktop tests", only_linux: false, work: || quiet(&tests("check")) },
    Step { name: "ui-build", about: "the web part as it ships", only_linux: false, work: || quiet(&build_ui()) },
    Step { name: "lint", about: "clippy without a warning", only_linux: false, work: lint },
    Step { name: "rust", about: "unit, acceptance and tidiness tests; the generated bindings are fresh", only_linux: false, work: rust },
    Step { name: "build", about: "the binaries the next steps drive", only_linux: false, work: build },
    Step {
        name: "browser",
        about: "the window's journeys in Chromium on `holdpoint serve`",
        only_linux: false,
        work: || tests("browser").run_counted(),
    },
    Step { name: "desktop", about: "the real window, by WebDriver", only_linux: true, work: || tests("desktop").run_counted() },
    Step {
        name: "rules",
        about: "which protocol rules are cited by a test",
        only_linux: false,
        work: || crate::rules::rules(&[]).map(|()| Count::default()),
    },
];

pub fn test(arguments: &[String]) -> Outcome<()> {
    let mut may_install = true;
    let mut only: Vec<&str> = Vec::new();
    for argument in arguments {
        match argument.as_str() {
            "--no-install" => may_install = false,
            "--list" => {
                list();
                return Ok(());
            }
            name if STEPS.iter().any(|step| step.name == name) => only.push(name),
            other => return Err(Failure::usage(&format!("`{other}` is no step; `cargo xtask test --list` names them"))),
        }
    }
    let setup = Setup::new(For::Test, may_install);
    let started = Instant::now();
    timed("machine", || setup.ready().map(|()| Count::default()))?;
    let mut total = Count::default();
    for step in STEPS.iter().filter(|step| only.is_empty() || only.contains(&step.name)) {
        if step.only_linux && !setup.platform.is_linux() {
            println!("\n== {}: left out, this platform's webview has no driver", step.name);
            continue;
        }
        total += timed(step.name, step.work)?;
    }
    println!("\n{} passed, {} failed ({:.0} s)", total.passed, total.failed, started.elapsed().as_secs_f64());
    Ok(())
}

fn list() {
    for step in STEPS {
        println!("{:<9} {}", step.name, step.about);
    }
}

fn timed(name: &str, work: impl FnOnce() -> Outcome<Count>) -> Outcome<Count> {
    println!("\n== {name}");
    let started = Instant::now();
    let result = work();
    let seconds = started.elapsed().as_secs_f64();
    match &result {
        Ok(count) if count.passed > 0 => println!("== {name}: {} passed in {seconds:.1} s", count.passed),
        Ok(_) => println!("== {name}: {seconds:.1} s"),
        Err(_) => println!("== {name}: failed after {seconds:.1} s"),
    }
    result
}

fn quiet(shell: &Shell) -> Outcome<Count> {
    shell.run().map(|()| Count::default())
}

fn ui(script: &str) -> Shell {
    Shell::npm(&crate::root().join("ui")).arg("run").arg(script)
}

fn tests(script: &str) -> Shell {
    Shell::npm(&crate::root().join("tests")).arg("run").arg(script)
}

fn lint() -> Outcome<Count> {
    quiet(&Shell::cargo().arg("clippy").words(WORKSPACE).words("--all-targets -- -D warnings"))
}

fn rust() -> Outcome<Count> {
    let runner = if which("cargo-nextest").is_some() { "nextest run --no-fail-fast" } else { "test --no-fail-fast" };
    Shell::cargo().words(runner).words(WORKSPACE).run_counted()
}

fn build() -> Outcome<Count> {
    quiet(&Shell::cargo().arg("build").words(WORKSPACE).arg("--bins"))
}
