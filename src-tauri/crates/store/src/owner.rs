//! One engine per database file (C-18, D-11): an operating system lock held for the life of the store.
//!
//! The lock dies with its process, so a crash leaves nothing to clean up. The file beside the database says who holds it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::StoreError;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    pub pid: u32,
    /// Where its API listens, once it does.
    pub address: Option<String>,
}

#[derive(Debug)]
pub(crate) struct Ownership {
    /// Held, never read.
    lock: File,
    record: File,
}

impl Ownership {
    pub fn take(db: &Path) -> Result<Self, StoreError> {
        let lock = open(&lock_path(db))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let Owner { pid, address } = read_owner(db).unwrap_or(Owner { pid: 0, address: None });
                return Err(StoreError::Owned { pid, address });
            }
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
        let mut ownership = Self { lock, record: open(&record_path(db))? };
        ownership.write(&Owner { pid: std::process::id(), address: None })?;
        Ok(ownership)
    }

    pub fn set_address(&mut self, address: Option<String>) -> Result<(), StoreError> {
        self.write(&Owner { pid: std::process::id(), address })
    }

    fn write(&mut self, owner: &Owner) -> Result<(), StoreError> {
        let text = serde_json::to_string(owner).map_err(|error| StoreError::Bug { detail: error.to_string() })?;
        self.record.set_len(0)?;
        self.record.rewind()?;
        self.record.write_all(text.as_bytes())?;
        Ok(())
    }
}

impl Drop for Ownership {
    /// Closing the file is not enough: a program that is just being started still shares it for a moment, and the lock with it.
    fn drop(&mut self) {
        if let Err(error) = self.lock.unlock() {
            tracing::warn!(%error, "the database's lock ends with the file only");
        }
    }
}

/// Who said last that it holds `db`. It may be gone; only [`crate::Store::open`] knows.
pub fn read_owner(db: &Path) -> Option<Owner> {
    let mut text = String::new();
    File::open(record_path(db)).ok()?.read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

fn open(path: &Path) -> Result<File, StoreError> {
    Ok(private(OpenOptions::new().read(true).write(true).create(true).truncate(false)).open(path)?)
}

/// Files here hold secrets or lead to them: readable by their user only.
pub(crate) fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

fn lock_path(db: &Path) -> PathBuf {
    beside(db, ".lock")
}

/// On Windows a locked file cannot be read by others, so the record has a file of its own.
fn record_path(db: &Path) -> PathBuf {
    beside(db, if cfg!(windows) { ".owner" } else { ".lock" })
}

fn beside(db: &Path, suffix: &str) -> PathBuf {
    let mut name = db.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
