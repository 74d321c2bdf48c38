//! The real program among hostile surroundings: text that would steer a terminal, a log nobody can write.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use tempfile::TempDir;

type Outcome = Result<(), Box<dyn std::error::Error>>;

const CONFIG: &str =
    "[serve]\nport = 0\n[llm.main]\ntype = \"scripted\"\nscript = \"script.json\"\n[agent.a]\nllm = \"main\"\nmodel = \"m\"\n";

fn holdpoint(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdpoint"));
    command.current_dir(folder).env_clear().env("HOME", folder).env("HOLDPOINT_DB", folder.join("x.db")).stdin(Stdio::null());
    command
}

/// A served engine; the first line of its stdout says that it is ready.
struct Engine(Child);

impl Engine {
    fn start(folder: &Path, log: File) -> Result<Self, Box<dyn std::error::Error>> {
        let mut child = holdpoint(folder).arg("serve").stdout(Stdio::piped()).stderr(log).spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().ok_or("stdout is piped")?).read_line(&mut line)?;
        let engine = Self(child);
        if line.starts_with("listening on ") { Ok(engine) } else { Err(format!("the engine did not start: {line:?}").into()) }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn folder(reply: &str) -> std::io::Result<TempDir> {
    let folder = TempDir::new()?;
    fs::write(folder.path().join("holdpoint.toml"), CONFIG)?;
    let script = serde_json::json!({"holdpoint_script": 1, "replies": [{"text": reply, "times": 0}]});
    fs::write(folder.path().join("script.json"), script.to_string())?;
    Ok(folder)
}

fn shown(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn no_command_hands_the_terminal_a_control_character_it_was_sent() -> Outcome {
    const EVIL: &str = "a\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\u{202e}b\u{8}\u{7f}";
    let folder = folder(EVIL)?;
    let _engine = Engine::start(folder.path(), File::create(folder.path().join("log"))?)?;
    let ran = holdpoint(folder.path()).args(["run", "a", EVIL]).output()?;
    assert_eq!(ran.status.code(), Some(0), "{}", shown(&ran));
    let listed = holdpoint(folder.path()).args(["sessions", "list", "--json"]).output()?;
    let page: serde_json::Value = serde_json::from_slice(&listed.stdout)?;
    let id = page["items"][0]["session_id"].as_str().ok_or("one session is listed")?.to_owned();
    let commands: [&[&str]; 5] = [
        &["sessions", "list"],
        &["sessions", "show", &id],
        &["sessions", "events", &id],
        &["sessions", "events", &id, "-o", "pretty"],
        &["sessions", "show", EVIL],
    ];
    let outputs = commands.iter().map(|command| holdpoint(folder.path()).args(*command).output());
    for output in [Ok(ran), Ok(listed)].into_iter().chain(outputs) {
        let text = shown(&output?);
        assert!(text.chars().all(|c| c == '\n' || !(c.is_control() || c == '\u{202e}')), "{text:?}");
        assert!(text.contains("u001b]0;owned"), "the text itself is still told: {text}");
    }
    Ok(())
}

#[cfg(target_os = "linux")]
#[test]
fn a_log_on_a_full_disk_does_not_stop_the_engine() -> Outcome {
    let folder = folder("hello")?;
    let full = OpenOptions::new().write(true).open("/dev/full")?;
    let _engine = Engine::start(folder.path(), full)?;
    let ran = holdpoint(folder.path()).args(["run", "a", "hi"]).output()?;
    assert_eq!((ran.status.code(), String::from_utf8_lossy(&ran.stdout).trim()), (Some(0), "hello"), "{}", shown(&ran));
    Ok(())
}
