//! The numbers that runs can be compared by: name, unit, which way each improves, and its value in a run.
//!
//! The names are those of docs/lab/metrics.md, with two families beside them: latencies (`response_time_p99_ms`), and any
//! number per transaction or per row (`log_bytes_per_transaction`).

use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use serde::Serialize;

use crate::model::{Metric, Run, Study};

/// The definitions, as they are published.
const DEFINITIONS: &str = include_str!("../../../docs/lab/metrics.md");
/// Sections that define numbers of one run; the others are about series, waits and cautions.
const SECTIONS_OF_RUNS: [&str; 9] = [
    "From the records of the clients",
    "CPU time",
    "Devices",
    "Engine, all kinds",
    "Embedded SQLite",
    "PostgreSQL",
    "Look-ups and caches",
    "Own workloads",
    "Checks, backups and other tasks",
];
/// Latencies: name, whether from the intended start, share of the transactions that are no slower.
const LATENCIES: [(&str, bool, f64); 10] = [
    ("service_time_p50_ms", false, 0.5),
    ("service_time_p90_ms", false, 0.9),
    ("service_time_p99_ms", false, 0.99),
    ("service_time_p999_ms", false, 0.999),
    ("service_time_max_ms", false, 1.0),
    ("response_time_p50_ms", true, 0.5),
    ("response_time_p90_ms", true, 0.9),
    ("response_time_p99_ms", true, 0.99),
    ("response_time_p999_ms", true, 0.999),
    ("response_time_max_ms", true, 1.0),
];
/// Numbers that are better when larger, although no rate.
const LARGER_IS_BETTER: [&str; 10] = [
    "raw_iops",
    "raw_mib_per_s",
    "key_tree_fill_pct",
    "within_limit_percent",
    // Rates under the names of other tools, in imported studies.
    "nopm",
    "qph",
    "read_iops",
    "tpm",
    "tps",
    "write_iops",
];
/// Rates of what is to be avoided.
const SMALLER_IS_BETTER: [&str; 1] = ["log_bytes_per_s"];
const PER_TRANSACTION: &str = "_per_transaction";
const PER_ROW: &str = "_per_row";

/// Parameter that bounds a run by time instead of rows.
const DURATION: &str = "duration";

/// One number of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measure {
    /// Name as in docs/lab/metrics.md.
    pub name: String,
    /// Unit of the values; empty where runs alone tell.
    pub unit: String,
    /// Is a smaller value better?
    pub is_smaller_better: bool,
    /// In words, for titles and sentences.
    #[serde(skip)]
    pub words: String,
}

static KNOWN: LazyLock<BTreeMap<String, Measure>> = LazyLock::new(|| {
    let mut known = BTreeMap::new();
    for (name, unit) in definitions(DEFINITIONS) {
        known.insert(name.clone(), Measure::new(name, unit));
    }
    for (name, ..) in LATENCIES {
        known.insert(name.to_owned(), Measure::new(name.to_owned(), "ms".to_owned()));
    }
    known
});

/// Names and units of the numbers of a run; a unit that a heading gives for several names is given to each.
fn definitions(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut is_of_runs = false;
    let mut names: Vec<String> = Vec::new();
    for line in text.lines() {
        if let Some(section) = line.strip_prefix("## ") {
            is_of_runs = SECTIONS_OF_RUNS.contains(&section.trim());
        } else if let Some(heading) = line.strip_prefix("### ") {
            names = quoted(heading);
        } else if let Some(rest) = line.strip_prefix("- unit: ").filter(|_| is_of_runs) {
            let units = rest.split_once(';').map_or(rest, |(units, _)| units).trim();
            for name in names.drain(..).filter(|name| !Metric::is_identity(name)) {
                let unit =
                    if units.contains(',') || units.contains(" and ") { unit_by_name(&name) } else { units };
                found.push((name.clone(), unit.to_owned()));
            }
        }
    }
    found
}

/// Names between backquotes.
fn quoted(heading: &str) -> Vec<String> {
    heading.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The unit that the end of a name says; empty where it says none.
fn unit_by_name(name: &str) -> &'static str {
    const ENDINGS: [(&str, &str); 11] = [
        ("_bytes_per_s", "bytes/s"),
        ("_mib_per_s", "MiB/s"),
        ("_per_s", "1/s"),
        ("_bytes", "bytes"),
        ("_pages", "pages"),
        ("_ms", "ms"),
        ("_us", "us"),
        ("_pct", "%"),
        ("_percent", "%"),
        ("_iops", "1/s"),
        ("_s", "s"),
    ];
    ENDINGS.iter().find(|(ending, _)| name.ends_with(ending)).map_or("1", |(_, unit)| unit)
}

impl Measure {
    fn new(name: String, unit: String) -> Self {
        let is_rate = name.ends_with("_per_s") && !SMALLER_IS_BETTER.contains(&name.as_str());
        let is_smaller_better = !is_rate && !LARGER_IS_BETTER.contains(&name.as_str());
        let words = words_of(&name);
        Self { name, unit, is_smaller_better, words }
    }

    /// The number with this name; `None` when no run can have it.
    pub fn find(name: &str) -> Option<Self> {
        if let Some(known) = KNOWN.get(name) {
            return Some(known.clone());
        }
        let (base, per) = ratio(name)?;
        let base =
            KNOWN.get(base).filter(|base| !base.name.contains("_per_") && latency(&base.name).is_none())?;
        let unit = format!("{}/{per}", base.unit);
        Some(Self::new(name.to_owned(), unit))
    }

    /// The same, once for the whole program: there are as many as names that were asked for.
    pub fn interned(self) -> &'static Self {
        static INTERNED: Mutex<Vec<&'static Measure>> = Mutex::new(Vec::new());
        let mut interned = INTERNED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = interned.iter().find(|known| ***known == self) {
            return known;
        }
        let added: &'static Self = Box::leak(Box::new(self));
        interned.push(added);
        added
    }

    /// The number with this name, known or not: what other versions stored can be compared as well.
    pub fn named(name: &str) -> Self {
        let unit = || Some(unit_by_name(name)).filter(|unit| *unit != "1").unwrap_or_default();
        Self::find(name).unwrap_or_else(|| Self::new(name.to_owned(), unit().to_owned()))
    }

    /// What a study compares: the metric of its design; else elapsed time, or the rate of the work where its runs are bound
    /// by time: rows per second, transactions per second of a workload of the user's own.
    pub fn of_study(study: &Study) -> Self {
        let design = &study.design;
        let mut measure = Self::named(design.metric.as_deref().unwrap_or_else(|| default_name(study)));
        measure.is_smaller_better = design.is_smaller_better.unwrap_or(measure.is_smaller_better);
        measure
    }

    /// The number with this name, with the direction that a study gives it where it is what the study compares.
    pub fn in_study(name: &str, study: &Study) -> Self {
        let own = Self::of_study(study);
        if own.name == name { own } else { Self::named(name) }
    }

    /// The run's value; `None` when the run did not measure it.
    pub fn value(&self, run: &Run) -> Option<f64> {
        if let Some(value) = direct(&self.name, run) {
            return Some(value);
        }
        let (base, per) = ratio(&self.name)?;
        let work = if per == "transaction" { run.transactions() } else { run.rows() };
        let value = direct(base, run)?;
        (work > 0).then(|| value / work as f64)
    }

    /// Must histograms of the runs be read for what a study compares or expects, secondary metrics included?
    pub fn needs_latencies(study: &Study) -> bool {
        let secondary = study.design.secondary.iter().map(|name| Self::named(name));
        let mut checks = study.expectations.iter().filter_map(|expectation| expectation.check.as_deref());
        std::iter::once(Self::of_study(study)).chain(secondary).any(|measure| measure.is_latency())
            || checks.any(|check| LATENCIES.iter().any(|(name, ..)| check.contains(name)))
    }

    /// Must histograms of the runs be read for it?
    pub fn is_latency(&self) -> bool {
        latency(&self.name).is_some()
    }

    /// Is it a time or a rate of the work, so that a ratio means "times as fast"?
    pub fn is_speed(&self) -> bool {
        self.time_of(1.0).is_some()
    }

    /// The time that a value stands for: itself, or what one row takes; `None` for anything but speed.
    pub fn time_of(&self, value: f64) -> Option<f64> {
        match self.name.as_str() {
            "elapsed_s" | "check_pass_s" | "backup_s" | "restore_s" => Some(value),
            "rows_per_s" | "transactions_per_s" | "raw_iops" | "raw_mib_per_s" => Some(1.0 / value),
            // Rates under the names of other tools.
            "nopm" | "qph" | "read_iops" | "tpm" | "tps" | "write_iops" => Some(1.0 / value),
            name if name.ends_with("_bytes_per_s") && !self.is_smaller_better => Some(1.0 / value),
            _ => None,
        }
    }

    /// Is `left` better than `right`?
    pub fn is_better(&self, left: f64, right: f64) -> bool {
        if self.is_smaller_better { left < right } else { left > right }
    }
}

/// Every name that a spec may give, without those per transaction and per row.
pub fn names() -> impl Iterator<Item = &'static str> {
    KNOWN.keys().map(String::as_str)
}

fn default_name(study: &Study) -> &'static str {
    let is_fixed = study.fixed.iter().any(|(name, _)| name == DURATION);
    let is_factor = study.factors.iter().any(|factor| factor.name == DURATION);
    match (is_fixed || is_factor, study.is_own_workload()) {
        (false, _) => "elapsed_s",
        (true, false) => "rows_per_s",
        (true, true) => "transactions_per_s",
    }
}

fn latency(name: &str) -> Option<(bool, f64)> {
    LATENCIES.iter().find(|(known, ..)| *known == name).map(|(_, is_response, share)| (*is_response, *share))
}

fn ratio(name: &str) -> Option<(&str, &'static str)> {
    let transaction = name.strip_suffix(PER_TRANSACTION).map(|base| (base, "transaction"));
    transaction.or_else(|| name.strip_suffix(PER_ROW).map(|base| (base, "row")))
}

fn direct(name: &str, run: &Run) -> Option<f64> {
    let elapsed_s = run.elapsed_ns as f64 / 1e9;
    let per_second = |count: u64| (elapsed_s > 0.0).then(|| count as f64 / elapsed_s);
    match name {
        // An imported run whose tool does not say how long it took has none.
        "elapsed_s" => (run.elapsed_ns > 0 || !run.is_imported()).then_some(elapsed_s),
        "rows_per_s" => per_second(if run.rows() > 0 { run.rows() } else { run.transactions() }),
        "transactions_per_s" => per_second(run.transactions()),
        "first_client_s" => run.first_client_end_ns().map(|ns| ns as f64 / 1e9),
        "last_client_s" => run.last_client_end_ns().map(|ns| ns as f64 / 1e9),
        "retries" => Some(run.clients.iter().map(|client| client.retries as f64).sum()),
        _ => match latency(name) {
            Some((is_response, share)) => {
                let histogram = if is_response { run.response_time() } else { run.service_time() };
                (histogram.count() > 0).then(|| match share < 1.0 {
                    true => histogram.quantile_ns(share) as f64 / 1e6,
                    false => histogram.max_ns() as f64 / 1e6,
                })
            }
            None => run.metric(name).filter(|_| !Metric::is_identity(name)),
        },
    }
}

fn words_of(name: &str) -> String {
    match name {
        "elapsed_s" => "elapsed time".to_owned(),
        "raw_iops" => "IOPS".to_owned(),
        "raw_mib_per_s" => "MiB per second".to_owned(),
        "failed_transactions_percent" => "share of failed transactions".to_owned(),
        "retried_transactions_percent" => "share of retried transactions".to_owned(),
        "within_limit_percent" => "share within the latency limit".to_owned(),
        _ => match latency(name) {
            Some((is_response, share)) => {
                let kind = if is_response { "response time" } else { "service time" };
                let at = match share {
                    0.5 => "median",
                    0.9 => "p90",
                    0.99 => "p99",
                    0.999 => "p99.9",
                    _ => "maximum",
                };
                format!("{at} {kind}")
            }
            None => {
                let without_unit = ["_ms", "_us", "_s"].iter().find_map(|unit| name.strip_suffix(unit));
                let rate = name.strip_suffix("_per_s").map(|base| format!("{base} per second"));
                rate.or_else(|| without_unit.map(str::to_owned))
                    .unwrap_or_else(|| name.to_owned())
                    .replace('_', " ")
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_definitions_give_names_with_units() {
        let unit = |name: &str| Measure::find(name).map(|measure| measure.unit);
        assert_eq!(unit("elapsed_s").as_deref(), Some("s"));
        assert_eq!(unit("rows_per_s").as_deref(), Some("rows/s"));
        assert_eq!(unit("raw_iops").as_deref(), Some("1/s"));
        assert_eq!(unit("check_read_bytes_per_s").as_deref(), Some("bytes/s"));
        assert_eq!(unit("failed_transactions_percent").as_deref(), Some("%"));
        assert_eq!(unit("late_transactions").as_deref(), Some("1"));
        assert_eq!(unit("log_bytes_per_transaction").as_deref(), Some("bytes/transaction"));
        for unknown in ["speed", "plan_hash", "wait_s", "service_time_p99_ms_per_row", "server_cpus", ""] {
            assert_eq!(Measure::find(unknown), None, "{unknown}");
        }
        assert!(names().count() > 120, "{}", names().count());
    }

    #[test]
    fn rates_are_better_when_larger_and_everything_else_when_smaller() {
        for (name, is_smaller_better) in [
            ("elapsed_s", true),
            ("rows_per_s", false),
            ("raw_iops", false),
            ("response_time_p99_ms", true),
            ("log_bytes_per_transaction", true),
            ("check_read_bytes_per_s", false),
            ("transactions_per_s", false),
            ("failed_transactions_percent", true),
            ("retried_transactions_percent", true),
            ("within_limit_percent", false),
            ("orders_bytes", true),
        ] {
            assert_eq!(Measure::named(name).is_smaller_better, is_smaller_better, "{name}");
        }
    }

    #[test]
    fn words_are_those_of_the_field() {
        let words = |name: &str| Measure::named(name).words;
        assert_eq!(words("elapsed_s"), "elapsed time");
        assert_eq!(words("rows_per_s"), "rows per second");
        assert_eq!(words("response_time_p99_ms"), "p99 response time");
        assert_eq!(words("log_bytes_per_transaction"), "log bytes per transaction");
        assert_eq!(words("check_worker_wait_s"), "check worker wait");
    }
}
