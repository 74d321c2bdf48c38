//! `[agent.<id>] subagents`: who an agent may hand work to (§8, Q-30).

use std::collections::BTreeMap;

use holdpoint_core::delegate::WAIT;
use holdpoint_core::engine_config::AgentSpec;
use serde_json::Value;

use super::reader::{ConfigError, Section, nearest, quoted};

/// Checks the shape of `subagents` and gives it to the agent's config as it is.
pub fn subagents(section: &Section<'_>) -> Result<Option<Value>, ConfigError> {
    let Some(list) = section.json("subagents") else { return Ok(None) };
    let entries = list.as_array().ok_or_else(|| section.error("subagents", "is a list of \"agent.<id>\" or { id = \"agent.<id>\", … }"))?;
    for entry in entries {
        let Some(table) = entry.as_object() else {
            path_of(entry).ok_or_else(|| section.error("subagents", "names an agent by its path: \"agent.<id>\""))?;
            continue;
        };
        let known = ["id", "defer", "prefix", "mode"];
        if let Some(key) = table.keys().find(|key| !known.contains(&key.as_str())) {
            let hint = nearest(key, &known).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            return Err(section.error("subagents", format!("unknown key `{key}` in an entry{hint}")));
        }
        let mode = table.get("mode").and_then(Value::as_str);
        if table.contains_key("mode") && !mode.is_some_and(|mode| ["any", "blocking", "detached"].contains(&mode)) {
            return Err(section.error("subagents", "mode is \"any\", \"blocking\" or \"detached\""));
        }
        if table.get("defer").is_some_and(|defer| !defer.is_boolean()) {
            return Err(section.error("subagents", "defer is true or false"));
        }
        table.get("id").and_then(path_of).ok_or_else(|| section.error("subagents", "an entry needs id = \"agent.<id>\""))?;
    }
    Ok(Some(list))
}

fn path_of(value: &Value) -> Option<&str> {
    value.as_str()?.strip_prefix("agent.").filter(|id| !id.is_empty())
}

/// Once every agent is known: each delegate exists, and none shares its name with a tool (S-1).
pub fn check(section: &Section<'_>, spec: &AgentSpec, agents: &BTreeMap<String, AgentSpec>) -> Result<(), ConfigError> {
    let Some(config) = &spec.config else { return Ok(()) };
    let names = holdpoint_core::delegate::tool_names(config);
    if let Some(name) =
        names.iter().find(|name| *name == WAIT && (config.tool(name).is_some() || names.iter().filter(|n| n == name).count() > 1))
    {
        return Err(section.error("subagent_tools", format!("`{name}` is the engine's own tool with wait = true; give yours another name")));
    }
    for delegate in holdpoint_core::delegate::delegates(config) {
        if !agents.contains_key(&delegate.agent_id) {
            let ids: Vec<&str> = agents.keys().map(String::as_str).collect();
            let hint = nearest(&delegate.agent_id, &ids)
                .map_or_else(|| format!("; declared: {}", quoted(&ids)), |near| format!("; did you mean \"agent.{near}\"?"));
            return Err(section.error("subagents", format!("there is no [agent.{}]{hint}", delegate.agent_id)));
        }
        if config.tool(&delegate.tool).is_some() {
            return Err(
                section.error("subagents", format!("`{}` is the name of a tool of this agent too; give the entry a prefix", delegate.tool))
            );
        }
    }
    Ok(())
}
