//! What was found in one table, index or other object: totals, the cause, and what to do.

use serde::{Deserialize, Serialize};

use crate::finding::{Finding, RuleCount};

/// Rows and index entries that a finding affects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Affected {
    /// Rows that are lost, unreadable, wrong or not found by an index.
    pub row_count: u64,
    /// Index entries that are missing, wrong or point to nothing.
    pub entry_count: u64,
}

impl std::ops::AddAssign for Affected {
    fn add_assign(&mut self, other: Self) {
        self.row_count += other.row_count;
        self.entry_count += other.entry_count;
    }
}

/// The findings of one rule in one object, those that are not listed included.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectCount {
    /// Findings made.
    pub found_count: u64,
    /// Rows and entries that they affect.
    pub affected: Affected,
    /// The first finding in the order of findings; it names the rule and the object.
    pub first: Finding,
}

impl ObjectCount {
    /// Adds findings of the same rule in the same object; the first of all stays the first.
    pub fn add(&mut self, more: Self) {
        self.found_count += more.found_count;
        self.affected += more.affected;
        if more.first < self.first {
            self.first = more.first;
        }
    }
}

/// An object with findings: one line of a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DamagedObject {
    /// The table, index or list; absent for findings that concern the file or the database as a whole.
    pub object: Option<String>,
    /// Findings in it, those that are not listed included.
    pub finding_count: u64,
    /// Rows and index entries affected. A row that several findings name counts once for each.
    pub affected: Affected,
    /// The rule closest to the cause: a file before its pages, a page before its rows, rows before comparisons.
    pub cause_rule: String,
    /// The file of the first finding of that rule.
    pub cause_file: String,
    /// The page of it.
    pub cause_page: Option<u64>,
    /// What stands there.
    pub found: String,
    /// The most likely cause.
    pub likely_cause: String,
    /// What to do first.
    pub next_step: String,
    /// The finding elsewhere that must be resolved first: `rule in object`; absent where there is none.
    #[serde(default)]
    pub resolve_first: Option<String>,
    /// Findings by rule, causes first.
    pub rules: Vec<RuleCount>,
}
