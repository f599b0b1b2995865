//! The rules that a run must pass to count, as far as a spec can set them.

use std::time::Duration;

use super::document::Entry;
use super::duration::{duration, duration_text};
use super::error::{SpecError, quoted};

const KEYS: [&str; 6] =
    ["attempts", "start_skew", "start_skew_floor", "client_cpu", "samples_present", "within_limit"];

/// Limits of the validity gates of a study.
#[derive(Clone, Debug, PartialEq)]
pub struct Validity {
    /// Executions of one cell in one block before it is left invalid, 1 to 100. Default 3.
    pub attempts: u32,
    /// Largest time between the first statements of the first and the last client, as a share of the elapsed time,
    /// 0 to 1. Default 0.02, the share at which the published runs would still be told apart.
    pub start_skew_fraction: f64,
    /// Start skew that is always allowed, in milliseconds, so that runs of a second do not fail on the scheduler.
    /// Default 50.
    pub start_skew_floor_ms: u64,
    /// Largest share of the processors that the clients themselves may use on average, 0 to 1: beyond it the client
    /// may be what is measured. Does not apply to an embedded engine, where client and engine are one process.
    /// Default 0.9.
    pub client_cpu_fraction: f64,
    /// Smallest share of the expected samples of each sampler, 0 to 1. Default 0.95.
    pub samples_present_fraction: f64,
    /// Smallest share of the transactions of a workload of the user's own that end within its latency limit, 0 to 1. Default
    /// 0: the share is a metric, and no run is invalid for it.
    pub within_limit_fraction: f64,
}

impl Default for Validity {
    fn default() -> Self {
        Self {
            attempts: 3,
            start_skew_fraction: 0.02,
            start_skew_floor_ms: 50,
            client_cpu_fraction: 0.9,
            samples_present_fraction: 0.95,
            within_limit_fraction: 0.0,
        }
    }
}

impl Validity {
    /// Reads `[validity]` over what holds so far.
    pub(crate) fn read(&mut self, entries: &[Entry<'_>]) -> Result<(), SpecError> {
        for entry in entries {
            match entry.key {
                "attempts" => self.attempts = entry.count(1..=100)?,
                "start_skew" => self.start_skew_fraction = fraction(entry)?,
                "start_skew_floor" => self.start_skew_floor_ms = milliseconds(entry)?,
                "client_cpu" => self.client_cpu_fraction = fraction(entry)?,
                "samples_present" => self.samples_present_fraction = fraction(entry)?,
                "within_limit" => self.within_limit_fraction = fraction(entry)?,
                _ => return Err(entry.not_known("[validity]", &KEYS)),
            }
        }
        Ok(())
    }

    /// The lines of `[validity]` that `read` understands.
    pub(crate) fn to_toml(&self) -> String {
        let mut text = format!(
            "attempts = {}\nstart_skew = \"{}\"\nstart_skew_floor = \"{}\"\nclient_cpu = \"{}\"\nsamples_present = \"{}\"\n",
            self.attempts,
            percent_text(self.start_skew_fraction),
            duration_text(Duration::from_millis(self.start_skew_floor_ms)),
            percent_text(self.client_cpu_fraction),
            percent_text(self.samples_present_fraction),
        );
        if self.within_limit_fraction > 0.0 {
            text.push_str(&format!("within_limit = \"{}\"\n", percent_text(self.within_limit_fraction)));
        }
        text
    }
}

/// A share written as `"2%"`, from 0 to 100.
pub(crate) fn fraction(entry: &Entry<'_>) -> Result<f64, SpecError> {
    let wanted = "a percentage from 0% to 100%, such as \"2%\"";
    let Ok(text) = entry.text() else { return Err(entry.wrong_type(wanted)) };
    percent(&text).filter(|percent| *percent <= 100.0).map(|percent| percent / 100.0).ok_or_else(|| {
        let title = format!("`{}` takes {wanted}, found {}", entry.key, quoted(&text));
        SpecError::at(&entry.value_place, title, "not such a percentage")
    })
}

/// The number before `%`; at most six decimals, so that it can be written back exactly.
pub(crate) fn percent(text: &str) -> Option<f64> {
    let number = text.strip_suffix('%')?.trim_end();
    let decimals = number.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let plain = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit() || c == '.');
    number.parse().ok().filter(|value: &f64| plain && decimals <= 6 && *value <= 1e6)
}

/// The percentage that `percent` reads back as the same share.
pub(crate) fn percent_text(fraction: f64) -> String {
    format!("{}%", (fraction * 1e11).round() / 1e9)
}

fn milliseconds(entry: &Entry<'_>) -> Result<u64, SpecError> {
    let wanted = "a time up to one hour, such as \"50ms\"";
    let Ok(text) = entry.text() else { return Err(entry.wrong_type(wanted)) };
    duration(&text)
        .filter(|time| *time <= Duration::from_secs(3600))
        .map(|time| time.as_millis() as u64)
        .ok_or_else(|| {
            let title = format!("`{}` takes {wanted}, found {}", entry.key, quoted(&text));
            SpecError::at(&entry.value_place, title, "not such a time")
        })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_percentage_survives_being_written_and_read() {
        for text in ["0%", "2%", "7%", "0.1%", "33.333333%", "14.29%", "99.9%", "100%"] {
            let fraction = percent(text).unwrap() / 100.0;
            assert_eq!(percent_text(fraction), text);
            assert_eq!(percent(&percent_text(fraction)).unwrap() / 100.0, fraction);
        }
    }

    #[test]
    fn what_is_no_percentage_is_refused() {
        for text in ["2", "%", "-1%", "1e2%", "nan%", "inf%", "1.2345678%", "2 percent"] {
            assert_eq!(percent(text), None, "{text}");
        }
    }
}
