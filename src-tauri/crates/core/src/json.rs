//! JSON as the rules compare and hash it: canonical form (RFC 8785), SHA-256, structural equality.

use serde_json::{Number, Value};
use sha2::{Digest, Sha256};

pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

pub fn sha256_hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    sha256(bytes).iter().fold(String::with_capacity(64), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// RFC 8785 canonical JSON: keys sorted by UTF-16 code units, shortest numbers, no white space.
pub fn canonical(value: &Value) -> String {
    let mut out = String::new();
    write_canonical(value, &mut out);
    out
}

fn write_canonical(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => out.push_str(&canonical_number(number)),
        Value::String(text) => write_string(text, out),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_canonical(item, out);
            }
            out.push(']');
        }
        Value::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort_by(|a, b| a.encode_utf16().cmp(b.encode_utf16()));
            out.push('{');
            for (index, key) in keys.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_string(key, out);
                out.push(':');
                write_canonical(&map[key], out);
            }
            out.push('}');
        }
    }
}

fn write_string(text: &str, out: &mut String) {
    // serde_json escapes exactly what RFC 8785 escapes: quote, backslash, and control characters in their short forms.
    out.push_str(&Value::from(text).to_string());
}

/// ECMAScript's `Number::toString`, which RFC 8785 prescribes.
fn canonical_number(number: &Number) -> String {
    if let Some(whole) = number.as_i64().filter(|whole| whole.unsigned_abs() <= 1 << 53) {
        return whole.to_string();
    }
    let float = number.as_f64().unwrap_or(0.0);
    if float == 0.0 {
        return "0".to_owned();
    }
    // `{:e}` gives the shortest digits that read back the same: d.ddd e exp
    let text = format!("{:e}", float.abs());
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let digits: String = mantissa.chars().filter(|c| *c != '.').collect();
    let (count, point) = (digits.len() as i32, exponent + 1);
    let body = if count <= point && point <= 21 {
        format!("{digits}{}", "0".repeat((point - count) as usize))
    } else if 0 < point && point <= 21 {
        format!("{}.{}", &digits[..point as usize], &digits[point as usize..])
    } else if -6 < point && point <= 0 {
        format!("0.{}{digits}", "0".repeat((-point) as usize))
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        let rest = if count > 1 { format!(".{}", &digits[1..]) } else { String::new() };
        format!("{}{rest}e{sign}{}", &digits[..1], exponent.abs())
    };
    if float < 0.0 { format!("-{body}") } else { body }
}

/// Structural JSON equality: key order ignored, `1` and `1.0` equal, null and missing different (T-12, I-57).
pub fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) => x == y || canonical_number(x) == canonical_number(y),
        (Value::Array(x), Value::Array(y)) => x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same(x, y)),
        (Value::Object(x), Value::Object(y)) => {
            x.len() == y.len() && x.iter().all(|(key, value)| y.get(key).is_some_and(|other| same(value, other)))
        }
        _ => a == b,
    }
}

/// I-88: what the person saw, as one hash. A payload that is absent counts as null.
pub fn shown_hash(interrupt_id: &str, reason: &str, payload: Option<&Value>) -> String {
    let shown = serde_json::json!({
        "interrupt_id": interrupt_id,
        "reason": reason,
        "payload": payload.unwrap_or(&Value::Null),
    });
    sha256_hex(canonical(&shown).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn canonical_json_follows_rfc_8785_i88() {
        let value = json!({"b": [1.0, 1e21, 1e-7, 0.5, -0.0, 333_333_333.333_333_3], "a": "\u{20ac}\n\"", "\u{1F600}": 1, "\u{fb33}": 2});
        assert_eq!(
            canonical(&value),
            "{\"a\":\"\u{20ac}\\n\\\"\",\"b\":[1,1e+21,1e-7,0.5,0,333333333.3333333],\"\u{1F600}\":1,\"\u{fb33}\":2}"
        );
    }

    #[test]
    fn equality_is_structural_t12() {
        assert!(same(&json!({"a": 1, "b": 2}), &json!({"b": 2.0, "a": 1})));
        assert!(!same(&json!({"a": null}), &json!({})), "null is not missing");
    }
}
