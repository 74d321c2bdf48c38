//! `interrupts`: list open questions, answer one (CL-11). The engine builds payload and responder from the choice, and the
//! hash of what was printed goes with it (I-91).

use holdpoint_core::answer::{default_pair, options};
use holdpoint_core::elicit::mode;
use holdpoint_core::json::shown_hash;
use serde_json::{Value, json};

use crate::Ended;
use crate::args::{Interrupts, Resume};
use crate::guest::Guest;
use crate::output::{self, question, say, word};

pub(crate) async fn interrupts(command: Interrupts) -> Result<u8, Ended> {
    match command {
        Interrupts::List { session, json, target } => {
            let items = open(&Guest::of(&target)?, session.as_deref()).await?;
            list(&items, json);
        }
        Interrupts::Resume(resume) => return answer(resume).await,
    }
    Ok(0)
}

async fn open(guest: &Guest, session: Option<&str>) -> Result<Vec<Value>, Ended> {
    let mut items = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let mut query = vec![("limit", "1000".to_owned())];
        query.extend(session.map(|id| ("session_id", id.to_owned())));
        query.extend(cursor.take().map(|cursor| ("cursor", cursor)));
        let mut page = guest.get("/api/admin/interrupts", &query).await?;
        if let Value::Array(rows) = page["items"].take() {
            items.extend(rows);
        }
        match page["next_cursor"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => return Ok(items),
        }
    }
}

fn list(items: &[Value], as_json: bool) {
    if as_json {
        say!("{:#}", Value::from(items));
        return;
    }
    let cells = |row: &Value| {
        let first_line = question(row).lines().next().unwrap_or_default().to_owned();
        vec![word(&row["session_id"]), word(&row["interrupt_id"]), word(&row["opened_at"]), first_line]
    };
    let rows: Vec<Vec<String>> = items.iter().map(cells).collect();
    output::table(&["SESSION", "INTERRUPT", "OPENED", "QUESTION"], &rows);
}

async fn answer(resume: Resume) -> Result<u8, Ended> {
    let guest = Guest::of(&resume.target)?;
    let asked = open(&guest, Some(&resume.session)).await?.into_iter().find(|row| row["interrupt_id"] == resume.interrupt.as_str());
    let Some(asked) = asked else {
        return Err(Ended::failed(format!("session {} has no open question {}", resume.session, resume.interrupt)));
    };
    let payload = Some(&asked["payload"]).filter(|payload| !payload.is_null());
    let offered = options(payload).cloned().or_else(|| default_pair(payload)).unwrap_or_default();
    print_question(&asked, &offered);
    let answer = choice(&resume, &offered)?;
    let input = json!({
        "type": "interrupt.resume",
        "interrupt_id": resume.interrupt,
        "answer": answer,
        "shown_hash": shown_hash(&resume.interrupt, asked["reason"].as_str().unwrap_or_default(), payload),
    });
    let told = guest.post("/api/client/sessions/input", &json!({"session_id": resume.session, "input": input})).await?;
    if told["resumed"] == true {
        say!("answered");
        return Ok(0);
    }
    let by = &told["closed"]["responder"];
    Err(Ended::failed(format!("it was closed before{}", if by.is_null() { String::new() } else { format!(", by {by}") })))
}

fn print_question(asked: &Value, offered: &[Value]) {
    say!("{}", question(asked));
    let payload = &asked["payload"];
    if let (Some("url"), metadata) = (mode(Some(payload)), &payload["metadata"]) {
        say!("  on {}: {}", word(&metadata["host"]), word(&metadata["url"])); // M-33
    }
    if let Some(path) = payload["authorize"]["connection"].as_str() {
        say!("  first: holdpoint connections authorize {path}"); // SL-10's link is made when it is shown (M-23)
    }
    for (name, field) in payload["responseSchema"]["properties"].as_object().into_iter().flatten() {
        let required = payload["responseSchema"]["required"].as_array().is_some_and(|list| list.contains(&json!(name)));
        say!("  {name}: {}{}", kind(field), if required { ", required" } else { "" });
    }
    for (index, option) in offered.iter().enumerate() {
        say!("  {}. {}", index + 1, word(&option["label"]));
    }
}

/// What a field of a form takes, in a few words.
fn kind(field: &Value) -> String {
    let listed = |values: &Value| values.as_array().map(|list| list.iter().map(word).collect::<Vec<_>>().join(" | "));
    let titled = |all: &Value| all.as_array().map(|list| list.iter().map(|one| word(&one["const"])).collect::<Vec<_>>().join(" | "));
    let what = listed(&field["enum"]).or_else(|| titled(&field["oneOf"])).unwrap_or_else(|| word(&field["type"]));
    match field["description"].as_str().or(field["title"].as_str()) {
        Some(about) => format!("{what} ({about})"),
        None => what,
    }
}

fn choice(resume: &Resume, offered: &[Value]) -> Result<Value, Ended> {
    let mut answer = json!({"channel": "cli"});
    if let Some(option) = &resume.option {
        answer["option"] = json!(index_of(option, offered)?);
        if let Some(note) = &resume.note {
            answer["text"] = json!(note);
        }
    } else if let Some(text) = &resume.text {
        answer["value"] = json!(text); // always a string
    } else if let Some(text) = &resume.json {
        answer["value"] = serde_json::from_str(text).map_err(|error| Ended::usage(format!("--json: {error}")))?;
    } else {
        answer["cancel"] = json!(true);
    }
    Ok(answer)
}

fn index_of(option: &str, offered: &[Value]) -> Result<usize, Ended> {
    if let Some(index) = offered.iter().position(|offer| offer["label"] == option) {
        return Ok(index);
    }
    let number = option.parse::<usize>().ok().filter(|number| (1..=offered.len()).contains(number));
    let labels: Vec<String> = offered.iter().map(|offer| word(&offer["label"])).collect();
    number.map(|number| number - 1).ok_or_else(|| {
        Ended::usage(if labels.is_empty() {
            "this question offers no options; answer with --text or --json".to_owned()
        } else {
            format!("there is no option {option:?}; offered: {}", labels.join(", "))
        })
    })
}
