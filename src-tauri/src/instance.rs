//! One app per database: a second start brings the first one's window to the front and ends.

use tauri::plugin::TauriPlugin;
use tauri_plugin_single_instance as single_instance;

use crate::window;

const IDENTIFIER: &str = "dev.holdpoint.desktop";

/// The plugin, unless a first instance owns the name but answers nobody, being about to end. Then this one starts as if it were
/// alone, and the lock on the database decides (D-11): the plugin itself would wait for the dying one without end.
pub fn single() -> Option<TauriPlugin<tauri::Wry>> {
    let name = bus_name(std::env::var("HOLDPOINT_DB").ok().as_deref());
    if !first_is_well(&name) {
        eprintln!("holdpoint-desktop: another instance does not answer; starting beside it");
        return None;
    }
    let plugin = single_instance::Builder::new().callback(|handle, _args, _folder| window::show(handle)).dbus_id(name);
    Some(plugin.build())
}

/// Another database is another app: both may run side by side.
fn bus_name(db: Option<&str>) -> String {
    match db {
        None => IDENTIFIER.to_owned(),
        Some(path) => {
            let absolute = std::path::absolute(path).unwrap_or_else(|_| path.into());
            let hash = holdpoint_core::json::sha256_hex(absolute.as_os_str().as_encoded_bytes());
            format!("{IDENTIFIER}.db{}", &hash[..12])
        }
    }
}

/// True when there is no first instance (or no bus to find one by), or when it answers.
#[cfg(target_os = "linux")]
fn first_is_well(name: &str) -> bool {
    use std::time::Duration;

    let name = format!("{name}.SingleInstance");
    tauri::async_runtime::block_on(async move {
        let ping = async {
            let bus = zbus::Connection::session().await.ok()?;
            let bus_itself = zbus::fdo::DBusProxy::new(&bus).await.ok()?;
            let owned = bus_itself.name_has_owner(name.as_str().try_into().ok()?).await.ok()?;
            if owned {
                bus.call_method(Some(name.as_str()), "/", Some("org.freedesktop.DBus.Peer"), "Ping", &()).await.ok()?;
            }
            Some(())
        };
        // An error says that the first one is gone meanwhile or that there is no bus; only silence is a reason to step aside.
        tokio::time::timeout(Duration::from_secs(2), ping).await.is_ok()
    })
}

#[cfg(not(target_os = "linux"))]
fn first_is_well(_name: &str) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::bus_name;

    #[test]
    fn another_database_is_another_app() {
        assert_eq!(bus_name(None), "dev.holdpoint.desktop");
        let first = bus_name(Some("/tmp/a.db"));
        assert!(first.starts_with("dev.holdpoint.desktop.db"));
        assert_ne!(first, bus_name(Some("/tmp/b.db")));
        assert_eq!(first, bus_name(Some("/tmp/a.db")));
    }
}
