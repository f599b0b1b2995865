//! Databases of workloads of the user's own: an empty one, loaded ones that are kept as files, copies of them.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lab::engine::look_up::Answers;
use lab::engine::{BulkLoad, DynConnector, OwnDatabases, PostRunState, TargetError};
use lab::own::{Part, Plan};
use lab::work::Work;
use results::model::Metric;
use rusqlite::Connection;

use super::pragmas::set_pragma;
use super::{SqliteRun, SqliteTarget, log_size, open_error};
use crate::own::{Loader, OwnConnector, confine, engine_error, parse_all};
use crate::session::{SqliteConnector, for_loading};
use crate::workload::schema;

impl SqliteTarget {
    /// Begins a run of the user's own workload: the database comes with `make_empty` or `restore`.
    pub(super) fn prepare_own(&mut self, work: &Work) -> Result<(), TargetError> {
        let meter = schema::is_timed(work).then(|| self.instrument.meter());
        let connector = SqliteConnector::new(self.database(work), work, meter);
        let answers = Answers::default();
        self.run = Some(SqliteRun { work: work.clone(), connector, answers, keeper: None, _reader: None });
        Ok(())
    }

    /// Sizes of the database after the run.
    pub(super) fn own_state(&self, work: &Work) -> Result<PostRunState, TargetError> {
        let database = self.database(work);
        let mut metrics: Vec<Metric> = log_size(&database).into_iter().collect();
        let connection = database.open().map_err(|error| open_error("open", &database, error))?;
        let number = |pragma: &str| -> Result<u64, TargetError> {
            let value = connection.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get::<_, i64>(0));
            let value = value
                .map_err(|error| TargetError::engine(format!("could not read pragma {pragma}"), error))?;
            Ok(value.unsigned_abs())
        };
        let (pages, free, page_bytes) =
            (number("page_count")?, number("freelist_count")?, number("page_size")?);
        metrics.push(Metric::new("database_pages", pages as f64, "1", "PRAGMA page_count after the run"));
        metrics.push(Metric::new("free_pages", free as f64, "1", "PRAGMA freelist_count after the run"));
        Ok(PostRunState { total_bytes: Some(pages * page_bytes), metrics, ..PostRunState::default() })
    }

    /// File of a kept database. The page size and auto_vacuum are parts of a file that its name must say; the journal mode
    /// can be changed in a copy.
    fn kept_path(&self, name: &str) -> Result<PathBuf, TargetError> {
        if name.is_empty() || !name.chars().all(|character| character.is_ascii_alphanumeric()) {
            return Err(TargetError::refused(
                format!("cannot keep a database under the name \"{name}\""),
                "use letters and digits",
            ));
        }
        let of = |pragma: &str| schema::pragma_value(self.work(), pragma);
        Ok(self.directory().join(format!("kept-{name}-{}-{}.db", of("page_size"), of("auto_vacuum"))))
    }

    /// Sets the work's pragmas on the file of the run and leaves it with an empty log, and with a connection that keeps it so.
    fn settle(&mut self, connection: Connection) -> Result<(), TargetError> {
        let work = self.work().clone();
        for (name, value) in schema::pragma_values(&work) {
            set_pragma(&connection, name, &value)?;
        }
        // The run starts with everything in the database file and an empty log.
        let settled = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        settled.map_err(|error| engine_error("could not make the database of the run", &error))?;
        let is_shared = schema::pragma_value(&work, "locking_mode") != "exclusive";
        let reader = if schema::reader_blocks_checkpoint(&work) {
            Some(super::reading(&self.database(&work))?)
        } else {
            None
        };
        if let Some(run) = &mut self.run {
            run.keeper = is_shared.then_some(connection);
            run._reader = reader;
        }
        Ok(())
    }

    /// Closes the connections of the target itself.
    fn let_go(&mut self) {
        if let Some(run) = &mut self.run {
            (run.keeper, run._reader) = (None, None);
        }
    }
}

impl OwnDatabases for SqliteTarget {
    fn make_empty(&mut self) -> Result<(), TargetError> {
        self.let_go();
        self.remove_files()?;
        let database = self.database(self.work());
        let connection = database.create().map_err(|error| open_error("create", &database, error))?;
        for (name, value) in schema::pragma_values(self.work()).iter().filter(|(name, _)| is_of_file(name)) {
            set_pragma(&connection, name, value)?;
        }
        // The first page is written with what was set, for all connections that come.
        connection
            .execute_batch("PRAGMA user_version=0")
            .map_err(|error| open_error("create", &database, error))?;
        self.settle(connection)
    }

    fn is_kept(&mut self, name: &str) -> Result<bool, TargetError> {
        Ok(self.kept_path(name)?.is_file())
    }

    /// The file itself is kept: the database of the run is gone until it is restored.
    fn keep(&mut self, name: &str) -> Result<(), TargetError> {
        let kept = self.kept_path(name)?;
        self.let_go();
        let database = self.database(self.work());
        let connection = database.open().map_err(|error| open_error("open", &database, error))?;
        finish(&connection)?;
        connection.close().map_err(|(_, error)| open_error("close", &database, error))?;
        let path = database.path();
        let synced = File::open(path).and_then(|file| file.sync_all());
        synced.map_err(|source| io("flush file", path, source))?;
        fs::rename(path, &kept).map_err(|source| io("rename file", path, source))?;
        self.remove_files()
    }

    fn restore(&mut self, name: &str) -> Result<(), TargetError> {
        let kept = self.kept_path(name)?;
        self.let_go();
        self.remove_files()?;
        let database = self.database(self.work());
        if let Err(source) = copy(&kept, database.path()) {
            // Half a copy only takes space.
            let _ = fs::remove_file(database.path());
            return Err(io("copy file", &kept, source));
        }
        let connection = database.open().map_err(|error| open_error("open", &database, error))?;
        self.settle(connection)
    }

    fn connector(&self, plan: Arc<Plan>) -> Arc<dyn DynConnector> {
        let run = self.run.as_ref().expect("prepare comes before connector");
        if plan.part() == Part::Scripts {
            run.connector.forget_clients();
        }
        Arc::new(OwnConnector::new(run.connector.clone(), plan))
    }

    fn parse_all(&mut self, plan: &Plan) -> Result<(), TargetError> {
        let database = self.database(self.work());
        let open = || {
            let mut connection = database.open()?;
            let refusal = confine(&mut connection)?;
            Ok((connection, refusal))
        };
        let (connection, refusal) = open().map_err(|error| open_error("open", &database, error))?;
        parse_all(&connection, &refusal, plan)
    }

    fn interrupt(&mut self) -> Result<(), TargetError> {
        if let Some(run) = &self.run {
            run.connector.interrupt();
        }
        Ok(())
    }

    fn loader(&self) -> Result<Box<dyn BulkLoad>, TargetError> {
        let database = self.database(self.work());
        let open = || {
            let connection = database.open()?;
            for_loading(&connection)?;
            Ok(connection)
        };
        let connection = open().map_err(|error| open_error("open", &database, error))?;
        Ok(Box::new(Loader::new(connection)))
    }
}

/// Is this pragma fixed with the first page of a file?
fn is_of_file(pragma: &str) -> bool {
    matches!(pragma, "page_size" | "auto_vacuum")
}

/// Statistics for the planner where they are missing, and everything in the database file.
fn finish(connection: &Connection) -> Result<(), TargetError> {
    let error = |error: rusqlite::Error| engine_error("could not keep the loaded database", &error);
    // All tables, also those that this connection did not query (0x10000), from a sample of their rows (0x10).
    // EVIDENCE: sqlite pragma.html, PRAGMA optimize
    connection.execute_batch("PRAGMA optimize=0x10012").map_err(error)?;
    let is_busy: i64 =
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0)).map_err(error)?;
    if is_busy != 0 {
        return Err(TargetError::refused(
            "could not keep the loaded database: another connection uses it",
            "close it first",
        ));
    }
    Ok(())
}

/// Copies a file, where the file system can by sharing its blocks, and flushes the copy, so that no run writes it back.
fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    let source = File::open(from)?;
    let copy = File::create(to)?;
    if rustix::fs::ioctl_ficlone(&copy, &source).is_err() {
        drop(copy);
        fs::copy(from, to)?;
        return File::open(to)?.sync_all();
    }
    copy.sync_all()
}

fn io(action: &'static str, path: &Path, source: std::io::Error) -> TargetError {
    TargetError::Io { action, path: path.to_owned(), source }
}
