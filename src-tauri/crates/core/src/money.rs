//! Money in US dollars: exact decimals, on the wire as the shortest decimal string (B-1, Q-61).

use std::str::FromStr;

use rust_decimal::Decimal;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Money(pub Decimal);

impl Money {
    pub const ZERO: Self = Self(Decimal::ZERO);

    pub fn parse(text: &str) -> Option<Self> {
        Decimal::from_str(text).or_else(|_| Decimal::from_scientific(text)).ok().map(|amount| Self(amount.normalize()))
    }
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0).normalize())
    }
}

impl std::fmt::Display for Money {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shortest = self.0.normalize();
        if shortest.is_zero() { f.write_str("0") } else { write!(f, "{shortest}") }
    }
}

impl Serialize for Money {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Money {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        // Scripts and workers may write a number; the log always holds the string.
        let value = serde_json::Value::deserialize(from)?;
        let text = match &value {
            serde_json::Value::String(text) => text.clone(),
            serde_json::Value::Number(number) => number.to_string(),
            other => return Err(serde::de::Error::custom(format!("{other} is no amount of money"))),
        };
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom(format!("{text:?} is no amount of money")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_is_written_shortest_q61() {
        let sum = Money::parse("0.10").and_then(|a| Some(a.plus(Money::parse("0.20")?)));
        assert_eq!(sum.map(|m| m.to_string()), Some("0.3".to_owned()), "decimal, not binary, arithmetic");
        assert_eq!(Money::ZERO.to_string(), "0");
        assert_eq!(Money::parse("0.000").map(|m| m.to_string()), Some("0".to_owned()));
    }
}
