//! One running connection: started, asked for its tools, called.

use std::collections::HashMap;
use std::process::Stdio;
use std::time::Duration;

use holdpoint_core::message::{ErrorCode, ErrorInfo, ToolResult};
use holdpoint_runtime::runner::{ConnectorFailure, Failure, Listing};
use rmcp::ClientHandler;
use rmcp::model::{CallToolRequestParams, CallToolResponse, ClientCapabilities, ClientConfig, Implementation, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, Peer, RoleClient, RunningService, serve_client_with_lifecycle};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{ChildStderr, Command};

use crate::Endpoint;
use crate::failure::{of_request, of_start, unusable};

/// The engine as servers see it. It declares no capability: nothing is asked of it that it cannot answer.
#[derive(Clone)]
struct Engine;

impl ClientHandler for Engine {
    fn get_info(&self) -> ClientConfig {
        ClientConfig::new(ClientCapabilities::default(), Implementation::new("holdpoint", env!("CARGO_PKG_VERSION")))
    }
}

pub struct Client {
    path: String,
    has_token: bool,
    peer: Peer<RoleClient>,
    service: tokio::sync::Mutex<RunningService<RoleClient, Engine>>,
}

impl Client {
    pub async fn connect(path: &str, endpoint: &Endpoint) -> Result<Self, ConnectorFailure> {
        let has_token = matches!(endpoint, Endpoint::Http { token: Some(_), .. });
        let started = match endpoint {
            Endpoint::Stdio { command, env, cwd } => {
                let (process, stderr) = spawn(path, command, env, cwd.as_deref())?;
                if let Some(stderr) = stderr {
                    tokio::spawn(log_stderr(path.to_owned(), stderr));
                }
                serve_client_with_lifecycle(Engine, process, either_era()).await
            }
            Endpoint::Http { url, token, header } => {
                let config = http_config(path, url, token.as_deref(), header.as_deref())?;
                serve_client_with_lifecycle(Engine, StreamableHttpClientTransport::from_config(config), either_era()).await
            }
        };
        let service = started.map_err(|error| of_start(path, &error, has_token))?;
        Ok(Self { path: path.to_owned(), has_token, peer: service.peer().clone(), service: tokio::sync::Mutex::new(service) })
    }

    pub fn is_alive(&self) -> bool {
        !self.peer.is_transport_closed()
    }

    /// M-6: every tool, as the server describes it.
    pub async fn list(&self) -> Result<Listing, ConnectorFailure> {
        let tools = self.peer.list_all_tools().await.map_err(|error| of_request(&self.path, &error, self.has_token))?;
        let instructions = self.peer.peer_info().and_then(|info| json!(*info)["instructions"].as_str().map(str::to_owned));
        Ok(Listing { tools: tools.iter().map(|tool| json!(tool)).collect(), instructions })
    }

    pub async fn call(&self, tool: &str, arguments: Map<String, Value>) -> Result<ToolResult, ConnectorFailure> {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        match self.peer.call_tool_once(params).await.map_err(|error| of_request(&self.path, &error, self.has_token))? {
            CallToolResponse::Complete(result) => Ok(serde_json::from_value(json!(result)).unwrap_or_default()),
            _ => Err(self.unsupported("asked for input or started a task, which is not supported yet")),
        }
    }

    fn unsupported(&self, what: &str) -> ConnectorFailure {
        let error = ErrorInfo::new(ErrorCode::ProviderError, format!("{} {what}", self.path));
        ConnectorFailure { failure: Failure { error, retryable: false, retry_after_ms: None }, auth: None }
    }

    pub async fn close(&self, within: Duration) {
        let _ = self.service.lock().await.close_with_timeout(within).await;
    }
}

/// Newer servers are recognised by `server/discover`, older ones get `initialize`.
fn either_era() -> ClientLifecycleMode {
    ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: Some(ProtocolVersion::V_2025_11_25),
    }
}

/// M-32: `PATH`, `HOME` and `env`, nothing else of the engine's environment.
fn spawn(
    path: &str,
    command: &[String],
    env: &[(String, String)],
    cwd: Option<&std::path::Path>,
) -> Result<(TokioChildProcess, Option<ChildStderr>), ConnectorFailure> {
    let [program, arguments @ ..] = command else { return Err(unusable(path, "its `command` is empty")) };
    let mut process = Command::new(program);
    process.args(arguments).env_clear().kill_on_drop(true);
    for name in ["PATH", "HOME"] {
        if let Some(value) = std::env::var_os(name) {
            process.env(name, value);
        }
    }
    for (name, value) in env {
        process.env(name, resolve(value).map_err(|missing| unusable(path, format!("the environment variable {missing} is not set")))?);
    }
    if let Some(cwd) = cwd {
        process.current_dir(cwd);
    }
    let spawned = TokioChildProcess::builder(process).stderr(Stdio::piped()).spawn();
    spawned.map_err(|error| unusable(path, format!("{program} cannot be started: {error}")))
}

/// F-6: `"$NAME"` takes the engine's variable.
fn resolve(value: &str) -> Result<String, &str> {
    match value.strip_prefix('$') {
        Some(name) => std::env::var(name).map_err(|_| name),
        None => Ok(value.to_owned()),
    }
}

async fn log_stderr(connection: String, stderr: ChildStderr) {
    let mut lines = BufReader::new(stderr).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        tracing::info!(connection, "{line}");
    }
}

fn http_config(
    path: &str,
    url: &str,
    token: Option<&str>,
    header: Option<&str>,
) -> Result<StreamableHttpClientTransportConfig, ConnectorFailure> {
    let config = StreamableHttpClientTransportConfig::with_uri(url);
    Ok(match (token, header) {
        (None, _) => config,
        (Some(token), None) => config.auth_header(token),
        (Some(token), Some(header)) => {
            let name = header.parse().map_err(|_| unusable(path, format!("`{header}` is no header name")))?;
            let value = token.parse().map_err(|_| unusable(path, "its token cannot stand in a header"))?;
            config.custom_headers(HashMap::from([(name, value)]))
        }
    })
}
