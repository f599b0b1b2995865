//! The values of fio's parameters, each with the units and words that fio gives them.

use std::path::PathBuf;
use std::time::Duration;

use super::error::FioJobError;
use crate::backend::BackendChoice;

/// `rw`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Mode {
    pub(super) is_random: bool,
    pub(super) reads: bool,
    pub(super) writes: bool,
}

pub(super) fn error(line: usize, problem: &str) -> FioJobError {
    FioJobError { line, problem: problem.to_owned(), hint: None }
}

pub(super) fn not_a(line: usize, key: &str, text: &str, kind: &str) -> FioJobError {
    error(line, &format!("\"{text}\" of parameter \"{key}\" is not {kind}"))
}

pub(super) fn mode(line: usize, text: &str) -> Result<Mode, FioJobError> {
    let (is_random, reads, writes) = match text {
        "read" => (false, true, false),
        "write" => (false, false, true),
        "randread" => (true, true, false),
        "randwrite" => (true, false, true),
        "rw" | "readwrite" => (false, true, true),
        "randrw" => (true, true, true),
        _ => return Err(not_a(line, "rw", text, "read, write, randread, randwrite, rw or randrw")),
    };
    Ok(Mode { is_random, reads, writes })
}

pub(super) fn engine(line: usize, text: &str, notes: &mut Vec<String>) -> Result<BackendChoice, FioJobError> {
    let (choice, note) = match text {
        "io_uring" => return Ok(BackendChoice::Uring),
        "libaio" => (BackendChoice::Auto, "ioengine=libaio: fathom uses io_uring, or threads without it"),
        "psync" | "sync" | "pvsync" | "pvsync2" | "posixaio" => (
            BackendChoice::Threads,
            "this ioengine: fathom uses one pread thread for each transfer outstanding",
        ),
        _ => {
            return Err(not_a(
                line,
                "ioengine",
                text,
                "io_uring, libaio, psync, sync, pvsync, pvsync2 or posixaio",
            ));
        }
    };
    notes.push(note.to_owned());
    Ok(choice)
}

pub(super) fn number<T: std::str::FromStr>(line: usize, key: &str, text: &str) -> Result<T, FioJobError> {
    text.parse().map_err(|_| not_a(line, key, text, "a whole number in range"))
}

pub(super) fn percent(line: usize, key: &str, text: &str) -> Result<u8, FioJobError> {
    let percent: u8 = number(line, key, text)?;
    if percent > 100 { Err(not_a(line, key, text, "a share of 0 to 100")) } else { Ok(percent) }
}

/// A parameter without a value is a yes.
pub(super) fn boolean(line: usize, key: &str, value: Option<&str>) -> Result<bool, FioJobError> {
    match value {
        None | Some("1" | "true") => Ok(true),
        Some("0" | "false") => Ok(false),
        Some(text) => Err(not_a(line, key, text, "0 or 1")),
    }
}

/// Several files, separated by colons, are one target too many.
pub(super) fn path(line: usize, key: &str, text: &str) -> Result<PathBuf, FioJobError> {
    if text.is_empty() || text.contains(':') {
        return Err(not_a(line, key, text, "one path"));
    }
    Ok(PathBuf::from(text))
}

/// fio's units with `kb_base=1024`, its default: k, m, g, t with or without b. `kib` means 1000 there, by history,
/// and is refused here.
pub(super) fn size(line: usize, key: &str, text: &str) -> Result<u64, FioJobError> {
    let (digits, unit) = digits_and_unit(text);
    let shift = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => Some(0),
        "k" | "kb" => Some(10),
        "m" | "mb" => Some(20),
        "g" | "gb" => Some(30),
        "t" | "tb" => Some(40),
        _ => None,
    };
    let bytes = shift.and_then(|shift| digits.parse::<u64>().ok()?.checked_mul(1 << shift));
    bytes.ok_or_else(|| not_a(line, key, text, "one size such as 8k or 1g"))
}

pub(super) fn time(line: usize, key: &str, text: &str) -> Result<Duration, FioJobError> {
    let (digits, unit) = digits_and_unit(text);
    let us = match unit {
        "" | "s" => Some(1_000_000),
        "us" => Some(1),
        "ms" => Some(1000),
        "m" => Some(60_000_000),
        "h" => Some(3_600_000_000),
        "d" => Some(86_400_000_000),
        _ => None,
    };
    let us = us.and_then(|unit: u64| digits.parse::<u64>().ok()?.checked_mul(unit));
    us.map(Duration::from_micros).ok_or_else(|| not_a(line, key, text, "a time such as 30 or 500ms"))
}

pub(super) fn digits_and_unit(text: &str) -> (&str, &str) {
    text.split_at(text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len()))
}
