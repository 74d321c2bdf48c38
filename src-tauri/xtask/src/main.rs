//! Sets the machine up, then runs, tests or measures Holdpoint.
//!
//! This is the one program that is compiled on a machine where nothing is installed yet, so it has no dependency beyond std.
//! It holds no product code, and nothing in the product depends on it.

mod bench;
mod count;
mod display;
mod failure;
mod machine;
mod need;
mod npm;
mod python;
mod rules;
mod run;
mod setup;
mod shell;
mod test;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use failure::{Failure, Outcome};

const USAGE: &str = "\
cargo xtask <command>

  run   [--once] [--no-install]            build the desktop and start it
                                           (without a display: under Xvfb, with a screenshot in target/screenshots)
  test  [--no-install] [--list] [STEP…]    every check, or only the named ones
  bench [ARGUMENT…]                        measurements as JSON lines, on the release profile
  rules [--list] [--check FAMILY…]         which protocol rules no test cites

--no-install   only say what is missing, and fail when something is";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("\n{failure}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(arguments: &[String]) -> Outcome<()> {
    let Some((command, rest)) = arguments.split_first() else {
        return Err(Failure::usage(USAGE));
    };
    match command.as_str() {
        "run" => run::run(rest),
        "test" => test::test(rest),
        "bench" => bench::bench(rest),
        "rules" => rules::rules(rest),
        "help" | "--help" | "-h" => {
            println!("{USAGE}");
            Ok(())
        }
        other => Err(Failure::usage(&format!("unknown command `{other}`\n\n{USAGE}"))),
    }
}

/// The repository's top folder.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_path_buf()
}

/// Where cargo puts what it builds.
fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |dir| root().join(dir))
}
