//! Values in units that people read: MiB in place of bytes, ms in place of 0.0018 s, no unit in place of `1`.
//!
//! The exact value stands beside them, on hover: [`exact`].

use super::{ABSENT, number};

/// Units of sizes, the largest first.
const SIZES: [(f64, &str); 4] =
    [(1_099_511_627_776.0, "TiB"), (1_073_741_824.0, "GiB"), (1_048_576.0, "MiB"), (1024.0, "KiB")];

/// A unit in which the values of one picture are written.
#[derive(Clone, Debug, PartialEq)]
pub struct Unit {
    /// A value in the stored unit times this is one in the written unit.
    factor: f64,
    words: String,
}

impl Unit {
    /// The unit that suits the largest of some values, which are stored in `unit`.
    pub fn of(unit: &str, values: impl IntoIterator<Item = f64>) -> Self {
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
            "ns" if largest > 0.0 => time(largest, 1.0, &per),
            // Counts have no unit.
            "1" if per.is_empty() => written(1.0, ""),
            "1" => written(1.0, &format!("per{per}").replace("per/", "per ")),
            _ => written(1.0, unit),
        }
    }

    /// As [`Unit::of`], but a name that ends in its unit of time keeps it: `latency_p99_ms`.
    pub fn of_named(name: &str, unit: &str, values: impl IntoIterator<Item = f64>) -> Self {
        let is_told = matches!(unit, "s" | "ms") && stem(name).ends_with(&format!("_{unit}"));
        if is_told { Self { factor: 1.0, words: unit.to_owned() } } else { Self::of(unit, values) }
    }

    /// The unit alone; empty for counts.
    pub fn words(&self) -> &str {
        &self.words
    }

    /// A name with the unit behind it, unless it ends in the unit: `WAL written [MiB]`, `latency_p99_ms`.
    pub fn titled(&self, name: &str) -> String {
        let ending = format!("_{}", self.words.replace(' ', "_"));
        let is_told = self.words.is_empty() || stem(name).ends_with(&ending);
        if is_told { name.to_owned() } else { format!("{name} [{}]", self.words) }
    }

    /// A value in this unit.
    pub fn value(&self, stored: f64) -> f64 {
        stored * self.factor
    }

    /// A value with its unit: `41.6 MiB`.
    pub fn write(&self, stored: f64) -> String {
        let number = grouped(self.value(stored));
        if self.words.is_empty() { number } else { format!("{number} {}", self.words) }
    }
}

/// What stands before the dot that names a device.
fn stem(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
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
pub fn grouped(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() {
        return ABSENT.to_owned();
    }
    if size >= 1000.0 || value.fract() == 0.0 {
        return thousands(value);
    }
    number(value)
}

/// A whole number with its thousands set apart by commas.
pub fn thousands(value: f64) -> String {
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

/// Writes one value in the unit that suits it.
pub fn human(value: f64, unit: &str) -> String {
    if value.is_finite() { Unit::of(unit, [value]).write(value) } else { ABSENT.to_owned() }
}

/// Writes a value as it is stored, for those who want all of it: `5768630.4 bytes`.
pub fn exact(value: f64, unit: &str) -> String {
    match unit {
        "" | "1" => value.to_string(),
        unit => format!("{value} {unit}"),
    }
}

/// Writes a time: `0.850 s`, `14 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`.
pub fn duration(seconds: f64) -> String {
    if !seconds.is_finite() || seconds < 0.0 {
        return ABSENT.to_owned();
    }
    let whole = seconds.round() as u64;
    let pair = |larger: u64, one: &str, smaller: u64, other: &str| match smaller {
        0 => format!("{larger} {one}"),
        _ => format!("{larger} {one} {smaller} {other}"),
    };
    match whole {
        0..10 if seconds < 1.0 => format!("{:.0} ms", 1e3 * seconds),
        0..10 => format!("{seconds:.1} s"),
        10..60 => format!("{whole} s"),
        60..3600 => pair(whole / 60, "min", whole % 60, "s"),
        3600..86_400 => pair(whole / 3600, "h", whole % 3600 / 60, "min"),
        _ => pair(whole / 86_400, "d", whole % 86_400 / 3600, "h"),
    }
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
        let named = |name: &str, value: f64| Unit::of_named(name, "ms", [value]);
        assert_eq!(named("latency_p99_ms", 4000.0).write(4000.0), "4,000 ms");
        assert_eq!(named("device_write_ms.vda", 0.3).titled("device_write_ms.vda"), "device_write_ms.vda");
        assert_eq!(named("stall", 4000.0).titled("stall"), "stall [s]");
    }

    #[test]
    fn thousands_are_set_apart() {
        let texts = [0.0, 999.0, 1000.0, -1_234_567.0, 0.4].map(thousands);
        assert_eq!(texts, ["0", "999", "1,000", "-1,234,567", "0"]);
        assert_eq!(grouped(f64::NAN), "-");
    }

    #[test]
    fn one_value_has_its_own_unit_and_the_exact_one_beside_it() {
        assert_eq!(human(120_000.0, "ns"), "120 µs");
        assert_eq!(human(f64::NAN, "s"), "-");
        assert_eq!((exact(5_768_630.4, "bytes"), exact(3.0, "1")), ("5768630.4 bytes".into(), "3".into()));
    }

    #[test]
    fn a_time_has_two_units_at_most() {
        let texts = [0.0, 0.85, 2.54, 14.2, 59.9, 200.0, 3600.0, 7500.0, 273_600.0].map(duration);
        assert_eq!(
            texts,
            ["0 ms", "850 ms", "2.5 s", "14 s", "1 min", "3 min 20 s", "1 h", "2 h 5 min", "3 d 4 h"]
        );
        assert_eq!(duration(f64::NAN), "-");
    }
}
