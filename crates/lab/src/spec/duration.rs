//! Lengths of time as specs write them.

use std::time::Duration;

/// A length of time as written: a decimal number and `us`, `ms`, `s`, `m` or `h`; `None` for anything else.
pub(crate) fn duration(text: &str) -> Option<Duration> {
    let unit_start = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (number, unit) = text.split_at(unit_start);
    let unit_us = match unit {
        "us" => 1.0,
        "ms" => 1e3,
        "s" => 1e6,
        "m" | "min" => 60e6,
        "h" => 3600e6,
        _ => return None,
    };
    let number = number.trim_end();
    if number.is_empty() || !number.chars().all(|c| c.is_ascii_digit() || c == '.') {
        return None;
    }
    let microseconds = number.parse::<f64>().ok()? * unit_us;
    // Beyond 2^53 us (285 years) a float no longer counts microseconds.
    (microseconds <= 9e15).then(|| Duration::from_micros(microseconds.round() as u64))
}

/// The canonical form of a time: the largest of `h`, `m`, `s`, `ms`, `us` that gives a whole number.
pub(crate) fn duration_text(value: Duration) -> String {
    let microseconds = value.as_micros();
    if microseconds == 0 {
        return "0s".to_owned();
    }
    for (unit_us, unit) in [(3_600_000_000, "h"), (60_000_000, "m"), (1_000_000, "s"), (1000, "ms")] {
        if microseconds.is_multiple_of(unit_us) {
            return format!("{}{unit}", microseconds / unit_us);
        }
    }
    format!("{microseconds}us")
}
