//! What the instrumented engine did, under the names that every engine uses.

use lab::engine::{Counters, LogRecords};
use lab::work::Work;
use results::model::Metric;

use super::vfs::{Call, CallTotals, Role, Totals};

pub(crate) mod cache;

/// Where every figure here comes from.
pub(super) const SOURCE: &str = "calls of SQLite to its VFS";

/// Where the bytes of a transaction lie before they are in the database file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LogKind {
    /// A write-ahead log: new pages.
    WriteAhead,
    /// A rollback journal: old pages.
    Rollback,
    /// Nothing in a file.
    None,
}

impl LogKind {
    /// What a `journal_mode` means.
    pub(super) fn of(journal_mode: &str) -> Self {
        match journal_mode {
            "wal" => Self::WriteAhead,
            "memory" | "off" => Self::None,
            _ => Self::Rollback,
        }
    }
}

/// Cumulative counters for the record of a run.
pub(super) fn metrics(totals: &Totals, log: LogKind) -> Vec<Metric> {
    let mut metrics = log_metrics(totals, log);
    let data = |call| totals.of(Role::Database, call);
    let mut flushes = data(Call::Sync);
    flushes += data(Call::CheckpointSync);
    metrics.extend([
        metric("data_written_bytes", data(Call::Write).bytes as f64, "bytes"),
        metric("data_writes", data(Call::Write).count as f64, "1"),
        metric("data_write_s", data(Call::Write).seconds(), "s"),
        metric("data_flushes", flushes.count as f64, "1"),
        metric("data_flush_s", flushes.seconds(), "s"),
        metric("data_read_bytes", data(Call::Read).bytes as f64, "bytes"),
        metric("data_reads", data(Call::Read).count as f64, "1"),
        metric("data_read_s", data(Call::Read).seconds(), "s"),
        metric("pages_allocated", totals.pages_allocated as f64, "1"),
    ]);
    let sleeps = totals.of_all(Call::Sleep);
    metrics.extend([
        metric("busy_waits", sleeps.count as f64, "1"),
        metric("busy_wait_s", sleeps.seconds(), "s"),
    ]);
    metrics
}

/// What one transaction puts into the log, where there was one client. Frames are the records of this log: whole pages,
/// each with a header. No block is padded, so there are no more figures.
pub(super) fn of_transactions(
    work: &Work,
    before: &Counters,
    after: &Counters,
    transaction_count: u64,
) -> LogRecords {
    let value = |counters: &Counters, name: &str| {
        counters.cumulative.iter().find(|metric| metric.name == name).map(|metric| metric.value)
    };
    let mean = |name: &str, of: &str, unit: &str| {
        let sum = value(after, of)? - value(before, of)?;
        let is_one_clients = work.connections == 1 && transaction_count > 0;
        is_one_clients.then(|| metric(name, sum / transaction_count as f64, unit))
    };
    let both = [
        mean("transaction_log_records", "log_frames", "1"),
        mean("transaction_log_bytes", "log_bytes", "bytes"),
    ];
    LogRecords { metrics: both.into_iter().flatten().collect(), warning: None }
}

fn log_metrics(totals: &Totals, log: LogKind) -> Vec<Metric> {
    let role = match log {
        LogKind::WriteAhead => Role::Log,
        LogKind::Rollback => Role::Journal,
        LogKind::None => return Vec::new(),
    };
    let of = |call| totals.of(role, call);
    let flushes = log_flushes(totals, role);
    let mut metrics = vec![
        metric("log_flushes", flushes.count as f64, "1"),
        metric("log_flush_s", flushes.seconds(), "s"),
        metric("log_writes", of(Call::Write).count as f64, "1"),
        metric("log_write_s", of(Call::Write).seconds(), "s"),
    ];
    if log == LogKind::Rollback {
        metrics.push(metric("journal_bytes", of(Call::Write).bytes as f64, "bytes"));
        return metrics;
    }
    metrics.extend([
        metric("log_bytes", of(Call::Write).bytes as f64, "bytes"),
        metric("log_checkpoint_flushes", of(Call::CheckpointSync).count as f64, "1"),
        metric("log_frames", totals.log_frames as f64, "1"),
        metric("log_starts", totals.log_starts as f64, "1"),
        metric("log_growths", totals.log_growths.count as f64, "1"),
        metric("log_growth_bytes", totals.log_growths.bytes as f64, "bytes"),
        metric("log_growth_s", totals.log_growths.seconds(), "s"),
        metric("checkpoints", totals.checkpoints.count as f64, "1"),
        metric("checkpoint_s", totals.checkpoints.seconds(), "s"),
        metric("checkpoint_pages", totals.checkpoint_pages as f64, "1"),
    ]);
    metrics
}

/// Flushes of the log, those of checkpoints included.
pub(super) fn log_flushes(totals: &Totals, role: Role) -> CallTotals {
    let mut flushes = totals.of(role, Call::Sync);
    flushes += totals.of(role, Call::CheckpointSync);
    flushes
}

fn metric(name: &str, value: f64, unit: &str) -> Metric {
    Metric::new(name, value, unit, SOURCE)
}

/// What this process has written: the engine is in it.
pub(super) fn process_metrics() -> Vec<Metric> {
    let Some(io) = disk::counters::process_io(std::process::id()).ok() else {
        return Vec::new();
    };
    let metric = |name: &str, value: u64, unit: &str, field: &str| {
        Metric::new(name, value as f64, unit, &format!("/proc/self/io {field}"))
    };
    vec![
        metric("engine_written_bytes", io.wchar, "bytes", "wchar"),
        metric("engine_write_calls", io.syscw, "1", "syscw"),
        metric("engine_device_write_bytes", io.write_bytes, "bytes", "write_bytes"),
    ]
}
