//! API keys (H-3) and the operator token (H-4): made, stored as hashes, compared in constant time.

use std::io::Write;
use std::path::Path;

use holdpoint_core::json::sha256_hex;
use holdpoint_core::time::Millis;
use rand::Rng;
use subtle::ConstantTimeEq;

const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

fn random_text(prefix: &str) -> String {
    let mut random = rand::rng();
    let tail: String = (0..40).map(|_| BASE62[random.random_range(0..BASE62.len())] as char).collect();
    format!("{prefix}{tail}")
}

/// `sk_live_` + 40 base62 characters. Shown once, stored as [`hash`].
pub fn new_api_key() -> String {
    random_text("sk_live_")
}

/// `op_` + 40 characters; a new one at each start.
pub fn new_operator_token() -> String {
    random_text("op_")
}

pub fn is_api_key(text: &str) -> bool {
    text.strip_prefix("sk_live_").is_some_and(|tail| tail.len() == 40 && tail.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

pub fn hash(secret: &str) -> String {
    sha256_hex(secret.as_bytes())
}

pub fn same_secret(a: &str, b: &str) -> bool {
    a.as_bytes().ct_eq(b.as_bytes()).into()
}

/// A key's record counts until it is revoked or its time is over (H-3).
pub fn is_valid(revoked_at: Option<Millis>, expires_at: Option<Millis>, now: Millis) -> bool {
    revoked_at.is_none() && expires_at.is_none_or(|end| now < end)
}

/// token, newline, address; for this user's eyes only.
pub fn write_operator_file(path: &Path, token: &str, address: Option<&str>) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    // Written beside and moved over, so that a reader never sees half a file or the mode of an older one.
    let mut fresh = path.as_os_str().to_owned();
    fresh.push(".new");
    let fresh = Path::new(&fresh);
    let _ = std::fs::remove_file(fresh);
    let mut file = options.open(fresh)?;
    write!(file, "{token}\n{}", address.unwrap_or_default())?;
    drop(file);
    std::fs::rename(fresh, path)
}

/// What [`write_operator_file`] wrote: token, and the address when the engine listens.
pub fn read_operator_file(path: &Path) -> Option<(String, Option<String>)> {
    let text = std::fs::read_to_string(path).ok()?;
    let (token, address) = text.split_once('\n')?;
    let address = address.trim();
    Some((token.to_owned(), (!address.is_empty()).then(|| address.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_tokens_have_their_forms_h3_h4() {
        let (key, token) = (new_api_key(), new_operator_token());
        assert!(is_api_key(&key), "{key}");
        assert!(token.starts_with("op_") && token.len() == 43, "{token}");
        assert_ne!(new_api_key(), key);
        assert!(!is_api_key("sk_live_short") && !is_api_key(&token));
    }

    #[test]
    fn a_key_ends_when_revoked_or_expired_h3() {
        let now = Millis(1000);
        assert!(is_valid(None, None, now) && is_valid(None, Some(Millis(1001)), now));
        assert!(!is_valid(None, Some(Millis(1000)), now) && !is_valid(Some(Millis(1)), None, now));
    }

    #[test]
    fn the_operator_file_is_the_users_alone_q32() -> std::io::Result<()> {
        let folder = std::env::temp_dir().join(format!("holdpoint-{}", new_api_key()));
        std::fs::create_dir_all(&folder)?;
        let path = folder.join("hp.db.operator");
        write_operator_file(&path, "op_a", Some("http://127.0.0.1:1"))?;
        write_operator_file(&path, "op_b", Some("http://127.0.0.1:2"))?;
        assert_eq!(read_operator_file(&path), Some(("op_b".to_owned(), Some("http://127.0.0.1:2".to_owned()))));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(std::fs::metadata(&path)?.permissions().mode() & 0o777, 0o600);
        }
        std::fs::remove_dir_all(&folder)
    }
}
