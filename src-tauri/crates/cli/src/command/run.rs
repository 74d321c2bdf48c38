//! `run`: one input, its stream, exit (CL-6, CL-7). A guest of the running engine.

use futures::StreamExt as _;
use holdpoint_core::id::IdGen;
use holdpoint_core::time::Millis;
use serde_json::{Value, json};

use crate::Ended;
use crate::args::{EventFormat, Run};
use crate::guest::Guest;
use crate::output::{self, say, tell};

const PAUSED: u8 = 3;
const WAITS_FOR_CLIENT: u8 = 4;
const CANCELLED: u8 = 130;

pub(crate) async fn run(args: Run) -> Result<u8, Ended> {
    let input = input(&args)?;
    let guest = Guest::of(&args.target)?;
    // Heard from before the input on, so that no Ctrl-C leaves behind a run that nobody follows.
    let mut interrupts = interrupts()?;
    let body = match &args.session {
        Some(session) => json!({"session_id": session, "input": input}),
        None => json!({"input": input}),
    };
    let mut sent = Box::pin(guest.post("/api/client/sessions/input", &body));
    let (receipt, stop) = tokio::select! {
        receipt = &mut sent => (receipt?, false),
        _ = interrupts.recv() => tokio::select! {
            receipt = &mut sent => (receipt?, true),
            _ = interrupts.recv() => return Ok(CANCELLED),
        },
    };
    let session = output::word(&receipt["session_id"]);
    tell!("continue with: holdpoint run {} --session {session} \"…\"", args.agent);
    let Some(turn) = receipt["turn_id"].as_str().map(str::to_owned) else { return Ok(0) };
    if stop {
        return cancel(&guest, &session, &mut interrupts).await;
    }
    let follow = Follow { guest: &guest, session: &session, turn: &turn, format: args.output, saw_text: false };
    tokio::select! {
        code = follow.until_over() => code,
        _ = interrupts.recv() => cancel(&guest, &session, &mut interrupts).await,
    }
}

#[cfg(unix)]
fn interrupts() -> Result<Interrupts, Ended> {
    tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt()).map_err(Ended::failed)
}

#[cfg(windows)]
fn interrupts() -> Result<Interrupts, Ended> {
    tokio::signal::windows::ctrl_c().map_err(Ended::failed)
}

#[cfg(unix)]
type Interrupts = tokio::signal::unix::Signal;
#[cfg(windows)]
type Interrupts = tokio::signal::windows::CtrlC;

fn input(args: &Run) -> Result<Value, Ended> {
    let Some(text) = &args.input else {
        // An id of our own makes the input safe to repeat (N-3).
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let seed = now.as_nanos() ^ (u128::from(std::process::id()) << 64);
        let turn = IdGen::new(Millis(now.as_millis() as i64), seed).turn();
        let message = json!({"role": "user", "content": args.message});
        return Ok(json!({"type": "client.message", "agent_id": args.agent, "turn_id": turn, "message": message}));
    };
    let mut input: Value = serde_json::from_str(text).map_err(|error| Ended::usage(format!("--input: {error}")))?;
    match &mut input {
        Value::Object(map) => {
            if map.get("type").and_then(Value::as_str).is_some_and(|kind| kind.starts_with("client.")) {
                map.insert("agent_id".to_owned(), json!(args.agent));
            }
            Ok(input)
        }
        _ => Err(Ended::usage("--input: must be a JSON object")),
    }
}

/// C-16: the first Ctrl-C cancels and says how to go on; a second one does not wait for the answer.
async fn cancel(guest: &Guest, session: &str, interrupts: &mut Interrupts) -> Result<u8, Ended> {
    let path = format!("/api/machine/sessions/{session}/cancel");
    let body = json!({});
    tokio::select! {
        told = guest.post(&path, &body) => told.map(|_| CANCELLED),
        _ = interrupts.recv() => Ok(CANCELLED),
    }
}

struct Follow<'a> {
    guest: &'a Guest,
    session: &'a str,
    turn: &'a str,
    format: EventFormat,
    saw_text: bool,
}

impl Follow<'_> {
    async fn until_over(mut self) -> Result<u8, Ended> {
        let path = format!("/api/machine/sessions/{}/events/stream", self.session);
        let mut frames = self.guest.stream(&path, &[("turn_id", self.turn.to_owned())]).await?;
        while let Some((kind, frame)) = frames.next().await {
            if kind == "llm.token.delta" {
                self.delta(&frame);
            }
            // What is not in the log is shown live or not at all.
            if !frame["payload"].is_object() {
                continue;
            }
            self.show(&frame);
            if let Some(code) = self.ending(&frame["payload"]).await? {
                return Ok(code);
            }
        }
        Err(Ended::failed("the engine closed the stream before the turn was over"))
    }

    fn delta(&mut self, frame: &Value) {
        if let (EventFormat::Pretty, Some(text)) = (self.format, frame["text"].as_str()) {
            output::print(text);
            self.saw_text = true;
        }
    }

    fn show(&mut self, envelope: &Value) {
        if self.format == EventFormat::Jsonl {
            return output::event(EventFormat::Jsonl, envelope);
        }
        let payload = &envelope["payload"];
        match payload["type"].as_str() {
            Some("message.new") if payload["message"]["role"] == "assistant" => {
                if self.saw_text {
                    say!("");
                } else {
                    say!("{}", output::text_of(&payload["message"]));
                }
                self.saw_text = false;
            }
            Some("tool.call.completed") => tell!("● {}", output::word(&payload["name"])),
            Some("tool.call.errored") => tell!("✗ {}", output::word(&payload["name"])),
            Some("session.interrupted") => tell!("⏸ {}", output::question(payload)),
            _ => {}
        }
    }

    /// CL-7.
    async fn ending(&self, payload: &Value) -> Result<Option<u8>, Ended> {
        match payload["type"].as_str() {
            Some("turn.completed") if payload["turn_id"] == self.turn => {
                let error = &payload["error"];
                if error.is_null() {
                    return Ok(Some(0));
                }
                tell!("holdpoint: {}", output::word(&error["message"]));
                Ok(Some(if error["code"] == "cancelled" { CANCELLED } else { crate::exit::FAILED }))
            }
            Some("session.interrupted") => self.paused(payload).await,
            Some("tool.call.requested") if payload["handler"] == "client" => {
                tell!("waits for a client to run {}", output::word(&payload["name"]));
                Ok(Some(WAITS_FOR_CLIENT))
            }
            _ => Ok(None),
        }
    }

    async fn paused(&self, payload: &Value) -> Result<Option<u8>, Ended> {
        let state = self.guest.get(&format!("/api/admin/sessions/{}", self.session), &[]).await?;
        if state["status"] != "interrupted" {
            return Ok(None);
        }
        let how = if payload["payload"]["responseSchema"].is_object() { "--json" } else { "--option" };
        tell!("answer with: holdpoint interrupts resume {} {} {how} …", self.session, output::word(&payload["interrupt_id"]));
        Ok(Some(PAUSED))
    }
}
