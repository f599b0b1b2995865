//! Errors of SQLite as failures of statements.

use lab::engine::TargetError;
use lab::own::StatementError;
use results::scripts::FailureKind;
use rusqlite::{Error, ErrorCode, ffi};

use super::guard::Refusal;

const FREE_SPACE: &str = "\nhint: free space on the data directory's file system or load fewer rows";

/// What SQLite said outside of any script, with a hint where the disk is full.
pub(crate) fn engine_error(context: impl Into<String>, error: &Error) -> TargetError {
    let is_full = error.sqlite_error_code() == Some(ErrorCode::DiskFull);
    TargetError::engine(context, format!("{error}{}", if is_full { FREE_SPACE } else { "" }))
}

/// A failure, with the byte of the statement at which SQLite points. Of a statement that is one of several, that is the
/// byte of what was left to execute.
pub(super) struct Failure {
    pub(super) error: StatementError,
    /// Byte, and the length of the text in which it is counted.
    pub(super) at: Option<(usize, usize)>,
    /// Does another connection hold the lock?
    pub(super) is_busy: bool,
}

impl Failure {
    /// A statement that cannot be executed as it is written.
    pub(super) fn wrong(text: String) -> Self {
        Self { error: other(text), at: None, is_busy: false }
    }

    /// What SQLite said.
    pub(super) fn of(error: Error, refusal: &Refusal) -> Self {
        let (code, text, at) = match error {
            Error::SqliteFailure(code, text) => (code, text, None),
            Error::SqlInputError { error, msg, sql, offset } => {
                (error, Some(msg), usize::try_from(offset).ok().map(|offset| (offset, sql.len())))
            }
            other_error => return Self::wrong(other_error.to_string()),
        };
        if let Some(reason) = refusal.take() {
            return Self::wrong(reason);
        }
        let (kind, is_lost) = meaning(&code);
        let is_busy = code.code == ErrorCode::DatabaseBusy && kind == FailureKind::Locked;
        let words = text.unwrap_or_else(|| ffi::code_to_str(code.extended_code).to_owned());
        let mut text = format!("{words} ({})", code.extended_code);
        if code.code == ErrorCode::DiskFull {
            text.push_str(FREE_SPACE);
        }
        Self { error: StatementError { kind, text, position: None, is_lost }, at, is_busy }
    }
}

fn other(text: String) -> StatementError {
    StatementError { kind: FailureKind::Other, text, position: None, is_lost: false }
}

/// The kind of a failure, and whether the client ends: a database that cannot be read or written helps nobody.
fn meaning(code: &ffi::Error) -> (FailureKind, bool) {
    match code.code {
        // What was read is no longer the newest: waiting does not help, another try does.
        // EVIDENCE: sqlite rescode, SQLITE_BUSY_SNAPSHOT
        ErrorCode::DatabaseBusy if code.extended_code == ffi::SQLITE_BUSY_SNAPSHOT => {
            (FailureKind::Serialization, false)
        }
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => (FailureKind::Locked, false),
        ErrorCode::ConstraintViolation => (FailureKind::Constraint, false),
        ErrorCode::DiskFull
        | ErrorCode::SystemIoFailure
        | ErrorCode::DatabaseCorrupt
        | ErrorCode::NotADatabase
        | ErrorCode::CannotOpen
        | ErrorCode::OutOfMemory
        | ErrorCode::FileLockingProtocolFailed => (FailureKind::Other, true),
        _ => (FailureKind::Other, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(code: i32, words: &str) -> StatementError {
        let error = Error::SqliteFailure(ffi::Error::new(code), Some(words.to_owned()));
        Failure::of(error, &Refusal::default()).error
    }

    #[test]
    fn a_full_disk_is_named_in_the_words_that_stop_a_study_and_ends_the_client() {
        let full = failure(ffi::SQLITE_FULL, "database or disk is full");
        assert!(full.is_lost && full.text.starts_with("database or disk is full (13)\nhint: "), "{full:?}");
    }

    #[test]
    fn codes_have_kinds() {
        for (code, kind, is_lost) in [
            (ffi::SQLITE_BUSY, FailureKind::Locked, false),
            (ffi::SQLITE_BUSY_RECOVERY, FailureKind::Locked, false),
            (ffi::SQLITE_BUSY_SNAPSHOT, FailureKind::Serialization, false),
            (ffi::SQLITE_LOCKED_SHAREDCACHE, FailureKind::Locked, false),
            (ffi::SQLITE_CONSTRAINT_FOREIGNKEY, FailureKind::Constraint, false),
            (ffi::SQLITE_CONSTRAINT_TRIGGER, FailureKind::Constraint, false),
            (ffi::SQLITE_IOERR_WRITE, FailureKind::Other, true),
            (ffi::SQLITE_CORRUPT_INDEX, FailureKind::Other, true),
            (ffi::SQLITE_INTERRUPT, FailureKind::Other, false),
            (ffi::SQLITE_TOOBIG, FailureKind::Other, false),
        ] {
            let found = failure(code, "x");
            assert_eq!((found.kind, found.is_lost), (kind, is_lost), "{code}");
        }
    }
}
