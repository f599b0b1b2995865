//! Causes before consequences, and next steps that are safe in the state that was found.
//!
//! A rule has a role: how close to the cause it is, and which object it calls into question. An engine adds which
//! object is built from which ([`Sources`]). From both follows, for each finding, whether its next step may be given as
//! it stands: what rebuilds or removes rows (REINDEX, VACUUM, pg_surgery, DBCC with repair ...) is proposed only where
//! nothing calls the source into question. Otherwise the next step names the finding that comes first.

mod guard;
mod objects;
mod sources;

pub use guard::{proposes, proposes_rebuild};
pub use sources::Sources;

use results::check::{CheckLevel, CheckReport};

use crate::findings::Lists;
use guard::Guard;

/// Puts what was collected into a report: next steps that are safe, causes first, one entry for each object.
pub fn conclude(report: &mut CheckReport, mut lists: Lists, sources: &Sources) {
    let guard = Guard::new(&lists, sources);
    // Only where the table was verified, too, is its silence a reason to rebuild from it.
    let is_deep = report.level >= CheckLevel::Structure && report.unfinished.is_none();
    let findings = lists.findings.iter().map(|finding| guard.instead(finding, is_deep));
    let firsts = lists.object_counts.iter().map(|count| guard.instead(&count.first, is_deep));
    let (findings, firsts): (Vec<_>, Vec<_>) = (findings.collect(), firsts.collect());
    let objects_before = lists.object_counts.clone();
    for (finding, instead) in lists.findings.iter_mut().zip(findings) {
        finding.next_step = instead.unwrap_or_else(|| std::mem::take(&mut finding.next_step));
    }
    for (count, instead) in lists.object_counts.iter_mut().zip(firsts) {
        count.first.next_step = instead.unwrap_or_else(|| std::mem::take(&mut count.first.next_step));
    }
    let guard = Guard::from_counts(lists.rules, &objects_before, sources);
    report.objects = objects::objects(&lists, &guard);
    let rules = lists.rules;
    lists.findings.sort_by_cached_key(|finding| (rules.role(&finding.rule).rank, finding.clone()));
    report.findings = lists.findings;
    report.rule_counts = lists.rule_counts;
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use results::check::Finding;
    use results::object::Affected;

    use super::*;
    use crate::findings::Findings;
    use crate::rule::examples::RULES;

    fn finding(rule: &str, object: &str, page: u64) -> Finding {
        let known = RULES.get(rule).unwrap();
        Finding { page: Some(page), object: Some(object.to_owned()), ..RULES.finding(known, object, "", "") }
    }

    fn concluded(level: CheckLevel, findings: Vec<Finding>) -> CheckReport {
        let mut all = Findings::new(&RULES, 100);
        findings.into_iter().for_each(|finding| all.push(finding));
        let mut sources = Sources::default();
        sources.add_index("i", "t");
        sources.add_part("toast", "t");
        sources.add_index("toast_i", "toast");
        sources.add_index("other_i", "other");
        let mut report = CheckReport::empty("postgres", "data", level);
        conclude(&mut report, all.into_lists(), &sources);
        report
    }

    fn step(report: &CheckReport, object: &str) -> String {
        let finding = report.findings.iter().find(|finding| finding.object.as_deref() == Some(object));
        finding.unwrap().next_step.clone()
    }

    #[test]
    fn a_rebuild_waits_for_damage_of_the_table_and_of_its_toast_table_and_of_nothing_else() {
        for (cause, is_waiting) in [("t", true), ("toast", true), ("toast_i", false), ("other", false)] {
            let report = concluded(
                CheckLevel::Full,
                vec![finding("test-row-without-entry", "i", 3), finding("test-page-checksum", cause, 17)],
            );
            let next = step(&report, "i");
            let first = format!("resolve finding test-page-checksum on {cause} block 17 first");
            assert_eq!(next.starts_with(&first), is_waiting, "{cause}: {next}");
            assert_eq!(proposes_rebuild(&next), !is_waiting, "{cause}: {next}");
        }
    }

    #[test]
    fn rows_that_an_index_still_names_call_the_table_into_question() {
        let report = concluded(
            CheckLevel::Full,
            vec![
                finding("test-entry-without-row", "i", 3),
                finding("test-visibility-map", "t", 9),
                finding("test-visibility-map", "other", 9),
            ],
        );
        assert!(step(&report, "t").starts_with("resolve finding test-entry-without-row on i block 3 first"));
        assert!(!step(&report, "other").starts_with("resolve"), "{}", step(&report, "other"));
    }

    #[test]
    fn a_stale_control_file_stops_every_rebuild_and_comes_first() {
        let mut control = finding("test-control-file", "x", 0);
        (control.object, control.page) = (None, None);
        let report = concluded(
            CheckLevel::Full,
            vec![finding("test-btree-order", "other_i", 1), finding("test-xmin-bounds", "t", 1), control],
        );
        assert_eq!(report.findings[0].rule, "test-control-file");
        assert_eq!(report.objects[0].cause_rule, "test-control-file");
        assert!(step(&report, "other_i").starts_with("resolve finding test-control-file on x first"));
        assert!(!proposes_rebuild(&step(&report, "t")), "{}", step(&report, "t"));
    }

    #[test]
    fn a_finding_about_a_row_refers_to_the_damage_of_its_page() {
        let report = concluded(
            CheckLevel::Full,
            vec![finding("test-value-compression", "t", 17), finding("test-page-checksum", "t", 17)],
        );
        assert!(
            report.findings[1]
                .next_step
                .starts_with("resolve finding test-page-checksum on t block 17 first")
        );
    }

    #[test]
    fn a_damaged_index_is_rebuilt_only_where_its_table_was_verified() {
        let damage = || vec![finding("test-page-checksum", "i", 2)];
        assert!(proposes_rebuild(&step(&concluded(CheckLevel::Full, damage()), "i")));
        assert!(!proposes_rebuild(&step(&concluded(CheckLevel::Page, damage()), "i")));
        let with_table = [damage(), vec![finding("test-item-bounds", "t", 1)]].concat();
        assert!(!proposes_rebuild(&step(&concluded(CheckLevel::Full, with_table), "i")));
    }

    #[test]
    fn a_cause_carries_the_rows_of_its_consequences() {
        let mut all = Findings::new(&RULES, 1);
        let affected = Affected { row_count: 54, entry_count: 2 };
        all.push_affecting(finding("test-page-checksum", "t", 1), affected);
        all.push(finding("test-not-null", "t", 2));
        let mut report = CheckReport::empty("postgres", "data", CheckLevel::Full);
        conclude(&mut report, all.into_lists(), &Sources::default());
        let object = &report.objects[0];
        assert_eq!((object.affected.row_count, object.affected.entry_count), (55, 2));
        assert_eq!(object.rules[0].rule, "test-page-checksum");
    }
}
