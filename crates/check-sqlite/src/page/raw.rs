//! Pages judged one by one, when header or schema tell nothing.

use std::path::Path;
use std::time::Instant;

use disk::scan::{Content, Extent, ScanFile};
use formats::sqlite::{Coverage, Geometry};
use results::check::{CheckLevel, CheckReport, Confidence, NotChecked, Share, Skipped};

use check::advice;
use check::advice::Sources;
use check::findings::Findings;
use check::holes::data_end;
use check::options::Options;
use check::pass::{Pass, file_error, unclaimed_bytes};
use check::progress::Progress;
use check::stopped;
use check::stopped::StoppedCheck;
use serde::{Deserialize, Serialize};

use crate::finding::Draft;
use crate::page::faults::fault_text;
use crate::page::look::{Look, look};
use crate::rules;
use crate::run::resume;
use crate::run::resume::{envelope, not_kept, stopped_check};
use crate::source::anchor::Anchor;
use crate::source::reader::{Brake, PageReader};

/// Pages that are looked at to find out the page size.
const SAMPLE_COUNT: u32 = 256;

/// Checks each page by itself.
pub(crate) fn check(
    anchor: &Anchor,
    options: &Options,
    started: Instant,
    progress: &mut dyn Progress,
    report: &mut CheckReport,
) {
    let mut findings = Findings::new(&crate::RULES, options.findings_per_rule_max);
    let plans = crate::plan::Plans::default();
    let file = anchor.path.display().to_string();
    for draft in crate::run::aftermath::header_drafts(anchor) {
        findings.push(draft.into_finding(&file, &plans));
    }
    report.not_checked.extend(crate::run::aftermath::journal_gap(anchor));
    for draft in crate::run::aftermath::side_file_drafts(anchor) {
        findings.push(draft.into_finding(&file, &plans));
    }
    let geometry = match anchor.geometry {
        Some(geometry) => Some(geometry),
        None => guess(&anchor.path, anchor.file_bytes, &anchor.reader.brake),
    };
    report.not_checked.push(NotChecked::coverage(
        None,
        "addresses of pages, links between them, the free list, rows against index entries, keys and values",
        "raw mode verifies each page by itself",
    ));
    let Some(geometry) = geometry else {
        report.accounting.bytes_expected = anchor.file_bytes;
        no_database(anchor, report);
        return;
    };
    if anchor.reader.brake.is_hit() {
        let pages = anchor.file_bytes / u64::from(geometry.page_size_bytes);
        report.accounting = crate::run::unreached(pages, geometry.page_size_bytes);
        report.unfinished = Some("stopped before the page size was known".to_owned());
        advice::conclude(report, findings.into_lists(), &Sources::default());
        return;
    }
    report.facts.push(("page size assumed".to_owned(), geometry.page_size_bytes.to_string()));
    if anchor.log.is_some_and(|log| log.committed_count > 0) {
        report.not_checked.push(NotChecked::coverage(
            None,
            "pages in the log",
            "raw mode reads the database file only",
        ));
    }
    let now = Instant::now();
    let page_bytes = geometry.page_size_bytes as usize;
    // Looking for the page size may have taken all the time; some is left for the pages all the same.
    let deadline = options.time_max.map(|time| (started + time).max(now + time / 10));
    let reading = Pass { deadline, ..Pass::new(options, &anchor.reader.brake.governor, page_bytes) };
    look_at_all(anchor, geometry, reading, progress, (&mut findings, report));
    if report.accounting.clean_count == 0 && !anchor.begins_as_database() {
        report.accounting = crate::run::unreached(report.accounting.page_count, geometry.page_size_bytes);
        report.coverage = results::check::Coverage::default();
        no_database(anchor, report);
        return;
    }
    advice::conclude(report, findings.into_lists(), &Sources::default());
}

/// Ends the check of a file of which nothing says that it ever was a database: that is no damage.
fn no_database(anchor: &Anchor, report: &mut CheckReport) {
    report.not_checked.clear();
    report.unfinished = Some(format!(
        "cannot check \"{}\": it is not a SQLite database: its first 100 bytes have no valid header field, and no page is a valid b-tree page",
        anchor.path.display()
    ));
}

/// What one worker has seen. Merges by addition.
struct RawWorker<'a> {
    geometry: Geometry,
    reader: &'a PageReader,
    file: &'a str,
    findings: Findings,
    coverage: Coverage,
    again: Vec<u8>,
    intact: u64,
    wrong: u64,
    zeros: u64,
    other: u64,
    unreadable: u64,
    /// Pages whose bytes differed between two reads.
    changed: u64,
}

/// What a stopped check keeps beside its findings.
#[derive(Serialize, Deserialize)]
struct State {
    /// Bytes read so far.
    bytes_read: u64,
    /// How many pages were intact, damaged, zeros, of no known kind, unreadable, and changed.
    counts: [u64; 6],
}

fn look_at_all(
    anchor: &Anchor,
    geometry: Geometry,
    reading: Pass<'_>,
    progress: &mut dyn Progress,
    (findings, report): (&mut Findings, &mut CheckReport),
) {
    let page_size = u64::from(geometry.page_size_bytes);
    let page_count = anchor.file_bytes / page_size;
    // A hole at the end of a sparse file holds zeros, and is not read.
    let end = data_end(&anchor.reader.file, anchor.file_bytes).div_ceil(page_size).min(page_count);
    let hole_count = page_count - end;
    let end = end * page_size;
    let file = anchor.path.display().to_string();
    report.accounting.page_count = page_count;
    report.accounting.bytes_expected = end;
    report.accounting.unreached_count = page_count;
    let reader = match plain_reader(&anchor.path, geometry, anchor.reader.brake.clone()) {
        Ok(reader) => reader,
        Err(error) => {
            report.unfinished = Some(format!("could not open \"{file}\" again: {error}"));
            return;
        }
    };
    let most = reading.options.findings_per_rule_max;
    let mut all = RawWorker::new(geometry, &reader, &file, most);
    let mut identity = resume::identity(anchor, report.level);
    identity.push(page_size);
    let stopped = stopped_check(&identity, reading.options, report);
    let (start, read_before) = stopped.map_or((0, 0), |stopped| all.go_on_from(stopped, most));
    let start = start.min(end);
    let parts = [ScanFile::part(&anchor.path, start..end)];
    let make = |_| RawWorker::new(geometry, &reader, &file, most);
    let outcome = match reading.run(&parts, progress, make, RawWorker::visit) {
        Ok(outcome) => outcome,
        Err(error) => {
            report.unfinished = Some(error.to_string());
            return;
        }
    };
    reading.count(&outcome, &mut report.counters);
    let unclaimed = unclaimed_bytes(&outcome);
    report.unfinished = file_error(&outcome);
    report.accounting.bytes_read = read_before + outcome.read_bytes();
    report.accounting.unreached_count = unclaimed / page_size;
    if unclaimed > 0 {
        let left = unclaimed / page_size;
        report.unfinished = Some(format!("stopped before {left} pages of {page_count}"));
    }
    outcome.states.into_iter().for_each(|worker| all.merge(worker));
    if let Some(path) = &reading.options.resume_file {
        let kept = if unclaimed == 0 {
            stopped::remove(path)
        } else {
            all.stopped(identity, end - unclaimed, report.accounting.bytes_read).store(path)
        };
        report.unfinished = not_kept(kept, path).or(report.unfinished.take());
    }
    findings.merge(std::mem::replace(&mut all.findings, Findings::new(&crate::RULES, most)));
    all.zeros += hole_count;
    all.account(report);
}

impl<'a> RawWorker<'a> {
    fn new(geometry: Geometry, reader: &'a PageReader, file: &'a str, findings_per_rule_max: usize) -> Self {
        Self {
            geometry,
            reader,
            file,
            findings: Findings::new(&crate::RULES, findings_per_rule_max),
            coverage: Coverage::default(),
            again: Vec::new(),
            intact: 0,
            wrong: 0,
            zeros: 0,
            other: 0,
            unreadable: 0,
            changed: 0,
        }
    }

    fn visit(&mut self, extent: Extent<'_>) {
        let page_size = self.geometry.page_size_bytes as usize;
        let first = u32::try_from(extent.offset_bytes / page_size as u64 + 1).unwrap_or(u32::MAX);
        match extent.content {
            Content::Bytes(bytes) => {
                for (index, bytes) in bytes.chunks_exact(page_size).enumerate() {
                    self.page(first.saturating_add(index as u32), bytes);
                }
            }
            Content::Unreadable { length_bytes, error } => {
                self.unreadable(first, length_bytes, &error.to_string())
            }
            Content::Missing { length_bytes } => {
                self.unreadable(first, length_bytes, "the file ends before the page");
            }
        }
    }

    fn unreadable(&mut self, first: u32, length_bytes: u64, error: &str) {
        let count = length_bytes.div_ceil(u64::from(self.geometry.page_size_bytes));
        self.unreadable += count;
        for page in (first..).take(usize::try_from(count).unwrap_or(usize::MAX)) {
            let draft = Draft::new(&rules::READ_ERROR, page, "the bytes of the page", error);
            self.findings.push(draft.into_finding(self.file, &crate::plan::Plans::default()));
        }
    }

    fn page(&mut self, page: u32, bytes: &[u8]) {
        match look(bytes, page, self.geometry, &mut self.coverage) {
            Look::Intact => self.intact += 1,
            Look::Zeros => self.zeros += 1,
            Look::Other => self.other += 1,
            Look::Wrong(damage) => {
                self.wrong += 1;
                if self.reader.read(page, &mut self.again).is_err() || self.again != bytes {
                    self.changed += 1;
                    return;
                }
                let what = fault_text(damage.fault);
                let expected = format!("{what}: {}", damage.expected_text());
                let mut draft = Draft::new(&rules::PAGE_LAYOUT, page, expected, damage.found_text());
                draft.slot = damage.slot.map(u64::from);
                draft.offset_bytes = Some(u64::from(damage.offset_bytes));
                let draft = draft.confidence(Confidence::Possible);
                self.findings.push(draft.into_finding(self.file, &crate::plan::Plans::default()));
            }
        }
    }

    /// What was seen so far, to go on from there.
    fn stopped(&self, identity: Vec<u64>, next_offset_bytes: u64, bytes_read: u64) -> StoppedCheck<State> {
        let counts = [self.intact, self.wrong, self.zeros, self.other, self.unreadable, self.changed];
        envelope(identity, 0, next_offset_bytes, &self.findings, State { bytes_read, counts })
    }

    /// Takes over what an earlier call had seen; returns where that ended and how much it had read, in bytes.
    fn go_on_from(&mut self, stopped: StoppedCheck<State>, findings_per_rule_max: usize) -> (u64, u64) {
        self.findings = Findings::from_stored(&crate::RULES, findings_per_rule_max, stopped.findings);
        let counts = [
            &mut self.intact,
            &mut self.wrong,
            &mut self.zeros,
            &mut self.other,
            &mut self.unreadable,
            &mut self.changed,
        ];
        for (count, before) in counts.into_iter().zip(stopped.state.counts) {
            *count = before;
        }
        (stopped.next_offset_bytes, stopped.state.bytes_read)
    }

    fn merge(&mut self, other: Self) {
        self.findings.merge(other.findings);
        self.intact += other.intact;
        self.wrong += other.wrong;
        self.zeros += other.zeros;
        self.other += other.other;
        self.unreadable += other.unreadable;
        self.changed += other.changed;
    }

    fn account(self, report: &mut CheckReport) {
        let total_count = report.accounting.page_count;
        let looked_at = self.intact + self.wrong + self.zeros + self.other;
        let share = |verified_count| Some(Share { verified_count, total_count });
        report.coverage = results::check::Coverage {
            pages: share(looked_at),
            page_contents: share(self.intact + self.wrong).filter(|_| report.level >= CheckLevel::Structure),
            ..results::check::Coverage::default()
        };
        let accounting = &mut report.accounting;
        accounting.clean_count = self.intact;
        accounting.damaged_count = self.wrong;
        accounting.unreadable_count = self.unreadable;
        let reasons = [
            (self.zeros, "they are all zeros"),
            (self.other, "they are not b-tree pages: overflow, free, pointer map or damaged"),
        ];
        accounting.skipped = reasons
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(page_count, why)| Skipped { why: why.to_owned(), page_count })
            .collect();
        if self.changed > 0 {
            report.unfinished = Some(format!("{} pages changed while they were read", self.changed));
        }
    }
}

fn plain_reader(path: &Path, geometry: Geometry, brake: Brake) -> std::io::Result<PageReader> {
    Ok(PageReader {
        file: disk::input::File::open(path)?,
        page_size_bytes: geometry.page_size_bytes as usize,
        log: None,
        read_count: 0.into(),
        brake,
    })
}

/// The page size under which most of the file's pages are intact tree pages.
fn guess(path: &Path, file_bytes: u64, brake: &Brake) -> Option<Geometry> {
    let mut best = None;
    let mut coverage = Coverage::default();
    for power in 9..=16 {
        let page_size_bytes = 1u32 << power;
        let geometry = Geometry { page_size_bytes, usable_bytes: page_size_bytes, auto_vacuum: false };
        let reader = plain_reader(path, geometry, brake.clone()).ok()?;
        let page_count = u32::try_from(file_bytes / u64::from(page_size_bytes)).unwrap_or(u32::MAX);
        let step = (page_count / SAMPLE_COUNT).max(1) as usize;
        let mut bytes = Vec::new();
        let intact: u64 = (1..=page_count)
            .step_by(step)
            .take_while(|_| !brake.is_over())
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
