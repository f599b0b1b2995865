//! The arithmetic of a wait table: sorted, cut where 95 % is reached, the rest kept as one row.
//!
//! Where the seconds come from (exact clocks, or samples times a period) is the caller's to say in the header.

use crate::input::InputError;

/// The share of all wait time, in percent, that the printed rows must reach.
pub const TOP_PERCENT: f64 = 95.0;

/// The accumulated waits of one type.
#[derive(Clone, Debug, PartialEq)]
pub struct Wait {
    /// The name in the engine's words.
    pub wait_type: String,
    /// Seconds waited, all sessions together; not negative.
    pub wait_s: f64,
    /// The seconds of these until the resource was there; absent where the engine does not split them.
    pub resource_s: Option<f64>,
    /// The seconds of these on the run queue after the resource was there; absent where the engine does not split.
    pub signal_s: Option<f64>,
    /// The number of waits; absent where only samples are had.
    pub count: Option<u64>,
}

/// One row of a wait table; nothing is rounded.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitRow {
    /// The waits themselves. For the rest, the type is empty and each sum is present when every summand is.
    pub wait: Wait,
    /// The share of the total wait time, 0 to 100.
    pub percentage: f64,
    /// The share of this row and all rows before it, 0 to 100.
    pub percentage_cumulative: f64,
}

impl WaitRow {
    /// Returns the mean seconds per wait; absent without a count or when it is zero.
    pub fn avg_wait_s(&self) -> Option<f64> {
        self.average(Some(self.wait.wait_s))
    }

    /// Returns the mean resource seconds per wait; absent as in [`WaitRow::avg_wait_s`], or when not split.
    pub fn avg_resource_s(&self) -> Option<f64> {
        self.average(self.wait.resource_s)
    }

    /// Returns the mean signal seconds per wait; absent as in [`WaitRow::avg_wait_s`], or when not split.
    pub fn avg_signal_s(&self) -> Option<f64> {
        self.average(self.wait.signal_s)
    }

    fn average(&self, seconds: Option<f64>) -> Option<f64> {
        let count = self.wait.count.filter(|&count| count > 0)?;
        seconds.map(|seconds| seconds / count as f64)
    }
}

/// A wait table that accounts for all wait time.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitTable {
    /// The fewest types, largest first, that together reach the threshold; empty when nothing was waited.
    pub rows: Vec<WaitRow>,
    /// All other types as one row; absent when there is none. With it the percentages sum to 100.
    pub rest: Option<WaitRow>,
    /// How many types the rest stands for.
    pub rest_type_count: usize,
    /// Seconds waited, all types together.
    pub total_wait_s: f64,
}

/// Builds the table of the types that account for `top_percent` of all wait time, [`TOP_PERCENT`] as published.
///
/// A row is listed as long as the rows before it stay below the threshold, so the listed rows are the smallest prefix
/// that reaches it. Types that waited equally long stand in the order of their names. Types are not merged and idle
/// ones not left out: that is the caller's, who knows their classes.
///
/// # Errors
/// Seconds are not finite or negative (the index is that of the wait), or `top_percent` is not within 0 to 100.
pub fn top_waits(waits: &[Wait], top_percent: f64) -> Result<WaitTable, InputError> {
    if !(0.0..=100.0).contains(&top_percent) {
        return Err(InputError::NotAProbability(top_percent / 100.0));
    }
    for (index, wait) in waits.iter().enumerate() {
        for value in [Some(wait.wait_s), wait.resource_s, wait.signal_s].into_iter().flatten() {
            if !value.is_finite() || value < 0.0 {
                return Err(InputError::NotADuration { index, value });
            }
        }
    }
    let mut sorted: Vec<&Wait> = waits.iter().collect();
    sorted.sort_by(|left, right| {
        right.wait_s.total_cmp(&left.wait_s).then_with(|| left.wait_type.cmp(&right.wait_type))
    });
    let total_wait_s: f64 = sorted.iter().map(|wait| wait.wait_s).sum();
    let percent = |seconds: f64| if total_wait_s > 0.0 { 100.0 * seconds / total_wait_s } else { 0.0 };
    let mut rows = Vec::new();
    let mut listed_s = 0.0;
    for wait in &sorted {
        // Seconds, not percentages, are summed: a sum of rounded or divided figures could miss the border.
        if wait.wait_s == 0.0 || listed_s >= top_percent / 100.0 * total_wait_s {
            break;
        }
        listed_s += wait.wait_s;
        let percentage_cumulative = percent(listed_s);
        rows.push(WaitRow { wait: (*wait).clone(), percentage: percent(wait.wait_s), percentage_cumulative });
    }
    let others = &sorted[rows.len()..];
    let rest = (!others.is_empty()).then(|| {
        let wait = sum_of(others);
        WaitRow { percentage: percent(wait.wait_s), percentage_cumulative: percent(total_wait_s), wait }
    });
    Ok(WaitTable { rows, rest, rest_type_count: others.len(), total_wait_s })
}

fn sum_of(waits: &[&Wait]) -> Wait {
    Wait {
        wait_type: String::new(),
        wait_s: waits.iter().map(|wait| wait.wait_s).sum(),
        resource_s: waits.iter().map(|wait| wait.resource_s).sum(),
        signal_s: waits.iter().map(|wait| wait.signal_s).sum(),
        count: waits.iter().map(|wait| wait.count).try_fold(0_u64, |sum, count| sum.checked_add(count?)),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn wait(wait_type: &str, wait_s: f64) -> Wait {
        Wait {
            wait_type: wait_type.to_owned(),
            wait_s,
            resource_s: Some(wait_s * 0.75),
            signal_s: Some(wait_s * 0.25),
            count: Some(10),
        }
    }

    fn listed(waits: &[Wait]) -> Vec<String> {
        top_waits(waits, TOP_PERCENT).unwrap().rows.into_iter().map(|row| row.wait.wait_type).collect()
    }

    #[test]
    fn the_smallest_prefix_that_reaches_the_threshold_is_listed() {
        let waits = [wait("C", 4.0), wait("A", 60.0), wait("D", 1.0), wait("B", 35.0)];
        let table = top_waits(&waits, TOP_PERCENT).unwrap();
        assert_eq!(listed(&waits), ["A", "B"]);
        assert_eq!(table.rows[1].percentage_cumulative, 95.0);
        let rest = table.rest.unwrap();
        assert_eq!((rest.wait.wait_s, rest.percentage, table.rest_type_count), (5.0, 5.0, 2));
        assert_eq!((rest.wait.count, rest.percentage_cumulative), (Some(20), 100.0));
        assert_eq!((rest.wait.resource_s, rest.avg_signal_s()), (Some(3.75), Some(0.0625)));
        assert_eq!(listed(&[wait("A", 60.0), wait("B", 34.9), wait("C", 5.1)]), ["A", "B", "C"]);
    }

    #[test]
    fn percentages_with_the_rest_sum_to_one_hundred() {
        let mut random = crate::random::Random::new(2);
        for n in 1..40 {
            let waits: Vec<Wait> =
                (0..n).map(|index| wait(&format!("T{index}"), random.exponential(3.0))).collect();
            let table = top_waits(&waits, TOP_PERCENT).unwrap();
            let sum: f64 = table.rows.iter().chain(&table.rest).map(|row| row.percentage).sum();
            assert!((sum - 100.0).abs() < 1e-9, "{sum}");
            assert_eq!(table.rows.len() + table.rest_type_count, waits.len());
            assert!(table.rows.windows(2).all(|pair| pair[0].wait.wait_s >= pair[1].wait.wait_s));
        }
    }

    #[test]
    fn equal_waits_stand_in_the_order_of_their_names() {
        assert_eq!(listed(&[wait("B", 5.0), wait("A", 5.0)]), ["A", "B"]);
    }

    #[test]
    fn what_the_engine_does_not_tell_stays_absent() {
        let unsplit = Wait { resource_s: None, signal_s: None, count: None, ..wait("A", 99.0) };
        let table = top_waits(&[unsplit.clone(), Wait { wait_s: 1.0, ..unsplit }], TOP_PERCENT).unwrap();
        assert_eq!((table.rows[0].avg_wait_s(), table.rows[0].avg_resource_s()), (None, None));
        let rest = table.rest.unwrap().wait;
        assert_eq!((rest.resource_s, rest.signal_s, rest.count), (None, None, None));
    }

    #[test]
    fn no_wait_at_all_is_an_empty_table() {
        let table = top_waits(&[], TOP_PERCENT).unwrap();
        assert_eq!((table.rows.len(), table.rest, table.total_wait_s), (0, None, 0.0));
        let table = top_waits(&[wait("A", 0.0)], TOP_PERCENT).unwrap();
        assert_eq!((table.rows.len(), table.rest_type_count), (0, 1));
        assert_eq!(table.rest.unwrap().percentage, 0.0);
    }

    #[test]
    fn seconds_that_are_no_duration_are_refused() {
        let refusal = top_waits(&[wait("A", 1.0), wait("B", -1.0)], TOP_PERCENT).unwrap_err();
        assert_eq!(refusal, InputError::NotADuration { index: 1, value: -1.0 });
        assert!(top_waits(&[wait("A", f64::NAN)], TOP_PERCENT).is_err());
        assert!(top_waits(&[], 101.0).is_err());
    }
}
