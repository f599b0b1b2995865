//! Values of expressions: their types, conversions, and text as pgbench writes it.

use std::fmt;

/// What an expression gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// SQL's NULL.
    Null,
    /// `TRUE` or `FALSE`.
    Boolean(bool),
    /// A bigint.
    Integer(i64),
    /// A double.
    Double(f64),
}

/// 2^63, the first double that is no bigint.
const INTEGER_END: f64 = 9_223_372_036_854_775_808.0;

impl Value {
    /// Returns the name of the type in pgbench's messages.
    pub fn type_name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean(_) => "boolean",
            Self::Integer(_) => "int",
            Self::Double(_) => "double",
        }
    }

    /// Is it true as the condition of `\if` and `CASE`: not null, not false, not zero?
    pub fn is_true(self) -> bool {
        match self {
            Self::Null => false,
            Self::Boolean(value) => value,
            Self::Integer(value) => value != 0,
            Self::Double(value) => value != 0.0,
        }
    }

    pub(crate) fn boolean(self) -> Result<bool, String> {
        match self {
            Self::Boolean(value) => Ok(value),
            other => Err(format!("cannot coerce {} to boolean", other.type_name())),
        }
    }

    /// Rounds a double to the nearest bigint, halves to even.
    pub(crate) fn integer(self) -> Result<i64, String> {
        match self {
            Self::Integer(value) => Ok(value),
            Self::Double(value) => {
                let rounded = value.round_ties_even();
                if (-INTEGER_END..INTEGER_END).contains(&rounded) {
                    Ok(rounded as i64)
                } else {
                    Err(format!("double to int overflow for {}", fixed(rounded)))
                }
            }
            other => Err(format!("cannot coerce {} to int", other.type_name())),
        }
    }

    pub(crate) fn double(self) -> Result<f64, String> {
        match self {
            Self::Double(value) => Ok(value),
            Self::Integer(value) => Ok(value as f64),
            other => Err(format!("cannot coerce {} to double", other.type_name())),
        }
    }

    /// Reads the text of a definition or of a column as pgbench does: null, boolean, bigint, then double.
    ///
    /// The error is the reason without the name of the variable, and `None` where pgbench names the variable.
    pub(crate) fn read(text: &str) -> Result<Self, Option<String>> {
        let is = |word: &str| text.eq_ignore_ascii_case(word);
        let begins = |word: &str| word.get(..text.len()).is_some_and(is);
        if text.is_empty() {
            Err(None)
        } else if is("null") {
            Ok(Self::Null)
        } else if begins("true") || begins("yes") || is("on") {
            Ok(Self::Boolean(true))
        } else if begins("false") || begins("no") || is("off") || is("of") {
            Ok(Self::Boolean(false))
        } else if looks_like_integer(text) {
            let digits = trim_start(text);
            digits.parse().map(Self::Integer).map_err(|error: std::num::ParseIntError| {
                use std::num::IntErrorKind::{NegOverflow, PosOverflow};
                Some(match error.kind() {
                    PosOverflow | NegOverflow => format!("value \"{text}\" is out of range for type bigint"),
                    _ => format!("invalid input syntax for type bigint: \"{text}\""),
                })
            })
        } else {
            read_double(trim_start(text)).map(Self::Double).ok_or(None)
        }
    }
}

/// Reads a double in decimal digits; `None` for other text, for an overflow and for an underflow.
pub(crate) fn read_double(text: &str) -> Option<f64> {
    let value: f64 = text.parse().ok()?;
    let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
    let has_digits = text.bytes().any(|byte| byte.is_ascii_digit());
    let is_zero = !mantissa.bytes().any(|byte| (b'1'..=b'9').contains(&byte));
    let is_out_of_range = value.is_infinite() || (value.abs() < f64::MIN_POSITIVE && !is_zero);
    (!has_digits || !is_out_of_range).then_some(value)
}

fn trim_start(text: &str) -> &str {
    text.trim_start_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c'])
}

fn looks_like_integer(text: &str) -> bool {
    let text = trim_start(text);
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// The integer at the start of a text, like C's `atoi`; `None` where there is none.
pub(crate) fn leading_integer(text: &str) -> Option<i64> {
    let text = text.trim_start();
    let sign = usize::from(text.starts_with(['+', '-']));
    let digits = text[sign..].bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 {
        return None;
    }
    let number = &text[..sign + digits];
    Some(number.parse().unwrap_or(if number.starts_with('-') { i64::MIN } else { i64::MAX }))
}

/// Writes a double as `%f` of PostgreSQL's printf does.
pub(crate) fn fixed(value: f64) -> String {
    if value.is_finite() { format!("{value:.6}") } else { Value::Double(value).to_string() }
}

impl fmt::Display for Value {
    /// Writes the value as it stands in a statement: doubles with up to 15 digits, as `%.15g` of PostgreSQL's printf does.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Null => f.write_str("NULL"),
            Self::Boolean(value) => f.write_str(if value { "true" } else { "false" }),
            Self::Integer(value) => write!(f, "{value}"),
            Self::Double(value) => write_general(f, value),
        }
    }
}

/// Digits of a double that survive a conversion to text and back.
const DIGITS: i32 = 15;

fn write_general(f: &mut fmt::Formatter<'_>, value: f64) -> fmt::Result {
    if value.is_nan() {
        return f.write_str("NaN");
    }
    if value.is_infinite() {
        return f.write_str(if value < 0.0 { "-Infinity" } else { "Infinity" });
    }
    if value == 0.0 {
        return f.write_str(if value.is_sign_negative() { "-0" } else { "0" });
    }
    // One digit, a point, 14 digits, and the exponent.
    let scientific = format!("{value:.14e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..DIGITS).contains(&exponent) {
        let text = format!("{value:.*}", (DIGITS - 1 - exponent) as usize);
        return f.write_str(without_zeros(&text));
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    write!(f, "{}e{sign}{:02}", without_zeros(mantissa), exponent.abs())
}

fn without_zeros(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_double_has_15_digits_and_an_exponent_outside_of_them() {
        let text = |value| Value::Double(value).to_string();
        assert_eq!(text(0.1 + 0.2), "0.3");
        assert_eq!(text(1e15), "1e+15");
        assert_eq!(text(123_456_789_012_345.0), "123456789012345");
        assert_eq!(text(0.0001), "0.0001");
        assert_eq!(text(0.00001), "1e-05");
        assert_eq!(text(-2.5e-300), "-2.5e-300");
        assert_eq!(text(9.999_999_999_999_999_9), "10");
        assert_eq!(text(f64::NEG_INFINITY), "-Infinity");
    }

    #[test]
    fn the_text_of_a_definition_has_the_type_that_pgbench_gives_it() {
        for (text, value) in [
            ("NULL", Value::Null),
            ("t", Value::Boolean(true)),
            ("YE", Value::Boolean(true)),
            ("of", Value::Boolean(false)),
            ("n", Value::Boolean(false)),
            ("+3", Value::Integer(3)),
            ("-9223372036854775808", Value::Integer(i64::MIN)),
            ("1.5e3", Value::Double(1500.0)),
            (" 7", Value::Integer(7)),
        ] {
            assert_eq!(Value::read(text), Ok(value), "{text}");
        }
        for text in ["", "o", "bla", "trueXXX", "1e400", "1x"] {
            assert_eq!(Value::read(text), Err(None), "{text}");
        }
        let error = "value \"9223372036854775808\" is out of range for type bigint";
        assert_eq!(Value::read("9223372036854775808"), Err(Some(error.to_owned())));
        assert_eq!(Value::read("+"), Err(Some("invalid input syntax for type bigint: \"+\"".to_owned())));
    }
}
