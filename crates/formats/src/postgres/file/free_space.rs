//! Pages of the free space map: what cannot be in them, though they are hints.
//!
//! The map is not logged, is set right when somebody stumbles over it, and may say anything about the space of a page, about
//! pages that a crash took away, and about what the pages below it say. But a page is only ever changed as a whole, so that
//! its nodes fit each other in every state of it; and no slot is for a page that no table can have.
// EVIDENCE: src/backend/storage/freespace/README "Recovery"; freespace.c fsm_vacuum_page, RecordPageWithFreeSpace (upper
// pages are updated by VACUUM only); fsmpage.c fsm_set_avail, fsm_rebuild_page, fsm_truncate_avail

use crate::postgres::bytes::{u8_at, u32_at};
use crate::postgres::damage::{Damage, Invariant};
use crate::postgres::file::maps::{free_space_of, free_space_place, free_space_slots};
use crate::postgres::page::{HEADER_BYTES, Page};
use crate::postgres::primitive::BLOCK_NONE;

/// Offset of the slot where the next search starts.
// EVIDENCE: src/include/storage/fsm_internals.h FSMPageData: fp_next_slot int @0, fp_nodes @4, after the page header
const NEXT_SLOT_OFFSET: usize = HEADER_BYTES;
/// Offset of the nodes.
const NODES_OFFSET: usize = HEADER_BYTES + 4;

/// What is known of a page of the map before it is tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FreeSpaceContext {
    /// Its number.
    pub block: u32,
    /// Whether pages are either free or not: the map of an index that keeps whole pages only.
    pub has_whole_pages_only: bool,
    /// Whether half a page can be older than the other half: without checksums a crash leaves such pages behind.
    pub may_be_torn: bool,
}

/// Tests a page of the map that was used.
pub fn check_free_space(page: &Page<'_>, context: FreeSpaceContext, damage: &mut Vec<Damage>) {
    let bytes = page.bytes();
    check_header(page, damage);
    let slots = free_space_slots(bytes.len());
    // EVIDENCE: fsmpage.c fsm_search_avail: the slot that was found, or the one behind it; 0 by VACUUM
    if let Some(next) = u32_at(bytes, NEXT_SLOT_OFFSET).filter(|next| *next > slots) {
        let expected = format!("a next slot up to {slots}");
        damage.push(Damage::at(Invariant::FreeSpaceMap, NEXT_SLOT_OFFSET, expected, next.to_string()));
    }
    if !context.may_be_torn {
        check_nodes(bytes, damage);
    }
    check_slots(bytes, context, slots, damage);
}

/// The number of pages of the map of the largest table; `None` for blocks of less than 4 KiB.
#[must_use]
pub fn free_space_pages_max(block_bytes: usize) -> Option<u64> {
    free_space_of(BLOCK_NONE - 1, block_bytes).map(|(block, _)| block + 1)
}

// EVIDENCE: freespace.c fsm_readbuf: PageInit without special space; nothing writes the header after that but the
// position in the log and the checksum
fn check_header(page: &Page<'_>, damage: &mut Vec<Damage>) {
    let (header, size) = (page.header(), page.bytes().len());
    let bounds = [header.lower, header.upper, header.special].map(usize::from);
    if bounds != [HEADER_BYTES, size, size] || header.flags != 0 || header.prune_xid != 0 {
        let expected =
            format!("lower {HEADER_BYTES}, upper and special {size}, flags and oldest transaction 0");
        let [lower, upper, special] = bounds;
        let found = format!(
            "lower {lower}, upper {upper}, special {special}, flags {:#x}, oldest transaction {}",
            header.flags, header.prune_xid
        );
        damage.push(Damage::at(Invariant::FreeSpaceMap, 10, expected, found));
    }
}

/// Each inner node is the highest of its children, of which the last few have one or none.
// EVIDENCE: fsmpage.c fsm_set_avail and fsm_rebuild_page; leftchild(x) = 2x + 1
fn check_nodes(bytes: &[u8], damage: &mut Vec<Damage>) {
    let inner = (bytes.len() / 2).saturating_sub(1);
    let nodes = bytes.get(NODES_OFFSET..).unwrap_or(&[]);
    let highest_child = |node: usize| {
        let child = |number: usize| nodes.get(number).copied().unwrap_or(0);
        child(2 * node + 1).max(child(2 * node + 2))
    };
    let own = nodes.iter().copied().take(inner).enumerate();
    let mut wrong = own.filter(|(node, value)| *value != highest_child(*node));
    let Some((node, value)) = wrong.next() else { return };
    let count = 1 + wrong.count();
    let expected = format!("{} in node {node}, the highest of its children", highest_child(node));
    let found = format!("{value}; so in {count} of {inner} inner nodes");
    damage.push(Damage::at(Invariant::FreeSpaceMap, NODES_OFFSET + node, expected, found));
}

/// Slots of pages that no table has are empty, and those of indexes are full or empty.
// EVIDENCE: src/backend/storage/freespace/indexfsm.c: 0 or BLCKSZ - 1 bytes, whose category is 255 (freespace.c
// fsm_space_avail_to_cat); block.h MaxBlockNumber 0xFFFFFFFE
fn check_slots(bytes: &[u8], context: FreeSpaceContext, slots: u32, damage: &mut Vec<Damage>) {
    let inner = (bytes.len() / 2).saturating_sub(1);
    let first_slot = NODES_OFFSET + inner;
    let Some(place) = free_space_place(context.block, bytes.len()) else { return };
    // Pages of the level below that can be: heap pages, pages of level 0, of level 1.
    let below = |pages: u64| pages.div_ceil(u64::from(slots).max(1));
    let pages = (0..place.level).fold(u64::from(BLOCK_NONE), |pages, _| below(pages));
    let is_wrong = |slot: u64, value: u8| {
        value != 0 && (place.first + slot >= pages || (context.has_whole_pages_only && value != u8::MAX))
    };
    let values =
        (0..u64::from(slots)).filter_map(|slot| Some((slot, u8_at(bytes, first_slot + slot as usize)?)));
    let mut wrong = values.filter(|(slot, value)| is_wrong(*slot, *value));
    let Some((slot, value)) = wrong.next() else { return };
    let count = 1 + wrong.count();
    let expected = if place.first + slot >= pages {
        "nothing in slots of pages that no table can have"
    } else {
        "0 or 255 in each slot, since the index keeps whole pages"
    };
    let found = format!("{value} in slot {slot}; so in {count} slots");
    damage.push(Damage::at(Invariant::FreeSpaceMap, first_slot + slot as usize, expected, found));
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const LEAF: FreeSpaceContext =
        FreeSpaceContext { block: 2, has_whole_pages_only: false, may_be_torn: false };

    /// A page with some slots filled and its inner nodes computed.
    fn page(slots: &[(usize, u8)]) -> Vec<u8> {
        let mut bytes = vec![0; 8192];
        for (offset, value) in [(12, 24u16), (14, 8192), (16, 8192), (18, 8192 | 4)] {
            bytes[offset..offset + 2].copy_from_slice(&value.to_le_bytes());
        }
        for (slot, value) in slots {
            let mut node = 4095 + slot;
            bytes[28 + node] = *value;
            while node > 0 {
                node = (node - 1) / 2;
                bytes[28 + node] = bytes[28 + node].max(*value);
            }
        }
        bytes
    }

    fn found(bytes: &[u8], context: FreeSpaceContext) -> Vec<usize> {
        let mut damage = Vec::new();
        check_free_space(&Page::new(bytes), context, &mut damage);
        damage.iter().map(|damage| damage.offset_bytes).collect()
    }

    #[test]
    fn a_page_in_order_is_silent_and_a_node_that_is_not_the_highest_is_told() {
        let mut bytes = page(&[(0, 7), (5, 200), (4068, 255)]);
        assert_eq!(found(&bytes, LEAF), []);
        bytes[28] = 200;
        assert_eq!(found(&bytes, LEAF), [28]);
        assert_eq!(found(&bytes, FreeSpaceContext { may_be_torn: true, ..LEAF }), []);
        bytes[28] = 255;
        bytes[24] = 0xE6;
        bytes[25] = 0x0F;
        assert_eq!(found(&bytes, LEAF), [24]);
    }

    #[test]
    fn an_index_has_whole_pages_only() {
        let whole = FreeSpaceContext { has_whole_pages_only: true, ..LEAF };
        assert_eq!(found(&page(&[(3, 255), (9, 255)]), whole), []);
        assert_eq!(found(&page(&[(3, 255), (9, 254)]), whole), [28 + 4095 + 9]);
    }

    #[test]
    fn slots_of_pages_that_cannot_be_are_empty() {
        // 2^32 - 1 pages take 1,055,534 pages of 4069 slots, and these 260 of the level above.
        let root = FreeSpaceContext { block: 0, ..LEAF };
        assert_eq!(found(&page(&[(259, 9)]), root), []);
        assert_eq!(found(&page(&[(260, 9)]), root), [28 + 4095 + 260]);
        assert_eq!(free_space_pages_max(8192), Some(1_055_534 + 260 + 1));
        let last = FreeSpaceContext { block: 1_055_534 + 260, ..LEAF };
        let slots = (u64::from(BLOCK_NONE) - 1_055_533 * 4069) as usize;
        assert_eq!(found(&page(&[(slots - 1, 9)]), last), []);
        assert_eq!(found(&page(&[(slots, 9)]), last), [28 + 4095 + slots]);
    }
}
