//! `/v1`: threads of a session (thread-api), read and interrupted, for programs with an API key. Own errors, own headers, one rate
//! limit per key.

use axum::Extension;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::rejection::{BytesRejection, PathRejection, QueryRejection};
use axum::extract::{FromRequest as _, Path, Query as UrlQuery, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{any, get, post};
use holdpoint_app::api::Query;
use holdpoint_app::threads::{Interrupt, KeyHolder, Problem, Told};
use holdpoint_app::{error::Failure, threads};

use crate::Api;
use crate::credential::bearer;
use crate::sse;

const BETA: &str = "agents-2026-11-01";
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

pub(crate) fn routes(api: &Api) -> Router<Api> {
    let threads = Router::new()
        .route("/v1/sessions/{session}/threads", get(list))
        .route("/v1/sessions/{session}/threads/{thread}", get(one))
        .route("/v1/sessions/{session}/threads/{thread}/events", get(events))
        .route("/v1/sessions/{session}/threads/{thread}/interrupt", post(interrupt))
        .method_not_allowed_fallback(no_such_method)
        .layer(middleware::from_fn_with_state(api.clone(), admit));
    threads.merge(Router::new().route("/v1/{*path}", any(no_such_path))).layer(middleware::from_fn(numbered))
}

/// Of this request: `X-Request-Id`, and `request_id` of its error (TH-42).
#[derive(Clone, Debug)]
struct RequestId(String);

impl RequestId {
    fn refuse(&self, problem: &Problem) -> Response {
        let mut response = self.send(Told { status: problem.status, body: problem.body(&self.0) });
        if let Some(seconds) = problem.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if problem.status == 401 {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }

    #[expect(clippy::unused_self, reason = "an answer is always given to one request")]
    fn send(&self, told: Told) -> Response {
        let status = StatusCode::from_u16(told.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        (status, [(header::CONTENT_TYPE, "application/json")], told.body).into_response()
    }
}

async fn numbered(mut request: Request, next: Next) -> Response {
    let id = RequestId(threads::new_request_id());
    request.extensions_mut().insert(id.clone());
    let mut response = next.run(request).await;
    if let Ok(value) = HeaderValue::from_str(&id.0) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    response
}

/// The first checks of TH-23, the same for every path: key, rate, beta.
async fn admit(State(api): State<Api>, Extension(id): Extension<RequestId>, mut request: Request, next: Next) -> Response {
    match admitted(&api, request.headers()) {
        Ok(caller) => {
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        Err(problem) => id.refuse(&problem),
    }
}

fn admitted(api: &Api, headers: &HeaderMap) -> Result<KeyHolder, Problem> {
    // TH-43.
    let caller = if api.auth { api.app.key_holder(bearer(headers))? } else { KeyHolder::local() };
    api.app.admit(&caller)?;
    if headers.get("syntic-beta").is_none_or(|beta| beta != BETA) {
        return Err(Problem::new(400, "beta_required", format!("send the header `syntic-beta: {BETA}`")));
    }
    Ok(caller)
}

type Params = Result<UrlQuery<Query>, QueryRejection>;
type OfSession = Result<Path<String>, PathRejection>;
type OfThread = Result<Path<(String, String)>, PathRejection>;

fn parameters(query: Params) -> Result<Query, Problem> {
    query.map(|UrlQuery(query)| query).map_err(|error| Problem::parameter("query", &format!("cannot be read: {error}")))
}

/// TH-17: an id that cannot even be read is one that is not there.
fn ids<T>(path: Result<Path<T>, PathRejection>) -> Result<T, Problem> {
    path.map(|Path(ids)| ids).map_err(|_| Problem::new(404, "thread_not_found", "there is no such thread"))
}

async fn list(
    State(api): State<Api>,
    Extension(id): Extension<RequestId>,
    Extension(caller): Extension<KeyHolder>,
    path: OfSession,
    query: Params,
) -> Response {
    let listed = async { api.app.v1_threads(&caller, &ids(path)?, &parameters(query)?).await };
    answer(&id, listed.await)
}

async fn one(
    State(api): State<Api>,
    Extension(id): Extension<RequestId>,
    Extension(caller): Extension<KeyHolder>,
    path: OfThread,
) -> Response {
    let found = async {
        let (session, thread) = ids(path)?;
        api.app.v1_thread(&caller, &session, &thread).await
    };
    answer(&id, found.await)
}

async fn events(
    State(api): State<Api>,
    Extension(id): Extension<RequestId>,
    Extension(caller): Extension<KeyHolder>,
    path: OfThread,
    query: Params,
    headers: HeaderMap,
) -> Response {
    let found = async {
        let (query, (session, thread)) = (parameters(query)?, ids(path)?);
        if wants_stream(&headers) {
            let from = sse::position(&query, &headers).map_err(unreadable)?;
            return Ok(sse::session_items(api.app.v1_stream(&caller, &session, &thread, from).await?));
        }
        let page = api.app.v1_events(&caller, &session, &thread, &query).await?;
        Ok(id.send(Told { status: 200, body: page.to_string() }))
    };
    found.await.unwrap_or_else(|problem: Problem| id.refuse(&problem))
}

fn wants_stream(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.flat_map(|value| value.split(',')).any(|kind| kind.split(';').next().is_some_and(|kind| kind.trim() == "text/event-stream"))
}

fn unreadable(failure: Failure) -> Problem {
    Problem::new(400, "invalid_parameter", failure.to_string())
}

async fn interrupt(
    State(api): State<Api>,
    Extension(id): Extension<RequestId>,
    Extension(caller): Extension<KeyHolder>,
    path: OfThread,
    request: Request,
) -> Response {
    // Ids that cannot be read are of no thread, but the checks before that one come first.
    let (session, thread) = ids(path).unwrap_or_default();
    let (head, raw) = request.into_parts();
    let text = |name: &str| head.headers.get(name).map(|value| std::str::from_utf8(value.as_bytes()).map(str::to_owned));
    let (key, content_type) = (text("idempotency-key"), text("content-type").and_then(Result::ok));
    let asked = Interrupt {
        path: head.uri.path().to_owned(),
        session,
        thread,
        key: key.map(|key| key.map_err(|_| ())),
        content_type,
        body: body(raw).await,
        request_id: id.0.clone(),
    };
    id.send(api.app.v1_interrupt(caller, asked).await)
}

async fn body(body: Body) -> Result<Vec<u8>, String> {
    let bytes = Bytes::from_request(Request::new(body), &()).await;
    bytes.map(Into::into).map_err(|rejection: BytesRejection| format!("could not be read: {rejection}"))
}

fn answer(id: &RequestId, found: Result<serde_json::Value, Problem>) -> Response {
    match found {
        Ok(value) => id.send(Told { status: 200, body: value.to_string() }),
        Err(problem) => id.refuse(&problem),
    }
}

async fn no_such_path(Extension(id): Extension<RequestId>) -> Response {
    id.refuse(&Problem::new(404, "not_found", "there is nothing at this path"))
}

async fn no_such_method(Extension(id): Extension<RequestId>) -> Response {
    id.refuse(&Problem::new(405, "method_not_allowed", "this path does not take this method"))
}
