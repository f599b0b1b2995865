//! The trees of a database file, by facts that the pass has gathered or by reading inner pages one by one.

use std::collections::HashMap;

use formats::sqlite::Geometry;

use crate::run::context::PageSet;
use crate::source::reader::PageReader;
use crate::structure::facts::{FactTable, PageFact};
use check::structure::walk::Tree;

/// Pages whose reading is announced at a time.
const PREFETCH_COUNT: usize = 512;
/// Pages of a level that are looked at to tell whether it is the last one.
const PROBE_COUNT: usize = 5;

/// Where facts about pages come from.
pub(super) enum Source<'a> {
    /// All pages were looked at.
    Gathered(&'a FactTable),
    /// Pages are read when they are asked for, and kept.
    Read { reader: &'a PageReader, facts: HashMap<u32, PageFact>, children: HashMap<u32, Vec<u32>> },
}

impl<'a> Source<'a> {
    pub(super) fn reading(reader: &'a PageReader) -> Self {
        Self::Read { reader, facts: HashMap::new(), children: HashMap::new() }
    }

    /// Reads pages that are not known yet, in the order of the file.
    pub(super) fn want(&mut self, pages: &[u32], geometry: Geometry) {
        let Self::Read { reader, facts, children } = self else { return };
        let mut missing: Vec<u32> = pages.iter().copied().filter(|page| !facts.contains_key(page)).collect();
        missing.sort_unstable();
        missing.dedup();
        let (mut bytes, mut references) = (Vec::new(), Vec::new());
        for part in missing.chunks(PREFETCH_COUNT) {
            reader.prefetch(part);
            for &page in part {
                let fact = match reader.read(page, &mut bytes) {
                    Ok(()) => PageFact::new(page, &bytes, geometry, &mut references),
                    Err(_) => PageFact::default(),
                };
                if fact.is_leaf() == Some(false) {
                    children.insert(page, references.clone());
                }
                facts.insert(page, fact);
            }
        }
    }

    /// What is known of a page; of one that was not read: nothing.
    pub(super) fn fact(&self, page: u32) -> Option<PageFact> {
        match self {
            Self::Gathered(table) => Some(table.fact(page)),
            Self::Read { facts, .. } => facts.get(&page).copied(),
        }
    }

    fn children(&self, page: u32) -> Option<Vec<u32>> {
        match self {
            Self::Gathered(table) => table.children(page).map(<[u32]>::to_vec),
            Self::Read { children, .. } => children.get(&page).cloned(),
        }
    }
}

/// One tree on its way.
pub(super) struct Walk<'w, 'a> {
    pub(super) source: &'w mut Source<'a>,
    pub(super) taken: &'w PageSet,
    pub(super) page_count: u32,
    pub(super) geometry: Geometry,
}

impl Tree for Walk<'_, '_> {
    fn children(&mut self, pages: &[u32]) -> Vec<Option<Vec<u32>>> {
        self.source.want(pages, self.geometry);
        pages.iter().map(|page| self.source.children(*page)).collect()
    }

    fn are_leaves(&mut self, pages: &[u32]) -> bool {
        let probe = |index: usize| pages.get(index * pages.len().saturating_sub(1) / (PROBE_COUNT - 1));
        let probes: Vec<u32> = (0..PROBE_COUNT).filter_map(probe).copied().collect();
        self.source.want(&probes, self.geometry);
        let facts = || probes.iter().filter_map(|page| self.source.fact(*page));
        let leaves = facts().filter(|fact| fact.is_leaf() == Some(true)).count();
        let inner = facts().filter(|fact| fact.is_leaf() == Some(false)).count();
        leaves > inner
    }

    fn claim(&mut self, page: u32) -> bool {
        let is_page = (1..=self.page_count).contains(&page)
            && page != self.geometry.lock_page()
            && !self.geometry.is_pointer_map(page)
            && !self.taken.contains(page as usize);
        if is_page {
            self.taken.insert(page as usize);
        }
        is_page
    }
}
