//! The reference servers `memory`, `git`, `time` and `everything` as tools of an agent: listed, called, held by approval, cancelled,
//! killed during a call, started again.

use std::path::{Path, PathBuf};

use holdpoint_app::caller::Caller;
use serde_json::{Value, json};

use crate::project::{Project, SESSION, config, message, reference};

/// A server that notes the process id of each of its starts.
struct Server {
    pids: PathBuf,
    settings: String,
}

impl Server {
    fn new(folder: &Path, program: &Path, arguments: &[&str], env: &Value) -> Self {
        let pids = folder.join("pids");
        let mut command = vec![json!("sh"), json!("-c"), json!("echo $$ >> \"$0\"; exec \"$@\""), json!(pids), json!(program)];
        command.extend(arguments.iter().map(|argument| json!(argument)));
        let variables: Vec<String> = env.as_object().into_iter().flatten().map(|(name, value)| format!("{name} = {value}")).collect();
        let settings = format!("command = {}\nenv = {{ {} }}", Value::Array(command), variables.join(", "));
        Self { pids, settings }
    }

    fn starts(&self) -> Vec<String> {
        let text = std::fs::read_to_string(&self.pids).expect("it was started");
        text.lines().map(str::to_owned).collect()
    }

    /// To the process that runs now.
    fn signal(&self, name: &str) {
        let pid = self.starts().pop().expect("a process");
        let sent = std::process::Command::new("sh").args(["-c", &format!("kill -{name} {pid}")]).status().expect("a shell");
        assert!(sent.success(), "{name} reaches {pid}");
    }
}

/// A Python server of `tests/requirements.txt`.
fn python(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a path");
    let target = test.ancestors().nth(3).expect("tests run in target/debug/deps");
    let program = target.join("xtask-tools/python/bin").join(name);
    assert!(program.exists(), "{name} is not installed; `cargo xtask test` installs it and runs this test");
    program
}

/// The turns of every story: the person's word, the call it leads to.
fn script(turns: &[(&str, &str, Value)]) -> Value {
    let asks = turns.iter().map(|(word, tool, arguments)| {
        let call = json!({"id": format!("call_{word}"), "name": format!("one__{tool}"), "arguments": arguments});
        json!({"match": {"role": "user", "equals": word}, "tool_calls": [call]})
    });
    let told = json!({"match": {"role": "tool"}, "text": "Noted.", "times": 0});
    json!({"holdpoint_script": 1, "replies": asks.chain([told]).collect::<Vec<_>>()})
}

/// One conversation, read forwards.
struct Told {
    project: Project,
    seq: u64,
}

impl Told {
    async fn start(server: &Server, turns: &[(&str, &str, Value)]) -> Self {
        let config = config(&server.settings, "{ id = \"mcp.one\", approve = \"always\" }");
        Self { project: Project::start(&config, &script(turns)).await, seq: 0 }
    }

    async fn next(&mut self, kind: &str) -> Value {
        let (seq, event) = self.project.event(self.seq, kind, |_| true).await;
        self.seq = seq;
        event
    }

    /// Says `word` and gives the question about the call it leads to.
    async fn asks(&mut self, word: &str) -> Value {
        self.project.input(message(word)).await;
        let asked = self.next("session.interrupted").await;
        assert_eq!(asked["interrupt_id"], format!("mcp-approve:call_{word}"));
        asked["payload"]["metadata"].clone()
    }

    async fn answers(&mut self, word: &str, approved: bool) {
        let id = format!("mcp-approve:call_{word}");
        self.project.input(json!({"type": "interrupt.resume", "interrupt_id": id, "payload": {"approved": approved}})).await;
    }

    /// The whole of an approved call, up to the end of its turn.
    async fn runs(&mut self, word: &str) -> Value {
        self.asks(word).await;
        self.answers(word, true).await;
        let done = self.next("tool.call.completed").await;
        assert_eq!(self.next("turn.completed").await.get("error"), None);
        done["result"].clone()
    }

    async fn dispatched(&self, call: &str) -> usize {
        let sent = |event: &&Value| event["type"] == "tool.call.dispatched" && event["id"] == call;
        self.project.log().await.iter().filter(sent).count()
    }
}

/// What holds for every server: `reads` is a call that answers with `found`.
async fn is_held_killed_cancelled_and_started_again(server: &Server, told: &mut Told, found: &str) {
    // M-32, K-12: killed while it has the call, it is started again for the next attempt.
    let before = server.starts().len();
    told.asks("kill").await;
    server.signal("STOP");
    told.answers("kill", true).await;
    told.next("tool.call.dispatched").await;
    server.signal("KILL");
    let lost = told.next("tool.call.errored").await;
    assert_eq!((&lost["error"]["code"], &lost["retryable"]), (&json!("provider_error"), &json!(true)));
    assert_eq!(told.next("tool.call.dispatched").await["attempt"], 2);
    let result = &told.next("tool.call.completed").await["result"];
    assert!(result.to_string().contains(found), "{result}");
    told.next("turn.completed").await;
    assert_eq!(server.starts().len(), before + 1);
    // C-4, C-14: a cancel does not wait for it, and the same process serves the next call.
    told.asks("cancel").await;
    server.signal("STOP");
    told.answers("cancel", true).await;
    told.next("tool.call.dispatched").await;
    told.project.app.cancel(&Caller::operator(), SESSION).await.expect("it runs");
    assert_eq!(told.next("turn.completed").await["error"]["code"], "cancelled");
    server.signal("CONT");
    assert!(told.runs("after").await.to_string().contains(found));
    assert_eq!(server.starts().len(), before + 1);
}

/// M-6, D-2: with the engine a server ends and is started again; its tools are those of the session.
async fn is_used_again_after_a_restart(server: &Server, told: Told, found: &str) {
    let before = server.starts().len();
    let mut told = Told { project: told.project.restart().await, seq: told.seq };
    assert!(told.runs("again").await.to_string().contains(found));
    assert_eq!(server.starts().len(), before + 1);
    let fetched = told.project.log().await.iter().filter(|event| event["type"] == "connector.sync.requested").count();
    assert_eq!(fetched, 1, "once per session");
    told.project.app.close().await;
}

async fn lists(told: &Told, wanted: &[&str]) {
    let (_, listed) = told.project.event(0, "connector.sync.completed", |_| true).await;
    let names: Vec<&str> = listed["tools"].as_array().into_iter().flatten().filter_map(|tool| tool["name"].as_str()).collect();
    for name in wanted {
        assert!(names.contains(name), "{name} in {names:?}");
    }
}

#[tokio::test]
async fn the_memory_server_keeps_only_what_was_approved_m12_m15_m17_c4_m32() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("memory.jsonl");
    let server = Server::new(folder.path(), &reference("mcp-server-memory"), &[], &json!({"MEMORY_FILE_PATH": file}));
    let person = |name: &str| json!({"entities": [{"name": name, "entityType": "person", "observations": ["likes \"tea\"\nand cake"]}]});
    let turns = [
        ("decline", "create_entities", person("Bob")),
        ("approve", "create_entities", person("Ann")),
        ("kill", "read_graph", json!({})),
        ("cancel", "read_graph", json!({})),
        ("after", "search_nodes", json!({"query": "cake"})),
        ("again", "open_nodes", json!({"names": ["Ann"]})),
    ];
    let mut told = Told::start(&server, &turns).await;
    let asked = told.asks("decline").await;
    assert_eq!((&asked["risk"], &asked["arguments"]), (&json!("medium"), &person("Bob")));
    lists(&told, &["create_entities", "delete_entities", "read_graph"]).await;
    told.answers("decline", false).await;
    told.next("turn.completed").await;
    assert_eq!((told.dispatched("call_decline").await, file.exists()), (0, false), "M-15");
    told.runs("approve").await;
    let kept: Value = serde_json::from_str(std::fs::read_to_string(&file).expect("it was approved").trim()).expect("one line");
    assert_eq!((&kept["name"], &kept["observations"]), (&json!("Ann"), &json!(["likes \"tea\"\nand cake"])), "exactly what was shown");
    is_held_killed_cancelled_and_started_again(&server, &mut told, "Ann").await;
    is_used_again_after_a_restart(&server, told, "Ann").await;
}

#[tokio::test]
async fn the_git_server_stages_only_what_was_approved_m12_m15_m17_c4_m32() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let root = folder.path().canonicalize().expect("a real path").join("work");
    let made = std::process::Command::new("git").args(["init", "--quiet"]).arg(&root).status().expect("git is there");
    assert!(made.success());
    std::fs::write(root.join("note.txt"), "draft").expect("the folder takes files");
    let path = root.display().to_string();
    let server = Server::new(folder.path(), &python("mcp-server-git"), &["--repository", &path], &json!({}));
    let add = json!({"repo_path": path, "files": ["note.txt"]});
    let status = json!({"repo_path": path});
    let turns = [
        ("decline", "git_add", add.clone()),
        ("approve", "git_add", add),
        ("kill", "git_status", status.clone()),
        ("cancel", "git_status", status.clone()),
        ("after", "git_status", status.clone()),
        ("again", "git_status", status),
    ];
    let mut told = Told::start(&server, &turns).await;
    told.asks("decline").await;
    lists(&told, &["git_add", "git_commit", "git_status"]).await;
    told.answers("decline", false).await;
    told.next("turn.completed").await;
    let index = root.join(".git/index");
    assert_eq!((told.dispatched("call_decline").await, index.exists()), (0, false), "M-15");
    let result = told.runs("approve").await;
    assert_eq!(result["content"][0]["text"], "Files staged successfully");
    assert!(index.exists());
    is_held_killed_cancelled_and_started_again(&server, &mut told, "note.txt").await;
    is_used_again_after_a_restart(&server, told, "note.txt").await;
}

#[tokio::test]
async fn the_time_server_tells_the_time_once_it_may_m12_m15_m17_c4_m32() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let server = Server::new(folder.path(), &python("mcp-server-time"), &["--local-timezone", "UTC"], &json!({}));
    let noon = json!({"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"});
    let turns = ["decline", "approve", "kill", "cancel", "after", "again"].map(|word| (word, "convert_time", noon.clone()));
    let mut told = Told::start(&server, &turns).await;
    assert_eq!(told.asks("decline").await["risk"], "low");
    lists(&told, &["convert_time", "get_current_time"]).await;
    told.answers("decline", false).await;
    told.next("turn.completed").await;
    assert_eq!(told.dispatched("call_decline").await, 0, "M-15");
    let result = told.runs("approve").await;
    assert_eq!(result["structuredContent"]["time_difference"], "+9.0h");
    is_held_killed_cancelled_and_started_again(&server, &mut told, "T21:00:00+09:00").await;
    is_used_again_after_a_restart(&server, told, "T21:00:00+09:00").await;
}

#[tokio::test]
async fn a_long_operation_of_the_everything_server_is_cancelled_and_its_process_goes_on_c4() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let server = Server::new(folder.path(), &reference("mcp-server-everything"), &["stdio"], &json!({}));
    let turns = [
        ("long", "trigger-long-running-operation", json!({"duration": 3600, "steps": 3600})),
        ("sum", "get-sum", json!({"a": 2, "b": 40})),
    ];
    let mut told = Told::start(&server, &turns).await;
    told.asks("long").await;
    lists(&told, &["trigger-long-running-operation", "get-sum"]).await;
    told.answers("long", true).await;
    told.next("tool.call.dispatched").await;
    told.project.app.cancel(&Caller::operator(), SESSION).await.expect("it runs");
    assert_eq!(told.next("turn.completed").await["error"]["code"], "cancelled");
    assert_eq!(told.runs("sum").await["content"][0]["text"], "The sum of 2 and 40 is 42.");
    assert_eq!(server.starts().len(), 1);
    told.project.app.close().await;
}
