//! Versions: 2005 is read as it is, and others whose layout is not known are never accused of what may be right there.

use std::path::{Path, PathBuf};

use check_sqlserver::drill;
use formats::sqlserver::{Header, PAGE_BYTES, protect, restore};
use results::check::{CheckLevel, Confidence, GapKind};

use crate::copy::{Copy, NORTHWIND, case, checked, options, rules_of};
use crate::several::parts;

const VERSION_2005: &str = "Northwind-xande.bak";
/// SQL Server 7.0, 2000, 2005 with another storage of decimals, 2014 to 2022.
const UNKNOWN: [u16; 8] = [515, 539, 612, 782, 852, 869, 904, 957];

/// The data file that a backup of version 611 was made of: each extent at its place.
fn data_file(directory: &Path) -> Option<PathBuf> {
    let (_, pages, _) = parts(&std::fs::read(case(VERSION_2005)?).unwrap());
    let mut file = Vec::new();
    for extent in pages.chunks_exact(8 * PAGE_BYTES) {
        let header = extent.chunks_exact(PAGE_BYTES).map(Header::new).find(|header| !header.page.is_none());
        let Some(first) = header.map(|header| header.page.page as usize / 8 * 8) else { continue };
        let end = (first + 8) * PAGE_BYTES;
        file.resize(file.len().max(end), 0);
        file[first * PAGE_BYTES..end].copy_from_slice(extent);
    }
    let path = directory.join("northwind2005.mdf");
    std::fs::write(&path, file).unwrap();
    Some(path)
}

#[test]
fn an_intact_file_of_2005_is_silent_and_its_rows_are_matched_with_their_entries() {
    let directory = tempfile::tempdir().unwrap();
    let (Some(backup), Some(file)) = (case(VERSION_2005), data_file(directory.path())) else { return };
    for path in [backup, file] {
        for level in [CheckLevel::Read, CheckLevel::Page, CheckLevel::Structure, CheckLevel::Full] {
            let report = checked(&path, &options(level));
            assert_eq!(
                (report.exit_code(), report.finding_count()),
                (0, 0),
                "{}",
                report::findings::text(&report, &check_sqlserver::RULES)
            );
            if level == CheckLevel::Full {
                // Not silent because nothing was looked at.
                assert!(report.counters.row_count > 7_600 && report.counters.entry_count > 18_000);
                let is_order = |what: &str| what.starts_with("order of some keys");
                let gaps = report.not_checked.iter().filter(|gap| gap.kind == GapKind::Coverage);
                let gaps: Vec<_> = gaps.map(|gap| gap.what.as_str()).collect();
                assert!(gaps.iter().all(|what| is_order(what)), "{gaps:?}");
            }
        }
    }
}

#[test]
fn each_class_of_a_drill_is_found_in_a_file_of_2005() {
    let directory = tempfile::tempdir().unwrap();
    let Some(file) = data_file(directory.path()) else { return };
    let mut made_count = 0;
    for class in drill::CLASSES {
        for seed in [1, 2] {
            let copy = directory.path().join("copy.mdf");
            let _ = std::fs::remove_file(&copy);
            // No page of it has a checksum, and a file may not have what a class needs.
            if drill::damage(&file, &copy, class.name, seed).is_err() {
                continue;
            }
            made_count += 1;
            let report = checked(&copy, &options(CheckLevel::Full));
            let found = rules_of(&report);
            let is_found = class.rules.iter().any(|rule| found.contains(rule));
            assert!(
                is_found && report.exit_code() == 1,
                "{} {seed}\n{}",
                class.name,
                report::findings::text(&report, &check_sqlserver::RULES)
            );
        }
    }
    assert!(made_count >= 20, "{made_count}");
}

#[test]
fn a_structure_of_2005_has_all_rows() {
    use results::structure::StructureMode;
    let Some(path) = case(VERSION_2005) else { return };
    for mode in [StructureMode::Detailed, StructureMode::Sampled, StructureMode::Limited] {
        let options = check::structure::Options { mode, ..check::structure::Options::default() };
        let report =
            check_sqlserver::structure(std::slice::from_ref(&path), &options, &mut check::progress::Silent)
                .unwrap();
        assert_eq!(report.exit_code(), 0);
        let orders =
            report.objects.iter().find(|object| object.table == "dbo.Orders" && object.index_id == 1);
        if mode == StructureMode::Detailed {
            assert_eq!(orders.unwrap().levels[0].record_count, Some(830));
        }
    }
}

/// A copy that says it is of another version.
fn of_version(version: u16) -> Option<Copy> {
    let mut copy = Copy::of(NORTHWIND)?;
    copy.write(9, 100, &version.to_le_bytes());
    Some(copy)
}

#[test]
fn a_version_that_is_not_known_is_named_and_its_pages_are_verified() {
    for version in UNKNOWN {
        let Some(mut copy) = of_version(version) else { return };
        for level in [CheckLevel::Read, CheckLevel::Page, CheckLevel::Structure, CheckLevel::Full] {
            let report = checked(&copy.store(), &options(level));
            let is_deep = level >= CheckLevel::Structure;
            let expected = (if is_deep { 2 } else { 0 }, 0);
            assert_eq!(
                (report.exit_code(), report.finding_count()),
                expected,
                "{}",
                report::findings::text(&report, &check_sqlserver::RULES)
            );
            if is_deep {
                let why = report.unfinished.unwrap();
                assert!(why.contains(&format!("version {version} (SQL Server")), "{why}");
                assert!(why.contains("not supported"), "{why}");
            }
        }
        // What only one who knows the layout may judge stays silent; a checksum is a checksum.
        copy.write(231, 96, &[0x77, 0x77, 0xff, 0x7f]);
        copy.flip(1, 100 + 266, 0x40);
        assert_eq!(checked(&copy.store(), &options(CheckLevel::Full)).finding_count(), 0);
        copy.bytes[286 * PAGE_BYTES + 1000] ^= 4;
        let report = checked(&copy.store(), &options(CheckLevel::Full));
        assert_eq!((report.exit_code(), rules_of(&report)), (1, vec!["mssql-page-checksum"]));
        assert_eq!(report.findings[0].confidence, Confidence::Certain);
    }
}

#[test]
fn a_page_of_a_kind_that_a_version_may_have_is_at_most_possible_damage() {
    let Some(mut copy) = of_version(904) else { return };
    copy.change(231, |page| page[1] = 34);
    let report = checked(&copy.store(), &options(CheckLevel::Full));
    assert!(report.findings.iter().all(|finding| finding.confidence == Confidence::Possible));
    let options = check::structure::Options::default();
    let structure =
        check_sqlserver::structure(&[copy.store()], &options, &mut check::progress::Silent).unwrap();
    assert!(structure.objects.is_empty());
    assert!(structure.unfinished.unwrap().contains("version 904 (SQL Server 2019) is not supported"));
}

#[test]
fn a_column_of_2005_with_a_status_that_is_not_known_is_not_matched() {
    let directory = tempfile::tempdir().unwrap();
    let Some(path) = data_file(directory.path()) else { return };
    let mut bytes = std::fs::read(&path).unwrap();
    // The status of a column of index 2 of Order Details in syshobtcolumns.
    let needle: Vec<u8> =
        [&0x0002_1367_e606_0000u64.to_le_bytes()[..], &1u32.to_le_bytes(), &[0x20]].concat();
    let at = (0..bytes.len() - needle.len()).rev().find(|at| bytes[*at..].starts_with(&needle)).unwrap();
    let page = at / PAGE_BYTES * PAGE_BYTES;
    assert_eq!(Header::new(&bytes[page..]).object_id, 13);
    let page_bytes = &mut bytes[page..page + PAGE_BYTES];
    restore(page_bytes);
    page_bytes[at - page + 12] = 0x28;
    protect(page_bytes);
    std::fs::write(&path, bytes).unwrap();
    let report = checked(&path, &options(CheckLevel::Full));
    assert_eq!(report.finding_count(), 0, "{}", report::findings::text(&report, &check_sqlserver::RULES));
    assert!(report.not_checked.iter().any(|gap| gap.why.contains("unknown status bits of its columns")));
}
