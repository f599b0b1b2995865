//! Unique B-trees whose key order is not known here: byte-equal keys are equal whatever the collation or type.
//!
//! Where the order is known, equal keys stand side by side (`btree_keys`). Elsewhere, and after a change of the
//! collation's order below the server, they may stand anywhere: each live entry states 63 bits of its key's hash, in
//! memory and beyond a limit in temporary files; keys whose bits repeat are read again with all 128 bits.

mod gaps;
mod repeated;

use check::matching::hash::Key;
use formats::postgres::Oid;
use formats::postgres::attribute::Datum;

use crate::catalog::kinds::Equality;
use crate::catalog::order::{plain, without_blanks};
use crate::catalog::{Index, IndexColumn};
use crate::matching::entry::kind;

pub(crate) use crate::matching::uniqueness::gaps::unproven_keys;

impl Equality {
    /// Of an operator family of B-trees. `is_deterministic`: the collation takes texts of different bytes for different.
    // EVIDENCE: src/backend/utils/adt/varlena.c texteq, varchar.c bpchareq: memcmp under a deterministic collation;
    // network.c network_cmp_internal: family, address and mask; varbit.c bit_cmp; date.c timetz_cmp_internal: time and
    // zone; enum.c: the object id. select oid from pg_opfamily: text 1994, char(n) 426, inet 1974, bit 423, varbit 2002,
    // timetz 2000, enumerations 3522, record_image 3194
    pub(crate) fn of(family: Oid, is_deterministic: bool) -> Equality {
        match family {
            1974 | 423 | 2002 | 2000 | 3522 | 3194 => Equality::Bytes,
            1994 if is_deterministic => Equality::Bytes,
            426 if is_deterministic => Equality::BytesWithoutBlanks,
            426 => Equality::AtLeastBytesWithoutBlanks,
            _ => Equality::AtLeastBytes,
        }
    }

    /// Whether values that are equal cannot differ in what is compared.
    fn is_exact(self) -> bool {
        matches!(self, Equality::Bytes | Equality::BytesWithoutBlanks)
    }

    fn has_blanks(self) -> bool {
        matches!(self, Equality::BytesWithoutBlanks | Equality::AtLeastBytesWithoutBlanks)
    }
}

/// Whether equal keys of a unique index need not stand side by side, as far as is known here.
pub(crate) fn is_hashed(index: &Index) -> bool {
    index.unique && key_columns(index).any(|column| column.order.is_none())
}

/// Whether equal keys of different bytes may be missed.
pub(crate) fn may_miss_equal_keys(index: &Index) -> bool {
    is_hashed(index) && key_columns(index).any(|column| column.order.is_none() && !column.equality.is_exact())
}

/// Hash of the key of an entry: the same for keys that are equal as far as that is known here.
///
/// `None` if a value cannot be decompressed.
pub(crate) fn key_fact(
    key: &Key,
    index_id: u32,
    index: &Index,
    values: &[Datum<'_>],
    buffer: &mut Vec<u8>,
) -> Option<u128> {
    let mut hasher = key.fact(kind::UNIQUE_KEY, index_id, 0);
    for (column, value) in index.columns.iter().zip(values).filter(|(column, _)| column.is_key) {
        match (value, column.order) {
            (Datum::Null, _) => hasher.null(),
            (_, Some(order)) => hasher.bytes(&order.equal_form(plain(value, buffer)?)),
            (_, None) if column.equality.has_blanks() => hasher.bytes(without_blanks(plain(value, buffer)?)),
            (_, None) => hasher.bytes(plain(value, buffer)?),
        }
    }
    Some(hasher.finish())
}

fn key_columns(index: &Index) -> impl Iterator<Item = &IndexColumn> {
    index.columns.iter().take_while(|column| column.is_key)
}
