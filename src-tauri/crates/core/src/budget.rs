//! Spending limits (§6K): when a model call is withheld, what is asked, and what the answer means.

use serde_json::{Value, json};

use crate::json::same;
use crate::money::Money;

/// Reason of the question.
pub const REASON: &str = "budget_exhausted";

/// One limit as it stands: facts over several sessions, which the caller brings.
#[derive(Clone, Debug, PartialEq)]
pub struct Scope {
    pub limit: Money,
    pub spent: Money,
    /// The limit, raised by itself at each approval (I-80).
    pub allowance: Money,
}

/// Limits that apply to a session. `None`: there is none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Budget {
    /// The root session with all its descendants.
    pub session: Option<Scope>,
    pub tenant: Option<Scope>,
}

impl Budget {
    /// I-79: the scope whose allowance is used up, with the id of its question (I-67).
    pub fn exhausted(&self) -> Option<(&'static str, &Scope)> {
        let scopes = [("budget:session", &self.session), ("budget:tenant", &self.tenant)];
        scopes.into_iter().find_map(|(id, scope)| scope.as_ref().filter(|s| s.spent >= s.allowance).map(|scope| (id, scope)))
    }

    pub fn spend(&mut self, cost: Money) {
        for scope in [&mut self.session, &mut self.tenant].into_iter().flatten() {
            scope.spent = scope.spent.plus(cost);
        }
    }

    /// I-80.
    pub fn approve(&mut self, id: &str) {
        let scope = match id {
            "budget:session" => &mut self.session,
            "budget:tenant" => &mut self.tenant,
            _ => return,
        };
        if let Some(scope) = scope {
            scope.allowance = scope.allowance.plus(scope.limit);
        }
    }
}

/// The question; `withheld` is the call that goes on after an approval.
pub fn question(id: &str, scope: &Scope, withheld: Value) -> Value {
    let (what, whole) = if id == "budget:tenant" { ("All sessions together have", "tenant") } else { ("This session has", "session") };
    json!({
        "message": format!("{what} spent ${} of the ${} allowed. Go on, with another ${}?", scope.spent, scope.allowance, scope.limit),
        "metadata": {
            "type": "budget",
            "scope": whole,
            "spent_usd": scope.spent,
            "allowance_usd": scope.allowance,
            "limit_usd": scope.limit,
            "call": withheld,
            "options": [
                {"label": "Continue", "value": {"approved": true}, "style": "primary"},
                {"label": "Stop", "value": {"approved": false}, "style": "danger"},
            ],
        },
    })
}

/// I-80: `approved:true`, bare or wrapped.
pub fn approves(payload: Option<&Value>) -> bool {
    let yes = |value: &Value| value.get("approved").is_some_and(|approved| same(approved, &Value::Bool(true)));
    payload.is_some_and(|payload| yes(payload) || payload.get("payload").is_some_and(yes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usd(text: &str) -> Money {
        Money::parse(text).expect("an amount")
    }

    #[test]
    fn reaching_the_allowance_stops_and_an_approval_adds_the_limit_i79_i80() {
        let mut budget = Budget { session: Some(Scope { limit: usd("0.5"), spent: usd("0.49"), allowance: usd("0.5") }), tenant: None };
        assert_eq!(budget.exhausted(), None);
        budget.spend(usd("0.01"));
        assert_eq!(budget.exhausted().map(|(id, _)| id), Some("budget:session"), "cost >= allowance");
        budget.approve("budget:tenant");
        assert!(budget.exhausted().is_some(), "another scope's approval changes nothing here");
        budget.approve("budget:session");
        assert_eq!(budget.exhausted(), None);
        assert_eq!(budget.session.map(|s| s.allowance.to_string()), Some("1".to_owned()));
    }

    #[test]
    fn only_approved_true_goes_on_i80() {
        assert!(approves(Some(&json!({"approved": true}))));
        assert!(approves(Some(&json!({"status": "resolved", "payload": {"approved": true}}))));
        for other in [json!({"approved": 1}), json!(true), json!({"status": "cancelled"}), json!({"approved": false})] {
            assert!(!approves(Some(&other)), "{other}");
        }
        assert!(!approves(None));
    }
}
