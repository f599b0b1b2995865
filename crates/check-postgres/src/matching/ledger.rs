//! What two sides say about a relation, as sums in buckets.

/// A sum of facts with their count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    sum: u128,
    count: u64,
}

impl Sum {
    /// Adds a fact.
    #[inline]
    pub(crate) fn add(&mut self, fact: u128) {
        self.sum = self.sum.wrapping_add(fact);
        self.count += 1;
    }

    /// Adds the facts of another worker.
    pub(crate) fn merge(&mut self, other: &Sum) {
        self.sum = self.sum.wrapping_add(other.sum);
        self.count += other.count;
    }
}

/// Buckets per pair of sides in large relations; a mismatch is looked for in the buckets that differ only.
pub(crate) const BUCKETS: usize = 64;

/// The buckets of a table's blocks: by range, so that a mismatch is looked for in a part of the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockBuckets {
    /// Buckets per block, in parts of 2^32.
    per_block: u64,
}

impl BlockBuckets {
    /// For a table of so many blocks.
    #[inline]
    pub(crate) fn new(blocks: u32) -> BlockBuckets {
        BlockBuckets { per_block: ((BUCKETS as u64) << 32) / u64::from(blocks.max(1)) }
    }

    /// The bucket of a block; some bucket for blocks that the table does not have.
    #[inline]
    pub(crate) fn of(self, block: u32) -> usize {
        (u64::from(block).wrapping_mul(self.per_block) >> 32) as usize % BUCKETS
    }
}

/// What two sides say, in buckets.
#[derive(Clone, Debug)]
pub(crate) struct Ledger {
    /// One, or [`BUCKETS`], which is a power of two.
    buckets: Vec<[Sum; 2]>,
}

/// The two sides of a ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// Rows, parents, left siblings, pointers: what must be there.
    Claim,
    /// Entries, children, right siblings, pieces: what is there.
    Witness,
}

impl Ledger {
    /// Starts a ledger with [`BUCKETS`] buckets, or with one if the relation is small.
    pub(crate) fn new(is_small: bool) -> Ledger {
        Ledger { buckets: vec![[Sum::default(); 2]; if is_small { 1 } else { BUCKETS }] }
    }

    /// Adds a fact to a bucket of a side.
    #[inline]
    pub(crate) fn add(&mut self, side: Side, bucket: usize, fact: u128) {
        let last = self.buckets.len() - 1;
        self.buckets[bucket & last][side as usize].add(fact);
    }

    /// Adds what another worker collected about the same relation.
    pub(crate) fn merge(&mut self, other: &Ledger) {
        assert_eq!(self.buckets.len(), other.buckets.len(), "ledgers of one relation have the same buckets");
        for (mine, theirs) in self.buckets.iter_mut().zip(&other.buckets) {
            mine[0].merge(&theirs[0]);
            mine[1].merge(&theirs[1]);
        }
    }

    /// The buckets whose sides differ.
    pub(crate) fn differing(&self) -> BucketSet {
        let bits = self.buckets.iter().enumerate().filter(|(_, [claim, witness])| claim != witness);
        BucketSet { bits: bits.fold(0, |bits, (index, _)| bits | 1 << index), count: self.buckets.len() }
    }

    /// Bytes that the ledger takes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        (self.buckets.len() * size_of::<[Sum; 2]>()) as u64
    }

    /// High half, low half and count of each bucket and side.
    pub(crate) fn parts(&self) -> Vec<[[u64; 3]; 2]> {
        let parts = |sum: &Sum| [(sum.sum >> 64) as u64, sum.sum as u64, sum.count];
        self.buckets.iter().map(|[claim, witness]| [parts(claim), parts(witness)]).collect()
    }

    /// A ledger from its parts; their number is made to be one that a ledger can have.
    pub(crate) fn of_parts(parts: &[[[u64; 3]; 2]]) -> Ledger {
        let sum =
            |[high, low, count]: [u64; 3]| Sum { sum: (u128::from(high) << 64) | u128::from(low), count };
        let mut ledger = Ledger::new(parts.len() == 1);
        for (bucket, [claim, witness]) in ledger.buckets.iter_mut().zip(parts) {
            *bucket = [sum(*claim), sum(*witness)];
        }
        ledger
    }

    /// Number of facts of a side.
    pub(crate) fn count(&self, side: Side) -> u64 {
        self.buckets.iter().map(|bucket| bucket[side as usize].count).sum()
    }
}

/// The ledgers of many relations, by number in the plan.
#[derive(Debug, Default)]
pub(crate) struct Ledgers {
    // As long as the highest number that was asked for: looked up for each fact, so no map.
    by_relation: Vec<Option<Ledger>>,
}

impl Ledgers {
    /// The ledger of a relation; started if there is none.
    #[inline]
    pub(crate) fn of(&mut self, relation: u32, is_small: bool) -> &mut Ledger {
        let number = relation as usize;
        if number >= self.by_relation.len() {
            self.by_relation.resize(number + 1, None);
        }
        self.by_relation[number].get_or_insert_with(|| Ledger::new(is_small))
    }

    pub(crate) fn get(&self, relation: u32) -> Option<&Ledger> {
        self.by_relation.get(relation as usize)?.as_ref()
    }

    /// Those that there are, ascending by relation.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &Ledger)> {
        (0u32..).zip(&self.by_relation).filter_map(|(number, ledger)| Some((number, ledger.as_ref()?)))
    }

    /// Puts a ledger in the place of what is there.
    pub(crate) fn insert(&mut self, relation: u32, ledger: Ledger) {
        *self.of(relation, true) = ledger;
    }

    /// Adds what another worker collected.
    pub(crate) fn merge(&mut self, other: Ledgers) {
        if self.by_relation.len() < other.by_relation.len() {
            self.by_relation.resize(other.by_relation.len(), None);
        }
        for (mine, theirs) in self.by_relation.iter_mut().zip(other.by_relation) {
            match (mine.as_mut(), theirs) {
                (Some(mine), Some(theirs)) => mine.merge(&theirs),
                (None, theirs) => *mine = theirs,
                (Some(_), None) => {}
            }
        }
    }
}

/// Some buckets of a ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BucketSet {
    bits: u64,
    count: usize,
}

impl BucketSet {
    /// No bucket.
    pub(crate) fn none() -> BucketSet {
        BucketSet { bits: 0, count: 1 }
    }

    pub(crate) fn is_empty(self) -> bool {
        self.bits == 0
    }

    /// Number of buckets of the ledger.
    pub(crate) fn count(self) -> usize {
        self.count
    }

    /// Some buckets of the same ledger.
    pub(crate) fn only(self, buckets: &[usize]) -> BucketSet {
        BucketSet { bits: buckets.iter().fold(0, |bits, bucket| bits | 1 << bucket), count: self.count }
    }

    /// Whether a fact of this bucket number is in the set.
    #[inline]
    pub(crate) fn has(self, bucket: usize) -> bool {
        self.bits >> (bucket % self.count) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matching::keyed::Key;
    use crate::matching::keyed::tests::fact;

    #[test]
    fn the_order_of_facts_does_not_matter_but_their_number_does() {
        let key = Key::new(7);
        let (mut left, mut right) = (Sum::default(), Sum::default());
        for text in [b"a".as_slice(), b"b", b"b"] {
            left.add(fact(&key, text));
        }
        for text in [b"b".as_slice(), b"a", b"b"] {
            right.add(fact(&key, text));
        }
        assert_eq!(left, right);
        right.add(fact(&key, b"a"));
        right.add(fact(&key, b"a"));
        assert_ne!(left, right);
    }

    #[test]
    fn blocks_of_a_table_fill_all_buckets_in_order() {
        for blocks in [1u32, 2, 63, 64, 65, 1000, 131_072, u32::MAX] {
            let buckets = BlockBuckets::new(blocks);
            let step = (blocks / 1000).max(1) as usize;
            let found: Vec<usize> = (0..blocks).step_by(step).map(|block| buckets.of(block)).collect();
            assert!(found.is_sorted() && found.iter().all(|bucket| *bucket < BUCKETS), "{blocks}");
            assert!(blocks < 1000 || found.last() == Some(&(BUCKETS - 1)), "{blocks}");
        }
    }
}
