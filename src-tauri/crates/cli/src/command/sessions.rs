//! `sessions`: look at them, cancel a run (CL-10).

use futures::StreamExt as _;
use serde_json::{Value, json};

use crate::Ended;
use crate::args::{EventFormat, Sessions};
use crate::guest::Guest;
use crate::output::{self, say, tell, word};

pub(crate) async fn sessions(command: Sessions) -> Result<u8, Ended> {
    match command {
        Sessions::List { session_id, agent_id, limit, cursor, json, target } => {
            let mut query = vec![("limit", limit.to_string())];
            for (key, value) in [("session_id", session_id), ("agent_id", agent_id), ("cursor", cursor.clone())] {
                query.extend(value.map(|value| (key, value)));
            }
            let page = Guest::of(&target)?.get("/api/admin/sessions", &query).await?;
            list(&page, json);
        }
        Sessions::Show { id, target } => {
            let shown = Guest::of(&target)?.get(&format!("/api/admin/sessions/{id}"), &[]).await?;
            say!("{shown:#}");
        }
        Sessions::Events { id, from, follow, output, target } => {
            let guest = Guest::of(&target)?;
            events(&guest, &id, from.saturating_sub(1), follow, output).await?;
        }
        Sessions::Cancel { id, target } => {
            let told = Guest::of(&target)?.post(&format!("/api/machine/sessions/{id}/cancel"), &json!({})).await?;
            say!("{}", if told["cancelled"] == true { "cancelled" } else { "nothing was running" });
        }
    }
    Ok(0)
}

fn list(page: &Value, as_json: bool) {
    if as_json {
        say!("{page:#}");
        return;
    }
    let cells = |row: &Value| {
        let open = row["open_interrupts"].as_u64().filter(|open| *open > 0).map(|open| format!("waits for you ({open})"));
        let status = open.unwrap_or_else(|| if row["turn_id"].is_null() { word(&row["status"]) } else { "running".to_owned() });
        vec![word(&row["session_id"]), word(&row["agent_id"]), status, word(&row["last_event_at"]), word(&row["title"])]
    };
    let rows: Vec<Vec<String>> = page["items"].as_array().into_iter().flatten().map(cells).collect();
    output::table(&["SESSION", "AGENT", "STATUS", "LAST EVENT", "TITLE"], &rows);
    if let Some(cursor) = page["next_cursor"].as_str() {
        tell!("more: --cursor {cursor}");
    }
}

async fn events(guest: &Guest, id: &str, after: u64, follow: bool, format: EventFormat) -> Result<(), Ended> {
    if follow {
        let path = format!("/api/admin/sessions/{id}/events/stream");
        let mut frames = guest.stream(&path, &[("after_seq", after.to_string())]).await?;
        while let Some((_, envelope)) = frames.next().await {
            if envelope["payload"].is_object() {
                output::event(format, &envelope);
            }
        }
        return Ok(());
    }
    let mut cursor = after.to_string();
    loop {
        let query = [("limit", "1000".to_owned()), ("cursor", cursor.clone())];
        let page = guest.get(&format!("/api/admin/sessions/{id}/events"), &query).await?;
        for envelope in page["items"].as_array().into_iter().flatten() {
            output::event(format, envelope);
        }
        match page["next_cursor"].as_str() {
            Some(next) => next.clone_into(&mut cursor),
            None => return Ok(()),
        }
    }
}
