//! What the reads of a check allow to be concluded: whether they failed, differed, or met files that changed.
//!
//! | what happened | what the report says |
//! |---|---|
//! | an error of the environment: permissions, limits, memory, a file that is gone | could not finish, with the first error; nothing that may follow from it |
//! | a file was replaced, written or truncated while no server was known to run | could not finish: changed during the check; no findings |
//! | readings of a place differ, and no process wrote the file | one finding per place: device or memory; nothing that compares pages |
//! | a device gave no bytes | a finding for the place; what follows from it is not certain |
//!
//! The rules are the same for all engines; each says what its places are called, and whether a server runs.

mod findings;
mod outcome;
mod terms;

pub use terms::{Place, Terms};

use std::io;
use std::path::PathBuf;

use disk::input::{Cause, Entered, InputRecord};
use results::check::CheckReport;

/// Notes the reads of a check from its begin to its report.
pub struct Watch {
    record: InputRecord,
    _entered: Entered,
}

impl Watch {
    /// Begins to note the reads of this thread and of scans that it starts.
    pub fn begin() -> Self {
        let record = InputRecord::default();
        let entered = record.enter();
        Self { record, _entered: entered }
    }

    /// As [`Watch::begin`], in the record of this thread if it has one: what tells what a file is has read it before.
    pub fn go_on() -> Self {
        let Some(record) = InputRecord::current() else { return Self::begin() };
        let entered = record.enter();
        Self { record, _entered: entered }
    }

    /// The first failure of the environment so far, where a check could not begin.
    pub fn failure(&self) -> Option<(PathBuf, io::Error)> {
        let failures = self.record.failures();
        let first = failures.into_iter().find(|failure| failure.error_number.is_some())?;
        let number = first.error_number?;
        Some((first.path, io::Error::from_raw_os_error(number)))
    }

    /// The first failure so far that is no work of a server, in a sentence with a hint: where numbers of pages that were
    /// not read would be shown.
    pub fn reason(&self, is_served: bool) -> Option<String> {
        let is_absence = |number: Option<i32>| number == Some(rustix::io::Errno::NOENT.raw_os_error());
        let failures = self.record.failures();
        let first = failures.iter().find(|failure| !(is_served && is_absence(failure.error_number)))?;
        Some(outcome::reason(first, ""))
    }

    /// Takes back what the reads do not allow to be concluded, and says what they showed.
    ///
    /// I/O: where something was found, the single reads of the check once more; places that differed some more times.
    pub fn settle(self, report: &mut CheckReport, terms: &Terms<'_>) {
        let record = self.record;
        let is_absence = |number: Option<i32>| number == Some(rustix::io::Errno::NOENT.raw_os_error());
        let failures = record.failures();
        let environment = failures
            .iter()
            .filter(|failure| failure.cause == Cause::Environment)
            .find(|failure| !(terms.is_served && is_absence(failure.error_number)));
        if let Some(first) = environment {
            return outcome::not_read(report, terms, first, &failures);
        }
        if !terms.is_served && !terms.judges_changes {
            let changed = record.changed();
            if let Some(first) = changed.first() {
                return outcome::changed(report, terms, first);
            }
        }
        if !terms.is_served {
            if report.finding_count() > 0 || record.has_differing() {
                report.counters.extra_read_count += record.repeat_single_reads();
            }
            report.counters.extra_read_count += record.repeat_differing();
            let (still, other): (Vec<_>, Vec<_>) =
                record.settle().into_iter().partition(|place| place.is_still);
            if !still.is_empty() {
                return outcome::differing(report, terms, &still);
            }
            if let Some(first) = other.first().filter(|_| !terms.judges_changes) {
                return outcome::changed(report, terms, &first.path);
            }
        }
        outcome::unreadable(report, terms, &failures);
    }
}
