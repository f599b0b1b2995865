//! One SQL sample a second at a PostgreSQL server, over a connection of its own.
//!
//! One prepared statement reads all views at once (about a millisecond of the server's time). Which views there are
//! is found out by asking for each by itself when the sampler begins; what does not answer is named.
//!
//! A backend hands in its statistics at most once a second: counts of a second may appear in the next one. Positions
//! in the log are exact at any moment, and so are the marks of checkpoints, which are found by them: a checkpoint
//! begins when the log passes its redo position and ends when it passes the position of its record.

use lab::engine::TargetError;
use lab::observe::Sampler;
use lab::observe::manual_checkpoint::{Issue, ManualCheckpoints};
use lab::observe::series::{Probe, SampledSeries, Samples, SeriesSampler, series};
use lab::work::Work;

use super::address;
use super::control::Control;
use super::counters::RELATION_PAGES_SOURCE;
use super::wire::Login;

mod checkpoints;
mod groups;
mod reading;

use groups::{CHECKPOINTER, GROUPS};
use reading::PostgresReading;

/// Name of these connections in the list of sessions.
pub(super) const CONTROL_NAME: &str = "fathom-control-series";

/// The sampler of the counters of any running server, as its runs have it: what a sample a second costs can be tried.
///
/// # Errors
/// A URL that is none.
pub fn series_of(url: &str) -> Result<Box<dyn Sampler>, TargetError> {
    let login = address::parse(url, CONTROL_NAME)?;
    Ok(Box::new(SeriesSampler::new(PostgresProbe::new(login))))
}

/// The counters of a run and, where the work asks for them, its manual checkpoints; each over a connection of its
/// own, since a checkpoint can take longer than a second.
pub(super) fn samplers(login: &Login, work: &Work) -> Vec<Box<dyn Sampler>> {
    let mut samplers: Vec<Box<dyn Sampler>> =
        vec![Box::new(SeriesSampler::new(PostgresProbe::new(login.clone())))];
    if let Some(period) = work.manual_checkpoint_every {
        samplers.push(Box::new(ManualCheckpoints::new(period, checkpoint_over(login.clone()))));
    }
    samplers
}

/// Sends CHECKPOINT over a connection that is made for the first one and made again when it is gone.
fn checkpoint_over(login: Login) -> Issue {
    let mut connection: Option<Control> = None;
    Box::new(move || {
        let mut control = match connection.take().filter(Control::is_usable) {
            Some(control) => control,
            None => Control::connect(&login).map_err(|error| format!("could not connect: {error}"))?,
        };
        let outcome = control.work("CHECKPOINT").map(|_| String::new()).map_err(|error| error.to_string());
        connection = Some(control);
        outcome
    })
}

/// Samples the server's counters.
#[derive(Debug)]
pub(super) struct PostgresProbe {
    login: Login,
    connection: Option<Prepared>,
    missing: Vec<String>,
}

/// A connection with the statement of one sample.
#[derive(Debug)]
struct Prepared {
    control: Control,
    names: Vec<&'static str>,
}

impl PostgresProbe {
    /// Will connect when it begins.
    pub(super) fn new(login: Login) -> Self {
        Self { login, connection: None, missing: Vec::new() }
    }

    fn connect(&mut self) -> Result<Prepared, String> {
        let mut control =
            Control::connect(&self.login).map_err(|error| format!("could not connect: {error}"))?;
        let major: u32 = control
            .probe("SHOW server_version_num")
            .and_then(|text| text.parse::<u32>().ok())
            .map_or(0, |number| number / 10_000);
        // Each sample must see what is there now; older servers know no such setting and need none.
        let _ = control.query("SET stats_fetch_consistency = none");
        self.missing.clear();
        let (mut queries, mut outputs, mut names) = (Vec::new(), Vec::new(), Vec::new());
        for group in GROUPS.iter().chain([&CHECKPOINTER]).filter(|group| group.majors.contains(&major)) {
            match control.query(&group.query()) {
                Ok(rows) if rows.len() == 1 => {
                    queries.push(format!("({}) AS {}", group.query(), group.alias));
                    for (name, _) in group.columns {
                        outputs.push(format!("{}.{name}", group.alias));
                        names.push(*name);
                    }
                }
                Ok(_) => self.missing.push(group.subject.to_owned()),
                Err(error) => self.missing.push(format!("{}: {error}", group.subject)),
            }
        }
        if queries.is_empty() {
            return Err(format!("the server answers none of our questions: {}", self.missing.join("; ")));
        }
        let statement =
            format!("PREPARE fathom_sample AS SELECT {} FROM {}", outputs.join(", "), queries.join(", "));
        control
            .query(&statement)
            .map_err(|error| format!("could not prepare the query of the sampler: {error}"))?;
        Ok(Prepared { control, names })
    }
}

impl Probe for PostgresProbe {
    type Reading = PostgresReading;

    fn name(&self) -> String {
        "postgres_counters".to_owned()
    }

    /// Connects again when the connection is gone, as after a restart of the server.
    fn sample(&mut self) -> Result<PostgresReading, String> {
        let mut prepared = match self.connection.take().filter(|prepared| prepared.control.is_usable()) {
            Some(prepared) => prepared,
            None => self.connect()?,
        };
        let rows = prepared.control.query("EXECUTE fathom_sample");
        let row = rows
            .map_err(|error| format!("could not read the counters of the server: {error}"))
            .map(|rows| rows.into_iter().next().unwrap_or_default());
        let names = prepared.names.clone();
        self.connection = Some(prepared);
        let numbers = row?.into_iter().map(|value| value.and_then(|text| text.parse::<f64>().ok()));
        Ok(names.into_iter().zip(numbers).filter_map(|(name, value)| Some((name, value?))).collect())
    }

    fn series(self, samples: &Samples<PostgresReading>) -> SampledSeries {
        if let Some(prepared) = self.connection {
            prepared.control.close();
        }
        let problem = (!self.missing.is_empty())
            .then(|| format!("the server does not show {}", self.missing.join("; ")));
        SampledSeries { series: all_series(samples), events: checkpoints::events(samples), problem }
    }
}

/// Running totals that become rates: series, number of the sample, unit, source.
const RATES: [(&str, &str, &str, &str); 14] = [
    ("log_bytes_per_s", "log_position", "bytes/s", "pg_current_wal_insert_lsn()"),
    ("log_flushes_per_s", "log_flushes", "1/s", "pg_stat_wal.wal_sync; from 18 pg_stat_io.fsyncs of the log"),
    ("log_writes_per_s", "log_writes", "1/s", "pg_stat_wal.wal_write; from 18 pg_stat_io.writes of the log"),
    ("log_full_pages_per_s", "log_full_pages", "1/s", "pg_stat_wal.wal_fpi"),
    ("log_buffers_full_per_s", "log_buffers_full", "1/s", "pg_stat_wal.wal_buffers_full"),
    ("pages_allocated_per_s", "pages_allocated", "1/s", RELATION_PAGES_SOURCE),
    (
        "pages_extended_per_s",
        "pages_extended",
        "1/s",
        "pg_stat_io.extends; from 18 extend_bytes over the block size",
    ),
    (
        "checkpoint_pages_per_s",
        "checkpoint_pages",
        "1/s",
        "pg_stat_bgwriter.buffers_checkpoint; from 17 pg_stat_checkpointer.buffers_written",
    ),
    ("background_pages_per_s", "background_pages", "1/s", "pg_stat_bgwriter.buffers_clean"),
    (
        "backend_pages_per_s",
        "backend_pages",
        "1/s",
        "pg_stat_bgwriter.buffers_backend, extensions included; from 16 pg_stat_io.writes of client backends, \
         from 18 write_bytes over the block size",
    ),
    (
        "checkpoints_per_s",
        "checkpoints",
        "1/s",
        "pg_stat_bgwriter.checkpoints_timed + checkpoints_req; from 17 pg_stat_checkpointer",
    ),
    ("write_transactions_per_s", "write_transactions", "1/s", "pg_snapshot_xmax(pg_current_snapshot())"),
    ("transactions_per_s", "transactions", "1/s", "pg_stat_database.xact_commit"),
    ("data_growth_bytes_per_s", "data_size_bytes", "bytes/s", "pg_database_size()"),
];

/// States: series, which is also the number of the sample, unit, source.
const GAUGES: [(&str, &str, &str); 4] = [
    ("log_size_bytes", "bytes", "pg_ls_waldir()"),
    ("log_segments", "1", "pg_ls_waldir()"),
    ("data_size_bytes", "bytes", "pg_database_size()"),
    ("checkpoint_active", "1", "pg_stat_activity.wait_event of the checkpointer"),
];

/// Milliseconds per call: series, total time, total count, source.
const TIMES: [(&str, &str, &str, &str); 2] = [
    (
        "log_flush_ms",
        "log_flush_ms",
        "log_flushes",
        "pg_stat_wal.wal_sync_time; from 18 pg_stat_io.fsync_time",
    ),
    (
        "log_write_ms",
        "log_write_ms",
        "log_writes",
        "pg_stat_wal.wal_write_time; from 18 pg_stat_io.write_time",
    ),
];

fn all_series(samples: &Samples<PostgresReading>) -> Vec<results::observations::Series> {
    let rates = RATES.iter().map(|(name, number, unit, source)| {
        samples.rate(series(*name, unit, *source), |reading| reading.get(number).copied())
    });
    let gauges = GAUGES.iter().map(|(name, unit, source)| {
        samples.gauge(series(*name, unit, *source), |reading| reading.get(name).copied())
    });
    let times = TIMES.iter().map(|(name, time, count, source)| {
        samples.ratio(
            series(*name, "ms", *source),
            // Nor where only the clients' sessions have switched timing off: then all times are zero.
            |reading| reading.get(time).copied().filter(|total_ms| *total_ms > 0.0),
            |reading| reading.get(count).copied(),
        )
    });
    rates.chain(gauges).chain(times).flatten().collect()
}

#[cfg(test)]
mod tests;
