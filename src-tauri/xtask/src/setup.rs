//! Makes the machine ready for a task: says what is missing and why, and installs it unless told not to.

use std::path::PathBuf;

use crate::failure::{Failure, Outcome};
use crate::machine::{self, Platform};
use crate::need::{For, Need};
use crate::npm;
use crate::python;
use crate::shell::{Shell, which};

pub struct Setup {
    pub platform: Platform,
    task: For,
    may_install: bool,
}

impl Setup {
    pub fn new(task: For, may_install: bool) -> Self {
        Self { platform: Platform::detect(), task, may_install }
    }

    /// Everything the task needs is there when this returns well.
    pub fn ready(&self) -> Outcome<()> {
        println!("machine: {}", self.platform.name());
        if !self.may_install {
            return self.report();
        }
        self.install_packages()?;
        install_node()?;
        self.install_npm_packages()?;
        self.install_test_tools()
    }

    /// Names everything that is missing, changes nothing.
    fn report(&self) -> Outcome<()> {
        let missing = Need::missing(self.task, self.platform);
        let packages = self.packages(&missing);
        let mut what: Vec<String> = missing.iter().map(|need| say(need.name, need.why)).collect();
        let mut steps: Vec<String> =
            if packages.is_empty() { Vec::new() } else { shown(&self.platform.install(&packages).unwrap_or_default()) };
        let node_missing = missing.iter().any(|need| need.name == "node");
        if !node_missing && !npm::node_is_new_enough() {
            what.push(say("node 20", "the one in PATH is older than the web part's tools accept"));
            steps.push(npm::fetch_node().to_string());
        }
        for folder in self.npm_folders().into_iter().filter(|folder| npm::is_stale(folder)) {
            let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            what.push(say(&format!("npm packages of {name}"), "the lock file asks for them"));
            steps.push(Shell::npm(&folder).arg("ci").to_string());
        }
        if self.task == For::Test && python::is_stale() {
            what.push(say("Python packages of tests", "reference servers; tests/requirements.txt asks for them"));
            steps.extend(shown(&python::commands()));
        }
        if self.lacks_driver() {
            what.push(say("tauri-driver", "drives the real window in the desktop tests"));
            steps.push(tauri_driver().to_string());
        }
        if what.is_empty() {
            println!("nothing is missing");
            return Ok(());
        }
        let words = if packages.is_empty() { String::new() } else { format!("packages: {}\n  ", packages.join(" ")) };
        Err(Failure::Missing { what, install: format!("{words}install with:\n    {}", steps.join("\n    ")) })
    }

    fn install_packages(&self) -> Outcome<()> {
        let missing = Need::missing(self.task, self.platform);
        let packages = self.packages(&missing);
        if packages.is_empty() {
            return Ok(());
        }
        for need in &missing {
            println!("installing {} ({}): {}", need.name, need.packages(self.platform).join(" "), need.why);
        }
        let commands = self.platform.install(&packages).unwrap_or_default();
        let failure = |reason: &str| Failure::Missing {
            what: missing.iter().map(|need| say(need.name, need.why)).collect(),
            install: format!(
                "{reason}; install them by hand (named as on Debian where this platform is unknown):\n    {}",
                packages.join(" ")
            ),
        };
        machine::can_install(self.platform).map_err(failure)?;
        for command in &commands {
            println!("$ {command}");
            command.run()?;
        }
        let still: Vec<String> = Need::missing(self.task, self.platform).iter().map(|need| say(need.name, need.why)).collect();
        if still.is_empty() {
            return Ok(());
        }
        Err(Failure::Missing { what: still, install: "the packages above were installed and did not bring it".to_owned() })
    }

    fn install_npm_packages(&self) -> Outcome<()> {
        for folder in self.npm_folders().into_iter().filter(|folder| npm::is_stale(folder)) {
            println!("installing npm packages in {}: the lock file asks for them", folder.display());
            npm::install(&folder)?;
        }
        Ok(())
    }

    fn install_test_tools(&self) -> Outcome<()> {
        if self.task != For::Test {
            return Ok(());
        }
        if python::is_stale() {
            println!("installing Python packages into the target folder: tests/requirements.txt asks for these reference servers");
            python::install()?;
        }
        if self.lacks_driver() {
            println!("installing tauri-driver into the target folder: drives the real window in the desktop tests");
            tauri_driver().run()?;
        }
        if let Some(install) = npm::browser(self.platform) {
            println!("installing Playwright's Chromium: runs the browser tests");
            install.run()?;
        }
        Ok(())
    }

    fn npm_folders(&self) -> Vec<PathBuf> {
        let folders: &[&str] = if self.task == For::Test { &["ui", "tests"] } else { &["ui"] };
        folders.iter().map(|folder| crate::root().join(folder)).collect()
    }

    fn lacks_driver(&self) -> bool {
        self.task == For::Test && self.platform.is_linux() && which("tauri-driver").is_none()
    }

    fn packages(&self, needs: &[&Need]) -> Vec<&'static str> {
        let mut packages: Vec<&str> = needs.iter().flat_map(|need| need.packages(self.platform)).copied().collect();
        packages.sort_unstable();
        packages.dedup();
        packages
    }
}

fn install_node() -> Outcome<()> {
    if npm::node_is_new_enough() {
        return Ok(());
    }
    println!("installing node 20 into the target folder: the one in PATH is older than the web part's tools accept");
    npm::fetch_node().run()?;
    if npm::node_is_new_enough() {
        return Ok(());
    }
    Err(Failure::Missing { what: vec!["node 20 or newer".to_owned()], install: "see https://nodejs.org".to_owned() })
}

fn say(name: &str, why: &str) -> String {
    format!("{name} ({why})")
}

fn shown(commands: &[Shell]) -> Vec<String> {
    commands.iter().map(Shell::to_string).collect()
}

fn tauri_driver() -> Shell {
    Shell::cargo().words("install tauri-driver --version ^2 --locked --root").arg(crate::target().join("xtask-tools"))
}
