//! Model requests: how one is logged (lean), and how it is written out for the adapter and every surface.
//!
//! A request repeats the whole conversation, so logging it whole would let the log grow with the square of its length. The log
//! holds where the conversation ended instead; nodes and config versions never change, so the same request comes out at any time.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use crate::connector::{self, Fetches};
use crate::id::{CallId, MessageId};
use crate::message::{Content, LlmRequest, LlmTool, Message, Reasoning, Role};
use crate::state::Session;

/// Text of a tool message that stands in for a missing one (P-16).
pub const LEFT: &str = "voided: the branch was left";
pub const PENDING: &str = "pending: no result yet";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoggedRequest {
    pub model: String,
    pub prompt: Prompt,
    /// Tools named by the action. Absent: those of the config version in `config`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<LlmTool>>,
    /// The agent's delegates as tools, when the call uses the config's tools (S-1).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub delegates: Vec<LlmTool>,
    /// Fetches of the connections whose tools the call uses (M-6).
    #[serde(default, skip_serializing_if = "Fetches::is_empty")]
    pub connections: Fetches,
    /// Index of the config version that gave system prompt and tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_completion_tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Reasoning>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Prompt {
    /// Messages the action gave: no system prompt is added (§3.4).
    Given(Vec<Message>),
    /// The config's system prompt and the path to this node.
    Path {
        head: Option<MessageId>,
        /// Unanswered tool calls on the path that were open when the call was made; the others had been voided (P-16).
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        open: Vec<CallId>,
    },
}

impl LoggedRequest {
    /// The request as the model gets it (P-16, P-20).
    pub fn resolve(&self, session: &Session) -> LlmRequest {
        let config = self.config.and_then(|index| session.config_version(index));
        let messages = match &self.prompt {
            Prompt::Given(messages) => with_answers(messages.iter().cloned(), &[]),
            Prompt::Path { head, open } => {
                let told = config.map(|c| connector::announcements(session, c, &self.connections)).unwrap_or_default();
                let system: Vec<String> = config.and_then(|c| c.system.clone()).into_iter().chain(told).collect();
                let system = Some(system.join("\n")).filter(|text| !text.is_empty()).map(|text| Message::new(Role::System, text));
                let path = session.tree.path_to(head.as_ref());
                let passed_on = config.is_none_or(|c| c.other.get("attachments") != Some(&serde_json::Value::Bool(false)));
                let path = path.map(|node| if passed_on { (*node.message).clone() } else { without_attachments(&node.message) });
                with_answers(system.into_iter().chain(path), open)
            }
        };
        let tools = Some(self.tools.clone().unwrap_or_else(|| self.config_tools(session))).filter(|tools: &Vec<LlmTool>| !tools.is_empty());
        LlmRequest {
            model: self.model.clone(),
            messages,
            tools,
            temperature: self.temperature,
            max_completion_tokens: self.max_completion_tokens,
            reasoning: self.reasoning.clone(),
        }
    }
}

impl LoggedRequest {
    /// The tools of the config version it was made under: declared ones, those of connections, delegates.
    pub fn config_tools(&self, session: &Session) -> Vec<LlmTool> {
        let config = self.config.and_then(|index| session.config_version(index));
        let declared = config.map(config_tools).unwrap_or_default();
        let connected = config.map(|config| connector::llm_tools(session, config, &self.connections)).unwrap_or_default();
        let reached = config.map(crate::deferred::tools).unwrap_or_default();
        declared.into_iter().chain(connected).chain(self.delegates.iter().cloned()).chain(reached).collect()
    }
}

pub fn config_tools(config: &crate::message::AgentConfig) -> Vec<LlmTool> {
    config.tools.iter().flatten().filter(|tool| !crate::deferred::is_deferred(config, tool.defer)).map(declared_tool).collect()
}

pub(crate) fn declared_tool(tool: &crate::message::AgentTool) -> LlmTool {
    LlmTool { name: tool.name.clone(), description: tool.description.clone(), input: tool.input.clone(), output: tool.output.clone() }
}

/// P-22 `attachments = false`: the model reads that there was one, and nothing of it.
fn without_attachments(message: &Message) -> Message {
    let mut message = message.clone();
    if let Some(Content::Parts(parts)) = &mut message.content {
        for part in parts.iter_mut().filter(|part| part["type"] == "attachment") {
            *part = serde_json::json!({"type": "text", "text": format!("[attachment, {}]", part["mime"].as_str().unwrap_or("of unknown type"))});
        }
    }
    message
}

/// P-16: behind each message that asks for tools stand the answers, in the order they came, then one in place of each that is missing.
/// A path may hold an answer further down, where a slow call ended behind other messages; no model takes it there.
fn with_answers(messages: impl Iterator<Item = Message>, open: &[CallId]) -> Vec<Message> {
    let messages: Vec<Message> = messages.collect();
    let asked: HashSet<&str> = messages.iter().flat_map(Message::calls).map(|call| call.id.as_str()).collect();
    let mut answers: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, message) in messages.iter().enumerate().filter(|(_, message)| message.role == Role::Tool) {
        answers.entry(message.tool_call_id.as_deref().unwrap_or_default()).or_default().push(at);
    }
    let mut out: Vec<Message> = Vec::with_capacity(messages.len());
    for message in &messages {
        if message.role == Role::Tool && message.tool_call_id.as_deref().is_some_and(|call| asked.contains(call)) {
            continue; // it stands behind its call
        }
        out.push(message.clone());
        let mut behind: Vec<usize> =
            message.calls().iter().flat_map(|call| answers.get(call.id.as_str()).into_iter().flatten()).copied().collect();
        behind.sort_unstable();
        out.extend(behind.into_iter().map(|at| messages[at].clone()));
        for call in message.calls().iter().filter(|call| !answers.contains_key(call.id.as_str())) {
            let text = if open.iter().any(|id| id.as_str() == call.id) { PENDING } else { LEFT };
            out.push(Message::tool(&CallId::from(call.id.as_str()), Content::Text(text.to_owned())));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attachment_kept_from_the_model_leaves_its_kind_behind_p22() {
        let parts = vec![
            serde_json::json!({"type": "text", "text": "look"}),
            serde_json::json!({"type": "attachment", "id": "a", "mime": "image/png", "size": 3, "uri": "holdpoint:blob/x/y"}),
        ];
        let message = Message { content: Some(Content::Parts(parts)), ..Message::new(Role::User, "") };
        assert_eq!(without_attachments(&message).text(), "look[attachment, image/png]");
    }
}
