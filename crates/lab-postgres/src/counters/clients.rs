//! What the server counted for the backends of the clients alone (PostgreSQL 18).
//!
//! A backend hands in its figures at most once a second while it is busy, and takes them along when it ends. So each
//! client has its backend hand them in ([`FLUSH_STATS`]) before the figures are read, at both ends of the measured part and
//! outside of it, while the connections are open.

use lab::engine::{Counters, TargetError};
use results::model::Metric;

use crate::control::{Control, literal};
use crate::counters::wal_time;

/// What a client says to have its backend's figures complete: they are handed in before the answer is sent.
pub(crate) const FLUSH_STATS: &str = "SELECT pg_stat_force_next_flush()";

/// One counter and how it is added up.
struct Asked {
    name: &'static str,
    unit: &'static str,
    /// Over the rows of the function; NULL is not known.
    sum: &'static str,
}

const fn asked(name: &'static str, unit: &'static str, sum: &'static str) -> Asked {
    Asked { name, unit, sum }
}

/// Seconds of a time of data files; NULL while the server does not take it.
macro_rules! data_time {
    ($column:literal) => {
        concat!(
            "CASE WHEN current_setting('track_io_timing')::bool THEN coalesce(sum(",
            $column,
            ") FILTER (WHERE object = 'relation'), 0) / 1000 END"
        )
    };
}

/// Pages, as `data_reads` and the others count them on all versions.
macro_rules! data_pages {
    ($column:literal) => {
        concat!(
            "coalesce(sum(",
            $column,
            ") FILTER (WHERE object = 'relation'), 0) / current_setting('block_size')::bigint"
        )
    };
}

/// `context = 'init'` is the zero-filling of new segments.
const IO: [Asked; 13] = [
    asked(
        "client_log_flushes",
        "1",
        "coalesce(sum(fsyncs) FILTER (WHERE object = 'wal' AND context = 'normal'), 0)",
    ),
    asked(
        "client_log_flush_s",
        "s",
        wal_time!("coalesce(sum(fsync_time) FILTER (WHERE object = 'wal' AND context = 'normal'), 0)"),
    ),
    asked(
        "client_log_writes",
        "1",
        "coalesce(sum(writes) FILTER (WHERE object = 'wal' AND context = 'normal'), 0)",
    ),
    asked(
        "client_log_write_s",
        "s",
        wal_time!("coalesce(sum(write_time) FILTER (WHERE object = 'wal' AND context = 'normal'), 0)"),
    ),
    asked("client_data_reads", "1", data_pages!("read_bytes")),
    asked("client_data_read_calls", "1", "coalesce(sum(reads) FILTER (WHERE object = 'relation'), 0)"),
    asked("client_data_read_s", "s", data_time!("read_time")),
    asked("client_data_writes", "1", data_pages!("write_bytes")),
    asked("client_data_write_calls", "1", "coalesce(sum(writes) FILTER (WHERE object = 'relation'), 0)"),
    asked("client_data_write_s", "s", data_time!("write_time")),
    asked("client_data_extends", "1", data_pages!("extend_bytes")),
    asked("client_data_extend_calls", "1", "coalesce(sum(extends) FILTER (WHERE object = 'relation'), 0)"),
    asked("client_data_extend_s", "s", data_time!("extend_time")),
];

const LOG: [Asked; 3] = [
    asked("client_log_records", "1", "coalesce(sum(wal_records), 0)"),
    asked("client_log_full_pages", "1", "coalesce(sum(wal_fpi), 0)"),
    asked("client_log_buffers_full", "1", "coalesce(sum(wal_buffers_full), 0)"),
];

/// Adds up the figures of all sessions of this name.
///
/// # Errors
/// The server does not answer.
pub(crate) fn read(control: &mut Control, application_name: &str) -> Result<Counters, TargetError> {
    let mut cumulative = Vec::new();
    for (function, list) in [("pg_stat_get_backend_io", &IO[..]), ("pg_stat_get_backend_wal", &LOG[..])] {
        let expressions: Vec<String> = list.iter().map(|asked| format!("({})::float8", asked.sum)).collect();
        let sql = format!(
            "SELECT {} FROM (SELECT pid FROM pg_stat_activity WHERE application_name = {}) AS sessions, \
             LATERAL {function}(pid) AS counted",
            expressions.join(", "),
            literal(application_name)
        );
        let row = control.rows("could not read the counters of the clients' sessions", &sql)?;
        let values = row.into_iter().next().unwrap_or_default();
        cumulative.extend(list.iter().zip(values).filter_map(|(asked, value)| {
            Some(Metric::new(
                asked.name,
                value?.parse().ok()?,
                asked.unit,
                &format!("{function}() of the clients' sessions"),
            ))
        }));
    }
    Ok(Counters { cumulative })
}
