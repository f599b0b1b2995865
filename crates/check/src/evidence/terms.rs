//! What an engine says about its files, and how it names a place.

use std::path::Path;

use results::check::Finding;

use crate::rule::{Rule, RuleSet};

/// What an engine says about its files.
pub struct Terms<'a> {
    /// The rules of the engine.
    pub rules: &'static RuleSet,
    /// The rule about readings that differ.
    pub differ: &'static Rule,
    /// The rule about pages that cannot be read.
    pub unreadable: &'static Rule,
    /// Whether a server runs on the files: that they change, differ or go away is its work.
    pub is_served: bool,
    /// Files whose changes the engine judges by itself, by locks and stamps of its own.
    pub judges_changes: bool,
    /// Whether pages lie in a compressed file, so that each rests on all of its bytes.
    pub is_archive: fn(&Path) -> bool,
    /// The name of a place.
    pub place: &'a dyn Fn(&Path, u64) -> Place,
}

impl Terms<'_> {
    /// A finding about a place.
    pub(super) fn finding(&self, rule: &Rule, place: Place, expected: &str, found: &str) -> Finding {
        let Place { file, page, object } = place;
        Finding { page, object, ..self.rules.finding(rule, file, expected, found) }
    }
}

/// A place as reports name it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Its path.
    pub file: String,
    /// The page, as the engine counts; absent in files without pages.
    pub page: Option<u64>,
    /// The table or index that it belongs to.
    pub object: Option<String>,
}
