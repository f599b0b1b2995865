//! What a check of database files found: the stored form, and the lines for machines.
//!
//! A report is complete in itself: it says what was checked, how deep, what was not checked and why, and accounts for
//! every page and every byte. Lists are sorted, so that the same damage gives the same report whatever the number of
//! workers.

use serde::{Deserialize, Serialize};

use crate::object::DamagedObject;

pub use crate::accounting::{Accounting, CheckCounters, Skipped};
pub use crate::coverage::{Coverage, Share};
pub use crate::finding::{Confidence, Finding, RuleCount};

/// How much of a database a check proves. Each level contains those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckLevel {
    /// Every byte can be read; nothing is looked at.
    Read,
    /// Checksum, header and address of each page, as far as the format has them.
    Page,
    /// The inside of each page, the links between pages, and that each page has one use.
    Structure,
    /// Rows and index entries matched both ways, key order, unique keys, values.
    #[default]
    Full,
}

impl CheckLevel {
    /// The name as it is written on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Page => "page",
            Self::Structure => "structure",
            Self::Full => "full",
        }
    }
}

/// What a thing that was not checked means for the verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GapKind {
    /// Pages, rows, index entries or objects of this database are not verified: the verdict says so, and
    /// `--require full` ends with exit status 2.
    #[default]
    Coverage,
    /// A rule that no level verifies on this engine (foreign keys, for example), listed with the engine's own command
    /// that does; the verdict names it, `--require full` does not count it.
    OutOfScope,
}

/// Something that was not checked.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct NotChecked {
    /// The table, index or file; absent for the whole database.
    pub object: Option<String>,
    /// What was not checked.
    pub what: String,
    /// Why not; with the engine's command that verifies it, where there is one.
    pub why: String,
    /// What it means for the verdict.
    #[serde(default)]
    pub kind: GapKind,
}

impl NotChecked {
    /// Something of this database that the level should have verified.
    #[must_use]
    pub fn coverage(object: Option<&str>, what: impl Into<String>, why: impl Into<String>) -> Self {
        Self {
            object: object.map(str::to_owned),
            what: what.into(),
            why: why.into(),
            kind: GapKind::Coverage,
        }
    }

    /// A rule that no level verifies on this engine.
    #[must_use]
    pub fn out_of_scope(object: Option<&str>, what: impl Into<String>, why: impl Into<String>) -> Self {
        Self { kind: GapKind::OutOfScope, ..Self::coverage(object, what, why) }
    }
}

/// Everything about one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckReport {
    /// Name of the engine; [`Self::engine_id`] has it typed.
    pub engine: String,
    /// What was checked, as the user named it.
    pub target: String,
    /// How deep.
    pub level: CheckLevel,
    /// Facts about the database that the user should see: page size, encoding, version.
    pub facts: Vec<(String, String)>,
    /// The objects with findings, causes first; totals count findings that are not listed, too.
    #[serde(default)]
    pub objects: Vec<DamagedObject>,
    /// The findings, causes first, then by file, page, slot and rule; at most so many of each rule.
    pub findings: Vec<Finding>,
    /// How often each broken rule was found, sorted by rule.
    pub rule_counts: Vec<RuleCount>,
    /// What was not checked, sorted.
    pub not_checked: Vec<NotChecked>,
    /// What was verified, of what there is.
    #[serde(default)]
    pub coverage: Coverage,
    /// Where all pages and bytes went.
    pub accounting: Accounting,
    /// What it cost.
    pub counters: CheckCounters,
    /// Why the check could not finish; absent when it did.
    pub unfinished: Option<String>,
}

impl CheckReport {
    /// A report in which nothing was checked yet.
    #[must_use]
    pub fn empty(engine: &str, target: &str, level: CheckLevel) -> Self {
        Self {
            engine: engine.to_owned(),
            target: target.to_owned(),
            level,
            facts: Vec::new(),
            objects: Vec::new(),
            findings: Vec::new(),
            rule_counts: Vec::new(),
            not_checked: Vec::new(),
            coverage: Coverage::default(),
            accounting: Accounting::default(),
            counters: CheckCounters::default(),
            unfinished: None,
        }
    }

    /// Findings made, those not listed included.
    #[must_use]
    pub fn finding_count(&self) -> u64 {
        self.rule_counts.iter().map(|count| count.found_count).sum()
    }

    /// Whether everything that level full verifies was verified: what `--require full` asks for.
    #[must_use]
    pub fn is_fully_verified(&self) -> bool {
        self.missing_for_full().is_empty()
    }

    /// 0 clean, 1 damage, 2 could not finish. Damage wins: it is true whatever else was not seen.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        if self.finding_count() > 0 {
            1
        } else if self.unfinished.is_some() || !self.accounting.is_complete() {
            2
        } else {
            0
        }
    }

    /// The report as JSON lines: one object for each damaged object, each finding and each thing not checked, then one
    /// with the rest.
    ///
    /// Each object has a member `kind`: `object`, `finding`, `not_checked` or `summary`.
    #[must_use]
    pub fn to_json_lines(&self) -> String {
        let mut lines = String::new();
        let mut push = |kind: &str, value: serde_json::Value| {
            let mut object = serde_json::Map::new();
            object.insert("kind".to_owned(), kind.into());
            if let serde_json::Value::Object(mut members) = value {
                // The kind of a gap is not that of the line.
                members.remove("kind").map(|gap| members.insert("gap".to_owned(), gap));
                object.extend(members);
            }
            lines.push_str(&serde_json::Value::Object(object).to_string());
            lines.push('\n');
        };
        let value = |result: serde_json::Result<serde_json::Value>| result.unwrap_or_default();
        for object in &self.objects {
            push("object", value(serde_json::to_value(object)));
        }
        for finding in &self.findings {
            push("finding", value(serde_json::to_value(finding)));
        }
        for gap in &self.not_checked {
            push("not_checked", value(serde_json::to_value(gap)));
        }
        let summary = serde_json::json!({
            "engine": self.engine, "target": self.target, "level": self.level, "facts": self.facts,
            "finding_count": self.finding_count(), "object_count": self.objects.len(),
            "rule_counts": self.rule_counts, "verdict": self.verdict(), "is_fully_verified": self.is_fully_verified(),
            "coverage": self.coverage, "accounting": self.accounting, "counters": self.counters,
            "unfinished": self.unfinished, "exit_code": self.exit_code(),
        });
        push("summary", summary);
        lines
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn report() -> CheckReport {
        let accounting = Accounting { page_count: 3, clean_count: 3, ..Accounting::default() };
        CheckReport { accounting, ..CheckReport::empty("sqlite", "a.db", CheckLevel::Full) }
    }

    #[test]
    fn damage_wins_over_an_unfinished_check_and_a_missing_page_over_silence() {
        let mut report = report();
        assert_eq!(report.exit_code(), 0);
        report.accounting = Accounting { unreadable_count: 1, clean_count: 2, ..report.accounting };
        assert!(report.accounting.is_balanced());
        assert_eq!(report.exit_code(), 2);
        report.rule_counts = vec![RuleCount { rule: "r".to_owned(), found_count: 5, listed_count: 1 }];
        assert_eq!((report.exit_code(), report.finding_count()), (1, 5));
    }

    #[test]
    fn only_what_was_left_out_of_this_database_makes_a_check_incomplete() {
        let mut report = report();
        report.coverage.rows = Some(Share { verified_count: 7, total_count: 7 });
        report.not_checked.push(NotChecked::out_of_scope(
            None,
            "foreign keys",
            "PRAGMA foreign_key_check does",
        ));
        assert!(report.is_fully_verified());
        report.coverage.entries = Some(Share { verified_count: 27, total_count: 100 });
        assert!(!report.is_fully_verified());
        report.coverage.entries = None;
        report.not_checked.push(NotChecked::coverage(Some("i"), "index entries", "unknown access method"));
        assert!(!report.is_fully_verified());
        assert_eq!(report.exit_code(), 0);
    }

    #[test]
    fn json_lines_end_with_one_summary() {
        let mut report = report();
        report.not_checked.push(NotChecked::out_of_scope(None, "foreign keys", "another command does"));
        let lines = report.to_json_lines();
        let gap: serde_json::Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
        assert_eq!((&gap["kind"], &gap["gap"]), (&"not_checked".into(), &"out_of_scope".into()));
        let last: serde_json::Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
        assert_eq!(last["kind"], "summary");
        assert_eq!(last["exit_code"], 0);
    }
}
