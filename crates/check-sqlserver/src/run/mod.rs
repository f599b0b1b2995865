//! A check from the first open to the report.

pub(crate) mod context;
pub(crate) mod coverage;
mod passes;
pub(crate) mod scope;
pub(crate) mod state;
pub(crate) mod summary;
pub(crate) mod worker;

use check::evidence::{Terms, Watch};
use check::matching::hash::Key;
use check::options::Options;
use check::progress::{Phase, Progress};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use disk::scan::Governor;
use formats::sqlserver::{Boot, PAGE_BYTES, PageId, is_version_known};
use results::check::{CheckLevel, CheckReport};

use crate::catalog::Catalog;
use crate::maps::Maps;
use crate::plan::Plan;
use crate::rules;
use crate::run::context::Context;
use crate::run::state::{Phases, Run};
use crate::source::target::{empty_report, kinds, open, refuse_compressed};
use crate::source::{CheckError, FileKind, Source};
use crate::whole;

/// Checks the data files of one database, or the files of one backup. Opens files for reading only.
///
/// I/O: the allocation maps and the base tables, then each file once; objects whose sums differ a second time; each
/// batch of objects beyond the first, all files once more. A backup's page headers are read once before. Memory: about
/// two bytes for each page, the keys of B-tree pages up to half of `memory_bytes_max`, and the buffers of the reader.
///
/// # Errors
/// When a file cannot be read, is none of SQL Server's, or scanning cannot be set up. Damage is no error.
pub fn check(
    paths: &[PathBuf],
    options: &Options,
    progress: &mut dyn Progress,
) -> Result<CheckReport, CheckError> {
    let started = Instant::now();
    let watch = Watch::go_on();
    let kinds = kinds(paths, options.is_raw)?;
    let target = paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
    let mut report = empty_report(target, options.level);
    if kinds.contains(&FileKind::CompressedBackup) {
        refuse_compressed(paths, &mut report);
    } else {
        let is_backup = kinds.contains(&FileKind::Backup);
        let source = open(paths, is_backup)?;
        progress.advance(Phase::Map, 0, 0);
        let mut run = Run {
            source: &source,
            options,
            governor: Arc::new(Governor::new(options.rate_bytes_per_s_max)),
            started,
            lacks_files: false,
            reasons: Vec::new(),
            is_changed: false,
            unmatched: HashSet::new(),
            report,
        };
        run.check(progress)?;
        report = run.report;
        report.counters.extra_read_count += source.read_count.load(Ordering::Relaxed);
        report.counters.extra_read_bytes = report.counters.extra_read_count * PAGE_BYTES as u64;
        settle(watch, &source, &mut report);
    }
    report.counters.elapsed_ns = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
    report.not_checked.sort();
    report.not_checked.dedup();
    Ok(report)
}

/// Takes back what the reads of the files do not allow to be concluded.
fn settle(watch: Watch, source: &Source, report: &mut CheckReport) {
    let place = |path: &Path, offset: u64| source.place(path, offset);
    let terms = Terms {
        is_archive: |_| false,
        rules: &crate::rules::RULES,
        differ: &rules::READINGS_DIFFER,
        unreadable: &rules::UNREADABLE,
        is_served: false,
        judges_changes: false,
        place: &place,
    };
    watch.settle(report, &terms);
}

impl Run<'_> {
    /// The allocation maps of all files, where the level needs them; within half of the memory.
    fn maps(&self, files: &[(u16, u32)], is_deep: bool) -> Result<Maps, CheckError> {
        let is_wanted = self.options.level >= CheckLevel::Page && !self.options.is_raw;
        let bytes_max = self.options.memory_bytes_max / 2;
        let maps = Maps::new(self.source, if is_wanted { files } else { &[] }, is_deep, bytes_max);
        self.source.refuse_beyond(&maps.budget, bytes_max)?;
        Ok(maps)
    }

    fn check(&mut self, progress: &mut dyn Progress) -> Result<(), CheckError> {
        let is_deep = self.options.level >= CheckLevel::Structure && !self.options.is_raw;
        let files = self.source.database_files();
        let mut maps = self.maps(&files, is_deep)?;
        let boot =
            self.source.read(PageId { file: 1, page: 9 }).ok().and_then(|page| Boot::new(&page[..]).ok());
        let whole = whole::look(self.source, boot.as_ref());
        maps.short.clone_from(&whole.short);
        self.describe(boot.as_ref());
        let is_partial = self.look_at_parts(&whole);
        let mut catalog = Catalog::default();
        let mut is_catalogued = false;
        let is_version_known = boot.as_ref().is_none_or(|boot| is_version_known(boot.version));
        if let Some(boot) = boot.as_ref().filter(|_| is_deep && !is_partial && is_version_known) {
            catalog.read_units(self.source, boot);
            maps.add_owners(self.source, &catalog.units);
            self.source.refuse_beyond(&maps.budget, self.options.memory_bytes_max / 2)?;
            catalog.read_tables(self.source, &maps, boot.version);
            is_catalogued = !catalog.units.is_empty();
        }
        self.look_at_files(&mut maps, &catalog, &whole);
        let plan = Plan::new(&catalog, boot.as_ref().map_or(0, |boot| boot.version));
        let context = Context {
            source: self.source,
            maps: &maps,
            plan: &plan,
            // What is inside of pages of other versions is not judged.
            level: if is_version_known {
                self.options.level
            } else {
                self.options.level.min(CheckLevel::Page)
            },
            is_version_known,
            key: Key::new(self.options.seed),
            findings_per_rule_max: self.options.findings_per_rule_max,
            objects: self.batch(0, &plan),
            is_raw: self.options.is_raw,
            checkpoint: boot.as_ref().map(|boot| boot.checkpoint),
            key_bytes_left: AtomicU64::new(self.options.memory_bytes_max / 2),
            keys_are_cut: AtomicBool::new(false),
        };
        let (mut worker, compared) = self.first_pass(&context, progress)?;
        self.report_whole(&context, &whole, &mut worker);
        let mut cross = catalog.findings.clone();
        worker.between.sort_by_key(|draft| draft.page);
        cross.extend(maps.findings.iter().cloned().chain(compared));
        cross.append(&mut worker.between);
        let allocation = cross.len() - catalog.findings.len();
        let mut phases = Phases { allocation, catalog: catalog.findings.len(), ..Phases::default() };
        if is_catalogued && self.report.unfinished.is_none() {
            progress.advance(Phase::Match, 0, 0);
            self.compare(&context, &mut worker, &mut cross, &mut phases);
            self.later_batches(&context, &mut worker, &mut cross, &mut phases, progress)?;
            self.gaps(&context, &plan, &worker);
            self.report.not_checked.append(&mut scope::gaps(&catalog));
        } else if is_deep && is_version_known {
            self.left_out(
                None,
                "owners, links, rows and index entries",
                "the boot page or the catalog cannot be read",
            );
        }
        self.confirm(boot.as_ref(), &maps, &catalog, &mut cross);
        self.add_cross_findings(&context, &mut worker, cross, is_catalogued);
        self.name_phases(&plan, &phases, is_catalogued);
        self.conclude(&context, worker, is_catalogued, whole.missing_page_count);
        Ok(())
    }
}
