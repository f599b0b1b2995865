//! Makes findings of what was seen at a place.

use formats::postgres::Damage;
use results::check::{Confidence, Finding};

use super::rules::Promised;

/// A place in a relation's file, with what is known about it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    /// The file, relative to the data directory.
    pub(crate) file: &'a str,
    /// `database.schema.relation`, where the catalog told.
    pub(crate) object: Option<&'a str>,
    /// Block, counted from the start of the relation, as the server does.
    pub(crate) block: u32,
    /// How sure findings here are.
    pub(crate) confidence: Confidence,
}

impl Place<'_> {
    /// Makes a finding at this place; `item` is a line pointer, counted from 1, as the server does.
    pub(crate) fn finding(
        &self,
        promised: Promised,
        item: Option<u16>,
        expected: String,
        found: String,
    ) -> Finding {
        let mut finding = file_finding(promised, self.file, self.object, expected, found);
        finding.page = Some(u64::from(self.block));
        finding.slot = item.map(u64::from);
        finding.confidence = self.confidence;
        finding
    }

    /// Makes a finding of what a format reader saw.
    pub(crate) fn damage(&self, damage: Damage) -> Finding {
        let promised = Promised::of(damage.promise);
        let mut finding = self.finding(promised, damage.item, damage.expected, damage.found);
        if damage.item.is_none() {
            finding.offset_bytes = Some(damage.offset_bytes as u64);
        }
        finding
    }
}

/// Makes a finding about a file or relation as a whole.
pub(crate) fn file_finding(
    promised: Promised,
    file: &str,
    object: Option<&str>,
    expected: String,
    found: String,
) -> Finding {
    let rule = promised.rule();
    Finding {
        file: file.to_owned(),
        page: None,
        slot: None,
        offset_bytes: None,
        rule: rule.id.to_owned(),
        engine: "postgres".to_owned(),
        object: object.map(str::to_owned),
        promise: rule.promise.to_owned(),
        expected,
        found,
        confidence: Confidence::Certain,
        next_step: rule.next_step.to_owned(),
        row: None,
        messages: None,
    }
}
