//! One measured figure and how it is told.

use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

pub type Wrong = Box<dyn std::error::Error + Send + Sync>;

pub struct Figure {
    /// Of each round, sorted.
    took: Vec<Duration>,
    per_second: f64,
}

impl Figure {
    /// `took` of rounds that started at `started` and have just ended.
    pub fn new(mut took: Vec<Duration>, started: Instant) -> Self {
        let per_second = took.len() as f64 / started.elapsed().as_secs_f64();
        took.sort_unstable();
        Self { took, per_second }
    }

    pub fn print(&self, what: &str) {
        println!("{}", Value::Object(self.told(what)));
    }

    /// With the ratio to what a bare loop does: how many times longer a round takes here.
    pub fn against(&self, what: &str, bare: &Self) {
        let mut told = self.told(what);
        told.insert("times_bare_loop".to_owned(), json!(tenths(bare.per_second / self.per_second)));
        println!("{}", Value::Object(told));
    }

    /// The gates of the serial figures, from the disk's own time.
    pub fn targets(flush: &Self, raise: &Self, answer: &Self, round: &Self) {
        let f = flush.micros(0.5);
        let gate = |name: &str, figure: &Self, at_most: f64| {
            let p50 = figure.micros(0.5);
            println!("{}", json!({"gate": name, "p50_us": p50, "at_most_us": tenths(at_most), "met": p50 <= at_most}));
        };
        gate("raise → visible ≤ F + 0.4 ms", raise, f + 400.0);
        gate("answer → worker called ≤ F + 0.4 ms", answer, f + 400.0);
        gate("round trip ≤ 2F + 0.7 ms", round, 2.0 * f + 700.0);
    }

    fn told(&self, what: &str) -> Map<String, Value> {
        let row = json!({
            "what": what,
            "rounds": self.took.len(),
            "per_second": tenths(self.per_second),
            "p50_us": self.micros(0.5),
            "p99_us": self.micros(0.99),
        });
        if let Value::Object(row) = row { row } else { Map::new() }
    }

    fn micros(&self, share: f64) -> f64 {
        let at = ((self.took.len() as f64 * share) as usize).min(self.took.len().saturating_sub(1));
        self.took.get(at).map_or(0.0, |took| tenths(took.as_secs_f64() * 1e6))
    }
}

fn tenths(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}
