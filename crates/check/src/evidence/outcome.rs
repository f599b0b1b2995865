//! What is left of a report when its reads failed, differed, or met files that changed.

use std::collections::BTreeSet;
use std::path::Path;

use disk::input::{Cause, Differing, Failure, hint};
use results::check::{Accounting, CheckReport, Confidence, Coverage, Finding, NotChecked};
use results::wording::counted;

use super::findings::{count_differing, recount, replace};
use super::terms::{Place, Terms};
use crate::rule::Rank;

/// Whether a finding is about bytes of one page that were read twice and judged by nothing but themselves.
fn stands_alone(finding: &Finding) -> bool {
    finding.rule.ends_with("-checksum") && finding.confidence == Confidence::Certain
}

/// The check could not read what it needs. What may follow from that is no finding.
pub(super) fn not_read(report: &mut CheckReport, terms: &Terms<'_>, first: &Failure, failures: &[Failure]) {
    let files_of = |cause: Cause| -> BTreeSet<String> {
        let of_cause = failures.iter().filter(|failure| failure.cause == cause);
        of_cause.map(|failure| (terms.place)(&failure.path, failure.offset_bytes.unwrap_or(0)).file).collect()
    };
    // A page of a file that could not be opened any more is not lost: only the device says that it is.
    let (lost, closed) = (files_of(Cause::Media), files_of(Cause::Environment));
    let is_media = |finding: &Finding| {
        finding.rule == terms.unreadable.id && lost.contains(&finding.file) && !closed.contains(&finding.file)
    };
    let withheld =
        replace(terms.rules, report, |finding| stands_alone(finding) || is_media(finding), Vec::new());
    recount(terms.rules, report);
    if report.accounting.bytes_read == 0 {
        // What was not read is not clean.
        report.accounting.unreached_count += std::mem::take(&mut report.accounting.clean_count);
    }
    let more = match failures.iter().filter(|failure| failure.cause == Cause::Environment).count() {
        0 | 1 => String::new(),
        count => format!("; {} more", counted(count as u64 - 1, "error")),
    };
    withhold(report, withheld, "what they are based on could not be read");
    report.unfinished = Some(reason(first, &more));
}

/// File, place and reason of a failure, `more` of them, and what to do.
pub(super) fn reason(first: &Failure, more: &str) -> String {
    let what = match first.offset_bytes {
        Some(offset) => format!("could not read \"{}\" at byte {offset}", first.path.display()),
        None => format!("could not open \"{}\"", first.path.display()),
    };
    let hint = match first.cause {
        Cause::Media => {
            "check the kernel log (dmesg) and the device (smartctl -a); copy the files while they can be read"
        }
        Cause::Environment => hint(first.error_number),
    };
    format!("{what}: {}{more}\nhint: {hint}", first.error)
}

/// A process changed files that no server was known to write.
pub(super) fn changed(report: &mut CheckReport, terms: &Terms<'_>, first: &Path) {
    let _withheld = replace(terms.rules, report, |_| false, Vec::new());
    let page_count = report.accounting.page_count;
    report.accounting = Accounting {
        page_count,
        unreached_count: page_count,
        bytes_expected: report.accounting.bytes_expected,
        ..Accounting::default()
    };
    report.coverage = Coverage::default();
    let file = (terms.place)(first, 0).file;
    let seen = report.unfinished.take().filter(|reason| reason.contains("changed during the check"));
    let seen = seen.map_or(String::new(), |reason| format!("; {reason}"));
    report.unfinished = Some(format!(
        "file \"{file}\" changed during the check: it was written, replaced or removed{seen}\nhint: stop the program that writes it, or check a copy or a backup"
    ));
}

/// Readings of places differ, and no process wrote the files.
pub(super) fn differing(report: &mut CheckReport, terms: &Terms<'_>, places: &[Differing]) {
    let mut named: BTreeSet<(String, Option<u64>)> = BTreeSet::new();
    let mut added = Vec::new();
    for differing in places {
        let place = (terms.place)(&differing.path, differing.offset_bytes);
        // Parts of a page that were read by themselves are that page.
        if !named.insert((place.file.clone(), place.page)) {
            continue;
        }
        let expected = "the same bytes in each reading";
        added.push(terms.finding(terms.differ, place, expected, &found(differing)));
    }
    let page_count = named.iter().filter(|(_, page)| page.is_some()).count() as u64;
    // Every page of a compressed archive rests on all of its bytes.
    let rests_on = |place: &Differing| {
        (terms.is_archive)(&place.path) && (terms.place)(&place.path, place.offset_bytes).page.is_none()
    };
    let is_archive_unsure = places.iter().any(rests_on);
    let is_kept = |finding: &Finding| {
        let is_stable = !is_archive_unsure && !named.contains(&(finding.file.clone(), finding.page));
        is_stable && (stands_alone(finding) || finding.rule == terms.unreadable.id)
    };
    let withheld = replace(terms.rules, report, is_kept, added);
    recount(terms.rules, report);
    count_differing(report, page_count);
    withhold(
        report,
        withheld,
        "readings of this database differ: comparisons between pages are not reliable",
    );
    // What an engine took for a writer is the device.
    if report.unfinished.as_deref().is_some_and(|reason| reason.contains("changed")) {
        report.unfinished = None;
    }
}

fn found(differing: &Differing) -> String {
    format!(
        "{} of {} bytes at byte {}: {} contents, hashes {:08x} and {:08x}; no process wrote the file",
        counted(differing.reading_count, "reading"),
        differing.length_bytes,
        differing.offset_bytes,
        differing.content_count,
        differing.first_hash,
        differing.other_hash
    )
}

/// Places that a device did not hand over are findings; what follows from them is not certain.
pub(super) fn unreadable(report: &mut CheckReport, terms: &Terms<'_>, failures: &[Failure]) {
    let media: Vec<(&Failure, Place)> = failures
        .iter()
        .filter(|failure| failure.cause == Cause::Media)
        .map(|failure| (failure, (terms.place)(&failure.path, failure.offset_bytes.unwrap_or(0))))
        .collect();
    if media.is_empty() {
        return;
    }
    let files: BTreeSet<&str> = media.iter().map(|(_, place)| place.file.as_str()).collect();
    let mut known: BTreeSet<(String, Option<u64>)> = report
        .findings
        .iter()
        .filter(|finding| finding.rule == terms.unreadable.id)
        .map(|finding| (finding.file.clone(), finding.page))
        .collect();
    let reported: BTreeSet<String> = known.iter().map(|(file, _)| file.clone()).collect();
    let mut added = Vec::new();
    for (failure, place) in &media {
        // The pass names its pages; single reads of files that it does not read, or did read, are named here.
        let is_new = !reported.contains(&place.file) && known.insert((place.file.clone(), place.page));
        if is_new {
            let expected =
                format!("{} bytes at byte {}", failure.length_bytes, failure.offset_bytes.unwrap_or(0));
            added.push(terms.finding(terms.unreadable, place.clone(), &expected, &failure.error));
        }
    }
    // That a file has no content is a consequence of that it could not be read.
    let is_same_file = |finding: &Finding| {
        let rank = terms.rules.role(&finding.rule).rank;
        finding.rule != terms.unreadable.id
            && matches!(rank, Rank::Database | Rank::File)
            && files.contains(finding.file.as_str())
    };
    replace(terms.rules, report, |finding| !is_same_file(finding), added);
    for finding in &mut report.findings {
        if finding.rule != terms.unreadable.id
            && !stands_alone(finding)
            && finding.confidence == Confidence::Certain
        {
            finding.confidence = Confidence::Consequence;
        }
    }
}

fn withhold(report: &mut CheckReport, count: u64, why: &str) {
    if count > 0 {
        let what = format!("{} withheld", counted(count, "finding"));
        report.not_checked.push(NotChecked::coverage(None, what, why));
        report.not_checked.sort();
        report.not_checked.dedup();
    }
}
