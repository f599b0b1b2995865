//! How keys of an index are compared, kept and summarised.

/// How the values of a key column are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyOrder {
    /// A truth value or a `"char"`: one byte, without sign.
    Byte,
    /// Two bytes with sign.
    Int16,
    /// Four bytes with sign: `int4`, `date`.
    Int32,
    /// Eight bytes with sign: `int8`, `timestamp`, `time`, `money`.
    Int64,
    /// Four bytes without sign: `oid`.
    Unsigned32,
    /// Eight bytes without sign: `pg_lsn`, `xid8`.
    Unsigned64,
    /// `float4`; all NaN are equal and above all numbers.
    Float32,
    /// `float8`.
    Float64,
    /// `numeric`.
    Numeric,
    /// By bytes: `uuid`, `bytea`, `macaddr`, text in the C collation.
    Bytes,
    /// By bytes without the blanks at the end: `char(n)` in the C collation.
    BytesWithoutBlanks,
    /// Length first, then numbers: `oidvector`.
    OidVector,
}

/// What an index keeps of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyForm {
    /// The value itself.
    Plain,
    /// Of a point a box whose corners it is.
    PointBox,
    /// Of a cycle the box around it.
    CircleBox,
    /// Of a polygon the box around it.
    PolygonBox,
}

/// What operator classes of BRIN keep of the values in a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SummaryKind {
    /// The lowest and the highest value.
    MinMax,
    /// A value that includes all others, and two marks.
    Inclusion,
    /// A Bloom filter of hash values.
    Bloom,
    /// Several ranges and single values.
    MinMaxMulti,
}

/// What is known of the equality of a key column whose order is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Equality {
    /// Equal values have equal bytes.
    Bytes,
    /// Equal values have equal bytes but for blanks at the end.
    BytesWithoutBlanks,
    /// Byte-equal values are equal; others may be as well.
    AtLeastBytes,
    /// The same without blanks at the end.
    AtLeastBytesWithoutBlanks,
}
