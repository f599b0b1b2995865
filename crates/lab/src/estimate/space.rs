//! The disk space of a study at its peak, object by object: what the engine is made of, tables and indexes, the WAL,
//! copies that a backup makes, and the file of a ceiling.
//!
//! Where pages are filled by random keys the usual 69 % are taken (Yao 1978), or what was measured.

use results::model::Cell;

use crate::spec::Resolved;
use crate::work::{Amount, KeyOrder, Placement, Storage, WarmUp, Work, Workload};

const PAGE_BYTES: u64 = 8192;
const MIB: u64 = 1 << 20;
/// A cluster as initdb leaves it, without its WAL.
// OBSERVED: PostgreSQL 18.6, du of a new cluster
const CLUSTER_BYTES: u64 = 24 * MIB;
/// One segment of PostgreSQL's WAL.
const SEGMENT_BYTES: u64 = 16 * MIB;
/// Default of `max_wal_size`.
const MAX_WAL_MIB: u64 = 1024;
/// Default of SQLite's `wal_autocheckpoint`, at 8 KiB a page.
const AUTOCHECKPOINT_MIB: u64 = 8;
/// A page in SQLite's WAL with the header of its frame.
const FRAME_BYTES: u64 = PAGE_BYTES + 24;
/// Frames of a transaction beside those of its rows: the tree's last inner page, and the page that the row was to go to.
const FRAMES_BESIDE: u64 = 2;
/// Bytes of an index entry: a number and what leads to the row, in pages 69 % full.
const SECONDARY_BYTES: u64 = 45;
/// Maps, statistics and first pages of a table with its index on PostgreSQL.
const OBJECT_BYTES: u64 = 64 << 10;

/// Bytes that a study needs, at the peak of each directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Space {
    /// Of each data directory, in the order of the layout; one for the target's own place without any.
    pub data: Vec<u64>,
    /// Of the log directory; 0 where the log is with the data.
    pub log: u64,
    /// Of all directories together, at their common peak.
    pub total: u64,
    /// Rows of a run by time are not known: the bytes are the most that could be, not those expected.
    pub is_bound: bool,
}

impl Space {
    /// The larger of two in every place.
    fn or(mut self, other: &Self) -> Self {
        self.data.iter_mut().zip(&other.data).for_each(|(one, other)| *one = (*one).max(*other));
        Self {
            log: self.log.max(other.log),
            total: self.total.max(other.total),
            is_bound: self.is_bound || other.is_bound,
            data: self.data,
        }
    }

    /// Adds bytes in one data directory.
    fn add(&mut self, place: usize, bytes: u64) {
        if let Some(data) = self.data.get_mut(place) {
            *data = data.saturating_add(bytes);
        }
    }

    /// Divides bytes among the first `places` data directories.
    fn share(&mut self, places: usize, bytes: u64) {
        let places = places.clamp(1, self.data.len().max(1));
        (0..places).for_each(|place| self.add(place, bytes.div_ceil(places as u64)));
    }
}

/// Rows that a run bounded by time may do, and whether that is the most or what is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TimedRows {
    pub(super) rows: u64,
    pub(super) is_bound: bool,
}

/// Bytes that a study needs. `rows_in_time` tells how many rows a run of a cell that is bounded by time may do.
pub(super) fn space(resolved: &Resolved, rows_in_time: &dyn Fn(&Cell, &Work) -> TimedRows) -> Space {
    let engine = resolved.engine.as_str();
    let works: Vec<(Cell, Work)> =
        resolved.cells().into_iter().map(|cell| (cell.clone(), resolved.work(&cell, 0))).collect();
    let kept = Kept::of(&works, engine);
    // SQLite has one directory, whatever the layout says.
    let count = if engine == "postgres" { resolved.layout.data.len().max(1) } else { 1 };
    let empty = Space { data: vec![0; count], ..Space::default() };
    let has_log = engine == "postgres" && resolved.layout.log.is_some();
    works
        .iter()
        .map(|(cell, work)| {
            Peak { work, engine, kept: &kept, has_log }.space(&empty, &|work| rows_in_time(cell, work))
        })
        .fold(empty.clone(), |one, other| one.or(&other))
}

/// Tables that stay from run to run.
struct Kept {
    bytes: u64,
}

impl Kept {
    /// SQLite keeps a file for each shape of the tables, PostgreSQL those of look-ups: a task has the others removed.
    fn of(works: &[(Cell, Work)], engine: &str) -> Self {
        let works = || works.iter().map(|(_, work)| work);
        let mut shapes: Vec<&Work> = Vec::new();
        for work in works().filter(|work| work.workload.has_stock()) {
            let is_same = |other: &&&Work| {
                let (one, other) = (&work.subject, &other.subject);
                (one.storage, one.table_rows, one.objects.max(1))
                    == (other.storage, other.table_rows, other.objects.max(1))
            };
            if !shapes.iter().any(|other| is_same(&other)) {
                shapes.push(work);
            }
        }
        let all = shapes.iter().map(|work| stock_bytes(work, engine));
        let is_one_at_a_time = engine == "postgres" && works().any(|work| work.workload.is_task());
        let bytes = if is_one_at_a_time { all.max().unwrap_or(0) } else { all.fold(0, u64::saturating_add) };
        Self { bytes }
    }
}

/// One run, with all that is there meanwhile.
struct Peak<'a> {
    work: &'a Work,
    engine: &'a str,
    kept: &'a Kept,
    /// Is there a directory for the log alone?
    has_log: bool,
}

impl Peak<'_> {
    fn space(&self, empty: &Space, rows_in_time: &dyn Fn(&Work) -> TimedRows) -> Space {
        let mut space = empty.clone();
        let Self { work, engine, .. } = *self;
        let is_postgres = engine == "postgres";
        if is_postgres {
            space.add(0, CLUSTER_BYTES);
        }
        if engine == "noop" || work.workload == Workload::RawRead {
            let raw = if work.workload == Workload::RawRead { work.subject.raw.file_bytes } else { 0 };
            space.add(0, raw);
            self.add_wal(&mut space, if is_postgres { SEGMENT_BYTES } else { 0 });
        } else if work.workload.has_stock() {
            self.add_stock(&mut space);
        } else if work.workload.adds_rows() {
            self.add_rows(&mut space, rows_in_time);
        } else {
            self.add_wal(&mut space, if is_postgres { SEGMENT_BYTES } else { 0 });
        }
        space.total = space.data.iter().fold(space.log, |sum, bytes| sum.saturating_add(*bytes));
        space
    }

    /// Tables that runs read, and the copies that a backup makes of them.
    fn add_stock(&self, space: &mut Space) {
        let is_postgres = self.engine == "postgres";
        let wal = if is_postgres { postgres_wal(stock_wal_bytes(self.work), self.work) } else { 0 };
        self.add_data(space, self.kept.bytes);
        self.add_wal(space, wal);
        if self.work.workload == Workload::Backup {
            // The copy, and what is made of it again; SQLite copies the one file that it is about.
            let all = CLUSTER_BYTES.saturating_add(self.kept.bytes).saturating_add(wal);
            let copied = if is_postgres { all } else { stock_bytes(self.work, self.engine) };
            space.add(0, copied.saturating_mul(2));
        }
    }

    /// What a run inserts; before it, the file of a ceiling takes the place of its rows.
    fn add_rows(&self, space: &mut Space, rows_in_time: &dyn Fn(&Work) -> TimedRows) {
        let Self { work, engine, .. } = *self;
        let TimedRows { rows, is_bound } = rows_of(work, rows_in_time);
        let data = rows.saturating_mul(row_bytes(work, engine));
        let wal = match engine {
            "postgres" => postgres_wal(wal_bytes(rows, work), work),
            _ => sqlite_wal(rows, data, work),
        };
        let ceiling = crate::ceilings::file_bytes(data_bytes(work, engine));
        space.is_bound |= is_bound;
        let mut before = space.clone();
        self.add_data(&mut before, ceiling);
        self.add_data(space, data);
        self.add_wal(space, wal);
        *space = space.clone().or(&before);
    }

    fn add_data(&self, space: &mut Space, bytes: u64) {
        if self.has_log && self.work.placement == Placement::DataApart {
            space.log = space.log.saturating_add(bytes);
        } else {
            space.share(self.work.data_places(space.data.len()), bytes);
        }
    }

    fn add_wal(&self, space: &mut Space, bytes: u64) {
        if self.has_log && self.work.placement == Placement::LogApart {
            space.log = space.log.saturating_add(bytes);
        } else {
            space.add(0, bytes);
        }
    }
}

/// Bytes of the table that a run fills, with its indexes; `None` where time bounds it.
pub(crate) fn data_bytes(work: &Work, engine: &str) -> Option<u64> {
    match work.amount {
        Amount::Rows(rows) => Some(rows.saturating_mul(row_bytes(work, engine))),
        Amount::Time(_) => None,
    }
}

/// Rows of the measured part and of its warm-up.
fn rows_of(work: &Work, rows_in_time: &dyn Fn(&Work) -> TimedRows) -> TimedRows {
    let in_time = |time: std::time::Duration| {
        let timed = Work { amount: Amount::Time(time), ..work.clone() };
        rows_in_time(&timed)
    };
    let known = |rows| TimedRows { rows, is_bound: false };
    let measured = match work.amount {
        Amount::Rows(rows) => known(rows),
        Amount::Time(time) => in_time(time),
    };
    let warm_up = match work.warm_up {
        WarmUp::None => known(0),
        WarmUp::Rows(rows) => known(rows),
        WarmUp::Time(time) => in_time(time),
    };
    let is_bound = measured.is_bound || warm_up.is_bound;
    TimedRows { rows: measured.rows.saturating_add(warm_up.rows), is_bound }
}

/// Bytes of a row with its entries in all indexes.
fn row_bytes(work: &Work, engine: &str) -> u64 {
    let row = match work.workload {
        // A page, and an entry of the key's own index or of the inner pages.
        Workload::Populate => PAGE_BYTES + 32,
        // 160 bytes in pages 69 % full: 37 GB for the published 160 million rows. A heap and its index of the key
        // come to the same.
        Workload::RandomInsert => 232,
        Workload::GuidPopulate => {
            let source = if work.is_one_load() { 45 } else { 0 };
            guid_row_bytes(work.subject.storage, engine) + source
        }
        _ => 0,
    };
    row + u64::from(work.secondary_indexes) * SECONDARY_BYTES
}

/// Bytes of a row of 1048 bytes with a random key: seven to a page in a heap.
// OBSERVED: 50,000 rows on SQLite 3.51 and PostgreSQL 18.6, sizes of the files
fn guid_row_bytes(storage: Storage, engine: &str) -> u64 {
    let heap = PAGE_BYTES.div_ceil(7);
    match (engine, storage) {
        (_, Storage::HeapIndex) => heap + 45,
        (_, Storage::HeapOrdered) => heap + 34,
        ("sqlite", Storage::ClusteredRandom) => 1_400,
        ("sqlite", Storage::ClusteredOrdered) => heap + 30,
        // A heap lies below the tree.
        (_, Storage::ClusteredRandom) => heap + 1_760,
        (_, Storage::ClusteredOrdered) => heap + heap + 30,
    }
}

fn stock_bytes(work: &Work, engine: &str) -> u64 {
    let objects = u64::from(work.subject.objects.max(1));
    let of_objects = if engine == "postgres" { objects.saturating_mul(OBJECT_BYTES) } else { 0 };
    let rows = work.subject.table_rows.saturating_mul(guid_row_bytes(work.subject.storage, engine));
    rows.saturating_add(of_objects)
}

/// What making the tables that runs read puts into PostgreSQL's WAL.
// OBSERVED: 50,000 rows on PostgreSQL 18.6
fn stock_wal_bytes(work: &Work) -> u64 {
    let row = match work.subject.storage {
        Storage::HeapIndex | Storage::HeapOrdered => 1_260,
        Storage::ClusteredRandom => 3_100,
        Storage::ClusteredOrdered => 2_400,
    };
    work.subject.table_rows.saturating_mul(row)
}

/// What a run puts into PostgreSQL's WAL: rows, entries and their headers.
fn wal_bytes(rows: u64, work: &Work) -> u64 {
    let row = match (work.workload, work.subject.storage) {
        (Workload::Populate, _) => 4_300,
        (Workload::GuidPopulate, Storage::ClusteredRandom) => 3_100,
        (Workload::GuidPopulate, Storage::ClusteredOrdered) => 2_400,
        (Workload::GuidPopulate, _) => 1_260,
        _ => 400,
    };
    rows.saturating_mul(row + 100 * u64::from(work.secondary_indexes))
}

/// The segments of PostgreSQL's WAL: all that is written until a checkpoint must have made room, and one at each end.
fn postgres_wal(written_bytes: u64, work: &Work) -> u64 {
    let limit_mib = work.log_size_mib.unwrap_or(MAX_WAL_MIB).max(2 * SEGMENT_BYTES / MIB);
    // A checkpoint aims at the limit and may pass it while it runs.
    let limit = limit_mib.saturating_mul(MIB).saturating_add(limit_mib.saturating_mul(MIB) / 8);
    let segments = (written_bytes / SEGMENT_BYTES).saturating_add(2);
    segments.saturating_mul(SEGMENT_BYTES).min(limit.max(2 * SEGMENT_BYTES))
}

/// SQLite's WAL: whole pages of each transaction, until a checkpoint lets it begin at its start again.
fn sqlite_wal(rows: u64, data_bytes: u64, work: &Work) -> u64 {
    let batch = work.batch_size.max(1).min(rows.max(1));
    // Each tree is half as large on average as at the end.
    let touched = |bytes_per_row: u64| {
        let pages = rows.saturating_mul(bytes_per_row) / PAGE_BYTES / 2;
        distinct(batch, pages.max(1))
    };
    let of_rows = match (work.workload, work.key) {
        (Workload::Populate, _) => batch,
        (Workload::RandomInsert, KeyOrder::Sequential) => batch.saturating_mul(232) / PAGE_BYTES + 1,
        (Workload::RandomInsert, KeyOrder::Random) => touched(232),
        _ if work.is_one_load() => data_bytes / PAGE_BYTES,
        _ => touched(1_400),
    };
    let of_indexes = u64::from(work.secondary_indexes).saturating_mul(touched(SECONDARY_BYTES));
    let transaction =
        of_rows.saturating_add(of_indexes).saturating_add(FRAMES_BESIDE).saturating_mul(FRAME_BYTES);
    let setting = |name: &str| work.settings.get(name).map(String::as_str);
    if setting("journal_mode").is_some_and(|mode| !mode.eq_ignore_ascii_case("wal")) {
        return transaction;
    }
    let all = rows.div_ceil(batch).saturating_mul(transaction);
    if setting("reader_blocks_checkpoint") == Some("true") {
        return all;
    }
    let limit = work.log_size_mib.unwrap_or(AUTOCHECKPOINT_MIB).saturating_mul(MIB);
    all.min(limit.saturating_add(transaction))
}

/// Pages of `pages` that `count` rows at random places touch.
fn distinct(count: u64, pages: u64) -> u64 {
    let pages = pages as f64;
    (pages * (1.0 - (-(count as f64) / pages).exp())).ceil() as u64
}

#[cfg(test)]
#[path = "space_tests.rs"]
mod tests;
