//! `PG_VERSION`: the major version of the cluster and of each database.

use formats::postgres::control::Control;
use results::check::Finding;

use crate::finding::file_finding;
use crate::rules;
use crate::source::Tree;

/// The major of a data directory: that of the control file's catalog version, else that of `PG_VERSION`; 0 if none tells.
///
/// An undamaged control file wins: it has a CRC, and the server compares both.
pub(crate) fn major_of(version: Option<&[u8]>, control: Option<&Control>) -> u32 {
    // OBSERVED: catalog versions 202107181 (14), 202209061 (15), 202307071 (16), 202406281 (17), 202506291 (18)
    match control.map_or(0, |control| control.catalog_version) {
        202_107_181 => 14,
        202_209_061 => 15,
        202_307_071 => 16,
        202_406_281 => 17,
        202_506_291 => 18,
        _ => version.and_then(written).unwrap_or(0),
    }
}

/// The major that a file says.
// EVIDENCE: src/backend/utils/init/miscinit.c ValidatePgVersion: the first word, read as a number
fn written(bytes: &[u8]) -> Option<u32> {
    let text = std::str::from_utf8(bytes).ok()?;
    let word = text.split_whitespace().next()?;
    let digits = word.split(|sign: char| !sign.is_ascii_digit()).next()?;
    digits.parse().ok()
}

/// What is wrong with a `PG_VERSION`, if anything: the server refuses the cluster, or the database.
pub(crate) fn check_version(tree: &Tree, path: &str, major: u32, object: Option<&str>) -> Option<Finding> {
    let found = match tree.read_small(path) {
        Ok(bytes) if written(&bytes) == Some(major) => return None,
        Ok(bytes) => {
            let start: String = String::from_utf8_lossy(&bytes).chars().take(20).collect();
            format!("{start:?} ({} bytes)", bytes.len())
        }
        Err(error) => error.to_string(),
    };
    Some(file_finding(&rules::VERSION_FILE, path, object, format!("\"{major}\""), found))
}
