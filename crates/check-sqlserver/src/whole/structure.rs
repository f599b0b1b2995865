//! What is missing, as it stands in a report of structure.

use results::structure::StructureReport;

use crate::catalog::prepared::Prepared;

/// Says in a report what of the database is missing. Pages past the end of a file count as damaged, so that the exit
/// status is 1; files that were not named leave the work unfinished.
pub(crate) fn report_missing(prepared: &Prepared, report: &mut StructureReport) {
    let whole = &prepared.whole;
    for (file, draft) in &whole.drafts {
        add_reason(
            report,
            format!("\"{file}\" is too short: expected {}, found {}", draft.expected, draft.found),
        );
    }
    if !whole.drafts.is_empty() {
        report.accounting.damaged_count += whole.missing_page_count.max(1);
        report.accounting.page_count += whole.missing_page_count.max(1);
    }
    for reason in &whole.reasons {
        add_reason(report, reason.clone());
    }
    let at_hand: Vec<u16> = prepared.maps.files.iter().map(|map| map.file).collect();
    let named = whole.files.iter().map(|file| file.number).filter(|file| !at_hand.contains(file));
    let mut missing: Vec<u16> = named.chain(prepared.maps.missing_files.keys().copied()).collect();
    missing.sort_unstable();
    missing.dedup();
    for file in missing {
        add_reason(
            report,
            format!("data file {file} of the database was not given: its pages are not in the table"),
        );
    }
    for (number, count) in &prepared.maps.lost {
        let Some(unit) = prepared.plan.units.get(*number as usize) else { continue };
        let is_meant = |object: &&mut results::structure::ObjectStructure| {
            object.table == unit.table && object.index_id == unit.index_id
        };
        if let Some(object) = report.objects.iter_mut().find(is_meant) {
            object.notes.push(format!("{count} of its pages are past the end of the file"));
        }
    }
}

fn add_reason(report: &mut StructureReport, reason: String) {
    report.unfinished = Some(match report.unfinished.take() {
        Some(before) => format!("{before}; {reason}"),
        None => reason,
    });
}
