//! What one worker holds in the second pass: the facts of some buckets of some pairs.

use std::collections::{BTreeMap, BTreeSet};

use check::matching::sums::{BucketSet, bucket_of};

use crate::versions::Doubt;

/// Holds the facts of some buckets of some pairs.
#[derive(Debug, Default)]
pub(crate) struct Collector {
    pub(super) wanted: Wanted,
    pub(super) facts: Vec<Fact>,
    /// Rows in doubt that may belong to an entry with another hash.
    pub(super) extras: Vec<(u32, u64)>,
    /// Why rows are in doubt, by pair: the first reason.
    pub(super) reasons: BTreeMap<u32, String>,
    /// Pairs with more rows in doubt than are held.
    pub(super) overfull: BTreeSet<u32>,
}

/// What is held at the same time.
#[derive(Debug, Clone, Default)]
pub(super) struct Wanted {
    /// Buckets of each pair.
    pub(super) buckets: Vec<BucketSet>,
    /// By pair, whether all of its buckets that differ are among them, undivided.
    pub(super) whole: Vec<bool>,
    /// By tree, whether its pages are needed.
    pub(super) trees: Vec<bool>,
    /// One of so many parts of each bucket.
    pub(super) part: u64,
    pub(super) part_count: u64,
}

/// One row as an index should know it, or one entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Fact {
    pub(super) pair: u32,
    pub(super) hash: u128,
    pub(super) is_row: bool,
    pub(super) member: Member,
    pub(super) doubt: Doubt,
}

/// Where a row or an entry is, and which it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Member {
    pub(crate) page: u32,
    pub(crate) slot: u32,
    pub(crate) rowid: i64,
    /// Hash of the values that are not computed, where some are: it tells the row also when the others are in doubt.
    pub(crate) identity: u64,
}

/// Rows in doubt that one worker holds beside its facts; beyond them an index is listed as not checked.
const EXTRAS_MAX: usize = 1 << 20;

impl Collector {
    /// Takes a row as an index should know it. `hash` is absent when it should not by what was computed.
    pub(crate) fn row(
        &mut self,
        pair: usize,
        hash: Option<u128>,
        member: Member,
        doubt: Doubt,
        reason: String,
    ) {
        let index = pair as u32;
        let is_held =
            hash.is_some_and(|hash| self.push(Fact { pair: index, hash, is_row: true, member, doubt }));
        if !doubt.is_any() || !self.wants(pair) {
            return;
        }
        self.reasons.entry(index).or_insert(reason);
        if is_held {
        } else if self.extras.len() < EXTRAS_MAX {
            self.extras.push((index, member.identity));
        } else {
            self.overfull.insert(index);
        }
    }

    pub(crate) fn entry(&mut self, pair: usize, hash: u128, member: Member) {
        self.push(Fact { pair: pair as u32, hash, is_row: false, member, doubt: Doubt::default() });
    }

    /// Whether the pages of a tree are needed.
    pub(crate) fn needs(&self, tree: Option<usize>) -> bool {
        tree.is_some_and(|tree| self.wanted.trees.get(tree) == Some(&true))
    }

    /// Whether any bucket of a pair is wanted.
    pub(crate) fn wants(&self, pair: usize) -> bool {
        self.wanted.buckets.get(pair).is_some_and(|buckets| !buckets.is_empty())
    }

    fn push(&mut self, fact: Fact) -> bool {
        let wanted = &self.wanted;
        let is_wanted =
            wanted.buckets.get(fact.pair as usize).is_some_and(|buckets| buckets.has(bucket_of(fact.hash)));
        // The low bits, which do not choose the bucket.
        let is_held = is_wanted && fact.hash as u64 % wanted.part_count.max(1) == wanted.part;
        if is_held {
            self.facts.push(fact);
        }
        is_held
    }
}
