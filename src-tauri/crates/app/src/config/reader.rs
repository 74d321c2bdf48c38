//! Reads a TOML table key by key. Every complaint names file, line and full key path, and none ever repeats a value
//! that might be a secret (F-2, Q-52).

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use toml_edit::{Document, Item, Table, TableLike};

/// What is wrong with a configuration file, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ConfigError {
    pub file: PathBuf,
    pub line: Option<usize>,
    /// Full path of the key, `agent.support.model`.
    pub key: Option<String>,
    pub message: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let Some(key) = &self.key {
            write!(f, ": {key}")?;
        }
        write!(f, ": {}", self.message)
    }
}

/// A parsed file with what is needed to point into it.
pub struct Source {
    file: PathBuf,
    text: String,
    table: Table,
}

impl Source {
    pub fn parse(file: &Path, text: String) -> Result<Self, ConfigError> {
        let document = Document::parse(text.as_str()).map_err(|error| ConfigError {
            file: file.to_owned(),
            line: error.span().map(|span| line_of(&text, span.start)),
            key: None,
            // Only the parser's sentence: its full form quotes the source line, which may hold a secret.
            message: format!("not valid TOML: {}", error.message().replace('\n', ", ")),
        })?;
        let table = document.into_table();
        Ok(Self { file: file.to_owned(), text, table })
    }

    /// A table from a file of another form: what is wrong in it has no line here.
    pub fn of(file: &Path, table: Table) -> Self {
        Self { file: file.to_owned(), text: String::new(), table }
    }

    pub fn root(&self) -> Section<'_> {
        self.at(String::new())
    }

    /// The whole table, at `path`.
    pub fn at(&self, path: String) -> Section<'_> {
        Section { source: self, path, table: &self.table, span: None }
    }

    fn error(&self, span: Option<Range<usize>>, key: &str, message: String) -> ConfigError {
        ConfigError {
            file: self.file.clone(),
            line: span.map(|span| line_of(&self.text, span.start)),
            key: (!key.is_empty()).then(|| key.to_owned()),
            message,
        }
    }
}

fn line_of(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').fold(1, |line, _| line + 1)
}

/// One table of the file.
#[derive(Clone)]
pub struct Section<'a> {
    source: &'a Source,
    pub path: String,
    table: &'a dyn TableLike,
    span: Option<Range<usize>>,
}

type Read<T> = Result<Option<T>, ConfigError>;
/// An entry of a list, when it is a table, and where it stands.
type Entry<'a> = (Option<&'a dyn TableLike>, Option<Range<usize>>);

impl<'a> Section<'a> {
    fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    fn span_of(&self, key: &str) -> Option<Range<usize>> {
        let (name, item) = self.table.get_key_value(key)?;
        name.span().or_else(|| item.span())
    }

    pub fn items(&self) -> impl Iterator<Item = (&'a str, &'a Item)> {
        self.table.iter()
    }

    pub fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// An error about `key`, at its line; about a missing key, at the line of its table.
    pub fn error(&self, key: &str, message: impl Into<String>) -> ConfigError {
        let span = self.span_of(key).or_else(|| self.span.clone());
        self.source.error(span, &self.path_of(key), message.into())
    }

    /// An error about the table itself.
    pub fn own_error(&self, message: impl Into<String>) -> ConfigError {
        self.source.error(self.span.clone(), &self.path, message.into())
    }

    /// F-2: refuses every key that is not in `known`.
    pub fn allow(&self, known: &[&str]) -> Result<(), ConfigError> {
        match self.table.iter().find(|(key, _)| !known.contains(key)) {
            None => Ok(()),
            Some((key, _)) => Err(self.error(key, unknown_key(&self.path, key, known))),
        }
    }

    fn item(&self, key: &str) -> Option<&'a Item> {
        self.table.get(key)
    }

    pub fn str(&self, key: &str) -> Read<String> {
        let Some(item) = self.item(key) else { return Ok(None) };
        let text = item.as_str().ok_or_else(|| self.error(key, format!("must be a string, not {}", kind(item))))?;
        Ok(Some(text.to_owned()))
    }

    pub fn text(&self, key: &str) -> Read<String> {
        match self.str(key)? {
            Some(text) if text.is_empty() => Err(self.error(key, "must not be empty")),
            other => Ok(other),
        }
    }

    pub fn bool(&self, key: &str) -> Read<bool> {
        let Some(item) = self.item(key) else { return Ok(None) };
        item.as_bool().map(Some).ok_or_else(|| self.error(key, format!("must be true or false, not {}", kind(item))))
    }

    pub fn uint(&self, key: &str, range: std::ops::RangeInclusive<u64>) -> Read<u64> {
        let Some(item) = self.item(key) else { return Ok(None) };
        let number = item.as_integer().ok_or_else(|| self.error(key, format!("must be a whole number, not {}", kind(item))))?;
        let fits = u64::try_from(number).ok().filter(|number| range.contains(number));
        fits.map(Some).ok_or_else(|| self.error(key, format!("must be between {} and {}", range.start(), range.end())))
    }

    pub fn seconds(&self, key: &str) -> Read<f64> {
        let Some(item) = self.item(key) else { return Ok(None) };
        let number = item.as_float().or_else(|| item.as_integer().map(|whole| whole as f64));
        match number {
            Some(number) if number.is_finite() && number >= 0.0 => Ok(Some(number)),
            Some(_) => Err(self.error(key, "must not be negative")),
            None => Err(self.error(key, format!("must be a number, not {}", kind(item)))),
        }
    }

    pub fn one_of(&self, key: &str, allowed: &[&str]) -> Read<String> {
        let Some(text) = self.str(key)? else { return Ok(None) };
        if allowed.contains(&text.as_str()) {
            return Ok(Some(text));
        }
        let hint = nearest(&text, allowed).map(|near| format!("; did you mean \"{near}\"?")).unwrap_or_default();
        Err(self.error(key, format!("must be one of {}{hint}", quoted(allowed))))
    }

    /// The name of an environment variable (F-6). The value is never shown: it may be the secret itself, put in the wrong place.
    pub fn env_name(&self, key: &str) -> Read<String> {
        let Some(name) = self.str(key)? else { return Ok(None) };
        let proper =
            name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if proper {
            return Ok(Some(name));
        }
        Err(self.error(key, "must be the name of an environment variable (letters, digits and _), not the secret itself"))
    }

    /// The tables of a list, each with its own path `key[0]`.
    pub fn tables(&self, key: &str) -> Result<Vec<Section<'a>>, ConfigError> {
        let Some(item) = self.item(key) else { return Ok(Vec::new()) };
        let entries: Vec<Entry<'a>> = if let Some(array) = item.as_array() {
            array.iter().map(|value| (value.as_inline_table().map(|table| table as &dyn TableLike), value.span())).collect()
        } else if let Some(tables) = item.as_array_of_tables() {
            tables.iter().map(|table| (Some(table as &dyn TableLike), table.span())).collect()
        } else {
            return Err(self.error(key, format!("must be a list, not {}", kind(item))));
        };
        let section = |(index, (table, span)): (usize, Entry<'a>)| {
            let path = format!("{}[{index}]", self.path_of(key));
            match table {
                Some(table) => Ok(Section { source: self.source, path, table, span }),
                None => Err(self.source.error(span, &path, "must be a table".to_owned())),
            }
        };
        entries.into_iter().enumerate().map(section).collect()
    }

    pub fn table(&self, key: &str) -> Read<Section<'a>> {
        let Some(item) = self.item(key) else { return Ok(None) };
        let table = item.as_table_like().ok_or_else(|| self.error(key, format!("must be a table, not {}", kind(item))))?;
        let span = self.span_of(key);
        Ok(Some(Section { source: self.source, path: self.path_of(key), table, span }))
    }

    /// `[agent.<id>]` and its like: every table below `key` with its id.
    pub fn children(&self, key: &str) -> Result<Vec<(String, Section<'a>)>, ConfigError> {
        let Some(section) = self.table(key)? else { return Ok(Vec::new()) };
        let ids: Vec<String> = section.table.iter().map(|(id, _)| id.to_owned()).collect();
        ids.into_iter()
            .map(|id| {
                let child = section.table(&id)?.ok_or_else(|| section.error(&id, "must be a table"))?;
                Ok((id, child))
            })
            .collect()
    }

    pub fn json(&self, key: &str) -> Option<Value> {
        self.item(key).map(item_json)
    }
}

fn item_json(item: &Item) -> Value {
    if let Some(table) = item.as_table_like() {
        return Value::Object(table.iter().map(|(key, item)| (key.to_owned(), item_json(item))).collect::<Map<_, _>>());
    }
    if let Some(array) = item.as_array() {
        return array.iter().map(|value| item_json(&Item::Value(value.clone()))).collect();
    }
    if let Some(tables) = item.as_array_of_tables() {
        return tables.iter().map(|table| item_json(&Item::Table(table.clone()))).collect();
    }
    match item.as_value() {
        Some(toml_edit::Value::String(text)) => json!(text.value()),
        Some(toml_edit::Value::Integer(number)) => json!(number.value()),
        Some(toml_edit::Value::Float(number)) => json!(number.value()),
        Some(toml_edit::Value::Boolean(truth)) => json!(truth.value()),
        Some(toml_edit::Value::Datetime(at)) => json!(at.value().to_string()),
        _ => Value::Null,
    }
}

fn kind(item: &Item) -> &'static str {
    match item.type_name() {
        "string" => "a string",
        "integer" => "a whole number",
        "float" => "a number",
        "boolean" => "true or false",
        "array" | "array of tables" => "a list",
        "datetime" => "a date",
        _ => "a table",
    }
}

pub fn quoted(words: &[&str]) -> String {
    words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ")
}

/// The known word closest to `word`, if any is close at all.
pub fn nearest<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    known
        .iter()
        .map(|candidate| (strsim::jaro_winkler(word, candidate), *candidate))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .filter(|(score, _)| *score > 0.6)
        .map(|(_, candidate)| candidate)
}

fn unknown_key(section: &str, key: &str, known: &[&str]) -> String {
    if let Some(instead) = secret_advice(section, key, known) {
        return format!("unknown key, and secrets do not belong in this file; {instead}");
    }
    match nearest(key, known) {
        Some(near) => format!("unknown key; did you mean `{near}`?"),
        None => format!("unknown key; known here: {}", known.join(", ")),
    }
}

/// F-2: where a secret goes instead. `None` when the key does not look like one.
fn secret_advice(section: &str, key: &str, known: &[&str]) -> Option<String> {
    let word = key.to_ascii_lowercase().replace('-', "_");
    let marks = ["secret", "token", "password", "passwd", "api_key", "apikey", "bearer", "credential", "authorization", "private_key"];
    if word != "key" && !marks.iter().any(|mark| word.contains(mark)) {
        return None;
    }
    let own = format!("{word}_env");
    let env_keys: Vec<&str> = known.iter().copied().filter(|key| key.ends_with("_env")).collect();
    let matching = env_keys.iter().find(|key| **key == own).or(if env_keys.len() == 1 { env_keys.first() } else { None });
    if let Some(env) = matching {
        return Some(format!("put it in an environment variable and name that with `{env}`"));
    }
    let mut parts = section.split('.');
    match (parts.next(), parts.next()) {
        (Some("mcp"), Some(id)) => Some(format!(
            "set it in the desktop's settings, or in the environment as HOLDPOINT_MCP_TOKEN_{}",
            id.to_ascii_uppercase().replace('-', "_")
        )),
        (Some("plugin"), Some(id)) => {
            let name = section.rsplit('.').next().unwrap_or_default();
            let name = format!("{id}_{name}").to_ascii_uppercase().replace('-', "_");
            Some(format!("set it in the desktop's settings, or in the environment as HOLDPOINT_MCP_TOKEN_{name}"))
        }
        (Some("agent"), Some(id)) if section.split('.').next_back() == Some("slack") => {
            let id = id.to_ascii_uppercase();
            Some(format!("set SLACK_APP_TOKEN_{id} and SLACK_BOT_TOKEN_{id} in the environment"))
        }
        _ => Some("name the environment variable that holds it with the section's `*_env` key, or set it in the desktop".to_owned()),
    }
}
