//! What was spent and allowed in a scope of the budget (§6K): sums over sessions, so they are asked of the file.

use holdpoint_core::id::SessionId;
use holdpoint_core::money::Money;

use crate::Store;
use crate::error::StoreError;

/// Which sessions a limit covers.
#[derive(Clone, Copy, Debug)]
pub enum BudgetScope<'a> {
    /// A root session with all its descendants.
    Family(&'a SessionId),
    Tenant(&'a str),
}

impl<'a> BudgetScope<'a> {
    /// Fixed by I-67.
    pub fn interrupt_id(self) -> &'static str {
        match self {
            Self::Family(_) => "budget:session",
            Self::Tenant(_) => "budget:tenant",
        }
    }

    /// The sessions covered, as SQL over the parameter [`Self::key`].
    fn sessions(self) -> &'static str {
        match self {
            Self::Family(_) => "(SELECT id FROM session WHERE root = ?1)",
            Self::Tenant(_) => "(SELECT id FROM session WHERE tenant = ?1)",
        }
    }

    fn key(self) -> &'a str {
        match self {
            Self::Family(root) => root.as_str(),
            Self::Tenant(tenant) => tenant,
        }
    }
}

impl Store {
    /// Sum of what the scope's model calls cost.
    pub fn budget_spent(&self, scope: BudgetScope<'_>) -> Result<Money, StoreError> {
        self.read(|db| {
            let mut select = db.prepare_cached(&format!("SELECT cost FROM spend WHERE session IN {}", scope.sessions()))?;
            let mut rows = select.query([scope.key()])?;
            let mut sum = Money::ZERO;
            while let Some(row) = rows.next()? {
                let cost = row.get::<_, String>(0)?;
                let cost = Money::parse(&cost).ok_or_else(|| StoreError::Corrupt { detail: format!("spend: {cost:?} is no amount") })?;
                sum = sum.plus(cost);
            }
            Ok(sum)
        })
    }

    /// How often a person allowed more (I-80). Questions closed along with an approved one carry no verification.
    pub fn budget_approvals(&self, scope: BudgetScope<'_>) -> Result<u64, StoreError> {
        self.read(|db| {
            let mut select = db.prepare_cached(&format!(
                "SELECT count(*) FROM interrupt WHERE session IN {} AND interrupt_id = ?2 AND open = 0
                 AND json_type(row, '$.verification') = 'text'
                 AND 'true' IN (json_type(row, '$.answer.approved'), json_type(row, '$.answer.payload.approved'))",
                scope.sessions()
            ))?;
            let count = select.query_row([scope.key(), scope.interrupt_id()], |row| row.get::<_, i64>(0))?;
            Ok(count as u64)
        })
    }

    /// Sessions in which the scope's question is open.
    pub fn budget_questions(&self, scope: BudgetScope<'_>) -> Result<Vec<SessionId>, StoreError> {
        self.read(|db| {
            let mut select = db.prepare_cached(&format!(
                "SELECT session_id FROM session WHERE id IN
                 (SELECT session FROM interrupt WHERE session IN {} AND interrupt_id = ?2 AND open = 1) ORDER BY id",
                scope.sessions()
            ))?;
            let mut rows = select.query([scope.key(), scope.interrupt_id()])?;
            let mut sessions = Vec::new();
            while let Some(row) = rows.next()? {
                sessions.push(row.get::<_, String>(0)?.into());
            }
            Ok(sessions)
        })
    }
}
