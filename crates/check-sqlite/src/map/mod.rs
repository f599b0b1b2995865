//! Which page has which use, found out before the pass: roots, inner pages, free list, pointer maps.
//!
//! Only inner pages are read here, level by level and in the order of the file: about one page in a hundred. Their
//! children are claimed without being read, and what the page above states about each is kept as its [`Link`]. What is
//! left over must be overflow pages; the pass claims those.
//!
//! ```text
//! INVARIANT  every page has one use: a claim of a page that has a use already is a finding, and is not followed.
//! INVARIANT  depth: all leaves of a tree are equally deep, so that a few probes tell whether a level is the last.
//! ```

pub(crate) mod chain;
pub(crate) mod ends;
pub(crate) mod open_chain;
pub(crate) mod page_use;
pub(crate) mod pointers;
pub(crate) mod stray;

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use formats::sqlite::{BtreePage, Geometry, PageKind, Trunk};

use crate::causes::{ALL_ROWIDS, Rowids, rowids_of};
pub(super) use crate::map::page_use::Use;
use crate::matching::links::{Bound, LEAF_LEVEL, Link, Links, Range};
use crate::plan::Plans;
use crate::source::reader::PageReader;

/// Deepest tree that is followed. With the least fan-out of 2 to 4, 2^32 pages are reached earlier.
const DEPTH_MAX: u8 = 40;
/// Children that are looked at to tell whether a level is the last one.
const PROBE_COUNT: usize = 5;
/// Pages of a level that are remembered for probes, at most; a power of two.
const SAMPLE_COUNT_MAX: usize = 64;
/// Pages whose reading is announced at a time.
const PREFETCH_COUNT: usize = 256;

/// The tree page that refers to another, and their tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Owner {
    /// The page above; the page itself for a root.
    pub(super) parent: u32,
    pub(super) tree: u32,
}

/// Something that the map saw, for the caller to report.
#[derive(Debug, Clone)]
pub(super) enum MapFinding {
    /// A root page that cannot be one.
    Root { tree: usize, page: u32 },
    /// A child pointer of page `by` to a page that cannot be a child.
    Child { by: u32, tree: u32, slot: u32, page: u32, loses: Rowids },
    /// A page claimed again. `by` is the page that refers to it.
    UsedTwice {
        page: u32,
        first: Use,
        by: u32,
        slot: Option<u32>,
        what: String,
        loses: Option<(usize, Rowids)>,
    },
    /// The free list at a trunk page: expected and found.
    FreeList { page: u32, slot: Option<u32>, expected: String, found: String },
    /// A page that could not be read.
    Unreadable,
}

/// The use of every page. Memory: 1 byte per page, and the links as far as they may stay in memory.
#[derive(Debug)]
pub(super) struct PageMap {
    uses: Vec<AtomicU8>,
    links: Links,
    pub(super) findings: Vec<MapFinding>,
    /// Trees that lost a branch: their pages may seem to have no use.
    pub(super) is_cut: bool,
    geometry: Geometry,
    page_count: u32,
}

/// Some pages of a level of a tree, evenly spread.
#[derive(Debug, Clone)]
struct Samples {
    pages: Vec<u32>,
    seen_count: usize,
    /// One page of so many is kept.
    step: usize,
}

impl Default for Samples {
    fn default() -> Self {
        Self { pages: Vec::new(), seen_count: 0, step: 1 }
    }
}

impl Samples {
    fn push(&mut self, page: u32) {
        if self.pages.len() == SAMPLE_COUNT_MAX {
            let mut is_odd = true;
            self.pages.retain(|_| {
                is_odd = !is_odd;
                !is_odd
            });
            self.step *= 2;
        }
        if self.seen_count.is_multiple_of(self.step) {
            self.pages.push(page);
        }
        self.seen_count += 1;
    }

    /// One of [`PROBE_COUNT`] pages, from the first to the last.
    fn probe(&self, index: usize) -> Option<u32> {
        self.pages.get(index * self.pages.len().saturating_sub(1) / (PROBE_COUNT - 1)).copied()
    }
}

impl PageMap {
    /// `memory_bytes_max` bounds what links take in memory.
    pub(super) fn new(geometry: Geometry, page_count: u32, memory_bytes_max: u64) -> Self {
        let map = Self {
            uses: (0..=page_count).map(|_| AtomicU8::new(0)).collect(),
            links: Links::new(page_count, memory_bytes_max),
            findings: Vec::new(),
            is_cut: false,
            geometry,
            page_count,
        };
        map.set(geometry.lock_page(), Use::Lock);
        if geometry.auto_vacuum {
            let group = geometry.usable_bytes / 5 + 1;
            let mut page = 2u64;
            while page <= u64::from(page_count) {
                let place = u32::try_from(page).unwrap_or(u32::MAX);
                if let Some(map_page) = geometry.pointer_map_page(place.saturating_add(1)) {
                    map.set(map_page, Use::PointerMap);
                }
                page += u64::from(group);
            }
        }
        map
    }

    /// What a page is used for.
    #[inline]
    pub(super) fn use_of(&self, page: u32) -> Use {
        self.uses.get(page as usize).map_or(Use::None, |code| Use::of(code.load(Ordering::Relaxed)))
    }

    fn set(&self, page: u32, what: Use) {
        if let Some(code) = self.uses.get(page as usize) {
            code.store(what.code(), Ordering::Relaxed);
        }
    }

    /// Gives a page its use; the use that it has already, when it has one.
    ///
    /// Workers claim pages of their own extents only, so that relaxed order suffices.
    #[inline]
    pub(super) fn claim(&self, page: u32, what: Use) -> Result<(), Use> {
        let Some(code) = self.uses.get(page as usize) else { return Err(Use::None) };
        match code.compare_exchange(0, what.code(), Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => Ok(()),
            Err(first) => Err(Use::of(first)),
        }
    }

    /// Gives a page of the free list to an overflow chain that uses it; false when it is none.
    pub(super) fn take_from_free_list(&self, page: u32) -> bool {
        let is_free = matches!(self.use_of(page), Use::FreeTrunk | Use::FreeLeaf);
        if is_free {
            self.set(page, Use::Overflow);
        }
        is_free
    }

    /// Whether a page can be a child, a trunk or an overflow page.
    #[inline]
    pub(super) fn is_allowed(&self, page: u32) -> bool {
        (2..=self.page_count).contains(&page) && !matches!(self.use_of(page), Use::Lock | Use::PointerMap)
    }

    /// The links around a page, for as long as they are wanted; `None` when they could not be read back.
    pub(super) fn range(&self, page: u32) -> Option<Arc<Range>> {
        self.links.range(page)
    }

    /// Who refers to a tree page; `None` for any other page. Cost: links of a range are read when the page asked before
    /// was far away.
    pub(super) fn owner(&self, page: u32) -> Option<Owner> {
        if !self.use_of(page).is_tree() {
            return None;
        }
        let range = self.links.range(page)?;
        range.link(page).map(|link| Owner { parent: link.parent, tree: link.tree })
    }

    /// The tree that a page belongs to.
    pub(super) fn tree_of(&self, page: u32) -> Option<usize> {
        self.owner(page).map(|owner| owner.tree as usize)
    }

    /// Bytes that the map takes.
    pub(super) fn memory_bytes(&self) -> u64 {
        self.uses.len() as u64 + self.links.memory_bytes()
    }

    /// Bytes of links in a temporary file.
    pub(super) fn temporary_bytes(&self) -> u64 {
        self.links.temporary_bytes()
    }

    /// Why pages of trees could not be looked at, when they could not.
    pub(super) fn trouble(&self) -> Option<&str> {
        self.links.trouble()
    }

    /// Walks the free list.
    pub(super) fn add_free_list(&mut self, reader: &PageReader, first: u32, expected_count: u32) {
        let (mut trunk, mut from, mut count) = (first, 1, 0u64);
        let mut bytes = Vec::new();
        // Each trunk is claimed once, so that the walk ends with the file.
        while trunk != 0 {
            if reader.brake.is_over() {
                self.is_cut = true;
                return;
            }
            if !self.is_allowed(trunk) {
                let expected = format!("a page from 2 to {}, not a pointer map, or 0", self.page_count);
                self.free_list_finding(from, None, expected, format!("trunk page {trunk}"));
                return;
            }
            if let Err(first) = self.claim(trunk, Use::FreeTrunk) {
                let what = "trunk page of the freelist".to_owned();
                self.used_twice(trunk, first, (from, None), what, None);
                self.is_cut = true;
                return;
            }
            if reader.read(trunk, &mut bytes).is_err() {
                self.findings.push(MapFinding::Unreadable);
                self.is_cut = true;
                return;
            }
            let usable = bytes.get(..self.geometry.usable_bytes as usize).unwrap_or(&bytes);
            let (view, damage) = Trunk::new(usable);
            if let Some(damage) = damage {
                self.free_list_finding(trunk, None, damage.expected_text() + " leaves", damage.found_text());
                return;
            }
            count += 1 + u64::from(view.leaf_count);
            for (slot, leaf) in view.leaves().enumerate() {
                let slot = Some(slot as u32);
                if !self.is_allowed(leaf) {
                    let expected = format!("a page from 2 to {}, not a pointer map", self.page_count);
                    self.free_list_finding(trunk, slot, expected, format!("leaf page {leaf}"));
                } else if let Err(first) = self.claim(leaf, Use::FreeLeaf) {
                    let what = "leaf page of the freelist".to_owned();
                    self.used_twice(leaf, first, (trunk, slot), what, None);
                }
            }
            from = trunk;
            trunk = view.next;
        }
        if count != u64::from(expected_count) {
            self.free_list_finding(
                1,
                None,
                format!("{expected_count} pages, as in the header"),
                format!("{count} pages"),
            );
        }
    }

    fn used_twice(
        &mut self,
        page: u32,
        first: Use,
        (by, slot): (u32, Option<u32>),
        what: String,
        loses: Option<(usize, Rowids)>,
    ) {
        self.findings.push(MapFinding::UsedTwice { page, first, by, slot, what, loses });
    }

    fn free_list_finding(&mut self, page: u32, slot: Option<u32>, expected: String, found: String) {
        self.findings.push(MapFinding::FreeList { page, slot, expected, found });
        self.is_cut = true;
    }

    /// Claims the pages of all trees.
    pub(super) fn add_trees(&mut self, reader: &PageReader, plans: &Plans) {
        let mut samples = vec![Samples::default(); plans.trees.len()];
        for ((tree, plan), samples) in plans.trees.iter().enumerate().zip(&mut samples) {
            let is_allowed = plan.root == 1 && tree == 0 || self.is_allowed(plan.root);
            if !is_allowed {
                self.findings.push(MapFinding::Root { tree, page: plan.root });
                self.is_cut = true;
                continue;
            }
            if let Err(first) = self.claim(plan.root, Use::Node) {
                let what = format!("root of {}", plan.name);
                self.used_twice(plan.root, first, (1, None), what, Some((tree, ALL_ROWIDS)));
                self.is_cut = true;
                continue;
            }
            self.links.push(&Link::root(plan.root, tree as u32));
            samples.push(plan.root);
        }
        for level in 0..DEPTH_MAX {
            let due = self.links.take_due(level);
            if due.is_empty() {
                break;
            }
            let mut next: Vec<NextLevel> = Vec::with_capacity(samples.len());
            for samples in &mut samples {
                let is_last = reader.brake.is_over() || self.is_last_level(reader, samples);
                next.push(NextLevel { is_last, samples: Samples::default() });
            }
            for number in due {
                if reader.brake.is_over() {
                    break;
                }
                self.read_level(reader, number, level, &mut next);
            }
            samples = next.into_iter().map(|next| next.samples).collect();
        }
        self.links.seal();
    }

    /// Reads the pages of a level that lie in a range, in the order of the file, and claims their children.
    fn read_level(&mut self, reader: &PageReader, number: usize, level: u8, next: &mut [NextLevel]) {
        let Some(range) = self.links.load(number) else {
            self.is_cut = true;
            return;
        };
        let pages: Vec<u32> =
            range.links().filter(|link| link.level == level).map(|link| link.page).collect();
        let mut bytes = Vec::new();
        let mut parts = pages.chunks(PREFETCH_COUNT).peekable();
        reader.prefetch(parts.peek().copied().unwrap_or_default());
        while let Some(part) = parts.next() {
            // The device has the next ones to do while these are looked at.
            reader.prefetch(parts.peek().copied().unwrap_or_default());
            for link in part.iter().filter_map(|page| range.link(*page)) {
                if reader.brake.is_over() {
                    self.is_cut = true;
                    return;
                }
                let Some(next) = next.get_mut(link.tree as usize) else { continue };
                if reader.read(link.page, &mut bytes).is_err() {
                    self.findings.push(MapFinding::Unreadable);
                    self.is_cut = true;
                } else {
                    self.read_node(&link, &bytes, next);
                }
            }
        }
    }

    fn read_node(&mut self, node: &Link<'_>, bytes: &[u8], next: &mut NextLevel) {
        let (view, damage) = BtreePage::new(bytes, header_offset(node.page), self.geometry);
        // The pass reports what is wrong inside the page.
        self.is_cut |= damage.is_some();
        let Some(view) = view.filter(|view| !view.kind.is_leaf()) else { return };
        let mut lower = node.lower;
        for slot in 0..=view.cell_count {
            let is_inside = slot < view.cell_count;
            let upper = if is_inside { Some(Bound::of(node.page, bytes, &view, slot)) } else { node.upper };
            let link = Link {
                page: view.child(slot),
                parent: node.page,
                slot: slot as u16,
                tree: node.tree,
                level: if next.is_last { LEAF_LEVEL } else { node.level + 1 },
                lower,
                upper,
            };
            self.claim_child(&link, next);
            lower = upper;
        }
    }

    fn claim_child(&mut self, link: &Link<'_>, next: &mut NextLevel) {
        let Link { page, parent, tree, .. } = *link;
        let slot = u32::from(link.slot);
        if !self.is_allowed(page) {
            let loses = rowids_of(link, self.geometry);
            self.findings.push(MapFinding::Child { by: parent, tree, slot, page, loses });
            self.is_cut = true;
            return;
        }
        if let Err(first) = self.claim(page, if next.is_last { Use::Leaf } else { Use::Node }) {
            let what = format!("child {slot} of page {parent}");
            let loses = (tree as usize, rowids_of(link, self.geometry));
            self.used_twice(page, first, (parent, Some(slot)), what, Some(loses));
            self.is_cut = true;
            return;
        }
        self.links.push(link);
        if !next.is_last {
            next.samples.push(page);
        }
    }

    /// Whether the children of a level are leaves: what most of a few of them say.
    fn is_last_level(&self, reader: &PageReader, samples: &Samples) -> bool {
        let mut bytes = Vec::new();
        let (mut probes, mut at_hand) = (Vec::new(), None);
        for index in 0..PROBE_COUNT {
            let Some(parent) = samples.probe(index) else { continue };
            if at_hand != Some(parent) && reader.read(parent, &mut bytes).is_err() {
                continue;
            }
            at_hand = Some(parent);
            let view = BtreePage::new(&bytes, header_offset(parent), self.geometry).0;
            let Some(view) = view.filter(|view| !view.kind.is_leaf()) else { continue };
            let page = view.child(index * view.cell_count / (PROBE_COUNT - 1));
            // Not what belongs to another.
            if self.is_allowed(page) && self.use_of(page) == Use::None && !probes.contains(&page) {
                probes.push(page);
            }
        }
        reader.prefetch(&probes);
        let (mut leaves, mut inner) = (0, 0);
        for page in probes {
            if reader.read(page, &mut bytes).is_ok() {
                match bytes.first().copied().and_then(PageKind::of) {
                    Some(kind) if kind.is_leaf() => leaves += 1,
                    Some(_) => inner += 1,
                    None => {}
                }
            }
        }
        leaves >= inner
    }
}

/// What the children of a level of a tree are.
#[derive(Debug)]
struct NextLevel {
    is_last: bool,
    samples: Samples,
}

/// Where the header of a tree page begins.
pub(super) fn header_offset(page: u32) -> usize {
    if page == 1 { 100 } else { 0 }
}
