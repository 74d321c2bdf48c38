//! Server-sent events: a session's log (E-6…E-9) and the desktop's feed.

use std::convert::Infallible;
use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures::{Stream, StreamExt as _};
use holdpoint_app::api::Query;
use holdpoint_app::caller::Caller;
use holdpoint_app::error::Failure;
use holdpoint_app::stream::{From, Item};
use serde::Serialize;

use crate::Api;
use crate::error::Answer;

/// So that proxies do not take a quiet session for a dead line.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// `…/events/stream`.
pub(crate) async fn session_events(
    api: &Api,
    caller: &Caller,
    session: &str,
    query: &Query,
    headers: &HeaderMap,
    admin: bool,
) -> Answer<Response> {
    let from = position(query, headers)?;
    Ok(session_items(api.app.session_stream(caller, session, from, admin).await?))
}

/// E-6.
pub(crate) fn session_items(items: impl Stream<Item = Item> + Send + 'static) -> Response {
    respond(items.map(|item| match item {
        Item::Event { seq, envelope } => {
            let kind = envelope["payload"]["type"].as_str().unwrap_or("message").to_owned();
            data(Event::default().id(seq.to_string()).event(kind), &envelope)
        }
        Item::Delta(frame) => data(Event::default().event(frame["type"].as_str().unwrap_or("message")), &frame),
    }))
}

/// One frame per `data:` line.
pub(crate) fn frames<T: Serialize>(frames: impl Stream<Item = T> + Send + 'static) -> Response {
    respond(frames.map(|frame| data(Event::default(), &frame)))
}

fn data<T: Serialize>(event: Event, value: &T) -> Event {
    // JSON never holds a raw line break, so one `data:` line holds it all.
    event.data(serde_json::to_string(value).unwrap_or_default())
}

fn respond(events: impl Stream<Item = Event> + Send + 'static) -> Response {
    let mut response = Sse::new(events.map(Ok::<_, Infallible>)).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response();
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// E-7: the header wins. An empty header is what a browser sends before the first event.
pub(crate) fn position(query: &Query, headers: &HeaderMap) -> Result<From, Failure> {
    let header = headers.get("last-event-id").map(|value| value.to_str().unwrap_or("?")).filter(|id| !id.is_empty());
    let number = |text: &str, name: &str| text.parse::<u64>().map_err(|_| Failure::invalid(format!("{name} is a number of an event")));
    let after_seq = match (header, query.get("after_seq")) {
        (Some(id), _) => Some(number(id, "Last-Event-ID")?),
        (None, Some(text)) => Some(number(text, "after_seq")?),
        (None, None) => None,
    };
    Ok(From { after_seq, turn_id: query.get("turn_id").cloned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(header: Option<&'static str>, query: &[(&str, &str)]) -> Result<From, u16> {
        let mut headers = HeaderMap::new();
        if let Some(id) = header {
            headers.insert("last-event-id", HeaderValue::from_static(id));
        }
        let query = query.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        position(&query, &headers).map_err(|failure| failure.http_status())
    }

    #[test]
    fn the_header_wins_over_the_query_e7() {
        assert_eq!(at(Some("7"), &[("after_seq", "3")]), Ok(From { after_seq: Some(7), turn_id: None }));
        assert_eq!(at(None, &[("after_seq", "3"), ("turn_id", "t")]), Ok(From { after_seq: Some(3), turn_id: Some("t".into()) }));
        assert_eq!(at(Some(""), &[]), Ok(From::default()), "a browser's first connection");
        assert_eq!(at(Some("x"), &[]), Err(400));
        assert_eq!(at(None, &[("after_seq", "-1")]), Err(400));
    }
}
