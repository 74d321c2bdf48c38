//! A desktop's panel without a picture, for the tests: `watch` takes tray icons in, `read` says what one shows as JSON,
//! `click TEXT` takes the entry of its menu that contains the text.

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["watch"] => panel::watch(),
        ["read"] => panel::read(),
        ["click", text] => panel::click(text),
        _ => Err("one of: watch, read, click TEXT".into()),
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("only Linux has a panel that is a service on a bus");
}

#[cfg(target_os = "linux")]
mod panel {
    use std::collections::HashMap;
    use std::error::Error;

    use serde_json::json;
    use zbus::blocking::{Connection, Proxy, connection};
    use zbus::message::Header;
    use zbus::zvariant::{OwnedObjectPath, OwnedValue, Value};

    const WATCHER: &str = "org.kde.StatusNotifierWatcher";
    const PATH: &str = "/StatusNotifierWatcher";
    const ITEM: &str = "org.kde.StatusNotifierItem";
    const MENU: &str = "com.canonical.dbusmenu";

    type Done = Result<(), Box<dyn Error>>;
    /// An entry's number, its properties and its entries.
    type Entry = (i32, HashMap<String, OwnedValue>, Vec<OwnedValue>);

    #[derive(Default)]
    struct Watcher {
        items: Vec<String>,
    }

    #[expect(clippy::unused_self, reason = "the interface's shape")]
    #[zbus::interface(name = "org.kde.StatusNotifierWatcher")]
    impl Watcher {
        /// An item names itself by its bus name or, as Ayatana's does, by its path.
        fn register_status_notifier_item(&mut self, item: &str, #[zbus(header)] header: Header<'_>) {
            let sender = header.sender().map(ToString::to_string).unwrap_or_default();
            self.items.push(if item.starts_with('/') { format!("{sender}{item}") } else { format!("{item}/StatusNotifierItem") });
        }

        #[zbus(property)]
        fn registered_status_notifier_items(&self) -> Vec<String> {
            self.items.clone()
        }

        #[zbus(property)]
        fn is_status_notifier_host_registered(&self) -> bool {
            true
        }

        #[zbus(property)]
        fn protocol_version(&self) -> i32 {
            0
        }
    }

    pub fn watch() -> Done {
        let _bus = connection::Builder::session()?.serve_at(PATH, Watcher::default())?.name(WATCHER)?.build()?;
        println!("watching");
        loop {
            std::thread::park();
        }
    }

    pub fn read() -> Done {
        let bus = Connection::session()?;
        let said = match newest(&bus)? {
            None => json!(null),
            Some((service, path)) => {
                let label: String = Proxy::new(&bus, service.as_str(), path.as_str(), ITEM)?.get_property("XAyatanaLabel")?;
                let menu: Vec<String> = entries(&menu(&bus, &service, &path)?)?.into_iter().map(|(_, label)| label).collect();
                json!({ "label": label, "menu": menu })
            }
        };
        println!("{said}");
        Ok(())
    }

    pub fn click(text: &str) -> Done {
        let bus = Connection::session()?;
        let (service, path) = newest(&bus)?.ok_or("the panel has no icon")?;
        let menu = menu(&bus, &service, &path)?;
        let (id, _) = entries(&menu)?.into_iter().find(|(_, label)| label.contains(text)).ok_or("the menu has no such entry")?;
        menu.call_method("Event", &(id, "clicked", Value::from(0_i32), 0_u32))?;
        Ok(())
    }

    /// Bus name and path of the item that came last.
    fn newest(bus: &Connection) -> Result<Option<(String, String)>, Box<dyn Error>> {
        let items: Vec<String> = Proxy::new(bus, WATCHER, PATH, WATCHER)?.get_property("RegisteredStatusNotifierItems")?;
        let parts = items.last().and_then(|item| item.split_once('/'));
        Ok(parts.map(|(service, path)| (service.to_owned(), format!("/{path}"))))
    }

    fn menu(bus: &Connection, service: &str, path: &str) -> Result<Proxy<'static>, Box<dyn Error>> {
        let path: OwnedObjectPath = Proxy::new(bus, service, path, ITEM)?.get_property("Menu")?;
        Ok(Proxy::new(bus, service.to_owned(), path, MENU)?)
    }

    /// Number and label of each entry, in order; separators have no label and are left out.
    fn entries(menu: &Proxy<'_>) -> Result<Vec<(i32, String)>, Box<dyn Error>> {
        let (_revision, (_, _, children)): (u32, Entry) = menu.call("GetLayout", &(0_i32, -1_i32, Vec::<String>::new()))?;
        let mut entries = Vec::new();
        for child in children {
            let (id, properties, _): Entry = child.try_into()?;
            if let Some(label) = properties.get("label") {
                entries.push((id, unmarked(label.downcast_ref::<&str>()?)));
            }
        }
        Ok(entries)
    }

    /// A single underscore marks a key to press, two are one.
    fn unmarked(label: &str) -> String {
        label.replace("__", "\0").replace('_', "").replace('\0', "_")
    }
}
