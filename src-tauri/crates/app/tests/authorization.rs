//! Connections that a person has to authorize (§10C), on a real engine: asked, given in a browser, gone on, across a restart too.

#[path = "connectors/project.rs"]
#[allow(dead_code, reason = "each test program uses a part")]
mod project;

use std::path::Path;
use std::process::Stdio;

use futures::StreamExt as _;
use holdpoint_app::caller::Caller;
use holdpoint_app::wire::{ConnectionRow, FeedFrom, Frame};
use holdpoint_app::{App, Options};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use project::{Project, SESSION, config, message};

const QUESTION: &str = "mcp-auth:mcp.one";

/// The server of the connection's own tests.
struct Far {
    _process: Child, // killed when dropped
    base: String,
}

impl Far {
    async fn start() -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../effects-mcp/tests/oauth.mjs");
        let started = Command::new("node").arg(script).stdout(Stdio::piped()).kill_on_drop(true).spawn();
        let mut process = started.expect("node starts");
        let mut lines = BufReader::new(process.stdout.take().expect("a pipe")).lines();
        let port = lines.next_line().await.expect("a line").expect("the port");
        Self { _process: process, base: format!("http://127.0.0.1:{port}") }
    }

    async fn set(&self, what: Value) {
        let sent = reqwest::Client::new().post(format!("{}/control", self.base)).body(what.to_string()).send().await;
        assert_eq!(sent.expect("the server answers").status(), 200);
    }

    fn config(&self, entry: &str) -> String {
        config(&format!("url = \"{}/mcp\"", self.base), entry)
    }
}

fn script() -> Value {
    json!({"holdpoint_script": 1, "replies": [
        {"times": 0, "match": {"equals": "go"}, "tool_calls": [{"id": "c", "name": "one__hello", "arguments": {}}]},
        {"times": 0, "match": {"role": "tool"}, "text": "Thank you."},
        {"times": 0, "match": {"role": "user"}, "text": "Without tools."},
    ]})
}

async fn retry(project: &Project) {
    let answer = json!({"option": 0, "channel": "cli"});
    project.input(json!({"type": "interrupt.resume", "interrupt_id": QUESTION, "answer": answer})).await;
}

/// A person follows the link; the window is told how it went by its feed.
async fn authorize(app: &App) -> ConnectionRow {
    let link = app.authorize_connection("mcp.one".to_owned()).await.expect("a link");
    let page = reqwest::get(&link.url).await.expect("the browser gets an answer");
    assert_eq!(page.status(), 200);
    let mut feed = Box::pin(app.feed(FeedFrom::default()));
    while let Some(frame) = feed.next().await {
        if let Frame::Config { mut connections, .. } = frame
            && connections.len() == 1
            && !connections[0].waiting
        {
            return connections.remove(0);
        }
    }
    unreachable!("the feed ended before the connection was told")
}

#[tokio::test]
async fn a_turn_waits_for_a_person_to_authorize_a_connection_and_goes_on_with_its_tools_m21_m23_m24_p13() {
    let far = Far::start().await;
    let project = Project::start(&far.config("\"mcp.one\""), &script()).await;
    project.input(message("go")).await;
    let (_, asked) = project.event(0, "session.interrupted", |_| true).await;
    assert_eq!(asked["interrupt_id"], QUESTION);
    assert_eq!(asked["payload"]["authorize"], json!({"connection": "mcp.one", "principal": "shared"}));
    assert!(!asked.to_string().contains("http"), "M-23: no link is stored");
    // The question and what is known of the connection outlive the engine.
    let project = project.restart().await;
    retry(&project).await;
    let (seq, again) = project.event(0, "session.interrupted", |event| event["payload"] != json!(null)).await;
    assert_eq!(again["payload"], asked["payload"]);
    let (seq, _) = project.event(seq, "session.interrupted", |_| true).await;
    let row = authorize(&project.app).await;
    assert_eq!((row.credential.as_deref(), row.needs, row.problem), (Some("oauth"), None, None));
    retry(&project).await;
    let (seq, over) = project.event(seq, "turn.completed", |_| true).await;
    assert_eq!((&over["data"], over.get("error")), (&json!("Thank you."), None));

    // The credential outlives the engine too, and is renewed without asking anybody.
    far.set(json!({"revokeAccess": true})).await;
    let project = project.restart().await;
    project.input(message("go")).await;
    let (seq, over) = project.event(seq, "turn.completed", |_| true).await;
    assert_eq!((&over["data"], over.get("error")), (&json!("Thank you."), None));

    // What cannot be renewed is asked about before the model goes on.
    far.set(json!({"revokeAccess": true, "revokeRefresh": true})).await;
    project.input(message("go")).await;
    let (seq, failed) = project.event(seq, "connector.auth.failed", |_| true).await;
    assert_eq!(failed["auth"], "reauthorize");
    let (seq, asked) = project.event(seq, "session.interrupted", |_| true).await;
    assert_eq!(asked["interrupt_id"], QUESTION);
    authorize(&project.app).await;
    retry(&project).await;
    let (_, over) = project.event(seq, "turn.completed", |_| true).await;
    assert_eq!(over.get("error"), None);
    project.app.close().await;
}

#[tokio::test]
async fn no_secret_lies_in_the_database_or_its_log_m2_q52() {
    let far = Far::start().await;
    let project = Project::start(&far.config("\"mcp.one\""), &script()).await;
    authorize(&project.app).await;
    project.input(message("go")).await;
    project.event(0, "turn.completed", |_| true).await;
    let kept = std::fs::read_to_string(project.folder.path().join("hp.db.credentials")).expect("a file of credentials");
    let all: Value = serde_json::from_str(&kept).expect("JSON");
    let record: Value = serde_json::from_str(all["mcp.one"].as_str().expect("a record")).expect("JSON");
    let token = &record["secret"]["grant"]["token_response"];
    let secrets: Vec<String> = ["access_token", "refresh_token"].map(|name| token[name].as_str().expect("a token").to_owned()).into();
    let files = std::fs::read_dir(project.folder.path()).expect("the folder");
    for file in files.filter_map(Result::ok).filter(|file| file.file_name() != "hp.db.credentials") {
        let bytes = std::fs::read(file.path()).expect("a file");
        for secret in &secrets {
            assert!(!bytes.windows(secret.len()).any(|part| part == secret.as_bytes()), "{:?} holds a token", file.path());
        }
    }
    project.app.close().await;
}

#[tokio::test]
async fn an_agent_that_degrades_tells_its_model_that_authorization_is_needed_m22_m6() {
    let far = Far::start().await;
    let entry = "{ id = \"mcp.one\", auth_failure = \"degrade\" }";
    let project = Project::start(&far.config(entry), &script()).await;
    project.input(message("hi")).await;
    let (_, over) = project.event(0, "turn.completed", |_| true).await;
    assert_eq!(over["data"], "Without tools.");
    let log = project.log().await;
    let failed = log.iter().find(|event| event["type"] == "connector.sync.errored").expect("a fetch failed");
    assert_eq!((&failed["auth"], &failed["retryable"]), (&json!("never_authorized"), &json!(false)));
    assert!(log.iter().all(|event| event["type"] != "session.interrupted"));
    project.app.close().await;
}

#[tokio::test]
async fn what_a_machine_submits_to_an_engine_without_a_window_waits_for_nobody_m22() {
    let far = Far::start().await;
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name);
    std::fs::write(file("holdpoint.toml"), far.config("{ id = \"mcp.one\", auth_failure = \"interrupt\" }")).expect("written");
    std::fs::write(file("script.json"), script().to_string()).expect("written");
    let options = Options { config: file("holdpoint.toml"), db: Some(file("hp.db")), headless: true, ..Options::default() };
    let app = App::open(options).await.expect("the project is valid");
    let payload = json!({"type": "client.message", "message": {"role": "user", "content": "hi"}});
    let submit = json!({"session_id": SESSION, "agent_id": "a", "identity": {"id": "ann"}, "payload": payload});
    app.machine_submit(&Caller::operator(), submit).await.expect("accepted");
    let project = Project { folder, app };
    let (_, over) = project.event(0, "turn.completed", |_| true).await;
    assert_eq!(over["data"], "Without tools.");
    project.app.close().await;
}

#[tokio::test]
async fn a_token_that_a_person_sets_is_shown_to_the_server_and_a_changed_auth_empties_it_m2() {
    let far = Far::start().await;
    let token = |auth: &str| config(&format!("url = \"{}/mcp\"\nauth = \"{auth}\"", far.base), "\"mcp.one\"");
    let project = Project::start(&token("token"), &script()).await;
    let refused = project.app.set_connection_token("mcp.no".into(), "t".into()).await.expect_err("there is none");
    assert_eq!((refused.code.as_str(), refused.message.as_str()), ("invalid_request", "the configuration has no connection mcp.no"));
    project.app.set_connection_token("mcp.one".into(), "wrong".into()).await.expect("kept");
    let rows = project.app.connections().await.expect("the connections");
    assert_eq!((rows[0].credential.as_deref(), rows[0].needs.as_deref()), (Some("token"), None));
    project.input(message("go")).await;
    let (_, asked) = project.event(0, "session.interrupted", |_| true).await;
    assert!(asked["payload"]["message"].as_str().is_some_and(|text| text.contains("refuses the token")), "{asked}");
    let rows = project.app.connections().await.expect("the connections");
    assert_eq!(rows[0].needs.as_deref(), Some("token_rejected"));
    std::fs::write(project.folder.path().join("holdpoint.toml"), token("oauth")).expect("written");
    let project = project.restart().await;
    let rows = project.app.connections().await.expect("the connections");
    assert_eq!((rows[0].credential.as_deref(), rows[0].needs.as_deref()), (None, Some("never_authorized")));
    let kept = std::fs::read_to_string(project.folder.path().join("hp.db.credentials")).expect("the file");
    assert_eq!(kept, "{}");
    project.app.close().await;
}
