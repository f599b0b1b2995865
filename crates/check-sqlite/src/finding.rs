//! Findings on their way.

use results::check::{Confidence, Finding};

use check::rule::Rule;

use crate::causes::losses::Rowids;
use crate::plan::Plans;

/// A finding before it is certain: where, which rule, expected, found.
#[derive(Debug, Clone)]
pub(crate) struct Draft {
    pub(crate) rule: &'static Rule,
    pub(crate) page: Option<u32>,
    pub(crate) slot: Option<u64>,
    pub(crate) offset_bytes: Option<u64>,
    pub(crate) tree: Option<usize>,
    /// The object concerned, where it is none of the trees.
    pub(crate) object: Option<String>,
    pub(crate) expected: String,
    pub(crate) found: String,
    pub(crate) confidence: Confidence,
    /// What to do in this state, where the rule's own advice does not fit.
    pub(crate) next_step: Option<String>,
    /// The key of the row concerned.
    pub(crate) row: Option<String>,
    /// The rows of the tree that are lost by what was found.
    pub(crate) loses: Option<Rowids>,
}

impl Draft {
    pub(crate) fn new(
        rule: &'static Rule,
        page: u32,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        Self {
            rule,
            page: Some(page),
            slot: None,
            offset_bytes: None,
            tree: None,
            object: None,
            expected: expected.into(),
            found: found.into(),
            confidence: Confidence::Certain,
            next_step: None,
            row: None,
            loses: None,
        }
    }

    pub(crate) fn of_file(
        rule: &'static Rule,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        Self { page: None, ..Self::new(rule, 0, expected, found) }
    }

    pub(crate) fn slot(self, slot: usize) -> Self {
        Self { slot: Some(slot as u64), ..self }
    }

    pub(crate) fn tree(self, tree: usize) -> Self {
        Self { tree: Some(tree), ..self }
    }

    pub(crate) fn confidence(self, confidence: Confidence) -> Self {
        Self { confidence, ..self }
    }

    pub(crate) fn loses(self, rowids: Rowids) -> Self {
        Self { loses: Some(rowids), ..self }
    }

    pub(crate) fn next_step(self, next_step: impl Into<String>) -> Self {
        Self { next_step: Some(next_step.into()), ..self }
    }

    pub(crate) fn into_finding(self, file: &str, plans: &Plans) -> Finding {
        let finding = crate::RULES.finding(self.rule, file, self.expected, self.found);
        Finding {
            page: self.page.map(u64::from),
            slot: self.slot,
            offset_bytes: self.offset_bytes,
            object: self.object.or_else(|| Some(plans.trees.get(self.tree?)?.name.clone())),
            confidence: self.confidence,
            next_step: self.next_step.unwrap_or(finding.next_step),
            row: self.row,
            ..finding
        }
    }
}
