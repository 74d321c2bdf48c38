//! A project on a real engine: its configuration and script in a folder, and its session's log to wait on.

use std::path::{Path, PathBuf};

use futures::StreamExt as _;
use holdpoint_app::caller::Caller;
use holdpoint_app::stream::{From, Item};
use holdpoint_app::{App, Options};
use serde_json::{Value, json};

pub const SESSION: &str = "sesn_01JD3Z8K5T7V9X1B3D5F7H9K2M";

pub struct Project {
    pub folder: tempfile::TempDir,
    pub app: App,
}

impl Project {
    pub async fn start(config: &str, script: &Value) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::write(folder.path().join("holdpoint.toml"), config).expect("the folder takes files");
        std::fs::write(folder.path().join("script.json"), script.to_string()).expect("the folder takes files");
        let app = open(folder.path()).await;
        Self { folder, app }
    }

    pub async fn restart(self) -> Self {
        let Self { folder, app } = self;
        app.close().await;
        let app = open(folder.path()).await;
        Self { folder, app }
    }

    pub async fn input(&self, input: Value) {
        let body = json!({"session_id": SESSION, "input": input});
        self.app.client_input(&Caller::operator(), body).await.expect("the engine accepts it");
    }

    /// Follows the log from `after` until an event of this type fits.
    pub async fn event(&self, after: u64, kind: &str, fits: impl Fn(&Value) -> bool) -> (u64, Value) {
        let from = From { after_seq: Some(after), turn_id: None };
        let stream = self.app.session_stream(&Caller::operator(), SESSION, from, false).await.expect("the session exists");
        let mut stream = Box::pin(stream);
        while let Some(item) = stream.next().await {
            if let Item::Event { seq, envelope } = item
                && envelope["payload"]["type"] == kind
                && fits(&envelope["payload"])
            {
                return (seq, envelope["payload"].clone());
            }
        }
        unreachable!("the stream ended before {kind}")
    }

    pub async fn log(&self) -> Vec<Value> {
        let query = [("limit".to_owned(), "1000".to_owned())].into();
        let page = self.app.admin_events(&Caller::operator(), SESSION, &query).await.expect("the session exists");
        page["items"].as_array().into_iter().flatten().map(|event| event["payload"].clone()).collect()
    }
}

async fn open(folder: &Path) -> App {
    let options = Options { config: folder.join("holdpoint.toml"), db: Some(folder.join("hp.db")), api_key: None, ..Options::default() };
    App::open(options).await.expect("the project is valid")
}

pub fn reference(name: &str) -> PathBuf {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/node_modules/.bin").join(name);
    assert!(program.exists(), "{name} is not installed; `cargo xtask test` installs it and runs this test");
    program.canonicalize().expect("a real path")
}

/// A configuration with one agent on one server. Its clocks leave a loaded machine the time it takes, and no wait between attempts.
pub fn config(server: &str, entry: &str) -> String {
    format!(
        "[llm.main]\ntype = \"scripted\"\nscript = \"script.json\"\n[mcp.one]\n{server}\n\
         [agent.a]\nllm = \"main\"\nmodel = \"m1\"\nmcp = [{entry}]\n\
         [agent.a.retry]\nconnector = {{ run_timeout_secs = 300, total_timeout_secs = 900 }}\n\
         tool = {{ run_timeout_secs = 300, total_timeout_secs = 900, backoff_max_secs = 0 }}\n"
    )
}

pub fn message(text: &str) -> Value {
    json!({"type": "client.message", "agent_id": "a", "message": {"role": "user", "content": text}})
}
