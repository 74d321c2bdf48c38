//! `holdpoint connections` against a served engine and a server with its own authorization server (CL-12, M-2, M-21, M-23).

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use tempfile::TempDir;

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// A program that says on its first line that it is ready.
struct Running {
    child: Child,
    first: String,
    out: BufReader<ChildStdout>,
}

impl Running {
    fn start(command: &mut Command) -> Result<Self, Box<dyn std::error::Error>> {
        let mut child = command.stdout(Stdio::piped()).spawn()?;
        let mut out = BufReader::new(child.stdout.take().ok_or("stdout is piped")?);
        let mut first = String::new();
        out.read_line(&mut first)?;
        Ok(Self { child, first: first.trim().to_owned(), out })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Place {
    folder: TempDir,
    far: Running,
    _engine: Running,
}

fn holdpoint(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdpoint"));
    command.current_dir(folder).env_clear().env("HOME", folder).env("HOLDPOINT_DB", folder.join("x.db")).stdin(Stdio::null());
    command
}

impl Place {
    fn new(auth: &str) -> Result<Self, Box<dyn std::error::Error>> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../effects-mcp/tests/oauth.mjs");
        let far = Running::start(Command::new("node").arg(script).stderr(Stdio::null()))?;
        let folder = TempDir::new()?;
        let config = format!("[serve]\nport = 0\n[mcp.one]\nurl = \"http://127.0.0.1:{}/mcp\"\n{auth}\n", far.first);
        std::fs::write(folder.path().join("holdpoint.toml"), config)?;
        let engine = Running::start(holdpoint(folder.path()).arg("serve").stderr(Stdio::null()))?;
        assert!(engine.first.starts_with("listening on "), "{}", engine.first);
        Ok(Self { folder, far, _engine: engine })
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = holdpoint(self.folder.path());
        command.arg("connections").args(arguments);
        command
    }

    fn row(&self) -> Result<serde_json::Value, Box<dyn std::error::Error>> {
        let listed = self.command(&["list", "--json"]).output()?;
        let rows: serde_json::Value = serde_json::from_slice(&listed.stdout)?;
        Ok(rows[0].clone())
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn shown(output: &Output) -> String {
    text(&output.stdout) + &text(&output.stderr)
}

#[test]
fn a_link_is_printed_and_the_command_ends_when_the_authorization_was_given() -> Outcome {
    let place = Place::new("auth = \"oauth\"")?;
    let listed = place.command(&["list"]).output()?;
    let row: Vec<String> = text(&listed.stdout).lines().nth(1).unwrap_or_default().split_whitespace().map(str::to_owned).collect();
    assert_eq!(row, ["mcp.one", "never_authorized", &format!("http://127.0.0.1:{}/mcp", place.far.first)]);
    let mut waiting = Running::start(place.command(&["authorize", "mcp.one"]).stderr(Stdio::null()))?;
    assert_eq!(waiting.first, format!("Authorize mcp.one at 127.0.0.1:{}:", place.far.first));
    let mut link = String::new();
    waiting.out.read_line(&mut link)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let page = runtime.block_on(async { reqwest::get(link.trim()).await?.text().await })?;
    assert!(page.starts_with("mcp.one is authorized."), "{page}");
    let mut said = String::new();
    waiting.out.read_line(&mut said)?;
    assert_eq!((said.trim(), waiting.child.wait()?.code()), ("authorized", Some(0)));
    assert_eq!(place.row()?["credential"], "oauth");
    let forgotten = place.command(&["forget", "mcp.one"]).output()?;
    assert_eq!((forgotten.status.code(), text(&forgotten.stdout).trim()), (Some(0), "forgotten"), "{}", shown(&forgotten));
    assert_eq!(place.row()?["needs"], "never_authorized");
    Ok(())
}

#[test]
fn a_token_is_read_from_standard_input_and_printed_nowhere() -> Outcome {
    let place = Place::new("auth = \"token\"")?;
    let mut command = place.command(&["set-token", "mcp.one"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    child.stdin.take().ok_or("stdin is piped")?.write_all(b"s3cret\n")?;
    let kept = child.wait_with_output()?;
    assert_eq!((kept.status.code(), text(&kept.stdout).trim()), (Some(0), "kept"), "{}", shown(&kept));
    let row = place.row()?;
    assert_eq!(row["credential"], "token");
    assert!(!row.to_string().contains("s3cret") && !shown(&kept).contains("s3cret"));
    let refused = place.command(&["authorize", "mcp.one"]).output()?;
    assert_eq!(refused.status.code(), Some(2), "{}", shown(&refused));
    assert!(shown(&refused).contains("it is not authorized in a browser"), "{}", shown(&refused));
    Ok(())
}
