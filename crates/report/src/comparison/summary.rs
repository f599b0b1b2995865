//! Everything that a comparison shows, as data; [`compare`](super::compare) computes it.

use results::measure::Measure;
use serde::Serialize;

use super::changed::Changed;
use super::pair::Pair;
use super::work::OtherWork;
use crate::summary::CacheCount;

/// Version of the JSON form of [`ComparisonSummary`]; grows when a field changes its meaning or goes away.
pub const COMPARISON_VERSION: u32 = 2;

/// One side as it is shown.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SideView {
    /// As the user named it.
    pub name: String,
    /// Row number of the study.
    pub study_id: i64,
    /// Name of the experiment.
    pub experiment: String,
    /// Kind of target.
    pub engine: String,
    /// RFC 3339, UTC: when the study was made.
    pub created_at: String,
    /// Version of fathom that made it.
    pub fathom_version: String,
    /// Configurations that take part.
    pub cell_count: usize,
    /// Runs that count.
    pub counting: usize,
    /// Runs with a failed gate that nothing took the place of.
    pub invalid: usize,
    /// What the caches of the runs that count were; empty where no run looked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub caches: Vec<CacheCount>,
}

/// Everything that a comparison shows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparisonSummary {
    /// Version of this form.
    pub comparison_version: u32,
    /// What the candidate is held against.
    pub baseline: SideView,
    /// What is judged.
    pub candidate: SideView,
    /// What is compared.
    pub measure: Measure,
    /// Percent beyond which a shown worsening is a regression.
    pub threshold_percent: f64,
    /// Level of the family of comparisons.
    pub alpha: f64,
    /// Were labels dealt within the blocks of one study, rather than among all runs of two?
    pub is_within_study: bool,
    /// What the sides do differently: experiment, scale, workload, amounts. Unless it is empty there is no verdict.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub other_work: Vec<OtherWork>,
    /// What differs around the runs: parameters, settings, engine, machine, layout, plans.
    pub changes: Vec<Changed>,
    /// One to four sentences, computed from the numbers below.
    pub sentences: Vec<String>,
    /// The pairs, in the order of the baseline's cells.
    pub pairs: Vec<Pair>,
    /// Configurations of the baseline that the candidate lacks.
    pub only_baseline: Vec<String>,
    /// Configurations of the candidate that the baseline lacks.
    pub only_candidate: Vec<String>,
}

impl ComparisonSummary {
    /// Number of pairs that are regressions.
    pub fn regression_count(&self) -> usize {
        self.pairs.iter().filter(|pair| pair.is_regression).count()
    }

    /// Number of pairs that a changed plan made invalid.
    pub fn invalid_count(&self) -> usize {
        self.pairs.iter().filter(|pair| pair.is_invalid).count()
    }

    /// Pairs that could not be judged because the candidate has no run that counts where the baseline has.
    pub fn lost_count(&self) -> usize {
        self.pairs.iter().filter(|pair| pair.baseline.is_some() && pair.candidate.is_none()).count()
    }
}
