//! Opens the engine as the desktop runs it (DT-1): the default database, the configuration chosen in the app, the sample at the
//! first run, and the HTTP API beside the window. `HOLDPOINT_DB` and `HOLDPOINT_CONFIG` name others.

use std::path::PathBuf;
use std::sync::Arc;

use holdpoint_app::{App, OpenError, Options, Vault, paths, sample};
use holdpoint_http::{Bound, ServeError, Settings};

use crate::vault::Preferred;

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("There is no data folder: set HOME (or XDG_DATA_HOME) and start again.")]
    NoHome,
    #[error("The folder {} cannot be used: {error}.", .path.display())]
    Folder { path: PathBuf, error: std::io::Error },
    #[error(transparent)]
    Open(#[from] OpenError),
}

/// The running engine and, at the first run, the sample's session.
pub async fn open() -> Result<(App, Option<String>), StartError> {
    let app = App::open(options()?).await?;
    serve(&app).await;
    let sample = app.start_sample().await.unwrap_or_else(|error| {
        tracing::warn!(code = error.code, message = error.message, "the sample session could not be started");
        None
    });
    Ok((app, sample))
}

fn options() -> Result<Options, StartError> {
    let config = if let Some(file) = std::env::var_os("HOLDPOINT_CONFIG") {
        file.into()
    } else {
        let data = paths::data_folder().ok_or(StartError::NoHome)?;
        std::fs::create_dir_all(&data)
            .and_then(|()| sample::desktop_config(&data))
            .map_err(|error| StartError::Folder { path: data, error })?
    };
    let db = std::env::var_os("HOLDPOINT_DB").map(PathBuf::from);
    let api_key = std::env::var("HOLDPOINT_API_KEY").ok();
    // The keyring belongs to the person, not to a database: another one keeps its credentials beside itself.
    let vault: Option<Arc<dyn Vault>> = match db {
        None => Some(Arc::new(Preferred::keyring(paths::credentials_file(&paths::default_db())))),
        Some(_) => None,
    };
    Ok(Options { config, db, api_key, lenient: true, vault, ..Options::default() })
}

/// The window works without the API, so a failure here is shown in the app's status and stops nothing.
async fn serve(app: &App) {
    match bind(app).await {
        Ok(bound) => {
            if let Err(error) = app.set_address(bound.address().to_owned()).await {
                tracing::warn!(%error, "the API's address could not be published");
            }
            let app = app.clone();
            tokio::spawn(async move {
                if let Err(error) = bound.serve(app).await {
                    tracing::error!(%error, "the API stopped");
                }
            });
        }
        Err(error) => tracing::warn!(%error, "the API is off"),
    }
}

/// DT-1: on `[serve]`, on a free port when that one is taken.
async fn bind(app: &App) -> Result<Bound, ServeError> {
    let serve = app.config().serve;
    let settings = Settings { host: serve.host, port: serve.port, auth: serve.auth };
    match holdpoint_http::bind(&settings).await {
        Err(ServeError::Taken { .. }) => holdpoint_http::bind(&Settings { port: 0, ..settings }).await,
        other => other,
    }
}
