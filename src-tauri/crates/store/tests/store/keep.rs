use holdpoint_core::time::Millis;
use holdpoint_store::{ApiKey, Blob, StoreError};

use crate::story::{Done, Place};

#[tokio::test]
async fn the_same_bytes_are_kept_once_by_their_hash_d8() -> Done {
    let place = Place::new()?;
    let store = place.open()?;
    let hash = store.put_blob(b"hello".to_vec(), "text/plain").await?;
    assert_eq!(hash, "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824");
    assert_eq!(store.put_blob(b"hello".to_vec(), "text/html").await?, hash);
    assert_eq!(store.blob(&hash)?, Some(Blob { media_type: "text/plain".to_owned(), bytes: b"hello".to_vec() }));
    assert_eq!(store.blob("00")?, None);
    Ok(())
}

#[tokio::test]
async fn api_keys_are_found_by_hash_and_stay_revoked_h3() -> Done {
    let place = Place::new()?;
    let store = place.open()?;
    let key = ApiKey {
        id: "key_1".to_owned(),
        name: "ci".to_owned(),
        tenant: "local".to_owned(),
        hash: "ab".repeat(32),
        created_at: Millis(1000),
        expires_at: Some(Millis(9000)),
        revoked_at: None,
    };
    store.add_api_key(key.clone()).await?;
    assert_eq!(store.api_key(&key.hash)?, Some(key.clone()));
    assert_eq!(store.api_key("cd")?, None);
    assert!(matches!(store.add_api_key(key.clone()).await, Err(StoreError::Bug { .. })), "ids and hashes are made to be new");

    assert!(store.revoke_api_key("key_1", Millis(2000)).await?);
    assert!(store.revoke_api_key("key_1", Millis(3000)).await?);
    assert!(!store.revoke_api_key("key_2", Millis(2000)).await?, "no such key");
    store.close();
    let store = place.open()?;
    assert_eq!(store.api_keys()?, [ApiKey { revoked_at: Some(Millis(2000)), ..key }], "the first time stands");
    Ok(())
}

#[tokio::test]
async fn a_secret_made_once_stays_h2() -> Done {
    let place = Place::new()?;
    let store = place.open()?;
    assert_eq!(store.meta("client_token_secret")?, None);
    assert_eq!(store.meta_or("client_token_secret", "first").await?, "first");
    assert_eq!(store.meta_or("client_token_secret", "second").await?, "first");
    store.set_meta("client_token_secret", "third").await?;
    store.close();
    assert_eq!(place.open()?.meta("client_token_secret")?, Some("third".to_owned()));
    Ok(())
}
