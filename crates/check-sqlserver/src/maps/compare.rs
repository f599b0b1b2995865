//! The allocation maps of a file against each other.

use std::collections::HashMap;

use formats::sqlserver::{EXTENT_PAGES, PageId, place};

use crate::finding::Draft;
use crate::maps::{FileMap, GAM_FREE, GAM_KNOWN, Maps, NOT_ALLOCATED, SGAM_KNOWN, SGAM_MIXED};
use crate::matching::facts::Quick;
use crate::plan::Plan;
use crate::rules;

/// Places where damage can be practised.
impl Maps {
    /// The first page of a file that an allocation page names by itself, with rows of a user's table.
    pub(crate) fn single_with_rows(&self, file: u16, plan: &Plan) -> Option<u32> {
        let map = self.files.iter().find(|map| map.file == file)?;
        let is_rows =
            |unit: &u32| plan.units.get(*unit as usize).is_some_and(|unit| unit.kind == 1 && !unit.is_system);
        map.singles.iter().filter(|(_, unit)| is_rows(unit)).map(|(page, _)| *page).min()
    }

    /// The first page of a file in a whole extent that the GAM calls free, whose pages were never in a mixed one.
    pub(crate) fn free_page(&self, file: u16) -> Option<u32> {
        let map = self.files.iter().find(|map| map.file == file)?;
        let is_free = |extent: &u32| {
            let state = map.gam.get(*extent).unwrap_or(0);
            let first = extent * EXTENT_PAGES;
            let mut pages = first..first.saturating_add(EXTENT_PAGES);
            state & (GAM_KNOWN | GAM_FREE) == GAM_KNOWN | GAM_FREE && pages.all(|page| map.byte(page).0 == 0)
        };
        (0..map.page_count / EXTENT_PAGES).find(is_free).map(|extent| extent * EXTENT_PAGES)
    }
}

impl FileMap {
    pub(crate) fn compare_extents(&self, drafts: &mut Vec<Draft>) {
        for extent in self.gam.numbers_with(&self.owners) {
            let (Some(state), Some(owner)) = (self.gam.get(extent), self.owners.get(extent)) else {
                continue;
            };
            let first = extent.saturating_mul(EXTENT_PAGES);
            let page = PageId { file: self.file, page: first };
            let pages = first..first.saturating_add(EXTENT_PAGES).min(self.page_count);
            let draft =
                |rule, expected: &str, found: String| Draft::new(rule, page, expected.to_owned(), found);
            let in_use = pages.clone().find(|page| self.byte(*page).is_allocated() && self.is_known(*page));
            let single = pages.clone().find(|page| self.singles.contains_key(page));
            let is_free = state & (GAM_KNOWN | GAM_FREE) == GAM_KNOWN | GAM_FREE;
            let is_mixed = state & (SGAM_KNOWN | SGAM_MIXED) == SGAM_KNOWN | SGAM_MIXED;
            if is_free && is_mixed {
                let found = "GAM: free; SGAM: a mixed extent with free pages".to_owned();
                drafts.push(draft(&rules::EXTENT_FREE, "an extent that is either free or mixed", found));
            } else if is_free && owner != NOT_ALLOCATED {
                let found = "GAM: free; owned as a whole".to_owned();
                drafts.push(
                    draft(&rules::EXTENT_FREE, "an extent without owner, as in the GAM", found).unit(owner),
                );
            } else if is_free && let Some(used) = single.or(in_use) {
                let found = format!("GAM: free; page {}:{used} is in use", self.file);
                drafts.push(draft(
                    &rules::EXTENT_FREE,
                    "an extent without pages in use, as in the GAM",
                    found,
                ));
            }
            if is_mixed && owner != NOT_ALLOCATED {
                let found = "SGAM: a mixed extent; owned as a whole".to_owned();
                drafts.push(
                    draft(&rules::EXTENT_OWNED_TWICE, "a mixed or a uniform extent", found).unit(owner),
                );
            }
            if let Some(single) = single.filter(|_| owner != NOT_ALLOCATED) {
                let found = format!("owned as a whole; page {}:{single} also by itself", self.file);
                drafts.push(
                    draft(&rules::EXTENT_OWNED_TWICE, "a mixed or a uniform extent", found).unit(owner),
                );
            }
            let is_used = state & (GAM_KNOWN | GAM_FREE) == GAM_KNOWN && state & SGAM_KNOWN != 0;
            let is_whole_known = pages.clone().all(|page| self.is_known(page));
            if is_used
                && !is_mixed
                && owner == NOT_ALLOCATED
                && in_use.is_none()
                && single.is_none()
                && is_whole_known
            {
                // OBSERVED: the last extent of a file is not whole in no file; extent 0 is always in use
                let mut pages = pages;
                let may_be_mixed = pages.any(|page| self.byte(page).is_mixed());
                if !may_be_mixed {
                    let found = "GAM: in use; not in any IAM page or SGAM".to_owned();
                    drafts.push(draft(&rules::EXTENT_LEAKED, "an extent with an owner", found));
                }
            }
        }
    }

    pub(crate) fn compare_pages(&self, iam_pages: &HashMap<PageId, u32, Quick>, drafts: &mut Vec<Draft>) {
        let known =
            (0..self.page_count).step_by(place::PFS_PAGES as usize).filter(|page| self.is_known(*page));
        let known =
            known.flat_map(|first| first..first.saturating_add(place::PFS_PAGES).min(self.page_count));
        for number in known.filter(|number| place::fixed_kind(*number, self.file == 1).is_none()) {
            let byte = self.byte(number);
            let page = PageId { file: self.file, page: number };
            let of_extent = self.owners.get(number / EXTENT_PAGES).unwrap_or(NOT_ALLOCATED);
            let single = self.singles.get(&number).copied();
            let iam = iam_pages.get(&page).copied();
            let mut pfs = |unit: Option<u32>, expected: &str| {
                let found = format!("PFS byte {:#04x}", byte.0);
                let mut draft = Draft::new(&rules::PFS_STATE, page, expected.to_owned(), found);
                draft.unit = unit;
                drafts.push(draft);
            };
            if !byte.is_allocated() {
                // A page of an extent in one use may be free; a page that is named may not.
                if let Some(unit) = single.or(iam) {
                    pfs(Some(unit), "an allocated page, as in the IAM page");
                }
            } else if iam.is_some() {
                if !byte.is_iam() {
                    pfs(iam, "an IAM page in use");
                }
            } else if of_extent != NOT_ALLOCATED || single.is_some() {
                let unit = single.or(Some(of_extent));
                if byte.is_iam() {
                    pfs(unit, "a page other than an IAM page");
                } else if byte.is_mixed() != (of_extent == NOT_ALLOCATED) {
                    let what = if of_extent == NOT_ALLOCATED {
                        "a page of a mixed extent"
                    } else {
                        "a page of a uniform extent"
                    };
                    pfs(unit, what);
                }
            } else {
                let expected = "an owner for a page in use".to_owned();
                let found = format!("none; PFS byte {:#04x}", byte.0);
                drafts.push(Draft::new(&rules::PAGE_UNOWNED, page, expected, found));
            }
        }
    }
}
