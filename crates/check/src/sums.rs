//! Proving two large sets equal in flat memory: keyed commutative sums.
//!
//! Each member is hashed with a key drawn for this check, and the hashes are added up modulo 2^128, beside a count,
//! in buckets. Two sides that hold the same members have equal sums in whatever order they were seen. Addition, not
//! exclusive or: a member seen twice must not cancel. Unequal buckets tell which part to read again.
//!
//! For two different multisets the sums of a bucket agree with a probability of about 2^-128 as long as the hash
//! behaves like a random function; the key makes that independent of the data.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128_with_seed;

/// Buckets of each sum: enough that a second pass holds a small part, few enough to stay in the cache.
pub const BUCKET_COUNT: usize = 64;

/// Hash of a member under a key.
#[inline]
#[must_use]
pub fn keyed_hash(bytes: &[u8], key: u64) -> u128 {
    xxh3_128_with_seed(bytes, key)
}

/// Bucket of a hash.
#[inline]
#[must_use]
pub fn bucket_of(hash: u128) -> usize {
    // Below BUCKET_COUNT, a power of two.
    (hash >> 96) as usize % BUCKET_COUNT
}

/// The difference between two sides: what the left has beyond the right, as sum and count, in buckets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    buckets: Vec<Bucket>,
    /// Members seen on the left.
    pub left_count: u64,
    /// Members seen on the right.
    pub right_count: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Bucket {
    sum: u128,
    count: i64,
}

/// A difference as a stopped check keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StoredSum {
    /// Members seen on both sides.
    pub counts: [u64; 2],
    /// High and low half of each sum.
    pub halves: Vec<[u64; 2]>,
    /// Count of each bucket.
    pub bucket_counts: Vec<i64>,
}

impl Default for Difference {
    fn default() -> Self {
        Self { buckets: vec![Bucket::default(); BUCKET_COUNT], left_count: 0, right_count: 0 }
    }
}

impl Difference {
    /// Adds a member of the left side.
    #[inline]
    pub fn add_left(&mut self, hash: u128) {
        self.left_count += 1;
        if let Some(bucket) = self.buckets.get_mut(bucket_of(hash)) {
            bucket.sum = bucket.sum.wrapping_add(hash);
            bucket.count += 1;
        }
    }

    /// Adds a member of the right side.
    #[inline]
    pub fn add_right(&mut self, hash: u128) {
        self.right_count += 1;
        if let Some(bucket) = self.buckets.get_mut(bucket_of(hash)) {
            bucket.sum = bucket.sum.wrapping_sub(hash);
            bucket.count -= 1;
        }
    }

    /// Adds what another worker saw.
    pub fn merge(&mut self, other: &Self) {
        for (bucket, more) in self.buckets.iter_mut().zip(&other.buckets) {
            bucket.sum = bucket.sum.wrapping_add(more.sum);
            bucket.count += more.count;
        }
        self.left_count += other.left_count;
        self.right_count += other.right_count;
    }

    /// The form that is kept when a check is stopped.
    #[must_use]
    pub fn to_stored(&self) -> StoredSum {
        // The two halves of the sum.
        let halves = |bucket: &Bucket| [(bucket.sum >> 64) as u64, bucket.sum as u64];
        StoredSum {
            counts: [self.left_count, self.right_count],
            halves: self.buckets.iter().map(halves).collect(),
            bucket_counts: self.buckets.iter().map(|bucket| bucket.count).collect(),
        }
    }

    /// The difference that was kept; buckets beyond those known here are left out.
    #[must_use]
    pub fn from_stored(stored: &StoredSum) -> Self {
        let [left_count, right_count] = stored.counts;
        let mut difference = Self { left_count, right_count, ..Self::default() };
        let kept = stored.halves.iter().zip(&stored.bucket_counts);
        for (bucket, ([high, low], count)) in difference.buckets.iter_mut().zip(kept) {
            *bucket = Bucket { sum: u128::from(*high) << 64 | u128::from(*low), count: *count };
        }
        difference
    }

    /// The buckets in which the two sides differ, ascending; empty when they are equal.
    #[must_use]
    pub fn unequal_buckets(&self) -> Vec<usize> {
        let differs = |bucket: &&Bucket| **bucket != Bucket::default();
        self.buckets
            .iter()
            .enumerate()
            .filter(|(_, bucket)| differs(bucket))
            .map(|(index, _)| index)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
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
        left.iter().for_each(|member| first.add_left(keyed_hash(member, 7)));
        right.iter().for_each(|member| second.add_right(keyed_hash(member, 7)));
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
            prop_assert_eq!(difference(&left, &right).unequal_buckets().is_empty(), expected);
        }
    }

    #[test]
    fn a_pair_of_equal_extra_members_does_not_cancel() {
        let left = vec![b"x".to_vec(), b"x".to_vec()];
        let difference = difference(&left, &[]);
        assert_eq!(difference.unequal_buckets().len(), 1);
        assert_eq!(difference.left_count, 2);
    }
}
