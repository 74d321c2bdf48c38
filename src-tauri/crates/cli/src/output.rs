//! What commands print. Much of it was written by models, tools and strangers, so nothing reaches the terminal that could move
//! its cursor, recolour it or show text in another order than it is in.

use std::io::Write as _;

use serde_json::Value;

use crate::args::EventFormat;

/// A line on stdout.
macro_rules! say {
    ($($text:tt)*) => { $crate::output::print(&format!("{}\n", format_args!($($text)*))) };
}
/// A line on stderr.
macro_rules! tell {
    ($($text:tt)*) => { $crate::output::remark(&format!("{}\n", format_args!($($text)*))) };
}
pub(crate) use {say, tell};

/// Output that nobody takes any more ends the command, as a pipe into `head` does.
pub(crate) fn print(text: &str) {
    let mut out = std::io::stdout();
    if out.write_all(plain(text).as_bytes()).and_then(|()| out.flush()).is_err() {
        std::process::exit(crate::exit::FAILED.into());
    }
}

/// A remark that cannot be written is no reason to fail.
pub(crate) fn remark(text: &str) {
    let _ = std::io::stderr().write_all(plain(text).as_bytes());
}

/// The text with its control characters and invisible direction marks spelled out. The spelling is JSON's own, so printed JSON keeps
/// its meaning.
fn plain(text: &str) -> String {
    use std::fmt::Write as _;
    let mut plain = String::with_capacity(text.len());
    for character in text.chars() {
        if acts_on_terminal(character) {
            let _ = write!(plain, "\\u{:04x}", u32::from(character));
        } else {
            plain.push(character);
        }
    }
    plain
}

/// Joiners (U+200C, U+200D) stay: scripts and emoji need them.
fn acts_on_terminal(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' => true,
        other => other.is_control(),
    }
}

pub(crate) fn event(format: EventFormat, envelope: &Value) {
    match format {
        EventFormat::Jsonl => say!("{envelope}"),
        EventFormat::Pretty => say!("{}", pretty(envelope)),
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
    let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(|cell| plain(&cell.replace(['\n', '\t'], " "))).collect()).collect();
    let width =
        |column: usize| rows.iter().map(|row| row[column].chars().count()).chain([head[column].chars().count()]).max().unwrap_or_default();
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let line = |cells: Vec<&str>| {
        let padded: Vec<String> = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        say!("{}", padded.join("  ").trim_end());
    };
    line(head.to_vec());
    for row in &rows {
        line(row.iter().map(String::as_str).collect());
    }
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn text_from_elsewhere_cannot_steer_the_terminal() {
        assert_eq!(plain("\u{1b}[2J\u{1b}]0;x\u{7}\r\u{8}\u{7f}\0"), r"\u001b[2J\u001b]0;x\u0007\u000d\u0008\u007f\u0000");
        assert_eq!(plain("\u{9b}31m \u{202e}txt.exe \u{2066}\u{200b}\u{feff}"), r"\u009b31m \u202etxt.exe \u2066\u200b\ufeff");
    }

    #[test]
    fn writing_of_every_script_stays_as_it_is() {
        let text = "line\n\tSchön, 日本語, עברית, می\u{200c}خواهم, 👩\u{200d}🚀, e\u{301}";
        assert_eq!(plain(text), text);
    }

    #[test]
    fn printed_json_keeps_its_meaning() -> Result<(), serde_json::Error> {
        let value = serde_json::json!({"text": "\u{1b}[31m\u{9b}\u{202e}\n", "\u{200b}": [1]});
        assert_eq!(serde_json::from_str::<serde_json::Value>(&plain(&format!("{value:#}")))?, value);
        Ok(())
    }
}
