//! What the pages above state about each tree page: the page that refers to it, its tree, and the keys that enclose it.
//!
//! The map meets children in the order of their parents, the pass meets them in the order of the file. So links are sorted
//! into ranges of pages while the map is built, and a range is brought to memory when the pass comes to it. Links take
//! some 30 bytes and two keys for each page: those beyond a limit are written to a file without a name.
//!
//! ```text
//! INVARIANT  a page has at most one link: it is written by whoever claimed the page, and nobody else.
//! INVARIANT  memory: kept bytes, one buffer per range while the map is built, and the ranges in use. No size of file and no
//!            length of keys makes it more than the limits say, but for some 40 bytes per page of a range in use, and 8
//!            bytes per chunk in the file.
//! ```

mod link;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use check::matching::spill::Spill;

pub(crate) use crate::matching::links::link::{Bound, Link};

/// The level of a link whose page is a leaf.
pub(crate) const LEAF_LEVEL: u8 = u8::MAX;
/// Most ranges: each has a buffer while the map is built.
const RANGE_COUNT_MAX: u32 = 2048;
/// Fewest pages of a range.
const RANGE_PAGES_MIN: u32 = 16;
/// Bytes of a link that a range is laid out for.
const LINK_BYTES: u64 = 192;
/// Ranges that stay in memory for the next worker that comes to them.
const LOADED_COUNT_MAX: usize = 3;
/// No link at a place of a range.
const NO_START: u32 = u32::MAX;

/// The links of neighbouring pages.
#[derive(Debug)]
pub(crate) struct Range {
    first_page: u32,
    /// Where the link of each page begins.
    starts: Vec<u32>,
    bytes: Vec<u8>,
}

impl Range {
    /// Whether a page lies in the range.
    #[inline]
    pub(crate) fn has(&self, page: u32) -> bool {
        page >= self.first_page && ((page - self.first_page) as usize) < self.starts.len()
    }

    /// The link of a page; `None` when nothing claimed it as a page of a tree.
    #[inline]
    pub(crate) fn link(&self, page: u32) -> Option<Link<'_>> {
        let start = *self.starts.get(page.checked_sub(self.first_page)? as usize)?;
        Link::read(&mut self.bytes.get(start as usize..)?)
    }

    /// All links, in the order of the file.
    pub(crate) fn links(&self) -> impl Iterator<Item = Link<'_>> {
        let pages = self.first_page..self.first_page.saturating_add(self.starts.len() as u32);
        pages.filter_map(|page| self.link(page))
    }
}

/// The links of all tree pages.
#[derive(Debug)]
pub(crate) struct Links {
    spill: Spill,
    /// By range: pages of an even and of an odd level whose children are not known yet.
    due: Vec<[u32; 2]>,
    range_pages: u32,
    page_count: u32,
    range_cells_max: u64,
    loaded: Mutex<Vec<Arc<Range>>>,
    range_bytes_max: AtomicU64,
    trouble: OnceLock<String>,
}

impl Links {
    /// Makes room for the links of so many pages. `memory_bytes_max` bounds what they take in memory: three eighths for
    /// those that stay there, the others for the ranges in use, and before that for buffers.
    pub(crate) fn new(page_count: u32, memory_bytes_max: u64) -> Self {
        let range_bytes_max = memory_bytes_max / 16 * 3;
        let fitting = u32::try_from(range_bytes_max / LINK_BYTES).unwrap_or(u32::MAX);
        let range_pages = range_pages(page_count, fitting);
        let count = (page_count / range_pages + 1) as usize;
        Self {
            spill: Spill::new(count, memory_bytes_max / 2, memory_bytes_max / 8 * 3),
            due: vec![[0; 2]; count],
            range_pages,
            page_count,
            range_cells_max: range_bytes_max,
            loaded: Mutex::default(),
            range_bytes_max: AtomicU64::new(0),
            trouble: OnceLock::new(),
        }
    }

    fn number_of(&self, page: u32) -> usize {
        (page / self.range_pages) as usize
    }

    /// Adds the link of a page that was claimed.
    pub(crate) fn push(&mut self, link: &Link<'_>) {
        let number = self.number_of(link.page);
        // A range of very long keys keeps their places only.
        let keeps_cells = self.spill.length_bytes(number) < self.range_cells_max;
        self.spill.push(number, |bytes| link.write(bytes, keeps_cells));
        if link.level != LEAF_LEVEL
            && let Some([even, odd]) = self.due.get_mut(number)
        {
            *(if link.level.is_multiple_of(2) { even } else { odd }) += 1;
        }
    }

    /// Ends the writing: buffers are given back.
    pub(crate) fn seal(&mut self) {
        self.spill.seal();
    }

    /// The ranges that have pages of a level whose children are not known yet. From now on they are no longer due.
    pub(crate) fn take_due(&mut self, level: u8) -> Vec<usize> {
        let due =
            |[even, odd]: &mut [u32; 2]| std::mem::take(if level.is_multiple_of(2) { even } else { odd }) > 0;
        self.due.iter_mut().enumerate().filter_map(|(number, counts)| due(counts).then_some(number)).collect()
    }

    /// Brings a range to memory. `None`, and [`Self::trouble`], when it could not be read back.
    pub(crate) fn load(&self, number: usize) -> Option<Range> {
        let lost = |error: &dyn std::fmt::Display| {
            let reason = format!("could not read back what the map wrote to a temporary file: {error}");
            self.trouble.get_or_init(|| reason);
        };
        let bytes = self.spill.read(number).inspect_err(|error| lost(error)).ok()?;
        let first_page = u32::try_from(number).ok()?.checked_mul(self.range_pages)?;
        let count = self.range_pages.min((self.page_count - first_page).saturating_add(1));
        let mut starts = vec![NO_START; count as usize];
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            let start = bytes.len() - rest.len();
            let link = Link::read(&mut rest);
            let Some(link) = link else {
                lost(&"it reads otherwise");
                return None;
            };
            if let Some(place) = starts.get_mut(link.page.wrapping_sub(first_page) as usize) {
                *place = start as u32;
            }
        }
        let memory = (bytes.len() + starts.len() * size_of::<u32>()) as u64;
        self.range_bytes_max.fetch_max(memory, Ordering::Relaxed);
        Some(Range { first_page, starts, bytes })
    }

    /// The range with a page, for as long as it is wanted. Shared: the last few stay in memory.
    pub(crate) fn range(&self, page: u32) -> Option<Arc<Range>> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = loaded.iter().position(|range| range.has(page)) {
            // The one that was wanted last goes last.
            let range = loaded.remove(at);
            loaded.push(range.clone());
            return Some(range);
        }
        if loaded.len() >= LOADED_COUNT_MAX {
            loaded.remove(0);
        }
        let range = Arc::new(self.load(self.number_of(page))?);
        loaded.push(range.clone());
        Some(range)
    }

    /// Why links are missing, when they are.
    pub(crate) fn trouble(&self) -> Option<&str> {
        self.trouble.get().map(String::as_str)
    }

    /// What links took in memory at most, in bytes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let loaded_count = LOADED_COUNT_MAX.min(self.spill.part_count()) as u64;
        self.spill.kept_bytes() + self.range_bytes_max.load(Ordering::Relaxed) * loaded_count
    }

    /// Bytes in the temporary file.
    pub(crate) fn temporary_bytes(&self) -> u64 {
        self.spill.written_bytes()
    }
}

/// Pages of a range: what fits, but no more than so many ranges.
pub(crate) fn range_pages(page_count: u32, fitting: u32) -> u32 {
    fitting.max(page_count / RANGE_COUNT_MAX).clamp(RANGE_PAGES_MIN, 1 << 30).next_power_of_two()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::link::CELL_BYTES_MAX;
    use super::*;

    const PAGE_COUNT: u32 = 5_000;

    /// A page's link, made up from its number. Every seventh page has none.
    fn link(page: u32, cell: &[u8]) -> Option<Link<'_>> {
        let bound = |slot| Bound { page: page / 3, slot, is_table: page.is_multiple_of(2), cell };
        (!page.is_multiple_of(7)).then_some(Link {
            page,
            parent: page / 2,
            slot: (page % 100) as u16,
            tree: page % 5,
            level: if page.is_multiple_of(11) { 3 } else { LEAF_LEVEL },
            lower: (!page.is_multiple_of(13)).then_some(bound(1)),
            upper: (!page.is_multiple_of(17)).then_some(bound(2)),
        })
    }

    /// The links of all pages, pushed far from the order of the file.
    fn links(memory_bytes_max: u64, cell: &[u8]) -> Links {
        let mut links = Links::new(PAGE_COUNT, memory_bytes_max);
        let pages =
            (0..=u64::from(PAGE_COUNT)).map(|index| (index * 2_003 % u64::from(PAGE_COUNT + 1)) as u32);
        pages.filter_map(|page| link(page, cell)).for_each(|link| links.push(&link));
        links
    }

    fn assert_same(links: &Links, cell: &[u8]) {
        for page in 0..=PAGE_COUNT {
            let range = links.range(page).unwrap();
            assert!(range.has(page));
            assert_eq!(range.link(page), link(page, cell), "{page}");
        }
    }

    #[test]
    fn links_come_back_from_memory_and_from_the_file() {
        for memory_bytes_max in [32 << 20, 400 << 10, 100 << 10] {
            let cell = [7; 19];
            let mut links = links(memory_bytes_max, &cell);
            // While chunks are open, and after.
            assert_same(&links, &cell);
            links.seal();
            assert_same(&links, &cell);
            assert_eq!(links.temporary_bytes() > 0, memory_bytes_max < 1 << 20);
            assert!(links.trouble().is_none());
        }
    }

    #[test]
    fn memory_keeps_to_its_limit_and_places_of_keys_are_never_lost() {
        let cell = [9; CELL_BYTES_MAX];
        let memory_bytes_max = 64 << 10;
        let mut links = links(memory_bytes_max, &cell);
        links.seal();
        for page in 0..=PAGE_COUNT {
            let range = links.range(page).unwrap();
            let (found, expected) = (range.link(page), link(page, &cell));
            let places = |link: Option<Link<'_>>| {
                let place = |bound: Bound<'_>| (bound.page, bound.slot, bound.is_table);
                link.map(|link| (link.parent, link.tree, link.lower.map(place), link.upper.map(place)))
            };
            assert_eq!(places(found), places(expected));
            let cells = found.into_iter().flat_map(|link| [link.lower, link.upper]).flatten();
            cells.for_each(|bound| assert!(bound.cell.is_empty() || bound.cell == cell));
        }
        // A place of 8 bytes for each chunk of at least 512.
        let most = memory_bytes_max + links.temporary_bytes() / 64;
        assert!(links.memory_bytes() <= most, "{}", links.memory_bytes());
    }

    #[test]
    fn levels_that_are_due_are_handed_out_once() {
        let mut links = links(1 << 10, &[]);
        let due = links.take_due(3);
        assert!(!due.is_empty());
        assert!(links.take_due(3).is_empty() && links.take_due(2).is_empty());
        let pages =
            |range: Range| range.links().filter(|link| link.level == 3).map(|link| link.page).collect();
        let nodes = due.iter().flat_map(|number| -> Vec<u32> { pages(links.load(*number).unwrap()) });
        let expected = (0..=PAGE_COUNT).filter(|page| link(*page, &[]).is_some_and(|link| link.level == 3));
        assert_eq!(nodes.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    }

    #[test]
    fn links_that_cannot_be_read_back_are_said() {
        let mut links = links(0, &[1; 8]);
        links.seal();
        links.spill.file().unwrap().set_len(0).unwrap();
        assert!(links.range(5).is_none());
        assert!(links.trouble().is_some_and(|reason| reason.contains("temporary file")));
    }
}
