//! Counters over time: means of stretches that differ, and how two counters go together.

/// Fewer pairs than this go together by chance too easily to say anything.
pub const PAIRS_MIN: usize = 5;

/// How two series of numbers go together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankCorrelation {
    /// Spearman's rho, -1 to 1.
    pub rho: f64,
    /// Pairs that it was computed from.
    pub pair_count: usize,
}

/// Correlates the ranks of pairs (Spearman, 1904); equal values share the mean of their ranks.
///
/// Absent for fewer than [`PAIRS_MIN`] pairs of finite numbers, and where one side is the same throughout. There is no
/// p value on purpose: seconds of one run follow each other and are not independent.
pub fn rank_correlation(pairs: &[(f64, f64)]) -> Option<RankCorrelation> {
    let finite: Vec<(f64, f64)> =
        pairs.iter().copied().filter(|(left, right)| left.is_finite() && right.is_finite()).collect();
    if finite.len() < PAIRS_MIN {
        return None;
    }
    let left = ranks(&finite.iter().map(|pair| pair.0).collect::<Vec<_>>());
    let right = ranks(&finite.iter().map(|pair| pair.1).collect::<Vec<_>>());
    // The mean of the ranks is the same with ties and without.
    let middle = (finite.len() as f64 + 1.0) / 2.0;
    let (mut both, mut of_left, mut of_right) = (0.0, 0.0, 0.0);
    for (left, right) in left.iter().zip(&right) {
        both += (left - middle) * (right - middle);
        of_left += (left - middle).powi(2);
        of_right += (right - middle).powi(2);
    }
    let is_constant = of_left == 0.0 || of_right == 0.0;
    (!is_constant).then(|| RankCorrelation {
        rho: (both / (of_left * of_right).sqrt()).clamp(-1.0, 1.0),
        pair_count: finite.len(),
    })
}

/// Ranks from 1; equal values share the mean of theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|one, other| values[*one].total_cmp(&values[*other]));
    let mut ranks = vec![0.0; values.len()];
    let mut from = 0;
    while from < order.len() {
        let tied = order[from..].iter().take_while(|index| values[**index] == values[order[from]]).count();
        let shared = from as f64 + (tied as f64 + 1.0) / 2.0;
        order[from..from + tied].iter().for_each(|index| ranks[*index] = shared);
        from += tied;
    }
    ranks
}

/// Means values weighted by the time that each stands for; absent when no value has any.
///
/// Values that are not finite and weights that are not above zero are left out.
pub fn mean_over_time(values: &[(f64, f64)]) -> Option<f64> {
    let (mut sum, mut weights) = (0.0, 0.0);
    for (value, weight) in values.iter().filter(|(value, weight)| value.is_finite() && *weight > 0.0) {
        sum += value * weight;
        weights += weight;
    }
    (weights > 0.0).then(|| sum / weights)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_grows_together_has_rho_one_whatever_the_shape() {
        let pairs: Vec<(f64, f64)> = (1..=6).map(|x| (f64::from(x), f64::from(x).exp())).collect();
        assert_eq!(rank_correlation(&pairs), Some(RankCorrelation { rho: 1.0, pair_count: 6 }));
        let falling: Vec<(f64, f64)> = pairs.iter().map(|(x, y)| (*x, -y)).collect();
        assert_eq!(rank_correlation(&falling).unwrap().rho, -1.0);
    }

    #[test]
    fn ties_share_their_ranks_as_in_the_textbook() {
        // Ranks 1, 2.5, 2.5, 4, 5 against 1, 2, 3, 4, 5: rho = 9.5 / sqrt(9.5 * 10).
        let pairs = [(1.0, 10.0), (2.0, 20.0), (2.0, 30.0), (3.0, 40.0), (9.0, 50.0)];
        let rho = rank_correlation(&pairs).unwrap().rho;
        assert!((rho - (0.95_f64).sqrt()).abs() < 1e-12, "{rho}");
    }

    #[test]
    fn too_few_pairs_and_a_side_that_stands_still_tell_nothing() {
        assert_eq!(rank_correlation(&[(1.0, 2.0); 4]), None);
        assert_eq!(rank_correlation(&[(1.0, 2.0); 9]), None);
        let holes: Vec<(f64, f64)> = (0..9).map(|x| (f64::from(x), f64::NAN)).collect();
        assert_eq!(rank_correlation(&holes), None);
    }

    #[test]
    fn a_mean_over_time_counts_half_a_second_half() {
        assert_eq!(mean_over_time(&[(10.0, 1.0), (40.0, 0.5), (f64::NAN, 1.0), (7.0, 0.0)]), Some(20.0));
        assert_eq!(mean_over_time(&[]), None);
    }
}
