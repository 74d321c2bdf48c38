//! Credentials of remote servers against a server with its own authorization server (§10C): given, kept, renewed, and lost.

mod line;

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use holdpoint_effects_mcp::{Auth, Connectors, Credentials, Endpoint, FileVault, OauthSettings, Standing};
use holdpoint_runtime::runner::{ConnectorCall, ConnectorFailure, ConnectorRunner};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;

/// The server, and a folder for the file of credentials.
struct Far {
    _process: Child, // killed when dropped
    base: String,
    folder: TempDir,
}

impl Far {
    async fn start() -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oauth.mjs");
        let started = Command::new("node").arg(script).stdout(Stdio::piped()).kill_on_drop(true).spawn();
        let mut process = started.expect("node starts");
        let mut lines = BufReader::new(process.stdout.take().expect("a pipe")).lines();
        let port = lines.next_line().await.expect("a line").expect("the port");
        let folder = tempfile::tempdir().expect("a folder");
        Self { _process: process, base: format!("http://127.0.0.1:{port}"), folder }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("hp.db.credentials")
    }

    /// The engine's connections, as after a start.
    fn engine(&self) -> Connectors {
        self.engine_with(Auth::Ask)
    }

    fn engine_with(&self, auth: Auth) -> Connectors {
        let connectors = Connectors::new(Credentials::new(Arc::new(FileVault::new(self.file()))));
        let url = format!("{}/mcp", self.base);
        let endpoint = Endpoint::Http { url, auth, token: None, header: None, oauth: OauthSettings::default() };
        connectors.replace([("mcp.far".to_owned(), endpoint)]);
        connectors
    }

    async fn set(&self, what: Value) {
        let sent = reqwest::Client::new().post(format!("{}/control", self.base)).body(what.to_string()).send().await;
        assert_eq!(sent.expect("the server answers").status(), 200);
    }

    async fn seen(&self, what: &str) -> u64 {
        let answer = reqwest::get(format!("{}/control", self.base)).await.expect("the server answers");
        let seen: Value = serde_json::from_str(&answer.text().await.expect("a body")).expect("JSON");
        seen[what].as_u64().expect("a count")
    }

    /// The engine after a person authorized the connection.
    async fn authorized(&self) -> Connectors {
        let connectors = self.engine();
        authorize(&connectors).await;
        connectors
    }

    /// As if an hour had passed since the token was given.
    fn hour_passes(&self) {
        let text = std::fs::read_to_string(self.file()).expect("a file of credentials");
        let mut all: Value = serde_json::from_str(&text).expect("JSON");
        let mut record: Value = serde_json::from_str(all["mcp.far"].as_str().expect("a record")).expect("JSON");
        let given = record["secret"]["grant"]["token_received_at"].as_u64().expect("a time");
        record["secret"]["grant"]["token_received_at"] = json!(given - 3600);
        all["mcp.far"] = json!(record.to_string());
        std::fs::write(self.file(), all.to_string()).expect("written");
    }
}

/// What the browser shows at the end.
async fn browse(url: &str) -> (u16, String) {
    let page = reqwest::get(url).await.expect("the browser gets an answer");
    (page.status().as_u16(), page.text().await.expect("a page"))
}

async fn authorize(connectors: &Connectors) {
    let link = connectors.authorize("mcp.far").await.expect("a link");
    assert_eq!(browse(&link.url).await.0, 200);
    until(connectors, |standing| !standing.waiting).await;
}

async fn until(connectors: &Connectors, wanted: impl Fn(&Standing) -> bool) -> Standing {
    let mut changes = connectors.changes();
    loop {
        let now = connectors.standings().remove(0);
        if wanted(&now) {
            return now;
        }
        changes.changed().await.expect("the connections live");
    }
}

async fn standing(connectors: &Connectors) -> Standing {
    connectors.settle().await;
    connectors.standings().remove(0)
}

async fn list(connectors: &Connectors) -> Result<usize, ConnectorFailure> {
    connectors.list("mcp.far".into(), CancellationToken::new()).await.map(|listing| listing.tools.len())
}

async fn call(connectors: &Connectors) -> Result<Value, ConnectorFailure> {
    let call = ConnectorCall {
        session_id: "sesn_1".into(),
        call_id: "call_1".into(),
        attempt: 1,
        connection: "mcp.far".to_owned(),
        tool: "hello".to_owned(),
        arguments: serde_json::Map::new(),
    };
    connectors.call(call, line::Line::silent(), CancellationToken::new()).await.map(|result| result.content[0]["text"].clone())
}

fn case<T: std::fmt::Debug>(result: Result<T, ConnectorFailure>) -> String {
    let failure = result.expect_err("a refusal");
    assert!(!failure.failure.retryable, "{failure:?}");
    assert!(failure.failure.error.message.contains("mcp.far needs authorization"), "{failure:?}");
    failure.auth.expect("a matter of the credential")
}

#[tokio::test]
async fn a_connection_that_says_nothing_holds_up_no_browser_m21() {
    let far = Far::start().await;
    let connectors = far.engine();
    let link = connectors.authorize("mcp.far").await.expect("a link");
    let url = reqwest::Url::parse(&link.url).expect("a link");
    let redirect = url.query_pairs().find(|(name, _)| name == "redirect_uri").expect("where the browser comes back").1.into_owned();
    let redirect = reqwest::Url::parse(&redirect).expect("an address");
    // Browsers open connections ahead of need.
    let mut silent = tokio::net::TcpStream::connect(("127.0.0.1", redirect.port().expect("a port"))).await.expect("connected");
    assert_eq!(browse(&link.url).await.0, 200);
    let mut said = String::new();
    let _ = silent.read_to_string(&mut said).await;
    assert_eq!(said, "", "nobody waited for it, or gave it up");
}

#[tokio::test]
async fn a_person_authorizes_a_server_once_and_a_restart_keeps_it_m2_m21() {
    let far = Far::start().await;
    let connectors = far.engine();
    assert_eq!(case(list(&connectors).await), "never_authorized");
    assert_eq!(standing(&connectors).await.needs.as_deref(), Some("never_authorized"));
    let link = connectors.authorize("mcp.far").await.expect("a link");
    assert_eq!(format!("http://{}", link.host), far.base);
    assert!(link.url.contains("code_challenge_method=S256") && link.url.contains("resource="), "{}", link.url);
    assert!(standing(&connectors).await.waiting);
    let (status, page) = browse(&link.url).await;
    assert_eq!((status, page.as_str()), (200, "mcp.far is authorized. You can close this page and go back to Holdpoint."));
    let now = until(&connectors, |standing| !standing.waiting).await;
    assert_eq!((now.credential, now.needs), (Some("oauth"), None));
    assert_eq!(list(&connectors).await, Ok(1));
    assert_eq!(call(&connectors).await, Ok(json!("hello from afar")));
    let restarted = far.engine();
    assert_eq!(call(&restarted).await, Ok(json!("hello from afar")));
    assert_eq!((far.seen("exchanged").await, far.seen("renewed").await), (1, 0));
}

#[tokio::test]
async fn a_refused_token_is_renewed_and_the_call_repeated_m21() {
    let far = Far::start().await;
    let connectors = far.authorized().await;
    assert_eq!(list(&connectors).await, Ok(1));
    far.set(json!({"revokeAccess": true})).await;
    assert_eq!(call(&connectors).await, Ok(json!("hello from afar")));
    assert_eq!((far.seen("renewed").await, far.seen("calls").await), (1, 1));
    assert_eq!(call(&far.engine()).await, Ok(json!("hello from afar")), "the new token was kept");
    assert_eq!(far.seen("renewed").await, 1);
}

#[tokio::test]
async fn a_token_is_renewed_before_it_ends_m21() {
    let far = Far::start().await;
    far.authorized().await;
    far.hour_passes();
    let refused = far.seen("refused").await;
    assert_eq!(call(&far.engine()).await, Ok(json!("hello from afar")));
    assert_eq!((far.seen("renewed").await, far.seen("refused").await), (1, refused), "nothing was refused for it");
}

#[tokio::test]
async fn a_grant_that_cannot_be_renewed_needs_a_person_m21() {
    let far = Far::start().await;
    let connectors = far.authorized().await;
    assert_eq!(list(&connectors).await, Ok(1));
    far.set(json!({"revokeAccess": true, "revokeRefresh": true})).await;
    assert_eq!(case(call(&connectors).await), "reauthorize");
    assert_eq!(case(list(&far.engine()).await), "reauthorize", "also after a restart");
    let now = standing(&connectors).await;
    assert_eq!((now.credential, now.needs.as_deref()), (None, Some("reauthorize")));
    authorize(&connectors).await;
    assert_eq!(call(&connectors).await, Ok(json!("hello from afar")));
}

#[tokio::test]
async fn a_token_that_is_refused_though_it_is_new_is_told_as_that_m21() {
    let far = Far::start().await;
    let connectors = far.authorized().await;
    assert_eq!(list(&connectors).await, Ok(1));
    far.set(json!({"refuseAll": true})).await;
    assert_eq!(case(call(&connectors).await), "token_rejected");
    assert_eq!(far.seen("renewed").await, 1);
}

#[tokio::test]
async fn a_grant_that_allows_too_little_needs_a_person_who_is_asked_for_the_scopes_wanted_m21() {
    let far = Far::start().await;
    let connectors = far.authorized().await;
    assert_eq!(list(&connectors).await, Ok(1));
    far.set(json!({"wanted": "write"})).await;
    assert_eq!(case(call(&connectors).await), "reauthorize");
    authorize(&connectors).await;
    assert_eq!(call(&connectors).await, Ok(json!("hello from afar")));
}

#[tokio::test]
async fn a_lost_registration_is_made_again_m21() {
    for by_time in [false, true] {
        let far = Far::start().await;
        let mut connectors = far.authorized().await;
        assert_eq!(list(&connectors).await, Ok(1));
        far.set(json!({"loseClients": true, "revokeAccess": true})).await;
        if by_time {
            far.hour_passes();
            connectors = far.engine();
        }
        assert_eq!(call(&connectors).await, Ok(json!("hello from afar")), "by time: {by_time}");
        assert_eq!((far.seen("registered").await, far.seen("renewed").await), (2, 1));
        far.set(json!({"revokeAccess": true})).await;
        assert_eq!(call(&connectors).await, Ok(json!("hello from afar")), "the new registration is in use");
        assert_eq!(call(&far.engine()).await, Ok(json!("hello from afar")), "and kept");
    }
}

#[tokio::test]
async fn a_grant_that_was_lost_with_its_registration_needs_a_person_m21() {
    let far = Far::start().await;
    let connectors = far.authorized().await;
    assert_eq!(list(&connectors).await, Ok(1));
    far.set(json!({"loseClients": true, "revokeAccess": true, "bound": true})).await;
    assert_eq!(case(call(&connectors).await), "reauthorize");
    authorize(&connectors).await;
    assert_eq!(call(&connectors).await, Ok(json!("hello from afar")));
}

#[tokio::test]
async fn a_person_who_declines_in_the_browser_changes_nothing_m21() {
    let far = Far::start().await;
    let connectors = far.engine();
    far.set(json!({"denied": true})).await;
    let link = connectors.authorize("mcp.far").await.expect("a link");
    let (status, page) = browse(&link.url).await;
    assert_eq!(status, 400);
    assert!(page.starts_with("mcp.far is not authorized: it was refused (access_denied)"), "{page}");
    let now = until(&connectors, |standing| !standing.waiting).await;
    assert_eq!((now.credential, now.problem.as_deref()), (None, Some("it was refused (access_denied)")));
    far.set(json!({"denied": false})).await;
    authorize(&connectors).await;
    assert_eq!(standing(&connectors).await.problem, None);
}

#[tokio::test]
async fn only_the_answer_to_the_shown_link_counts_m23() {
    let far = Far::start().await;
    let connectors = far.engine();
    let first = connectors.authorize("mcp.far").await.expect("a link");
    let second = connectors.authorize("mcp.far").await.expect("another link");
    assert_ne!(first, second, "made when it is shown");
    let link = reqwest::Url::parse(&second.url).expect("a URL");
    let redirect = link.query_pairs().find(|(key, _)| key == "redirect_uri").expect("a redirect").1.into_owned();
    assert!(redirect.starts_with("http://127.0.0.1:"), "{redirect}");
    for forged in ["?code=stolen&state=guess", "?code=stolen", "?error=access_denied", ""] {
        assert_eq!(browse(&format!("{redirect}{forged}")).await.0, 404, "{forged}");
    }
    assert!(standing(&connectors).await.waiting);
    assert_eq!(browse(&second.url).await.0, 200);
    assert_eq!(until(&connectors, |standing| !standing.waiting).await.credential, Some("oauth"));
}

#[tokio::test]
async fn a_forgotten_authorization_is_gone_m2() {
    let far = Far::start().await;
    let connectors = far.authorized().await;
    assert_eq!(list(&connectors).await, Ok(1));
    connectors.forget("mcp.far").await.expect("forgotten");
    assert_eq!(case(call(&connectors).await), "never_authorized");
    assert_eq!(std::fs::read_to_string(far.file()).expect("the file"), "{}");
}

#[tokio::test]
async fn a_changed_auth_empties_the_credential_m2() {
    let far = Far::start().await;
    far.authorized().await;
    let changed = far.engine_with(Auth::Token);
    assert_eq!(case(list(&changed).await), "never_authorized", "it is shown to nobody");
    changed.settle().await;
    let back = far.engine();
    assert_eq!(case(list(&back).await), "never_authorized");
}

#[tokio::test]
async fn a_token_that_a_person_set_is_kept_and_shown_and_told_when_refused_m2_m21() {
    let far = Far::start().await;
    let connectors = far.engine_with(Auth::Token);
    assert_eq!(standing(&connectors).await.needs.as_deref(), Some("never_authorized"));
    connectors.set_token("mcp.far", "wrong").await.expect("kept");
    assert_eq!(standing(&connectors).await.credential, Some("token"));
    assert_eq!(case(list(&connectors).await), "token_rejected");
    assert_eq!(standing(&connectors).await.needs.as_deref(), Some("token_rejected"));
    let refused = connectors.authorize("mcp.far").await.expect_err("a token is no matter of a browser");
    assert_eq!(refused, "mcp.far has `auth = \"token\"`: it is not authorized in a browser");
    assert!(connectors.set_token("mcp.far", "two words").await.is_err());
    assert!(connectors.set_token("mcp.near", "t").await.is_err());
    let spoken = case(list(&far.engine_with(Auth::Token)).await);
    assert_eq!(spoken, "token_rejected", "after a restart");
}

#[tokio::test]
async fn where_none_is_to_be_shown_a_refusal_is_no_matter_of_credentials_m1() {
    let far = Far::start().await;
    far.authorized().await;
    let failure = list(&far.engine_with(Auth::None)).await.expect_err("refused");
    assert_eq!((failure.auth, failure.failure.retryable), (None, false));
}
