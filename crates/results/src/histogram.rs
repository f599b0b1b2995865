//! Latency histograms: recorded in nanoseconds, merged by addition, stored in the HdrHistogram V2 form.

use std::borrow::Cow;

use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};

/// Smallest latency told apart from zero, in nanoseconds.
pub const LATENCY_NS_MIN: u64 = 1_000;
/// Significant decimal digits that a recorded latency keeps.
pub const SIGNIFICANT_DIGITS: u8 = 3;

/// Bytes before the counts of the uncompressed V2 form.
// EVIDENCE: HdrHistogram V2 encoding: cookie at 0, length of the counts at 4, normalizing offset at 8, significant digits at
// 12, lowest value at 16, highest value at 24, ratio at 32, all big-endian
const HEADER_BYTES: usize = 40;
/// The cookie of that form.
const COOKIE_V2: u32 = 0x1c84_9313;
/// Bytes of the longest count, all of whose bits are set. No count of 32 bits has more than 5 bytes.
const COUNT_BYTES_MAX: usize = 9;

/// Latencies that are kept one by one before they are counted in buckets: half the memory of the buckets up to a millisecond.
const FEW_MAX: usize = 512;

/// Counts of latencies in nanoseconds, three significant digits, without an upper limit.
///
/// The first 512 latencies are kept one by one, 8 bytes each, so that ten thousand clients with few transactions each take
/// little memory. From then on memory grows with the largest value seen: about 4 KiB per doubling above one microsecond
/// (32-bit counters). Merging two histograms adds their counts.
#[derive(Clone, Debug, Default)]
pub struct LatencyHistogram {
    /// Empty when there are buckets.
    few: Vec<u64>,
    buckets: Option<Box<Histogram<u32>>>,
}

impl PartialEq for LatencyHistogram {
    fn eq(&self, other: &Self) -> bool {
        self.counted() == other.counted()
    }
}

impl LatencyHistogram {
    /// Makes an empty histogram; allocates nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts one latency of `latency_ns` nanoseconds.
    ///
    /// The histogram resizes itself, so a value is never lost; when memory for the resize cannot be
    /// indexed (beyond 2^63 ns) the value is counted at the largest bucket.
    #[inline]
    pub fn record(&mut self, latency_ns: u64) {
        if self.buckets.is_none() && self.few.len() < FEW_MAX {
            self.few.push(latency_ns);
            return;
        }
        count_in(self.buckets_mut(), latency_ns, 1);
    }

    /// Counts `count` latencies of `latency_ns` nanoseconds; beyond 2^32 of one value, or 2^63 ns, at the largest that fits.
    pub fn record_count(&mut self, latency_ns: u64, count: u64) {
        count_in(self.buckets_mut(), latency_ns, u32::try_from(count).unwrap_or(u32::MAX));
    }

    /// Adds all counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        match &other.buckets {
            Some(buckets) => {
                self.buckets_mut().add(buckets.as_ref()).expect("both histograms resize themselves");
            }
            None => other.few.iter().for_each(|latency_ns| self.record(*latency_ns)),
        }
    }

    /// Number of recorded latencies of at most `limit_ns` nanoseconds, to three digits of the limit.
    pub fn count_up_to(&self, limit_ns: u64) -> u64 {
        let counts = self.counted();
        if limit_ns >= counts.max() {
            return counts.len();
        }
        let limit_ns = counts.highest_equivalent(limit_ns);
        counts
            .iter_recorded()
            .map_while(|step| {
                (step.value_iterated_to() <= limit_ns).then(|| u64::from(step.count_at_value()))
            })
            .sum()
    }

    /// Number of recorded latencies.
    pub fn count(&self) -> u64 {
        self.buckets.as_ref().map_or(self.few.len() as u64, |buckets| buckets.len())
    }

    /// Largest recorded latency in nanoseconds, exact to three digits; 0 when empty.
    pub fn max_ns(&self) -> u64 {
        self.counted().max()
    }

    /// Smallest recorded latency in nanoseconds; 0 when empty.
    pub fn min_ns(&self) -> u64 {
        if self.count() == 0 { 0 } else { self.counted().min() }
    }

    /// Mean latency in nanoseconds; 0 when empty.
    pub fn mean_ns(&self) -> f64 {
        if self.count() == 0 { 0.0 } else { self.counted().mean() }
    }

    /// Latency in nanoseconds at `quantile` (0.0 to 1.0); 0 when empty.
    pub fn quantile_ns(&self, quantile: f64) -> u64 {
        self.counted().value_at_quantile(quantile)
    }

    /// All latencies in buckets.
    fn counted(&self) -> Cow<'_, Histogram<u32>> {
        match &self.buckets {
            Some(buckets) => Cow::Borrowed(buckets),
            None => Cow::Owned(in_buckets(&self.few)),
        }
    }

    /// The buckets, from here on those of all latencies.
    fn buckets_mut(&mut self) -> &mut Histogram<u32> {
        let few = std::mem::take(&mut self.few);
        self.buckets.get_or_insert_with(|| Box::new(in_buckets(&few)))
    }

    /// Writes the histogram in the uncompressed V2 interchange form of HdrHistogram.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        V2Serializer::new()
            .serialize(&*self.counted(), &mut bytes)
            .expect("writing to memory succeeds and counts fit the format");
        bytes
    }

    /// Reads what `to_bytes` (or any other HdrHistogram with as many digits) wrote; `None` when the bytes are not such a
    /// histogram. Memory is bounded by the digits, whatever the bytes are.
    pub fn from_bytes(mut bytes: &[u8]) -> Option<Self> {
        let (header, counts) = bytes.split_first_chunk::<HEADER_BYTES>()?;
        let word = |offset: usize| Some(u32::from_be_bytes(*header.get(offset..)?.first_chunk()?));
        // The reader would make room for as many counts as the header states, and negate the largest count.
        let is_sound = word(0)? == COOKIE_V2
            && word(4)? as usize == counts.len()
            && word(12)? <= u32::from(SIGNIFICANT_DIGITS)
            && !counts.windows(COUNT_BYTES_MAX).any(|count| count.iter().all(|byte| *byte == 0xFF));
        if !is_sound {
            return None;
        }
        let mut counts: Histogram<u32> = Deserializer::new().deserialize(&mut bytes).ok()?;
        counts.auto(true);
        Some(Self { few: Vec::new(), buckets: Some(Box::new(counts)) })
    }
}

fn in_buckets(latencies_ns: &[u64]) -> Histogram<u32> {
    let mut counts = Histogram::new_with_bounds(LATENCY_NS_MIN, 2 * LATENCY_NS_MIN, SIGNIFICANT_DIGITS)
        .expect("the bounds are constants that HdrHistogram accepts");
    counts.auto(true);
    latencies_ns.iter().for_each(|latency_ns| count_in(&mut counts, *latency_ns, 1));
    counts
}

fn count_in(counts: &mut Histogram<u32>, latency_ns: u64, count: u32) {
    if counts.record_n(latency_ns, count).is_err() {
        counts.saturating_record_n(latency_ns, count);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_latency_of_an_hour_is_kept_with_three_digits() {
        let mut histogram = LatencyHistogram::new();
        histogram.record(3_600_000_000_000);
        let error = (histogram.max_ns() as f64 / 3.6e12 - 1.0).abs();
        assert!(error < 1e-3, "{error}");
    }

    #[test]
    fn merging_adds_counts_and_survives_the_stored_form() {
        let (mut left, mut right) = (LatencyHistogram::new(), LatencyHistogram::new());
        left.record(5_000);
        // Under Miri few buckets: each of them is added.
        right.record(if cfg!(miri) { 70_000 } else { 7_000_000_000 });
        left.merge(&right);
        let read = LatencyHistogram::from_bytes(&left.to_bytes()).unwrap();
        assert_eq!(read.count(), 2);
        assert_eq!(read.max_ns(), left.max_ns());
        assert_eq!(LatencyHistogram::from_bytes(b"not a histogram"), None);
    }

    #[test]
    fn few_and_many_latencies_give_the_same_numbers_and_memory_is_that_of_the_few() {
        let latencies = |count: u64| (0..count).map(|index| 1_000 + index * 7_919 % 40_000_000);
        for count in [0, 1, 2, FEW_MAX as u64, FEW_MAX as u64 + 1, 3_000] {
            let mut histogram = LatencyHistogram::new();
            latencies(count).for_each(|latency_ns| histogram.record(latency_ns));
            let all: Vec<u64> = latencies(count).collect();
            let buckets = LatencyHistogram { few: Vec::new(), buckets: Some(Box::new(in_buckets(&all))) };
            assert_eq!(histogram, buckets);
            assert_eq!(histogram.buckets.is_some(), count > FEW_MAX as u64);
            let numbers = |one: &LatencyHistogram| {
                (
                    one.count(),
                    one.min_ns(),
                    one.max_ns(),
                    one.mean_ns(),
                    one.quantile_ns(0.99),
                    one.to_bytes(),
                )
            };
            assert_eq!(numbers(&histogram), numbers(&buckets));
            let mut merged = LatencyHistogram::new();
            merged.merge(&histogram);
            merged.merge(&buckets);
            assert_eq!(merged.count(), 2 * count);
            let limit_ns = 20_000_000;
            let within = all.iter().filter(|latency_ns| **latency_ns <= limit_ns).count() as f64;
            let counted = histogram.count_up_to(limit_ns) as f64;
            assert!((counted - within).abs() <= 0.002 * count as f64, "{counted} {within}");
        }
    }

    #[test]
    fn a_stored_form_that_states_gigabytes_or_a_count_without_a_negative_is_refused() {
        let mut histogram = LatencyHistogram::new();
        histogram.record(5_000);
        let whole = histogram.to_bytes();
        let with = |offset: usize, bytes: &[u8]| {
            let mut changed = whole.clone();
            changed.splice(offset..offset + bytes.len(), bytes.iter().copied());
            changed
        };
        assert_eq!(LatencyHistogram::from_bytes(&whole).map(|read| read.count()), Some(1));
        assert_eq!(LatencyHistogram::from_bytes(&with(4, &[0xFF; 4])), None, "4 GiB of counts");
        assert_eq!(LatencyHistogram::from_bytes(&with(12, &[0, 0, 0, 5])), None, "5 digits: 24 MiB");
        let length = (COUNT_BYTES_MAX as u32).to_be_bytes();
        let mut largest = [&whole[..HEADER_BYTES], &[0xFF; COUNT_BYTES_MAX]].concat();
        largest[4..8].copy_from_slice(&length);
        assert_eq!(LatencyHistogram::from_bytes(&largest), None, "-2^63 buckets without counts");
        for cut in 0..whole.len() {
            assert_eq!(LatencyHistogram::from_bytes(&whole[..cut]), None, "{cut} bytes");
        }
    }
}
