//! Each command of the real program against an engine that it serves itself: what it prints, where it looks, how it exits.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;

use serde_json::{Value, json};
use tempfile::TempDir;

type Outcome = Result<(), Box<dyn std::error::Error>>;

const CONFIG: &str = r#"
[serve]
port = 0
[llm.main]
type = "scripted"
script = "script.json"
[worker.asker]
file = "asker.mjs"
cpu_ms = 60000
[agent.a]
llm = "main"
model = "m"
tools = [{ name = "show", handler = "client" }]
[agent.asker]
llm = "main"
model = "m"
worker = "asker"
"#;

const SCRIPT: &str = r#"{"holdpoint_script": 1, "replies": [
    {"match": {"contains": "hang"}, "text": "late", "delay_ms": 3600000, "times": 0},
    {"match": {"contains": "fail"}, "error": {"message": "It is broken.", "code": "provider_error"}, "times": 0},
    {"match": {"contains": "show"}, "tool_calls": [{"name": "show", "arguments": {}}], "times": 0},
    {"text": "Hello there.", "times": 0}]}"#;

/// Asks in answer to every message that says `ask`.
const ASKER: &str = r#"
export function decide({ trigger, proposed }) {
  if (trigger.type !== "client.messages" || !trigger.messages.at(-1).content.startsWith("ask")) return proposed;
  const options = [{ label: "Red", value: "red", style: "primary" }, { label: "Other", value: "other", input: { label: "Which?" } }];
  const payload = trigger.messages.at(-1).content === "ask options" ? { message: "Which one?", metadata: { options } } : { message: "Go on?" };
  return { ...proposed, actions: [{ type: "interrupt", interrupt_id: "q", reason: "confirmation", payload }] };
}
"#;

fn holdpoint(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdpoint"));
    command.current_dir(folder).env_clear().env("HOME", folder).stdin(Stdio::null());
    command
}

/// A served engine on `x.db`; the first line of its stdout says that it is ready (Q-31).
struct Engine {
    process: Child,
    folder: TempDir,
    url: String,
}

impl Engine {
    fn start() -> Result<Self, Box<dyn std::error::Error>> {
        let folder = TempDir::new()?;
        for (name, text) in [("holdpoint.toml", CONFIG), ("script.json", SCRIPT), ("asker.mjs", ASKER)] {
            fs::write(folder.path().join(name), text)?;
        }
        let mut serve = holdpoint(folder.path());
        serve.args(["serve", "--db", "x.db"]).env("HOLDPOINT_API_KEY", KEY).stdout(Stdio::piped());
        let mut process = serve.stderr(fs::File::create(folder.path().join("log"))?).spawn()?;
        let mut line = String::new();
        BufReader::new(process.stdout.take().ok_or("stdout is piped")?).read_line(&mut line)?;
        let url = line.trim().strip_prefix("listening on ").map(str::to_owned);
        let url = url.ok_or_else(|| format!("the engine did not start: {line:?}"))?;
        Ok(Self { process, folder, url })
    }

    /// A command that finds the engine beside its database.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = holdpoint(self.folder.path());
        command.args(words).env("HOLDPOINT_DB", self.folder.path().join("x.db"));
        command
    }

    fn run(&self, words: &[&str]) -> std::io::Result<Output> {
        self.command(words).output()
    }

    /// What it prints on stdout, as JSON.
    fn json(&self, words: &[&str]) -> Result<Value, Box<dyn std::error::Error>> {
        let output = self.run(words)?;
        assert_eq!(output.status.code(), Some(0), "{words:?}: {}", err(&output));
        Ok(serde_json::from_slice(&output.stdout)?)
    }

    fn sessions(&self) -> Result<Vec<String>, Box<dyn std::error::Error>> {
        let page = self.json(&["sessions", "list", "--json"])?;
        let ids = page["items"].as_array().into_iter().flatten().filter_map(|row| row["session_id"].as_str());
        Ok(ids.map(str::to_owned).collect())
    }

    fn events(&self, session: &str) -> Result<Vec<Value>, Box<dyn std::error::Error>> {
        let output = self.run(&["sessions", "events", session])?;
        Ok(out(&output).lines().map(serde_json::from_str).collect::<Result<_, _>>()?)
    }

    fn last(&self, session: &str, kind: &str) -> Result<Value, Box<dyn std::error::Error>> {
        let found = self.events(session)?.into_iter().rev().find(|event| event["payload"]["type"] == kind);
        Ok(found.ok_or_else(|| format!("no {kind} in {session}"))?["payload"].clone())
    }

    /// A session that waits with a question of this kind.
    fn asked(&self, words: &str) -> Result<String, Box<dyn std::error::Error>> {
        let output = self.run(&["run", "asker", words])?;
        assert_eq!(output.status.code(), Some(3), "CL-7: {}", err(&output));
        session_of(&err(&output))
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

const KEY: &str = "sk_live_0123456789012345678901234567890123456789";

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The id in `run … --session sesn_… …`.
fn session_of(told: &str) -> Result<String, Box<dyn std::error::Error>> {
    let id = told.split_whitespace().find(|word| word.starts_with("sesn_"));
    Ok(id.ok_or_else(|| format!("no session is named: {told}"))?.to_owned())
}

#[test]
fn every_command_that_is_offered_explains_itself_cl1() -> Outcome {
    let folder = TempDir::new()?;
    for words in [
        &["serve"][..],
        &["run"],
        &["sessions", "list"],
        &["sessions", "show"],
        &["sessions", "events"],
        &["sessions", "cancel"],
        &["interrupts", "list"],
        &["interrupts", "resume"],
    ] {
        let output = holdpoint(folder.path()).args(words).arg("--help").output()?;
        assert_eq!((output.status.code(), out(&output).contains("Usage: holdpoint")), (Some(0), true), "{words:?}");
    }
    assert_eq!(holdpoint(folder.path()).arg("fly").output()?.status.code(), Some(2));
    Ok(())
}

#[test]
fn run_exits_with_what_became_of_its_turn_cl6_cl7() -> Outcome {
    let engine = Engine::start()?;
    let ran = engine.run(&["run", "a", "hi"])?;
    assert_eq!((ran.status.code(), out(&ran).trim()), (Some(0), "Hello there."), "{}", err(&ran));
    let session = session_of(&err(&ran))?;
    assert!(err(&ran).contains(&format!("holdpoint run a --session {session}")), "CL-6: how to continue is on stderr");
    assert!(!out(&ran).contains("sesn_"), "CL-6: and not on stdout");
    let more = engine.run(&[
        "run",
        "a",
        "--session",
        &session,
        "-o",
        "jsonl",
        "--input",
        r#"{"type": "client.message", "message": {"role": "user", "content": "on"}}"#,
    ])?;
    assert_eq!(more.status.code(), Some(0), "{}", err(&more));
    let kinds = out(&more).lines().map(serde_json::from_str::<Value>).collect::<Result<Vec<_>, _>>()?;
    assert_eq!(kinds.last().map(|event| &event["payload"]["type"]), Some(&json!("turn.completed")), "CL-6: its stream, then the exit");
    assert!(kinds.iter().all(|event| event["session_id"] == session.as_str()));

    for (words, code) in [(["a", "fail"], 1), (["asker", "ask"], 3), (["a", "show me"], 4)] {
        let output = engine.run(&["run", words[0], words[1]])?;
        assert_eq!(output.status.code(), Some(code), "CL-7: {words:?}: {}", err(&output));
    }
    let before = engine.sessions()?;
    for words in [
        &["run", "a"][..],
        &["run", "a", "hi", "--input", "{}"],
        &["run", "a", "--input", "{"],
        &["run", "a", "--input", "[]"],
        &["run", "nobody", "hi"],
    ] {
        let output = engine.run(words)?;
        assert_eq!(output.status.code(), Some(2), "CL-7: {words:?}: {}", err(&output));
    }
    assert_eq!(engine.sessions()?, before, "CL-6: the agent is checked before a session exists");
    Ok(())
}

/// A `run` whose turn hangs, its first event read.
fn hanging(engine: &Engine) -> Result<(Child, String), Box<dyn std::error::Error>> {
    let mut command = engine.command(&["run", "a", "hang", "-o", "jsonl"]);
    let mut running = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let mut line = String::new();
    BufReader::new(running.stderr.take().ok_or("piped")?).read_line(&mut line)?;
    Ok((running, session_of(&line)?))
}

#[test]
fn another_terminal_cancels_a_run_c17_cl7_cl10() -> Outcome {
    let engine = Engine::start()?;
    let (mut running, session) = hanging(&engine)?;
    assert_eq!(out(&engine.run(&["sessions", "cancel", &session])?).trim(), "cancelled");
    assert_eq!(running.wait()?.code(), Some(130), "CL-7");
    assert_eq!(engine.last(&session, "turn.completed")?["error"]["code"], "cancelled", "C-17");
    let again = engine.run(&["sessions", "cancel", &session])?;
    assert_eq!((again.status.code(), out(&again).trim()), (Some(0), "nothing was running"), "C-26");
    assert_eq!(engine.run(&["sessions", "cancel", "sesn_none"])?.status.code(), Some(1));
    Ok(())
}

#[cfg(unix)]
fn press_ctrl_c(process: &Child) -> Outcome {
    assert!(Command::new("kill").args(["-INT", &process.id().to_string()]).status()?.success());
    Ok(())
}

#[cfg(unix)]
#[test]
fn ctrl_c_cancels_the_run_and_exits_with_130_c16() -> Outcome {
    let engine = Engine::start()?;
    let (mut running, session) = hanging(&engine)?;
    press_ctrl_c(&running)?;
    assert_eq!(running.wait()?.code(), Some(130));
    assert_eq!(engine.last(&session, "turn.completed")?["error"]["code"], "cancelled");
    Ok(())
}

/// An engine that takes an input, shows no event, and never answers a cancel. Tells when it was asked for one.
fn silent_engine() -> Result<(String, mpsc::Receiver<()>), std::io::Error> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("http://{}", listener.local_addr()?);
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let tell = tell.clone();
            std::thread::spawn(move || answer(stream, &tell));
        }
    });
    Ok((url, told))
}

fn answer(mut stream: TcpStream, tell: &mpsc::Sender<()>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut target = String::new();
    reader.read_line(&mut target)?;
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        if let Some(number) = line.to_lowercase().strip_prefix("content-length:") {
            length = number.trim().parse().unwrap_or(0);
        }
        if line.trim().is_empty() {
            break;
        }
    }
    reader.read_exact(&mut vec![0; length])?;
    if target.contains("/input") {
        let body = r#"{"session_id": "sesn_1", "turn_id": "turn_1", "queued": false}"#;
        write!(
            stream,
            "HTTP/1.1 202 Accepted\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )?;
        return Ok(());
    }
    if target.contains("/cancel") {
        let _ = tell.send(()); // a test that is over listens no more
    } else {
        write!(stream, "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")?;
    }
    // Until the other side goes.
    reader.read(&mut [0]).map(|_| ())
}

#[cfg(unix)]
#[test]
fn a_second_ctrl_c_does_not_wait_for_the_answer_c16() -> Outcome {
    let (url, cancelling) = silent_engine()?;
    let folder = TempDir::new()?;
    let mut command = holdpoint(folder.path());
    let mut running = command.args(["run", "a", "hang", "--url", &url]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
    let mut line = String::new();
    BufReader::new(running.stderr.take().ok_or("piped")?).read_line(&mut line)?;
    assert!(line.contains("holdpoint run a --session sesn_1"), "C-16: how to continue: {line}");
    press_ctrl_c(&running)?;
    cancelling.recv()?;
    press_ctrl_c(&running)?;
    assert_eq!(running.wait()?.code(), Some(130));
    Ok(())
}

#[test]
fn a_flag_wins_over_the_environment_that_over_the_file_and_the_default_cl2() -> Outcome {
    let engine = Engine::start()?;
    let (elsewhere, list) = (TempDir::new()?, ["sessions", "list", "--json"]);
    let db = engine.folder.path().join("x.db");
    let db = db.to_str().ok_or("a path in UTF-8")?;
    let nobody = ("HOLDPOINT_URL", "http://127.0.0.1:1");
    let code = |command: &mut Command| command.output().map(|output| output.status.code());
    let from = |folder: &Path| {
        let mut command = holdpoint(folder);
        command.args(list);
        command
    };
    assert_eq!(code(from(elsewhere.path()).args(["--db", db]).env(nobody.0, nobody.1))?, Some(0), "--db over HOLDPOINT_URL");
    assert_eq!(code(from(elsewhere.path()).args(["--db", db]).env("HOLDPOINT_DB", "none.db"))?, Some(0), "--db over HOLDPOINT_DB");
    assert_eq!(code(from(elsewhere.path()).args(["--url", &engine.url]).env("HOLDPOINT_API_KEY", KEY).env(nobody.0, nobody.1))?, Some(0));
    assert_eq!(code(from(elsewhere.path()).args(["--url", &engine.url]))?, Some(1), "HOLDPOINT_API_KEY is the credential for a URL");
    assert_eq!(code(from(elsewhere.path()).args(["--url", &engine.url, "--db", db]))?, Some(2), "one or the other");
    fs::write(elsewhere.path().join("holdpoint.toml"), "db = \"none.db\"\n")?;
    assert_eq!(code(from(elsewhere.path()).env("HOLDPOINT_DB", db))?, Some(0), "HOLDPOINT_DB over the file");
    assert_eq!(code(from(elsewhere.path()).env("HOLDPOINT_URL", &engine.url).env("HOLDPOINT_API_KEY", KEY))?, Some(0));
    let refused = from(elsewhere.path()).output()?;
    assert_eq!((refused.status.code(), err(&refused).contains("none.db")), (Some(1), true), "the file's: {}", err(&refused));
    fs::write(elsewhere.path().join("holdpoint.toml"), format!("[remote]\nurl = \"{}\"\n", engine.url))?;
    assert_eq!(code(from(elsewhere.path()).env("HOLDPOINT_API_KEY", KEY))?, Some(0), "[remote] of the file");

    let bare = TempDir::new()?;
    for words in [&["sessions", "list"][..], &["sessions", "show", "x"], &["sessions", "events", "x"], &["interrupts", "list"]] {
        let output = holdpoint(bare.path()).args(words).output()?;
        assert_eq!(output.status.code(), Some(1), "{words:?}");
        assert!(err(&output).contains("there is no database") && err(&output).contains("holdpoint.db"), "the default: {}", err(&output));
    }
    assert_eq!(fs::read_dir(bare.path())?.count(), 0, "and none is made");
    Ok(())
}

#[test]
fn a_database_that_is_held_is_reached_through_its_holder_cl9_c18() -> Outcome {
    let mut engine = Engine::start()?;
    assert_eq!(engine.run(&["sessions", "list"])?.status.code(), Some(0), "no key is needed: the operator token lies beside the file");
    let session = engine.asked("ask")?;
    let answered = engine.run(&["interrupts", "resume", &session, "q", "--text", "yes"])?;
    assert_eq!(answered.status.code(), Some(0), "{}", err(&answered));
    engine.process.kill()?;
    engine.process.wait()?;
    let told = engine.run(&["interrupts", "list"])?;
    assert_eq!((told.status.code(), err(&told).contains("nothing answers there")), (Some(1), true), "{}", err(&told));
    let operator = engine.folder.path().join("x.db.operator");
    fs::write(&operator, "op_token\n")?;
    let told = engine.run(&["sessions", "list"])?;
    assert_eq!((told.status.code(), err(&told).contains("does not listen on HTTP")), (Some(1), true), "{}", err(&told));
    fs::remove_file(&operator)?;
    let told = engine.run(&["sessions", "list"])?;
    assert_eq!((told.status.code(), err(&told).contains("no engine runs on")), (Some(1), true), "{}", err(&told));
    Ok(())
}

#[test]
fn sessions_are_listed_in_pages_shown_and_read_from_any_event_cl10() -> Outcome {
    let engine = Engine::start()?;
    for (agent, text) in [("a", "one"), ("a", "two"), ("asker", "three")] {
        assert_eq!(engine.run(&["run", agent, text])?.status.code(), Some(0));
    }
    let all = engine.sessions()?;
    assert_eq!(all.len(), 3);
    let page = engine.json(&["sessions", "list", "--limit", "2", "--json"])?;
    let cursor = page["next_cursor"].as_str().ok_or("a next page")?;
    let rest = engine.json(&["sessions", "list", "--cursor", cursor, "--json"])?;
    let ids = |page: &Value| page["items"].as_array().into_iter().flatten().map(|row| row["session_id"].clone()).collect::<Vec<_>>();
    assert_eq!([ids(&page), ids(&rest)].concat(), all.iter().map(|id| json!(id)).collect::<Vec<_>>());
    let of_agent = engine.json(&["sessions", "list", "--agent-id", "asker", "--json"])?;
    assert_eq!((ids(&of_agent).len(), &of_agent["items"][0]["agent_id"]), (1, &json!("asker")));
    let id = &all[0];
    assert_eq!(ids(&engine.json(&["sessions", "list", "--session-id", id, "--json"])?), [json!(id)]);
    let table = out(&engine.run(&["sessions", "list"])?);
    assert!(all.iter().all(|id| table.contains(id)), "{table}");
    assert_eq!(engine.json(&["sessions", "show", id])?["session_id"], json!(id));

    let events = engine.events(id)?;
    let seqs: Vec<u64> = events.iter().filter_map(|event| event["seq"].as_u64()).collect();
    assert_eq!(seqs, (1..=events.len() as u64).collect::<Vec<_>>());
    let from = engine.run(&["sessions", "events", id, "--from", "3"])?;
    assert_eq!(out(&from).lines().count(), events.len() - 2, "--from names the first event");
    let pretty = out(&engine.run(&["sessions", "events", id, "-o", "pretty"])?);
    assert!(pretty.contains("session.created") && !pretty.contains('{'), "{pretty}");
    let mut follow = engine.command(&["sessions", "events", id, "-f"]).stdout(Stdio::piped()).spawn()?;
    let mut lines = BufReader::new(follow.stdout.take().ok_or("piped")?).lines();
    for event in &events {
        assert_eq!(serde_json::from_str::<Value>(&lines.next().ok_or("it goes on")??)?["seq"], event["seq"]);
    }
    assert_eq!(engine.run(&["run", "a", "more", "--session", id])?.status.code(), Some(0));
    let next: Value = serde_json::from_str(&lines.next().ok_or("it follows")??)?;
    assert_eq!(next["seq"], json!(events.len() + 1));
    follow.kill()?;
    follow.wait()?;
    Ok(())
}

#[test]
fn a_question_is_printed_and_answered_as_channel_cli_cl11_i64() -> Outcome {
    let engine = Engine::start()?;
    let answers: [(&str, &[&str], Value); 6] = [
        (
            "ask options",
            &["--option", "1"],
            json!({"status": "resolved", "payload": "red", "responder": {"channel": "cli", "label": "Red", "style": "primary"}}),
        ),
        (
            "ask options",
            &["--option", "Other", "--note", "blue"],
            json!({"status": "resolved", "payload": "other", "responder": {"channel": "cli", "label": "Other", "text": "blue"}}),
        ),
        ("ask", &["--text", "7"], json!("7")),
        ("ask", &["--json", "{\"n\": 7}"], json!({"n": 7})),
        ("ask", &["--option", "Decline"], json!({"approved": false})),
        ("ask", &["--cancel"], json!({"status": "cancelled"})),
    ];
    for (words, how, payload) in answers {
        let session = engine.asked(words)?;
        let listed = engine.json(&["interrupts", "list", "--session", &session, "--json"])?;
        assert_eq!((listed.as_array().map(Vec::len), &listed[0]["interrupt_id"]), (Some(1), &json!("q")));
        let told = engine.run(&[&["interrupts", "resume", &session, "q"], how].concat())?;
        assert_eq!(told.status.code(), Some(0), "{how:?}: {}", err(&told));
        let question = if words == "ask" { "Go on?" } else { "Which one?" };
        assert_eq!(out(&told).lines().next(), Some(question), "it prints the question before it answers");
        let resumed = engine.last(&session, "session.interrupt_resumed")?;
        assert_eq!((&resumed["payload"], &resumed["verification"]), (&payload, &json!("verified")), "{how:?}, I-91");
        let responder = if payload["responder"].is_object() { &payload["responder"] } else { &resumed["responder"] };
        assert_eq!(responder["channel"], "cli", "{how:?}");
    }
    let session = engine.asked("ask options")?;
    for how in [&[][..], &["--option", "1", "--text", "x"], &["--note", "x"], &["--option", "3"], &["--option", "red"], &["--json", "{"]] {
        let output = engine.run(&[&["interrupts", "resume", &session, "q"], how].concat())?;
        assert_eq!(output.status.code(), Some(2), "{how:?}: {}", err(&output));
    }
    assert!(out(&engine.run(&["interrupts", "list"])?).contains(&session), "it is still open");
    assert_eq!(engine.run(&["interrupts", "resume", &session, "other", "--cancel"])?.status.code(), Some(1));
    Ok(())
}
