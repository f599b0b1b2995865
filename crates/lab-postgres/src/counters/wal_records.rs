//! What the transactions of one client put into the log: the records, their lengths and types, and the pages that their
//! flushes wrote.
//!
//! Read from the log itself after the run: with the extension `pg_walinspect` (PostgreSQL 15) in the database that is
//! fathom's own, or with `pg_waldump` where the server has no such extension and its files are ours to read. Only for
//! one connection: its commits are flushed one after the other, so that where each flush began and ended follows from the
//! positions of the commit records. A flush writes whole pages of the log; the last one goes out with what it has, and is
//! written again by the next flush.

use lab::engine::{Counters, LogRecords};
use lab::work::{Durability, Work};
use results::model::{Metric, Warning};

use crate::control::Control;

mod dump;
mod statistics;

pub(crate) use dump::LogFiles;
use statistics::{LOG_READ_BYTES_MAX, RecordTotals, Span, WalStatistics, lsn};

/// Code of the warning that nothing could read the log.
const UNREAD: &str = "log_records_unread";

/// Reads the log between two readings of the counters. Where it cannot be read a warning says why.
pub(crate) fn of_run(
    control: &mut Control,
    work: &Work,
    before: &Counters,
    after: &Counters,
    files: Result<&LogFiles, &str>,
) -> LogRecords {
    let position = |counters: &Counters| {
        let metric = counters.cumulative.iter().find(|metric| metric.name == "log_bytes")?;
        Some(metric.value as u64)
    };
    let (1, Some(from), Some(to)) = (work.connections, position(before), position(after)) else {
        return LogRecords::default();
    };
    if to <= from {
        return LogRecords::default();
    }
    let read = span(control, from, to).and_then(|span| statistics(control, &span, files));
    match read {
        Ok((statistics, source)) => LogRecords { metrics: metrics(&statistics, work, source), warning: None },
        Err(reason) => {
            let text = format!("what a transaction puts into the log is not shown: {reason}");
            LogRecords { metrics: Vec::new(), warning: Some(Warning { code: UNREAD.to_owned(), text }) }
        }
    }
}

/// With the server's own words first, then from its files.
fn statistics(
    control: &mut Control,
    span: &Span,
    files: Result<&LogFiles, &str>,
) -> Result<(WalStatistics, &'static str), String> {
    let refused = match inspected(control, span) {
        Ok(statistics) => return Ok((statistics, "pg_walinspect")),
        Err(reason) => format!("pg_walinspect: {reason}"),
    };
    let dumped = files.map_err(str::to_owned).and_then(|files| {
        let path: Vec<_> = std::env::var_os("PATH")
            .map(|list| std::env::split_paths(&list).filter(|place| place.is_absolute()).collect())
            .unwrap_or_default();
        let program = dump::find(&files.server, &path)?;
        dump::read(&program, &files.directory, span)
    });
    dumped.map(|statistics| (statistics, "pg_waldump")).map_err(|reason| format!("{refused}; {reason}"))
}

/// What there is to read, no further than the server has brought its log to the device.
fn span(control: &mut Control, from: u64, to: u64) -> Result<Span, String> {
    let sql = format!(
        "SELECT least({to}, pg_current_wal_flush_lsn() - '0/0')::int8, \
         current_setting('wal_block_size')::int8, pg_size_bytes(current_setting('wal_segment_size')), \
         (SELECT timeline_id FROM pg_control_checkpoint())"
    );
    let [to, page_bytes, segment_bytes, timeline] = numbers(control, &sql)?;
    Ok(Span {
        from,
        to: to.min(from + LOG_READ_BYTES_MAX),
        timeline: u32::try_from(timeline).unwrap_or(1),
        // The values divide; a server that says zero would be none.
        page_bytes: page_bytes.max(1),
        segment_bytes: segment_bytes.max(1),
    })
}

/// Reads with the extension.
fn inspected(control: &mut Control, span: &Span) -> Result<WalStatistics, String> {
    control.query("CREATE EXTENSION IF NOT EXISTS pg_walinspect").map_err(|error| error.to_string())?;
    let (from, to) = (lsn(span.from), lsn(span.to));
    let (first, page_bytes) = (span.from, span.page_bytes);
    let sql = format!(
        "WITH records AS (SELECT start_lsn - '0/0' AS began, end_lsn - '0/0' AS ended, record_length, \
           resource_manager = 'Transaction' AND record_type LIKE 'COMMIT%' AS is_commit \
           FROM pg_get_wal_records_info('{from}', '{to}') WHERE xid <> '0'), \
         flushes AS (SELECT ended, lag(ended, 1, {first}::numeric) OVER (ORDER BY ended) AS before \
           FROM records WHERE is_commit), \
         written AS (SELECT sum(ceil(ended / {page_bytes}.0) - floor(before / {page_bytes}.0)) AS pages, \
           sum(ended - before) AS new FROM flushes) \
         SELECT count(*) FILTER (WHERE is_commit), count(*), coalesce(sum(record_length), 0), \
           (SELECT coalesce(pages, 0)::int8 FROM written), (SELECT coalesce(new, 0)::int8 FROM written) FROM records"
    );
    let [transactions, records, record_bytes, pages, new_bytes] = numbers(control, &sql)?;
    let sql = format!(
        "SELECT \"resource_manager/record_type\", count, combined_size FROM pg_get_wal_stats('{from}', '{to}', true) \
         WHERE count > 0"
    );
    let rows = control.work(&sql).map_err(|error| error.to_string())?;
    let kind = |row: Vec<Option<String>>| {
        let [Some(name), Some(records), Some(bytes)] = row.as_slice() else { return None };
        Some((name.clone(), RecordTotals { records: records.parse().ok()?, bytes: bytes.parse().ok()? }))
    };
    let kinds = rows.into_iter().filter_map(kind).collect();
    let padding_bytes = (pages * page_bytes).saturating_sub(new_bytes);
    Ok(WalStatistics { transactions, records, record_bytes, pages, padding_bytes, kinds })
}

/// One row of whole numbers.
fn numbers<const N: usize>(control: &mut Control, sql: &str) -> Result<[u64; N], String> {
    let rows = control.work(sql).map_err(|error| error.to_string())?;
    let row = rows.into_iter().next().unwrap_or_default();
    let numbers: Option<Vec<u64>> = row.into_iter().map(|value| value?.parse().ok()).collect();
    numbers
        .and_then(|numbers| numbers.try_into().ok())
        .ok_or_else(|| "the server's answer about its log has no numbers".to_owned())
}

/// Means over the transactions that committed, and all records by type.
fn metrics(statistics: &WalStatistics, work: &Work, source: &str) -> Vec<Metric> {
    let metric = |name: &str, value: f64, unit: &str| Metric::new(name, value, unit, source);
    let mut metrics = Vec::new();
    if statistics.transactions > 0 {
        let mut mean = |name: &str, sum: u64, unit: &str| {
            metrics.push(metric(name, sum as f64 / statistics.transactions as f64, unit));
        };
        mean("transaction_log_records", statistics.records, "1");
        mean("transaction_log_bytes", statistics.record_bytes, "bytes");
        // Without a flush at each commit the WAL writer writes pages at times of its own.
        if work.durability == Durability::Full {
            mean("transaction_log_pages", statistics.pages, "1");
            mean("transaction_log_padding_bytes", statistics.padding_bytes, "bytes");
        }
    }
    let mut kinds = statistics.kinds.clone();
    kinds.sort_by(|left, right| right.1.bytes.cmp(&left.1.bytes).then_with(|| left.0.cmp(&right.0)));
    for (name, kind) in kinds {
        metrics.push(metric(&format!("log_records.{name}"), kind.records as f64, "1"));
        metrics.push(metric(&format!("log_record_bytes.{name}"), kind.bytes as f64, "bytes"));
    }
    metrics
}

#[cfg(test)]
mod tests;
