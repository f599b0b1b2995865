//! Numbers as people write them: units of a fitting size, thousands set apart, no more digits than are read.

use results::model::Level;

/// Units of sizes, the largest first.
const SIZES: [(f64, &str); 4] =
    [(1_099_511_627_776.0, "TiB"), (1_073_741_824.0, "GiB"), (1_048_576.0, "MiB"), (1024.0, "KiB")];

/// A unit in which the values of one picture are written.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Unit {
    /// A value in the stored unit times this is one in the written unit.
    factor: f64,
    words: String,
}

impl Unit {
    /// The unit that suits the largest of some values, which are stored in `unit`.
    pub(super) fn of(unit: &str, values: impl IntoIterator<Item = f64>) -> Self {
        let sizes = values.into_iter().map(f64::abs).filter(|size| size.is_finite());
        let largest = sizes.fold(0.0, f64::max);
        let written = |factor: f64, words: &str| Self { factor, words: words.to_owned() };
        let (base, per) =
            unit.split_once('/').map_or((unit, String::new()), |(base, per)| (base, format!("/{per}")));
        match base {
            "bytes" => match SIZES.iter().find(|(size, _)| largest >= *size) {
                Some((size, words)) => written(1.0 / size, &format!("{words}{per}")),
                None => written(1.0, unit),
            },
            "s" if largest > 0.0 => time(largest * 1e9, 1e9, &per),
            "ms" if largest > 0.0 => time(largest * 1e6, 1e6, &per),
            // Counts have no unit.
            "1" if per.is_empty() => written(1.0, ""),
            "1" => written(1.0, &format!("per{per}").replace("per/", "per ")),
            _ => written(1.0, unit),
        }
    }

    /// The unit alone; empty for counts.
    pub(super) fn words(&self) -> &str {
        &self.words
    }

    /// A name with the unit behind it, unless it ends in the unit: `WAL written [MiB]`, `latency_p99_ms`.
    pub(super) fn titled(&self, name: &str) -> String {
        let ending = format!("_{}", self.words.replace(' ', "_"));
        let is_told = self.words.is_empty() || name.ends_with(&ending);
        if is_told { name.to_owned() } else { format!("{name} [{}]", self.words) }
    }

    /// A value in this unit.
    pub(super) fn value(&self, stored: f64) -> f64 {
        stored * self.factor
    }

    /// A value with its unit: `41.6 MiB`.
    pub(super) fn write(&self, stored: f64) -> String {
        let number = number(self.value(stored));
        if self.words.is_empty() { number } else { format!("{number} {}", self.words) }
    }
}

/// Seconds unless they are few; `ns` is the largest value, `of_one` what one of the stored unit has.
fn time(ns: f64, of_one: f64, per: &str) -> Unit {
    let (one_ns, words) = match ns {
        ns if ns >= 1e9 => (1e9, "s"),
        ns if ns >= 1e6 => (1e6, "ms"),
        _ => (1e3, "µs"),
    };
    Unit { factor: of_one / one_ns, words: format!("{words}{per}") }
}

/// Four significant digits, thousands set apart.
pub(crate) fn number(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() {
        return crate::number::ABSENT.to_owned();
    }
    if size >= 1000.0 || value.fract() == 0.0 {
        return thousands(value);
    }
    crate::number::number(value)
}

/// A whole number with its thousands set apart by commas.
pub(crate) fn thousands(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if value < 0.0 && digits != "0" { format!("-{text}") } else { text }
}

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
    fn sizes_times_and_counts_have_the_unit_that_a_person_would_choose() {
        let written = |unit: &str, value: f64| Unit::of(unit, [value]).write(value);
        assert_eq!(written("bytes", 43_620_762.0), "41.60 MiB");
        assert_eq!(written("bytes", 512.0), "512 bytes");
        assert_eq!(written("bytes/s", 3e9), "2.794 GiB/s");
        assert_eq!(written("bytes/transaction", 2048.0), "2 KiB/transaction");
        assert_eq!(written("s", 0.004), "4 ms");
        assert_eq!(written("s", 4000.0), "4,000 s");
        assert_eq!(written("ms", 0.0821), "82.10 µs");
        assert_eq!(written("ms", 2500.0), "2.500 s");
        assert_eq!(written("1", 1_234_567.0), "1,234,567");
        assert_eq!(written("rows/s", 12_345.6), "12,346 rows/s");
        assert_eq!(written("1/s", 5.0), "5 per s");
        assert_eq!(Unit::of("1", [3.0]).titled("log_flushes"), "log_flushes");
        assert_eq!(Unit::of("s", [0.0]).titled("waited"), "waited [s]");
        assert_eq!(Unit::of("1/s", [3.0]).titled("log_flushes_per_s"), "log_flushes_per_s");
        assert_eq!(Unit::of("ms", [3.0]).titled("latency_p99_ms"), "latency_p99_ms");
        assert_eq!(Unit::of("ms", [0.3]).titled("latency_p99_ms"), "latency_p99_ms [µs]");
    }

    #[test]
    fn thousands_are_set_apart() {
        let texts = [0.0, 999.0, 1000.0, -1_234_567.0, 0.4].map(thousands);
        assert_eq!(texts, ["0", "999", "1,000", "-1,234,567", "0"]);
        assert_eq!(number(f64::NAN), "-");
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
