//! The sandbox for JavaScript workers: what a script may be, what it may not do, and that nothing in it stops the engine.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use holdpoint_core::event::WorkerRef;
use holdpoint_effects_worker::{WorkerBlock, Workers};
use holdpoint_runtime::runner::{DecisionCall, Failure, WorkerRunner};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// Far more than any of these scripts needs, on a loaded machine too.
const CPU_MS: u64 = 60_000;

struct Lab {
    _dir: tempfile::TempDir,
    path: PathBuf,
    workers: Workers,
}

impl Lab {
    fn new(source: &str) -> Self {
        Self::with_limits(source, CPU_MS, 64)
    }

    fn with_limits(source: &str, cpu_ms: u64, memory_mb: u64) -> Self {
        let dir = tempfile::tempdir().expect("a temp folder");
        let path = dir.path().join("worker.mjs");
        std::fs::write(&path, source).expect("the script is written");
        let block = WorkerBlock::File { path: path.clone(), cpu_ms, memory_mb };
        Self { _dir: dir, path, workers: Workers::new([("w".to_owned(), block)]) }
    }

    async fn decide(&self, request: Value) -> Result<Value, Failure> {
        self.workers.decide(call(request), CancellationToken::new()).await
    }

    async fn fails(&self) -> (String, String, Option<String>) {
        let failure = self.decide(json!({})).await.expect_err("the script fails");
        assert!(!failure.retryable, "P-29: none is retryable");
        let stack = failure.error.detail.and_then(|detail| detail["stack"].as_str().map(str::to_owned));
        (failure.error.code, failure.error.message, stack)
    }
}

fn call(request: Value) -> DecisionCall {
    let worker = WorkerRef { id: "w".to_owned(), url: None, file: Some("worker.mjs".to_owned()) };
    DecisionCall { worker, request: Arc::new(request), deltas: None, format: None }
}

async fn answer(source: &str, request: Value) -> Value {
    Lab::new(source).decide(request).await.expect("the script answers")
}

async fn fault(source: &str) -> (String, String) {
    let (code, message, _) = Lab::new(source).fails().await;
    (code, message)
}

const GUIDE_EXAMPLE: &str = r#"
function decide({ trigger, proposed }) {
    if (trigger.type === "tool.execute" && trigger.name === "send_email") {
        return { actions: [{ type: "interrupt", reason: "confirm", payload: { message: "Send the email?" } }] };
    }

    if (trigger.type === "interrupt.resumed") {
        return trigger.payload?.approved
            ? { actions: [{ type: "tool.result", result: { content: [{ type: "text", text: "sent" }] } }] }
            : { actions: [{ type: "tool.error", error: "declined" }] };
    }

    return proposed;
}
"#;

#[tokio::test]
async fn a_bare_function_in_an_mjs_file_decides_p27() {
    let lab = Lab::new(GUIDE_EXAMPLE);
    let asked = lab.decide(json!({"trigger": {"type": "tool.execute", "name": "send_email"}, "proposed": {}})).await;
    assert_eq!(asked, Ok(json!({"actions": [{"type": "interrupt", "reason": "confirm", "payload": {"message": "Send the email?"}}]})));
    let approved = lab.decide(json!({"trigger": {"type": "interrupt.resumed", "payload": {"approved": true}}})).await;
    let sent = json!({"actions": [{"type": "tool.result", "result": {"content": [{"type": "text", "text": "sent"}]}}]});
    assert_eq!(approved, Ok(sent));
    let bare = lab.decide(json!({"trigger": {"type": "interrupt.resumed"}})).await;
    assert_eq!(bare, Ok(json!({"actions": [{"type": "tool.error", "error": "declined"}]})));
    let plain = lab.decide(json!({"trigger": {"type": "session.start"}, "proposed": {"agent": {"model": "m"}}})).await;
    assert_eq!(plain, Ok(json!({"agent": {"model": "m"}})), "proposed is accepted unchanged");
    assert_eq!(lab.workers.check("w"), Ok(()));
}

#[tokio::test]
async fn decide_is_looked_for_as_named_export_default_export_and_global_in_this_order_p27() {
    let global = "globalThis.decide = () => ({ state: 'global' });";
    let default = "export default () => ({ state: 'default' });";
    let named = "export function decide() { return { state: 'named' }; }";
    assert_eq!(answer(&format!("{global}\n{default}\n{named}"), json!({})).await, json!({"state": "named"}));
    assert_eq!(answer(&format!("{global}\n{default}"), json!({})).await, json!({"state": "default"}));
    assert_eq!(answer(&format!("{global}\nexport const other = 1;"), json!({})).await, json!({"state": "global"}));
    assert_eq!(answer(global, json!({})).await, json!({"state": "global"}));
    assert_eq!(answer("const decide = () => ({ state: 1 });", json!({})).await, json!({"state": 1}));
    assert_eq!(answer("await null; globalThis.decide = () => ({ state: 2 });", json!({})).await, json!({"state": 2}));
}

#[tokio::test]
async fn a_promise_that_settles_by_itself_is_awaited_p27() {
    let source = "export async function decide({ n }) { let sum = 0; for (let i = 0; i < n; i++) sum += await i; return { state: sum }; }";
    assert_eq!(answer(source, json!({"n": 100})).await, json!({"state": 4950}));
    let rejecting = "export async function decide() { await null; throw new Error('late'); }";
    assert_eq!(fault(rejecting).await, ("handler_error".to_owned(), "worker.mjs threw Error: late".to_owned()));
}

#[tokio::test]
async fn members_that_are_undefined_are_dropped_and_texts_survive() {
    let source = "export const decide = ({ text }) => ({ a: undefined, b: null, text, list: [undefined] });";
    let text = "ünïcode \u{0} \u{1F600} \"quoted\" \u{2028}";
    assert_eq!(answer(source, json!({ "text": text })).await, json!({"b": null, "text": text, "list": [null]}));
}

#[tokio::test]
async fn a_wrong_answer_is_an_invalid_response_p29() {
    let body = |body: &str| format!("export function decide() {{ {body} }}");
    let said = |what: &str| ("invalid_response".to_owned(), format!("worker.mjs {what}"));
    assert_eq!(fault(&body("return 7")).await, said("answered with a value that is no object"));
    assert_eq!(fault(&body("return []")).await, said("answered with a value that is no object"));
    assert_eq!(fault(&body("return null")).await, said("answered with a value that is no object"));
    assert_eq!(fault(&body("")).await, said("answered with nothing that JSON can hold"));
    assert_eq!(fault(&body("return decide")).await, said("answered with nothing that JSON can hold"));
    assert_eq!(fault(&body("const a = {}; a.a = a; return a")).await.0, "invalid_response", "a circle");
    assert_eq!(fault(&body("return { state: 1n }")).await.0, "invalid_response", "a BigInt");
    assert_eq!(fault(&body("return { get state() { throw new Error('no') } }")).await.0, "invalid_response", "a getter that throws");
    assert_eq!(fault(&body("return { state: '\\ud800' }")).await.0, "invalid_response", "half a character");
    assert_eq!(fault("export const other = 1;").await, said("provides no function decide"));
    assert_eq!(fault("").await, said("provides no function decide"));
    assert_eq!(fault("export const decide = 7;").await, said("provides no function decide"));
}

#[tokio::test]
async fn a_promise_nothing_will_settle_is_an_invalid_response_p29() {
    let never = ("invalid_response".to_owned(), "worker.mjs returned a promise that only an outside event could settle".to_owned());
    assert_eq!(fault("export const decide = () => new Promise(() => {});").await, never);
    let awaiting = fault("await new Promise(() => {}); export const decide = () => ({});").await;
    assert_eq!(awaiting, ("invalid_response".to_owned(), "worker.mjs awaits something that never comes".to_owned()));
}

#[tokio::test]
async fn an_exception_is_a_handler_error_with_the_users_file_and_line_p29() {
    let lab = Lab::new("function inner() {\n  throw new TypeError('boom');\n}\n\nexport function decide() {\n  inner();\n}\n");
    let (code, message, stack) = lab.fails().await;
    assert_eq!((code.as_str(), message.as_str()), ("handler_error", "worker.mjs threw TypeError: boom"));
    let stack = stack.expect("a stack");
    assert!(stack.starts_with("TypeError: boom\n"), "{stack}");
    assert!(stack.contains("inner (worker.mjs:2:") && stack.contains("decide (worker.mjs:6:"), "{stack}");
    assert_eq!(fault("function decide() { throw 'just text' }").await.1, "worker.mjs threw just text");
    assert_eq!(fault("function decide() { throw null }").await.0, "handler_error");
    assert_eq!(fault("function decide() { throw { toString() { throw 1 } } }").await.0, "handler_error");
}

#[tokio::test]
async fn a_syntax_error_is_found_when_the_engine_starts() {
    let lab = Lab::new("export function decide() {\n  return {;\n}\n");
    let failure = lab.workers.check("w").expect_err("the script does not parse");
    assert_eq!(failure.error.code, "handler_error");
    assert!(failure.error.message.starts_with("worker.mjs threw SyntaxError: "), "{}", failure.error.message);
    let stack = failure.error.detail.expect("a detail")["stack"].to_string();
    assert!(stack.contains("worker.mjs:2"), "{stack}");
    assert_eq!(Lab::new("export const other = 1").workers.check("w").map_err(|f| f.error.code), Err("invalid_response".to_owned()));
    assert_eq!(Lab::new("").workers.check("unknown").map_err(|f| f.error.code), Err("unroutable".to_owned()));
}

#[tokio::test]
async fn the_file_is_read_again_when_it_has_changed_p28() {
    let lab = Lab::new("export const decide = () => ({ state: 1 });");
    assert_eq!(lab.decide(json!({})).await, Ok(json!({"state": 1})));
    std::fs::write(&lab.path, "export const decide = () => ({ state: 2 });").expect("written");
    assert_eq!(lab.decide(json!({})).await, Ok(json!({"state": 2})), "same length, same second");
    std::fs::remove_file(&lab.path).expect("removed");
    assert_eq!(lab.fails().await.0, "worker_unreachable");
}

#[tokio::test]
async fn no_global_survives_a_decision_p28() {
    let source = "globalThis.count = (globalThis.count ?? 0) + 1; Object.prototype.seen = (Object.prototype.seen ?? 0) + 1;\n\
        export const decide = () => ({ state: [count, ({}).seen] });";
    let lab = Lab::new(source);
    for _ in 0..3 {
        assert_eq!(lab.decide(json!({})).await, Ok(json!({"state": [1, 1]})));
    }
}

#[tokio::test]
async fn nothing_of_the_outside_is_there_p28() {
    for name in
        ["fetch", "XMLHttpRequest", "WebSocket", "require", "process", "Deno", "Bun", "std", "os", "setTimeout", "setInterval", "Worker"]
    {
        let kind = answer(&format!("export const decide = () => ({{ state: typeof {name} }});"), json!({})).await;
        assert_eq!(kind, json!({"state": "undefined"}), "{name}");
    }
    for escape in [
        "import fs from 'fs'; export const decide = () => ({});",
        "import './other.mjs'; export const decide = () => ({});",
        "export const decide = () => import('fs');",
        "export const decide = () => import('/etc/passwd');",
        "export const decide = () => eval('import(\"fs\")');",
        "export const decide = () => Function('return import(\"os\")')();",
        "export const decide = () => (async () => {}).constructor('return await import(\"std\")')();",
        "export const decide = () => ({}).constructor.constructor('return process')().env;",
        "export const decide = () => globalThis.constructor.constructor('return this')().require('fs');",
    ] {
        assert_eq!(fault(escape).await.0, "handler_error", "{escape}");
    }
}

#[tokio::test]
async fn hostile_names_in_json_change_nothing_outside_their_object() {
    let request: Value = serde_json::from_str(r#"{"__proto__": {"admin": true}, "constructor": {"prototype": {"x": 1}}}"#).expect("JSON");
    let source = "export const decide = (r) => ({ state: [({}).admin === undefined, ({}).x === undefined, Object.keys(r)], echo: r });";
    let said = answer(source, request.clone()).await;
    assert_eq!(said, json!({"state": [true, true, ["__proto__", "constructor"]], "echo": request}));
    let replaced = "JSON.stringify = () => '{\"forged\":1}'; JSON.parse = () => 7; Object.prototype.toJSON = undefined;\n\
        export const decide = ({ n }) => ({ state: n });";
    assert_eq!(answer(replaced, json!({"n": 1})).await, json!({"state": 1}), "the engine uses none of the script's globals");
}

/// What each script must end as; none of them ends by itself.
/// Where memory and time race, both ends are right.
const HOSTILE: &[(&str, &str, &str)] = &[
    ("endless loop", "for (;;) {}", "deadline_exceeded"),
    ("loop that catches", "for (;;) { try { for (;;) {} } catch {} finally {} }", "deadline_exceeded"),
    ("regex backtracking", "return { state: /^(a+)+$/.test('a'.repeat(40) + 'b') }", "deadline_exceeded"),
    ("array hog", "const a = []; while (true) a.push(a)", "handler_error deadline_exceeded"),
    ("big arrays", "const a = []; while (true) a.push(new Array(1e6).fill(1))", "handler_error"),
    ("1 GB string", "let s = 'x'; while (s.length < 2 ** 30 - 25) s += s; return { state: s + 'é' }", "handler_error"),
    ("repeat", "return { state: 'x'.repeat(2 ** 29) }", "handler_error"),
    ("typed array", "return { state: new Uint8Array(2 ** 30).length }", "handler_error"),
    ("hog that catches", "const a = []; while (true) try { a.push('x'.repeat(1e6 + a.length)) } catch {}", "deadline_exceeded"),
    ("deep recursion", "(function f() { f() })()", "handler_error"),
    ("deep recursion that catches", "(function f() { try { f() } catch { f() } })()", "deadline_exceeded"),
    ("deep getters", "let o = {}; for (let i = 0; i < 1e5; i++) o = { o }; return o", "invalid_response"),
    ("never settling", "return new Promise(() => {})", "invalid_response"),
    ("microtask flood", "const f = () => Promise.resolve().then(f); f(); return new Promise(() => {})", "deadline_exceeded"),
    ("async flood", "return (async () => { for (;;) await null })()", "deadline_exceeded"),
    ("getter that loops", "return { get state() { for (;;) {} } }", "deadline_exceeded"),
    ("toJSON that loops", "return { toJSON() { for (;;) {} } }", "deadline_exceeded"),
    ("proxy", "return new Proxy({}, { ownKeys() { for (;;) {} } })", "deadline_exceeded"),
    ("eval loop", "return eval('for (;;) {}')", "deadline_exceeded"),
    ("Function loop", "return Function('for (;;) {}')()", "deadline_exceeded"),
    ("generator", "return { state: [...(function* () { for (;;) yield 1 })()] }", "handler_error deadline_exceeded"),
    ("thrown loop", "throw { get message() { for (;;) {} }, toString() { for (;;) {} } }", "deadline_exceeded"),
    ("long sort", "return { state: new Array(3e5).fill(0).map((_, i) => i).sort(() => { for (;;) {} }) }", "deadline_exceeded"),
];

#[tokio::test(flavor = "multi_thread")]
async fn hostile_scripts_are_stopped_by_their_limits_p28_p29() {
    for (name, body, code) in HOSTILE {
        // Memory runs out before a long time does; everything else would use up any time, and never come back by itself.
        let cpu_ms = if code.contains("deadline_exceeded") { 300 } else { 60_000 };
        let lab = Lab::with_limits(&format!("export function decide() {{ {body} }}"), cpu_ms, 64);
        let failure = lab.decide(json!({})).await.expect_err("a hostile script gives no answer");
        assert!(code.split(' ').any(|code| code == failure.error.code), "{name}: {} {}", failure.error.code, failure.error.message);
    }
}

#[tokio::test]
async fn a_cancelled_decision_ends_at_once() {
    let lab = Lab::with_limits("export function decide() { for (;;) {} }", 60_000, 64);
    let cancel = CancellationToken::new();
    let decision = lab.workers.decide(call(json!({})), cancel.clone());
    let (outcome, ()) = tokio::join!(decision, async { cancel.cancel() });
    assert_eq!(outcome.map_err(|failure| failure.error.code), Err("cancelled".to_owned()));
}

/// Keeps what is logged.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

impl tracing::Subscriber for Lines {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target().starts_with("holdpoint")
    }
    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }
    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        let mut line = event.metadata().level().to_string();
        event.record(&mut |field: &tracing::field::Field, value: &dyn std::fmt::Debug| {
            let _ = write!(line, " {field}={value:?}");
        });
        self.0.lock().expect("not poisoned").push(line);
    }
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

#[tokio::test]
async fn the_console_writes_to_the_engines_log_p28() {
    let lines = Lines::default();
    let _log = tracing::dispatcher::set_default(&tracing::Dispatch::new(lines.clone()));
    let source = "export function decide() {\n\
        console.log('hi', 7, { a: [1] }, undefined, null, Symbol.iterator === 0); console.warn(); console.error('x'.repeat(5000).length);\n\
        for (let i = 0; i < 1000; i++) console.debug(i);\n return {}; }";
    assert_eq!(Lab::new(source).decide(json!({})).await, Ok(json!({})));
    let lines = lines.0.lock().expect("not poisoned");
    assert_eq!(lines[0], "INFO message=hi 7 {\"a\":[1]} undefined null false worker=\"w\"");
    assert_eq!((lines[1].as_str(), lines[2].as_str()), ("WARN message= worker=\"w\"", "ERROR message=5000 worker=\"w\""));
    assert_eq!((lines[3].as_str(), lines.len()), ("DEBUG message=0 worker=\"w\"", 200), "a flood is cut");
}

#[tokio::test]
async fn limits_are_those_of_the_block_p29() {
    let hog = "export function decide() { return { state: 'x'.repeat(8e6).length } }";
    let small = Lab::with_limits(hog, CPU_MS, 4).fails().await;
    assert_eq!((small.0.as_str(), small.1.as_str()), ("handler_error", "worker.mjs used more than memory_mb = 4"));
    assert_eq!(Lab::with_limits(hog, CPU_MS, 64).decide(json!({})).await, Ok(json!({"state": 8_000_000})));
}

#[tokio::test]
async fn many_decisions_at_once_each_get_their_own_answer() {
    let lab = Lab::new("export const decide = async ({ n }) => ({ state: await n });");
    let all = futures::future::join_all((0..50).map(|n| lab.decide(json!({ "n": n })))).await;
    let wanted: Vec<_> = (0..50).map(|n| Ok(json!({ "state": n }))).collect();
    assert_eq!(all, wanted);
}
