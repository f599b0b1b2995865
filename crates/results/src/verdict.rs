//! What a check may claim: "no damage found" only for what was verified.

use serde::{Deserialize, Serialize};

use crate::check::{CheckLevel, CheckReport, GapKind, Share};
use crate::wording::{counted, counted_as, percent, thousands};

/// The kinds of verdicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictKind {
    /// Nothing was found, and everything that the level verifies was verified.
    NoDamage,
    /// Nothing was found, but something that the level should verify was left out.
    NoDamageInPart,
    /// Something was found.
    Damage,
    /// Nothing was found, and the check did not finish.
    NotFinished,
    /// Nothing was read.
    NothingChecked,
}

/// A verdict: its kind, its sentence, and what it leaves out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckVerdict {
    /// The kind.
    pub kind: VerdictKind,
    /// One sentence for people, without a full stop.
    pub text: String,
    /// What the level should have verified and did not, in words: `73 % of index entries not compared`.
    pub left_out: Vec<String>,
}

impl CheckReport {
    /// What the check may claim. All outputs print this.
    #[must_use]
    pub fn verdict(&self) -> CheckVerdict {
        let left_out = self.left_out();
        let (kind, text) = match (self.finding_count(), self.exit_code()) {
            (0, 0) if left_out.is_empty() => (VerdictKind::NoDamage, self.claim("no damage found")),
            (0, 0) => {
                let parts = left_out.join("; ");
                let claim = self.claim("no damage found in what was checked");
                (VerdictKind::NoDamageInPart, format!("{claim} ({parts})"))
            }
            (0, _) if self.accounting.bytes_read == 0 => {
                (VerdictKind::NothingChecked, "nothing was checked".to_owned())
            }
            (0, _) => {
                let text = "no damage found in what was read; the check is not complete".to_owned();
                (VerdictKind::NotFinished, text)
            }
            (count, _) => (VerdictKind::Damage, self.damage(count)),
        };
        CheckVerdict { kind, text, left_out }
    }

    /// What `--require full` asks for and this check does not give, in words; empty where all is verified.
    #[must_use]
    pub fn missing_for_full(&self) -> Vec<String> {
        let mut missing = Vec::new();
        if self.level != CheckLevel::Full {
            missing.push(format!("level {} was checked", self.level.name()));
        }
        missing.extend(self.unfinished.clone());
        let accounting = &self.accounting;
        let unread = accounting.unreached_count + accounting.unreadable_count;
        if unread > 0 {
            missing.push(format!("{} not read", counted(unread, "page")));
        } else if accounting.bytes_read < accounting.bytes_expected && missing.is_empty() {
            let [read, expected] = [accounting.bytes_read, accounting.bytes_expected].map(thousands);
            missing.push(format!("{read} of {expected} bytes read"));
        }
        missing.extend(self.left_out());
        missing
    }

    /// Shares that are not complete, then the number of gaps that the shares do not show.
    fn left_out(&self) -> Vec<String> {
        let mut parts: Vec<String> = self
            .coverage
            .shares()
            .filter(|(_, share)| !share.is_complete())
            .map(|(name, share)| left_out_of(name, share))
            .collect();
        let gap_count = self.not_checked.iter().filter(|gap| gap.kind == GapKind::Coverage).count() as u64;
        if gap_count > 0 {
            let verb = if gap_count == 1 { "is" } else { "are" };
            let gaps = counted_as(gap_count, "gap", "gaps");
            parts.push(format!("{gaps} {verb} listed under \"not checked\""));
        }
        parts
    }

    /// The claim with what the level covers.
    fn claim(&self, claim: &str) -> String {
        let pages = counted(self.accounting.page_count, "page");
        match self.level {
            CheckLevel::Read => format!(
                "{claim} at level read: all bytes of {pages} were read; headers, checksums, rows and index entries are not verified at this level"
            ),
            CheckLevel::Page => format!(
                "{claim} at level page: headers and checksums (where the database has them) of {pages}; rows and index entries are not verified at this level"
            ),
            CheckLevel::Structure => format!(
                "{claim} at level structure: contents and links of {pages}; rows and index entries are not compared at this level"
            ),
            CheckLevel::Full => claim.to_owned(),
        }
    }

    fn damage(&self, count: u64) -> String {
        let objects = match self.objects.iter().filter(|one| one.object.is_some()).count() as u64 {
            0 => String::new(),
            objects => format!(" in {}", counted(objects, "object")),
        };
        format!("damage found: {}{objects}", counted(count, "finding"))
    }
}

fn left_out_of(name: &str, share: Share) -> String {
    let verb = if name == "index entries" { "compared" } else { "verified" };
    let part = percent(share.missing_count(), share.total_count);
    format!("{part} of {name} not {verb}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{Accounting, NotChecked, RuleCount};

    fn report(level: CheckLevel) -> CheckReport {
        let accounting = Accounting { page_count: 1234, clean_count: 1234, ..Accounting::default() };
        CheckReport { accounting, ..CheckReport::empty("sqlite", "a.db", level) }
    }

    #[test]
    fn no_damage_is_claimed_only_for_what_was_verified() {
        let mut report = report(CheckLevel::Full);
        report.coverage.entries = Some(Share { verified_count: 10, total_count: 10 });
        report.not_checked.push(NotChecked::out_of_scope(None, "foreign keys", "PRAGMA foreign_key_check"));
        assert_eq!(report.verdict().text, "no damage found");
        assert!(report.missing_for_full().is_empty());
        report.coverage.entries = Some(Share { verified_count: 27, total_count: 100 });
        let text = "no damage found in what was checked (73 % of index entries not compared)";
        assert_eq!(report.verdict().text, text);
        assert_eq!(report.verdict().kind, VerdictKind::NoDamageInPart);
        assert_eq!(report.missing_for_full(), ["73 % of index entries not compared"]);
        report.coverage.entries = None;
        report.not_checked.push(NotChecked::coverage(Some("i"), "keys", "unknown access method"));
        let text = "no damage found in what was checked (1 gap is listed under \"not checked\")";
        assert_eq!(report.verdict().text, text);
    }

    #[test]
    fn a_level_below_full_says_what_it_covers() {
        let report = report(CheckLevel::Page);
        let text = report.verdict().text;
        assert!(text.starts_with("no damage found at level page: headers and checksums"), "{text}");
        assert!(text.contains("1,234 pages; rows and index entries are not verified"), "{text}");
        assert_eq!(report.missing_for_full(), ["level page was checked"]);
    }

    #[test]
    fn damage_and_an_unfinished_check_are_never_called_clean() {
        let mut report = report(CheckLevel::Full);
        report.unfinished = Some("stopped".to_owned());
        assert_eq!(report.verdict().kind, VerdictKind::NothingChecked);
        report.accounting.bytes_read = 4096;
        assert_eq!(report.verdict().kind, VerdictKind::NotFinished);
        report.rule_counts = vec![RuleCount { rule: "r".to_owned(), found_count: 1, listed_count: 1 }];
        assert_eq!(report.verdict().text, "damage found: 1 finding");
    }
}
