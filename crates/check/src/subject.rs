//! What a path is: the one place where files and directories are told apart before they are checked, measured or shown.

use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};

use formats::innodb;

use crate::{postgres, sqlite, sqlserver};

/// First bytes of a SQLite database.
// EVIDENCE: sqlite fileformat2 1.3.1
const SQLITE_MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// Bytes of the start of a file that tell what it is.
const START_BYTES: usize = 8192;

/// What a path seems to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// A directory: a data directory, or a base backup.
    Directory,
    /// A file with the name of a tar file.
    Archive,
    /// A SQLite database, by its first bytes, or by its pages when these are damaged.
    Sqlite,
    /// A data file or backup of SQL Server, by its pages or by its name.
    SqlServer,
    /// A tablespace of InnoDB, by its first page.
    Innodb,
    /// A file without bytes. That of an empty table in PostgreSQL, by its place, is one.
    Empty,
    /// Any other file: a relation file of PostgreSQL, by its place, or nothing that is known.
    Other,
}

/// Why it cannot be told what a path is.
#[derive(Debug, thiserror::Error)]
pub enum SubjectError {
    /// It is not there, or must not be read.
    #[error("could not open \"{}\": {source}", path.display())]
    Read {
        /// The path.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// It is no file whose bytes stay as they are. It was not opened: a pipe would be waited for.
    #[error("cannot read pages of \"{}\": it is {kind}, not a file", path.display())]
    Kind {
        /// The path.
        path: PathBuf,
        /// What it is, with its article.
        kind: &'static str,
    },
}

/// Tells what a path is, links followed; reads up to eight pages of a file.
///
/// # Errors
/// When it cannot be read, or is a pipe, a socket or a device.
pub fn recognise(path: &Path) -> Result<Subject, SubjectError> {
    let failed = |source| SubjectError::Read { path: path.to_owned(), source };
    let facts = std::fs::metadata(path).map_err(failed)?;
    if let Some(kind) = special_kind(&facts) {
        return Err(SubjectError::Kind { path: path.to_owned(), kind });
    }
    if facts.is_dir() {
        return Ok(Subject::Directory);
    }
    let start = start(path).map_err(failed)?;
    if start.starts_with(SQLITE_MAGIC) {
        return Ok(Subject::Sqlite);
    }
    if sqlserver::recognise(path).map_err(failed)?.is_some() {
        return Ok(Subject::SqlServer);
    }
    if postgres::is_archive_name(path) {
        return Ok(Subject::Archive);
    }
    if start.is_empty() {
        return Ok(Subject::Empty);
    }
    if has_sql_server_name(path) {
        return Ok(Subject::SqlServer);
    }
    if innodb::is_first_page(&start) {
        return Ok(Subject::Innodb);
    }
    // By the structure of its pages, where its first bytes are damaged.
    let is_sqlite = sqlite::is_database(path).map_err(failed)?;
    Ok(if is_sqlite { Subject::Sqlite } else { Subject::Other })
}

/// What is neither file nor directory, with its article.
pub(crate) fn special_kind(facts: &Metadata) -> Option<&'static str> {
    disk::regular::other_kind(facts.file_type()).filter(|_| !facts.is_dir())
}

fn has_sql_server_name(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension
        .is_some_and(|extension| ["mdf", "ndf"].iter().any(|known| extension.eq_ignore_ascii_case(known)))
}

fn start(path: &Path) -> io::Result<Vec<u8>> {
    let file = disk::input::File::open(path)?;
    let mut start = vec![0; START_BYTES];
    let mut done = 0;
    while let Some(rest) = start.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, done as u64)? {
            0 => break,
            count => done += count,
        }
    }
    start.truncate(done);
    Ok(start)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_path_is_what_its_bytes_say_and_a_name_counts_for_less() {
        let directory = tempfile::tempdir().unwrap();
        let place = |name: &str, bytes: &[u8]| {
            let path = directory.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            recognise(&path).unwrap()
        };
        assert_eq!(place("database.mdf", b"SQLite format 3\0 and so on"), Subject::Sqlite);
        assert_eq!(place("database.mdf", b"nothing of the kind"), Subject::SqlServer);
        assert_eq!(place("base.tar.gz", b"whatever"), Subject::Archive);
        assert_eq!(place("16384", b"SQLite format 3"), Subject::Other);
        assert_eq!(place("app.db", b""), Subject::Empty);
        assert_eq!(recognise(directory.path()).unwrap(), Subject::Directory);
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(directory.path().join("16384"), &link).unwrap();
        assert_eq!(recognise(&link).unwrap(), Subject::Other);
    }

    #[test]
    fn what_is_no_file_is_not_opened() {
        let error = recognise(Path::new("/dev/null")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "cannot read pages of \"/dev/null\": it is a character device, not a file"
        );
        assert!(recognise(Path::new("/nowhere/at/all")).unwrap_err().to_string().contains("No such file"));
    }
}
