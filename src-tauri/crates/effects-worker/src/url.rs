//! A worker that is an HTTP service (P-25, P-26), with its streamed answers (P-17).

use std::fmt::Write as _;
use std::sync::OnceLock;
use std::time::Duration;

use eventsource_stream::{Event, Eventsource};
use futures::StreamExt;
use hmac::{Hmac, Mac};
use holdpoint_core::message::ErrorCode;
use holdpoint_effects_model::{Secret, StreamReader, retry_after_ms};
use holdpoint_runtime::runner::{DecisionCall, Delta, DeltaSink, Failure};
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::{Client, Response, Url};
use serde_json::Value;
use sha2::Sha256;

use crate::{permanent, retryable};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// More than any answer needs; keeps a broken worker from filling the memory.
const MAX_ANSWER: usize = 64 << 20;

/// A client made at the first decision, so that an engine without `url` workers needs no TLS set-up.
#[derive(Default)]
pub struct LazyClient(OnceLock<Result<Client, String>>);

impl LazyClient {
    pub fn get(&self) -> Result<&Client, Failure> {
        let made = self.0.get_or_init(|| {
            // A redirect would carry the session to a host nobody configured.
            // A kept connection can outlive the service behind it: a fresh one per decision tells at once that a worker is gone.
            let client =
                Client::builder().connect_timeout(CONNECT_TIMEOUT).redirect(reqwest::redirect::Policy::none()).pool_max_idle_per_host(0);
            client.build().map_err(|error| error.to_string())
        });
        made.as_ref().map_err(|reason| permanent(ErrorCode::Internal, format!("The HTTP client cannot start: {reason}")))
    }
}

pub struct Endpoint {
    url: String,
    /// The worker in the words of an error: its id and its address without credentials.
    name: String,
    signing_secret: Option<Secret>,
}

impl Endpoint {
    pub fn new(id: &str, url: String, signing_secret: Option<Secret>) -> Self {
        let shown = Url::parse(&url).map_or_else(|_| url.clone(), |url| without_credentials(url).to_string());
        Self { name: format!("The worker {id} at {shown}"), url, signing_secret }
    }

    pub async fn decide(&self, client: &Client, call: &DecisionCall) -> Result<Value, Failure> {
        let body = serde_json::to_vec(&*call.request)
            .map_err(|error| permanent(ErrorCode::Internal, format!("The decision request is no JSON: {error}")))?;
        let mut request = client
            .post(&self.url)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "text/event-stream, application/json")
            .header("traceparent", traceparent());
        if let Some(secret) = &self.signing_secret {
            request = request.header("X-Holdpoint-Signature", signature(secret, &body));
        }
        let response = request.body(body).send().await.map_err(|error| self.unreachable(&error))?;
        if !response.status().is_success() {
            return Err(self.by_status(&response));
        }
        let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if kind.starts_with("text/event-stream") { self.read_events(response, call).await } else { self.read_json(response).await }
    }

    fn unreachable(&self, error: &reqwest::Error) -> Failure {
        if error.is_builder() {
            return permanent(ErrorCode::WorkerUnreachable, format!("{} has no usable url", self.name));
        }
        let what = if error.is_connect() { "cannot be reached" } else { "broke off the connection" };
        retryable(ErrorCode::WorkerUnreachable, format!("{} {what}", self.name))
    }

    /// P-26.
    fn by_status(&self, response: &Response) -> Failure {
        let status = response.status().as_u16();
        let message = format!("{} answered {status}", self.name);
        if !matches!(status, 408 | 429 | 500..) {
            return permanent(ErrorCode::WorkerUnreachable, message);
        }
        let retry_after_ms = retry_after_ms(response.headers());
        Failure { retry_after_ms, ..retryable(ErrorCode::WorkerUnreachable, message) }
    }

    fn malformed(&self, what: &str) -> Failure {
        retryable(ErrorCode::InvalidResponse, format!("{} answered with {what}", self.name))
    }

    async fn read_json(&self, mut response: Response) -> Result<Value, Failure> {
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.unreachable(&error))? {
            if body.len() + chunk.len() > MAX_ANSWER {
                return Err(self.malformed("more than 64 MB"));
            }
            body.extend_from_slice(&chunk);
        }
        self.answer(&body)
    }

    fn answer(&self, json: &[u8]) -> Result<Value, Failure> {
        match serde_json::from_slice(json) {
            Ok(answer @ Value::Object(_)) => Ok(answer),
            Ok(_) => Err(self.malformed("JSON that is no object")),
            Err(_) if json.is_empty() => Err(self.malformed("an empty body")),
            Err(error) => Err(self.malformed(&format!("a body that is no JSON: {error}"))),
        }
    }

    /// P-17: deltas, then exactly one result or error; what comes after it is not read.
    async fn read_events(&self, response: Response, call: &DecisionCall) -> Result<Value, Failure> {
        let mut deltas = Deltas::new(call);
        let mut events = response.bytes_stream().eventsource();
        while let Some(event) = events.next().await {
            let event = event.map_err(|error| match error {
                eventsource_stream::EventStreamError::Transport(error) => self.unreachable(&error),
                _ => self.malformed("a broken event stream"),
            })?;
            let Ok(data) = serde_json::from_str::<Value>(&event.data) else {
                if event.data.is_empty() || event.data == "[DONE]" {
                    continue;
                }
                return Err(self.malformed("an event that is no JSON"));
            };
            match kind(&event, &data) {
                "decision.result" => return self.answer(event.data.as_bytes()),
                "decision.error" => return Err(self.error(&data)),
                "llm.token.delta" => deltas.pass(&data)?,
                _ if deltas.reader.is_some() => deltas.pass(&data)?,
                _ => {} // unknown events are left for later versions
            }
        }
        Err(self.malformed("a stream that ended without a decision"))
    }

    /// `{message, retryable}`; `retryable` defaults to true (P-17).
    fn error(&self, data: &Value) -> Failure {
        let said = data["message"].as_str().map_or_else(|| format!("{} reported an error", self.name), str::to_owned);
        let retry = data["retryable"].as_bool().unwrap_or(true);
        if retry { retryable(ErrorCode::HandlerError, said) } else { permanent(ErrorCode::HandlerError, said) }
    }
}

/// The type of a frame: its event name, or the `type` of its data when it has none.
fn kind<'a>(event: &'a Event, data: &'a Value) -> &'a str {
    if event.event == "message" { data["type"].as_str().unwrap_or_default() } else { &event.event }
}

/// Passes frames on in the engine's own shape (E-8).
struct Deltas<'a> {
    sink: Option<&'a DeltaSink>,
    reader: Option<StreamReader>,
}

impl<'a> Deltas<'a> {
    fn new(call: &'a DecisionCall) -> Self {
        Self { sink: call.deltas.as_ref(), reader: call.format.as_deref().and_then(StreamReader::for_format) }
    }

    fn pass(&mut self, data: &Value) -> Result<(), Failure> {
        let own = data["type"] == "llm.token.delta";
        let delta = match &mut self.reader {
            // An error in the provider's stream ends the attempt as the provider's failure.
            Some(reader) if !own => reader.push(data)?,
            _ => serde_json::from_value::<Delta>(data.clone()).ok(),
        };
        if let (Some(sink), Some(delta)) = (self.sink, delta.filter(|delta| *delta != Delta::default())) {
            sink.send(delta);
        }
        Ok(())
    }
}

/// `sha256=<hex HMAC-SHA256 of the body>` (P-25).
fn signature(secret: &Secret, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.expose().as_bytes()).expect("HMAC takes a key of any length");
    mac.update(body);
    mac.finalize().into_bytes().iter().fold("sha256=".to_owned(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// W3C trace context: a fresh trace for each delivery.
fn traceparent() -> String {
    format!("00-{:032x}-{:016x}-01", rand::random::<u128>().max(1), rand::random::<u64>().max(1))
}

fn without_credentials(mut url: Url) -> Url {
    // Both fail only for addresses that cannot hold credentials.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signature_is_hmac_sha256_of_the_body_p25() {
        // RFC 4231, test case 2.
        let signed = signature(&Secret::new("Jefe"), b"what do ya want for nothing?");
        assert_eq!(signed, "sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    }

    #[test]
    fn a_workers_address_is_shown_without_its_credentials_q52() {
        let endpoint = Endpoint::new("w", "http://user:pass@127.0.0.1:9/decide?key=s3cret".to_owned(), None);
        assert_eq!(endpoint.name, "The worker w at http://127.0.0.1:9/decide");
    }
}
