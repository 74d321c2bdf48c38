//! One session's events as a stream (E-6…E-9, Q-43): first what the reader missed, then live, with token deltas between.
//! Woken by the engine, it always reads from its own sequence number, so a slow reader misses nothing but deltas (D-7).

use std::collections::{HashSet, VecDeque};

use futures::stream::{self, Stream};
use holdpoint_core::id::SessionId;
use serde_json::Value;
use tokio::sync::{broadcast, watch};
use tokio_util::sync::CancellationToken;

use crate::caller::Caller;
use crate::{Answered, App};

/// Where a reader stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct From {
    /// `Last-Event-ID` or `?after_seq`; the adapter knows that the header wins (E-7).
    pub after_seq: Option<u64>,
    /// The stream ends with this turn (E-9).
    pub turn_id: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// A stored event: its seq and envelope.
    Event { seq: u64, envelope: Value },
    /// E-8: never stored, without a seq of the session. Its kind is in `type`.
    Delta(Value),
}

const BATCH: usize = 500;

impl App {
    /// `admin`: envelopes in E-4's admin form.
    pub async fn session_stream(
        &self,
        caller: &Caller,
        id: &str,
        from: From,
        admin: bool,
    ) -> Answered<impl Stream<Item = Item> + Send + use<>> {
        let session = self.readable(caller, id).await?;
        // Subscribed before the first read, so that nothing falls between.
        let watch = self.inner.engine.watch(&session);
        let deltas = self.inner.engine.deltas(&session);
        let scope = match &from.turn_id {
            Some(turn) => Some(self.scope(&session, turn, from.after_seq).await?),
            None => None,
        };
        let after = match (from.after_seq, &scope) {
            (Some(after), _) => after,
            (None, Some(scope)) if scope.replay_from > 0 => scope.replay_from - 1,
            (None, _) => self.inner.store.session_meta(&session)?.map_or(0, |meta| meta.seq),
        };
        let reader = Reader {
            app: self.clone(),
            tenant: caller.tenant.clone(),
            session,
            after,
            admin,
            over: scope.as_ref().is_some_and(|scope| scope.end.is_some_and(|end| after >= end)),
            scope,
            ready: VecDeque::new(),
            waiting: VecDeque::new(),
            ended_calls: HashSet::new(),
            watch,
            deltas: Some(deltas),
            closing: self.closing(),
        };
        Ok(stream::unfold(reader, |mut reader| async move { reader.next().await.map(|item| (item, reader)) }))
    }

    /// Looks the turn up in the log: where it starts, whether and where it ended.
    async fn scope(&self, session: &SessionId, turn: &str, after_seq: Option<u64>) -> Answered<Scope> {
        let mut scope = Scope { turn: turn.to_owned(), replay_from: 0, started: false, end: None };
        let mut at = 0;
        loop {
            let events = self.inner.engine.events(session, at, BATCH).await?;
            let Some(last) = events.last() else { return Ok(scope) };
            at = seq_of(last);
            for event in &events {
                if after_seq.is_some_and(|after| seq_of(event) > after) {
                    return Ok(scope); // the reader gets to see the rest itself
                }
                scope.take_in(event);
            }
        }
    }
}

/// The turn a stream is about.
#[derive(Debug)]
struct Scope {
    turn: String,
    /// Seq of `turn.started`; 0 while the turn has not started.
    replay_from: u64,
    started: bool,
    /// Seq of the event after which the stream closes.
    end: Option<u64>,
}

impl Scope {
    fn take_in(&mut self, event: &Value) {
        let (seq, payload) = (seq_of(event), &event["payload"]);
        match payload["type"].as_str() {
            Some("turn.started") if payload["turn_id"] == self.turn.as_str() => {
                self.started = true;
                self.replay_from = seq;
            }
            Some("turn.completed") if payload["turn_id"] == self.turn.as_str() => self.end = Some(seq),
            // E-9: the decision that would have started it was dropped, so it never will.
            Some("decision.dropped") if !self.started && event["turn_id"] == self.turn.as_str() => {
                self.replay_from = seq;
                self.end = Some(seq);
            }
            _ => {}
        }
    }
}

struct Reader {
    app: App,
    tenant: String,
    session: SessionId,
    after: u64,
    admin: bool,
    scope: Option<Scope>,
    over: bool,
    ready: VecDeque<Item>,
    /// Deltas received and not shown yet.
    waiting: VecDeque<Value>,
    /// Calls whose attempt is over: late deltas are not shown (C-22).
    ended_calls: HashSet<String>,
    watch: watch::Receiver<u64>,
    deltas: Option<broadcast::Receiver<Value>>,
    closing: CancellationToken,
}

impl Reader {
    async fn next(&mut self) -> Option<Item> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Some(item);
            }
            if self.over || self.closing.is_cancelled() {
                return None;
            }
            self.watch.borrow_and_update();
            self.collect_deltas();
            if self.read().await? {
                continue;
            }
            self.show_deltas(None);
            if self.ready.is_empty() {
                self.sleep().await?;
            }
        }
    }

    /// Until something may have happened. `None`: there will be nothing more.
    async fn sleep(&mut self) -> Option<()> {
        let delta = async {
            match &mut self.deltas {
                Some(deltas) => deltas.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.closing.cancelled() => None,
            changed = self.watch.changed() => changed.ok(),
            delta = delta => {
                match delta {
                    Ok(delta) => self.waiting.push_back(delta),
                    Err(broadcast::error::RecvError::Lagged(_)) => {} // lossy by design (E-8)
                    Err(broadcast::error::RecvError::Closed) => self.deltas = None,
                }
                Some(())
            }
        }
    }

    fn collect_deltas(&mut self) {
        let Some(deltas) = &mut self.deltas else { return };
        loop {
            match deltas.try_recv() {
                Ok(delta) => self.waiting.push_back(delta),
                Err(broadcast::error::TryRecvError::Lagged(_)) => {}
                Err(_) => return,
            }
        }
    }

    /// Reads what was committed since. Some(true): there was something. `None`: the log cannot be read any more.
    async fn read(&mut self) -> Option<bool> {
        let events = match self.app.events_of(&self.tenant, &self.session, self.after, BATCH, self.admin).await {
            Ok(events) => events,
            Err(error) => {
                tracing::warn!(session = %self.session, %error, "a stream ends: the log cannot be read");
                return None;
            }
        };
        // Once more: deltas sent between the first look and this read stand before the end of their call.
        self.collect_deltas();
        let found = !events.is_empty();
        for envelope in events {
            let seq = seq_of(&envelope);
            self.after = seq;
            self.order_deltas(&envelope["payload"]);
            let ends = match &mut self.scope {
                Some(scope) => {
                    scope.take_in(&envelope);
                    scope.end == Some(seq)
                }
                None => false,
            };
            self.ready.push_back(Item::Event { seq, envelope });
            if ends {
                self.over = true;
                break;
            }
        }
        Some(found)
    }

    /// Deltas of a call stand before the event that ends its attempt, and none behind it.
    fn order_deltas(&mut self, payload: &Value) {
        let Some(id) = payload["id"].as_str() else { return };
        match payload["type"].as_str() {
            Some("llm.call.dispatched" | "tool.call.dispatched") => {
                self.ended_calls.remove(id);
            }
            Some("llm.call.completed" | "llm.call.errored" | "tool.call.completed" | "tool.call.errored" | "call.voided") => {
                self.show_deltas(Some(id));
                self.ended_calls.insert(id.to_owned());
            }
            _ => {}
        }
    }

    /// All that wait, or those of one call.
    fn show_deltas(&mut self, call: Option<&str>) {
        for delta in std::mem::take(&mut self.waiting) {
            let id = delta["call_id"].as_str().unwrap_or_default();
            if self.ended_calls.contains(id) {
                continue;
            }
            if call.is_none_or(|call| call == id) {
                self.ready.push_back(Item::Delta(delta));
            } else {
                self.waiting.push_back(delta);
            }
        }
    }
}

fn seq_of(event: &Value) -> u64 {
    event["seq"].as_u64().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn scope_after(events: &[Value]) -> Scope {
        let mut scope = Scope { turn: "t".to_owned(), replay_from: 0, started: false, end: None };
        for event in events {
            scope.take_in(event);
        }
        scope
    }

    #[test]
    fn a_scoped_stream_ends_with_its_turn_e9() {
        let scope = scope_after(&[
            json!({"seq": 1, "turn_id": "t", "payload": {"type": "decision.queued", "id": "d"}}),
            json!({"seq": 2, "turn_id": "t", "payload": {"type": "turn.started", "turn_id": "t"}}),
            json!({"seq": 3, "turn_id": "t", "payload": {"type": "decision.dropped", "id": "d"}}),
            json!({"seq": 4, "turn_id": "o", "payload": {"type": "turn.completed", "turn_id": "o"}}),
        ]);
        assert_eq!((scope.replay_from, scope.end), (2, None), "a decision dropped later is not its start");
        let scope = scope_after(&[
            json!({"seq": 2, "payload": {"type": "turn.started", "turn_id": "t"}}),
            json!({"seq": 9, "turn_id": "t", "payload": {"type": "turn.completed", "turn_id": "t"}}),
        ]);
        assert_eq!((scope.replay_from, scope.end), (2, Some(9)));
    }

    #[test]
    fn a_scoped_stream_ends_with_the_dropped_start_of_its_turn_e9() {
        let scope = scope_after(&[
            json!({"seq": 5, "turn_id": "t", "payload": {"type": "decision.queued", "id": "d"}}),
            json!({"seq": 8, "turn_id": "t", "payload": {"type": "decision.dropped", "id": "d"}}),
        ]);
        assert_eq!((scope.replay_from, scope.end), (8, Some(8)));
    }
}
