//! `[plugin.<id>]`: a folder of servers that somebody else wrote down (§16, M-2). Its `.mcp.json` lists them; what this
//! configuration says about a server wins, key by key.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use toml_edit::{Item, Table};

use super::connections::KEYS;
use super::is_proper_id;
use super::reader::{ConfigError, Section, Source, nearest, quoted};

/// What JSON has and a setting cannot be.
const UNSETTABLE: &str = "holds a null, a number beyond 64 bits, or a list of objects among other values";
const FILE: &str = ".mcp.json";
/// Lists of servers are short.
const LONGEST: u64 = 1024 * 1024;
/// Stands for the plugin's folder in the files of plugins.
const ROOT: &str = "${CLAUDE_PLUGIN_ROOT}";
const SERVER_KEYS: [&str; 7] = ["type", "command", "args", "env", "cwd", "url", "headers"];

/// One server of a plugin, under what this configuration says about it.
pub struct PluginServer<'a> {
    /// `plugin.<id>.mcp.<server>`.
    pub path: String,
    pub name: String,
    home: PathBuf,
    table: Source,
    own: Option<Section<'a>>,
}

impl PluginServer<'_> {
    /// The server as a section of its own: `read` gets it with the folder that its paths are relative to. What is wrong is said where
    /// it is written, here or in the plugin.
    pub fn read<T>(&self, read: impl FnOnce(&Section<'_>, &Path) -> Result<T, ConfigError>) -> Result<T, ConfigError> {
        read(&self.table.at(format!("mcpServers.{}", self.name)), &self.home).map_err(|error| {
            let key = error.key.as_deref().and_then(|key| key.rsplit('.').next()).unwrap_or_default();
            match self.own.as_ref().filter(|own| own.has(key)) {
                Some(own) => own.error(key, error.message),
                None => error,
            }
        })
    }
}

pub fn path_of(id: &str) -> String {
    format!("plugin.{id}")
}

/// The servers of one plugin, in the order of its file. `folder` is where this configuration lies.
pub fn servers<'a>(id: &str, section: &Section<'a>, folder: &Path) -> Result<Vec<PluginServer<'a>>, ConfigError> {
    section.allow(&["path", "mcp"])?;
    let Some(path) = section.text("path")? else {
        return Err(section.error("path", format!("is missing; it names the folder that holds the plugin's {FILE}")));
    };
    let home = folder.join(path);
    let file = home.join(FILE);
    let text = text_of(&file).map_err(|error| section.error("path", format!("{} cannot be read: {error}", file.display())))?;
    let servers = listed(&file, &text)?;
    let mut own = section.children("mcp")?;
    if let Some((name, server)) = own.iter().find(|(name, _)| !servers.contains_key(name)) {
        let names: Vec<&str> = servers.keys().map(String::as_str).collect();
        let hint = nearest(name, &names).map_or_else(|| format!("it has {}", quoted(&names)), |near| format!("did you mean \"{near}\"?"));
        return Err(server.own_error(format!("the plugin has no such server; {hint}")));
    }
    let mut all = Vec::new();
    for (name, server) in servers {
        let own = own.iter().position(|(known, _)| *known == name).map(|at| own.swap_remove(at).1);
        if let Some(own) = &own {
            own.allow(&KEYS)?;
        }
        let listed = Listed { file: file.clone(), home: home.clone(), name: name.clone() };
        let mut table = listed.table(server, own.as_ref())?;
        if let Some(own) = &own {
            lay_over(&mut table, own, folder);
        }
        let path = format!("{}.mcp.{name}", path_of(id));
        all.push(PluginServer { path, name, home: home.clone(), table: Source::of(&file, table), own });
    }
    Ok(all)
}

/// Somebody else made the folder: what has no end there (a pipe, a device) would hold up the engine, or take all memory.
fn text_of(file: &Path) -> std::io::Result<String> {
    let refused = |why: String| std::io::Error::new(std::io::ErrorKind::InvalidInput, why);
    let known = std::fs::metadata(file)?;
    if known.is_dir() {
        return Err(std::io::ErrorKind::IsADirectory.into());
    }
    if !known.is_file() {
        return Err(refused("it is no file".to_owned()));
    }
    let mut text = String::new();
    std::fs::File::open(file)?.take(LONGEST + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LONGEST {
        return Err(refused(format!("it has more than {LONGEST} bytes")));
    }
    Ok(text)
}

fn listed(file: &Path, text: &str) -> Result<Map<String, Value>, ConfigError> {
    let error = |line: Option<usize>, key: Option<&str>, message: String| {
        Err(ConfigError { file: file.to_owned(), line, key: key.map(str::to_owned), message })
    };
    let whole: Value = match serde_json::from_str(text) {
        Ok(whole) => whole,
        Err(problem) => return error(Some(problem.line()), None, format!("not valid JSON: {}", reason(&problem))),
    };
    match whole.get("mcpServers") {
        None => error(None, Some("mcpServers"), "is missing; it lists the plugin's servers by name".to_owned()),
        Some(Value::Object(servers)) => Ok(servers.clone()),
        Some(_) => error(None, Some("mcpServers"), "must be an object of servers by name".to_owned()),
    }
}

/// Without the place, which is told apart from it.
fn reason(error: &serde_json::Error) -> String {
    error.to_string().split(" at line ").next().unwrap_or_default().to_owned()
}

/// A server's place in its plugin.
struct Listed {
    file: PathBuf,
    home: PathBuf,
    name: String,
}

impl Listed {
    fn error(&self, key: &str, message: impl Into<String>) -> ConfigError {
        let dot = if key.is_empty() { "" } else { "." };
        let key = Some(format!("mcpServers.{}{dot}{key}", self.name));
        ConfigError { file: self.file.clone(), line: None, key, message: message.into() }
    }

    /// The server in the words of `[mcp.<id>]`, without what `own` takes the place of.
    fn table(&self, server: Value, own: Option<&Section<'_>>) -> Result<Table, ConfigError> {
        if !is_proper_id(&self.name) {
            return Err(self.error("", "a server's name has 1 to 64 letters, digits, `_` or `-`"));
        }
        let Value::Object(mut server) = server else { return Err(self.error("", "must be an object")) };
        if let Some(key) = server.keys().find(|key| !SERVER_KEYS.contains(&key.as_str())) {
            let known = || format!("known here: {}", SERVER_KEYS.join(", "));
            let hint = nearest(key, &SERVER_KEYS).map_or_else(known, |near| format!("did you mean `{near}`?"));
            return Err(self.error(key, format!("unknown key; {hint}")));
        }
        for key in overridden(|key| own.is_some_and(|own| own.has(key))) {
            server.shift_remove(key);
        }
        self.check_kind(&server)?;
        server.shift_remove("type");
        server.shift_remove("headers");
        for (key, value) in &mut server {
            self.resolve(key, value)?;
        }
        self.join_command(&mut server)?;
        let document = toml_edit::ser::to_document(&server).map_err(|_| self.error("", UNSETTABLE))?;
        Ok(document.as_table().clone())
    }

    fn check_kind(&self, server: &Map<String, Value>) -> Result<(), ConfigError> {
        if server.get("headers").is_some_and(|headers| !headers.as_object().is_some_and(Map::is_empty)) {
            let message = "is not read from here, as a header may hold a secret: set the token where the connection's tokens are set, and name \
                           its header with `header` in the plugin's section";
            return Err(self.error("headers", message));
        }
        let Some(kind) = server.get("type") else { return Ok(()) };
        let (wanted, wrong) = match kind.as_str() {
            Some("stdio") => ("command", "url"),
            Some("http" | "streamable-http") => ("url", "command"),
            Some("sse") => {
                return Err(self.error("type", "servers of the older transport \"sse\" are not reached; \"http\" is streamable HTTP"));
            }
            _ => return Err(self.error("type", "must be one of \"stdio\", \"http\"")),
        };
        if server.contains_key(wrong) || !server.contains_key(wanted) {
            return Err(self.error("type", format!("does not fit: a server of this type has `{wanted}` and no `{wrong}`")));
        }
        Ok(())
    }

    /// The plugin's folder for its name and, in `env`, a variable of the engine for its own (F-6).
    fn resolve(&self, key: &str, value: &mut Value) -> Result<(), ConfigError> {
        match value {
            Value::String(text) => {
                *text = text.replace(ROOT, &self.home.display().to_string());
                let name = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')).filter(|_| key == "env");
                if let Some(name) = name.filter(|name| name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')) {
                    *text = format!("${name}");
                }
                if text.contains("${") {
                    let message = format!("a variable may be a whole value of `env`; elsewhere only {ROOT} is known, the plugin's folder");
                    return Err(self.error(key, message));
                }
                Ok(())
            }
            Value::Array(items) => items.iter_mut().try_for_each(|item| self.resolve(key, item)),
            Value::Object(items) => items.values_mut().try_for_each(|item| self.resolve(key, item)),
            _ => Ok(()),
        }
    }

    /// `command` is a program and `args` what follows it; here they are one list.
    fn join_command(&self, server: &mut Map<String, Value>) -> Result<(), ConfigError> {
        let arguments = match server.shift_remove("args") {
            None => Vec::new(),
            Some(Value::Array(arguments)) => arguments,
            Some(_) => return Err(self.error("args", "must be a list of strings")),
        };
        match server.get_mut("command") {
            None if arguments.is_empty() => Ok(()),
            None => Err(self.error("args", "needs a `command`")),
            Some(program) if program.is_string() => {
                *program = [program.take()].into_iter().chain(arguments).collect();
                Ok(())
            }
            Some(_) => Err(self.error("command", "must be a string, the program; its arguments are in `args`")),
        }
    }
}

/// Keys of the file that something in this configuration replaces. A server of another kind replaces all that belongs to the first kind.
fn overridden(sets: impl Fn(&str) -> bool) -> Vec<&'static str> {
    let mut keys: Vec<&str> = SERVER_KEYS.into_iter().filter(|key| *key != "env" && sets(key)).collect();
    if sets("command") {
        keys.extend(["type", "args", "url", "headers"]);
    }
    if sets("url") {
        keys.extend(["type", "command", "args", "env", "cwd"]);
    }
    if sets("header") || sets("auth") {
        keys.push("headers");
    }
    keys
}

/// `env` is laid over name by name, everything else key by key. A folder given here is relative to this configuration.
fn lay_over(table: &mut Table, own: &Section<'_>, folder: &Path) {
    for (key, item) in own.items() {
        match (key, item.as_table_like(), item.as_str()) {
            ("env", Some(variables), _) if table.get("env").is_some_and(Item::is_table_like) => {
                for (name, value) in variables.iter() {
                    table["env"][name] = value.clone();
                }
            }
            ("cwd", _, Some(cwd)) if !cwd.is_empty() => table[key] = toml_edit::value(folder.join(cwd).display().to_string()),
            _ => table[key] = item.clone(),
        }
    }
}

#[cfg(test)]
mod tests;
