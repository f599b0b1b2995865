//! Whether a row had reached a steady state, and from when on.
//!
//! The rule is that of the SNIA Solid State Storage Performance Test Specification 2.0.1, section 2.1.24 ("steady
//! state"): over five rounds the highest and the lowest differ by at most 20 % of the mean, and the best straight
//! line changes by at most 10 % of it. There a round is a minute; here it is a fifth of what is looked at.

use serde::{Deserialize, Serialize};

/// The number of rounds.
const ROUNDS: usize = 5;

/// The largest difference between two rounds, as a share of the mean.
const RANGE_MAX: f64 = 0.20;

/// The largest change along the best straight line, as a share of the mean.
const DRIFT_MAX: f64 = 0.10;

/// What the rule says about a row.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Steadiness {
    /// Whether both limits hold.
    pub is_steady: bool,
    /// The difference of the highest and the lowest round, in percent of the mean.
    pub range_percent: f64,
    /// The change along the best straight line from the first round to the last, in percent of the mean, upward
    /// positive.
    pub drift_percent: f64,
}

/// Finds the first of `counts` (transfers by window of time, in order) from which on the row is steady, leaving out
/// at most half. Without any, 0 and what the rule says about all.
pub(super) fn steady_from(counts: &[u64]) -> (usize, Steadiness) {
    let whole = judge(counts);
    let later = (0..=counts.len() / 2).map(|first| (first, judge(&counts[first..])));
    later.into_iter().find(|(_, steadiness)| steadiness.is_steady).unwrap_or((0, whole))
}

fn judge(counts: &[u64]) -> Steadiness {
    let rounds: Vec<f64> = (0..ROUNDS).filter_map(|round| mean(round_of(counts, round))).collect();
    let mean = rounds.iter().sum::<f64>() / rounds.len() as f64;
    if rounds.len() < ROUNDS || mean <= 0.0 {
        return Steadiness { is_steady: false, range_percent: 100.0, drift_percent: 0.0 };
    }
    let highest = rounds.iter().fold(0.0, |highest: f64, &round| highest.max(round));
    let lowest = rounds.iter().fold(f64::MAX, |lowest: f64, &round| lowest.min(round));
    let range = (highest - lowest) / mean;
    let drift = slope(&rounds) * (ROUNDS - 1) as f64 / mean;
    Steadiness {
        is_steady: range <= RANGE_MAX && drift.abs() <= DRIFT_MAX,
        range_percent: range * 100.0,
        drift_percent: drift * 100.0,
    }
}

/// The windows of one round; all rounds together are all windows.
fn round_of(counts: &[u64], round: usize) -> &[u64] {
    &counts[counts.len() * round / ROUNDS..counts.len() * (round + 1) / ROUNDS]
}

fn mean(counts: &[u64]) -> Option<f64> {
    (!counts.is_empty()).then(|| counts.iter().sum::<u64>() as f64 / counts.len() as f64)
}

/// The slope of the line of least squares through values at 0, 1, 2...
fn slope(values: &[f64]) -> f64 {
    let middle = (values.len() - 1) as f64 / 2.0;
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let offsets = (0..values.len()).map(|index| index as f64 - middle);
    let (mut products, mut squares) = (0.0, 0.0);
    for (offset, value) in offsets.zip(values) {
        products += offset * (value - mean);
        squares += offset * offset;
    }
    products / squares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_even_row_is_steady_from_the_start() {
        let (first, steadiness) = steady_from(&[100, 101, 99, 100, 102, 98, 100, 100, 101, 99]);
        assert!(first == 0 && steadiness.is_steady);
        assert!(steadiness.range_percent < 3.0 && steadiness.drift_percent.abs() < 2.0);
    }

    #[test]
    fn a_slow_or_a_fast_start_is_left_out() {
        for start in [10, 900] {
            let mut counts = vec![start; 5];
            counts.extend([100; 15]);
            let (first, steadiness) = steady_from(&counts);
            assert!((4..=5).contains(&first) && steadiness.is_steady, "{first}");
        }
    }

    #[test]
    fn a_row_that_climbs_or_falls_all_the_time_is_never_steady() {
        for counts in
            [(1..=20).map(|n| n * 10).collect::<Vec<u64>>(), (1..=20).rev().map(|n| n * 10).collect()]
        {
            let (first, steadiness) = steady_from(&counts);
            assert!(first == 0 && !steadiness.is_steady);
            assert!(steadiness.drift_percent.abs() > 100.0);
        }
    }

    #[test]
    fn a_drift_within_the_range_still_counts() {
        // Rounds 94 to 106: range 12 %, drift 12 %.
        let (_, steadiness) = steady_from(&[94, 97, 100, 103, 106]);
        assert!(!steadiness.is_steady);
        assert!((steadiness.drift_percent - 12.0).abs() < 1e-9);
    }

    #[test]
    fn too_few_windows_and_no_transfers_are_not_steady() {
        for counts in [&[][..], &[5], &[5, 5, 5, 5], &[0; 20]] {
            assert!(!steady_from(counts).1.is_steady);
        }
    }
}
