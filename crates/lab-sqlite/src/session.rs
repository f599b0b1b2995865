//! One client's connection to the embedded engine.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use lab::client::Registration;
use lab::engine::{Connector, ServerLoop, ServerShare, Session, SessionError};
use lab::own::Part;
use lab::work::{KeyOrder, Work};
use rusqlite::{Connection, ErrorCode, InterruptHandle};
use rustix::thread::{Pid, gettid};
use stats::random::{Random, derive_seed};

use super::vfs::Meter;
use crate::embedded::database::Database;
use crate::workload::guid;
use crate::workload::look_up::LookUp;
use crate::workload::schema;

/// How long a connection waits for the one writer before the transaction counts as a retry.
pub(super) const BUSY_TIME_MAX: Duration = Duration::from_secs(30);
/// The same while rows are loaded, in transactions that are as long as the user makes them.
const LOAD_BUSY_TIME_MAX: Duration = Duration::from_secs(600);
/// Stream of the random numbers that make keys, apart from arrival times.
const KEY_STREAM: u64 = 0x6b65_7973;

/// How clients open the database of one run.
#[derive(Clone, Debug)]
pub struct SqliteConnector {
    database: Database,
    work: Arc<Work>,
    /// Next sequential key, shared by all clients: keys grow over the whole run.
    next_key: Arc<AtomicU64>,
    is_interrupted: Arc<AtomicBool>,
    interrupts: Interrupts,
    /// What the connections' VFS measures, and by which clock; `None` for SQLite's own VFS.
    meter: Option<&'static Meter>,
    clients: Arc<Mutex<Vec<Client>>>,
    /// Database with the keys of one load in their order.
    source: Option<PathBuf>,
    look_up: Option<LookUp>,
}

/// What ends the statements that connections are executing.
#[derive(Clone, Default)]
struct Interrupts(Arc<Mutex<Vec<InterruptHandle>>>);

impl std::fmt::Debug for Interrupts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Interrupts")
    }
}

/// The clock, and where a client adds up its time in transactions or statements.
pub(super) type Busy = (&'static Meter, Arc<AtomicU64>);

/// A connection for scripts.
pub(super) struct Opened {
    pub(super) connection: Connection,
    /// For the time inside statements.
    pub(super) busy: Option<Busy>,
    /// Is the run to end at once?
    pub(super) is_interrupted: Arc<AtomicBool>,
}

/// A client that opened its connection.
#[derive(Clone, Debug)]
pub(super) struct Client {
    /// Its thread: the engine's work is done there.
    pub(super) thread: Pid,
    /// Ticks of the meter's clock inside transactions.
    pub(super) busy_ticks: Arc<AtomicU64>,
}

impl SqliteConnector {
    pub(super) fn new(database: Database, work: &Work, meter: Option<&'static Meter>) -> Self {
        Self {
            database,
            meter,
            work: Arc::new(work.clone()),
            next_key: Arc::new(AtomicU64::new(1)),
            is_interrupted: Arc::new(AtomicBool::new(false)),
            interrupts: Interrupts::default(),
            clients: Arc::default(),
            source: None,
            look_up: None,
        }
    }

    /// Adds the database that one load takes its keys from.
    pub(super) fn with_source(self, source: Option<PathBuf>) -> Self {
        Self { source, ..self }
    }

    /// Adds what clients look up in place of statements that add rows.
    pub(super) fn with_look_up(self, look_up: Option<LookUp>) -> Self {
        Self { look_up, ..self }
    }

    /// The clients that opened a connection until now.
    pub(super) fn clients(&self) -> Vec<Client> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Forgets the clients of an earlier part.
    pub(super) fn forget_clients(&self) {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Ends the loops of all sessions after their transaction, and those of scripts within their statement.
    pub(super) fn interrupt(&self) {
        self.is_interrupted.store(true, Ordering::Relaxed);
        for handle in self.interrupts.0.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            handle.interrupt();
        }
    }

    /// Opens a connection for a part of the user's own workload. Only clients of the measured part are sampled.
    pub(super) fn connection(&self, part: Part) -> Result<Opened, SessionError> {
        let (connection, busy) =
            if part == Part::Scripts { self.open_measured()? } else { (self.open_connection()?, None) };
        if matches!(part, Part::Schema | Part::Load) {
            for_loading(&connection).map_err(session_error)?;
        }
        let handle = connection.get_interrupt_handle();
        self.interrupts.0.lock().unwrap_or_else(PoisonError::into_inner).push(handle);
        Ok(Opened { connection, busy, is_interrupted: Arc::clone(&self.is_interrupted) })
    }

    /// Opens a connection of a client that is sampled, and applies the pragmas that belong to a connection.
    fn open_measured(&self) -> Result<(Connection, Option<Busy>), SessionError> {
        let connection = self.open_connection()?;
        let client = Client { thread: gettid(), busy_ticks: Arc::default() };
        let busy = self.meter.map(|meter| (meter, Arc::clone(&client.busy_ticks)));
        self.clients.lock().unwrap_or_else(PoisonError::into_inner).push(client);
        Ok((connection, busy))
    }

    fn open_connection(&self) -> Result<Connection, SessionError> {
        let connection = self.database.open().map_err(|error| {
            let path = self.database.path().display();
            SessionError::Fatal(format!("could not open database \"{path}\": {error}"))
        })?;
        connection.busy_timeout(BUSY_TIME_MAX).map_err(session_error)?;
        for (name, value) in schema::pragma_values(&self.work) {
            if schema::belongs_to_connection(name, &value) {
                connection
                    .query_row(&format!("PRAGMA {name}={value}"), [], |_| Ok(()))
                    .or_else(|error| match error {
                        rusqlite::Error::QueryReturnedNoRows => Ok(()),
                        other => Err(other),
                    })
                    .map_err(session_error)?;
            }
        }
        Ok(connection)
    }

    fn open(&self, client_index: u32) -> Result<SqliteSession, SessionError> {
        let (connection, busy) = self.open_measured()?;
        if let Some(source) = &self.source {
            connection.execute(guid::ATTACH, [source.to_string_lossy()]).map_err(session_error)?;
        }
        Ok(SqliteSession {
            connection,
            takes_all: self.work.is_one_load(),
            look_up: self.look_up.clone(),
            statement: schema::row_statement(&self.work),
            keys: self.keys(client_index),
            is_query: !self.work.workload.adds_rows(),
            is_interrupted: Arc::clone(&self.is_interrupted),
            busy,
        })
    }

    fn keys(&self, client_index: u32) -> Keys {
        if !schema::takes_key(&self.work) {
            return Keys::ByEngine;
        }
        match self.work.key {
            KeyOrder::Sequential => Keys::Sequential(Arc::clone(&self.next_key)),
            KeyOrder::Random => {
                Keys::Random(Random::new(derive_seed(self.work.seed, &[KEY_STREAM, u64::from(client_index)])))
            }
        }
    }
}

/// Loads wait for each other, and for no disk: what was loaded is flushed when it is kept.
pub(super) fn for_loading(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(LOAD_BUSY_TIME_MAX)?;
    connection.execute_batch("PRAGMA synchronous=off")
}

/// Where a row's key comes from.
#[derive(Debug)]
enum Keys {
    ByEngine,
    Sequential(Arc<AtomicU64>),
    Random(Random),
}

impl Keys {
    /// The next 16-byte key, most significant byte first; `None` when the engine makes it.
    fn next(&mut self) -> Option<[u8; 16]> {
        match self {
            Self::ByEngine => None,
            Self::Sequential(next) => Some(u128::from(next.fetch_add(1, Ordering::Relaxed)).to_be_bytes()),
            Self::Random(random) => {
                let (high, low) = (random.next_u64(), random.next_u64());
                Some((u128::from(high) << 64 | u128::from(low)).to_be_bytes())
            }
        }
    }
}

impl Connector for SqliteConnector {
    type Session = SqliteSession;

    async fn connect(&self, client_index: u32, _: Registration<'_>) -> Result<SqliteSession, SessionError> {
        self.open(client_index)
    }
}

/// One connection and its statements.
#[derive(Debug)]
pub struct SqliteSession {
    connection: Connection,
    statement: String,
    keys: Keys,
    is_query: bool,
    /// Is one statement the whole transaction?
    takes_all: bool,
    look_up: Option<LookUp>,
    is_interrupted: Arc<AtomicBool>,
    /// For the time inside transactions.
    busy: Option<Busy>,
}

impl Session for SqliteSession {
    #[inline]
    async fn transaction(&mut self, rows: u64, _: Registration<'_>) -> Result<(), SessionError> {
        self.transact(rows)
    }

    async fn server_loop(&mut self, share: ServerShare) -> Result<ServerLoop, SessionError> {
        self.loop_here(share)
    }
}

impl SqliteSession {
    /// Inserts `rows` rows in one transaction (or runs the query so often); one row commits by itself.
    fn transact(&mut self, rows: u64) -> Result<(), SessionError> {
        let began = self.busy.as_ref().map(|(meter, _)| meter.now());
        let done = match &self.look_up {
            Some(look_up) => look_up.execute(&self.connection, rows),
            None if self.takes_all => self.rows(1),
            None if rows == 1 || self.is_query => self.rows(rows),
            None => self.batch(rows),
        };
        if let (Some((meter, ticks)), Some(began)) = (&self.busy, began) {
            // Only this client adds, so nobody comes between reading and writing.
            ticks.store(ticks.load(Ordering::Relaxed) + meter.ticks_since(began), Ordering::Relaxed);
        }
        done.map_err(|error| {
            if !self.connection.is_autocommit() {
                // The first error is the one to report; a rollback that fails changes nothing about it.
                let _ = self.connection.execute_batch("ROLLBACK");
            }
            session_error(error)
        })
    }

    /// Inserts a whole share: the engine is in the process, so this is the client's loop without its clock.
    fn loop_here(&mut self, share: ServerShare) -> Result<ServerLoop, SessionError> {
        let began = Instant::now();
        let mut done = ServerLoop { rows: 0, transactions: 0 };
        loop {
            let rows = match (share.rows, share.time) {
                (Some(total), _) => share.batch_size.min(total - done.rows),
                (None, Some(time)) if began.elapsed() < time => share.batch_size,
                (None, _) => 0,
            };
            if rows == 0 {
                return Ok(done);
            }
            if self.is_interrupted.load(Ordering::Relaxed) {
                return Err(SessionError::Fatal("the loop was interrupted".to_owned()));
            }
            self.transact(rows)?;
            done.rows += rows;
            done.transactions += 1;
        }
    }

    fn batch(&mut self, rows: u64) -> rusqlite::Result<()> {
        self.connection.prepare_cached(schema::BEGIN)?.execute([])?;
        self.rows(rows)?;
        self.connection.prepare_cached(schema::COMMIT)?.execute([])?;
        Ok(())
    }

    fn rows(&mut self, rows: u64) -> rusqlite::Result<()> {
        let mut statement = self.connection.prepare_cached(&self.statement)?;
        for _ in 0..rows {
            if self.is_query {
                statement.query_row([], |row| row.get::<_, i64>(0))?;
            } else if let Some(key) = self.keys.next() {
                statement.execute([&key[..]])?;
            } else {
                statement.execute([])?;
            }
        }
        Ok(())
    }
}

pub(super) fn session_error(error: rusqlite::Error) -> SessionError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => SessionError::Retry(error.to_string()),
        Some(ErrorCode::DiskFull) => SessionError::Fatal(format!(
            "{error}\nhint: free space on the data directory's file system or choose fewer rows"
        )),
        _ => SessionError::Fatal(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_that_cannot_be_opened_is_named() {
        let database = Database::new("/nonexistent/fathom.db".into(), None);
        let refused = SqliteConnector::new(database, &Work::example(), None).open(0);
        let error = refused.map(drop).map_err(|error| error.to_string());
        assert!(error.is_err_and(|text| text.contains("could not open database \"/nonexistent/fathom.db\"")));
    }
}
