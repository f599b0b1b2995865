//! Results that differ from the file and are in doubt: counted by object, listed under "not checked".

use std::collections::BTreeMap;

use results::check::NotChecked;

use crate::versions::{own_version, version_text};

/// What is in doubt for one row as one index should know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Doubt {
    /// Whether the row has an entry at all.
    pub(crate) of_entry: bool,
    /// Which values the entry has.
    pub(crate) of_values: bool,
}

impl Doubt {
    pub(crate) fn is_any(self) -> bool {
        self.of_entry || self.of_values
    }
}

/// What was not decided, by tree and by what it is about: how often, and why in the first case.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Doubts(BTreeMap<(usize, String), (u64, String)>);

impl Doubts {
    pub(crate) fn add(&mut self, tree: usize, what: &str, reason: &str) {
        let entry = self.0.entry((tree, what.to_owned()));
        entry.or_insert_with(|| (0, reason.to_owned())).0 += 1;
    }

    /// Rows or entries of a tree that were not decided.
    pub(crate) fn count_of(&self, tree: usize) -> u64 {
        self.0.iter().filter(|((of, _), _)| *of == tree).map(|(_, (count, _))| count).sum()
    }

    /// Adds what another worker or an earlier call counted.
    pub(crate) fn merge(&mut self, other: Self) {
        for (key, (count, reason)) in other.0 {
            self.0.entry(key).or_insert((0, reason)).0 += count;
        }
    }

    /// The form in which they are kept with a stopped check.
    pub(crate) fn to_stored(&self) -> Vec<(u64, String, u64, String)> {
        let stored = self.0.iter();
        stored
            .map(|((tree, what), (count, reason))| (*tree as u64, what.clone(), *count, reason.clone()))
            .collect()
    }

    pub(crate) fn from_stored(stored: &[(u64, String, u64, String)]) -> Self {
        let entry = |(tree, what, count, reason): &(u64, String, u64, String)| {
            ((usize::try_from(*tree).unwrap_or(usize::MAX), what.clone()), (*count, reason.clone()))
        };
        Self(stored.iter().map(entry).collect())
    }

    /// Lists them.
    pub(crate) fn not_checked<'a>(
        &'a self,
        tree_name: impl Fn(usize) -> &'a str + 'a,
    ) -> impl Iterator<Item = NotChecked> + 'a {
        self.0.iter().map(move |((tree, what), (count, reason))| {
            let plural = if *count == 1 { "" } else { "s" };
            NotChecked::coverage(
                Some(tree_name(*tree)),
                format!("{what}: {count} row{plural}"),
                reason.clone(),
            )
        })
    }
}

/// A reason with both versions: the one that computed here, and the one that wrote the file last.
pub(crate) fn with_versions(reason: &str, library_version: u32) -> String {
    let (own, writer) = (own_version(), version_text(library_version));
    format!(
        "{reason}; the file, last written by {writer}, has a different result than {own} computes; PRAGMA \
         integrity_check in the application's own SQLite verifies it"
    )
}
