//! One running connection: started, asked for its tools, called.

use std::collections::HashMap;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use holdpoint_core::elicit::Action;
use holdpoint_core::message::{ErrorCode, ErrorInfo, ToolResult};
use holdpoint_runtime::runner::{CallLine, ConnectorCall, ConnectorFailure, Failure, Listing};
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResponse, CallToolResult, CancelledNotification, CancelledNotificationParam,
    ClientRequest, InputRequests, InputResponses, ProtocolVersion, RequestId, ServerResult,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, Peer, PeerRequestOptions, RoleClient, RunningService, ServiceError,
    serve_client_with_lifecycle,
};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{ChildStderr, Command};

use crate::Endpoint;
use crate::access::Access;
use crate::auth::missed_registration;
use crate::credentials::Credentials;
use crate::elicit::{Calls, Place, pages, requested, responses};
use crate::failure::{of_request, of_start, stopping, unusable};
use crate::handler::Engine;

/// How often a server may end one call with a request for input.
const ROUNDS: usize = 64;
/// Before a server that only wants to be asked again is.
const PAUSE: Duration = Duration::from_millis(500);

/// A handshake that was made, or why it was not.
type Started = Result<RunningService<RoleClient, Engine>, ClientInitializeError>;

pub struct Client {
    path: String,
    is_local: bool,
    is_gone: AtomicBool,
    access: Access,
    peer: Peer<RoleClient>,
    calls: Arc<Calls>,
    service: tokio::sync::Mutex<RunningService<RoleClient, Engine>>,
}

impl Client {
    pub async fn connect(path: &str, endpoint: &Endpoint, credentials: &Credentials) -> Result<Self, ConnectorFailure> {
        let access = Access::of(path, endpoint, credentials).await?;
        let engine = Engine { calls: Arc::default() };
        let mut started = Self::start(path, endpoint, &access, engine.clone()).await?;
        if let Err(error) = &started
            && missed_registration(error)
            && access.restored().await
        {
            started = Self::start(path, endpoint, &access, engine.clone()).await?;
        }
        let service = match started {
            Ok(service) => service,
            Err(error) => return Err(of_start(path, &error, access.when_refused(error.auth_challenge()).await)),
        };
        let (peer, calls) = (service.peer().clone(), engine.calls);
        let (is_local, is_gone) = (matches!(endpoint, Endpoint::Stdio { .. }), AtomicBool::new(false));
        Ok(Self { path: path.to_owned(), is_local, is_gone, access, peer, calls, service: tokio::sync::Mutex::new(service) })
    }

    async fn start(path: &str, endpoint: &Endpoint, access: &Access, engine: Engine) -> Result<Started, ConnectorFailure> {
        Ok(match endpoint {
            Endpoint::Stdio { command, env, cwd } => {
                let (process, stderr) = spawn(path, command, env, cwd.as_deref())?;
                if let Some(stderr) = stderr {
                    tokio::spawn(log_stderr(path.to_owned(), stderr));
                }
                serve_client_with_lifecycle(engine, process, either_era()).await
            }
            Endpoint::Http { url, header, .. } => {
                let config = http_config(path, url, access.token(), header.as_deref())?;
                match access.signed_in().await? {
                    Some(client) => {
                        serve_client_with_lifecycle(engine, StreamableHttpClientTransport::with_client(client, config), either_era()).await
                    }
                    None => serve_client_with_lifecycle(engine, StreamableHttpClientTransport::from_config(config), either_era()).await,
                }
            }
        })
    }

    pub fn is_alive(&self) -> bool {
        !self.peer.is_transport_closed() && !self.is_gone.load(Ordering::Relaxed)
    }

    /// M-6: every tool, as the server describes it.
    pub async fn list(&self) -> Result<Listing, ConnectorFailure> {
        self.access.ready().await?;
        let mut listed = self.peer.list_all_tools().await;
        if let Err(error) = &listed
            && missed_registration(error)
            && self.access.restored().await
        {
            listed = self.peer.list_all_tools().await;
        }
        let tools = match listed {
            Ok(tools) => tools,
            Err(error) => return Err(self.refused(&error).await),
        };
        let instructions = self.peer.peer_info().and_then(|info| json!(*info)["instructions"].as_str().map(str::to_owned));
        Ok(Listing { tools: tools.iter().map(|tool| json!(tool)).collect(), instructions })
    }

    /// One attempt, with all that its server asks on the way (M-35).
    pub async fn call(&self, call: ConnectorCall, line: Arc<dyn CallLine>) -> Result<ToolResult, ConnectorFailure> {
        let place = self.calls.enter(&call.session_id, line.clone()).await;
        let mut params = CallToolRequestParams::new(call.tool).with_arguments(call.arguments);
        self.access.ready().await?;
        for _ in 0..ROUNDS {
            match self.send(params.clone(), &place).await {
                Ok(CallToolResponse::Complete(result)) => return Ok(serde_json::from_value(json!(result)).unwrap_or_default()),
                Ok(CallToolResponse::InputRequired(wanted)) => {
                    params.input_responses = self.input_for(wanted.input_requests.unwrap_or_default(), line.as_ref()).await?;
                    params.request_state = wanted.request_state;
                }
                Ok(_) => return Err(self.unsupported("started a task, which is not supported")),
                Err(error) => self.pages_visited(&error, line.as_ref()).await?,
            }
        }
        Err(self.unsupported("kept asking for the same"))
    }

    /// Answers to what the server wants to know before it goes on. With nothing to answer it is only asked again, a little later.
    async fn input_for(&self, requests: InputRequests, line: &dyn CallLine) -> Result<Option<InputResponses>, ConnectorFailure> {
        if requests.is_empty() {
            tokio::time::sleep(PAUSE).await;
            return Ok(None);
        }
        let (keys, questions) = requested(&requests).map_err(|why| self.unsupported(&why))?;
        let replies = line.ask(questions).await.ok_or_else(|| stopping(&self.path))?;
        Ok(Some(responses(keys, &replies)))
    }

    /// An older server may refuse a call until a page was visited. Where a person did not, its refusal stands.
    async fn pages_visited(&self, error: &ServiceError, line: &dyn CallLine) -> Result<(), ConnectorFailure> {
        if let ServiceError::McpError(said) = error
            && let Some(questions) = pages(said)
        {
            let replies = line.ask(questions).await.ok_or_else(|| stopping(&self.path))?;
            if replies.iter().all(|reply| reply.action == Action::Accept) {
                return Ok(());
            }
        }
        Err(self.refused(error).await)
    }

    async fn send(&self, params: CallToolRequestParams, place: &Place) -> Result<CallToolResponse, ServiceError> {
        let answered = self.send_once(params.clone(), place).await;
        match &answered {
            Err(error) if missed_registration(error) && self.access.restored().await => self.send_once(params, place).await,
            _ => answered,
        }
    }

    /// Dropped before its answer is there, it tells the server (`notifications/cancelled`).
    async fn send_once(&self, params: CallToolRequestParams, place: &Place) -> Result<CallToolResponse, ServiceError> {
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let sent = self.peer.send_request_with_option(request, PeerRequestOptions::no_options()).await?;
        place.reports_as(sent.progress_token.clone());
        let mut open = Open { peer: self.peer.clone(), id: Some(sent.id.clone()) };
        let answered = sent.await_response().await;
        open.id = None;
        match answered? {
            ServerResult::CallToolResult(result) => Ok(CallToolResponse::Complete(result)),
            ServerResult::InputRequiredResult(wanted) => Ok(CallToolResponse::InputRequired(wanted)),
            ServerResult::CreateTaskResult(task) => Ok(CallToolResponse::Task(task)),
            // A result without any content.
            ServerResult::EmptyResult(_) | ServerResult::TaskAckResult(_) => Ok(CallToolResponse::Complete(CallToolResult::default())),
            _ => Err(ServiceError::UnexpectedResponse),
        }
    }

    async fn refused(&self, error: &ServiceError) -> ConnectorFailure {
        // What a local server does not take it never will, though its end may be seen only later.
        if self.is_local && matches!(error, ServiceError::TransportSend(_)) {
            self.is_gone.store(true, Ordering::Relaxed);
        }
        of_request(&self.path, error, self.access.when_refused(error.auth_challenge()).await)
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

/// A request that has no answer yet.
struct Open {
    peer: Peer<RoleClient>,
    id: Option<RequestId>,
}

impl Drop for Open {
    fn drop(&mut self) {
        if let (Some(id), Ok(runtime)) = (self.id.take(), tokio::runtime::Handle::try_current()) {
            let peer = self.peer.clone();
            let told = CancelledNotification::new(CancelledNotificationParam::new(Some(id), None));
            runtime.spawn(async move { peer.send_notification(told.into()).await });
        }
    }
}
