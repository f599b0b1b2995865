//! The server's cumulative counters, its settings and its facts.
//!
//! A backend hands in its statistics at most once a second while it is busy, and at last when it ends. So the
//! counters after a run are complete only when they are read after the clients closed their sessions, whose `close`
//! waits for the end of the backend.

use lab::engine::{Counters, TargetError};
use results::model::{Metric, Setting};
use results::settings::recorded;

use super::capabilities::Capabilities;
use super::control::Control;

pub(crate) mod clients;
mod post_run_state;
pub(crate) mod wal_records;

pub(super) use post_run_state::post_run_state;

/// Looks at the collector of PostgreSQL 14 until its figures are newer than the question: it writes them down at
/// most every half second.
const COLLECTOR_READS_MAX: u32 = 50;

/// One counter and how it is asked for.
struct Asked {
    name: &'static str,
    unit: &'static str,
    source: &'static str,
    sql: &'static str,
}

const fn asked(name: &'static str, unit: &'static str, source: &'static str, sql: &'static str) -> Asked {
    Asked { name, unit, source, sql }
}

/// Pages of all tables of the database that are not the server's own, with all forks, TOAST tables and indexes. The
/// database is fathom's own, so these are the tables of the run.
macro_rules! relation_pages {
    () => {
        "SELECT coalesce(sum(pg_total_relation_size(class.oid)), 0)::bigint \
         / current_setting('block_size')::bigint AS pages \
         FROM pg_class AS class JOIN pg_namespace AS namespace ON namespace.oid = class.relnamespace \
         WHERE class.relkind IN ('r', 'm') \
         AND namespace.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')"
    };
}
pub(super) use relation_pages;

/// What the results call the source of [`relation_pages`].
pub(super) const RELATION_PAGES_SOURCE: &str =
    "pg_total_relation_size() over the block size, tables of the run";

macro_rules! stat_io_sum {
    ($column:literal) => {
        concat!("SELECT coalesce(sum(", $column, "), 0) FROM pg_stat_io WHERE object = 'relation'")
    };
}

macro_rules! stat_io_pages {
    ($column:literal) => {
        concat!(
            "SELECT coalesce(sum(",
            $column,
            "), 0) / current_setting('block_size')::bigint FROM pg_stat_io WHERE object = 'relation'"
        )
    };
}

/// Seconds of a time of the log in milliseconds; NULL while the server does not take it: it stays 0 then.
macro_rules! wal_time {
    ($milliseconds:literal) => {
        concat!("CASE WHEN current_setting('track_wal_io_timing')::bool THEN ", $milliseconds, " / 1000 END")
    };
}
pub(super) use wal_time;

macro_rules! stat_io_time {
    ($column:literal) => {
        concat!(
            "SELECT CASE WHEN current_setting('track_io_timing')::bool THEN coalesce(sum(",
            $column,
            "), 0) / 1000 END FROM pg_stat_io WHERE object = 'relation'"
        )
    };
}

const LOG_BYTES: Asked = asked(
    "log_bytes",
    "bytes",
    "pg_current_wal_insert_lsn()",
    "SELECT (pg_current_wal_insert_lsn() - '0/0')::text",
);
const STAT_WAL: [Asked; 3] = [
    asked("log_records", "1", "pg_stat_wal.wal_records", "SELECT wal_records FROM pg_stat_wal"),
    asked("log_full_pages", "1", "pg_stat_wal.wal_fpi", "SELECT wal_fpi FROM pg_stat_wal"),
    asked(
        "log_buffers_full",
        "1",
        "pg_stat_wal.wal_buffers_full",
        "SELECT wal_buffers_full FROM pg_stat_wal",
    ),
];
const STAT_WAL_SYNC: [Asked; 4] = [
    asked("log_flushes", "1", "pg_stat_wal.wal_sync", "SELECT wal_sync FROM pg_stat_wal"),
    asked(
        "log_flush_s",
        "s",
        "pg_stat_wal.wal_sync_time",
        concat!("SELECT ", wal_time!("wal_sync_time"), " FROM pg_stat_wal"),
    ),
    asked("log_writes", "1", "pg_stat_wal.wal_write", "SELECT wal_write FROM pg_stat_wal"),
    asked(
        "log_write_s",
        "s",
        "pg_stat_wal.wal_write_time",
        concat!("SELECT ", wal_time!("wal_write_time"), " FROM pg_stat_wal"),
    ),
];
/// `context = 'init'` is the zero-filling of new segments, which the older view does not count either.
const STAT_IO_LOG: [Asked; 4] = [
    asked(
        "log_flushes",
        "1",
        "pg_stat_io.fsyncs where object = 'wal'",
        "SELECT sum(fsyncs) FROM pg_stat_io WHERE object = 'wal' AND context = 'normal'",
    ),
    asked(
        "log_flush_s",
        "s",
        "pg_stat_io.fsync_time where object = 'wal'",
        concat!(
            "SELECT ",
            wal_time!("sum(fsync_time)"),
            " FROM pg_stat_io WHERE object = 'wal' AND context = 'normal'"
        ),
    ),
    asked(
        "log_writes",
        "1",
        "pg_stat_io.writes where object = 'wal'",
        "SELECT sum(writes) FROM pg_stat_io WHERE object = 'wal' AND context = 'normal'",
    ),
    asked(
        "log_write_s",
        "s",
        "pg_stat_io.write_time where object = 'wal'",
        concat!(
            "SELECT ",
            wal_time!("sum(write_time)"),
            " FROM pg_stat_io WHERE object = 'wal' AND context = 'normal'"
        ),
    ),
];
/// Data files, all processes together. Times are there only while the server takes them.
const STAT_IO: [Asked; 5] = [
    asked("data_read_s", "s", "pg_stat_io.read_time", stat_io_time!("read_time")),
    asked("data_write_s", "s", "pg_stat_io.write_time", stat_io_time!("write_time")),
    asked("data_extend_s", "s", "pg_stat_io.extend_time", stat_io_time!("extend_time")),
    asked("data_flushes", "1", "pg_stat_io.fsyncs", stat_io_sum!("fsyncs")),
    asked("data_flush_s", "s", "pg_stat_io.fsync_time", stat_io_time!("fsync_time")),
];
/// Pages, before 18: each of them is one operation of `op_bytes`, however many one call transfers.
// OBSERVED: PostgreSQL 16.15 and 17.11, 1000 pages read by one sequential scan: reads 1000
const STAT_IO_PAGES: [Asked; 6] = [
    asked("data_reads", "1", "pg_stat_io.reads", stat_io_sum!("reads")),
    asked("data_read_bytes", "bytes", "pg_stat_io.reads times op_bytes", stat_io_sum!("reads * op_bytes")),
    asked("data_writes", "1", "pg_stat_io.writes", stat_io_sum!("writes")),
    asked(
        "data_written_bytes",
        "bytes",
        "pg_stat_io.writes times op_bytes",
        stat_io_sum!("writes * op_bytes"),
    ),
    asked("data_extends", "1", "pg_stat_io.extends", stat_io_sum!("extends")),
    asked(
        "data_extended_bytes",
        "bytes",
        "pg_stat_io.extends times op_bytes",
        stat_io_sum!("extends * op_bytes"),
    ),
];
/// From 18: calls and their bytes.
// OBSERVED: PostgreSQL 18.6, 1000 pages read by one sequential scan: reads below 100, read_bytes 8192000
const STAT_IO_CALLS: [Asked; 9] = [
    asked("data_reads", "1", "pg_stat_io.read_bytes over the block size", stat_io_pages!("read_bytes")),
    asked("data_read_bytes", "bytes", "pg_stat_io.read_bytes", stat_io_sum!("read_bytes")),
    asked("data_read_calls", "1", "pg_stat_io.reads", stat_io_sum!("reads")),
    asked("data_writes", "1", "pg_stat_io.write_bytes over the block size", stat_io_pages!("write_bytes")),
    asked("data_written_bytes", "bytes", "pg_stat_io.write_bytes", stat_io_sum!("write_bytes")),
    asked("data_write_calls", "1", "pg_stat_io.writes", stat_io_sum!("writes")),
    asked("data_extends", "1", "pg_stat_io.extend_bytes over the block size", stat_io_pages!("extend_bytes")),
    asked("data_extended_bytes", "bytes", "pg_stat_io.extend_bytes", stat_io_sum!("extend_bytes")),
    asked("data_extend_calls", "1", "pg_stat_io.extends", stat_io_sum!("extends")),
];
/// Sizes of files, exact at any moment. `pg_stat_bgwriter.buffers_alloc` is published late and counts reads.
const GROWTH: Asked = asked("pages_allocated", "1", RELATION_PAGES_SOURCE, relation_pages!());
const CHECKPOINTER: [Asked; 2] = [
    asked(
        "checkpoints",
        "1",
        "pg_stat_checkpointer.num_timed + num_requested",
        "SELECT num_timed + num_requested FROM pg_stat_checkpointer",
    ),
    asked(
        "checkpoint_pages",
        "1",
        "pg_stat_checkpointer.buffers_written",
        "SELECT buffers_written FROM pg_stat_checkpointer",
    ),
];
const BGWRITER_CHECKPOINTS: [Asked; 2] = [
    asked(
        "checkpoints",
        "1",
        "pg_stat_bgwriter.checkpoints_timed + checkpoints_req",
        "SELECT checkpoints_timed + checkpoints_req FROM pg_stat_bgwriter",
    ),
    asked(
        "checkpoint_pages",
        "1",
        "pg_stat_bgwriter.buffers_checkpoint",
        "SELECT buffers_checkpoint FROM pg_stat_bgwriter",
    ),
];
const TRANSACTIONS: [Asked; 2] = [
    asked(
        "transactions",
        "1",
        "pg_stat_database.xact_commit",
        "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()",
    ),
    asked(
        "transaction_ids",
        "1",
        "pg_snapshot_xmax(pg_current_snapshot())",
        "SELECT pg_snapshot_xmax(pg_current_snapshot())::text",
    ),
];

/// Reads what this server has. What it turns out not to have after all is left out.
///
/// # Errors
/// The connection is gone.
pub(super) fn read(control: &mut Control, capabilities: &Capabilities) -> Result<Counters, TargetError> {
    if capabilities.stat_bgwriter {
        await_fresh(control, capabilities)?;
    }
    let mut list: Vec<&Asked> = Vec::new();
    if capabilities.log_position {
        list.push(&LOG_BYTES);
    }
    if capabilities.stat_wal {
        list.extend(&STAT_WAL);
    }
    if capabilities.stat_wal_sync {
        list.extend(&STAT_WAL_SYNC);
    } else if capabilities.stat_io_log {
        list.extend(&STAT_IO_LOG);
    }
    if capabilities.stat_io {
        list.extend(&STAT_IO);
        match capabilities.stat_io_bytes {
            true => list.extend(&STAT_IO_CALLS),
            false => list.extend(&STAT_IO_PAGES),
        }
    }
    if capabilities.relation_size {
        list.push(&GROWTH);
    }
    if capabilities.stat_checkpointer {
        list.extend(&CHECKPOINTER);
    } else if capabilities.stat_bgwriter {
        list.extend(&BGWRITER_CHECKPOINTS);
    }
    list.extend(&TRANSACTIONS);
    let cumulative = list
        .into_iter()
        .filter_map(|asked| {
            Some(Metric::new(asked.name, control.probe(asked.sql)?.parse().ok()?, asked.unit, asked.source))
        })
        .collect();
    Ok(Counters { cumulative })
}

/// Sees to it that the next look at the statistics shows what was handed in until now.
fn await_fresh(control: &mut Control, capabilities: &Capabilities) -> Result<(), TargetError> {
    let context = "could not read the counters of the server";
    if capabilities.shared_statistics {
        // Our own share, too; that of a client is handed in when its session ends.
        control.rows(context, "SELECT pg_stat_force_next_flush()")?;
        return Ok(());
    }
    let asked_at = control.value(context, "SELECT clock_timestamp()::text")?.unwrap_or_default();
    let is_newer = format!(
        "SELECT pg_stat_clear_snapshot(); \
         SELECT (pg_stat_get_snapshot_timestamp() > {}::timestamptz)::int FROM pg_stat_bgwriter",
        super::control::literal(&asked_at)
    );
    for _ in 0..COLLECTOR_READS_MAX {
        let rows = control.rows(context, &is_newer)?;
        if rows.last().and_then(|row| row.first()?.as_deref()) == Some("1") {
            return Ok(());
        }
        control.rows(context, "SELECT pg_sleep(0.05)")?;
    }
    Err(TargetError::engine(context, "the statistics collector did not answer in time"))
}

/// Sessions that the server lists under the name of this run's clients.
pub(super) fn clients_seen(control: &mut Control, application_name: &str) -> Result<u32, TargetError> {
    let sql = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = {}",
        super::control::literal(application_name)
    );
    control.number("could not count the clients that the server sees", &sql)
}

/// Cancels what the run's clients have running.
pub(super) fn interrupt(control: &mut Control, application_name: &str) -> Result<(), TargetError> {
    let sql = format!(
        "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = {}",
        super::control::literal(application_name)
    );
    control.rows("could not interrupt the clients of the run", &sql).map(drop)
}

/// Settings that differ from the values that the server is built with, with their units; of those that are not on the
/// list of recorded settings the name alone. A configuration file that says the same as the default is no difference.
pub(super) fn settings(control: &mut Control) -> Result<Vec<Setting>, TargetError> {
    let rows = control.rows(
        "could not read the settings of the server",
        "SELECT name, CASE WHEN unit IS NULL THEN setting ELSE current_setting(name) END, source FROM pg_settings \
         WHERE source NOT IN ('default', 'override', 'client', 'session') \
         AND coalesce(setting, '') <> coalesce(boot_val, '') ORDER BY name",
    )?;
    Ok(rows
        .into_iter()
        .filter_map(|row| {
            let mut values = row.into_iter();
            Some(recorded(Setting {
                name: values.next()??,
                value: values.next()?.unwrap_or_default(),
                source: values.next()?.unwrap_or_default(),
            }))
        })
        .collect())
}

/// Version, build and layout facts that the server tells.
pub(super) fn facts(control: &mut Control, capabilities: &Capabilities) -> serde_json::Value {
    let mut facts = serde_json::json!({
        "version": capabilities.version,
        "version_num": capabilities.version_num,
        "family": format!("{:?}", capabilities.family),
    });
    for name in
        ["block_size", "data_checksums", "wal_segment_size", "server_encoding", "lc_collate", "autovacuum"]
    {
        if let Some(value) = control.probe(&format!("SHOW {name}")) {
            facts[name] = value.into();
        }
    }
    if let Ok(rows) =
        control.query("SELECT name, setting FROM pg_config WHERE name IN ('CONFIGURE', 'CC', 'CFLAGS')")
    {
        for row in rows {
            if let [Some(name), Some(setting)] = row.as_slice() {
                facts["compile_options"][name] = setting.clone().into();
            }
        }
    }
    facts
}
