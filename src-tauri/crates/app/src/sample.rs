//! The sample project of the first run: written to the data folder, where the person can read and change it. It needs no key and
//! no network, and everything in it that is scripted says so.

use std::path::{Path, PathBuf};

use crate::config::FILE_NAME;
use crate::wire::{ApiError, Command, Submit};
use crate::{App, new_session_id, paths};

/// The sample's one agent.
pub const AGENT: &str = "newsletter";
/// What its first session is asked.
pub const FIRST_MESSAGE: &str = "Send the spring newsletter.";

const FOLDER: &str = "sample";
const FILES: [(&str, &str); 3] = [
    (FILE_NAME, include_str!("sample/holdpoint.toml")),
    ("mailroom.mjs", include_str!("sample/mailroom.mjs")),
    ("script.json", include_str!("sample/script.json")),
];

/// Writes what is missing of the sample below `data` and gives its configuration file. What a person changed stays.
pub fn write(data: &Path) -> std::io::Result<PathBuf> {
    let folder = data.join(FOLDER);
    std::fs::create_dir_all(&folder)?;
    for (name, text) in FILES {
        let file = folder.join(name);
        if !file.exists() {
            std::fs::write(file, text)?;
        }
    }
    Ok(folder.join(FILE_NAME))
}

/// The configuration the desktop starts with: the data folder's own file, else the sample (DT-1, Q-63).
pub fn desktop_config(data: &Path) -> std::io::Result<PathBuf> {
    let own = data.join(FILE_NAME);
    if own.exists() { Ok(own) } else { write(data) }
}

/// The sample's folder, when this configuration is the sample's.
pub(crate) fn folder_of(config: &Path) -> Option<PathBuf> {
    let sample = paths::data_folder()?.join(FOLDER);
    (config.parent()? == sample).then_some(sample)
}

impl App {
    /// First run: starts the sample's session, unless there is any session or another configuration. It stops at one open question.
    pub async fn start_sample(&self) -> Result<Option<String>, ApiError> {
        let known = self.config().engine.agents.contains_key(AGENT) && folder_of(&self.config().file).is_some();
        if !known || !self.list_sessions(None, 1).await?.is_empty() {
            return Ok(None);
        }
        let session_id = new_session_id().to_string();
        let command = Command::CreateSession { agent_id: AGENT.to_owned(), text: FIRST_MESSAGE.to_owned() };
        // A fixed id: two windows that both think it is the first run start one session (D-13).
        let receipt = self.submit(Submit { command_id: "first-run-sample".to_owned(), session_id, command }).await?;
        Ok(Some(receipt.session_id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sample_is_a_valid_project_whose_script_knows_its_first_message() {
        let config = crate::config::parse(Path::new("/x/holdpoint.toml"), FILES[0].1.to_owned()).expect("the sample's file is valid");
        assert!(config.engine.agents.contains_key(AGENT));
        holdpoint_effects_model::Script::parse(FILES[2].1, "script.json").expect("the sample's script is valid");
        assert!(FILES[2].1.contains(&format!("\"equals\": \"{FIRST_MESSAGE}\"")));
    }
}
