//! B-tree index pages and their tuples (access method `btree`, versions 2 to 4).

mod tuple;

pub use tuple::{IndexTuple, Kind, TUPLE_HEADER_BYTES};

use crate::postgres::bytes::{u8_at, u16_at, u32_at};
use crate::postgres::damage::{Damage, Invariant};
use crate::postgres::page::Page;
use crate::postgres::primitive::BLOCK_NONE;

/// Length of a B-tree page's special space, bytes.
// EVIDENCE: src/include/access/nbtree.h BTPageOpaqueData
pub const SPECIAL_BYTES: usize = 16;
/// Magic number of the first page.
// EVIDENCE: nbtree.h BTREE_MAGIC
pub const MAGIC: u32 = 0x053162;
/// Oldest version that 11 and later read.
// EVIDENCE: nbtree.h BTREE_MIN_VERSION
pub const VERSION_MIN: u32 = 2;
/// Version from which on keys include the heap TID, so that all tuples differ.
// EVIDENCE: nbtree.h BTREE_VERSION 4 (12 and later)
pub const VERSION_TID_KEYS: u32 = 4;

/// Flags of a page.
// EVIDENCE: nbtree.h BTP_*
pub mod flag {
    /// Has heap TIDs.
    pub const LEAF: u16 = 1;
    /// Has no parent.
    pub const ROOT: u16 = 2;
    /// Deleted from the tree.
    pub const DELETED: u16 = 4;
    /// The first page of the index.
    pub const META: u16 = 8;
    /// Empty, but still in the chain of siblings.
    pub const HALF_DEAD: u16 = 16;
    /// Last of a group of pages split together.
    pub const SPLIT_END: u16 = 32;
    /// Has dead items (a hint).
    pub const HAS_GARBAGE: u16 = 64;
    /// The right sibling has no downlink yet.
    pub const INCOMPLETE_SPLIT: u16 = 128;
    /// A deleted page that holds a full transaction id (14 and later).
    pub const HAS_FULL_XID: u16 = 256;
    /// All flags.
    pub const ALL: u16 = 0x01FF;
}

/// The special space of a B-tree page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opaque {
    /// Left sibling; 0 for none.
    pub previous: u32,
    /// Right sibling; 0 for none.
    pub next: u32,
    /// Level, 0 for leaves.
    pub level: u32,
    /// See [`flag`].
    pub flags: u16,
}

impl Opaque {
    /// Reads the special space of a page; `None` if it is too short.
    // EVIDENCE: nbtree.h BTPageOpaqueData: prev @0, next @4, level @8, flags @12, cycleid @14
    #[must_use]
    pub fn read(page: &Page<'_>) -> Option<Opaque> {
        let special = page.special();
        Some(Opaque {
            previous: u32_at(special, 0)?,
            next: u32_at(special, 4)?,
            level: u32_at(special, 8)?,
            flags: u16_at(special, 12)?,
        })
    }

    /// Whether a flag is set.
    #[inline]
    #[must_use]
    pub fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }

    /// Whether the page is a leaf.
    #[inline]
    #[must_use]
    pub fn is_leaf(&self) -> bool {
        self.has(flag::LEAF)
    }

    /// Whether the page has no right sibling, and so no high key.
    #[inline]
    #[must_use]
    pub fn is_rightmost(&self) -> bool {
        self.next == 0
    }

    /// Number of the first line pointer that is not the high key.
    // EVIDENCE: nbtree.h P_FIRSTDATAKEY
    #[inline]
    #[must_use]
    pub fn first_data_item(&self) -> u16 {
        if self.is_rightmost() { 1 } else { 2 }
    }

    /// Tests level, links and flags against each other, for a page of this number in an index of so many pages.
    pub fn check(
        &self,
        special_offset: usize,
        block: u32,
        block_count: u32,
        damage: &mut Vec<Damage>,
    ) -> bool {
        let before = damage.len();
        let mut broken = |offset: usize, expected: &str, found: String| {
            damage.push(Damage::at(Invariant::BtreeLinks, special_offset + offset, expected, found));
        };
        if self.flags & !flag::ALL != 0 {
            broken(12, "no flag beyond 0x01ff", format!("{:#06x}", self.flags));
        }
        if self.has(flag::META) {
            if block != 0 {
                broken(
                    12,
                    "the meta flag in block 0 only",
                    format!("block {block}, flags {:#06x}", self.flags),
                );
            }
            return damage.len() == before;
        }
        if block == 0 {
            broken(12, "the meta flag in block 0", format!("flags {:#06x}", self.flags));
        }
        if self.has(flag::DELETED) {
            // Links of a deleted page are kept for searches under way; they bind nobody.
            return damage.len() == before;
        }
        if self.is_leaf() != (self.level == 0) {
            broken(
                8,
                "level 0 exactly in leaves",
                format!("level {}, flags {:#06x}", self.level, self.flags),
            );
        }
        if self.level > LEVEL_MAX {
            broken(8, "a level of at most 32", self.level.to_string());
        }
        for (offset, link) in [(0, self.previous), (4, self.next)] {
            if link == block || link == BLOCK_NONE || link >= block_count {
                broken(
                    offset,
                    "a link to another block of the file, or 0",
                    format!("{link} of {block_count}"),
                );
            }
        }
        if self.has(flag::ROOT) && (self.previous != 0 || self.next != 0) {
            broken(12, "a root without siblings", format!("siblings {} and {}", self.previous, self.next));
        }
        damage.len() == before
    }
}

/// Levels that a tree can have: each has at least two children per page, and block numbers have 32 bits.
pub const LEVEL_MAX: u32 = 32;

/// The first page of a B-tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meta {
    /// Magic number.
    pub magic: u32,
    /// Version, 2 to 4.
    pub version: u32,
    /// Root block; 0 for an empty index.
    pub root: u32,
    /// Level of the root.
    pub level: u32,
    /// The lowest level with a single page.
    pub fast_root: u32,
    /// Its level.
    pub fast_level: u32,
    /// Whether equal keys are equal bytes (version 4).
    pub all_equal_image: bool,
}

impl Meta {
    /// Reads the first page; `None` if it is too short.
    // EVIDENCE: nbtree.h BTMetaPageData from byte 24 (PageGetContents): magic, version, root, level, fastroot,
    // fastlevel, last_cleanup_num_delpages u32, last_cleanup_num_heap_tuples f64, allequalimage bool; 14-18
    #[must_use]
    pub fn read(page: &Page<'_>) -> Option<Meta> {
        let bytes = page.bytes();
        Some(Meta {
            magic: u32_at(bytes, 24)?,
            version: u32_at(bytes, 28)?,
            root: u32_at(bytes, 32)?,
            level: u32_at(bytes, 36)?,
            fast_root: u32_at(bytes, 40)?,
            fast_level: u32_at(bytes, 44)?,
            all_equal_image: u8_at(bytes, 64)? != 0,
        })
    }

    /// Tests magic number, version, and that the roots are blocks of the file.
    pub fn check(&self, block_count: u32, damage: &mut Vec<Damage>) -> bool {
        let before = damage.len();
        if self.magic != MAGIC || !(VERSION_MIN..=VERSION_TID_KEYS).contains(&self.version) {
            damage.push(Damage::at(
                Invariant::BtreeMeta,
                24,
                format!("magic {MAGIC:#x}, version {VERSION_MIN} to {VERSION_TID_KEYS}"),
                format!("magic {:#x}, version {}", self.magic, self.version),
            ));
        }
        if self.root >= block_count.max(1) || self.fast_root >= block_count.max(1) || self.level > LEVEL_MAX {
            damage.push(Damage::at(
                Invariant::BtreeMeta,
                32,
                format!("roots below block {block_count}, level at most {LEVEL_MAX}"),
                format!("root {}, fast root {}, level {}", self.root, self.fast_root, self.level),
            ));
        }
        damage.len() == before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_to_itself_or_beyond_the_file_is_reported() {
        let page = Opaque { previous: 0, next: 3, level: 0, flags: flag::LEAF };
        let mut damage = Vec::new();
        assert!(page.check(8176, 2, 4, &mut damage));
        assert!(!page.check(8176, 3, 4, &mut damage));
        assert!(!page.check(8176, 2, 3, &mut damage));
    }
}
