//! Ends of long values that wait for the end of the pass: in ranges of pages, and beyond a limit in temporary files.

use std::io;

use check::matching::spill::Spill;

use crate::map::open_chain::{OpenChain, Run};
use crate::matching::links::range_pages;

const CHAIN_BYTES: usize = 28;
const RUN_BYTES: usize = 12;

/// Chains that go on elsewhere, by the page where they go on, and runs, by their first page.
#[derive(Debug)]
pub(crate) struct Ends {
    chains: Spill,
    runs: Spill,
    range_pages: u32,
}

impl Ends {
    /// Makes room for ends in a file of so many pages, of which `memory_bytes_max` stay in memory, buffers included.
    pub(crate) fn new(page_count: u32, memory_bytes_max: u64) -> Self {
        // A quarter holds the runs of a range when every page of it is one.
        let fitting = u32::try_from(memory_bytes_max / 4 / RUN_BYTES as u64).unwrap_or(u32::MAX);
        let range_pages = range_pages(page_count, fitting);
        let count = (page_count / range_pages + 1) as usize;
        let spill = || Spill::new(count, memory_bytes_max / 8, memory_bytes_max / 8);
        Self { chains: spill(), runs: spill(), range_pages }
    }

    pub(crate) fn range_count(&self) -> usize {
        self.chains.part_count()
    }

    /// The range with a page. Pages that cannot be, which a chain may name, are with the last.
    pub(crate) fn range_of(&self, page: u32) -> usize {
        ((page / self.range_pages) as usize).min(self.range_count() - 1)
    }

    pub(crate) fn push_chain(&mut self, chain: OpenChain) {
        let numbers = chain.to_numbers();
        let write =
            |bytes: &mut Vec<u8>| numbers.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
        self.chains.push(self.range_of(chain.next), write);
    }

    pub(crate) fn push_run(&mut self, run: Run) {
        let numbers = [run.first, run.length, run.next];
        let write =
            |bytes: &mut Vec<u8>| numbers.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
        self.runs.push(self.range_of(run.first), write);
    }

    /// The chains that go on in a range; it has none afterwards.
    pub(crate) fn take_chains(&mut self, range: usize) -> io::Result<Vec<OpenChain>> {
        let chains = self.chains(range)?;
        self.chains.clear(range);
        Ok(chains)
    }

    /// The chains that go on in a range.
    fn chains(&self, range: usize) -> io::Result<Vec<OpenChain>> {
        let bytes = self.chains.read(range)?;
        Ok(records::<CHAIN_BYTES, 7>(&bytes).map(|numbers| OpenChain::from_numbers(&numbers)).collect())
    }

    /// The runs that begin in a range.
    pub(crate) fn runs(&self, range: usize) -> io::Result<Vec<Run>> {
        let bytes = self.runs.read(range)?;
        let run = |[first, length, next]: [u32; 3]| Run { first, length, next };
        Ok(records::<RUN_BYTES, 3>(&bytes).map(run).collect())
    }

    /// All chains and all runs.
    pub(crate) fn all(&self) -> io::Result<(Vec<OpenChain>, Vec<Run>)> {
        let (mut chains, mut runs) = (Vec::new(), Vec::new());
        for range in 0..self.range_count() {
            chains.extend(self.chains(range)?);
            runs.extend(self.runs(range)?);
        }
        Ok((chains, runs))
    }

    /// Bytes in memory.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.chains.kept_bytes() + self.runs.kept_bytes()
    }

    /// Bytes in temporary files.
    pub(crate) fn temporary_bytes(&self) -> u64 {
        self.chains.written_bytes() + self.runs.written_bytes()
    }
}

/// Records of numbers that follow each other.
fn records<const BYTES: usize, const NUMBERS: usize>(bytes: &[u8]) -> impl Iterator<Item = [u32; NUMBERS]> {
    let record = |record: &[u8; BYTES]| {
        let mut numbers = [0; NUMBERS];
        for (number, bytes) in numbers.iter_mut().zip(record.as_chunks::<4>().0) {
            *number = u32::from_le_bytes(*bytes);
        }
        numbers
    };
    bytes.as_chunks::<BYTES>().0.iter().map(record)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn chain(next: u32) -> OpenChain {
        OpenChain {
            page: next / 2,
            slot: 3,
            tree: 1,
            page_count: 9,
            from: next.wrapping_add(1),
            next,
            left: 5,
        }
    }

    #[test]
    fn ends_come_back_by_range_from_memory_and_from_files() {
        for memory_bytes_max in [4 << 20, 4 << 10] {
            let mut ends = Ends::new(9_000, memory_bytes_max);
            // The last one names a page that cannot be.
            let nexts = (0..9_000).map(|index| index * 2_003 % 9_001).chain([u32::MAX]);
            nexts.clone().for_each(|next| ends.push_chain(chain(next)));
            nexts.clone().for_each(|first| ends.push_run(Run { first, length: 2, next: first / 3 }));
            let (mut chains, mut runs) = ends.all().unwrap();
            chains.sort_unstable();
            runs.sort_unstable_by_key(|run| run.first);
            let mut expected: Vec<OpenChain> = nexts.clone().map(chain).collect();
            expected.sort_unstable();
            assert_eq!((chains.len(), chains == expected), (9_001, true));
            assert_eq!(runs.last(), Some(&Run { first: u32::MAX, length: 2, next: u32::MAX / 3 }));
            assert_eq!(ends.temporary_bytes() > 0, memory_bytes_max < 1 << 20);
            for range in 0..ends.range_count() {
                let chains = ends.take_chains(range).unwrap();
                assert!(chains.iter().all(|chain| ends.range_of(chain.next) == range));
                assert!(ends.take_chains(range).unwrap().is_empty());
            }
        }
    }
}
