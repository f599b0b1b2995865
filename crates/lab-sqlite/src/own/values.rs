//! Values on their way into statements and out of rows.

use rusqlite::types::{Null, ValueRef};
use script::{Names, Slot, Value, Variables};

/// Longest text of a number or a word that is bound as such: `-1.23456789012345e-300`.
const WORD_BYTES_MAX: usize = 32;

/// Binds a variable: integers and doubles as numbers, `TRUE` and `FALSE` as 1 and 0, NULL and undefined variables as NULL,
/// everything else as text. Text that an integer or a double would be written as is a number, also from a definition or a
/// row; `007` is text. `buffer` is memory to use again.
pub(super) fn bind(
    statement: &mut rusqlite::Statement<'_>,
    index: usize,
    (names, variables, slot): (&Names, &Variables, Slot),
    buffer: &mut Vec<u8>,
) -> rusqlite::Result<()> {
    buffer.clear();
    if !variables.write(slot, buffer) {
        return statement.raw_bind_parameter(index, Null);
    }
    if let Some(integer) = integer(buffer) {
        return statement.raw_bind_parameter(index, integer);
    }
    match word(buffer, names, variables, slot) {
        Some(Value::Double(value)) => statement.raw_bind_parameter(index, value),
        Some(Value::Boolean(value)) => statement.raw_bind_parameter(index, value),
        Some(Value::Null) => statement.raw_bind_parameter(index, Null),
        _ => {
            let text = std::str::from_utf8(buffer).map_err(rusqlite::Error::from)?;
            statement.raw_bind_parameter(index, text)
        }
    }
}

/// The integer whose digits these are, written as integers are written.
fn integer(text: &[u8]) -> Option<i64> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let is_written_so = match digits {
        [b'0'] => digits.len() == text.len(),
        [b'1'..=b'9', rest @ ..] => rest.len() < 19 && rest.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    if !is_written_so {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// The double, boolean or NULL that is written as `text`.
fn word(text: &[u8], names: &Names, variables: &Variables, slot: Slot) -> Option<Value> {
    let begins_so = matches!(text.first()?, b'0'..=b'9' | b'-' | b't' | b'f' | b'N' | b'I');
    if !begins_so || text.len() > WORD_BYTES_MAX {
        return None;
    }
    let value = variables.value(names, slot).ok()?;
    (value.to_string().as_bytes() == text).then_some(value)
}

/// The text of a value, as metrics and variables get it: NULL is `None`, a blob its hexadecimal digits as `hex()` gives them.
pub(super) fn text(value: ValueRef<'_>) -> Option<String> {
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(value) => Some(value.to_string()),
        // The shortest digits that are this double again.
        ValueRef::Real(value) => Some(format!("{value:?}")),
        ValueRef::Text(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        ValueRef::Blob(bytes) => {
            let digit = |nibble: u8| char::from(b"0123456789ABCDEF"[usize::from(nibble & 15)]);
            Some(bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(*byte)]).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_an_integer_where_an_integer_is_written_so() {
        for (text, value) in [
            ("0", Some(0)),
            ("-1", Some(-1)),
            ("9223372036854775807", Some(i64::MAX)),
            ("-9223372036854775808", Some(i64::MIN)),
            ("9223372036854775808", None),
            ("-0", None),
            ("007", None),
            ("+1", None),
            ("1 ", None),
            ("", None),
            ("-", None),
            ("12345678901234567890123", None),
        ] {
            assert_eq!(integer(text.as_bytes()), value, "{text}");
        }
    }

    #[test]
    fn a_blob_is_written_as_hexadecimal_digits_and_a_double_with_all_that_it_has() {
        assert_eq!(text(ValueRef::Blob(&[0, 0xaf, 0x10])), Some("00AF10".to_owned()));
        assert_eq!(text(ValueRef::Real(0.1 + 0.2)), Some("0.30000000000000004".to_owned()));
        assert_eq!(text(ValueRef::Null), None);
    }
}
