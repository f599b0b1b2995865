//! The order of values and keys.

use std::cmp::Ordering;

use super::header::Encoding;
use super::record::{Record, Value};

/// How text is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Collation {
    /// Byte by byte in the encoding of the file.
    Binary,
    /// Like binary in UTF-8, with the 26 capital letters of ASCII as small ones.
    NoCase,
    /// Like binary, without the spaces at the end.
    Rtrim,
}

impl Collation {
    /// The collation of a name; `None` for one that an application defined.
    // EVIDENCE: sqlite datatype3 7, "Collating Sequences"
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name.to_ascii_uppercase().as_str() {
            "BINARY" => Some(Self::Binary),
            "NOCASE" => Some(Self::NoCase),
            "RTRIM" => Some(Self::Rtrim),
            _ => None,
        }
    }
}

/// One column of a key: how its text is compared and in which direction it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyColumn {
    /// How text is compared.
    pub collation: Collation,
    /// Whether large values come first.
    pub is_descending: bool,
}

/// How two keys stand to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyOrder {
    /// The order of the first key seen from the second.
    pub ordering: Ordering,
    /// Columns at the front that are equal.
    pub equal_columns: usize,
    /// Whether one of these equal columns is NULL.
    pub has_null: bool,
}

/// Compares two keys column by column; `None` when a value needed lies outside the bytes given, or a record ends
/// before the columns do.
#[inline]
#[must_use]
pub fn compare_keys(
    left: &Record<'_>,
    right: &Record<'_>,
    columns: &[KeyColumn],
    encoding: Encoding,
) -> Option<KeyOrder> {
    let mut fields = left.fields().zip(right.fields());
    let mut has_null = false;
    for (index, column) in columns.iter().enumerate() {
        let (left_field, right_field) = fields.next()?;
        let left_value = left.value(left_field)?;
        let right_value = right.value(right_field)?;
        let ordering = compare_values(left_value, right_value, column.collation, encoding);
        if ordering != Ordering::Equal {
            let ordering = if column.is_descending { ordering.reverse() } else { ordering };
            return Some(KeyOrder { ordering, equal_columns: index, has_null });
        }
        has_null |= left_value == Value::Null;
    }
    Some(KeyOrder { ordering: Ordering::Equal, equal_columns: columns.len(), has_null })
}

/// Compares two values as an index does: NULL, numbers, text, bytes.
// EVIDENCE: sqlite datatype3 4.1, "Sort Order"
#[inline]
#[must_use]
pub fn compare_values(
    left: Value<'_>,
    right: Value<'_>,
    collation: Collation,
    encoding: Encoding,
) -> Ordering {
    match (left, right) {
        (Value::Integer(left), Value::Integer(right)) => left.cmp(&right),
        (Value::Text(left), Value::Text(right)) => compare_text(left, right, collation, encoding),
        (Value::Blob(left), Value::Blob(right)) => left.cmp(right),
        (Value::Real(left), Value::Real(right)) => left.partial_cmp(&right).unwrap_or(Ordering::Equal),
        (Value::Integer(left), Value::Real(right)) => compare_mixed(left, right),
        (Value::Real(left), Value::Integer(right)) => compare_mixed(right, left).reverse(),
        _ => class(left).cmp(&class(right)),
    }
}

fn class(value: Value<'_>) -> u8 {
    match value {
        Value::Null => 0,
        Value::Integer(_) | Value::Real(_) => 1,
        Value::Text(_) => 2,
        Value::Blob(_) => 3,
    }
}

/// Compares a whole number with a floating-point one without loss.
fn compare_mixed(integer: i64, real: f64) -> Ordering {
    // 2^63 is exact as f64; every i64 lies below it and not below its negative.
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if real >= LIMIT {
        return Ordering::Less;
    }
    if real < -LIMIT {
        return Ordering::Greater;
    }
    let whole = real.trunc();
    // In range by the two tests above.
    let order = integer.cmp(&(whole as i64));
    if order != Ordering::Equal {
        return order;
    }
    0.0f64.partial_cmp(&(real - whole)).unwrap_or(Ordering::Equal)
}

#[inline]
fn compare_text(left: &[u8], right: &[u8], collation: Collation, encoding: Encoding) -> Ordering {
    match (collation, encoding) {
        (Collation::Binary, _) => left.cmp(right),
        (Collation::NoCase, Encoding::Utf8) => compare_folded(left, right),
        (Collation::Rtrim, Encoding::Utf8) => trimmed(left).cmp(trimmed(right)),
        // These two are defined on UTF-8; SQLite converts before it compares.
        (Collation::NoCase, _) => compare_folded(&to_utf8(left, encoding), &to_utf8(right, encoding)),
        (Collation::Rtrim, _) => trimmed(&to_utf8(left, encoding)).cmp(trimmed(&to_utf8(right, encoding))),
    }
}

fn compare_folded(left: &[u8], right: &[u8]) -> Ordering {
    let folded = |bytes: &[u8]| bytes.iter().map(u8::to_ascii_lowercase).collect::<Vec<_>>();
    let shared = left.len().min(right.len());
    let head = |bytes: &[u8]| bytes.get(..shared).map(folded).unwrap_or_default();
    // A zero byte ends the comparison of the built-in NOCASE, but not that of the lengths.
    let until_zero = |bytes: Vec<u8>| match bytes.iter().position(|byte| *byte == 0) {
        Some(end) => bytes.get(..end).map(<[u8]>::to_vec).unwrap_or_default(),
        None => bytes,
    };
    until_zero(head(left)).cmp(&until_zero(head(right))).then(left.len().cmp(&right.len()))
}

fn trimmed(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|byte| *byte != b' ').map_or(0, |last| last + 1);
    text.get(..end).unwrap_or_default()
}

/// UTF-16 as SQLite converts it: a surrogate is joined with whatever unit follows it.
// EVIDENCE: sqlite utf.c sqlite3VdbeMemTranslate, without SQLITE_REPLACE_INVALID_UTF
fn to_utf8(text: &[u8], encoding: Encoding) -> Vec<u8> {
    let mut units = units(text, encoding);
    let mut bytes = Vec::with_capacity(text.len());
    while let Some(unit) = units.next() {
        let code = match (unit, is_surrogate(unit).then(|| units.next()).flatten()) {
            (unit, Some(next)) => {
                (u32::from(next) & 0x3ff)
                    + ((u32::from(unit) & 0x3f) << 10)
                    + (((u32::from(unit) & 0x3c0) + 0x40) << 10)
            }
            (unit, None) => u32::from(unit),
        };
        let low = |shift: u32| 0x80 | (code >> shift & 0x3f) as u8;
        match code {
            0..0x80 => bytes.push(code as u8),
            0x80..0x800 => bytes.extend([0xc0 | (code >> 6 & 0x1f) as u8, low(0)]),
            0x800..0x1_0000 => bytes.extend([0xe0 | (code >> 12 & 0x0f) as u8, low(6), low(0)]),
            _ => bytes.extend([0xf0 | (code >> 18 & 0x07) as u8, low(12), low(6), low(0)]),
        }
    }
    bytes
}

fn is_surrogate(unit: u16) -> bool {
    (0xd800..0xe000).contains(&unit)
}

fn units(text: &[u8], encoding: Encoding) -> impl Iterator<Item = u16> {
    text.chunks_exact(2).map(move |pair| {
        let pair = [pair.first().copied().unwrap_or(0), pair.get(1).copied().unwrap_or(0)];
        if encoding == Encoding::Utf16Be { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) }
    })
}

/// Whether a text is invalid in its encoding: builds of SQLite convert such texts in different ways.
// EVIDENCE: sqlite compile, SQLITE_REPLACE_INVALID_UTF
#[must_use]
pub fn is_invalid_text(text: &[u8], encoding: Encoding) -> bool {
    match encoding {
        Encoding::Utf8 => std::str::from_utf8(text).is_err(),
        _ => {
            !text.len().is_multiple_of(2)
                || char::decode_utf16(units(text, encoding)).any(|unit| unit.is_err())
        }
    }
}

/// Whether a text, read as ASCII, is a number and nothing else, as numeric affinity would take it.
// EVIDENCE: sqlite datatype3 3.1: "well-formed integer or real literal", spaces at both ends allowed
#[must_use]
pub fn number_in_text(text: &[u8], encoding: Encoding) -> bool {
    let converted;
    let text = if encoding == Encoding::Utf8 {
        text
    } else {
        converted = to_utf8(text, encoding);
        converted.as_slice()
    };
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\x0b' | b'\x0c' | b'\r');
    let start = text.iter().position(|byte| !is_space(byte)).unwrap_or(text.len());
    let end = text.iter().rposition(|byte| !is_space(byte)).map_or(start, |last| last + 1);
    let body = text.get(start..end).unwrap_or_default();
    let body = body.strip_prefix(b"+").or_else(|| body.strip_prefix(b"-")).unwrap_or(body);
    let (whole, rest) = split_digits(body);
    let (fraction, rest) = match rest.strip_prefix(b".") {
        Some(rest) => split_digits(rest),
        None => (0, rest),
    };
    if whole + fraction == 0 {
        return false;
    }
    let Some(rest) = rest.strip_prefix(b"e").or_else(|| rest.strip_prefix(b"E")) else {
        return rest.is_empty();
    };
    let rest = rest.strip_prefix(b"+").or_else(|| rest.strip_prefix(b"-")).unwrap_or(rest);
    let (exponent, rest) = split_digits(rest);
    exponent > 0 && rest.is_empty()
}

fn split_digits(text: &[u8]) -> (usize, &[u8]) {
    let count = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (count, text.get(count..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_order(left: &str, right: &str, collation: Collation) -> Ordering {
        compare_values(Value::Text(left.as_bytes()), Value::Text(right.as_bytes()), collation, Encoding::Utf8)
    }

    #[test]
    fn classes_come_in_the_order_null_number_text_bytes() {
        let values =
            [Value::Null, Value::Real(-1e300), Value::Integer(5), Value::Text(b"a"), Value::Blob(b"A")];
        for pair in values.windows(2) {
            let [left, right] = pair else { continue };
            assert_eq!(compare_values(*left, *right, Collation::Binary, Encoding::Utf8), Ordering::Less);
        }
    }

    #[test]
    fn whole_and_floating_numbers_compare_without_loss() {
        let order = |left, right| {
            compare_values(Value::Integer(left), Value::Real(right), Collation::Binary, Encoding::Utf8)
        };
        assert_eq!(order(9_007_199_254_740_993, 9_007_199_254_740_992.0), Ordering::Greater);
        assert_eq!(order(i64::MAX, 9_223_372_036_854_775_808.0), Ordering::Less);
        assert_eq!(order(i64::MIN, -9_223_372_036_854_775_808.0), Ordering::Equal);
        assert_eq!(order(-1, -1.5), Ordering::Greater);
        assert_eq!(order(1, 1.5), Ordering::Less);
        assert_eq!(order(0, f64::NEG_INFINITY), Ordering::Greater);
    }

    #[test]
    fn collations_fold_and_trim() {
        assert_eq!(text_order("ABC", "abc", Collation::NoCase), Ordering::Equal);
        assert_eq!(text_order("ABCd", "abc", Collation::NoCase), Ordering::Greater);
        assert_eq!(text_order("abc  ", "abc", Collation::Rtrim), Ordering::Equal);
        assert_eq!(text_order("Z", "a", Collation::Binary), Ordering::Less);
    }

    #[test]
    fn only_whole_numbers_in_text_count() {
        for text in ["1", " -2.5e+3 ", ".5", "5.", "+0"] {
            assert!(number_in_text(text.as_bytes(), Encoding::Utf8), "{text}");
        }
        for text in ["", " ", "1x", "0x10", ".", "e5", "1e", "--1", "1 2"] {
            assert!(!number_in_text(text.as_bytes(), Encoding::Utf8), "{text}");
        }
    }
}
