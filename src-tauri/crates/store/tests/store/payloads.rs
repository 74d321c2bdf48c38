use std::collections::BTreeSet;

use holdpoint_core::event::{Event, Payload};
use holdpoint_core::time::Millis;
use serde_json::{Value, json};

use crate::story::{Done, Place, one, session, step};

/// Fails to compile when a type is added: then give it a line in [`one_of_each`].
fn known(payload: &Payload) {
    use Payload as P;
    match payload {
        P::SessionCreated { .. } | P::MessageNew { .. } | P::HeadMoved { .. } | P::TurnStarted { .. } | P::TurnCompleted { .. } => {}
        P::SessionDone { .. } | P::LlmCallRequested { .. } | P::LlmCallDispatched { .. } | P::LlmCallCompleted { .. } => {}
        P::LlmCallErrored { .. } | P::ToolCallRequested { .. } | P::ToolCallDispatched { .. } | P::ToolCallCompleted { .. } => {}
        P::ToolCallErrored { .. } | P::SubagentRequested { .. } | P::SubagentDispatched { .. } | P::SubagentStarted { .. } => {}
        P::SubagentTurnCompleted { .. } | P::SubagentErrored { .. } | P::ConnectorSyncRequested { .. } => {}
        P::ConnectorSyncCompleted { .. } | P::ConnectorSyncErrored { .. } | P::ConnectorAuthFailed { .. } => {}
        P::SessionInterrupted { .. } | P::SessionInterruptResumed { .. } | P::WorkerStateUpdated { .. } | P::AgentUpdated { .. } => {}
        P::ChannelsUpdated { .. } | P::DecisionQueued { .. } | P::DecisionDispatched { .. } | P::DecisionCompleted { .. } => {}
        P::DecisionErrored { .. } | P::DecisionDropped { .. } | P::CallVoided { .. } | P::SessionMessageRequested { .. } => {}
    }
}

/// As E-10 writes them, with texts, numbers and absences that are easy to lose.
fn one_of_each() -> Vec<Value> {
    let retry = json!({"queue_timeout_secs": 60.0, "run_timeout_secs": null, "total_timeout_secs": 0.5, "max_attempts": 5,
        "backoff_base_secs": 2.0, "backoff_max_secs": 30.0});
    let usage =
        json!({"input": 9_007_199_254_740_993_u64, "output": 2, "uncached_input": 1, "cache_read": 0, "cache_write": 0, "total": 3});
    let error = json!({"message": "It broke.", "code": "handler_error", "param": "a", "detail": {"stack": "at a.js:1"}});
    let message = json!({"id": "msg_1", "role": "assistant", "content": "nul \u{0} emoji \u{1F600} quote \"", "tool_calls": [
        {"id": "call_1", "type": "function", "function": {"name": "pay", "arguments": "{ \"amount\" : 1e2 }"}}]});
    let parts = json!({"id": "msg_2", "role": "user", "content": [{"type": "text", "text": "hi"}, {"type": "image", "data": "…"}]});
    let request = json!({"model": "m", "prompt": {"path": {"head": "msg_1", "open": ["call_1"]}}, "config": 0, "temperature": 0.1});
    vec![
        json!({"type": "session.created", "agent_id": "clerk", "identity": {"subject": {"issuer": "app", "id": "u"},
            "visibility": "shared", "metadata": {"z": "1", "a": "2"}}, "ancestry": [session(1), session(2)], "worker_retry": retry,
            "worker": {"id": "w", "url": "http://127.0.0.1:1/"}}),
        json!({"type": "message.new", "message": message, "parent_id": "msg_0"}),
        json!({"type": "head.moved", "head_id": "msg_1"}),
        json!({"type": "turn.started", "turn_id": "turn_1"}),
        json!({"type": "turn.completed", "turn_id": "turn_1", "data": null, "turn_cost": "0.30", "turn_token_usage": usage, "error": error}),
        json!({"type": "session.done"}),
        json!({"type": "llm.call.requested", "id": "msg_3", "attempt": 1, "llm": "main", "request": request, "stream": true,
            "retry": retry, "handler": "server", "format": "openai"}),
        json!({"type": "llm.call.dispatched", "id": "msg_3", "attempt": 1}),
        json!({"type": "llm.call.completed", "id": "msg_3", "attempt": 1, "response": {"model": "m", "content": "", "finish_reason": "stop",
            "usage": usage, "cost": "0.000001"}, "script_reply": 0}),
        json!({"type": "llm.call.errored", "id": "msg_3", "attempt": 2, "error": error, "retryable": true, "retry_after_ms": 1500}),
        json!({"type": "tool.call.requested", "id": "call_1", "attempt": 1, "name": "pay", "arguments": "not { json", "handler": "worker",
            "retry": retry}),
        json!({"type": "tool.call.dispatched", "id": "call_1", "attempt": 1, "approved_hash": "aa", "arguments_hash": "bb"}),
        json!({"type": "tool.call.completed", "id": "call_1", "name": "pay", "result": {"content": [{"type": "text", "text": "ok"}],
            "structuredContent": {"b": 1, "a": 1.0}, "isError": false}}),
        json!({"type": "tool.call.errored", "id": "call_1", "name": "pay", "error": error, "retryable": false}),
        json!({"type": "subagent.requested", "id": "call_2", "session_id": session(3), "agent_id": "driver", "message": "go",
            "retry": retry, "mode": "delegate"}),
        json!({"type": "subagent.dispatched", "id": "call_2"}),
        json!({"type": "subagent.started", "id": "call_2"}),
        json!({"type": "subagent.turn_completed", "id": "call_2", "cost": "1", "token_usage": usage, "data": null, "turn_id": "turn_2"}),
        json!({"type": "subagent.errored", "id": "call_2", "error": error, "retryable": true}),
        json!({"type": "connector.sync.requested", "path": "mail", "attempt": 1, "retry": retry}),
        json!({"type": "connector.sync.completed", "path": "mail", "prefix": "mail", "tools": [{"name": "send"}], "instructions": "be kind"}),
        json!({"type": "connector.sync.errored", "path": "mail", "error": error, "retryable": false, "auth": "reauthorize"}),
        json!({"type": "connector.auth.failed", "path": "mail", "auth": "token_rejected"}),
        json!({"type": "session.interrupted", "interrupt_id": "int_1", "origin": "frontend", "reason": "approval", "payload": null,
            "anchor": "msg_1", "call": {"id": "call_1", "attempt": 1}}),
        json!({"type": "session.interrupted", "interrupt_id": "int_2", "origin": "system", "reason": "no payload at all"}),
        json!({"type": "session.interrupt_resumed", "interrupt_id": "int_1", "payload": false, "responder": {"user": "ann"},
            "verification": "verified", "shown_hash": "cc", "arguments_hash": "dd"}),
        json!({"type": "worker.state.updated", "state": [0, -0.5, 1e300, {}, []], "anchor": "msg_1"}),
        json!({"type": "agent.updated", "config": {"model": "m", "system": "s", "tools": [{"name": "pay", "input": {"type": "object"}}],
            "house_rule": {"kept": true}}}),
        json!({"type": "channels.updated", "decision_id": "dec_1", "finishes_turn": true, "channels": {"slack": {"text": "x"}}}),
        json!({"type": "decision.queued", "id": "dec_1", "trigger": {"type": "client.messages", "messages": [parts], "append": true}}),
        json!({"type": "decision.dispatched", "id": "dec_1", "attempt": 1}),
        json!({"type": "decision.completed", "id": "dec_1"}),
        json!({"type": "decision.errored", "id": "dec_1", "error": error, "retryable": true}),
        json!({"type": "decision.dropped", "id": "dec_1"}),
        json!({"type": "call.voided", "kind": "connector_sync", "id": "mail"}),
        json!({"type": "session.message_requested", "target_session_id": session(4), "message": parts}),
    ]
}

#[tokio::test]
async fn every_event_type_comes_back_as_it_went_in_e10() -> Done {
    let written: Vec<Payload> = one_of_each().into_iter().map(serde_json::from_value).collect::<Result<_, _>>()?;
    written.iter().for_each(known);
    let kinds: BTreeSet<&str> = written.iter().map(Payload::kind).collect();
    assert_eq!(kinds.len(), 35, "one of each");

    let events: Vec<Event> = (1..)
        .zip(written)
        .map(|(seq, payload)| Event { seq, at: Millis(seq as i64 * 7), turn_id: (seq % 2 == 0).then(|| "turn_1".into()), payload })
        .collect();
    let mut all = step(&session(1), 0, 0, 1000);
    all.events = events.clone().into();
    let place = Place::new()?;
    let store = place.open()?;
    store.append(one(all)).await?;
    store.close();

    let read = place.open()?.events(&session(1), 0, usize::MAX)?;
    for (read, written) in read.iter().zip(&events) {
        assert_eq!(read, written);
    }
    assert_eq!(read.len(), events.len());
    Ok(())
}
