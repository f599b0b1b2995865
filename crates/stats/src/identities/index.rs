//! What ties the levels of an index, its pages, its records and the reads of a scan together.

use super::{Outcome, Printed, within_limit};
use crate::pages::{SQL_SERVER_PAGE_BODY_BYTES, SQL_SERVER_SLOT_BYTES};

/// One level of an index as its physical statistics tell it; level 0 is the leaf.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IndexLevel {
    /// The pages of the level.
    pub page_count: u64,
    /// The runs of consecutive pages.
    pub fragment_count: u64,
    /// The records of the level.
    pub record_count: u64,
    /// The mean bytes of a record.
    pub record_bytes_mean: f64,
}

impl IndexLevel {
    /// Returns the mean pages of a fragment.
    pub fn fragment_pages_mean(&self) -> f64 {
        self.page_count as f64 / self.fragment_count as f64
    }

    /// Returns how full the pages are in percent: records with their 2-byte slots over 8096 bytes a page.
    pub fn fill_percent(&self) -> f64 {
        let entry_bytes = self.record_bytes_mean + SQL_SERVER_SLOT_BYTES as f64;
        100.0 * self.record_count as f64 * entry_bytes / (self.page_count * SQL_SERVER_PAGE_BODY_BYTES) as f64
    }
}

/// Checks the printed mean size of a fragment in pages.
pub fn fragment_size(level: &IndexLevel, printed: Printed) -> Outcome {
    printed.check(level.fragment_pages_mean())
}

/// Checks the printed fill of the pages in percent.
pub fn fill_percent(level: &IndexLevel, printed: Printed) -> Outcome {
    printed.check(level.fill_percent())
}

/// Checks that a level above the leaf has one record for each page of the level below.
pub fn level_records(level: &IndexLevel, below: &IndexLevel) -> Outcome {
    Printed::new(level.record_count as f64, 0).check(below.page_count as f64)
}

/// Checks the logical reads of one ordered scan: each leaf page, each page of level 1 for the read-ahead, and three
/// for the way from the root to the first leaf of a tree of four levels.
// OBSERVED: STATISTICS IO of three published ordered scans: 10,673,614, 244,803 and 7,190,799 reads, exact in each.
pub fn logical_reads(leaf_page_count: u64, level_1_page_count: u64, logical_read_count: u64) -> Outcome {
    Printed::new(logical_read_count as f64, 0).check((leaf_page_count + level_1_page_count + 3) as f64)
}

/// Checks that a scan read hardly more pages than there are; `tolerance` is a share (0.01 allows 1 % more).
pub fn reads_once(page_read_count: u64, page_count: u64, tolerance: f64) -> Outcome {
    within_limit(page_read_count as f64, page_count as f64 * (1.0 + tolerance))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAF: IndexLevel = IndexLevel {
        page_count: 243_713,
        fragment_count: 243_713,
        record_count: 50_000_000,
        record_bytes_mean: 25.0,
    };

    #[test]
    fn the_fill_counts_slots() {
        assert_eq!(fill_percent(&LEAF, Printed::new(68.0, 0)), Outcome::Holds);
        // Without the slots the pages would be 63 % full.
        assert!(!fill_percent(&LEAF, Printed::new(63.0, 0)).is_consistent());
        let heap = IndexLevel { page_count: 7_142_864, fragment_count: 31_478, ..LEAF };
        assert_eq!(fragment_size(&heap, Printed::new(226.9, 1)), Outcome::Holds);
    }

    #[test]
    fn each_page_below_has_one_record_above() {
        let above = IndexLevel { record_count: 243_713, ..LEAF };
        assert_eq!(level_records(&above, &LEAF), Outcome::Holds);
        let short = IndexLevel { record_count: 243_712, ..LEAF };
        assert_eq!(level_records(&short, &LEAF), Outcome::Broken { expected: 243_713.0, found: 243_712.0 });
    }

    #[test]
    fn an_ordered_scan_reads_each_page_once() {
        assert_eq!(logical_reads(243_713, 1087, 244_803), Outcome::Holds);
        assert!(!logical_reads(243_713, 1087, 244_804).is_consistent());
        assert_eq!(reads_once(10_735_044, 10_673_836, 0.01), Outcome::Holds);
        assert!(matches!(reads_once(279_433, 244_805, 0.01), Outcome::Implausible { .. }));
    }
}
