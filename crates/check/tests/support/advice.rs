//! What must hold for the next steps of every report, whatever is damaged.

use check::rule::{Rank, RuleSet, Suspect};
use results::check::{CheckReport, Finding};

/// Steps that take the table for true.
const REBUILDS: &[&str] = &[
    "REINDEX",
    "VACUUM",
    "REBUILD",
    "pg_truncate_visibility_map",
    "pg_surgery",
    "pg_resetwal",
    "DBCC CHECK",
    "freeze or kill",
];

/// Proves, for a report of one damage, that no next step rebuilds or removes anything while a table is damaged, and that
/// causes come first.
pub(crate) fn assert_safe_advice(rules: &RuleSet, report: &CheckReport, is_index: fn(&str) -> bool) {
    let calls_table = |finding: &&Finding| {
        let role = rules.role(&finding.rule);
        let is_table = finding.object.as_deref().is_some_and(|object| !is_index(object));
        role.suspect == Suspect::Database
            || role.suspect == Suspect::Object && role.rank <= Rank::Link && is_table
    };
    let text = || report::findings::text(report, rules);
    if let Some(cause) = report.findings.iter().find(calls_table) {
        for finding in &report.findings {
            let proposes = finding.next_step.split([';', ':', '.', ',']).any(|clause| {
                REBUILDS.iter().any(|step| clause.contains(step))
                    && !["do not", "before any", "no VACUUM", "would hide", "on a copy"]
                        .iter()
                        .any(|word| clause.contains(word))
            });
            assert!(!proposes, "{} while {}: {}\n{}", finding.rule, cause.rule, finding.next_step, text());
        }
    }
    let ranks: Vec<Rank> = report.findings.iter().map(|finding| rules.role(&finding.rule).rank).collect();
    assert!(ranks.is_sorted(), "{}", text());
    let counted: u64 = report.objects.iter().map(|object| object.finding_count).sum();
    assert_eq!(counted, report.finding_count(), "{}", text());
}
