//! What two sides say about each relation, as sums in buckets.

use check::matching::sums::{BUCKET_COUNT, Difference};

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
        BlockBuckets { per_block: ((BUCKET_COUNT as u64) << 32) / u64::from(blocks.max(1)) }
    }

    /// The bucket of a block; some bucket for blocks that the table does not have.
    #[inline]
    pub(crate) fn of(self, block: u32) -> usize {
        (u64::from(block).wrapping_mul(self.per_block) >> 32) as usize % BUCKET_COUNT
    }
}

/// The differences of many relations, by number in the plan.
#[derive(Debug, Default)]
pub(crate) struct Differences {
    // As long as the highest number that was asked for: looked up for each fact, so no map.
    by_relation: Vec<Option<Difference>>,
}

impl Differences {
    /// The difference of a relation; started if there is none.
    #[inline]
    pub(crate) fn of(&mut self, relation: u32, is_small: bool) -> &mut Difference {
        let number = relation as usize;
        if number >= self.by_relation.len() {
            self.by_relation.resize(number + 1, None);
        }
        self.by_relation[number]
            .get_or_insert_with(|| if is_small { Difference::small() } else { Difference::default() })
    }

    pub(crate) fn get(&self, relation: u32) -> Option<&Difference> {
        self.by_relation.get(relation as usize)?.as_ref()
    }

    /// Those that there are, ascending by relation.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &Difference)> {
        (0u32..)
            .zip(&self.by_relation)
            .filter_map(|(number, difference)| Some((number, difference.as_ref()?)))
    }

    /// Puts a difference in the place of what is there.
    pub(crate) fn insert(&mut self, relation: u32, difference: Difference) {
        *self.of(relation, true) = difference;
    }

    /// Adds what another worker collected.
    pub(crate) fn merge(&mut self, other: Differences) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_a_table_fill_all_buckets_in_order() {
        for blocks in [1u32, 2, 63, 64, 65, 1000, 131_072, u32::MAX] {
            let buckets = BlockBuckets::new(blocks);
            let step = (blocks / 1000).max(1) as usize;
            let found: Vec<usize> = (0..blocks).step_by(step).map(|block| buckets.of(block)).collect();
            assert!(found.is_sorted() && found.iter().all(|bucket| *bucket < BUCKET_COUNT), "{blocks}");
            assert!(blocks < 1000 || found.last() == Some(&(BUCKET_COUNT - 1)), "{blocks}");
        }
    }
}
