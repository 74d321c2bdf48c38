//! The rate limit of `/v1` (TH-41): per API key a bucket of 120 requests, refilled with 2 per second.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// What one request takes out of the bucket, as the time it takes to flow back.
const ONE: Duration = Duration::from_millis(500);
const FULL: Duration = Duration::from_mins(1);
/// Above this many keys, those whose bucket is full again are forgotten.
const KEYS: usize = 1000;

/// Times are of one monotonic clock, as its reader gives them.
#[derive(Default)]
pub(crate) struct Buckets {
    /// When each key's bucket is full again.
    full_at: Mutex<HashMap<String, Duration>>,
}

impl Buckets {
    /// Takes one request. Refused: seconds to wait.
    pub(crate) fn take(&self, key: &str, now: Duration) -> Result<(), u64> {
        let mut buckets = self.full_at.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() > KEYS {
            buckets.retain(|_, full_at| *full_at > now);
        }
        let full_at = buckets.entry(key.to_owned()).or_insert(now);
        let taken = full_at.saturating_sub(now) + ONE;
        if taken > FULL {
            return Err(taken.saturating_sub(FULL).as_millis().div_ceil(1000) as u64);
        }
        *full_at = now + taken;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_120_requests_and_2_more_a_second_th41() {
        let buckets = Buckets::default();
        let at = |ms: u64| Duration::from_millis(10_000 + ms);
        let passed = (0..130).filter(|_| buckets.take("a", at(0)).is_ok()).count();
        assert_eq!(passed, 120);
        assert_eq!(buckets.take("a", at(0)), Err(1), "in whole seconds, at least 1");
        assert_eq!(buckets.take("b", at(0)), Ok(()), "each key has its own");
        assert_eq!(buckets.take("a", at(499)), Err(1));
        assert_eq!((buckets.take("a", at(500)), buckets.take("a", at(500))), (Ok(()), Err(1)));
        let passed = (0..10).filter(|_| buckets.take("a", at(2500)).is_ok()).count();
        assert_eq!(passed, 4, "two seconds later");
        let passed = (0..200).filter(|_| buckets.take("a", at(3_600_000)).is_ok()).count();
        assert_eq!(passed, 120, "the bucket holds no more than it holds");
    }
}
