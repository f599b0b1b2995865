//! The lower bound of a B-tree block: the separator that leads to it, which its left neighbour has as high key.

use std::cmp::Ordering;

use check::findings::Findings;
use check::matching::side::Side;
use check::matching::sums::BucketSet;
use formats::postgres::Tid;
use formats::postgres::attribute::{Columns, Datum};
use formats::postgres::btree::{IndexTuple, Kind, Opaque, VERSION_TID_KEYS};

use crate::block::work::Work;
use crate::btree::context::TreeCheck;
use crate::btree::seams::Seam;
use crate::catalog::Index;
use crate::catalog::order::{KeyRelation, Scratch, compare_keys};
use crate::matching::collector::Collector;
use crate::matching::exact::Exact;
use crate::matching::sink::EntrySink;
use crate::naming::tuple_key_text;
use crate::rules;

impl TreeCheck<'_> {
    /// States the high key to the block on the right, and the first key to the one on the left.
    pub(crate) fn state_seams<S: EntrySink>(
        &self,
        opaque: &Opaque,
        high_key: Option<IndexTuple<'_>>,
        first_key: Option<IndexTuple<'_>>,
        scratch: &mut Scratch,
        work: &mut Work<'_, S>,
    ) {
        let Some(index) = self.tree.relation.index.as_ref() else { return };
        // Without the order of the first column nothing could be told.
        if index.columns.first().is_none_or(|column| column.order.is_none()) {
            return;
        }
        let (block, number) = (work.place.block, self.tree.number);
        if let Some(high_key) = high_key.filter(|_| opaque.next != 0) {
            let seam = Seam { index: number, left: block, right: opaque.next };
            let bound = high_key.key_bytes();
            if let Some(first) = work.sink.seam(seam, Side::Expected, bound)
                && !is_below(index, self.tree.version, bound, &first, scratch)
            {
                work.sink.broken_seam(seam);
            }
        }
        if let Some(first_key) = first_key.filter(|_| opaque.previous != 0) {
            let seam = Seam { index: number, left: opaque.previous, right: block };
            let first = first_key.key_bytes();
            if let Some(bound) = work.sink.seam(seam, Side::Found, first)
                && !is_below(index, self.tree.version, &bound, first, scratch)
            {
                work.sink.broken_seam(seam);
            }
        }
    }
}

impl Exact<'_> {
    /// Names blocks of a B-tree whose first key is not above the bound that leads to them.
    pub(crate) fn seams(&mut self, index: u32, broken: &[Seam], findings: &mut Findings) {
        let plan = self.second.plan;
        let (Some(tree), Some(relation)) = (plan.trees.get(&index), plan.relation(index)) else { return };
        let Some(columns) = relation.index.as_ref() else { return };
        let start = || Collector {
            seams: broken.iter().map(|seam| (*seam, [None, None])).collect(),
            ..Collector::new(index, BucketSet::default())
        };
        let Some(collector) = self.collected_with(start, &[(true, index)]) else { return };
        let mut scratch = Scratch::default();
        for (seam, sides) in &collector.seams {
            let [Some(bound), Some(first)] = sides else { continue };
            if is_below(columns, tree.version, bound, first, &mut scratch) {
                continue;
            }
            let tid = Tid { block: seam.right, item: 0 };
            let text = |tuple: &[u8]| {
                let tuple = IndexTuple::read(tuple)?;
                Some(tuple_key_text(relation, &values(columns, &tuple)?))
            };
            let bound = text(bound).unwrap_or_default();
            let expected = format!("a first key above {bound}, the high key of block {}", seam.left);
            let found = format!("first key {}", text(first).unwrap_or_default());
            self.report(&rules::BTREE_ORDER, index, tid, expected, found, findings);
        }
    }
}

/// Whether a bound lies below the first key of the block to its right; `true` as well where the order is not known.
// EVIDENCE: contrib/amcheck/verify_nbtree.c invariant_l_nontarget_offset, src/backend/access/nbtree/README: all keys of
// a block are above its lower bound, what was cut off a bound being below everything; before version 4 they may equal it
pub(crate) fn is_below(
    index: &Index,
    version: u32,
    bound: &[u8],
    first: &[u8],
    scratch: &mut Scratch,
) -> bool {
    let (Some(bound), Some(first)) = (IndexTuple::read(bound), IndexTuple::read(first)) else { return true };
    let (Some(of_bound), Some(of_first)) = (values(index, &bound), values(index, &first)) else {
        // Told where the tuple stands.
        return true;
    };
    match compare_keys(&index.columns, &of_bound, &of_first, scratch) {
        KeyRelation::NotKnown | KeyRelation::Known(Ordering::Less) => true,
        KeyRelation::Known(Ordering::Greater) => false,
        KeyRelation::Known(Ordering::Equal) if version < VERSION_TID_KEYS => true,
        KeyRelation::Known(Ordering::Equal) => {
            let keys = index.columns.iter().take_while(|column| column.is_key).count();
            match of_bound.len().min(keys).cmp(&of_first.len().min(keys)) {
                Ordering::Less => true,
                Ordering::Greater => false,
                Ordering::Equal => {
                    let row = first.pivot_tid().or_else(|| first.heap_tids().next());
                    // No row pointer is below all of them.
                    bound.pivot_tid() < row
                }
            }
        }
    }
}

fn values<'t>(index: &Index, tuple: &IndexTuple<'t>) -> Option<Vec<Datum<'t>>> {
    let present = match tuple.kind() {
        Kind::Pivot { columns, .. } => usize::from(columns),
        Kind::Plain | Kind::Posting { .. } => index.columns.len(),
    };
    let mut values = Vec::with_capacity(index.columns.len());
    let attributes = index.columns.iter().take(present).map(|column| column.attribute);
    Columns::new(tuple.data(), tuple.null_bitmap()).push_columns(attributes, &mut values).then_some(values)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use formats::postgres::attribute::Attribute;

    use super::*;
    use crate::catalog::IndexColumn;
    use crate::catalog::kinds::Equality;
    use crate::catalog::kinds::KeyOrder;

    fn index() -> Index {
        let column = IndexColumn {
            table_column: 1,
            attribute: Attribute::new(4, b'i').unwrap(),
            order: Some(KeyOrder::Int32),
            equality: Equality::AtLeastBytes,
            is_key: true,
            is_deterministic: true,
            name_as_string: false,
            descending: false,
            nulls_first: false,
            summary: None,
            form: None,
            is_box: false,
        };
        Index {
            table: 1,
            columns: vec![column.clone(), IndexColumn { table_column: 2, descending: true, ..column }],
            primary: false,
            unique: false,
            nulls_not_distinct: false,
            usable: true,
            partial: false,
            has_expressions: false,
        }
    }

    /// An entry of a row of block 0: two columns.
    fn entry(key: [i32; 2], row: u16) -> Vec<u8> {
        let mut bytes = vec![0, 0, 0, 0];
        bytes.extend(row.to_le_bytes());
        bytes.extend(16u16.to_le_bytes());
        key.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
        bytes
    }

    /// A separator of some of the columns, and perhaps a row pointer.
    fn bound(key: &[i32], row: Option<u16>) -> Vec<u8> {
        let length = 8 + (key.len() * 4).next_multiple_of(8) + if row.is_some() { 8 } else { 0 };
        let mut bytes = vec![9, 0, 9, 0];
        let has_row = if row.is_some() { 0x1000 } else { 0 };
        bytes.extend((key.len() as u16 | has_row).to_le_bytes());
        bytes.extend((length as u16 | 0x2000).to_le_bytes());
        key.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
        bytes.resize(length, 0);
        if let Some(row) = row {
            bytes[length - 2..].copy_from_slice(&row.to_le_bytes());
        }
        bytes
    }

    #[test]
    fn what_was_cut_off_a_bound_is_below_everything() {
        let index = index();
        let is_below = |bound: &[u8], first: &[u8], version| {
            is_below(&index, version, bound, first, &mut Scratch::default())
        };
        let first = entry([5, 7], 4);
        assert!(is_below(&bound(&[4, 9], None), &first, 4));
        assert!(is_below(&bound(&[5], None), &first, 4));
        assert!(!is_below(&bound(&[6], None), &first, 4));
        // The second column descends.
        assert!(is_below(&bound(&[5, 8], None), &first, 4));
        assert!(!is_below(&bound(&[5, 6], None), &first, 4));
        assert!(is_below(&bound(&[5, 7], None), &first, 4));
        assert!(is_below(&bound(&[5, 7], Some(3)), &first, 4));
        assert!(!is_below(&bound(&[5, 7], Some(4)), &first, 4));
        // Separators of inner blocks.
        assert!(is_below(&bound(&[5], None), &bound(&[5, 7], None), 4));
        assert!(!is_below(&bound(&[5, 7], None), &bound(&[5], None), 4));
        assert!(!is_below(&bound(&[5], None), &bound(&[5], None), 4));
        assert!(is_below(&bound(&[5, 7], None), &bound(&[5, 7], Some(1)), 4));
        assert!(!is_below(&bound(&[5, 7], Some(1)), &bound(&[5, 7], None), 4));
        // Before version 4 bounds are whole entries, and keys may equal them.
        assert!(is_below(&entry([5, 7], 9), &first, 3));
        assert!(!is_below(&entry([5, 6], 9), &first, 3));
    }
}
