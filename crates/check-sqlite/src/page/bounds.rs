//! The keys of a page against the keys that enclose it in the pages above.

use std::cmp::Ordering;

use formats::sqlite::{BtreePage, Cell};
use results::check::CheckLevel;

use crate::finding::Draft;
use crate::map::header_offset;
use crate::matching::links::{Bound, Link};
use crate::plan::Order;
use crate::rules;
use crate::run::worker::{Place, Worker};

impl Worker<'_> {
    /// Proves that the keys of a page are between those that enclose it in its parent.
    #[inline]
    pub(crate) fn bounds(
        &mut self,
        place: &Place<'_>,
        view: &BtreePage<'_>,
        link: &Link<'_>,
        (first, last): (&Cell<'_>, &Cell<'_>),
    ) {
        let order = self.context.plans.trees.get(place.tree).and_then(|plan| plan.order.as_ref());
        if self.collector.is_some() || !view.kind.is_table() && order.is_none() {
            return;
        }
        let geometry = self.context.geometry;
        for (bound, cell, is_upper) in [(link.lower, first, false), (link.upper, last, true)] {
            let Some(bound) = bound else { continue };
            // A page in the wrong place is one finding, whichever keys it is outside of.
            if self.pending.iter().any(|draft| draft.rule.id == rules::PARENT_BOUNDS.id) {
                break;
            }
            match bound.cell(geometry) {
                Some(key) => self.bound(place, cell, &bound, &key, is_upper, order),
                None => self.distant_bound(place, cell, &bound, is_upper, order),
            }
        }
    }

    /// The same with a key whose page has to be read first.
    fn distant_bound(
        &mut self,
        place: &Place<'_>,
        cell: &Cell<'_>,
        bound: &Bound<'_>,
        is_upper: bool,
        order: Option<&Order>,
    ) {
        let mut bytes = std::mem::take(&mut self.above);
        let is_read = self.context.reader.read(bound.page, &mut bytes).is_ok();
        let above = BtreePage::new(&bytes, header_offset(bound.page), self.context.geometry).0;
        if let Some(above) = above.filter(|above| is_read && !above.kind.is_leaf()) {
            let (key, damage) = above.cell(usize::from(bound.slot));
            // The pass reports what is wrong inside the page above.
            if damage.is_none() && usize::from(bound.slot) < above.cell_count {
                let bound = Bound { is_table: above.kind.is_table(), ..*bound };
                self.bound(place, cell, &bound, &key, is_upper, order);
            }
        }
        self.above = bytes;
    }

    #[inline]
    fn bound(
        &mut self,
        place: &Place<'_>,
        cell: &Cell<'_>,
        bound: &Bound<'_>,
        key: &Cell<'_>,
        is_upper: bool,
        order: Option<&Order>,
    ) {
        let Bound { page: above_page, slot: index, .. } = *bound;
        let side = if is_upper { "below" } else { "above" };
        let make = |rule, expected: String, found: String| {
            Draft::new(rule, place.page, expected, found).tree(place.tree).loses(place.rowids)
        };
        let Some(order) = order.filter(|_| !bound.is_table) else {
            // EVIDENCE: sqlite fileformat2 1.6: keys left of a key are less than or equal to it, in table trees
            let is_inside = if is_upper { cell.rowid <= key.rowid } else { cell.rowid > key.rowid };
            if !is_inside {
                let limit = if is_upper { "at most" } else { "above" };
                let expected = format!("rowids {limit} {}, by page {above_page} slot {index}", key.rowid);
                self.report(make(&rules::PARENT_BOUNDS, expected, format!("rowid {}", cell.rowid)));
            }
            return;
        };
        let (left, right) = if is_upper { (cell, key) } else { (key, cell) };
        let Some(found) = self.compare(place, left, right, order) else { return };
        if found.ordering != Ordering::Less {
            let expected = format!(
                "keys {side} {}, by page {above_page} slot {index}",
                self.key_text(place, key, order)
            );
            let draft = make(&rules::PARENT_BOUNDS, expected, self.key_text(place, cell, order));
            self.report_order(place, (left, right), order, draft);
        }
        let is_unique = order.unique_columns > 0 && self.context.level == CheckLevel::Full;
        if is_unique && found.equal_columns >= order.unique_columns && !found.has_null {
            let expected = "a unique key".to_owned();
            let found =
                format!("{} also on page {above_page} slot {index}", self.key_text(place, cell, order));
            self.report_order(place, (left, right), order, make(&rules::UNIQUE, expected, found));
        }
    }
}
