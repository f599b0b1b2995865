//! Where each transfer of a job goes: a pure function of pattern, share of the file, and seed.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::pattern::Pattern;
use crate::backend::Operation;

/// The transfers of one job, without end.
///
/// A random place is any multiple of the transfer size in the share, drawn with replacement. A sequential transfer
/// follows the one before, wherever that was, and goes on at the start behind the end.
#[derive(Clone, Debug)]
pub(super) struct Stream {
    random: Xoshiro256PlusPlus,
    read_percent: u64,
    random_percent: u64,
    transfer_bytes: u64,
    first_block: u64,
    block_count: u64,
    /// Within the share.
    next_block: u64,
}

impl Stream {
    /// The transfers of job `job_index` on the first `size_bytes` of a file; `None` when its share does not hold one
    /// transfer.
    pub(super) fn new(pattern: &Pattern, job_index: u32, size_bytes: u64, seed: u64) -> Option<Self> {
        let all_blocks = size_bytes / pattern.transfer_bytes;
        let block_count = all_blocks / u64::from(pattern.jobs);
        // Jobs of one seed must not draw the same places: jumps are 2^128 draws long.
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        (0..job_index).for_each(|_| random.jump());
        (block_count > 0).then(|| Stream {
            random,
            read_percent: pattern.read_percent.into(),
            random_percent: pattern.random_percent.into(),
            transfer_bytes: pattern.transfer_bytes,
            first_block: block_count * u64::from(job_index),
            block_count,
            next_block: 0,
        })
    }

    /// What the next transfer does, and where.
    pub(super) fn draw(&mut self) -> (Operation, u64) {
        let block = match self.chance(self.random_percent) {
            true => self.below(self.block_count),
            false => self.next_block,
        };
        self.next_block = if block + 1 == self.block_count { 0 } else { block + 1 };
        let operation = if self.chance(self.read_percent) { Operation::Read } else { Operation::Write };
        (operation, (self.first_block + block) * self.transfer_bytes)
    }

    /// True in `percent` of 100 cases. Pure patterns draw nothing.
    fn chance(&mut self, percent: u64) -> bool {
        match percent {
            0 => false,
            100.. => true,
            _ => self.below(100) < percent,
        }
    }

    /// A number below `bound` (Lemire 2019 without the rejection: the bias is below `bound` / 2^64).
    fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.random.next_u64()) * u128::from(bound)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn draws(pattern: Pattern, job_index: u32, seed: u64, count: usize) -> Vec<(Operation, u64)> {
        let mut stream = Stream::new(&pattern, job_index, 8 << 20, seed).unwrap();
        (0..count).map(|_| stream.draw()).collect()
    }

    #[test]
    fn sequential_goes_round_its_share() {
        let pattern = Pattern { jobs: 2, ..Pattern::read(1 << 20, 0, 1) };
        let offsets: Vec<u64> = draws(pattern, 1, 1, 6).into_iter().map(|draw| draw.1 >> 20).collect();
        assert_eq!(offsets, [4, 5, 6, 7, 4, 5]);
    }

    #[test]
    fn random_places_are_aligned_lie_in_the_share_and_cover_it() {
        let pattern = Pattern { jobs: 2, ..Pattern::read(65536, 100, 1) };
        let mut seen = std::collections::BTreeSet::new();
        for (operation, offset_bytes) in draws(pattern, 0, 7, 2000) {
            assert_eq!(operation, Operation::Read);
            assert!(offset_bytes.is_multiple_of(65536) && offset_bytes < 4 << 20);
            seen.insert(offset_bytes);
        }
        assert_eq!(seen.len(), 64);
    }

    #[test]
    fn shares_are_kept() {
        let pattern = Pattern { read_percent: 70, random_percent: 50, ..Pattern::read(512, 0, 1) };
        let draws = draws(pattern, 0, 3, 20_000);
        let reads = draws.iter().filter(|draw| draw.0 == Operation::Read).count();
        let follows = draws.windows(2).filter(|pair| pair[1].1 == pair[0].1 + 512).count();
        assert!((13_700..14_300).contains(&reads), "{reads}");
        assert!((9_700..10_300).contains(&follows), "{follows}");
    }

    #[test]
    fn the_seed_decides_and_jobs_differ() {
        let pattern = Pattern { jobs: 2, ..Pattern::read(512, 100, 1) };
        assert_eq!(draws(pattern, 0, 1, 100), draws(pattern, 0, 1, 100));
        assert_ne!(draws(pattern, 0, 1, 100), draws(pattern, 0, 2, 100));
        let shifted: Vec<_> = draws(pattern, 1, 1, 100).into_iter().map(|d| (d.0, d.1 - (4 << 20))).collect();
        assert_ne!(draws(pattern, 0, 1, 100), shifted);
    }

    #[test]
    fn a_share_smaller_than_a_transfer_has_no_stream() {
        let pattern = Pattern { jobs: 3, ..Pattern::read(4096, 100, 1) };
        assert!(Stream::new(&pattern, 0, 3 * 4096 - 1, 1).is_none());
        assert!(Stream::new(&pattern, 2, 3 * 4096, 1).is_some());
    }
}
