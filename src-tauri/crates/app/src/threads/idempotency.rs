//! The interrupt of a thread as `/v1` asks for it: its checks in order (TH-23), and one answer per idempotency key (TH-12…TH-15).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use holdpoint_core::json::{canonical, sha256_hex};
use tokio::sync::OwnedMutexGuard;

use super::{
    Answered, App, Append, CommandReceipt, Failure, KeyHolder, Millis, Problem, REASON_MAX, SessionId, Value, json, now, reason_or_default,
};

/// How long a key counts (TH-12).
const KEY_MS: i64 = 24 * 3600 * 1000;
const KEY_CHARS: usize = 255;

/// One request, as it came in.
#[derive(Clone, Debug)]
pub struct Interrupt {
    /// As sent: a key counts per path (TH-15).
    pub path: String,
    pub session: String,
    pub thread: String,
    /// `None` also stands for a key that is no text.
    pub key: Option<Result<String, ()>>,
    pub content_type: Option<String>,
    pub body: Result<Vec<u8>, String>,
    pub request_id: String,
}

/// Status and body, ready to be sent and to be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    pub status: u16,
    pub body: String,
}

/// Keys whose first request is at work: duplicates wait here (TH-15).
#[derive(Default)]
pub(crate) struct AtWork(Mutex<HashMap<String, Weak<tokio::sync::Mutex<()>>>>);

impl AtWork {
    async fn enter(&self, key: &str) -> OwnedMutexGuard<()> {
        let door = {
            let mut doors = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            doors.retain(|_, door| door.strong_count() > 0);
            let known = doors.get(key).and_then(Weak::upgrade);
            known.unwrap_or_else(|| {
                let door = Arc::default();
                doors.insert(key.to_owned(), Arc::downgrade(&door));
                door
            })
        };
        door.lock_owned().await
    }
}

/// The key's place in the database, and what makes a request the same one.
struct Key {
    receipt_id: String,
    body_hash: Option<String>,
    at: Millis,
}

impl Key {
    fn receipt(&self, told: &Told) -> CommandReceipt {
        let body = json!({"at": self.at.0, "body_hash": self.body_hash, "status": told.status, "body": told.body});
        CommandReceipt { command_id: self.receipt_id.clone(), body }
    }
}

impl App {
    /// `POST /v1/sessions/{session}/threads/{thread}/interrupt`. Goes on to its end when the caller has gone: the answer is then kept
    /// for the retry.
    pub async fn v1_interrupt(&self, caller: KeyHolder, request: Interrupt) -> Told {
        let app = self.clone();
        let request_id = request.request_id.clone();
        let work = self.inner.tasks.spawn(async move { app.interrupt_at(&caller, request, now()).await });
        work.await.unwrap_or_else(|_| told(&Problem::new(500, "internal", "the engine stopped this request with a bug"), &request_id))
    }

    pub(super) async fn interrupt_at(&self, caller: &KeyHolder, request: Interrupt, at: Millis) -> Told {
        let answered = self.keyed(caller, &request, at).await;
        answered.unwrap_or_else(|problem| told(&problem, &request.request_id))
    }

    async fn keyed(&self, caller: &KeyHolder, request: &Interrupt, at: Millis) -> Result<Told, Problem> {
        let Some(key) = &request.key else { return self.interrupt_once(caller, request, None).await };
        let wrong = || Problem::parameter("Idempotency-Key", &format!("is a text of 1 to {KEY_CHARS} characters"));
        let key = key.as_ref().map_err(|()| wrong())?;
        if key.is_empty() || key.chars().count() > KEY_CHARS {
            return Err(wrong());
        }
        let place = sha256_hex(format!("{}\nPOST\n{}\n{key}", caller.scope, request.path).as_bytes());
        let receipt_id = format!("v1:{place}");
        let _first = self.inner.threads.at_work.enter(&receipt_id).await;
        // Q-22: a body that is no JSON has no hash, so it is the same as none.
        let body_hash = json_of(request).ok().map(|body| sha256_hex(canonical(&body).as_bytes()));
        if let Some(kept) = self.first_answer(&receipt_id, at).await? {
            return replay(&kept, body_hash.as_deref());
        }
        self.interrupt_once(caller, request, Some(&Key { receipt_id, body_hash, at })).await
    }

    /// The first answer under this key, for 24 hours (TH-13).
    async fn first_answer(&self, receipt_id: &str, at: Millis) -> Answered<Option<Value>> {
        let Some(kept) = self.inner.store.receipt(receipt_id)? else { return Ok(None) };
        if at.0 - kept["at"].as_i64().unwrap_or_default() < KEY_MS {
            return Ok(Some(kept));
        }
        self.inner.store.forget_receipt(receipt_id).await?;
        Ok(None)
    }

    async fn interrupt_once(&self, caller: &KeyHolder, request: &Interrupt, key: Option<&Key>) -> Result<Told, Problem> {
        let reason = reason_of(request)?;
        let ended = match self.try_interrupt(caller, request, reason_or_default(reason.as_deref()), key).await {
            Ok(object) => return Ok(Told { status: 200, body: object.to_string() }),
            Err(problem) if problem.status >= 500 => return Err(problem),
            Err(problem) => told(&problem, &request.request_id),
        };
        if let Some(key) = key {
            let append = Append { sessions: Vec::new(), receipt: Some(key.receipt(&ended)) };
            self.inner.store.append(append).await.map_err(Failure::from)?;
        }
        Ok(ended)
    }

    /// What is left of TH-23 when the request itself is in order. Each answer from here is kept, but for faults.
    async fn try_interrupt(&self, caller: &KeyHolder, request: &Interrupt, reason: &str, key: Option<&Key>) -> Result<Value, Problem> {
        let (root, id) = self.v1_member(caller, &request.session, &request.thread)?;
        if id == root {
            return Err(primary(&root));
        }
        let keep = |object: &Value| key.map(|key| key.receipt(&Told { status: 200, body: object.to_string() }));
        let stopped = self.stop(&caller.tenant, &root, &id, reason, keep).await?;
        stopped.ok_or_else(|| Problem::new(409, "thread_not_running", "this thread has ended already"))
    }
}

fn told(problem: &Problem, request_id: &str) -> Told {
    Told { status: problem.status, body: problem.body(request_id) }
}

fn replay(kept: &Value, body_hash: Option<&str>) -> Result<Told, Problem> {
    if body_hash.is_none() || kept["body_hash"].as_str() != body_hash {
        let message = "this Idempotency-Key was used with another body; use a new key for a new request";
        return Err(Problem::new(409, "idempotency_key_reused", message));
    }
    let status = kept["status"].as_u64().unwrap_or(500) as u16;
    Ok(Told { status, body: kept["body"].as_str().unwrap_or_default().to_owned() })
}

/// TH-25.
fn primary(root: &SessionId) -> Problem {
    let message = format!("the primary thread is stopped with its session: POST /api/machine/sessions/{root}/cancel");
    Problem::new(400, "cannot_interrupt_primary", message)
}

/// TH-10, TH-18.
fn reason_of(request: &Interrupt) -> Result<Option<String>, Problem> {
    let media_type = request.content_type.as_deref().and_then(|whole| whole.split(';').next()).unwrap_or_default();
    if !media_type.trim().eq_ignore_ascii_case("application/json") {
        return Err(Problem::new(400, "invalid_content_type", "send the body as `Content-Type: application/json`"));
    }
    let Value::Object(mut fields) = json_of(request)? else { return Err(Problem::parameter("body", "must be a JSON object")) };
    match fields.remove("reason") {
        None => Ok(None),
        Some(Value::String(reason)) if reason.chars().count() <= REASON_MAX => Ok(Some(reason)),
        Some(Value::String(_)) => Err(Problem::parameter("reason", &format!("has at most {REASON_MAX} characters"))),
        Some(_) => Err(Problem::parameter("reason", "must be a string")),
    }
}

/// An empty body counts as `{}`.
fn json_of(request: &Interrupt) -> Result<Value, Problem> {
    let bytes = request.body.as_ref().map_err(|problem| Problem::parameter("body", problem))?;
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Ok(json!({}));
    }
    serde_json::from_slice(bytes).map_err(|error| Problem::new(400, "invalid_json", format!("the body is not valid JSON: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;

    const CONFIG: &str = "[llm.a]\ntype = \"scripted\"\nscript = \"a.json\"\n[agent.a]\nllm = \"a\"\nmodel = \"m\"\n";

    fn request(id: &str) -> Interrupt {
        Interrupt {
            path: "/v1/sessions/sesn_none/threads/thr_none/interrupt".to_owned(),
            session: "sesn_none".to_owned(),
            thread: "thr_none".to_owned(),
            key: Some(Ok("k".to_owned())),
            content_type: Some("application/json".to_owned()),
            body: Ok(Vec::new()),
            request_id: id.to_owned(),
        }
    }

    #[tokio::test]
    async fn after_24_hours_a_key_is_unknown_again_th12_th13() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = |name: &str| folder.path().join(name);
        std::fs::write(file("holdpoint.toml"), CONFIG).expect("the folder takes files");
        std::fs::write(file("a.json"), r#"{"holdpoint_script": 1, "replies": []}"#).expect("the folder takes files");
        let options = Options { config: file("holdpoint.toml"), db: Some(file("hp.db")), api_key: None, ..Options::default() };
        let app = App::open(options).await.expect("the project is valid");
        let caller = KeyHolder::local();
        let mut answered = Vec::new();
        for (id, at) in [("req_1", 0), ("req_2", KEY_MS - 1), ("req_3", KEY_MS), ("req_4", KEY_MS + 1)] {
            let told = app.interrupt_at(&caller, request(id), Millis(at)).await;
            let body: Value = serde_json::from_str(&told.body).expect("JSON");
            answered.push((told.status, body["request_id"].as_str().unwrap_or_default().to_owned()));
        }
        let expected = ["req_1", "req_1", "req_3", "req_3"].map(|id| (404, id.to_owned()));
        assert_eq!(answered, expected, "the first answer, then a new one and that again");
        app.close().await;
    }
}
