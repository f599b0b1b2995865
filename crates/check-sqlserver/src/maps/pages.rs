//! The pages that tables and indexes have in use, as the maps tell.

use std::collections::{HashMap, HashSet};

use formats::sqlserver::{EXTENT_PAGES, PageId};

use crate::maps::{Maps, NOT_ALLOCATED};

impl Maps {
    /// The pages that allocation units have in use, ascending.
    pub(crate) fn pages_of(&self, units: &HashSet<u32>) -> Vec<PageId> {
        let by_unit = self.pages_by_unit(|unit| units.contains(&unit));
        let mut pages: Vec<PageId> = by_unit.into_values().flatten().collect();
        pages.sort_unstable();
        pages.dedup();
        pages
    }

    /// The pages that allocation units have in use, each list ascending. One look at all extents.
    pub(crate) fn pages_by_unit(&self, is_wanted: impl Fn(u32) -> bool) -> HashMap<u32, Vec<PageId>> {
        let mut by_unit: HashMap<u32, Vec<PageId>> = HashMap::new();
        for map in &self.files {
            for (page, unit) in map.singles.iter().filter(|(page, _)| map.byte(**page).is_allocated()) {
                if is_wanted(*unit) {
                    by_unit.entry(*unit).or_default().push(PageId { file: map.file, page: *page });
                }
            }
            for extent in map.owners.numbers_with(&map.owners) {
                let owner = map.owners.get(extent).unwrap_or(NOT_ALLOCATED);
                if owner == NOT_ALLOCATED || !is_wanted(owner) {
                    continue;
                }
                let first = extent.saturating_mul(EXTENT_PAGES);
                let in_use =
                    (first..first.saturating_add(EXTENT_PAGES)).filter(|page| map.byte(*page).is_allocated());
                let pages = in_use.map(|page| PageId { file: map.file, page });
                by_unit.entry(owner).or_default().extend(pages);
            }
        }
        for pages in by_unit.values_mut() {
            pages.sort_unstable();
            pages.dedup();
        }
        by_unit
    }
}
