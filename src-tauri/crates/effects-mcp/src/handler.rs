//! The engine as servers see it: a client that can put questions to a person (§10D), and can do nothing else for them.

use std::sync::Arc;

use rmcp::model::{
    ClientCapabilities, ClientConfig, CustomRequest, CustomResult, ElicitRequestParams, ElicitResult, ElicitationCapability,
    FormElicitationCapability, Implementation, ProgressNotificationParam, UrlElicitationCapability,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use rmcp::{ClientHandler, ErrorData};
use serde_json::{Value, json};

use crate::elicit::{Calls, answer, question};

#[derive(Clone)]
pub struct Engine {
    pub calls: Arc<Calls>,
}

impl Engine {
    async fn asked(&self, params: &Value, context: &RequestContext<RoleClient>) -> Result<Value, ErrorData> {
        let question = question(params)?;
        tokio::select! {
            () = context.ct.cancelled() => Err(ErrorData::internal_error("the question was withdrawn", None)),
            reply = self.calls.asked(question) => reply.map(|reply| answer(&reply)),
        }
    }
}

impl ClientHandler for Engine {
    fn get_info(&self) -> ClientConfig {
        let both =
            ElicitationCapability::new().with_form(FormElicitationCapability::default()).with_url(UrlElicitationCapability::default());
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation = Some(both);
        ClientConfig::new(capabilities, Implementation::new("holdpoint", env!("CARGO_PKG_VERSION")))
    }

    async fn create_elicitation(&self, asked: ElicitRequestParams, context: RequestContext<RoleClient>) -> Result<ElicitResult, ErrorData> {
        let answer = self.asked(&json!(asked), &context).await?;
        serde_json::from_value(answer).map_err(|problem| ErrorData::internal_error(problem.to_string(), None))
    }

    /// A form in words that the library does not know is still a form.
    async fn on_custom_request(&self, asked: CustomRequest, context: RequestContext<RoleClient>) -> Result<CustomResult, ErrorData> {
        if asked.method != "elicitation/create" {
            return Err(ErrorData::new(rmcp::model::ErrorCode::METHOD_NOT_FOUND, asked.method, None));
        }
        self.asked(&asked.params.unwrap_or_default(), &context).await.map(CustomResult::new)
    }

    async fn on_progress(&self, told: ProgressNotificationParam, _context: NotificationContext<RoleClient>) {
        self.calls.progressed(told);
    }
}
