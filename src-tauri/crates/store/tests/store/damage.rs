use std::fs;

use holdpoint_store::{Health, Store, StoreError};

use crate::story::{Done, Place, one, session, step};

/// Zeroes the root page of `table`, as a bad sector would.
fn break_table(place: &Place, table: &str) -> Done {
    let db = rusqlite::Connection::open(place.db())?;
    let root: u32 = db.query_row("SELECT rootpage FROM sqlite_schema WHERE name = ?1", [table], |row| row.get(0))?;
    let page: u32 = db.pragma_query_value(None, "page_size", |row| row.get(0))?;
    db.close().map_err(|(_, error)| error)?;
    let mut bytes = fs::read(place.db())?;
    bytes[((root - 1) * page) as usize..(root * page) as usize].fill(0);
    fs::write(place.db(), bytes)?;
    Ok(())
}

#[tokio::test]
async fn a_damaged_file_is_noticed_at_open_and_kept_p9() -> Done {
    let place = Place::new()?;
    let store = place.open()?;
    store.append(one(step(&session(1), 0, 10, 1000))).await?;
    store.close();
    break_table(&place, "event")?;
    let before = fs::read(place.db())?;

    assert!(matches!(Store::open(&place.db()), Err(StoreError::Corrupt { .. })));
    assert!(fs::read(place.db())? == before, "the file is kept as it is");
    Ok(())
}

#[test]
fn a_file_that_is_no_database_is_refused_and_kept_p9() -> Done {
    let place = Place::new()?;
    fs::write(place.db(), "Dear diary, ".repeat(1000))?;
    assert!(matches!(Store::open(&place.db()), Err(StoreError::Corrupt { .. })));
    assert_eq!(fs::read_to_string(place.db())?, "Dear diary, ".repeat(1000));
    Ok(())
}

#[test]
fn some_other_programs_database_is_refused_and_kept() -> Done {
    let place = Place::new()?;
    rusqlite::Connection::open(place.db())?.execute_batch("CREATE TABLE bookmark (url TEXT)")?;
    let before = fs::read(place.db())?;
    assert!(matches!(Store::open(&place.db()), Err(StoreError::Corrupt { .. })));
    assert!(fs::read(place.db())? == before);
    Ok(())
}

#[tokio::test]
async fn a_large_file_is_checked_beside_the_work_and_stops_it_when_damaged_p9() -> Done {
    let place = Place::new()?;
    let store = place.open()?;
    store.put_blob(vec![7; 20 << 20], "video/mp4").await?;
    store.close();
    break_table(&place, "spend")?;

    let store = place.open()?;
    let mut health = store.health();
    health.wait_for(|health| *health != Health::Running).await?;
    let refused = store.append(one(step(&session(1), 0, 1, 1000))).await;
    assert!(matches!(refused, Err(StoreError::Corrupt { .. })), "{refused:?}");
    assert_eq!(store.session_meta(&session(1))?, None, "nothing is built on a damaged file; reading goes on");
    Ok(())
}
