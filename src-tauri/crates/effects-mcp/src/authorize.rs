//! A person gives an authorization in the system browser: the link, and the answer that comes back to a port of this machine.

use std::time::Duration;

use reqwest::Url;
use rmcp::transport::auth::{AuthError, AuthorizationManager, OAuthClientConfig};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::auth::{CLIENT_NAME, Grant, OauthSettings};

/// How long a person may take.
const PATIENCE: Duration = Duration::from_mins(10);

/// A browser that sends nothing is left alone after this time.
const READING: Duration = Duration::from_secs(10);

/// Before another connection is taken when one could not be.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);
/// Connections that are read from at the same time.
const AT_ONCE: usize = 32;

/// A request line and its headers are shorter.
const LONGEST: usize = 16 * 1024;

/// Where a person gives the authorization.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    pub url: String,
    /// Of that address, to be shown before it is opened.
    pub host: String,
}

/// The link, and what to wait for: the grant is stored by then.
pub(crate) async fn begin(
    grant: Grant,
    settings: &OauthSettings,
) -> Result<(Link, impl Future<Output = Result<(), String>> + Send + use<>), String> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(|error| format!("no port for the browser's answer: {error}"))?;
    let port = listener.local_addr().map_err(|error| error.to_string())?.port();
    let redirect = format!("http://127.0.0.1:{port}/callback");
    let (manager, url) = prepared(&grant, settings, &redirect).await.map_err(|error| told(&grant.path, &error))?;
    let parsed = Url::parse(&url).map_err(|error| error.to_string())?;
    // The link comes from the server's own metadata: only a web address is ever opened.
    if !matches!(parsed.scheme(), "https" | "http") {
        return Err(format!("{} names an address that is no web page", grant.path));
    }
    let host = match (parsed.host_str(), parsed.port()) {
        (Some(host), Some(port)) => format!("{host}:{port}"),
        (Some(host), None) => host.to_owned(),
        (None, _) => return Err(format!("{} names an address without a host", grant.path)),
    };
    let state = value_of(&parsed, "state").unwrap_or_default();
    let given = async move {
        let answered = tokio::time::timeout(PATIENCE, answer(&listener, &state, &manager, &grant.path)).await;
        answered.unwrap_or_else(|_| Err("nobody gave the authorization in time".to_owned()))
    };
    Ok((Link { url, host }, given))
}

fn told(path: &str, error: &AuthError) -> String {
    format!("{path} cannot be authorized in a browser: {error}")
}

async fn prepared(grant: &Grant, settings: &OauthSettings, redirect: &str) -> Result<(AuthorizationManager, String), AuthError> {
    let mut manager = AuthorizationManager::new(grant.url.as_str()).await?;
    manager.set_credential_store(grant.clone());
    let challenge = grant.credentials.challenge(&grant.path);
    let found = manager.resolve_metadata_from_challenge(challenge.as_deref()).await?;
    manager.set_metadata(found.metadata);
    let scopes = if settings.scopes.is_empty() { manager.select_initial_scopes(&[]).await } else { settings.scopes.clone() };
    let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
    if let Some(id) = &settings.client_id {
        let config = OAuthClientConfig::new(id, redirect);
        manager.configure_client(match &settings.client_secret {
            Some(secret) => config.with_client_secret(secret),
            None => config,
        })?;
    } else {
        grant.registered(&manager.register_client(CLIENT_NAME, redirect, &scopes).await?);
    }
    let url = manager.get_authorization_url(&scopes).await?;
    Ok((manager, url))
}

/// Waits for the browser. Requests that are not the answer to this very link change nothing.
async fn answer(listener: &TcpListener, state: &str, manager: &AuthorizationManager, path: &str) -> Result<(), String> {
    // Browsers open connections ahead of need: one that says nothing holds up no other.
    let mut reading = JoinSet::new();
    loop {
        let read = tokio::select! {
            accepted = listener.accept(), if reading.len() < AT_ONCE => {
                match accepted {
                    Ok((browser, _)) => drop(reading.spawn(read(browser))),
                    // Too many open files, mostly: it passes.
                    Err(_) => tokio::time::sleep(ACCEPT_AGAIN).await,
                }
                continue;
            }
            Some(read) = reading.join_next() => read,
        };
        let Ok((mut browser, target)) = read else { continue };
        let url = target.and_then(|target| Url::parse(&format!("http://127.0.0.1{target}")).ok());
        let Some(url) = url.filter(|url| url.path() == "/callback" && value_of(url, "state").as_deref() == Some(state)) else {
            say(&mut browser, "404 Not Found", "There is nothing here.").await;
            continue;
        };
        let outcome = match value_of(&url, "code") {
            Some(code) => {
                let issuer = value_of(&url, "iss");
                let exchanged = manager.exchange_code_for_token_with_issuer(&code, state, issuer.as_deref()).await;
                exchanged.map(drop).map_err(|error| error.to_string())
            }
            None => Err(format!("it was refused ({})", value_of(&url, "error").unwrap_or_else(|| "no reason was given".to_owned()))),
        };
        let (status, text) = match &outcome {
            Ok(()) => ("200 OK", format!("{path} is authorized. You can close this page and go back to Holdpoint.")),
            Err(why) => ("400 Bad Request", format!("{path} is not authorized: {why}. Go back to Holdpoint.")),
        };
        say(&mut browser, status, &text).await;
        return outcome;
    }
}

fn value_of(url: &Url, name: &str) -> Option<String> {
    url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}

async fn read(mut browser: TcpStream) -> (TcpStream, Option<String>) {
    let target = tokio::time::timeout(READING, target(&mut browser)).await.ok().flatten();
    (browser, target)
}

/// The target of a GET request. `None`: it is another request, or none.
async fn target(browser: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    let mut part = [0; 2048];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let read = browser.read(&mut part).await.ok().filter(|read| *read > 0)?;
        head.extend_from_slice(&part[..read]);
        if head.len() > LONGEST {
            return None;
        }
    }
    let head = String::from_utf8(head).ok()?;
    let target = head.lines().next()?.strip_prefix("GET ")?.split(' ').next()?;
    target.starts_with('/').then(|| target.to_owned())
}

/// Plain text: what stands in it came from elsewhere.
async fn say(browser: &mut TcpStream, status: &str, text: &str) {
    let length = text.len();
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\nX-Content-Type-Options: nosniff\r\n\
         Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n{text}"
    );
    let _ = browser.write_all(answer.as_bytes()).await;
    let _ = browser.shutdown().await;
}
