//! A target with a database of the user's own, and clients that execute scripts on it.

use std::sync::Arc;

use lab::client::{ClientPool, Dispatch};
use lab::engine::{Layout, Target, TargetError};
use lab::own::{OnError, OwnWorkload, Part, Plan, Protocol, SqlText, WeightedScript};
use lab::work::{Amount, Work, Workload};
use lab_sqlite::{ENGINE, SqliteTarget};
use results::scripts::{FailureKind, ScriptRecord};
use rusqlite::Connection;

pub(super) const PROTOCOLS: [Protocol; 3] = [Protocol::Simple, Protocol::Extended, Protocol::Prepared];

/// pgbench's tables with 1000 accounts for each branch.
pub(super) const SCHEMA: &str = "
CREATE TABLE pgbench_accounts (aid INTEGER PRIMARY KEY, bid INT, abalance INT, filler CHAR(84));
CREATE TABLE pgbench_branches (bid INTEGER PRIMARY KEY, bbalance INT, filler CHAR(88));
CREATE TABLE pgbench_tellers (tid INTEGER PRIMARY KEY, bid INT, tbalance INT, filler CHAR(84));
CREATE TABLE pgbench_history (tid INT, bid INT, aid INT, delta INT, mtime TEXT, filler CHAR(22));
INSERT INTO pgbench_branches VALUES (1, 0, NULL);
WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10)
    INSERT INTO pgbench_tellers SELECT i, 1, 0, NULL FROM n;
WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
    INSERT INTO pgbench_accounts SELECT i, 1, 0, '' FROM n;
";

/// A target with a directory of its own.
pub(super) struct Scene {
    pub(super) target: SqliteTarget,
    pub(super) work: Work,
    pub(super) own: OwnWorkload,
    _place: tempfile::TempDir,
}

impl Scene {
    /// With an empty database.
    pub(super) fn empty(settings: &[(&str, &str)]) -> Self {
        let place = tempfile::tempdir().unwrap();
        let target = SqliteTarget::new(&Layout::default(), place.path()).unwrap();
        let own = OwnWorkload { max_tries: 1, scale: 1, ..OwnWorkload::default() };
        let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let work = Work {
            workload: Workload::Own,
            settings: settings.collect(),
            batch_size: 1,
            connections: 1,
            amount: Amount::Rows(1),
            own: Some(Arc::new(own.clone())),
            ..Work::example()
        };
        let mut scene = Self { target, work, own, _place: place };
        scene.target.prepare(&scene.work).unwrap();
        scene.target.own_databases().unwrap().make_empty().unwrap();
        scene
    }

    /// With what a schema makes.
    pub(super) fn with_schema(schema: &str) -> Self {
        let mut scene = Self::empty(&[]);
        scene.make(schema);
        scene
    }

    pub(super) fn make(&mut self, schema: &str) {
        self.own.schema = Some(text("schema.sql", schema));
        let plan = self.plan(Part::Schema);
        let dispatch = self.run_plan(plan, 1, 1);
        assert_eq!(dispatch.clients[0].error, None);
    }

    pub(super) fn plan(&self, part: Part) -> Arc<Plan> {
        Arc::new(Plan::new(&self.own, part, ENGINE.id, &self.work).unwrap().unwrap())
    }

    /// Sets the scripts.
    pub(super) fn scripts(&mut self, scripts: &[&str]) -> &mut Self {
        let named = scripts.iter().enumerate();
        let weighted =
            named.map(|(n, sql)| WeightedScript { sql: text(&format!("{n}.sql"), sql), weight: 1 });
        self.own.scripts = weighted.collect();
        self
    }

    pub(super) fn protocol(&mut self, protocol: Protocol) -> &mut Self {
        self.own.protocol = protocol;
        self
    }

    pub(super) fn on_error(&mut self, on_error: OnError, max_tries: u32) -> &mut Self {
        (self.own.on_error, self.own.max_tries) = (on_error, max_tries);
        self
    }

    pub(super) fn parse_all(&mut self) -> Result<(), TargetError> {
        let plan = self.plan(Part::Scripts);
        self.target.own_databases().unwrap().parse_all(&plan)
    }

    /// Runs so many transactions with so many clients.
    pub(super) fn run(&mut self, connections: u32, transactions: u64) -> Dispatch {
        let plan = self.plan(Part::Scripts);
        self.run_plan(plan, connections, transactions)
    }

    pub(super) fn run_plan(&mut self, plan: Arc<Plan>, connections: u32, transactions: u64) -> Dispatch {
        self.run_on(plan, connections, transactions, connections)
    }

    /// With so many threads.
    pub(super) fn run_on(
        &mut self,
        plan: Arc<Plan>,
        connections: u32,
        transactions: u64,
        jobs: u32,
    ) -> Dispatch {
        let work = Work { connections, amount: Amount::Rows(transactions), ..self.work.clone() };
        let connector = self.target.own_databases().unwrap().connector(plan);
        let mut pool = ClientPool::assemble(&connector, &work, jobs).unwrap();
        pool.release();
        pool.wait(&mut |_| {});
        pool.dismiss()
    }

    /// One transaction of one client; its error.
    pub(super) fn once(&mut self, script: &str) -> Option<String> {
        self.scripts(&[script]).run(1, 1).clients.remove(0).error
    }

    /// Asks the database of the run from outside.
    pub(super) fn ask(&self, sql: &str) -> String {
        ask(&self.path(), sql)
    }

    pub(super) fn path(&self) -> std::path::PathBuf {
        let directories = self.target.residence_directory();
        directories.join("run.db")
    }
}

/// All values of a query as text, rows by `;`, columns by `|`.
pub(super) fn ask(path: &std::path::Path, sql: &str) -> String {
    let connection = Connection::open(path).unwrap();
    let mut statement = connection.prepare(sql).unwrap();
    let columns = statement.column_count();
    let rows = statement.query_map([], |row| {
        let values = (0..columns).map(|column| {
            Ok(match row.get_ref(column)? {
                rusqlite::types::ValueRef::Null => "NULL".to_owned(),
                rusqlite::types::ValueRef::Integer(value) => value.to_string(),
                rusqlite::types::ValueRef::Real(value) => format!("{value:?}"),
                rusqlite::types::ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
                rusqlite::types::ValueRef::Blob(bytes) => format!("{bytes:02x?}"),
            })
        });
        Ok(values.collect::<rusqlite::Result<Vec<_>>>()?.join("|"))
    });
    rows.unwrap().collect::<rusqlite::Result<Vec<_>>>().unwrap().join(";")
}

pub(super) fn text(file: &str, sql: &str) -> SqlText {
    SqlText { file: file.to_owned(), text: sql.to_owned() }
}

pub(super) fn failures(script: &ScriptRecord, kind: FailureKind) -> u64 {
    script.failures.iter().find(|failure| failure.kind == kind).map_or(0, |failure| failure.count)
}

trait ResidenceDirectory {
    fn residence_directory(&self) -> std::path::PathBuf;
}

impl ResidenceDirectory for SqliteTarget {
    fn residence_directory(&self) -> std::path::PathBuf {
        self.residence().unwrap().directories().remove(0).1
    }
}
