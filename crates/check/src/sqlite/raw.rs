//! Pages judged one by one, when header or schema tell nothing.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use formats::sqlite::{BtreePage, Coverage, Geometry};
use results::check::{CheckReport, Confidence, Skipped};

use crate::findings::Findings;
use crate::options::Options;
use crate::progress::Progress;

use super::anchor::Anchor;
use super::context::Draft;
use super::reader::PageReader;
use super::{gap, list, rules, worker};

/// Pages that are looked at to find out the page size.
const SAMPLE_COUNT: u32 = 256;

/// What one page looks like by itself.
enum Look {
    /// A tree page whose bytes are all accounted for.
    Intact,
    /// A tree page with something wrong.
    Wrong(formats::sqlite::Damage),
    Zeros,
    /// Overflow, free or map page, or damaged: cannot be told.
    Other,
}

/// Checks each page by itself.
pub(super) fn check(
    anchor: &Anchor,
    options: &Options,
    started: Instant,
    progress: &mut dyn Progress,
    report: &mut CheckReport,
) {
    let _ = (started, AtomicBool::new(false));
    let mut findings = Findings::new(options.findings_per_rule_max);
    let plans = super::plan::Plans::default();
    let file = anchor.path.display().to_string();
    for damage in &anchor.header_damage {
        let what = worker::fault_text(damage.fault);
        let draft =
            Draft::new(&rules::HEADER, 1, format!("{what}: {}", damage.expected_text()), damage.found_text());
        findings.push(draft.into_finding(&file, &plans));
    }
    let geometry = match anchor.geometry {
        Some(geometry) => Some(geometry),
        None => guess(&anchor.path, anchor.file_bytes),
    };
    report
        .not_checked
        .push(gap("links between pages, rows, index entries", "pages were judged one by one (raw mode)"));
    let Some(geometry) = geometry else {
        report.accounting.bytes_expected = anchor.file_bytes;
        report.unfinished =
            Some("the file has no SQLite header, and no page size makes sense of its pages".to_owned());
        list(findings, report);
        return;
    };
    report.facts.push(("page size assumed".to_owned(), geometry.page_size_bytes.to_string()));
    let outcome = look_at_all(anchor, geometry, &mut findings, options, progress);
    outcome.account(anchor, geometry, report);
    list(findings, report);
}

#[derive(Default)]
struct Counts {
    intact: u64,
    wrong: u64,
    zeros: u64,
    other: u64,
    unreadable: u64,
}

impl Counts {
    fn account(self, anchor: &Anchor, geometry: Geometry, report: &mut CheckReport) {
        let accounting = &mut report.accounting;
        let page_size = u64::from(geometry.page_size_bytes);
        accounting.page_count = self.intact + self.wrong + self.zeros + self.other + self.unreadable;
        accounting.clean_count = self.intact;
        accounting.damaged_count = self.wrong;
        accounting.unreadable_count = self.unreadable;
        accounting.bytes_expected = anchor.file_bytes / page_size * page_size;
        accounting.bytes_read = (accounting.page_count - self.unreadable) * page_size;
        let reasons = [
            (self.zeros, "they hold only zeros"),
            (self.other, "they are no tree pages: overflow, free, map or damaged"),
        ];
        accounting.skipped = reasons
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(page_count, why)| Skipped { why: why.to_owned(), page_count })
            .collect();
        report.counters.worker_count = 1;
    }
}

fn look_at_all(
    anchor: &Anchor,
    geometry: Geometry,
    findings: &mut Findings,
    options: &Options,
    progress: &mut dyn Progress,
) -> Counts {
    let page_size = u64::from(geometry.page_size_bytes);
    let page_count = u32::try_from(anchor.file_bytes / page_size).unwrap_or(u32::MAX);
    let Ok(reader) = plain_reader(&anchor.path, geometry) else {
        return Counts { unreadable: u64::from(page_count), ..Counts::default() };
    };
    let plans = super::plan::Plans::default();
    let file = anchor.path.display().to_string();
    let mut counts = Counts::default();
    let mut coverage = Coverage::default();
    let (mut bytes, mut again) = (Vec::new(), Vec::new());
    for page in 1..=page_count {
        if page % 4096 == 0 {
            progress.advance(crate::progress::Phase::Pass, u64::from(page) * page_size, anchor.file_bytes);
        }
        if reader.read(page, &mut bytes).is_err() {
            counts.unreadable += 1;
            continue;
        }
        match look(&bytes, page, geometry, &mut coverage) {
            Look::Intact => counts.intact += 1,
            Look::Zeros => counts.zeros += 1,
            Look::Other => counts.other += 1,
            Look::Wrong(damage) => {
                let is_same = reader.read(page, &mut again).is_ok() && again == bytes;
                counts.wrong += 1;
                let what = worker::fault_text(damage.fault);
                let expected = format!("{what}: {}", damage.expected_text());
                let mut draft = Draft::new(&rules::PAGE_LAYOUT, page, expected, damage.found_text());
                draft.slot = damage.slot.map(u64::from);
                draft.offset_bytes = Some(u64::from(damage.offset_bytes));
                if is_same && options.findings_per_rule_max > 0 {
                    findings.push(draft.confidence(Confidence::Possible).into_finding(&file, &plans));
                }
            }
        }
    }
    counts
}

fn plain_reader(path: &Path, geometry: Geometry) -> std::io::Result<PageReader> {
    Ok(PageReader {
        file: std::fs::File::open(path)?,
        page_size_bytes: geometry.page_size_bytes as usize,
        log: None,
        read_count: 0.into(),
    })
}

fn look(bytes: &[u8], page: u32, geometry: Geometry, coverage: &mut Coverage) -> Look {
    if bytes.iter().all(|byte| *byte == 0) {
        return Look::Zeros;
    }
    let header_offset = if page == 1 { 100 } else { 0 };
    let (view, mut damage) = BtreePage::new(bytes, header_offset, geometry);
    let Some(view) = view else { return Look::Other };
    view.audit(coverage, |_, _, _| {}, |found| damage = damage.or(Some(found)));
    damage.map_or(Look::Intact, Look::Wrong)
}

/// The page size under which most of the file's pages are intact tree pages.
fn guess(path: &Path, file_bytes: u64) -> Option<Geometry> {
    let mut best = None;
    let mut coverage = Coverage::default();
    for power in 9..=16 {
        let page_size_bytes = 1u32 << power;
        let geometry = Geometry { page_size_bytes, usable_bytes: page_size_bytes, auto_vacuum: false };
        let reader = plain_reader(path, geometry).ok()?;
        let page_count = u32::try_from(file_bytes / u64::from(page_size_bytes)).unwrap_or(u32::MAX);
        let step = (page_count / SAMPLE_COUNT).max(1) as usize;
        let mut bytes = Vec::new();
        let intact: u64 = (1..=page_count)
            .step_by(step)
            .filter(|page| {
                reader.read(*page, &mut bytes).is_ok()
                    && matches!(look(&bytes, *page, geometry, &mut coverage), Look::Intact)
            })
            .count() as u64;
        // Weighed by the bytes that an intact page explains.
        let weight = intact * u64::from(page_size_bytes) * step as u64;
        if weight > best.map_or(0, |(weight, _)| weight) {
            best = Some((weight, geometry));
        }
    }
    best.map(|(_, geometry)| geometry)
}
