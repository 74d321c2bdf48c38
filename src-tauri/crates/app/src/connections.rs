//! Connections as their owner sees them: how each stands with its server, and its credential (DT-4, M-2, M-21).

use crate::App;
use crate::error::Failure;
use crate::wire::{ApiError, AuthorizationLink, ConnectionRow};

type Told<T> = Result<T, ApiError>;

impl App {
    pub async fn connections(&self) -> Told<Vec<ConnectionRow>> {
        self.inner.effects.connectors().settle().await;
        Ok(self.connection_rows())
    }

    pub async fn authorize_connection(&self, path: String) -> Told<AuthorizationLink> {
        let link = self.inner.effects.connectors().authorize(&path).await.map_err(Failure::invalid)?;
        Ok(AuthorizationLink { url: link.url, host: link.host })
    }

    pub async fn set_connection_token(&self, path: String, token: String) -> Told<()> {
        Ok(self.inner.effects.connectors().set_token(&path, &token).await.map_err(Failure::invalid)?)
    }

    pub async fn forget_connection(&self, path: String) -> Told<()> {
        Ok(self.inner.effects.connectors().forget(&path).await.map_err(Failure::invalid)?)
    }

    pub(crate) fn connection_rows(&self) -> Vec<ConnectionRow> {
        let all = self.inner.effects.connectors().standings();
        let row = |standing: holdpoint_effects_mcp::Standing| ConnectionRow {
            path: standing.path,
            server: standing.server,
            auth: standing.auth.map(|auth| auth.name().to_owned()),
            credential: standing.credential.map(str::to_owned),
            needs: standing.needs,
            waiting: standing.waiting,
            problem: standing.problem,
        };
        all.into_iter().map(row).collect()
    }

    /// In the background: a keyring may take its time, or ask. Closing does not wait for it.
    pub(crate) fn settle_connections(&self) {
        let (connectors, closing) = (self.inner.effects.connectors(), self.closing());
        self.inner.tasks.spawn(async move { closing.run_until_cancelled(connectors.settle()).await });
    }

    /// What becomes of a credential shows in the window like a changed configuration.
    pub(crate) fn start_connection_watch(&self) {
        let (app, closing) = (self.clone(), self.closing());
        let mut changes = self.inner.effects.connectors().changes();
        self.inner.tasks.spawn(async move {
            loop {
                tokio::select! {
                    () = closing.cancelled() => return,
                    changed = changes.changed() => if changed.is_err() { return },
                }
                app.inner.config_changed.send_modify(|count| *count += 1);
            }
        });
    }
}
