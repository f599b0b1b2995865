//! The order of keys, for the types whose order is known without the server.

use std::borrow::Cow;
use std::cmp::Ordering;

use formats::postgres::Oid;
use formats::postgres::attribute::Datum;
use formats::postgres::varlena::Varlena;

use crate::catalog::IndexColumn;
use crate::catalog::kinds::KeyOrder;

/// The largest value that is unpacked to compare or hash it, bytes.
pub(crate) const KEY_BYTES_MAX: usize = 1 << 24;

impl KeyOrder {
    /// The order of an operator family of B-trees for a type; `None` if it is not known here.
    ///
    /// `by_bytes`: the column's collation orders by bytes.
    // EVIDENCE: src/include/catalog/pg_opfamily.dat and pg_opclass.dat; select oid, opcfamily, opcintype from
    // pg_opclass where opcmethod = 403 in 18.6; the numbers are assigned by hand and stable since 8.3
    pub(crate) fn of(family: Oid, input_type: Oid, stored_type: Oid, by_bytes: bool) -> Option<KeyOrder> {
        Some(match (family, stored_type) {
            (1976, 21) => KeyOrder::Int16,
            (1976, 23) | (434, 1082) => KeyOrder::Int32,
            (1976, 20) | (434, 1114 | 1184) | (1996, 1083) | (2099, 790) => KeyOrder::Int64,
            (1989, _) => KeyOrder::Unsigned32,
            (3253, 3220) | (5067, 5069) => KeyOrder::Unsigned64,
            (1970, 700) => KeyOrder::Float32,
            (1970, 701) => KeyOrder::Float64,
            (1988, 1700) => KeyOrder::Numeric,
            (424, 16) | (429, 18) => KeyOrder::Byte,
            (2968, 2950) | (428, 17) | (1984, 829) | (3371, 774) => KeyOrder::Bytes,
            // text_pattern_ops compares bytes whatever the collation.
            (2095, _) => KeyOrder::Bytes,
            (2097, _) => KeyOrder::BytesWithoutBlanks,
            (1994, _) if by_bytes && matches!(input_type, 25 | 19) => KeyOrder::Bytes,
            (426, _) if by_bytes => KeyOrder::BytesWithoutBlanks,
            (1991, 30) => KeyOrder::OidVector,
            _ => return None,
        })
    }

    /// Plain bytes that are the same for values that compare as equal.
    pub(crate) fn equal_form(self, bytes: &[u8]) -> Cow<'_, [u8]> {
        let float = |value: f64| {
            if value == 0.0 {
                0.0
            } else if value.is_nan() {
                f64::NAN
            } else {
                value
            }
        };
        match self {
            KeyOrder::BytesWithoutBlanks => Cow::Borrowed(without_blanks(bytes)),
            KeyOrder::Float32 => match bytes.try_into() {
                Ok(raw) => Cow::Owned(float(f32::from_le_bytes(raw).into()).to_le_bytes().to_vec()),
                Err(_) => Cow::Borrowed(bytes),
            },
            KeyOrder::Float64 => match bytes.try_into() {
                Ok(raw) => Cow::Owned(float(f64::from_le_bytes(raw)).to_le_bytes().to_vec()),
                Err(_) => Cow::Borrowed(bytes),
            },
            KeyOrder::Numeric => {
                Numeric::read(bytes).map_or(Cow::Borrowed(bytes), |number| Cow::Owned(number.equal_form()))
            }
            _ => Cow::Borrowed(bytes),
        }
    }

    /// A number that does not descend where values ascend: two values with different ones stand in their order, of two
    /// with the same nothing is told. `None` for types where there is no cheap one, and for impossible lengths.
    #[inline]
    fn leading_part(self, bytes: &[u8]) -> Option<u64> {
        const SIGN: u64 = 1 << 63;
        Some(match self {
            KeyOrder::Int32 => i64::from(i32::from_le_bytes(bytes.try_into().ok()?)) as u64 ^ SIGN,
            KeyOrder::Int64 => i64::from_le_bytes(bytes.try_into().ok()?) as u64 ^ SIGN,
            KeyOrder::Unsigned32 => u32::from_le_bytes(bytes.try_into().ok()?).into(),
            KeyOrder::Unsigned64 => u64::from_le_bytes(bytes.try_into().ok()?),
            // Shorter ones would need care with what comes after their end.
            KeyOrder::Bytes => u64::from_be_bytes(*bytes.first_chunk::<8>()?),
            _ => return None,
        })
    }

    /// Compares two plain values; `None` if one has an impossible length.
    #[inline]
    pub(crate) fn compare(self, a: &[u8], b: &[u8]) -> Option<Ordering> {
        fn fixed<const N: usize, T>(bytes: &[u8], make: fn([u8; N]) -> T) -> Option<T> {
            Some(make(bytes.try_into().ok()?))
        }
        Some(match self {
            KeyOrder::Byte => a.first()?.cmp(b.first()?),
            KeyOrder::Int16 => fixed(a, i16::from_le_bytes)?.cmp(&fixed(b, i16::from_le_bytes)?),
            KeyOrder::Int32 => fixed(a, i32::from_le_bytes)?.cmp(&fixed(b, i32::from_le_bytes)?),
            KeyOrder::Int64 => fixed(a, i64::from_le_bytes)?.cmp(&fixed(b, i64::from_le_bytes)?),
            KeyOrder::Unsigned32 => fixed(a, u32::from_le_bytes)?.cmp(&fixed(b, u32::from_le_bytes)?),
            KeyOrder::Unsigned64 => fixed(a, u64::from_le_bytes)?.cmp(&fixed(b, u64::from_le_bytes)?),
            KeyOrder::Float32 => {
                float_order(fixed(a, f32::from_le_bytes)?.into(), fixed(b, f32::from_le_bytes)?.into())
            }
            KeyOrder::Float64 => float_order(fixed(a, f64::from_le_bytes)?, fixed(b, f64::from_le_bytes)?),
            KeyOrder::Numeric => Numeric::read(a)?.compare(&Numeric::read(b)?),
            KeyOrder::Bytes => a.cmp(b),
            KeyOrder::BytesWithoutBlanks => without_blanks(a).cmp(without_blanks(b)),
            KeyOrder::OidVector => oid_vector_order(a, b)?,
        })
    }
}

// EVIDENCE: src/include/utils/float.h float8_lt and others: NaN equals NaN and is above all; 0 equals -0
fn float_order(a: f64, b: f64) -> Ordering {
    match (a.is_nan(), b.is_nan()) {
        (true, true) => Ordering::Equal,
        (true, false) => Ordering::Greater,
        (false, true) => Ordering::Less,
        (false, false) => a.partial_cmp(&b).unwrap_or(Ordering::Equal),
    }
}

pub(crate) fn without_blanks(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|byte| *byte != b' ').map_or(0, |last| last + 1);
    &bytes[..end]
}

// EVIDENCE: src/backend/utils/adt/oidvector... btoidvectorcmp (nbtcompare.c): dim1 first, then elements
fn oid_vector_order(a: &[u8], b: &[u8]) -> Option<Ordering> {
    let (a, b) = (a.get(20..)?, b.get(20..)?);
    let number = |raw: &[u8]| raw.first_chunk::<4>().map_or(0, |raw| u32::from_le_bytes(*raw));
    let elements = |bytes: &'_ [u8]| bytes.chunks_exact(4).map(number).collect::<Vec<_>>();
    Some(a.len().cmp(&b.len()).then_with(|| elements(a).cmp(&elements(b))))
}

/// A `numeric`, borrowed from its stored form.
// EVIDENCE: src/backend/utils/adt/numeric.c: n_header u16; 0xC000 special (NaN 0xC000, +inf 0xD000, -inf 0xF000);
// 0x8000 short form: sign 0x2000, weight sign 0x0040, weight 0x003F; else sign 0x4000, weight i16 follows. Digits
// are i16 in base 10000, the first worth 10000^weight.
pub(crate) struct Numeric<'a> {
    /// -1 negative, 0 zero, 1 positive; 2 infinity, 3 NaN, -2 minus infinity.
    pub(crate) class: i8,
    pub(crate) weight: i32,
    pub(crate) digits: &'a [[u8; 2]],
}

impl<'a> Numeric<'a> {
    pub(crate) fn read(bytes: &'a [u8]) -> Option<Numeric<'a>> {
        let (header, rest) = bytes.split_first_chunk::<2>()?;
        let header = u16::from_le_bytes(*header);
        let special = |class| Some(Numeric { class, weight: 0, digits: &[] });
        let (negative, weight, digits) = match header & 0xC000 {
            0xC000 => {
                return match header & 0xF000 {
                    0xD000 => special(2),
                    0xF000 => special(-2),
                    _ => special(3),
                };
            }
            0x8000 => {
                let magnitude = i32::from(header & 0x003F);
                let weight = if header & 0x0040 != 0 { magnitude | !0x003F } else { magnitude };
                (header & 0x2000 != 0, weight, rest)
            }
            sign => {
                let (weight, rest) = rest.split_first_chunk::<2>()?;
                (sign == 0x4000, i32::from(i16::from_le_bytes(*weight)), rest)
            }
        };
        let (mut digits, odd) = digits.as_chunks::<2>();
        if !odd.is_empty() {
            return None;
        }
        let mut weight = weight;
        // Bounded by the number of digits: each turn drops one.
        while let [[0, 0], rest @ ..] = digits {
            digits = rest;
            weight -= 1;
        }
        while let [rest @ .., [0, 0]] = digits {
            digits = rest;
        }
        let class = if digits.is_empty() {
            0
        } else if negative {
            -1
        } else {
            1
        };
        Some(Numeric { class, weight, digits })
    }

    /// Class, weight and digits without zeros at the ends.
    fn equal_form(&self) -> Vec<u8> {
        let weight = if self.digits.is_empty() { 0 } else { self.weight };
        [&self.class.to_le_bytes()[..], &weight.to_le_bytes(), self.digits.as_flattened()].concat()
    }

    fn compare(&self, other: &Numeric<'_>) -> Ordering {
        let class = self.class.cmp(&other.class);
        if class != Ordering::Equal || !matches!(self.class, 1 | -1) {
            return class;
        }
        let numbers =
            |digits: &[[u8; 2]]| digits.iter().map(|raw| i16::from_le_bytes(*raw)).collect::<Vec<_>>();
        let magnitude =
            self.weight.cmp(&other.weight).then_with(|| numbers(self.digits).cmp(&numbers(other.digits)));
        if self.class < 0 { magnitude.reverse() } else { magnitude }
    }
}

/// What the comparison of two keys told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyRelation {
    /// All columns compared.
    Known(Ordering),
    /// Equal up to a column whose order is not known.
    NotKnown,
}

/// Two buffers for values that must be unpacked to be compared.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scratch {
    pub(crate) first: Vec<u8>,
    pub(crate) second: Vec<u8>,
}

/// A number for the first column of a key: two keys with different ones stand in their order. `None` where there is no
/// cheap one.
#[inline]
pub(crate) fn leading_part(columns: &[IndexColumn], values: &[Datum<'_>]) -> Option<u64> {
    let (column, value) = (columns.first()?, values.first()?);
    let (Datum::Bytes(bytes) | Datum::Varlena(Varlena::Plain(bytes))) = value else { return None };
    let part = column.order?.leading_part(bytes)?;
    Some(if column.descending { !part } else { part })
}

/// Compares the key columns of two entries, as far as both have them.
pub(crate) fn compare_keys(
    columns: &[IndexColumn],
    a: &[Datum<'_>],
    b: &[Datum<'_>],
    scratch: &mut Scratch,
) -> KeyRelation {
    for ((column, a), b) in columns.iter().take_while(|column| column.is_key).zip(a).zip(b) {
        let ordering = match (a, b) {
            (Datum::Null, _) | (_, Datum::Null) => null_order(column, a, b),
            _ => {
                let Some(order) = column.order else { return KeyRelation::NotKnown };
                let (Some(a), Some(b)) = (plain(a, &mut scratch.first), plain(b, &mut scratch.second)) else {
                    return KeyRelation::NotKnown;
                };
                let Some(ordering) = order.compare(a, b) else { return KeyRelation::NotKnown };
                if column.descending { ordering.reverse() } else { ordering }
            }
        };
        if ordering != Ordering::Equal {
            return KeyRelation::Known(ordering);
        }
    }
    KeyRelation::Known(Ordering::Equal)
}

/// The order of two values, at least one of which is null.
fn null_order(column: &IndexColumn, a: &Datum<'_>, b: &Datum<'_>) -> Ordering {
    let is_null = |value: &Datum<'_>| matches!(value, Datum::Null);
    let nulls_last = is_null(a).cmp(&is_null(b));
    if column.nulls_first { nulls_last.reverse() } else { nulls_last }
}

/// The plain bytes of a value that is in place.
#[inline]
pub(crate) fn plain<'b>(value: &Datum<'b>, buffer: &'b mut Vec<u8>) -> Option<&'b [u8]> {
    match value {
        Datum::Null => None,
        Datum::Bytes(bytes) | Datum::Varlena(Varlena::Plain(bytes)) => Some(bytes),
        Datum::Varlena(value) => value.plain(KEY_BYTES_MAX, buffer),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn short(negative: bool, weight: i32, digits: &[i16]) -> Vec<u8> {
        let mut header = 0x8000u16 | ((weight as u16) & 0x007F);
        if negative {
            header |= 0x2000;
        }
        let mut bytes = header.to_le_bytes().to_vec();
        digits.iter().for_each(|digit| bytes.extend(digit.to_le_bytes()));
        bytes
    }

    #[test]
    fn numerics_ascend_from_minus_infinity_to_nan() {
        let ascending = [
            0xF000u16.to_le_bytes().to_vec(),
            short(true, 1, &[2, 5]),
            short(true, 0, &[9000]),
            short(true, -1, &[1]),
            short(false, 0, &[]),
            short(false, -2, &[7]),
            short(false, -1, &[1]),
            short(false, 0, &[1]),
            short(false, 0, &[1, 1]),
            short(false, 1, &[1]),
            // The long form: header, weight, digits.
            [0u16.to_le_bytes(), 2i16.to_le_bytes(), 1i16.to_le_bytes()].concat(),
            0xD000u16.to_le_bytes().to_vec(),
            0xC000u16.to_le_bytes().to_vec(),
        ];
        for (i, a) in ascending.iter().enumerate() {
            for (j, b) in ascending.iter().enumerate() {
                assert_eq!(KeyOrder::Numeric.compare(a, b).unwrap(), i.cmp(&j), "{i} {j}");
                let is_same = KeyOrder::Numeric.equal_form(a) == KeyOrder::Numeric.equal_form(b);
                assert_eq!(is_same, i == j, "{i} {j}");
            }
        }
    }

    #[test]
    fn floats_follow_the_server() {
        let order = |a: f64, b: f64| KeyOrder::Float64.compare(&a.to_le_bytes(), &b.to_le_bytes()).unwrap();
        assert_eq!(order(0.0, -0.0), Ordering::Equal);
        assert_eq!(order(f64::NAN, f64::INFINITY), Ordering::Greater);
        assert_eq!(order(f64::NAN, -f64::NAN), Ordering::Equal);
        let form = |value: f64| KeyOrder::Float64.equal_form(&value.to_le_bytes()).into_owned();
        assert_eq!(form(0.0), form(-0.0));
        assert_eq!(form(f64::NAN), form(-f64::NAN));
        assert_ne!(form(1.0), form(-1.0));
        assert_eq!(order(-1.0, 1.0), Ordering::Less);
    }

    #[test]
    fn leading_parts_never_contradict_the_order() {
        let numbers =
            [0, 1, -1, 255, 256, -256, i64::MAX, i64::MIN, 1 << 40, i64::from(i32::MIN), 0x7FFF_FFFF];
        let eight: Vec<Vec<u8>> = numbers.iter().map(|number| number.to_le_bytes().to_vec()).collect();
        let four: Vec<Vec<u8>> = eight.iter().map(|bytes| bytes[..4].to_vec()).collect();
        let texts =
            ["", "a", "abcdefgh", "abcdefg", "abcdefghi", "abcdefgi", "b", "bbbbbbbbbbbb", "\u{ff}bcdefgh"];
        let texts: Vec<Vec<u8>> = texts.iter().map(|text| text.as_bytes().to_vec()).collect();
        for (order, values) in [
            (KeyOrder::Int64, &eight),
            (KeyOrder::Unsigned64, &eight),
            (KeyOrder::Int32, &four),
            (KeyOrder::Unsigned32, &four),
            (KeyOrder::Bytes, &texts),
        ] {
            let mut told = 0;
            for (a, b) in values.iter().flat_map(|a| values.iter().map(move |b| (a, b))) {
                let parts = order.leading_part(a).zip(order.leading_part(b));
                if let Some((of_a, of_b)) = parts.filter(|(of_a, of_b)| of_a != of_b) {
                    assert_eq!(order.compare(a, b).unwrap(), of_a.cmp(&of_b), "{order:?} {a:?} {b:?}");
                    told += 1;
                }
            }
            assert!(told > 10, "{order:?}");
            assert_eq!(order.leading_part(&[1, 2]), None);
        }
    }

    #[test]
    fn a_value_of_impossible_length_has_no_order() {
        assert_eq!(KeyOrder::Int32.compare(&[1, 2], &[1, 2, 3, 4]), None);
        assert_eq!(KeyOrder::Numeric.compare(&[1], &[0, 0]), None);
    }
}
