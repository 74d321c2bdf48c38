//! The HTTP API (§14): paths, credentials, status codes and event streams. What is asked for is done by [`App`]; nothing is decided here.

mod body;
mod credential;
mod error;
mod finish;
mod guard;
mod routes;
mod sse;

use std::io;
use std::time::Duration;

use axum::extract::{DefaultBodyLimit, State};
use axum::routing::get;
use axum::{Json, Router, middleware};
use holdpoint_app::{App, VERSION};
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// Attachments travel as `data:` URIs inside a message, so bodies may be large.
const BODY_BYTES: usize = 32 << 20;
/// How long open requests may take to end once the engine closes.
const LAST_REQUESTS: Duration = Duration::from_secs(5);

/// How the API is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    pub host: String,
    pub port: u16,
    /// Off: every caller is operator (H-6); only on loopback.
    pub auth: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("without authentication the engine listens on loopback only, and {0} is not; use 127.0.0.1, or leave authentication on")]
    OpenToAll(String),
    #[error("port {port} on {host} is taken; stop what listens there, or choose another one with --port")]
    Taken { host: String, port: u16 },
    #[error("cannot listen on {host}:{port}: {error}")]
    Listen { host: String, port: u16, error: io::Error },
}

/// A bound port, not answering yet.
#[derive(Debug)]
pub struct Bound {
    listener: TcpListener,
    auth: bool,
    address: String,
}

impl Bound {
    /// `http://127.0.0.1:8080`.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Answers until the app closes; open streams end then, running requests get a little time.
    pub async fn serve(self, app: App) -> io::Result<()> {
        let closing = app.closing();
        let served = axum::serve(self.listener, router(app, self.auth)).with_graceful_shutdown(closing.clone().cancelled_owned());
        tokio::select! {
            done = std::future::IntoFuture::into_future(served) => done,
            () = async { closing.cancelled().await; tokio::time::sleep(LAST_REQUESTS).await } => Ok(()),
        }
    }
}

pub async fn bind(settings: &Settings) -> Result<Bound, ServeError> {
    let Settings { host, port, auth } = settings;
    if !auth && !guard::is_loopback(host) {
        return Err(ServeError::OpenToAll(host.clone()));
    }
    let listener = TcpListener::bind((host.as_str(), *port)).await.map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => ServeError::Taken { host: host.clone(), port: *port },
        _ => ServeError::Listen { host: host.clone(), port: *port, error },
    })?;
    let bound = listener.local_addr().map_err(|error| ServeError::Listen { host: host.clone(), port: *port, error })?;
    let shown = if host.contains(':') { format!("[{host}]") } else { host.clone() };
    let address = format!("http://{shown}:{}", bound.port());
    Ok(Bound { listener, auth: *auth, address })
}

/// What every handler gets.
#[derive(Clone)]
pub(crate) struct Api {
    pub app: App,
    pub auth: bool,
}

/// All paths. `auth: false` lets every caller act as operator, so Host and Origin are checked first (H-6, Q-39).
pub fn router(app: App, auth: bool) -> Router {
    let api = Api { app, auth };
    let router = Router::new()
        .route("/health", get(health))
        .merge(routes::client::routes())
        .merge(routes::machine::routes())
        .merge(routes::admin::routes())
        .merge(routes::desktop::routes())
        .merge(routes::threads_v1::routes(&api))
        .fallback(error::no_such_path)
        .method_not_allowed_fallback(error::no_such_method)
        .layer(DefaultBodyLimit::max(BODY_BYTES))
        .layer(middleware::from_fn(finish::finish))
        .with_state(api);
    if auth { router } else { router.layer(middleware::from_fn(guard::local_only)) }
}

///
async fn health(State(_): State<Api>) -> Json<Value> {
    Json(json!({"status": "ok", "version": VERSION}))
}
