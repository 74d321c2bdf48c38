//! What the engine keeps beside the log (D-8): attachments, API keys, single values, and the pruning of receipts.

use holdpoint_core::time::Millis;
use rusqlite::{OptionalExtension as _, Row, params};
use sha2::{Digest as _, Sha256};

use crate::Store;
use crate::error::StoreError;
use crate::writer::prune_receipts;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blob {
    pub media_type: String,
    pub bytes: Vec<u8>,
}

/// H-3. `hash` is the SHA-256 of the key in hex: the key itself is shown once and kept nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKey {
    pub id: String,
    pub name: String,
    pub tenant: String,
    pub hash: String,
    pub created_at: Millis,
    pub expires_at: Option<Millis>,
    pub revoked_at: Option<Millis>,
}

impl Store {
    /// Gives the hex SHA-256 of the bytes, their name from now on. The same bytes are kept once.
    pub async fn put_blob(&self, bytes: Vec<u8>, media_type: impl Into<String>) -> Result<String, StoreError> {
        use std::fmt::Write as _;
        let media_type = media_type.into();
        let mut hash = String::with_capacity(64);
        for byte in Sha256::digest(&bytes) {
            let _ = write!(hash, "{byte:02x}");
        }
        self.write(move |db| {
            let insert = "INSERT OR IGNORE INTO blob (hash, media_type, bytes) VALUES (?1, ?2, ?3)";
            db.prepare_cached(insert)?.execute(params![hash, media_type, bytes])?;
            Ok(hash)
        })
        .await
    }

    pub fn blob(&self, hash: &str) -> Result<Option<Blob>, StoreError> {
        self.read(|db| {
            let mut select = db.prepare_cached("SELECT media_type, bytes FROM blob WHERE hash = ?1")?;
            Ok(select.query_row([hash], |row| Ok(Blob { media_type: row.get(0)?, bytes: row.get(1)? })).optional()?)
        })
    }

    pub async fn add_api_key(&self, key: ApiKey) -> Result<(), StoreError> {
        self.write(move |db| {
            let insert = "INSERT INTO api_key (id, name, tenant, hash, created_at, expires_at, revoked_at)
                          VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
            let ApiKey { id, name, tenant, hash, created_at, expires_at, revoked_at } = key;
            db.prepare_cached(insert)?.execute(params![
                id,
                name,
                tenant,
                hash,
                created_at.0,
                expires_at.map(|at| at.0),
                revoked_at.map(|at| at.0)
            ])?;
            Ok(())
        })
        .await
    }

    /// Revoked and expired ones too: the caller knows the time.
    pub fn api_key(&self, hash: &str) -> Result<Option<ApiKey>, StoreError> {
        self.read(|db| {
            let mut select = db.prepare_cached("SELECT * FROM api_key WHERE hash = ?1")?;
            Ok(select.query_row([hash], api_key).optional()?)
        })
    }

    /// Oldest first.
    pub fn api_keys(&self) -> Result<Vec<ApiKey>, StoreError> {
        self.read(|db| {
            let mut select = db.prepare_cached("SELECT * FROM api_key ORDER BY created_at, id")?;
            Ok(select.query_map([], api_key)?.collect::<Result<_, _>>()?)
        })
    }

    /// False: there is no such key. One revoked before keeps its first time.
    pub async fn revoke_api_key(&self, id: impl Into<String>, at: Millis) -> Result<bool, StoreError> {
        let id = id.into();
        self.write(move |db| {
            let update = "UPDATE api_key SET revoked_at = coalesce(revoked_at, ?2) WHERE id = ?1";
            Ok(db.prepare_cached(update)?.execute(params![id, at.0])? > 0)
        })
        .await
    }

    pub fn meta(&self, key: &str) -> Result<Option<String>, StoreError> {
        self.read(|db| {
            let mut select = db.prepare_cached("SELECT value FROM meta WHERE key = ?1")?;
            Ok(select.query_row([key], |row| row.get(0)).optional()?)
        })
    }

    pub async fn set_meta(&self, key: impl Into<String>, value: impl Into<String>) -> Result<(), StoreError> {
        let (key, value) = (key.into(), value.into());
        self.write(move |db| {
            db.prepare_cached("INSERT OR REPLACE INTO meta (key, value) VALUES (?1, ?2)")?.execute([key, value])?;
            Ok(())
        })
        .await
    }

    /// For secrets made once (H-2): the value there already, else `value`, which is then kept.
    pub async fn meta_or(&self, key: impl Into<String>, value: impl Into<String>) -> Result<String, StoreError> {
        let (key, value) = (key.into(), value.into());
        self.write(move |db| {
            db.prepare_cached("INSERT OR IGNORE INTO meta (key, value) VALUES (?1, ?2)")?.execute([&key, &value])?;
            Ok(db.prepare_cached("SELECT value FROM meta WHERE key = ?1")?.query_row([&key], |row| row.get(0))?)
        })
        .await
    }

    /// For a receipt that counts for a shorter time than all others.
    pub async fn forget_receipt(&self, command_id: impl Into<String>) -> Result<(), StoreError> {
        let command_id = command_id.into();
        self.write(move |db| {
            db.prepare_cached("DELETE FROM receipt WHERE command_id = ?1")?.execute([command_id])?;
            Ok(())
        })
        .await
    }

    /// Forgets receipts made before then and gives their number. The writer does so by itself after 30 days.
    pub async fn prune_receipts(&self, before: Millis) -> Result<usize, StoreError> {
        self.write(move |db| prune_receipts(db, before.0)).await
    }
}

fn api_key(row: &Row<'_>) -> rusqlite::Result<ApiKey> {
    Ok(ApiKey {
        id: row.get("id")?,
        name: row.get("name")?,
        tenant: row.get("tenant")?,
        hash: row.get("hash")?,
        created_at: Millis(row.get("created_at")?),
        expires_at: row.get::<_, Option<i64>>("expires_at")?.map(Millis),
        revoked_at: row.get::<_, Option<i64>>("revoked_at")?.map(Millis),
    })
}
