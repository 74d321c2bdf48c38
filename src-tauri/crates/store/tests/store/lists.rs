use holdpoint_core::time::Millis;
use holdpoint_store::{Changes, InterruptQuery, InterruptState, SessionQuery, SessionSort, Store, StoreError};
use holdpoint_view::row::{Seq, Time};

use crate::story::{Done, Place, child_of, closed, interrupt, one, session, step};

/// Sessions 1…n, made at 1000, 2000, ….
async fn with_sessions(store: &Store, n: u64) -> Done {
    for n in 1..=n {
        store.append(one(step(&session(n), 0, 1, n as i64 * 1000))).await?;
    }
    Ok(())
}

/// All pages, with `between` run after each.
async fn walk(
    store: &Store,
    mut query: SessionQuery,
    mut between: impl AsyncFnMut(usize) -> Done,
) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let mut seen = Vec::new();
    for page in 0.. {
        let found = store.list_sessions(&query)?;
        seen.extend(found.items.into_iter().map(|row| row.session_id));
        query.cursor = found.next_cursor;
        if query.cursor.is_none() {
            break;
        }
        between(page).await?;
    }
    Ok(seen)
}

fn names(of: impl IntoIterator<Item = u64>) -> Vec<String> {
    of.into_iter().map(|n| session(n).to_string()).collect()
}

fn sorted(sort: SessionSort, limit: usize) -> SessionQuery {
    SessionQuery { sort, limit, ..SessionQuery::of("local") }
}

#[tokio::test]
async fn sessions_come_in_pages_of_each_order_q33() -> Done {
    let place = Place::new()?;
    let store = place.open()?;
    with_sessions(&store, 5).await?;
    let mut sleeper = step(&session(2), 1, 1, 9000);
    sleeper.row.first_event_at = Time(Millis(2000));
    sleeper.row.wake_at = Some(Time(Millis(70_000)));
    store.append(one(sleeper)).await?;

    let quiet = async |_| Ok(());
    for limit in [1, 2, 5, 100] {
        assert_eq!(walk(&store, sorted(SessionSort::FirstEventAsc, limit), quiet).await?, names(1..=5), "limit {limit}");
        assert_eq!(walk(&store, sorted(SessionSort::FirstEventDesc, limit), quiet).await?, names((1..=5).rev()));
        assert_eq!(walk(&store, sorted(SessionSort::LastEventDesc, limit), quiet).await?, names([2, 5, 4, 3, 1]));
        assert_eq!(walk(&store, sorted(SessionSort::WakeAtAsc, limit), quiet).await?, names([2, 1, 3, 4, 5]));
    }
    assert_eq!(store.list_sessions(&sorted(SessionSort::FirstEventAsc, 5))?.next_cursor, None, "a full last page says so");
    Ok(())
}

#[tokio::test]
async fn pages_hold_still_while_others_write_q33() -> Done {
    let place = Place::new()?;
    let store = place.open()?;
    with_sessions(&store, 6).await?;

    let while_paging = async |page| {
        // One already seen speaks again, a new one is made, and one of the same millisecond as the cursor's appears.
        store.append(one(step(&session(6), page as u64 + 1, 1, 20_000 + page as i64))).await?;
        store.append(one(step(&session(10 + page as u64), 0, 1, 30_000 + page as i64))).await?;
        Ok(())
    };
    let seen = walk(&store, sorted(SessionSort::LastEventDesc, 2), while_paging).await?;
    assert_eq!(seen, names([6, 5, 4, 3, 2, 1]), "none twice, none missed");
    Ok(())
}

#[tokio::test]
async fn sessions_of_one_millisecond_are_each_listed_once() -> Done {
    let place = Place::new()?;
    let store = place.open()?;
    for n in 1..=5 {
        store.append(one(step(&session(n), 0, 1, 1000))).await?;
    }
    let quiet = async |_| Ok(());
    assert_eq!(walk(&store, sorted(SessionSort::LastEventDesc, 2), quiet).await?, names((1..=5).rev()));
    assert_eq!(walk(&store, sorted(SessionSort::FirstEventAsc, 2), quiet).await?, names(1..=5));
    Ok(())
}

#[tokio::test]
async fn lists_can_be_narrowed() -> Done {
    let place = Place::new()?;
    let store = place.open()?;
    with_sessions(&store, 2).await?;
    store.append(one(child_of(step(&session(3), 0, 1, 3000), &session(1), &session(1)))).await?;
    let mut other_agent = step(&session(4), 0, 1, 4000);
    other_agent.row.agent_id = "driver".to_owned();
    store.append(one(other_agent)).await?;
    let mut stranger = step(&session(5), 0, 1, 5000);
    stranger.tenant = "other".to_owned();
    store.append(one(stranger)).await?;

    let listed = |query: SessionQuery| -> Result<Vec<String>, StoreError> {
        Ok(store.list_sessions(&query)?.items.into_iter().map(|row| row.session_id).collect())
    };
    let all = SessionQuery::of("local");
    assert_eq!(listed(all.clone())?, names([4, 3, 2, 1]), "B-5: only the own tenant's");
    assert_eq!(listed(SessionQuery { top_level: Some(true), ..all.clone() })?, names([4, 2, 1]));
    assert_eq!(listed(SessionQuery { top_level: Some(false), ..all.clone() })?, names([3]));
    assert_eq!(listed(SessionQuery { agent_id: Some("driver".to_owned()), ..all.clone() })?, names([4]));
    assert_eq!(listed(SessionQuery { session_id: Some(session(2)), ..all.clone() })?, names([2]));
    assert_eq!(listed(SessionQuery { session_id: Some(session(5)), ..all.clone() })?, names([]));
    assert_eq!(listed(SessionQuery { before: Some(Millis(3000)), ..all })?, names([2, 1]));
    Ok(())
}

#[tokio::test]
async fn a_cursor_of_another_list_is_refused() -> Done {
    let place = Place::new()?;
    let store = place.open()?;
    with_sessions(&store, 3).await?;
    let cursor = store.list_sessions(&sorted(SessionSort::FirstEventAsc, 1))?.next_cursor;
    assert!(cursor.is_some());
    let mixed = SessionQuery { cursor, ..sorted(SessionSort::LastEventDesc, 1) };
    assert_eq!(store.list_sessions(&mixed), Err(StoreError::BadCursor));
    let nonsense = InterruptQuery { cursor: Some("ö".to_owned()), ..InterruptQuery::of("local") };
    assert_eq!(store.list_interrupts(&nonsense), Err(StoreError::BadCursor));
    Ok(())
}

#[tokio::test]
async fn interrupts_are_listed_by_state_and_session_h9() -> Done {
    let place = Place::new()?;
    let store = place.open()?;
    let (a, b) = (session(1), session(2));
    let mut first = step(&a, 0, 3, 1000);
    first.interrupts = vec![interrupt(&a, "pay", 1, 1000), interrupt(&a, "send", 2, 2000)];
    store.append(one(first)).await?;
    let mut second = step(&b, 0, 1, 1500);
    second.interrupts = vec![interrupt(&b, "pay", 1, 1500)];
    store.append(one(second)).await?;
    let mut answered = step(&a, 3, 2, 3000);
    answered.interrupts = vec![closed(interrupt(&a, "pay", 1, 1000), 3000), interrupt(&a, "pay", 5, 3000)];
    store.append(one(answered)).await?;

    let listed = |query: InterruptQuery| -> Result<Vec<(String, u64)>, StoreError> {
        Ok(store.list_interrupts(&query)?.items.into_iter().map(|row| (row.interrupt_id, row.opened_seq.0)).collect())
    };
    let row = |id: &str, seq| (id.to_owned(), seq);
    let open = InterruptQuery::of("local");
    assert_eq!(listed(open.clone())?, [row("pay", 1), row("send", 2), row("pay", 5)], "session 2's, then those of 1");
    let closed_ones = InterruptQuery { state: InterruptState::Closed, ..open.clone() };
    assert_eq!(listed(closed_ones)?, [row("pay", 1)], "I-10: the same id raised again is another row");
    let all = InterruptQuery { state: InterruptState::All, newest_first: true, ..open.clone() };
    assert_eq!(listed(all.clone())?, [row("pay", 5), row("send", 2), row("pay", 1), row("pay", 1)]);
    assert_eq!(listed(InterruptQuery { session_id: Some(b.clone()), ..all })?, [row("pay", 1)]);
    assert_eq!(listed(InterruptQuery { before: Some(Millis(2000)), ..open.clone() })?, [row("pay", 1)]);
    assert_eq!(store.count_open_interrupts("local")?, 3);
    assert_eq!(store.count_open_interrupts("other")?, 0);

    let page = store.list_interrupts(&InterruptQuery { limit: 2, ..open.clone() })?;
    assert_eq!(page.items[0].session_id, b.to_string());
    let rest = store.list_interrupts(&InterruptQuery { limit: 2, cursor: page.next_cursor, ..open })?;
    assert_eq!((rest.items.len(), rest.items[0].opened_seq, rest.next_cursor), (1, Seq(5), None));
    Ok(())
}

#[tokio::test]
async fn a_reader_gets_the_rows_changed_since_its_counter() -> Done {
    let place = Place::new()?;
    let store = place.open()?;
    let mut told = store.changed();
    assert_eq!((*told.borrow_and_update(), store.counter()), (0, 0));

    let mut asked = step(&session(1), 0, 1, 1000);
    asked.interrupts = vec![interrupt(&session(1), "pay", 1, 1000)];
    store.append(one(asked)).await?;
    with_sessions_from(&store, 2, 3).await?;
    told.changed().await?;
    assert_eq!(*told.borrow(), 3, "bumped after the commit");

    let ids = |changes: &Changes| changes.sessions.iter().map(|row| row.session_id.clone()).collect::<Vec<_>>();
    let all = store.changes_since("local", 0, 100)?;
    assert_eq!((all.counter, ids(&all), all.interrupts.len()), (3, names(1..=3), 1));
    assert_eq!(store.changes_since("local", 3, 100)?, Changes { counter: 3, sessions: vec![], interrupts: vec![] });

    store.append(one(step(&session(2), 1, 1, 9000))).await?;
    let news = store.changes_since("local", 3, 100)?;
    assert_eq!((news.counter, ids(&news), news.interrupts.len()), (4, names([2]), 0));
    assert_eq!(ids(&store.changes_since("local", 0, 100)?), names([1, 3, 2]), "each row once, at its last change");
    let strangers = store.changes_since("other", 0, 100)?;
    assert_eq!((strangers.counter, strangers.sessions.len()), (4, 0), "others' commits are passed over");
    Ok(())
}

async fn with_sessions_from(store: &Store, from: u64, to: u64) -> Done {
    for n in from..=to {
        store.append(one(step(&session(n), 0, 1, n as i64 * 1000))).await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_slow_reader_catches_up_in_parts_that_never_split_a_commit() -> Done {
    let place = Place::new()?;
    let store = place.open()?;
    let together = (1..=3).map(|n| step(&session(n), 0, 1, 1000)).collect();
    store.append(holdpoint_store::Append { sessions: together, receipt: None }).await?;
    with_sessions_from(&store, 4, 6).await?;

    let mut counter = 0;
    let mut parts = Vec::new();
    while counter < store.counter() {
        let part = store.changes_since("local", counter, 2)?;
        counter = part.counter;
        parts.push(part.sessions.len());
    }
    assert_eq!(parts, [3, 2, 1]);
    Ok(())
}

#[tokio::test]
async fn the_counter_goes_on_after_a_restart() -> Done {
    let place = Place::new()?;
    let store = place.open()?;
    with_sessions(&store, 3).await?;
    store.close();
    let store = place.open()?;
    assert_eq!(store.counter(), 3);
    store.append(one(step(&session(1), 1, 1, 9000))).await?;
    assert_eq!(store.counter(), 4);
    assert_eq!(store.session_row(&session(1))?.map(|row| row.seq), Some(Seq(2)));
    assert_eq!(store.session_row(&session(9))?, None);
    Ok(())
}
