//! `cargo xtask run`: the desktop, built and started.

use std::path::PathBuf;
use std::process::Stdio;

use crate::display::{Screen, stop};
use crate::failure::{Failure, Outcome};
use crate::machine::{Platform, has_display};
use crate::need::For;
use crate::setup::Setup;
use crate::shell::Shell;

const BINARY: &str = "holdpoint-desktop";

pub fn run(arguments: &[String]) -> Outcome<()> {
    let mut once = false;
    let mut may_install = true;
    for argument in arguments {
        match argument.as_str() {
            "--once" => once = true,
            "--no-install" => may_install = false,
            other => return Err(Failure::usage(&format!("run takes --once and --no-install, not `{other}`"))),
        }
    }
    let display = has_display(Platform::detect());
    Setup::new(For::Run { display }, may_install).ready()?;
    build_ui().run()?;
    Shell::cargo().words("build --package holdpoint").run()?;
    if display { show(once) } else { show_without_display(once) }
}

/// The web part, as the desktop and `holdpoint serve` show it.
pub fn build_ui() -> Shell {
    Shell::npm(&crate::root().join("ui")).words("run build")
}

pub fn binary(name: &str) -> PathBuf {
    crate::target().join("debug").join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

fn show(once: bool) -> Outcome<()> {
    let desktop = Shell::new(binary(BINARY));
    if once {
        println!("--once ends after the screenshot, which is taken only where there is no display; the window stays open");
    }
    desktop.run()
}

fn show_without_display(once: bool) -> Outcome<()> {
    println!("no display (neither DISPLAY nor WAYLAND_DISPLAY is set): the window opens under Xvfb");
    let screen = Screen::start()?;
    let mut desktop = screen.shell(&binary(BINARY)).spawn(Stdio::inherit())?;
    let file = screenshot_file("run.png")?;
    let taken = screen.screenshot(&file);
    if let Err(failure) = taken {
        stop(&mut desktop);
        return Err(failure);
    }
    println!("screenshot of the window: {}", file.display());
    if once {
        stop(&mut desktop);
        return Ok(());
    }
    println!("running on display {}; Ctrl-C ends it", screen.display);
    let status = desktop.wait().map_err(Failure::io("waiting for the desktop"))?;
    if status.success() { Ok(()) } else { Err(Failure::Check(format!("the desktop ended: {status}"))) }
}

fn screenshot_file(name: &str) -> Outcome<PathBuf> {
    let folder = crate::target().join("screenshots");
    std::fs::create_dir_all(&folder).map_err(Failure::io(format!("making {}", folder.display())))?;
    Ok(folder.join(name))
}
