//! Findings on their way.

use check::rule::Rule;
use formats::sqlserver::PageId;
use results::check::{Confidence, Finding};

/// A finding without the names that are known only at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Draft {
    pub(super) rule: &'static Rule,
    pub(super) page: Option<PageId>,
    pub(super) slot: Option<u64>,
    pub(super) offset: Option<u64>,
    /// The allocation unit concerned, by its position in the catalog.
    pub(super) unit: Option<u32>,
    /// A second one.
    pub(super) also: Option<u32>,
    pub(super) expected: String,
    pub(super) found: String,
    /// The key of the row concerned.
    pub(super) row: Option<String>,
    pub(super) confidence: Confidence,
    /// What to do in this state, where the rule's own advice does not fit.
    pub(super) next_step: Option<&'static str>,
}

impl Draft {
    /// Makes a finding about a page.
    pub(super) fn new(rule: &'static Rule, page: PageId, expected: String, found: String) -> Self {
        Self { page: Some(page), ..Self::of_database(rule, expected, found) }
    }

    /// Makes a finding about the database as a whole.
    pub(super) fn of_database(rule: &'static Rule, expected: String, found: String) -> Self {
        Self {
            rule,
            page: None,
            slot: None,
            offset: None,
            unit: None,
            also: None,
            expected,
            found,
            row: None,
            confidence: Confidence::Certain,
            next_step: None,
        }
    }

    /// The same finding with the allocation unit that it concerns.
    pub(super) fn unit(self, unit: u32) -> Self {
        Self { unit: Some(unit), ..self }
    }

    /// The same finding with the slot that it concerns.
    pub(super) fn slot(self, slot: usize) -> Self {
        Self { slot: Some(slot as u64), ..self }
    }

    /// Adds names.
    pub(super) fn into_finding(self, file: &str, name: impl Fn(u32) -> Option<String>) -> Finding {
        let also = self.also.and_then(&name).map(|also| format!(", first owner {also}")).unwrap_or_default();
        let finding = crate::RULES.finding(self.rule, file, self.expected, self.found + &also);
        Finding {
            page: self.page.map(|page| page.page.into()),
            slot: self.slot,
            offset_bytes: self.offset,
            object: self.unit.and_then(name),
            confidence: self.confidence,
            next_step: self.next_step.map_or(finding.next_step, str::to_owned),
            row: self.row,
            ..finding
        }
    }
}
