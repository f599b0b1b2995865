//! Rules of the tree of a `GiST` index: flags, downlinks, levels.
//!
//! A block names its children and nothing else; a right link binds nobody but while a split is not finished, when the left
//! block stands for the downlink that is missing.

pub(crate) mod reading;
pub(crate) mod tree;

use check::matching::hash::Key;
use check::matching::side::Side;
use check::matching::sums::BUCKET_COUNT;
use formats::postgres::attribute::{Columns, Datum};
use formats::postgres::btree::IndexTuple;
use formats::postgres::gist::{Opaque, ROOT, flag};
use formats::postgres::index_pages::Method;
use formats::postgres::page::Page;
use formats::postgres::{Damage, Invariant, gist};
use results::check::CheckLevel;

use crate::block::tree::Tree;
use crate::block::work::Work;
use crate::catalog::Index;
use crate::catalog::key_forms::{BOX_BYTES, floats, read_values};
use crate::gist::tree::GistTree;
use crate::matching::links::{Link, LinkKind};
use crate::matching::sink::EntrySink;
use crate::rules;

/// What a block of such an index is tested with.
pub(crate) struct GistCheck<'a> {
    pub(crate) tree: &'a Tree<'a>,
    /// What its inner blocks say; `None` if they could not be read.
    pub(crate) inner: Option<&'a GistTree>,
    pub(crate) key: &'a Key,
    pub(crate) level: CheckLevel,
}

impl GistCheck<'_> {
    /// Tests a block whose header, mark and line pointers were found in order.
    pub(crate) fn block<S: EntrySink>(
        &self,
        page: &Page<'_>,
        damage: &mut Vec<Damage>,
        work: &mut Work<'_, S>,
    ) {
        damage.clear();
        let Some(opaque) = Opaque::read(page) else { return };
        let block = work.place.block;
        let special = usize::from(page.header().special);
        opaque.check(special, block, self.tree.blocks, damage);
        if opaque.has(flag::DELETED) {
            work.drain(damage);
            return;
        }
        self.check_level(&opaque, block, special, damage);
        if block != ROOT {
            self.state_child(Side::Found, block, page.item_count() == 0, work);
        }
        if let Some(right) = opaque.follows() {
            self.state_child(Side::Expected, right, false, work);
        }
        let parent = self.inner.and_then(|inner| inner.downlink_of(block));
        let parent = parent.filter(|_| self.level == CheckLevel::Full);
        if let (Some(parent), Some(index)) = (parent, &self.tree.relation.index) {
            check_boxes(page, &parent, index, work);
        }
        for item in page.items() {
            let Some(tuple) = page.item_bytes(item).and_then(IndexTuple::read) else { continue };
            let place = (block, self.tree.blocks);
            if let Some(child) = gist::check_tuple(&tuple, item, opaque.is_leaf(), place, damage) {
                self.state_child(Side::Expected, child, false, work);
            }
        }
        work.drain(damage);
    }

    fn check_level(&self, opaque: &Opaque, block: u32, special: usize, damage: &mut Vec<Damage>) {
        let Some(inner) = self.inner else { return };
        let (expected, found) = match (inner.level_of(block), opaque.is_leaf()) {
            (Some(level), true) => {
                (format!("an inner block: its parent is on level {}", level + 1), "a leaf")
            }
            (None, false) if inner.is_whole => {
                ("a leaf: no inner block above the lowest level points to it".to_owned(), "an inner block")
            }
            _ => return,
        };
        damage.push(Damage::at(Invariant::GistLinks, special + 12, expected, found));
    }

    /// A block and its parent state the same: that it has a downlink.
    fn state_child<S: EntrySink>(&self, side: Side, child: u32, is_empty: bool, work: &mut Work<'_, S>) {
        let fact = LinkKind::GistChild.fact(self.key, self.tree.number, u64::from(child)).finish();
        let detail = u32::from(is_empty);
        let link = Link { kind: LinkKind::GistChild, from: work.place.block, to: child, detail };
        work.sink.link(self.tree.number, side, child as usize % BUCKET_COUNT, fact, link);
    }
}

/// Each box of a block lies in the box that its parent has for it.
// EVIDENCE: src/backend/access/gist/README, insert algorithm: downlinks cover a new key before it goes further down;
// gistproc.c gist_box_union: a key of an inner block has all below in it, exactly, and may have more
fn check_boxes<S>(page: &Page<'_>, parent: &IndexTuple<'_>, index: &Index, work: &mut Work<'_, S>) {
    let (mut outer, mut inner) = (Vec::new(), Vec::new());
    let attributes = || index.columns.iter().map(|column| column.attribute);
    // Columns that are only included stand in leaves.
    let keys = index.columns.iter().filter(|column| column.is_key).count();
    let mut reader = Columns::new(parent.data(), parent.null_bitmap());
    if !reader.push_columns(attributes().take(keys), &mut outer) {
        return;
    }
    for item in page.items() {
        // What cannot be taken apart differs from its row, or is told with the block.
        read_values(Method::Gist, page, item, index, &mut inner);
        let columns = index.columns.iter().zip(outer.iter().zip(&inner));
        for (number, (_, (outer, inner))) in columns.enumerate().filter(|(_, (column, _))| column.is_box) {
            if !covers(outer, inner) {
                let column = number + 1;
                let expected =
                    format!("a key of column {column} inside {}, that of the downlink", box_text(outer));
                work.report(&rules::GIST_KEYS, Some(item.number), expected, box_text(inner));
                return;
            }
        }
    }
}

/// A box as PostgreSQL prints it: `(4,4),(0,0)`.
fn box_text(datum: &Datum<'_>) -> String {
    let corners = match datum {
        Datum::Null => return "null".to_owned(),
        Datum::Bytes(bytes) if bytes.len() == BOX_BYTES => floats::<4>(bytes),
        _ => None,
    };
    match corners {
        Some([high_x, high_y, low_x, low_y]) => format!("({high_x},{high_y}),({low_x},{low_y})"),
        None => "(not a box)".to_owned(),
    }
}

/// Whether a box has another in it. Numbers that are none are not compared: servers before 12 kept them anyhow.
fn covers(outer: &Datum<'_>, inner: &Datum<'_>) -> bool {
    let edges = |datum: &Datum<'_>| match datum {
        Datum::Bytes(bytes) if bytes.len() == BOX_BYTES => floats::<4>(bytes),
        _ => None,
    };
    let (Some([high_x, high_y, low_x, low_y]), Some(inner)) = (edges(outer), edges(inner)) else {
        return !matches!((outer, inner), (Datum::Null, Datum::Bytes(_)));
    };
    let [inner_high_x, inner_high_y, inner_low_x, inner_low_y] = inner;
    !(high_x < inner_high_x || high_y < inner_high_y || low_x > inner_low_x || low_y > inner_low_y)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_covered(outer: [f64; 4], inner: [f64; 4]) -> bool {
        let bytes = |numbers: [f64; 4]| numbers.map(f64::to_le_bytes).concat();
        covers(&Datum::Bytes(&bytes(outer)), &Datum::Bytes(&bytes(inner)))
    }

    #[test]
    fn a_box_is_shown_as_the_server_prints_it() {
        let bytes = [4.5, 4.0, -1.0, 0.0f64].map(f64::to_le_bytes).concat();
        assert_eq!(box_text(&Datum::Bytes(&bytes)), "(4.5,4),(-1,0)");
        assert_eq!(
            (box_text(&Datum::Null), box_text(&Datum::Bytes(&[1]))),
            ("null".into(), "(not a box)".into())
        );
    }

    #[test]
    fn a_box_covers_itself_and_what_is_inside_and_nothing_that_sticks_out() {
        let outer = [4.0, 4.0, 0.0, 0.0];
        assert!(is_covered(outer, outer) && is_covered(outer, [1.0, 1.0, -0.0, 0.5]));
        for edge in 0..4 {
            let mut inner = outer;
            inner[edge] += if edge < 2 { 0.5 } else { -0.5 };
            assert!(!is_covered(outer, inner), "{edge}");
        }
        assert!(is_covered(outer, [f64::NAN, 1.0, 0.0, 0.0]));
        assert!(!covers(&Datum::Null, &Datum::Bytes(&[0; BOX_BYTES])));
        assert!(covers(&Datum::Bytes(&[0; BOX_BYTES]), &Datum::Null));
    }
}
