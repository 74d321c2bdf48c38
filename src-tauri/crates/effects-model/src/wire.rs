//! What both wires share: one client, one request, its errors, and its event stream.

use std::sync::OnceLock;
use std::time::Duration;

use eventsource_stream::Eventsource;
use futures::StreamExt;
use holdpoint_core::message::{ErrorCode, LlmResponse};
use holdpoint_runtime::runner::{DeltaSink, Failure};
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use reqwest::{Client, RequestBuilder, Response};
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc2822;

use crate::StreamReader;
use crate::failure::{by_status, permanent, retryable};
use crate::secret::Secret;

/// Only connecting has a time limit here; the run timeout is the runtime's.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How much of a provider's error text is shown.
const SHOWN: usize = 500;

/// A client made at the first call, so that an engine with scripted models only needs no TLS set-up.
#[derive(Debug, Default)]
pub struct LazyClient(OnceLock<Result<Client, String>>);

impl LazyClient {
    pub fn get(&self) -> Result<&Client, Failure> {
        let made = self.0.get_or_init(|| {
            // A redirect would carry the prompt to a host nobody configured.
            let client = Client::builder().connect_timeout(CONNECT_TIMEOUT).redirect(reqwest::redirect::Policy::none());
            client.build().map_err(|error| error.to_string())
        });
        made.as_ref().map_err(|reason| permanent(ErrorCode::Internal, format!("The HTTP client cannot start: {reason}")))
    }
}

/// Who is asked, in the words of an error.
#[derive(Clone, Copy)]
pub struct Provider<'a> {
    /// Id of the `[llm.<id>]` block.
    pub llm: &'a str,
    pub base_url: &'a str,
    pub api_key: Option<&'a Secret>,
}

impl Provider<'_> {
    fn name(self) -> String {
        format!("The model server of [llm.{}]", self.llm)
    }

    fn redact(self, text: &str) -> String {
        self.api_key.map_or_else(|| text.to_owned(), |key| key.redact(text))
    }

    /// Where a person finds the wrong key.
    fn key_place(self) -> String {
        match self.api_key.map(Secret::source) {
            Some(Some(source)) => format!("check the key in {source}"),
            Some(None) => format!("check the key of [llm.{}]", self.llm),
            None => format!("set api_key_env in [llm.{}]", self.llm),
        }
    }

    /// What to fix for a status that no repetition heals.
    fn remedy(self, status: u16) -> Option<String> {
        match status {
            401 | 403 => Some(self.key_place()),
            404 | 405 => Some(format!("check the model's name and base_url {}", self.base_url)),
            300..=399 => Some(format!("base_url {} redirects; set the address it leads to", self.base_url)),
            _ => None,
        }
    }

    fn by_status(self, status: u16, headers: &HeaderMap, body: &str) -> Failure {
        let json: Value = serde_json::from_str(body).unwrap_or_default();
        let error = &json["error"];
        let said = error["message"].as_str().or(error.as_str()).or(json["message"].as_str());
        let said = said.map(|text| self.redact(text));
        let mut message = format!("{} answered {status}", self.name());
        if let Some(remedy) = self.remedy(status) {
            message.push_str("; ");
            message.push_str(&remedy);
        }
        if let Some(said) = &said {
            message.push_str(": ");
            message.extend(said.chars().take(SHOWN));
        }
        let mut failure = by_status(status, message);
        failure.retry_after_ms = failure.retryable.then(|| retry_after_ms(headers)).flatten();
        let detail = json!({ "status": status, "type": error["type"], "code": error["code"] });
        failure.error = failure.error.with_detail(detail);
        failure
    }

    fn broken(self, error: &reqwest::Error) -> Failure {
        if error.is_builder() {
            let message = format!("{} has no usable base_url or key: {}", self.name(), self.redact(&chain(error)));
            return permanent(ErrorCode::ProviderError, message);
        }
        let what = if error.is_connect() { "cannot be reached at" } else { "broke off the connection to" };
        let message = format!("{} {what} {}: {}", self.name(), self.base_url, self.redact(&chain(error)));
        retryable(ErrorCode::ProviderError, message)
    }

    /// Sends the request and hands back a reply of status 2xx.
    async fn send(self, request: RequestBuilder) -> Result<Response, Failure> {
        let response = request.send().await.map_err(|error| self.broken(&error))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let headers = response.headers().clone();
        let body = response.text().await.unwrap_or_default();
        Err(self.by_status(status.as_u16(), &headers, &body))
    }

    /// Runs a request whose reply may come whole or as events. A server that ignores `stream` is understood too.
    pub async fn ask(
        self,
        request: RequestBuilder,
        reader: StreamReader,
        whole: impl FnOnce(&Value) -> Result<LlmResponse, Failure>,
        model: &str,
        deltas: &DeltaSink,
    ) -> Result<LlmResponse, Failure> {
        let response = self.send(request).await?;
        let kind = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
        if kind.starts_with("text/event-stream") {
            return self.read_events(response, reader, model, deltas).await;
        }
        let body = response.bytes().await.map_err(|error| self.broken(&error))?;
        if let Ok(reply) = serde_json::from_slice(&body) {
            return whole(&reply).map_err(|failure| self.redacted(failure));
        }
        if kind.starts_with("text/html") {
            let message = format!("{} answered with a web page; check base_url {}", self.name(), self.base_url);
            return Err(permanent(ErrorCode::ProviderError, message));
        }
        Err(retryable(ErrorCode::ProviderError, format!("{} sent a reply that is no JSON", self.name())))
    }

    async fn read_events(
        self,
        response: Response,
        mut reader: StreamReader,
        model: &str,
        deltas: &DeltaSink,
    ) -> Result<LlmResponse, Failure> {
        let mut events = response.bytes_stream().eventsource();
        while let Some(event) = events.next().await {
            let event = event.map_err(|error| self.cut(&error.to_string()))?;
            if event.data == "[DONE]" {
                break;
            }
            if event.data.trim().is_empty() {
                continue;
            }
            let data: Value = serde_json::from_str(&event.data).map_err(|error| self.cut(&error.to_string()))?;
            if let Some(delta) = reader.push(&data).map_err(|failure| self.redacted(failure))? {
                deltas.send(delta);
            }
            if reader.is_done() {
                break;
            }
        }
        reader.finish(model).map_err(|failure| self.redacted(failure))
    }

    fn cut(self, reason: &str) -> Failure {
        retryable(ErrorCode::ProviderError, format!("{} broke off its reply: {}", self.name(), self.redact(reason)))
    }

    fn redacted(self, mut failure: Failure) -> Failure {
        failure.error.message = self.redact(&failure.error.message);
        failure
    }
}

/// The error with its causes: reqwest's own text leaves out why.
fn chain(error: &reqwest::Error) -> String {
    let mut source: Option<&dyn std::error::Error> = std::error::Error::source(error);
    let mut last = None;
    while let Some(cause) = source {
        last = Some(cause.to_string());
        source = cause.source();
    }
    last.unwrap_or_else(|| error.to_string())
}

/// `Retry-After` in its three spellings, as a wait from now.
pub fn retry_after_ms(headers: &HeaderMap) -> Option<i64> {
    let text = |name| headers.get(name).and_then(|value: &reqwest::header::HeaderValue| value.to_str().ok()).map(str::trim);
    if let Some(ms) = text("retry-after-ms").and_then(|ms| ms.parse::<f64>().ok()) {
        return Some(ms.max(0.0) as i64);
    }
    let after = text("retry-after")?;
    if let Ok(secs) = after.parse::<f64>() {
        return Some((secs.max(0.0) * 1000.0) as i64);
    }
    let date = OffsetDateTime::parse(after, &Rfc2822).ok()?;
    Some((date - OffsetDateTime::now_utc()).whole_milliseconds().max(0) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: &'static str, value: &str) -> HeaderMap {
        let mut map = HeaderMap::new();
        map.insert(name, value.parse().expect("a header value"));
        map
    }

    #[test]
    fn retry_after_is_read_in_seconds_milliseconds_and_as_a_date() {
        assert_eq!(retry_after_ms(&headers("retry-after", "2")), Some(2000));
        assert_eq!(retry_after_ms(&headers("retry-after", "0.5")), Some(500));
        assert_eq!(retry_after_ms(&headers("retry-after-ms", "250")), Some(250));
        assert_eq!(retry_after_ms(&headers("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT")), Some(0), "a date gone by");
        let far = retry_after_ms(&headers("retry-after", "Wed, 21 Oct 2099 07:28:00 GMT")).expect("a date to come");
        assert!(far > 1_000_000_000, "{far}");
        assert_eq!(retry_after_ms(&headers("retry-after", "soon")), None);
        assert_eq!(retry_after_ms(&HeaderMap::new()), None);
    }
}
