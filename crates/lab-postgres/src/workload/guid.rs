//! Rows with random keys of 16 bytes: the table of `guid-populate`, and the tables that look-ups read.
//!
//! The table of every workload is a heap here. `clustered-…` therefore adds an index that includes the wide column:
//! a tree whose leaves hold whole rows, which statements read without the heap. The heap below it stays empty of
//! readers but is written too, and that is said as a limitation.

use lab::work::{Storage, Work, Workload};

use crate::workload::table::TABLE;

/// Characters of the wide column, as published.
pub(crate) const WIDE_CHARACTERS: u64 = 1024;

/// Rows of a page of the heap: 24 bytes of header, 16 of key, 1028 of text, rounded to 1072, and 4 of pointer.
// EVIDENCE: PostgreSQL documentation, storage-page-layout; measured: 50,000 rows take 7143 pages
pub(crate) const ROWS_PER_PAGE: u64 = 7;

/// Random keys that one load in the order of keys reads.
pub(crate) const SOURCE: &str = "fathom_source";

/// Keys that the join looks up.
pub(crate) const KEYS: &str = "fathom_look_up";

/// Is there a tree that holds whole rows?
pub(crate) fn is_in_tree(work: &Work) -> bool {
    work.workload == Workload::GuidPopulate && !work.subject.storage.is_heap()
}

/// Columns of the table of `guid-populate`.
pub(crate) fn columns(work: &Work) -> Vec<String> {
    let key = match work.subject.storage {
        storage if storage.is_heap() => "c1 uuid DEFAULT gen_random_uuid() PRIMARY KEY",
        _ => "c1 uuid NOT NULL DEFAULT gen_random_uuid()",
    };
    vec![key.to_owned(), format!("c2 char({WIDE_CHARACTERS}) NOT NULL DEFAULT 'a'")]
}

/// The tree with whole rows, where the storage asks for one.
pub(crate) fn key_index(work: &Work) -> Option<String> {
    is_in_tree(work).then(|| format!("CREATE UNIQUE INDEX {TABLE}_key ON {TABLE} (c1) INCLUDE (c2)"))
}

/// The keys that one load takes, drawn from the run's seed.
pub(crate) fn source(work: &Work) -> Vec<String> {
    if !work.is_one_load() {
        return Vec::new();
    }
    vec![
        format!(
            "CREATE UNLOGGED TABLE {SOURCE} AS SELECT {} AS c1 FROM generate_series(1, {}) AS i",
            key_of_row(work.seed),
            work.batch_size
        ),
        format!("ANALYZE {SOURCE}"),
    ]
}

/// The one load in the order of keys.
pub(crate) fn load_statement() -> String {
    format!("INSERT INTO {TABLE} (c1) SELECT c1 FROM {SOURCE} ORDER BY c1")
}

/// A key that looks random and follows a seed.
fn key_of_row(seed: u64) -> String {
    format!("md5('{seed}-' || i)::uuid")
}

/// Tables that stay from run to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FixtureTables {
    storage: Storage,
    rows: u64,
    objects: u32,
}

/// The rows of the fixture are the same in every run and on every server, so that results can be compared.
const STOCK_SEED: u64 = 7143;

impl FixtureTables {
    /// What a run reads; `None` where it reads nothing.
    pub(crate) fn of(work: &Work) -> Option<Self> {
        let subject = &work.subject;
        let fixture =
            Self { storage: subject.storage, rows: subject.table_rows, objects: subject.objects.max(1) };
        work.workload.has_fixtures().then_some(fixture)
    }

    /// Name of one of its tables, counted from 0.
    pub(crate) fn table(&self, index: u32) -> String {
        format!("fathom_guid_{}_{index}", self.storage.table_word())
    }

    fn index(&self, index: u32) -> String {
        format!("{}_key", self.table(index))
    }

    /// Tables and indexes, for looks at their files.
    pub(crate) fn relations(&self) -> Vec<String> {
        (0..self.objects).flat_map(|index| [self.table(index), self.index(index)]).collect()
    }

    /// Statements that make and fill its tables, each to be run by itself.
    pub(crate) fn create(&self) -> Vec<String> {
        (0..self.objects).flat_map(|index| self.create_one(index)).collect()
    }

    fn create_one(&self, index: u32) -> Vec<String> {
        let (table, key) = (self.table(index), self.index(index));
        let objects = u64::from(self.objects);
        let rows = self.rows / objects + u64::from(u64::from(index) < self.rows % objects);
        let (include, order) = match self.storage {
            Storage::ClusteredRandom => (" INCLUDE (pad)", ""),
            Storage::HeapIndex => ("", ""),
            Storage::HeapOrdered => ("", " ORDER BY 1"),
            Storage::ClusteredOrdered => (" INCLUDE (pad)", " ORDER BY 1"),
        };
        vec![
            format!("CREATE TABLE {table} (id uuid NOT NULL, pad char({WIDE_CHARACTERS}) NOT NULL)"),
            format!("ALTER TABLE {table} ALTER COLUMN pad SET STORAGE PLAIN"),
            format!("CREATE UNIQUE INDEX {key} ON {table} (id){include}"),
            format!(
                "INSERT INTO {table} SELECT {}, md5(i::text) FROM generate_series(1, {rows}) AS i{order}",
                key_of_row(STOCK_SEED + u64::from(index))
            ),
            // Hint bits and the visibility map: a reader that wrote, or that had to ask the heap, would measure both.
            format!("VACUUM (FREEZE, ANALYZE) {table}"),
        ]
    }

    /// Statements that remove it.
    pub(crate) fn drop_all(&self) -> Vec<String> {
        (0..self.objects).map(|index| format!("DROP TABLE IF EXISTS {}", self.table(index))).collect()
    }

    /// Statements that make the small table of the keys that `work` looks up.
    pub(crate) fn choose_keys(&self, work: &Work) -> Vec<String> {
        if work.workload != Workload::GuidLookupJoin {
            return Vec::new();
        }
        vec![
            format!("DROP TABLE IF EXISTS {KEYS}"),
            format!("CREATE TABLE {KEYS} AS {}", self.taken_keys(work.subject.every)),
            format!("VACUUM (FREEZE, ANALYZE) {KEYS}"),
        ]
    }

    fn taken_keys(&self, every: u64) -> String {
        format!(
            "SELECT id FROM (SELECT id, row_number() OVER (ORDER BY id) AS place FROM {}) AS placed \
             WHERE place % {every} = 0",
            self.table(0)
        )
    }

    /// The statement that is measured.
    pub(crate) fn question(&self, work: &Work) -> String {
        match work.workload {
            Workload::GuidLookupJoin => {
                format!("SELECT max(g.pad) FROM {KEYS} AS l JOIN {} AS g ON g.id = l.id", self.table(0))
            }
            _ => self.taken_keys(work.subject.every),
        }
    }

    /// Asks for what the question found, as one value that can be compared between ways to store the same rows.
    pub(crate) fn finding(&self, work: &Work) -> String {
        match work.workload {
            Workload::GuidLookupJoin => self.question(work),
            _ => format!(
                "SELECT md5(string_agg(id::text, ',' ORDER BY id)) || ' ' || count(*) FROM ({}) AS taken",
                self.question(work)
            ),
        }
    }
}

/// What every client that looks up sets first: the published plan walks the keys and looks rows up one by one, and a
/// planner with so small a table would rather read all of it.
pub(crate) const PLANNER: [&str; 5] = [
    "SET enable_seqscan = off",
    "SET enable_bitmapscan = off",
    "SET enable_hashjoin = off",
    "SET enable_mergejoin = off",
    "SET max_parallel_workers_per_gather = 0",
];
