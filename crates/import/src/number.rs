//! Numbers as tables print them.

use stats::identities::Printed;

/// Texts that stand for "not measured".
const MISSING: [&str; 7] = ["", "-", "na", "n/a", "#n/a", "null", "none"];

/// Is nothing stated here?
pub(crate) fn is_missing(text: &str) -> bool {
    MISSING.contains(&text.trim().to_ascii_lowercase().as_str())
}

/// Reads a finite decimal number with an optional exponent.
///
/// # Errors
/// What is wrong with it, in words that follow the value.
pub(crate) fn number(text: &str) -> Result<f64, &'static str> {
    let text = text.trim();
    let is_spelt = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
    let value: f64 = match text.parse() {
        Ok(value) => value,
        Err(_) if text.contains(',') => return Err("has a comma: write 1234.5 for 1,234.5"),
        Err(_) => return Err("is not a number"),
    };
    if !text.bytes().all(|byte| is_spelt(&byte)) {
        return Err("is not a number");
    }
    if !value.is_finite() {
        return Err("is larger than the largest number (1.8e308)");
    }
    Ok(value)
}

/// Is it meant as a number and none that can be used: not a number, infinite, too large, or with a comma?
pub(crate) fn is_spoiled(text: &str) -> bool {
    let text = text.trim();
    let word = text.trim_start_matches(['+', '-']).to_ascii_lowercase();
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    ["nan", "inf", "infinity"].contains(&word.as_str())
        || number(text).is_err_and(|reason| reason.contains("larger"))
        || (word.contains(',') && word.split(',').all(|part| !part.is_empty() && is_digits(part)))
}

/// The value with the digits that were printed; `None` for anything but a plain decimal number.
pub(crate) fn printed(text: &str) -> Option<Printed> {
    number(text).ok()?;
    text.trim().parse::<Printed>().ok().filter(|printed| printed.decimals < 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_finite_number_is_refused_with_its_reason() {
        assert_eq!(number(" 1.50 "), Ok(1.5));
        assert_eq!(number("-2e3"), Ok(-2000.0));
        for text in ["NaN", "inf", "-Infinity", "nan", "abc", "0x10", "1_000", "12 ms"] {
            assert_eq!(number(text), Err("is not a number"), "{text}");
        }
        assert!(number("1,234").is_err_and(|reason| reason.contains("comma")));
        let huge = format!("1{}", "0".repeat(400));
        assert!(number(&huge).is_err_and(|reason| reason.contains("larger")));
        assert!(number("1e400").is_err());
    }

    #[test]
    fn missing_values_have_several_spellings_and_nan_is_none_of_them() {
        assert!(["", " ", "NA", "n/a", "-", "NULL"].iter().all(|text| is_missing(text)));
        assert!(!is_missing("NaN") && !is_missing("0"));
    }
}
