//! `/v1` over a real engine: one delegate of a three-level tree is stopped, seen from every side.

use eventsource_stream::Eventsource as _;
use futures::{Stream, StreamExt as _};
use holdpoint_app::wire::ForecastOf;
use holdpoint_app::{App, Options, keys, paths};
use holdpoint_http::{Settings, bind};
use reqwest::{Client, Method, RequestBuilder};
use serde_json::{Value, json};
use tempfile::TempDir;

const CONFIG: &str = r#"
[llm.lead]
type = "scripted"
script = "lead.json"
[llm.checker]
type = "scripted"
script = "checker.json"
[worker.asker]
file = "asker.mjs"
cpu_ms = 60000
[worker.silent]
url = "SILENT"
[agent.lead]
llm = "lead"
model = "m"
subagents = ["agent.price_checker", "agent.asker", "agent.silent", { id = "agent.quick", mode = "any" }]
[agent.price_checker]
llm = "checker"
model = "m"
subagents = ["agent.digger"]
[agent.digger]
llm = "checker"
model = "m"
[agent.quick]
llm = "checker"
model = "m"
[agent.asker]
llm = "checker"
model = "m"
worker = "asker"
[agent.silent]
llm = "checker"
model = "m"
worker = "silent"
"#;

const LEAD: &str = r#"{"holdpoint_script": 1, "replies": [
    {"match": {"role": "tool"}, "text": "I go on without it.", "usage": {"input": 50, "output": 5}, "cost": "0.002", "times": 0},
    {"match": {"role": "user", "contains": "subagent_result"}, "text": "Noted.", "times": 0},
    {"match": {"role": "user", "contains": "behind"}, "tool_calls": [{"id": "call_d", "name": "quick", "arguments": {"message": "hang behind", "mode": "detached"}}], "times": 0},
    {"match": {"role": "user", "contains": "ask"}, "tool_calls": [{"id": "call_a", "name": "asker", "arguments": {"message": "ask me"}}], "times": 0},
    {"match": {"role": "user", "contains": "silence"}, "tool_calls": [{"id": "call_s", "name": "silent", "arguments": {"message": "be silent"}}], "times": 0},
    {"match": {"role": "user", "contains": "quick"}, "tool_calls": [{"id": "call_q", "name": "quick", "arguments": {"message": "\n  quick   work \nmore"}}], "times": 0},
    {"tool_calls": [{"id": "call_1", "name": "price_checker", "arguments": {"message": "Compare the three offers for the spare pump\nand dig"}}],
     "usage": {"input": 100, "cache_read": 20, "output": 10}, "cost": "0.01", "times": 0}]}"#;

/// Whoever is to hang answers in an hour.
const CHECKER: &str = r#"{"holdpoint_script": 1, "replies": [
    {"match": {"role": "user", "contains": "hang"}, "text": "late", "delay_ms": 3600000, "times": 0},
    {"match": {"role": "user", "contains": "quick"}, "text": "done", "times": 0},
    {"match": {"role": "user", "contains": "ask"}, "tool_calls": [{"id": "call_p", "name": "pick", "arguments": {}}], "times": 0},
    {"tool_calls": [{"id": "call_2", "name": "digger", "arguments": {"message": "hang and dig"}}],
     "usage": {"input": 2310, "cache_read": 1024, "output": 97}, "cost": "0.0043", "times": 0}]}"#;

const ASKER: &str = r#"
export function decide({ trigger, proposed }) {
  if (trigger.type === "session.start") {
    return { ...proposed, agent: { ...proposed.agent, tools: [{ name: "pick", input: { type: "object" } }] } };
  }
  if (trigger.type === "tool.execute") {
    return { actions: [{ type: "interrupt", interrupt_id: "q", reason: "confirmation", payload: { message: "Which one?" } }] };
  }
  return proposed;
}
"#;

const BETA: &str = "agents-2026-11-01";
const REASON: &str = "We already have a price.";

struct Engine {
    app: App,
    http: Client,
    base: String,
    key: String,
    folder: TempDir,
    auth: bool,
}

/// A root session and its two delegates, one below the other, as sessions.
struct Tree {
    root: String,
    middle: String,
    lowest: String,
    turn: String,
}

fn thread(session: &str) -> String {
    session.replace("sesn_", "thr_")
}

/// A port that takes connections and never answers: a worker that hangs before its first turn.
async fn silent() -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("a bound port");
    tokio::spawn(async move {
        let mut open = Vec::new();
        while let Ok((socket, _)) = listener.accept().await {
            open.push(socket);
        }
    });
    format!("http://{address}")
}

impl Engine {
    async fn start(auth: bool) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let config = CONFIG.replace("SILENT", &silent().await);
        for (name, text) in [("holdpoint.toml", &*config), ("lead.json", LEAD), ("checker.json", CHECKER), ("asker.mjs", ASKER)] {
            std::fs::write(folder.path().join(name), text).expect("the folder takes files");
        }
        Self::open(folder, keys::new_api_key(), auth).await
    }

    async fn open(folder: TempDir, key: String, auth: bool) -> Self {
        let options = Options {
            config: folder.path().join("holdpoint.toml"),
            db: Some(folder.path().join("hp.db")),
            api_key: Some(key.clone()),
            ..Options::default()
        };
        let bound = bind(&Settings { host: "127.0.0.1".into(), port: 0, auth }).await.expect("a free port");
        let base = bound.address().to_owned();
        let app = App::open(options).await.expect("the project is valid");
        tokio::spawn(bound.serve(app.clone()));
        let http = Client::builder().no_proxy().build().expect("a client");
        Self { app, http, base, key, folder, auth }
    }

    async fn restart(self) -> Self {
        let Self { app, folder, key, auth, .. } = self;
        app.close().await;
        Self::open(folder, key, auth).await
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{path}", self.base)).bearer_auth(&self.key)
    }

    async fn call(&self, method: Method, path: &str, body: Option<Value>) -> Value {
        let request = self.request(method, path);
        let response = body.map_or(request.try_clone().expect("no body yet"), |body| request.json(&body)).send().await;
        let response = response.expect("the engine answers");
        assert!(response.status().is_success(), "{path}: {}", response.status());
        response.json().await.expect("JSON")
    }

    async fn events(&self, session: &str) -> impl Stream<Item = Value> + Unpin + use<> {
        let request = self.request(Method::GET, &format!("/api/machine/sessions/{session}/events/stream?after_seq=0"));
        let response = request.send().await.expect("the engine answers");
        Box::pin(response.bytes_stream().eventsource().filter_map(|event| async move { serde_json::from_str(&event.ok()?.data).ok() }))
    }

    /// The first event of this type; its payload.
    async fn until(&self, session: &str, kind: &str) -> Value {
        let mut events = self.events(session).await;
        loop {
            let event = events.next().await.expect("the stream goes on");
            if event["payload"]["type"] == kind {
                return event["payload"].clone();
            }
        }
    }

    async fn log(&self, session: &str) -> Vec<Value> {
        let log = self.call(Method::GET, &format!("/api/admin/sessions/{session}/events?limit=1000"), None).await;
        log["items"].as_array().expect("Q-33").clone()
    }

    async fn ask(&self, text: &str) -> (String, String) {
        let message = json!({"role": "user", "content": text});
        let body = json!({"agent_id": "lead", "identity": {"id": "ann"}, "payload": {"type": "client.message", "message": message}});
        let receipt = self.call(Method::POST, "/api/machine/sessions/submit", Some(body)).await;
        let id = |key: &str| receipt[key].as_str().expect("N-6").to_owned();
        (id("session_id"), id("turn_id"))
    }

    async fn delegate_of(&self, session: &str) -> String {
        self.until(session, "subagent.started").await;
        self.until(session, "subagent.requested").await["session_id"].as_str().expect("S-3").to_owned()
    }

    /// Two delegates deep, the lowest one in a model call.
    async fn tree(&self) -> Tree {
        let (root, turn) = self.ask("compare").await;
        let middle = self.delegate_of(&root).await;
        let lowest = self.delegate_of(&middle).await;
        self.until(&lowest, "llm.call.dispatched").await;
        Tree { root, middle, lowest, turn }
    }

    fn v1(&self, method: Method, path: &str) -> RequestBuilder {
        self.request(method, &format!("/v1/sessions/{path}")).header("syntic-beta", BETA)
    }

    fn stop(&self, root: &str, session: &str) -> RequestBuilder {
        self.v1(Method::POST, &format!("{root}/threads/{}/interrupt", thread(session)))
    }

    fn stop_with(&self, root: &str, session: &str, key: &str, body: &str) -> RequestBuilder {
        let request = self.stop(root, session).header("idempotency-key", key).header("content-type", "application/json");
        request.body(body.to_owned())
    }
}

/// Status, `X-Request-Id`, body.
async fn sent(request: RequestBuilder) -> (u16, String, Value) {
    let response = request.send().await.expect("the engine answers");
    let id = response.headers().get("x-request-id").map_or("", |id| id.to_str().unwrap_or_default()).to_owned();
    assert!(id.starts_with("req_"), "TH-42: {id:?}");
    (response.status().as_u16(), id, response.json().await.expect("JSON"))
}

async fn refused(request: RequestBuilder) -> (u16, String) {
    let (status, id, body) = sent(request).await;
    assert_eq!((&body["type"], &body["request_id"]), (&json!("error"), &json!(id)), "TH-22, TH-42");
    assert!(body["error"]["message"].is_string(), "TH-22");
    let kind = match status {
        401 => "authentication_error",
        404 => "not_found_error",
        409 => "conflict_error",
        429 => "rate_limit_error",
        _ => "invalid_request_error",
    };
    assert_eq!(body["error"]["type"], kind, "TH-22");
    (status, body["error"]["code"].as_str().expect("a code").to_owned())
}

fn kinds(log: &[Value]) -> Vec<&str> {
    log.iter().filter_map(|event| event["payload"]["type"].as_str()).collect()
}

fn find<'a>(log: &'a [Value], kind: &str) -> &'a Value {
    log.iter().rev().find(|event| event["payload"]["type"] == kind).unwrap_or_else(|| panic!("no {kind} in {:?}", kinds(log)))
}

#[tokio::test]
async fn a_delegate_is_stopped_with_those_below_and_its_parent_goes_on_th1_th33() {
    let engine = Engine::start(true).await;
    let Tree { root, middle, lowest, turn } = engine.tree().await;
    let (status, _, object) = sent(engine.stop(&root, &middle).json(&json!({"reason": REASON, "more": 1}))).await;
    let created = find(&engine.log(&middle).await, "session.created")["occurred_at"].clone();
    let ended = find(&engine.log(&middle).await, "turn.completed")["occurred_at"].clone();
    assert_eq!(status, 200);
    let expected = json!({
        "id": thread(&middle), "type": "session_thread", "session_id": root, "role": "delegate", "parent_thread_id": thread(&root),
        "agent_id": "agt_price_checker", "agent_version": 1, "title": "Compare the three offers for the spare pump", "status": "interrupted",
        "usage": {"input_tokens": 2310, "cached_input_tokens": 1024, "output_tokens": 97, "cost_usd": "0.0043"},
        "created_at": created, "ended_at": ended,
    });
    assert_eq!(object, expected, "TH-4, TH-19, TH-21, TH-40, TH-44");

    let below = engine.log(&lowest).await;
    assert_eq!(
        find(&below, "turn.completed")["payload"]["error"],
        json!({"message": "cancelled: the turn ended", "code": "cancelled"}),
        "TH-28"
    );
    assert!(kinds(&below).contains(&"call.voided"), "TH-27: {:?}", kinds(&below));
    let log = engine.log(&middle).await;
    assert_eq!(find(&log, "turn.completed")["payload"]["error"], json!({"message": REASON, "code": "cancelled"}), "TH-33");
    assert!(!kinds(&log).contains(&"subagent.turn_completed"), "TH-28: only the parent of the named thread gets a result");

    let mut above = engine.events(&root).await;
    let finished = loop {
        let event = above.next().await.expect("the parent goes on");
        if event["payload"]["type"] == "turn.completed" {
            break event;
        }
    };
    assert_eq!((&finished["payload"]["turn_id"], finished["payload"].get("error")), (&json!(turn), None), "TH-5, TH-34: the same turn");
    let log = engine.log(&root).await;
    let told = find(&log, "subagent.turn_completed");
    assert_eq!(
        (&told["payload"]["error"], &told["occurred_at"]),
        (&json!({"message": REASON, "code": "cancelled"}), &ended),
        "TH-29, TH-33"
    );
    let answers: Vec<&Value> = log.iter().map(|event| &event["payload"]["message"]).filter(|message| message["role"] == "tool").collect();
    assert_eq!((answers.len(), &answers[0]["content"]), (1, &json!(REASON)), "TH-29");
    let usage = engine.call(Method::GET, &format!("/api/admin/sessions/{root}"), None).await["usage"].clone();
    let sum = json!({"input_tokens": 2460, "cached_input_tokens": 1044, "output_tokens": 112, "cost_usd": "0.0163"});
    assert_eq!(usage, sum, "TH-20: every thread once, the stopped one too");
    assert_eq!(refused(engine.stop(&root, &middle).json(&json!({}))).await, (409, "thread_not_running".into()), "TH-14");
    assert_eq!(refused(engine.stop(&root, &lowest).json(&json!({}))).await, (409, "thread_not_running".into()), "TH-28");
}

#[tokio::test]
async fn what_delegates_used_is_counted_with_a_parent_that_is_cancelled_c31_s5_h8() {
    let engine = Engine::start(true).await;
    let Tree { root, middle, .. } = engine.tree().await;
    engine.call(Method::POST, &format!("/api/machine/sessions/{root}/cancel"), None).await;
    let rows = engine.call(Method::GET, "/api/admin/sessions?top_level=false", None).await;
    let of = |session: &str| {
        rows["items"].as_array().into_iter().flatten().find(|row| row["session_id"] == session).expect("a row")["usage"].clone()
    };
    let middle_alone = json!({"input_tokens": 2310, "cached_input_tokens": 1024, "output_tokens": 97, "cost_usd": "0.0043"});
    let both = json!({"input_tokens": 2410, "cached_input_tokens": 1044, "output_tokens": 107, "cost_usd": "0.0143"});
    assert_eq!((of(&middle), of(&root)), (middle_alone, both.clone()));
    let shown = engine.call(Method::GET, &format!("/api/admin/sessions/{root}"), None).await;
    assert_eq!(shown["usage"], both, "TH-20");
    let log = engine.log(&root).await;
    let over = &find(&log, "turn.completed")["payload"];
    let voided = &find(&log, "call.voided")["payload"];
    assert_eq!(*voided, json!({"type": "call.voided", "kind": "subagent", "id": voided["id"]}), "E-10");
    assert_eq!((&over["turn_cost"], &over["turn_token_usage"]["input"]), (&json!("0.0143"), &json!(2410)), "C-31");
}

#[tokio::test]
async fn each_fault_has_its_answer_and_the_first_in_order_wins_th8_th23() {
    let engine = Engine::start(true).await;
    let Tree { root, middle, .. } = engine.tree().await;
    let operator = keys::read_operator_file(&paths::operator_file(engine.app.db_path())).expect("H-4").0;
    let minted = engine.call(Method::POST, "/api/machine/client-tokens", Some(json!({"identity": {"id": "ann"}}))).await;
    let path = format!("/v1/sessions/{root}/threads/{}/interrupt", thread(&middle));
    let bare = |token: Option<&str>| {
        let request = engine.http.post(format!("{}{path}", engine.base));
        token.map_or(request.try_clone().expect("no body"), |token| request.bearer_auth(token))
    };
    let code = |status: u16, code: &str| (status, code.to_owned());
    for token in [None, Some("sk_live_unknown"), Some("x"), Some(&*operator), minted["token"].as_str()] {
        assert_eq!(refused(bare(token)).await, code(401, "invalid_api_key"), "TH-7, TH-8, Q-23: {token:?}");
    }
    // Each request has every later fault too.
    let key = Some(&*engine.key);
    assert_eq!(refused(bare(key)).await, code(400, "beta_required"), "TH-9");
    let wrong = bare(key).header("syntic-beta", "agents-2026-10-01").header("idempotency-key", "");
    assert_eq!(refused(wrong).await, code(400, "beta_required"), "TH-9");
    for (key, passes) in [("", false), (&*"k".repeat(255), true), (&*"k".repeat(256), false)] {
        let expected = if passes { code(400, "invalid_content_type") } else { code(400, "invalid_parameter") };
        assert_eq!(refused(engine.stop(&root, &middle).header("idempotency-key", key)).await, expected, "TH-11");
    }
    for kind in ["text/plain", "application/jsonx", ""] {
        let request = engine.stop(&root, &middle).header("content-type", kind).body("{");
        assert_eq!(refused(request).await, code(400, "invalid_content_type"), "TH-10: {kind}");
    }
    let long = json!({"reason": "ü".repeat(501)}).to_string();
    for (body, expected) in [
        ("{", "invalid_json"),
        ("[]", "invalid_parameter"),
        ("null", "invalid_parameter"),
        (r#"{"reason": 1}"#, "invalid_parameter"),
        (&*long, "invalid_parameter"),
    ] {
        let request = engine.stop("sesn_none", "sesn_none").header("content-type", "application/json; charset=utf-8").body(body.to_owned());
        assert_eq!(refused(request).await, code(400, expected), "TH-18: {body}");
    }
    let missing = "sesn_01JD3Z8K5T7V9X1B3D5F7H9K2M";
    for (session, other) in [(missing, &*middle), (&*root, missing), ("x", "y"), ("%ff", "%ff"), (&*middle, &*middle), (&*middle, missing)]
    {
        assert_eq!(
            refused(engine.stop(session, other).json(&json!({}))).await,
            code(404, "thread_not_found"),
            "TH-16, TH-17: {session} {other}"
        );
    }
    let not_a_thread = engine.v1(Method::POST, &format!("{root}/threads/{middle}/interrupt")).json(&json!({}));
    assert_eq!(refused(not_a_thread).await, code(404, "thread_not_found"), "TH-16: a session id is no thread id");
    assert_eq!(refused(engine.stop(&root, &root).json(&json!({}))).await, code(400, "cannot_interrupt_primary"), "TH-25");
    let (_, _, told) = sent(engine.stop(&root, &root).json(&json!({}))).await;
    let endpoint = format!("/api/machine/sessions/{root}/cancel");
    assert!(told["error"]["message"].as_str().is_some_and(|message| message.contains(&endpoint)), "TH-6: {told}");

    let other = json!({"name": "other", "tenant": "acme"});
    let made = engine.http.post(format!("{}/api/admin/keys", engine.base)).bearer_auth(&operator).json(&other).send().await;
    let made: Value = made.expect("the engine answers").json().await.expect("JSON");
    let foreign = bare(made["key"].as_str()).header("syntic-beta", BETA).json(&json!({}));
    assert_eq!(refused(foreign).await, code(404, "thread_not_found"), "TH-17: another tenant's");
    let unstopped = sent(engine.v1(Method::GET, &format!("{root}/threads/{}", thread(&middle)))).await.2;
    assert_eq!((&unstopped["status"], &unstopped["ended_at"]), (&json!("running"), &Value::Null), "TH-47: nothing was stopped");
    // 500 characters, counted as such, and an empty body.
    assert_eq!(sent(engine.stop(&root, &middle).json(&json!({"reason": "ü".repeat(500)}))).await.0, 200, "TH-18");
    assert_eq!(
        refused(engine.stop(&root, &middle).header("content-type", "Application/JSON")).await,
        code(409, "thread_not_running"),
        "TH-10, TH-18"
    );
    assert_eq!(refused(engine.request(Method::GET, &path).header("syntic-beta", BETA)).await, code(405, "method_not_allowed"));
}

#[tokio::test]
async fn an_idempotency_key_gives_its_first_answer_again_also_after_a_restart_th12_th15() {
    let engine = Engine::start(true).await;
    let Tree { root, middle, lowest, .. } = engine.tree().await;
    let body = r#"{"reason": "We already have a price.", "n": 1}"#;
    let first = sent(engine.stop_with(&root, &middle, "k1", body)).await;
    assert_eq!(first.0, 200);
    let same = r#"{"n": 1.0, "reason": "We already have a price."}"#;
    let again = sent(engine.stop_with(&root, &middle, "k1", same)).await;
    assert_eq!((again.0, &again.2), (200, &first.2), "TH-12, compared as JSON values");
    assert_ne!(again.1, first.1, "TH-42: a new X-Request-Id");
    for other in [r#"{"reason": "Else"}"#, "{}", "", "{"] {
        let reused = refused(engine.stop_with(&root, &middle, "k1", other)).await;
        assert_eq!(reused, (409, "idempotency_key_reused".into()), "TH-15, Q-22: {other}");
    }
    let elsewhere = refused(engine.stop_with(&root, &lowest, "k1", "{}")).await;
    assert_eq!(elsewhere, (409, "thread_not_running".into()), "TH-15: a key counts per path");
    let (_, id, kept) = sent(engine.stop_with(&root, &lowest, "k1", "{}")).await;
    assert_ne!(kept["request_id"], json!(id), "TH-15, TH-42: a 409 is kept whole, under a new header value");
    for (thread, code) in [(&*root, "cannot_interrupt_primary"), ("sesn_none", "thread_not_found")] {
        let one = sent(engine.stop_with(&root, thread, "k2", "{}")).await;
        let two = sent(engine.stop_with(&root, thread, "k2", "{}")).await;
        assert_eq!((&one.2["error"]["code"], &one.2), (&json!(code), &two.2), "TH-15");
    }
    assert_eq!(refused(engine.stop_with(&root, &middle, "k3", "{")).await, (400, "invalid_json".into()));
    assert_eq!(
        refused(engine.stop_with(&root, &middle, "k3", "{}")).await,
        (409, "thread_not_running".into()),
        "TH-15: other 400 are not kept"
    );

    let engine = engine.restart().await;
    let later = sent(engine.stop_with(&root, &middle, "k1", body)).await;
    assert_eq!((later.0, later.2), (200, first.2), "TH-12: across a restart");
}

#[tokio::test]
async fn duplicates_at_the_same_time_wait_for_the_first_th15() {
    let engine = Engine::start(true).await;
    let Tree { root, middle, .. } = engine.tree().await;
    let all = (0..8).map(|_| sent(engine.stop_with(&root, &middle, "k", r#"{"reason": "x"}"#)));
    let all = futures::future::join_all(all).await;
    assert!(all.iter().all(|one| one.0 == 200 && one.2 == all[0].2), "{all:?}");
    assert_eq!(kinds(&engine.log(&middle).await).iter().filter(|kind| **kind == "turn.completed").count(), 1);
    // Without a key one wins, the other finds the thread ended (TH-26).
    let Tree { root, middle, .. } = engine.tree().await;
    let (one, two) = tokio::join!(sent(engine.stop(&root, &middle).json(&json!({}))), sent(engine.stop(&root, &middle).json(&json!({}))));
    let mut statuses = [one.0, two.0];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409], "TH-14, TH-26");
}

#[tokio::test]
async fn threads_are_listed_one_by_one_and_with_their_events_th46_th48() {
    let engine = Engine::start(true).await;
    let Tree { root, middle, lowest, .. } = engine.tree().await;
    let (status, _, whole) = sent(engine.v1(Method::GET, &format!("{root}/threads"))).await;
    let ids: Vec<&Value> = whole["data"].as_array().expect("TH-46").iter().map(|one| &one["id"]).collect();
    assert_eq!((status, ids), (200, vec![&json!(thread(&root)), &json!(thread(&middle)), &json!(thread(&lowest))]), "TH-46");
    assert_eq!((&whole["has_more"], &whole["next_cursor"]), (&json!(false), &Value::Null), "Q-57");
    let primary = &whole["data"][0];
    assert_eq!(
        (&primary["role"], &primary["parent_thread_id"], &primary["title"], &primary["status"], &primary["ended_at"]),
        (&json!("primary"), &Value::Null, &json!("compare"), &json!("running"), &Value::Null),
        "TH-19, TH-38, Q-57"
    );
    assert_eq!(whole["data"][2]["parent_thread_id"], json!(thread(&middle)), "TH-19");
    let (_, _, page) = sent(engine.v1(Method::GET, &format!("{root}/threads?limit=2"))).await;
    assert_eq!((page["data"].as_array().map(Vec::len), &page["has_more"]), (Some(2), &json!(true)));
    let cursor = page["next_cursor"].as_str().expect("a next page");
    let (_, _, page) = sent(engine.v1(Method::GET, &format!("{root}/threads?limit=2&cursor={cursor}"))).await;
    assert_eq!((&page["data"][0]["id"], &page["has_more"]), (&json!(thread(&lowest)), &json!(false)), "TH-46");
    for query in ["limit=0", "limit=201", "limit=x", "cursor=x"] {
        assert_eq!(refused(engine.v1(Method::GET, &format!("{root}/threads?{query}"))).await, (400, "invalid_parameter".into()), "{query}");
    }
    for path in [
        "sesn_none/threads".to_owned(),
        format!("{middle}/threads"),
        format!("{root}/threads/thr_none"),
        format!("{root}/threads/thr_none/events"),
    ] {
        assert_eq!(refused(engine.v1(Method::GET, &path)).await, (404, "thread_not_found".into()), "{path}");
    }

    let path = format!("{root}/threads/{}/events", thread(&middle));
    let (_, _, page) = sent(engine.v1(Method::GET, &format!("{path}?limit=2&after_seq=1"))).await;
    let seqs: Vec<&Value> = page["data"].as_array().expect("TH-48").iter().map(|event| &event["seq"]).collect();
    assert_eq!((seqs, &page["has_more"]), (vec![&json!(2), &json!(3)], &json!(true)), "TH-48");
    assert_eq!((&page["data"][0]["session_id"], page["data"][0].get("id")), (&json!(middle), None), "E-4: not the admin form");
    let live = engine.v1(Method::GET, &format!("{path}?after_seq=0")).header("accept", "text/event-stream").send().await;
    let live = live.expect("the engine answers");
    assert!(live.headers().contains_key("x-request-id"), "TH-42");
    let mut live = Box::pin(live.bytes_stream().eventsource());
    let first = live.next().await.expect("an event").expect("SSE");
    assert_eq!((&*first.id, &*first.event), ("1", "session.created"), "E-6");
    sent(engine.stop(&root, &middle).json(&json!({}))).await;
    loop {
        let event = live.next().await.expect("the stream goes on").expect("SSE");
        if event.event == "turn.completed" {
            break;
        }
    }
    assert_eq!(sent(engine.v1(Method::GET, &format!("{root}/threads/{}", thread(&lowest)))).await.2["status"], "interrupted", "TH-28");
}

#[tokio::test]
async fn a_delegate_before_its_first_turn_is_idle_and_can_be_stopped_th24_th38() {
    let engine = Engine::start(true).await;
    let (root, _) = engine.ask("silence").await;
    let child = engine.delegate_of(&root).await;
    let path = format!("{root}/threads/{}", thread(&child));
    let (_, _, before) = sent(engine.v1(Method::GET, &path)).await;
    assert_eq!((&before["status"], &before["title"], &before["ended_at"]), (&json!("idle"), &json!("be silent"), &Value::Null), "TH-38");
    let (status, _, object) = sent(engine.stop(&root, &child).json(&json!({"reason": " \t"}))).await;
    let log = engine.log(&child).await;
    let done = find(&log, "session.done")["occurred_at"].clone();
    assert_eq!((status, &object["status"], &object["ended_at"]), (200, &json!("interrupted"), &done), "TH-24, TH-44, C-39");
    assert!(!kinds(&log).contains(&"turn.completed"), "C-39");
    let told = engine.until(&root, "subagent.turn_completed").await;
    assert_eq!(told["error"]["message"], "The delegate was stopped before it finished.", "TH-18: a blank reason");
}

#[tokio::test]
async fn questions_of_a_stopped_delegate_close_as_cancelled_th31() {
    let engine = Engine::start(true).await;
    let (root, _) = engine.ask("ask").await;
    let child = engine.delegate_of(&root).await;
    engine.until(&child, "session.interrupted").await;
    let paused = sent(engine.v1(Method::GET, &format!("{root}/threads/{}", thread(&child)))).await.2;
    assert_eq!(paused["status"], "running", "TH-38: paused for a person is running");
    assert_eq!(sent(engine.stop(&root, &child).json(&json!({"reason": "no"}))).await.0, 200);
    let log = engine.log(&child).await;
    assert_eq!(find(&log, "session.interrupt_resumed")["payload"]["payload"], json!({"status": "cancelled"}), "TH-31");
    let ended = &find(&log, "tool.call.completed")["payload"]["result"];
    assert_eq!((&ended["isError"], &ended["content"][0]["text"]), (&json!(true), &json!("cancelled: the turn ended")), "TH-3, C-20");
    let open = engine.call(Method::GET, "/api/admin/interrupts?state=open", None).await;
    assert_eq!(open["items"], json!([]));
    let late = json!({"type": "tool.result", "id": "call_p", "result": {"content": [{"type": "text", "text": "late"}]}});
    let late = engine.request(Method::POST, &format!("/api/machine/sessions/{child}/calls/settle")).json(&late).send().await;
    let late = late.expect("the engine answers");
    assert_eq!(late.status().as_u16(), 409, "TH-32");
    assert_eq!(late.json::<Value>().await.expect("JSON")["code"], "effect_not_pending", "TH-32");
}

#[tokio::test]
async fn a_paused_parent_records_the_stop_and_goes_on_when_it_is_resumed_th30() {
    let engine = Engine::start(true).await;
    let Tree { root, middle, turn, .. } = engine.tree().await;
    let raise = json!({"reason": "wait", "interrupt_id": "w"});
    engine.call(Method::POST, &format!("/api/client/sessions/{root}/interrupt"), Some(raise)).await;
    assert_eq!(sent(engine.stop(&root, &middle).json(&json!({"reason": REASON}))).await.0, 200);
    let log = engine.log(&root).await;
    assert_eq!(find(&log, "subagent.turn_completed")["payload"]["error"]["message"], REASON, "TH-30: recorded");
    let last = log.last().map(|event| &event["payload"]["type"]);
    assert_eq!(last, Some(&json!("decision.queued")), "TH-30: the decision is held: {:?}", kinds(&log));
    let resume = json!({"type": "interrupt.resume", "interrupt_id": "w", "payload": {"status": "resolved"}});
    let body = json!({"agent_id": "lead", "session_id": root, "identity": {"id": "ann"}, "payload": resume});
    engine.call(Method::POST, "/api/machine/sessions/submit", Some(body)).await;
    let done = engine.until(&root, "turn.completed").await;
    assert_eq!((&done["turn_id"], done.get("error")), (&json!(turn), None), "TH-34");
}

#[tokio::test]
async fn a_finished_delegate_is_completed_and_a_detached_one_tells_its_stop_later_th36() {
    let engine = Engine::start(true).await;
    let (root, _) = engine.ask("quick").await;
    engine.until(&root, "turn.completed").await;
    let (_, _, threads) = sent(engine.v1(Method::GET, &format!("{root}/threads"))).await;
    let statuses = (&threads["data"][0]["status"], &threads["data"][1]["status"], &threads["data"][1]["title"]);
    assert_eq!(statuses, (&json!("idle"), &json!("completed"), &json!("quick work")), "TH-38, TH-40");

    let (root, first) = engine.ask("behind").await;
    engine.until(&root, "turn.completed").await;
    let child = engine.delegate_of(&root).await;
    engine.until(&child, "llm.call.dispatched").await;
    assert_eq!(sent(engine.stop(&root, &child).json(&json!({"reason": REASON}))).await.0, 200);
    let mut events = engine.events(&root).await;
    let notice = loop {
        let event = events.next().await.expect("the notice comes");
        let text = event["payload"]["message"]["content"].as_str().unwrap_or_default();
        if text.starts_with("<subagent_result") {
            break event.clone();
        }
    };
    let expected = format!("<subagent_result agent=\"quick\" session=\"{child}\" error=\"true\">{REASON}</subagent_result>");
    assert_eq!(notice["payload"]["message"]["content"], json!(expected), "TH-36");
    assert_ne!(notice["turn_id"], json!(first), "S-11: a turn of its own");
}

#[tokio::test]
async fn a_child_cancelled_by_its_session_shows_as_interrupted_th45() {
    let engine = Engine::start(true).await;
    let Tree { root, middle, .. } = engine.tree().await;
    engine.call(Method::POST, &format!("/api/machine/sessions/{middle}/cancel"), Some(json!({}))).await;
    let told = engine.until(&root, "subagent.turn_completed").await;
    assert_eq!(told["error"]["message"], "The delegate was stopped before it finished.", "TH-45");
    let object = sent(engine.v1(Method::GET, &format!("{root}/threads/{}", thread(&middle)))).await.2;
    assert_eq!(object["status"], "interrupted", "TH-45");
}

#[tokio::test]
async fn without_authentication_the_key_is_not_looked_at_th43() {
    let engine = Engine::start(false).await;
    let Tree { root, middle, .. } = engine.tree().await;
    let url = format!("{}/v1/sessions/{root}/threads/{}/interrupt", engine.base, thread(&middle));
    let request = |token: Option<&str>| {
        let request = engine.http.post(&url).header("syntic-beta", BETA).header("idempotency-key", "k");
        token.map_or(request.try_clone().expect("no body"), |token| request.bearer_auth(token)).json(&json!({}))
    };
    let first = sent(request(None)).await;
    let again = sent(request(Some("nonsense"))).await;
    assert_eq!((first.0, again.0, &first.2), (200, 200, &again.2), "TH-43: keys belong to the tenant local");
}

#[tokio::test]
async fn a_key_that_asks_too_often_is_told_when_to_come_back_th41() {
    let engine = Engine::start(true).await;
    let path = "/v1/sessions/sesn_none/threads";
    let started = std::time::Instant::now();
    let mut passed = 0;
    // Without the beta header, and for no session: the limit comes before both checks (TH-23).
    let limited = loop {
        let response = engine.request(Method::GET, path).send().await.expect("the engine answers");
        match response.status().as_u16() {
            400 => passed += 1,
            _ => break response,
        }
    };
    // How much flowed back meanwhile is the clock's affair; the bucket's own test counts exactly.
    let refilled = 2 * started.elapsed().as_secs() + 2;
    assert!((120..=120 + refilled).contains(&passed), "{passed} requests passed");
    assert_eq!(limited.status().as_u16(), 429, "TH-41");
    assert_eq!(limited.headers().get("retry-after").and_then(|value| value.to_str().ok()), Some("1"), "TH-41");
    let limited: Value = limited.json().await.expect("JSON");
    assert_eq!((&limited["error"]["type"], &limited["error"]["code"]), (&json!("rate_limit_error"), &json!("rate_limited")), "TH-22");
    let keyless = engine.http.get(format!("{}{path}", engine.base));
    assert_eq!(refused(keyless).await, (401, "invalid_api_key".into()), "TH-23: the key comes first");
}

#[tokio::test]
async fn a_thread_keeps_the_version_its_agent_had_when_it_was_made_th39_q45() {
    let engine = Engine::start(true).await;
    let Tree { root, middle, .. } = engine.tree().await;
    let file = engine.folder.path().join("holdpoint.toml");
    let text = std::fs::read_to_string(&file).expect("the file is there");
    let changed = text.replace("[agent.price_checker]\n", "[agent.price_checker]\nsystem = \"Be quick.\"\n");
    std::fs::write(&file, changed).expect("the folder takes files");
    let engine = engine.restart().await;
    let later = engine.tree().await;
    let mut versions = Vec::new();
    for (root, session) in [(&root, &middle), (&later.root, &later.middle), (&later.root, &later.lowest)] {
        versions.push(sent(engine.v1(Method::GET, &format!("{root}/threads/{}", thread(session)))).await.2["agent_version"].clone());
    }
    assert_eq!(versions, [1, 2, 1], "TH-39");
}

#[tokio::test]
async fn the_desktop_lists_threads_and_stops_one_once_per_command_d13() {
    let engine = Engine::start(true).await;
    let Tree { root, middle, lowest, .. } = engine.tree().await;
    let operator = keys::read_operator_file(&paths::operator_file(engine.app.db_path())).expect("H-4").0;
    let desk = async |operation: &str, body: Value| {
        let request = engine.http.post(format!("{}/api/desktop/{operation}", engine.base)).bearer_auth(&operator).json(&body);
        let response = request.send().await.expect("the engine answers");
        (response.status().as_u16(), response.json::<Value>().await.expect("JSON"))
    };
    let (status, rows) = desk("threads", json!({"session_id": lowest})).await;
    let shown: Vec<Value> =
        rows.as_array().expect("rows").iter().map(|row| json!([row["session_id"], row["depth"], row["status"]])).collect();
    let expected = [json!([root, 0, "running"]), json!([middle, 1, "running"]), json!([lowest, 2, "running"])];
    assert_eq!((status, &shown[..]), (200, &expected[..]), "the whole family, whoever is named");
    let stop = |id: &str, thread: &str, reason: &str| {
        desk("interrupt_thread", json!({"command_id": id, "session_id": root, "thread_session_id": thread, "reason": reason}))
    };
    assert_eq!(stop("c0", &middle, &"x".repeat(501)).await.0, 400, "TH-18");
    assert_eq!(stop("c0", &root, "").await.0, 400, "TH-25");
    assert_eq!(stop("c0", "sesn_none", "").await.0, 404, "TH-17");
    assert_eq!(stop("c1", &middle, REASON).await, (200, Value::Null));
    assert_eq!(stop("c1", &middle, REASON).await, (200, Value::Null), "D-13");
    let (status, refusal) = stop("c2", &middle, REASON).await;
    assert_eq!((status, &refusal["code"]), (409, &json!("thread_not_running")), "TH-14");
    let told = engine.until(&root, "subagent.turn_completed").await;
    assert_eq!(told["error"]["message"], REASON, "TH-29");
}

#[tokio::test]
async fn a_person_is_told_what_a_cancel_ends_below_c8() {
    let engine = Engine::start(true).await;
    let forecast = async |session: &str| {
        let told = engine.app.forecast(session.to_owned(), ForecastOf::Cancel).await.expect("the session is there");
        json!([told.run, told.model_calls, told.tool_calls, told.subagents, told.interrupts])
    };
    let Tree { root, middle, .. } = engine.tree().await;
    assert_eq!(forecast(&root).await, json!([true, ["scripted/m"], [], ["price_checker", "digger"], []]));
    assert_eq!(forecast(&middle).await, json!([true, ["scripted/m"], [], ["digger"], []]));
    let (asking, _) = engine.ask("ask").await;
    let asker = engine.delegate_of(&asking).await;
    engine.until(&asker, "session.interrupted").await;
    assert_eq!(forecast(&asking).await, json!([true, [], ["pick"], ["asker"], ["Which one?"]]));
}
