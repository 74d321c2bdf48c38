//! Deferred tools (K-10): they are left out of model requests, found with `tool_search` and run through `call_tool`.
//!
//! A call through `call_tool` is the call it names from the moment it is asked for: rules never see the wrapping.

use serde_json::{Value, json};

use crate::connector;
use crate::engine_config::EngineConfig;
use crate::message::{AgentConfig, ErrorCode, ErrorInfo, Handler, LlmTool, ToolResult};
use crate::prompt::declared_tool;
use crate::state::{Call, Session};

pub const SEARCH: &str = "tool_search";
pub const CALL: &str = "call_tool";

/// Matches of a search that names no `limit`, where `max_matches` sets none either.
const MATCHES: usize = 5;
/// What `limit` may ask for where `max_matches` sets no bound.
const AT_MOST: usize = 50;

/// Whether a tool is deferred: what its own entry says, else what `defer_tools` says for all.
pub fn is_deferred(config: &AgentConfig, own: Option<bool>) -> bool {
    own.unwrap_or_else(|| config.other.get("defer_tools").is_some_and(|all| all == true || all.is_object()))
}

/// Whether anything of this agent is deferred, so that its model needs the two tools to reach it.
pub fn is_on(config: &AgentConfig) -> bool {
    config.tools.iter().flatten().any(|tool| is_deferred(config, tool.defer))
        || connector::entries(config).iter().any(|entry| is_deferred(config, entry.tools.defer))
        || crate::delegate::tool_names(config).iter().any(|name| crate::delegate::is_deferred(config, name))
}

/// The names that are taken while tools are deferred.
pub fn own_names(config: &AgentConfig) -> &'static [&'static str] {
    if is_on(config) { &[SEARCH, CALL] } else { &[] }
}

/// What the model sees in place of the deferred tools.
pub fn tools(config: &AgentConfig) -> Vec<LlmTool> {
    if !is_on(config) {
        return Vec::new();
    }
    let tool = |name: &str, description: &str| LlmTool {
        name: name.to_owned(),
        description: Some(description.to_owned()),
        input: schema(name),
        output: None,
    };
    vec![
        tool(SEARCH, "Finds tools of yours that are not listed here, by words of their names and descriptions."),
        tool(CALL, "Runs a tool that tool_search found, with arguments that fit its input schema."),
    ]
}

fn schema(name: &str) -> Option<Value> {
    let (properties, required) = match name {
        SEARCH => {
            let query = json!({"type": "string", "description": "Words that the name or description of the tool may hold."});
            let limit = json!({"type": "integer", "minimum": 1, "description": "How many tools to list at most."});
            (json!({"query": query, "limit": limit}), json!(["query"]))
        }
        CALL => {
            let name = json!({"type": "string", "description": "The tool's name as tool_search lists it."});
            (json!({"name": name, "arguments": {"type": "object"}}), json!(["name", "arguments"]))
        }
        _ => return None,
    };
    Some(json!({"type": "object", "properties": properties, "required": required}))
}

/// Name and arguments of the call that is meant. One that names no tool stays what it is, and ends as an error.
pub fn meant(config: &AgentConfig, name: &str, arguments: &str) -> (String, String) {
    let (mut name, mut arguments) = (name.to_owned(), arguments.to_owned());
    while name == CALL && is_on(config) {
        // Each round is shorter than the one before.
        let Some((inner, given)) = named(&arguments) else { break };
        (name, arguments) = (inner, given);
    }
    (name, arguments)
}

/// Models write nested arguments as an object or as its text.
fn named(arguments: &str) -> Option<(String, String)> {
    let wrapped = connector::arguments(arguments)?;
    let name = wrapped.get("name")?.as_str().filter(|name| !name.is_empty())?;
    let given = match wrapped.get("arguments") {
        None | Some(Value::Null) => "{}".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    };
    Some((name.to_owned(), given))
}

/// Whether the engine answers a call of this name itself.
pub fn is_own(config: &AgentConfig, name: &str) -> bool {
    [SEARCH, CALL].contains(&name) && is_on(config)
}

/// Whether a requested call is one that the engine answers itself: it runs it, and no server does.
pub fn answers(call: &Call) -> bool {
    call.handler == Handler::Server && call.target.is_none()
}

/// The answer to a call of one of the two tools.
pub fn answer(session: &Session, engine: &EngineConfig, call: &Call) -> Result<ToolResult, ErrorInfo> {
    let misfit = |message: String| ErrorInfo { param: Some("input".to_owned()), ..ErrorInfo::new(ErrorCode::InvalidResponse, message) };
    let arguments = Value::Object(connector::arguments(&call.arguments).unwrap_or_default());
    if let Some(problem) = schema(&call.name).and_then(|schema| crate::proposal::violation(&schema, &arguments)) {
        return Err(misfit(format!("the arguments of {} do not fit its schema: {problem}", call.name)));
    }
    // A call of another tool was taken for that tool's.
    if call.name != SEARCH {
        return Err(misfit(format!("{} names no tool", call.name)));
    }
    let Some(config) = session.config_at(call.anchor) else { return Ok(ToolResult::default()) };
    let set = config.other.get("defer_tools").and_then(|all| all.get("max_matches")).and_then(Value::as_u64).map(|most| most as usize);
    let wanted = arguments["limit"].as_u64().map_or(set.unwrap_or(MATCHES), |limit| limit as usize);
    let found = search(deferred(session, config, engine), arguments["query"].as_str().unwrap_or_default());
    let found: Vec<LlmTool> = found.into_iter().take(wanted.min(set.unwrap_or(AT_MOST))).collect();
    let listed = json!({"tools": found});
    Ok(ToolResult { structured_content: Some(listed.clone()), ..ToolResult::text(listed.to_string()) })
}

/// Everything a search looks through: declared tools, those of connections, delegates.
fn deferred(session: &Session, config: &AgentConfig, engine: &EngineConfig) -> Vec<LlmTool> {
    let declared = config.tools.iter().flatten().filter(|tool| is_deferred(config, tool.defer)).map(declared_tool);
    let fetches = connector::current(session, config);
    let connected = connector::catalogue(session, config, &fetches).into_iter().filter(|tool| tool.deferred);
    let delegates = crate::delegate::tools(session, config, engine);
    let delegates = delegates.into_iter().filter(|tool| crate::delegate::is_deferred(config, &tool.name));
    declared.chain(connected.map(|tool| tool.for_model())).chain(delegates).collect()
}

/// Best match first; equal ones keep their order. A word in the name counts more than one in the description.
fn search(tools: Vec<LlmTool>, query: &str) -> Vec<LlmTool> {
    let words = words(query);
    let mut rated: Vec<(usize, LlmTool)> = tools.into_iter().map(|tool| (rate(&tool, &words), tool)).collect();
    rated.retain(|(rating, _)| *rating > 0 || words.is_empty());
    rated.sort_by_key(|(rating, _)| std::cmp::Reverse(*rating));
    rated.into_iter().map(|(_, tool)| tool).collect()
}

fn rate(tool: &LlmTool, wanted: &[String]) -> usize {
    let name = tool.name.to_lowercase();
    let (of_name, about) = (words(&name), words(tool.description.as_deref().unwrap_or_default()));
    let of_word = |word: &String| {
        let in_name = if of_name.contains(word) {
            4
        } else if name.contains(word.as_str()) {
            2
        } else {
            0
        };
        in_name + usize::from(about.iter().any(|own| own.starts_with(word.as_str())))
    };
    wanted.iter().map(of_word).sum()
}

fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

/// What a config that defers tools may not name its own (M-5).
pub fn check(config: &AgentConfig) -> Result<(), String> {
    let delegates = crate::delegate::tool_names(config);
    let taken = own_names(config).iter().find(|name| config.tool(name).is_some() || delegates.iter().any(|own| own == *name));
    match taken {
        Some(name) => Err(format!("`{name}` is the engine's own tool while tools are deferred; give yours another name")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, description: &str) -> LlmTool {
        LlmTool { name: name.into(), description: Some(description.into()), input: None, output: None }
    }

    #[test]
    fn a_search_prefers_names_and_drops_what_has_no_word_of_the_query_k10() {
        let tools = || {
            vec![
                tool("fs__read_file", "Reads a file."),
                tool("fs__list", "Lists the files of a folder."),
                tool("git__log", "Shows commits."),
                tool("profile", "Shows a person."),
            ]
        };
        let found = |query: &str| search(tools(), query).into_iter().map(|tool| tool.name).collect::<Vec<_>>();
        assert_eq!(found("File, please"), ["fs__read_file", "profile", "fs__list"]);
        assert_eq!(found("commit"), ["git__log"]);
        assert_eq!(found("weather"), [""; 0]);
        assert_eq!(found(" ").len(), 4, "nothing to go by: all of them");
    }

    #[test]
    fn a_call_is_taken_for_the_one_it_names_however_it_is_wrapped_k10() {
        let config: AgentConfig =
            serde_json::from_value(json!({"model": "m", "tools": [{"name": "a"}], "defer_tools": true})).expect("a config");
        let meant = |arguments: Value| meant(&config, CALL, &arguments.to_string());
        let a = ("a".to_owned(), r#"{"x":1}"#.to_owned());
        assert_eq!(meant(json!({"name": "a", "arguments": {"x": 1}})), a);
        assert_eq!(meant(json!({"name": "a", "arguments": "{\"x\":1}"})), a);
        assert_eq!(meant(json!({"name": CALL, "arguments": {"name": "a", "arguments": {"x": 1}}})), a);
        assert_eq!(meant(json!({"name": "a"})), ("a".to_owned(), "{}".to_owned()));
        for nobody in [json!({}), json!({"name": ""}), json!({"name": 1}), json!([])] {
            assert_eq!(meant(nobody.clone()), (CALL.to_owned(), nobody.to_string()));
        }
    }
}
