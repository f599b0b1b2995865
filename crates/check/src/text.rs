//! A report for people.

use std::borrow::Cow;
use std::fmt::Write;

use results::check::{CheckReport, Finding};

/// The report as text: findings first, then what was not checked, then the accounting and the verdict.
#[must_use]
pub fn text(report: &CheckReport) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write_findings(&mut out, report);
    let _ = write_gaps(&mut out, report);
    let _ = write_accounting(&mut out, report);
    out
}

fn write_findings(out: &mut String, report: &CheckReport) -> std::fmt::Result {
    for finding in &report.findings {
        write_finding(out, finding)?;
    }
    for count in report.rule_counts.iter().filter(|count| count.found_count > count.listed_count) {
        let more = count.found_count - count.listed_count;
        writeln!(out, "{more} more findings of rule {} are counted, not listed", count.rule)?;
    }
    Ok(())
}

fn write_finding(out: &mut String, finding: &Finding) -> std::fmt::Result {
    write!(out, "{}", harmless(&finding.file))?;
    if let Some(page) = finding.page {
        write!(out, " page {page}")?;
    }
    if let Some(slot) = finding.slot {
        write!(out, " slot {slot}")?;
    }
    if let Some(offset) = finding.offset_bytes {
        write!(out, " offset {offset}")?;
    }
    if let Some(object) = &finding.object {
        write!(out, " of {}", harmless(object))?;
    }
    match crate::sqlserver::dbcc_messages(&finding.rule) {
        Some(messages) => writeln!(out, ": {} (DBCC {messages})", finding.rule)?,
        None => writeln!(out, ": {}", finding.rule)?,
    }
    writeln!(out, "    promise:  {}", finding.promise)?;
    writeln!(out, "    expected: {}", harmless(&finding.expected))?;
    writeln!(out, "    found:    {} ({})", harmless(&finding.found), finding.confidence.name())?;
    writeln!(out, "    next:     {}", finding.next_step)
}

/// Names come from the file under test and may hold anything: what would act on a terminal, or hide, is written out.
fn harmless(text: &str) -> Cow<'_, str> {
    let is_hidden = |character: char| {
        character.is_control()
            || matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let written_out = |character: char| match is_hidden(character) {
        true => character.escape_default().to_string(),
        false => character.to_string(),
    };
    Cow::Owned(text.chars().map(written_out).collect())
}

fn write_gaps(out: &mut String, report: &CheckReport) -> std::fmt::Result {
    if report.not_checked.is_empty() {
        return Ok(());
    }
    writeln!(out, "not checked:")?;
    for gap in &report.not_checked {
        let object = gap.object.as_deref().unwrap_or("the whole database");
        writeln!(out, "    {}: {} ({})", harmless(object), gap.what, harmless(&gap.why))?;
    }
    Ok(())
}

fn write_accounting(out: &mut String, report: &CheckReport) -> std::fmt::Result {
    let accounting = &report.accounting;
    let facts: Vec<_> =
        report.facts.iter().map(|(name, value)| format!("{name} {}", harmless(value))).collect();
    writeln!(out, "{} at level {}: {}", harmless(&report.target), report.level.name(), facts.join(", "))?;
    write!(
        out,
        "pages {} = clean {} + damaged {} + skipped {} + unreadable {}",
        accounting.page_count,
        accounting.clean_count,
        accounting.damaged_count,
        accounting.skipped_count(),
        accounting.unreadable_count
    )?;
    match accounting.unreached_count {
        0 => writeln!(out)?,
        count => writeln!(out, " + not reached {count}")?,
    }
    for skipped in &accounting.skipped {
        writeln!(out, "    skipped {}: {}", skipped.page_count, skipped.why)?;
    }
    let counters = &report.counters;
    let seconds = counters.elapsed_ns as f64 / 1e9;
    let rate = accounting.bytes_read as f64 / 1e6 / seconds.max(1e-9);
    writeln!(
        out,
        "bytes read {} of {} in {seconds:.2} s ({rate:.0} MB/s, {} workers, {:.2} s processor time), rows {}, index entries {}",
        accounting.bytes_read,
        accounting.bytes_expected,
        counters.worker_count,
        counters.worker_cpu_ns as f64 / 1e9,
        counters.row_count,
        counters.entry_count
    )?;
    if let Some(reason) = &report.unfinished {
        writeln!(out, "could not finish: {reason}")?;
    }
    match (report.finding_count(), report.exit_code()) {
        (0, 0) => writeln!(out, "no damage found"),
        (0, _) if accounting.bytes_read == 0 => writeln!(out, "nothing was checked"),
        (0, _) => writeln!(out, "no damage found in what was read; the check is not complete"),
        (count, _) => writeln!(out, "{count} findings"),
    }
}

#[cfg(test)]
mod tests {
    use super::harmless;

    #[test]
    fn names_that_would_act_on_a_terminal_are_written_out() {
        assert_eq!(harmless("t\u{1b}[31m\n\u{202e}x"), "t\\u{1b}[31m\\n\\u{202e}x");
        assert_eq!(harmless("Zoë"), "Zoë");
    }
}
