//! A credential on its way to the wire. Nothing here prints it.

use std::fmt;

/// The value of a key, with the name of the place it came from so that an error can say what to fix.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    value: String,
    source: Option<String>,
}

impl Secret {
    pub fn new(value: impl Into<String>) -> Self {
        Self { value: value.into(), source: None }
    }

    /// `source` is shown to people: the environment variable, or where else the key is kept.
    pub fn named(source: impl Into<String>, value: impl Into<String>) -> Self {
        Self { value: value.into(), source: Some(source.into()) }
    }

    pub fn source(&self) -> Option<&str> {
        self.source.as_deref()
    }

    /// The value itself, for a header or a signature.
    pub fn expose(&self) -> &str {
        &self.value
    }

    /// `text` without the value: providers repeat a bad key in their error.
    pub fn redact(&self, text: &str) -> String {
        if self.value.is_empty() { text.to_owned() } else { text.replace(&self.value, "[secret]") }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({})", self.source.as_deref().unwrap_or("unnamed"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_never_prints_its_value_q52() {
        let key = Secret::named("OPENAI_API_KEY", "sk-123");
        assert_eq!(format!("{key:?}"), "Secret(OPENAI_API_KEY)");
        assert_eq!(key.redact("bad key sk-123"), "bad key [secret]");
        assert_eq!(Secret::new("").redact("ab"), "ab", "an empty key matches nothing");
    }
}
