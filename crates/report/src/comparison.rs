//! Two sides held against each other: what changed around them first, then every pair of configurations with its
//! difference, its certainty and where the waiting went.
//!
//! The view model of `fathom compare`; text, Markdown, HTML and JSON show nothing that is not here.

mod changes;
mod measure;
mod pairs;
mod plans;
mod sections;
mod sentences;
mod work;

use results::model::{Cell, Level};
use results::store::StudyResults;
use serde::Serialize;

use crate::summary::{ALPHA, CacheCount, Estimate, Range, Verdict, cache_counts};

pub(crate) use changes::changes;
pub use changes::{Changed, Part};
pub use measure::{LATENCY_NAMES, Measure, latency_of};
pub use plans::PlanState;
pub(crate) use sections::{sections, verdict_words};
pub use work::OtherWork;

/// Version of the JSON form of [`ComparisonSummary`]; grows when a field changes its meaning or goes away.
pub const COMPARISON_VERSION: u32 = 2;

/// What one side of a comparison is made from.
#[derive(Clone, Debug)]
pub struct Side {
    /// As the user named it.
    pub name: String,
    /// Row number of the study in its results file.
    pub study_id: i64,
    /// The study, with those cells and runs alone that take part; see [`restrict`].
    pub results: StudyResults,
}

/// How two sides are compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// What is compared; `None` for what the baseline's study compares itself: elapsed time or rows per second.
    pub measure: Option<Measure>,
    /// A candidate that is worse by more than this, in percent of the baseline, and shown to be worse, is a regression.
    pub threshold_percent: f64,
}

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

/// Compares two sides; pairs are configurations whose levels agree wherever both sides name them, or the two
/// configurations themselves when each side has one. Sides that do different work get no verdict.
///
/// Runs of two studies share no block, so labels are dealt among all of them; two parts of one study are compared
/// within its blocks. Costs one permutation test per pair, at most some hundredths of a second each.
pub fn compare(baseline: &Side, candidate: &Side, options: &Options) -> ComparisonSummary {
    let measure = options.measure.clone().unwrap_or_else(|| Measure::of(baseline, candidate));
    let is_within_study = baseline.results.study.key == candidate.results.study.key
        && baseline.results.study.created_at == candidate.results.study.created_at;
    let matched = pairs::matched(&baseline.results, &candidate.results);
    let other_work = work::differences(baseline, candidate, &matched, &measure);
    let mut pairs =
        pairs::judged(baseline, candidate, &matched, &measure, options.threshold_percent, is_within_study);
    if !other_work.is_empty() {
        pairs.iter_mut().for_each(pairs::unjudge);
    }
    let labels = |cells: &[Cell], taken: &dyn Fn(&Cell) -> bool| {
        cells.iter().filter(|cell| !taken(cell)).map(Cell::label).collect::<Vec<_>>()
    };
    let mut summary = ComparisonSummary {
        comparison_version: COMPARISON_VERSION,
        baseline: view(baseline),
        candidate: view(candidate),
        threshold_percent: options.threshold_percent,
        alpha: ALPHA,
        is_within_study,
        other_work,
        changes: changes(baseline, candidate),
        sentences: Vec::new(),
        only_baseline: labels(&baseline.results.cells, &|cell| {
            matched.iter().any(|(left, _)| left.index == cell.index)
        }),
        only_candidate: labels(&candidate.results.cells, &|cell| {
            matched.iter().any(|(_, right)| right.index == cell.index)
        }),
        measure,
        pairs,
    };
    summary.sentences = sentences::sentences(&summary);
    summary
}

/// Keeps the cells whose levels (or fixed parameters) have these values, and their runs.
///
/// # Errors
/// A name that is neither factor nor parameter, or a value that no cell has: a sentence that names what there is.
pub fn restrict(results: &StudyResults, wanted: &[(String, String)]) -> Result<StudyResults, String> {
    let mut restricted = results.clone();
    for (name, value) in wanted {
        let values = |cells: &[Cell]| {
            let mut values: Vec<String> = Vec::new();
            for level in cells.iter().filter_map(|cell| level(results, cell, name)) {
                if !values.contains(&level.to_string()) {
                    values.push(level.to_string());
                }
            }
            values
        };
        let known = values(&results.cells);
        if known.is_empty() {
            let factors: Vec<&str> =
                results.study.factors.iter().map(|factor| factor.name.as_str()).collect();
            let there = if factors.is_empty() { "none".to_owned() } else { factors.join(", ") };
            return Err(format!(
                "study of {} has no parameter \"{name}\"; its factors: {there}",
                results.study.experiment
            ));
        }
        restricted
            .cells
            .retain(|cell| level(results, cell, name).is_some_and(|level| level.to_string() == *value));
        if restricted.cells.is_empty() {
            return Err(format!("no configuration has {name}={value}; there are {}", known.join(", ")));
        }
    }
    let is_kept = |cell_index: u32| restricted.cells.iter().any(|cell| cell.index == cell_index);
    restricted.runs.retain(|stored| is_kept(stored.run.key.cell_index));
    restricted.latencies.retain(|latency| is_kept(latency.cell_index));
    Ok(restricted)
}

/// Keeps one cell and its runs.
pub(crate) fn restrict_to_cell(side: &Side, cell_index: u32) -> Side {
    let mut side = side.clone();
    side.results.cells.retain(|cell| cell.index == cell_index);
    side.results.runs.retain(|stored| stored.run.key.cell_index == cell_index);
    side
}

/// The value that a parameter has in a cell: as a level or, when it does not vary, as a fixed parameter.
fn level<'a>(results: &'a StudyResults, cell: &'a Cell, name: &str) -> Option<&'a Level> {
    let all = cell.levels.iter().chain(&results.study.fixed);
    all.filter(|(known, _)| known == name).map(|(_, level)| level).next()
}

fn view(side: &Side) -> SideView {
    let study = &side.results.study;
    let runs = &side.results.runs;
    SideView {
        name: side.name.clone(),
        study_id: side.study_id,
        experiment: study.experiment.clone(),
        engine: study.engine.clone(),
        created_at: study.created_at.clone(),
        fathom_version: study.fathom_version.clone(),
        cell_count: side.results.cells.len(),
        counting: runs.iter().filter(|stored| stored.counts()).count(),
        invalid: runs.iter().filter(|stored| pairs::is_left_invalid(stored)).count(),
        caches: cache_counts(runs),
    }
}
