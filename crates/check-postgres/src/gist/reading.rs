//! Reads the inner blocks of a GiST index from the root down.

use std::collections::{HashMap, HashSet};

use formats::postgres::btree::{IndexTuple, TUPLE_HEADER_BYTES};
use formats::postgres::checksum::page_checksum;
use formats::postgres::file_name::Fork;
use formats::postgres::gist::{LEVEL_MAX, Opaque, ROOT};
use formats::postgres::index_pages::Method;
use formats::postgres::page::Page;
use formats::postgres::{gist, index_pages};
use results::check::CheckLevel;

use crate::catalog::Storage;
use crate::cluster::Cluster;
use crate::cluster::state::Snapshot;
use crate::gist::tree::GistTree;
use crate::plan::objects::PlanFile;
use crate::run::context::PassContext;

/// Reads single blocks of an index that are in order, and stand as they did at the moment that is looked at.
pub(crate) struct BlockReader<'a> {
    cluster: &'a Cluster,
    snapshot: Option<Snapshot>,
    files: Vec<&'a PlanFile>,
    blocks: u32,
    bytes: Vec<u8>,
    bytes_read: u64,
}

impl<'a> BlockReader<'a> {
    pub(crate) fn new(context: &PassContext<'a>, number: u32) -> Self {
        let PassContext { cluster, plan, snapshot, .. } = *context;
        let is_of = |file: &&PlanFile| file.relation == Some(number) && file.fork == Fork::Main;
        let mut files: Vec<&PlanFile> = plan.second_files.iter().filter(is_of).collect();
        files.sort_unstable_by_key(|file| file.first_block);
        let blocks = plan.blocks.get(number as usize).copied().unwrap_or(0);
        BlockReader { cluster, snapshot, files, blocks, bytes: vec![0; cluster.block_bytes], bytes_read: 0 }
    }

    /// A block with the mark of an access method and sound line pointers.
    pub(crate) fn read(&mut self, method: Method, block: u32) -> Option<Page<'_>> {
        let file = self.files.iter().rfind(|file| file.first_block <= block)?;
        let offset = u64::from(block - file.first_block) * self.cluster.block_bytes as u64;
        file.part.read_exact_at(&mut self.bytes, offset).ok()?;
        self.bytes_read += self.bytes.len() as u64;
        let page = Page::new(&self.bytes);
        let is_whole =
            !self.cluster.checksums || page_checksum(page.bytes(), block) == page.header().checksum;
        let is_still = self.snapshot.is_none_or(|snapshot| page.header().lsn < snapshot.redo_lsn);
        if block >= self.blocks || page.is_new() || !is_whole || !is_still {
            return None;
        }
        let mut damage = Vec::new();
        let special = page.special().len();
        let is_sound = page.check_header(special, &mut damage)
            && index_pages::Opaque::read(method, &page)?
                .check(usize::from(page.header().special), &mut damage);
        if is_sound {
            page.check_items(TUPLE_HEADER_BYTES, true, &mut damage);
        }
        damage.is_empty().then_some(page)
    }

    /// Bytes that were read.
    pub(crate) fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    /// Flags and links of a block, and its children if it is no leaf; each is told to `tell` with its downlink.
    fn children(&mut self, block: u32, mut tell: impl FnMut(u32, &[u8])) -> Option<(Opaque, Vec<u32>)> {
        let blocks = self.blocks;
        let page = self.read(Method::Gist, block)?;
        let opaque = Opaque::read(&page).filter(|opaque| !opaque.has(gist::flag::DELETED))?;
        let mut children = Vec::new();
        if !opaque.is_leaf() {
            for item in page.items() {
                let Some(bytes) = page.item_bytes(item) else { continue };
                let tuple = IndexTuple::read(bytes);
                let child = |tuple| gist::check_tuple(&tuple, item, false, (block, blocks), &mut Vec::new());
                if let Some(child) = tuple.and_then(child) {
                    tell(child, bytes);
                    children.push(child);
                }
            }
        }
        Some((opaque, children))
    }

    /// Levels above the leaves, along one way of [`ROUTES`].
    fn height(&mut self, route: usize) -> Option<u8> {
        let mut block = ROOT;
        for level in 0..LEVEL_MAX {
            let (opaque, children) = self.children(block, |_, _| ())?;
            if opaque.is_leaf() {
                return Some(level);
            }
            block = *children.get(route * children.len() / ROUTES)?;
        }
        None
    }
}

/// The trees of the `GiST` indexes whose files a pass reads, where facts between blocks can be tested.
pub(crate) fn gist_trees(context: &PassContext<'_>, memory_bytes_max: u64) -> HashMap<u32, GistTree> {
    let mut trees: HashMap<u32, GistTree> = HashMap::new();
    let mut left_bytes = memory_bytes_max;
    if context.transactions.is_none() {
        return trees;
    }
    for number in context.files.iter().filter(|file| file.fork == Fork::Main).filter_map(|file| file.relation)
    {
        let is_wanted = context.plan.relation(number).is_some_and(|relation| {
            // Positions of others mean nothing, so it is not known whether their blocks stand still.
            let is_still = context.snapshot.is_none() || relation.persistence == b'p';
            relation.storage == Storage::Gist && is_still
        });
        if !is_wanted || trees.contains_key(&number) {
            continue;
        }
        let index = context.plan.relation(number).and_then(|relation| relation.index.as_ref());
        let has_boxes = index.is_some_and(|index| index.columns.iter().any(|column| column.is_box));
        let is_compared = context.level == CheckLevel::Full && has_boxes;
        let bytes_max = if is_compared { left_bytes } else { 0 };
        if let Some(mut tree) = read_tree(BlockReader::new(context, number), bytes_max) {
            tree.is_cut &= is_compared;
            left_bytes = left_bytes.saturating_sub(tree.downlink_bytes);
            trees.insert(number, tree);
        }
    }
    trees
}

/// Reads the inner blocks of an index; `None` if its height cannot be told.
///
/// I/O: each inner block once, and a few ways from the root to a leaf. Memory: some bytes for each inner block, and at most
/// `downlink_bytes_max` for downlinks.
pub(crate) fn read_tree(mut reader: BlockReader<'_>, downlink_bytes_max: u64) -> Option<GistTree> {
    let mut counts: HashMap<u8, usize> = HashMap::new();
    for route in 0..ROUTES {
        if let Some(height) = reader.height(route) {
            *counts.entry(height).or_default() += 1;
        }
    }
    // Leaves stand on one level; if the ways do not agree, most of them are right.
    let (height, _) = counts.into_iter().max_by_key(|(height, count)| (*count, *height))?;
    let mut tree = GistTree { is_whole: true, ..GistTree::default() };
    let mut seen = HashSet::from([ROOT]);
    let mut waiting = vec![(ROOT, height)];
    // Each block is taken once.
    while let Some((block, level)) = waiting.pop() {
        if level == 0 {
            continue;
        }
        tree.levels.insert(block, level);
        let told =
            reader.children(block, |child, tuple| tree.keep_downlink(child, tuple, downlink_bytes_max));
        let Some((opaque, children)) = told else {
            tree.is_whole = false;
            continue;
        };
        let below = children.into_iter().filter(|_| level > 1).map(|child| (child, level - 1));
        let beside = opaque.follows().map(|right| (right, level));
        waiting.extend(below.chain(beside).filter(|(block, _)| seen.insert(*block)));
    }
    tree.bytes_read = reader.bytes_read();
    Some(tree)
}

/// Ways from the root to a leaf that tell how high the tree is.
pub(crate) const ROUTES: usize = 5;
