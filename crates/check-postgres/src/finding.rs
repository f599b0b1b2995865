//! Makes findings of what was seen at a place.

use check::rule::Rule;
use formats::postgres::Damage;
use results::check::{Confidence, Finding};

use crate::rules;

/// A place in a relation's file, with what is known about it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockLocation<'a> {
    /// The file, relative to the data directory.
    pub(crate) file: &'a str,
    /// `database.schema.relation`, where the catalog told.
    pub(crate) object: Option<&'a str>,
    /// Block, counted from the start of the relation, as the server does.
    pub(crate) block: u32,
    /// How sure findings here are.
    pub(crate) confidence: Confidence,
}

impl BlockLocation<'_> {
    /// Makes a finding at this place; `item` is a line pointer, counted from 1, as the server does.
    pub(crate) fn finding(
        &self,
        rule: &'static Rule,
        item: Option<u16>,
        expected: String,
        found: String,
    ) -> Finding {
        let mut finding = file_finding(rule, self.file, self.object, expected, found);
        finding.page = Some(u64::from(self.block));
        finding.slot = item.map(u64::from);
        finding.confidence = self.confidence;
        finding
    }

    /// Makes a finding of what a format reader saw.
    pub(crate) fn damage(&self, damage: Damage) -> Finding {
        let rule = rules::of(damage.invariant);
        let mut finding = self.finding(rule, damage.item, damage.expected, damage.found);
        if damage.item.is_none() {
            finding.offset_bytes = Some(damage.offset_bytes as u64);
        }
        finding
    }
}

/// Makes a finding about a file or relation as a whole.
pub(crate) fn file_finding(
    rule: &'static Rule,
    file: &str,
    object: Option<&str>,
    expected: String,
    found: String,
) -> Finding {
    Finding { object: object.map(str::to_owned), ..crate::RULES.finding(rule, file, expected, found) }
}

/// What to do where a visibility map shows that blocks of rows are gone. VACUUM would make the map agree with the loss.
pub(crate) const LOST_ROWS: &str = "restore the blocks, or the whole table, from a backup and replay its WAL; do not run VACUUM or pg_truncate_visibility_map before: they remove the last trace of the missing rows";

/// What a block of zeros is called in findings.
pub(crate) const ZEROS: &str = "a block of zeros";
