//! Retry policies (K-12…K-15): the defaults, the layers over them, and the waits.

use serde::{Deserialize, Serialize};

use crate::message::AgentRetry;

/// Seconds; `None` = no bound.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RetryPolicy {
    pub queue_timeout_secs: Option<f64>,
    pub run_timeout_secs: Option<f64>,
    pub total_timeout_secs: Option<f64>,
    pub max_attempts: u32,
    pub backoff_base_secs: f64,
    pub backoff_max_secs: f64,
}

/// A partial policy: changes bounds, removes none (K-13).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RetryOverride {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_timeout_secs: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_timeout_secs: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_timeout_secs: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backoff_base_secs: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backoff_max_secs: Option<f64>,
}

/// The rows of K-12.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EffectKind {
    ModelCall,
    WorkerTool,
    ClientTool,
    ConnectorTool,
    SubagentStart,
    ConnectorFetch,
    WorkerDecision,
}

impl RetryPolicy {
    pub fn default_for(kind: EffectKind) -> Self {
        let (queue, run, total, max_attempts) = match kind {
            EffectKind::ModelCall => (Some(60.0), Some(180.0), Some(1800.0), 5),
            EffectKind::WorkerTool => (None, Some(120.0), Some(600.0), 1),
            EffectKind::ClientTool => (None, None, None, 1),
            EffectKind::ConnectorTool => (Some(60.0), Some(60.0), Some(600.0), 2),
            EffectKind::SubagentStart => (Some(30.0), Some(10.0), Some(3600.0), 3),
            EffectKind::ConnectorFetch => (Some(10.0), Some(5.0), Some(30.0), 2),
            EffectKind::WorkerDecision => (None, Some(20.0), Some(300.0), 10),
        };
        Self {
            queue_timeout_secs: queue,
            run_timeout_secs: run,
            total_timeout_secs: total,
            max_attempts,
            backoff_base_secs: 2.0,
            backoff_max_secs: 30.0,
        }
    }

    /// K-13: defaults → agent `retry.default` → agent `retry.<kind>` → the action's `retry`.
    pub fn resolve(kind: EffectKind, agent: Option<&AgentRetry>, action: Option<&RetryOverride>) -> Self {
        let mut policy = Self::default_for(kind);
        if kind == EffectKind::WorkerDecision {
            return policy; // "never touches worker decisions"
        }
        let own = agent.and_then(|retry| match kind {
            EffectKind::ModelCall => retry.llm.as_ref(),
            EffectKind::WorkerTool | EffectKind::ClientTool | EffectKind::ConnectorTool => retry.tool.as_ref(),
            EffectKind::SubagentStart => retry.subagent.as_ref(),
            EffectKind::ConnectorFetch => retry.connector.as_ref(),
            EffectKind::WorkerDecision => None,
        });
        for layer in [agent.and_then(|retry| retry.default.as_ref()), own, action].into_iter().flatten() {
            policy.apply(layer);
        }
        policy
    }

    fn apply(&mut self, layer: &RetryOverride) {
        self.queue_timeout_secs = layer.queue_timeout_secs.or(self.queue_timeout_secs);
        self.run_timeout_secs = layer.run_timeout_secs.or(self.run_timeout_secs);
        self.total_timeout_secs = layer.total_timeout_secs.or(self.total_timeout_secs);
        self.max_attempts = layer.max_attempts.unwrap_or(self.max_attempts).max(1);
        self.backoff_base_secs = layer.backoff_base_secs.unwrap_or(self.backoff_base_secs);
        self.backoff_max_secs = layer.backoff_max_secs.unwrap_or(self.backoff_max_secs);
    }

    /// Wait before attempt `next` (> 1): min(base^next, max) seconds, in ms (K-12).
    pub fn backoff_ms(&self, next: u32) -> i64 {
        ms(self.backoff_base_secs.powi(next as i32).min(self.backoff_max_secs))
    }
}

pub fn ms(secs: f64) -> i64 {
    (secs * 1000.0).clamp(0.0, 9e15) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_change_bounds_and_never_remove_one_k13() {
        let agent = AgentRetry {
            default: Some(RetryOverride { max_attempts: Some(2), run_timeout_secs: Some(9.0), ..Default::default() }),
            llm: Some(RetryOverride { max_attempts: Some(3), ..Default::default() }),
            ..Default::default()
        };
        let action = RetryOverride { backoff_max_secs: Some(0.0), ..Default::default() };
        let policy = RetryPolicy::resolve(EffectKind::ModelCall, Some(&agent), Some(&action));
        assert_eq!((policy.max_attempts, policy.run_timeout_secs, policy.queue_timeout_secs), (3, Some(9.0), Some(60.0)));
        assert_eq!(policy.backoff_ms(2), 0, "Q-46: no wait");
        let decision = RetryPolicy::resolve(EffectKind::WorkerDecision, Some(&agent), None);
        assert_eq!(decision, RetryPolicy::default_for(EffectKind::WorkerDecision), "K-13: never worker decisions");
    }

    #[test]
    fn waits_grow_to_the_bound_k12() {
        let policy = RetryPolicy::default_for(EffectKind::ModelCall);
        assert_eq!([2, 3, 4, 5, 6].map(|n| policy.backoff_ms(n)), [4000, 8000, 16000, 30000, 30000]);
    }
}
