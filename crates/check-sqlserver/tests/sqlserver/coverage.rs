//! What a check verified, and what it says that it did not.

use check::options::Options;
use results::check::{CheckLevel, Coverage, GapKind, Share};

use crate::copy::{Copy, NORTHWIND, case, checked, options, real};

fn share(verified_count: u64, total_count: u64) -> Option<Share> {
    Some(Share { verified_count, total_count })
}

#[test]
fn each_level_has_the_shares_that_it_verifies() {
    let Some(path) = real(NORTHWIND) else { return };
    let coverage = |level| checked(&path, &options(level)).coverage;
    assert_eq!(coverage(CheckLevel::Read), Coverage::default());
    // 375 of the 416 pages are in use.
    assert_eq!(coverage(CheckLevel::Page), Coverage { pages: share(375, 375), ..Coverage::default() });
    let structure = coverage(CheckLevel::Structure);
    assert_eq!((structure.page_contents, structure.objects), (share(375, 375), share(135, 135)));
    assert_eq!((structure.rows, structure.entries), (None, None));
    let full = coverage(CheckLevel::Full);
    assert_eq!((full.rows, full.entries), (share(7_104, 7_104), share(18_894, 18_894)));
    let Some(Share { verified_count, total_count: 135 }) = full.objects else { panic!("{full:?}") };
    // The order of text is not known.
    assert!((100..135).contains(&verified_count), "{verified_count}");
}

#[test]
fn batches_of_objects_cover_what_one_pass_covers() {
    let Some(path) = real(NORTHWIND) else { return };
    let batched = Options { object_batch: Some(7), ..options(CheckLevel::Full) };
    assert_eq!(checked(&path, &batched).coverage, checked(&path, &options(CheckLevel::Full)).coverage);
}

#[test]
fn an_index_that_is_not_compared_lowers_the_shares_of_entries_and_rows() {
    let Some(mut copy) = Copy::of(NORTHWIND) else { return };
    // Index 2 of Order Details gets a property that is not known: sysidxstats, status at 12.
    let page = |copy: &Copy| {
        (0..416u32).find_map(|page| {
            let header = copy.header(page);
            let is_meant = header.object_id == 54
                && header.index_id == 1
                && header.kind == formats::sqlserver::PageKind::Data;
            let slots = 0..usize::from(if is_meant { header.slot_count } else { 0 });
            slots.map(|slot| copy.slot(page, slot)).find_map(|at| {
                let bytes = copy.page(page);
                let name: Vec<u8> = "OrderID".encode_utf16().flat_map(u16::to_le_bytes).collect();
                let is_index = bytes[at + 8] == 2 && bytes[at..at + 120].windows(14).any(|part| part == name);
                is_index.then_some((page, at))
            })
        })
    };
    let (page, at) = page(&copy).unwrap();
    copy.write(page, at + 12 + 2, &[0x20]);
    let report = checked(&copy.store(), &options(CheckLevel::Full));
    assert_eq!(report.finding_count(), 0, "{}", report::findings::text(&report, &check_sqlserver::RULES));
    let gap = report.not_checked.iter().find(|gap| gap.what == "rows against index entries").unwrap();
    assert!(gap.why.contains("DBCC CHECKTABLE"), "{gap:?}");
    let (rows, entries) = (report.coverage.rows.unwrap(), report.coverage.entries.unwrap());
    // Its table, Order Details, has 2,155 rows, and so has the index.
    assert_eq!((rows.missing_count(), entries.missing_count()), (2_155, 2_155));
}

#[test]
fn constraints_are_listed_with_the_command_that_verifies_them_and_only_where_there_are_some() {
    for (path, text) in [
        (real(NORTHWIND), Some("13 foreign keys and 8 CHECK constraints")),
        (case("truncated_pages.mdf"), Some("2 foreign keys")),
        (real("movies-2012-checksum.mdf"), None),
    ] {
        let Some(path) = path else { continue };
        let report = checked(&path, &options(CheckLevel::Full));
        let gap = report.not_checked.iter().find(|gap| gap.kind == GapKind::OutOfScope);
        assert_eq!(gap.map(|gap| gap.what.as_str()), text);
        assert!(gap.is_none_or(|gap| gap.why.contains("DBCC CHECKCONSTRAINTS")));
    }
}

#[test]
fn pages_that_findings_name_are_affected_and_those_whose_bytes_break_a_rule_damaged() {
    let Some(mut copy) = Copy::of(NORTHWIND) else { return };
    // A leaf of Order Details; its neighbours and its parent keep all rules.
    copy.bytes[277 * 8192..278 * 8192].fill(0);
    let accounting = checked(&copy.store(), &options(CheckLevel::Structure)).accounting;
    assert_eq!(accounting.damaged_count, 1, "{accounting:?}");
    assert!(accounting.affected_count >= 2, "{accounting:?}");
}

#[test]
fn findings_carry_the_numbers_of_dbcc_in_json() {
    let Some(mut copy) = Copy::of(NORTHWIND) else { return };
    copy.bytes[231 * 8192 + 1000] ^= 4;
    let report = checked(&copy.store(), &options(CheckLevel::Page));
    let lines = report.to_json_lines();
    let line = lines.lines().find(|line| line.contains("\"kind\":\"finding\"")).unwrap();
    assert!(line.contains("\"messages\":\"8928, 8939\""), "{line}");
    assert!(
        report::findings::text(&report, &check_sqlserver::RULES)
            .contains("mssql-page-checksum (DBCC 8928, 8939)")
    );
}
