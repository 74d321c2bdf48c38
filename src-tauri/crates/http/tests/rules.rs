//! Rules that only a whole engine keeps, seen over HTTP: who reads what of a family of sessions, what is counted together, what a
//! stream carries beside the log, and every input and every question to a worker once.

use std::collections::BTreeSet;

use eventsource_stream::Eventsource as _;
use futures::{Stream, StreamExt as _};
use holdpoint_app::{App, Options, keys, paths};
use holdpoint_http::{Settings, bind};
use reqwest::{Client, Method};
use serde_json::{Value, json};
use tempfile::TempDir;

const CONFIG: &str = r#"
[llm.main]
type = "scripted"
script = "script.json"
[llm.own]
type = "worker"
[worker.asker]
file = "asker.mjs"
cpu_ms = 60000
[worker.chief]
file = "chief.mjs"
cpu_ms = 60000
[worker.seer]
file = "seer.mjs"
cpu_ms = 60000
[agent.talker]
llm = "main"
model = "m"
[agent.lead]
llm = "main"
model = "m"
subagents = ["agent.middle", "agent.asker", { id = "agent.quick", mode = "any" }]
[agent.middle]
llm = "main"
model = "m"
subagents = ["agent.lowest"]
[agent.lowest]
llm = "main"
model = "m"
[agent.quick]
llm = "main"
model = "m"
[agent.asker]
llm = "main"
model = "m"
worker = "asker"
[agent.chief]
llm = "main"
model = "m"
worker = "chief"
subagents = ["agent.quick"]
[agent.seer]
llm = "own"
model = "m"
worker = "seer"
subagents = ["agent.talker"]
"#;

/// Whoever is to hang answers in an hour.
const SCRIPT: &str = r#"{"holdpoint_script": 1, "replies": [
    {"match": {"role": "user", "contains": "hang"}, "text": "late", "delay_ms": 3600000, "times": 0},
    {"match": {"role": "user", "contains": "deep"}, "tool_calls": [{"name": "middle", "arguments": {"message": "go down"}}],
     "usage": {"input": 100, "cache_read": 20, "output": 10}, "cost": "0.01", "times": 0},
    {"match": {"role": "user", "contains": "go down"}, "tool_calls": [{"name": "lowest", "arguments": {"message": "hang there"}}],
     "usage": {"input": 2310, "cache_read": 1024, "output": 97}, "cost": "0.0043", "times": 0},
    {"match": {"role": "user", "contains": "ask below"}, "tool_calls": [{"name": "asker", "arguments": {"message": "pick one"}}], "times": 0},
    {"match": {"role": "user", "contains": "pick"}, "tool_calls": [{"id": "call_p", "name": "pick", "arguments": {}}], "times": 0},
    {"match": {"role": "user", "contains": "behind"}, "tool_calls": [{"name": "quick", "arguments": {"message": "hang behind", "mode": "detached"}}], "times": 0},
    {"text": "Hello there, whoever you are.", "usage": {"input": 7, "output": 3}, "times": 0}]}"#;

/// Asks before its tool runs.
const ASKER: &str = r#"
export function decide({ trigger, proposed }) {
  if (trigger.type === "session.start") {
    return { ...proposed, agent: { ...proposed.agent, tools: [{ name: "pick" }, { name: "show", handler: "client" }] } };
  }
  if (trigger.type === "tool.execute") {
    const metadata = { risk: "high", options: [{ label: "Red", value: "red", style: "primary" }] };
    return { actions: [{ type: "interrupt", interrupt_id: "q", reason: "confirmation", payload: { message: "Which one?", expiresAt: "2001-01-01T00:00:00.000Z", metadata } }] };
  }
  if (trigger.type === "interrupt.resumed") {
    return { actions: [{ type: "tool.result", content: [{ type: "text", text: "picked" }] }] };
  }
  if (trigger.type === "client.action" && trigger.name === "show") {
    return { actions: [{ type: "tool.call", id: trigger.args.call, name: "show", arguments: {} }] };
  }
  return trigger.type === "client.action" ? {} : proposed;
}
"#;

/// Spawns what an action names, and is content with any end of it.
const CHIEF: &str = r#"
export function decide({ trigger, proposed }) {
  if (trigger.type === "client.action") {
    const { call, message, session } = trigger.args;
    return { actions: [{ type: "subagent.spawn", agent_id: "quick", tool_call_id: call, message, session_id: session }] };
  }
  return trigger.type === "subagent.finished" ? {} : proposed;
}
"#;

/// Notes every question it is asked in its state, and answers each.
const SEER: &str = r#"
export function decide({ trigger, proposed, state }) {
  const seen = [...(state?.seen ?? []), trigger.type];
  const noted = { ...proposed, state: { seen } };
  if (trigger.type === "session.start") return { ...noted, agent: { ...proposed.agent, tools: [{ name: "pick" }] } };
  if (trigger.type === "llm.execute") {
    const call = (id, name, args) => ({ id, type: "function", function: { name, arguments: JSON.stringify(args) } });
    const tool_calls = [call("c1", "pick", {}), call("c2", "talker", { message: "hello" })];
    const first = !seen.includes("llm.finished");
    const response = first ? { model: "own", tool_calls, finish_reason: "tool_calls" } : { model: "own", content: "Seen.", finish_reason: "stop" };
    return { ...noted, actions: [{ type: "llm.result", response }] };
  }
  if (trigger.type === "tool.execute") return { ...noted, actions: [{ type: "interrupt", interrupt_id: "q", reason: "confirmation" }] };
  if (trigger.type === "interrupt.resumed") return { ...noted, actions: [{ type: "tool.result", content: [{ type: "text", text: "7" }] }] };
  return noted;
}
"#;

struct Engine {
    app: App,
    http: Client,
    base: String,
    key: String,
    folder: TempDir,
}

/// A root session and its two delegates, the lowest one in a model call.
struct Family {
    root: String,
    middle: String,
    lowest: String,
}

fn thread(session: &str) -> String {
    session.replace("sesn_", "thr_")
}

fn says(text: &str) -> Value {
    json!({"type": "client.message", "message": {"role": "user", "content": text}})
}

fn names(value: &Value) -> BTreeSet<&str> {
    value.as_object().expect("an object").keys().map(String::as_str).collect()
}

impl Engine {
    async fn start() -> Self {
        Self::start_with("").await
    }

    /// With more in its configuration.
    async fn start_with(more: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let config = format!("{CONFIG}{more}");
        for (name, text) in
            [("holdpoint.toml", &*config), ("script.json", SCRIPT), ("asker.mjs", ASKER), ("chief.mjs", CHIEF), ("seer.mjs", SEER)]
        {
            std::fs::write(folder.path().join(name), text).expect("the folder takes files");
        }
        Self::open(folder, keys::new_api_key()).await
    }

    async fn open(folder: TempDir, key: String) -> Self {
        let (config, db) = (folder.path().join("holdpoint.toml"), Some(folder.path().join("hp.db")));
        let bound = bind(&Settings { host: "127.0.0.1".into(), port: 0, auth: true }).await.expect("a free port");
        let base = bound.address().to_owned();
        let app = App::open(Options { config, db, api_key: Some(key.clone()), ..Options::default() }).await.expect("the project is valid");
        tokio::spawn(bound.serve(app.clone()));
        let http = Client::builder().no_proxy().build().expect("a client");
        Self { app, http, base, key, folder }
    }

    async fn asked(&self, method: Method, path: &str, body: Option<Value>) -> (u16, Value) {
        let token = if path.starts_with("/api/desktop") { self.operator() } else { self.key.clone() };
        let request =
            self.http.request(method, format!("{}{path}", self.base)).bearer_auth(token).header("syntic-beta", "agents-2026-11-01");
        let request = match body {
            Some(body) => request.json(&body),
            None => request,
        };
        let response = request.send().await.expect("the engine answers");
        (response.status().as_u16(), response.json().await.unwrap_or_default())
    }

    async fn get(&self, path: &str) -> Value {
        let (status, body) = self.asked(Method::GET, path, None).await;
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    async fn post(&self, path: &str, body: Value) -> Value {
        let (status, told) = self.asked(Method::POST, path, Some(body)).await;
        assert!((200..300).contains(&status), "{path}: {status} {told}");
        told
    }

    fn operator(&self) -> String {
        keys::read_operator_file(&paths::operator_file(self.app.db_path())).expect("H-4").0
    }

    async fn submit(&self, agent: &str, session: Option<&str>, payload: Value) -> (u16, Value) {
        let mut body = json!({"agent_id": agent, "identity": {"id": "ann"}, "payload": payload});
        if let Some(session) = session {
            body["session_id"] = json!(session);
        }
        self.asked(Method::POST, "/api/machine/sessions/submit", Some(body)).await
    }

    /// Session and turn of an input that is taken.
    async fn sends(&self, agent: &str, session: Option<&str>, payload: Value) -> (String, String) {
        let (status, receipt) = self.submit(agent, session, payload).await;
        assert_eq!(status, 202, "{receipt}");
        (receipt["session_id"].as_str().expect("N-6").to_owned(), receipt["turn_id"].as_str().unwrap_or_default().to_owned())
    }

    async fn frames(&self, session: &str, query: &str) -> impl Stream<Item = Value> + Unpin + use<> {
        let url = format!("{}/api/machine/sessions/{session}/events/stream?{query}", self.base);
        let response = self.http.get(url).bearer_auth(&self.key).send().await.expect("the engine answers");
        assert_eq!(response.status().as_u16(), 200);
        Box::pin(response.bytes_stream().eventsource().filter_map(|event| async move { serde_json::from_str(&event.ok()?.data).ok() }))
    }

    /// The payload of the nth event of this type, from 1.
    async fn nth(&self, session: &str, kind: &str, nth: usize) -> Value {
        let mut frames = self.frames(session, "after_seq=0").await;
        let mut seen = 0;
        loop {
            let event = frames.next().await.expect("the stream goes on");
            seen += usize::from(event["payload"]["type"] == kind);
            if seen == nth {
                return event["payload"].clone();
            }
        }
    }

    async fn until(&self, session: &str, kind: &str) -> Value {
        self.nth(session, kind, 1).await
    }

    async fn log(&self, session: &str) -> Vec<Value> {
        let log = self.get(&format!("/api/admin/sessions/{session}/events?limit=1000")).await;
        log["items"].as_array().expect("Q-33").clone()
    }

    async fn kinds(&self, session: &str) -> Vec<String> {
        self.log(session).await.iter().filter_map(|event| event["payload"]["type"].as_str().map(str::to_owned)).collect()
    }

    async fn child_of(&self, session: &str) -> String {
        self.until(session, "subagent.started").await;
        self.until(session, "subagent.requested").await["session_id"].as_str().expect("S-3").to_owned()
    }

    async fn family(&self) -> Family {
        let (root, _) = self.sends("lead", None, says("deep")).await;
        let middle = self.child_of(&root).await;
        let lowest = self.child_of(&middle).await;
        self.until(&lowest, "llm.call.dispatched").await;
        Family { root, middle, lowest }
    }

    async fn session(&self, id: &str) -> Value {
        self.get(&format!("/api/client/sessions/{id}")).await
    }

    async fn thread(&self, root: &str, session: &str) -> Value {
        self.get(&format!("/v1/sessions/{root}/threads/{}", thread(session))).await
    }

    async fn stop(&self, root: &str, session: &str, reason: &str) -> Value {
        self.post(&format!("/v1/sessions/{root}/threads/{}/interrupt", thread(session)), json!({"reason": reason})).await
    }

    async fn resume(&self, session: &str, id: &str, payload: Value) -> Value {
        let input = json!({"type": "interrupt.resume", "interrupt_id": id, "payload": payload});
        self.post("/api/client/sessions/input", json!({"session_id": session, "input": input})).await
    }
}

// ---- families

#[tokio::test]
async fn only_the_named_thread_and_those_below_are_stopped_th2() {
    let engine = Engine::start().await;
    let Family { root, middle, lowest } = engine.family().await;
    engine.stop(&root, &lowest, "Enough.").await;
    assert_eq!(engine.thread(&root, &lowest).await["status"], "interrupted");
    assert_eq!(engine.until(&middle, "subagent.turn_completed").await["error"]["message"], "Enough.");
    engine.nth(&middle, "llm.call.requested", 2).await;
    for other in [&root, &middle] {
        assert!(!engine.kinds(other).await.contains(&"call.voided".to_owned()), "TH-2: it goes on: {other}");
    }
    engine.until(&root, "turn.completed").await;
    assert_eq!(engine.thread(&root, &middle).await["status"], "completed", "TH-2: to its own end");
}

#[tokio::test]
async fn thread_ids_are_session_ids_in_another_dress_th37_th16() {
    let engine = Engine::start().await;
    let Family { root, middle, lowest } = engine.family().await;
    let sessions = [&root, &middle, &lowest];
    let listed = async |engine: &Engine| {
        let threads = engine.get(&format!("/v1/sessions/{root}/threads")).await;
        threads["data"].as_array().expect("TH-46").iter().map(|one| one["id"].as_str().expect("an id").to_owned()).collect::<Vec<_>>()
    };
    let expected = sessions.map(|session| thread(session));
    assert_eq!(listed(&engine).await, expected);
    let Engine { app, folder, key, .. } = engine;
    app.close().await;
    let stored = std::fs::read(folder.path().join("hp.db")).expect("the database");
    let holds = |text: &str| stored.windows(text.len()).any(|bytes| bytes == text.as_bytes());
    assert!(sessions.iter().all(|session| holds(session)), "sessions are in the file");
    assert!(!expected.iter().any(|id| holds(id)), "TH-37: nothing else is stored for threads");
    let engine = Engine::open(folder, key).await;
    assert_eq!(listed(&engine).await, expected);
}

#[tokio::test]
async fn a_continued_delegate_that_is_stopped_is_not_continued_again_th35_s18() {
    let engine = Engine::start().await;
    let spawn = |args: Value| json!({"type": "client.action", "name": "spawn", "args": args});
    let (root, _) = engine.sends("chief", None, spawn(json!({"call": "c1", "message": "quick work"}))).await;
    engine.until(&root, "turn.completed").await;
    let child = engine.child_of(&root).await;
    assert_eq!(engine.thread(&root, &child).await["status"], "completed");

    engine.sends("chief", Some(&root), spawn(json!({"call": "c2", "message": "hang on", "session": child}))).await;
    engine.nth(&child, "llm.call.dispatched", 2).await;
    assert_eq!(engine.thread(&root, &child).await["status"], "running", "TH-38: it is continued");
    assert_eq!(engine.stop(&root, &child, "No more.").await["status"], "interrupted", "TH-35");
    let ended = engine.nth(&root, "subagent.turn_completed", 2).await;
    assert_eq!((&ended["id"], &ended["error"]["message"]), (&json!("c2"), &json!("No more.")), "TH-35: its current call");
    engine.nth(&root, "turn.completed", 2).await;

    engine.sends("chief", Some(&root), spawn(json!({"call": "c3", "message": "once more", "session": child}))).await;
    let refused = engine.until(&root, "subagent.errored").await;
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!("c3"), &json!("unroutable")), "TH-35, S-18");
}

#[tokio::test]
async fn a_childs_question_pauses_the_child_alone_and_is_answered_there_s13_dt2_dt3() {
    let engine = Engine::start().await;
    let (root, turn) = engine.sends("lead", None, says("ask below")).await;
    let child = engine.child_of(&root).await;
    engine.until(&child, "session.interrupted").await;
    let (above, below) = (engine.session(&root).await, engine.session(&child).await);
    assert_eq!((&above["status"], &above["turn_id"], &above["interrupts"]), (&json!("idle"), &json!(turn), &json!([])), "S-13");
    assert_eq!((&below["status"], &below["interrupts"][0]["interrupt_id"]), (&json!("interrupted"), &json!("q")), "S-13");
    assert!(!engine.kinds(&root).await.contains(&"subagent.turn_completed".to_owned()), "S-13: the parent's call stays open");
    let raise = json!({"reason": "wait", "interrupt_id": "w"});
    let (other, _) = engine.sends("talker", None, says("hi")).await;
    engine.post(&format!("/api/client/sessions/{other}/interrupt"), raise).await;

    let rows = engine.post("/api/desktop/list_interrupts", json!({"state": "open", "before": null, "limit": 10})).await;
    let rows = rows.as_array().expect("rows");
    let row = |session: &str| rows.iter().find(|row| row["session_id"] == session).expect("DT-2: it is listed");
    let path = json!([{"session_id": root, "agent_id": "lead"}, {"session_id": child, "agent_id": "asker"}]);
    let asked = row(&child);
    assert_eq!(
        (rows.len(), &asked["path"], &row(&other)["interrupt_id"]),
        (2, &path, &json!("w")),
        "DT-2: of every session, with its path"
    );
    let payload = &asked["payload"];
    assert_eq!((&payload["metadata"]["risk"], &payload["expiresAt"]), (&json!("high"), &json!("2001-01-01T00:00:00.000Z")), "DT-2");
    assert!(asked["opened_at"].is_string() && asked["on_active_branch"] == true && asked["outcome"].is_null(), "DT-2: {asked}");

    let answer = json!({"option": 0, "text": null, "value": null, "cancel": false});
    let command = json!({"type": "answer", "interrupt_id": "q", "shown_hash": asked["shown_hash"], "answer": answer});
    engine.post("/api/desktop/submit", json!({"submit": {"command_id": "a", "session_id": asked["session_id"], "command": command}})).await;
    let closed = engine.until(&child, "session.interrupt_resumed").await;
    let user = ["USER", "LOGNAME", "USERNAME"].into_iter().find_map(|name| std::env::var(name).ok().filter(|user| !user.is_empty()));
    let user = user.unwrap_or_else(|| "local user".to_owned());
    let responder = json!({"channel": "desktop", "user": user, "label": "Red", "style": "primary"});
    assert_eq!(closed["payload"], json!({"status": "resolved", "payload": "red", "responder": responder}), "DT-3, I-56");
    assert_eq!((&closed["verification"], &closed["shown_hash"]), (&json!("verified"), &asked["shown_hash"]), "DT-3");
    let done = engine.until(&root, "turn.completed").await;
    assert_eq!((&done["turn_id"], done.get("error")), (&json!(turn), None), "S-13: the parent had waited");
}

#[tokio::test]
async fn a_child_has_its_own_stream_and_is_left_out_of_the_list_s16() {
    let engine = Engine::start().await;
    let Family { root, middle, lowest } = engine.family().await;
    let listed = async |query: &str| {
        let page = engine.get(&format!("/api/admin/sessions{query}")).await;
        page["items"]
            .as_array()
            .expect("Q-33")
            .iter()
            .map(|row| row["session_id"].as_str().unwrap_or_default().to_owned())
            .collect::<BTreeSet<_>>()
    };
    assert_eq!(listed("").await, BTreeSet::from([root.clone()]));
    assert_eq!(listed("?top_level=true").await, BTreeSet::from([root.clone()]));
    assert_eq!(listed("?top_level=false").await, BTreeSet::from([root.clone(), middle.clone(), lowest.clone()]));
    engine.stop(&root, &middle, "x").await;
    engine.until(&root, "turn.completed").await;
    for session in [&root, &middle, &lowest] {
        let mut frames = engine.frames(session, "after_seq=0").await;
        let mut next = 1;
        loop {
            let event = frames.next().await.expect("the stream goes on");
            if event["payload"].is_object() {
                assert_eq!((&event["session_id"], &event["seq"]), (&json!(session), &json!(next)), "its own events and no others");
                next += 1;
            }
            if event["payload"]["type"] == "session.done" {
                break;
            }
        }
    }
}

#[tokio::test]
async fn get_session_counts_what_all_descendants_used_h8() {
    let engine = Engine::start().await;
    let Family { root, middle, .. } = engine.family().await;
    let shown = engine.session(&root).await;
    let members = ["session_id", "agent_id", "status", "turn_id", "interrupts", "messages", "message_tree", "usage"];
    assert_eq!(names(&shown), BTreeSet::from(members));
    let all = json!({"input_tokens": 2410, "cached_input_tokens": 1044, "output_tokens": 107, "cost_usd": "0.0143"});
    assert_eq!(shown["usage"], all);
    let below = json!({"input_tokens": 2310, "cached_input_tokens": 1024, "output_tokens": 97, "cost_usd": "0.0043"});
    assert_eq!(engine.session(&middle).await["usage"], below);
    assert_eq!(engine.get(&format!("/api/admin/sessions/{root}")).await, engine.session(&root).await, "Q-33: the same shape");
}

#[tokio::test]
async fn a_cancel_does_not_reach_a_detached_delegate_c24() {
    let engine = Engine::start().await;
    let (root, _) = engine.sends("lead", None, says("behind")).await;
    engine.until(&root, "turn.completed").await;
    let detached = engine.child_of(&root).await;
    engine.until(&detached, "llm.call.dispatched").await;
    let (_, turn) = engine.sends("lead", Some(&root), says("deep")).await;
    engine.nth(&root, "subagent.started", 2).await;
    let cancelled = engine.post(&format!("/api/machine/sessions/{root}/cancel"), json!({})).await;
    assert_eq!((&cancelled["cancelled"], &cancelled["turn_id"]), (&json!(true), &json!(turn)));
    let threads = engine.get(&format!("/v1/sessions/{root}/threads")).await;
    let status = |session: &str| {
        let of = threads["data"].as_array().into_iter().flatten().find(|one| one["id"] == thread(session));
        of.expect("a thread")["status"].clone()
    };
    assert_eq!(status(&detached), "running", "C-24");
    let open = engine.nth(&root, "subagent.requested", 2).await;
    assert_eq!(status(open["session_id"].as_str().expect("a child")), "interrupted", "C-8");
}

#[tokio::test]
async fn a_budget_counts_a_root_with_its_descendants_or_the_tenant_i78_i79() {
    // Neither the root (0.01) nor its delegate (0.0043) has reached it alone.
    let engine = Engine::start_with("[budget]\nsession_usd = \"0.012\"\n").await;
    let (root, _) = engine.sends("lead", None, says("deep")).await;
    let middle = engine.child_of(&root).await;
    let lowest = engine.child_of(&middle).await;
    let asked = engine.until(&lowest, "session.interrupted").await;
    assert_eq!((&asked["interrupt_id"], &asked["origin"]), (&json!("budget:session"), &json!("system")), "I-78");
    assert!(!engine.kinds(&lowest).await.contains(&"llm.call.requested".to_owned()), "I-79: before the call is requested");
    let (other, _) = engine.sends("talker", None, says("hi")).await;
    engine.until(&other, "turn.completed").await;

    let engine = Engine::start_with("[budget]\ntenant_usd = \"0.01\"\n").await;
    let (first, _) = engine.sends("lead", None, says("deep")).await;
    engine.until(&first, "subagent.requested").await;
    let (second, _) = engine.sends("talker", None, says("hi")).await;
    assert_eq!(engine.until(&second, "session.interrupted").await["interrupt_id"], "budget:tenant", "I-78: another session's cost");
}

// ---- streams, questions, inputs

#[tokio::test]
async fn token_deltas_pass_by_on_live_streams_and_are_never_stored_e8() {
    let engine = Engine::start().await;
    let (session, turn) = engine.sends("talker", None, says("hi")).await;
    engine.frames(&session, &format!("turn_id={turn}")).await.collect::<Vec<_>>().await;
    let mut live = engine.frames(&session, "").await;
    engine.sends("talker", Some(&session), says("again")).await;
    let mut seen = Vec::new();
    loop {
        let frame = live.next().await.expect("the stream goes on");
        let over = frame["payload"]["type"] == "turn.completed";
        seen.push(frame);
        if over {
            break;
        }
    }
    let at = |kind: &str| seen.iter().position(|frame| frame["payload"]["type"] == kind).expect("an event of the call");
    let call = seen[at("llm.call.requested")]["payload"]["id"].clone();
    let deltas: Vec<(usize, &Value)> = seen.iter().enumerate().filter(|(_, frame)| frame["type"] == "llm.token.delta").collect();
    assert!(deltas.len() > 1, "{seen:?}");
    for (number, (place, delta)) in deltas.iter().enumerate() {
        assert!((at("llm.call.dispatched")..at("llm.call.completed")).contains(place), "between events");
        assert_eq!((&delta["session_id"], &delta["call_id"], &delta["seq"]), (&json!(session), &call, &json!(number + 1)), "{delta}");
        let known = BTreeSet::from(["type", "session_id", "call_id", "seq", "text", "reasoning", "tool_calls", "finish_reason"]);
        assert!(names(delta).is_subset(&known), "{delta}");
    }
    let text: String = deltas.iter().filter_map(|(_, delta)| delta["text"].as_str()).collect();
    assert_eq!(text, "Hello there, whoever you are.");
    assert!(!engine.kinds(&session).await.contains(&"llm.token.delta".to_owned()), "never stored");
    let again: Vec<Value> = engine.frames(&session, &format!("turn_id={turn}")).await.collect().await;
    assert!(again.iter().all(|frame| frame["payload"].is_object()), "nor replayed");
}

#[tokio::test]
async fn a_stream_of_a_cancelled_turn_closes_c29_e9() {
    let engine = Engine::start().await;
    let (session, turn) = engine.sends("talker", None, says("hang")).await;
    let stream = engine.frames(&session, &format!("turn_id={turn}")).await;
    engine.post(&format!("/api/machine/sessions/{session}/cancel"), json!({})).await;
    let frames: Vec<Value> = stream.collect().await;
    let last = &frames.last().expect("the turn's end")["payload"];
    assert_eq!((&last["type"], &last["turn_id"], &last["error"]["code"]), (&json!("turn.completed"), &json!(turn), &json!("cancelled")));
}

#[tokio::test]
async fn resuming_is_an_input_and_interrupt_opens_a_pause_h7() {
    let engine = Engine::start().await;
    let (session, turn) = engine.sends("talker", None, says("hi")).await;
    engine.frames(&session, &format!("turn_id={turn}")).await.collect::<Vec<_>>().await;
    for id in ["a", "b"] {
        let raised = engine.post(&format!("/api/client/sessions/{session}/interrupt"), json!({"reason": "wait", "interrupt_id": id})).await;
        assert_eq!(raised, json!({"ok": true, "interrupt_id": id}));
    }
    assert_eq!(engine.session(&session).await["status"], "interrupted");
    let input = |id: &str| json!({"type": "interrupt.resume", "interrupt_id": id, "payload": 1});
    let (status, told) =
        engine.asked(Method::POST, "/api/client/sessions/input", Some(json!({"session_id": session, "input": input("a")}))).await;
    assert_eq!((status, &told["resumed"]), (202, &json!(true)));
    let (status, told) = engine.submit("talker", Some(&session), input("b")).await;
    assert_eq!((status, &told["resumed"]), (202, &json!(true)));
    for path in [
        format!("/api/client/sessions/{session}/resume"),
        format!("/api/machine/sessions/{session}/resume"),
        format!("/api/v1/sessions/{session}/interrupt"),
        "/api/v1/sessions/input".to_owned(),
    ] {
        assert_eq!(engine.asked(Method::POST, &path, Some(input("a"))).await.0, 404, "{path}");
    }
}

#[tokio::test]
async fn a_resume_needs_nobody_connected_and_names_the_turn_that_goes_on_i43() {
    let engine = Engine::start().await;
    let (session, turn) = engine.sends("asker", None, says("pick one")).await;
    engine.until(&session, "session.interrupted").await;
    // That stream is gone; nobody reads when the answer comes.
    let told = engine.resume(&session, "q", json!("red")).await;
    assert_eq!((&told["turn_id"], &told["resumed"]), (&json!(turn), &json!(true)));
    let done = engine.until(&session, "turn.completed").await;
    assert_eq!((&done["turn_id"], done.get("error")), (&json!(turn), None));
    engine.post(&format!("/api/client/sessions/{session}/interrupt"), json!({"reason": "wait", "interrupt_id": "idle"})).await;
    assert_eq!(engine.resume(&session, "idle", json!(1)).await["turn_id"], Value::Null, "no turn goes on");
}

#[tokio::test]
async fn get_session_lists_the_questions_of_all_branches_i51_i48_i84() {
    let engine = Engine::start().await;
    let (session, _) = engine.sends("asker", None, says("pick one")).await;
    engine.until(&session, "session.interrupted").await;
    let view = json!({"type": "client.messages", "messages": [{"role": "user", "content": "something else"}]});
    engine.sends("asker", Some(&session), view).await;
    engine.until(&session, "turn.completed").await;
    let shown = engine.session(&session).await;
    let open = &shown["interrupts"][0];
    assert_eq!(
        (&shown["status"], shown["interrupts"].as_array().map(Vec::len)),
        (&json!("idle"), Some(1)),
        "I-48: it holds the other branch"
    );
    assert_eq!(names(open), BTreeSet::from(["interrupt_id", "origin", "reason", "payload", "anchor", "opened_at"]), "I-51");
    assert_eq!((&open["interrupt_id"], &open["origin"], &open["reason"]), (&json!("q"), &json!("frontend"), &json!("confirmation")));
    let anchor = shown["message_tree"]["nodes"].as_array().into_iter().flatten().find(|node| node["message"]["id"] == open["anchor"]);
    assert_eq!(anchor.expect("the anchor is in the tree")["message"]["role"], "assistant");
    let item = engine.get("/api/admin/interrupts").await["items"][0].clone();
    assert_eq!((&item["expired"], &item["payload"]["expiresAt"]), (&json!(true), &json!("2001-01-01T00:00:00.000Z")), "I-84: shown");
    assert_eq!(engine.resume(&session, "q", json!("red")).await["resumed"], true, "I-84: taken like any other");
}

#[tokio::test]
async fn machine_submit_takes_every_input_n17() {
    let engine = Engine::start().await;
    let taken = async |session: Option<&str>, payload: Value| {
        let kind = payload["type"].clone();
        let (status, receipt) = engine.submit("asker", session, payload).await;
        assert_eq!(status, 202, "{kind}: {receipt}");
        receipt["session_id"].as_str().expect("N-6").to_owned()
    };
    let message = |text: &str| json!([{"role": "user", "content": text}]);
    let session = taken(None, says("hi")).await;
    engine.until(&session, "turn.completed").await;
    let id = Some(&*session);
    taken(id, json!({"type": "client.append", "messages": message("on")})).await;
    engine.nth(&session, "turn.completed", 2).await;
    taken(id, json!({"type": "client.messages", "messages": message("another way")})).await;
    engine.nth(&session, "turn.completed", 3).await;
    for (call, settle) in [
        ("call_a", json!({"type": "tool.result", "id": "call_a", "content": [{"type": "text", "text": "seen"}]})),
        ("call_b", json!({"type": "tool.error", "id": "call_b", "error": "no", "retryable": false})),
    ] {
        taken(id, json!({"type": "client.action", "name": "show", "args": {"call": call}})).await;
        engine.nth(&session, "tool.call.dispatched", if call == "call_a" { 1 } else { 2 }).await;
        taken(id, settle).await;
    }
    assert_eq!(engine.until(&session, "tool.call.completed").await["id"], "call_a");
    assert_eq!(engine.until(&session, "tool.call.errored").await["id"], "call_b");
    let asking = taken(None, says("pick")).await;
    engine.until(&asking, "session.interrupted").await;
    taken(Some(&asking), json!({"type": "interrupt.resume", "interrupt_id": "q", "payload": 1})).await;
    engine.until(&asking, "turn.completed").await;
}

#[tokio::test]
async fn a_worker_in_a_file_answers_every_trigger_and_streams_nothing_p30() {
    let engine = Engine::start().await;
    let (session, _) = engine.sends("seer", None, json!({"type": "client.action", "name": "look"})).await;
    let mut live = engine.frames(&session, "after_seq=0").await;
    let (_, turn) = engine.sends("seer", Some(&session), says("go")).await;
    let mut seen = json!([]);
    loop {
        let frame = live.next().await.expect("the stream goes on");
        assert_ne!(frame["type"], "llm.token.delta", "P-30: it cannot stream");
        match frame["payload"]["type"].as_str() {
            Some("worker.state.updated") => seen = frame["payload"]["state"]["seen"].clone(),
            Some("session.interrupted") => {
                engine.resume(&session, "q", json!(1)).await;
            }
            Some("turn.completed") => {
                assert_eq!((&frame["payload"]["turn_id"], frame["payload"].get("error")), (&json!(turn), None));
                break;
            }
            _ => {}
        }
    }
    let kinds: BTreeSet<&str> = seen.as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    let all = [
        "session.start",
        "client.messages",
        "client.action",
        "tool.execute",
        "tool.finished",
        "llm.execute",
        "llm.finished",
        "subagent.finished",
        "interrupt.resumed",
        "turn.finished",
    ];
    assert_eq!(kinds, BTreeSet::from(all), "{seen}");
}
