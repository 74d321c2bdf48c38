//! `connections`: how each stands with its server, and its credential (M-2, M-21, M-23). Needs the operator's rank.

use futures::StreamExt as _;
use serde_json::{Value, json};

use crate::Ended;
use crate::args::Connections;
use crate::guest::Guest;
use crate::output::{self, say, tell, word};

pub(crate) async fn connections(command: Connections) -> Result<u8, Ended> {
    match command {
        Connections::List { json, target } => {
            let rows = Guest::of(&target)?.post("/api/desktop/connections", &json!({})).await?;
            list(&rows, json);
        }
        Connections::Authorize { path, target } => authorize(&Guest::of(&target)?, &path).await?,
        Connections::SetToken { path, target } => {
            let guest = Guest::of(&target)?;
            tell!("Give the token of {path} as one line.");
            let mut line = String::new();
            std::io::stdin().read_line(&mut line).map_err(Ended::failed)?;
            let body = json!({"path": path, "token": line.trim()});
            guest.post("/api/desktop/set_connection_token", &body).await?;
            say!("kept");
        }
        Connections::Forget { path, target } => {
            Guest::of(&target)?.post("/api/desktop/forget_connection", &json!({"path": path})).await?;
            say!("forgotten");
        }
    }
    Ok(0)
}

fn list(rows: &Value, as_json: bool) {
    if as_json {
        say!("{rows:#}");
        return;
    }
    let cells = |row: &Value| vec![word(&row["path"]), standing(row).to_owned(), word(&row["server"])];
    let rows: Vec<Vec<String>> = rows.as_array().into_iter().flatten().map(cells).collect();
    output::table(&["CONNECTION", "STANDING", "SERVER"], &rows);
}

fn standing(row: &Value) -> &str {
    let text = |name: &str| row[name].as_str();
    match (text("auth"), text("needs"), text("credential")) {
        (None, _, _) => "local",
        _ if row["waiting"] == true => "waiting for a browser",
        (_, Some(needs), _) => needs,
        (_, None, Some("oauth")) => "authorized",
        (_, None, Some("environment")) => "token from the environment",
        (_, None, Some(_)) => "token",
        (Some("none"), None, None) => "no credential",
        (_, None, None) => "not asked so far",
    }
}

/// The feed tells when the browser has answered.
async fn authorize(guest: &Guest, path: &str) -> Result<(), Ended> {
    let link = guest.post("/api/desktop/authorize_connection", &json!({"path": path})).await?;
    say!("Authorize {path} at {}:", word(&link["host"]));
    say!("{}", word(&link["url"]));
    let mut feed = guest.stream("/api/desktop/feed", &[]).await?;
    while let Some((_, frame)) = feed.next().await {
        let rows = frame["connections"].as_array().into_iter().flatten();
        let Some(row) = rows.into_iter().find(|row| row["path"] == path).filter(|_| frame["type"] == "config") else { continue };
        if row["waiting"] == true {
            continue;
        }
        return match row["problem"].as_str() {
            None => {
                say!("authorized");
                Ok(())
            }
            Some(problem) => Err(Ended::failed(format!("{path} is not authorized: {problem}"))),
        };
    }
    Err(Ended::failed("the engine stopped before the authorization was given"))
}
