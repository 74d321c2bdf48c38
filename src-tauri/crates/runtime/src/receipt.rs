//! A receipt as it is kept beside its command id (D-13).

use holdpoint_core::command::{ClosedBefore, Receipt};
use holdpoint_core::time::Millis;
use serde_json::{Value, json};

pub fn to_json(receipt: &Receipt) -> Value {
    json!({
        "turn_id": receipt.turn_id,
        "queued": receipt.queued,
        "interrupt_id": receipt.interrupt_id,
        "resumed": receipt.resumed,
        "cancelled": receipt.cancelled,
        "closed": receipt.closed.as_ref().map(|closed| json!({
            "at": closed.at.0, "outcome": closed.outcome, "responder": closed.responder,
        })),
    })
}

pub fn from_json(value: &Value) -> Receipt {
    let text = |key: &str| value[key].as_str();
    let closed = value.get("closed").filter(|closed| closed.is_object()).and_then(|closed| {
        Some(ClosedBefore {
            at: Millis(closed["at"].as_i64()?),
            outcome: serde_json::from_value(closed["outcome"].clone()).ok()?,
            responder: Some(closed["responder"].clone()).filter(|responder| !responder.is_null()),
        })
    });
    Receipt {
        turn_id: text("turn_id").map(Into::into),
        queued: value["queued"].as_bool().unwrap_or(false),
        interrupt_id: text("interrupt_id").map(Into::into),
        resumed: value["resumed"].as_bool(),
        cancelled: value["cancelled"].as_bool(),
        closed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receipt_reads_back_as_it_was_d13() {
        let receipt = Receipt {
            turn_id: Some("turn_1".into()),
            queued: true,
            interrupt_id: Some("q".into()),
            resumed: Some(false),
            cancelled: Some(true),
            closed: Some(ClosedBefore {
                at: Millis(7),
                outcome: holdpoint_core::answer::Outcome::Declined,
                responder: Some(json!({"channel": "cli"})),
            }),
        };
        assert_eq!(from_json(&to_json(&receipt)), receipt);
        assert_eq!(from_json(&to_json(&Receipt::default())), Receipt::default());
    }
}
