//! Where the time comes from. Tests bring their own.

use std::time::{SystemTime, UNIX_EPOCH};

use holdpoint_core::time::Millis;

pub trait Clock: Send + Sync {
    fn now(&self) -> Millis;
}

pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Millis {
        Millis(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64))
    }
}

/// Follows tokio's clock, so that a paused test clock moves deadlines too.
pub struct TokioClock {
    base: Millis,
    from: tokio::time::Instant,
}

impl TokioClock {
    pub fn starting_at(base: Millis) -> Self {
        Self { base, from: tokio::time::Instant::now() }
    }
}

impl Clock for TokioClock {
    fn now(&self) -> Millis {
        self.base.plus(self.from.elapsed().as_millis() as i64)
    }
}
