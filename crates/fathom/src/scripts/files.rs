//! SQL files of the command line.

use std::io::Read;

use anyhow::{Context, anyhow, bail};

/// Longest script in bytes; the parser takes no longer one.
const BYTES_MAX: u64 = 16 << 20;

/// Reads a script.
///
/// # Errors
/// What is no regular file, cannot be read, is empty, too long or not UTF-8.
pub(super) fn read(path: &str) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    disk::regular::open(path)
        .and_then(|file| file.take(BYTES_MAX + 1).read_to_end(&mut bytes))
        .with_context(|| format!("could not read script \"{path}\""))?;
    if bytes.len() as u64 > BYTES_MAX {
        bail!("script \"{path}\" has more than {} MiB", BYTES_MAX >> 20);
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
        let byte = error.as_bytes().get(at).copied().unwrap_or_default();
        anyhow!(
            "script \"{path}\" is not UTF-8: byte {at}, in line {line}, is 0x{byte:02x}\nhint: convert it: iconv -f latin1 -t utf-8"
        )
    })?;
    if text.trim().is_empty() {
        bail!("script \"{path}\" is empty: it has no statement to execute");
    }
    Ok(text)
}
