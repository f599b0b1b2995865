//! What the transactions of one client put into the log: the records, their lengths and types, and the pages that their
//! flushes wrote.
//!
//! Read from the log itself with the extension `pg_walinspect` (PostgreSQL 15), after the run and in the database that
//! is fathom's own. Only for one connection: its commits are flushed one after the other, so that where each flush began
//! and ended follows from the positions of the commit records. A flush writes whole pages of the log; the last one goes
//! out with what it has, and is written again by the next flush.

use results::model::Metric;

use super::super::Counters;
use super::control::Control;
use crate::work::{Durability, Work};

/// The log that is read at most: the first of it, where a run wrote more.
const LOG_READ_BYTES_MAX: f64 = (64 << 20) as f64;

/// Where it was had.
const SOURCE: &str = "pg_walinspect";

/// Reads the log between two readings of the counters; nothing where it cannot be read.
pub(super) fn metrics(
    control: &mut Control,
    work: &Work,
    before: &Counters,
    after: &Counters,
) -> Vec<Metric> {
    let position = |counters: &Counters| {
        counters.cumulative.iter().find(|metric| metric.name == "log_bytes").map(|metric| metric.value)
    };
    let (1, Some(from), Some(to)) = (work.connections, position(before), position(after)) else {
        return Vec::new();
    };
    let to = to.min(from + LOG_READ_BYTES_MAX);
    if to <= from || control.query("CREATE EXTENSION IF NOT EXISTS pg_walinspect").is_err() {
        return Vec::new();
    }
    let span = format!("'{}', least('{}', pg_current_wal_flush_lsn())", lsn(from), lsn(to));
    let mut metrics = of_transactions(control, work, &span, from).unwrap_or_default();
    metrics.extend(by_type(control, &span));
    metrics
}

/// Means over the transactions that committed.
fn of_transactions(control: &mut Control, work: &Work, span: &str, from: f64) -> Option<Vec<Metric>> {
    // A page belongs to a flush from the page where the flush before it ended to the one where its commit record ends.
    let sql = format!(
        "WITH records AS (SELECT start_lsn - '0/0' AS began, end_lsn - '0/0' AS ended, record_length, \
           resource_manager = 'Transaction' AND record_type LIKE 'COMMIT%' AS is_commit \
           FROM pg_get_wal_records_info({span}) WHERE xid <> '0'), \
         page AS (SELECT current_setting('wal_block_size')::numeric AS bytes), \
         flushes AS (SELECT ended, lag(ended, 1, {from:.0}::numeric) OVER (ORDER BY ended) AS before \
           FROM records WHERE is_commit), \
         written AS (SELECT sum(ceil(ended / bytes) - floor(before / bytes)) AS pages, sum(ended - before) AS new \
           FROM flushes, page) \
         SELECT count(*) FILTER (WHERE is_commit), count(*), sum(record_length), \
           (SELECT pages FROM written), (SELECT pages * bytes - new FROM written, page) FROM records"
    );
    let row: Vec<f64> = control
        .query(&sql)
        .ok()?
        .into_iter()
        .next()?
        .into_iter()
        .map(|value| value?.parse().ok())
        .collect::<Option<_>>()?;
    let [transactions, records, record_bytes, pages, padding_bytes] = row.as_slice() else { return None };
    if *transactions < 1.0 {
        return None;
    }
    let mean = |name: &str, sum: f64, unit: &str| metric(name, sum / transactions, unit);
    let mut metrics = vec![
        mean("transaction_log_records", *records, "1"),
        mean("transaction_log_bytes", *record_bytes, "bytes"),
    ];
    // Without a flush at each commit the WAL writer writes pages at times of its own.
    if work.durability == Durability::Full {
        metrics.push(mean("transaction_log_pages", *pages, "1"));
        metrics.push(mean("transaction_log_padding_bytes", *padding_bytes, "bytes"));
    }
    Some(metrics)
}

/// Records and their bytes by type, those of background processes included.
fn by_type(control: &mut Control, span: &str) -> Vec<Metric> {
    let sql = format!(
        "SELECT \"resource_manager/record_type\", count, combined_size FROM pg_get_wal_stats({span}, true) \
         WHERE count > 0 ORDER BY combined_size DESC, 1"
    );
    let rows = control.query(&sql).unwrap_or_default();
    rows.into_iter()
        .filter_map(|row| {
            let [Some(name), Some(count), Some(bytes)] = row.as_slice() else { return None };
            Some([
                metric(&format!("log_records.{name}"), count.parse().ok()?, "1"),
                metric(&format!("log_record_bytes.{name}"), bytes.parse().ok()?, "bytes"),
            ])
        })
        .flatten()
        .collect()
}

fn metric(name: &str, value: f64, unit: &str) -> Metric {
    Metric { name: name.to_owned(), value, unit: unit.to_owned(), source: SOURCE.to_owned() }
}

/// A position as the server reads it.
fn lsn(position: f64) -> String {
    let position = position as u64;
    format!("{:X}/{:X}", position >> 32, position & 0xffff_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_written_in_two_halves() {
        assert_eq!(lsn(((1_u64 << 32) + 255) as f64), "1/FF");
    }
}
