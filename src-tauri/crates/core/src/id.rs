//! Ids of every thing the log speaks of (B-2), and the generator that makes new ones.
//!
//! The generator is seeded by the caller: core itself has no clock and no randomness.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::time::Millis;

macro_rules! string_id {
    ($($(#[$meta:meta])* $name:ident;)*) => {$(
        $(#[$meta])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            pub fn new(text: impl Into<Arc<str>>) -> Self {
                Self(text.into())
            }
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", &*self.0)
            }
        }
        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }
        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text.into())
            }
        }
        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
    )*};
}

string_id! {
    /// `sesn_` + ULID.
    SessionId;
    /// Given by the client, or `turn_` + ULID.
    TurnId;
    /// Given, or `msg_` + ULID; the reply of a model call takes the call's id.
    MessageId;
    /// A model call (`msg_`…), a tool call (the model's id or `call_`…) or, for a connector fetch, its path.
    CallId;
    /// `dec_` + ULID.
    DecisionId;
    /// Given by the requester, fixed (I-65…I-67), or `int_` + ULID.
    InterruptId;
}

const CROCKFORD: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// 26 Crockford base32 characters: 48 bits of time, 80 bits of `random` (its low 80 bits).
pub fn ulid(at: Millis, random: u128) -> String {
    let number = ((at.0 as u128 & ((1 << 48) - 1)) << 80) | (random & ((1 << 80) - 1));
    (0..26).rev().map(|i| CROCKFORD[((number >> (5 * i)) & 31) as usize] as char).collect()
}

/// Whether `text` is a ULID as B-1 writes them.
pub fn is_ulid(text: &str) -> bool {
    text.len() == 26 && text.bytes().all(|b| CROCKFORD.contains(&b)) && text.as_bytes()[0] <= b'7'
}

/// B-2, B-3: the only form a session id may have.
pub fn is_session_id(text: &str) -> bool {
    text.strip_prefix("sesn_").is_some_and(is_ulid)
}

/// B-4: given turn, interrupt and message ids are strings of 1–200 characters.
pub fn is_given_id(text: &str) -> bool {
    (1..=200).contains(&text.chars().count())
}

/// Makes ULIDs that grow within one step. The seed comes from the caller.
#[derive(Debug, Clone)]
pub struct IdGen {
    at: Millis,
    random: u128,
}

impl IdGen {
    pub fn new(at: Millis, seed: u128) -> Self {
        Self { at, random: seed >> 1 & ((1 << 79) - 1) }
    }

    fn next(&mut self) -> String {
        // Growing by an odd stride keeps ids of one step sorted and distinct.
        self.random = (self.random + 0x9E37_79B9) & ((1 << 80) - 1);
        ulid(self.at, self.random)
    }

    pub fn session(&mut self) -> SessionId {
        format!("sesn_{}", self.next()).into()
    }
    pub fn turn(&mut self) -> TurnId {
        format!("turn_{}", self.next()).into()
    }
    pub fn message(&mut self) -> MessageId {
        format!("msg_{}", self.next()).into()
    }
    pub fn model_call(&mut self) -> CallId {
        format!("msg_{}", self.next()).into()
    }
    pub fn tool_call(&mut self) -> CallId {
        format!("call_{}", self.next()).into()
    }
    pub fn decision(&mut self) -> DecisionId {
        format!("dec_{}", self.next()).into()
    }
    pub fn interrupt(&mut self) -> InterruptId {
        format!("int_{}", self.next()).into()
    }
}

/// `evt_` id of a stored event. Derived, so that no column holds it.
pub fn event_id(session: &SessionId, seq: u64, at: Millis) -> String {
    let digest = crate::json::sha256(format!("{session}\n{seq}\n").as_bytes());
    let mut random = [0u8; 16];
    random[6..].copy_from_slice(&digest[..10]);
    format!("evt_{}", ulid(at, u128::from_be_bytes(random)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_the_forms_of_b2_and_b3() {
        let mut ids = IdGen::new(Millis(1_760_000_000_000), 42);
        let (first, second) = (ids.session(), ids.session());
        assert!(is_session_id(first.as_str()), "B-2: {first}");
        assert!(first < second, "ids of one step sort in the order they were made");
        assert!(!is_session_id("sesn_short") && !is_session_id("sesn_01JC7M2K4P6R8T0V2X4ZIIIIII"), "B-3");
    }

    #[test]
    fn given_ids_are_1_to_200_characters_b4() {
        assert!(is_given_id("x") && is_given_id(&"ü".repeat(200)));
        assert!(!is_given_id("") && !is_given_id(&"x".repeat(201)));
    }
}
