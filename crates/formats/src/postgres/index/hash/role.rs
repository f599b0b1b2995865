//! What a page of a hash index is for, and the flags that say so.

/// Length of the special space, bytes.
// EVIDENCE: hash.h HashPageOpaqueData
pub const SPECIAL_BYTES: usize = 16;

/// Flags of a page.
// EVIDENCE: hash.h LH_*
pub mod flag {
    /// One more page of a bucket.
    pub const OVERFLOW: u16 = 1;
    /// The first page of a bucket.
    pub const BUCKET: u16 = 2;
    /// Bits that say which overflow pages are in use.
    pub const BITMAP: u16 = 4;
    /// The first page of the index.
    pub const META: u16 = 8;
    /// The kinds of pages, of which a page in use has one.
    pub const KINDS: u16 = 15;
    /// Entries are being copied into this bucket.
    pub const BEING_POPULATED: u16 = 16;
    /// Entries of this bucket are being copied to a new one.
    pub const BEING_SPLIT: u16 = 32;
    /// Entries that were copied to a new bucket are still here as well.
    pub const NEEDS_CLEANUP: u16 = 64;
}

/// What stands at a block, as the meta page has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageRole {
    /// The meta page.
    Meta,
    /// The first page of a bucket.
    Bucket(u32),
    /// The first page of a bucket that is not in use yet: it was allocated with others.
    Reserved(u32),
    /// A bitmap page, by its number.
    Bitmap(u32),
    /// An overflow page, by its bit.
    Overflow(u32),
    /// Behind the last page that is in use: allocated, and not recorded.
    Beyond,
}

impl PageRole {
    /// The kind of page that stands there; 0 if none is in use there.
    #[must_use]
    pub fn kind(self) -> u16 {
        match self {
            PageRole::Meta => flag::META,
            PageRole::Bucket(_) => flag::BUCKET,
            PageRole::Bitmap(_) => flag::BITMAP,
            PageRole::Overflow(_) => flag::OVERFLOW,
            PageRole::Reserved(_) | PageRole::Beyond => 0,
        }
    }

    pub(super) fn may_be_free(self) -> bool {
        matches!(self, PageRole::Overflow(_))
    }
}

impl std::fmt::Display for PageRole {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            PageRole::Meta => write!(f, "the metapage"),
            PageRole::Bucket(bucket) => write!(f, "the first page of bucket {bucket}"),
            PageRole::Reserved(bucket) => write!(f, "a page for bucket {bucket}, which is not in use yet"),
            PageRole::Bitmap(number) => write!(f, "bitmap page {number}"),
            PageRole::Overflow(bit) => write!(f, "overflow page {bit}, in use or free"),
            PageRole::Beyond => write!(f, "a page past the last one in use"),
        }
    }
}
