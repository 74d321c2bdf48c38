//! The one list of what the webview may call: it serves the calls, and it writes the UI's typed bindings.

use tauri_specta::{Builder, collect_commands};

use crate::commands;

/// One type per struct: the wire types read as they write, so the exporter needs no phases.
pub fn builder() -> Builder<tauri::Wry> {
    Builder::new().disable_serde_phases().commands(collect_commands![
        commands::bootstrap,
        commands::feed,
        commands::submit,
        commands::forecast,
        commands::schedule_answer,
        commands::undo_answer,
        commands::dismiss_answer,
        commands::node_bodies,
        commands::list_sessions,
        commands::list_interrupts,
        commands::events,
        commands::threads,
        commands::interrupt_thread,
        commands::save_draft,
        commands::delete_draft,
        commands::save_settings,
        commands::snooze,
        commands::unsnooze,
        commands::connections,
        commands::authorize_connection,
        commands::set_connection_token,
        commands::forget_connection,
        commands::list_keys,
        commands::make_key,
        commands::revoke_key,
        commands::listen_shell,
        commands::notification_status,
        commands::notification_test,
        commands::open_external,
        commands::set_visible_interrupts,
    ])
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::Value;
    use specta_typescript::Typescript;

    use super::builder;

    include!("command_names.rs");

    const COMMITTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../ui/src/bindings.ts");

    fn export_to(path: &Path) {
        let header = "// Written by `UPDATE_BINDINGS=1 cargo test -p holdpoint`. Do not edit.\n/* eslint-disable */\n";
        builder().export(Typescript::default().header(header), path).expect("every wire type has a TypeScript form");
    }

    #[test]
    fn the_committed_bindings_are_what_the_commands_say() {
        if std::env::var_os("UPDATE_BINDINGS").is_some() {
            export_to(Path::new(COMMITTED));
        }
        let fresh = std::env::temp_dir().join(format!("holdpoint-bindings-{}.ts", std::process::id()));
        export_to(&fresh);
        let made = std::fs::read_to_string(&fresh).expect("the export was just written");
        std::fs::remove_file(&fresh).expect("the export can be removed");
        let committed = std::fs::read_to_string(COMMITTED).unwrap_or_default();
        assert!(made == committed, "ui/src/bindings.ts is stale: run UPDATE_BINDINGS=1 cargo test -p holdpoint");
    }

    #[test]
    fn the_window_is_granted_every_listed_command_and_nothing_else() {
        let capability: Value = serde_json::from_str(include_str!("../capabilities/main.json")).expect("the capability is JSON");
        let granted: Vec<String> = capability["permissions"]
            .as_array()
            .expect("the capability lists permissions")
            .iter()
            .map(|permission| permission.as_str().unwrap_or_default().to_owned())
            .collect();
        let listed: Vec<String> = COMMAND_NAMES.iter().map(|name| format!("allow-{}", name.replace('_', "-"))).collect();
        assert_eq!(granted, listed, "capability and command list are the same, in order");
    }

    #[test]
    fn every_command_of_the_bindings_is_in_the_list_the_build_script_reads() {
        let bindings = std::fs::read_to_string(COMMITTED).unwrap_or_default();
        // The first mention is the import; each later one is a call with the command's name as its first argument.
        let called: Vec<&str> = bindings.split("__TAURI_INVOKE").skip(2).filter_map(|rest| rest.split('"').nth(1)).collect();
        assert_eq!(called, COMMAND_NAMES, "bindings and command list are the same, in order");
    }
}
