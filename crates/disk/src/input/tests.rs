#![allow(clippy::unwrap_used)]
use std::os::unix::fs::FileExt as _;

use super::*;
use crate::scan::{ScanFile, ScanOptions, scan};

fn old_file(bytes: &[u8]) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    file
}

fn scanned(path: &Path) {
    let options = ScanOptions { retry_bytes: 512, extent_bytes: 4096, ..ScanOptions::default() };
    scan(&[ScanFile::whole(path)], &options, |_| (), |(), _| ()).unwrap();
}

#[test]
fn a_page_that_is_read_otherwise_after_a_scan_is_found() {
    let file = old_file(&[7; 4096]);
    let record = InputRecord::default();
    let entered = record.enter();
    scanned(file.path());
    let mut page = [0; 512];
    File::open(file.path()).unwrap().read_exact_at(&mut page, 1024).unwrap();
    assert!(!record.has_differing());
    file.as_file().write_at(b"x", 1030).unwrap();
    File::open(file.path()).unwrap().read_exact_at(&mut page, 1024).unwrap();
    drop(entered);
    let places = record.settle();
    assert_eq!((places.len(), places[0].offset_bytes, places[0].length_bytes), (1, 1024, 512));
    assert!(!places[0].is_still, "it was written");
    assert_eq!(record.changed(), [file.path()]);
}

#[test]
fn a_single_read_from_before_a_scan_is_compared_with_it() {
    let file = old_file(&[7; 4096]);
    let record = InputRecord::default();
    let _entered = record.enter();
    let mut page = [0; 512];
    File::open(file.path()).unwrap().read_exact_at(&mut page, 512).unwrap();
    file.as_file().write_at(b"x", 512).unwrap();
    scanned(file.path());
    assert!(record.repeat_differing() > 0);
    let places = record.settle();
    assert_eq!((places.len(), places[0].offset_bytes), (1, 512));
    assert!(places[0].reading_count >= 6 && places[0].content_count == 2, "{places:?}");
}

#[test]
fn a_longer_read_at_the_place_of_a_shorter_one_is_repeated_whole() {
    let file = old_file(&[7; 4096]);
    let record = InputRecord::default();
    let _entered = record.enter();
    let opened = File::open(file.path()).unwrap();
    opened.read_exact_at(&mut [0; 512], 0).unwrap();
    opened.read_exact_at(&mut [0; 4096], 0).unwrap();
    file.as_file().write_at(b"x", 4000).unwrap();
    assert_eq!(record.repeat_single_reads(), 1);
    let places = record.settle();
    assert_eq!((places.len(), places[0].offset_bytes, places[0].length_bytes), (1, 0, 4096));
}

#[test]
fn an_absent_file_is_a_failure_only_when_it_was_there() {
    let file = old_file(&[7; 512]);
    let record = InputRecord::default();
    let _entered = record.enter();
    let path = file.path().to_path_buf();
    assert!(File::open(path.with_extension("absent")).is_err());
    assert!(record.failures().is_empty());
    File::open(&path).unwrap();
    drop(file);
    assert!(File::open(&path).is_err());
    let failures = record.failures();
    assert_eq!((failures.len(), failures[0].cause), (1, Cause::Environment));
    assert_eq!(record.changed(), [path]);
}

#[test]
fn what_is_always_interrupted_ends() {
    let mut count = 0;
    let outcome: io::Result<()> = again_if_interrupted(|| {
        count += 1;
        Err(io::ErrorKind::Interrupted.into())
    });
    assert!(outcome.is_err_and(|error| error.kind() == io::ErrorKind::Other));
    assert_eq!(count, 101);
}
