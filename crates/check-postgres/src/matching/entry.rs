//! What a row says about an index, and an index entry about a row: the same fact, hashed.

use check::matching::hash::{FactHasher, Key};
use formats::postgres::Tid;
use formats::postgres::attribute::Datum;
use formats::postgres::varlena::Varlena;

use crate::catalog::Index;
use crate::catalog::order::plain;

/// Kinds of facts; they keep sums of different rules apart.
pub(crate) mod kind {
    pub(crate) const ENTRY: u32 = 1;
    pub(crate) const ENTRY_TID_ONLY: u32 = 2;
    pub(crate) const GIN_DOWNLINK: u32 = 4;
    pub(crate) const TOAST: u32 = 5;
    pub(crate) const BOUNDARY: u32 = 6;
    pub(crate) const ENTRY_HASH: u32 = 32;
    pub(crate) const UNIQUE_KEY: u32 = 33;
    /// Those of links begin here, see `LinkKind::fact`.
    pub(crate) const LINKS: u32 = 1000;
}

/// Adds a column to a fact: plain bytes, so that the form in which they are packed does not matter.
///
/// `false` if the plain bytes cannot be had here.
#[inline(always)]
pub(crate) fn add_value(
    hasher: &mut FactHasher<'_>,
    value: &Datum<'_>,
    name_as_string: bool,
    buffer: &mut Vec<u8>,
) -> bool {
    let bytes = match value {
        Datum::Null => {
            hasher.null();
            return true;
        }
        Datum::Bytes(bytes) | Datum::Varlena(Varlena::Plain(bytes)) => bytes,
        Datum::Varlena(_) => match plain(value, buffer) {
            Some(bytes) => bytes,
            None => return false,
        },
    };
    hasher.bytes(if name_as_string { before_zero(bytes) } else { bytes });
    true
}

fn before_zero(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    &bytes[..end]
}

/// Hash of an entry by its row pointer alone.
pub(crate) fn tid_fact(key: &Key, index: u32, tid: Tid) -> u128 {
    key.fact(kind::ENTRY_TID_ONLY, index, tid_code(tid)).finish()
}

/// Hash of an entry of a hash index by its row pointer and the hash value of its key.
pub(crate) fn hash_fact(key: &Key, index: u32, tid: Tid, hash: u32) -> u128 {
    let mut hasher = key.fact(kind::ENTRY_HASH, index, tid_code(tid));
    hasher.word(u64::from(hash));
    hasher.finish()
}

/// Hash of the entry that a row should have; `None` if a value is not in place.
///
/// `values`: those that the row has, and where those that it lacks come from.
pub(crate) fn row_fact<'a>(
    key: &Key,
    index_id: u32,
    index: &Index,
    tid: Tid,
    values: (&[Datum<'a>], &impl Fn(usize) -> Datum<'a>),
    buffer: &mut Vec<u8>,
) -> Option<u128> {
    let mut hasher = key.fact(kind::ENTRY, index_id, tid_code(tid));
    for column in &index.columns {
        // Expressions are left out on both sides.
        let Some(number) = usize::try_from(column.table_column).ok().and_then(|number| number.checked_sub(1))
        else {
            continue;
        };
        let value = values.0.get(number).copied().unwrap_or_else(|| values.1(number));
        if !add_value(&mut hasher, &value, column.name_as_string, buffer) {
            return None;
        }
    }
    Some(hasher.finish())
}

/// Starts the hash of the key part of an entry, which is the same for all rows of a posting list.
pub(crate) fn entry_fact(
    key: &Key,
    index_id: u32,
    index: &Index,
    tid: Tid,
    values: &[Datum<'_>],
    buffer: &mut Vec<u8>,
) -> Option<u128> {
    let mut hasher = key.fact(kind::ENTRY, index_id, tid_code(tid));
    for (column, value) in index.columns.iter().zip(values) {
        if column.table_column > 0 && !add_value(&mut hasher, value, false, buffer) {
            return None;
        }
    }
    Some(hasher.finish())
}

/// Hash of a key that stands where two leaves meet: the same for all spellings of equal values.
///
/// `None` if a value is not in place.
pub(crate) fn boundary_fact(
    key: &Key,
    index_id: u32,
    index: &Index,
    (left, right): (u32, u32),
    values: &[Datum<'_>],
    buffer: &mut Vec<u8>,
) -> Option<u128> {
    let mut hasher = key.fact(kind::BOUNDARY, index_id, (u64::from(left) << 32) | u64::from(right));
    for (column, value) in index.columns.iter().zip(values).filter(|(column, _)| column.is_key) {
        match (value, column.order) {
            (Datum::Null, _) => hasher.null(),
            (_, Some(order)) => hasher.bytes(&order.equal_form(plain(value, buffer)?)),
            (_, None) => hasher.bytes(plain(value, buffer)?),
        }
    }
    Some(hasher.finish())
}

/// A row pointer as one number, ascending as row pointers do.
#[inline]
pub(crate) fn tid_code(tid: Tid) -> u64 {
    (u64::from(tid.block) << 16) | u64::from(tid.item)
}
