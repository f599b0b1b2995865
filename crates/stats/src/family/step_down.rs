//! The step-down maximum of Student's t when the labels of all cells are dealt anew together.
//!
//! A set of hypotheses "these pairs do not differ" makes groups of cells that are all alike. Under it the values of a
//! group may be exchanged, within their block or, with few blocks, among all runs. The largest t of the set under such
//! exchanges is what the observed one is compared with; after a rejection the rest is tested without the cells that are
//! no longer in it.

use std::collections::BTreeMap;

use crate::compare::{BlockedValue, Method};
use crate::design::contrasts::Pair;
use crate::random::Random;

/// The most joint permutations that are drawn for a step.
const DRAWS_MAX: usize = 9_999;

/// The fewest; the smallest adjusted p is then 1 / 2,000.
const DRAWS_MIN: usize = 1_999;

/// Draws after which a step ends when its p is far above the level.
const DRAWS_FIRST: usize = 999;

/// Draws times level: at the level itself the standard error of p is then a sixteenth of it.
const DRAWS_FOR_LEVEL: f64 = 250.0;

/// Values that are visited over all draws of a step, roughly: more pairs get fewer draws.
const WORK_MAX: usize = 4_000_000;

/// The logarithms of all runs in the places where they may be exchanged.
pub(super) struct Dealt {
    cell_count: usize,
    /// One per block, or one for all runs.
    strata: Vec<Vec<Run>>,
    method: Method,
}

#[derive(Clone, Copy)]
struct Run {
    cell: usize,
    value: f64,
}

impl Dealt {
    /// Takes the runs of the cells that some pair names; all values are above zero.
    pub(super) fn of(cells: &[Vec<BlockedValue>], pairs: &[Pair], method: Method) -> Self {
        let mut strata = BTreeMap::<u32, Vec<Run>>::new();
        let is_named =
            |cell: usize| pairs.iter().any(|pair| pair.reference == cell || pair.candidate == cell);
        for (cell, runs) in cells.iter().enumerate().filter(|(cell, _)| is_named(*cell)) {
            for run in runs {
                let stratum = if method == Method::WithinBlocks { run.block } else { 0 };
                strata.entry(stratum).or_default().push(Run { cell, value: run.value.ln() });
            }
        }
        let mut strata: Vec<Vec<Run>> = strata.into_values().collect();
        for stratum in &mut strata {
            // The order in which runs came in plays no part in the draws.
            stratum
                .sort_by(|left, right| left.cell.cmp(&right.cell).then(left.value.total_cmp(&right.value)));
        }
        Self { cell_count: cells.len(), strata, method }
    }

    /// The absolute t of a pair; very large where there is a difference and no spread.
    fn statistic(&self, pair: Pair, table: &Table) -> f64 {
        let (difference, squared_error) = match self.method {
            Method::AllRuns => (
                table.means[pair.candidate] - table.means[pair.reference],
                table.errors[pair.reference] + table.errors[pair.candidate],
            ),
            Method::WithinBlocks => {
                let (mut count, mut sum, mut squares) = (0.0, 0.0, 0.0);
                for means in table.means.chunks_exact(self.cell_count) {
                    let difference = means[pair.candidate] - means[pair.reference];
                    // Not a number where the block lacks one of the two.
                    if !difference.is_nan() {
                        count += 1.0;
                        sum += difference;
                        squares += difference * difference;
                    }
                }
                (sum / count, (squares - sum * sum / count) / (count - 1.0) / count)
            }
        };
        // Rounding leaves a trace of spread and of difference where there is none.
        let (difference, error) = (difference.abs(), squared_error.max(0.0).sqrt());
        if difference < 1e-12 { 0.0 } else { difference / error.max(1e-13) }
    }
}

/// What the values come to for each cell in each stratum; not a number where it has no run there.
struct Table {
    /// One over the number of runs.
    shares: Vec<f64>,
    means: Vec<f64>,
    /// The squared standard errors of the means.
    errors: Vec<f64>,
}

impl Table {
    fn of(dealt: &Dealt, values: &[Vec<f64>]) -> Self {
        let size = dealt.cell_count * dealt.strata.len();
        let mut counts = vec![0.0; size];
        for (stratum, runs) in dealt.strata.iter().enumerate() {
            runs.iter().for_each(|run| counts[stratum * dealt.cell_count + run.cell] += 1.0);
        }
        let shares = counts.iter().map(|count: &f64| count.recip()).collect();
        let mut table = Self { shares, means: vec![0.0; size], errors: vec![0.0; size] };
        table.fill(dealt, values);
        table
    }

    fn fill(&mut self, dealt: &Dealt, values: &[Vec<f64>]) {
        self.means.fill(0.0);
        self.errors.fill(0.0);
        for (stratum, (runs, values)) in dealt.strata.iter().zip(values).enumerate() {
            for (run, &value) in runs.iter().zip(values) {
                let place = stratum * dealt.cell_count + run.cell;
                self.means[place] += value;
                self.errors[place] += value * value;
            }
        }
        for ((mean, error), share) in self.means.iter_mut().zip(&mut self.errors).zip(&self.shares) {
            *mean *= share;
            // Sum of squares over n, minus the squared mean, over n - 1.
            *error = (*error * share - *mean * *mean) * share / (1.0 - share);
        }
    }
}

/// The adjusted p of each pair: at least its own `p_pairs`, and never below that of a pair with a larger t.
///
/// Permutations are drawn anew for the pairs that are left whenever a rejection takes a cell out, as long as rejections
/// at `alpha` are possible; (1 + as large) / (1 + drawn) after Phipson and Smyth (2010).
pub(super) fn step_down_p(dealt: &Dealt, pairs: &[Pair], p_pairs: &[f64], alpha: f64, seed: u64) -> Vec<f64> {
    let mut random = Random::new(seed);
    let centred = centred(dealt);
    let observed = Table::of(dealt, &centred);
    let statistics: Vec<f64> = pairs.iter().map(|&pair| dealt.statistic(pair, &observed)).collect();
    let mut order: Vec<usize> = (0..pairs.len()).collect();
    order.sort_by(|&left, &right| statistics[right].total_cmp(&statistics[left]));
    let mut adjusted = vec![1.0; pairs.len()];
    let mut largest = 0.0_f64;
    let (mut drawn_groups, mut drawn): (Vec<usize>, Vec<f64>) = (Vec::new(), Vec::new());
    for (rank, &index) in order.iter().enumerate() {
        let left = &order[rank..];
        if left.len() == 1 {
            // One pair is left: its own test is exact.
            largest = largest.max(p_pairs[index]);
        } else {
            let groups = groups(dealt.cell_count, left.iter().map(|&index| pairs[index]));
            let ranked = |left: &[usize]| -> Vec<(Pair, f64)> {
                left.iter().map(|&index| (pairs[index], statistics[index])).collect()
            };
            if drawn.is_empty() || (groups != drawn_groups && largest <= alpha) {
                drawn = vec![1.0; rank];
                drawn.extend(drawn_p(dealt, &centred, &groups, &ranked(left), alpha, &mut random));
                drawn_groups = groups;
            }
            largest = largest.max(drawn[rank]).max(p_pairs[index]);
        }
        adjusted[index] = largest.min(1.0);
    }
    adjusted
}

/// The values of each stratum around the stratum's mean, in the order of `strata`: squares stay small.
fn centred(dealt: &Dealt) -> Vec<Vec<f64>> {
    let of_stratum = |stratum: &Vec<Run>| {
        let values: Vec<f64> = stratum.iter().map(|run| run.value).collect();
        let mean = crate::summary::mean(&values);
        values.iter().map(|value| value - mean).collect()
    };
    dealt.strata.iter().map(of_stratum).collect()
}

/// The group of each cell: the smallest cell that pairs connect it with; itself when no pair names it.
fn groups(cell_count: usize, pairs: impl Iterator<Item = Pair>) -> Vec<usize> {
    let mut groups: Vec<usize> = (0..cell_count).collect();
    for pair in pairs {
        let (one, other) = (groups[pair.reference], groups[pair.candidate]);
        let (keep, replace) = (one.min(other), one.max(other));
        groups.iter_mut().filter(|group| **group == replace).for_each(|group| *group = keep);
    }
    groups
}

/// For each of the pairs that are left, with its observed t, the largest first: the share of draws whose largest t among it and the later ones
/// is at least its own.
fn drawn_p(
    dealt: &Dealt,
    centred: &[Vec<f64>],
    groups: &[usize],
    left: &[(Pair, f64)],
    alpha: f64,
    random: &mut Random,
) -> Vec<f64> {
    let places = places(dealt, groups);
    let run_count: usize = dealt.strata.iter().map(Vec::len).sum();
    let work = run_count + left.len() * dealt.strata.len();
    let draws_max =
        ((DRAWS_FOR_LEVEL / alpha) as usize).min(WORK_MAX / work.max(1)).clamp(DRAWS_MIN, DRAWS_MAX);
    let mut values = centred.to_vec();
    let mut table = Table::of(dealt, &values);
    let mut as_large = vec![0_u32; left.len()];
    let mut draws = 0;
    // Where the largest t is far from a rejection, a p of few digits will do.
    while draws < draws_max
        && !(draws == DRAWS_FIRST && share_of(as_large[0], draws) > (4.0 * alpha).max(0.2))
    {
        draws += 1;
        for (stratum, places) in &places {
            let values = &mut values[*stratum];
            for remaining in (2..=places.len()).rev() {
                let chosen = random.below(remaining as u64) as usize;
                values.swap(places[remaining - 1], places[chosen]);
            }
        }
        table.fill(dealt, &values);
        let mut largest = 0.0_f64;
        for (count, &(pair, observed)) in as_large.iter_mut().zip(left).rev() {
            largest = largest.max(dealt.statistic(pair, &table));
            // Arrangements that tie with the observed one may differ from it by rounding.
            *count += u32::from(largest >= observed * (1.0 - 1e-9));
        }
    }
    as_large.iter().map(|&count| share_of(count, draws)).collect()
}

/// The p value of so many draws that are as large; never 0.
fn share_of(count: u32, draws: usize) -> f64 {
    (1.0 + f64::from(count)) / (1.0 + draws as f64)
}

/// The places of each stratum that exchange their values: those of cells of one group, where there are two or more.
fn places(dealt: &Dealt, groups: &[usize]) -> Vec<(usize, Vec<usize>)> {
    let mut all = Vec::new();
    for (stratum, runs) in dealt.strata.iter().enumerate() {
        let mut of_group = BTreeMap::<usize, Vec<usize>>::new();
        for (place, run) in runs.iter().enumerate() {
            of_group.entry(groups[run.cell]).or_default().push(place);
        }
        all.extend(of_group.into_values().filter(|places| places.len() > 1).map(|places| (stratum, places)));
    }
    all
}
