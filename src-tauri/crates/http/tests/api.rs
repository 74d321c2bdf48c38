//! The API over a real engine on a temporary database: credentials, shapes, streams, the desk's operations and its feed.

use std::path::Path;

use eventsource_stream::Eventsource as _;
use futures::{Stream, StreamExt as _};
use holdpoint_app::{App, Options, keys, paths};
use holdpoint_http::{ServeError, Settings, bind};
use reqwest::{Client, Method};
use serde_json::{Value, json};
use tempfile::TempDir;

const CONFIG: &str = r#"
[llm.main]
type = "scripted"
script = "script.json"
[worker.asker]
file = "asker.mjs"
cpu_ms = 60000
[agent.talker]
llm = "main"
model = "m1"
[agent.asker]
llm = "main"
model = "m1"
worker = "asker"
"#;

const SCRIPT: &str = r#"{"holdpoint_script": 1, "replies": [
    {"match": {"role": "user", "contains": "pick"}, "tool_calls": [{"id": "call_1", "name": "pick", "arguments": {}}], "times": 0},
    {"match": {"role": "user", "contains": "other words"}, "text": "Another branch.", "times": 0},
    {"text": "Hello there.", "times": 0}]}"#;

/// Asks before its tool runs, and ends the call with what was chosen.
const ASKER: &str = r#"
export function decide({ trigger, proposed }) {
  if (trigger.type === "session.start") {
    return { ...proposed, agent: { ...proposed.agent, tools: [{ name: "pick", input: { type: "object" } }] } };
  }
  if (trigger.type === "tool.execute") {
    const options = [{ label: "Red", value: "red", style: "primary" }, { label: "Other", value: "other", input: { label: "Which?", required: true } }];
    return { actions: [{ type: "interrupt", interrupt_id: "q", reason: "confirmation", payload: { message: "Which one?", metadata: { options } } }] };
  }
  if (trigger.type === "interrupt.resumed") {
    return { actions: [{ type: "tool.result", result: { content: [{ type: "text", text: JSON.stringify(trigger.payload.payload) }] } }] };
  }
  return proposed;
}
"#;

struct Engine {
    app: App,
    http: Client,
    base: String,
    key: String,
    folder: TempDir,
}

impl Engine {
    async fn start(auth: bool) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (name, text) in [("holdpoint.toml", CONFIG), ("script.json", SCRIPT), ("asker.mjs", ASKER)] {
            std::fs::write(folder.path().join(name), text).expect("the folder takes files");
        }
        let key = keys::new_api_key();
        let options = Options {
            config: folder.path().join("holdpoint.toml"),
            db: Some(folder.path().join("hp.db")),
            api_key: Some(key.clone()),
            ..Options::default()
        };
        let bound = bind(&Settings { host: "127.0.0.1".into(), port: 0, auth }).await.expect("a free port");
        let base = bound.address().to_owned();
        let app = App::open(options).await.expect("the project is valid");
        app.set_address(base.clone()).await.expect("the folder takes files");
        tokio::spawn(bound.serve(app.clone()));
        let http = Client::builder().no_proxy().build().expect("a client");
        Self { app, http, base, key, folder }
    }

    fn db(&self) -> &Path {
        self.app.db_path()
    }

    fn operator(&self) -> String {
        keys::read_operator_file(&paths::operator_file(self.db())).expect("H-4: the engine wrote it").0
    }

    async fn call(&self, method: Method, path: &str, token: Option<&str>, body: Option<Value>) -> (u16, Value) {
        let mut request = self.http.request(method, format!("{}{path}", self.base));
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        if let Some(body) = body {
            request = request.json(&body);
        }
        let response = request.send().await.expect("the engine answers");
        (response.status().as_u16(), response.json().await.unwrap_or_default())
    }

    async fn post(&self, path: &str, token: &str, body: Value) -> (u16, Value) {
        self.call(Method::POST, path, Some(token), Some(body)).await
    }

    async fn get(&self, path: &str, token: &str) -> (u16, Value) {
        self.call(Method::GET, path, Some(token), None).await
    }

    async fn stream(&self, path: &str, token: &str) -> impl Stream<Item = (String, String, Value)> + Unpin + use<> {
        let response = self.http.get(format!("{}{path}", self.base)).bearer_auth(token).send().await.expect("the engine answers");
        assert_eq!(response.status().as_u16(), 200, "{path}");
        Box::pin(response.bytes_stream().eventsource().filter_map(|event| async move {
            let event = event.ok()?;
            Some((event.id, event.event, serde_json::from_str(&event.data).ok()?))
        }))
    }

    /// A machine's message, and its turn read to the end from the stream.
    async fn turn(&self, text: &str) -> (String, Vec<Value>) {
        let body = json!({"agent_id": "talker", "identity": {"id": "ann"}, "payload": {"type": "client.message", "message": {"role": "user", "content": text}}});
        let (status, receipt) = self.post("/api/machine/sessions/submit", &self.key, body).await;
        assert_eq!(status, 202, "{receipt}");
        let (session, turn) = (receipt["session_id"].as_str().expect("N-6"), receipt["turn_id"].as_str().expect("N-6"));
        let path = format!("/api/machine/sessions/{session}/events/stream?turn_id={turn}");
        let frames: Vec<Value> = self.stream(&path, &self.key).await.map(|(_, _, data)| data).collect().await;
        (session.to_owned(), frames)
    }

    async fn desk(&self, operation: &str, body: Value) -> (u16, Value) {
        self.post(&format!("/api/desktop/{operation}"), &self.operator(), body).await
    }

    async fn client_token(&self, owner: &str) -> String {
        let (status, minted) = self.post("/api/machine/client-tokens", &self.key, json!({"identity": {"id": owner}})).await;
        assert_eq!(status, 200, "Q-35");
        minted["token"].as_str().expect("a token").to_owned()
    }
}

#[tokio::test]
async fn each_path_takes_its_rank_and_higher_h1() {
    let engine = Engine::start(true).await;
    let (session, _) = engine.turn("hi").await;
    let (client, operator) = (engine.client_token("ann").await, engine.operator());
    let callers = [None, Some("sk_live_wrong"), Some("op_wrong"), Some("not a token"), Some(&client), Some(&engine.key), Some(&operator)];
    for (path, statuses) in [
        ("/health", [200; 7]),
        (&*format!("/api/client/sessions/{session}"), [401, 401, 401, 401, 200, 200, 200]),
        ("/api/admin/sessions", [401, 401, 401, 401, 403, 200, 200]),
        ("/api/admin/interrupts?state=all", [401, 401, 401, 401, 403, 200, 200]),
        ("/api/admin/keys", [401, 401, 401, 401, 403, 403, 200]),
        ("/api/nothing", [404; 7]),
        ("/v1/sessions", [404; 7]),
    ] {
        let mut got = Vec::new();
        for token in callers {
            got.push(engine.call(Method::GET, path, token, None).await.0);
        }
        assert_eq!(got, statuses, "{path}");
    }
    let stranger = engine.client_token("bob").await;
    let (status, refusal) = engine.get(&format!("/api/client/sessions/{session}"), &stranger).await;
    assert_eq!((status, &refusal["code"]), (403, &json!("access_denied")), "H-5");
    let (status, refusal) = engine.post("/api/machine/sessions/submit", "sk_live_wrong", json!({})).await;
    assert_eq!((status, &refusal["ok"], &refusal["code"]), (401, &json!(false), &json!("unauthenticated")), "N-13: submit says ok:false");
}

#[tokio::test]
async fn keys_are_made_shown_once_and_revoked_h3_q35() {
    let engine = Engine::start(true).await;
    let operator = engine.operator();
    let (status, made) = engine.post("/api/admin/keys", &operator, json!({"name": "ci", "tenant": "acme"})).await;
    assert_eq!(status, 201);
    let (id, key) = (made["id"].as_str().expect("an id"), made["key"].as_str().expect("the key"));
    let (_, listed) = engine.get("/api/admin/keys", &operator).await;
    assert_eq!((&listed["items"][0]["tenant"], listed.to_string().contains(key)), (&json!("acme"), false), "shown once");
    let (mine, _) = engine.turn("hi").await;
    let other_tenant = engine.get(&format!("/api/admin/sessions/{mine}"), key).await;
    assert_eq!(other_tenant.0, 403, "B-5: a session of another tenant");
    assert_eq!(engine.get("/api/admin/sessions", key).await.1["items"], json!([]), "B-5");
    let old = json!({"name": "old", "expires_at": "2001-01-01T00:00:00.000Z"});
    let (_, expired) = engine.post("/api/admin/keys", &operator, old).await;
    assert_eq!(engine.get("/api/admin/sessions", expired["key"].as_str().expect("the key")).await.0, 401, "H-3: expired");
    assert_eq!(engine.call(Method::DELETE, &format!("/api/admin/keys/{id}"), Some(&operator), None).await.0, 204);
    assert_eq!(engine.get("/api/admin/sessions", key).await.0, 401, "H-3: revoked");
    assert_eq!(engine.call(Method::DELETE, "/api/admin/keys/key_x", Some(&operator), None).await.0, 404);
}

#[tokio::test]
async fn the_desktop_makes_a_key_that_is_shown_once_and_ends_when_revoked_dt4() {
    let engine = Engine::start(true).await;
    let operator = engine.operator();
    assert_eq!(engine.desk("list_keys", json!({})).await, (200, json!([])));
    let (status, made) = engine.desk("make_key", json!({"name": " ci ", "expires_at": "2999-01-01T00:00:00.000Z"})).await;
    assert_eq!(status, 200);
    let (id, key) = (made["id"].as_str().expect("an id"), made["key"].as_str().expect("the key"));
    assert!(keys::is_api_key(key), "H-3");
    let (_, listed) = engine.desk("list_keys", json!({})).await;
    let row = json!({"id": id, "name": "ci", "tenant": null, "created_at": listed[0]["created_at"],
        "expires_at": "2999-01-01T00:00:00.000Z", "revoked_at": null});
    assert_eq!(listed, json!([row]), "the key cannot be read again");
    let (_, boot) = engine.desk("bootstrap", json!({})).await;
    assert!(!boot.to_string().contains(key), "no state of the window has it");
    for part in ["hp.db", "hp.db-wal"] {
        let bytes = std::fs::read(engine.folder.path().join(part)).unwrap_or_default();
        assert!(!bytes.windows(key.len()).any(|window| window == key.as_bytes()), "H-3: {part} has its hash only");
    }
    let (session, _) = engine.turn("hi").await;
    assert_eq!(engine.get("/api/admin/sessions", key).await.1["items"][0]["session_id"], json!(session), "B-5: the desktop's own tenant");
    assert_eq!(engine.post("/api/desktop/list_keys", key, json!({})).await.0, 403, "H-1: a key makes no keys");
    assert_eq!(engine.desk("revoke_key", json!({"id": id})).await, (200, Value::Null));
    assert_eq!(engine.get("/api/admin/sessions", key).await.0, 401, "H-3: revoked");
    let (_, listed) = engine.desk("list_keys", json!({})).await;
    assert!(listed[0]["revoked_at"].is_string(), "a revoked key stays in the list");
    for (operation, body, refused) in [
        ("make_key", json!({"name": "  ", "expires_at": null}), (400, "invalid_request")),
        ("revoke_key", json!({"id": "key_x"}), (404, "not_found")),
    ] {
        let (status, refusal) = engine.desk(operation, body).await;
        assert_eq!((status, refusal["code"].as_str().unwrap_or_default()), refused, "{operation}");
    }
    assert_eq!(engine.get("/api/admin/keys", &operator).await.1["items"].as_array().map(Vec::len), Some(1), "nothing else was made");
}

#[tokio::test]
async fn without_authentication_only_this_machine_is_answered_h6_q39() {
    let engine = Engine::start(false).await;
    assert_eq!(engine.call(Method::GET, "/api/admin/keys", None, None).await.0, 200, "B-7: everybody is operator");
    let port = engine.base.rsplit(':').next().expect("the address ends with the port");
    let rebound = format!("rebound.example:{port}");
    for (header, value, status) in [
        ("host", "evil.example", 403),
        ("host", &*rebound, 403),
        ("origin", "http://evil.example", 403),
        ("origin", "null", 403),
        ("origin", "http://127.0.0.1:1", 403),
        ("origin", "http://localhost:5173", 403),
        ("origin", &*engine.base, 200),
    ] {
        for path in ["/health", "/api/admin/sessions", "/api/desktop/feed", "/api/nothing"] {
            let status = if status == 200 && path == "/api/nothing" { 404 } else { status };
            let response =
                engine.http.get(format!("{}{path}", engine.base)).header(header, value).send().await.expect("the engine answers");
            assert_eq!(response.status().as_u16(), status, "{path} with {header}: {value}");
        }
    }
}

#[tokio::test]
async fn a_page_on_another_port_starts_nothing_without_authentication_h6_q39_q53() {
    let engine = Engine::start(false).await;
    let input = json!({"input": {"type": "client.message", "agent_id": "talker", "message": {"role": "user", "content": "hi"}}});
    let url = format!("{}/api/client/sessions/input", engine.base);
    // What a browser sends for a page without asking the engine first: the text is JSON all the same.
    let plain = |origin: &str| {
        let request = engine.http.post(&url).header("origin", origin.to_owned()).header("content-type", "text/plain");
        request.body(input.to_string()).send()
    };
    for origin in ["http://127.0.0.1:1", "http://localhost:3000", "null"] {
        let response = plain(origin).await.expect("the engine answers");
        assert_eq!(response.status().as_u16(), 403, "{origin}");
        assert!(!response.headers().contains_key("access-control-allow-origin"), "{origin}: nor may it read the refusal");
        let asked = engine.http.request(Method::OPTIONS, &url).header("origin", origin).header("access-control-request-method", "POST");
        let asked = asked.send().await.expect("the engine answers");
        assert_eq!((asked.status().as_u16(), asked.headers().contains_key("access-control-allow-origin")), (403, false), "{origin}");
    }
    assert_eq!(engine.call(Method::GET, "/api/admin/sessions", None, None).await.1["items"], json!([]), "nothing was started");
    assert_eq!(plain(&engine.base).await.expect("the engine answers").status().as_u16(), 202, "its own page may");
}

#[tokio::test]
async fn without_authentication_it_listens_on_loopback_only_h6() {
    let open = bind(&Settings { host: "0.0.0.0".into(), port: 0, auth: false }).await;
    assert!(matches!(open, Err(ServeError::OpenToAll(_))), "H-6");
}

#[tokio::test]
async fn other_origins_may_call_the_client_paths_only_q53() {
    let engine = Engine::start(true).await;
    for (path, allowed) in [("/api/client/sessions/input", true), ("/api/machine/sessions/submit", false), ("/api/desktop/submit", false)] {
        let request = engine.http.request(Method::OPTIONS, format!("{}{path}", engine.base));
        let request = request.header("origin", "https://app.example").header("access-control-request-method", "POST");
        let response = request.send().await.expect("the engine answers");
        assert_eq!(response.headers().contains_key("access-control-allow-origin"), allowed, "{path}");
    }
}

#[tokio::test]
async fn a_taken_port_is_an_error_cl8() {
    let engine = Engine::start(true).await;
    let port = engine.base.rsplit(':').next().and_then(|port| port.parse().ok()).expect("the address ends with the port");
    let second = bind(&Settings { host: "127.0.0.1".into(), port, auth: true }).await;
    assert!(matches!(second, Err(ServeError::Taken { .. })));
}

#[tokio::test]
async fn a_stream_goes_on_where_its_reader_stopped_e7_q43() {
    let engine = Engine::start(true).await;
    let (session, frames) = engine.turn("hi").await;
    let events: Vec<&Value> = frames.iter().filter(|frame| frame["payload"].is_object()).collect();
    let kinds: Vec<&str> = events.iter().filter_map(|event| event["payload"]["type"].as_str()).collect();
    assert_eq!((kinds.first(), kinds.last()), (Some(&"turn.started"), Some(&"turn.completed")), "Q-43, E-9");
    let (_, log) = engine.get(&format!("/api/admin/sessions/{session}/events"), &engine.key).await;
    let last = log["items"].as_array().map_or(0, Vec::len) as u64;
    let path = format!("/api/machine/sessions/{session}/events/stream?after_seq={}", last - 2);
    let ids: Vec<String> = engine.stream(&path, &engine.key).await.take(2).map(|(id, _, _)| id).collect().await;
    assert_eq!(ids, [(last - 1).to_string(), last.to_string()], "what was missed, once and in order");
    let half = engine.get(&format!("/api/admin/sessions/{session}/events?limit=2"), &engine.key).await.1;
    assert_eq!((half["items"][1]["seq"].as_u64(), &half["next_cursor"]), (Some(2), &json!("2")), "Q-33");
}

#[tokio::test]
async fn the_desk_asks_answers_branches_and_follows_by_its_feed() {
    let engine = Engine::start(true).await;
    let mut feed = engine.stream("/api/desktop/feed", &engine.operator()).await;
    let (_, _, first) = feed.next().await.expect("a feed begins with the lists");
    assert_eq!((&first["type"], &first["reset"], &first["sessions"]), (&json!("lists"), &json!(true), &json!([])));

    let session = "sesn_01JD3Z8K5T7V9X1B3D5F7H9K2M";
    let create =
        json!({"command_id": "c1", "session_id": session, "command": {"type": "create_session", "agent_id": "asker", "text": "pick one"}});
    let (status, receipt) = engine.desk("submit", create.clone()).await;
    assert_eq!((status, &receipt["session_id"]), (200, &json!(session)), "{receipt}");
    assert_eq!(engine.desk("submit", json!({"submit": create})).await, (200, receipt), "D-13: the same id acts once");

    let question = loop {
        let (_, _, frame) = feed.next().await.expect("the feed goes on");
        if let Some(question) = frame["interrupts"].as_array().and_then(|rows| rows.first()) {
            break question.clone();
        }
    };
    assert_eq!((&question["interrupt_id"], &question["closed_at"]), (&json!("q"), &Value::Null));

    let answer = |option: u32, text: Option<&str>, hash: &Value| {
        json!({"command_id": format!("a{option}{text:?}{hash}"), "session_id": session,
               "command": {"type": "answer", "interrupt_id": "q", "shown_hash": hash, "answer": {"option": option, "text": text, "value": null, "cancel": false}}})
    };
    let (status, refusal) = engine.desk("submit", answer(0, None, &json!("0".repeat(64)))).await;
    assert_eq!((status, &refusal["code"]), (409, &json!("interrupt_changed")), "I-89");
    let (status, refusal) = engine.desk("submit", answer(1, None, &question["shown_hash"])).await;
    assert_eq!((status, &refusal["code"]), (400, &json!("invalid_request")), "I-98: its text is missing");
    let (status, receipt) = engine.desk("submit", answer(1, Some("blue"), &question["shown_hash"])).await;
    assert_eq!((status, &receipt["resumed"]), (200, &json!(true)), "{receipt}");

    let closed = loop {
        let (_, _, frame) = feed.next().await.expect("the feed goes on");
        let rows = frame["interrupts"].as_array().cloned().unwrap_or_default();
        if let Some(row) = rows.into_iter().find(|row| !row["closed_at"].is_null()) {
            break row;
        }
    };
    assert_eq!(
        (&closed["outcome"], &closed["responder"]["channel"], &closed["responder"]["text"], &closed["verification"]),
        (&json!("answered"), &json!("desktop"), &json!("blue"), &json!("verified"))
    );
    let (status, drafts) = engine.desk("save_draft", json!({"draft": {"key": "k", "value": {"text": "half"}}})).await;
    assert_eq!((status, drafts), (200, Value::Null));
    let (_, boot) = engine.desk("bootstrap", json!({})).await;
    assert_eq!(boot["drafts"], json!([{"key": "k", "value": {"text": "half"}}]));
    assert_eq!((&boot["agents"][0]["model"], &boot["agents"][0]["scripted"]), (&json!("scripted/m1"), &json!(true)), "P-32");
    let (status, _) = engine.desk("fly", json!({})).await;
    assert_eq!(status, 404);
    let (status, _) = engine.desk("undo_answer", json!({"command_id": "x", "more": 1})).await;
    assert_eq!(status, 422, "N-12");
}

#[tokio::test]
async fn a_held_answer_is_undone_or_sent_by_the_engine() {
    let engine = Engine::start(true).await;
    let session = "sesn_01JD3Z8K5T7V9X1B3D5F7H9K2M";
    let create =
        json!({"command_id": "c1", "session_id": session, "command": {"type": "create_session", "agent_id": "asker", "text": "pick one"}});
    engine.desk("submit", create).await;
    let mut events = engine.stream(&format!("/api/machine/sessions/{session}/events/stream?after_seq=0"), &engine.key).await;
    while let Some((_, kind, _)) = events.next().await {
        if kind == "session.interrupted" {
            break;
        }
    }
    let question = engine.desk("list_interrupts", json!({"state": "open", "before": null, "limit": 10})).await.1[0].clone();
    let held = |id: &str| {
        json!({"answer": {"command_id": id, "session_id": session, "interrupt_id": "q", "shown_hash": question["shown_hash"],
            "answer": {"option": 0, "text": null, "value": null, "cancel": false}, "label": "Red", "session_title": "pick one",
            "due_at": "2020-01-01T00:00:00.000Z", "switch_first": false, "status": "", "error": null}})
    };
    engine.desk("save_settings", json!({"settings": {"undo_ms": 3_600_000}})).await;
    assert_eq!(engine.desk("schedule_answer", held("h1")).await.0, 200);
    assert_eq!(engine.desk("bootstrap", json!({})).await.1["scheduled"][0]["status"], "scheduled", "the undo time runs");
    assert_eq!(engine.desk("undo_answer", json!({"command_id": "h1"})).await, (200, json!(true)));
    assert_eq!(engine.desk("undo_answer", json!({"command_id": "h1"})).await, (200, json!(false)));
    engine.desk("save_settings", json!({"settings": {"undo_ms": 0}})).await;
    assert_eq!(engine.desk("schedule_answer", held("h2")).await.0, 200);
    let resumed = loop {
        let (_, kind, event) = events.next().await.expect("the answer is sent at once");
        if kind == "session.interrupt_resumed" {
            break event;
        }
    };
    assert_eq!(resumed["payload"]["payload"]["payload"], "red", "I-56");
    assert!(engine.folder.path().exists());
}
