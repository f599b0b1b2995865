//! What a study compares, and what follows from a run's records without being measured apart.

use results::model::{Run, Study};
use serde::Serialize;
use stats::compare::Direction;

/// Parameter that bounds a run by time instead of rows.
const DURATION: &str = "duration";

/// The quantity whose means are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Elapsed seconds: the study fixes the rows.
    ElapsedS,
    /// Rows (transactions where a workload has no rows) per second: the study fixes the time.
    RowsPerS,
}

impl Quantity {
    /// The quantity of a study: rows per second where its runs are bound by time.
    pub fn of(study: &Study) -> Self {
        let is_fixed = study.fixed.iter().any(|(name, _)| name == DURATION);
        let is_factor = study.factors.iter().any(|factor| factor.name == DURATION);
        if is_fixed || is_factor { Self::RowsPerS } else { Self::ElapsedS }
    }

    /// The run's value.
    pub fn value(self, run: &Run) -> f64 {
        match self {
            Self::ElapsedS => elapsed_s(run),
            Self::RowsPerS => rows_per_s(run),
        }
    }

    /// Name as in docs/lab/metrics.md.
    pub fn name(self) -> &'static str {
        match self {
            Self::ElapsedS => "elapsed_s",
            Self::RowsPerS => "rows_per_s",
        }
    }

    /// Unit of the values.
    pub fn unit(self) -> &'static str {
        match self {
            Self::ElapsedS => "s",
            Self::RowsPerS => "rows/s",
        }
    }

    /// Name in words, for titles and sentences.
    pub fn words(self) -> &'static str {
        match self {
            Self::ElapsedS => "elapsed time",
            Self::RowsPerS => "rows per second",
        }
    }

    /// Which way it improves.
    pub fn direction(self) -> Direction {
        match self {
            Self::ElapsedS => Direction::SmallerIsBetter,
            Self::RowsPerS => Direction::LargerIsBetter,
        }
    }

    /// The time that a mean stands for: itself, or the time per row.
    pub fn time_of(self, mean: f64) -> f64 {
        match self {
            Self::ElapsedS => mean,
            Self::RowsPerS => 1.0 / mean,
        }
    }

    /// Is `left` better than `right`?
    pub fn is_better(self, left: f64, right: f64) -> bool {
        match self {
            Self::ElapsedS => left < right,
            Self::RowsPerS => left > right,
        }
    }
}

/// Seconds from the release of the barrier to the end of the last client.
pub fn elapsed_s(run: &Run) -> f64 {
    run.elapsed_ns as f64 / 1e9
}

/// Rows acknowledged per second of elapsed time, or transactions where a workload has no rows; 0 when no time passed.
pub fn rows_per_s(run: &Run) -> f64 {
    let work = if run.rows() > 0 { run.rows() } else { run.transactions() };
    per_second(work, run)
}

/// Numbers that follow from the records of the clients, each with name and unit; in the order of docs/lab/metrics.md.
pub fn derived(run: &Run) -> Vec<(&'static str, f64, &'static str)> {
    let mut numbers = vec![
        ("elapsed_s", elapsed_s(run), "s"),
        ("rows_per_s", rows_per_s(run), "rows/s"),
        ("transactions_per_s", per_second(run.transactions(), run), "transactions/s"),
    ];
    let seconds = |ns: u64| ns as f64 / 1e9;
    numbers.extend(run.first_client_end_ns().map(|ns| ("first_client_s", seconds(ns), "s")));
    numbers.extend(run.last_client_end_ns().map(|ns| ("last_client_s", seconds(ns), "s")));
    numbers
}

fn per_second(count: u64, run: &Run) -> f64 {
    if run.elapsed_ns == 0 { 0.0 } else { count as f64 / elapsed_s(run) }
}
