//! What a BRIN index knows of a range of blocks, and whether a value is within it.

use std::cmp::Ordering;

use formats::postgres::Oid;
use formats::postgres::attribute::{Attribute, Columns, Datum, Length};
use formats::postgres::brin::Tuple;
use formats::postgres::brin_summary::{BloomFilter, MultiRanges};
use formats::postgres::hash_value::{hash_bytes, hash_i64, hash_u32};
use formats::postgres::varlena::Varlena;

use crate::catalog::IndexColumn;
use crate::catalog::kinds::{KeyOrder, SummaryKind};
use crate::catalog::order::plain;

impl SummaryKind {
    /// The kind of an operator family; `None` if it is none of BRIN's own.
    // EVIDENCE: src/include/catalog/pg_opfamily.dat; select opcfamily, opcname from pg_opclass where opcmethod = 3580 in
    // 14.24 to 18.6; the numbers are assigned by hand and stable
    pub(crate) fn of_family(family: Oid) -> Option<SummaryKind> {
        match family {
            4054..=4082 | 4109 => Some(SummaryKind::MinMax),
            4102..=4104 => Some(SummaryKind::Inclusion),
            4572..=4590 => Some(SummaryKind::Bloom),
            4602..=4615 => Some(SummaryKind::MinMaxMulti),
            _ => None,
        }
    }

    /// The values that stand in a tuple for a column of the index.
    // EVIDENCE: brin_minmax.c, brin_inclusion.c (union, unmergeable, contains empty), brin_bloom.c, brin_minmax_multi.c:
    // oi_nstored and oi_typcache; pg_type.dat: the types of summaries have typlen -1, typalign i
    fn stored(self, own: Attribute) -> Vec<Attribute> {
        let packed = Attribute { length: Length::Variable, align_bytes: 4 };
        let mark = Attribute { length: Length::Fixed(1), align_bytes: 1 };
        match self {
            SummaryKind::MinMax => vec![own, own],
            SummaryKind::Inclusion => vec![own, mark, mark],
            SummaryKind::Bloom | SummaryKind::MinMaxMulti => vec![packed],
        }
    }
}

/// How the values of an operator family of BRIN are ordered; `None` if that is not known here.
// EVIDENCE: as for the kinds
pub(crate) fn summary_order(family: Oid, input_type: Oid, by_bytes: bool) -> Option<KeyOrder> {
    Some(match (family, input_type) {
        (4054 | 4572 | 4602, 21) => KeyOrder::Int16,
        (4054 | 4572 | 4602, 23) | (4059 | 4576 | 4605, 1082) => KeyOrder::Int32,
        (4054 | 4572 | 4602, 20) | (4059 | 4576 | 4605, 1114 | 1184) | (4077 | 4587 | 4612, 1083) => {
            KeyOrder::Int64
        }
        (4055 | 4574 | 4603, 1700) => KeyOrder::Numeric,
        (4062, 18) => KeyOrder::Byte,
        (4068 | 4580 | 4606, 26) => KeyOrder::Unsigned32,
        (4082 | 4590 | 4615, 3220) => KeyOrder::Unsigned64,
        (4070 | 4582 | 4608, 700) => KeyOrder::Float32,
        (4070 | 4582 | 4608, 701) => KeyOrder::Float64,
        (4064 | 4578, 17) | (4081 | 4589 | 4614, 2950) => KeyOrder::Bytes,
        (4074 | 4583 | 4609, 829) | (4109 | 4584 | 4610, 774) => KeyOrder::Bytes,
        (4056 | 4573, 25) | (4065, 19) if by_bytes => KeyOrder::Bytes,
        (4076 | 4586, 1042) if by_bytes => KeyOrder::BytesWithoutBlanks,
        _ => return None,
    })
}

/// What is known of the values of a column in a range.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Values {
    /// Nothing that can be compared here.
    Any,
    Bounds([Vec<u8>; 2]),
    Several {
        ranges: Vec<[Vec<u8>; 2]>,
        values: Vec<Vec<u8>>,
    },
    /// Plain bytes of a filter.
    Filter(Vec<u8>),
}

/// What is known of a column in a range.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ColumnSummary {
    /// Whether its operator class is known here: others may keep nulls in their own way.
    is_known: bool,
    is_all_null: bool,
    has_null: bool,
    values: Values,
}

/// What is known of a range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Summary {
    is_empty: bool,
    columns: Vec<ColumnSummary>,
}

impl Summary {
    /// Takes a tuple apart; `None` if its values do not fit.
    pub(crate) fn read(tuple: &Tuple<'_>, columns: &[IndexColumn]) -> Option<Summary> {
        let mut summary = Summary { is_empty: tuple.is_empty_range(), columns: Vec::new() };
        // Values stand behind those of the columns before; what an unknown operator class keeps cannot be stepped over.
        let mut reader = Some(Columns::new(tuple.data(), None));
        for (number, column) in columns.iter().enumerate() {
            let is_all_null = tuple.is_all_null(number);
            let mut values = Values::Any;
            if column.summary.is_none() {
                reader = reader.filter(|_| is_all_null);
            }
            if let (Some(kind), Some(reader), false) = (column.summary, &mut reader, is_all_null) {
                let mut stored = Vec::new();
                if !reader.push_columns(kind.stored(column.attribute).into_iter(), &mut stored) {
                    return None;
                }
                values = Values::read(kind, column, &stored)?;
            }
            summary.columns.push(ColumnSummary {
                is_known: column.summary.is_some(),
                is_all_null,
                has_null: tuple.has_null(number, columns.len()),
                values,
            });
        }
        Some(summary)
    }

    /// What contradicts itself in it, in words.
    pub(crate) fn contradiction(&self, columns: &[IndexColumn]) -> Option<String> {
        let mut all = self.columns.iter().zip(columns).enumerate();
        all.find_map(|(number, (summary, column))| {
            let order = column.order?;
            let is_wrong = |[low, high]: &[Vec<u8>; 2]| order.compare(low, high) == Some(Ordering::Greater);
            let found = match &summary.values {
                Values::Bounds(bounds) => is_wrong(bounds),
                Values::Several { ranges, .. } => ranges.iter().any(is_wrong),
                Values::Any | Values::Filter(_) => false,
            };
            found.then(|| {
                format!("a range of column {} whose upper bound is below its lower bound", number + 1)
            })
        })
    }

    /// Why a row with this value in a column (0 based) cannot be in the range, in words; `None` if it can.
    pub(crate) fn refusal(
        &self,
        number: usize,
        column: &IndexColumn,
        value: &Datum<'_>,
        buffer: &mut Vec<u8>,
    ) -> Option<&'static str> {
        if self.is_empty {
            return Some("no rows at all");
        }
        let summary = self.columns.get(number).filter(|summary| summary.is_known)?;
        if matches!(value, Datum::Null) {
            return (!summary.is_all_null && !summary.has_null).then_some("no nulls");
        }
        if summary.is_all_null {
            return Some("nothing but nulls");
        }
        let order = column.order?;
        let bytes = plain(value, buffer)?;
        let is_between = |[low, high]: &[Vec<u8>; 2]| {
            let orders = order.compare(low, bytes).zip(order.compare(bytes, high));
            orders.is_none_or(|(first, second)| first != Ordering::Greater && second != Ordering::Greater)
        };
        let is_within = match &summary.values {
            Values::Any => true,
            Values::Bounds(bounds) => is_between(bounds),
            Values::Several { ranges, values } => {
                ranges.iter().any(is_between)
                    || values
                        .iter()
                        .any(|own| order.compare(own, bytes).is_none_or(|order| order == Ordering::Equal))
            }
            Values::Filter(filter) => {
                let filter = BloomFilter::read(filter);
                let answer = filter.zip(order.hash(bytes)).map(|(filter, hash)| filter.may_contain(hash));
                answer.unwrap_or(true)
            }
        };
        (!is_within).then_some("other values only")
    }
}

impl IndexColumn {
    /// Why rows are held against nulls and emptiness alone in a column of a BRIN index; `None` if values are compared.
    pub(crate) fn reason_not_compared(&self) -> Option<&'static str> {
        match self.summary {
            None => Some("unknown operator class; nulls and the columns after it are not compared either"),
            Some(SummaryKind::Inclusion) => {
                Some("inclusion depends on the operator class: only nulls and empty ranges are compared")
            }
            _ if self.table_column <= 0 => Some("expressions are not evaluated"),
            Some(SummaryKind::Bloom) if self.order == Some(KeyOrder::Byte) => {
                Some("the hash depends on the platform: only nulls and empty ranges are compared")
            }
            _ if self.order.is_none() => {
                Some("unknown order of the type or collation: only nulls and empty ranges are compared")
            }
            _ => None,
        }
    }
}

impl Values {
    fn read(kind: SummaryKind, column: &IndexColumn, stored: &[Datum<'_>]) -> Option<Values> {
        let mut buffer = Vec::new();
        // Releases before 13.1 kept pointers into TOAST, whose values are not in place.
        if stored.iter().any(|value| matches!(value, Datum::Varlena(Varlena::External(_)))) {
            return Some(Values::Any);
        }
        let mut plain_bytes = |value: &Datum<'_>| plain(value, &mut buffer).map(<[u8]>::to_vec);
        Some(match (kind, stored) {
            (SummaryKind::MinMax, [low, high]) => Values::Bounds([plain_bytes(low)?, plain_bytes(high)?]),
            (SummaryKind::Bloom, [filter]) => {
                let bytes = plain_bytes(filter)?;
                BloomFilter::read(&bytes)?;
                Values::Filter(bytes)
            }
            (SummaryKind::MinMaxMulti, [packed]) => {
                let bytes = plain_bytes(packed)?;
                let all = MultiRanges::read(&bytes, column.attribute.length)?;
                let owned = |range: &[&[u8]; 2]| range.map(<[u8]>::to_vec);
                Values::Several {
                    ranges: all.ranges.iter().map(owned).collect(),
                    values: all.values.iter().map(|value| value.to_vec()).collect(),
                }
            }
            _ => Values::Any,
        })
    }
}

impl KeyOrder {
    /// The server's hash of a plain value; `None` where it is not known here.
    // EVIDENCE: src/backend/access/hash/hashfunc.c hashint2, hashint4, hashint8, hashoid, hashfloat4, hashfloat8,
    // hashtext, hashname, hashbytea; numeric.c hash_numeric; varchar.c hashbpchar; date.c time_hash, timestamp.c
    // timestamp_hash, pg_lsn.c pg_lsn_hash: as hashint8; uuid.c, mac.c: hash of the bytes
    fn hash(self, bytes: &[u8]) -> Option<u32> {
        let float = |value: f64| match value {
            0.0 => 0,
            value if value.is_nan() => hash_bytes(&f64::NAN.to_le_bytes()),
            value => hash_bytes(&value.to_le_bytes()),
        };
        Some(match self {
            KeyOrder::Int16 => hash_u32(i32::from(i16::from_le_bytes(bytes.try_into().ok()?)) as u32),
            KeyOrder::Int32 | KeyOrder::Unsigned32 => hash_u32(u32::from_le_bytes(bytes.try_into().ok()?)),
            KeyOrder::Int64 | KeyOrder::Unsigned64 => hash_i64(i64::from_le_bytes(bytes.try_into().ok()?)),
            KeyOrder::Float32 => float(f32::from_le_bytes(bytes.try_into().ok()?).into()),
            KeyOrder::Float64 => float(f64::from_le_bytes(bytes.try_into().ok()?)),
            KeyOrder::BytesWithoutBlanks => hash_bytes(&self.equal_form(bytes)),
            KeyOrder::Bytes => hash_bytes(bytes),
            KeyOrder::Numeric => {
                // Class, weight, digits without zeros at the ends.
                let form = self.equal_form(bytes);
                let (class, rest) = form.split_first()?;
                let (weight, digits) = rest.split_first_chunk::<4>()?;
                match *class as i8 {
                    1 | -1 => hash_bytes(digits) ^ u32::from_le_bytes(*weight),
                    0 => u32::MAX,
                    _ => 0,
                }
            }
            KeyOrder::Byte | KeyOrder::OidVector => return None,
        })
    }
}
