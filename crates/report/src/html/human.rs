//! Levels as people write them, and units of a fitting size.

use results::model::Level;

pub(super) use crate::number::Unit;
pub(crate) use crate::number::{grouped as number, thousands};

/// A level as it stands on an axis.
pub(super) fn level(level: &Level) -> String {
    match level {
        Level::Integer(value) if value.unsigned_abs() >= 10_000 => thousands(*value as f64),
        _ => level.to_string(),
    }
}

/// A level as a number: what is one, or a size or a time as engines write them (`64kB`, `10min`).
pub(super) fn level_value(level: &Level) -> Option<f64> {
    let Level::Text(text) = level else { return level.as_number() };
    let text = text.trim();
    let digits = text.find(|character: char| !character.is_ascii_digit() && character != '.')?;
    let (number, unit) = text.split_at(digits);
    let factor = match unit.trim() {
        "B" => 1.0,
        "kB" | "KB" | "KiB" | "k" => 1024.0,
        "MB" | "MiB" | "M" => 1_048_576.0,
        "GB" | "GiB" | "G" => 1_073_741_824.0,
        "TB" | "TiB" | "T" => 1_099_511_627_776.0,
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "min" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        "%" => 0.01,
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_levels_have_their_thousands_set_apart() {
        assert_eq!(level(&Level::Integer(1_000_000)), "1,000,000");
        assert_eq!(level(&Level::Integer(2048)), "2048");
    }

    #[test]
    fn sizes_and_times_of_engines_are_numbers_and_words_are_not() {
        let value = |text: &str| level_value(&Level::Text(text.to_owned()));
        assert_eq!(value("64kB"), Some(65_536.0));
        assert!(value("1GB") > value("512MB"));
        assert_eq!(value("5min"), Some(300.0));
        assert_eq!(value("1.5 s"), Some(1.5));
        for words in ["on", "", "kB", "1x", "1.2.3s", "together"] {
            assert_eq!(value(words), None, "{words}");
        }
        assert_eq!(level_value(&Level::Integer(4)), Some(4.0));
    }
}
