//! What one look-up did, in the same words for all engines.

use std::sync::{Arc, Mutex, PoisonError};

use results::model::Metric;
use sha2::{Digest, Sha256};

/// One look-up: a statement, its plan and what it cost.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// Pages that the engine asked its cache for.
    pub logical_reads: Option<u64>,
    /// Of these, pages that were not there and were read from the operating system.
    pub physical_reads: Option<u64>,
    /// Size of an engine's page in bytes.
    pub page_bytes: u64,
    /// Pages asked for while the statement was planned; `None` where the engine does not tell.
    pub planning_reads: Option<u64>,
    /// Bytes that the storage gave to the process or thread that answered, read-ahead included.
    pub storage_read_bytes: Option<u64>,
    /// Time inside reads, in nanoseconds.
    pub read_ns: Option<u64>,
    /// Processor time of the process or thread that answered, in nanoseconds.
    pub cpu_ns: Option<u64>,
    /// From sending to the answer, in nanoseconds.
    pub elapsed_ns: u64,
    /// Rows of the answer.
    pub rows: u64,
    /// Bytes of log that it wrote.
    pub log_bytes: Option<u64>,
    /// The plan as text, without figures; lines indented by depth.
    pub plan: String,
}

/// Where the sessions of one run leave their answers.
#[derive(Clone, Debug, Default)]
pub struct Answers(Arc<Mutex<Vec<Answer>>>);

impl Answers {
    /// Adds what one look-up did.
    pub fn add(&self, answer: Answer) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(answer);
    }

    /// All answers until now.
    pub fn all(&self) -> Vec<Answer> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The first 48 bits of a SHA-256: small enough to be exact as a number of 64 bits with a fraction.
pub fn hash_of(text: &str) -> u64 {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().take(6).fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

/// The figures of all look-ups of a run, added; absent where any of them has none.
pub fn metrics(answers: &[Answer]) -> Vec<Metric> {
    let Some(first) = answers.first() else { return Vec::new() };
    let sum = |of: fn(&Answer) -> Option<u64>| -> Option<u64> { answers.iter().map(of).sum() };
    let (logical, physical) = (sum(|one| one.logical_reads), sum(|one| one.physical_reads));
    let storage = sum(|one| one.storage_read_bytes);
    let asked_bytes = physical.map(|pages| pages * first.page_bytes);
    let ahead =
        storage.zip(asked_bytes).map(|(given, asked)| given.saturating_sub(asked) / first.page_bytes.max(1));
    let milliseconds = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e6);
    let number = |count: Option<u64>| count.map(|count| count as f64);
    let engine = "counted by the engine for the statement";
    let kernel = "/proc/PID/io of what answered";
    [
        metric("logical_reads", number(logical), "1", engine),
        metric("physical_reads", number(physical), "1", engine),
        metric("read_ahead_reads", number(ahead), "1", kernel),
        metric("planning_reads", number(sum(|one| one.planning_reads)), "1", engine),
        metric("storage_read_bytes", number(storage), "bytes", kernel),
        metric("look_up_read_ms", milliseconds(sum(|one| one.read_ns)), "ms", engine),
        metric(
            "look_up_cpu_ms",
            milliseconds(sum(|one| one.cpu_ns)),
            "ms",
            "scheduler's clock of what answered",
        ),
        metric(
            "look_up_elapsed_ms",
            milliseconds(sum(|one| Some(one.elapsed_ns))),
            "ms",
            "clock around the statement",
        ),
        metric("look_up_rows", number(sum(|one| Some(one.rows))), "1", engine),
        metric("look_up_log_bytes", number(sum(|one| one.log_bytes)), "bytes", engine),
        metric(
            "plan_hash",
            Some(hash_of(&first.plan) as f64),
            "1",
            "first 48 bits of the SHA-256 of the plan",
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn metric(name: &str, value: Option<f64>, unit: &str, source: &str) -> Option<Metric> {
    Some(Metric::new(name, value?, unit, source))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_one_look_up_does_not_know_the_sum_does_not_claim() {
        let known = Answer {
            logical_reads: Some(10),
            physical_reads: Some(4),
            page_bytes: 8192,
            storage_read_bytes: Some(6 * 8192),
            plan: "scan".to_owned(),
            ..Answer::default()
        };
        let value = |answers: &[Answer], name: &str| {
            metrics(answers).into_iter().find(|metric| metric.name == name).map(|metric| metric.value)
        };
        let two = [known.clone(), known.clone()];
        assert_eq!(value(&two, "logical_reads"), Some(20.0));
        assert_eq!(value(&two, "read_ahead_reads"), Some(4.0));
        let half = [known.clone(), Answer { physical_reads: None, ..known }];
        assert_eq!(value(&half, "physical_reads"), None);
        assert_eq!(value(&half, "read_ahead_reads"), None);
        assert!(value(&half, "plan_hash").unwrap() < (1_u64 << 48) as f64);
    }
}
