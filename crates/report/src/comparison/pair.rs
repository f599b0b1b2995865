//! Two configurations that answer to each other, as data.

use serde::Serialize;

use crate::summary::{Estimate, Range, Verdict};

/// What is known of the plans of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanState {
    /// Both sides followed the same plans.
    Unchanged,
    /// Both sides kept their plans, and these differ.
    Changed,
    /// One side alone kept its plans.
    OneSided,
    /// Neither side kept a plan: runs that only write have none.
    NotRecorded,
}

/// The share of one wait type in the session time of both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WaitShare {
    /// `class:name`; `no wait` for the time that no wait accounts for.
    pub wait_type: String,
    /// Percent of the session time of the baseline; `None` when its runs recorded no waits.
    pub baseline_percent: Option<f64>,
    /// Percent of the session time of the candidate.
    pub candidate_percent: Option<f64>,
}

/// One configuration of the baseline and the one of the candidate that answers to it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pair {
    /// Label of the baseline's configuration.
    pub baseline_label: String,
    /// Label of the candidate's.
    pub candidate_label: String,
    /// The measure over the baseline's counting runs; `None` without any.
    pub baseline: Option<Estimate>,
    /// The measure over the candidate's.
    pub candidate: Option<Estimate>,
    /// Geometric mean of the baseline's runs: what the difference is made of; `None` without any.
    pub baseline_geometric_mean: Option<f64>,
    /// Geometric mean of the candidate's runs.
    pub candidate_geometric_mean: Option<f64>,
    /// `100 * (ratio - 1)`: how much larger the candidate is; negative when it is smaller.
    pub difference_percent: Option<f64>,
    /// Interval of the difference in percent, corrected for all pairs: it leaves 0 out where the verdict is better
    /// or worse, and holds it where no difference is shown. Absent below two runs on a side.
    pub difference_percent_interval: Option<Range>,
    /// Two-sided p value of the permutation test.
    pub p_value: Option<f64>,
    /// The same after Holm's correction for all pairs; absent when runs were too few to take part.
    pub p_adjusted: Option<f64>,
    /// The decision; `None` when nothing could be compared, and `why_not` says why.
    pub verdict: Option<Verdict>,
    /// Why there is no verdict.
    pub why_not: Option<String>,
    /// Shown to be worse, and by more than the threshold.
    pub is_regression: bool,
    /// What is known of the plans of both sides.
    pub plan: PlanState,
    /// The same configuration followed another plan: the difference is shown, and there is no verdict.
    pub is_invalid: bool,
    /// Runs of the candidate that failed a gate and were not made again.
    pub candidate_invalid: usize,
    /// Where the clients' time went on both sides, the largest change first; empty where neither recorded waits.
    pub waits: Vec<WaitShare>,
}
