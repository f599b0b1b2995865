//! Two sides held against each other: what changed around them first, then every pair of configurations with its
//! difference, its certainty and where the waiting went.
//!
//! The view model of `fathom compare`; text, Markdown, HTML and JSON show nothing that is not here.

mod changed;
mod changes;
mod measure;
mod pair;
mod pairs;
mod plans;
mod sections;
mod sentences;
mod side;
mod summary;
mod work;

use results::model::Cell;

use crate::summary::{ALPHA, cache_counts};

pub use changed::{Changed, Part};
pub(crate) use changes::changes;
pub use measure::{LATENCY_NAMES, Measure, latency_of};
pub use pair::{Pair, PlanState, WaitShare};
pub(crate) use sections::{sections, verdict_words};
pub(crate) use side::restrict_to_cell;
pub use side::{Side, restrict};
pub use summary::{COMPARISON_VERSION, ComparisonSummary, SideView};
pub use work::OtherWork;

/// How two sides are compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// What is compared; `None` for what the baseline's study compares itself: elapsed time or rows per second.
    pub measure: Option<Measure>,
    /// A candidate that is worse by more than this, in percent of the baseline, and shown to be worse, is a regression.
    pub threshold_percent: f64,
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
