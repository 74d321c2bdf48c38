//! Connections at run time (§10A): fetching tools and carrying calls to their servers.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt as _;
use holdpoint_core::command::Command;
use holdpoint_core::connector::{arguments, dropped, split_target};
use holdpoint_core::id::{CallId, SessionId};
use holdpoint_core::state::Session;
use tokio_util::sync::CancellationToken;

use crate::engine::{Engine, panicked};
use crate::line::Line;
use crate::runner::{ConnectorCall, ConnectorFailure};
use crate::slot::Slot;

/// The call as its server gets it: bound to connection and tool when it was requested (K-8).
pub(crate) fn connector_call(session: &Session, id: &CallId) -> Option<ConnectorCall> {
    let call = session.tool(id)?;
    let (connection, tool) = split_target(call.target.as_deref()?);
    Some(ConnectorCall {
        session_id: session.id.clone(),
        call_id: id.clone(),
        attempt: call.attempt,
        connection: connection.to_owned(),
        tool: tool.to_owned(),
        arguments: arguments(&call.arguments)?,
    })
}

impl Engine {
    pub(crate) fn run_fetch(&self, session: SessionId, path: String, attempt: u32, token: CancellationToken) {
        let engine = self.clone();
        self.inner.tasks.spawn(async move {
            let run = AssertUnwindSafe(engine.inner.connectors.list(path.clone(), token.clone())).catch_unwind();
            let result = tokio::select! {
                () = token.cancelled() => return,
                result = run => result.unwrap_or_else(|_| Err(broken())),
            };
            if token.is_cancelled() {
                return;
            }
            let command = match result {
                Ok(listing) => Command::Fetched { path, attempt, tools: listing.tools, instructions: listing.instructions },
                Err(ConnectorFailure { failure, auth }) => {
                    Command::FetchFailed { path, attempt, error: failure.error, retryable: failure.retryable, auth }
                }
            };
            engine.report(session.clone(), command).await;
            engine.warn_of_clashes(&session).await;
        });
    }

    /// M-5: who wrote the configuration is to know which tools nobody can call.
    async fn warn_of_clashes(&self, session: &SessionId) {
        let names = self.read(session, |session| session.config().map(|config| dropped(session, config)).unwrap_or_default()).await;
        for tool in names.ok().flatten().unwrap_or_default() {
            tracing::warn!(%session, tool, "two tools have this name, so the connection's is left out; set prefix_tools or a filter");
        }
    }

    /// `asked`: its server's question was open before this engine started.
    pub(crate) fn run_connector_call(&self, slot: &Arc<Slot>, call: ConnectorCall, asked: bool, token: CancellationToken) {
        let engine = self.clone();
        let attempt = call.attempt;
        let line = Arc::new(Line::new(engine.clone(), slot.clone(), call.call_id.clone(), attempt, token.clone()));
        self.inner.tasks.spawn(async move {
            let (session, id) = (call.session_id.clone(), call.call_id.clone());
            if asked && line.until_answered().await.is_none() {
                return;
            }
            let run = AssertUnwindSafe(engine.inner.connectors.call(call, line, token.clone())).catch_unwind();
            let result = tokio::select! {
                () = token.cancelled() => return,
                result = run => result.unwrap_or_else(|_| Err(broken())),
            };
            if token.is_cancelled() {
                return;
            }
            let command = match result {
                Ok(result) => Command::ConnectorEnded { call: id, attempt, result },
                Err(ConnectorFailure { failure, auth }) => {
                    Command::ConnectorFailed { call: id, attempt, error: failure.error, retryable: failure.retryable, auth }
                }
            };
            engine.report(session, command).await;
        });
    }
}

fn broken() -> ConnectorFailure {
    ConnectorFailure { failure: panicked("the connection's runner"), auth: None }
}
