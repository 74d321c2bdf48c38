//! Limits over several sessions (§6K): what a step is told of them, and questions that one answer closes together.

use std::sync::Arc;

use holdpoint_core::budget::{Budget, Scope, approves};
use holdpoint_core::command::{Command, Input, Receipt};
use holdpoint_core::engine_config::EngineConfig;
use holdpoint_core::id::{InterruptId, SessionId};
use holdpoint_core::money::Money;
use holdpoint_core::state::Session;
use holdpoint_store::{BudgetScope, StoreError};

use crate::engine::{Call, Engine};
use crate::slot::{Loaded, Slot};

fn root_of(session: &Session) -> SessionId {
    session.ancestry.first().unwrap_or(&session.id).clone()
}

/// The root of the session that a command makes below another one.
fn made_below(command: &Command) -> Option<SessionId> {
    let Command::Input { create: Some(create), .. } = command else { return None };
    create.ancestry.first().cloned()
}

impl Engine {
    /// Nothing is asked of the file where no limit is set.
    pub(crate) fn budget(&self, call: &Call, session: Option<&Session>, config: &EngineConfig) -> Result<Budget, StoreError> {
        let scope = |limit: Option<Money>, of: BudgetScope<'_>| -> Result<Option<Scope>, StoreError> {
            let Some(limit) = limit else { return Ok(None) };
            let spent = self.inner.store.budget_spent(of)?;
            let approvals = self.inner.store.budget_approvals(of)?;
            let allowance = (0..approvals).fold(limit, |sum, _| sum.plus(limit));
            Ok(Some(Scope { limit, spent, allowance }))
        };
        // A delegate that is being made belongs to its family already.
        let root = session.map(root_of).or_else(|| made_below(&call.command));
        Ok(Budget {
            session: match &root {
                Some(root) => scope(config.session_budget, BudgetScope::Family(root))?,
                None => config.session_budget.map(|limit| Scope { limit, spent: Money::ZERO, allowance: limit }),
            },
            tenant: scope(config.tenant_budget, BudgetScope::Tenant(&call.tenant))?,
        })
    }

    /// an approval closes the other open questions of its scope with the same payload.
    pub(crate) fn close_along(&self, slot: &Arc<Slot>, loaded: &Loaded, command: &Command, receipt: &Receipt) {
        let Command::Input { input: Input::Resume { interrupt_id, .. } | Input::Answer { interrupt_id, .. }, .. } = command else { return };
        let Some(session) = loaded.session.as_ref().filter(|_| receipt.resumed == Some(true)) else { return };
        let root = root_of(session);
        let scope = match interrupt_id.as_str() {
            "budget:session" => BudgetScope::Family(&root),
            "budget:tenant" => BudgetScope::Tenant(&loaded.tenant),
            _ => return,
        };
        let Some(payload) = session.closed.get(interrupt_id).map(|closed| closed.payload.clone()).filter(|p| approves(p.as_ref())) else {
            return;
        };
        let others = match self.inner.store.budget_questions(scope) {
            Ok(others) => others,
            Err(failure) => return tracing::error!(%failure, "cannot look for other budget questions"),
        };
        for other in others.into_iter().filter(|other| *other != slot.id) {
            let (engine, interrupt_id, payload) = (self.clone(), InterruptId::clone(interrupt_id), payload.clone());
            self.inner.tasks.spawn(async move { engine.report(other, Command::CloseAlong { interrupt_id, payload }).await });
        }
    }
}
