//! Built-ins that no interrupt handler reaches. A file, and so a process, of its own: its threads hang until it ends.

use std::sync::Arc;

use holdpoint_core::event::WorkerRef;
use holdpoint_effects_worker::{WorkerBlock, Workers};
use holdpoint_runtime::runner::{DecisionCall, WorkerRunner};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// Enough for the script that does not hang, on a loaded machine too.
const CPU_MS: u64 = 1500;

const SOURCE: &str = "export function decide({ hang }) {
    // A naive search: as many steps as the product of both lengths.
    if (hang) 'x'.repeat(1e7).indexOf('x'.repeat(1e6) + 'y');
    return { state: 'fine' };
}";

fn call(request: Value) -> DecisionCall {
    let worker = WorkerRef { id: "w".to_owned(), url: None, file: None };
    DecisionCall { worker, request: Arc::new(request), deltas: None, format: None }
}

#[tokio::test]
async fn a_script_stuck_in_a_built_in_is_given_up_from_outside_and_not_for_ever_p29() {
    let dir = tempfile::tempdir().expect("a temp folder");
    let path = dir.path().join("worker.mjs");
    std::fs::write(&path, SOURCE).expect("the script is written");
    let workers = Workers::new([("w".to_owned(), WorkerBlock::File { path, cpu_ms: CPU_MS, memory_mb: 64 })]);
    let decide = |request| workers.decide(call(request), CancellationToken::new());
    for _ in 0..4 {
        assert_eq!(decide(json!({"hang": false})).await, Ok(json!({"state": "fine"})), "another thread goes on");
        let failure = decide(json!({"hang": true})).await.expect_err("the built-in outlasts the limit");
        assert_eq!((failure.error.code.as_str(), failure.retryable), ("deadline_exceeded", false));
        assert_eq!(failure.error.message, format!("worker.mjs ran longer than cpu_ms = {CPU_MS}"));
    }
    let refused = decide(json!({"hang": false})).await.expect_err("four threads hang");
    assert_eq!(refused.error.message, "worker.mjs: earlier decisions still hang in it; mend the script and restart");
}
