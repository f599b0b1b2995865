//! Sizes of an SQLite database and its log, once a second, by asking for the files from outside; and the checkpoints
//! that a run asks for.
//!
//! No file is opened: closing any descriptor of the database or of its shared-memory file would take away the locks
//! that SQLite holds on it in the same process (fcntl(2)).

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lab::observe::Sampler;
use lab::observe::manual_checkpoint::{Issue, ManualCheckpoints};
use lab::observe::series::{Probe, SampledSeries, Samples, SeriesSampler, series};
use lab::work::Work;
use results::model::Event;
use rusqlite::Connection;

/// The log file is larger than at the sample before.
const LOG_GROWTH: &str = "log_growth";

/// Marks that are kept.
const MARKS_MAX: usize = 10_000;

/// Between two tries of a checkpoint to get the lock for writing. SQLite's own busy handler sleeps up to 100 ms, and
/// writers that go from one transaction to the next leave the lock free for some 20 microseconds only: a checkpoint that
/// sleeps long never meets them.
const TRY_EVERY: Duration = Duration::from_micros(50);

/// Tries before a checkpoint does what it can without the lock: at least 5 s, since no sleep is shorter than asked for.
const TRIES_MAX: i32 = 100_000;

/// Samples at the files of `database` and, where the work asks for them, its manual checkpoints over connections that
/// `open` makes.
pub(crate) fn samplers(
    database: &Path,
    work: &Work,
    open: impl Fn() -> Result<Connection, String> + Send + 'static,
) -> Vec<Box<dyn Sampler>> {
    let mut samplers: Vec<Box<dyn Sampler>> = vec![Box::new(SeriesSampler::new(FilesProbe::new(database)))];
    if let Some(period) = work.manual_checkpoint_every {
        samplers.push(Box::new(ManualCheckpoints::new(period, checkpoint_over(open, try_again))));
    }
    samplers
}

/// Sizes at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FilesReading {
    data_bytes: u64,
    /// `None` where there is no write-ahead log.
    log_bytes: Option<u64>,
}

#[derive(Debug)]
struct FilesProbe {
    database: PathBuf,
    log_path: PathBuf,
}

impl FilesProbe {
    fn new(database: &Path) -> Self {
        let mut log_path = OsString::from(database);
        log_path.push("-wal");
        Self { database: database.to_owned(), log_path: log_path.into() }
    }
}

impl Probe for FilesProbe {
    type Reading = FilesReading;

    fn name(&self) -> String {
        "sqlite_files".to_owned()
    }

    fn sample(&mut self) -> Result<FilesReading, String> {
        let data = std::fs::metadata(&self.database)
            .map_err(|error| format!("could not inspect \"{}\": {error}", self.database.display()))?;
        let log_bytes = std::fs::metadata(&self.log_path).ok().map(|log| log.len());
        Ok(FilesReading { data_bytes: data.len(), log_bytes })
    }

    fn series(self, samples: &Samples<FilesReading>) -> SampledSeries {
        let log = |reading: &FilesReading| reading.log_bytes.map(|bytes| bytes as f64);
        let data = |reading: &FilesReading| Some(reading.data_bytes as f64);
        let all = [
            samples.gauge(series("log_size_bytes", "bytes", "size of the -wal file"), log),
            samples.gauge(series("data_size_bytes", "bytes", "size of the database file"), data),
            samples.rate(series("data_growth_bytes_per_s", "bytes/s", "size of the database file"), data),
        ];
        SampledSeries { series: all.into_iter().flatten().collect(), events: growths(samples), problem: None }
    }
}

fn growths(samples: &Samples<FilesReading>) -> Vec<Event> {
    let seen: Vec<_> = samples.seen().collect();
    let growth = |pair: &[(i64, &FilesReading)]| {
        let [(_, before), (at_ns, after)] = pair else { return None };
        let (old_bytes, new_bytes) = (before.log_bytes?, after.log_bytes?);
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        (new_bytes > old_bytes).then(|| Event {
            at_ns: *at_ns,
            kind: LOG_GROWTH.to_owned(),
            text: format!("by {:.1} MiB to {:.1} MiB", mib(new_bytes - old_bytes), mib(new_bytes)),
        })
    };
    seen.windows(2).filter_map(growth).take(MARKS_MAX).collect()
}

/// SQLite's question while a checkpoint waits for writers or readers.
fn try_again(tries: i32) -> bool {
    std::thread::sleep(TRY_EVERY);
    tries < TRIES_MAX
}

fn checkpoint_over(
    open: impl Fn() -> Result<Connection, String> + Send + 'static,
    is_to_wait: fn(i32) -> bool,
) -> Issue {
    let mut connection: Option<Connection> = None;
    Box::new(move || {
        if connection.is_none() {
            let mut opened = open()?;
            opened.busy_handler(Some(is_to_wait)).map_err(|error| error.to_string())?;
            connection = Some(opened);
        }
        let Some(connection) = connection.as_ref() else { return Err("no connection".to_owned()) };
        let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        let ask = || {
            let outcome = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], row);
            outcome.map_err(|error| error.to_string())
        };
        let mut outcome = ask()?;
        // While another connection's checkpoint is under way SQLite answers at once, without its busy handler.
        // EVIDENCE: sqlite c3ref/wal_checkpoint_v2, "Even if there is a busy-handler configured, it will not be invoked"
        let mut tries = 0;
        while outcome == (1, -1, -1) && is_to_wait(tries) {
            (outcome, tries) = (ask()?, tries + 1);
        }
        match outcome {
            (0_i64, -1_i64, -1_i64) => Err("the database has no write-ahead log".to_owned()),
            (0, _, _) => Ok("the log is empty".to_owned()),
            (_, -1, _) => Err("another connection's checkpoint was in the way".to_owned()),
            (_, frames, moved) => {
                Err(format!("others were in the way: {moved} of {frames} frames were moved"))
            }
        }
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn database() -> (tempfile::TempDir, PathBuf, Connection) {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("run.db");
        let connection = Connection::open(&path).unwrap();
        connection
            .execute_batch("PRAGMA journal_mode=wal; PRAGMA wal_autocheckpoint=0; CREATE TABLE t(x)")
            .unwrap();
        (place, path, connection)
    }

    fn issue_on(path: &Path, is_to_wait: fn(i32) -> bool) -> Issue {
        let path = path.to_owned();
        checkpoint_over(move || Connection::open(&path).map_err(|error| error.to_string()), is_to_wait)
    }

    fn grow(connection: &Connection) {
        connection.execute("INSERT INTO t VALUES (randomblob(100000))", []).unwrap();
    }

    #[test]
    fn the_log_grows_and_begins_again_after_a_checkpoint() {
        let (_place, path, connection) = database();
        let mut probe = FilesProbe::new(&path);
        let mut samples = Vec::new();
        let mut look = |probe: &mut FilesProbe| {
            samples.push((samples.len() as i64 * 1_000_000_000, Some(probe.sample().unwrap())));
        };
        look(&mut probe);
        grow(&connection);
        look(&mut probe);
        let mut issue = issue_on(&path, try_again);
        assert_eq!(issue().unwrap(), "the log is empty");
        look(&mut probe);
        grow(&connection);
        look(&mut probe);
        let sampled = probe.series(&Samples { samples });
        let series =
            |name: &str| sampled.series.iter().find(|series| series.name == name).unwrap().values.clone();
        let sizes = series("log_size_bytes");
        assert!(sizes[1] > sizes[0] && sizes[2] == Some(0.0) && sizes[3] > sizes[2], "{sizes:?}");
        assert!(series("data_growth_bytes_per_s")[1].unwrap() > 90_000.0);
        assert_eq!(sampled.events.len(), 2);
    }

    #[test]
    fn a_reader_in_the_way_is_named() {
        let (_place, path, connection) = database();
        grow(&connection);
        let reader = Connection::open(&path).unwrap();
        reader.execute_batch("BEGIN; SELECT count(*) FROM t").unwrap();
        grow(&connection);
        let mut issue = issue_on(&path, |_| false);
        let reason = issue().unwrap_err();
        assert!(reason.starts_with("others were in the way: "), "{reason}");
        drop(reader);
        assert!(issue().is_ok());
    }

    #[test]
    fn a_database_without_a_log_says_so() {
        let (_place, path, connection) = database();
        connection.execute_batch("PRAGMA journal_mode=delete").unwrap();
        let mut probe = FilesProbe::new(&path);
        let reading = probe.sample().unwrap();
        assert_eq!(reading.log_bytes, None);
        let mut issue = issue_on(&path, try_again);
        assert_eq!(issue().unwrap_err(), "the database has no write-ahead log");
    }
}
