//! R-trees: the nodes from the root down, and the two tables that say where each row and each node is.
//!
//! The rules are those of SQLite's `rtreecheck()`, and that no node is beside the tree.

use std::collections::HashMap;

use formats::sqlite::u32_at;

use crate::finding::Draft;
use crate::plan::OwnedValue;
use crate::rules;
use crate::run::context::Context;
use crate::virtual_tables::definition::Definition;
use crate::virtual_tables::shadow::{Allowance, for_each_row};

/// Most levels of an R-tree.
// EVIDENCE: sqlite rtree.c, RTREE_MAX_DEPTH
const DEPTH_MAX: u16 = 40;
/// Most dimensions.
// EVIDENCE: sqlite rtree 3: 3 to 11 columns, one or two for each of up to five dimensions
const DIMENSIONS_MAX: usize = 5;

/// The shadow tables of an R-tree, as trees of the file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Trees {
    pub(super) node: usize,
    pub(super) rowid: usize,
    pub(super) parent: usize,
}

/// A row of a shadow table: where it is, and what it maps its key to.
struct Mapped {
    page: u32,
    slot: usize,
    target: Option<i64>,
    is_reached: bool,
}

struct Node {
    page: u32,
    slot: usize,
    bytes: Vec<u8>,
    is_reached: bool,
}

/// How coordinates are stored.
#[derive(Clone, Copy)]
struct Shape {
    dimension_count: usize,
    is_integer: bool,
}

impl Shape {
    // EVIDENCE: sqlite rtree 3.1 to 3.3: the key, two columns for each dimension, then auxiliary columns with a plus;
    // EVIDENCE: geopoly 3: two dimensions, the shape is an auxiliary column
    fn of(definition: &Definition) -> Option<Self> {
        if definition.module == "geopoly" {
            return Some(Self { dimension_count: 2, is_integer: false });
        }
        let columns = definition.arguments.iter().filter(|argument| !argument.starts_with('+'));
        let coordinates = columns.count().checked_sub(1)?;
        let dimension_count = coordinates / 2;
        let fits = coordinates % 2 == 0 && (1..=DIMENSIONS_MAX).contains(&dimension_count);
        fits.then_some(Self { dimension_count, is_integer: definition.module == "rtree_i32" })
    }

    fn cell_bytes(self) -> usize {
        8 + self.dimension_count * 8
    }
}

/// The rules of one R-tree. Fails with the reason when it cannot be checked.
pub(super) fn check(
    context: &Context<'_>,
    definition: &Definition,
    trees: Trees,
    allowance: &mut Allowance<'_>,
) -> Result<Vec<Draft>, String> {
    let shape = Shape::of(definition).ok_or("its columns are not those of an R-tree")?;
    let root = |tree: usize| context.plans.trees.get(tree).map_or(0, |plan| plan.root);
    let mut nodes = HashMap::new();
    for_each_row(context, root(trees.node), allowance, |mut row| {
        let bytes = match row.values.get_mut(1) {
            Some(OwnedValue::Blob(bytes)) => std::mem::take(bytes),
            _ => Vec::new(),
        };
        nodes.insert(row.rowid, Node { page: row.page, slot: row.slot, bytes, is_reached: false });
        Ok(())
    })?;
    let mut mapped = |tree: usize| -> Result<HashMap<i64, Mapped>, String> {
        let mut rows = HashMap::new();
        for_each_row(context, root(tree), allowance, |row| {
            let target = row.integer(1);
            rows.insert(row.rowid, Mapped { page: row.page, slot: row.slot, target, is_reached: false });
            Ok(())
        })?;
        Ok(rows)
    };
    let (rowids, parents) = (mapped(trees.rowid)?, mapped(trees.parent)?);
    let mut walk = Walk { shape, root: root(trees.node), trees, nodes, rowids, parents, drafts: Vec::new() };
    walk.nodes();
    walk.unreached();
    Ok(walk.drafts)
}

struct Walk {
    shape: Shape,
    /// Root page of the table of nodes.
    root: u32,
    trees: Trees,
    nodes: HashMap<i64, Node>,
    rowids: HashMap<i64, Mapped>,
    parents: HashMap<i64, Mapped>,
    drafts: Vec<Draft>,
}

/// A node to be visited: its number, its level above the leaves, and the box of its cell above.
struct Visit {
    node: i64,
    level: u16,
    above: Option<Vec<u8>>,
    /// Where the cell above is, and in which node.
    from: (u32, usize),
    parent: i64,
}

impl Walk {
    fn push(&mut self, (tree, key): (usize, i64), at: (u32, usize), expected: String, found: String) {
        let mut draft = Draft::new(&rules::RTREE, at.0, expected, found).slot(at.1).tree(tree);
        let name = if tree == self.trees.rowid { "rowid" } else { "nodeno" };
        draft.row = Some(format!("{name} = {key}"));
        self.drafts.push(draft);
    }

    fn nodes(&mut self) {
        let Some(root) = self.nodes.get(&1) else {
            // EVIDENCE: sqlite rtree.c: an empty R-tree has its root node as well
            let at = (self.root, 0);
            let expected = "node 1, the root of the R-tree".to_owned();
            self.push((self.trees.node, 1), at, expected, "no such row".to_owned());
            return;
        };
        let node_bytes = root.bytes.len();
        let at = (root.page, root.slot);
        let depth = u16_at(&root.bytes, 0);
        if depth > DEPTH_MAX {
            let expected = format!("a depth of at most {DEPTH_MAX} in node 1");
            self.push((self.trees.node, 1), at, expected, format!("depth {depth}"));
            return;
        }
        let mut to_visit = vec![Visit { node: 1, level: depth, above: None, from: at, parent: 1 }];
        // Each node is visited once.
        while let Some(visit) = to_visit.pop() {
            self.node(&visit, node_bytes, &mut to_visit);
        }
    }

    fn node(&mut self, visit: &Visit, node_bytes: usize, to_visit: &mut Vec<Visit>) {
        let Some(node) = self.nodes.get_mut(&visit.node) else {
            let expected = format!("node {} in the table of nodes", visit.node);
            self.push((self.trees.node, visit.parent), visit.from, expected, "no such row".to_owned());
            return;
        };
        if std::mem::replace(&mut node.is_reached, true) {
            let expected = format!("one cell that refers to node {}", visit.node);
            self.push((self.trees.node, visit.parent), visit.from, expected, "a second one".to_owned());
            return;
        }
        let at = (node.page, node.slot);
        let bytes = std::mem::take(&mut node.bytes);
        let cell_bytes = self.shape.cell_bytes();
        let cell_count = usize::from(u16_at(&bytes, 2));
        if bytes.len() < 4 || bytes.len() != node_bytes || 4 + cell_count * cell_bytes > bytes.len() {
            let expected = format!("{node_bytes} bytes in node {}, with room for its cells", visit.node);
            let found = format!("{} bytes, {cell_count} cells", bytes.len());
            self.push((self.trees.node, visit.node), at, expected, found);
            return;
        }
        let cells = bytes.get(4..).unwrap_or_default().chunks_exact(cell_bytes).take(cell_count);
        // Where the cell above is wrong, all cells of the node are outside: they are one finding.
        let (mut first, mut misplaced_count) = (None, 0);
        for (index, cell) in cells.enumerate() {
            let Some((key, coordinates)) = cell.split_at_checked(8) else { continue };
            let key = i64::from_be_bytes(key.try_into().unwrap_or_default());
            if let Some(found) = self.shape.misplaced(coordinates, visit.above.as_deref()) {
                misplaced_count += 1;
                first.get_or_insert((index, found));
            }
            self.mapping(key, visit, at);
            if visit.level > 0 {
                // With ends in the wrong order no box is inside it.
                let above = Some(coordinates.to_vec()).filter(|_| self.shape.is_box(coordinates));
                let level = visit.level - 1;
                to_visit.push(Visit { node: key, level, above, from: at, parent: visit.node });
            }
        }
        if let Some((index, found)) = first {
            let expected =
                format!("a box inside that of the cell above, in cell {index} of node {}", visit.node);
            let more = match misplaced_count {
                1 => String::new(),
                count => format!("; as {count} of the {cell_count} cells of the node"),
            };
            self.push((self.trees.node, visit.node), at, expected, found + &more);
        }
    }

    /// The row of `%_rowid` or `%_parent` for a cell.
    fn mapping(&mut self, key: i64, visit: &Visit, at: (u32, usize)) {
        let (rows, tree, what) = if visit.level == 0 {
            (&mut self.rowids, self.trees.rowid, "row")
        } else {
            (&mut self.parents, self.trees.parent, "node")
        };
        let expected = format!("{what} {key} in node {}", visit.node);
        let (at, tree, found) = match rows.get_mut(&key) {
            None => (at, (self.trees.node, visit.node), format!("no such row in the table of {what}s")),
            Some(row) => {
                let was_reached = std::mem::replace(&mut row.is_reached, true);
                if row.target == Some(visit.node) && !was_reached {
                    return;
                }
                let target = row.target.map_or("no node".to_owned(), |node| format!("node {node}"));
                let again = if was_reached { ", and in another node as well" } else { "" };
                ((row.page, row.slot), (tree, key), format!("{target}{again}"))
            }
        };
        self.push(tree, at, expected, found);
    }

    /// What no cell refers to. Only where the tree itself is whole: else it follows from that.
    fn unreached(&mut self) {
        let is_whole = self.drafts.is_empty();
        let mut found = Vec::new();
        for (key, row) in self.rowids.iter().filter(|(_, row)| !row.is_reached) {
            found.push((
                (self.trees.rowid, *key),
                (row.page, row.slot),
                format!("a cell for row {key} in a leaf node"),
            ));
        }
        for (key, row) in self.parents.iter().filter(|(_, row)| !row.is_reached) {
            found.push((
                (self.trees.parent, *key),
                (row.page, row.slot),
                format!("a cell for node {key} in its parent"),
            ));
        }
        for (key, node) in self.nodes.iter().filter(|(_, node)| !node.is_reached) {
            found.push((
                (self.trees.node, *key),
                (node.page, node.slot),
                format!("a cell for node {key} in its parent"),
            ));
        }
        found.sort();
        for (tree, at, expected) in found.into_iter().filter(|_| is_whole) {
            self.push(tree, at, expected, "none".to_owned());
        }
    }
}

impl Shape {
    /// What is wrong with a box: ends in the wrong order, or outside the box above.
    fn misplaced(self, cell: &[u8], above: Option<&[u8]>) -> Option<String> {
        (0..self.dimension_count).find_map(|dimension| {
            let (low, high) = self.range(cell, dimension)?;
            if low > high {
                return Some(format!("{low} to {high} in dimension {dimension}"));
            }
            let (least, most) = self.range(above?, dimension)?;
            (low < least || high > most)
                .then(|| format!("{low} to {high} in dimension {dimension}, outside {least} to {most} above"))
        })
    }

    /// Whether no dimension of a box has its ends in the wrong order.
    fn is_box(self, cell: &[u8]) -> bool {
        (0..self.dimension_count)
            .all(|dimension| self.range(cell, dimension).is_none_or(|(low, high)| low <= high))
    }

    /// Both ends of a dimension: 32 bits each, exact as `f64`.
    fn range(self, cell: &[u8], dimension: usize) -> Option<(f64, f64)> {
        let number = |index: usize| {
            let bits = u32_at(cell, index * 4)?;
            Some(if self.is_integer { f64::from(bits as i32) } else { f64::from(f32::from_bits(bits)) })
        };
        Some((number(dimension * 2)?, number(dimension * 2 + 1)?))
    }
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    let pair = bytes.get(at..at + 2).and_then(|pair| pair.try_into().ok());
    pair.map_or(0, u16::from_be_bytes)
}
