//! The visibility map and the free space map of a heap.

use crate::postgres::bytes::{u8_at, u32_at};
use crate::postgres::page::{HEADER_BYTES, Page};

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

/// The first heap page from the `from`-th of a map page on (0 based) that is called all-visible.
#[must_use]
pub fn first_all_visible(page: &Page<'_>, from: u32) -> Option<u32> {
    let map = page.bytes().get(HEADER_BYTES..)?;
    let first_byte = (from / 4) as usize;
    // Most of what lies behind the end of a heap is zeros: whole bytes are stepped over.
    let bytes = map.get(first_byte..)?.iter().zip(first_byte..).filter(|(byte, _)| **byte != 0);
    let indexes = bytes.flat_map(|(_, at)| (0..4).map(move |within| at as u32 * 4 + within));
    indexes.filter(|index| *index >= from).find(|index| visibility(page, *index).all_visible)
}

/// The first heap page of a map page (0 based) that is called frozen and not all-visible.
// EVIDENCE: visibilitymap.c visibilitymap_set, visibilitymap_clear: the frozen bit is set with the visible one only, and
// never left alone
#[must_use]
pub fn frozen_not_visible(page: &Page<'_>) -> Option<u32> {
    let map = page.bytes().get(HEADER_BYTES..)?;
    let (byte, at) = map.iter().zip(0u32..).find(|(byte, _)| (**byte >> 1) & !**byte & 0x55 != 0)?;
    let lone = (byte >> 1) & !byte & 0x55;
    Some(at * 4 + lone.trailing_zeros() / 2)
}

/// Free space that a page of the map's lowest level records for its `slot`-th page, in units of 1/256 page.
///
/// The map is not logged and repairs itself; what it says of a page's space is never damage ([`crate::postgres::file::free_space`]).
// EVIDENCE: src/include/storage/fsm_internals.h FSMPageData: fp_next_slot @24, nodes from @28; a binary tree
// whose leaves follow BLCKSZ / 2 - 1 inner nodes
#[must_use]
pub fn free_space(page: &Page<'_>, slot: u32) -> Option<u8> {
    let inner = (page.bytes().len() / 2).saturating_sub(1);
    u32_at(page.bytes(), HEADER_BYTES)?;
    u8_at(page.bytes(), HEADER_BYTES + 4 + inner + slot as usize)
}

/// Pages that one page of the free space map describes: heap pages at level 0, map pages above.
// EVIDENCE: src/include/storage/fsm_internals.h: SlotsPerFSMPage = NodesPerPage - NonLeafNodesPerPage, where NodesPerPage
// is the page without its header and 4 bytes, and NonLeafNodesPerPage is BLCKSZ / 2 - 1
#[must_use]
pub fn free_space_slots(block_bytes: usize) -> u32 {
    let nodes = block_bytes.saturating_sub(HEADER_BYTES + 4);
    nodes.saturating_sub((block_bytes / 2).saturating_sub(1)) as u32
}

/// Where a block of the free space map stands in its tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FreeSpacePlace {
    /// 0 describes heap pages, 2 is the root. Blocks of less than 4 KiB have four levels, which are not told here.
    pub level: u32,
    /// Number within its level.
    pub number: u64,
    /// The first page that it describes: a heap page at level 0, a map page of the level below else.
    pub first: u64,
}

/// The place of a block of the map in a tree of three levels, which all blocks of 4 KiB and more have.
// EVIDENCE: src/backend/storage/freespace/freespace.c fsm_logical_to_physical: the root first, each page followed by
// all that lies below it; FSM_TREE_DEPTH is 3 from 1626 slots on
#[must_use]
pub fn free_space_place(block: u32, block_bytes: usize) -> Option<FreeSpacePlace> {
    let slots = u64::from(free_space_slots(block_bytes));
    if slots < 1626 {
        return None;
    }
    let Some(below_root) = u64::from(block).checked_sub(1) else {
        return Some(FreeSpacePlace { level: 2, number: 0, first: 0 });
    };
    let (group, place) = (below_root / (slots + 1), below_root % (slots + 1));
    Some(match place.checked_sub(1) {
        None => FreeSpacePlace { level: 1, number: group, first: group * slots },
        Some(leaf) => {
            let number = group * slots + leaf;
            FreeSpacePlace { level: 0, number, first: number * slots }
        }
    })
}

/// The block of the map, and the slot in it, that describe a heap page.
#[must_use]
pub fn free_space_of(heap_block: u32, block_bytes: usize) -> Option<(u64, u32)> {
    let slots = free_space_slots(block_bytes);
    if slots < 1626 {
        return None;
    }
    let (leaf, slot) = (u64::from(heap_block / slots), heap_block % slots);
    // The root, a page of level 1 for each begun group of leaves, and the leaves before.
    Some((1 + leaf / u64::from(slots) + 1 + leaf, slot))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_heap_page_is_found_in_the_free_space_map_and_back() {
        assert_eq!(free_space_slots(8192), 4069);
        // EVIDENCE: freespace.c, as above: root, first page of level 1, then the first leaf
        assert_eq!(free_space_of(0, 8192), Some((2, 0)));
        assert_eq!(free_space_of(4069, 8192), Some((3, 0)));
        assert_eq!(free_space_place(0, 8192).unwrap().level, 2);
        assert_eq!(free_space_place(1, 8192).unwrap(), FreeSpacePlace { level: 1, number: 0, first: 0 });
        // The second page of level 1 follows the 4069 leaves of the first.
        assert_eq!(
            free_space_place(4071, 8192).unwrap(),
            FreeSpacePlace { level: 1, number: 1, first: 4069 }
        );
        for heap_block in [0, 1, 4068, 4069, 16_556_760, 16_556_761, 16_560_830, u32::MAX] {
            let (block, slot) = free_space_of(heap_block, 8192).unwrap();
            let place = free_space_place(block as u32, 8192).unwrap();
            assert_eq!(place.level, 0, "{heap_block}");
            assert_eq!(place.first + u64::from(slot), u64::from(heap_block));
        }
        assert_eq!((free_space_place(1, 1024), free_space_of(1, 1024)), (None, None));
    }

    #[test]
    fn two_bits_per_page_low_first() {
        let mut bytes = vec![0u8; 8192];
        bytes[24] = 0b0011_0100;
        let page = Page::new(&bytes);
        assert_eq!(visibility(&page, 0), Visibility::default());
        assert_eq!(visibility(&page, 1), Visibility { all_visible: true, all_frozen: false });
        assert_eq!(visibility(&page, 2), Visibility { all_visible: true, all_frozen: true });
        assert_eq!(heap_pages_per_visibility_page(8192), 32_672);
        assert_eq!(
            [0, 1, 2, 3].map(|from| first_all_visible(&page, from)),
            [Some(1), Some(1), Some(2), None]
        );
    }
}
