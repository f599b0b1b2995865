//! Latency histograms: recorded in nanoseconds, merged by addition, stored in the HdrHistogram V2 form.

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

/// Counts of latencies in nanoseconds, three significant digits, without an upper limit.
///
/// Memory grows with the largest value seen: about 4 KiB per doubling above one microsecond
/// (32-bit counters). Merging two histograms adds their counts.
#[derive(Clone, Debug, PartialEq)]
pub struct LatencyHistogram {
    counts: Histogram<u32>,
}

impl Default for LatencyHistogram {
    fn default() -> Self {
        Self::new()
    }
}

impl LatencyHistogram {
    /// Makes an empty histogram that resizes itself.
    pub fn new() -> Self {
        let mut counts = Histogram::new_with_bounds(LATENCY_NS_MIN, 2 * LATENCY_NS_MIN, SIGNIFICANT_DIGITS)
            .expect("the bounds are constants that HdrHistogram accepts");
        counts.auto(true);
        Self { counts }
    }

    /// Counts one latency of `latency_ns` nanoseconds.
    ///
    /// The histogram resizes itself, so a value is never lost; when memory for the resize cannot be
    /// indexed (beyond 2^63 ns) the value is counted at the largest bucket.
    pub fn record(&mut self, latency_ns: u64) {
        if self.counts.record(latency_ns).is_err() {
            self.counts.saturating_record(latency_ns);
        }
    }

    /// Counts `count` latencies of `latency_ns` nanoseconds; beyond 2^32 of one value, or 2^63 ns, at the largest that fits.
    pub fn record_count(&mut self, latency_ns: u64, count: u64) {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        if self.counts.record_n(latency_ns, count).is_err() {
            self.counts.saturating_record_n(latency_ns, count);
        }
    }

    /// Adds all counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.counts.add(&other.counts).expect("both histograms resize themselves");
    }

    /// Number of recorded latencies of at most `limit_ns` nanoseconds, to three digits of the limit.
    pub fn count_up_to(&self, limit_ns: u64) -> u64 {
        match limit_ns >= self.counts.max() {
            true => self.counts.len(),
            false => self
                .counts
                .iter_recorded()
                .map_while(|step| {
                    (step.value_iterated_to() <= self.counts.highest_equivalent(limit_ns))
                        .then(|| u64::from(step.count_at_value()))
                })
                .sum(),
        }
    }

    /// Number of recorded latencies.
    pub fn count(&self) -> u64 {
        self.counts.len()
    }

    /// Largest recorded latency in nanoseconds, exact to three digits; 0 when empty.
    pub fn max_ns(&self) -> u64 {
        self.counts.max()
    }

    /// Smallest recorded latency in nanoseconds; 0 when empty.
    pub fn min_ns(&self) -> u64 {
        if self.counts.is_empty() { 0 } else { self.counts.min() }
    }

    /// Mean latency in nanoseconds; 0 when empty.
    pub fn mean_ns(&self) -> f64 {
        if self.counts.is_empty() { 0.0 } else { self.counts.mean() }
    }

    /// Latency in nanoseconds at `quantile` (0.0 to 1.0); 0 when empty.
    pub fn quantile_ns(&self, quantile: f64) -> u64 {
        self.counts.value_at_quantile(quantile)
    }

    /// Writes the histogram in the uncompressed V2 interchange form of HdrHistogram.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        V2Serializer::new()
            .serialize(&self.counts, &mut bytes)
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
        Some(Self { counts })
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
