//! Proving two large sets equal in flat memory: keyed commutative sums.
//!
//! Each member is hashed with a key drawn for this check, and the hashes are added up modulo 2^128, beside a count,
//! in buckets. Two sides that hold the same members have equal sums in whatever order they were seen. Addition, not
//! exclusive or: a member seen twice must not cancel. Unequal buckets tell which part to read again.
//!
//! For two different multisets the sums of a bucket agree with a probability of about 2^-128 as long as the hash
//! behaves like a random function; the key makes that independent of the data.

use serde::{Deserialize, Serialize};

use crate::matching::side::Side;

/// Most buckets of a difference: enough that a second pass holds a small part, few enough to stay in the cache.
pub const BUCKET_COUNT: usize = 64;

/// Bucket of a hash, of [`BUCKET_COUNT`].
#[inline]
#[must_use]
pub fn bucket_of(hash: u128) -> usize {
    // Below BUCKET_COUNT, a power of two.
    (hash >> 96) as usize % BUCKET_COUNT
}

/// The difference between two sides: what one has beyond the other, as sum and count, in buckets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// One, or [`BUCKET_COUNT`].
    buckets: Vec<Bucket>,
    /// Members seen, by side.
    counts: [u64; 2],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Bucket {
    sum: u128,
    count: i64,
}

/// A difference as a stopped check keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StoredSum {
    /// Members seen, by side.
    pub counts: [u64; 2],
    /// High and low half of each sum.
    pub halves: Vec<[u64; 2]>,
    /// Count of each bucket.
    pub bucket_counts: Vec<i64>,
}

impl Default for Difference {
    fn default() -> Self {
        Self { buckets: vec![Bucket::default(); BUCKET_COUNT], counts: [0; 2] }
    }
}

impl Bucket {
    #[inline]
    fn merge(&mut self, other: Self) {
        self.sum = self.sum.wrapping_add(other.sum);
        self.count = self.count.wrapping_add(other.count);
    }
}

impl Difference {
    /// Starts with one bucket: for objects so small that all of them is read again.
    #[must_use]
    pub fn small() -> Self {
        Self { buckets: vec![Bucket::default()], counts: [0; 2] }
    }

    /// Adds a member of a side, in the bucket of its hash.
    #[inline]
    pub fn add(&mut self, side: Side, hash: u128) {
        self.add_to(side, bucket_of(hash), hash);
    }

    /// Adds a member of a side to a bucket; the number wraps around.
    #[inline]
    pub fn add_to(&mut self, side: Side, bucket: usize, hash: u128) {
        self.counts[side as usize] += 1;
        let last = self.buckets.len() - 1;
        if let Some(bucket) = self.buckets.get_mut(bucket & last) {
            match side {
                Side::Expected => bucket.merge(Bucket { sum: hash, count: 1 }),
                Side::Found => bucket.merge(Bucket { sum: hash.wrapping_neg(), count: -1 }),
            }
        }
    }

    /// Adds what another worker saw of the same object.
    pub fn merge(&mut self, other: &Self) {
        if other.buckets.len() < self.buckets.len() {
            let buckets = std::mem::replace(&mut self.buckets, vec![Bucket::default(); other.buckets.len()]);
            self.add_buckets(&buckets);
        }
        self.add_buckets(&other.buckets);
        self.counts.iter_mut().zip(other.counts).for_each(|(count, more)| *count += more);
    }

    fn add_buckets(&mut self, buckets: &[Bucket]) {
        let last = self.buckets.len() - 1;
        for (number, more) in buckets.iter().enumerate() {
            if let Some(bucket) = self.buckets.get_mut(number & last) {
                bucket.merge(*more);
            }
        }
    }

    /// Members seen on a side.
    #[must_use]
    pub fn count(&self, side: Side) -> u64 {
        self.counts[side as usize]
    }

    /// Members seen on both sides.
    #[must_use]
    pub fn count_of_both(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Bytes in memory.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        size_of_val(self.buckets.as_slice()) as u64
    }

    /// The buckets in which the two sides differ; empty when they are equal.
    #[must_use]
    pub fn unequal(&self) -> BucketSet {
        let numbers = self.buckets.iter().enumerate().filter(|(_, bucket)| **bucket != Bucket::default());
        let mut set = BucketSet { bits: 0, count: self.buckets.len() };
        numbers.for_each(|(number, _)| set.insert(number));
        set
    }

    /// The form that is kept when a check is stopped.
    #[must_use]
    pub fn to_stored(&self) -> StoredSum {
        // The two halves of the sum.
        let halves = |bucket: &Bucket| [(bucket.sum >> 64) as u64, bucket.sum as u64];
        StoredSum {
            counts: self.counts,
            halves: self.buckets.iter().map(halves).collect(),
            bucket_counts: self.buckets.iter().map(|bucket| bucket.count).collect(),
        }
    }

    /// The difference that was kept; buckets beyond those known here are left out.
    #[must_use]
    pub fn from_stored(stored: &StoredSum) -> Self {
        let mut difference = if stored.halves.len() == 1 { Self::small() } else { Self::default() };
        difference.counts = stored.counts;
        let kept = stored.halves.iter().zip(&stored.bucket_counts);
        for (bucket, ([high, low], count)) in difference.buckets.iter_mut().zip(kept) {
            *bucket = Bucket { sum: u128::from(*high) << 64 | u128::from(*low), count: *count };
        }
        difference
    }
}

/// Some buckets of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BucketSet {
    bits: u64,
    /// Buckets of the difference.
    count: usize,
}

const _: () =
    assert!(BUCKET_COUNT == u64::BITS as usize, "the buckets of a difference are the bits of a word");

impl Default for BucketSet {
    fn default() -> Self {
        Self { bits: 0, count: BUCKET_COUNT }
    }
}

impl BucketSet {
    /// Whether no bucket is in the set.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.bits == 0
    }

    /// How many buckets are in the set.
    #[must_use]
    pub fn len(self) -> usize {
        self.bits.count_ones() as usize
    }

    /// Adds a bucket; the number wraps around.
    pub fn insert(&mut self, bucket: usize) {
        self.bits |= 1 << (bucket % self.count);
    }

    /// Whether a bucket is in the set; the number wraps around.
    #[inline]
    #[must_use]
    pub fn has(self, bucket: usize) -> bool {
        self.bits >> (bucket % self.count) & 1 == 1
    }

    /// The buckets in the set, ascending.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        (0..self.count).filter(move |bucket| self.has(*bucket))
    }

    /// Parts of the set whose facts fit the memory, given the bytes of the facts of all buckets.
    #[must_use]
    pub fn split(self, bytes_of_all: u64, memory_bytes_max: u64) -> Vec<Self> {
        let per_bucket = (bytes_of_all / BUCKET_COUNT as u64).max(1);
        let at_once = (memory_bytes_max / per_bucket).clamp(1, BUCKET_COUNT as u64) as usize;
        let buckets: Vec<usize> = self.iter().collect();
        let part = |chunk: &[usize]| {
            let mut part = Self { bits: 0, ..self };
            chunk.iter().for_each(|bucket| part.insert(*bucket));
            part
        };
        buckets.chunks(at_once).map(part).collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::matching::hash::Key;
    use proptest::prelude::*;

    /// The slow exact matcher: the oracle of the sums.
    fn is_equal_exactly(mut left: Vec<Vec<u8>>, mut right: Vec<Vec<u8>>) -> bool {
        left.sort();
        right.sort();
        left == right
    }

    fn difference(left: &[Vec<u8>], right: &[Vec<u8>]) -> Difference {
        // Two workers, so that merging is tested as well.
        let (mut first, mut second) = (Difference::default(), Difference::default());
        let key = Key::new(7);
        left.iter().for_each(|member| first.add(Side::Expected, key.hash(member)));
        right.iter().for_each(|member| second.add(Side::Found, key.hash(member)));
        first.merge(&second);
        Difference::from_stored(&first.to_stored())
    }

    proptest! {
        #[test]
        fn sums_agree_with_the_exact_matcher(
            left in prop::collection::vec(prop::collection::vec(0u8..3, 0..3), 0..40),
            right in prop::collection::vec(prop::collection::vec(0u8..3, 0..3), 0..40),
            is_same in any::<bool>(),
        ) {
            let right = if is_same { left.iter().rev().cloned().collect() } else { right };
            let expected = is_equal_exactly(left.clone(), right.clone());
            prop_assert_eq!(difference(&left, &right).unequal().is_empty(), expected);
        }
    }

    #[test]
    fn a_pair_of_equal_extra_members_does_not_cancel() {
        let left = vec![b"x".to_vec(), b"x".to_vec()];
        let difference = difference(&left, &[]);
        assert_eq!(difference.unequal().len(), 1);
        assert_eq!((difference.count(Side::Expected), difference.count_of_both()), (2, 2));
    }

    #[test]
    fn sums_of_one_bucket_and_of_many_add_up() {
        let key = Key::new(3);
        let facts = |range: std::ops::Range<u64>| range.map(|number| key.hash(&number.to_le_bytes()));
        let (mut small, mut large) = (Difference::small(), Difference::default());
        facts(0..500).for_each(|fact| small.add(Side::Expected, fact));
        facts(0..400).for_each(|fact| large.add(Side::Found, fact));
        let (mut one, mut other) = (small.clone(), large.clone());
        one.merge(&large);
        other.merge(&small);
        assert_eq!(one, other);
        assert!(!one.unequal().is_empty());
        facts(400..500).for_each(|fact| one.add(Side::Found, fact));
        assert!(one.unequal().is_empty());
    }

    #[test]
    fn the_parts_of_a_set_of_buckets_are_the_set() {
        let mut set = BucketSet::default();
        [3, 5, 8, 63, 64].into_iter().for_each(|bucket| set.insert(bucket));
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 3, 5, 8, 63]);
        for (memory, count) in [(0, 5), (200, 3), (u64::MAX, 1)] {
            let parts = set.split(6400, memory);
            assert_eq!(parts.len(), count, "{memory}");
            let all: Vec<usize> = parts.into_iter().flat_map(BucketSet::iter).collect();
            assert_eq!(all, set.iter().collect::<Vec<_>>());
        }
    }
}
