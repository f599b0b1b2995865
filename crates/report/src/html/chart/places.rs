//! Where the levels of a numeric factor lie along an axis: to scale, on logarithms where they are powers.

/// Neighbours further apart than this factor of the nearest two would leave the others in a heap: levels then lie evenly.
const CROWDING_MAX: f64 = 12.0;

/// Logarithms are taken where levels lie more evenly on them by this factor.
const CLEARLY: f64 = 2.0;

/// Levels along an axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Places {
    /// Place of each level, 0 to 1 and ascending; empty where levels lie evenly.
    pub(crate) shares: Vec<f64>,
    /// What is said of the axis; empty for one that is to scale.
    pub(crate) note: &'static str,
}

impl Places {
    /// Lays out ascending values: to scale, or on logarithms where their ratios are more alike than their differences.
    pub(crate) fn of(values: &[f64]) -> Self {
        if values.len() < 3 {
            return Self::default();
        }
        let logarithms: Vec<f64> = values.iter().map(|value| value.ln()).collect();
        let is_positive = values.iter().all(|value| *value > 0.0);
        if is_positive && CLEARLY * unevenness(&logarithms) < unevenness(values) {
            return Self::to_scale(&logarithms, "logarithmic axis");
        }
        Self::to_scale(values, "")
    }

    fn to_scale(values: &[f64], note: &'static str) -> Self {
        let gaps: Vec<f64> = values.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let smallest = gaps.iter().copied().fold(f64::INFINITY, f64::min);
        let sum: f64 = gaps.iter().sum();
        if smallest <= 0.0 || !sum.is_finite() || sum / gaps.len() as f64 > CROWDING_MAX / 2.0 * smallest {
            return Self { shares: Vec::new(), note: "levels are not to scale" };
        }
        Self { shares: values.iter().map(|value| (value - values[0]) / sum).collect(), note }
    }
}

/// Spread of the differences between neighbours, as a share of their mean.
fn unevenness(values: &[f64]) -> f64 {
    let gaps: Vec<f64> = values.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let squares = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>();
    (squares / gaps.len() as f64).sqrt() / mean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_lie_on_logarithms_and_steps_to_scale() {
        for powers in [&[1.0, 10.0, 100.0][..], &[1.0, 2.0, 4.0, 8.0], &[1.0, 4.0, 16.0, 64.0]] {
            let places = Places::of(powers);
            assert_eq!(places.note, "logarithmic axis", "{powers:?}");
            assert!((places.shares[1] - 1.0 / (powers.len() - 1) as f64).abs() < 1e-9, "{places:?}");
        }
        assert_eq!(Places::of(&[1.0, 2.0, 3.0, 5.0]), Places { shares: vec![0.0, 0.25, 0.5, 1.0], note: "" });
        assert_eq!(Places::of(&[0.0, 50.0, 100.0]).shares, [0.0, 0.5, 1.0]);
        // Two levels lie at both ends of any scale.
        assert_eq!(Places::of(&[1.0, 100.0]), Places::default());
    }

    #[test]
    fn levels_that_no_scale_separates_lie_evenly_and_the_axis_says_so() {
        let places = Places::of(&[0.0, 1.0, 10.0, 100.0, 1000.0]);
        assert_eq!((places.shares.len(), places.note), (0, "levels are not to scale"));
        assert_eq!(Places::of(&[1.0, 1.0, 2.0]).shares.len(), 0);
    }
}
