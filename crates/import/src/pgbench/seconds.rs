//! Transactions by second of the clock: the rate and the latency of a run over time.

use std::collections::BTreeMap;

use results::observations::{Series, SeriesKind};

/// Most seconds with transactions of which a series is kept: 11 days.
const SECONDS_MAX: usize = 1_000_000;
/// A beginning or an end of a run that is shorter than this share of an interval is no sample.
const PARTIAL_MIN: f64 = 0.5;

/// Transactions and their time, by second of the clock.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seconds(BTreeMap<i64, (u64, f64)>);

impl Seconds {
    pub(crate) fn add(&mut self, second: i64, count: u64, latency_ms: f64) {
        if self.0.len() < SECONDS_MAX || self.0.contains_key(&second) {
            let entry = self.0.entry(second).or_default();
            entry.0 += count;
            entry.1 += latency_ms;
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (second, (count, latency_ms)) in &other.0 {
            self.add(*second, *count, *latency_ms);
        }
    }

    /// Rate and mean latency of each `step_s` seconds of a run from `start_us` to `end_us`, also of those without a
    /// transaction.
    pub(crate) fn series(&self, start_us: i64, end_us: i64, step_s: i64, source: &str) -> Vec<Series> {
        let (Some((first, _)), Some((last, _))) = (self.0.first_key_value(), self.0.last_key_value()) else {
            return Vec::new();
        };
        let count = (last - first) / step_s.max(1) + 1;
        if count < 2 || count > SECONDS_MAX as i64 {
            return Vec::new();
        }
        let (mut at_ns, mut rates, mut latencies) = (Vec::new(), Vec::new(), Vec::new());
        for index in 0..count {
            let second = first + index * step_s;
            let begin_us = second.saturating_mul(1_000_000).max(start_us);
            let until_us = second.saturating_add(step_s).saturating_mul(1_000_000).min(end_us);
            let share = until_us.saturating_sub(begin_us) as f64 / 1e6;
            if share < PARTIAL_MIN * step_s as f64 {
                continue;
            }
            let (count, latency_ms) = self.0.get(&second).copied().unwrap_or_default();
            at_ns.push(until_us.saturating_sub(start_us).saturating_mul(1000));
            rates.push(Some(count as f64 / share));
            latencies.push((count > 0).then(|| latency_ms / count as f64));
        }
        let of = |name: &str, unit: &str, kind, values| Series {
            name: name.to_owned(),
            unit: unit.to_owned(),
            source: source.to_owned(),
            kind,
            at_ns: at_ns.clone(),
            values,
        };
        vec![
            of("transactions_per_s", "1/s", SeriesKind::Rate, rates),
            of("latency_mean_ms", "ms", SeriesKind::Gauge, latencies),
        ]
    }
}
