//! The comparisons that the design of a study asks for, judged together.

use results::model::{Cell, Factor, Study};
use results::store::StudyResults;
use serde::Serialize;
use stats::compare::{BlockedValue, Direction};
use stats::design::contrasts::{self, Contrasts, Pair};
use stats::family::{Judged, judge};

use super::cells::{ALPHA, CellSummary, Change, Comparison, Range};
use super::levels::Levels;
use super::looked::Looked;
use crate::quantity::Quantity;

/// Two cells that the design sets against each other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Contrast {
    /// The form of the design that asks for it: `previous`, `pairs(level: read, page)`.
    pub asked: String,
    /// Index into the cells of the one that is compared with.
    pub reference: usize,
    /// Index into the cells of the other.
    pub candidate: usize,
    /// The levels in which the two agree, of factors with more than one level.
    pub common: Levels,
    /// The levels of the reference in which they differ.
    pub of_reference: Levels,
    /// The levels of the candidate there.
    pub of_candidate: Levels,
    /// Candidate against reference, from the geometric means; `None` without runs on both sides.
    pub change: Option<Change>,
    /// The test; `None` where nothing can be compared.
    pub comparison: Option<Comparison>,
    /// Why nothing is compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why_not: Option<String>,
}

/// Sets the cells against each other as the design says, and decides all comparisons together.
///
/// A design without contrasts compares every cell with the first one. Contrasts that cannot be read, of another version,
/// are passed over.
pub(super) fn contrasts(
    results: &StudyResults,
    values: &[Vec<BlockedValue>],
    cells: &[CellSummary],
    quantity: Quantity,
    looked: Option<&Looked>,
) -> Vec<Contrast> {
    let alpha = looked.map_or(ALPHA, |looked| looked.level);
    let asked = asked(&results.study, &results.cells);
    let pairs: Vec<Pair> = asked.iter().map(|(_, pair)| *pair).collect();
    let why_not: Vec<Option<String>> = pairs.iter().map(|pair| why_not(pair, values, quantity)).collect();
    let comparable: Vec<usize> = (0..pairs.len()).filter(|&index| why_not[index].is_none()).collect();
    let of_family: Vec<Pair> = comparable.iter().map(|&index| pairs[index]).collect();
    let judged = judge(values, &of_family, quantity.direction(), alpha, results.study.seed);
    let mut comparisons: Vec<Option<Comparison>> = vec![None; pairs.len()];
    for (index, judged) in comparable.iter().copied().zip(judged.unwrap_or_default()) {
        let within = looked.and_then(|looked| looked.within(&judged, comparable.len()));
        comparisons[index] = Some(Comparison { within, ..view(&judged, quantity) });
    }
    let varied: Vec<&str> = results
        .study
        .factors
        .iter()
        .filter(|factor| factor.levels.len() > 1)
        .map(|factor| factor.name.as_str())
        .collect();
    let contrast = |(((asked, pair), comparison), why_not): (((String, Pair), _), _)| {
        let [reference, candidate] = [pair.reference, pair.candidate].map(|index| &results.cells[index]);
        let both = || reference.levels.iter().zip(&candidate.levels);
        let levels = |is_kept: &dyn Fn(bool) -> bool, of_candidate: bool| {
            let kept = both().filter(|(left, right)| is_kept(left.1 == right.1));
            let kept = kept.filter(|(left, right)| left.1 != right.1 || varied.contains(&left.0.as_str()));
            Levels(kept.map(|(left, right)| if of_candidate { right } else { left }.clone()).collect())
        };
        Contrast {
            asked,
            reference: pair.reference,
            candidate: pair.candidate,
            common: levels(&|is_equal| is_equal, false),
            of_reference: levels(&|is_equal| !is_equal, false),
            of_candidate: levels(&|is_equal| !is_equal, true),
            change: Change::of(
                cells[pair.candidate].geometric_mean,
                cells[pair.reference].geometric_mean,
                quantity,
            ),
            comparison,
            why_not,
        }
    };
    asked.into_iter().zip(comparisons).zip(why_not).map(contrast).collect()
}

/// The pairs of the design, each with the contrast that asks for it.
fn asked(study: &Study, cells: &[Cell]) -> Vec<(String, Pair)> {
    let factor = |factor: &Factor| contrasts::Factor {
        name: factor.name.clone(),
        levels: factor.levels.iter().map(ToString::to_string).collect(),
    };
    let factors: Vec<contrasts::Factor> = study.factors.iter().map(factor).collect();
    let levels = |cell: &Cell| cell.levels.iter().map(|(_, level)| level.to_string()).collect();
    let levels: Vec<Vec<String>> = cells.iter().map(levels).collect();
    let against: Vec<Contrasts> = study.design.against.iter().filter_map(|text| text.parse().ok()).collect();
    let asked = contrasts::asked(&factors, &levels, &against);
    asked.into_iter().map(|(contrast, pair)| (contrast.to_string(), pair)).collect()
}

/// Why no ratio of the two exists; `None` when one does.
fn why_not(pair: &Pair, values: &[Vec<BlockedValue>], quantity: Quantity) -> Option<String> {
    let of_side = |index: usize, side: &str| {
        if values[index].is_empty() {
            return Some(format!("no counting run of the {side} has {}", quantity.name()));
        }
        let zero = values[index].iter().find(|value| value.value <= 0.0 || !value.value.is_finite());
        zero.map(|value| {
            format!("a run of the {side} has {} {}, of which no ratio exists", quantity.name(), value.value)
        })
    };
    of_side(pair.reference, "reference").or_else(|| of_side(pair.candidate, "other side"))
}

fn view(judged: &Judged, quantity: Quantity) -> Comparison {
    // The ratio is candidate over reference: of times it is the inverse of the speed-up, of rates the speed-up itself.
    let inverted = |range: Range| Range { low: 1.0 / range.high, high: 1.0 / range.low };
    let Judged { comparison, decision } = judged;
    let interval = decision.ratio_interval.map(Range::from);
    let (speed_up, speed_up_interval) = match quantity.direction() {
        Direction::SmallerIsBetter => (comparison.ratio.map(f64::recip), interval.map(inverted)),
        Direction::LargerIsBetter => (comparison.ratio, interval),
    };
    Comparison {
        n_reference: comparison.n_reference,
        n_candidate: comparison.n_candidate,
        speed_up,
        speed_up_interval,
        p_value: comparison.p_value,
        p_adjusted: decision.p_adjusted,
        verdict: decision.verdict.into(),
        within: None,
    }
}
