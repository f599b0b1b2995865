//! What ties operations, bytes, rates and latencies together.

use super::{Outcome, Printed, close_to};

/// What "MB" stands for in a column of rates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ByteUnit {
    /// 2^20 bytes.
    Mebibyte,
    /// 10^6 bytes.
    Megabyte,
}

impl ByteUnit {
    /// Both units.
    pub const ALL: [Self; 2] = [Self::Mebibyte, Self::Megabyte];

    /// Returns the bytes of one unit.
    pub fn bytes(self) -> f64 {
        match self {
            Self::Mebibyte => 1_048_576.0,
            Self::Megabyte => 1e6,
        }
    }
}

/// How a figure came to its printed digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PrintStyle {
    /// To the nearest.
    Rounded,
    /// The digits behind were dropped.
    Cut,
}

/// What the check of one rate against operations times size found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Throughput {
    /// The rate that follows, in mebibytes per second.
    pub recomputed_mebibytes: f64,
    /// The unit in which the printed figure is right, mebibytes tried first; absent when neither fits.
    pub unit: Option<ByteUnit>,
    /// How the figure was printed; absent when no unit fits.
    pub print_style: Option<PrintStyle>,
    /// `Holds` when rounded, `Rounding` when cut, `Broken` (in mebibytes) when no unit fits.
    pub outcome: Outcome,
}

/// Checks that operations per second times bytes per operation is the printed rate, and finds the unit it is in.
pub fn throughput(operations_per_s: f64, operation_bytes: u64, printed: Printed) -> Throughput {
    let bytes_per_s = operations_per_s * operation_bytes as f64;
    let recomputed_mebibytes = bytes_per_s / ByteUnit::Mebibyte.bytes();
    for unit in ByteUnit::ALL {
        let outcome = printed.check(bytes_per_s / unit.bytes());
        if outcome.is_consistent() {
            let style = if outcome == Outcome::Holds { PrintStyle::Rounded } else { PrintStyle::Cut };
            return Throughput { recomputed_mebibytes, unit: Some(unit), print_style: Some(style), outcome };
        }
    }
    let outcome = Outcome::Broken { expected: recomputed_mebibytes, found: printed.value };
    Throughput { recomputed_mebibytes, unit: None, print_style: None, outcome }
}

/// Finds the one unit in which all rates of a column are right (operations per second, bytes per operation, rate).
///
/// Absent when no unit fits all rows, when both do, and when there is no row.
pub fn throughput_unit(rows: &[(f64, u64, Printed)]) -> Option<ByteUnit> {
    let fits = |unit: ByteUnit| {
        rows.iter().all(|&(operations_per_s, operation_bytes, printed)| {
            printed.check(operations_per_s * operation_bytes as f64 / unit.bytes()).is_consistent()
        })
    };
    match (fits(ByteUnit::Mebibyte), fits(ByteUnit::Megabyte)) {
        (true, false) => Some(ByteUnit::Mebibyte),
        (false, true) => Some(ByteUnit::Megabyte),
        _ => None,
    }
}

/// Checks Little's law for a closed loop: outstanding operations over operations per second is the mean latency.
///
/// `tolerance` is a share (0.02 for 2 %): the means are of different windows, and the queue is not always full.
/// `Rounding` when only the digits of the printed latency explain the difference. (Little, "A proof for the queuing
/// formula L = λW", 1961.)
pub fn littles_law(outstanding: f64, operations_per_s: f64, latency_s: Printed, tolerance: f64) -> Outcome {
    let expected = outstanding / operations_per_s;
    let outcome = close_to(expected, latency_s.value, tolerance);
    if !outcome.is_consistent() && latency_s.check(expected).is_consistent() {
        Outcome::Rounding
    } else {
        outcome
    }
}

/// Checks that bytes per operation times operations per second is the printed rate in bytes per second.
///
/// The three are averages over the same window, printed in whole numbers; `tolerance` is a share (0.001 for 0.1 %).
pub fn rate_product(
    bytes_per_operation: f64,
    operations_per_s: f64,
    bytes_per_s: f64,
    tolerance: f64,
) -> Outcome {
    close_to(bytes_per_operation * operations_per_s, bytes_per_s, tolerance)
}

/// Checks that pages times page size over elapsed time is the printed rate in bytes per second.
///
/// Fails when the counter was averaged over another window than the one timed. `tolerance` is a share.
pub fn rate_from_pages(
    page_count: u64,
    page_size_bytes: u64,
    elapsed_s: f64,
    bytes_per_s: f64,
    tolerance: f64,
) -> Outcome {
    close_to(page_count as f64 * page_size_bytes as f64 / elapsed_s, bytes_per_s, tolerance)
}

/// Checks a printed peak rate against the work that was done: at its peak the whole must fit into the elapsed time.
///
/// A peak below the mean rate that the work needs is impossible. If 1000 or a million times as much lies between the
/// need and the stated ceiling of the device or link, the unit is wrong (bytes printed for kilobytes or megabytes).
/// All rates are in bytes per second, as printed. A peak above the ceiling is `Implausible`.
pub fn peak_rate(peak: f64, bytes_moved: f64, elapsed_s: f64, ceiling: f64) -> Outcome {
    let needed = bytes_moved / elapsed_s;
    let fits = |rate: f64| needed <= rate && rate <= ceiling;
    if fits(peak) {
        return Outcome::Holds;
    }
    match [1e3, 1e6].into_iter().find(|factor| fits(peak * factor)) {
        Some(factor) => Outcome::WrongUnit { factor },
        None if peak > ceiling => Outcome::Implausible { limit: ceiling, found: peak },
        None => Outcome::Broken { expected: needed, found: peak },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_of_megabytes_may_turn_out_to_be_mebibytes() {
        let rounded = throughput(18_644.0, 65_536, Printed::new(1165.0, 0));
        assert_eq!(
            (rounded.unit, rounded.print_style),
            (Some(ByteUnit::Mebibyte), Some(PrintStyle::Rounded))
        );
        let cut = throughput(65_627.0, 8192, Printed::new(512.0, 0));
        assert_eq!((cut.print_style, cut.outcome), (Some(PrintStyle::Cut), Outcome::Rounding));
        let decimal = throughput(18_644.0, 65_536, Printed::new(1222.0, 0));
        assert_eq!((decimal.unit, decimal.outcome), (Some(ByteUnit::Megabyte), Outcome::Holds));
        let neither = throughput(18_644.0, 65_536, Printed::new(1200.0, 0));
        assert!(neither.unit.is_none() && matches!(neither.outcome, Outcome::Broken { .. }));
    }

    #[test]
    fn a_column_has_one_unit_or_none() {
        let mebibytes =
            [(18_644.0, 65_536, Printed::new(1165.0, 0)), (65_627.0, 8192, Printed::new(512.0, 0))];
        assert_eq!(throughput_unit(&mebibytes), Some(ByteUnit::Mebibyte));
        let mixed = [mebibytes[0], (65_627.0, 8192, Printed::new(538.0, 0))];
        assert_eq!((throughput_unit(&mixed), throughput_unit(&[])), (None, None));
    }

    #[test]
    fn littles_law_ties_depth_rate_and_latency() {
        assert_eq!(littles_law(32.0, 18_644.0, Printed::new(0.00171, 5), 0.01), Outcome::Holds);
        // 0.48 ms for 0.4876: 1.6 % apart, which two digits explain.
        assert_eq!(littles_law(32.0, 65_627.0, Printed::new(0.00048, 5), 0.01), Outcome::Rounding);
        assert!(matches!(
            littles_law(96.0, 21_523.0, Printed::new(0.00399, 5), 0.02),
            Outcome::Broken { .. }
        ));
    }

    #[test]
    fn rates_follow_from_sizes_and_counts() {
        assert_eq!(rate_product(8192.0, 48_887.0, 400_501_565.0, 0.001), Outcome::Holds);
        assert_eq!(rate_from_pages(10_735_044, 8192, 214.243, 400_501_565.0, 0.05), Outcome::Holds);
        assert!(!rate_from_pages(279_433, 8192, 25.424, 47_213_526.0, 0.05).is_consistent());
    }

    #[test]
    fn a_terabyte_at_a_hundred_kilobytes_a_second_is_a_wrong_unit() {
        let (tebibyte, ceiling) = ((1_u64 << 40) as f64, 125e6);
        assert_eq!(peak_rate(106_012.0, tebibyte, 21_252.0, ceiling), Outcome::WrongUnit { factor: 1000.0 });
        assert_eq!(peak_rate(106_012_000.0, tebibyte, 21_252.0, ceiling), Outcome::Holds);
        assert_eq!(peak_rate(106.0, tebibyte, 21_252.0, ceiling), Outcome::WrongUnit { factor: 1e6 });
        assert!(matches!(peak_rate(2e8, tebibyte, 21_252.0, ceiling), Outcome::Implausible { .. }));
        assert!(matches!(peak_rate(3e7, tebibyte, 21_252.0, ceiling), Outcome::Broken { .. }));
    }
}
