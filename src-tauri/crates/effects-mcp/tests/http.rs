//! Remote servers over streamable HTTP, with and without a token (M-1, M-2, M-21).

mod line;

use std::path::Path;
use std::process::Stdio;

use holdpoint_effects_mcp::{Auth, Connectors, Endpoint, OauthSettings};
use holdpoint_runtime::runner::{ConnectorCall, ConnectorRunner};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;

struct Far {
    _process: Child, // killed when dropped
    url: String,
}

impl Far {
    async fn start(header: &str, token: &str) -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/http.mjs");
        let mut process = Command::new("node")
            .arg(script)
            .env("HEADER", header)
            .env("TOKEN", token)
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("node starts");
        let mut lines = BufReader::new(process.stdout.take().expect("a pipe")).lines();
        let port = lines.next_line().await.expect("a line").expect("the port");
        Self { _process: process, url: format!("http://127.0.0.1:{port}/mcp") }
    }

    fn reached_with(&self, token: Option<&str>, header: Option<&str>) -> Connectors {
        let connectors = Connectors::default();
        let (token, header) = (token.map(str::to_owned), header.map(str::to_owned));
        let (url, oauth) = (self.url.clone(), OauthSettings::default());
        connectors.replace([("mcp.far".to_owned(), Endpoint::Http { url, auth: Auth::Ask, token, header, oauth })]);
        connectors
    }
}

fn never() -> CancellationToken {
    CancellationToken::new()
}

async fn says_hello(connectors: &Connectors) {
    let listing = connectors.list("mcp.far".into(), never()).await.expect("a listing");
    assert_eq!(listing.tools[0]["name"], "hello");
    let call = ConnectorCall {
        session_id: "sesn_1".into(),
        call_id: "call_1".into(),
        attempt: 1,
        connection: "mcp.far".to_owned(),
        tool: "hello".to_owned(),
        arguments: serde_json::Map::new(),
    };
    let result = connectors.call(call, line::Line::silent(), never()).await.expect("a result");
    assert_eq!(result.content[0]["text"], "hello from afar");
}

#[tokio::test]
async fn a_token_travels_as_bearer_or_in_its_own_header_m1_m2() {
    let far = Far::start("authorization", "Bearer s3cret").await;
    says_hello(&far.reached_with(Some("s3cret"), None)).await;
    let far = Far::start("x-key", "s3cret").await;
    says_hello(&far.reached_with(Some("s3cret"), Some("X-Key"))).await;
}

#[tokio::test]
async fn a_missing_and_a_wrong_token_are_told_apart_m21() {
    let far = Far::start("authorization", "Bearer s3cret").await;
    let missing = far.reached_with(None, None).list("mcp.far".into(), never()).await.expect_err("no token");
    assert_eq!((missing.auth.as_deref(), missing.failure.retryable), (Some("never_authorized"), false), "{missing:?}");
    let wrong = far.reached_with(Some("guess"), None).list("mcp.far".into(), never()).await.expect_err("a wrong token");
    assert_eq!((wrong.auth.as_deref(), wrong.failure.retryable), (Some("token_rejected"), false), "{wrong:?}");
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_may_come_back_q24() {
    // A port that is taken and where nobody listens.
    let taken = tokio::net::TcpSocket::new_v4().expect("a socket");
    taken.bind(([127, 0, 0, 1], 0).into()).expect("a free port");
    let url = format!("http://{}/mcp", taken.local_addr().expect("an address"));
    let connectors = Connectors::default();
    connectors.replace([("mcp.far".to_owned(), Endpoint::http(url))]);
    let gone = connectors.list("mcp.far".into(), never()).await.expect_err("nobody listens");
    assert_eq!((gone.failure.error.code.as_str(), gone.failure.retryable, gone.auth), ("provider_error", true, None));
}
