//! Kills a process that appends, again and again, and looks at what it left (P1, P5).

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use holdpoint_store::{Append, Store, StoreError};

use crate::story::{Done, Place, one, seqs, session, step};

const KILLS: u64 = 50;
const ENV: &str = "HOLDPOINT_STORE_TO_KILL";

/// The process to be killed: this test alone, run again with the variable set. Without it there is nothing to do.
#[test]
fn a_process_that_appends_until_it_is_killed() -> Done {
    let Some(path) = std::env::var_os(ENV) else { return Ok(()) };
    let store = Store::open(path.as_ref())?;
    // On threads of their own, so that steps meet: some are saved by their caller, some together.
    tokio::runtime::Builder::new_multi_thread().worker_threads(4).build()?.block_on(async {
        let mut sessions = tokio::task::JoinSet::new();
        let own = store.clone();
        sessions.spawn(async move { pairs(&own).await.map_err(|error| error.to_string()) });
        for n in 3..=5 {
            let own = store.clone();
            sessions.spawn(async move { singles(&own, n).await.map_err(|error| error.to_string()) });
        }
        while let Some(ended) = sessions.join_next().await {
            ended??;
        }
        Ok(())
    })
}

/// Sessions 1 and 2, always in one step.
async fn pairs(store: &Store) -> Done {
    for seq in next(store, 1)?.. {
        let sessions = [1, 2].map(|n| step(&session(n), seq - 1, 1, 1000)).to_vec();
        store.append(Append { sessions, receipt: None }).await?;
        acknowledge(1, seq)?;
        acknowledge(2, seq)?;
    }
    Ok(())
}

async fn singles(store: &Store, n: u64) -> Done {
    for seq in next(store, n)?.. {
        store.append(one(step(&session(n), seq - 1, 1, 1000))).await?;
        acknowledge(n, seq)?;
    }
    Ok(())
}

fn next(store: &Store, n: u64) -> Result<u64, StoreError> {
    Ok(store.session_meta(&session(n))?.map_or(0, |meta| meta.seq) + 1)
}

fn acknowledge(n: u64, seq: u64) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "\nsaved {n} {seq}")?;
    out.flush()
}

#[test]
fn a_killed_process_loses_no_acknowledged_event_and_leaves_no_gap_p1() -> Done {
    let place = Place::new()?;
    let mut saved: BTreeMap<u64, u64> = BTreeMap::new();
    let mut random = 88_172_645_463_325_252_u64;
    for kill in 0..KILLS {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let mut child = start(&place)?;
        read_and_kill(&mut child, &place, random, &mut saved)?;

        let store = place.open()?;
        for (n, acknowledged) in &saved {
            let found = seqs(&store, &session(*n))?;
            let last = found.len() as u64;
            assert_eq!(found, (1..=last).collect::<Vec<_>>(), "no gap (kill {kill}, session {n})");
            assert!(last >= *acknowledged, "kill {kill}: session {n} ends at {last}, but {acknowledged} was acknowledged");
            let row = store.session_row(&session(*n))?.ok_or("a session has a row")?;
            assert_eq!(row.seq.0, last, "row and log are of one moment (kill {kill}, session {n})");
        }
        assert_eq!(seqs(&store, &session(1))?, seqs(&store, &session(2))?, "P5: both halves of a step (kill {kill})");
        store.close();
    }
    // Who comes first is the system's choice; that the others come too is not.
    assert_eq!(saved.keys().copied().collect::<Vec<_>>(), [1, 2, 3, 4, 5], "each session did work");
    assert!(saved.values().sum::<u64>() >= KILLS, "the killed processes did work: {saved:?}");
    let verdict: String = rusqlite::Connection::open(place.db())?.query_row("PRAGMA integrity_check", [], |row| row.get(0))?;
    assert_eq!(verdict, "ok");
    Ok(())
}

fn start(place: &Place) -> Result<Child, std::io::Error> {
    Command::new(std::env::current_exe()?)
        .args(["--exact", "kill::a_process_that_appends_until_it_is_killed", "--nocapture"])
        .env(ENV, place.db())
        .stdout(Stdio::piped())
        .spawn()
}

/// Lets the child acknowledge a few appends, kills it at a random moment after them, and takes down all it acknowledged.
fn read_and_kill(child: &mut Child, place: &Place, random: u64, saved: &mut BTreeMap<u64, u64>) -> Done {
    let mut lines = BufReader::new(child.stdout.take().ok_or("piped")?).lines();
    let mut acknowledged = || -> Result<Option<(u64, u64)>, std::io::Error> {
        for line in lines.by_ref() {
            let line = line?;
            let mut words = line.split(' ');
            if let (Some("saved"), Some(Ok(n)), Some(Ok(seq)), None) =
                (words.next(), words.next().map(str::parse), words.next().map(str::parse), words.next())
            {
                return Ok(Some((n, seq)));
            }
        }
        Ok(None)
    };
    for _ in 0..=random % 16 {
        let (n, seq) = acknowledged()?.ok_or("the child appends until it is killed")?;
        saved.insert(n, seq);
    }
    let pid = child.id();
    assert_eq!(Store::open(&place.db()).err(), Some(StoreError::Owned { pid, address: None }), "D-11: held by the child");
    let moment = Instant::now() + Duration::from_micros(random % 3000);
    while Instant::now() < moment {
        std::hint::spin_loop();
    }
    child.kill()?;
    child.wait()?;
    while let Some((n, seq)) = acknowledged()? {
        saved.insert(n, seq);
    }
    Ok(())
}
