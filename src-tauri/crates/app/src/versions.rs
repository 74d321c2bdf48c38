//! Which configuration of an agent was in force when (TH-39, Q-45): the configurations of the file this database has seen, counted
//! per agent from 1, and since when each held.

use std::collections::BTreeMap;

use holdpoint_core::engine_config::{AgentSpec, EngineConfig};
use holdpoint_core::json::{canonical, sha256_hex};
use holdpoint_core::time::Millis;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Where the database keeps it.
pub(crate) const META: &str = "agent_versions";

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Versions {
    agents: BTreeMap<String, Seen>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Seen {
    /// SHA-256 of the canonical JSON; the first one is version 1.
    hashes: Vec<String>,
    /// Version and the millisecond from which on it was in force.
    since: Vec<(u32, i64)>,
}

impl Versions {
    pub(crate) fn read(kept: Option<&str>) -> Self {
        kept.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }

    pub(crate) fn written(&self) -> String {
        json!(self).to_string()
    }

    /// The file as it is in force from now on.
    pub(crate) fn note(&mut self, config: &EngineConfig, now: Millis) {
        for (id, spec) in &config.agents {
            let hash = hash(spec);
            let seen = self.agents.entry(id.clone()).or_default();
            let known = seen.hashes.iter().position(|known| *known == hash);
            let index = known.unwrap_or_else(|| {
                seen.hashes.push(hash);
                seen.hashes.len() - 1
            });
            let version = index as u32 + 1;
            if seen.since.last().is_none_or(|(last, _)| *last != version) {
                seen.since.push((version, now.0));
            }
        }
    }

    /// In force at that time. What is older than the first note had the first configuration, as far as anybody knows.
    pub(crate) fn at(&self, agent: &str, at: Millis) -> u32 {
        let Some(seen) = self.agents.get(agent) else { return 1 };
        seen.since.iter().rev().find(|(_, since)| *since <= at.0).map_or(1, |(version, _)| *version)
    }
}

fn hash(spec: &AgentSpec) -> String {
    let whole = json!({"config": spec.config, "worker": spec.worker, "description": spec.description});
    sha256_hex(canonical(&whole).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(description: &str) -> EngineConfig {
        let spec = AgentSpec { description: Some(description.to_owned()), ..AgentSpec::default() };
        EngineConfig { agents: BTreeMap::from([("a".to_owned(), spec)]), ..EngineConfig::default() }
    }

    #[test]
    fn a_version_counts_different_configurations_and_holds_for_its_time_th39_q45() {
        let mut versions = Versions::default();
        for (text, at) in [("one", 100), ("one", 150), ("two", 200), ("one", 300)] {
            versions.note(&file(text), Millis(at));
        }
        let versions = Versions::read(Some(&versions.written()));
        let at = |at| versions.at("a", Millis(at));
        assert_eq!([at(50), at(100), at(199), at(200), at(299), at(300)], [1, 1, 1, 2, 2, 1], "back to the first file is version 1 again");
        assert_eq!(versions.at("unknown", Millis(100)), 1);
    }
}
