//! A check from the first open to the report.

pub(crate) mod aftermath;
pub(crate) mod conclusion;
pub(crate) mod context;
pub(crate) mod pass;
pub(crate) mod prepared;
pub(crate) mod resume;
pub(crate) mod state;
mod unreached;
pub(crate) mod worker;

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use formats::sqlite::{Encoding, Geometry};
use results::check::{CheckLevel, CheckReport, NotChecked, Skipped};

use check::evidence::Watch;
use check::matching::hash::Key;
use check::options::Options;
use check::pass::Pass;
use check::progress::{Phase, Progress};
use check::stopped;

use crate::run::aftermath::{accuse_nothing, gaps, report_anchor, report_map, report_schema, settle};
use crate::run::conclusion::{Ending, after_pass, finish};
use crate::run::context::{Context, PageSet};
use crate::run::pass::Passed;
use crate::run::prepared::{Prepared, prepare};
use crate::run::resume::{not_kept, stopped_check};
use crate::run::state::StoppedCheck;
pub(crate) use crate::run::unreached::unreached;
use crate::source::anchor::Anchor;
use crate::source::reader::Brake;
use crate::source::view::Change;

/// Passes over a database that others change meanwhile, before the check gives up.
const ATTEMPT_COUNT: usize = 2;

/// Checks a database file, with its WAL laid over it, as deep as the options say.
///
/// Opens files for reading only, and holds the locks of a reader: writers in rollback modes wait with their commits,
/// checkpoints in WAL mode wait. Where others change the database all the same, everything is read a second time, and
/// nothing is accused when it changed again. What hinders the check is in the report: `unfinished`, `not_checked`, and an
/// accounting that is not complete. Cost: one read of the file, about one page in a hundred twice; memory as
/// [`CheckCounters::memory_bytes_max`] says: 1 byte per page and what `memory_bytes_max` allows. What the map knows
/// about tree pages, 30 to 100 bytes each, goes to a temporary file beyond an eighth of that.
pub fn check(path: &Path, options: &Options, progress: &mut dyn Progress) -> CheckReport {
    let started = Instant::now();
    // A time limit leaves no time for a second pass.
    let attempt_count = if options.time_max.is_some() { 1 } else { ATTEMPT_COUNT };
    let mut attempt = 1;
    loop {
        let (mut report, change) = check_once(path, options, started, progress);
        let is_changed = change != Change::Nothing;
        if change == Change::Later && attempt < attempt_count && report.accounting.unreached_count == 0 {
            attempt += 1;
            continue;
        }
        if is_changed {
            accuse_nothing(&mut report, attempt, change);
        }
        report.counters.elapsed_ns = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        report.not_checked.sort();
        report.not_checked.dedup();
        return report;
    }
}

/// One attempt, and whether the database was changed during it.
fn check_once(
    path: &Path,
    options: &Options,
    started: Instant,
    progress: &mut dyn Progress,
) -> (CheckReport, Change) {
    let mut report = empty_report(path, options.level);
    let watch = Watch::begin();
    // What comes before the pages takes the same time in each call: one that resumes would never come to them.
    let deadline = options.time_max.filter(|_| options.resume_file.is_none()).map(|time| started + time);
    let brake = Brake::new(options.rate_bytes_per_s_max, options.stop.clone()).until(deadline);
    let anchor = match Anchor::limited(path, brake) {
        Ok(anchor) => anchor,
        Err(error) => {
            report.unfinished = Some(error.to_string());
            settle(watch, path, 0, &mut report);
            return (report, Change::Nothing);
        }
    };
    crate::source::view::notice::tell_of_locks(&anchor, options, progress);
    describe(&anchor, &mut report);
    match anchor.geometry {
        Some(geometry) if !options.is_raw => {
            check_anchored(&anchor, geometry, options, started, progress, &mut report);
        }
        _ => crate::page::raw::check(&anchor, options, started, progress, &mut report),
    }
    report.counters.extra_read_count = anchor.reader.read_count.load(Ordering::Relaxed);
    report.counters.extra_read_bytes =
        report.counters.extra_read_count * u64::from(anchor.header.page_size_bytes);
    let change = anchor.change();
    if change == Change::Nothing {
        settle(watch, path, anchor.header.page_size_bytes, &mut report);
    }
    if anchor.is_held() && anchor.view.age() >= crate::source::view::notice::LONG_HOLD {
        let seconds = anchor.view.age().as_secs_f64();
        progress.notice(&format!("the check held its locks for {seconds:.1} s"));
    }
    (report, change)
}

fn empty_report(path: &Path, level: CheckLevel) -> CheckReport {
    CheckReport::empty("sqlite", &path.display().to_string(), level)
}

fn describe(anchor: &Anchor, report: &mut CheckReport) {
    let header = &anchor.header;
    let encoding = match header.encoding {
        Encoding::Utf8 => "UTF-8",
        Encoding::Utf16Le => "UTF-16le",
        Encoding::Utf16Be => "UTF-16be",
    };
    let vacuum = match (header.largest_root, header.incremental_vacuum) {
        (0, _) => "none",
        (_, true) => "incremental",
        (_, false) => "full",
    };
    let mut fact = |name: &str, value: String| report.facts.push((name.to_owned(), value));
    fact("page size", header.page_size_bytes.to_string());
    fact("reserved bytes", header.reserved_bytes.to_string());
    fact("encoding", encoding.to_owned());
    fact("auto-vacuum", vacuum.to_owned());
    fact("schema format", header.schema_format.to_string());
    fact("written by version", header.library_version.to_string());
    if let Some(log) = anchor.log {
        fact("WAL frames applied", log.committed_count.to_string());
    }
}

/// Most memory for ends of long values that workers hold, and as much again for those that they gave away.
const END_BYTES_MAX: u64 = 4 << 20;

fn check_anchored(
    anchor: &Anchor,
    geometry: Geometry,
    options: &Options,
    started: Instant,
    progress: &mut dyn Progress,
    report: &mut CheckReport,
) {
    progress.advance(Phase::Map, 0, 0);
    let page_size_bytes = geometry.page_size_bytes as usize;
    // The buffers of the pass are made while the map is.
    let pass = Pass::new(options, &anchor.reader.brake.governor, page_size_bytes);
    pass.prepare(anchor.file_bytes);
    let prepared = prepare(anchor, geometry, options);
    if anchor.reader.brake.is_hit() {
        report.accounting = unreached(u64::from(anchor.page_count), geometry.page_size_bytes);
        report.unfinished = Some(
            "stopped while the schema and the inner pages were read, before any page was checked".to_owned(),
        );
        return;
    }
    let identity = resume::identity(anchor, options.level);
    let stopped = stopped_check(&identity, options, report);
    report.not_checked.extend(aftermath::journal_gap(anchor));
    report.not_checked.extend(crate::source::tail::beyond(anchor));
    let seed = stopped.as_ref().map_or(options.seed, |stopped| stopped.seed);
    let context = context_of(anchor, geometry, &prepared, options, seed);
    if context.has_checksums {
        report.facts.push(("page checksums".to_owned(), "cksumvfs".to_owned()));
    }
    let end = end_bytes(anchor, &context);
    let mut ending = Ending {
        named: resume::named(&context, stopped.as_ref()),
        is_due: stopped.as_ref().is_some_and(|stopped: &StoppedCheck| stopped.next_offset_bytes >= end),
        stopped: None,
        reading: Pass {
            phase: Phase::SecondPass,
            deadline: options.time_max.map(|time| started + time),
            ..pass
        },
    };
    let mut passed = pass_from(stopped, anchor, &context, options, started, progress, report);
    ending.stopped = kept_pass(anchor, &mut passed, end, options);
    look_at_log_only_pages(anchor, &context, &mut passed);
    report_anchor(anchor, &mut passed.worker);
    let mut skipped = Vec::new();
    if options.level >= CheckLevel::Structure {
        skipped = end_deep(anchor, &context, &prepared, &mut passed, ending, report, progress);
    } else {
        end_shallow(&context, &mut passed, options, report);
    }
    let has_objects = !prepared.schema.resolved.is_empty();
    report.not_checked.extend(crate::source::fields::unused_fields(anchor, &context, has_objects));
    finish(&context, passed, skipped, options.resume_file.is_some(), &prepared, report);
}

/// What all workers share. `seed` is that of the sums.
fn context_of<'a>(
    anchor: &'a Anchor,
    geometry: Geometry,
    prepared: &'a Prepared,
    options: &Options,
    seed: u64,
) -> Context<'a> {
    let end_bytes_max = (options.memory_bytes_max / 8).min(END_BYTES_MAX);
    Context {
        file: anchor.path.display().to_string(),
        level: options.level,
        geometry,
        encoding: anchor.header.encoding,
        library_version: anchor.header.library_version,
        page_count: anchor.page_count,
        reader: &anchor.reader,
        map: &prepared.map,
        plans: &prepared.plans,
        key: Key::new(seed),
        seed,
        findings_per_rule_max: options.findings_per_rule_max,
        run_bytes_max: usize::try_from(end_bytes_max).unwrap_or(usize::MAX) / options.worker_count.max(1),
        end_bytes_max,
        ends: Mutex::default(),
        is_cut: AtomicBool::new(prepared.map.is_cut || prepared.schema.is_cut),
        damaged_pages: PageSet::new(anchor.page_count as usize),
        affected_pages: PageSet::new(anchor.page_count as usize),
        damaged_trees: PageSet::new(prepared.plans.trees.len()),
        losses: Mutex::default(),
        has_checksums: options.level >= CheckLevel::Page && anchor.has_checksums(),
        unreadable_count: 0.into(),
        is_older_format: (1..crate::source::fields::DESCENDING_FORMAT).contains(&anchor.header.schema_format),
        boolean_count: 0.into(),
    }
}

/// Ends a check that has looked into the pages. Returns the pages that could not be judged.
fn end_deep(
    anchor: &Anchor,
    context: &Context<'_>,
    prepared: &Prepared,
    passed: &mut Passed<'_>,
    ending: Ending<'_>,
    report: &mut CheckReport,
    progress: &mut dyn Progress,
) -> Vec<Skipped> {
    report_map(&prepared.map, &mut passed.worker);
    report_schema(prepared, anchor, &mut passed.worker);
    let reading = ending.reading;
    let skipped = after_pass(anchor, context, passed, ending, report, progress);
    crate::virtual_tables::check(context, &prepared.schema, passed, &reading, report);
    gaps(prepared, context.level, context.has_checksums, report);
    skipped
}

/// The check at the end of the pass, when it is to be kept.
fn kept_pass(anchor: &Anchor, passed: &mut Passed<'_>, end: u64, options: &Options) -> Option<StoppedCheck> {
    let path = options.resume_file.as_ref().filter(|_| passed.unreached_count == 0)?;
    match resume::stopped(anchor, &passed.worker, end, passed.bytes_read) {
        Ok(stopped) => Some(stopped),
        Err(error) => {
            passed.trouble = not_kept(Err(error), path).or(passed.trouble.take());
            None
        }
    }
}

/// Ends a check that looks at no page's inside.
fn end_shallow(context: &Context<'_>, passed: &mut Passed<'_>, options: &Options, report: &mut CheckReport) {
    if let Some(path) = options.resume_file.as_ref().filter(|_| passed.unreached_count == 0) {
        passed.trouble = not_kept(stopped::remove(path), path).or(passed.trouble.take());
    }
    if options.level == CheckLevel::Page {
        let what =
            if context.has_checksums { "addresses of pages" } else { "checksums and addresses of pages" };
        report.not_checked.push(NotChecked::out_of_scope(None, what, "the format has none"));
    }
}

/// Runs the pass from where an earlier check was stopped; keeps how far it came when it is stopped again.
fn pass_from<'a>(
    stopped: Option<StoppedCheck>,
    anchor: &Anchor,
    context: &'a Context<'a>,
    options: &Options,
    started: Instant,
    progress: &mut dyn Progress,
    report: &mut CheckReport,
) -> Passed<'a> {
    let page_size = u64::from(context.geometry.page_size_bytes);
    let end = end_bytes(anchor, context);
    let start = stopped.as_ref().map_or(0, |stopped| stopped.next_offset_bytes).min(end);
    let read_before = stopped.as_ref().map_or(0, |stopped| stopped.state.bytes_read);
    let earlier = stopped.map(|stopped| resume::restored(context, stopped));
    let mut passed =
        pass::pass(context, &anchor.path, start..end, options, started, &mut report.counters, progress);
    if let Some(earlier) = earlier {
        passed.worker.merge(earlier);
    }
    passed.bytes_read += read_before;
    if let Some(path) = options.resume_file.as_ref().filter(|_| passed.unreached_count > 0) {
        let next = end - passed.unreached_count * page_size;
        let stopped = resume::stopped(anchor, &passed.worker, next, passed.bytes_read);
        let outcome = stopped.and_then(|stopped| stopped.store(path));
        passed.trouble = not_kept(outcome, path).or(passed.trouble);
    }
    passed
}

/// Where the pass ends: pages behind are in the log only, or not at all.
fn end_bytes(anchor: &Anchor, context: &Context<'_>) -> u64 {
    u64::from(anchor.whole_pages().min(context.page_count)) * u64::from(context.geometry.page_size_bytes)
}

/// Pages that the file is too short for but the log has.
fn look_at_log_only_pages(anchor: &Anchor, context: &Context<'_>, passed: &mut Passed<'_>) {
    let page_size = u64::from(context.geometry.page_size_bytes);
    let in_file = u32::try_from(anchor.file_bytes / page_size).unwrap_or(u32::MAX);
    let mut bytes = Vec::new();
    for page in in_file.saturating_add(1)..=context.page_count {
        if anchor.reader.brake.is_over() {
            passed.unreached_count += u64::from(context.page_count - page) + 1;
            return;
        }
        match anchor.reader.read(page, &mut bytes) {
            Ok(()) => {
                passed.bytes_read += page_size;
                let page_size_bytes = page_size as usize;
                passed.worker.look(&crate::map::chain::Window {
                    first_page: page,
                    bytes: &bytes,
                    page_size_bytes,
                });
            }
            Err(_) => {
                passed.worker.unreadable_count += 1;
                context.is_cut.store(true, Ordering::Relaxed);
            }
        }
    }
}
