//! What the user named: which files there are, of which kind, and why they cannot be checked.

use std::path::{Path, PathBuf};

use results::check::{CheckLevel, CheckReport, NotChecked};

use crate::source::{CheckError, FileKind, Source, recognise};

pub(crate) fn kinds(paths: &[PathBuf], is_raw: bool) -> Result<Vec<FileKind>, CheckError> {
    let mut kinds = Vec::new();
    for path in paths {
        let kind = recognise(path).map_err(|source| CheckError::Read { path: path.clone(), source })?;
        match kind {
            Some(kind) if kinds.first().is_none_or(|first| *first == kind) => kinds.push(kind),
            Some(_) => return Err(CheckError::Mixed { path: path.clone() }),
            None if is_raw => kinds.push(FileKind::Data),
            None => return Err(CheckError::NotSqlServer { path: path.clone(), start: start_text(path) }),
        }
    }
    Ok(kinds)
}

/// Opens the files, which are all of one kind.
pub(crate) fn open(paths: &[PathBuf], is_backup: bool) -> Result<Source, CheckError> {
    let first = paths.first().cloned().unwrap_or_default();
    let source = Source::open(paths, is_backup).map_err(|source| CheckError::Read { path: first, source })?;
    match source.doubled() {
        Some((path, number)) => Err(CheckError::SameNumber { path: path.to_owned(), number }),
        None => Ok(source),
    }
}

/// What a file begins with, when that is text.
fn start_text(path: &Path) -> String {
    use std::io::Read as _;
    let mut start = Vec::new();
    let read = disk::input::File::open(path).and_then(|file| file.take(40).read_to_end(&mut start));
    let is_text = start.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace());
    match read {
        Ok(0) => "; it is empty".to_owned(),
        Ok(_) if is_text => {
            let text = String::from_utf8_lossy(&start);
            format!("; it begins with \"{}\"", text.lines().next().unwrap_or_default().trim())
        }
        _ => String::new(),
    }
}

pub(crate) fn empty_report(target: String, level: CheckLevel) -> CheckReport {
    CheckReport::empty("sqlserver", &target, level)
}

pub(crate) fn refuse_compressed(paths: &[PathBuf], report: &mut CheckReport) {
    report.facts.push(("backup".to_owned(), "compressed (MSSQLBAK)".to_owned()));
    let bytes: u64 = paths.iter().filter_map(|path| path.metadata().ok()).map(|facts| facts.len()).sum();
    let what = format!("all of its blocks, {bytes} bytes");
    let why = "the backup is compressed, in an unpublished format".to_owned();
    report.not_checked.push(NotChecked { object: None, what, why, kind: results::check::GapKind::Coverage });
    report.unfinished = Some(
        "the backup is compressed: restore it, or take one WITH NO_COMPRESSION, and check that".to_owned(),
    );
}
