//! What ties the figures of any table together: sums, products, order, percentages of change.

use super::{Outcome, Printed};
use crate::change::PercentDefinition;
use crate::pages::rows_in_whole_batches;

/// Checks that a printed total is the sum of its printed parts.
///
/// `Rounding` when the roundings of the parts and of the total explain the difference.
pub fn sum(parts: &[Printed], total: Printed) -> Outcome {
    let expected: f64 = parts.iter().map(|part| part.value).sum();
    let outcome = total.check(expected);
    let slack = total.unit() / 2.0 + parts.iter().map(|part| part.unit() / 2.0).sum::<f64>();
    let is_explained = (expected - total.value).abs() < slack - 1e-9 * total.unit();
    if matches!(outcome, Outcome::Broken { .. }) && is_explained { Outcome::Rounding } else { outcome }
}

/// Checks that a printed count is the product of its factors; the product must stay below 2^53 to be exact.
pub fn product(factors: &[u64], total: Printed) -> Outcome {
    total.check(factors.iter().map(|&factor| factor as f64).product())
}

/// Checks that no value is larger than the one before it; `Broken` carries the pair that is out of order.
pub fn descending(values: &[f64]) -> Outcome {
    match values.windows(2).find(|pair| !is_ordered(pair[1], pair[0])) {
        Some(pair) => Outcome::Broken { expected: pair[0], found: pair[1] },
        None => Outcome::Holds,
    }
}

/// Checks that no value is smaller than the one before it; `Broken` carries the pair that is out of order.
pub fn ascending(values: &[f64]) -> Outcome {
    match values.windows(2).find(|pair| !is_ordered(pair[0], pair[1])) {
        Some(pair) => Outcome::Broken { expected: pair[0], found: pair[1] },
        None => Outcome::Holds,
    }
}

/// What the check of one printed percentage of change found.
#[derive(Clone, Debug, PartialEq)]
pub struct PercentCheck {
    /// The definitions that give the figure when rounded to its digits; empty when none does.
    pub reproduced_by: Vec<PercentDefinition>,
    /// The outcome under the definition that the table claims; a cut percentage is `Rounding`.
    pub outcome: Outcome,
}

/// Checks a printed percentage of improvement under the claimed definition, and finds those that reproduce it.
///
/// Times that have no percentage (zero, not finite) are `Broken` with an expectation that is not a number.
pub fn percent_of_change(printed: Printed, t: f64, t_ref: f64, claimed: PercentDefinition) -> PercentCheck {
    let check =
        |definition: PercentDefinition| printed.check(definition.percent(t, t_ref).unwrap_or(f64::NAN));
    let reproduced_by = PercentDefinition::ALL
        .into_iter()
        .filter(|&definition| check(definition) == Outcome::Holds)
        .collect();
    PercentCheck { reproduced_by, outcome: check(claimed) }
}

/// Finds the definitions that reproduce every percentage of a column, each row being (percentage, time, reference).
///
/// Empty when the column mixes definitions or roundings: then its header cannot be right.
pub fn one_definition(rows: &[(Printed, f64, f64)]) -> Vec<PercentDefinition> {
    let reproduces_all = |definition: &PercentDefinition| {
        rows.iter().all(|&(printed, t, t_ref)| {
            definition.percent(t, t_ref).is_some_and(|percent| printed.check(percent) == Outcome::Holds)
        })
    };
    PercentDefinition::ALL.into_iter().filter(reproduces_all).collect()
}

/// Checks that clients that insert whole batches insert the rows asked for, no more; see
/// [`rows_in_whole_batches`]. `Broken` expects the rows asked for and carries those inserted.
pub fn whole_batches(rows_per_client: u64, client_count: u64, rows_per_batch: u64) -> Outcome {
    let asked_for = rows_per_client as f64 * client_count as f64;
    let inserted = rows_in_whole_batches(rows_per_client, rows_per_batch)
        .map_or(f64::NAN, |rows| rows as f64 * client_count as f64);
    if inserted == asked_for {
        Outcome::Holds
    } else {
        Outcome::Broken { expected: asked_for, found: inserted }
    }
}

/// A value that is not a number stands in no order.
fn is_ordered(smaller: f64, larger: f64) -> bool {
    smaller <= larger
}

#[cfg(test)]
mod tests {
    use super::*;

    const REDUCTION: PercentDefinition = PercentDefinition::TimeReduction;

    #[test]
    fn sums_allow_for_the_rounding_of_their_parts() {
        let parts = [Printed::new(1.4, 1), Printed::new(2.4, 1), Printed::new(3.4, 1)];
        assert_eq!(sum(&parts, Printed::new(7.2, 1)), Outcome::Holds);
        assert_eq!(sum(&parts, Printed::new(7.3, 1)), Outcome::Rounding);
        assert!(!sum(&parts, Printed::new(7.5, 1)).is_consistent());
        assert_eq!(product(&[19, 5, 5], Printed::new(475.0, 0)), Outcome::Holds);
        assert!(!product(&[19, 5, 5], Printed::new(474.0, 0)).is_consistent());
    }

    #[test]
    fn a_pair_out_of_order_is_named() {
        assert_eq!(descending(&[3.0, 3.0, 1.0]), Outcome::Holds);
        assert_eq!(descending(&[3.0, 1.0, 2.0]), Outcome::Broken { expected: 1.0, found: 2.0 });
        assert_eq!(ascending(&[3.0, 1.0]), Outcome::Broken { expected: 3.0, found: 1.0 });
        assert_eq!(ascending(&[]), Outcome::Holds);
        assert!(!ascending(&[1.0, f64::NAN]).is_consistent());
    }

    #[test]
    fn a_percentage_is_reproduced_by_one_definition_or_none() {
        let eleven = percent_of_change(Printed::new(11.0, 0), 49_818.0, 55_505.0, REDUCTION);
        assert_eq!(eleven.reproduced_by, [PercentDefinition::SpeedUp]);
        assert!(matches!(eleven.outcome, Outcome::Broken { .. }));
        let twenty_seven = percent_of_change(Printed::new(27.0, 0), 36_768.0, 49_818.0, REDUCTION);
        assert!(twenty_seven.reproduced_by.is_empty() && !twenty_seven.outcome.is_consistent());
        let twenty = percent_of_change(Printed::new(20.0, 0), 29_307.0, 36_768.0, REDUCTION);
        assert_eq!((twenty.reproduced_by, twenty.outcome), (vec![REDUCTION], Outcome::Holds));
        assert!(!percent_of_change(Printed::new(0.0, 0), 0.0, 0.0, REDUCTION).outcome.is_consistent());
    }

    #[test]
    fn a_column_that_mixes_definitions_has_none() {
        let mixed =
            [(Printed::new(11.0, 0), 49_818.0, 55_505.0), (Printed::new(20.0, 0), 29_307.0, 36_768.0)];
        assert!(one_definition(&mixed).is_empty());
        assert_eq!(one_definition(&mixed[1..]), [REDUCTION]);
    }

    #[test]
    fn whole_batches_do_unequal_work() {
        assert_eq!(whole_batches(1_048_576, 128, 1), Outcome::Holds);
        let broken = Outcome::Broken { expected: 134_217_728.0, found: 134_400_000.0 };
        assert_eq!(whole_batches(1_048_576, 128, 10_000), broken);
    }
}
