//! Names of directories and marks: used once, of any bytes, not followed through links.

#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn no_name_is_used_twice() {
    let base = tempfile::tempdir().unwrap();
    let first = ManagedDirectory::create(base.path(), "test").unwrap();
    let name = first.directory().to_owned();
    first.remove().unwrap();
    assert_ne!(ManagedDirectory::create(base.path(), "test").unwrap().directory(), name);
}

#[test]
fn a_directory_whose_name_is_not_utf8_is_marked_and_recognised() {
    use std::os::unix::ffi::OsStrExt;
    let base = tempfile::tempdir().unwrap();
    let odd = base.path().join(std::ffi::OsStr::from_bytes(b"caf\xe9 \xff"));
    fs::create_dir(&odd).unwrap();
    let mut made = ManagedDirectory::create(&odd, "test").unwrap();
    let part = made.create_part(&odd, "log").unwrap();
    assert!(!part.is_orphan());
    drop((made, part));
    let left = leftovers(&odd, "test");
    assert_eq!(left.len(), 2);
    assert!(left.iter().all(|managed_directory| {
        managed_directory.mark().main_directory.starts_with(odd.canonicalize().unwrap())
            || managed_directory.mark().main_directory.starts_with(&odd)
    }));
    assert!(left.into_iter().all(|managed_directory| managed_directory.remove().is_ok()));
}

#[test]
fn a_mark_that_is_a_symbolic_link_is_not_followed() {
    let base = tempfile::tempdir().unwrap();
    let directory = ManagedDirectory::create(base.path(), "test").unwrap().directory().to_owned();
    let elsewhere = base.path().join("elsewhere");
    fs::rename(directory.join(MARKER_FILE), &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, directory.join(MARKER_FILE)).unwrap();
    assert!(ManagedDirectory::take_over(&directory, "test").is_none());
    assert!(leftovers(base.path(), "test").is_empty());
}
