//! Which page has which use, found out before the pass: roots, inner pages, free list, pointer maps.
//!
//! Only inner pages are read here, level by level and in the order of the file: about one page in a hundred. Their
//! children are claimed without being read. What is left over must be overflow pages; the pass claims those.
//!
//! ```text
//! INVARIANT  every page has one use: a claim of a page that has a use already is a finding, and is not followed.
//! INVARIANT  depth: all leaves of a tree are equally deep, so that a few probes tell whether a level is the last.
//! ```

use std::sync::atomic::{AtomicU32, Ordering};

use formats::sqlite::{BtreePage, Geometry, PageKind, Trunk};

pub(super) use super::page_use::Use;
use super::plan::Plans;
use super::reader::PageReader;

/// Deepest tree that is followed. With the least fan-out of 2 to 4, 2^32 pages are reached earlier.
const DEPTH_MAX: usize = 40;
/// Children that are looked at to tell whether a level is the last one.
const PROBE_COUNT: usize = 5;
/// Pages whose reading is announced at a time.
const PREFETCH_COUNT: usize = 256;

/// A root or an inner page.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node {
    pub(super) page: u32,
    /// The node above; itself for a root.
    pub(super) parent: u32,
    /// The position among the children of the node above.
    pub(super) slot: u32,
    pub(super) tree: u32,
    /// Where the bytes are kept, in pages; `u32::MAX` when they are read again.
    kept: u32,
    /// Whether the page has children, as far as the map could read it.
    pub(super) is_inner: bool,
}

/// Something that the map saw, for the caller to report.
#[derive(Debug, Clone)]
pub(super) enum MapFinding {
    /// A root page that cannot be one.
    Root { tree: usize, page: u32 },
    /// A child pointer to a page that cannot be a child.
    Child { node: u32, slot: u32, page: u32 },
    /// A page claimed again. `by` is the page that refers to it.
    UsedTwice { page: u32, first: Use, by: u32, slot: Option<u32>, what: String },
    /// The free list at a trunk page: expected and found.
    FreeList { page: u32, slot: Option<u32>, expected: String, found: String },
    /// A page that could not be read.
    Unreadable,
}

/// The use of every page. Memory: 4 bytes per page, and the inner pages as long as they fit.
#[derive(Debug)]
pub(super) struct PageMap {
    uses: Vec<AtomicU32>,
    pub(super) nodes: Vec<Node>,
    kept: Vec<u8>,
    kept_bytes_max: usize,
    pub(super) findings: Vec<MapFinding>,
    /// Trees that lost a branch: their pages may seem to have no use.
    pub(super) is_cut: bool,
    geometry: Geometry,
    page_count: u32,
}

impl PageMap {
    pub(super) fn new(geometry: Geometry, page_count: u32, kept_bytes_max: u64) -> Self {
        let uses = (0..=page_count).map(|_| AtomicU32::new(0)).collect();
        let map = Self {
            uses,
            nodes: Vec::new(),
            kept: Vec::new(),
            kept_bytes_max: usize::try_from(kept_bytes_max).unwrap_or(usize::MAX),
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

    /// Whether a page can be a child, a trunk or an overflow page.
    #[inline]
    pub(super) fn is_allowed(&self, page: u32) -> bool {
        (2..=self.page_count).contains(&page) && !matches!(self.use_of(page), Use::Lock | Use::PointerMap)
    }

    pub(super) fn node(&self, node: u32) -> Option<&Node> {
        self.nodes.get(node as usize)
    }

    /// The tree that a page belongs to.
    pub(super) fn tree_of(&self, page: u32) -> Option<usize> {
        match self.use_of(page) {
            Use::Leaf(node) | Use::Node(node) => self.node(node).map(|node| node.tree as usize),
            _ => None,
        }
    }

    /// Pages that the map takes, in bytes.
    pub(super) fn memory_bytes(&self) -> u64 {
        (self.uses.len() * 4 + self.nodes.len() * size_of::<Node>() + self.kept.len()) as u64
    }

    /// Shows the view of a node's page to a function; `None` when it cannot be read or is no tree page.
    pub(super) fn with_node_page<R>(
        &self,
        reader: &PageReader,
        node: &Node,
        look: impl FnOnce(&BtreePage<'_>) -> R,
    ) -> Option<R> {
        let header_offset = if node.page == 1 { 100 } else { 0 };
        let size = self.geometry.page_size_bytes as usize;
        let start = (node.kept as usize).checked_mul(size).filter(|_| node.kept != u32::MAX);
        let mut read = Vec::new();
        let bytes = match start.and_then(|start| self.kept.get(start..start + size)) {
            Some(bytes) => bytes,
            None => {
                reader.read(node.page, &mut read).ok()?;
                read.as_slice()
            }
        };
        BtreePage::new(bytes, header_offset, self.geometry).0.as_ref().map(look)
    }

    /// Walks the free list.
    pub(super) fn add_free_list(&mut self, reader: &PageReader, first: u32, expected_count: u32) {
        let (mut trunk, mut from, mut count) = (first, 1, 0u64);
        let mut bytes = Vec::new();
        // Each trunk is claimed once, so that the walk ends with the file.
        while trunk != 0 {
            if !self.is_allowed(trunk) {
                let expected = format!("a page from 2 to {} that is no map, or 0", self.page_count);
                self.free_list_finding(from, None, expected, format!("trunk page {trunk}"));
                return;
            }
            if let Err(first) = self.claim(trunk, Use::FreeTrunk) {
                let what = "trunk page of the free list".to_owned();
                self.findings.push(MapFinding::UsedTwice { page: trunk, first, by: from, slot: None, what });
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
                    let expected = format!("a page from 2 to {} that is no map", self.page_count);
                    self.free_list_finding(trunk, slot, expected, format!("leaf page {leaf}"));
                } else if let Err(first) = self.claim(leaf, Use::FreeLeaf) {
                    let what = "leaf page of the free list".to_owned();
                    self.findings.push(MapFinding::UsedTwice { page: leaf, first, by: trunk, slot, what });
                }
            }
            from = trunk;
            trunk = view.next;
        }
        if count != u64::from(expected_count) {
            self.free_list_finding(
                1,
                None,
                format!("{expected_count} pages, as the header says"),
                format!("{count} pages"),
            );
        }
    }

    fn free_list_finding(&mut self, page: u32, slot: Option<u32>, expected: String, found: String) {
        self.findings.push(MapFinding::FreeList { page, slot, expected, found });
        self.is_cut = true;
    }

    /// Claims the pages of all trees.
    pub(super) fn add_trees(&mut self, reader: &PageReader, plans: &Plans) {
        let mut level = Vec::new();
        for (tree, plan) in plans.trees.iter().enumerate() {
            let is_allowed = plan.root == 1 && tree == 0 || self.is_allowed(plan.root);
            if !is_allowed {
                self.findings.push(MapFinding::Root { tree, page: plan.root });
                continue;
            }
            let ordinal = self.nodes.len() as u32;
            if let Err(first) = self.claim(plan.root, Use::Node(ordinal)) {
                let what = format!("root of {}", plan.name);
                self.findings.push(MapFinding::UsedTwice { page: plan.root, first, by: 1, slot: None, what });
                continue;
            }
            self.push_node(plan.root, ordinal, 0, tree as u32);
            level.push(ordinal);
        }
        for _depth in 0..DEPTH_MAX {
            if level.is_empty() {
                return;
            }
            self.read_level(reader, &mut level);
            level = self.next_level(reader, &level);
        }
    }

    fn push_node(&mut self, page: u32, parent: u32, slot: u32, tree: u32) {
        self.nodes.push(Node { page, parent, slot, tree, kept: u32::MAX, is_inner: false });
    }

    /// Reads the pages of nodes in the order of the file and claims their children.
    fn read_level(&mut self, reader: &PageReader, level: &mut [u32]) {
        level.sort_unstable_by_key(|node| self.node(*node).map(|node| node.page));
        let mut bytes = Vec::new();
        let pages: Vec<u32> =
            level.iter().filter_map(|node| self.node(*node)).map(|node| node.page).collect();
        let ahead = |index: usize| pages.chunks(PREFETCH_COUNT).nth(index).unwrap_or_default();
        reader.prefetch(ahead(0));
        for (index, part) in level.chunks(PREFETCH_COUNT).enumerate() {
            // The device has the next ones to do while these are looked at.
            reader.prefetch(ahead(index + 1));
            for (&node, &page) in part.iter().zip(ahead(index)) {
                if reader.read(page, &mut bytes).is_err() {
                    self.findings.push(MapFinding::Unreadable);
                    self.is_cut = true;
                } else {
                    self.read_node(node, page, &bytes);
                }
            }
        }
    }

    fn read_node(&mut self, node: u32, page: u32, bytes: &[u8]) {
        let header_offset = if page == 1 { 100 } else { 0 };
        let geometry = self.geometry;
        let (view, damage) = BtreePage::new(bytes, header_offset, geometry);
        // The pass reports what is wrong inside the page.
        self.is_cut |= damage.is_some();
        let Some(view) = view.filter(|view| !view.kind.is_leaf()) else { return };
        let kept = u32::try_from(self.kept.len() / bytes.len().max(1)).unwrap_or(u32::MAX);
        let fits = self.kept.len() + bytes.len() <= self.kept_bytes_max;
        if fits {
            self.kept.extend_from_slice(bytes);
        }
        if let Some(node) = self.nodes.get_mut(node as usize) {
            node.is_inner = true;
            node.kept = if fits { kept } else { u32::MAX };
        }
        for slot in 0..=view.cell_count {
            self.claim_child(node, page, slot as u32, view.child(slot));
        }
    }

    fn claim_child(&mut self, node: u32, parent: u32, slot: u32, page: u32) {
        if !self.is_allowed(page) {
            self.findings.push(MapFinding::Child { node, slot, page });
            self.is_cut = true;
        } else if let Err(first) = self.claim(page, Use::Leaf(node)) {
            let what = format!("child {slot} of page {parent}");
            self.findings.push(MapFinding::UsedTwice { page, first, by: parent, slot: Some(slot), what });
            self.is_cut = true;
        }
    }

    /// The children of a level that have children themselves, as new nodes.
    fn next_level(&mut self, reader: &PageReader, level: &[u32]) -> Vec<u32> {
        let mut by_tree: Vec<u32> =
            level.iter().copied().filter(|node| self.node(*node).is_some_and(|node| node.is_inner)).collect();
        by_tree.sort_unstable_by_key(|node| (self.node(*node).map(|node| node.tree), *node));
        let trees: Vec<Vec<u32>> = by_tree
            .chunk_by(|left, right| self.node(*left).map(|n| n.tree) == self.node(*right).map(|n| n.tree))
            .map(<[u32]>::to_vec)
            .collect();
        let mut next = Vec::new();
        for nodes in trees {
            if !self.is_last_level(reader, &nodes) {
                self.add_inner_children(reader, &nodes, &mut next);
            }
        }
        next
    }

    fn add_inner_children(&mut self, reader: &PageReader, nodes: &[u32], next: &mut Vec<u32>) {
        for &parent in nodes {
            let Some(node) = self.node(parent).copied() else { continue };
            for (slot, page) in self.children(reader, &node).into_iter().enumerate() {
                // Only children that this node was the first to claim.
                if self.use_of(page) == Use::Leaf(parent) {
                    let ordinal = self.nodes.len() as u32;
                    self.set(page, Use::Node(ordinal));
                    self.push_node(page, parent, slot as u32, node.tree);
                    next.push(ordinal);
                }
            }
        }
    }

    fn children(&self, reader: &PageReader, node: &Node) -> Vec<u32> {
        let all = |view: &BtreePage<'_>| (0..=view.cell_count).map(|slot| view.child(slot)).collect();
        self.with_node_page(reader, node, all).unwrap_or_default()
    }

    /// Whether the children of these nodes are leaves: what most of a few of them say.
    fn is_last_level(&self, reader: &PageReader, nodes: &[u32]) -> bool {
        let mut probes = Vec::new();
        for index in 0..PROBE_COUNT {
            let Some(&parent) = nodes.get(index * nodes.len().saturating_sub(1) / (PROBE_COUNT - 1)) else {
                continue;
            };
            let Some(node) = self.node(parent) else { continue };
            let children = self.children(reader, node);
            let place = index * children.len().saturating_sub(1) / (PROBE_COUNT - 1);
            let page = children.get(place).copied().unwrap_or(0);
            if self.use_of(page) == Use::Leaf(parent) && !probes.contains(&page) {
                probes.push(page);
            }
        }
        reader.prefetch(&probes);
        let mut bytes = Vec::new();
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
