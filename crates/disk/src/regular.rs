//! Regular files, opened so that nothing else is: a pipe in the place of a file would be waited for, a device may act
//! when it is opened.

use std::fs::{File, FileType, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

/// What is no regular file, with its article; `None` for a regular file.
pub fn other_kind(kind: FileType) -> Option<&'static str> {
    match kind {
        kind if kind.is_file() => None,
        kind if kind.is_dir() => Some("a directory"),
        kind if kind.is_fifo() => Some("a pipe"),
        kind if kind.is_socket() => Some("a socket"),
        kind if kind.is_char_device() => Some("a character device"),
        kind if kind.is_block_device() => Some("a block device"),
        kind if kind.is_symlink() => Some("a symbolic link"),
        _ => Some("no file"),
    }
}

/// Opens a regular file for reading, links followed.
///
/// # Errors
/// What opening says; for anything but a regular file, [`io::ErrorKind::InvalidInput`] with its kind, at once.
pub fn open(path: impl AsRef<Path>) -> io::Result<File> {
    open_with(OpenOptions::new().read(true), path.as_ref())
}

/// As [`open`], in the way that the options say. They may make the file; flags of their own are replaced.
///
/// # Errors
/// As [`open`].
pub fn open_with(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    // Before it is opened: opening a device may act. After it was opened: it may have been replaced meanwhile.
    require(path)?;
    opened(options, path, OFlags::empty())
}

/// As [`open_with`], where a link in the place of the file is refused: what it points to is not ours to write to.
///
/// # Errors
/// As [`open`], and for a symbolic link.
pub fn open_unlinked(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    match path.symlink_metadata() {
        Ok(metadata) => require_kind(metadata.file_type())?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    opened(options, path, OFlags::NOFOLLOW)
}

fn opened(options: &mut OpenOptions, path: &Path, more: OFlags) -> io::Result<File> {
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY | more).bits();
    let file =
        options.custom_flags(i32::try_from(flags).expect("flags of open are below 2^31")).open(path)?;
    require_kind(file.metadata()?.file_type())?;
    // For transfers it is a file like any other.
    let flags = rustix::fs::fcntl_getfl(&file)?;
    rustix::fs::fcntl_setfl(&file, flags - OFlags::NONBLOCK)?;
    Ok(file)
}

/// Refuses a path at which there is something other than a regular file, links followed. That nothing is there is no
/// error: for files that a library opens or makes.
///
/// # Errors
/// As [`open`].
pub fn require(path: impl AsRef<Path>) -> io::Result<()> {
    match path.as_ref().metadata() {
        Ok(metadata) => require_kind(metadata.file_type()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Reads a regular file whole.
///
/// # Errors
/// As [`open`], and what reading says.
pub fn read(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a regular file whole, as text.
///
/// # Errors
/// As [`read`]; [`io::ErrorKind::InvalidData`] when it is not UTF-8.
pub fn read_to_string(path: impl AsRef<Path>) -> io::Result<String> {
    let mut text = String::new();
    open(path)?.read_to_string(&mut text)?;
    Ok(text)
}

fn require_kind(kind: FileType) -> io::Result<()> {
    match other_kind(kind) {
        None => Ok(()),
        Some(other) => Err(io::Error::new(io::ErrorKind::InvalidInput, format!("it is {other}, not a file"))),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_is_no_regular_file_is_refused_at_once_with_its_kind() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        std::os::unix::fs::symlink(at("pipe"), at("link")).unwrap();
        for (path, kind) in [
            (at("pipe"), "a pipe"),
            (at("link"), "a pipe"),
            (at("socket"), "a socket"),
            (directory.path().to_owned(), "a directory"),
            (Path::new("/dev/null").to_owned(), "a character device"),
        ] {
            for error in [
                open(&path).unwrap_err(),
                read(&path).unwrap_err(),
                read_to_string(&path).unwrap_err(),
                require(&path).unwrap_err(),
                open_with(OpenOptions::new().read(true).write(true), &path).unwrap_err(),
            ] {
                assert_eq!(error.to_string(), format!("it is {kind}, not a file"), "{}", path.display());
            }
        }
    }

    #[test]
    fn regular_files_are_read_and_missing_ones_may_be_made() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        assert_eq!(open(&path).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(require(&path).is_ok());
        drop(open_with(OpenOptions::new().write(true).create_new(true), &path).unwrap());
        std::fs::write(&path, "content").unwrap();
        assert_eq!(read_to_string(&path).unwrap(), "content");
        assert_eq!(read(&path).unwrap(), b"content");
    }
}
