//! Makes a permission of every listed command, so that the capability decides what the webview may call.

include!("src/command_names.rs");

fn main() {
    let manifest = tauri_build::AppManifest::new().commands(COMMAND_NAMES);
    tauri_build::try_build(tauri_build::Attributes::new().app_manifest(manifest))
        .expect("the shell's configuration and capabilities are valid");
}
