//! Every operation of Holdpoint, once. The desktop shell, the HTTP API and the command line are adapters on [`App`]: they carry
//! arguments in and answers out, and decide nothing.
//!
//! [`ops`] is what the desktop asks, [`api`] what HTTP clients, machines and administrators ask (§14).

pub mod api;
mod api_keys;
mod blobs;
pub mod caller;
pub mod config;
mod connections;
mod effects;
pub mod error;
mod feed;
mod held;
mod input;
pub mod keys;
pub mod ops;
pub mod paths;
mod rate;
pub mod sample;
pub mod stream;
pub mod threads;
pub mod token;
mod versions;
pub mod wire;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::SystemTime;

use holdpoint_core::id::{IdGen, SessionId};
use holdpoint_core::time::Millis;
use holdpoint_effects_mcp::Credentials;
pub use holdpoint_effects_mcp::{FileVault, MemoryVault, Vault};
use holdpoint_runtime::engine::Engine;
use holdpoint_store::{Store, StoreError};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::config::{Config, ConfigError};
use crate::effects::{Effects, EffectsError};
use crate::error::Failure;
use crate::threads::Threads;

pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// How an engine is started.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub config: PathBuf,
    /// Wins over the file's `db` and the platform's default.
    pub db: Option<PathBuf>,
    /// An API key accepted beside those in the database (`HOLDPOINT_API_KEY`, H-3).
    pub api_key: Option<String>,
    /// The desktop: start with a broken or missing file too, and show what is wrong with it.
    pub lenient: bool,
    /// Without a window: sessions that machines submit go on without what only a person could authorize (M-22).
    pub headless: bool,
    /// Where credentials of connections lie. Unset: in a file beside the database that only this user reads.
    pub vault: Option<Arc<dyn Vault>>,
}

/// Why an engine did not start.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Effects(#[from] EffectsError),
    #[error("{}: {error}", .path.display())]
    Store { path: PathBuf, error: StoreError },
    #[error("{}: {error}", .path.display())]
    Folder { path: PathBuf, error: std::io::Error },
}

impl OpenError {
    /// D-11: another engine holds the database.
    pub fn is_owned(&self) -> bool {
        matches!(self, Self::Store { error: StoreError::Owned { .. }, .. })
    }
}

/// A running engine. Cheap to clone.
#[derive(Clone)]
pub struct App {
    inner: Arc<Inner>,
}

struct Inner {
    engine: Engine,
    store: Store,
    effects: Arc<Effects>,
    threads: Threads,
    options: Options,
    loaded: RwLock<Arc<Loaded>>,
    /// Bumped with every (un)successful reading of the configuration file.
    config_changed: watch::Sender<u64>,
    /// Bumped when scheduled answers or snoozed questions change.
    desk_changed: watch::Sender<u64>,
    operator_token: String,
    token_secret: String,
    address: Mutex<Option<String>>,
    closing: CancellationToken,
    tasks: TaskTracker,
}

/// The configuration in force, and what is wrong with the file when it is not that one.
struct Loaded {
    config: Config,
    error: Option<String>,
    modified: Option<SystemTime>,
}

impl App {
    /// Loads the configuration, takes the database and goes on where the last process stopped.
    pub async fn open(options: Options) -> Result<Self, OpenError> {
        let loaded = load(&options)?;
        let path = options.db.clone().or_else(|| loaded.config.db.clone()).unwrap_or_else(paths::default_db);
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(|error| OpenError::Folder { path: folder.to_owned(), error })?;
        }
        let vault = options.vault.clone().unwrap_or_else(|| Arc::new(FileVault::new(paths::credentials_file(&path))));
        let effects = Arc::new(Effects::new(&loaded.config, options.lenient, Credentials::new(vault))?);
        let store_error = |error| OpenError::Store { path: path.clone(), error };
        let store = Store::open(&path).map_err(store_error)?;
        let secret = match secret_from_env() {
            Some(secret) => secret,
            None => store.meta_or("client_token_secret", keys::new_api_key()).await.map_err(store_error)?,
        };
        effects.attach(store.clone());
        let threads = Threads::new(&store).map_err(store_error)?;
        threads.note(&loaded.config.engine, &store).await.map_err(store_error)?;
        let engine_config = Arc::new(loaded.config.engine.clone());
        let connectors = Arc::new(effects.connectors());
        let opened = Engine::open(store.clone(), engine_config, effects.clone(), effects.clone(), connectors).await;
        let engine = opened.map_err(store_error)?;
        let inner = Inner {
            engine,
            store,
            effects,
            threads,
            options,
            loaded: RwLock::new(Arc::new(loaded)),
            config_changed: watch::Sender::new(0),
            desk_changed: watch::Sender::new(0),
            operator_token: keys::new_operator_token(),
            token_secret: secret,
            address: Mutex::new(None),
            closing: CancellationToken::new(),
            tasks: TaskTracker::new(),
        };
        let app = Self { inner: Arc::new(inner) };
        app.publish(None).await?;
        app.start_held_answers();
        app.start_config_watch();
        app.start_connection_watch();
        app.check_workers();
        app.settle_connections();
        Ok(app)
    }

    /// H-4, D-11: where the engine listens, for guests and for a second engine's error.
    pub async fn set_address(&self, address: String) -> Result<(), OpenError> {
        self.publish(Some(address)).await
    }

    async fn publish(&self, address: Option<String>) -> Result<(), OpenError> {
        let path = self.db_path().to_owned();
        let file = paths::operator_file(&path);
        keys::write_operator_file(&file, &self.inner.operator_token, address.as_deref())
            .map_err(|error| OpenError::Folder { path: file, error })?;
        self.inner.store.set_address(address.clone()).await.map_err(|error| OpenError::Store { path, error })?;
        *self.inner.address.lock().unwrap_or_else(PoisonError::into_inner) = address;
        Ok(())
    }

    pub fn address(&self) -> Option<String> {
        self.inner.address.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn db_path(&self) -> &Path {
        self.inner.store.path()
    }

    pub fn config(&self) -> Config {
        self.loaded().config.clone()
    }

    fn loaded(&self) -> Arc<Loaded> {
        self.inner.loaded.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Resolves when the engine is closing: streams end then.
    pub fn closing(&self) -> CancellationToken {
        self.inner.closing.clone()
    }

    /// Ends streams and tasks, lets running commits finish and lets the database go. What is open stays open (D-9).
    pub async fn close(self) {
        self.inner.closing.cancel();
        self.inner.tasks.close();
        self.inner.tasks.wait().await;
        let _ = std::fs::remove_file(paths::operator_file(self.db_path()));
        let (engine, store, connectors) = (self.inner.engine.clone(), self.inner.store.clone(), self.inner.effects.connectors());
        drop(self);
        engine.close().await;
        connectors.close().await;
        store.close();
    }

    /// Reads the file again. The last good configuration stays in force when it is broken.
    async fn reload(&self) {
        let (next, changed) = match load(&Options { lenient: false, ..self.inner.options.clone() }) {
            Ok(next) => match self.inner.effects.replace(&next.config) {
                Ok(()) => (next, true),
                Err(error) => (self.kept(error.to_string()), false),
            },
            Err(error) => (self.kept(error.to_string()), false),
        };
        if let Some(error) = &next.error {
            tracing::warn!(%error, "the configuration file is broken; the last good one stays in force");
        }
        if changed {
            if let Err(error) = self.inner.threads.note(&next.config.engine, &self.inner.store).await {
                tracing::error!(%error, "the versions of the agents cannot be kept");
            }
            self.inner.engine.set_config(Arc::new(next.config.engine.clone()));
            self.check_workers();
            self.settle_connections();
        }
        *self.inner.loaded.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(next);
        self.inner.config_changed.send_modify(|count| *count += 1);
    }

    /// In the background: a script may take its whole time limit.
    fn check_workers(&self) {
        let app = self.clone();
        self.inner.tasks.spawn_blocking(move || {
            app.inner.effects.check_workers();
            app.inner.config_changed.send_modify(|count| *count += 1);
        });
    }

    fn kept(&self, error: String) -> Loaded {
        Loaded { config: self.config(), error: Some(error), modified: modified(&self.inner.options.config) }
    }

    /// Looks at the file now and then: cheap, works on every platform, and an editor's rename is no special case.
    fn start_config_watch(&self) {
        let app = self.clone();
        let closing = self.closing();
        self.inner.tasks.spawn(async move {
            let mut tick = tokio::time::interval(std::time::Duration::from_secs(1));
            loop {
                tokio::select! {
                    () = closing.cancelled() => return,
                    _ = tick.tick() => {}
                }
                if modified(&app.inner.options.config) != app.loaded().modified {
                    app.reload().await;
                }
            }
        });
    }
}

fn load(options: &Options) -> Result<Loaded, ConfigError> {
    let modified = modified(&options.config);
    match config::find(Some(&options.config), Path::new("")).and_then(|file| config::load(&file)) {
        Ok(config) => Ok(Loaded { config, error: None, modified }),
        Err(error) if options.lenient => {
            let config = Config { file: options.config.clone(), ..Config::default() };
            Ok(Loaded { config, error: Some(error.to_string()), modified })
        }
        Err(error) => Err(error),
    }
}

fn modified(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).and_then(|file| file.modified()).ok()
}

/// H-2.
fn secret_from_env() -> Option<String> {
    std::env::var("CLIENT_TOKEN_HS256_SECRET").ok().filter(|secret| !secret.is_empty())
}

fn new_session_id() -> SessionId {
    IdGen::new(now(), rand::random()).session()
}

fn now() -> Millis {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Millis(since.as_millis() as i64)
}

type Answered<T> = Result<T, Failure>;
