//! Keys of B-trees: their order in a page, and the bounds that the pages above set.

use std::cmp::Ordering;

use formats::sqlserver::{PageId, Record, RowsetColumn, Value};

use super::finding::Draft;
use super::plan::Plan;
use super::rules::Promised;

/// The order of two keys, as far as it is known, and whether all their columns were compared.
pub(super) fn compare(
    keys: &[RowsetColumn],
    left: &Record<'_>,
    right: &Record<'_>,
    is_leaf: bool,
) -> Option<Ordering> {
    for key in keys {
        let place = if is_leaf { key.leaf } else { key.inner };
        let order = match (key.value(left, place), key.value(right, place)) {
            (Value::Null, Value::Null) => Ordering::Equal,
            (Value::Null, Value::Bytes(_)) => Ordering::Less,
            (Value::Bytes(_), Value::Null) => Ordering::Greater,
            (Value::Bytes(left), Value::Bytes(right)) => key.type_info.compare(left, right)?,
            _ => return None,
        };
        if order != Ordering::Equal {
            return Some(if key.is_descending() { order.reverse() } else { order });
        }
    }
    Some(Ordering::Equal)
}

/// The first columns of a key, whose order is known, apart from their record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key(Vec<Option<Vec<u8>>>);

impl Key {
    /// Copies the columns of known order; `None` when there is none, or a value is not in the record.
    pub(super) fn of(keys: &[RowsetColumn], record: &Record<'_>, is_leaf: bool) -> Option<Self> {
        let mut values = Vec::new();
        for key in keys.iter().take_while(|key| key.type_info.has_order()) {
            match key.value(record, if is_leaf { key.leaf } else { key.inner }) {
                Value::Null => values.push(None),
                Value::Bytes(bytes) => values.push(Some(bytes.to_vec())),
                Value::Absent | Value::Elsewhere(_) => break,
            }
        }
        (!values.is_empty()).then_some(Self(values))
    }

    fn compare(&self, other: &Self, keys: &[RowsetColumn]) -> Option<Ordering> {
        for ((left, right), key) in self.0.iter().zip(&other.0).zip(keys) {
            let order = match (left, right) {
                (None, None) => Ordering::Equal,
                (None, Some(_)) => Ordering::Less,
                (Some(_), None) => Ordering::Greater,
                (Some(left), Some(right)) => key.type_info.compare(left, right)?,
            };
            if order != Ordering::Equal {
                return Some(if key.is_descending() { order.reverse() } else { order });
            }
        }
        Some(Ordering::Equal)
    }

    /// Bytes in memory, about.
    pub(super) fn bytes(&self) -> u64 {
        let values = self.0.iter().map(|value| 24 + value.as_ref().map_or(0, Vec::len));
        24 + values.sum::<usize>() as u64
    }

    fn text(&self, keys: &[RowsetColumn]) -> String {
        let values = self.0.iter().zip(keys).map(|(value, key)| match value {
            None => "NULL".to_owned(),
            Some(bytes) => {
                let digits: String = bytes.iter().rev().map(|byte| format!("{byte:02x}")).collect();
                format!("{} 0x{digits}", key.type_info.name())
            }
        });
        values.collect::<Vec<_>>().join(", ")
    }
}

/// What the pages above say about the keys of a page.
pub(super) struct Bound {
    pub(super) child: PageId,
    pub(super) unit: u32,
    pub(super) parent: PageId,
    pub(super) slot: u16,
    /// Least key allowed; `None` for the first page of a level.
    pub(super) low: Option<Key>,
    /// Key of the next entry: all keys are less.
    pub(super) high: Option<Key>,
}

/// The first and the last key of a page.
pub(super) struct Ends {
    pub(super) page: PageId,
    pub(super) unit: u32,
    pub(super) first: Option<Key>,
    pub(super) last: Option<Key>,
}

/// Compares the ends of all pages with their bounds.
pub(super) fn compare_bounds(plan: &Plan, bounds: &[Bound], ends: &[Ends]) -> Vec<Draft> {
    // Both are nearly sorted already, since pages are looked at in physical order.
    let mut bounds: Vec<&Bound> = bounds.iter().collect();
    bounds.sort_by_key(|bound| (bound.child, bound.parent, bound.slot));
    let mut ends: Vec<&Ends> = ends.iter().collect();
    ends.sort_by_key(|ends| ends.page);
    let mut ends = ends.into_iter().peekable();
    let mut drafts = Vec::new();
    for bound in bounds {
        while ends.next_if(|ends| ends.page < bound.child).is_some() {}
        let is_same = |ends: &&&Ends| ends.page == bound.child && ends.unit == bound.unit;
        let Some(ends) = ends.peek().filter(is_same) else { continue };
        let Some(unit) = plan.units.get(bound.unit as usize) else { continue };
        let keys = &unit.keys;
        let mut report = |relation: &str, limit: &Key, found: &Key| {
            let expected =
                format!("keys {relation} {}, by page {} slot {}", limit.text(keys), bound.parent, bound.slot);
            let draft = Draft::new(Promised::KeyBounds, bound.child, expected, found.text(keys));
            drafts.push(draft.unit(bound.unit));
        };
        if let (Some(low), Some(first)) = (&bound.low, &ends.first)
            && first.compare(low, keys) == Some(Ordering::Less)
        {
            report("from", low, first);
        }
        if let (Some(high), Some(last)) = (&bound.high, &ends.last) {
            // A part of the key may be equal on both sides.
            let is_whole = high.0.len() == keys.len() && last.0.len() == keys.len();
            match last.compare(high, keys) {
                Some(Ordering::Greater) => report("below", high, last),
                Some(Ordering::Equal) if is_whole => report("below", high, last),
                _ => {}
            }
        }
    }
    drafts.sort_by_key(|draft| draft.page);
    drafts
}
