//! Rows with random keys of 16 bytes: the table of `guid-populate`, and the files that look-ups read.
//!
//! A table without rowid is a B-tree, not a B+-tree: its inner pages hold rows too. So a clustered table has fewer leaf
//! pages than rows divided by seven, and the same number of pages in all.

use std::path::{Path, PathBuf};

use lab::engine::TargetError;
use lab::work::{Storage, Work, Workload};
use rusqlite::Connection;
use stats::random::Random;

use crate::workload::table::{PAGE_SIZE_BYTES, TABLE};

/// Characters of the wide column, as published.
pub(crate) const WIDE_CHARACTERS: usize = 1024;

/// Rows of a leaf page of a table with rowid, at the usual size of a page.
pub(crate) const ROWS_PER_PAGE: u64 = 7;

/// The rows of the fixture are the same in every run, so that results can be compared.
const STOCK_SEED: u64 = 7143;

/// Memory of the connection that makes the fixture, in KiB: random keys would else read and write pages for hours.
const MAKING_CACHE_KIB: u64 = 512 * 1024;

/// Statement that makes the table of `guid-populate`.
pub(crate) fn create_table(work: &Work, name: &str) -> String {
    let (key, end) = shape(work.subject.storage);
    format!("CREATE TABLE {name} (c1 {key}, c2 TEXT NOT NULL DEFAULT '{:<WIDE_CHARACTERS$}'){end}", "a")
}

fn shape(storage: Storage) -> (&'static str, &'static str) {
    match storage {
        storage if storage.is_heap() => ("BLOB NOT NULL UNIQUE", ""),
        _ => ("BLOB PRIMARY KEY", " WITHOUT ROWID"),
    }
}

/// The one load in the order of keys, from the source that [`make_source`] made.
pub(crate) fn load_statement() -> String {
    format!("INSERT INTO {TABLE} (c1) SELECT c1 FROM source.keys ORDER BY c1")
}

/// Attaches the file of [`make_source`].
pub(crate) const ATTACH: &str = "ATTACH ?1 AS source";

/// Table of the file of [`make_source`], and the statement that fills it, once for each key.
pub(crate) const SOURCE: [&str; 2] = ["CREATE TABLE keys (c1 BLOB NOT NULL)", "INSERT INTO keys VALUES (?1)"];

/// Makes a file with as many random keys as one load takes.
pub(crate) fn make_source(path: &Path, work: &Work) -> rusqlite::Result<()> {
    let connection = Connection::open(path)?;
    for_speed(&connection)?;
    let [table, key] = SOURCE;
    connection.execute_batch(&format!("BEGIN; {table}"))?;
    let mut random = Random::new(work.seed);
    let mut insert = connection.prepare(key)?;
    for _ in 0..work.batch_size {
        insert.execute([next_key(&mut random)])?;
    }
    drop(insert);
    connection.execute_batch("COMMIT")
}

/// The statements that make and fill one table of a fixture.
#[derive(Clone, Debug)]
pub(crate) struct Filling {
    pub(crate) before: [String; 3],
    /// Executed once for each of `rows`, with a key.
    pub(crate) key: &'static str,
    pub(crate) rows: u64,
    pub(crate) after: [String; 3],
}

/// A file of tables that stays from run to run.
#[derive(Clone, Debug)]
pub(crate) struct FixtureTables {
    storage: Storage,
    rows: u64,
    objects: u32,
    path: PathBuf,
}

impl FixtureTables {
    /// What a run reads, in a file of `directory`; `None` where it reads nothing.
    pub(crate) fn of(work: &Work, directory: &Path) -> Option<Self> {
        let subject = &work.subject;
        let (storage, rows, objects) = (subject.storage, subject.table_rows, subject.objects.max(1));
        let path = directory.join(format!("stock-{}-{rows}-{objects}.db", storage.word()));
        work.workload.has_fixtures().then_some(Self { storage, rows, objects, path })
    }

    /// The file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the file unless it is there, and in it the keys that `work` looks up.
    pub(crate) fn provide(&self, work: &Work) -> Result<(), TargetError> {
        let error = |error: rusqlite::Error| {
            TargetError::engine(format!("could not make \"{}\"", self.path.display()), error)
        };
        if !self.path.is_file() {
            // Under another name until it is whole: one that a crash left is not taken for the fixture.
            let unfinished = self.path.with_extension("unfinished");
            let _ = std::fs::remove_file(&unfinished);
            self.make(&unfinished).map_err(error)?;
            std::fs::rename(&unfinished, &self.path).map_err(|source| TargetError::Io {
                action: "rename file",
                path: unfinished,
                source,
            })?;
        }
        if let Some(keys) = self.choose_keys(work) {
            let connection = Connection::open(&self.path).map_err(error)?;
            connection.execute_batch(&keys).map_err(error)?;
        }
        Ok(())
    }

    fn make(&self, path: &Path) -> rusqlite::Result<()> {
        let connection = Connection::open(path)?;
        for_speed(&connection)?;
        for index in 0..self.objects {
            let filling = self.filling(index);
            connection.execute_batch(&filling.before.join(";"))?;
            let mut random = Random::new(STOCK_SEED + u64::from(index));
            let mut insert = connection.prepare(filling.key)?;
            for _ in 0..filling.rows {
                insert.execute([next_key(&mut random)])?;
            }
            drop(insert);
            connection.execute_batch(&filling.after.join(";"))?;
        }
        Ok(())
    }

    /// Statements that make each table, in order.
    pub(crate) fn fillings(&self) -> impl Iterator<Item = Filling> {
        (0..self.objects).map(|index| self.filling(index))
    }

    fn filling(&self, index: u32) -> Filling {
        let (key, end) = shape(self.storage);
        let table = self.table(index);
        let objects = u64::from(self.objects);
        let wide = format!("printf('%-{WIDE_CHARACTERS}s', substr(hex(id), 17))");
        // In the order in which keys were drawn, or in their own.
        let order = if self.storage.is_ordered() { "id" } else { "rowid" };
        Filling {
            before: [
                "BEGIN".to_owned(),
                format!("CREATE TABLE {table} (id {key}, pad TEXT NOT NULL){end}"),
                "CREATE TEMP TABLE source (id BLOB NOT NULL)".to_owned(),
            ],
            key: "INSERT INTO source VALUES (?1)",
            rows: self.rows / objects + u64::from(u64::from(index) < self.rows % objects),
            after: [
                format!("INSERT INTO {table} SELECT id, {wide} FROM source ORDER BY {order}"),
                "DROP TABLE source".to_owned(),
                "COMMIT".to_owned(),
            ],
        }
    }

    /// Statement that makes the table of the keys that `work` looks up; `None` where it looks up none.
    pub(crate) fn choose_keys(&self, work: &Work) -> Option<String> {
        let every = work.subject.every;
        (work.workload == Workload::GuidLookupJoin).then(|| {
            format!("CREATE TABLE IF NOT EXISTS {} AS {}", keys_table(every), self.taken_keys(every))
        })
    }

    fn table(&self, index: u32) -> String {
        format!("fathom_guid_{}_{index}", self.storage.table_word())
    }

    fn taken_keys(&self, every: u64) -> String {
        format!(
            "SELECT id FROM (SELECT id, row_number() OVER (ORDER BY id) AS place FROM {}) AS placed \
             WHERE place % {every} = 0",
            self.table(0)
        )
    }

    /// The statement that is measured. CROSS JOIN fixes the order of the loops on SQLite.
    pub(crate) fn question(&self, work: &Work) -> String {
        match work.workload {
            Workload::GuidLookupJoin => format!(
                "SELECT max(g.pad) FROM {} AS l CROSS JOIN {} AS g ON g.id = l.id",
                keys_table(work.subject.every),
                self.table(0)
            ),
            _ => self.taken_keys(work.subject.every),
        }
    }

    /// Asks for what the question found, as one text.
    pub(crate) fn finding(&self, work: &Work) -> String {
        match work.workload {
            Workload::GuidLookupJoin => self.question(work),
            _ => format!("SELECT group_concat(hex(id)) FROM ({})", self.question(work)),
        }
    }
}

fn keys_table(every: u64) -> String {
    format!("fathom_look_up_{every}")
}

/// Nobody reads the file before it is whole: no journal, no flush, much memory.
fn for_speed(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(&format!(
        "PRAGMA page_size = {PAGE_SIZE_BYTES}; PRAGMA synchronous = OFF; PRAGMA cache_size = -{MAKING_CACHE_KIB}"
    ))?;
    connection.query_row("PRAGMA journal_mode = OFF", [], |_| Ok(()))
}

fn next_key(random: &mut Random) -> [u8; 16] {
    let (high, low) = (random.next_u64(), random.next_u64());
    (u128::from(high) << 64 | u128::from(low)).to_be_bytes()
}
