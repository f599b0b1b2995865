//! Files with the page checksums of cksumvfs. `data/cksumvfs.db` was made by that extension, of SQLite 3.54.1.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use crate::support::{assert_clean, checked, options};
use results::check::CheckLevel;

const ORIGINAL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/cksumvfs.db");
const PAGE: usize = 512;

fn changed(directory: &Path, change: impl Fn(&mut Vec<u8>)) -> PathBuf {
    let mut bytes = std::fs::read(ORIGINAL).unwrap();
    change(&mut bytes);
    let path = directory.join("changed.db");
    std::fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn a_file_of_the_extension_is_silent_and_its_checksums_are_named() {
    for level in [CheckLevel::Page, CheckLevel::Structure, CheckLevel::Full] {
        let report = checked(Path::new(ORIGINAL), &options(level));
        assert_clean(&report);
        assert!(report.facts.contains(&("page checksums".to_owned(), "cksumvfs".to_owned())));
    }
}

#[test]
fn a_bit_in_a_long_value_that_nothing_else_covers_is_found_from_level_page() {
    let directory = tempfile::tempdir().unwrap();
    let bytes = std::fs::read(ORIGINAL).unwrap();
    let text = bytes.windows(200).rposition(|bytes| bytes == [b'x'; 200]).unwrap();
    let path = changed(directory.path(), |bytes| bytes[text] ^= 1);
    for level in [CheckLevel::Page, CheckLevel::Structure] {
        let report = checked(&path, &options(level));
        let found: Vec<_> =
            report.findings.iter().map(|finding| (finding.rule.as_str(), finding.page)).collect();
        assert_eq!(found, [("sqlite-checksum", Some((text / PAGE + 1) as u64))]);
        assert_eq!(report.accounting.damaged_count, 1);
    }
    assert_eq!(checked(&path, &options(CheckLevel::Read)).finding_count(), 0);
}

#[test]
fn reserved_bytes_that_are_no_checksums_accuse_nobody() {
    let directory = tempfile::tempdir().unwrap();
    let path = changed(directory.path(), |bytes| {
        bytes.chunks_mut(PAGE).for_each(|page| page[PAGE - 8..].fill(7));
    });
    let report = checked(&path, &options(CheckLevel::Full));
    assert_clean(&report);
    assert!(!report.facts.iter().any(|(name, _)| name == "page checksums"));
}
