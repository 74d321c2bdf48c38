//! What each task needs from the operating system, why, and the packages that bring it.
//!
//! Everything is checked by looking for the thing itself, so that whoever installed it another way is left alone. A C compiler is
//! not in the list: without one cargo could not have built this program.

use crate::machine::Platform;
use crate::python;
use crate::shell::{Shell, which};

/// What the machine is being made ready for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum For {
    Run { display: bool },
    Test,
}

pub struct Need {
    pub name: &'static str,
    pub why: &'static str,
    check: Check,
    wanted: fn(For) -> bool,
    packages: Packages,
}

enum Check {
    Program(&'static str),
    PkgConfig(&'static str),
    Ask(fn() -> bool),
}

/// None: the platform has no use for it, or brings it along.
#[derive(Clone, Copy, Default)]
struct Packages {
    debian: Option<&'static [&'static str]>,
    fedora: Option<&'static [&'static str]>,
    arch: Option<&'static [&'static str]>,
    macos: Option<&'static [&'static str]>,
    windows: Option<&'static [&'static str]>,
}

const NOWHERE: Packages = Packages { debian: None, fedora: None, arch: None, macos: None, windows: None };

const NEEDS: &[Need] = &[
    Need {
        name: "pkg-config",
        why: "finds the libraries the desktop links to",
        check: Check::Program("pkg-config"),
        wanted: |_| true,
        packages: Packages { debian: Some(&["pkg-config"]), fedora: Some(&["pkgconf-pkg-config"]), arch: Some(&["pkgconf"]), ..NOWHERE },
    },
    Need {
        name: "WebKitGTK 4.1",
        why: "draws the desktop's window",
        check: Check::PkgConfig("webkit2gtk-4.1"),
        wanted: |_| true,
        packages: Packages {
            debian: Some(&["libwebkit2gtk-4.1-dev"]),
            fedora: Some(&["webkit2gtk4.1-devel"]),
            arch: Some(&["webkit2gtk-4.1"]),
            ..NOWHERE
        },
    },
    Need {
        name: "WebView2",
        why: "draws the desktop's window",
        check: Check::Ask(has_webview2),
        wanted: |_| true,
        packages: Packages { windows: Some(&["Microsoft.EdgeWebView2Runtime"]), ..NOWHERE },
    },
    Need {
        name: "Ayatana AppIndicator",
        why: "sends the tray icon to a desktop that shows one",
        check: Check::Ask(has_app_indicator),
        wanted: |_| true,
        packages: Packages {
            debian: Some(&["libayatana-appindicator3-1"]),
            fedora: Some(&["libayatana-appindicator-gtk3"]),
            arch: Some(&["libayatana-appindicator"]),
            ..NOWHERE
        },
    },
    Need {
        name: "fonts",
        why: "without one the window shows no text",
        check: Check::Ask(|| Shell::new("fc-list").output().is_some_and(|list| !list.is_empty())),
        wanted: |_| true,
        packages: Packages {
            debian: Some(&["fontconfig", "fonts-dejavu-core"]),
            fedora: Some(&["fontconfig", "dejavu-sans-fonts", "dejavu-sans-mono-fonts"]),
            arch: Some(&["fontconfig", "ttf-dejavu"]),
            ..NOWHERE
        },
    },
    Need {
        name: "node",
        why: "builds the web part of the window",
        check: Check::Program("node"),
        wanted: |_| true,
        packages: Packages {
            debian: Some(&["nodejs"]),
            fedora: Some(&["nodejs"]),
            arch: Some(&["nodejs"]),
            macos: Some(&["node"]),
            windows: Some(&["OpenJS.NodeJS.LTS"]),
        },
    },
    Need {
        name: "npm",
        why: "fetches the web part's packages by lock file",
        check: Check::Ask(|| Shell::npm(&crate::root()).arg("--version").succeeds()),
        wanted: |_| true,
        packages: Packages {
            debian: Some(&["npm"]),
            fedora: Some(&["nodejs-npm"]),
            arch: Some(&["npm"]),
            macos: Some(&["node"]),
            windows: Some(&["OpenJS.NodeJS.LTS"]),
        },
    },
    Need {
        name: "Python with venv",
        why: "reference servers of the tests are Python programs",
        check: Check::Ask(python::is_complete),
        wanted: |task| task == For::Test,
        packages: Packages {
            debian: Some(&["python3", "python3-venv"]),
            fedora: Some(&["python3"]),
            arch: Some(&["python"]),
            macos: Some(&["python"]),
            windows: Some(&["Python.Python.3.12"]),
        },
    },
    Need {
        name: "git",
        why: "a reference server of the tests works on a repository",
        check: Check::Program("git"),
        wanted: |task| task == For::Test,
        packages: Packages {
            debian: Some(&["git"]),
            fedora: Some(&["git"]),
            arch: Some(&["git"]),
            macos: Some(&["git"]),
            windows: Some(&["Git.Git"]),
        },
    },
    Need {
        name: "Xvfb",
        why: "a screen for the window where there is none",
        check: Check::Program("Xvfb"),
        wanted: needs_own_screen,
        packages: Packages {
            debian: Some(&["xvfb"]),
            fedora: Some(&["xorg-x11-server-Xvfb"]),
            arch: Some(&["xorg-server-xvfb"]),
            ..NOWHERE
        },
    },
    Need {
        name: "dbus-daemon",
        why: "a session bus of its own for the window: one instance, notifications",
        check: Check::Program("dbus-daemon"),
        wanted: needs_own_screen,
        packages: Packages { debian: Some(&["dbus"]), fedora: Some(&["dbus-daemon"]), arch: Some(&["dbus"]), ..NOWHERE },
    },
    Need {
        name: "ImageMagick",
        why: "takes the screenshot of the window under Xvfb",
        check: Check::Program("import"),
        wanted: needs_own_screen,
        packages: Packages { debian: Some(&["imagemagick"]), fedora: Some(&["ImageMagick"]), arch: Some(&["imagemagick"]), ..NOWHERE },
    },
    Need {
        name: "WebKitWebDriver",
        why: "drives the real window in the desktop tests",
        check: Check::Program("WebKitWebDriver"),
        wanted: |task| task == For::Test,
        packages: Packages {
            debian: Some(&["webkit2gtk-driver"]),
            // By path: the package that holds it has changed between releases.
            fedora: Some(&["/usr/bin/WebKitWebDriver"]),
            arch: Some(&["webkit2gtk-4.1"]),
            ..NOWHERE
        },
    },
    Need {
        name: "dunst",
        why: "a real notification service for the desktop tests",
        check: Check::Program("dunst"),
        wanted: |task| task == For::Test,
        packages: Packages { debian: Some(&["dunst"]), fedora: Some(&["dunst"]), arch: Some(&["dunst"]), ..NOWHERE },
    },
    Need {
        name: "Chromium",
        why: "runs the browser tests",
        check: Check::Ask(has_chromium),
        wanted: |task| task == For::Test,
        // Elsewhere Playwright brings its own: see `npm::browser`.
        packages: Packages { debian: Some(&["chromium"]), fedora: Some(&["chromium"]), arch: Some(&["chromium"]), ..NOWHERE },
    },
];

impl Need {
    /// What `task` needs on `platform` and the machine does not have.
    pub fn missing(task: For, platform: Platform) -> Vec<&'static Self> {
        NEEDS.iter().filter(|need| (need.wanted)(task) && need.applies(platform) && !need.is_met()).collect()
    }

    pub fn packages(&self, platform: Platform) -> &'static [&'static str] {
        let packages = self.packages;
        match platform {
            Platform::Debian { .. } | Platform::OtherLinux => packages.debian,
            Platform::Fedora => packages.fedora,
            Platform::Arch => packages.arch,
            Platform::MacOs => packages.macos,
            Platform::Windows => packages.windows,
        }
        .unwrap_or_default()
    }

    fn applies(&self, platform: Platform) -> bool {
        let left_to_playwright = self.name == "Chromium" && platform == Platform::Debian { snap_browsers: true };
        // The app does without, so it is no reason to refuse where nothing can be installed.
        let left_out = self.name == "Ayatana AppIndicator" && platform == Platform::OtherLinux;
        !self.packages(platform).is_empty() && !left_to_playwright && !left_out
    }

    fn is_met(&self) -> bool {
        match self.check {
            Check::Program(name) => which(name).is_some(),
            Check::PkgConfig(module) => Shell::new("pkg-config").arg("--exists").arg(module).succeeds(),
            Check::Ask(check) => check(),
        }
    }
}

fn needs_own_screen(task: For) -> bool {
    task != (For::Run { display: true })
}

/// A Chromium that starts; Ubuntu's `chromium-browser` is a script that fails where snapd does not run.
pub fn has_chromium() -> bool {
    ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"]
        .iter()
        .any(|name| which(name).is_some() && Shell::new(name).arg("--version").succeeds())
}

/// The app looks for it in the loader's list too; it is opened at run time, and nothing is built against it.
fn has_app_indicator() -> bool {
    const NAME: &[u8] = b"libayatana-appindicator3.so.1";
    std::fs::read("/etc/ld.so.cache").is_ok_and(|listed| listed.windows(NAME.len()).any(|part| part == NAME))
}

fn has_webview2() -> bool {
    let key = r"\SOFTWARE\WOW6432Node\Microsoft\EdgeUpdate\Clients\{F3017226-FE2A-4295-8BDF-00C3A9A7E4C5}";
    ["HKLM", "HKCU"].iter().any(|hive| Shell::new("reg").arg("query").arg(format!("{hive}{key}")).succeeds())
}
