//! GIN index pages: the meta page, the tree of keys, posting trees, and the list of pending entries.

use crate::postgres::bytes::{u16_at, u32_at, u64_at};
use crate::postgres::damage::{Damage, Invariant};
use crate::postgres::page::{HEADER_BYTES, Page};
use crate::postgres::primitive::{BLOCK_NONE, Tid};

mod posting;
mod tuple;

pub use posting::{PostingList, PostingPage, Postings};
pub use tuple::{Category, EntryTuple, Payload};

/// Length of the special space, bytes.
// EVIDENCE: src/include/access/ginblock.h GinPageOpaqueData: rightlink @0, maxoff @4, flags @6
pub const SPECIAL_BYTES: usize = 8;
/// The meta page.
// EVIDENCE: ginblock.h GIN_METAPAGE_BLKNO
pub const META_BLOCK: u32 = 0;
/// The root of the tree of keys.
// EVIDENCE: ginblock.h GIN_ROOT_BLKNO
pub const ROOT_BLOCK: u32 = 1;
/// Version since which each row has an entry, null or empty ones included.
// EVIDENCE: ginblock.h GinMetaPageData: version 0 (9.0 and before) may lack null entries
pub const VERSION_NULL_ENTRIES: u32 = 1;
/// Version since which all pages record where their data ends.
// EVIDENCE: ginblock.h GinMetaPageData: version 2 is 9.4 and later; before, pd_lower of data pages was not set
pub const VERSION_COMPRESSED: u32 = 2;

/// Flags of a page.
// EVIDENCE: ginblock.h GIN_DATA to GIN_COMPRESSED
pub mod flag {
    /// Part of a posting tree.
    pub const DATA: u16 = 1;
    /// A leaf.
    pub const LEAF: u16 = 2;
    /// Free for use.
    pub const DELETED: u16 = 4;
    /// The meta page.
    pub const META: u16 = 8;
    /// Part of the list of pending entries.
    pub const LIST: u16 = 16;
    /// All entries of the rows of this page of the list stand in it.
    pub const LIST_FULLROW: u16 = 32;
    /// The page was split, and its parent does not know yet.
    pub const INCOMPLETE_SPLIT: u16 = 64;
    /// A leaf of a posting tree in the compressed form.
    pub const COMPRESSED: u16 = 128;
    /// All of them.
    pub const ALL: u16 = 0xFF;
}

/// What a page is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// The meta page.
    Meta,
    /// Free for use.
    Deleted,
    /// Pending entries.
    List,
    /// Keys with their rows.
    EntryLeaf,
    /// Keys with downlinks.
    EntryInner,
    /// Row pointers of one key.
    PostingLeaf,
    /// Bounds with downlinks, in the tree of one key.
    PostingInner,
}

impl Kind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Kind; 7] = [
        Kind::Meta,
        Kind::Deleted,
        Kind::List,
        Kind::EntryLeaf,
        Kind::EntryInner,
        Kind::PostingLeaf,
        Kind::PostingInner,
    ];

    /// Whether the page belongs to a posting tree.
    #[must_use]
    pub fn is_posting(self) -> bool {
        matches!(self, Kind::PostingLeaf | Kind::PostingInner)
    }

    /// Whether the page names children.
    #[must_use]
    pub fn is_inner(self) -> bool {
        matches!(self, Kind::EntryInner | Kind::PostingInner)
    }

    /// Whether the page belongs to the tree of keys or to a posting tree.
    #[must_use]
    pub fn is_tree(self) -> bool {
        !matches!(self, Kind::Meta | Kind::Deleted | Kind::List)
    }

    /// In words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::Meta => "the metapage",
            Kind::Deleted => "a deleted block",
            Kind::List => "a block of pending entries",
            Kind::EntryLeaf => "a leaf of the key tree",
            Kind::EntryInner => "an inner block of the key tree",
            Kind::PostingLeaf => "a leaf of a posting tree",
            Kind::PostingInner => "an inner block of a posting tree",
        }
    }
}

/// The special space of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opaque {
    /// The next page of the level or list; [`BLOCK_NONE`] for none.
    pub right: u32,
    /// Inner pages of posting trees: number of children. Pages of the list: number of rows. Old leaves: row pointers.
    pub count: u16,
    /// Flags.
    pub flags: u16,
}

impl Opaque {
    /// Reads the special space of a page; `None` if it is too short.
    #[must_use]
    pub fn read(page: &Page<'_>) -> Option<Opaque> {
        let special = page.special();
        Some(Opaque { right: u32_at(special, 0)?, count: u16_at(special, 4)?, flags: u16_at(special, 6)? })
    }

    /// Whether some of the flags are set.
    #[must_use]
    pub fn has(&self, flags: u16) -> bool {
        self.flags & flags != 0
    }

    /// The next page of the level or list.
    #[must_use]
    pub fn next(&self) -> Option<u32> {
        (self.right != BLOCK_NONE).then_some(self.right)
    }

    /// What the page is for; `None` if its flags contradict each other.
    // EVIDENCE: src/backend/access/gin/ginfast.c shiftList sets DELETED alone; ginvacuum.c ginDeletePage adds DELETED
    // to what was there; ginbtree.c ginPlaceToPage adds INCOMPLETE_SPLIT
    #[must_use]
    pub fn kind(&self) -> Option<Kind> {
        let is_entry = self.flags & !(flag::LEAF | flag::INCOMPLETE_SPLIT) == 0;
        let is_posting =
            self.flags & !(flag::DATA | flag::LEAF | flag::INCOMPLETE_SPLIT | flag::COMPRESSED) == 0;
        match self.flags {
            _ if self.flags & !flag::ALL != 0 => None,
            flag::META => Some(Kind::Meta),
            _ if self.has(flag::META) => None,
            _ if self.has(flag::DELETED) => Some(Kind::Deleted),
            _ if self.has(flag::LIST) => {
                (self.flags & !(flag::LIST | flag::LIST_FULLROW) == 0).then_some(Kind::List)
            }
            _ if is_entry => Some(if self.has(flag::LEAF) { Kind::EntryLeaf } else { Kind::EntryInner }),
            _ if is_posting && self.has(flag::DATA) => {
                match (self.has(flag::LEAF), self.has(flag::COMPRESSED)) {
                    (true, _) => Some(Kind::PostingLeaf),
                    (false, false) => Some(Kind::PostingInner),
                    (false, true) => None,
                }
            }
            _ => None,
        }
    }

    /// Tests flags and link against the block's number and the number of blocks; the kind if it can be trusted.
    pub fn check(
        &self,
        special_offset: usize,
        block: u32,
        blocks: u32,
        damage: &mut Vec<Damage>,
    ) -> Option<Kind> {
        let at = |offset, expected: &str, found| {
            Damage::at(Invariant::GinPage, special_offset + offset, expected, found)
        };
        let Some(kind) = self.kind() else {
            damage.push(at(6, "flags of one kind of block", format!("flags {:#06x}", self.flags)));
            return None;
        };
        let fits = match (block, kind) {
            (META_BLOCK, kind) => kind == Kind::Meta,
            (ROOT_BLOCK, kind) => matches!(kind, Kind::EntryLeaf | Kind::EntryInner) && self.next().is_none(),
            (_, kind) => kind != Kind::Meta,
        };
        if !fits {
            let expected = match block {
                META_BLOCK => "the metapage",
                ROOT_BLOCK => "the root of the key tree, without a right sibling",
                _ => "a block of a tree, of the list, or a deleted one",
            };
            damage.push(at(6, expected, format!("{}, right link {}", kind.name(), self.right as i32)));
            return None;
        }
        let is_linked = kind != Kind::Deleted
            && self.next().is_some_and(|next| next >= blocks || next <= ROOT_BLOCK || next == block);
        if is_linked {
            let expected = format!("a right link to another block from 2 on, below {blocks}, or none");
            damage.push(at(0, &expected, format!("block {}", self.right)));
            return None;
        }
        Some(kind)
    }
}

/// The meta page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meta {
    /// First page of the list of pending entries; [`BLOCK_NONE`] for none.
    pub head: u32,
    /// Its last page.
    pub tail: u32,
    /// Free bytes in the last page.
    pub tail_free_bytes: u32,
    /// Pages of the list.
    pub pending_pages: u32,
    /// Rows whose entries stand in the list.
    pub pending_rows: i64,
    /// Version.
    pub version: u32,
}

/// Length of what the meta page holds after its header, bytes.
const META_BYTES: usize = 56;

impl Meta {
    /// Reads the meta page; `None` if the page is too short.
    // EVIDENCE: ginblock.h GinMetaPageData on x86-64 and arm64: head @0, tail @4, tailFreeSize @8, nPendingPages @12,
    // nPendingHeapTuples @16, nTotalPages @24, nEntryPages @28, nDataPages @32, nEntries @40, ginVersion @48
    #[must_use]
    pub fn read(page: &Page<'_>) -> Option<Meta> {
        let bytes = page.bytes();
        let at = |offset| u32_at(bytes, HEADER_BYTES + offset);
        Some(Meta {
            head: at(0)?,
            tail: at(4)?,
            tail_free_bytes: at(8)?,
            pending_pages: at(12)?,
            pending_rows: u64_at(bytes, HEADER_BYTES + 16)? as i64,
            version: at(48)?,
        })
    }

    /// Tests the fields; `false` if the list of pending entries cannot be followed.
    // EVIDENCE: ginfast.c shiftList: an empty list has no head, no tail, no pages and no rows
    pub fn check(&self, page: &Page<'_>, blocks: u32, damage: &mut Vec<Damage>) -> bool {
        let before = damage.len();
        let mut at = |offset, expected: &str, found| {
            damage.push(Damage::at(Invariant::GinMeta, HEADER_BYTES + offset, expected, found))
        };
        if self.version > VERSION_COMPRESSED {
            at(48, "version 0, 1 or 2", format!("version {}", self.version));
        }
        let room = page.bytes().len().saturating_sub(HEADER_BYTES + SPECIAL_BYTES);
        let is_block = |block| (ROOT_BLOCK + 1..blocks).contains(&block);
        let shown = |block: u32| if block == BLOCK_NONE { "none".to_owned() } else { block.to_string() };
        let list = format!(
            "head {}, tail {}, {} pages, {} rows, {} bytes free",
            shown(self.head),
            shown(self.tail),
            self.pending_pages,
            self.pending_rows,
            self.tail_free_bytes
        );
        if self.head == BLOCK_NONE {
            if self.tail != BLOCK_NONE || self.pending_pages != 0 || self.pending_rows != 0 {
                at(0, "a list of pending entries with neither head, tail, pages nor rows", list);
            }
        } else if !is_block(self.head)
            || !is_block(self.tail)
            || self.pending_pages == 0
            || self.pending_pages > blocks
            || self.pending_rows < 1
            || self.tail_free_bytes as usize > room
            || (self.head == self.tail) != (self.pending_pages == 1)
        {
            let expected =
                format!("a list of pending entries in the index's {blocks} blocks that fits its counts");
            at(0, &expected, list);
        }
        damage.len() == before && usize::from(page.header().special) >= HEADER_BYTES + META_BYTES
    }
}

/// A child of an inner page of a posting tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PostingItem {
    /// The child.
    pub child: u32,
    /// No row pointer of the child is larger; without meaning in the last item of the last page of a level.
    pub bound: Tid,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn flags_tell_the_kind_or_contradict_each_other() {
        let kind = |flags| Opaque { right: BLOCK_NONE, count: 0, flags }.kind();
        let kinds: Vec<Option<Kind>> = [0, 2, 0x42, 1, 0x83, 3, 0xC3, 8, 16, 48, 4, 0x87].map(kind).to_vec();
        let wanted = [
            Kind::EntryInner,
            Kind::EntryLeaf,
            Kind::EntryLeaf,
            Kind::PostingInner,
            Kind::PostingLeaf,
            Kind::PostingLeaf,
            Kind::PostingLeaf,
            Kind::Meta,
            Kind::List,
            Kind::List,
            Kind::Deleted,
            Kind::Deleted,
        ];
        assert_eq!(kinds, wanted.map(Some));
        for flags in [0x100, 9, 12, 18, 32, 0x80, 0x81, 0x82] {
            assert_eq!(kind(flags), None, "{flags:#x}");
        }
    }

    #[test]
    fn a_list_of_pending_entries_fits_its_counts() {
        let bytes = vec![0; 8192];
        let mut page = bytes.clone();
        page[16..18].copy_from_slice(&8184u16.to_le_bytes());
        let page = Page::new(&page);
        let found = |meta: Meta| {
            let mut damage = Vec::new();
            meta.check(&page, 10, &mut damage);
            damage.len()
        };
        let empty = Meta {
            head: BLOCK_NONE,
            tail: BLOCK_NONE,
            tail_free_bytes: 0,
            pending_pages: 0,
            pending_rows: 0,
            version: 2,
        };
        let one =
            Meta { head: 5, tail: 5, tail_free_bytes: 100, pending_pages: 1, pending_rows: 3, version: 2 };
        assert_eq!((found(empty), found(one)), (0, 0));
        assert_eq!(found(Meta { tail: 5, ..empty }), 1);
        assert_eq!(found(Meta { head: 4, ..one }), 1);
        assert_eq!(found(Meta { tail: 10, pending_pages: 2, ..one }), 1);
        assert_eq!(found(Meta { pending_rows: 0, ..one }), 1);
        assert_eq!(found(Meta { version: 3, ..one }), 1);
    }
}
