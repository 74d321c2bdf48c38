//! Which machine this is, and how software gets onto it.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::shell::{Shell, which};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Platform {
    /// Debian and what is made from it; `snap_browsers` where Chromium is only a snap, which needs a running snapd.
    Debian {
        snap_browsers: bool,
    },
    Fedora,
    Arch,
    MacOs,
    Windows,
    /// A Linux without a known package manager: things are checked and named, nothing is installed.
    OtherLinux,
}

impl Platform {
    pub fn detect() -> Self {
        if cfg!(target_os = "macos") {
            Self::MacOs
        } else if cfg!(target_os = "windows") {
            Self::Windows
        } else {
            Self::linux(&std::fs::read_to_string("/etc/os-release").unwrap_or_default())
        }
    }

    fn linux(os_release: &str) -> Self {
        let names: Vec<&str> = os_release
            .lines()
            .filter_map(|line| line.strip_prefix("ID=").or_else(|| line.strip_prefix("ID_LIKE=")))
            .flat_map(|value| value.trim_matches('"').split_whitespace())
            .collect();
        let is = |name: &str| names.contains(&name);
        if is("debian") || is("ubuntu") {
            Self::Debian { snap_browsers: is("ubuntu") }
        } else if is("fedora") || is("rhel") {
            Self::Fedora
        } else if is("arch") {
            Self::Arch
        } else {
            Self::OtherLinux
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Debian { snap_browsers: false } => "Debian (apt)",
            Self::Debian { snap_browsers: true } => "Ubuntu (apt)",
            Self::Fedora => "Fedora (dnf)",
            Self::Arch => "Arch (pacman)",
            Self::MacOs => "macOS (brew)",
            Self::Windows => "Windows (winget)",
            Self::OtherLinux => "Linux without a known package manager",
        }
    }

    pub fn is_linux(self) -> bool {
        !matches!(self, Self::MacOs | Self::Windows)
    }

    /// The commands that install `packages`, in order. None: this platform's packages are not known.
    pub fn install(self, packages: &[&str]) -> Option<Vec<Shell>> {
        // As an argument, not in the environment: sudo drops that.
        let apt = || as_root("env").words("DEBIAN_FRONTEND=noninteractive apt-get");
        match self {
            Self::Debian { .. } => {
                Some(vec![apt().words("update -q"), apt().words("install -y -q --no-install-recommends").args(packages)])
            }
            Self::Fedora => Some(vec![as_root("dnf").words("install -y").args(packages)]),
            // -Syu, not -Sy: Arch does not support installing onto a partly updated system.
            Self::Arch => Some(vec![as_root("pacman").words("-Syu --needed --noconfirm").args(packages)]),
            Self::MacOs => Some(vec![Shell::new("brew").arg("install").args(packages)]),
            Self::Windows => Some(packages.iter().map(|package| winget(package)).collect()),
            Self::OtherLinux => None,
        }
    }
}

fn winget(package: &str) -> Shell {
    let install =
        Shell::new("winget").words("install --exact --silent --accept-source-agreements --accept-package-agreements --id").arg(package);
    if package == "Microsoft.VisualStudio.2022.BuildTools" {
        // The installer alone brings no compiler.
        return install.arg("--override").arg("--quiet --wait --add Microsoft.VisualStudio.Workload.VCTools --includeRecommended");
    }
    install
}

fn as_root(program: &str) -> Shell {
    if is_root() { Shell::new(program) } else { Shell::new("sudo").arg(program) }
}

fn is_root() -> bool {
    Shell::new("id").arg("-u").output().as_deref() == Some("0")
}

/// Whether this task may become root without a person at the keyboard who is not there.
pub fn can_install(platform: Platform) -> Result<(), &'static str> {
    match platform {
        Platform::MacOs if which("brew").is_none() => Err("Homebrew is not installed: see https://brew.sh"),
        Platform::Windows if which("winget").is_none() => Err("winget is not installed: get \"App Installer\" from the Microsoft Store"),
        Platform::MacOs | Platform::Windows => Ok(()),
        Platform::OtherLinux => Err("this Linux has no package manager that xtask knows"),
        _ if is_root() || which("sudo").is_some() => Ok(()),
        _ => Err("neither root nor sudo"),
    }
}

/// Whether a person could see a window here.
pub fn has_display(platform: Platform) -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !platform.is_linux() || set("DISPLAY") || set("WAYLAND_DISPLAY")
}

/// The folder of a node that npm installed here because the platform's own was too old.
pub fn own_node() -> PathBuf {
    crate::target().join("xtask-tools").join("node")
}

/// The npm package that holds nothing but the node of this kind of machine.
pub fn own_node_package() -> String {
    let processor = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    };
    format!("node-{}-{processor}", std::env::consts::OS)
}

/// `PATH`, with the tools that live in the target folder in front.
pub fn path_with_own_tools() -> OsString {
    let modules = own_node().join("node_modules");
    let own = [crate::target().join("xtask-tools/bin"), modules.join(own_node_package()).join("bin"), modules.join(".bin")];
    let path = std::env::var_os("PATH").unwrap_or_default();
    let all = own.into_iter().filter(|folder| folder.is_dir()).chain(std::env::split_paths(&path));
    std::env::join_paths(all).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_is_known_by_its_own_name_or_by_what_it_is_made_from() {
        let cases = [
            ("ID=debian\nVERSION_ID=\"12\"", Platform::Debian { snap_browsers: false }),
            ("NAME=Ubuntu\nID=ubuntu\nID_LIKE=debian", Platform::Debian { snap_browsers: true }),
            ("ID=linuxmint\nID_LIKE=\"ubuntu debian\"", Platform::Debian { snap_browsers: true }),
            ("ID=fedora", Platform::Fedora),
            ("ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"", Platform::Fedora),
            ("ID=arch", Platform::Arch),
            ("ID=manjaro\nID_LIKE=arch", Platform::Arch),
            ("ID=nixos", Platform::OtherLinux),
            ("", Platform::OtherLinux),
        ];
        for (os_release, platform) in cases {
            assert_eq!(Platform::linux(os_release), platform, "{os_release}");
        }
    }
}
