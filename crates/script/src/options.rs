//! What the command line says about scripts: `FILE@WEIGHT` and `NAME=VALUE`.

use std::fmt;

use crate::names::is_variable_name;

/// A script or definition of the command line that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionError {
    message: String,
    hint: &'static str,
}

impl fmt::Display for OptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\nhint: {}", self.message, self.hint)
    }
}

impl std::error::Error for OptionError {}

/// Largest weight of a script.
const WEIGHT_MAX: u32 = i32::MAX as u32;

/// Splits `FILE@WEIGHT` at its last `@`; the weight is 1 where there is none.
pub fn parse_weighted(text: &str) -> Result<(&str, u32), OptionError> {
    let Some((file, weight)) = text.rsplit_once('@') else { return Ok((text, 1)) };
    let error = |message| OptionError { message, hint: "write FILE@WEIGHT, for example new-order.sql@9" };
    let digits = weight.strip_prefix('-').unwrap_or(weight);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(error(format!("invalid weight specification: @{weight}")));
    }
    match weight.parse::<u32>() {
        Ok(value) if value <= WEIGHT_MAX => Ok((file, value)),
        _ => Err(error(format!("weight specification out of range (0 .. {WEIGHT_MAX}): {weight}"))),
    }
}

/// Splits `NAME=VALUE` at its first `=`; neither side may be empty.
pub fn parse_definition(text: &str) -> Result<(&str, &str), OptionError> {
    let error = |message| OptionError { message, hint: "write NAME=VALUE, for example scale=10" };
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() && !value.is_empty() => {
            if is_variable_name(name) {
                Ok((name, value))
            } else {
                Err(error(format!("invalid variable name: \"{name}\"")))
            }
        }
        _ => Err(error(format!("invalid variable definition: \"{text}\""))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weight_follows_the_last_at_sign() {
        assert_eq!(parse_weighted("a.sql"), Ok(("a.sql", 1)));
        assert_eq!(parse_weighted("a@b.sql@0"), Ok(("a@b.sql", 0)));
        assert_eq!(parse_weighted("a@2147483647"), Ok(("a", 2_147_483_647)));
        for (text, start) in [
            ("a@one", "invalid weight specification: @one"),
            ("a@", "invalid weight specification: @"),
            ("a@-1", "weight specification out of range (0 .. 2147483647): -1"),
            ("a@2147483648", "weight specification out of range"),
            ("a@99999999999999999999", "weight specification out of range"),
        ] {
            let error = parse_weighted(text).map_err(|error| error.to_string());
            assert!(matches!(&error, Err(error) if error.starts_with(start)), "{text}: {error:?}");
        }
    }

    #[test]
    fn a_definition_has_a_name_and_a_value() {
        assert_eq!(parse_definition("a=b=c"), Ok(("a", "b=c")));
        for text in ["a", "=1", "a=", "1a=1", "a b=1"] {
            assert!(parse_definition(text).is_err(), "{text}");
        }
    }
}
