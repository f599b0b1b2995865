//! Seconds and bytes that the engine adds to runs, for the estimate.

use lab::engine::{SpaceCosts, TimeCosts};
use lab::estimate::{PAGE_BYTES, RANDOM_ROW_BYTES, SECONDARY_BYTES, heap_row_bytes};
use lab::work::{KeyOrder, Storage, Work, Workload};

const MIB: u64 = 1 << 20;
/// Default of `wal_autocheckpoint`, at 8 KiB a page.
const AUTOCHECKPOINT_MIB: u64 = 8;
/// A page in the WAL with the header of its frame.
const FRAME_BYTES: u64 = PAGE_BYTES + 24;
/// Frames of a transaction beside those of its rows: the tree's last inner page, and the page that the row was to go to.
const FRAMES_BESIDE: u64 = 2;

/// Seen on two shared cores. Commits share no flush: there is one writer at a time.
pub(super) const TIME: TimeCosts =
    TimeCosts { preparing_s: 0.1, waits_for_flushes: true, commits_per_flush_max: 1, row_s: None };

/// A file for each shape of the tables, with its WAL.
pub(super) const SPACE: SpaceCosts = SpaceCosts {
    base_bytes: 0,
    idle_log_bytes: 0,
    object_bytes: 0,
    keeps_rows: true,
    keeps_one_shape: false,
    copies_all: false,
    guid_row_bytes,
    log_bytes: wal_bytes,
    fixture_log_bytes: |_| 0,
};

/// Bytes of a row of 1048 bytes with a random key: seven to a page where they are in order.
// OBSERVED: 50,000 rows on SQLite 3.51, sizes of the files
fn guid_row_bytes(storage: Storage) -> u64 {
    let heap = heap_row_bytes();
    match storage {
        Storage::HeapIndex => heap + 45,
        Storage::HeapOrdered => heap + 34,
        Storage::ClusteredRandom => 1_400,
        Storage::ClusteredOrdered => heap + 30,
    }
}

/// SQLite's WAL: whole pages of each transaction, until a checkpoint lets it begin at its start again.
fn wal_bytes(rows: u64, data_bytes: u64, work: &Work) -> u64 {
    let batch = work.batch_size.max(1).min(rows.max(1));
    // Each tree is half as large on average as at the end.
    let touched = |bytes_per_row: u64| {
        let pages = rows.saturating_mul(bytes_per_row) / PAGE_BYTES / 2;
        distinct(batch, pages.max(1))
    };
    let of_rows = match (work.workload, work.key) {
        (Workload::Populate, _) => batch,
        (Workload::RandomInsert, KeyOrder::Sequential) => {
            batch.saturating_mul(RANDOM_ROW_BYTES) / PAGE_BYTES + 1
        }
        (Workload::RandomInsert, KeyOrder::Random) => touched(RANDOM_ROW_BYTES),
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
