//! The meta page of a hash index, and what follows from it: the bucket of a hash value, the place of every page.

use crate::postgres::bytes::{u16_at, u32_at};
use crate::postgres::damage::{Damage, Invariant};
use crate::postgres::index::hash::role::{PageRole, SPECIAL_BYTES};
use crate::postgres::page::{HEADER_BYTES, Page};

/// Phases that an index can have.
// EVIDENCE: src/include/access/hash.h HASH_MAX_SPLITPOINTS: 10 groups of one phase, 22 of four
pub const PHASES_MAX: usize = 98;
/// Groups of buckets that are allocated in one phase each.
// EVIDENCE: hash.h HASH_SPLITPOINT_GROUPS_WITH_ONE_PHASE
const GROUPS_OF_ONE_PHASE: u32 = 10;
/// The first page of a hash index, but for the places of bitmap pages, which follow from the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meta {
    /// Version; 4.
    pub version: u32,
    /// Bytes of bits in a bitmap page.
    pub bitmap_bytes: u32,
    /// Logarithm to base 2 of their number of bits.
    pub bitmap_shift: u32,
    /// The last bucket.
    pub bucket_max: u32,
    /// Mask for the whole table.
    pub high_mask: u32,
    /// Mask for its lower half.
    pub low_mask: u32,
    /// The last phase.
    pub phase: u32,
    /// No overflow page with a lower bit is free, as far as is known.
    pub first_free: u32,
    /// Bitmap pages.
    pub map_count: u32,
    /// The hash function, by its object id.
    pub function: u32,
    /// Overflow pages up to the end of each phase.
    pub spares: [u32; PHASES_MAX],
}

impl Meta {
    /// Reads the first page of a hash index; `None` if it has no magic number.
    // EVIDENCE: hash.h HASH_MAGIC 0x6440640; HashMetaPageData: magic @0, version @4, ntuples f64 @8, ffactor @16, bsize @18,
    // bmsize u16 @20, bmshift u16 @22, maxbucket @24, highmask @28, lowmask @32, ovflpoint @36, firstfree @40, nmaps @44,
    // procid @48, spares @52, mapp @444
    #[must_use]
    pub fn read(page: &Page<'_>) -> Option<Meta> {
        let bytes = page.bytes().get(HEADER_BYTES..)?;
        let at = |offset| u32_at(bytes, offset);
        if at(0)? != MAGIC {
            return None;
        }
        let mut spares = [0; PHASES_MAX];
        for (number, spare) in spares.iter_mut().enumerate() {
            *spare = at(SPARES_OFFSET + 4 * number)?;
        }
        Some(Meta {
            version: at(4)?,
            bitmap_bytes: u16_at(bytes, 20)?.into(),
            bitmap_shift: u16_at(bytes, 22)?.into(),
            bucket_max: at(24)?,
            high_mask: at(28)?,
            low_mask: at(32)?,
            phase: at(36)?,
            first_free: at(40)?,
            map_count: at(44)?,
            function: at(48)?,
            spares,
        })
    }

    /// Tests the fields of the meta page against each other and the number of blocks of the index; `false` if the places
    /// of pages cannot be told from it.
    // EVIDENCE: src/backend/access/hash/hashpage.c _hash_init_metabuffer, _hash_expandtable; hashovfl.c _hash_addovflpage
    pub fn check(&self, page: &Page<'_>, block_count: u32, damage: &mut Vec<Damage>) -> bool {
        let before = damage.len();
        let mut broken = |offset: usize, expected: String, found: String| {
            damage.push(Damage::at(Invariant::HashMeta, HEADER_BYTES + offset, expected, found));
        };
        if self.version != VERSION {
            broken(4, format!("version {VERSION}"), self.version.to_string());
        }
        let wanted = bitmap_shift_of(page.bytes().len());
        if self.bitmap_shift != wanted || self.bitmap_bytes.checked_shl(3) != 1u32.checked_shl(wanted) {
            let found = format!("{} bytes, 2^{} bits", self.bitmap_bytes, self.bitmap_shift);
            broken(20, format!("bitmap pages of 2^{wanted} bits"), found);
        }
        if !self.has_masks() {
            let expected = "a last bucket between two masks of low bits, one half of the other";
            let found =
                format!("bucket {}, masks {:#x} and {:#x}", self.bucket_max, self.low_mask, self.high_mask);
            broken(24, expected.to_owned(), found);
        }
        if damage.len() > before {
            return false;
        }
        self.check_spares(page, block_count, damage);
        damage.len() == before
    }

    /// Whether the masks are ones that tell buckets.
    #[must_use]
    pub fn has_masks(&self) -> bool {
        self.high_mask & self.high_mask.wrapping_add(1) == 0
            && self.low_mask == self.high_mask >> 1
            && (self.low_mask..=self.high_mask.min(BUCKET_MAX)).contains(&self.bucket_max)
            && self.bucket_max > 0
    }

    fn check_spares(&self, page: &Page<'_>, block_count: u32, damage: &mut Vec<Damage>) {
        let mut broken = |offset: usize, expected: String, found: String| {
            damage.push(Damage::at(Invariant::HashMeta, HEADER_BYTES + offset, expected, found));
        };
        let wanted = phase_of(self.bucket_max);
        if self.phase != wanted {
            broken(36, format!("phase {wanted}, that of bucket {}", self.bucket_max), self.phase.to_string());
            return;
        }
        let phase = self.phase as usize;
        let (used, unused) = self.spares.split_at_checked(phase + 1).unwrap_or((&self.spares, &[]));
        let ascend = used.is_sorted() && used.first() == Some(&0) && used.last() > Some(&0);
        if !ascend || unused.iter().any(|spare| *spare != 0) {
            let expected =
                format!("counts of overflow pages that ascend from 0 up to phase {phase}, then zeros");
            broken(SPARES_OFFSET, expected, format!("{:?}", self.spares.get(..phase + 2).unwrap_or(used)));
            return;
        }
        let end = self.end();
        if end.is_none_or(|end| end > block_count) {
            let end = end.map_or_else(|| "more than there can be".to_owned(), |end| end.to_string());
            broken(
                SPARES_OFFSET,
                format!("at most the file's {block_count} blocks"),
                format!("{end} blocks"),
            );
            return;
        }
        let maps = self.bit_place(self.overflow_count().saturating_sub(1)).0 + 1;
        if self.map_count != maps {
            let expected = format!("{maps} bitmap pages for {} overflow pages", self.overflow_count());
            broken(44, expected, self.map_count.to_string());
            return;
        }
        if self.first_free > self.overflow_count() {
            let expected = format!("a first free overflow page up to {}", self.overflow_count());
            broken(40, expected, self.first_free.to_string());
        }
        // Bounded by the number of bitmap pages, which follows from a number of pages that the file has.
        for number in 0..maps {
            let offset = MAPS_OFFSET + 4 * number as usize;
            let block = u32_at(page.bytes(), HEADER_BYTES + offset);
            let wanted = self.block_of_bit(number << self.bitmap_shift);
            if block != Some(wanted) {
                let found = block.map_or_else(|| "none".to_owned(), |block| format!("in block {block}"));
                broken(offset, format!("bitmap page {number} in block {wanted}"), found);
                return;
            }
        }
    }

    /// The bucket of a hash value.
    // EVIDENCE: src/backend/access/hash/hashutil.c _hash_hashkey2bucket
    #[inline]
    #[must_use]
    pub fn bucket_of(&self, hash: u32) -> u32 {
        let bucket = hash & self.high_mask;
        if bucket > self.bucket_max { bucket & self.low_mask } else { bucket }
    }

    /// The bucket into which this one was last split; `None` if it was not split since it was made.
    // EVIDENCE: hashutil.c _hash_get_newbucket_from_oldbucket
    #[must_use]
    pub fn split_target(&self, bucket: u32) -> Option<u32> {
        let candidates = [self.low_mask, self.low_mask >> 1];
        let targets = candidates.map(|mask| bucket | mask.saturating_add(1));
        targets.into_iter().find(|target| *target <= self.bucket_max).filter(|target| *target != bucket)
    }

    /// Overflow pages, bitmap pages included.
    #[must_use]
    pub fn overflow_count(&self) -> u32 {
        self.spares.get(self.phase as usize).copied().unwrap_or(0)
    }

    /// The number of blocks that the index must have; `None` if that is too many.
    fn end(&self) -> Option<u32> {
        buckets_up_to(self.phase).checked_add(self.overflow_count())?.checked_add(1)
    }

    /// What stands at a block. Of a meta page that passed its check.
    // EVIDENCE: hash.h BUCKET_TO_BLKNO; hashovfl.c bitno_to_blkno
    #[must_use]
    pub fn place_of(&self, block: u32) -> PageRole {
        let Some(mut rest) = block.checked_sub(1) else { return PageRole::Meta };
        let (mut buckets, mut bits) = (0u32, 0u32);
        // Bounded by the number of phases.
        for (phase, spares) in (0..=self.phase).zip(self.spares) {
            let more = buckets_up_to(phase).saturating_sub(buckets);
            if rest < more {
                let bucket = buckets + rest;
                return if bucket <= self.bucket_max {
                    PageRole::Bucket(bucket)
                } else {
                    PageRole::Reserved(bucket)
                };
            }
            (rest, buckets) = (rest - more, buckets + more);
            let more = spares.saturating_sub(bits);
            if rest < more {
                let bit = bits + rest;
                let (map, within) = self.bit_place(bit);
                return if within == 0 { PageRole::Bitmap(map) } else { PageRole::Overflow(bit) };
            }
            (rest, bits) = (rest - more, bits + more);
        }
        PageRole::Beyond
    }

    /// The bitmap page of a bit, and its place there; the first bit of each is about the page itself.
    fn bit_place(&self, bit: u32) -> (u32, u32) {
        let shift = self.bitmap_shift.min(31);
        (bit >> shift, bit & ((1 << shift) - 1))
    }

    /// The block of an overflow page, by its bit.
    // EVIDENCE: hashovfl.c bitno_to_blkno
    #[must_use]
    pub fn block_of_bit(&self, bit: u32) -> u32 {
        let mut phases = (1..self.phase).zip(self.spares.iter().skip(1));
        let phase = phases.find(|(_, spares)| bit < **spares).map_or(self.phase, |(phase, _)| phase);
        buckets_up_to(phase).saturating_add(bit).saturating_add(1)
    }

    /// The bit of a bitmap page itself: its first.
    #[must_use]
    pub fn first_bit_of(&self, number: u32) -> u32 {
        number.checked_shl(self.bitmap_shift).unwrap_or(0)
    }

    /// The block of the bitmap page that has a bit.
    #[must_use]
    pub fn map_block_of(&self, bit: u32) -> u32 {
        self.block_of_bit(self.first_bit_of(self.bit_place(bit).0))
    }

    /// The bits of a bitmap page that are about overflow pages, `true` for one in use, and the first of those behind them
    /// that is not set; `None` if the page has not so many bytes.
    // EVIDENCE: hashovfl.c _hash_initbitmapbuffer: all bits are set in the beginning
    pub fn bits<'p>(
        &self,
        page: &Page<'p>,
        number: u32,
    ) -> Option<(impl Iterator<Item = (u32, bool)> + use<'p>, Option<u32>)> {
        let bytes = page.bytes().get(HEADER_BYTES..)?.get(..self.bitmap_bytes as usize)?;
        let all = (bytes.len() * 8) as u32;
        let first = number.checked_shl(self.bitmap_shift)?;
        let count = self.overflow_count().saturating_sub(first).min(all);
        let is_set =
            move |bit: u32| bytes.get(bit as usize / 8).is_some_and(|byte| byte >> (bit % 8) & 1 == 1);
        let beyond = (count..all).find(|bit| !is_set(*bit)).map(|bit| first.saturating_add(bit));
        Some(((0..count).map(move |bit| (first.saturating_add(bit), is_set(bit))), beyond))
    }
}

/// Magic number of the first page.
// EVIDENCE: hash.h HASH_MAGIC
pub(super) const MAGIC: u32 = 0x0644_0640;
/// The version that majors 10 and later write and read.
// EVIDENCE: hash.h HASH_VERSION
const VERSION: u32 = 4;
const SPARES_OFFSET: usize = 52;
const MAPS_OFFSET: usize = SPARES_OFFSET + 4 * PHASES_MAX;
/// The last bucket that an index can have.
// EVIDENCE: hashpage.c _hash_expandtable
const BUCKET_MAX: u32 = 0x7FFF_FFFE;

/// Bits of a bitmap page are the greatest power of two that fits.
fn bitmap_shift_of(block_bytes: usize) -> u32 {
    block_bytes.saturating_sub(HEADER_BYTES + SPECIAL_BYTES).checked_ilog2().map_or(0, |shift| shift + 3)
}

/// The phase in which a bucket is allocated.
// EVIDENCE: hashutil.c _hash_spareindex
fn phase_of(bucket: u32) -> u32 {
    // The logarithm of the number of buckets, rounded up.
    let group = bucket.checked_ilog2().map_or(0, |bits| bits + 1);
    if group < GROUPS_OF_ONE_PHASE {
        return group;
    }
    GROUPS_OF_ONE_PHASE + ((group - GROUPS_OF_ONE_PHASE) << 2) + ((bucket >> (group - 3)) & 3)
}

/// Buckets that are allocated up to the end of a phase.
// EVIDENCE: hashutil.c _hash_get_totalbuckets
fn buckets_up_to(phase: u32) -> u32 {
    let Some(later) = phase.checked_sub(GROUPS_OF_ONE_PHASE) else { return 1 << phase };
    // More than there can be, where the phase is one that cannot be.
    let half = 1u32.checked_shl(GROUPS_OF_ONE_PHASE + (later >> 2) - 1).unwrap_or(1 << 31);
    half.saturating_add((half >> 2).saturating_mul((later & 3) + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meta(bucket_max: u32, spares: &[u32]) -> Meta {
        let mut all = [0; PHASES_MAX];
        all[..spares.len()].copy_from_slice(spares);
        let high_mask = (bucket_max + 1).next_power_of_two() - 1;
        Meta {
            version: 4,
            bitmap_bytes: 4096,
            bitmap_shift: 15,
            bucket_max,
            high_mask,
            low_mask: high_mask >> 1,
            phase: spares.len() as u32 - 1,
            first_free: 0,
            map_count: 1,
            function: 450,
            spares: all,
        }
    }

    #[test]
    fn a_hash_value_goes_to_the_bucket_that_exists() {
        // Five buckets: 0 to 4; values of the upper half beyond the last go to the lower one.
        let meta = meta(4, &[0, 1, 1, 2]);
        let buckets: Vec<u32> = (0..10).map(|hash| meta.bucket_of(hash)).collect();
        assert_eq!(buckets, [0, 1, 2, 3, 4, 1, 2, 3, 0, 1]);
        let targets: Vec<_> = (0..5).map(|bucket| meta.split_target(bucket)).collect();
        assert_eq!(targets, [Some(4), Some(3), None, None, None]);
    }

    #[test]
    fn buckets_and_overflow_pages_share_the_blocks() {
        // Buckets 0, 1; a bitmap and an overflow page; buckets 2, 3; none; buckets 4 to 7, of which 5 are in use; one page.
        let meta = meta(4, &[0, 2, 2, 3]);
        let places: Vec<PageRole> = (0..13).map(|block| meta.place_of(block)).collect();
        use PageRole::{Beyond, Bitmap, Bucket, Overflow, Reserved};
        assert_eq!(
            places,
            [
                PageRole::Meta,
                Bucket(0),
                Bucket(1),
                Bitmap(0),
                Overflow(1),
                Bucket(2),
                Bucket(3),
                Bucket(4),
                Reserved(5),
                Reserved(6),
                Reserved(7),
                Overflow(2),
                Beyond,
            ]
        );
        assert_eq!([0, 1, 2].map(|bit| meta.block_of_bit(bit)), [3, 4, 11]);
    }

    #[test]
    fn phases_end_where_the_next_begin() {
        for phase in 1..PHASES_MAX as u32 {
            let end = buckets_up_to(phase);
            assert_eq!(phase_of(end - 1), phase, "{phase}");
            assert!(phase + 1 == PHASES_MAX as u32 || phase_of(end) == phase + 1, "{phase}");
        }
        assert_eq!([9, 10, 11, 12, 13, 14].map(buckets_up_to), [512, 640, 768, 896, 1024, 1280]);
    }

    #[test]
    fn every_block_has_one_place_and_every_place_a_block() {
        let meta = meta(1500, &[0, 1, 2, 2, 2, 5, 5, 5, 9, 40, 40, 41, 41, 50, 90, 300]);
        let mut buckets = 0;
        let mut bits = 0;
        let end = meta.end().unwrap_or(0);
        for block in 1..end {
            match meta.place_of(block) {
                PageRole::Bucket(bucket) | PageRole::Reserved(bucket) => {
                    assert_eq!(bucket, buckets);
                    buckets += 1;
                }
                PageRole::Bitmap(0) => {
                    assert_eq!((bits, meta.block_of_bit(0)), (0, block));
                    bits += 1;
                }
                PageRole::Overflow(bit) => {
                    assert_eq!((bit, meta.block_of_bit(bit)), (bits, block));
                    bits += 1;
                }
                other => panic!("{block}: {other:?}"),
            }
        }
        assert_eq!((buckets, bits), (buckets_up_to(15), 300));
        assert_eq!(meta.place_of(end), PageRole::Beyond);
    }
}
