//! A guest of a running engine (CL-2, CL-9): by its URL with an API key, or by the operator file beside its database.

use std::path::{Path, PathBuf};
use std::time::Duration;

use futures::{Stream, StreamExt as _};
use holdpoint_app::config::{self, Config};
use holdpoint_app::{keys, paths};
use reqwest::{Client, Method, RequestBuilder, Url};
use serde_json::Value;

use crate::Ended;
use crate::args::Target;

/// An engine that says nothing for this long is stuck. Its streams say something every 15 seconds.
const SILENCE: Duration = Duration::from_secs(40);

pub(crate) struct Guest {
    http: Client,
    base: String,
    token: Option<String>,
}

impl Guest {
    /// CL-2: flag, then environment, then the file, then the default database.
    pub fn of(target: &Target) -> Result<Self, Ended> {
        let url = target.url.clone().or_else(|| if target.db.is_none() { env("HOLDPOINT_URL") } else { None });
        if let Some(url) = url {
            return Self::at(&url, env("HOLDPOINT_API_KEY"));
        }
        if let Some(db) = target.db.clone().or_else(|| env("HOLDPOINT_DB").map(PathBuf::from)) {
            return Self::beside(&db);
        }
        match configuration(target)? {
            Some(Config { remote: Some(url), .. }) => Self::at(&url, env("HOLDPOINT_API_KEY")),
            Some(Config { db: Some(db), .. }) => Self::beside(&db),
            _ => Self::beside(&paths::default_db()),
        }
    }

    fn beside(db: &Path) -> Result<Self, Ended> {
        if !db.exists() {
            return Err(Ended::failed(format!("there is no database {}", db.display())));
        }
        match keys::read_operator_file(&paths::operator_file(db)) {
            Some((token, Some(address))) => Self::at(&address, Some(token)),
            Some((_, None)) => Err(Ended::failed(format!("the engine that holds {} does not listen on HTTP", db.display()))),
            None => Err(Ended::failed(format!("no engine runs on {}; start one with `holdpoint serve`", db.display()))),
        }
    }

    fn at(url: &str, token: Option<String>) -> Result<Self, Ended> {
        let http = Client::builder().no_proxy().connect_timeout(SILENCE).read_timeout(SILENCE).build().map_err(Ended::failed)?;
        Ok(Self { http, base: url.trim_end_matches('/').to_owned(), token })
    }

    fn request(&self, method: Method, path: &str, query: &[(&str, String)]) -> Result<RequestBuilder, Ended> {
        let url = Url::parse_with_params(&format!("{}{path}", self.base), query);
        let url = url.map_err(|error| Ended::usage(format!("{}: {error}", self.base)))?;
        let request = self.http.request(method, url);
        Ok(match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        })
    }

    pub async fn get(&self, path: &str, query: &[(&str, String)]) -> Result<Value, Ended> {
        answer(self.request(Method::GET, path, query)?, &self.base).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Result<Value, Ended> {
        answer(self.request(Method::POST, path, &[])?.json(body), &self.base).await
    }

    /// Frames of an event stream: (event, data).
    pub async fn stream(&self, path: &str, query: &[(&str, String)]) -> Result<impl Stream<Item = (String, Value)> + Unpin + use<>, Ended> {
        use eventsource_stream::Eventsource as _;
        let response = self.request(Method::GET, path, query)?.send().await.map_err(|error| unreachable(&self.base, &error))?;
        if !response.status().is_success() {
            return Err(refusal(response).await);
        }
        let events = response.bytes_stream().eventsource();
        Ok(Box::pin(events.filter_map(|event| async move {
            let event = event.ok()?;
            Some((event.event, serde_json::from_str(&event.data).ok()?))
        })))
    }
}

fn env(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

async fn answer(request: RequestBuilder, base: &str) -> Result<Value, Ended> {
    let response = request.send().await.map_err(|error| unreachable(base, &error))?;
    if !response.status().is_success() {
        return Err(refusal(response).await);
    }
    response.json().await.map_err(Ended::failed)
}

fn unreachable(base: &str, error: &reqwest::Error) -> Ended {
    let why = match error {
        _ if error.is_timeout() => format!("no answer within {} seconds", SILENCE.as_secs()),
        _ if error.is_connect() => "nothing answers there".to_owned(),
        other => other.to_string(),
    };
    Ended::failed(format!("{base}: {why}"))
}

async fn refusal(response: reqwest::Response) -> Ended {
    let status = response.status();
    let body: Value = response.json().await.unwrap_or_default();
    let told = body["error"].as_str().or(body["message"].as_str()).map(str::to_owned);
    let message = told.unwrap_or_else(|| format!("the engine answered {status}"));
    // CL-7: what was asked for cannot be, as opposed to not now.
    if matches!(status.as_u16(), 400 | 422) { Ended::usage(message) } else { Ended::failed(message) }
}

/// The file given, or the one of this folder, if there is one: a guest needs none.
fn configuration(target: &Target) -> Result<Option<Config>, Ended> {
    let folder = std::env::current_dir().map_err(Ended::failed)?;
    let own: PathBuf = folder.join(config::FILE_NAME);
    match (&target.config, own.is_file()) {
        (Some(given), _) => {
            let file = config::find(Some(given), &folder).map_err(Ended::usage)?;
            config::load(&file).map(Some).map_err(Ended::usage)
        }
        (None, true) => config::load(&own).map(Some).map_err(Ended::usage),
        (None, false) => Ok(None),
    }
}
