//! `serve`: the engine over HTTP, until it is told to stop (CL-8).

use std::io::Write as _;

use holdpoint_app::config::Config;
use holdpoint_app::{App, OpenError, Options, config};
use holdpoint_http::{Settings, bind};

use crate::Ended;
use crate::args::Serve;

pub(crate) async fn serve(args: Serve) -> Result<u8, Ended> {
    let folder = std::env::current_dir().map_err(Ended::failed)?;
    let file = config::find(args.config.as_deref(), &folder).map_err(Ended::usage)?;
    let loaded = config::load(&file).map_err(Ended::usage)?;
    start_log(&loaded);
    let settings = settings(&args, &loaded);
    // Bound before the database is opened: a taken port then leaves no trace.
    let bound = bind(&settings).await.map_err(Ended::failed)?;
    let api_key = std::env::var("HOLDPOINT_API_KEY").ok().filter(|key| !key.is_empty());
    let options = Options { config: file, db: args.db, api_key, headless: true, ..Options::default() };
    let app = App::open(options).await.map_err(not_opened)?;
    app.set_address(bound.address().to_owned()).await.map_err(not_opened)?;
    say(&format!("listening on {}", bound.address()));
    let closing = app.closing();
    let serving = tokio::spawn(bound.serve(app.clone()));
    stopped().await;
    closing.cancel();
    if let Ok(Err(error)) = serving.await {
        tracing::error!(%error, "serving ended");
    }
    app.close().await;
    Ok(0)
}

fn settings(args: &Serve, config: &Config) -> Settings {
    Settings {
        host: args.host.clone().unwrap_or_else(|| config.serve.host.clone()),
        port: args.port.unwrap_or(config.serve.port),
        auth: config.serve.auth && !args.no_auth,
    }
}

/// A closed stdout is no reason to stop.
fn say(line: &str) {
    let mut out = std::io::stdout();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

fn start_log(config: &Config) {
    // A log that cannot be written (a full disk) must not end the work it speaks of: the library would panic over it.
    let level = config.log.as_str();
    let filter = tracing_subscriber::EnvFilter::try_from_env("HOLDPOINT_LOG").unwrap_or_else(|_| level.into());
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(false);
    let _ = log.log_internal_errors(false).try_init();
}

fn not_opened(error: OpenError) -> Ended {
    match error {
        OpenError::Config(_) | OpenError::Effects(_) => Ended::usage(error),
        other if other.is_owned() => Ended::failed(format!("{other}; stop it, or use `sessions` and `interrupts`, which talk to it")),
        other => Ended::failed(other),
    }
}

async fn stopped() {
    let interrupt = async {
        let _ = tokio::signal::ctrl_c().await;
    };
    #[cfg(unix)]
    {
        let Ok(mut terminate) = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) else {
            return interrupt.await;
        };
        tokio::select! {
            () = interrupt => {}
            _ = terminate.recv() => {}
        }
    }
    #[cfg(not(unix))]
    interrupt.await;
}
