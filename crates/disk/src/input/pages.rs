//! What a pass read of a file, page by page: a hash of each, so that a second reading can be compared with the first.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use xxhash_rust::xxh3::xxh3_64;

/// The hash of what was read at one place; never 0.
pub(crate) fn hash(bytes: &[u8]) -> u32 {
    xxh3_64(bytes) as u32 | 1
}

/// Hashes of the pages of a file. Four bytes for each page.
#[derive(Debug)]
pub(crate) struct Pages {
    pub(crate) page_bytes: usize,
    /// By page number; 0 for those not read yet.
    grid: Vec<AtomicU32>,
    /// By offset, for pages that do not begin at multiples of their size: members of tar files.
    beside: Mutex<HashMap<u64, u32>>,
    beside_max: usize,
}

impl Pages {
    /// The memory that the hashes of a file take, in bytes.
    pub(crate) fn memory_bytes(size_bytes: u64, page_bytes: usize) -> u64 {
        size_bytes.div_ceil(page_bytes as u64) * 4
    }

    pub(crate) fn new(size_bytes: u64, page_bytes: usize) -> Pages {
        let count = usize::try_from(size_bytes.div_ceil(page_bytes as u64)).unwrap_or(0);
        let mut grid = Vec::new();
        // Without memory nothing is compared: what a second reading alone would show is then not shown.
        if grid.try_reserve_exact(count).is_ok() {
            grid.resize_with(count, AtomicU32::default);
        }
        // An entry of the map takes about eight times the bytes of one of the grid.
        Pages { page_bytes, grid, beside: Mutex::default(), beside_max: count / 8 + 1024 }
    }

    /// Keeps the hash of a whole page; gives the one of the reading before when it differs.
    pub(crate) fn note(&self, offset_bytes: u64, page: &[u8]) -> Option<(u32, u32)> {
        let new = hash(page);
        let old = match self.slot(offset_bytes) {
            Some(slot) => slot.swap(new, Ordering::Relaxed),
            None => {
                let mut beside = self.beside.lock().unwrap_or_else(PoisonError::into_inner);
                if beside.len() >= self.beside_max && !beside.contains_key(&offset_bytes) {
                    return None;
                }
                beside.insert(offset_bytes, new).unwrap_or(0)
            }
        };
        (old != 0 && old != new).then_some((old, new))
    }

    /// The hash of the last reading of a page; `None` when it was not read.
    pub(crate) fn get(&self, offset_bytes: u64) -> Option<u32> {
        let found = match self.slot(offset_bytes) {
            Some(slot) => slot.load(Ordering::Relaxed),
            None => {
                let beside = self.beside.lock().unwrap_or_else(PoisonError::into_inner);
                beside.get(&offset_bytes).copied().unwrap_or(0)
            }
        };
        Some(found).filter(|found| *found != 0)
    }

    fn slot(&self, offset_bytes: u64) -> Option<&AtomicU32> {
        let page_bytes = self.page_bytes as u64;
        let number = usize::try_from(offset_bytes / page_bytes).ok()?;
        self.grid.get(number).filter(|_| offset_bytes.is_multiple_of(page_bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_is_read_otherwise_is_told_with_both_hashes() {
        let pages = Pages::new(4 * 512, 512);
        assert_eq!(pages.note(512, &[1; 512]), None);
        assert_eq!(pages.note(512, &[1; 512]), None);
        assert_eq!(pages.note(1000, &[1; 512]), None);
        let (first, second) = pages.note(512, &[2; 512]).unwrap_or_default();
        assert!(first != second && first != 0);
        assert_eq!(pages.get(512), Some(second));
        assert!(pages.note(1000, &[2; 512]).is_some());
        assert_eq!((pages.get(0), pages.get(1 << 40)), (None, None));
    }
}
