//! Findings, folded by rule and object, causes first.

use std::collections::BTreeMap;
use std::fmt::Write;

use results::check::{CheckReport, Confidence, Finding};
use results::wording::{counted, thousands};

use super::words::{harmless, place, rule_name};
use check::rule::{Rank, RuleSet};

/// Most folded groups; the JSON output has all listed findings.
const GROUPS_MAX: usize = 200;

type Groups<'r> = BTreeMap<(Rank, Option<&'r str>, &'r str), Group<'r>>;

/// Findings of one rule in one object.
#[derive(Default)]
struct Group<'r> {
    found_count: u64,
    findings: Vec<&'r Finding>,
}

impl Group<'_> {
    /// Numbers of messages of the engine's own checker.
    fn messages(&self) -> Option<&str> {
        self.findings.first()?.messages.as_deref()
    }
}

pub(super) fn write(
    out: &mut String,
    report: &CheckReport,
    rules: &RuleSet,
    shown_max: usize,
) -> std::fmt::Result {
    let groups = groups(report, rules);
    for ((_, object, rule), group) in groups.iter().take(GROUPS_MAX) {
        write_group(out, rules, object.map(harmless).as_deref(), rule, group, shown_max)?;
    }
    if let Some(more) = groups.len().checked_sub(GROUPS_MAX).filter(|more| *more > 0) {
        let more = counted(more as u64, "more pair");
        writeln!(out, "{more} of rule and object with findings: --json prints all that are listed")?;
    }
    for count in report.rule_counts.iter().filter(|count| count.found_count > count.listed_count) {
        let more = count.found_count - count.listed_count;
        let verb = if more == 1 { "is" } else { "are" };
        let more = counted(more, "more finding");
        writeln!(out, "{more} of rule {} {verb} counted, not listed (--max-findings N)", count.rule)?;
    }
    if !groups.is_empty() {
        writeln!(out)?;
    }
    Ok(())
}

/// Listed findings by rule and object, with the totals where the report has them.
fn groups<'r>(report: &'r CheckReport, rules: &RuleSet) -> Groups<'r> {
    let mut groups = Groups::new();
    for finding in &report.findings {
        let key = (rules.role(&finding.rule).rank, finding.object.as_deref(), finding.rule.as_str());
        let group = groups.entry(key).or_default();
        group.found_count += 1;
        group.findings.push(finding);
    }
    for object in &report.objects {
        for count in &object.rules {
            let key = (rules.role(&count.rule).rank, object.object.as_deref(), count.rule.as_str());
            let group = groups.entry(key).or_default();
            group.found_count = group.found_count.max(count.found_count);
        }
    }
    groups
}

fn write_group(
    out: &mut String,
    rules: &RuleSet,
    object: Option<&str>,
    rule: &str,
    group: &Group<'_>,
    shown_max: usize,
) -> std::fmt::Result {
    let shown = &group.findings[..group.findings.len().min(shown_max)];
    write!(out, "{}: {}", rule_name(rules, rule, group.messages()), counted(group.found_count, "finding"))?;
    if let Some(object) = object {
        write!(out, " in {object}")?;
    }
    match shown.len() as u64 {
        count if count == group.found_count => writeln!(out)?,
        0 => writeln!(out, ", none listed")?,
        count => writeln!(out, ", {} shown", thousands(count))?,
    }
    let Some(first) = shown.first() else { return Ok(()) };
    writeln!(out, "    rule:     {}", first.invariant)?;
    if let Some(known) = rules.get(rule) {
        writeln!(out, "    meaning:  {}", known.meaning)?;
    }
    let has_one_step = shown.iter().all(|finding| finding.next_step == first.next_step);
    if has_one_step {
        writeln!(out, "    next:     {}", harmless(&first.next_step))?;
    }
    for finding in shown {
        write_finding(out, rules, finding, !has_one_step)?;
    }
    Ok(())
}

fn write_finding(out: &mut String, rules: &RuleSet, finding: &Finding, with_step: bool) -> std::fmt::Result {
    write!(out, "    {}", place(rules, finding))?;
    match &finding.row {
        Some(row) => writeln!(out, ", row {}", harmless(row))?,
        None => writeln!(out)?,
    }
    writeln!(out, "        expected: {}", harmless(&finding.expected))?;
    let confidence = match finding.confidence {
        Confidence::Certain => String::new(),
        other => format!(" ({})", other.name()),
    };
    writeln!(out, "        found:    {}{confidence}", harmless(&finding.found))?;
    if with_step {
        writeln!(out, "        next:     {}", harmless(&finding.next_step))?;
    }
    Ok(())
}
