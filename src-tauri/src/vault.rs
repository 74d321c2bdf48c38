//! Where the desktop keeps credentials of connections: the keyring of the operating system, and where none answers, a file that only
//! this user reads.

use std::path::PathBuf;
use std::sync::Arc;

use holdpoint_app::{FileVault, Vault};
use keyring::{Entry, Error};

/// Under which name the keyring lists them.
const SERVICE: &str = "Holdpoint";

#[derive(Debug)]
struct Keyring;

impl Keyring {
    fn entry(name: &str) -> Result<Entry, String> {
        Entry::new(SERVICE, name).map_err(|error| error.to_string())
    }
}

impl Vault for Keyring {
    fn load(&self, name: &str) -> Result<Option<String>, String> {
        match Self::entry(name)?.get_password() {
            Ok(secret) => Ok(Some(secret)),
            Err(Error::NoEntry) => Ok(None),
            Err(error) => Err(error.to_string()),
        }
    }
    fn save(&self, name: &str, secret: &str) -> Result<(), String> {
        Self::entry(name)?.set_password(secret).map_err(|error| error.to_string())
    }
    fn remove(&self, name: &str) -> Result<(), String> {
        match Self::entry(name)?.delete_credential() {
            Ok(()) | Err(Error::NoEntry) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// The first vault, and the second where the first does not answer. What lies in the second is newer: a secret that the first takes
/// leaves it.
#[derive(Debug)]
pub struct Preferred {
    first: Arc<dyn Vault>,
    second: Arc<dyn Vault>,
}

impl Preferred {
    pub fn keyring(file: PathBuf) -> Self {
        Self { first: Arc::new(Keyring), second: Arc::new(FileVault::new(file)) }
    }
}

impl Vault for Preferred {
    fn load(&self, name: &str) -> Result<Option<String>, String> {
        if let Some(secret) = self.second.load(name)? {
            return Ok(Some(secret));
        }
        // On a machine without a keyring nothing was ever put there.
        Ok(self.first.load(name).unwrap_or_else(|why| {
            tracing::warn!(why, "the keyring does not answer");
            None
        }))
    }

    fn save(&self, name: &str, secret: &str) -> Result<(), String> {
        match self.first.save(name, secret) {
            Ok(()) => self.second.remove(name),
            Err(why) => {
                tracing::warn!(why, "the keyring takes no credential; it is kept in a file");
                self.second.save(name, secret)
            }
        }
    }

    fn remove(&self, name: &str) -> Result<(), String> {
        let was_in_file = self.second.load(name)?.is_some();
        self.second.remove(name)?;
        match self.first.remove(name) {
            Err(_) if was_in_file => Ok(()),
            // What cannot be reached cannot be told to be gone.
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use holdpoint_app::MemoryVault;

    use super::*;

    #[derive(Debug)]
    struct Absent;

    impl Vault for Absent {
        fn load(&self, _: &str) -> Result<Option<String>, String> {
            Err("no service".to_owned())
        }
        fn save(&self, _: &str, _: &str) -> Result<(), String> {
            Err("no service".to_owned())
        }
        fn remove(&self, _: &str) -> Result<(), String> {
            Err("no service".to_owned())
        }
    }

    fn both(first: Arc<dyn Vault>) -> (Preferred, Arc<MemoryVault>) {
        let second = Arc::new(MemoryVault::default());
        (Preferred { first, second: second.clone() }, second)
    }

    #[test]
    fn a_credential_moves_to_the_keyring_and_leaves_the_file_m2() -> Result<(), String> {
        let first = Arc::new(MemoryVault::default());
        let (preferred, second) = both(first.clone());
        second.save("mcp.one", "old")?;
        assert_eq!(preferred.load("mcp.one")?, Some("old".to_owned()));
        preferred.save("mcp.one", "new")?;
        assert_eq!((first.load("mcp.one")?, second.load("mcp.one")?), (Some("new".to_owned()), None));
        preferred.remove("mcp.one")?;
        assert_eq!((first.load("mcp.one")?, preferred.load("mcp.one")?), (None, None));
        Ok(())
    }

    #[test]
    fn without_a_keyring_credentials_lie_in_the_file_m2() -> Result<(), String> {
        let (preferred, second) = both(Arc::new(Absent));
        assert_eq!(preferred.load("mcp.one")?, None);
        preferred.save("mcp.one", "token")?;
        assert_eq!((second.load("mcp.one")?, preferred.load("mcp.one")?), (Some("token".to_owned()), Some("token".to_owned())));
        preferred.remove("mcp.one")?;
        assert_eq!(second.load("mcp.one")?, None);
        Ok(())
    }

    #[test]
    fn what_was_kept_while_the_keyring_was_away_is_newer_than_what_it_holds_m2() -> Result<(), String> {
        let first = Arc::new(MemoryVault::default());
        let (preferred, second) = both(first.clone());
        first.save("mcp.one", "old")?;
        second.save("mcp.one", "new")?;
        assert_eq!(preferred.load("mcp.one")?, Some("new".to_owned()));
        Ok(())
    }

    #[test]
    fn a_credential_in_a_keyring_that_is_locked_is_not_said_to_be_gone_m2() {
        let (preferred, _) = both(Arc::new(Absent));
        assert_eq!(preferred.remove("mcp.one"), Err("no service".to_owned()));
    }
}
