//! The pass over all pages, and pages that only the log has.

use disk::scan::{Content, Extent, ScanFile};
use formats::sqlite::Geometry;
use results::structure::StructureReport;

use crate::source::anchor::Anchor;
use crate::structure::facts::FactTable;
use check::pass::{CLAIM_BYTES, Pass, count_structure, file_error, unclaimed_bytes};
use check::progress::Progress;
use check::structure::Options;

/// Looks at every page once.
pub(super) fn pass(
    anchor: &Anchor,
    geometry: Geometry,
    options: &Options,
    progress: &mut dyn Progress,
    report: &mut StructureReport,
) -> Option<FactTable> {
    let page_bytes = u64::from(geometry.page_size_bytes);
    let end = (anchor.file_bytes / page_bytes).min(u64::from(anchor.page_count)) * page_bytes;
    let options = options.of_pass();
    let pass = Pass::new(&options, &anchor.reader.brake.governor, page_bytes as usize);
    let pages_per_chunk = (CLAIM_BYTES as u64 / page_bytes) as u32;
    let outcome = pass.run(
        &[ScanFile::part(&anchor.path, 0..end)],
        progress,
        |_| FactTable::new(pages_per_chunk),
        |table, extent| visit(anchor, geometry, table, &extent),
    );
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(error) => {
            report.unfinished = Some(error.to_string());
            return None;
        }
    };
    count_structure(&outcome, &mut report.counters);
    report.accounting.bytes_expected = u64::from(anchor.page_count) * page_bytes;
    report.accounting.bytes_read = outcome.read_bytes();
    let unclaimed = unclaimed_bytes(&outcome);
    report.accounting.unreached_count = unclaimed / page_bytes;
    if unclaimed > 0 {
        report.unfinished = Some("stopped before the end".to_owned());
    }
    report.unfinished = file_error(&outcome).or(report.unfinished.take());
    let mut table = FactTable::new(pages_per_chunk);
    outcome.states.into_iter().for_each(|state| table.merge(state));
    look_beyond_the_file(anchor, geometry, &mut table, report);
    Some(table)
}

fn visit(anchor: &Anchor, geometry: Geometry, table: &mut FactTable, extent: &Extent<'_>) {
    let page_bytes = geometry.page_size_bytes as usize;
    let first = u32::try_from(extent.offset_bytes / page_bytes as u64 + 1).unwrap_or(u32::MAX);
    match &extent.content {
        Content::Bytes(bytes) => {
            let laid_over = anchor.reader.laid_over(first, bytes);
            for (page, bytes) in (first..).zip(laid_over.chunks_exact(page_bytes)) {
                table.look(page, bytes, geometry);
            }
        }
        Content::Unreadable { length_bytes, .. } | Content::Missing { length_bytes } => {
            table.unreadable_count += length_bytes.div_ceil(page_bytes as u64);
        }
    }
}

/// Pages that the file is too short for: the log may have them.
fn look_beyond_the_file(
    anchor: &Anchor,
    geometry: Geometry,
    table: &mut FactTable,
    report: &mut StructureReport,
) {
    let page_bytes = u64::from(geometry.page_size_bytes);
    let in_file = u32::try_from(anchor.file_bytes / page_bytes).unwrap_or(u32::MAX);
    let mut bytes = Vec::new();
    for page in anchor.reader.pages_in_log(in_file.saturating_add(1), anchor.page_count.saturating_add(1)) {
        if anchor.reader.read(page, &mut bytes).is_ok() {
            report.accounting.bytes_read += page_bytes;
            table.look(page, &bytes, geometry);
        }
    }
    let found_pages = report.accounting.bytes_read / page_bytes;
    let known = found_pages + report.accounting.unreached_count + table.unreadable_count;
    table.unreadable_count += u64::from(anchor.page_count).saturating_sub(known);
}
