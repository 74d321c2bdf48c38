//! The desktop shell: it opens the app in this process, shows its window, and ties both to the system. No rule of the engine and
//! no SQL is here.

mod bindings;
mod commands;
mod desk;
mod engine;
mod instance;
mod notice;
mod notify;
mod renderer;
mod tray;
mod vault;
mod window;

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use holdpoint_app::App;
use tauri::http::Response;
use tauri::{AppHandle, Manager as _, RunEvent};
use tauri_plugin_window_state::StateFlags;

use crate::desk::Desk;

/// Commits under way take milliseconds; a disk that hangs longer than this does not keep the app from ending.
const CLOSING: Duration = Duration::from_secs(10);

pub fn run() -> ExitCode {
    renderer::choose();
    log_to_stderr();
    match build() {
        Ok(app) => ExitCode::from(app.run_return(on_run_event).clamp(0, 255) as u8),
        Err(error) => {
            eprintln!("holdpoint-desktop: the window could not be made: {error}");
            eprintln!("A display is needed (DISPLAY or WAYLAND_DISPLAY); without one use `holdpoint serve`.");
            ExitCode::FAILURE
        }
    }
}

/// Why the app did not open, for the failure page.
#[derive(Default)]
struct Failure(Mutex<String>);

/// Set once the engine is being closed, so that the exit that follows goes through.
#[derive(Default)]
struct Closing(AtomicBool);

fn build() -> tauri::Result<tauri::App> {
    let bindings = bindings::builder();
    let mut builder = tauri::Builder::default();
    if let Some(plugin) = instance::single() {
        builder = builder.plugin(plugin);
    }
    builder
        .plugin(tauri_plugin_notification::init())
        .plugin(tauri_plugin_opener::Builder::new().open_js_links_on_click(false).build())
        .plugin(
            tauri_plugin_window_state::Builder::new()
                .with_state_flags(StateFlags::SIZE | StateFlags::POSITION | StateFlags::MAXIMIZED)
                .with_denylist(&[window::FAILURE])
                .build(),
        )
        .register_uri_scheme_protocol(window::FAILURE_SCHEME, |context, _request| {
            let failure = context.app_handle().state::<Failure>();
            let problem = failure.0.lock().map(|text| text.clone()).unwrap_or_default();
            let page = window::failure_page(&problem);
            Response::builder().header("Content-Type", "text/html; charset=utf-8").body(page).unwrap_or_default()
        })
        .invoke_handler(bindings.invoke_handler())
        .setup(|app| Ok(open(app)?))
        .build(tauri::generate_context!())
}

fn open(shell: &mut tauri::App) -> tauri::Result<()> {
    shell.manage(Desk::new(notify::now()));
    shell.manage(Closing::default());
    end_on_signals(shell.handle().clone());
    match tauri::async_runtime::block_on(engine::open()) {
        Ok((app, sample)) => {
            if let Some(session_id) = sample {
                shell.state::<Desk>().notices().announce_always(session_id);
            }
            shell.manage(app.clone());
            tray::open(shell.handle());
            notify::watch(shell.handle(), app);
            window::open_main(shell).map(drop)
        }
        Err(error) => {
            eprintln!("holdpoint-desktop: {error}");
            shell.manage(Failure(Mutex::new(error.to_string())));
            window::open_failure(shell)
        }
    }
}

/// Closing the window ends the app: not every desktop has a tray, and without one a hidden app could not be found again. The
/// engine finishes its commits first; whatever was open goes on at the next start.
fn on_run_event(handle: &AppHandle, event: RunEvent) {
    if let RunEvent::ExitRequested { api, code, .. } = event
        && let Some(app) = handle.try_state::<App>()
        && !handle.state::<Closing>().0.swap(true, Ordering::SeqCst)
    {
        api.prevent_exit();
        let (app, handle) = (app.inner().clone(), handle.clone());
        tauri::async_runtime::spawn(async move {
            if tokio::time::timeout(CLOSING, app.close()).await.is_err() {
                eprintln!("holdpoint-desktop: the engine did not close within {} s", CLOSING.as_secs());
            }
            handle.exit(code.unwrap_or(0));
        });
    }
}

fn end_on_signals(handle: AppHandle) {
    tauri::async_runtime::spawn(async move {
        asked_to_end().await;
        handle.exit(0);
    });
}

#[cfg(unix)]
async fn asked_to_end() {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut terminate), Ok(mut interrupt)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt())) else {
        return std::future::pending().await;
    };
    tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
}

#[cfg(not(unix))]
async fn asked_to_end() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

fn log_to_stderr() {
    let filter = tracing_subscriber::EnvFilter::try_from_env("HOLDPOINT_LOG").unwrap_or_else(|_| "warn".into());
    // Fails only when a logger is set already, which then is as good.
    let _ = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).log_internal_errors(false).try_init();
}
