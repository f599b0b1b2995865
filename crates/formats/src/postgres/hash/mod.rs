//! Hash index pages (version 4, majors 10 and later): the meta page, where buckets and overflow pages stand, the chains
//! of a bucket's pages, and the bitmap of overflow pages in use.
//!
//! ```text
//! block  0     1 2                3 4          5            6 ..
//!        meta  buckets of phases  overflow     buckets of   overflow pages
//!              0 and 1            of phase 1   phase 2      of phase 2
//! ```
//!
//! Buckets are allocated phase by phase, each time all of a phase; overflow pages that are added meanwhile stand behind
//! it. The meta page keeps for each phase how many overflow pages there were up to its end, from which the place of every
//! bucket and the number of every overflow page follow. Bitmap pages are overflow pages as well.
// EVIDENCE: src/backend/access/hash/README "Page Addressing"

mod meta;

pub use meta::{Meta, PHASES_MAX};

use super::bytes::{u16_at, u32_at};
use super::page::{HEADER_BYTES, Page};
use super::{Damage, Promise};

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

/// The special space of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opaque {
    /// Overflow page: the page before it. First page of a bucket: the last bucket of the index when this one was made or
    /// last split.
    pub previous: u32,
    /// The next page of the bucket; [`super::BLOCK_NONE`] for none.
    pub next: u32,
    /// The bucket.
    pub bucket: u32,
    /// See [`flag`].
    pub flags: u16,
}

impl Opaque {
    /// Reads the special space of a page; `None` if it is too short.
    // EVIDENCE: hash.h HashPageOpaqueData: prevblkno @0, nextblkno @4, bucket @8, flag @12, page id @14
    #[must_use]
    pub fn read(page: &Page<'_>) -> Option<Opaque> {
        let special = page.special();
        Some(Opaque {
            previous: u32_at(special, 0)?,
            next: u32_at(special, 4)?,
            bucket: u32_at(special, 8)?,
            flags: u16_at(special, 12)?,
        })
    }

    /// The flag of the page's kind; 0 for a page that is not in use.
    #[must_use]
    pub fn kind(&self) -> u16 {
        self.flags & flag::KINDS
    }

    /// Whether a flag is set.
    #[must_use]
    pub fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }

    /// Tests a page against its place in the index, as the meta page has it.
    pub fn check(&self, special_offset: usize, place: Place, meta: &Meta, damage: &mut Vec<Damage>) {
        let mut broken = |offset: usize, expected: String, found: String| {
            damage.push(Damage::at(Promise::HashPage, special_offset + offset, expected, found));
        };
        if self.kind() != place.kind() && !(place.may_be_free() && self.kind() == 0) {
            broken(12, place.to_string(), kind_name(self.kind()).to_owned());
            return;
        }
        if let Place::Bucket(bucket) = place {
            if self.bucket != bucket {
                broken(8, place.to_string(), format!("the first page of bucket {}", self.bucket));
                return;
            }
            let oldest = meta.split_target(bucket).unwrap_or(bucket);
            if !(oldest..=meta.bucket_max).contains(&self.previous) {
                broken(
                    0,
                    format!(
                        "a bucket that was last split when there were buckets up to one from {oldest} to {}",
                        meta.bucket_max
                    ),
                    format!("up to {}", self.previous),
                );
            }
        }
        if self.kind() == flag::OVERFLOW && self.bucket > meta.bucket_max {
            let expected = format!("a bucket from 0 to {}", meta.bucket_max);
            broken(8, expected, self.bucket.to_string());
        }
    }
}

fn kind_name(kind: u16) -> &'static str {
    match kind {
        0 => "a page that is not in use",
        flag::OVERFLOW => "an overflow page",
        flag::BUCKET => "the first page of a bucket",
        flag::BITMAP => "a bitmap page",
        flag::META => "the metapage",
        _ => "a page of several kinds",
    }
}

/// What stands at a block, as the meta page has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
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

impl Place {
    /// The kind of page that stands there; 0 if none is in use there.
    #[must_use]
    pub fn kind(self) -> u16 {
        match self {
            Place::Meta => flag::META,
            Place::Bucket(_) => flag::BUCKET,
            Place::Bitmap(_) => flag::BITMAP,
            Place::Overflow(_) => flag::OVERFLOW,
            Place::Reserved(_) | Place::Beyond => 0,
        }
    }

    fn may_be_free(self) -> bool {
        matches!(self, Place::Overflow(_))
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Place::Meta => write!(f, "the metapage"),
            Place::Bucket(bucket) => write!(f, "the first page of bucket {bucket}"),
            Place::Reserved(bucket) => write!(f, "a page for bucket {bucket}, which is not in use yet"),
            Place::Bitmap(number) => write!(f, "bitmap page {number}"),
            Place::Overflow(bit) => write!(f, "overflow page {bit}, in use or free"),
            Place::Beyond => write!(f, "a page past the last one in use"),
        }
    }
}

/// Reads a page as all that a page of a hash index can be, for fuzzing; also with the page as its own meta page, whether
/// that passes its check or not.
pub(crate) fn read_everything(page: &Page<'_>, block: u32, damage: &mut Vec<Damage>) {
    // Anything may stand where the magic number is.
    let mut bytes = page.bytes().to_vec();
    if let Some(magic) = bytes.get_mut(HEADER_BYTES..HEADER_BYTES + 4) {
        magic.copy_from_slice(&meta::MAGIC.to_le_bytes());
    }
    let page = Page::new(&bytes);
    let (Some(first), Some(opaque)) = (Meta::read(&page), Opaque::read(&page)) else { return };
    first.check(&page, block, damage);
    let _ = (first.bucket_of(block), first.split_target(block), first.block_of_bit(block));
    let place = first.place_of(block);
    opaque.check(0, place, &first, damage);
    if let Some((bits, _)) = first.bits(&page, block) {
        bits.count();
    }
}
