//! The rows that findings lose.

use std::collections::BTreeMap;

use formats::sqlite::Geometry;

use crate::matching::links::{Bound, Link};

/// Losses that are kept, about 48 bytes each. A tree with more of them is taken for lost as a whole.
const LOSS_COUNT_MAX: usize = 100_000;

/// The rows of a tree that a finding loses, by rowid. Where keys are no rowids, any row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Loss {
    pub(crate) tree: usize,
    /// The page that the finding names, and its rule.
    pub(crate) page: u32,
    pub(crate) rule: &'static str,
    /// First and last rowid.
    pub(crate) rowids: Rowids,
}

/// First and last rowid of a stretch.
pub(crate) type Rowids = (i64, i64);

/// Every rowid.
pub(crate) const ALL_ROWIDS: Rowids = (i64::MIN, i64::MAX);

/// The rowids that a page can have, by the keys that enclose it.
pub(crate) fn rowids_of(link: &Link<'_>, geometry: Geometry) -> Rowids {
    let key = |bound: Option<Bound<'_>>| {
        bound.filter(|bound| bound.is_table).and_then(|bound| bound.cell(geometry)).map(|cell| cell.rowid)
    };
    // EVIDENCE: sqlite fileformat2 1.6: keys left of a key are less than or equal to it, in table trees
    (key(link.lower).map_or(i64::MIN, |rowid| rowid.saturating_add(1)), key(link.upper).unwrap_or(i64::MAX))
}

/// All losses of a check.
#[derive(Debug, Clone, Default)]
pub(crate) struct Losses {
    by_tree: BTreeMap<usize, Vec<Loss>>,
    count: usize,
}

impl Losses {
    pub(crate) fn add(&mut self, loss: Loss) {
        let kept = self.by_tree.entry(loss.tree).or_default();
        if self.count < LOSS_COUNT_MAX {
            self.count += 1;
            kept.push(loss);
        } else if let Some(last) = kept.last_mut() {
            last.rowids = ALL_ROWIDS;
        } else {
            kept.push(Loss { rowids: ALL_ROWIDS, ..loss });
        }
    }

    /// All of them, in a fixed order.
    pub(crate) fn all(&self) -> Vec<Loss> {
        let mut all: Vec<Loss> = self.by_tree.values().flatten().copied().collect();
        all.sort_by_key(|loss| (loss.tree, loss.page, loss.rule, loss.rowids));
        all
    }

    /// Whether a tree lost anything.
    pub(crate) fn has(&self, tree: usize) -> bool {
        self.by_tree.contains_key(&tree)
    }

    /// The loss of a tree that has a row, where rows are known by their rowids; any of the tree otherwise.
    pub(crate) fn of_row(&self, tree: usize, rowid: Option<i64>) -> Option<Loss> {
        let covers =
            |loss: &&Loss| rowid.is_none_or(|rowid| (loss.rowids.0..=loss.rowids.1).contains(&rowid));
        self.by_tree.get(&tree)?.iter().filter(covers).min_by_key(|loss| (loss.page, loss.rule)).copied()
    }

    /// The loss that a page of a tree names.
    pub(crate) fn of_page(&self, tree: usize, page: u32) -> Option<Loss> {
        let of_page = self.by_tree.get(&tree)?.iter().filter(|loss| loss.page == page);
        of_page.min_by_key(|loss| loss.rule).copied()
    }
}
