//! Who speaks to the app, as their credential says (B-5…B-8).

use holdpoint_core::command;
use holdpoint_core::event::{Identity, Rank, Subject, Visibility};

/// Tenant of the desktop, of the command line on a local file and of callers without authentication (B-5).
pub const LOCAL_TENANT: &str = "local";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    pub rank: Rank,
    pub tenant: String,
    /// Of a frontend: the owner it acts for (H-5).
    pub subject: Option<Subject>,
    /// Of an API key: its record.
    pub key_id: Option<String>,
}

impl Caller {
    pub fn operator() -> Self {
        Self { rank: Rank::Operator, tenant: LOCAL_TENANT.to_owned(), subject: None, key_id: None }
    }

    pub fn machine(tenant: String, key_id: String) -> Self {
        Self { rank: Rank::Machine, tenant, subject: None, key_id: Some(key_id) }
    }

    pub fn frontend(tenant: String, owner: &str) -> Self {
        Self { rank: Rank::Frontend, tenant, subject: Some(app_subject(owner)), key_id: None }
    }

    /// As the rules see it.
    pub fn for_rules(&self) -> command::Caller {
        command::Caller { rank: self.rank, subject: self.subject.clone(), channel: None }
    }

    /// Owner of a session this caller creates by a client path: itself, or Q-21.
    pub fn identity(&self) -> Identity {
        let operator = || Subject { issuer: "operator".to_owned(), id: self.key_id.clone().unwrap_or_else(|| LOCAL_TENANT.to_owned()) };
        Identity { subject: Some(self.subject.clone().unwrap_or_else(operator)), visibility: Visibility::Private, metadata: None }
    }
}

/// H-2: the owner that `sub` of a client token and `identity.id` of a machine call both mean.
pub fn app_subject(id: &str) -> Subject {
    Subject { issuer: "app".to_owned(), id: id.to_owned() }
}
