//! Numbers and identifiers that all pages and files share.

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
