//! Times that are counted as they come and merged by addition.

use hdrhistogram::Histogram;

/// Counts of times in nanoseconds.
#[derive(Clone, Debug)]
pub(super) struct Latencies {
    pub(super) count: u64,
    pub(super) sum_ns: u128,
    /// Exact, unlike the largest value of the histogram.
    pub(super) max_ns: u64,
    histogram: Histogram<u32>,
}

impl Latencies {
    /// No times yet. Memory grows with the largest: about 4 KiB per doubling above 2 us.
    pub(super) fn new() -> Self {
        // From 1 ns, so that fast devices keep their three digits too.
        let mut histogram = Histogram::new_with_bounds(1, 2, 3).expect("the bounds are accepted constants");
        histogram.auto(true);
        Latencies { count: 0, sum_ns: 0, max_ns: 0, histogram }
    }

    pub(super) fn record(&mut self, latency_ns: u64) {
        self.count += 1;
        self.sum_ns += u128::from(latency_ns);
        self.max_ns = self.max_ns.max(latency_ns);
        if self.histogram.record(latency_ns).is_err() {
            self.histogram.saturating_record(latency_ns);
        }
    }

    pub(super) fn merge(&mut self, other: &Latencies) {
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        self.max_ns = self.max_ns.max(other.max_ns);
        self.histogram.add(&other.histogram).expect("both histograms resize themselves");
    }

    /// The mean in nanoseconds; 0 without any time.
    pub(super) fn mean_ns(&self) -> f64 {
        if self.count > 0 { self.sum_ns as f64 / self.count as f64 } else { 0.0 }
    }

    /// The time that the share `quantile` (0 to 1) did not exceed, to three digits; 0 without any time.
    pub(super) fn quantile_ns(&self, quantile: f64) -> u64 {
        self.histogram.value_at_quantile(quantile).min(self.max_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merged_times_are_those_of_one_count() {
        let (mut all, mut parts) = (Latencies::new(), [Latencies::new(), Latencies::new()]);
        for latency_ns in (1..2000u64).map(|n| n * n * 7) {
            all.record(latency_ns);
            parts[(latency_ns % 2) as usize].record(latency_ns);
        }
        let [mut merged, other] = parts;
        merged.merge(&other);
        assert_eq!((merged.count, merged.sum_ns, merged.max_ns), (all.count, all.sum_ns, all.max_ns));
        for quantile in [0.0, 0.5, 0.99, 0.999, 1.0] {
            assert_eq!(merged.quantile_ns(quantile), all.quantile_ns(quantile));
        }
        assert!((all.quantile_ns(0.5) as f64 / 7e6 - 1.0).abs() < 2e-3);
    }

    #[test]
    fn no_quantile_lies_above_the_largest_time_and_nothing_gives_zeros() {
        let mut one = Latencies::new();
        assert_eq!((one.mean_ns(), one.quantile_ns(0.99)), (0.0, 0));
        one.record(1_000_001);
        assert_eq!((one.quantile_ns(0.999), one.max_ns, one.mean_ns()), (1_000_001, 1_000_001, 1_000_001.0));
    }
}
