//! Latencies by the second in which a transaction ended: what a worker thread writes down beside the histograms of its
//! clients, and the series that follow.
//!
//! A second is closed when the first transaction of a later one ends; its counts are then kept without the empty ones.
//! Where a run is long, parts are joined in pairs, so that memory stays bounded whatever a run lasts.

use std::collections::BTreeMap;

use results::observations::{Series, SeriesKind};

const SECOND_NS: u64 = 1_000_000_000;
/// Buckets per doubling of the latency: each is at most 1/32 wide, so its middle is off by 1.6 % at most.
const PARTS: u64 = 32;
/// Latencies below this many nanoseconds, as a power of two, are in the first bucket.
const FIRST_POWER: u32 = 10;
/// Doublings above it: up to 2^42 ns, 73 minutes.
const DOUBLINGS: u32 = 32;
const BUCKETS: usize = (PARTS as usize) * DOUBLINGS as usize;
/// Parts of a run that are kept apart; more are joined in pairs.
const PARTS_MAX: usize = 3600;
/// A last part shorter than this share of a whole one is counted with the part before it.
const LAST_PART_MIN: f64 = 0.25;

/// Latencies of the transactions that ended in one part of a run.
#[derive(Clone, Debug, Default, PartialEq)]
struct Part {
    /// Bucket and count, ascending.
    counts: Vec<(u16, u32)>,
    max_ns: u64,
}

/// Latencies by part of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct LatencySeconds {
    /// Length of a part in seconds: a power of two.
    seconds: u64,
    /// Index of the part that is open.
    open_index: u64,
    /// Where it ends: a comparison per transaction is cheaper than a division.
    open_end_ns: u64,
    open: Box<[u32; BUCKETS]>,
    open_max_ns: u64,
    closed: BTreeMap<u64, Part>,
}

impl Default for LatencySeconds {
    fn default() -> Self {
        Self {
            seconds: 1,
            open_index: 0,
            open_end_ns: SECOND_NS,
            open: Box::new([0; BUCKETS]),
            open_max_ns: 0,
            closed: BTreeMap::new(),
        }
    }
}

impl LatencySeconds {
    /// Counts a transaction that ended so long after the barrier; costs some nanoseconds.
    #[inline]
    pub(super) fn record(&mut self, end_ns: u64, latency_ns: u64) {
        // A thread's clock does not go back; a transaction of a closed part is counted with the open one.
        if end_ns >= self.open_end_ns {
            self.turn(end_ns);
        }
        let count = &mut self.open[bucket(latency_ns)];
        *count = count.saturating_add(1);
        self.open_max_ns = self.open_max_ns.max(latency_ns);
    }

    /// Closes the open part and opens the one of this moment.
    #[cold]
    fn turn(&mut self, end_ns: u64) {
        self.close();
        let part_ns = self.seconds * SECOND_NS;
        self.open_index = end_ns / part_ns;
        self.open_end_ns = (self.open_index + 1).saturating_mul(part_ns);
    }

    /// Adds what another thread counted.
    pub(super) fn merge(&mut self, mut other: Self) {
        self.close();
        other.close();
        while self.seconds < other.seconds {
            self.join_pairs();
        }
        while other.seconds < self.seconds {
            other.join_pairs();
        }
        for (index, part) in other.closed {
            self.closed.entry(index).or_default().merge(&part);
        }
    }

    /// Median, 99th percentile and largest latency of each part; none where no transaction was counted.
    pub(crate) fn series(mut self, elapsed_ns: u64) -> Vec<Series> {
        self.close();
        let part_ns = self.seconds * SECOND_NS;
        let Some(&last) = self.closed.keys().next_back() else { return Vec::new() };
        let rest_ns = elapsed_ns.saturating_sub(last * part_ns);
        let is_short = last > 0 && (rest_ns as f64) < LAST_PART_MIN * part_ns as f64;
        if is_short && let Some(short) = self.closed.remove(&last) {
            self.closed.entry(last - 1).or_default().merge(&short);
        }
        let count = if is_short { last } else { last + 1 };
        let end_ns = |index: u64| if index + 1 == count { elapsed_ns } else { (index + 1) * part_ns };
        let at_ns: Vec<i64> = (0..count).map(|index| end_ns(index) as i64).collect();
        let series = |name: &str, value: &dyn Fn(&Part) -> u64| Series {
            name: name.to_owned(),
            unit: "ms".to_owned(),
            source: "client records".to_owned(),
            kind: SeriesKind::Gauge,
            at_ns: at_ns.clone(),
            values: (0..count).map(|index| Some(value(self.closed.get(&index)?) as f64 / 1e6)).collect(),
        };
        vec![
            series("latency_p50_ms", &|part| part.quantile_ns(0.5)),
            series("latency_p99_ms", &|part| part.quantile_ns(0.99)),
            series("latency_max_ms", &|part| part.max_ns),
        ]
    }

    /// Keeps the counts of the open part.
    fn close(&mut self) {
        let counted = (0_u16..).zip(self.open.iter().copied()).filter(|(_, count)| *count > 0);
        let part = Part { counts: counted.collect(), max_ns: self.open_max_ns };
        if part.counts.is_empty() {
            return;
        }
        self.open.fill(0);
        self.open_max_ns = 0;
        self.closed.entry(self.open_index).or_default().merge(&part);
        if self.closed.len() > PARTS_MAX {
            self.join_pairs();
        }
    }

    /// Doubles the length of the parts. Nothing is open.
    fn join_pairs(&mut self) {
        self.seconds *= 2;
        self.open_index /= 2;
        for (index, part) in std::mem::take(&mut self.closed) {
            self.closed.entry(index / 2).or_default().merge(&part);
        }
    }
}

impl Part {
    fn merge(&mut self, other: &Self) {
        self.max_ns = self.max_ns.max(other.max_ns);
        let mut counts: BTreeMap<u16, u32> = self.counts.iter().copied().collect();
        for (bucket, count) in &other.counts {
            let sum = counts.entry(*bucket).or_default();
            *sum = sum.saturating_add(*count);
        }
        self.counts = counts.into_iter().collect();
    }

    /// The latency that this share of the transactions did not exceed; never above the largest.
    fn quantile_ns(&self, share: f64) -> u64 {
        let total: u64 = self.counts.iter().map(|(_, count)| u64::from(*count)).sum();
        let wanted = ((total as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        for (bucket, count) in &self.counts {
            seen += u64::from(*count);
            if seen >= wanted {
                return middle_ns(*bucket).min(self.max_ns);
            }
        }
        self.max_ns
    }
}

fn bucket(latency_ns: u64) -> usize {
    let latency_ns = latency_ns.max(1 << FIRST_POWER);
    let power = latency_ns.ilog2();
    let part = (latency_ns >> (power - PARTS.ilog2())) % PARTS;
    ((u64::from(power - FIRST_POWER) * PARTS + part) as usize).min(BUCKETS - 1)
}

fn middle_ns(bucket: u16) -> u64 {
    let (power, part) = (u64::from(bucket) / PARTS + u64::from(FIRST_POWER), u64::from(bucket) % PARTS);
    let width = 1_u64 << (power - u64::from(PARTS.ilog2()));
    (PARTS + part) * width + width / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn values<'a>(series: &'a [Series], name: &str) -> &'a [Option<f64>] {
        series.iter().find(|series| series.name == name).map_or(&[], |series| &series.values)
    }

    fn near(value: Option<f64>, expected: f64) -> bool {
        value.is_some_and(|value| (value / expected - 1.0).abs() < 0.017)
    }

    #[test]
    fn every_second_has_its_own_percentiles_and_one_without_a_transaction_is_a_hole() {
        let mut seconds = LatencySeconds::default();
        for step in 0..200 {
            seconds.record(step * 4 * MS, if step % 50 == 0 { 80 * MS } else { 2 * MS });
        }
        seconds.record(2_500 * MS, 1_700 * MS);
        let series = seconds.series(3_000 * MS);
        assert_eq!(series[0].at_ns, [1_000 * MS as i64, 2_000 * MS as i64, 3_000 * MS as i64]);
        let (median, p99) = (values(&series, "latency_p50_ms"), values(&series, "latency_p99_ms"));
        assert!(near(median[0], 2.0) && near(p99[0], 80.0), "{series:?}");
        assert_eq!((median[1], p99[1]), (None, None));
        assert!(near(median[2], 1_700.0));
        assert_eq!(values(&series, "latency_max_ms"), [Some(80.0), None, Some(1_700.0)]);
    }

    #[test]
    fn a_bucket_holds_its_own_middle_and_is_narrow() {
        for latency_ns in [1, 1_023, 1_024, 1_055, 4_711, 999_999, 3 * MS, 7_000 * MS, u64::MAX] {
            let middle = middle_ns(bucket(latency_ns) as u16);
            assert_eq!(bucket(middle), bucket(latency_ns));
            if (1 << FIRST_POWER..1 << (FIRST_POWER + DOUBLINGS)).contains(&latency_ns) {
                assert!((middle as f64 / latency_ns as f64 - 1.0).abs() < 0.017, "{latency_ns}: {middle}");
            }
        }
    }

    #[test]
    fn threads_add_up_in_any_order_and_a_short_last_part_belongs_to_the_one_before() {
        let counted = |first: u64| {
            let mut seconds = LatencySeconds::default();
            (0..10).for_each(|step| seconds.record((first + step) * 210 * MS, (step + 1) * MS));
            seconds
        };
        let sum = |one: LatencySeconds, other: LatencySeconds| {
            let mut sum = one;
            sum.merge(other);
            sum.series(2_200 * MS)
        };
        let series = sum(counted(0), counted(1));
        assert_eq!(series, sum(counted(1), counted(0)));
        assert_eq!(series[0].at_ns, [1_000 * MS as i64, 2_200 * MS as i64]);
        assert_eq!(values(&series, "latency_max_ms"), [Some(5.0), Some(10.0)]);
        assert_eq!(LatencySeconds::default().series(5), []);
    }

    #[test]
    fn a_long_run_has_longer_parts_and_no_more_memory() {
        let mut long = LatencySeconds::default();
        let hours = 3 * PARTS_MAX as u64;
        (0..hours).for_each(|second| long.record(second * 1_000 * MS, 5 * MS));
        assert!(long.closed.len() <= PARTS_MAX + 1 && long.seconds == 4, "{}", long.seconds);
        let mut short = LatencySeconds::default();
        short.record(10 * MS, 9 * MS);
        short.merge(long);
        let series = short.series(hours * 1_000 * MS);
        assert_eq!(values(&series, "latency_max_ms").len() as u64, hours / 4);
        assert_eq!(values(&series, "latency_max_ms")[..2], [Some(9.0), Some(5.0)]);
    }
}
