//! More than two studies as one table: the study is a factor beside those of the experiment.

use results::measure::Measure;
use results::model::{Cell, Level};
use serde::Serialize;

use super::compared::{Options, compare_all, view};
use super::pairs::group_estimate;
use super::sentences::safety;
use super::side::{Side, level};
use super::summary::{ComparisonSummary, SideView};
use super::work::OtherWork;
use crate::number::factor;
use crate::quantity::Quantity;
use crate::summary::{Estimate, Range, Verdict};

/// Version of the JSON form of [`StudiesSummary`].
pub const STUDIES_VERSION: u32 = 1;

/// One configuration in one study.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InStudy {
    /// The measure over its counting runs; `None` without any.
    pub estimate: Option<Estimate>,
    /// Geometric mean of the runs, of which factors are made.
    pub geometric_mean: Option<f64>,
    /// Against the baseline: times as fast for speeds, the ratio of the values for anything else; `None` at the baseline.
    pub factor: Option<f64>,
    /// Interval of the factor, corrected for all pairs.
    pub factor_interval: Option<Range>,
    /// The same after the correction for all pairs.
    pub p_adjusted: Option<f64>,
    /// The decision; `None` at the baseline and where nothing could be compared.
    pub verdict: Option<Verdict>,
}

/// One configuration over the studies.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StudiesRow {
    /// Label of the baseline's configuration.
    pub label: String,
    /// One per study, the baseline first; `None` where the study lacks the configuration.
    pub studies: Vec<Option<InStudy>>,
}

/// The best configuration of a group, by mean: an observation, not a test.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BestCase {
    /// The factor whose level is fixed; `None` for the best of a whole study.
    pub at: Option<(String, Level)>,
    /// Number of the study among those that are compared, from 0.
    pub study: usize,
    /// Label of the configuration.
    pub label: String,
    /// Its mean.
    pub mean: f64,
    /// Runs behind the mean.
    pub n: usize,
    /// The baseline's best mean over this mean, or this over it: above 1 is better, as published improvement factors are.
    pub improvement: Option<f64>,
}

/// Several studies held against the first of them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StudiesSummary {
    /// Version of this form.
    pub studies_version: u32,
    /// What is compared.
    pub measure: Measure,
    /// The studies, the baseline first.
    pub studies: Vec<SideView>,
    /// One sentence per study but the baseline.
    pub sentences: Vec<String>,
    /// One row per configuration of the baseline.
    pub rows: Vec<StudiesRow>,
    /// The best configuration of each study.
    pub best_of_studies: Vec<BestCase>,
    /// The best study and configuration at each level of each factor.
    pub best_per_level: Vec<BestCase>,
    /// Each study against the baseline, decided together: with what differs around them.
    pub comparisons: Vec<ComparisonSummary>,
}

impl StudiesSummary {
    /// Is the ratio of two values "times as fast"?
    pub(crate) fn is_speed(&self) -> bool {
        self.measure.is_speed()
    }
}

/// Compares each candidate with the baseline and lays all of them side by side; at least one candidate.
pub fn studies(baseline: &Side, candidates: &[Side], options: &Options) -> StudiesSummary {
    let comparisons = compare_all(baseline, candidates, options);
    let measure =
        comparisons.first().map_or_else(|| Measure::named("elapsed_s"), |first| first.measure.clone());
    let sides: Vec<&Side> = std::iter::once(baseline).chain(candidates).collect();
    let mut summary = StudiesSummary {
        studies_version: STUDIES_VERSION,
        studies: sides.iter().map(|side| view(side)).collect(),
        sentences: Vec::new(),
        rows: rows(baseline, &comparisons, &measure),
        best_of_studies: best_of_studies(&sides, &measure),
        best_per_level: best_per_level(&sides, &measure),
        measure,
        comparisons,
    };
    summary.sentences = sentences(&summary);
    summary
}

fn rows(baseline: &Side, comparisons: &[ComparisonSummary], measure: &Measure) -> Vec<StudiesRow> {
    let quantity = Quantity::of_measure(measure.clone());
    let row = |cell: &Cell| {
        let label = cell.label();
        let (estimate, geometric_mean) = group_estimate(&baseline.results, cell, measure);
        let of_baseline = InStudy {
            estimate,
            geometric_mean,
            factor: None,
            factor_interval: None,
            p_adjusted: None,
            verdict: None,
        };
        let of_candidate = |comparison: &ComparisonSummary| {
            let pair = comparison.pairs.iter().find(|pair| pair.baseline_label == label)?;
            let shown = |percent: f64| {
                let ratio = 1.0 + percent / 100.0;
                let is_inverted = quantity.is_speed() && measure.is_smaller_better;
                if is_inverted { 1.0 / ratio } else { ratio }
            };
            let ends = pair.difference_percent_interval.map(|range| [shown(range.low), shown(range.high)]);
            Some(InStudy {
                estimate: pair.candidate,
                geometric_mean: pair.candidate_geometric_mean,
                factor: pair.difference_percent.map(shown),
                factor_interval: ends.map(|[one, other]| Range { low: one.min(other), high: one.max(other) }),
                p_adjusted: pair.p_adjusted,
                verdict: pair.verdict,
            })
        };
        let studies =
            std::iter::once(Some(of_baseline)).chain(comparisons.iter().map(of_candidate)).collect();
        StudiesRow { label, studies }
    };
    baseline.results.cells.iter().map(row).collect()
}

/// The best cell of a side among those that are meant, by mean.
fn best<'a>(
    side: &'a Side,
    measure: &Measure,
    is_meant: impl Fn(&Cell) -> bool,
) -> Option<(&'a Cell, Estimate)> {
    let known = side.results.cells.iter().filter(|cell| is_meant(cell));
    let known = known.filter_map(|cell| Some((cell, group_estimate(&side.results, cell, measure).0?)));
    known.reduce(|best, other| if measure.is_better(other.1.mean, best.1.mean) { other } else { best })
}

fn improvement(measure: &Measure, mean: f64, of_baseline: Option<f64>) -> Option<f64> {
    let reference = of_baseline?;
    let factor = if measure.is_smaller_better { reference / mean } else { mean / reference };
    factor.is_finite().then_some(factor)
}

fn best_of_studies(sides: &[&Side], measure: &Measure) -> Vec<BestCase> {
    let of_baseline =
        sides.first().and_then(|side| best(side, measure, |_| true)).map(|(_, estimate)| estimate.mean);
    let of_one = |(study, side): (usize, &&Side)| {
        let (cell, estimate) = best(side, measure, |_| true)?;
        Some(BestCase {
            at: None,
            study,
            label: cell.label(),
            mean: estimate.mean,
            n: estimate.n,
            improvement: if study == 0 { None } else { improvement(measure, estimate.mean, of_baseline) },
        })
    };
    sides.iter().enumerate().filter_map(of_one).collect()
}

fn best_per_level(sides: &[&Side], measure: &Measure) -> Vec<BestCase> {
    let Some(baseline) = sides.first() else { return Vec::new() };
    let factors = &baseline.results.study.factors;
    let levels =
        factors.iter().flat_map(|factor| factor.levels.iter().map(move |level| (&factor.name, level)));
    let of_level = |(name, wanted): (&String, &Level)| {
        let at_level = |side: &Side, cell: &Cell| {
            level(&side.results, cell, name).is_some_and(|level| level.to_string() == wanted.to_string())
        };
        let of_side = |(study, side): (usize, &&Side)| {
            let (cell, estimate) = best(side, measure, |cell| at_level(side, cell))?;
            Some((study, cell.label(), estimate))
        };
        let all: Vec<(usize, String, Estimate)> = sides.iter().enumerate().filter_map(of_side).collect();
        let of_baseline = all.iter().find(|(study, ..)| *study == 0).map(|(.., estimate)| estimate.mean);
        let (study, label, estimate) = all
            .into_iter()
            .reduce(|best, other| if measure.is_better(other.2.mean, best.2.mean) { other } else { best })?;
        Some(BestCase {
            at: Some((name.clone(), wanted.clone())),
            study,
            label,
            mean: estimate.mean,
            n: estimate.n,
            improvement: if study == 0 { None } else { improvement(measure, estimate.mean, of_baseline) },
        })
    };
    levels.filter_map(of_level).collect()
}

/// `3 is better than 1 at 4 of 5 configurations (1.90 to 7.25 times as fast); no difference shown at 1.`
fn sentences(summary: &StudiesSummary) -> Vec<String> {
    let baseline = summary.studies.first().map_or("", |study| study.name.as_str());
    let of_one = |(number, comparison): (usize, &ComparisonSummary)| {
        let name = &comparison.candidate.name;
        if !comparison.other_work.is_empty() {
            let work: Vec<String> = comparison.other_work.iter().map(OtherWork::words).collect();
            return format!("{name}: no verdict, other work than {baseline}: {}.", work.join("; "));
        }
        let of_study: Vec<&InStudy> =
            summary.rows.iter().filter_map(|row| row.studies.get(number)?.as_ref()).collect();
        let with = |verdict: Verdict| {
            of_study.iter().filter(|of| of.verdict == Some(verdict)).copied().collect::<Vec<_>>()
        };
        let part = |verdict: Verdict, words: &str| {
            let of = with(verdict);
            let factors: Vec<f64> = of.iter().filter_map(|of| of.factor).collect();
            let low = factors.iter().copied().fold(f64::INFINITY, f64::min);
            let high = factors.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let unit = if summary.is_speed() { "times as fast" } else { "times the value" };
            let range = match factors.as_slice() {
                [] => String::new(),
                _ if verdict == Verdict::NoDifferenceShown || verdict == Verdict::TooFewRuns => String::new(),
                [only] => format!(" ({} {unit})", factor(*only)),
                _ => format!(" ({} to {} {unit})", factor(low), factor(high)),
            };
            (!of.is_empty())
                .then(|| format!("{words} at {} of {} configurations{range}", of.len(), of_study.len()))
        };
        let parts = [
            part(Verdict::Better, "better"),
            part(Verdict::Worse, "worse"),
            part(Verdict::NoDifferenceShown, "no difference shown"),
            part(Verdict::TooFewRuns, "too few runs"),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        match parts.is_empty() {
            true => format!("{name} against {baseline}: nothing could be compared."),
            false => format!("{name} against {baseline}: {}.", parts.join("; ")),
        }
    };
    let with_risk = |numbered: (usize, &ComparisonSummary)| {
        let has = |verdict: Verdict| numbered.1.pairs.iter().any(|pair| pair.verdict == Some(verdict));
        let risk = safety(numbered.1, has(Verdict::Better), has(Verdict::Worse));
        std::iter::once(of_one(numbered)).chain(risk).collect::<Vec<_>>().join(" ")
    };
    (1..).zip(&summary.comparisons).map(with_risk).collect()
}
