//! Do counts follow given proportions?

use statrs::distribution::{ChiSquared, ContinuousCDF};

/// Probability of a chi-squared statistic of at least `statistic` with `degrees` degrees of freedom, where the proportions
/// hold: Pearson's test. 1 where there is nothing to test (no degree of freedom), or the statistic is no number.
pub fn chi_squared_p(statistic: f64, degrees: usize) -> f64 {
    match ChiSquared::new(degrees as f64) {
        Ok(distribution) if degrees > 0 && statistic.is_finite() => distribution.sf(statistic.max(0.0)),
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // EVIDENCE: NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.4: upper critical values of the chi-squared distribution
    #[test]
    fn critical_values_of_the_tables_are_met() {
        for (statistic, degrees, p) in
            [(3.841, 1, 0.05), (10.828, 1, 0.001), (18.307, 10, 0.05), (29.588, 10, 0.001)]
        {
            assert!((chi_squared_p(statistic, degrees) / p - 1.0).abs() < 2e-3, "{statistic} {degrees}");
        }
        assert_eq!(chi_squared_p(5.0, 0), 1.0);
        assert_eq!(chi_squared_p(f64::NAN, 3), 1.0);
    }
}
