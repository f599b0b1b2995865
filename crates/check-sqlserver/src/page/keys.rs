//! Keys of B-trees: their order in a page, and the bounds that the pages above set.

use std::cmp::Ordering;

use formats::sqlserver::{PageId, Record, RowsetColumn, Value};

use crate::finding::Draft;
use crate::plan::Plan;
use crate::rules;

/// The order of two keys, as far as it is known, and whether all their columns were compared.
pub(crate) fn compare(
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

/// The first columns of a key, whose order is known, apart from their record: each with its length, `NULL` for none.
///
/// Short keys need no memory of their own: a check keeps two for each page, and what gives them out took a third of the
/// time of level structure when each column was a vector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Key {
    /// Length and bytes.
    Short(u8, [u8; SHORT_BYTES]),
    /// All others.
    Long(Box<[u8]>),
}

/// Bytes of a key beside its tag and its length; with these three words.
const SHORT_BYTES: usize = 22;
/// The length of a column without a value; none is that long.
const NULL: u16 = u16::MAX;

impl Key {
    /// Copies the columns of known order; `None` when there is none, or a value is not in the record.
    pub(crate) fn of(keys: &[RowsetColumn], record: &Record<'_>, is_leaf: bool) -> Option<Self> {
        let mut own = Self::Short(0, [0; SHORT_BYTES]);
        for key in keys.iter().take_while(|key| key.type_info.has_order()) {
            match key.value(record, if is_leaf { key.leaf } else { key.inner }) {
                Value::Null => own.push(&NULL.to_le_bytes()),
                Value::Bytes(bytes) => {
                    own.push(&(bytes.len() as u16).to_le_bytes());
                    own.push(bytes);
                }
                Value::Absent | Value::Elsewhere(_) => break,
            }
        }
        (!own.encoded().is_empty()).then_some(own)
    }

    fn push(&mut self, more: &[u8]) {
        if let Self::Short(length, bytes) = self {
            let end = usize::from(*length) + more.len();
            if let Some(into) = bytes.get_mut(usize::from(*length)..end) {
                into.copy_from_slice(more);
                *length = end as u8;
                return;
            }
        }
        *self = Self::Long([self.encoded(), more].concat().into());
    }

    fn encoded(&self) -> &[u8] {
        match self {
            Self::Short(length, bytes) => bytes.get(..usize::from(*length)).unwrap_or_default(),
            Self::Long(bytes) => bytes,
        }
    }

    /// The columns; `None` for one without a value.
    pub(crate) fn values(&self) -> impl Iterator<Item = Option<&[u8]>> {
        let mut rest = self.encoded();
        std::iter::from_fn(move || {
            let (length, behind) = rest.split_first_chunk::<2>()?;
            let length = u16::from_le_bytes(*length);
            let (value, behind) = behind.split_at_checked(if length == NULL { 0 } else { length.into() })?;
            rest = behind;
            Some((length != NULL).then_some(value))
        })
    }

    fn compare(&self, other: &Self, keys: &[RowsetColumn]) -> Option<Ordering> {
        for ((left, right), key) in self.values().zip(other.values()).zip(keys) {
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

    /// Bytes in memory beyond the key itself, about.
    pub(crate) fn bytes(&self) -> u64 {
        if let Self::Long(bytes) = self { 16 + bytes.len() as u64 } else { 0 }
    }
}

/// What the pages above say about the keys of a page.
pub(crate) struct Bound {
    pub(crate) child: PageId,
    pub(crate) unit: u32,
    pub(crate) parent: PageId,
    pub(crate) slot: u16,
    /// Least key allowed; `None` for the first page of a level.
    pub(crate) low: Option<Key>,
    /// Key of the next entry: all keys are less.
    pub(crate) high: Option<Key>,
}

/// The first and the last key of a page.
pub(crate) struct Ends {
    pub(crate) page: PageId,
    pub(crate) unit: u32,
    pub(crate) first: Option<Key>,
    pub(crate) last: Option<Key>,
}

/// Compares the ends of all pages with their bounds.
pub(crate) fn compare_bounds(plan: &Plan, bounds: &[Bound], ends: &[Ends]) -> Vec<Draft> {
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
            let expected = format!(
                "keys {relation} {}, by page {} slot {}",
                unit.kept_key_text(limit),
                bound.parent,
                bound.slot
            );
            let draft = Draft::new(&rules::KEY_BOUNDS, bound.child, expected, unit.kept_key_text(found));
            drafts.push(draft.unit(bound.unit));
        };
        if let (Some(low), Some(first)) = (&bound.low, &ends.first)
            && first.compare(low, keys) == Some(Ordering::Less)
        {
            report("from", low, first);
        }
        if let (Some(high), Some(last)) = (&bound.high, &ends.last) {
            // A part of the key may be equal on both sides.
            let is_whole = [high, last].into_iter().all(|key| key.values().count() == keys.len());
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
