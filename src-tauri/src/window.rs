//! The one window, what it may load, and the page that says why there is nothing to show.

use tauri::utils::config::WindowConfig;
use tauri::webview::{NewWindowResponse, PageLoadEvent};
use tauri::{AppHandle, Manager as _, Url, WebviewUrl, WebviewWindow, WebviewWindowBuilder, WindowEvent};

use crate::desk::Desk;
use crate::notify;

const MAIN: &str = "main";
pub const FAILURE: &str = "failure";
/// Scheme of the failure page, which is made here and needs nothing of the built UI.
pub const FAILURE_SCHEME: &str = "holdpoint-failure";

pub fn open_main(app: &tauri::App) -> tauri::Result<WebviewWindow> {
    let config = app.config().app.windows.iter().find(|window| window.label == MAIN).cloned().unwrap_or_else(WindowConfig::default);
    let dev = app.config().build.dev_url.clone().filter(|_| tauri::is_dev());
    let window = WebviewWindowBuilder::from_config(app, &config)?
        .on_navigation(move |url| is_own_page(url, dev.as_ref()))
        .on_new_window(|_, _| NewWindowResponse::Deny)
        // The page counts who waits; not every platform carries its title over.
        .on_document_title_changed(|window, title| {
            if let Err(error) = window.set_title(&title) {
                tracing::debug!(%error, "the window keeps its title");
            }
        })
        .on_page_load(|window, page| {
            if page.event() == PageLoadEvent::Started {
                window.state::<Desk>().page_left();
            }
        })
        .build()?;
    let handle = app.handle().clone();
    window.on_window_event(move |event| {
        if let WindowEvent::Focused(focused) = event {
            let todo = handle.state::<Desk>().set_focused(*focused);
            notify::perform_soon(&handle, todo);
        }
    });
    Ok(window)
}

/// Brings the window before the person.
pub fn show(handle: &AppHandle) {
    for label in [MAIN, FAILURE] {
        if let Some(window) = handle.get_webview_window(label) {
            for step in [window.unminimize(), window.show(), window.set_focus()] {
                if let Err(error) = step {
                    tracing::debug!(%error, "the window could not be brought to the front");
                }
            }
        }
    }
}

/// The app's own pages. Anything else, as a link in a message, is refused here; the UI opens links by the browser.
fn is_own_page(url: &Url, dev: Option<&Url>) -> bool {
    let embedded = match url.scheme() {
        "tauri" => url.host_str() == Some("localhost"),
        "http" | "https" => url.host_str() == Some("tauri.localhost") && url.port().is_none(),
        _ => false,
    };
    embedded || dev.is_some_and(|dev| dev.origin() == url.origin())
}

/// Shows why the app cannot work, with a way to try again. It closes like any window, which ends the app.
pub fn open_failure(app: &tauri::App) -> tauri::Result<()> {
    let address = Url::parse(&format!("{FAILURE_SCHEME}://localhost/")).expect("a constant address is a URL");
    let handle = app.handle().clone();
    WebviewWindowBuilder::new(app, FAILURE, WebviewUrl::CustomProtocol(address))
        .title("Holdpoint could not start")
        .inner_size(640.0, 420.0)
        .on_navigation(move |url| {
            match url.path() {
                "/again" => handle.request_restart(),
                "/quit" => handle.exit(1),
                _ => return url.scheme() == FAILURE_SCHEME || url.host_str().is_some_and(|host| host.starts_with(FAILURE_SCHEME)),
            }
            false
        })
        .on_new_window(|_, _| NewWindowResponse::Deny)
        .build()?;
    Ok(())
}

/// The failure page. `problem` is text: paths and foreign messages in it are no markup.
pub fn failure_page(problem: &str) -> Vec<u8> {
    let text = problem.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    include_str!("failure.html").replace("{problem}", &text).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_stays_on_the_apps_own_pages() {
        let own = |url: &str| is_own_page(&Url::parse(url).expect("a URL"), None);
        assert!(own("tauri://localhost/inbox"));
        assert!(own("http://tauri.localhost/"), "this is how Windows serves the embedded pages");
        for foreign in [
            "https://evil.test/",
            "http://localhost/",
            "tauri://evil.test/",
            "http://tauri.localhost.evil.test/",
            "http://tauri.localhost:8080/",
            "data:text/html,x",
            "javascript:alert(1)",
            "file:///etc/passwd",
            "about:blank",
        ] {
            assert!(!own(foreign), "{foreign} is not the app's");
        }
    }

    #[test]
    fn a_dev_server_is_allowed_only_when_it_is_the_configured_one() {
        let dev = Url::parse("http://127.0.0.1:5173").expect("a URL");
        let page = |url: &str| is_own_page(&Url::parse(url).expect("a URL"), Some(&dev));
        assert!(page("http://127.0.0.1:5173/inbox"));
        assert!(!page("http://127.0.0.1:5174/"));
    }

    #[test]
    fn the_failure_page_shows_its_reason_as_text() {
        let page = String::from_utf8(failure_page("<b>/home/a & b</b> is locked")).expect("UTF-8");
        assert!(page.contains("&lt;b&gt;/home/a &amp; b&lt;/b&gt; is locked"));
        assert!(!page.contains("{problem}"));
    }
}
