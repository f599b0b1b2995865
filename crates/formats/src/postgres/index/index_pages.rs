//! Hash, `GiST` and SP-GiST index pages: whose they are, and which rows their entries name.

use crate::postgres::bytes::{u16_at, u32_at};
use crate::postgres::damage::{Damage, Invariant};
use crate::postgres::index::btree::{IndexTuple, TUPLE_HEADER_BYTES};
use crate::postgres::page::{Item, Page};
use crate::postgres::primitive::Tid;

/// An access method whose pages are read here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Buckets of hash values.
    Hash,
    /// A balanced tree of any predicates.
    Gist,
    /// A tree that divides space.
    SpGist,
}

/// What a page is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Its tuples name rows.
    Entries,
    /// Its tuples name other pages.
    Inner,
    /// Meta page, bitmap, deleted or never used: no tuples that are looked at.
    Other,
}

/// Flags of hash pages.
// EVIDENCE: src/include/access/hash.h LH_*
mod hash_flag {
    pub(super) const OVERFLOW: u16 = 1;
    pub(super) const BUCKET: u16 = 2;
    pub(super) const BEING_POPULATED: u16 = 16;
    pub(super) const BEING_SPLIT: u16 = 32;
    pub(super) const ALL: u16 = 0x00FF;
    /// Kinds of page, of which one holds.
    pub(super) const KINDS: u16 = 0x000F;
}

/// Flags of `GiST` pages.
// EVIDENCE: src/include/access/gist.h F_*
mod gist_flag {
    pub(super) const LEAF: u16 = 1;
    pub(super) const DELETED: u16 = 2;
    pub(super) const ALL: u16 = 0x001F;
}

/// Flags of SP-GiST pages.
// EVIDENCE: src/include/access/spgist_private.h SPGIST_*
mod sp_gist_flag {
    pub(super) const META: u16 = 1;
    pub(super) const DELETED: u16 = 2;
    pub(super) const LEAF: u16 = 4;
    pub(super) const ALL: u16 = 0x000F;
}

impl Method {
    /// The mark at the end of each page.
    // EVIDENCE: hash.h HASHO_PAGE_ID, gist.h GIST_PAGE_ID, spgist_private.h SPGIST_PAGE_ID
    #[must_use]
    pub fn mark(self) -> u16 {
        match self {
            Method::Hash => 0xFF80,
            Method::Gist => 0xFF81,
            Method::SpGist => 0xFF82,
        }
    }
}

/// The special space of a page, as far as it is used here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opaque {
    /// The access method that was asked for.
    pub method: Method,
    /// Flags, in the access method's own meaning.
    pub flags: u16,
    /// The mark of an access method.
    pub mark: u16,
    /// Hash: the bucket.
    pub bucket: u32,
}

impl Opaque {
    /// Reads the special space of a page; `None` if it is too short.
    // EVIDENCE: hash.h HashPageOpaqueData: bucket @8, flags @12, page id @14; gist.h GISTPageOpaqueData: flags @12,
    // page id @14; spgist_private.h SpGistPageOpaqueData: flags @0, page id @6
    #[must_use]
    pub fn read(method: Method, page: &Page<'_>) -> Option<Opaque> {
        let special = page.special();
        let (flags, mark) = if method == Method::SpGist { (0, 6) } else { (12, 14) };
        Some(Opaque {
            method,
            flags: u16_at(special, flags)?,
            mark: u16_at(special, mark)?,
            bucket: if method == Method::Hash { u32_at(special, 8)? } else { 0 },
        })
    }

    /// Tests mark and flags; `false` if the page is not of the access method.
    pub fn check(&self, special_offset: usize, damage: &mut Vec<Damage>) -> bool {
        let (all, is_possible) = match self.method {
            Method::Hash => (hash_flag::ALL, (self.flags & hash_flag::KINDS).count_ones() <= 1),
            Method::Gist => (gist_flag::ALL, true),
            Method::SpGist => (sp_gist_flag::ALL, true),
        };
        let fits = self.mark == self.method.mark() && self.flags & !all == 0 && is_possible;
        if !fits {
            damage.push(Damage::at(
                Invariant::IndexPage,
                special_offset,
                format!("mark {:#06x} and flags within {all:#06x}", self.method.mark()),
                format!("mark {:#06x}, flags {:#06x}", self.mark, self.flags),
            ));
        }
        fits
    }

    /// What the page is for.
    #[must_use]
    pub fn role(&self) -> Role {
        let has = |flag| self.flags & flag != 0;
        match self.method {
            Method::Hash if has(hash_flag::OVERFLOW | hash_flag::BUCKET) => Role::Entries,
            Method::Hash => Role::Other,
            Method::Gist if has(gist_flag::DELETED) => Role::Other,
            Method::Gist if has(gist_flag::LEAF) => Role::Entries,
            Method::SpGist if has(sp_gist_flag::META | sp_gist_flag::DELETED) => Role::Other,
            Method::SpGist if has(sp_gist_flag::LEAF) => Role::Entries,
            Method::Gist | Method::SpGist => Role::Inner,
        }
    }

    /// Whether entries are being moved between pages, so that some stand in two or in the old place.
    #[must_use]
    pub fn is_being_split(&self) -> bool {
        self.method == Method::Hash && self.flags & (hash_flag::BEING_POPULATED | hash_flag::BEING_SPLIT) != 0
    }
}

/// An entry that names a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The row.
    pub tid: Tid,
    /// Hash: the hash value of the key.
    pub hash: u32,
}

/// Reads a tuple of a page with [`Role::Entries`]; `None` if it names no row or is too short.
// EVIDENCE: itup.h IndexTupleData; hash.h: the data of a tuple is its hash value; spgist_private.h
// SpGistLeafTupleData (14 and later): state in the two low bits @0, 0 live, heapPtr @6
#[must_use]
pub fn entry(method: Method, page: &Page<'_>, item: Item) -> Option<Entry> {
    let bytes = page.item_bytes(item)?;
    match method {
        Method::Gist => Some(Entry { tid: IndexTuple::read(bytes)?.tid, hash: 0 }),
        Method::Hash => {
            let tid = IndexTuple::read(bytes)?.tid;
            Some(Entry { tid, hash: u32_at(bytes, TUPLE_HEADER_BYTES)? })
        }
        Method::SpGist if u32_at(bytes, 0)? & 3 == 0 => Some(Entry { tid: Tid::read(bytes, 6)?, hash: 0 }),
        Method::SpGist => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_tells_the_access_method() {
        let mut bytes = vec![0; 8192];
        bytes[16..18].copy_from_slice(&8176u16.to_le_bytes());
        bytes[8188] = 1;
        bytes[8190..].copy_from_slice(&0xFF81u16.to_le_bytes());
        let page = Page::new(&bytes);
        let read = |method| Opaque::read(method, &page).map(|opaque| opaque.check(8176, &mut Vec::new()));
        assert_eq!((read(Method::Gist), read(Method::Hash)), (Some(true), Some(false)));
    }
}
