//! Sides held against a baseline, all their pairs decided together.

use results::measure::Measure;
use results::model::Cell;

use super::changes::changes;
use super::pair::Pair;
use super::pairs::{self, Matched};
use super::side::Side;
use super::summary::{COMPARISON_VERSION, ComparisonSummary, SideView};
use super::{sentences, work};
use crate::summary::{ALPHA, cache_counts};

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
/// within its blocks. Costs at most a few tenths of a second.
pub fn compare(baseline: &Side, candidate: &Side, options: &Options) -> ComparisonSummary {
    let mut summaries = compare_all(baseline, std::slice::from_ref(candidate), options);
    summaries.pop().expect("one candidate gives one comparison")
}

/// Compares each candidate with the baseline, as [`compare`] does; the pairs of all candidates are decided together.
pub fn compare_all(baseline: &Side, candidates: &[Side], options: &Options) -> Vec<ComparisonSummary> {
    let common = || {
        candidates
            .first()
            .map_or_else(|| common_measure(baseline, baseline), |first| common_measure(baseline, first))
    };
    let measure = options.measure.clone().unwrap_or_else(common);
    let matched: Vec<Matched<'_>> = candidates
        .iter()
        .map(|candidate| Matched {
            candidate,
            cells: pairs::matched(&baseline.results, &candidate.results),
            is_within_study: baseline.results.study.key == candidate.results.study.key
                && baseline.results.study.created_at == candidate.results.study.created_at,
        })
        .collect();
    let judged = pairs::judged(baseline, &matched, &measure, options.threshold_percent);
    let of_one = |(matched, pairs)| summary_of(baseline, matched, pairs, &measure, options);
    matched.iter().zip(judged).map(of_one).collect()
}

fn summary_of(
    baseline: &Side,
    matched: &Matched<'_>,
    mut pairs: Vec<Pair>,
    measure: &Measure,
    options: &Options,
) -> ComparisonSummary {
    let candidate = matched.candidate;
    let other_work = work::differences(baseline, candidate, &matched.cells, measure);
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
        is_within_study: matched.is_within_study,
        other_work,
        changes: changes(baseline, candidate),
        sentences: Vec::new(),
        only_baseline: labels(&baseline.results.cells, &|cell| {
            matched.cells.iter().any(|(left, _)| left.index == cell.index)
        }),
        only_candidate: labels(&candidate.results.cells, &|cell| {
            matched.cells.iter().any(|(_, right)| right.index == cell.index)
        }),
        measure: measure.clone(),
        pairs,
    };
    summary.sentences = sentences::sentences(&summary);
    summary
}

/// What both studies compare; the rate when one of them fixed the time and the other the work, else what the baseline
/// compares.
fn common_measure(baseline: &Side, candidate: &Side) -> Measure {
    let [one, other] = [baseline, candidate].map(|side| Measure::of_study(&side.results.study));
    const RATES: [&str; 2] = ["rows_per_s", "transactions_per_s"];
    let is_by_default =
        |measure: &Measure| measure.name == "elapsed_s" || RATES.contains(&measure.name.as_str());
    match one.name != other.name && is_by_default(&one) && is_by_default(&other) {
        true if one.name == RATES[1] || other.name == RATES[1] => Measure::named(RATES[1]),
        true => Measure::named(RATES[0]),
        false => one,
    }
}

pub(super) fn view(side: &Side) -> SideView {
    let study = &side.results.study;
    let runs = &side.results.runs;
    SideView {
        name: side.name.clone(),
        study_id: side.study_id,
        experiment: study.experiment.clone(),
        engine: study.target_words(),
        created_at: study.created_at.clone(),
        fathom_version: study.fathom_version.clone(),
        cell_count: side.results.cells.len(),
        counting: runs.iter().filter(|stored| stored.counts()).count(),
        invalid: runs.iter().filter(|stored| pairs::is_left_invalid(stored)).count(),
        caches: cache_counts(runs),
    }
}
