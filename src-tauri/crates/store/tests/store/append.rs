use holdpoint_core::money::Money;
use holdpoint_core::time::Millis;
use holdpoint_store::{Append, CommandReceipt, Spend, StoreError};
use serde_json::json;

use crate::story::{Done, Place, child_of, interrupt, one, seqs, session, step};

fn receipt(command_id: &str) -> CommandReceipt {
    CommandReceipt { command_id: command_id.to_owned(), body: json!({"turn_id": command_id}) }
}

#[tokio::test]
async fn appended_events_are_read_back_in_order_e3() -> Done {
    let place = Place::new()?;
    let store = place.open()?;
    let first = step(&session(1), 0, 3, 1000);
    store.append(one(first.clone())).await?;
    store.append(one(step(&session(1), 3, 2, 2000))).await?;

    assert_eq!(seqs(&store, &session(1))?, [1, 2, 3, 4, 5]);
    assert_eq!(store.events(&session(1), 0, 3)?, *first.events, "times, turns and payloads come back as they went in");
    assert_eq!(store.events(&session(1), 2, 2)?.iter().map(|e| e.seq).collect::<Vec<_>>(), [3, 4]);
    assert_eq!(seqs(&store, &session(2))?, [0; 0], "an unknown session has no events");
    Ok(())
}

#[tokio::test]
async fn an_append_on_an_old_seq_is_refused_with_the_new_one_d10() -> Done {
    let place = Place::new()?;
    let store = place.open()?;
    store.append(one(step(&session(1), 0, 3, 1000))).await?;

    let conflict = Err(StoreError::Conflict { session_id: session(1), seq: 3 });
    assert_eq!(store.append(one(step(&session(1), 1, 1, 2000))).await, conflict);
    assert_eq!(store.append(one(step(&session(1), 0, 1, 2000))).await, conflict, "made already");
    let ahead = Err(StoreError::Conflict { session_id: session(2), seq: 0 });
    assert_eq!(store.append(one(step(&session(2), 4, 1, 2000))).await, ahead, "not made yet");
    assert_eq!(seqs(&store, &session(1))?, [1, 2, 3]);
    assert_eq!(store.counter(), 1, "a refused append changes no row");
    Ok(())
}

#[tokio::test]
async fn a_step_over_several_sessions_is_all_or_nothing_d10() -> Done {
    let place = Place::new()?;
    let store = place.open()?;
    store.append(one(step(&session(1), 0, 1, 1000))).await?;

    let child = child_of(step(&session(2), 0, 1, 2000), &session(1), &session(1));
    let late = step(&session(1), 0, 1, 2000);
    let refused = store.append(Append { sessions: vec![child, late], receipt: Some(receipt("cancel")) }).await;

    assert_eq!(refused, Err(StoreError::Conflict { session_id: session(1), seq: 1 }));
    assert_eq!(store.session_meta(&session(2))?, None, "the child's half is undone");
    assert_eq!(store.receipt("cancel")?, None, "and so is the receipt");
    Ok(())
}

#[tokio::test]
async fn of_many_waiting_appends_only_the_conflicting_ones_fail_d10() -> Done {
    let place = Place::new()?;
    let store = place.open()?;
    // Joined without a pause, so that they reach the writer together; two of each session start from nothing.
    let appends = (0..200).map(|n| store.append(one(step(&session(n / 2), 0, 1, 1000))));
    let outcomes = join_all(appends).await;

    for (n, pair) in outcomes.chunks(2).enumerate() {
        assert_eq!(pair[0], Ok(()), "the first of session {n} wins");
        assert_eq!(pair[1], Err(StoreError::Conflict { session_id: session(n as u64), seq: 1 }));
    }
    assert_eq!(store.counter(), 100, "each commit that counts has its own number");
    Ok(())
}

/// Starts all, in order, before waiting for any.
async fn join_all<T>(futures: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    let mut started = Vec::new();
    for future in futures {
        let mut future = Box::pin(future);
        let polled = std::future::poll_fn(|context| std::task::Poll::Ready(future.as_mut().poll(context))).await;
        started.push((future, polled));
    }
    let mut done = Vec::new();
    for (future, polled) in started {
        done.push(match polled {
            std::task::Poll::Ready(value) => value,
            std::task::Poll::Pending => future.await,
        });
    }
    done
}

#[tokio::test]
async fn a_command_id_acts_once_also_after_a_restart_d13() -> Done {
    let place = Place::new()?;
    let store = place.open()?;
    store.append(Append { sessions: vec![step(&session(1), 0, 1, 1000)], receipt: Some(receipt("cmd")) }).await?;
    store.close();

    let store = place.open()?;
    assert_eq!(store.receipt("cmd")?, Some(json!({"turn_id": "cmd"})));
    let again = Append { sessions: vec![step(&session(1), 1, 1, 2000)], receipt: Some(receipt("cmd")) };
    assert_eq!(store.append(again).await, Err(StoreError::Repeated { command_id: "cmd".to_owned() }));
    assert_eq!(seqs(&store, &session(1))?, [1]);

    store.append(Append { sessions: Vec::new(), receipt: Some(receipt("nothing to record")) }).await?;
    assert_eq!(store.receipt("nothing to record")?, Some(json!({"turn_id": "nothing to record"})));
    assert_eq!(store.prune_receipts(Millis(0)).await?, 0);
    assert_eq!(store.prune_receipts(Millis(i64::MAX)).await?, 2);
    assert_eq!(store.receipt("cmd")?, None);
    Ok(())
}

#[tokio::test]
async fn a_session_knows_its_tenant_parent_root_and_last_event() -> Done {
    let place = Place::new()?;
    let store = place.open()?;
    store.append(one(step(&session(1), 0, 2, 1000))).await?;
    store.append(one(child_of(step(&session(2), 0, 1, 1000), &session(1), &session(1)))).await?;
    store.append(one(child_of(step(&session(3), 0, 1, 1000), &session(2), &session(1)))).await?;
    store.append(one(step(&session(4), 0, 1, 1000))).await?;

    let meta = store.session_meta(&session(3))?.ok_or("session 3 is there")?;
    assert_eq!((meta.tenant.as_str(), meta.seq), ("local", 1));
    assert_eq!((meta.root_session_id, meta.parent), (session(1), Some(session(2))));
    assert_eq!(store.family(&session(1))?, [session(1), session(2), session(3)]);
    assert_eq!(store.family(&session(4))?, [session(4)]);
    Ok(())
}

#[tokio::test]
async fn only_sessions_with_work_are_loaded_at_start_d9() -> Done {
    let place = Place::new()?;
    let store = place.open()?;
    for n in 1..=3 {
        let mut made = step(&session(n), 0, 1, 1000);
        made.busy = n != 2;
        made.interrupts = vec![interrupt(&session(n), "int_1", 1, 1000)];
        store.append(one(made)).await?;
    }
    store.append(one(step(&session(3), 1, 1, 2000))).await?;
    store.close();
    assert_eq!(place.open()?.unfinished()?, [session(1)], "2 is only paused, 3 came to rest");
    Ok(())
}

#[tokio::test]
async fn spend_is_summed_as_decimals_b1() -> Done {
    let place = Place::new()?;
    let store = place.open()?;
    let mut costly = step(&session(1), 0, 3, 1000);
    for (at, cost) in [(1000, "100"), (2000, "0.1"), (3000, "0.2")] {
        costly.spend.push(Spend { seq: 1, at: Millis(at), cost: Money::parse(cost).ok_or("a number")? });
    }
    store.append(one(costly)).await?;
    assert_eq!(store.spend_since("local", Millis(2000))?, "0.3");
    assert_eq!(store.spend_since("local", Millis(3001))?, "0");
    assert_eq!(store.spend_since("other", Millis(0))?, "0");
    Ok(())
}

#[tokio::test]
async fn closing_commits_what_is_queued_and_refuses_what_comes_after() -> Done {
    let place = Place::new()?;
    let store = place.open()?;
    let other = store.clone();
    let queued = tokio::spawn({
        let store = store.clone();
        async move { store.append(one(step(&session(1), 0, 1, 1000))).await }
    });
    tokio::task::yield_now().await;
    store.close();
    assert_eq!(queued.await?, Ok(()));
    assert_eq!(other.append(one(step(&session(2), 0, 1, 1000))).await, Err(StoreError::Closed));
    assert_eq!(other.session_meta(&session(1)), Err(StoreError::Closed));
    assert_eq!(seqs(&place.open()?, &session(1))?, [1]);
    Ok(())
}
