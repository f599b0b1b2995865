//! Counts of what was verified. Merges by addition.

use std::collections::HashSet;

use results::check::Share;
use serde::{Deserialize, Serialize};

/// What one worker, a batch or a whole check verified.
#[derive(Clone, Debug, Default)]
pub(crate) struct Covered {
    /// Blocks whose header, checksum and position were tested.
    pub(super) pages: Share,
    /// Blocks whose contents were tested.
    pub(super) contents: Share,
    /// Visible rows by number of their table, or what looks like one where that is not known.
    pub(super) rows: Vec<Share>,
    /// Entries by number of their index; verified: compared with the key of the row, not with its TID alone.
    pub(super) entries: Vec<Share>,
    /// Relations with a block whose contents were not tested.
    pub(super) uncovered: HashSet<u32>,
    /// Relations whose sums were compared.
    pub(super) compared: HashSet<u32>,
}

/// What was verified of a cluster so far. Lists are sorted.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct StoredCoverage {
    /// Blocks.
    pub(crate) pages: Share,
    /// Contents of blocks.
    pub(crate) contents: Share,
    /// Rows by number of their table.
    pub(crate) rows: Vec<(u32, Share)>,
    /// Entries by number of their index.
    pub(crate) entries: Vec<(u32, Share)>,
    /// Relations with a block whose contents were not tested.
    pub(crate) uncovered: Vec<u32>,
    /// Relations whose sums were compared.
    pub(crate) compared: Vec<u32>,
}

impl Covered {
    /// Counts a block whose header was tested; `relation` where its contents stand for those of a relation.
    pub(crate) fn page(&mut self, relation: Option<u32>, has_contents: bool) {
        self.pages.add(1, true);
        self.contents.add(1, has_contents);
        if !has_contents {
            self.uncovered.extend(relation);
        }
    }

    /// Counts blocks of which nothing was tested.
    pub(crate) fn pages_left_out(&mut self, relation: Option<u32>, count: u64) {
        self.pages.add(count, false);
        self.contents.add(count, false);
        if count > 0 {
            self.uncovered.extend(relation);
        }
    }

    /// Counts rows of a table.
    pub(crate) fn rows(&mut self, table: u32, count: Share) {
        add(&mut self.rows, table, count);
    }

    /// Counts entries of an index.
    #[inline]
    pub(crate) fn entries(&mut self, index: u32, count: Share) {
        add(&mut self.entries, index, count);
    }

    /// Remembers that both sides of a relation were compared.
    pub(crate) fn was_compared(&mut self, relation: u32) {
        self.compared.insert(relation);
    }

    /// Adds what another counted.
    pub(crate) fn merge(&mut self, other: Covered) {
        self.pages += other.pages;
        self.contents += other.contents;
        for (mine, theirs) in [(&mut self.rows, other.rows), (&mut self.entries, other.entries)] {
            (0u32..).zip(theirs).for_each(|(number, count)| add(mine, number, count));
        }
        self.uncovered.extend(other.uncovered);
        self.compared.extend(other.compared);
    }

    /// The counts as they are kept when a check is stopped.
    pub(crate) fn stored(&self) -> StoredCoverage {
        let sorted = |set: &HashSet<u32>| {
            let mut list: Vec<u32> = set.iter().copied().collect();
            list.sort_unstable();
            list
        };
        let shares = |list: &[Share]| {
            let numbered = (0u32..).zip(list).filter(|(_, share)| share.total_count > 0);
            numbered.map(|(number, share)| (number, *share)).collect()
        };
        StoredCoverage {
            pages: self.pages,
            contents: self.contents,
            rows: shares(&self.rows),
            entries: shares(&self.entries),
            uncovered: sorted(&self.uncovered),
            compared: sorted(&self.compared),
        }
    }

    /// The counts of a check that was stopped; numbers that a plan of so many relations does not have are left out.
    pub(crate) fn restored(stored: &StoredCoverage, relation_count: usize) -> Covered {
        let mut covered = Covered { pages: stored.pages, contents: stored.contents, ..Covered::default() };
        let is_known = |number: &u32| (*number as usize) < relation_count;
        for (list, stored) in [(&mut covered.rows, &stored.rows), (&mut covered.entries, &stored.entries)] {
            let known = stored.iter().filter(|(number, _)| is_known(number));
            known.for_each(|(number, count)| add(list, *number, *count));
        }
        covered.uncovered.extend(stored.uncovered.iter().filter(|number| is_known(number)));
        covered.compared.extend(stored.compared.iter().filter(|number| is_known(number)));
        covered
    }
}

#[inline]
fn add(list: &mut Vec<Share>, number: u32, count: Share) {
    if count.total_count == 0 {
        return;
    }
    let number = number as usize;
    if number >= list.len() {
        list.resize(number + 1, Share::default());
    }
    if let Some(share) = list.get_mut(number) {
        *share += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_workers_add_up_and_survive_a_stop() {
        let (mut one, mut other) = (Covered::default(), Covered::default());
        one.page(Some(3), true);
        one.rows(2, Share { verified_count: 4, total_count: 5 });
        other.page(Some(4), false);
        other.pages_left_out(None, 2);
        other.rows(2, Share { verified_count: 1, total_count: 1 });
        other.entries(9, Share { verified_count: 0, total_count: 7 });
        other.was_compared(9);
        one.merge(other);
        let stored = one.stored();
        assert_eq!(stored.pages, Share { verified_count: 2, total_count: 4 });
        assert_eq!(stored.contents, Share { verified_count: 1, total_count: 4 });
        assert_eq!(stored.rows, [(2, Share { verified_count: 5, total_count: 6 })]);
        assert_eq!(
            (stored.uncovered.as_slice(), stored.compared.as_slice()),
            ([4].as_slice(), [9].as_slice())
        );
        assert_eq!(Covered::restored(&stored, 10).stored(), stored);
        assert!(Covered::restored(&stored, 9).stored().entries.is_empty());
    }
}
