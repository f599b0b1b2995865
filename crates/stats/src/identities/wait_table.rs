//! What ties the figures of a wait table together.

use super::{Outcome, Printed, within_limit};

/// Checks that wait = resource + signal, all three printed with the same digits.
///
/// `Rounding` when they miss by one unit of the last digit: three roundings add up to less than two units.
pub fn wait_sum(wait: Printed, resource: Printed, signal: Printed) -> Outcome {
    let unit = wait.unit().max(resource.unit()).max(signal.unit());
    let expected = resource.value + signal.value;
    match ((wait.value - expected).abs() / unit).round() {
        0.0 => Outcome::Holds,
        1.0 => Outcome::Rounding,
        _ => Outcome::Broken { expected, found: wait.value },
    }
}

/// Checks that a printed average is seconds over count.
///
/// `Rounding` when the digits were cut, or when the rounding of the seconds themselves explains the difference.
pub fn average(printed: Printed, seconds: Printed, count: u64) -> Outcome {
    if count == 0 {
        return printed.check(0.0);
    }
    let count = count as f64;
    let outcome = printed.check(seconds.value / count);
    let reaches = seconds.low() / count <= printed.high() && printed.low() <= seconds.high() / count;
    if outcome.is_consistent() || !reaches { outcome } else { Outcome::Rounding }
}

/// The range of totals that all percentages of a table agree on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CommonTotal {
    /// The least total that every printed percentage allows, in the unit of the parts.
    pub low: f64,
    /// The largest one; below `low` when the percentages contradict each other.
    pub high: f64,
    /// `Holds` when a total exists, else `Broken` with the largest and the least total demanded.
    pub outcome: Outcome,
}

/// Checks that there is one total of which each part is the printed percentage.
///
/// Each pair of part and percentage allows a range of totals; they must overlap. A percentage with fewer digits than
/// the most precise one of its column has lost digits and may be cut instead of rounded. The outcome is `Broken`
/// without any pair too.
pub fn common_total(parts: &[(Printed, Printed)]) -> CommonTotal {
    let decimals = parts.iter().map(|(_, percentage)| percentage.decimals).max().unwrap_or(0);
    let (mut low, mut high) = (0.0_f64, f64::INFINITY);
    for &(part, percentage) in parts {
        let is_shortened = percentage.decimals < decimals;
        let percentage_high =
            if is_shortened { percentage.value + percentage.unit() } else { percentage.high() };
        low = low.max(100.0 * part.low() / percentage_high);
        if percentage.low() > 0.0 {
            high = high.min(100.0 * part.high() / percentage.low());
        }
    }
    let is_agreed = !parts.is_empty() && low <= high;
    let outcome = if is_agreed { Outcome::Holds } else { Outcome::Broken { expected: high, found: low } };
    CommonTotal { low, high, outcome }
}

/// Checks that the printed rows are the fewest, from the top, that reach the threshold (95 as published).
///
/// `Rounding` when only the rounding of the percentages decides it. `Broken` carries the threshold and the cumulative
/// percentage that is on its wrong side.
pub fn smallest_prefix(percentages: &[Printed], threshold: f64) -> Outcome {
    let Some((_, before)) = percentages.split_last() else {
        return Outcome::Broken { expected: threshold, found: 0.0 };
    };
    let sum = |rows: &[Printed]| rows.iter().map(|row| row.value).sum::<f64>();
    let slack = |rows: &[Printed]| rows.iter().map(|row| row.unit() / 2.0).sum::<f64>() + 1e-9;
    let (reached, reached_before) = (sum(percentages), sum(before));
    if reached + slack(percentages) < threshold {
        Outcome::Broken { expected: threshold, found: reached }
    } else if reached_before - slack(before) >= threshold {
        Outcome::Broken { expected: threshold, found: reached_before }
    } else if reached < threshold || reached_before >= threshold {
        Outcome::Rounding
    } else {
        Outcome::Holds
    }
}

/// Checks that the clients did not wait longer than they ran: total over connections is at most the elapsed time.
///
/// Holds only for tables of the clients' own waits; background work in the table breaks the bound too, and that is
/// worth knowing. Without connections any wait is too long.
pub fn waits_within_elapsed(total_wait_s: f64, connection_count: u64, elapsed_s: f64) -> Outcome {
    if connection_count == 0 {
        return within_limit(total_wait_s, 0.0);
    }
    within_limit(total_wait_s / connection_count as f64, elapsed_s)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn printed(text: &str) -> Printed {
        text.parse().unwrap()
    }

    #[test]
    fn a_wait_is_the_sum_of_its_halves_up_to_one_last_digit() {
        assert_eq!(wait_sum(printed("26833.45"), printed("26822.85"), printed("10.60")), Outcome::Holds);
        assert_eq!(wait_sum(printed("7762.25"), printed("7270.79"), printed("491.47")), Outcome::Rounding);
        assert!(matches!(
            wait_sum(printed("7.30"), printed("7.20"), printed("0.12")),
            Outcome::Broken { .. }
        ));
    }

    #[test]
    fn an_average_allows_for_the_rounding_of_its_seconds() {
        assert_eq!(average(printed("0.0164"), printed("37948.31"), 2_314_370), Outcome::Holds);
        assert!(matches!(average(printed("0.0165"), printed("37948.31"), 2_314_370), Outcome::Broken { .. }));
        // 0.01 s may be 0.005 to 0.015: over ten waits that prints as 0.0005 to 0.0015.
        assert_eq!(average(printed("0.0014"), printed("0.01"), 10), Outcome::Rounding);
        assert_eq!(average(printed("0"), printed("0.00"), 0), Outcome::Holds);
    }

    #[test]
    fn one_wrong_percentage_leaves_no_common_total() {
        let total =
            common_total(&[(printed("80.00"), printed("80.00")), (printed("15.00"), printed("15.00"))]);
        assert!(total.outcome == Outcome::Holds && total.low < 100.0 && 100.0 < total.high);
        let total =
            common_total(&[(printed("80.00"), printed("80.00")), (printed("15.00"), printed("16.00"))]);
        assert!(matches!(total.outcome, Outcome::Broken { .. }) && total.high < total.low);
        assert!(!common_total(&[]).outcome.is_consistent());
    }

    #[test]
    fn a_shortened_percentage_may_be_cut() {
        let rows = [(printed("26833.45"), printed("75.88")), (printed("7097.77"), printed("20.0"))];
        assert_eq!(common_total(&rows).outcome, Outcome::Holds);
    }

    #[test]
    fn a_row_too_few_and_a_row_too_many_are_told_apart() {
        let rows = [printed("94.48"), printed("4.92"), printed("0.50")];
        assert_eq!(smallest_prefix(&rows[..2], 95.0), Outcome::Holds);
        assert_eq!(smallest_prefix(&rows[..1], 95.0), Outcome::Broken { expected: 95.0, found: 94.48 });
        assert!(matches!(smallest_prefix(&rows, 95.0), Outcome::Broken { found, .. } if found > 99.0));
        assert_eq!(smallest_prefix(&[printed("94.998"), printed("4.0")], 95.0), Outcome::Holds);
        assert_eq!(smallest_prefix(&[printed("95.00"), printed("4.0")], 95.0), Outcome::Rounding);
        assert!(!smallest_prefix(&[], 95.0).is_consistent());
    }

    #[test]
    fn clients_cannot_wait_longer_than_they_run() {
        assert_eq!(waits_within_elapsed(23_965.0, 16, 1595.0), Outcome::Holds);
        assert!(matches!(waits_within_elapsed(273_500.0, 64, 3580.0), Outcome::Implausible { .. }));
        assert!(!waits_within_elapsed(1.0, 0, 10.0).is_consistent());
    }
}
