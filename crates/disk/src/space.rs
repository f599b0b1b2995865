//! Whether a directory has room for what a run will write.

use std::io;
use std::path::{Path, PathBuf};

use crate::facts::room_of;

/// Why a directory cannot take what a run will write.
#[derive(Debug, thiserror::Error)]
pub enum SpaceError {
    /// There is less room than needed.
    #[error(
        "not enough space in directory \"{}\": {} needed, {} free",
        .directory.display(), format_bytes(*.needed_bytes), format_bytes(*.free_bytes)
    )]
    NotEnough {
        /// The directory asked for.
        directory: PathBuf,
        /// What was asked for, in bytes.
        needed_bytes: u64,
        /// What an unprivileged process can still write, in bytes.
        free_bytes: u64,
    },
    /// The file system did not answer.
    #[error("could not read the free space of directory \"{}\": {source}", .directory.display())]
    Unreadable {
        /// The directory asked for.
        directory: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
}

/// Makes sure that `needed_bytes` can still be written to `dir`.
///
/// Counts what an unprivileged process can write, because that is what a managed server is. The answer holds for
/// this moment: nothing is reserved.
///
/// # Errors
/// When there is less room than needed, or the file system does not answer.
pub fn require_free(dir: &Path, needed_bytes: u64) -> Result<(), SpaceError> {
    let room =
        room_of(dir).map_err(|source| SpaceError::Unreadable { directory: dir.to_path_buf(), source })?;
    if room.free_bytes < needed_bytes {
        return Err(SpaceError::NotEnough {
            directory: dir.to_path_buf(),
            needed_bytes,
            free_bytes: room.free_bytes,
        });
    }
    Ok(())
}

/// Writes a number of bytes for people: whole bytes below 1 KiB, one decimal and an IEC unit above (`1.5 GiB`).
pub fn format_bytes(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit_index = 0;
    // 1023.95 would be written 1024.0, which is 1.0 of the next unit.
    while value >= 1023.95 && unit_index + 1 < UNITS.len() {
        value /= 1024.0;
        unit_index += 1;
    }
    format!("{value:.1} {}", UNITS[unit_index])
}

/// Most digits behind the point of a size: more are finer than a byte of a tebibyte.
const DECIMALS_MAX: usize = 12;

/// Reads a size such as `8192`, `8k`, `30MB`, `1MiB` or `1.5g`, in bytes.
///
/// Units with an i, and single letters (as fio takes them), are powers of 1024; units with a B alone are powers of 1000.
///
/// # Errors
/// In words, with a hint: text that is no size, or one beyond 2^64 bytes.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let refused = |hint: &str| Err(format!("\"{text}\" is not a size\nhint: {hint}"));
    let too_large = || format!("the size \"{text}\" is too large");
    let lower = text.trim().to_lowercase();
    let digits = lower.trim_end_matches(|letter: char| letter.is_ascii_alphabetic()).trim_end();
    let unit: u64 = match lower[digits.len()..].trim_start() {
        "" | "b" => 1,
        "k" | "ki" | "kib" => 1 << 10,
        "m" | "mi" | "mib" => 1 << 20,
        "g" | "gi" | "gib" => 1 << 30,
        "t" | "ti" | "tib" => 1 << 40,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        _ => return refused("write 8k or 8KiB (2^10), 30MB (10^6), 1MiB (2^20), 2GiB"),
    };
    let (whole, decimals) = digits.split_once('.').unwrap_or((digits, ""));
    let is_number = |digits: &str| digits.bytes().all(|digit| digit.is_ascii_digit());
    if whole.is_empty() || !is_number(whole) || !is_number(decimals) || decimals.len() > DECIMALS_MAX {
        return refused("write 8k, 30MB or 1.5GiB");
    }
    let whole: u64 = whole.parse().map_err(|_| too_large())?;
    let scale = 10u128.pow(u32::try_from(decimals.len()).unwrap_or(0));
    let decimals: u128 = if decimals.is_empty() { 0 } else { decimals.parse().map_err(|_| too_large())? };
    let size = u128::from(whole) * u128::from(unit) + decimals * u128::from(unit) / scale;
    u64::try_from(size).map_err(|_| too_large())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn bytes_are_written_in_iec_units() {
        let cases = [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (1536 << 20, "1.5 GiB"),
            ((1 << 20) - 1, "1.0 MiB"),
            (u64::MAX, "16.0 EiB"),
        ];
        for (bytes, text) in cases {
            assert_eq!(format_bytes(bytes), text);
        }
    }

    #[test]
    fn nothing_needed_always_fits_and_too_much_names_directory_needed_and_free() {
        let directory = tempfile::tempdir().unwrap();
        require_free(directory.path(), 0).unwrap();
        let message = require_free(directory.path(), u64::MAX).unwrap_err().to_string();
        let name = directory.path().display().to_string();
        assert!(message.contains(&name), "{message}");
        assert!(message.contains("16.0 EiB needed") && message.ends_with("free"), "{message}");
    }

    #[test]
    fn a_missing_directory_is_an_error_with_its_path() {
        let directory = tempfile::tempdir().unwrap();
        let error = require_free(&directory.path().join("missing"), 1).unwrap_err();
        assert!(matches!(&error, SpaceError::Unreadable { .. }));
        assert!(error.to_string().contains("missing"));
    }
}
