//! The modes of `structure` that read the pages above the leaves only, and some of the leaves.

use std::collections::{HashMap, HashSet};

use formats::sqlserver::{PAGE_BYTES, PageId};
use results::structure::{ObjectStructure, StripMap, StructureMode, StructureReport};

use crate::catalog::prepared::Prepared;
use crate::plan::Unit;
use crate::structure::object::object_of;
use crate::structure::seen::{Seen, position, runs_of, see};
use check::structure::tally::LevelTally;
use check::structure::{Options, SAMPLE_FROM_PAGES, SAMPLE_STEP};

/// Levels of a tree that are followed; with two entries a page, 64 would hold more pages than a file has.
const DEPTH_MAX: usize = 64;

/// Reads page by page, and counts what it reads.
pub(crate) struct Sparse<'a> {
    prepared: &'a Prepared,
    options: &'a Options,
    /// Pages of heaps and of large values, by allocation unit.
    allocated: HashMap<u32, Vec<PageId>>,
    read_count: u64,
    damaged_count: u64,
}

/// One level, whose pages are known in their order.
#[derive(Default)]
struct Level {
    pages: Vec<PageId>,
    tally: LevelTally,
    is_sample: bool,
    stub_count: u64,
}

impl<'a> Sparse<'a> {
    pub(crate) fn new(prepared: &'a Prepared, options: &'a Options) -> Self {
        let units = &prepared.plan.units;
        let is_wanted = |unit: u32| units.get(unit as usize).is_some_and(|unit| !unit.is_tree);
        let allocated = prepared.maps.pages_by_unit(is_wanted);
        Self { prepared, options, allocated, read_count: 0, damaged_count: 0 }
    }

    /// Describes a heap or an index with all its partitions.
    pub(crate) fn object(&mut self, key: (u32, u32), first: &Unit) -> ObjectStructure {
        let prepared = self.prepared;
        let units = (0u32..).zip(&prepared.plan.units);
        let own: Vec<(u32, &Unit)> = units.filter(|(_, unit)| (unit.object, unit.index_id) == key).collect();
        let before = self.damaged_count;
        let mut levels: Vec<Level> = Vec::new();
        for (number, unit) in own.iter().filter(|(_, unit)| unit.kind == 1) {
            let of_unit = if unit.is_tree { self.tree(unit) } else { vec![self.heap(*number, unit)] };
            // What was never filled has no page, and no level.
            let of_unit = of_unit.into_iter().filter(|level| !level.pages.is_empty());
            for (index, mut level) in of_unit.enumerate() {
                if levels.len() <= index {
                    levels.push(Level::default());
                }
                let Some(into) = levels.get_mut(index) else { continue };
                into.tally.merge(&level.tally);
                into.pages.append(&mut level.pages);
                into.is_sample |= level.is_sample;
                into.stub_count += level.stub_count;
            }
        }
        // By the maps: no page of them is read.
        let large = own.iter().filter(|(_, unit)| unit.kind != 1);
        let overflow = large.map(|(number, _)| self.allocated.get(number).map_or(0, Vec::len) as u64).sum();
        let overflow = Some(overflow).filter(|count| *count > 0);
        let strip = levels.first().filter(|_| first.is_tree).map(|leaves| {
            let pages = leaves.pages.iter().map(|page| u64::from(page.page));
            StripMap::thinned(leaves.pages.len(), pages, self.options.strip_points_max)
        });
        let described = (0u32..).zip(&levels).map(|(number, level)| {
            let mut described = level.tally.level(number, level.pages.len() as u64, level.is_sample);
            if !first.is_tree && described.looked_at_count > 0 {
                described.forwarded_record_count = Some(level.stub_count).filter(|_| !described.is_estimate);
            }
            described
        });
        let mut object = object_of(first, described.collect(), overflow, strip);
        object.unclear_page_count = self.damaged_count - before;
        if object.unclear_page_count > 0 {
            let why = "pages below damaged pages, and records of damaged leaves, are left out";
            object.notes.push(why.to_owned());
        }
        object
    }

    /// The levels of a tree, leaves first, by the entries of the pages above them.
    fn tree(&mut self, unit: &Unit) -> Vec<Level> {
        let mut levels: Vec<Level> = Vec::new();
        let mut pages = vec![unit.root];
        let mut taken: HashSet<PageId> = HashSet::new();
        for _ in 0..DEPTH_MAX {
            pages.retain(|page| !page.is_none() && taken.insert(*page));
            // Of what kind a level is, its first sound page tells; damage is counted when the level is looked at.
            let damaged_count = self.damaged_count;
            let first = pages.iter().find_map(|page| self.read(unit, *page, |_| {}));
            self.damaged_count = damaged_count;
            let is_leaf = first.is_none_or(|seen| seen.is_leaf);
            let mut level = Level { pages: std::mem::take(&mut pages), ..Level::default() };
            for pair in level.pages.windows(2) {
                if let [page, next] = pair {
                    level.tally.add_link(position(*page), position(*next));
                }
            }
            if is_leaf {
                self.look_at_leaves(unit, &mut level);
            } else {
                for page in &level.pages {
                    if let Some(seen) = self.read(unit, *page, |child| pages.push(child)) {
                        level.tally.add_page(&seen.figures);
                    }
                }
            }
            levels.push(level);
            if is_leaf {
                break;
            }
        }
        levels.reverse();
        levels
    }

    /// A heap by its allocation pages.
    fn heap(&mut self, number: u32, unit: &Unit) -> Level {
        let pages = self.allocated.remove(&number).unwrap_or_default();
        let mut level = Level { pages, ..Level::default() };
        level.tally.add_runs(level.pages.len() as u64, runs_of(level.pages.iter().copied()));
        self.look_at_leaves(unit, &mut level);
        level
    }

    /// Looks at the leaves that the mode asks for.
    fn look_at_leaves(&mut self, unit: &Unit, level: &mut Level) {
        if self.options.mode == StructureMode::Limited {
            return;
        }
        level.is_sample = level.pages.len() >= SAMPLE_FROM_PAGES;
        let step = if level.is_sample { SAMPLE_STEP } else { 1 };
        for page in level.pages.iter().step_by(step) {
            if let Some(seen) = self.read(unit, *page, |_| {}) {
                level.tally.add_page(&seen.figures);
                level.stub_count += seen.stub_count;
            }
        }
    }

    /// Reads a page and shows the pages that its entries name; `None` when it is damaged.
    fn read(&mut self, unit: &Unit, page: PageId, mut show: impl FnMut(PageId)) -> Option<Seen> {
        let mut raw = [0; PAGE_BYTES];
        self.read_count += 1;
        let is_read = self.prepared.source.read_raw(page, &mut raw).is_ok();
        let mut children = Vec::new();
        let seen =
            is_read.then(|| see(unit, page, &raw, |header, record| children.extend(record.child(header))));
        let Some(seen) = seen.flatten() else {
            self.damaged_count += 1;
            return None;
        };
        if !seen.is_leaf {
            children.into_iter().for_each(&mut show);
        }
        Some(seen)
    }

    /// What was read, and what not.
    pub(crate) fn account(&self, report: &mut StructureReport) {
        let accounting = &mut report.accounting;
        accounting.page_count = self.read_count;
        accounting.damaged_count = self.damaged_count;
        accounting.clean_count = self.read_count.saturating_sub(self.damaged_count);
        accounting.bytes_read = self.read_count * PAGE_BYTES as u64;
        accounting.bytes_expected = accounting.bytes_read;
        report.counters.extra_read_count = self.read_count;
        report.counters.worker_count = 1;
        report.counters.reader = "page by page, through the page cache".to_owned();
    }
}
