//! What bits of a row version say that pg_xact or other bits contradict.

use check::rule::Rule;
use formats::postgres::heap::TupleHeader;

/// What bits say that pg_xact contradicts.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Contradiction {
    pub(crate) rule: &'static Rule,
    pub(crate) expected: String,
    pub(crate) found: String,
    /// The bits that are wrong.
    pub(crate) wrong_bits: u16,
}

impl Contradiction {
    /// The header without the hint bits that pg_xact contradicts.
    pub(crate) fn without_hints(&self, header: &TupleHeader) -> TupleHeader {
        TupleHeader { infomask: header.infomask & !self.wrong_bits, ..*header }
    }
}
