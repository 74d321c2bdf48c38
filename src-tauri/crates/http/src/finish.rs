//! What a client asked for is carried out, also when it hangs up before the answer.
//!
//! A request whose connection closes is dropped where it stands. Between a commit and what follows from it that would leave a
//! session waiting for nobody.

use axum::extract::Request;
use axum::http::Method;
use axum::middleware::Next;
use axum::response::Response;

use crate::error::a_bug;

pub(crate) async fn finish(request: Request, next: Next) -> Response {
    if matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS) {
        return next.run(request).await;
    }
    tokio::spawn(next.run(request)).await.unwrap_or_else(|failure| {
        tracing::error!(%failure, "a request ended with a bug");
        a_bug()
    })
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use axum::body::Body;
    use axum::routing::any;
    use axum::{Router, middleware};
    use tokio::sync::oneshot;
    use tower::ServiceExt as _;

    use super::*;

    /// A handler that waits for `go`, then tells that it came to its end. Whether it does when its client has gone.
    async fn ends_without_its_client(method: Method) -> bool {
        let ((go, gone), (told, end)) = (oneshot::channel::<()>(), oneshot::channel::<()>());
        let held = Arc::new(Mutex::new(Some((gone, told))));
        let handler = move || {
            let held = held.lock().ok().and_then(|mut held| held.take());
            async move {
                if let Some((gone, told)) = held {
                    let _ = gone.await;
                    let _ = told.send(());
                }
            }
        };
        let router = Router::new().route("/", any(handler)).layer(middleware::from_fn(finish));
        let request = Request::builder().method(method).uri("/").body(Body::empty()).expect("a request");
        let mut answer = Box::pin(router.oneshot(request));
        assert!(futures::poll!(&mut answer).is_pending());
        tokio::task::yield_now().await;
        drop(answer);
        let _ = go.send(());
        end.await.is_ok()
    }

    #[tokio::test]
    async fn a_command_is_carried_out_though_its_client_hung_up() {
        assert!(ends_without_its_client(Method::POST).await);
        assert!(!ends_without_its_client(Method::GET).await, "nobody is left to read it");
    }
}
