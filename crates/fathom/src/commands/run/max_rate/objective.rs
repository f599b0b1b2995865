//! Objectives of response times, and whether a run holds them.

use std::fmt;
use std::time::Duration;

use anyhow::{Context, bail};
use results::histogram::LatencyHistogram;
use results::model::Run;

use crate::cli::quantities;

/// How an objective is written, for hints.
const FORMS: &str = "write p99<10ms (p50, p90, p95, p99, p99.9, mean, max) or \"within 10ms >= 99%\"";

/// Starts that are late by more than this share of the elapsed time on average were not kept (docs/lab/metrics.md).
const LATENESS_MAX: f64 = 0.025;

/// Share of the arrivals that may not have begun at the end; one per client always may.
const UNSERVED_MAX: f64 = 0.01;

/// What is asked of the response times of a run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Objective {
    text: String,
    kind: Kind,
    limit: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// This share is faster than the limit.
    Quantile(f64),
    Mean,
    Max,
    /// At least this share is within the limit.
    Within(f64),
}

/// A value of a run: milliseconds, or percent for `within`; infinite where transactions were lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Value {
    pub(super) value: f64,
    pub(super) holds: bool,
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Objective {
    /// Reads an objective of the command line.
    ///
    /// # Errors
    /// Any other text, a limit of no time.
    pub(super) fn parse(text: &str) -> anyhow::Result<Self> {
        Self::read(text.trim()).with_context(|| format!("--slo \"{text}\" is no objective\nhint: {FORMS}"))
    }

    fn read(text: &str) -> anyhow::Result<Self> {
        let time = |text: &str| quantities::time_above_zero("--slo", text.trim());
        if let Some(rest) = text.strip_prefix("within ") {
            let (limit, share) = rest.split_once(">=").context("it has no \">=\"")?;
            let share = percent(share.trim().trim_end_matches('%').trim_end())?;
            return Ok(Self { text: text.to_owned(), kind: Kind::Within(share), limit: time(limit)? });
        }
        let (name, limit) = text.split_once('<').context("it has no \"<\"")?;
        // Measured times are whole nanoseconds: "at most" differs from "below" by nothing that is printed.
        let limit = limit.strip_prefix('=').unwrap_or(limit);
        let kind = match name.trim() {
            "mean" => Kind::Mean,
            "max" => Kind::Max,
            name => match name.strip_prefix('p') {
                Some(share) => Kind::Quantile(percent(share)?),
                None => bail!("\"{name}\" is no percentile"),
            },
        };
        Ok(Self { text: text.to_owned(), kind, limit: time(limit)? })
    }

    /// Unit of its values.
    pub(super) fn unit(&self) -> &'static str {
        if matches!(self.kind, Kind::Within(_)) { "%" } else { "ms" }
    }

    /// The value of a run. Transactions that failed, were skipped or had not begun at the end are later than any limit.
    pub(super) fn value(&self, run: &Run) -> Value {
        let times = run.response_time();
        self.value_of(&times, lost(run))
    }

    fn value_of(&self, times: &LatencyHistogram, lost: u64) -> Value {
        let limit_ms = self.limit.as_secs_f64() * 1e3;
        let limit_ns = u64::try_from(self.limit.as_nanos()).unwrap_or(u64::MAX);
        let all = times.count() + lost;
        if all == 0 {
            return Value { value: f64::INFINITY, holds: false };
        }
        if let Kind::Within(share) = self.kind {
            let within = times.count_up_to(limit_ns) as f64 / all as f64;
            return Value { value: 100.0 * within, holds: within >= share };
        }
        let nanoseconds = match self.kind {
            Kind::Mean if lost == 0 => times.mean_ns(),
            Kind::Max if lost == 0 => times.max_ns() as f64,
            Kind::Quantile(share) => {
                // The rank among all, sought among those that have a time.
                let share = share * all as f64 / times.count().max(1) as f64;
                if times.count() > 0 && share <= 1.0 {
                    times.quantile_ns(share) as f64
                } else {
                    f64::INFINITY
                }
            }
            _ => f64::INFINITY,
        };
        Value { value: nanoseconds / 1e6, holds: nanoseconds / 1e6 < limit_ms }
    }
}

/// Why a run did not keep the schedule of its open loop; `None` where it did.
pub(super) fn unkept(run: &Run) -> Option<String> {
    let unserved: u64 = run.clients.iter().map(|client| client.arrivals_unserved).sum();
    let asked = run.transactions() + unserved;
    let allowed = (UNSERVED_MAX * asked as f64).max(run.clients.len() as f64);
    if unserved as f64 > allowed {
        return Some(format!("{unserved} of {asked} transactions were not started in time"));
    }
    let late_ns = run.response_time().mean_ns() - run.service_time().mean_ns();
    let share = late_ns / (run.elapsed_ns.max(1)) as f64;
    (share > LATENESS_MAX)
        .then(|| format!("starts were late by {:.1} % of the elapsed time on average", 100.0 * share))
}

/// Transactions without a time: failed, skipped, or not begun at the end.
fn lost(run: &Run) -> u64 {
    let unserved: u64 = run.clients.iter().map(|client| client.arrivals_unserved).sum();
    let failed = run.metric("failed_transactions").unwrap_or(0.0).max(0.0);
    unserved + failed as u64
}

fn percent(text: &str) -> anyhow::Result<f64> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    match text.parse::<f64>() {
        Ok(percent) if is_number && percent > 0.0 && percent < 100.0 => Ok(percent / 100.0),
        Ok(100.0) if is_number => Ok(1.0),
        _ => bail!("\"{text}\" is not a percentage above 0 and up to 100"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// 1 to 100 ms, once each.
    fn times() -> LatencyHistogram {
        let mut times = LatencyHistogram::new();
        (1..=100).for_each(|milliseconds| times.record(milliseconds * 1_000_000));
        times
    }

    fn value(text: &str, lost: u64) -> Value {
        Objective::parse(text).unwrap().value_of(&times(), lost)
    }

    #[test]
    fn an_objective_holds_where_its_value_is_below_the_limit() {
        for (text, near, holds) in [
            ("p50<60ms", 50.0, true),
            ("p99 < 99ms", 99.0, false),
            ("p99.9<=1s", 100.0, true),
            ("mean<50ms", 50.5, false),
            ("max < 0.2", 100.0, true),
            ("within 90ms >= 90%", 90.0, true),
            ("within 90ms >= 91", 90.0, false),
        ] {
            let found = value(text, 0);
            assert!((found.value - near).abs() < near * 0.02, "{text}: {found:?}");
            assert_eq!(found.holds, holds, "{text}: {found:?}");
        }
    }

    #[test]
    fn transactions_that_were_lost_count_as_later_than_any_limit() {
        assert!(value("p50<60ms", 0).holds && value("p50<60ms", 10).holds);
        assert!(!value("p50<60ms", 30).holds);
        assert_eq!(value("p99<10s", 2).value, f64::INFINITY);
        assert!(!value("max<10s", 1).holds && !value("mean<10s", 1).holds);
        assert!((value("within 1s >= 50%", 100).value - 50.0).abs() < 1e-9);
        let none = Objective::parse("p99<1s").unwrap().value_of(&LatencyHistogram::new(), 0);
        assert!(!none.holds);
    }

    #[test]
    fn what_is_no_objective_is_refused_with_the_forms() {
        for text in [
            "",
            "p99",
            "p99>10ms",
            "p0<1s",
            "p101<1s",
            "p1e1<1s",
            "q99<1s",
            "p99<",
            "p99<0",
            "within 1s",
            "within 1s >= x",
        ] {
            let error = format!("{:#}", Objective::parse(text).unwrap_err());
            assert!(error.contains("p99<10ms"), "{text}: {error}");
        }
    }
}
