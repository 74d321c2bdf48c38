//! Points in time. Core is told the time, it never asks.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use time::format_description::FormatItem;
use time::macros::format_description;
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

/// Milliseconds since 1970-01-01 UTC. On the wire RFC 3339 in UTC with milliseconds (B-1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Millis(pub i64);

const FORM: &[FormatItem<'static>] = format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]Z");

impl Millis {
    #[must_use]
    pub fn plus(self, ms: i64) -> Self {
        Self(self.0.saturating_add(ms))
    }

    pub fn to_rfc3339(self) -> String {
        OffsetDateTime::from_unix_timestamp_nanos(i128::from(self.0) * 1_000_000)
            .ok()
            .and_then(|at| at.format(&FORM).ok())
            .unwrap_or_else(|| "1970-01-01T00:00:00.000Z".to_owned())
    }

    pub fn parse(text: &str) -> Option<Self> {
        let at = OffsetDateTime::parse(text, &Rfc3339).ok()?;
        Some(Self((at.unix_timestamp_nanos() / 1_000_000) as i64))
    }
}

impl Serialize for Millis {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.to_rfc3339())
    }
}

impl<'de> Deserialize<'de> for Millis {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom(format!("{text:?} is no RFC 3339 time")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rfc3339_utc_with_milliseconds_b1() {
        assert_eq!(Millis(1_760_000_000_007).to_rfc3339(), "2025-10-09T08:53:20.007Z");
        assert_eq!(Millis::parse("2025-10-09T08:53:20.007Z"), Some(Millis(1_760_000_000_007)));
    }
}
