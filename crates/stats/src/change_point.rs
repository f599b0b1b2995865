//! Where a sequence of values changed for good: change points of one figure over many studies.
//!
//! The method is E-divisive (Matteson and James, "A nonparametric approach for multiple change point analysis of
//! multivariate data", JASA 109:505, 2014): the split with the largest energy distance between its two sides is tested
//! by shuffling the order of the values, and each side of a split that was shown is searched in the same way. It
//! assumes nothing about the distribution, and that without a change the order of the values says nothing.

use crate::input::{InputError, require_positive};
use crate::random::{Random, derive_seed};

/// Fewest values on each side of a change point: one value that stands out is no change that lasts.
pub const SIDE_MIN: usize = 2;

/// Fewest values with which a change can be shown at the level 0.05: of the 40,320 orders of 8 values 1,152 are as far
/// apart as the farthest (0.029); of those of 7 values 0.057.
pub const VALUES_MIN: usize = 8;

/// Most values that are searched; the cost grows with the square.
pub const VALUES_MAX: usize = 1000;

/// Values up to this many are shuffled in every possible order.
const ENUMERATED_MAX: usize = 8;

/// Orders drawn for more values; the smallest p is then 1 / 1,000.
const DRAWS: u32 = 999;

/// One change that was shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangePoint {
    /// Index of the first value after the change; at least [`SIDE_MIN`].
    pub index: usize,
    /// Geometric mean of the stretch after the change over that of the stretch before it, stretches ending at the
    /// neighbouring change points.
    pub ratio: f64,
    /// The share of orders whose best split is as far apart as this one.
    pub p_value: f64,
}

/// Finds the changes in a sequence of values in the order of time, ascending by index.
///
/// Works on logarithms, so that a change of 10 % weighs the same at any size. `alpha` is the level of each test; below
/// [`VALUES_MIN`] values (in a stretch between two changes: as well) nothing can be shown at 0.05. The result depends
/// on the values, `alpha` and `seed` alone. Costs up to a second at [`VALUES_MAX`] values.
///
/// # Errors
/// A value is not finite or not above zero; `alpha` is not between 0 and 1; more than [`VALUES_MAX`] values.
pub fn change_points(values: &[f64], alpha: f64, seed: u64) -> Result<Vec<ChangePoint>, InputError> {
    require_positive(values)?;
    if !(alpha > 0.0 && alpha < 1.0) {
        return Err(InputError::NotAProbability(alpha));
    }
    if values.len() > VALUES_MAX {
        return Err(InputError::TooMany { count: values.len(), max: VALUES_MAX });
    }
    let logarithms: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    let mut found: Vec<(usize, f64)> = Vec::new();
    // Every stretch that is split gives two shorter ones, so there are fewer rounds than values.
    let mut waiting = vec![(0, logarithms.len())];
    while let Some((start, end)) = waiting.pop() {
        let seed = derive_seed(seed, &[start as u64, end as u64]);
        let Some((split, p_value)) = best_split(&logarithms[start..end], seed) else { continue };
        if p_value <= alpha {
            found.push((start + split, p_value));
            waiting.push((start, start + split));
            waiting.push((start + split, end));
        }
    }
    found.sort_unstable_by_key(|(index, _)| *index);
    let borders: Vec<usize> =
        [0].into_iter().chain(found.iter().map(|(index, _)| *index)).chain([logarithms.len()]).collect();
    let mean = |start: usize, end: usize| crate::summary::mean(&logarithms[start..end]);
    let point = |(place, (index, p_value)): (usize, &(usize, f64))| ChangePoint {
        index: *index,
        ratio: (mean(*index, borders[place + 2]) - mean(borders[place], *index)).exp(),
        p_value: *p_value,
    };
    Ok(found.iter().enumerate().map(point).collect())
}

/// The split whose sides are farthest apart, and the share of orders that have one as far; `None` with too few values
/// or when all are equal.
fn best_split(values: &[f64], seed: u64) -> Option<(usize, f64)> {
    if values.len() < 2 * SIDE_MIN || values.iter().all(|value| *value == values[0]) {
        return None;
    }
    let mut order = values.to_vec();
    let (split, observed) = farthest(&order);
    // Orders that tie with the observed one may differ from it by rounding; they count as at least as far.
    let threshold = observed * (1.0 - 1e-9);
    let p_value = if order.len() <= ENUMERATED_MAX {
        let (as_far, all) = enumerate(&mut order, threshold);
        f64::from(as_far) / f64::from(all)
    } else {
        let mut random = Random::new(seed);
        let mut as_far = 0;
        for _ in 0..DRAWS {
            random.shuffle(&mut order);
            as_far += u32::from(farthest(&order).1 >= threshold);
        }
        f64::from(1 + as_far) / f64::from(1 + DRAWS)
    };
    Some((split, p_value))
}

/// Counts the orders as far apart as `threshold`, and all orders: Heap's algorithm, at most 8! = 40,320 of them.
fn enumerate(order: &mut [f64], threshold: f64) -> (u32, u32) {
    let mut counters = vec![0; order.len()];
    let mut as_far = u32::from(farthest(order).1 >= threshold);
    let mut all = 1;
    let mut place = 1;
    while place < order.len() {
        if counters[place] < place {
            order.swap(if place.is_multiple_of(2) { 0 } else { counters[place] }, place);
            as_far += u32::from(farthest(order).1 >= threshold);
            all += 1;
            counters[place] += 1;
            place = 1;
        } else {
            counters[place] = 0;
            place += 1;
        }
    }
    (as_far, all)
}

/// The split with the largest scaled energy distance between its sides, with that distance. The first of equals.
///
/// For sides of `m` and `n` values: `m n / (m + n)` times twice the mean distance between the sides less the mean
/// distances within each. Sums of distances are carried from split to split, so all splits cost one pass over the pairs.
fn farthest(values: &[f64]) -> (usize, f64) {
    let count = values.len();
    let to_all = |index: usize, range: std::ops::Range<usize>| -> f64 {
        values[range].iter().map(|value| (value - values[index]).abs()).sum()
    };
    let mut within_right: f64 = (0..count).map(|index| to_all(index, index + 1..count)).sum();
    let (mut within_left, mut between) = (0.0, 0.0);
    let mut best = (SIDE_MIN, f64::NEG_INFINITY);
    for moved in 0..count {
        let (left, right) = (to_all(moved, 0..moved), to_all(moved, moved + 1..count));
        within_left += left;
        within_right -= right;
        between += right - left;
        let (m, n) = ((moved + 1) as f64, (count - moved - 1) as f64);
        if moved + 1 < SIDE_MIN || count - moved - 1 < SIDE_MIN {
            continue;
        }
        let mean_within = |sum: f64, size: f64| 2.0 * sum / (size * (size - 1.0));
        let distance = 2.0 * between / (m * n) - mean_within(within_left, m) - mean_within(within_right, n);
        let scaled = m * n / (m + n) * distance;
        if scaled > best.1 {
            best = (moved + 1, scaled);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn noisy(level: f64, count: usize, random: &mut Random) -> Vec<f64> {
        (0..count).map(|_| level * (0.02 * random.normal_pair().0).exp()).collect()
    }

    #[test]
    fn the_energy_distance_is_that_worked_out_by_hand() {
        // 0 0 | 3 3: between 3, within 0; 2*2/4 * 2*3 = 6.
        assert_eq!(farthest(&[0.0, 0.0, 3.0, 3.0]), (2, 6.0));
        // 0 1 | 4 6: between (4+6+3+5)/4 = 4.5, within 1 and 2; 1 * (9 - 1 - 2) = 6.
        assert_eq!(farthest(&[0.0, 1.0, 4.0, 6.0]), (2, 6.0));
    }

    #[test]
    fn eight_values_in_two_levels_reach_the_share_worked_out_by_hand() {
        let values = [1.0, 1.001, 1.002, 1.003, 2.0, 2.001, 2.002, 2.003];
        let points = change_points(&values, 0.05, 1).unwrap();
        assert_eq!(points.len(), 1);
        assert_eq!(points[0].index, 4);
        // 2 * 4! * 4! of 8! orders.
        assert!((points[0].p_value - 1152.0 / 40320.0).abs() < 1e-12, "{points:?}");
        assert!((points[0].ratio - 1.9985).abs() < 1e-4);
        assert!(change_points(&values[1..], 0.05, 1).unwrap().is_empty(), "seven values are too few");
    }

    #[test]
    fn two_changes_are_found_where_they_are_with_the_ratio_of_the_neighbouring_stretches() {
        let mut random = Random::new(8);
        let mut values = noisy(10.0, 12, &mut random);
        values.extend(noisy(13.0, 10, &mut random));
        values.extend(noisy(11.0, 15, &mut random));
        let points = change_points(&values, 0.01, 7).unwrap();
        assert_eq!(points.iter().map(|point| point.index).collect::<Vec<_>>(), [12, 22]);
        assert!((points[0].ratio - 1.3).abs() < 0.03 && (points[1].ratio - 11.0 / 13.0).abs() < 0.03);
        assert_eq!(points, change_points(&values, 0.01, 7).unwrap(), "the same seed, the same result");
    }

    #[test]
    fn one_value_that_stands_out_is_no_change() {
        let mut random = Random::new(6);
        let mut values = noisy(10.0, 20, &mut random);
        values[9] = 25.0;
        assert!(change_points(&values, 0.05, 1).unwrap().is_empty());
        assert!(change_points(&[4.0; 20], 0.05, 1).unwrap().is_empty());
        assert!(change_points(&[], 0.05, 1).unwrap().is_empty());
    }

    #[test]
    fn noise_alone_is_called_a_change_about_five_times_in_a_hundred() {
        let mut random = Random::new(11);
        let mut alarms = 0;
        for seed in 0..200 {
            alarms += u32::from(!change_points(&noisy(3.0, 12, &mut random), 0.05, seed).unwrap().is_empty());
        }
        // Binomial(200, 0.05): mean 10, sd 3.1.
        assert!((2..=20).contains(&alarms), "{alarms} of 200");
    }

    #[test]
    fn what_is_no_time_is_refused() {
        assert!(change_points(&[1.0, 0.0], 0.05, 1).is_err());
        assert!(change_points(&[1.0], 1.0, 1).is_err());
        assert!(change_points(&vec![1.0; VALUES_MAX + 1], 0.05, 1).is_err());
    }
}
