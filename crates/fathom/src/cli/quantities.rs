//! Sizes, rates and lengths of time as they are written in arguments.

use std::time::Duration;

use anyhow::{Context, bail};
use disk::space::parse_bytes;

/// A size such as `8192`, `8k`, `30MB`, `1MiB` or `1.5g`, as specs have it, too.
pub(crate) fn bytes(text: &str) -> anyhow::Result<u64> {
    parse_bytes(text).map_err(anyhow::Error::msg)
}

/// A rate in bytes per second: a size with or without `/s` behind it.
pub(crate) fn bytes_per_s(text: &str) -> anyhow::Result<u64> {
    let trimmed = text.trim();
    let size = trimmed.strip_suffix("/s").or_else(|| trimmed.strip_suffix("ps")).unwrap_or(trimmed);
    bytes(size).with_context(|| format!("\"{text}\" is not a rate\nhint: write 50MB/s or 50MiB/s"))
}

/// The length of time that an option takes, such as `5s` or `2min`; a number alone counts seconds, as pgbench and fio
/// take it.
pub(crate) fn time_of(option: &str, text: &str) -> anyhow::Result<Duration> {
    let trimmed = text.trim();
    let is_number = !trimmed.is_empty() && trimmed.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let time = if is_number {
        trimmed.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
    } else {
        trimmed.parse::<jiff::SignedDuration>().ok().and_then(|span| Duration::try_from(span).ok())
    };
    time.with_context(|| {
        format!(
            "{option} takes a length of time, found \"{text}\": it is not a number, alone (seconds) or with a unit\n\
             hint: write 10, 10s, 500ms, 2min or 1h"
        )
    })
}

/// As [`time_of`], and more than no time.
pub(crate) fn time_above_zero(option: &str, text: &str) -> anyhow::Result<Duration> {
    let time = time_of(option, text)?;
    if time.is_zero() {
        bail!("{option} takes a time above 0, found \"{text}\"\nhint: write 10, 10s, 500ms, 2min or 1h");
    }
    Ok(time)
}

/// Most workers: each has a thread and buffers of its own.
const JOBS_MAX: usize = 1024;

/// Workers of a check or a measurement; one per CPU where the user does not say.
pub(crate) fn jobs(wanted: Option<usize>) -> anyhow::Result<usize> {
    match wanted {
        None => Ok(std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(JOBS_MAX)),
        Some(0) => bail!("--jobs takes at least 1"),
        Some(jobs) if jobs > JOBS_MAX => {
            bail!(
                "--jobs takes at most {JOBS_MAX}, found {jobs}\nhint: more workers than CPUs and I/O queues do not read faster"
            )
        }
        Some(jobs) => Ok(jobs),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_unit_with_an_i_or_a_single_letter_is_binary_and_others_are_decimal() {
        let cases = [
            ("512", 512),
            ("512B", 512),
            ("8k", 8192),
            ("8KiB", 8192),
            ("8kB", 8000),
            ("1M", 1 << 20),
            ("30MB", 30_000_000),
            ("30 MB", 30_000_000),
            ("30MiB", 30 << 20),
            ("2g", 2 << 30),
            ("1.5GiB", 3 << 29),
            ("2TB", 2_000_000_000_000),
        ];
        for (text, expected) in cases {
            assert_eq!(bytes(text).unwrap(), expected, "{text}");
        }
        for text in
            ["", "k", "8x", "-1", "1.2.3", ".", "0.5.", "99999999999t", "9.99999999999999999999g", "MB"]
        {
            assert!(bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_rate_may_say_that_it_is_one() {
        for (text, expected) in
            [("30MB", 30_000_000), ("50MB/s", 50_000_000), ("50MiB/s", 50 << 20), ("7", 7)]
        {
            assert_eq!(bytes_per_s(text).unwrap(), expected, "{text}");
        }
        assert!(bytes_per_s("fast").is_err() && bytes_per_s("50MB/h").is_err());
    }

    #[test]
    fn a_time_without_a_unit_counts_seconds_and_a_misreading_is_named() {
        for (text, milliseconds) in [
            ("10", 10_000),
            ("10s", 10_000),
            ("0.5", 500),
            ("500ms", 500),
            ("2min", 120_000),
            ("2m", 120_000),
            ("1h", 3_600_000),
        ] {
            assert_eq!(time_of("--max-time", text).unwrap(), Duration::from_millis(milliseconds), "{text}");
        }
        for text in ["", "ten", "10x", "-5", "-5s", "1.2.3", ".", "99999999999999999999999"] {
            let error = time_of("--max-time", text).unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("--max-time takes a length of time, found \"{text}\"")),
                "{error}"
            );
            assert!(error.contains("hint: write 10, 10s"), "{error}");
        }
    }
}
