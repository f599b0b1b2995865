//! The control side: one database file per run in a directory of fathom's own.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lab::engine::look_up::Answers;
use lab::engine::managed_directory::{ManagedDirectory, leftovers};
use lab::engine::{
    CacheControl, ClientControl, Counters, Describe, DynConnector, Engine, Files, Layout, Limitation,
    Observe, OwnDatabases, PostRunState, Residence, Target, TargetError,
};
use lab::work::{Work, Workload};
use results::model::Metric;
use rusqlite::Connection;

use crate::ENGINE;
use crate::counters::{self, LogKind};
use crate::embedded::database::Database;
use crate::limits::limitations;
use crate::session::SqliteConnector;
use crate::vfs::Instrument;
use crate::workload::guid::{self, FixtureTables};
use crate::workload::schema;
use crate::workload::table::{PAGE_SIZE_BYTES, TABLE};

mod abilities;
pub(crate) mod database;
mod files;
mod own;
mod pragmas;
mod reading;

use pragmas::set_pragma;

/// Embedded SQLite in a marked directory.
#[derive(Debug)]
pub struct SqliteTarget {
    managed_directory: Option<ManagedDirectory>,
    run: Option<SqliteRun>,
    /// Behind `run`, so that connections close before it is handed on.
    instrument: Instrument,
}

/// What exists from `prepare` to `clean`.
#[derive(Debug)]
struct SqliteRun {
    work: Work,
    connector: SqliteConnector,
    /// What the look-ups of the run did.
    answers: Answers,
    /// Stays open, so that no client is the last to close: the last one would fold the log into the database
    /// file, sometimes before and sometimes after the counters are read. Absent where it would lock clients out.
    keeper: Option<Connection>,
    /// Holds a reading transaction open, where the work asks for it.
    _reader: Option<Connection>,
}

impl SqliteTarget {
    /// Makes the directory in the layout's first data directory (or `default_base`) after removing what
    /// crashed runs left there.
    pub fn new(layout: &Layout, default_base: &Path) -> Result<Self, TargetError> {
        let base = layout.data.first().map_or(default_base, PathBuf::as_path);
        for left in leftovers(base, ENGINE.id.name()) {
            tracing::info!("removing what an earlier crash left: \"{}\"", left.directory().display());
            left.remove()?;
        }
        let instrument = Instrument::take()
            .map_err(|error| TargetError::engine("could not watch SQLite's files", error))?;
        Ok(Self {
            managed_directory: Some(ManagedDirectory::create(base, ENGINE.id.name())?),
            run: None,
            instrument,
        })
    }

    fn directory(&self) -> &Path {
        self.managed_directory.as_ref().expect("a stopped target is not used again").directory()
    }

    fn database(&self, work: &Work) -> Database {
        let vfs = schema::is_timed(work).then(|| self.instrument.name());
        let path = match FixtureTables::of(work, self.directory()) {
            Some(fixture) => fixture.path().to_owned(),
            None => self.directory().join("run.db"),
        };
        Database::new(path, vfs)
    }

    /// Removes the files of the run; no connection may be open.
    fn remove_files(&self) -> Result<(), TargetError> {
        for name in ["run.db", "run.db-wal", "run.db-shm", "run.db-journal", "source.db"] {
            let path = self.directory().join(name);
            match fs::remove_file(&path) {
                Ok(()) => {}
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(source) => return Err(TargetError::Io { action: "remove file", path, source }),
            }
        }
        Ok(())
    }

    /// Makes every sync take this much longer.
    #[cfg(test)]
    pub(crate) fn delay_syncs(&self, delay: std::time::Duration) {
        self.instrument.delay_syncs(delay);
    }

    fn work(&self) -> &Work {
        &self.run.as_ref().expect("prepare comes before anything else in a run").work
    }
}

impl Target for SqliteTarget {
    fn engine(&self) -> &'static Engine {
        &ENGINE
    }

    fn limitations(&self, work: &Work) -> Vec<Limitation> {
        limitations(work)
    }

    fn prepare(&mut self, work: &Work) -> Result<(), TargetError> {
        self.clean()?;
        if let Some((text, hint)) = schema::conflict(work) {
            return Err(TargetError::refused(text, hint));
        }
        if let Some(fixture) = FixtureTables::of(work, self.directory()) {
            return self.prepare_reading(&fixture, work);
        }
        if work.own.is_some() {
            return self.prepare_own(work);
        }
        let source = self.source(work)?;
        let database = self.database(work);
        let connection = database.create().map_err(|error| open_error("create", &database, error))?;
        for (name, value) in schema::pragma_values(work) {
            set_pragma(&connection, name, &value)?;
        }
        for statement in schema::create_statements(work) {
            connection
                .execute_batch(&statement)
                .map_err(|error| TargetError::engine("could not create table fathom_rows", error))?;
        }
        // The run starts with everything in the database file and an empty log.
        let _ = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        let reader = if schema::reader_blocks_checkpoint(work) { Some(reading(&database)?) } else { None };
        let meter = schema::is_timed(work).then(|| self.instrument.meter());
        let keeper = (schema::pragma_value(work, "locking_mode") != "exclusive").then_some(connection);
        let connector = SqliteConnector::new(database, work, meter).with_source(source);
        let answers = Answers::default();
        self.run = Some(SqliteRun { work: work.clone(), connector, answers, keeper, _reader: reader });
        Ok(())
    }

    fn connector(&self) -> Arc<dyn DynConnector> {
        Arc::new(self.run.as_ref().expect("prepare comes before connector").connector.clone())
    }

    /// A call into SQLite blocks its thread, so every connection has one of its own.
    fn jobs(&self, work: &Work) -> u32 {
        work.connections
    }

    /// What the engine asked of its files, and what the process wrote: the engine runs inside it and nothing else of
    /// fathom writes during a run.
    fn counters(&mut self) -> Result<Counters, TargetError> {
        let mut cumulative = counters::process_metrics();
        if let Some(run) = self.run.as_ref().filter(|run| schema::is_timed(&run.work)) {
            let log = LogKind::of(&schema::pragma_value(&run.work, "journal_mode"));
            cumulative.extend(counters::metrics(&self.instrument.meter().read(), log));
        }
        Ok(Counters { cumulative })
    }

    fn post_run_state(&mut self, work: &Work) -> Result<PostRunState, TargetError> {
        if let Some(fixture) = FixtureTables::of(work, self.directory()).filter(|_| work.workload.looks_up())
        {
            return self.look_up_state(&fixture, work);
        }
        if work.own.is_some() {
            return self.own_state(work);
        }
        if !work.workload.adds_rows() {
            return Ok(PostRunState::default());
        }
        let database = self.database(work);
        let log_size = log_size(&database);
        let connection = database.open().map_err(|error| open_error("open", &database, error))?;
        let number = |sql: String| -> Result<u64, TargetError> {
            let value: i64 = connection
                .query_row(&sql, [], |row| row.get(0))
                .map_err(|error| TargetError::engine(format!("could not run \"{sql}\""), error))?;
            Ok(value.unsigned_abs())
        };
        let rows = number(format!("SELECT count(*) FROM {TABLE}"))?;
        let table_pages =
            number(format!("SELECT count(*) FROM dbstat WHERE name='{TABLE}' AND pagetype='leaf'"))?;
        let page_size = number("SELECT page_size FROM pragma_page_size".to_owned())?;
        let page_count = number("SELECT page_count FROM pragma_page_count".to_owned())?;
        let usual_rows_per_page = match (work.workload, work.subject.storage) {
            (Workload::Populate, _) => Some(1),
            (Workload::GuidPopulate, storage) if storage.is_heap() => Some(guid::ROWS_PER_PAGE),
            _ => None,
        };
        let tree_pages = number(format!("SELECT count(*) FROM dbstat WHERE name='{TABLE}'"))?;
        let mut metrics: Vec<Metric> = log_size.into_iter().collect();
        if work.workload == Workload::GuidPopulate {
            metrics.push(Metric::new("tree_pages", tree_pages as f64, "1", "dbstat"));
        }
        Ok(PostRunState {
            rows: Some(rows),
            table_pages: Some(table_pages),
            rows_per_page: usual_rows_per_page.filter(|_| page_size == PAGE_SIZE_BYTES),
            total_bytes: Some(page_count * page_size),
            payload_bytes: Some(rows * schema::payload_bytes_per_row(work)),
            metrics,
            ..PostRunState::default()
        })
    }

    fn clean(&mut self) -> Result<(), TargetError> {
        self.run = None;
        self.remove_files()
    }

    fn stop(&mut self, keep: bool) -> Result<(), TargetError> {
        // The last connection to close brings the WAL into the database.
        self.run = None;
        let Some(managed_directory) = self.managed_directory.take() else { return Ok(()) };
        if keep {
            let directory = managed_directory.keep()?;
            tracing::info!("kept \"{}\"", directory.display());
            return Ok(());
        }
        managed_directory.remove()
    }

    fn describe(&mut self) -> Option<&mut dyn Describe> {
        Some(self)
    }

    fn residence(&self) -> Option<&dyn Residence> {
        Some(self)
    }

    fn clients(&mut self) -> Option<&mut dyn ClientControl> {
        Some(self)
    }

    fn cache(&mut self) -> Option<&mut dyn CacheControl> {
        Some(self)
    }

    fn files(&mut self) -> Option<&mut dyn Files> {
        Some(self)
    }

    fn observe(&mut self) -> Option<&mut dyn Observe> {
        Some(self)
    }

    fn own_databases(&mut self) -> Option<&mut dyn OwnDatabases> {
        Some(self)
    }
}

impl Drop for SqliteTarget {
    fn drop(&mut self) {
        if let Err(error) = self.stop(false) {
            tracing::warn!("{error}");
        }
    }
}

fn open_error(verb: &str, database: &Database, error: rusqlite::Error) -> TargetError {
    TargetError::engine(format!("could not {verb} database \"{}\"", database.path().display()), error)
}

/// Opens a reading transaction on the empty table. What is written afterwards must stay in the log for its sake.
fn reading(database: &Database) -> Result<Connection, TargetError> {
    let context = "could not hold a reading transaction open";
    let error = |error: rusqlite::Error| TargetError::engine(context, error);
    let connection = database.open().map_err(error)?;
    connection.execute_batch("BEGIN").map_err(error)?;
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())).map_err(error)?;
    Ok(connection)
}

/// Length of the write-ahead log's file; `None` where there is none.
fn log_size(database: &Database) -> Option<Metric> {
    let mut path = database.path().as_os_str().to_owned();
    path.push("-wal");
    let metric =
        |name: &str, value: u64, unit: &str, source: &str| Metric::new(name, value as f64, unit, source);
    let size_bytes = fs::metadata(&path).ok()?.len();
    Some(metric("log_size_bytes", size_bytes, "bytes", "length of the -wal file after the run"))
}
