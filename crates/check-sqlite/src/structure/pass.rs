//! The pass over all pages, and pages that only the log has.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Instant;

use disk::scan::{Content, Extent, ScanFile, ScanOptions, scan};
use formats::sqlite::Geometry;
use results::structure::StructureReport;

use crate::source::anchor::Anchor;
use crate::structure::facts::FactTable;
use check::progress::{Progress, with_ticker};
use check::structure::Options;

/// Bytes of one claim: whole pages of every size.
const CLAIM_BYTES: usize = 1 << 20;

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
    let stop = options.stop.clone().unwrap_or_default();
    let done = Arc::new(AtomicU64::new(0));
    let scan_options = ScanOptions {
        worker_count: options.worker_count.max(1),
        extent_bytes: CLAIM_BYTES,
        governor: Some(Arc::clone(&anchor.reader.brake.governor)),
        retry_bytes: page_bytes as usize,
        want_direct: options.want_direct,
        stop: Some(Arc::clone(&stop)),
        progress_bytes: Some(Arc::clone(&done)),
        ..ScanOptions::default()
    };
    let pages_per_chunk = (CLAIM_BYTES as u64 / page_bytes) as u32;
    let files = [ScanFile::part(&anchor.path, 0..end)];
    let started = Instant::now();
    let outcome = with_ticker(None, &stop, &done, end, progress, || {
        scan(
            &files,
            &scan_options,
            |_| FactTable::new(pages_per_chunk),
            |table, extent| visit(anchor, geometry, table, &extent),
        )
    });
    report.counters.pass_ns = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(error) => {
            report.unfinished = Some(error.to_string());
            return None;
        }
    };
    let way = if outcome.page_cache_reason().is_none() { "direct" } else { "through the page cache" };
    report.counters.reader = format!("{}, {way}", outcome.backend.engine);
    report.counters.worker_count = outcome.states.len() as u64;
    report.counters.worker_cpu_ns = outcome.worker_cpu_ns;
    report.accounting.bytes_expected = u64::from(anchor.page_count) * page_bytes;
    report.accounting.bytes_read = outcome.read_bytes();
    let unclaimed: u64 = outcome.files.iter().map(|file| file.unclaimed_bytes).sum();
    report.accounting.unreached_count = unclaimed / page_bytes;
    if unclaimed > 0 {
        report.unfinished = Some("stopped before the end".to_owned());
    }
    if let Some(error) = outcome.files.iter().find_map(|file| file.error.clone()) {
        report.unfinished = Some(error);
    }
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
