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
