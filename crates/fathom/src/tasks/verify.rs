//! Checks files, and requires that nothing was found and nothing left out.

use std::path::Path;

use check::engine::Source;
use check::options::Options;
use check::progress::Silent;
use results::EngineId;
use results::check::CheckReport;

use crate::engines;

/// Checks the files of an engine.
pub(super) fn check(path: &Path, engine: EngineId, options: &Options) -> Result<CheckReport, String> {
    let engine = engines::checker(engine).map_err(|error| error.to_string())?;
    let paths = [path.to_path_buf()];
    (engine.check)(&Source::Files(&paths), options, &mut Silent).map_err(|error| error.to_string())
}

/// A check that found something, or that did not see all bytes, is no measurement of a check.
pub(super) fn require_clean(report: &CheckReport) -> Result<(), String> {
    if let Some(finding) = report.findings.first() {
        return Err(format!("the check found damage in \"{}\": {}", finding.file, finding.invariant));
    }
    if let Some(reason) = &report.unfinished {
        return Err(format!("the check could not finish: {reason}"));
    }
    if report.accounting.is_complete() {
        return Ok(());
    }
    Err(format!(
        "the check read {} of {} bytes",
        report.accounting.bytes_read, report.accounting.bytes_expected
    ))
}
