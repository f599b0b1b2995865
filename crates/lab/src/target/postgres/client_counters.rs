//! What the server counted for the backends of the clients alone (PostgreSQL 18).
//!
//! A backend hands in its figures at most once a second while it is busy, and takes them along when it ends. So each
//! client has its backend hand them in ([`HAND_IN`]) before the figures are read, at both ends of the measured part and
//! outside of it, while the connections are open.

use results::model::Metric;

use super::super::{Counters, TargetError};
use super::control::{Control, literal};

/// What a client says to have its backend's figures complete: they are handed in before the answer is sent.
pub(super) const HAND_IN: &str = "SELECT pg_stat_force_next_flush()";

/// One counter and how it is added up.
struct Asked {
    name: &'static str,
    unit: &'static str,
    /// Over the rows of the function.
    sum: &'static str,
}

const fn asked(name: &'static str, unit: &'static str, sum: &'static str) -> Asked {
    Asked { name, unit, sum }
}

/// `context = 'init'` is the zero-filling of new segments.
const IO: [Asked; 10] = [
    asked("client_log_flushes", "1", "sum(fsyncs) FILTER (WHERE object = 'wal' AND context = 'normal')"),
    asked(
        "client_log_flush_s",
        "s",
        "sum(fsync_time) FILTER (WHERE object = 'wal' AND context = 'normal') / 1000",
    ),
    asked("client_log_writes", "1", "sum(writes) FILTER (WHERE object = 'wal' AND context = 'normal')"),
    asked(
        "client_log_write_s",
        "s",
        "sum(write_time) FILTER (WHERE object = 'wal' AND context = 'normal') / 1000",
    ),
    asked("client_data_reads", "1", "sum(reads) FILTER (WHERE object = 'relation')"),
    asked("client_data_read_s", "s", "sum(read_time) FILTER (WHERE object = 'relation') / 1000"),
    asked("client_data_writes", "1", "sum(writes) FILTER (WHERE object = 'relation')"),
    asked("client_data_write_s", "s", "sum(write_time) FILTER (WHERE object = 'relation') / 1000"),
    asked("client_data_extends", "1", "sum(extends) FILTER (WHERE object = 'relation')"),
    asked("client_data_extend_s", "s", "sum(extend_time) FILTER (WHERE object = 'relation') / 1000"),
];

const LOG: [Asked; 3] = [
    asked("client_log_records", "1", "sum(wal_records)"),
    asked("client_log_full_pages", "1", "sum(wal_fpi)"),
    asked("client_log_buffers_full", "1", "sum(wal_buffers_full)"),
];

/// Adds up the figures of all sessions of this name.
///
/// # Errors
/// The server does not answer.
pub(super) fn read(control: &mut Control, application_name: &str) -> Result<Counters, TargetError> {
    let mut cumulative = Vec::new();
    for (function, list) in [("pg_stat_get_backend_io", &IO[..]), ("pg_stat_get_backend_wal", &LOG[..])] {
        let expressions: Vec<String> =
            list.iter().map(|asked| format!("coalesce({}, 0)::float8", asked.sum)).collect();
        let sql = format!(
            "SELECT {} FROM (SELECT pid FROM pg_stat_activity WHERE application_name = {}) AS sessions, \
             LATERAL {function}(pid) AS counted",
            expressions.join(", "),
            literal(application_name)
        );
        let row = control.rows("could not read the counters of the clients' sessions", &sql)?;
        let values = row.into_iter().next().unwrap_or_default();
        cumulative.extend(list.iter().zip(values).filter_map(|(asked, value)| {
            Some(Metric {
                name: asked.name.to_owned(),
                value: value?.parse().ok()?,
                unit: asked.unit.to_owned(),
                source: format!("{function}() of the clients' sessions"),
            })
        }));
    }
    Ok(Counters { cumulative })
}
