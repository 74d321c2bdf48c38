//! Connections to MCP servers (§10A, §10D): local ones over stdio, remote ones over streamable HTTP, of either protocol era.
//!
//! A connection is made at the first need and kept; when its server goes away, the next need makes it again. An attempt that is
//! given up does not stop a server from starting: the next attempt finds it ready.

mod access;
mod auth;
mod authorize;
mod client;
mod credentials;
mod elicit;
mod failure;
mod handler;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use holdpoint_core::message::ToolResult;
use holdpoint_runtime::runner::{CallLine, ConnectorCall, ConnectorFailure, ConnectorRunner, Listing, unknown_connection};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use client::Client;
use failure::stopping;

pub use access::{Auth, Standing};
pub use auth::OauthSettings;
pub use authorize::Link;
pub use credentials::{Credentials, FileVault, MemoryVault, Vault};

/// How long a server gets to end by itself when the engine closes. rmcp asks, then terminates, then kills.
const CLOSING: Duration = Duration::from_secs(8);

/// Where a server is and how it is reached.
#[derive(Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// M-31, M-32.
    Stdio { command: Vec<String>, env: Vec<(String, String)>, cwd: Option<PathBuf> },
    /// `token` is the environment's; it travels as bearer token, or in the header named.
    Http { url: String, auth: Auth, token: Option<String>, header: Option<String>, oauth: OauthSettings },
}

impl Endpoint {
    /// A remote server that is asked what it wants (M-1).
    pub fn http(url: impl Into<String>) -> Self {
        Self::Http { url: url.into(), auth: Auth::Ask, token: None, header: None, oauth: OauthSettings::default() }
    }
}

/// A connection's client, while it starts, runs, or after it failed to start.
type Start = Option<Result<Arc<Client>, ConnectorFailure>>;

struct Connection {
    path: String,
    endpoint: Endpoint,
    credentials: Credentials,
    start: Mutex<Option<watch::Receiver<Start>>>,
    standing: access::Known,
}

impl Connection {
    fn new(path: String, endpoint: Endpoint, credentials: Credentials) -> Self {
        Self { path, endpoint, credentials, start: Mutex::default(), standing: access::Known::default() }
    }

    async fn client(&self) -> Result<Arc<Client>, ConnectorFailure> {
        let mut start = self.started();
        let settled = start.wait_for(Option::is_some).await.map(|value| value.clone());
        settled.ok().flatten().unwrap_or_else(|| Err(stopping(&self.path)))
    }

    /// The start under way or done; a new one when there was none, it failed, or the server has gone since.
    fn started(&self) -> watch::Receiver<Start> {
        let mut slot = self.start.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(start) = slot.as_ref() {
            let usable = match &*start.borrow() {
                None => start.has_changed().is_ok(),
                Some(Ok(client)) => client.is_alive(),
                Some(Err(_)) => false,
            };
            if usable {
                return start.clone();
            }
        }
        let (done, start) = watch::channel(None);
        let (path, endpoint, credentials) = (self.path.clone(), self.endpoint.clone(), self.credentials.clone());
        tokio::spawn(async move {
            let client = Client::connect(&path, &endpoint, &credentials).await;
            if let Err(failure) = &client {
                tracing::warn!(connection = path, error = failure.failure.error.message, "the connection cannot be made");
            }
            let _ = done.send(Some(client.map(Arc::new)));
        });
        *slot = Some(start.clone());
        start
    }

    async fn close(&self) {
        let start = self.start.lock().unwrap_or_else(PoisonError::into_inner).take();
        let client = start.and_then(|start| start.borrow().clone());
        if let Some(Ok(client)) = client {
            client.close(CLOSING).await;
        }
    }
}

/// All connections of a configuration, by path. Cheap to clone.
#[derive(Clone, Default)]
pub struct Connectors {
    known: Arc<Mutex<HashMap<String, Arc<Connection>>>>,
    credentials: Credentials,
    /// Counts what became of credentials.
    changes: Arc<watch::Sender<u64>>,
}

impl Connectors {
    pub fn new(credentials: Credentials) -> Self {
        Self { credentials, ..Self::default() }
    }

    /// Takes a new configuration over: connections that are the same go on, the others end.
    pub fn replace(&self, endpoints: impl IntoIterator<Item = (String, Endpoint)>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let mut before = std::mem::take(&mut *known);
        for (path, endpoint) in endpoints {
            let same = before.remove(&path).filter(|connection| connection.endpoint == endpoint);
            let made = || Arc::new(Connection::new(path.clone(), endpoint, self.credentials.clone()));
            known.insert(path.clone(), same.unwrap_or_else(made));
        }
        // Dropped clients end their servers once calls that still hold them are through.
    }

    fn connection(&self, path: &str) -> Result<Arc<Connection>, ConnectorFailure> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(path).cloned().ok_or_else(|| unknown_connection(path))
    }

    /// M-32: servers end with the engine.
    pub async fn close(&self) {
        let all: Vec<_> = self.known.lock().unwrap_or_else(PoisonError::into_inner).drain().map(|(_, connection)| connection).collect();
        let mut closing = tokio::task::JoinSet::new();
        for connection in all {
            closing.spawn(async move { connection.close().await });
        }
        closing.join_all().await;
    }
}

#[async_trait]
impl ConnectorRunner for Connectors {
    async fn list(&self, path: String, cancel: CancellationToken) -> Result<Listing, ConnectorFailure> {
        let connection = self.connection(&path)?;
        tokio::select! {
            () = cancel.cancelled() => Err(stopping(&path)),
            listing = async { connection.client().await?.list().await } => self.noted(&connection, listing),
        }
    }

    async fn call(&self, call: ConnectorCall, line: Arc<dyn CallLine>, cancel: CancellationToken) -> Result<ToolResult, ConnectorFailure> {
        let connection = self.connection(&call.connection)?;
        let path = call.connection.clone();
        let run = async { connection.client().await?.call(call, line).await };
        tokio::select! {
            // Dropping the call tells the server (`notifications/cancelled`).
            () = cancel.cancelled() => Err(stopping(&path)),
            result = run => self.noted(&connection, result),
        }
    }
}
