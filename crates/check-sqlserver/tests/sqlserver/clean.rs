//! Silence on every clean file, at every level, under all options; and what is refused or left out is said.

use std::os::unix::fs::FileExt as _;

use check::options::Options;
use check::progress::Silent;
use results::check::{CheckLevel, GapKind};

use crate::copy::{NORTHWIND, checked, options, real, rules_of};

const LEVELS: [CheckLevel; 4] = [CheckLevel::Read, CheckLevel::Page, CheckLevel::Structure, CheckLevel::Full];

#[test]
fn real_files_are_silent_at_every_level_and_accounted_for() {
    let names = [
        "movies-2012-checksum.mdf",
        "northwnd-2000-torn.mdf",
        "northwnd-2000-torn-garbage-free-pages.mdf",
        "northwnd-2008-checksum.mdf",
        "pubs-2008-checksum.mdf",
        "pubs-2012-checksum.bak",
    ];
    for path in names.into_iter().filter_map(real) {
        for level in LEVELS {
            let report = checked(&path, &options(level));
            let text = report::findings::text(&report, &check_sqlserver::RULES);
            assert_eq!((report.finding_count(), report.exit_code()), (0, 0), "{text}");
            assert_eq!(report.accounting.bytes_read, report.accounting.bytes_expected);
            assert_eq!(report.counters.second_pass_object_count, 0, "sums differ, and nothing was found");
        }
    }
}

#[test]
fn rows_and_entries_of_a_full_check_are_those_of_the_tables() {
    let Some(path) = real(NORTHWIND) else { return };
    let report = checked(&path, &options(CheckLevel::Full));
    assert!(report.counters.row_count > 7000 && report.counters.entry_count > 18_000);
    let gaps = report.not_checked.iter().filter(|gap| gap.kind == GapKind::Coverage);
    let gaps: Vec<_> = gaps.map(|gap| gap.what.as_str()).collect();
    // One line for all, with their number and the first names.
    let [gap] = gaps[..] else { panic!("{gaps:?}") };
    assert!(gap.starts_with("order of some keys in ") && gap.ends_with(" more"), "{gap}");
    let facts: Vec<_> = report.facts.iter().map(|(name, _)| name.as_str()).collect();
    for phase in ["phase allocation", "phase system catalogue", "phase tables"] {
        assert!(facts.contains(&phase), "{facts:?}");
    }
}

#[test]
fn workers_and_batches_change_nothing_but_the_counters() {
    let Some(path) = real(NORTHWIND) else { return };
    let one = checked(&path, &options(CheckLevel::Full));
    for (worker_count, page_batch, object_batch) in [(2, 1, 1), (3, 8, 7), (7, 1000, 30), (1, 3, 100_000)] {
        let options = Options {
            worker_count,
            page_batch: Some(page_batch),
            object_batch: Some(object_batch),
            want_direct: worker_count == 2,
            ..options(CheckLevel::Full)
        };
        let report = checked(&path, &options);
        assert_eq!(report.finding_count(), 0, "{}", report::findings::text(&report, &check_sqlserver::RULES));
        assert_eq!(report.accounting, one.accounting);
        assert_eq!(report.counters.row_count, one.counters.row_count);
        assert_eq!(report.counters.entry_count, one.counters.entry_count);
    }
}

#[test]
fn a_check_without_memory_for_keys_says_so() {
    let Some(path) = real(NORTHWIND) else { return };
    let report = checked(&path, &Options { memory_bytes_max: 4000, ..options(CheckLevel::Full) });
    assert_eq!(report.finding_count(), 0);
    assert!(report.not_checked.iter().any(|gap| gap.why.contains("--max-memory")));
}

#[test]
fn raw_mode_judges_each_page_alone() {
    let Some(path) = real(NORTHWIND) else { return };
    let report = checked(&path, &Options { is_raw: true, ..options(CheckLevel::Full) });
    assert_eq!(report.finding_count(), 0, "{}", report::findings::text(&report, &check_sqlserver::RULES));
    assert_eq!(report.accounting.skipped_count() + report.accounting.clean_count, 416);
}

#[test]
fn a_compressed_backup_is_named_and_not_checked() {
    let Some(path) = real("tsqlv4-compressed.bak") else { return };
    let report = checked(&path, &options(CheckLevel::Full));
    assert_eq!(report.exit_code(), 2);
    assert!(report.unfinished.unwrap().contains("compressed"));
    assert!(report.not_checked.iter().any(|gap| gap.what.contains("864256 bytes")));
}

#[test]
fn a_stripe_of_a_backup_says_what_is_missing() {
    let Some(path) = real("northwind-torn.bak") else { return };
    let report = checked(&path, &options(CheckLevel::Structure));
    assert!(report.facts.iter().any(|(_, value)| value.contains("stripe 2 of 2")), "{:?}", report.facts);
    assert_eq!(
        (report.exit_code(), report.finding_count()),
        (2, 0),
        "{}",
        report::findings::text(&report, &check_sqlserver::RULES)
    );
    assert!(report.unfinished.unwrap().contains("stripe 1 is missing: give all of its stripes"));
}

#[test]
fn a_saved_web_page_is_refused_with_its_first_words() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("northwnd.mdf");
    let page = format!("<!DOCTYPE html>\n<html lang=\"en\">{}</html>", "<p>Northwind</p>".repeat(9000));
    std::fs::write(&path, page).unwrap();
    let error = check_sqlserver::check(&[path], &Options::default(), &mut Silent).unwrap_err().to_string();
    assert!(error.contains("neither a SQL Server data file") && error.contains("<!DOCTYPE html>"), "{error}");
}

#[test]
fn files_of_two_kinds_are_not_checked_together() {
    let (Some(data), Some(backup)) = (real(NORTHWIND), real("pubs-2012-checksum.bak")) else { return };
    let error = check_sqlserver::check(&[data, backup], &Options::default(), &mut Silent).unwrap_err();
    assert!(error.to_string().contains("cannot be checked together"));
}

#[test]
fn two_first_files_are_refused() {
    let (Some(one), Some(two)) = (real(NORTHWIND), real("pubs-2008-checksum.mdf")) else { return };
    let error = check_sqlserver::check(&[one, two], &Options::default(), &mut Silent).unwrap_err();
    assert!(error.to_string().contains("also file 1 of its database"), "{error}");
}

#[test]
fn a_file_that_was_enlarged_with_true_maps_is_silent_and_accounted_for() {
    let Some(base) = real(NORTHWIND) else { return };
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("large.mdf");
    // Behind the second PFS page.
    crate::large::write(&base, &path, 8_088 + 160, 0..0).unwrap();
    let report = checked(&path, &options(CheckLevel::Full));
    assert_eq!(report.exit_code(), 0, "{}", report::findings::text(&report, &check_sqlserver::RULES));
    assert_eq!(report.accounting.bytes_read, report.accounting.bytes_expected);
    let table = check_sqlserver::inventory(&[path]).unwrap().tables;
    let shippers = table.iter().find(|table| table.name == "dbo.Shippers").unwrap();
    assert_eq!((shippers.row_count - 3) % 74, 0);
    assert!(shippers.row_count > 500_000, "{}", shippers.row_count);
}

#[test]
fn each_allocation_interval_of_a_file_beyond_4_gb_has_its_own_maps() {
    let Some(base) = real(NORTHWIND) else { return };
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("intervals.mdf");
    // More than 4 GB, of which all but a few extents at both ends are free and take no room on the disk.
    let interval = formats::sqlserver::place::MAP_PAGES;
    crate::large::write(&base, &path, interval + 400, 800..interval - 80).unwrap();
    // The second interval's own map: its extents come to have two owners, or none.
    let file = std::fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
    let offset = u64::from(interval + 2) * formats::sqlserver::PAGE_BYTES as u64;
    let mut page = vec![0; formats::sqlserver::PAGE_BYTES];
    file.read_exact_at(&mut page, offset).unwrap();
    let bits = usize::from(formats::sqlserver::slot_offset(&page, 1).unwrap()) + 4;
    page[bits] ^= 4;
    formats::sqlserver::protect(&mut page);
    file.write_all_at(&page, offset).unwrap();
    let report = check_sqlserver::check(&[path], &options(CheckLevel::Structure), &mut Silent).unwrap();
    assert!(report.accounting.is_balanced() && report.accounting.clean_count > 1_000);
    assert_eq!(report.accounting.page_count, u64::from(interval) + 400);
    let is_out_of_scope = |gap: &results::check::NotChecked| gap.kind == GapKind::OutOfScope;
    assert!(report.not_checked.iter().all(is_out_of_scope), "{:?}", report.not_checked);
    // The extent whose bit was taken away has no owner, and nothing else is odd in both intervals.
    let extent = u64::from(interval) + 16..u64::from(interval) + 24;
    let unowned = report.findings.iter().filter(|finding| finding.rule == "mssql-page-unowned");
    assert!(
        unowned.map(|finding| finding.page.unwrap()).eq(extent),
        "{}",
        report::findings::text(&report, &check_sqlserver::RULES)
    );
    let others = ["mssql-page-unowned", "mssql-index-child", "mssql-index-sibling"];
    assert!(
        rules_of(&report).iter().all(|rule| others.contains(rule)),
        "{}",
        report::findings::text(&report, &check_sqlserver::RULES)
    );
}
