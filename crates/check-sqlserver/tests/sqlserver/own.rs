//! The database that these tests make: silent as it is, and each damage is found, without any file beside the repository.

use check_sqlserver::drill::{CLASSES as CLASSES_OF_DRILLS, DrillError, damage};
use results::check::CheckLevel;

use crate::advice::assert_safe_advice;
use crate::classes::{drop_last_record, overwrite, pfs, raw, set_slot, turn_extent, write_record, zero};
use crate::copy::{Copy, checked, options, pointer, rules_of};
use crate::made::{self, DATA, DATA_IAM, INDEX, Protection};

const LEVELS: [CheckLevel; 4] = [CheckLevel::Read, CheckLevel::Page, CheckLevel::Structure, CheckLevel::Full];

#[test]
fn a_made_database_is_silent_at_every_level_with_either_protection_and_its_rows_are_compared() {
    for protection in [Protection::Checksum, Protection::Torn] {
        let copy = Copy::made(protection);
        for level in LEVELS {
            let report = checked(&copy.store(), &options(level));
            let text = report::findings::text(&report, &check_sqlserver::RULES);
            assert_eq!((report.finding_count(), report.exit_code()), (0, 0), "{level:?}: {text}");
            assert_eq!(report.accounting.bytes_read, report.accounting.bytes_expected);
            if level == CheckLevel::Full {
                let rows = u64::from(made::ROWS);
                assert!(report.counters.row_count >= rows && report.counters.entry_count >= rows, "{text}");
            }
        }
    }
}

/// Name; the damage; rules of which all must be found, none for damage that must stay silent. Rows have 39 bytes: the key
/// at 4, the indexed number at 8, the null bitmap at 14; entries have 9: the number at 1, the key at 5.
type Class = (&'static str, fn(&mut Copy), &'static [&'static str]);

const CLASSES: &[Class] = &[
    ("bit flip in a row", |copy| raw(copy, DATA, 1000, 4), &["mssql-page-checksum"]),
    ("bit flip in an entry", |copy| raw(copy, INDEX, 200, 1), &["mssql-page-checksum"]),
    ("bit flip in an IAM page", |copy| raw(copy, DATA_IAM, 4000, 1), &["mssql-page-checksum"]),
    ("zeroed table page", |copy| zero(copy, DATA), &["mssql-page-blank"]),
    ("zeroed index page", |copy| zero(copy, INDEX), &["mssql-page-blank"]),
    ("page in a wrong place", |copy| overwrite(copy, DATA, INDEX), &["mssql-page-id"]),
    ("page of another table", |copy| copy.write(DATA, 24, &[0x22]), &["mssql-page-owner"]),
    ("last row missing", |copy| drop_last_record(copy, DATA), &["mssql-entry-without-row"]),
    ("last entry missing", |copy| drop_last_record(copy, INDEX), &["mssql-row-without-entry"]),
    ("number of an entry", |copy| write_record(copy, INDEX, 7, 1, &[0x1a]), &["mssql-entry-without-row"]),
    ("indexed number of a row", |copy| write_record(copy, DATA, 7, 8, &[9]), &["mssql-row-without-entry"]),
    ("keys out of order", |copy| write_record(copy, DATA, 7, 4, &[200]), &["mssql-key-order"]),
    ("duplicate key", |copy| write_record(copy, DATA, 7, 4, &[6]), &["mssql-key-duplicate"]),
    ("slot outside of the page", |copy| set_slot(copy, DATA, 7, 9000), &["mssql-slot"]),
    ("slot into the header", |copy| set_slot(copy, DATA, 7, 40), &["mssql-slot"]),
    ("two slots of one record", |copy| set_slot(copy, DATA, 7, 96 + 6 * 39), &["mssql-record-overlap"]),
    ("fixed part beyond the page", |copy| write_record(copy, DATA, 7, 2, &[0xff, 0x7f]), &["mssql-record"]),
    ("kind of a record", |copy| write_record(copy, DATA, 7, 0, &[0x36]), &["mssql-record"]),
    ("free bytes", |copy| copy.flip(DATA, 28, 8), &["mssql-free-count"]),
    ("ghost count", |copy| copy.write(DATA, 58, &[3]), &["mssql-ghost-count"]),
    ("header version", |copy| copy.write(DATA, 0, &[7]), &["mssql-page-header"]),
    ("slot count", |copy| copy.write(DATA, 22, &[0xff, 0xff]), &["mssql-page-header"]),
    ("page kind", |copy| copy.write(DATA, 1, &[3]), &["mssql-page-kind"]),
    ("no value in a NOT NULL column", |copy| write_record(copy, DATA, 7, 14, &[2]), &["mssql-not-null"]),
    ("PFS: used page called free", |copy| pfs(copy, DATA as usize, 0x20), &["mssql-pfs"]),
    ("PFS: IAM page called another", |copy| pfs(copy, DATA_IAM as usize, 0x60), &["mssql-pfs"]),
    ("PFS: mixed page called uniform", |copy| pfs(copy, DATA as usize, 0x40), &["mssql-pfs"]),
    ("PFS: free page called used", |copy| pfs(copy, 30, 0x60), &["mssql-page-unowned"]),
    ("PFS overwritten", |copy| raw(copy, 1, 3000, 0x40), &["mssql-page-checksum"]),
    ("GAM: used extent called free", |copy| turn_extent(copy, 2, 5), &["mssql-extent-free"]),
    ("GAM: free extent called used", |copy| turn_extent(copy, 2, 4), &["mssql-extent-leaked"]),
    ("SGAM: free extent called mixed", |copy| turn_extent(copy, 3, 4), &["mssql-extent-free"]),
    ("SGAM: uniform extent called mixed", |copy| turn_extent(copy, 3, 5), &["mssql-extent-owned-twice"]),
    ("differential map of another kind", |copy| copy.write(6, 1, &[17]), &["mssql-map-page"]),
    ("map without its record", |copy| set_slot(copy, 7, 1, 0), &["mssql-map-page"]),
    ("IAM: extent owned twice", |copy| turn_extent(copy, DATA_IAM + 2, 5), &["mssql-extent-owned-twice"]),
    (
        "IAM: page owned twice",
        |copy| copy.write(DATA_IAM + 2, 96 + 52, &pointer(DATA)),
        &["mssql-page-owned-twice"],
    ),
    ("IAM: extent past the end", |copy| turn_extent(copy, DATA_IAM, 90), &["mssql-allocation-range"]),
    ("IAM: previous link", |copy| copy.write(DATA_IAM, 8, &pointer(INDEX)), &["mssql-iam-chain"]),
    (
        "IAM: next link past the end",
        |copy| copy.write(DATA_IAM, 16, &pointer(90_000)),
        &["mssql-allocation-range"],
    ),
    ("IAM: place in the chain", |copy| copy.write(DATA_IAM, 96 + 4, &[5]), &["mssql-iam-chain"]),
    ("IAM zeroed", |copy| zero(copy, DATA_IAM), &["mssql-iam-chain"]),
    ("boot page of another kind", |copy| copy.write(9, 1, &[1]), &["mssql-boot-page"]),
    ("boot page: allocation units elsewhere", |copy| copy.write(9, 612, &pointer(DATA)), &["mssql-catalog"]),
    ("file header of another kind", |copy| copy.write(0, 1, &[1]), &["mssql-file-header"]),
    ("file truncated by whole pages", |copy| copy.bytes.truncate(40 * 8192), &["mssql-file-size"]),
    ("file truncated inside a page", |copy| copy.bytes.truncate(47 * 8192 + 100), &["mssql-file-size"]),
    ("garbage in a free page", |copy| copy.bytes[33 * 8192..34 * 8192].fill(0xa5), &[]),
    ("an old page in a free page", |copy| overwrite(copy, 34, DATA), &[]),
];

#[test]
fn each_damage_of_a_made_database_gives_its_findings() {
    let mut failures = Vec::new();
    for (class, damage, rules) in CLASSES {
        let mut copy = Copy::made(Protection::Checksum);
        damage(&mut copy);
        let report = checked(&copy.store(), &options(CheckLevel::Full));
        let found = rules_of(&report);
        let is_right = rules.iter().all(|rule| found.contains(rule));
        if !is_right || report.exit_code() != u8::from(!rules.is_empty()) {
            let text = report::findings::text(&report, &check_sqlserver::RULES);
            failures.push(format!("{class}: {rules:?} in {found:?}\n{text}"));
        }
        assert_safe_advice(&check_sqlserver::RULES, &report, |object| object.starts_with("index "));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn a_torn_page_of_a_made_database_is_found_at_the_level_of_pages() {
    let mut copy = Copy::made(Protection::Torn);
    (8..16).for_each(|sector| raw(&mut copy, DATA, 512 * sector + 511, 3));
    let report = checked(&copy.store(), &options(CheckLevel::Page));
    assert_eq!(rules_of(&report), ["mssql-page-torn"], "{:#?}", report.findings);
}

#[test]
fn every_bit_of_the_first_bytes_of_a_made_page_is_found_by_its_checksum_alone() {
    for page in [0, 1, 2, 9, DATA, INDEX] {
        let mut copy = Copy::made(Protection::Checksum);
        for (offset, bits) in [(0, 1), (24, 0x80), (95, 1), (96, 4), (4096, 0x10), (8191, 0x80)] {
            raw(&mut copy, page, offset, bits);
            let report = checked(&copy.store(), &options(CheckLevel::Page));
            assert!(rules_of(&report).contains(&"mssql-page-checksum"), "page {page}, byte {offset}");
            raw(&mut copy, page, offset, bits);
        }
    }
}

#[test]
fn drills_in_a_made_database_are_found() {
    let made = Copy::made(Protection::Checksum);
    let original = made.store();
    let mut practised = 0;
    for class in CLASSES_OF_DRILLS {
        let directory = tempfile::tempdir().unwrap();
        let copy = directory.path().join("copy.mdf");
        match damage(&original, &copy, class.name, 1) {
            Err(DrillError::NoPlace { .. }) => continue,
            Err(error) => panic!("{}: {error}", class.name),
            Ok(_) => practised += 1,
        }
        let report = checked(&copy, &options(CheckLevel::Full));
        let found = rules_of(&report);
        let text = report::findings::text(&report, &check_sqlserver::RULES);
        assert!(class.rules.iter().any(|rule| found.contains(rule)), "{}: {found:?}\n{text}", class.name);
    }
    assert!(practised > CLASSES_OF_DRILLS.len() / 2, "{practised} of {}", CLASSES_OF_DRILLS.len());
}

#[test]
fn an_inventory_of_a_made_database_has_its_version_and_its_table() {
    let copy = Copy::made(Protection::Torn);
    let inventory = check_sqlserver::inventory(&[copy.store()]).unwrap();
    let fact = |name: &str| inventory.facts.iter().find(|(known, _)| known == name).unwrap().1.clone();
    assert_eq!(fact("version"), "655 (SQL Server 2008)");
    assert!(fact("page protection").starts_with("torn page bits"));
    let goods = inventory.tables.iter().find(|table| table.name == "dbo.goods").unwrap();
    let rows = u64::from(made::ROWS);
    assert_eq!((goods.row_count, goods.index_count, goods.is_heap), (rows, 1, false));
}
