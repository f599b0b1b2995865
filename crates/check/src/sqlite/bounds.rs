//! The keys of a page against the keys that enclose it in the pages above.

use std::cmp::Ordering;

use formats::sqlite::{BtreePage, Cell};
use results::check::CheckLevel;

use super::context::Draft;
use super::plan::Order;
use super::rules;
use super::worker::{Place, Worker};

impl Worker<'_> {
    /// Proves that the keys of a page lie between those that enclose it above.
    pub(super) fn bounds(
        &mut self,
        place: &Place<'_>,
        view: &BtreePage<'_>,
        parent: u32,
        slot: Option<usize>,
        (first, last): (&Cell<'_>, &Cell<'_>),
    ) {
        let is_table = view.kind.is_table();
        let order = self.context.plans.trees.get(place.tree).and_then(|plan| plan.order.as_ref());
        if self.collector.is_some() || !is_table && order.is_none() {
            return;
        }
        let map = self.context.map;
        let reader = self.context.reader;
        let Some(parent_node) = map.node(parent) else { return };
        let find = |above: &BtreePage<'_>| {
            let guess = match order {
                Some(order) if !is_table => self.search(place, above, first, order),
                _ => partition_point(above.cell_count, |index| {
                    above.rowid(index).is_some_and(|key| key < first.rowid)
                }),
            };
            if above.child(guess) == place.page {
                return Some((guess, above.cell_count));
            }
            (0..=above.cell_count)
                .find(|index| above.child(*index) == place.page)
                .map(|index| (index, above.cell_count))
        };
        let found = match slot {
            Some(slot) => map.with_node_page(reader, parent_node, |above| Some((slot, above.cell_count))),
            None => map.with_node_page(reader, parent_node, find),
        };
        let Some(Some((slot, cell_count))) = found else { return };
        let lower = if slot > 0 { Some((parent, slot - 1)) } else { self.climb(parent, false) };
        let upper = if slot < cell_count { Some((parent, slot)) } else { self.climb(parent, true) };
        for (bound, cell, is_upper) in [(lower, first, false), (upper, last, true)] {
            let Some((node, index)) = bound else { continue };
            let Some(node) = map.node(node) else { continue };
            let draft = map.with_node_page(reader, node, |above| {
                self.bound(place, cell, above, (node.page, index), is_upper, order)
            });
            for draft in draft.into_iter().flatten() {
                self.report(draft);
            }
        }
    }

    /// The position among the children of an index page where a key belongs.
    fn search(&self, place: &Place<'_>, above: &BtreePage<'_>, cell: &Cell<'_>, order: &Order) -> usize {
        partition_point(above.cell_count, |index| {
            let (bound, damage) = above.cell(index);
            let found = if damage.is_none() { self.compare(place, &bound, cell, order) } else { None };
            found.is_some_and(|found| found.ordering == Ordering::Less)
        })
    }

    /// The key that encloses the last (or first) children of a node: in the nearest node above that has one.
    fn climb(&self, mut node: u32, is_upper: bool) -> Option<(u32, usize)> {
        let map = self.context.map;
        loop {
            let here = *map.node(node)?;
            if here.parent == node {
                return None;
            }
            let slot = here.slot as usize;
            let parent = map.node(here.parent)?;
            if is_upper {
                let cell_count = map.with_node_page(self.context.reader, parent, |view| view.cell_count)?;
                if slot < cell_count {
                    return Some((here.parent, slot));
                }
            } else if slot > 0 {
                return Some((here.parent, slot - 1));
            }
            node = here.parent;
        }
    }

    fn bound(
        &self,
        place: &Place<'_>,
        cell: &Cell<'_>,
        above: &BtreePage<'_>,
        (above_page, index): (u32, usize),
        is_upper: bool,
        order: Option<&Order>,
    ) -> Vec<Draft> {
        let mut drafts = Vec::new();
        let side = if is_upper { "below" } else { "above" };
        let (bound, damage) = above.cell(index);
        if damage.is_some() {
            return drafts;
        }
        let make = |rule, expected: String, found: String| {
            Draft::new(rule, place.page, expected, found).tree(place.tree)
        };
        let Some(order) = order.filter(|_| !above.kind.is_table()) else {
            // EVIDENCE: sqlite fileformat2 1.6: keys left of a key are less than or equal to it, in table trees
            let is_inside = if is_upper { cell.rowid <= bound.rowid } else { cell.rowid > bound.rowid };
            if !is_inside {
                let limit = if is_upper { "at most" } else { "above" };
                let expected = format!("rowids {limit} {}, by page {above_page} slot {index}", bound.rowid);
                drafts.push(make(&rules::PARENT_BOUNDS, expected, format!("rowid {}", cell.rowid)));
            }
            return drafts;
        };
        let (left, right) = if is_upper { (cell, &bound) } else { (&bound, cell) };
        let Some(found) = self.compare(place, left, right, order) else { return drafts };
        if found.ordering != Ordering::Less {
            let expected = format!(
                "keys {side} {}, by page {above_page} slot {index}",
                self.key_text(place, &bound, order)
            );
            drafts.push(make(&rules::PARENT_BOUNDS, expected, self.key_text(place, cell, order)));
        }
        let is_unique = order.unique_columns > 0 && self.context.level == CheckLevel::Full;
        if is_unique && found.equal_columns >= order.unique_columns && !found.has_null {
            let expected = "a key that no other entry has".to_owned();
            let found =
                format!("{} also on page {above_page} slot {index}", self.key_text(place, cell, order));
            drafts.push(make(&rules::UNIQUE, expected, found));
        }
        drafts
    }
}

/// The first index for which `is_before` is false, when it is true up to there.
fn partition_point(count: usize, is_before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        if is_before(middle) { low = middle + 1 } else { high = middle }
    }
    low
}
