//! Lengths of time as specs write them.

use std::time::Duration;

/// A length of time as written: a decimal number and `ms`, `s`, `m` or `h`; `None` for anything else.
pub(crate) fn duration(text: &str) -> Option<Duration> {
    let unit_start = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (number, unit) = text.split_at(unit_start);
    let unit_ms = match unit {
        "ms" => 1.0,
        "s" => 1e3,
        "m" | "min" => 60e3,
        "h" => 3600e3,
        _ => return None,
    };
    let number = number.trim_end();
    if number.is_empty() || !number.chars().all(|c| c.is_ascii_digit() || c == '.') {
        return None;
    }
    let milliseconds = number.parse::<f64>().ok()? * unit_ms;
    // Beyond 2^53 ms (285 millennia) a float no longer counts milliseconds.
    (milliseconds <= 9e15).then(|| Duration::from_millis(milliseconds.round() as u64))
}

/// The canonical form of a time: the largest of `h`, `m`, `s`, `ms` that gives a whole number.
pub(crate) fn duration_text(value: Duration) -> String {
    let milliseconds = value.as_millis();
    if milliseconds == 0 {
        return "0s".to_owned();
    }
    for (unit_ms, unit) in [(3_600_000, "h"), (60_000, "m"), (1000, "s")] {
        if milliseconds.is_multiple_of(unit_ms) {
            return format!("{}{unit}", milliseconds / unit_ms);
        }
    }
    format!("{milliseconds}ms")
}
