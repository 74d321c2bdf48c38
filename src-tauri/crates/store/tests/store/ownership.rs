use std::fs;

use holdpoint_store::{Owner, Store, StoreError, read_owner};

use crate::story::{Done, Place};

#[tokio::test]
async fn a_second_engine_is_told_who_holds_the_file_d11() -> Done {
    let place = Place::new()?;
    let store = place.open()?;
    let pid = std::process::id();
    assert_eq!(Store::open(&place.db()).err(), Some(StoreError::Owned { pid, address: None }));

    let address = Some("http://127.0.0.1:8080".to_owned());
    store.set_address(address.clone()).await?;
    let refused = Store::open(&place.db()).err().ok_or("still held")?;
    assert_eq!(refused, StoreError::Owned { pid, address: address.clone() });
    assert_eq!(refused.to_string(), format!("the database is held by process {pid} at http://127.0.0.1:8080"));
    assert_eq!(read_owner(&place.db()), Some(Owner { pid, address }));
    Ok(())
}

#[test]
fn the_file_is_free_again_when_the_last_clone_goes_c18() -> Done {
    let place = Place::new()?;
    let store = place.open()?;
    let clone = store.clone();
    drop(store);
    assert!(place.open().is_err(), "the clone holds it");
    drop(clone);
    place.open()?.close();
    place.open()?.close();
    Ok(())
}

#[cfg(unix)]
#[test]
fn a_second_name_of_the_file_meets_the_same_lock_c18() -> Done {
    let place = Place::new()?;
    let _store = place.open()?;
    let elsewhere = Place::new()?;
    std::os::unix::fs::symlink(place.db(), elsewhere.db())?;
    assert!(matches!(Store::open(&elsewhere.db()), Err(StoreError::Owned { .. })));
    Ok(())
}

#[cfg(unix)]
#[test]
fn only_its_user_can_read_the_file() -> Done {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new()?;
    let _store = place.open()?;
    assert_eq!(fs::metadata(place.db())?.permissions().mode() & 0o777, 0o600);
    Ok(())
}

#[test]
fn a_newer_schema_is_refused_and_the_file_left_as_it_is() -> Done {
    let place = Place::new()?;
    place.open()?.close();
    rusqlite::Connection::open(place.db())?.pragma_update(None, "user_version", 99)?;
    let before = fs::read(place.db())?;

    assert_eq!(Store::open(&place.db()).err(), Some(StoreError::NewerSchema { found: 99, supported: 1 }));
    assert!(fs::read(place.db())? == before, "not a byte was changed");
    Ok(())
}
