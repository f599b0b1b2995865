//! One line for each damaged object: what is affected, the cause, what to do.

use std::fmt::Write;

use check::rule::RuleSet;
use results::check::CheckReport;
use results::object::DamagedObject;
use results::wording::counted;

use super::words::{harmless, rule_name};

/// Most objects with a line of their own; the JSON output has all.
const LINES_MAX: usize = 100;

pub(super) fn write(out: &mut String, report: &CheckReport, rules: &RuleSet) -> std::fmt::Result {
    for object in report.objects.iter().take(LINES_MAX) {
        writeln!(out, "{}", line(object, report, rules))?;
    }
    if let Some(more) = report.objects.len().checked_sub(LINES_MAX).filter(|more| *more > 0) {
        writeln!(out, "{} more have findings", counted(more as u64, "object"))?;
    }
    if !report.objects.is_empty() {
        writeln!(out)?;
    }
    Ok(())
}

/// `orders: 12 rows affected; pg-page-checksum on base/5/16384 block 17: found; next: step`.
fn line(object: &DamagedObject, report: &CheckReport, rules: &RuleSet) -> String {
    let name = object.object.as_deref().map_or_else(|| "the database".into(), harmless);
    let affected = [(object.affected.row_count, "row"), (object.affected.entry_count, "index entry")];
    let affected: Vec<String> = affected
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, noun)| counted(count, noun))
        .collect();
    let affected = match affected.is_empty() {
        true => String::new(),
        false => format!("{} affected; ", affected.join(" and ")),
    };
    let follows = match &object.resolve_first {
        Some(first) => format!("probably follows from {}; ", harmless(first)),
        None => String::new(),
    };
    let finding = report.findings.iter().find(|finding| finding.rule == object.cause_rule);
    let messages = finding.and_then(|finding| finding.messages.as_deref());
    let page = object.cause_page.map_or(String::new(), |page| format!(" {} {page}", rules.page_word));
    format!(
        "{name}: {affected}{follows}{} on {}{page}: {}; next: {}",
        rule_name(rules, &object.cause_rule, messages),
        harmless(&object.cause_file),
        harmless(&object.found),
        harmless(&object.next_step)
    )
}
