//! `[mcp.<id>]` and an agent's `mcp`: which servers there are, and what an agent uses of them (§10A, F-3, Q-30).

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use holdpoint_core::connector::Entry;
use holdpoint_core::engine_config::ConnectionSpec;
use holdpoint_effects_mcp::Auth;
use serde_json::Value;

use super::reader::{ConfigError, Section, nearest, quoted};
use super::{check_id, plugins, url};

pub const KEYS: [&str; 11] =
    ["url", "command", "env", "cwd", "auth", "header", "credential", "scopes", "client_id_env", "client_secret_env", "prefix_tools"];

/// `[mcp.<id>]`; paths are absolute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConnectionSettings {
    /// M-31.
    Stdio { command: Vec<String>, env: Vec<(String, String)>, cwd: PathBuf },
    /// What stands in the environment is named only.
    Http {
        url: String,
        auth: Auth,
        header: Option<String>,
        scopes: Vec<String>,
        client_id_env: Option<String>,
        client_secret_env: Option<String>,
    },
}

/// The settings of every connection, and what rules need of them, by path.
pub type Connections = (BTreeMap<String, ConnectionSettings>, BTreeMap<String, ConnectionSpec>);
/// The connections of each plugin, by its path.
pub type Plugins = BTreeMap<String, Vec<String>>;

pub fn connections(root: &Section<'_>, folder: &Path) -> Result<(Connections, Plugins), ConfigError> {
    let (mut settings, mut specs, mut plugins) = (BTreeMap::new(), BTreeMap::new(), Plugins::new());
    for (id, section) in root.children("mcp")? {
        check_id(&section, &id)?;
        section.allow(&KEYS)?;
        let path = format!("mcp.{id}");
        specs.insert(path.clone(), spec(&section, &id)?);
        settings.insert(path, connection(&section, folder)?);
    }
    for (id, section) in root.children("plugin")? {
        check_id(&section, &id)?;
        let mut paths = Vec::new();
        for server in plugins::servers(&id, &section, folder)? {
            specs.insert(server.path.clone(), server.read(|section, _| spec(section, &server.name))?);
            settings.insert(server.path.clone(), server.read(connection)?);
            paths.push(server.path);
        }
        plugins.insert(plugins::path_of(&id), paths);
    }
    Ok(((settings, specs), plugins))
}

fn spec(section: &Section<'_>, id: &str) -> Result<ConnectionSpec, ConfigError> {
    let prefixed = section.bool("prefix_tools")?.unwrap_or(true);
    Ok(ConnectionSpec { prefix: prefixed.then(|| format!("{id}__")), ..ConnectionSpec::default() })
}

fn connection(section: &Section<'_>, folder: &Path) -> Result<ConnectionSettings, ConfigError> {
    let is_local = section.has("command");
    if is_local == section.has("url") {
        return Err(section.own_error("needs exactly one of `url` and `command`"));
    }
    let remote = ["auth", "header", "credential", "scopes", "client_id_env", "client_secret_env"];
    let misplaced = if is_local { &remote[..] } else { &["env", "cwd"] };
    if let Some(key) = misplaced.iter().find(|key| section.has(key)) {
        return Err(section.error(key, format!("does not go with `{}`", if is_local { "command" } else { "url" })));
    }
    if is_local {
        let command = strings(section, "command")?.filter(|list| list.first().is_some_and(|program| !program.is_empty()));
        let command = command.ok_or_else(|| section.error("command", "must not be empty: the program, then its arguments"))?;
        let cwd = section.text("cwd")?.map_or_else(|| folder.to_owned(), |cwd| folder.join(cwd));
        return Ok(ConnectionSettings::Stdio { command, env: env(section)?, cwd });
    }
    if section.one_of("credential", &["shared", "user"])?.as_deref() == Some("user") {
        return Err(section.error("credential", "credentials per user are not available yet"));
    }
    let auth = match section.one_of("auth", &["token", "oauth", "none"])?.as_deref() {
        Some("token") => Auth::Token,
        Some("oauth") => Auth::Oauth,
        Some(_) => Auth::None,
        None => Auth::Ask,
    };
    let header = section.text("header")?;
    if header.is_some() && auth != Auth::Token {
        return Err(section.error("header", "goes only with auth = \"token\""));
    }
    let of_oauth = ["scopes", "client_id_env", "client_secret_env"].into_iter().find(|key| section.has(key));
    if let Some(key) = of_oauth.filter(|_| !matches!(auth, Auth::Ask | Auth::Oauth)) {
        return Err(section.error(key, "goes only with OAuth: auth = \"oauth\", or no `auth`"));
    }
    let (client_id_env, client_secret_env) = (section.text("client_id_env")?, section.text("client_secret_env")?);
    if client_secret_env.is_some() && client_id_env.is_none() {
        return Err(section.error("client_secret_env", "goes only with `client_id_env`"));
    }
    let url = url(section, "url")?.unwrap_or_default();
    let scopes = strings(section, "scopes")?.unwrap_or_default();
    Ok(ConnectionSettings::Http { url, auth, header, scopes, client_id_env, client_secret_env })
}

fn strings(section: &Section<'_>, key: &str) -> Result<Option<Vec<String>>, ConfigError> {
    let Some(value) = section.json(key) else { return Ok(None) };
    let list = value.as_array().and_then(|list| list.iter().map(|item| item.as_str().map(str::to_owned)).collect());
    list.map(Some).ok_or_else(|| section.error(key, "must be a list of strings"))
}

/// F-6: values are never shown in an error; `"$NAME"` is resolved when the server starts.
fn env(section: &Section<'_>) -> Result<Vec<(String, String)>, ConfigError> {
    let Some(table) = section.json("env") else { return Ok(Vec::new()) };
    let pairs = table
        .as_object()
        .and_then(|table| table.iter().map(|(name, value)| value.as_str().map(|value| (name.clone(), value.to_owned()))).collect());
    pairs.ok_or_else(|| section.error("env", "must be a table of strings: { NAME = \"value\" } or { NAME = \"$VARIABLE\" }"))
}

/// An agent's `mcp`, checked, as it goes into the agent's config.
pub fn agent_entries(section: &Section<'_>, known: &BTreeMap<String, ConnectionSpec>) -> Result<Option<Value>, ConfigError> {
    let Some(list) = section.json("mcp") else { return Ok(None) };
    let items = list.as_array().ok_or_else(|| section.error("mcp", "is a list of \"mcp.<id>\" or { id = \"mcp.<id>\", … }"))?;
    let mut seen = HashSet::new();
    for item in items {
        let path = path_of(section, "mcp", item)?;
        if !known.contains_key(&path) {
            return Err(section.error("mcp", unknown(&path, known)));
        }
        if !seen.insert(path.clone()) {
            return Err(section.error("mcp", format!("names \"{path}\" twice")));
        }
    }
    Ok(Some(list))
}

/// An agent's `plugins`, checked. The core reads them as entries of `mcp`.
pub fn agent_plugins(section: &Section<'_>, known: &Plugins) -> Result<Option<Value>, ConfigError> {
    let Some(list) = section.json("plugins") else { return Ok(None) };
    let items = list.as_array().ok_or_else(|| section.error("plugins", "is a list of \"plugin.<id>\" or { id = \"plugin.<id>\", … }"))?;
    for item in items {
        let path = path_of(section, "plugins", item)?;
        if known.contains_key(&path) {
            continue;
        }
        let paths: Vec<&str> = known.keys().map(String::as_str).collect();
        let hint = match nearest(&path, &paths) {
            _ if known.contains_key(&plugins::path_of(&path)) => format!("; write the path \"plugin.{path}\" (Q-30)"),
            Some(near) => format!("; did you mean \"{near}\"?"),
            None if paths.is_empty() => String::new(),
            None => format!("; declared: {}", quoted(&paths)),
        };
        return Err(section.error("plugins", format!("there is no [{path}]{hint}")));
    }
    Ok(Some(list))
}

fn unknown(path: &str, known: &BTreeMap<String, ConnectionSpec>) -> String {
    let paths: Vec<&str> = known.keys().map(String::as_str).collect();
    if known.contains_key(&format!("mcp.{path}")) {
        return format!("write the path \"mcp.{path}\" (Q-30)");
    }
    let hint = match nearest(path, &paths) {
        Some(near) => format!("; did you mean \"{near}\"?"),
        None if paths.is_empty() => String::new(),
        None => format!("; declared: {}", quoted(&paths)),
    };
    format!("there is no [{path}]{hint}")
}

/// The path an entry names, when everything else about it is in order too.
fn path_of(section: &Section<'_>, key: &str, item: &Value) -> Result<String, ConfigError> {
    let Some(table) = item.as_object() else {
        return item
            .as_str()
            .map(str::to_owned)
            .ok_or_else(|| section.error(key, format!("names a connection by its path: \"{key}.<id>\"")));
    };
    let keys = ["id", "tools", "approve", "auth_failure", "tool_sync_failure", "on_unknown"];
    if let Some(unknown) = table.keys().find(|key| !keys.contains(&key.as_str())) {
        let hint = nearest(unknown, &keys).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        return Err(section.error(key, format!("unknown key `{unknown}` in an entry{hint}")));
    }
    let entry: Entry =
        serde_json::from_value(item.clone()).map_err(|problem| section.error(key, format!("an entry is not right: {problem}")))?;
    Ok(entry.path)
}
