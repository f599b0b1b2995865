//! What is special about the values that an expression takes.

use formats::sqlite::{Encoding, Value, is_invalid_text};

/// Digits of a REAL value that every version of SQLite writes and reads alike.
// OBSERVED: SQLite 3.40.1 and 3.54.1 agree on texts of up to 15 digits; two digits of margin
const DIGITS_MAX: usize = 13;
/// Digits of a text that every version reads as the same number.
const TEXT_DIGITS_MAX: usize = 15;
/// The product of two integers below this is an integer.
const OVERFLOW_MIN: u64 = 1 << 31;
/// Integers up to this are exact as REAL: 2^53.
const EXACT_MAX: u64 = 1 << 53;

/// What values versions or builds of SQLite treat differently are among those of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Inputs {
    pub(super) has_blob: bool,
    /// Whether a text is a number with a fraction or an exponent.
    pub(super) has_real_text: bool,
    pub(super) has_real: bool,
    /// Whether a REAL value has more digits than all versions write alike.
    pub(super) has_long_real: bool,
    /// Whether an integer is large enough for a product of two to be no integer any more.
    pub(super) may_overflow: bool,
    pub(super) has_large_integer: bool,
    pub(super) has_long_number_text: bool,
    pub(super) has_letters_beyond_ascii: bool,
    pub(super) has_invalid_text: bool,
    pub(super) has_zero_byte: bool,
}

impl Inputs {
    /// Looks at the values of a row. Text is in the encoding of the file.
    pub(crate) fn of<'v>(values: impl Iterator<Item = Value<'v>>, encoding: Encoding) -> Self {
        let mut inputs = Self::default();
        for value in values {
            match value {
                Value::Null => {}
                Value::Integer(number) => {
                    inputs.may_overflow |= number.unsigned_abs() > OVERFLOW_MIN;
                    inputs.has_large_integer |= number.unsigned_abs() > EXACT_MAX;
                }
                Value::Real(number) => {
                    inputs.has_real = true;
                    inputs.has_long_real |= is_long(number);
                }
                Value::Text(bytes) => inputs.text(bytes, encoding),
                Value::Blob(bytes) => {
                    inputs.has_blob = true;
                    // Taken as text, a BLOB is in the encoding of the file.
                    inputs.text(bytes, encoding);
                }
            }
        }
        inputs
    }

    fn text(&mut self, bytes: &[u8], encoding: Encoding) {
        self.has_letters_beyond_ascii |= match encoding {
            Encoding::Utf8 => !bytes.is_ascii(),
            Encoding::Utf16Le => bytes.chunks(2).any(|unit| unit.get(1) != Some(&0) || !unit.is_ascii()),
            Encoding::Utf16Be => bytes.chunks(2).any(|unit| unit.first() != Some(&0) || !unit.is_ascii()),
        };
        self.has_invalid_text |= is_invalid_text(bytes, encoding);
        self.has_zero_byte |= match encoding {
            Encoding::Utf8 => bytes.contains(&0),
            _ => bytes.chunks(2).any(|unit| unit == [0, 0]),
        };
        let is_in_number = |byte: &&u8| matches!(**byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-');
        let seen = bytes.iter().filter(|byte| **byte != 0 && **byte != b' ').take(64);
        let number: Vec<u8> = seen.take_while(is_in_number).copied().collect();
        let digits = number.iter().filter(|byte| byte.is_ascii_digit()).count();
        self.has_real_text |= digits > 0 && number.iter().any(|byte| matches!(byte, b'.' | b'e' | b'E'));
        self.has_long_number_text |= digits > TEXT_DIGITS_MAX;
    }
}

/// Whether versions of SQLite may write a REAL value differently.
fn is_long(number: f64) -> bool {
    if number == 0.0 {
        return number.is_sign_negative();
    }
    let magnitude = number.abs();
    if !(1e-4..1e15).contains(&magnitude) {
        return true;
    }
    // The shortest digits that read back as the same value.
    let shortest = format!("{magnitude:e}");
    let digits = shortest.split('e').next().unwrap_or_default();
    digits.bytes().filter(u8::is_ascii_digit).count() > DIGITS_MAX
}
