//! The disk space of a study at its peak, object by object: what the engine is made of, tables and indexes, the WAL,
//! copies that a backup makes, and the file of a ceiling.
//!
//! Where pages are filled by random keys the usual 69 % are taken (Yao 1978), or what was measured.

use crate::spec::Resolved;
use crate::work::{Amount, KeyOrder, Storage, WarmUp, Work, Workload};

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

/// Bytes that a study needs at once. `rows_in_time` tells how many rows a run that is bounded by time may do.
pub(super) fn disk_bytes(resolved: &Resolved, rows_in_time: &dyn Fn(&Work) -> u64) -> u64 {
    let engine = resolved.engine.as_str();
    let works: Vec<Work> = resolved.cells().iter().map(|cell| resolved.work(cell, 0)).collect();
    let kept = Kept::of(&works, engine);
    works.iter().map(|work| peak_bytes(work, engine, &kept, rows_in_time)).max().unwrap_or(0)
}

/// Tables that stay from run to run.
struct Kept {
    bytes: u64,
}

impl Kept {
    /// SQLite keeps a file for each shape of the tables, PostgreSQL those of look-ups: a task has the others removed.
    fn of(works: &[Work], engine: &str) -> Self {
        let mut shapes: Vec<&Work> = Vec::new();
        for work in works.iter().filter(|work| work.workload.has_stock()) {
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
        let is_one_at_a_time = engine == "postgres" && works.iter().any(|work| work.workload.is_task());
        let bytes = if is_one_at_a_time { all.max().unwrap_or(0) } else { all.fold(0, u64::saturating_add) };
        Self { bytes }
    }
}

/// Peak of one run, with all that is there meanwhile.
fn peak_bytes(work: &Work, engine: &str, kept: &Kept, rows_in_time: &dyn Fn(&Work) -> u64) -> u64 {
    let is_postgres = engine == "postgres";
    let base = if is_postgres { CLUSTER_BYTES } else { 0 };
    if engine == "noop" {
        return if work.workload == Workload::RawRead { work.subject.raw.file_bytes } else { 0 };
    }
    if work.workload == Workload::RawRead {
        return work
            .subject
            .raw
            .file_bytes
            .saturating_add(base + if is_postgres { SEGMENT_BYTES } else { 0 });
    }
    if work.workload.has_stock() {
        let wal = if is_postgres { postgres_wal(stock_wal_bytes(work), work) } else { 0 };
        let files = base.saturating_add(kept.bytes).saturating_add(wal);
        // The copy, and what is made of it again; SQLite copies the one file that it is about.
        let copied = if is_postgres { files } else { stock_bytes(work, engine) };
        let copies = if work.workload == Workload::Backup { 2 } else { 0 };
        return files.saturating_add(copied.saturating_mul(copies));
    }
    if !work.workload.adds_rows() {
        return base + if is_postgres { SEGMENT_BYTES } else { 0 };
    }
    let rows = rows_of(work, rows_in_time);
    let data = rows.saturating_mul(row_bytes(work, engine));
    let wal =
        if is_postgres { postgres_wal(wal_bytes(rows, work), work) } else { sqlite_wal(rows, data, work) };
    let run = data.saturating_add(wal);
    base.saturating_add(run.max(crate::ceilings::file_bytes(data_bytes(work, engine))))
}

/// Bytes of the table that a run fills, with its indexes; `None` where time bounds it.
pub(crate) fn data_bytes(work: &Work, engine: &str) -> Option<u64> {
    match work.amount {
        Amount::Rows(rows) => Some(rows.saturating_mul(row_bytes(work, engine))),
        Amount::Time(_) => None,
    }
}

/// Rows of the measured part and of its warm-up.
fn rows_of(work: &Work, rows_in_time: &dyn Fn(&Work) -> u64) -> u64 {
    let in_time = |time: std::time::Duration| {
        let timed = Work { amount: Amount::Time(time), ..work.clone() };
        rows_in_time(&timed)
    };
    let measured = match work.amount {
        Amount::Rows(rows) => rows,
        Amount::Time(time) => in_time(time),
    };
    let warm_up = match work.warm_up {
        WarmUp::None => 0,
        WarmUp::Rows(rows) => rows,
        WarmUp::Time(time) => in_time(time),
    };
    measured.saturating_add(warm_up)
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
