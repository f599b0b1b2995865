//! PostgreSQL: relation pages, tuples, B-trees and the files around them, majors 14 to 18.
//!
//! Little-endian clusters only; the block size is an argument (`pg_control` says it), 8 KiB by default. Every
//! reader takes bytes and gives a value and, where a promise of the format is broken, [`Damage`]: nothing here
//! panics, allocates by a length it read without a bound, or loops without one.
//!
//! | module | reads |
//! |---|---|
//! | [`page`] | page header, line pointers, byte coverage |
//! | [`checksum`] | the page checksum, and CRC-32C of control and map files |
//! | [`heap`] | heap tuple headers |
//! | [`attribute`] | columns inside heap and index tuples |
//! | [`varlena`] | variable length values, inline, compressed or kept in TOAST |
//! | [`compression`] | `pglz` and LZ4 blocks |
//! | [`btree`] | B-tree pages and tuples |
//! | [`hash`] | hash index pages: meta page, places of buckets and overflow pages, chains, bitmap |
//! | [`gist`] | links and downlinks of `GiST` pages |
//! | [`brin`], [`brin_summary`] | BRIN pages: meta page, range map, tuples; what tuples keep of values |
//! | [`hash_value`] | the server's hash functions |
//! | [`index_pages`] | hash, `GiST` and SP-GiST pages: their marks, and the rows that entries name |
//! | [`gin`] | GIN pages: key tree, posting trees, pending entries |
//! | [`spgist`] | tuples, nodes and chains of SP-GiST pages |
//! | [`maps`] | visibility map and free space map |
//! | [`free_space`] | what cannot be in a free space map |
//! | [`control`] | `pg_control` |
//! | [`relmap`] | `pg_filenode.map` |
//! | [`transaction`] | `pg_xact` and `pg_multixact` |
//! | [`log`] | pages and headers of records of the write-ahead log |
//! | [`log_changes`] | what its records say about files |
//! | [`file_name`] | names of relation files |
//! | [`catalog`] | rows of the catalogs that name everything else |

pub mod attribute;
pub mod brin;
pub mod brin_summary;
pub mod btree;
mod bytes;
pub mod catalog;
pub mod checksum;
pub mod compression;
pub mod control;
mod coverage;
pub mod damage;
mod exercise;
pub mod file_name;
pub mod free_space;
pub mod gin;
pub mod gist;
pub mod hash;
pub mod hash_value;
pub mod heap;
pub mod index_pages;
pub mod log;
pub mod log_changes;
pub mod maps;
pub mod page;
pub mod relmap;
pub mod sequence;
pub mod spgist;
pub mod transaction;
pub mod varlena;

#[cfg(test)]
mod properties;

pub use damage::{Damage, Promise};
pub use exercise::{exercise, exercise_part};

/// The block size of nearly every cluster, bytes.
// EVIDENCE: PostgreSQL docs 20.15 "block_size", configure --with-blocksize default
pub const BLOCK_SIZE_DEFAULT: usize = 8192;
/// Largest block size that the server can be built with, bytes.
// EVIDENCE: PostgreSQL docs, installation, --with-blocksize "allowed values 1 to 32"
pub const BLOCK_SIZE_MAX: usize = 32768;
/// Smallest block size, bytes.
// EVIDENCE: as above
pub const BLOCK_SIZE_MIN: usize = 1024;
/// The block number that means "no block".
// EVIDENCE: src/include/storage/block.h InvalidBlockNumber
pub const BLOCK_NONE: u32 = u32::MAX;
/// The longest alignment that a tuple can ask for, bytes.
// EVIDENCE: pg_control maxAlign on x86-64 and arm64
pub const MAX_ALIGN: usize = 8;

/// A transaction id.
pub type Xid = u32;
/// An object id.
pub type Oid = u32;

/// Where a row version stands: a block of the heap and a line pointer in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tid {
    /// Block number in the heap.
    pub block: u32,
    /// Number of the line pointer, from 1.
    pub item: u16,
}

impl Tid {
    /// Reads the six bytes of an item pointer; `None` beyond the end of `bytes`.
    // EVIDENCE: src/include/storage/itemptr.h, block.h: bi_hi u16, bi_lo u16, ip_posid u16
    #[inline]
    #[must_use]
    pub fn read(bytes: &[u8], offset_bytes: usize) -> Option<Tid> {
        let raw = bytes.get(offset_bytes..offset_bytes.checked_add(6)?)?;
        let (&[h0, h1, l0, l1, p0, p1], _) = raw.split_first_chunk::<6>()?;
        let block = (u32::from(u16::from_le_bytes([h0, h1])) << 16) | u32::from(u16::from_le_bytes([l0, l1]));
        Some(Tid { block, item: u16::from_le_bytes([p0, p1]) })
    }
}

impl std::fmt::Display for Tid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "({},{})", self.block, self.item)
    }
}

/// Rounds up to the next multiple of `alignment`, which is a power of two.
#[inline]
pub(crate) fn align_up(value: usize, alignment: usize) -> usize {
    debug_assert!(alignment.is_power_of_two());
    value.saturating_add(alignment - 1) & !(alignment - 1)
}
