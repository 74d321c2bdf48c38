//! What a step needs from outside: the time, a seed for ids, the configuration, and facts about other sessions.

use std::collections::HashMap;

use crate::engine_config::EngineConfig;
use crate::event::{Identity, Spent};
use crate::id::{CallId, IdGen, SessionId};
use crate::time::Millis;

pub struct Ctx<'a> {
    pub now: Millis,
    pub ids: IdGen,
    pub config: &'a EngineConfig,
    /// Owners of root sessions of the same tenant that a `message.send` of this step names. Any other target is malformed.
    pub reachable: HashMap<SessionId, Identity>,
    /// What the delegates that end in the same transaction have used, by the call they were working for.
    pub spent: HashMap<CallId, Spent>,
    /// Limits and what was spent of them, over all sessions they cover (§6K).
    pub budget: crate::budget::Budget,
}

impl<'a> Ctx<'a> {
    pub fn new(now: Millis, seed: u128, config: &'a EngineConfig) -> Self {
        let (reachable, spent) = (HashMap::new(), HashMap::new());
        Self { now, ids: IdGen::new(now, seed), config, reachable, spent, budget: crate::budget::Budget::default() }
    }
}
