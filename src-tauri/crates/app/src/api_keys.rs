//! API keys as the desktop manages them (DT-4): listed without the key, made and shown once, revoked.

// As in `ops`: every surface calls all operations alike.
#![allow(clippy::unused_async)]

use holdpoint_core::id::ulid;
use holdpoint_core::time::Millis;
use holdpoint_store::ApiKey;
use holdpoint_view::row::Time;

use crate::caller::LOCAL_TENANT;
use crate::error::Failure;
use crate::wire::{ApiError, ApiKeyRow, MadeApiKey};
use crate::{Answered, App, keys, now};

type Told<T> = Result<T, ApiError>;

impl App {
    pub async fn list_keys(&self) -> Told<Vec<ApiKeyRow>> {
        let all = self.inner.store.api_keys().map_err(Failure::from)?;
        Ok(all.into_iter().map(row).collect())
    }

    /// H-3: the key is in this answer and nowhere else.
    pub async fn make_key(&self, name: String, expires_at: Option<Time>) -> Told<MadeApiKey> {
        let name = name.trim();
        if name.is_empty() {
            return Err(Failure::invalid("give the key a name, so that you know it again").into());
        }
        Ok(self.add_key(name.to_owned(), LOCAL_TENANT.to_owned(), expires_at.map(|at| at.0)).await?)
    }

    pub async fn revoke_key(&self, id: String) -> Told<()> {
        Ok(self.revoke_api_key(&id).await?)
    }

    pub(crate) async fn add_key(&self, name: String, tenant: String, expires_at: Option<Millis>) -> Answered<MadeApiKey> {
        let (key, created_at) = (keys::new_api_key(), now());
        let id = format!("key_{}", ulid(created_at, rand::random()));
        let record = ApiKey { id: id.clone(), name, tenant, hash: keys::hash(&key), created_at, expires_at, revoked_at: None };
        self.inner.store.add_api_key(record).await?;
        Ok(MadeApiKey { id, key })
    }
}

fn row(key: ApiKey) -> ApiKeyRow {
    ApiKeyRow {
        id: key.id,
        name: key.name,
        tenant: Some(key.tenant).filter(|tenant| tenant != LOCAL_TENANT),
        created_at: Time(key.created_at),
        expires_at: key.expires_at.map(Time),
        revoked_at: key.revoked_at.map(Time),
    }
}
