//! The permutation test: how often would chance alone, dealing the labels anew, set two groups this far apart?
//!
//! The statistic is the sum of the candidate's values after each stratum was centred on its mean; for one stratum it
//! orders the arrangements as the difference of the means does. All arrangements are enumerated while they are few,
//! otherwise drawn (Phipson and Smyth, "Permutation p-values should never be zero", 2010, for the +1).

use crate::random::Random;

/// The most arrangements that are enumerated: 10 against 10 runs are 184,756.
pub(crate) const ENUMERATED_MAX: f64 = 200_000.0;

/// The arrangements drawn when there are too many to enumerate; the smallest p is then 1 / 100,000.
pub(crate) const DRAWS: u32 = 99_999;

/// Values among which labels may be exchanged: all runs, or those of one block.
#[derive(Clone, Debug)]
pub(crate) struct Stratum {
    /// The candidate's values first, then the reference's; centred on their common mean.
    centred: Vec<f64>,
    candidate_count: usize,
}

impl Stratum {
    /// Pools two groups, neither empty. The order within a group plays no part in the result.
    pub(crate) fn new(reference: &[f64], candidate: &[f64]) -> Self {
        let mut candidate = candidate.to_vec();
        let mut reference = reference.to_vec();
        candidate.sort_unstable_by(f64::total_cmp);
        reference.sort_unstable_by(f64::total_cmp);
        let candidate_count = candidate.len();
        let mut centred = candidate;
        centred.append(&mut reference);
        let mean = crate::summary::mean(&centred);
        centred.iter_mut().for_each(|value| *value -= mean);
        Self { centred, candidate_count }
    }

    fn arrangement_count(&self) -> f64 {
        arrangement_count(self.centred.len() - self.candidate_count, self.candidate_count)
    }

    /// The statistic of each way to choose the candidate's values.
    fn sums(&self) -> Vec<f64> {
        let (n, chosen_count) = (self.centred.len(), self.candidate_count);
        let mut chosen: Vec<usize> = (0..chosen_count).collect();
        let mut sums = Vec::new();
        loop {
            sums.push(chosen.iter().map(|&index| self.centred[index]).sum());
            // The next combination in lexicographic order: raise the last index that can still go up.
            let Some(raised) =
                (0..chosen_count).rev().find(|&place| chosen[place] < n - chosen_count + place)
            else {
                return sums;
            };
            chosen[raised] += 1;
            for place in raised + 1..chosen_count {
                chosen[place] = chosen[place - 1] + 1;
            }
        }
    }

    fn observed(&self) -> f64 {
        self.centred[..self.candidate_count].iter().sum()
    }
}

/// The ways to deal the labels to `reference_count + candidate_count` values; exact up to 2^53, infinite when beyond
/// the range of the type.
pub(crate) fn arrangement_count(reference_count: usize, candidate_count: usize) -> f64 {
    let fewer = reference_count.min(candidate_count);
    let total = reference_count + candidate_count;
    (1..=fewer).fold(1.0, |count: f64, step| (count * (total - fewer + step) as f64 / step as f64).round())
}

/// The smallest p that a two-sided test can give when it deals labels within groups of these sizes
/// (reference, candidate).
///
/// With equal halves each arrangement has a mirror image that is as far out, so the smallest p is two arrangements.
pub(crate) fn attainable_p_min(sizes: &[(usize, usize)]) -> f64 {
    let arrangements: f64 = sizes.iter().map(|&(left, right)| arrangement_count(left, right)).product();
    let is_mirrored = sizes.iter().all(|&(left, right)| left == right);
    let exact = (if is_mirrored { 2.0 } else { 1.0 } / arrangements).min(1.0);
    if arrangements <= ENUMERATED_MAX { exact } else { exact.max(1.0 / f64::from(DRAWS + 1)) }
}

/// The two-sided p value: the share of arrangements at least as far from zero as the observed one.
///
/// Exact up to [`ENUMERATED_MAX`] arrangements; beyond that an estimate from [`DRAWS`] arrangements that never errs
/// towards small p, with a standard error of at most 0.0016.
pub(crate) fn two_sided_p(strata: &[Stratum], seed: u64) -> f64 {
    let observed: f64 = strata.iter().map(Stratum::observed).sum();
    // Arrangements that tie with the observed one may differ from it by rounding; they count as at least as far.
    let magnitude: f64 = strata.iter().flat_map(|stratum| &stratum.centred).map(|value| value.abs()).sum();
    let threshold = observed.abs() - 1e-10 * magnitude;
    let arrangements: f64 = strata.iter().map(Stratum::arrangement_count).product();
    if arrangements <= ENUMERATED_MAX {
        let sums = strata.iter().fold(vec![0.0], |so_far: Vec<f64>, stratum| {
            let own = stratum.sums();
            so_far.iter().flat_map(|left| own.iter().map(move |right| left + right)).collect()
        });
        let as_far = sums.iter().filter(|sum| sum.abs() >= threshold).count();
        as_far as f64 / sums.len() as f64
    } else {
        (1.0 + f64::from(count_as_far(strata.to_vec(), threshold, seed))) / f64::from(DRAWS + 1)
    }
}

fn count_as_far(mut strata: Vec<Stratum>, threshold: f64, seed: u64) -> u32 {
    let mut random = Random::new(seed);
    let mut as_far = 0;
    for _ in 0..DRAWS {
        let mut sum = 0.0;
        for stratum in &mut strata {
            sum += draw_sum(stratum, &mut random);
        }
        as_far += u32::from(sum.abs() >= threshold);
    }
    as_far
}

/// Deals the candidate's share of a stratum anew and sums it: the first steps of a shuffle are enough.
fn draw_sum(stratum: &mut Stratum, random: &mut Random) -> f64 {
    let n = stratum.centred.len();
    let mut sum = 0.0;
    for place in 0..stratum.candidate_count {
        let chosen = place + random.below((n - place) as u64) as usize;
        stratum.centred.swap(place, chosen);
        sum += stratum.centred[place];
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain_p(reference: &[f64], candidate: &[f64]) -> f64 {
        two_sided_p(&[Stratum::new(reference, candidate)], 1)
    }

    #[test]
    fn three_against_three_apart_is_two_in_twenty() {
        assert_eq!(plain_p(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]), 0.1);
        assert_eq!(attainable_p_min(&[(3, 3)]), 0.1);
    }

    #[test]
    fn an_overlap_worked_out_by_hand_counts_the_ties() {
        // 1 2 4 against 3 5 6, centred on 3.5: the observed sum of 14 is 3.5 above its expectation of 10.5. Sums of
        // three of 1..6 that are >= 14: 6+5+4, 6+5+3; with the mirror images 4 of 20.
        assert_eq!(plain_p(&[1.0, 2.0, 4.0], &[3.0, 5.0, 6.0]), 0.2);
        assert_eq!(plain_p(&[2.0, 2.0], &[2.0, 2.0]), 1.0);
    }

    #[test]
    fn unequal_groups_have_no_mirror_image() {
        // The lone candidate is 6 away from the mean of 2, the others at most 2: one of four arrangements.
        assert_eq!(plain_p(&[0.0, 0.0, 0.0], &[8.0]), 0.25);
        assert_eq!(attainable_p_min(&[(3, 1)]), 0.25);
    }

    #[test]
    fn pairs_are_flipped_within_their_block_only() {
        // Four blocks, the candidate higher in each: of 16 sign patterns only all-up and all-down are as far.
        let strata: Vec<Stratum> = [(1.0, 1.5), (20.0, 20.4), (7.0, 7.9), (3.0, 3.1)]
            .iter()
            .map(|&(a, b)| Stratum::new(&[a], &[b]))
            .collect();
        assert_eq!(two_sided_p(&strata, 1), 0.125);
        assert_eq!(attainable_p_min(&[(1, 1); 4]), 0.125);
    }

    #[test]
    fn counts_of_arrangements_are_exact_and_saturate() {
        assert_eq!(arrangement_count(10, 10), 184_756.0);
        assert_eq!(arrangement_count(0, 7), 1.0);
        assert_eq!(arrangement_count(25, 25), 126_410_606_437_752.0);
        assert!(arrangement_count(2000, 2000).is_infinite());
        assert_eq!(attainable_p_min(&[(2000, 2000)]), 1e-5);
    }

    #[test]
    fn drawn_arrangements_agree_with_the_enumerated_ones() {
        let mut random = Random::new(8);
        for shift in [0.0, 0.5, 1.0] {
            let reference: Vec<f64> = (0..9).map(|_| random.normal_pair().0).collect();
            let candidate: Vec<f64> = (0..9).map(|_| random.normal_pair().0 + shift).collect();
            let stratum = Stratum::new(&reference, &candidate);
            let threshold = stratum.observed().abs() - 1e-9;
            let exact = two_sided_p(std::slice::from_ref(&stratum), 0);
            let drawn = f64::from(count_as_far(vec![stratum], threshold, 3)) / f64::from(DRAWS);
            assert!((exact - drawn).abs() < 4.0 * 0.0016, "{exact} enumerated, {drawn} drawn");
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_p_in_any_order_of_the_runs() {
        let mut random = Random::new(4);
        let reference: Vec<f64> = (0..15).map(|_| random.unit_f64()).collect();
        let mut candidate: Vec<f64> = (0..15).map(|_| random.unit_f64()).collect();
        let p = plain_p(&reference, &candidate);
        candidate.reverse();
        assert_eq!(plain_p(&reference, &candidate), p);
    }
}
