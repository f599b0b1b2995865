//! Bits of a row's header that say what kinds of values follow.

use formats::postgres::attribute::{Attribute, Datum, Length};
use formats::postgres::heap::{TupleHeader, mask};
use formats::postgres::varlena::Varlena;

/// What a header says of its values that they contradict: expected, found. `has_packed`: some value is compressed or kept
/// in TOAST.
///
/// A bit that is set without need is not reported: it costs the server time, and no value.
// EVIDENCE: src/backend/access/common/heaptuple.c fill_val: HEAP_HASVARWIDTH for each value of variable width,
// HEAP_HASEXTERNAL for each that is kept outside; nocachegetattr takes fixed offsets where HEAP_HASVARWIDTH is not set;
// contrib/amcheck/verify_heapam.c: "attribute ... is external but tuple header flag HEAP_HASEXTERNAL not set"
pub(crate) fn contradiction(
    header: &TupleHeader,
    attributes: &[Attribute],
    values: &[Datum<'_>],
    has_packed: bool,
) -> Option<(String, String)> {
    let found = || format!("infomask {:#06x}", header.infomask);
    if header.infomask & mask::HAS_VARWIDTH == 0 {
        let is_variable = |(attribute, value): (&Attribute, &Datum<'_>)| {
            !matches!(attribute.length, Length::Fixed(_)) && !matches!(value, Datum::Null)
        };
        if let Some(column) = attributes.iter().zip(values).position(is_variable) {
            let expected = format!("HEAP_HASVARWIDTH set, since column {} has variable width", column + 1);
            return Some((expected, found()));
        }
    }
    if has_packed && header.infomask & mask::HAS_EXTERNAL == 0 {
        let is_external = |value: &Datum<'_>| matches!(value, Datum::Varlena(Varlena::External(_)));
        let column = values.iter().position(is_external)?;
        let expected = format!("HEAP_HASEXTERNAL set, since column {} is kept in TOAST", column + 1);
        return Some((expected, found()));
    }
    None
}
