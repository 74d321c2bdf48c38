//! npm packages, always by lock file.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::failure::Outcome;
use crate::machine::{Platform, own_node, own_node_package};
use crate::need::has_chromium;
use crate::shell::Shell;

/// The oldest node that the web part's tools run on.
const NODE_MAJOR: u32 = 20;

/// Whether the node in `PATH` is new enough. Debian 12 and Ubuntu 24.04 still come with 18.
pub fn node_is_new_enough() -> bool {
    Shell::new("node").arg("--version").output().as_deref().and_then(major).is_some_and(|major| major >= NODE_MAJOR)
}

/// Fetches a node into the target folder, through npm, which any older node can do; and an npm with it, because Debian's own
/// runs on Debian's node only.
pub fn fetch_node() -> Shell {
    let install = Shell::npm(&crate::root()).words("install --no-save --no-audit --no-fund --prefix").arg(own_node());
    install.arg(format!("{}@{NODE_MAJOR}", own_node_package())).arg("npm@10")
}

/// Whether what the lock file asks for is not what was installed last.
pub fn is_stale(folder: &Path) -> bool {
    let changed = |file: PathBuf| file.metadata().and_then(|data| data.modified()).ok();
    match (changed(folder.join("package-lock.json")), changed(folder.join("node_modules/.package-lock.json"))) {
        (Some(lock), Some(installed)) => lock > installed,
        (Some(_), None) => true,
        (None, _) => false,
    }
}

/// Installs what the lock file of `folder` asks for.
pub fn install(folder: &Path) -> Outcome<()> {
    Shell::npm(folder).words("ci --no-audit --no-fund").run()?;
    // npm writes this file only when it changes; its time is what `is_stale` looks at.
    let installed = folder.join("node_modules/.package-lock.json");
    if let Ok(file) = std::fs::File::options().append(true).open(installed) {
        let _read_only_at_worst = file.set_modified(SystemTime::now());
    }
    Ok(())
}

/// Playwright's own Chromium, where the platform has none that a test could start. None: there is one.
pub fn browser(platform: Platform) -> Option<Shell> {
    let tests = crate::root().join("tests");
    let own = "const { chromium } = require('playwright-core'); process.exit(require('fs').existsSync(chromium.executablePath()) ? 0 : 1)";
    if has_chromium() || Shell::new("node").arg("-e").arg(own).within(&tests).succeeds() {
        return None;
    }
    let npx = Shell::new(if cfg!(windows) { "npx.cmd" } else { "npx" }).within(tests);
    let with_libraries = if platform.is_linux() { "playwright install --with-deps chromium" } else { "playwright install chromium" };
    Some(npx.words(with_libraries))
}

fn major(version: &str) -> Option<u32> {
    version.strip_prefix('v')?.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_major_version_of_node_is_read_from_what_it_prints() {
        assert_eq!(major("v20.20.2"), Some(20));
        assert_eq!(major("v9.0.0"), Some(9));
        assert_eq!(major("20"), None, "node prints a v");
    }
}
