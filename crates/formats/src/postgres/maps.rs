//! The visibility map and the free space map of a heap.

use super::bytes::{u8_at, u32_at};
use super::page::{HEADER_BYTES, Page};

/// Heap pages that one page of the visibility map describes.
// EVIDENCE: src/backend/access/heap/visibilitymap.c HEAPBLOCKS_PER_PAGE: two bits each, after the page header
#[must_use]
pub fn heap_pages_per_visibility_page(block_bytes: usize) -> u32 {
    (block_bytes.saturating_sub(HEADER_BYTES) * 4) as u32
}

/// What the visibility map says of a heap page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Visibility {
    /// All row versions are visible to everyone.
    pub all_visible: bool,
    /// All row versions are frozen.
    pub all_frozen: bool,
}

/// Reads the entry of the `index`-th heap page of a map page (0 based); nothing is set beyond the end.
// EVIDENCE: visibilitymapdefs.h VISIBILITYMAP_ALL_VISIBLE 1, ALL_FROZEN 2; two bits per page, low bits first
#[must_use]
pub fn visibility(page: &Page<'_>, index: u32) -> Visibility {
    let byte = u8_at(page.bytes(), HEADER_BYTES + (index / 4) as usize).unwrap_or(0);
    let bits = byte >> (index % 4 * 2);
    Visibility { all_visible: bits & 1 != 0, all_frozen: bits & 2 != 0 }
}

/// Free space that a page of the map's lowest level records for its `slot`-th page, in units of 1/256 page.
///
/// The map is not logged and repairs itself; its contents are never damage.
// EVIDENCE: src/include/storage/fsm_internals.h FSMPageData: fp_next_slot @24, nodes from @28; a binary tree
// whose leaves follow BLCKSZ / 2 - 1 inner nodes
#[must_use]
pub fn free_space(page: &Page<'_>, slot: u32) -> Option<u8> {
    let inner = (page.bytes().len() / 2).saturating_sub(1);
    u32_at(page.bytes(), HEADER_BYTES)?;
    u8_at(page.bytes(), HEADER_BYTES + 4 + inner + slot as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_bits_per_page_low_first() {
        let mut bytes = vec![0u8; 8192];
        bytes[24] = 0b0011_0100;
        let page = Page::new(&bytes);
        assert_eq!(visibility(&page, 0), Visibility::default());
        assert_eq!(visibility(&page, 1), Visibility { all_visible: true, all_frozen: false });
        assert_eq!(visibility(&page, 2), Visibility { all_visible: true, all_frozen: true });
        assert_eq!(heap_pages_per_visibility_page(8192), 32_672);
    }
}
