//! Keyed 128-bit sums of facts: order does not matter, and equal pairs do not cancel.
//!
//! A fact is hashed with a key drawn per run and added, wrapping; beside the sum stands the count. Two sides that
//! hold the same facts have the same sum; two that do not have a different one but for a chance of about 2^-128,
//! since nobody knows the key when the bytes are written. (XOR would let a fact cancel its own double.)

/// The key of one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    words: [u64; 9],
}

impl Key {
    /// Makes a key from a seed.
    pub(crate) fn new(seed: u64) -> Key {
        // SplitMix64 (Steele, Lea, Flood 2014): spreads the seed over the words.
        let mut state = seed;
        let words = std::array::from_fn(|_| {
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut mixed = state;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            (mixed ^ (mixed >> 31)) | 1
        });
        Key { words }
    }

    /// Starts a fact of a kind about an object and a number.
    #[inline]
    pub(crate) fn fact(&self, kind: u32, object: u32, number: u64) -> FactHasher<'_> {
        let first = (u64::from(kind) << 32) | u64::from(object);
        let mut hasher = FactHasher { key: self, low: self.words[2], high: self.words[3], shape: 0 };
        hasher.pair(first, number);
        hasher
    }
}

/// The 128-bit product, folded.
#[inline(always)]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

#[inline(always)]
fn word_at(bytes: &[u8], offset: usize) -> u64 {
    let raw = bytes.get(offset..).and_then(<[u8]>::first_chunk::<8>);
    raw.map_or(0, |raw| u64::from_le_bytes(*raw))
}

#[inline(always)]
fn half_word_at(bytes: &[u8], offset: usize) -> u64 {
    let raw = bytes.get(offset..).and_then(<[u8]>::first_chunk::<4>);
    raw.map_or(0, |raw| u32::from_le_bytes(*raw).into())
}

/// Hashes one fact, part by part.
///
/// Two lanes of 64 bits take in 16 bytes with a multiplication each, keyed on the other half of them, so that they do
/// not wait for each other (the folded product of wyhash, Wang Yi 2019). What is null and how long values are goes into a
/// third word, which the end mixes in: with it the parts can be told from each other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FactHasher<'k> {
    key: &'k Key,
    low: u64,
    high: u64,
    shape: u64,
}

impl FactHasher<'_> {
    #[inline(always)]
    fn pair(&mut self, a: u64, b: u64) {
        self.low = fold(a ^ self.key.words[0], b ^ self.low);
        self.high = fold(b ^ self.key.words[1], a ^ self.high);
    }

    #[inline(always)]
    fn part(&mut self, number: u64) {
        self.shape = self.shape.wrapping_mul(self.key.words[8]).wrapping_add(number);
    }

    /// Adds a number.
    #[inline]
    pub(crate) fn word(&mut self, word: u64) {
        self.pair(word, 0);
    }

    /// Adds that there is no value.
    #[inline]
    pub(crate) fn null(&mut self) {
        self.part(1);
    }

    /// Adds bytes, and their length, so that two neighbours cannot be shifted into each other.
    #[inline]
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        let (chunks, rest) = bytes.as_chunks::<16>();
        for chunk in chunks {
            self.pair(word_at(chunk, 0), word_at(chunk, 8));
        }
        // From both ends: they may overlap, the length tells how much.
        let length = rest.len();
        match *rest {
            [] => {}
            [first, ..] if length < 4 => {
                let [middle, last] = [rest[length / 2], rest[length - 1]].map(u64::from);
                self.pair(u64::from(first) | middle << 8 | last << 16, 0);
            }
            _ if length < 8 => self.pair(half_word_at(rest, 0), half_word_at(rest, length - 4)),
            _ => self.pair(word_at(rest, 0), word_at(rest, length - 8)),
        }
        self.part(bytes.len() as u64 + 2);
    }

    /// The hash of all parts.
    #[inline]
    pub(crate) fn finish(self) -> u128 {
        let words = &self.key.words;
        let low = fold(self.low ^ self.shape ^ words[4], self.high ^ words[5]);
        let high = fold(self.high ^ self.shape ^ words[6], self.low ^ words[7]);
        (u128::from(high) << 64) | u128::from(low)
    }
}

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

    fn fact(key: &Key, text: &[u8]) -> u128 {
        let mut hasher = key.fact(1, 2, 3);
        hasher.bytes(text);
        hasher.finish()
    }

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
    fn parts_cannot_be_shifted_into_each_other() {
        let key = Key::new(7);
        let two = |first: &[u8], second: &[u8]| {
            let mut hasher = key.fact(1, 2, 3);
            hasher.bytes(first);
            hasher.bytes(second);
            hasher.finish()
        };
        assert_ne!(two(b"ab", b"c"), two(b"a", b"bc"));
        assert_ne!(two(b"", b"\0"), two(b"\0", b""));
        assert_ne!(fact(&key, b"ab"), fact(&Key::new(8), b"ab"));
    }

    #[test]
    fn a_byte_more_or_less_or_another_one_gives_another_fact_in_both_halves() {
        let key = Key::new(3);
        let mut facts = Vec::new();
        let mut add = |parts: &[Option<&[u8]>]| {
            let mut hasher = key.fact(1, 2, 3);
            for part in parts {
                match part {
                    Some(bytes) => hasher.bytes(bytes),
                    None => hasher.null(),
                }
            }
            facts.push(hasher.finish());
        };
        add(&[None]);
        add(&[None, None]);
        for length in 0..50 {
            let zeros = vec![0u8; length];
            add(&[Some(&zeros)]);
            add(&[Some(&zeros), None]);
            add(&[None, Some(&zeros)]);
            add(&[Some(&zeros), Some(b"")]);
            for at in 0..length {
                for value in [1, 2, 0x80, 0xFF] {
                    let mut bytes = zeros.clone();
                    bytes[at] = value;
                    add(&[Some(&bytes)]);
                }
            }
        }
        for shift in [0, 64] {
            let mut halves: Vec<u64> = facts.iter().map(|fact| (fact >> shift) as u64).collect();
            halves.sort_unstable();
            halves.dedup();
            assert_eq!(halves.len(), facts.len());
        }
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

    #[test]
    fn facts_spread_over_all_bits() {
        let key = Key::new(1);
        let mut ones = [0u32; 128];
        for number in 0u64..4096 {
            let hash = fact(&key, &number.to_le_bytes());
            for (bit, count) in ones.iter_mut().enumerate() {
                *count += (hash >> bit & 1) as u32;
            }
        }
        assert!(ones.iter().all(|count| (1800..2300).contains(count)), "{ones:?}");
    }
}
