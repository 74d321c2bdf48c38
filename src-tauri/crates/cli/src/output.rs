//! What commands print.

use serde_json::Value;

use crate::args::EventFormat;

pub(crate) fn event(format: EventFormat, envelope: &Value) {
    match format {
        EventFormat::Jsonl => println!("{envelope}"),
        EventFormat::Pretty => println!("{}", pretty(envelope)),
    }
}

fn pretty(envelope: &Value) -> String {
    let payload = &envelope["payload"];
    let kind = payload["type"].as_str().unwrap_or("?");
    let time = envelope["occurred_at"].as_str().and_then(|at| at.get(11..19)).unwrap_or_default();
    let detail = match kind {
        "message.new" => format!("{}: {}", word(&payload["message"]["role"]), text_of(&payload["message"])),
        "turn.completed" if !payload["error"].is_null() => {
            format!("{} failed: {}", word(&payload["turn_id"]), word(&payload["error"]["message"]))
        }
        "turn.started" | "turn.completed" => word(&payload["turn_id"]),
        "tool.call.requested" => format!("{} {}", word(&payload["name"]), word(&payload["arguments"])),
        "tool.call.completed" | "tool.call.errored" => word(&payload["name"]),
        "session.interrupted" => format!("{}: {}", word(&payload["interrupt_id"]), question(payload)),
        "session.interrupt_resumed" => word(&payload["interrupt_id"]),
        "llm.call.errored" => word(&payload["error"]["message"]),
        "decision.queued" => word(&payload["trigger"]["type"]),
        _ => String::new(),
    };
    format!("{:>5} {time} {kind:<26} {}", envelope["seq"], one_line(&detail)).trim_end().to_owned()
}

pub(crate) fn word(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// I-52.
pub(crate) fn question(interrupt: &Value) -> String {
    let message = interrupt["payload"]["message"].as_str();
    message.map_or_else(|| format!("Paused: {}", word(&interrupt["reason"])), str::to_owned)
}

pub(crate) fn text_of(message: &Value) -> String {
    match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join(""),
        _ => message["tool_calls"].as_array().map_or_else(String::new, |calls| {
            calls.iter().map(|call| format!("calls {}", word(&call["function"]["name"]))).collect::<Vec<_>>().join(", ")
        }),
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Columns as wide as their widest cell.
pub(crate) fn table(head: &[&str], rows: &[Vec<String>]) {
    let width =
        |column: usize| rows.iter().map(|row| row[column].chars().count()).chain([head[column].chars().count()]).max().unwrap_or_default();
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let line = |cells: Vec<&str>| {
        let padded: Vec<String> = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        println!("{}", padded.join("  ").trim_end());
    };
    line(head.to_vec());
    for row in rows {
        line(row.iter().map(String::as_str).collect());
    }
}
