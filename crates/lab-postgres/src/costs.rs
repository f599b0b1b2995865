//! Seconds and bytes that a server adds to runs, for the estimate.

use lab::engine::{SpaceCosts, TimeCosts};
use lab::estimate::heap_row_bytes;
use lab::work::{Storage, Work, Workload};

const MIB: u64 = 1 << 20;
/// One segment of the WAL.
const SEGMENT_BYTES: u64 = 16 * MIB;
/// Default of `max_wal_size`.
const MAX_WAL_MIB: u64 = 1024;

/// Seen on two shared cores.
pub(super) const TIME: TimeCosts = TimeCosts {
    preparing_s: 1.5,
    waits_for_flushes: true,
    // What group commit gave at 1 to 16 connections.
    commits_per_flush_max: 16,
    row_s: None,
};

/// A cluster, its tables and its WAL.
pub(super) const SPACE: SpaceCosts = SpaceCosts {
    // OBSERVED: PostgreSQL 18.6, du of a new cluster without its WAL
    base_bytes: 24 * MIB,
    idle_log_bytes: SEGMENT_BYTES,
    object_bytes: 64 << 10,
    keeps_rows: true,
    keeps_one_shape: true,
    copies_all: true,
    guid_row_bytes,
    log_bytes: |rows, _, work| wal(wal_bytes(rows, work), work),
    fixture_log_bytes: |work| wal(fixture_wal_bytes(work), work),
};

/// Bytes of a row of 1048 bytes with a random key: seven to a page in a heap, which also lies below a tree of the keys.
// OBSERVED: 50,000 rows on PostgreSQL 18.6, sizes of the files
fn guid_row_bytes(storage: Storage) -> u64 {
    let heap = heap_row_bytes();
    match storage {
        Storage::HeapIndex => heap + 45,
        Storage::HeapOrdered => heap + 34,
        Storage::ClusteredRandom => heap + 1_760,
        Storage::ClusteredOrdered => heap + heap + 30,
    }
}

/// What making the tables that runs read puts into PostgreSQL's WAL.
// OBSERVED: 50,000 rows on PostgreSQL 18.6
fn fixture_wal_bytes(work: &Work) -> u64 {
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
fn wal(written_bytes: u64, work: &Work) -> u64 {
    let limit_mib = work.log_size_mib.unwrap_or(MAX_WAL_MIB).max(2 * SEGMENT_BYTES / MIB);
    // A checkpoint aims at the limit and may pass it while it runs.
    let limit = limit_mib.saturating_mul(MIB).saturating_add(limit_mib.saturating_mul(MIB) / 8);
    let segments = (written_bytes / SEGMENT_BYTES).saturating_add(2);
    segments.saturating_mul(SEGMENT_BYTES).min(limit.max(2 * SEGMENT_BYTES))
}
