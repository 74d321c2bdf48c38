//! Credentials of connections (M-2): tokens that a person set, and what an authorization server gave. They never stand in the
//! configuration file, the log or the database; where they lie is a [`Vault`]'s business.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::transport::auth::StoredCredentials;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// A place for secrets, by name. Calls may block.
pub trait Vault: Send + Sync + fmt::Debug {
    fn load(&self, name: &str) -> Result<Option<String>, String>;
    fn save(&self, name: &str, secret: &str) -> Result<(), String>;
    fn remove(&self, name: &str) -> Result<(), String>;
}

/// Secrets in one file that only this user reads. It stands beside the database and is written by the engine that owns that.
#[derive(Debug)]
pub struct FileVault {
    path: PathBuf,
    writing: Mutex<()>,
}

impl FileVault {
    pub fn new(path: PathBuf) -> Self {
        Self { path, writing: Mutex::default() }
    }

    fn read(&self) -> Result<BTreeMap<String, String>, String> {
        match std::fs::read_to_string(&self.path) {
            Ok(text) => serde_json::from_str(&text).map_err(|_| self.problem("it is not a file of credentials")),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(BTreeMap::new()),
            Err(error) => Err(self.problem(error)),
        }
    }

    fn change(&self, change: impl FnOnce(&mut BTreeMap<String, String>)) -> Result<(), String> {
        let _one = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = self.read()?;
        change(&mut all);
        let text = serde_json::to_string(&all).map_err(|error| self.problem(error))?;
        write_privately(&self.path, &text).map_err(|error| self.problem(error))
    }

    fn problem(&self, why: impl fmt::Display) -> String {
        format!("{}: {why}", self.path.display())
    }
}

impl Vault for FileVault {
    fn load(&self, name: &str) -> Result<Option<String>, String> {
        Ok(self.read()?.remove(name))
    }
    fn save(&self, name: &str, secret: &str) -> Result<(), String> {
        self.change(|all| drop(all.insert(name.to_owned(), secret.to_owned())))
    }
    fn remove(&self, name: &str) -> Result<(), String> {
        if self.load(name)?.is_none() {
            return Ok(());
        }
        self.change(|all| drop(all.remove(name)))
    }
}

/// Written beside and moved over: a reader never sees half a file, and the mode is right from the first byte on.
fn write_privately(path: &Path, text: &str) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    let mut fresh = path.as_os_str().to_owned();
    fresh.push(".new");
    let fresh = Path::new(&fresh);
    let _ = std::fs::remove_file(fresh);
    let mut file = options.open(fresh)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    drop(file);
    std::fs::rename(fresh, path)
}

/// Secrets that end with the process.
#[derive(Debug, Default)]
pub struct MemoryVault {
    all: Mutex<HashMap<String, String>>,
}

impl Vault for MemoryVault {
    fn load(&self, name: &str) -> Result<Option<String>, String> {
        Ok(self.all.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned())
    }
    fn save(&self, name: &str, secret: &str) -> Result<(), String> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), secret.to_owned());
        Ok(())
    }
    fn remove(&self, name: &str) -> Result<(), String> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
        Ok(())
    }
}

/// What a connection has to show.
#[derive(Clone, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Secret {
    Token {
        token: String,
    },
    /// `grant` is none once its refresh token was refused: only a person can give a new one.
    Oauth {
        grant: Option<StoredCredentials>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        client_secret: Option<String>,
    },
}

/// A credential, and what it was given for: it is shown to nobody else.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Record {
    /// M-2: a changed `auth` empties the credential.
    pub auth: String,
    pub url: String,
    pub secret: Secret,
}

impl Record {
    /// M-21, when the server refuses what this record holds after everything was tried.
    pub fn when_refused(&self) -> &'static str {
        match &self.secret {
            Secret::Token { .. } => "token_rejected",
            Secret::Oauth { grant: Some(grant), .. } if field(grant, "refresh_token").is_some_and(|token| token.is_string()) => {
                "token_rejected"
            }
            Secret::Oauth { .. } => "reauthorize",
        }
    }
}

/// A field of the token as the authorization server sent it.
fn field(grant: &StoredCredentials, name: &str) -> Option<serde_json::Value> {
    json!(grant.token_response.as_ref()?).get(name).cloned()
}

/// All credentials of an engine, by connection. Cheap to clone.
#[derive(Clone)]
pub struct Credentials {
    vault: Arc<dyn Vault>,
    /// What the vault holds, as far as it was asked.
    known: Arc<Mutex<HashMap<String, Option<Record>>>>,
    /// What each server asked for when it last refused: it names the scopes it wants.
    challenges: Arc<Mutex<HashMap<String, String>>>,
}

impl Default for Credentials {
    fn default() -> Self {
        Self::new(Arc::new(MemoryVault::default()))
    }
}

impl Credentials {
    pub fn new(vault: Arc<dyn Vault>) -> Self {
        Self { vault, known: Arc::default(), challenges: Arc::default() }
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Option<Record>, String> {
        if let Some(known) = self.known().get(path) {
            return Ok(known.clone());
        }
        let text = self.blocking(path, |vault, path| vault.load(path)).await?;
        let record: Option<Record> = text.and_then(|text| serde_json::from_str(&text).ok());
        Ok(self.known().entry(path.to_owned()).or_insert(record).clone())
    }

    /// As it was read last.
    pub(crate) fn peek(&self, path: &str) -> Option<Record> {
        self.known().get(path).cloned().flatten()
    }

    /// Kept before it counts.
    pub(crate) async fn put(&self, path: &str, record: Record) -> Result<(), String> {
        let text = serde_json::to_string(&record).map_err(|error| error.to_string())?;
        self.blocking(path, move |vault, path| vault.save(path, &text)).await?;
        self.known().insert(path.to_owned(), Some(record));
        Ok(())
    }

    pub(crate) async fn remove(&self, path: &str) -> Result<(), String> {
        self.blocking(path, |vault, path| vault.remove(path)).await?;
        self.known().insert(path.to_owned(), None);
        Ok(())
    }

    pub(crate) fn challenged(&self, path: &str, challenge: &str) {
        self.challenges.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned(), challenge.to_owned());
    }

    pub(crate) fn challenge(&self, path: &str) -> Option<String> {
        self.challenges.lock().unwrap_or_else(PoisonError::into_inner).get(path).cloned()
    }

    fn known(&self) -> std::sync::MutexGuard<'_, HashMap<String, Option<Record>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn blocking<T: Send + 'static>(
        &self,
        path: &str,
        work: impl FnOnce(&dyn Vault, &str) -> Result<T, String> + Send + 'static,
    ) -> Result<T, String> {
        let (vault, path) = (self.vault.clone(), path.to_owned());
        tokio::task::spawn_blocking(move || work(&*vault, &path)).await.map_err(|error| error.to_string())?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(token: &str) -> Record {
        Record { auth: "token".into(), url: "http://127.0.0.1:1/".into(), secret: Secret::Token { token: token.into() } }
    }

    fn token_of(record: Option<Record>) -> Option<String> {
        match record?.secret {
            Secret::Token { token } => Some(token),
            Secret::Oauth { .. } => None,
        }
    }

    #[tokio::test]
    async fn a_credential_outlives_the_process_in_a_file_of_its_user_alone_m2() -> Result<(), String> {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("hp.db.credentials");
        let open = || Credentials::new(Arc::new(FileVault::new(file.clone())));
        open().put("mcp.one", token("first")).await?;
        open().put("mcp.two", token("second")).await?;
        let again = open();
        assert_eq!(token_of(again.get("mcp.one").await?), Some("first".to_owned()));
        again.remove("mcp.one").await?;
        assert_eq!(token_of(again.get("mcp.one").await?), None);
        assert_eq!(token_of(open().get("mcp.one").await?), None);
        assert_eq!(token_of(open().get("mcp.two").await?), Some("second".to_owned()));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = std::fs::metadata(&file).expect("the file").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        Ok(())
    }

    #[tokio::test]
    async fn a_broken_file_is_said_and_not_written_over_m2() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("hp.db.credentials");
        std::fs::write(&file, "not json").expect("written");
        let credentials = Credentials::new(Arc::new(FileVault::new(file.clone())));
        let Err(said) = credentials.put("mcp.one", token("first")).await else { panic!("it was taken") };
        assert!(said.ends_with("it is not a file of credentials"), "{said}");
        assert_eq!(std::fs::read_to_string(&file).expect("the file"), "not json");
    }

    #[test]
    fn what_a_refusal_means_depends_on_what_was_shown_m21() {
        let grant = |token: serde_json::Value| -> Record {
            let grant = json!({"client_id": "c", "token_response": token, "token_received_at": 100});
            let grant = serde_json::from_value(grant).expect("a grant");
            Record { secret: Secret::Oauth { grant: Some(grant), client_secret: None }, ..token_record() }
        };
        fn token_record() -> Record {
            token("t")
        }
        let renewable = grant(json!({"access_token": "a", "token_type": "bearer", "expires_in": 60, "refresh_token": "r"}));
        let short = grant(json!({"access_token": "a", "token_type": "bearer", "expires_in": 60}));
        let over = Record { secret: Secret::Oauth { grant: None, client_secret: None }, ..token("t") };
        assert_eq!(
            [&token("t"), &renewable, &short, &over].map(Record::when_refused),
            ["token_rejected", "token_rejected", "reauthorize", "reauthorize"]
        );
    }
}
