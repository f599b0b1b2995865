//! `GiST` index pages: flags, right links, and the tuples of inner pages.

use crate::postgres::bytes::{u16_at, u32_at, u64_at};
use crate::postgres::damage::{Damage, Invariant};
use crate::postgres::index::btree::{IndexTuple, TUPLE_HEADER_BYTES};
use crate::postgres::page::{Item, Page};
use crate::postgres::primitive::BLOCK_NONE;

/// The root's block.
// EVIDENCE: src/include/access/gist_private.h GIST_ROOT_BLKNO
pub const ROOT: u32 = 0;
/// Levels that a tree can have: inner pages have two children or more, but for what VACUUM took away.
pub const LEVEL_MAX: u8 = 64;
/// Item number of a downlink.
// EVIDENCE: gist_private.h TUPLE_IS_VALID; gistutil.c gistFormTuple
const IS_VALID: u16 = 0xFFFF;
/// Item number of a downlink that a split left behind which a crash before 9.1 cut off.
// EVIDENCE: gist_private.h TUPLE_IS_INVALID
const IS_INVALID: u16 = 0xFFFE;

/// Flags of a page.
// EVIDENCE: src/include/access/gist.h F_*
pub mod flag {
    /// Its tuples name rows.
    pub const LEAF: u16 = 1;
    /// Taken out of the tree.
    pub const DELETED: u16 = 2;
    /// The right sibling has no downlink yet.
    pub const FOLLOW_RIGHT: u16 = 8;
}

/// The special space of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opaque {
    /// Position in the log of the split that the right link is of.
    pub split_lsn: u64,
    /// Right sibling; [`BLOCK_NONE`] for none. Kept when that sibling is deleted, and used again for another block.
    pub right: u32,
    /// See [`flag`].
    pub flags: u16,
}

impl Opaque {
    /// Reads the special space of a page; `None` if it is too short.
    // EVIDENCE: gist.h GISTPageOpaqueData: nsn @0 (two halves, high first), rightlink @8, flags @12
    #[must_use]
    pub fn read(page: &Page<'_>) -> Option<Opaque> {
        let special = page.special();
        Some(Opaque {
            split_lsn: u64_at(special, 0)?.rotate_left(32),
            right: u32_at(special, 8)?,
            flags: u16_at(special, 12)?,
        })
    }

    /// Whether a flag is set.
    #[inline]
    #[must_use]
    pub fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }

    /// Whether the page is a leaf of the tree.
    #[must_use]
    pub fn is_leaf(&self) -> bool {
        self.has(flag::LEAF)
    }

    /// The right sibling that no parent names yet.
    // EVIDENCE: src/backend/access/gist/README: "it knows that the right page is missing the downlink"
    #[must_use]
    pub fn follows(&self) -> Option<u32> {
        (self.has(flag::FOLLOW_RIGHT) && self.right != BLOCK_NONE).then_some(self.right)
    }

    /// Tests flags and right link of a page of this number in an index of so many pages.
    pub fn check(
        &self,
        special_offset: usize,
        block: u32,
        block_count: u32,
        damage: &mut Vec<Damage>,
    ) -> bool {
        let before = damage.len();
        let mut broken = |offset: usize, expected: &str, found: String| {
            damage.push(Damage::at(Invariant::GistLinks, special_offset + offset, expected, found));
        };
        // The file of an index is never cut, and right links are kept for searches under way.
        if self.right != BLOCK_NONE && (self.right >= block_count || self.right == block) {
            let found = format!("{} of {block_count}", self.right);
            broken(8, "a right link to another block of the file, or none", found);
        }
        if block == ROOT && self.has(flag::DELETED | flag::FOLLOW_RIGHT) {
            broken(12, "a root that is not deleted and has no right sibling", format!("{:#06x}", self.flags));
        } else if self.has(flag::FOLLOW_RIGHT) && self.right == BLOCK_NONE {
            broken(8, "a right sibling, since the flags say that it has no downlink yet", "none".to_owned());
        }
        damage.len() == before
    }
}

/// Tests the length of a tuple, and of a downlink where it leads, in a page of this number in an index of so many.
///
/// Gives the child that a downlink names, if that is a block of the index.
pub fn check_tuple(
    tuple: &IndexTuple<'_>,
    item: Item,
    is_leaf: bool,
    (block, block_count): (u32, u32),
    damage: &mut Vec<Damage>,
) -> Option<u32> {
    let mut broken = |expected: String, found: String| {
        let place = usize::from(item.offset);
        damage.push(Damage::at(Invariant::GistTuple, place, expected, found).of_item(item.number));
    };
    let length = tuple.length_bytes();
    if length != usize::from(item.length) || length < TUPLE_HEADER_BYTES {
        broken(
            format!("a tuple of the {} bytes of its line pointer", item.length),
            format!("{length} bytes"),
        );
        return None;
    }
    if is_leaf {
        return None;
    }
    let child = tuple.downlink();
    if tuple.tid.item != IS_VALID {
        let found = match tuple.tid.item {
            IS_INVALID => "one that is marked invalid, by a crash before version 9.1".to_owned(),
            other => format!("item number {other:#06x}"),
        };
        broken(format!("a downlink, with item number {IS_VALID:#06x}"), found);
    }
    if child == ROOT || child == block || child >= block_count {
        broken(
            format!("a downlink to another of {block_count} blocks, not the root"),
            format!("block {child}"),
        );
        return None;
    }
    Some(child)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page_of(right: u32, flags: u16) -> Vec<u8> {
        let mut bytes = vec![0; 8192];
        bytes[16..18].copy_from_slice(&8176u16.to_le_bytes());
        bytes[8176..8180].copy_from_slice(&1u32.to_le_bytes());
        bytes[8184..8188].copy_from_slice(&right.to_le_bytes());
        bytes[8188..8190].copy_from_slice(&flags.to_le_bytes());
        bytes
    }

    fn is_sound(right: u32, flags: u16, block: u32) -> bool {
        let bytes = page_of(right, flags);
        Opaque::read(&Page::new(&bytes)).is_some_and(|opaque| opaque.check(8176, block, 10, &mut Vec::new()))
    }

    #[test]
    fn a_right_link_leads_to_another_block_of_the_file_or_nowhere() {
        assert!(is_sound(BLOCK_NONE, flag::LEAF, 3) && is_sound(9, flag::LEAF, 3));
        assert!(!is_sound(10, flag::LEAF, 3) && !is_sound(3, flag::LEAF, 3));
        assert!(!is_sound(BLOCK_NONE, flag::LEAF | flag::FOLLOW_RIGHT, 3));
        assert!(!is_sound(BLOCK_NONE, flag::DELETED, ROOT) && is_sound(BLOCK_NONE, flag::DELETED, 3));
    }

    #[test]
    fn the_position_of_a_split_has_its_high_half_first() {
        let bytes = page_of(4, flag::FOLLOW_RIGHT);
        let opaque = Opaque::read(&Page::new(&bytes));
        let facts = opaque.map(|opaque| (opaque.split_lsn, opaque.follows(), opaque.is_leaf()));
        assert_eq!(facts, Some((1 << 32, Some(4), false)));
    }
}
