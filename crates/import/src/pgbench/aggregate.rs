//! A line per interval.
// EVIDENCE: PostgreSQL 14 to 18, pgbench, "Aggregated Logging": interval_start num_transactions sum_latency sum_latency_2
// min_latency max_latency { sum_lag sum_lag_2 min_lag max_lag [ skipped ] } [ retried retries ] and, from 15 on, all of
// sum_lag ... max_lag skipped retried retries serialization_failures deadlock_failures; microseconds

use std::io::BufRead;

use super::epoch::{EPOCH_S_MAX, EPOCH_S_MIN};
use super::seconds::Seconds;
use crate::ImportError;
use crate::error::quoted;
use crate::lines::Lines;
use crate::number::number;

/// Most intervals of a log.
const INTERVALS_MAX: usize = 10_000_000;

/// What a log says, all intervals added.
#[derive(Clone, Debug, Default)]
pub(crate) struct Aggregate {
    pub(crate) transactions: f64,
    pub(crate) latency_us_sum: f64,
    pub(crate) latency_us_sum_of_squares: f64,
    pub(crate) latency_us_max: f64,
    pub(crate) lag_us_sum: f64,
    pub(crate) lag_us_max: f64,
    pub(crate) skipped: f64,
    pub(crate) retries: f64,
    pub(crate) serialization_failures: f64,
    pub(crate) deadlock_failures: f64,
    pub(crate) first_s: i64,
    pub(crate) last_s: i64,
    /// Smallest distance between two intervals.
    pub(crate) interval_s: i64,
    pub(crate) intervals: usize,
    pub(crate) seconds: Seconds,
}

pub(crate) fn read(reader: impl BufRead, file: &str) -> Result<Aggregate, ImportError> {
    let mut lines = Lines::new(reader, file);
    let mut sum =
        Aggregate { first_s: i64::MAX, last_s: i64::MIN, interval_s: i64::MAX, ..Aggregate::default() };
    let mut before: Option<i64> = None;
    while let Some((at, text)) = lines.next_line()? {
        if text.trim().is_empty() {
            continue;
        }
        let (start_s, values) = line(text).map_err(|reason| refused(file, &reason).at(at))?;
        if sum.intervals == INTERVALS_MAX {
            return Err(
                ImportError::new(file, format!("the log has more than {INTERVALS_MAX} intervals")).at(at)
            );
        }
        add(&mut sum, start_s, &values);
        if let Some(distance) = before.map(|before| start_s - before).filter(|distance| *distance > 0) {
            sum.interval_s = sum.interval_s.min(distance);
        }
        before = Some(start_s);
    }
    if sum.transactions + sum.skipped == 0.0 {
        return Err(ImportError::new(file, "the log has no transaction"));
    }
    if sum.interval_s == i64::MAX {
        sum.interval_s = 1;
    }
    Ok(sum)
}

fn refused(file: &str, reason: &str) -> ImportError {
    ImportError::new(file, reason).hint(
        "a line of `pgbench --log --aggregate-interval` begins with: interval_start num_transactions sum_latency",
    )
}

/// Start of the interval, and the 14 columns after it; those that a version does not write are 0.
fn line(text: &str) -> Result<(i64, [f64; 14]), String> {
    let words: Vec<&str> = text.split_ascii_whitespace().take(16).collect();
    if ![6, 8, 10, 11, 12, 13, 15].contains(&words.len()) {
        return Err(format!("{} has {} columns, 6 to 15 are known", quoted(text), words.len()));
    }
    let start = words[0].parse::<i64>().ok().filter(|second| (EPOCH_S_MIN..EPOCH_S_MAX).contains(second));
    let start = start
        .ok_or_else(|| format!("interval_start {} is no time in seconds since 1970", quoted(words[0])))?;
    let mut values = [0.0; 14];
    for (index, word) in words[1..].iter().enumerate() {
        let value = number(word).map_err(|reason| format!("{} {reason}", quoted(word)))?;
        if value < 0.0 {
            return Err(format!("{} is below zero", quoted(word)));
        }
        values[index] = value;
    }
    // Retries without a rate, as 14 and older wrote them: retried and retries follow the latencies.
    if words.len() == 8 {
        (values[10], values[11], values[5], values[6]) = (values[5], values[6], 0.0, 0.0);
    }
    Ok((start, values))
}

fn add(sum: &mut Aggregate, start_s: i64, values: &[f64; 14]) {
    let [
        transactions,
        latency,
        squares,
        _,
        latency_max,
        lag,
        _,
        _,
        lag_max,
        skipped,
        _,
        retries,
        serialization,
        deadlock,
    ] = *values;
    sum.intervals += 1;
    sum.transactions += transactions;
    sum.latency_us_sum += latency;
    sum.latency_us_sum_of_squares += squares;
    sum.latency_us_max = sum.latency_us_max.max(latency_max);
    sum.lag_us_sum += lag;
    sum.lag_us_max = sum.lag_us_max.max(lag_max);
    sum.skipped += skipped;
    sum.retries += retries;
    sum.serialization_failures += serialization;
    sum.deadlock_failures += deadlock;
    sum.first_s = sum.first_s.min(start_s);
    sum.last_s = sum.last_s.max(start_s);
    sum.seconds.add(start_s, transactions.min(9e15) as u64, latency / 1e3);
}

impl Aggregate {
    /// Adds what another worker of the same run wrote.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.intervals += other.intervals;
        self.transactions += other.transactions;
        self.latency_us_sum += other.latency_us_sum;
        self.latency_us_sum_of_squares += other.latency_us_sum_of_squares;
        self.latency_us_max = self.latency_us_max.max(other.latency_us_max);
        self.lag_us_sum += other.lag_us_sum;
        self.lag_us_max = self.lag_us_max.max(other.lag_us_max);
        self.skipped += other.skipped;
        self.retries += other.retries;
        self.serialization_failures += other.serialization_failures;
        self.deadlock_failures += other.deadlock_failures;
        self.first_s = self.first_s.min(other.first_s);
        self.last_s = self.last_s.max(other.last_s);
        self.interval_s = self.interval_s.min(other.interval_s);
        self.seconds.merge(&other.seconds);
    }

    /// Seconds that the intervals cover.
    pub(crate) fn covered_s(&self) -> i64 {
        (self.last_s - self.first_s).saturating_add(self.interval_s)
    }

    /// Mean latency in milliseconds.
    pub(crate) fn latency_mean_ms(&self) -> Option<f64> {
        (self.transactions > 0.0).then(|| self.latency_us_sum / self.transactions / 1e3)
    }

    /// Standard deviation of the latency in milliseconds.
    pub(crate) fn latency_stddev_ms(&self) -> Option<f64> {
        let mean = self.latency_us_sum / self.transactions;
        let variance = self.latency_us_sum_of_squares / self.transactions - mean * mean;
        (self.transactions > 0.0 && variance >= 0.0).then(|| variance.sqrt() / 1e3)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn sums_of_all_intervals_are_those_of_the_lines() {
        // OBSERVED: pgbench 15.20 -c 2 -T 3 --log --aggregate-interval=1
        let text = "1795400696 213 841272 5176962176 615 15155 0 0 0 0 0 0 0 0 0\n\
                    1795400697 437 1999515 15024739625 731 20028 0 0 0 0 0 0 0 0 0\n";
        let sum = read(text.as_bytes(), "f").unwrap();
        assert_eq!((sum.transactions, sum.covered_s(), sum.latency_us_max), (650.0, 2, 20_028.0));
        assert_eq!(sum.latency_mean_ms().unwrap(), (841_272.0 + 1_999_515.0) / 650.0 / 1e3);
    }

    #[test]
    fn lines_of_other_versions_have_fewer_columns() {
        let old = read("1345828501 5601 1542744 483552416 61 2573\n".as_bytes(), "f").unwrap();
        assert_eq!((old.transactions, old.covered_s()), (5601.0, 1));
        let rate = read("1345828501 10 100 1000 1 20 50 500 1 10 3\n".as_bytes(), "f").unwrap();
        assert_eq!((rate.lag_us_sum, rate.skipped), (50.0, 3.0));
        for bad in ["1345828501 -1 1 1 1 1", "1345828501 1e400 1 1 1 1", "1 1 1 1 1 1", "1345828501 1 1"] {
            assert!(read(bad.as_bytes(), "f").is_err(), "{bad}");
        }
    }
}
