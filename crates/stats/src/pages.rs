//! The arithmetic of pages, rows and log blocks behind the published figures.
//!
//! Sizes that belong to one engine are arguments or named constants with their evidence.

/// The pages between two page-free-space pages of a SQL Server data file.
// EVIDENCE: Microsoft Learn, Pages and extents architecture guide: a PFS page every 8,088 pages. Published waiting tasks on
// pages 5:1:1520544 and 5:1:1544808 are whole multiples.
pub const PFS_INTERVAL_PAGES: u64 = 8088;

/// The bytes of an 8 KiB SQL Server page behind its 96-byte header.
// EVIDENCE: Microsoft Learn, Pages and extents architecture guide: 8,192 bytes with a header of 96. Agrees with the fill of
// 13 published rows of sys.dm_db_index_physical_stats.
pub const SQL_SERVER_PAGE_BODY_BYTES: u64 = 8096;

/// The bytes that each row takes in the slot array of a SQL Server page.
// EVIDENCE: as above.
pub const SQL_SERVER_SLOT_BYTES: u64 = 2;

/// The most bytes that SQL Server writes as one log block.
// EVIDENCE: Microsoft Learn, SQL Server transaction log architecture: a log block has at most 60 KB.
pub const LOG_BLOCK_BYTES_MAX: u64 = 61_440;

/// Divides a page number by an interval; absent when it is no whole multiple, or the interval is zero.
pub fn whole_multiple(page_number: u64, interval_pages: u64) -> Option<u64> {
    (page_number.checked_rem(interval_pages)? == 0).then(|| page_number / interval_pages)
}

/// Rounds log bytes up to whole sectors (512, or 4096 on such devices); absent when `sector_bytes` is zero or the
/// result too large. A log block carries at most [`LOG_BLOCK_BYTES_MAX`]; see [`log_blocks_min`].
pub fn padded_log_bytes(log_bytes: u64, sector_bytes: u64) -> Option<u64> {
    log_bytes.checked_next_multiple_of(sector_bytes)
}

/// Counts the log blocks that so many bytes need at least, each filled to [`LOG_BLOCK_BYTES_MAX`].
pub fn log_blocks_min(log_bytes: u64) -> u64 {
    log_bytes.div_ceil(LOG_BLOCK_BYTES_MAX)
}

/// Counts the rows of one size that fit into the body of a page; absent when both sizes are zero.
pub fn rows_per_page(row_bytes: u64, slot_bytes: u64, page_body_bytes: u64) -> Option<u64> {
    page_body_bytes.checked_div(row_bytes.checked_add(slot_bytes)?)
}

/// Counts the pages that hold the rows when each page but the last is full; absent when no row fits.
pub fn pages_for_rows(row_count: u64, rows_per_page: u64) -> Option<u64> {
    (rows_per_page > 0).then(|| row_count.div_ceil(rows_per_page))
}

/// Multiplies pages by their size; absent when the product does not fit.
pub fn total_bytes(page_count: u64, page_size_bytes: u64) -> Option<u64> {
    page_count.checked_mul(page_size_bytes)
}

/// Estimates the bytes of a B-tree's leaves after many inserts at random keys.
///
/// Random splits leave pages ln 2 = 69 % full on average (Yao, "On random 2-3 trees", 1978), so the estimate is
/// `row_count * entry_bytes / ln 2`, with the slot counted in the entry. A rule of plausibility, good to a few
/// percent.
pub fn random_insert_bytes(row_count: u64, entry_bytes: u64) -> f64 {
    row_count as f64 * entry_bytes as f64 / std::f64::consts::LN_2
}

/// Counts the rows that a loop of whole batches inserts when asked for `row_count`: never fewer, up to a batch more.
///
/// Absent when the batch is zero or the product too large. fathom cuts the last batch to size; the published script
/// did not, and so gave each batch size a different amount of work.
pub fn rows_in_whole_batches(row_count: u64, rows_per_batch: u64) -> Option<u64> {
    row_count.checked_next_multiple_of(rows_per_batch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_free_space_pages_are_whole_multiples() {
        assert_eq!(whole_multiple(1_520_544, PFS_INTERVAL_PAGES), Some(188));
        assert_eq!(whole_multiple(1_544_808, PFS_INTERVAL_PAGES), Some(191));
        assert_eq!(whole_multiple(1_520_545, PFS_INTERVAL_PAGES), None);
        assert_eq!(whole_multiple(1, 0), None);
    }

    #[test]
    fn log_bytes_are_padded_to_the_next_sector() {
        assert_eq!(padded_log_bytes(4952, 512), Some(5120));
        assert_eq!(padded_log_bytes(48_688, 512), Some(49_152));
        assert_eq!(padded_log_bytes(4952, 4096), Some(8192));
        assert_eq!(padded_log_bytes(512, 512), Some(512));
        assert_eq!((padded_log_bytes(1, 0), padded_log_bytes(u64::MAX, 512)), (None, None));
        assert_eq!((log_blocks_min(489_628), log_blocks_min(61_440), log_blocks_min(61_441)), (8, 1, 2));
    }

    #[test]
    fn rows_fill_pages() {
        assert_eq!(rows_per_page(1047, SQL_SERVER_SLOT_BYTES, SQL_SERVER_PAGE_BODY_BYTES), Some(7));
        assert_eq!(rows_per_page(4115, SQL_SERVER_SLOT_BYTES, SQL_SERVER_PAGE_BODY_BYTES), Some(1));
        assert_eq!(rows_per_page(0, 0, SQL_SERVER_PAGE_BODY_BYTES), None);
        assert_eq!(pages_for_rows(50_000_000, 7), Some(7_142_858));
        assert_eq!(pages_for_rows(50_000, 7), Some(7143));
        assert_eq!(pages_for_rows(1, 0), None);
        assert_eq!(total_bytes(134_217_728, 8192), Some(1 << 40));
        assert_eq!(total_bytes(u64::MAX, 2), None);
    }

    #[test]
    fn random_inserts_leave_pages_two_thirds_full() {
        let gigabytes = random_insert_bytes(160_000_000, 160) / 1e9;
        assert!((gigabytes - 36.93).abs() < 0.01, "{gigabytes}");
    }

    #[test]
    fn whole_batches_insert_more_than_was_asked_for() {
        assert_eq!(rows_in_whole_batches(1_048_576, 10_000), Some(1_050_000));
        assert_eq!(rows_in_whole_batches(1_048_576, 1), Some(1_048_576));
        assert_eq!(rows_in_whole_batches(5, 0), None);
    }
}
