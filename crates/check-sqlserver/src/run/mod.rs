//! A check from the first open to the report.

pub(crate) mod context;
pub(crate) mod coverage;
pub(crate) mod scope;
pub(crate) mod summary;
pub(crate) mod worker;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use disk::input::carried;
use disk::scan::{Content, Extent, Governor};
use formats::sqlserver::{Boot, PAGE_BYTES, PageId, is_version_known};
use results::check::{CheckLevel, CheckReport, NotChecked};

use crate::catalog::Catalog;
use crate::finding::Draft;
use crate::maps::Maps;
use crate::matching;
use crate::matching::facts::Facts;
use crate::page::keys::compare_bounds;
use crate::plan::Plan;
use crate::rules;
use crate::run::context::Context;
use crate::run::summary::Phases;
use crate::run::worker::Worker;
use crate::source::target::{CheckError, empty_report, kinds, open, refuse_compressed};
use crate::source::{FileKind, Source};
use crate::whole;
use check::evidence::{Terms, Watch};
use check::options::Options;
use check::pass::{Pass, unclaimed_bytes};
use check::progress::{Phase, Progress};

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

/// A check under way.
pub(super) struct Run<'a> {
    pub(super) source: &'a Source,
    pub(super) options: &'a Options,
    /// The rate limit of all passes.
    governor: Arc<Governor>,
    started: Instant,
    /// Whether files of the database were not named.
    pub(super) lacks_files: bool,
    /// Whether a second reading of the maps and the catalog brought something else.
    pub(super) is_changed: bool,
    /// Indexes that could not be compared with their tables.
    pub(super) unmatched: HashSet<u32>,
    /// Why the check is not complete, beside what the pass itself meets.
    pub(super) reasons: Vec<String>,
    pub(super) report: CheckReport,
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
            key: self.options.seed,
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

    /// Adds the reasons why the check is not complete to what the pass met.
    pub(super) fn add_reasons(&mut self) {
        let unfinished = self.report.unfinished.take();
        let all: Vec<String> = unfinished.into_iter().chain(std::mem::take(&mut self.reasons)).collect();
        self.report.unfinished = Some(all.join("; ")).filter(|all| !all.is_empty());
    }

    /// Looks at all pages, and compares the maps with each other meanwhile.
    fn first_pass<'c>(
        &mut self,
        context: &'c Context<'c>,
        progress: &mut dyn Progress,
    ) -> Result<(Worker<'c>, Vec<Draft>), CheckError> {
        let (worker, compared) = std::thread::scope(|scope| {
            let compared = context.maps.has_owners.then(|| scope.spawn(carried(|| context.maps.compare())));
            let worker = self.pass(context, true, progress);
            (worker, compared.map(std::thread::ScopedJoinHandle::join))
        });
        let compared = match compared {
            None => Vec::new(),
            Some(compared) => compared.unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
        };
        Ok((worker?, compared))
    }

    /// The objects of a batch.
    fn batch(&self, start: u32, plan: &Plan) -> std::ops::Range<u32> {
        let size =
            self.options.object_batch.map_or(u32::MAX, |size| u32::try_from(size.max(1)).unwrap_or(u32::MAX));
        // One more than there are: units without an object have the first one's position.
        start..start.saturating_add(size).min(plan.object_count.max(1))
    }

    pub(super) fn left_out(&mut self, object: Option<&str>, what: &str, why: &str) {
        self.report.not_checked.push(NotChecked {
            object: object.map(str::to_owned),
            what: what.to_owned(),
            why: why.to_owned(),
            kind: results::check::GapKind::Coverage,
        });
    }

    fn pass<'c>(
        &mut self,
        context: &'c Context<'c>,
        is_first: bool,
        progress: &mut dyn Progress,
    ) -> Result<Worker<'c>, CheckError> {
        let total = self.source.scan_bytes();
        let deadline = self.options.time_max.map(|time| self.started + time);
        let pass = Pass { deadline, ..Pass::new(self.options, &self.governor, PAGE_BYTES) };
        let outcome = pass.run(
            &self.source.scan_files(),
            progress,
            |_| Worker::new(context, Facts::new(context.key)),
            |worker, extent| self.visit(worker, &extent),
        )?;
        let unclaimed = unclaimed_bytes(&outcome);
        if is_first {
            let accounting = &mut self.report.accounting;
            accounting.bytes_expected = total;
            accounting.bytes_read = outcome.read_bytes();
            accounting.page_count = total / PAGE_BYTES as u64;
            accounting.unreached_count = unclaimed / PAGE_BYTES as u64;
        }
        if unclaimed > 0 {
            self.report.unfinished = Some("stopped before the end".to_owned());
        }
        pass.count(&outcome, &mut self.report.counters);
        let mut all = Worker::new(context, Facts::new(context.key));
        outcome.states.into_iter().for_each(|state| all.merge(state));
        Ok(all)
    }

    fn visit(&self, worker: &mut Worker<'_>, extent: &Extent<'_>) {
        match &extent.content {
            Content::Bytes(bytes) => {
                let mut offset = extent.offset_bytes;
                for raw in bytes.chunks_exact(PAGE_BYTES) {
                    let page = self.source.page_at(extent.file_index, offset).and_then(|(_, page)| page);
                    worker.look(page, raw);
                    offset += PAGE_BYTES as u64;
                }
            }
            Content::Unreadable { length_bytes, error } => {
                worker.unreadable_count += length_bytes / PAGE_BYTES as u64;
                let page =
                    self.source.page_at(extent.file_index, extent.offset_bytes).and_then(|(_, page)| page);
                let expected = format!("{length_bytes} readable bytes");
                let draft =
                    Draft { page, ..Draft::of_database(&rules::UNREADABLE, expected, error.to_string()) };
                worker.findings.push(worker.context.finding(draft));
            }
            Content::Missing { length_bytes } => worker.unreadable_count += length_bytes / PAGE_BYTES as u64,
        }
    }

    fn compare(
        &mut self,
        context: &Context<'_>,
        worker: &mut Worker<'_>,
        cross: &mut Vec<Draft>,
        phases: &mut Phases,
    ) {
        if worker.newer_count > 0 || self.lacks_files {
            return;
        }
        let mut compared = matching::compare(context, worker);
        if compared.newer_count > 0 {
            return self.give_up(worker, compared.newer_count);
        }
        compared.drafts.append(&mut compare_bounds(context.plan, &worker.bounds, &worker.ends));
        self.report.counters.second_pass_object_count += compared.second_pass_count;
        self.report.not_checked.append(&mut compared.not_checked);
        self.unmatched.extend(compared.unmatched);
        phases.batches += 1;
        phases.objects += compared.drafts.len();
        cross.append(&mut compared.drafts);
        worker.bounds.clear();
        worker.ends.clear();
        worker.facts.sums.clear();
        worker.facts.poisoned.clear();
    }

    /// Batches of objects beyond the first: all pages once more, for their facts only.
    fn later_batches(
        &mut self,
        first: &Context<'_>,
        worker: &mut Worker<'_>,
        cross: &mut Vec<Draft>,
        phases: &mut Phases,
        progress: &mut dyn Progress,
    ) -> Result<(), CheckError> {
        let mut start = first.objects.end;
        while start < first.plan.object_count
            && self.report.unfinished.is_none()
            && worker.newer_count == 0
            && !self.lacks_files
        {
            let context = Context {
                objects: self.batch(start, first.plan),
                key_bytes_left: AtomicU64::new(self.options.memory_bytes_max / 2),
                keys_are_cut: AtomicBool::new(false),
                ..*first
            };
            start = context.objects.end;
            let mut later = self.pass(&context, false, progress)?;
            later.damaged_units = worker.damaged_units.clone();
            if later.newer_count > 0 {
                self.give_up(worker, later.newer_count);
                break;
            }
            self.compare(&context, &mut later, cross, phases);
            worker.newer_count += later.newer_count;
            worker.row_count += later.row_count;
            worker.entry_count += later.entry_count;
            worker.add_records(std::mem::take(&mut later.records));
            worker.order_not_known.extend(later.order_not_known);
            worker.findings.merge(later.findings);
            if context.keys_are_cut.load(Ordering::Relaxed) {
                first.keys_are_cut.store(true, Ordering::Relaxed);
            }
        }
        Ok(())
    }
}
