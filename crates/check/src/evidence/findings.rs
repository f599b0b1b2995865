//! Findings taken out of a report that is made already, and put into it.

use std::collections::BTreeSet;

use results::check::{Accounting, CheckReport, Finding, Skipped};

use crate::advice::{Sources, conclude};
use crate::findings::Findings;
use crate::rule::RuleSet;

const NOT_JUDGED: &str = "findings about them are withheld";
const DIFFERING: &str = "their readings differ: the device or memory corrupts data";

/// Keeps some findings and adds others. Gives how many were taken out, those not listed included.
pub(super) fn replace(
    rules: &'static RuleSet,
    report: &mut CheckReport,
    is_kept: impl Fn(&Finding) -> bool,
    added: Vec<Finding>,
) -> u64 {
    let before = report.finding_count();
    let mut kept = Findings::new(rules, usize::MAX / 4);
    for count in &report.rule_counts {
        let of_rule = || report.findings.iter().filter(|finding| finding.rule == count.rule);
        // Those that are not listed are as those that are.
        if of_rule().all(&is_kept) {
            kept.count_more(&count.rule, count.found_count - count.listed_count.min(count.found_count));
        }
    }
    std::mem::take(&mut report.findings)
        .into_iter()
        .filter(|finding| is_kept(finding))
        .for_each(|finding| kept.push(finding));
    let mut lists = kept.clone().into_lists();
    let kept_count: u64 = lists.rule_counts.iter().map(|count| count.found_count).sum();
    if !added.is_empty() {
        added.into_iter().for_each(|finding| kept.push(finding));
        lists = kept.into_lists();
    }
    conclude(report, lists, &Sources::default());
    before.saturating_sub(kept_count)
}

/// Counts pages as damaged only where a finding is left that says so; others were not verified.
pub(super) fn recount(rules: &RuleSet, report: &mut CheckReport) {
    let pages = |breaks: bool| -> u64 {
        let of_kind =
            report.findings.iter().filter(|finding| rules.role(&finding.rule).breaks_own_bytes() == breaks);
        let pages: BTreeSet<_> =
            of_kind.filter_map(|finding| Some((finding.file.as_str(), finding.page?))).collect();
        pages.len() as u64
    };
    let (damaged, affected) = (pages(true), pages(false));
    let accounting = &mut report.accounting;
    let excess = |count: u64, left: u64| count.saturating_sub(left);
    let taken = [excess(accounting.damaged_count, damaged), excess(accounting.affected_count, affected)];
    accounting.damaged_count -= taken[0];
    accounting.affected_count -= taken[1];
    skip(accounting, NOT_JUDGED, taken.iter().sum());
    report.coverage = results::check::Coverage::default();
}

/// Counts so many pages as skipped because their readings differ, and as many less as something else: as changed,
/// withheld, damaged, affected, clean.
pub(super) fn count_differing(report: &mut CheckReport, page_count: u64) {
    let accounting = &mut report.accounting;
    let mut left = page_count;
    for skipped in &mut accounting.skipped {
        if skipped.why.contains("changed") || skipped.why == NOT_JUDGED {
            let taken = skipped.page_count.min(left);
            skipped.page_count -= taken;
            left -= taken;
        }
    }
    accounting.skipped.retain(|skipped| skipped.page_count > 0);
    for count in [&mut accounting.damaged_count, &mut accounting.affected_count, &mut accounting.clean_count]
    {
        let taken = (*count).min(left);
        *count -= taken;
        left -= taken;
    }
    skip(accounting, DIFFERING, page_count - left);
}

fn skip(accounting: &mut Accounting, why: &str, page_count: u64) {
    if page_count == 0 {
        return;
    }
    match accounting.skipped.iter_mut().find(|skipped| skipped.why == why) {
        Some(skipped) => skipped.page_count += page_count,
        None => accounting.skipped.push(Skipped { why: why.to_owned(), page_count }),
    }
    accounting.skipped.sort();
}
