//! How the trees of a SQLite file lie on its pages.
//!
//! In detail, every page is looked at once, in physical order, and 16 bytes of it are kept; the order of each tree
//! then comes from the references of its inner pages, without reading again. In the modes limited and sampled, and for
//! a single table, inner pages are read first, and then as many leaves as the mode asks for.

mod facts;
mod pass;
mod tree;

use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Instant;

use formats::sqlite::{Encoding, Geometry, PageKind};
use results::check::{Accounting, NotChecked};
use results::structure::{
    ObjectStructure, StorageKind, StripMap, StructureCounters, StructureMode, StructureReport,
};

use crate::catalog::schema::{SchemaRow, SchemaRows, read_schema};
use crate::run::context::PageSet;
use crate::source::anchor::Anchor;
use crate::source::reader::Brake;
use crate::source::view::Change;
use check::evidence::Watch;
use check::progress::{Phase, Progress};
use check::structure::tally::LevelTally;
use check::structure::walk::{Levels, levels};
use check::structure::{Options, SAMPLE_FROM_PAGES, SAMPLE_STEP, subject};

use crate::structure::facts::PageClass;
use crate::structure::pass::pass;
use crate::structure::tree::{Source, Walk};

/// Measures the trees of a database file, with its log laid over it.
///
/// Opens files for reading only. Cost in the mode detailed: one read of the file, 16 bytes of memory per page and 4
/// per reference; limited and for one table: about one page in a hundred, one by one.
pub fn structure(path: &Path, options: &Options, progress: &mut dyn Progress) -> StructureReport {
    let started = Instant::now();
    let mut report = StructureReport {
        engine: "sqlite".to_owned(),
        target: path.display().to_string(),
        mode: options.mode,
        page_size_bytes: 0,
        facts: Vec::new(),
        objects: Vec::new(),
        free_page_count: None,
        left_out: Vec::new(),
        accounting: Accounting::default(),
        counters: StructureCounters::default(),
        unfinished: None,
    };
    let watch = Watch::begin();
    let brake = Brake::new(options.rate_bytes_per_s_max, options.stop.clone());
    match Anchor::limited(path, brake) {
        Ok(anchor) => match anchor.geometry {
            Some(geometry) => {
                measure(&anchor, geometry, options, progress, &mut report);
                if report.unfinished.is_none() && anchor.change() != Change::Nothing {
                    report.unfinished = Some("the database was changed while it was read".to_owned());
                }
            }
            None => {
                report.unfinished =
                    Some(format!("cannot measure \"{}\": its header has no valid page size", path.display()));
            }
        },
        Err(error) => report.unfinished = Some(error.to_string().replace("cannot check", "cannot measure")),
    }
    check::structure::settle(&watch, false, &mut report);
    report.left_out.sort();
    report.counters.elapsed_ns = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
    report
}

fn measure(
    anchor: &Anchor,
    geometry: Geometry,
    options: &Options,
    progress: &mut dyn Progress,
    report: &mut StructureReport,
) {
    describe(anchor, report);
    progress.advance(Phase::Map, 0, 0);
    let schema = read_schema(&anchor.reader, geometry, anchor.header.encoding, anchor.page_count);
    let rows = wanted(&schema, options, report);
    let is_whole = options.mode == StructureMode::Detailed && options.table.is_none();
    let gathered = if is_whole { pass(anchor, geometry, options, progress, report) } else { None };
    let mut source = match &gathered {
        Some(table) => Source::Gathered(table),
        None => Source::reading(&anchor.reader),
    };
    let taken = PageSet::new(anchor.page_count as usize);
    let mut work =
        Work { anchor, geometry, options, source: &mut source, taken: &taken, counts: Counts::default() };
    let mut own_count = 0;
    for row in &rows {
        let object = work.object(row);
        // They are followed all the same, so that every page of the file is accounted for.
        if options.with_system || options.table.is_some() || !is_own(row) {
            report.objects.push(object);
        } else {
            own_count += 1;
        }
    }
    let counts = work.counts;
    if own_count > 0 {
        left_out(
            report,
            &format!("system tables and indexes: {own_count}"),
            "not selected: --system includes them",
        );
    }
    subject::in_order(&mut report.objects);
    if gathered.is_some() {
        account(anchor, geometry, &schema, counts, report);
    } else {
        let accounting = &mut report.accounting;
        accounting.page_count = counts.sound + counts.damaged;
        (accounting.clean_count, accounting.damaged_count) = (counts.sound, counts.damaged);
    }
    report.counters.extra_read_count = anchor.reader.read_count.load(Ordering::Relaxed);
}

fn describe(anchor: &Anchor, report: &mut StructureReport) {
    let header = &anchor.header;
    report.page_size_bytes = u64::from(header.page_size_bytes);
    report.free_page_count = Some(u64::from(header.freelist_count));
    let mut fact = |name: &str, value: String| report.facts.push((name.to_owned(), value));
    fact("page size", header.page_size_bytes.to_string());
    fact("pages", anchor.page_count.to_string());
    fact("pages on the freelist", header.freelist_count.to_string());
    if let Some(log) = anchor.log {
        fact("WAL frames applied", log.committed_count.to_string());
    }
    if header.encoding != Encoding::Utf8 {
        fact("encoding", "UTF-16".to_owned());
    }
}

/// The rows of the schema that are meant; what cannot be measured is said.
fn wanted(schema: &SchemaRows, options: &Options, report: &mut StructureReport) -> Vec<SchemaRow> {
    let own = SchemaRow {
        is_table: true,
        kind: crate::catalog::ObjectKind::Table,
        name: "sqlite_schema".to_owned(),
        table_name: "sqlite_schema".to_owned(),
        root: 1,
        definition: None,
        page: 1,
        slot: 0,
    };
    let all = std::iter::once(own).chain(schema.rows.iter().cloned());
    let is_meant = |row: &SchemaRow| {
        options.table.as_ref().is_none_or(|wanted| subject::is_meant(&row.table_name, wanted))
    };
    let rows: Vec<SchemaRow> = all.filter(is_meant).collect();
    if schema.is_cut {
        left_out(report, "tables and indexes", "pages or rows of sqlite_schema could not be read");
    }
    if let (Some(table), true) = (&options.table, rows.is_empty()) {
        report.unfinished = Some(format!("there is no table \"{table}\" in \"{}\"", report.target));
    }
    rows
}

/// Whether SQLite keeps the table for itself. Indexes of users' tables have names that begin in the same way.
// EVIDENCE: sqlite fileformat2 2.6, "internal schema objects"
fn is_own(row: &SchemaRow) -> bool {
    row.table_name.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("sqlite_"))
}

fn left_out(report: &mut StructureReport, what: &str, why: &str) {
    report.left_out.push(NotChecked {
        object: None,
        what: what.to_owned(),
        why: why.to_owned(),
        kind: results::check::GapKind::Coverage,
    });
}

/// Where the pages of the file went, and what no tree accounts for.
fn account(
    anchor: &Anchor,
    geometry: Geometry,
    schema: &SchemaRows,
    counts: Counts,
    report: &mut StructureReport,
) {
    let accounting = &mut report.accounting;
    accounting.page_count = u64::from(anchor.page_count);
    accounting.damaged_count = counts.damaged;
    let page_bytes = u64::from(geometry.page_size_bytes);
    let read = accounting.bytes_read / page_bytes;
    accounting.unreadable_count = accounting.page_count.saturating_sub(read + accounting.unreached_count);
    accounting.clean_count = read.saturating_sub(counts.damaged);
    let special = (1..=anchor.page_count)
        .filter(|page| *page == geometry.lock_page() || geometry.is_pointer_map(*page))
        .count() as u64;
    let used = counts.sound + counts.damaged + counts.overflow + special;
    let free = u64::from(anchor.header.freelist_count);
    report.facts.push(("pages of pointer maps and locks".to_owned(), special.to_string()));
    let unclear = (accounting.page_count).saturating_sub(used + free);
    if unclear > 0 && !schema.is_cut {
        let what = format!("{unclear} pages outside all b-trees, overflow chains and the freelist");
        left_out(report, &what, "damaged parent pages, or leaked pages: run `fathom check`");
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    /// Pages of trees whose figures count.
    sound: u64,
    /// Pages of trees that are damaged.
    damaged: u64,
    overflow: u64,
}

/// What is needed to measure one tree after the other.
struct Work<'w, 'a> {
    anchor: &'w Anchor,
    geometry: Geometry,
    options: &'w Options,
    source: &'w mut Source<'a>,
    taken: &'w PageSet,
    counts: Counts,
}

impl Work<'_, '_> {
    fn object(&mut self, row: &SchemaRow) -> ObjectStructure {
        let Levels { levels, lost_count } = levels(
            row.root,
            &mut Walk {
                source: &mut *self.source,
                taken: self.taken,
                page_count: self.anchor.page_count,
                geometry: self.geometry,
            },
        );
        let kind = match self.source.fact(row.root).map(|fact| fact.class) {
            Some(PageClass::Tree(PageKind::TableLeaf | PageKind::TableInterior)) => StorageKind::RowidTree,
            _ if row.is_table => StorageKind::ClusteredTree,
            _ => StorageKind::IndexTree,
        };
        let mut object = ObjectStructure {
            table: row.table_name.clone(),
            index: (!row.is_table).then(|| row.name.clone()),
            index_id: 0,
            kind,
            index_depth: levels.len() as u32,
            levels: Vec::new(),
            page_count: levels.iter().map(|pages| pages.len() as u64).sum(),
            overflow_page_count: None,
            free_page_count: None,
            unused_page_count: None,
            unclear_page_count: lost_count,
            strip: None,
            notes: Vec::new(),
        };
        let is_sample = self.want_leaves(levels.first().map_or(&[], Vec::as_slice));
        let mut overflow = 0;
        for (number, pages) in levels.iter().enumerate() {
            overflow += self.add_level(&mut object, number, pages, is_sample && number == 0);
        }
        if let Some(leaves) = levels.first() {
            let pages = leaves.iter().map(|page| u64::from(*page));
            object.strip = Some(StripMap::thinned(leaves.len(), pages, self.options.strip_points_max));
        }
        if self.options.mode == StructureMode::Detailed {
            object.overflow_page_count = Some(overflow);
            object.page_count += overflow;
            self.counts.overflow += overflow;
        }
        self.note(&mut object, lost_count);
        self.counts.damaged += lost_count;
        object
    }

    /// Reads the leaves that the mode asks for; whether that is a part of them only.
    fn want_leaves(&mut self, leaves: &[u32]) -> bool {
        match self.options.mode {
            StructureMode::Limited => false,
            StructureMode::Sampled if leaves.len() >= SAMPLE_FROM_PAGES => {
                let part: Vec<u32> = leaves.iter().copied().step_by(SAMPLE_STEP).collect();
                self.source.want(&part, self.geometry);
                true
            }
            _ => {
                self.source.want(leaves, self.geometry);
                false
            }
        }
    }

    /// Adds a level; returns the overflow pages of its records.
    fn add_level(
        &mut self,
        object: &mut ObjectStructure,
        number: usize,
        pages: &[u32],
        is_sample: bool,
    ) -> u64 {
        let mut tally = LevelTally::default();
        tally.add_order(pages);
        let (mut overflow, mut damaged, mut looked_at) = (0, 0, 0);
        // The walk has probed a few leaves more than were asked for: those are no sample.
        let step = if is_sample { SAMPLE_STEP } else { 1 };
        let is_looked_at = number > 0 || self.options.mode != StructureMode::Limited;
        for &page in pages.iter().step_by(step).filter(|_| is_looked_at) {
            let Some(fact) = self.source.fact(page) else { continue };
            looked_at += 1;
            match fact.figures(page, self.geometry) {
                Some(figures) if fact.is_leaf() == Some(number == 0) => {
                    overflow += u64::from(fact.overflow_page_count);
                    tally.add_page(&figures);
                }
                _ => damaged += 1,
            }
        }
        object.unclear_page_count += damaged;
        self.counts.damaged += damaged;
        self.counts.sound += looked_at - damaged;
        object.levels.push(tally.level(number as u32, pages.len() as u64, is_sample));
        overflow
    }

    fn note(&self, object: &mut ObjectStructure, lost_count: u64) {
        if object.levels.is_empty() {
            object.notes.push("no level could be followed from the root to the leaves".to_owned());
        } else if lost_count > 0 {
            object.notes.push(format!(
                "{lost_count} pages or links above the leaves are damaged: the pages below them are left out"
            ));
        } else if object.unclear_page_count > 0 {
            let count = object.unclear_page_count;
            object.notes.push(format!("{count} damaged pages are left out of records and fill"));
        }
    }
}
