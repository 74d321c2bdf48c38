//! Opening the file: what it must be, how SQLite is told to treat it, and its migrations.

use std::fs::OpenOptions;
use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use rusqlite_migration::{M, Migrations};

use crate::error::StoreError;
use crate::owner::private;

const STEPS: &[M<'static>] = &[M::up(include_str!("../migrations/0001_log_and_rows.sql"))];
const MIGRATIONS: Migrations<'static> = Migrations::from_slice(STEPS);

/// "Hold" in ASCII; the first migration writes it. Keeps us from migrating some other program's file.
const APPLICATION_ID: u32 = 0x486F_6C64;

/// Above this a whole check would hold up the start; it then runs beside the work.
const CHECK_AT_OPEN_BYTES: u64 = 16 << 20;

/// The write connection, checked and migrated. Reads the version first: a newer file must stay untouched.
pub(crate) fn open_and_migrate(path: &Path) -> Result<Connection, StoreError> {
    let size = std::fs::metadata(path).map_or(0, |file| file.len());
    if size > 0 {
        refuse_others(path)?;
    } else {
        private(OpenOptions::new().write(true).create(true).truncate(false)).open(path)?;
    }
    let mut db = open_writer(path)?;
    if size > 0 && size <= CHECK_AT_OPEN_BYTES {
        quick_check(&db)?;
    }
    MIGRATIONS.to_latest(&mut db).map_err(|error| match error {
        rusqlite_migration::Error::RusqliteError { err, .. } => err.into(),
        other => StoreError::Bug { detail: other.to_string() },
    })?;
    Ok(db)
}

fn refuse_others(path: &Path) -> Result<(), StoreError> {
    let db = open_reader(path)?;
    let application: u32 = db.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let tables: u32 = db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if application != APPLICATION_ID && tables > 0 {
        return Err(StoreError::Corrupt { detail: "this is some other program's database".to_owned() });
    }
    let found: u32 = db.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let supported = STEPS.len() as u32;
    if found > supported { Err(StoreError::NewerSchema { found, supported }) } else { Ok(()) }
}

pub(crate) fn open_writer(path: &Path) -> Result<Connection, StoreError> {
    let db = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    common(&db)?;
    // The page size must come before the first write. Rows of 0.5-3 KB waste least in 8 KiB pages.
    db.pragma_update(None, "page_size", 8192)?;
    db.pragma_update(None, "journal_mode", "WAL")?;
    // FULL: with NORMAL a power cut takes acknowledged answers with it. Group commit pays for it.
    db.pragma_update(None, "synchronous", "FULL")?;
    // Hot pages are moved once for many commits. Up to here the index of the journal is one table to look up.
    db.pragma_update(None, "wal_autocheckpoint", 4000)?;
    // macOS only: there a plain fsync does not reach the disk.
    db.pragma_update(None, "fullfsync", true)?;
    db.pragma_update(None, "checkpoint_fullfsync", true)?;
    db.pragma_update(None, "journal_size_limit", 64 << 20)?;
    db.pragma_update(None, "foreign_keys", true)?;
    Ok(db)
}

pub(crate) fn open_reader(path: &Path) -> Result<Connection, StoreError> {
    let db = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    common(&db)?;
    Ok(db)
}

fn common(db: &Connection) -> Result<(), StoreError> {
    db.set_prepared_statement_cache_capacity(64);
    // Only foreign tools can hold the file: the engine's own connections never wait for each other in WAL mode.
    db.busy_timeout(Duration::from_secs(5))?;
    db.pragma_update(None, "temp_store", "MEMORY")?;
    // Else a statement with `LIMIT ?` is planned anew each time it runs, for the number at hand.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

/// A connection for [`quick_check`], when the file is too large to be checked before the start.
pub(crate) fn check_beside(path: &Path) -> Result<Option<Connection>, StoreError> {
    if std::fs::metadata(path)?.len() <= CHECK_AT_OPEN_BYTES { Ok(None) } else { open_reader(path).map(Some) }
}

pub(crate) fn quick_check(db: &Connection) -> Result<(), StoreError> {
    let verdict: String = db.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if verdict == "ok" { Ok(()) } else { Err(StoreError::Corrupt { detail: verdict }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_migration_marks_the_file_as_ours() -> Result<(), StoreError> {
        let folder = tempfile::tempdir()?;
        let db = open_and_migrate(&folder.path().join("x.db"))?;
        let application: u32 = db.pragma_query_value(None, "application_id", |row| row.get(0))?;
        assert_eq!(application, APPLICATION_ID);
        Ok(())
    }

    #[test]
    fn migrations_run_from_an_empty_file() {
        assert_eq!(super::MIGRATIONS.validate(), Ok(()));
    }
}
