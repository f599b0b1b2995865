//! How tables and indexes lie on their pages: the columns of dm_db_index_physical_stats, from the file.
//!
//! Every page is looked at once, in physical order; of leaves, number and successor are kept, eight bytes each.

mod object;
mod seen;
pub(crate) mod sparse;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use disk::scan::{Content, Extent, Governor};
use formats::sqlserver::{Header, PAGE_BYTES, PageId, audit_protection, product};
use results::check::{Accounting, NotChecked, Skipped};
use results::structure::{
    LevelStructure, ObjectStructure, StripMap, StructureCounters, StructureMode, StructureReport,
};

use crate::catalog::prepared::{Prepared, prepare};
use crate::maps::Use;
use crate::plan::Unit;
use crate::source::CheckError;
use crate::structure::object::object_of;
use crate::structure::seen::{position, runs_of, see};
use crate::structure::sparse::Sparse;
use crate::whole::report_missing;
use check::pass::{Pass, count_structure, unclaimed_bytes};
use check::progress::{Phase, Progress};
use check::structure::tally::LevelTally;
use check::structure::{Options, subject};

/// Measures the tables and indexes in data files or in a backup.
///
/// I/O: maps and base tables; then, in detail, all pages once in physical order; else the pages above the leaves one by
/// one, and in a sample some of the leaves.
///
/// # Errors
/// When a file cannot be read, is none of SQL Server's, or scanning cannot be set up. Damage is no error.
pub fn structure(
    paths: &[PathBuf],
    options: &Options,
    progress: &mut dyn Progress,
) -> Result<StructureReport, CheckError> {
    let started = Instant::now();
    let mut report = StructureReport {
        engine: "sqlserver".to_owned(),
        target: paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", "),
        mode: options.mode,
        page_size_bytes: PAGE_BYTES as u64,
        facts: Vec::new(),
        objects: Vec::new(),
        free_page_count: None,
        left_out: Vec::new(),
        accounting: Accounting::default(),
        counters: StructureCounters::default(),
        unfinished: None,
    };
    let watch = check::evidence::Watch::begin();
    progress.advance(Phase::Map, 0, 0);
    match prepare(paths)? {
        Ok(prepared) if options.mode == StructureMode::Detailed => {
            let all = measure(&prepared, options, progress, &mut report)?;
            report.free_page_count = Some(all.free_count);
            describe(&prepared, options, &mut report, |key, unit| object(key, unit, &all, options));
            report_missing(&prepared, &mut report);
        }
        Ok(prepared) => {
            let mut sparse = Sparse::new(&prepared, options);
            describe(&prepared, options, &mut report, |key, unit| sparse.object(key, unit));
            sparse.account(&mut report);
            report_missing(&prepared, &mut report);
        }
        Err(why) => report.unfinished = Some(format!("cannot measure \"{}\": {why}", report.target)),
    }
    check::structure::settle(&watch, false, &mut report);
    report.counters.elapsed_ns = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
    Ok(report)
}

/// What was seen of one level.
#[derive(Default)]
struct Level {
    tally: LevelTally,
    page_count: u64,
    stub_count: u64,
    /// Page and successor; of leaves only.
    links: Vec<(PageId, PageId)>,
    /// Pages without a predecessor.
    firsts: Vec<PageId>,
}

/// Object, index, whether a page is a leaf, and the level in its header.
type LevelKey = (u32, u32, bool, u8);

/// What one worker has seen.
#[derive(Default)]
struct Gathered {
    levels: HashMap<LevelKey, Level>,
    overflow: HashMap<(u32, u32), u64>,
    clean_count: u64,
    damaged_count: u64,
    free_count: u64,
    unreadable_count: u64,
}

fn measure(
    prepared: &Prepared,
    options: &Options,
    progress: &mut dyn Progress,
    report: &mut StructureReport,
) -> Result<Gathered, CheckError> {
    let options = options.of_pass();
    let governor = Arc::new(Governor::new(options.rate_bytes_per_s_max));
    let outcome = Pass::new(&options, &governor, PAGE_BYTES).run(
        &prepared.source.scan_files(),
        progress,
        |_| Gathered::default(),
        |gathered, extent| visit(prepared, gathered, &extent),
    )?;
    count_structure(&outcome, &mut report.counters);
    let (expected, read) = (prepared.source.scan_bytes(), outcome.read_bytes());
    let unclaimed = unclaimed_bytes(&outcome);
    let mut all = Gathered::default();
    outcome.states.into_iter().for_each(|state| all.merge(state));
    report.accounting = Accounting {
        page_count: expected / PAGE_BYTES as u64,
        clean_count: all.clean_count,
        damaged_count: all.damaged_count,
        affected_count: 0,
        skipped: vec![Skipped { why: "not in use".to_owned(), page_count: all.free_count }],
        unreadable_count: all.unreadable_count,
        unreached_count: unclaimed / PAGE_BYTES as u64,
        bytes_expected: expected,
        bytes_read: read,
    };
    if unclaimed > 0 {
        report.unfinished = Some("stopped before the end".to_owned());
    }
    Ok(all)
}

fn visit(prepared: &Prepared, gathered: &mut Gathered, extent: &Extent<'_>) {
    match &extent.content {
        Content::Bytes(bytes) => {
            let mut offset = extent.offset_bytes;
            for raw in bytes.chunks_exact(PAGE_BYTES) {
                let page = prepared.source.page_at(extent.file_index, offset).and_then(|(_, page)| page);
                look(prepared, gathered, page, raw);
                offset += PAGE_BYTES as u64;
            }
        }
        Content::Unreadable { length_bytes, .. } | Content::Missing { length_bytes } => {
            gathered.unreadable_count += length_bytes / PAGE_BYTES as u64;
        }
    }
}

fn look(prepared: &Prepared, gathered: &mut Gathered, page: Option<PageId>, raw: &[u8]) {
    let usage = page.map_or(Use::Free, |page| prepared.maps.use_of(page));
    let (Use::Unit(number), Some(page)) = (usage, page) else {
        let counter = if usage == Use::Free { &mut gathered.free_count } else { &mut gathered.clean_count };
        *counter += 1;
        return;
    };
    let Some(unit) = prepared.plan.units.get(number as usize) else { return };
    let key = (unit.object, unit.index_id);
    if unit.kind != 1 {
        let header = Header::new(raw);
        let mut is_sound = header.page == page && unit.is_stated_by(&header);
        audit_protection(raw, &header, |_| is_sound = false);
        *gathered.overflow.entry(key).or_default() += 1;
        gathered.clean_count += u64::from(is_sound);
        gathered.damaged_count += u64::from(!is_sound);
        return;
    }
    let Some(seen) = see(unit, page, raw, |_, _| {}) else {
        gathered.damaged_count += 1;
        return;
    };
    gathered.clean_count += 1;
    let Header { level, next, previous, .. } = seen.header;
    let level = gathered.levels.entry((key.0, key.1, seen.is_leaf, level)).or_default();
    level.tally.add_page(&seen.figures);
    level.page_count += 1;
    level.stub_count += seen.stub_count;
    if seen.is_leaf {
        level.links.push((page, next));
    }
    if unit.is_tree && previous.is_none() {
        level.firsts.push(page);
    }
    if unit.is_tree && !next.is_none() {
        level.tally.add_link(position(page), position(next));
    }
}

impl Gathered {
    fn merge(&mut self, other: Self) {
        for (key, mut level) in other.levels {
            let mine = self.levels.entry(key).or_default();
            mine.tally.merge(&level.tally);
            mine.page_count += level.page_count;
            mine.stub_count += level.stub_count;
            mine.links.append(&mut level.links);
            mine.firsts.append(&mut level.firsts);
        }
        for (key, count) in other.overflow {
            *self.overflow.entry(key).or_default() += count;
        }
        self.clean_count += other.clean_count;
        self.damaged_count += other.damaged_count;
        self.free_count += other.free_count;
        self.unreadable_count += other.unreadable_count;
    }
}

/// The facts of the database, and all objects that are meant.
fn describe(
    prepared: &Prepared,
    options: &Options,
    report: &mut StructureReport,
    mut object: impl FnMut((u32, u32), &Unit) -> ObjectStructure,
) {
    let boot = &prepared.boot;
    let mut fact = |name: &str, value: String| report.facts.push((name.to_owned(), value));
    fact("database", boot.name.clone());
    fact("version", format!("{} ({})", boot.version, product(boot.version)));
    // One object for all partitions of an index.
    let mut objects: BTreeMap<(u32, u32), &Unit> = BTreeMap::new();
    for unit in prepared.plan.units.iter().filter(|unit| unit.kind == 1) {
        objects.entry((unit.object, unit.index_id)).or_insert(unit);
    }
    let (mut own_count, mut compressed) = (0, Vec::new());
    for (key, unit) in objects {
        let is_meant = match &options.table {
            Some(table) => subject::is_meant(&unit.table, table),
            None => options.with_system || !unit.is_system,
        };
        if !is_meant {
            own_count += u64::from(unit.is_system);
        } else if unit.is_compressed {
            compressed.push(unit.name.clone());
        } else {
            report.objects.push(object(key, unit));
        }
    }
    let mut left_out = |object: Option<String>, what: String, why: &str| {
        report.left_out.push(NotChecked {
            object,
            what,
            why: why.to_owned(),
            kind: results::check::GapKind::Coverage,
        });
    };
    if own_count > 0 && options.table.is_none() {
        let what = format!("system tables and indexes: {own_count}");
        left_out(None, what, "not selected: --system includes them");
    }
    for name in compressed {
        left_out(Some(name), "records".to_owned(), "compressed records are not read");
    }
    report.left_out.sort();
    report.objects.sort_by(|left, right| (&left.table, left.index_id).cmp(&(&right.table, right.index_id)));
}

fn object(key: (u32, u32), unit: &Unit, all: &Gathered, options: &Options) -> ObjectStructure {
    let mut levels: Vec<(&LevelKey, &Level)> =
        all.levels.iter().filter(|((object, index, ..), _)| (*object, *index) == key).collect();
    levels.sort_by_key(|((_, _, is_leaf, level), _)| (!*is_leaf, *level));
    let leaf = levels.iter().find(|((_, _, is_leaf, _), _)| *is_leaf).map(|(_, level)| *level);
    let described: Vec<LevelStructure> = (0u32..)
        .zip(&levels)
        .map(|(number, (_, level))| {
            let mut tally = level.tally;
            if !unit.is_tree {
                tally.add_runs(level.page_count, run_count(level));
            }
            let mut described = tally.level(number, level.page_count, false);
            described.ghost_record_count = described.ghost_record_count.or(Some(0));
            if !unit.is_tree {
                described.forwarded_record_count = Some(level.stub_count);
            }
            described
        })
        .collect();
    let overflow = all.overflow.get(&key).copied();
    let strip = leaf.filter(|_| unit.is_tree).map(|leaf| strip(leaf, options.strip_points_max));
    object_of(unit, described, overflow, strip)
}

/// Stretches of neighbouring pages of a heap.
fn run_count(level: &Level) -> u64 {
    runs_of(level.links.iter().map(|(page, _)| *page))
}

/// The leaves in the order of their links.
fn strip(leaf: &Level, points_max: usize) -> StripMap {
    let next: HashMap<PageId, PageId> = leaf.links.iter().copied().collect();
    let mut seen: HashSet<PageId> = HashSet::new();
    let mut order = Vec::with_capacity(next.len());
    let mut firsts = leaf.firsts.clone();
    firsts.sort_unstable();
    for first in firsts {
        let mut at = Some(first);
        while let Some(page) = at.filter(|page| seen.insert(*page)) {
            order.push(u64::from(page.page));
            at = next.get(&page).copied().filter(|next| !next.is_none());
        }
    }
    StripMap::thinned(order.len(), order.into_iter(), points_max)
}
