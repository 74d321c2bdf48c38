//! What must stay true of the repository itself: who may depend on whom, what may stand where.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Each crate of the product and the crates of the product it may use. What is not listed here is an arrow backwards.
const MAY_USE: &[(&str, &[&str])] = &[
    ("holdpoint-core", &[]),
    ("holdpoint-view", &["holdpoint-core"]),
    ("holdpoint-store", &["holdpoint-core", "holdpoint-view"]),
    ("holdpoint-runtime", &["holdpoint-core", "holdpoint-view", "holdpoint-store"]),
    ("holdpoint-effects-model", &["holdpoint-core", "holdpoint-view", "holdpoint-runtime"]),
    ("holdpoint-effects-mcp", &["holdpoint-core", "holdpoint-view", "holdpoint-runtime"]),
    // A worker may answer a model call in a provider's own wire format (P-17).
    ("holdpoint-effects-worker", &["holdpoint-core", "holdpoint-view", "holdpoint-runtime", "holdpoint-effects-model"]),
    (
        "holdpoint-app",
        &[
            "holdpoint-core",
            "holdpoint-view",
            "holdpoint-store",
            "holdpoint-runtime",
            "holdpoint-effects-mcp",
            "holdpoint-effects-model",
            "holdpoint-effects-worker",
        ],
    ),
    ("holdpoint-http", &["holdpoint-core", "holdpoint-view", "holdpoint-app"]),
    ("holdpoint-cli", &["holdpoint-core", "holdpoint-view", "holdpoint-app", "holdpoint-http"]),
    // The desktop serves the HTTP API too (DT-1).
    ("holdpoint", &["holdpoint-core", "holdpoint-view", "holdpoint-app", "holdpoint-http"]),
];

/// The rules and the rows stay pure: nothing below them waits, stores, calls, draws or throws dice.
const NEVER_UNDER_CORE_OR_VIEW: &[&str] = &["tokio", "rusqlite", "reqwest", "tauri", "rand"];

#[test]
fn every_dependency_between_our_crates_points_towards_the_core() {
    let graph = Graph::read();
    for (package, uses) in MAY_USE {
        let allowed: BTreeSet<&str> = uses.iter().copied().collect();
        let ours = graph.direct(package).filter(|name| is_ours(name)).collect::<BTreeSet<_>>();
        let wrong: Vec<_> = ours.difference(&allowed).collect();
        assert!(wrong.is_empty(), "{package} may not depend on {wrong:?}");
    }
}

#[test]
fn every_crate_of_the_product_has_its_place_in_the_order() {
    let known: BTreeSet<&str> = MAY_USE.iter().map(|(package, _)| *package).collect();
    let graph = Graph::read();
    let outside = ["xtask", "holdpoint-tests"];
    let missing: Vec<_> =
        graph.members.iter().map(String::as_str).filter(|name| !known.contains(name) && !outside.contains(name)).collect();
    assert!(missing.is_empty(), "say in MAY_USE what these crates may depend on: {missing:?}");
}

#[test]
fn nothing_impure_is_under_the_core_or_the_view() {
    for package in ["holdpoint-core", "holdpoint-view"] {
        // `cargo tree`, not the metadata: that also lists optional dependencies which no feature turns on.
        let tree = cargo(&["tree", "--locked", "--package", package, "--edges", "normal", "--prefix", "none", "--format", "{p}"]);
        let below: BTreeSet<&str> = tree.lines().filter_map(|line| line.split_whitespace().next()).collect();
        assert!(below.contains("serde"), "the tree was read: {tree}");
        for name in NEVER_UNDER_CORE_OR_VIEW {
            assert!(!below.contains(name), "{package} reaches {name} through its dependencies");
        }
    }
}

#[test]
fn the_core_and_the_view_read_no_clock() {
    let clocks = ["SystemTime", "Instant::now", "now_utc", "now_local"];
    for folder in ["src-tauri/crates/core/src", "src-tauri/crates/view/src"] {
        for (file, text) in sources(&root().join(folder), "rs") {
            for clock in clocks {
                assert!(!text.contains(clock), "{} reads the time ({clock}); it comes in with the command", file.display());
            }
        }
    }
}

#[test]
fn every_module_opens_with_what_it_is_for() {
    for folder in ["src-tauri", "tests"] {
        for (file, text) in sources(&root().join(folder), "rs") {
            // A file of tests says what it is for by its name.
            let crate_tests =
                file.strip_prefix(root()).is_ok_and(|path| path.starts_with("src-tauri") && path.iter().any(|part| part == "tests"));
            let tests = crate_tests || file.file_stem().is_some_and(|stem| stem.to_string_lossy().ends_with("tests"));
            assert!(tests || text.starts_with("//"), "{} opens without saying what it is for", file.display());
        }
    }
}

#[test]
fn only_the_transport_of_the_web_part_knows_tauri() {
    let ui = root().join("ui/src");
    for (file, text) in sources(&ui, "ts").into_iter().chain(sources(&ui, "tsx")) {
        let generated = file.file_name().is_some_and(|name| name == "bindings.ts");
        let allowed = generated || file.starts_with(ui.join("transport"));
        assert!(allowed || !text.contains("@tauri-apps/"), "{} imports @tauri-apps outside transport/", file.display());
    }
}

#[test]
fn the_top_level_holds_what_it_is_meant_to_hold() {
    let folders = ["icons", "src-tauri", "tests", "ui"];
    let files = ["Cargo.lock", "Cargo.toml", "LICENSE", "README.md", "rust-toolchain.toml", "rustfmt.toml"];
    let tracked = Command::new("git").args(["ls-files", "-z"]).current_dir(root()).output().expect("git lists the repository's files");
    let listed = String::from_utf8_lossy(&tracked.stdout).into_owned();
    // Without git (a source archive) there is nothing to list, and nothing that could have been committed by mistake.
    for path in listed.split('\0').filter(|path| !path.is_empty() && !path.starts_with('.')) {
        let (top, below) = path.split_once('/').map_or((path, false), |(top, _)| (top, true));
        let known = if below { folders.contains(&top) } else { files.contains(&top) };
        assert!(known, "{path} does not belong at the top level");
    }
}

/// The resolved packages of the workspace, without the dependencies that only tests have.
struct Graph {
    members: BTreeSet<String>,
    uses: BTreeMap<String, BTreeSet<String>>,
    names: BTreeMap<String, String>,
}

impl Graph {
    fn read() -> Self {
        let metadata = cargo(&["metadata", "--format-version", "1", "--locked"]);
        let metadata: Value = serde_json::from_str(&metadata).expect("cargo metadata prints JSON");
        let names: BTreeMap<String, String> =
            list(&metadata["packages"]).iter().map(|package| (text(&package["id"]), text(&package["name"]))).collect();
        let members = list(&metadata["workspace_members"]).iter().map(|id| names[&text(id)].clone()).collect();
        let uses = list(&metadata["resolve"]["nodes"]).iter().map(|node| (text(&node["id"]), normal_dependencies(node))).collect();
        Self { members, uses, names }
    }

    fn id(&self, name: &str) -> &str {
        let package = self.names.iter().find(|(id, known)| *known == name && id.starts_with("path+"));
        package.map_or_else(|| panic!("{name} is a package of this workspace"), |(id, _)| id.as_str())
    }

    fn direct<'g>(&'g self, name: &str) -> impl Iterator<Item = &'g str> {
        self.uses[self.id(name)].iter().map(|id| self.names[id].as_str())
    }
}

fn normal_dependencies(node: &Value) -> BTreeSet<String> {
    let is_normal = |dependency: &&Value| list(&dependency["dep_kinds"]).iter().any(|kind| kind["kind"].is_null());
    list(&node["deps"]).iter().filter(is_normal).map(|dependency| text(&dependency["pkg"])).collect()
}

fn cargo(arguments: &[&str]) -> String {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(cargo).args(arguments).current_dir(root()).output().expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn is_ours(name: &str) -> bool {
    name == "holdpoint" || name.starts_with("holdpoint-")
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests are a folder of the repository").to_path_buf()
}

fn sources(folder: &Path, end: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let skipped = ["node_modules", "target", "gen"].iter().any(|name| path.ends_with(name));
        if path.is_dir() && !skipped {
            found.extend(sources(&path, end));
        } else if path.extension().is_some_and(|extension| extension == end) {
            let text = std::fs::read_to_string(&path).expect("a source file is text");
            found.push((path, text));
        }
    }
    found
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
