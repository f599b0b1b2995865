//! How findings are named, whatever the batches, and when facts between pages are not proven.

use check::options::Options;
use results::check::CheckLevel;

use crate::classes::{CLASSES, drop_last_record};
use crate::copy::{Copy, NORTHWIND, checked, options};

#[test]
fn findings_name_the_table_the_index_the_page_and_the_slot() {
    let Some(mut copy) = Copy::of(NORTHWIND) else { return };
    drop_last_record(&mut copy, 277);
    let report = checked(&copy.store(), &options(CheckLevel::Full));
    let names: Vec<_> = report.findings.iter().filter_map(|finding| finding.object.as_deref()).collect();
    assert!(names.contains(&"index OrderID of dbo.Order Details"), "{names:?}");
    assert!(report.findings.iter().all(|finding| finding.page.is_some() && finding.slot.is_some()));
    let text = report::findings::text(&report, &check_sqlserver::RULES);
    assert!(text.contains("mssql-entry-without-row (DBCC 8952)"), "{text}");
}

#[test]
fn a_batch_of_one_object_finds_the_same_damage() {
    for class in [
        "older version of a table page (last row missing)",
        "two parents",
        "parent key raised",
        "large value: two rows share one",
    ] {
        let (_, file, damage, _) = CLASSES.iter().find(|(name, ..)| *name == class).unwrap();
        let Some(mut copy) = Copy::of(file) else { return };
        damage(&mut copy);
        let path = copy.store();
        let whole = checked(&path, &options(CheckLevel::Full));
        let batched = checked(&path, &Options { object_batch: Some(3), ..options(CheckLevel::Full) });
        assert_eq!(whole.findings, batched.findings, "{class}");
        assert_eq!(whole.accounting, batched.accounting, "{class}");
    }
}

#[test]
fn pages_newer_than_the_last_checkpoint_make_facts_between_pages_unproven() {
    let Some(mut copy) = Copy::of(NORTHWIND) else { return };
    drop_last_record(&mut copy, 277);
    copy.write(277, 40, &[0xff, 0xff]);
    let report = checked(&copy.store(), &options(CheckLevel::Full));
    assert_eq!(report.finding_count(), 0, "{}", report::findings::text(&report, &check_sqlserver::RULES));
    assert!(
        report.not_checked.iter().any(|gap| gap.why.contains("last checkpoint")),
        "{:?}",
        report.not_checked
    );
}

#[test]
fn an_allocation_page_that_names_a_file_which_the_database_has_not_is_accused() {
    let Some(mut copy) = Copy::of(NORTHWIND) else { return };
    drop_last_record(&mut copy, 277);
    // A single page of the IAM page of an index, in file 3.
    copy.write(258, 96 + 46 + 42, &[9, 0, 0, 0, 3, 0]);
    let report = checked(&copy.store(), &options(CheckLevel::Full));
    let finding = report.findings.iter().find(|finding| finding.found.contains("file 3")).unwrap();
    assert_eq!((finding.rule.as_str(), finding.page), ("mssql-allocation-range", Some(258)));
    assert!(finding.expected.contains("pages of a data file of the database: 1"), "{}", finding.expected);
}

/// Writes a page while a phase is under way.
struct Writer {
    phase: check::progress::Phase,
    path: std::path::PathBuf,
    page: u64,
    bytes: Vec<u8>,
}

impl check::progress::Progress for Writer {
    fn advance(&mut self, phase: check::progress::Phase, _done: u64, _total: u64) {
        use std::os::unix::fs::FileExt as _;
        if phase == self.phase {
            let file = std::fs::File::options().write(true).open(&self.path).unwrap();
            file.write_all_at(&self.bytes, self.page * formats::sqlserver::PAGE_BYTES as u64).unwrap();
        }
    }
}

#[test]
fn maps_that_a_second_reading_finds_changed_accuse_nobody() {
    for page in [1u32, 2, 256] {
        let Some(mut copy) = Copy::of(NORTHWIND) else { return };
        // The PFS byte of a page in use; the GAM bit of extent 36; the IAM bit of an extent past the end.
        let change = match page {
            1 => 100 + 277,
            2 => copy.bits(2) + 4,
            _ => copy.bits(256) + 100,
        };
        let range = page as usize * 8192..(page as usize + 1) * 8192;
        let before = copy.bytes[range].to_vec();
        copy.flip(page, change, if page == 2 { 0x10 } else { 0x40 });
        let path = copy.store();
        // Where nobody writes, it is damage.
        assert_eq!(checked(&path, &options(CheckLevel::Full)).exit_code(), 1);
        let mut writer = Writer {
            phase: check::progress::Phase::Pass,
            path: path.clone(),
            page: page.into(),
            bytes: before,
        };
        let report = check_sqlserver::check(&[path], &options(CheckLevel::Full), &mut writer).unwrap();
        assert_eq!(
            (report.exit_code(), report.finding_count()),
            (2, 0),
            "{}",
            report::findings::text(&report, &check_sqlserver::RULES)
        );
        assert!(report.unfinished.unwrap().contains("were changed during the check"));
    }
}

#[test]
fn pages_that_are_newer_than_the_checkpoint_when_they_are_read_again_accuse_nobody() {
    let Some(mut copy) = Copy::of(NORTHWIND) else { return };
    drop_last_record(&mut copy, 277);
    let path = copy.store();
    assert_eq!(checked(&path, &options(CheckLevel::Full)).exit_code(), 1);
    // The same page with a log position far behind the checkpoint.
    copy.write(277, 40, &[0xff, 0xff]);
    let page = copy.bytes[277 * 8192..278 * 8192].to_vec();
    for object_batch in [None, Some(3)] {
        drop(std::fs::remove_file(&path));
        let mut older = Copy::of(NORTHWIND).unwrap();
        drop_last_record(&mut older, 277);
        std::fs::write(&path, &older.bytes).unwrap();
        let phase = check::progress::Phase::Match;
        let mut writer = Writer { phase, path: path.clone(), page: 277, bytes: page.clone() };
        let options = Options { object_batch, ..options(CheckLevel::Full) };
        let report = check_sqlserver::check(std::slice::from_ref(&path), &options, &mut writer).unwrap();
        assert_eq!(
            (report.exit_code(), report.finding_count()),
            (2, 0),
            "{}",
            report::findings::text(&report, &check_sqlserver::RULES)
        );
        assert!(report.unfinished.unwrap().contains("changed during the check"));
    }
}

/// Row and `found` of the findings of a rule, after a class of damage.
fn told(class: &str, rule: &str) -> Option<Vec<(Option<String>, String)>> {
    let (_, file, damage, _) = CLASSES.iter().find(|(name, ..)| *name == class).unwrap();
    let mut copy = Copy::of(file)?;
    damage(&mut copy);
    let report = checked(&copy.store(), &options(CheckLevel::Full));
    let findings = report.findings.into_iter().filter(|finding| finding.rule == rule);
    Some(findings.map(|finding| (finding.row, finding.found)).collect())
}

#[test]
fn findings_about_rows_show_their_key_and_their_values() {
    let differing = "row: EmployeeID = 513; index entry: EmployeeID = 3";
    let of_index = "none for the entries of index OrderID of dbo.Order Details: OrderID = 10745, ProductID = 18; \
                    index OrdersOrder_Details of dbo.Order Details: OrderID = 10745, ProductID = 18; \
                    index ProductID of dbo.Order Details: ProductID = 18, OrderID = 10745; \
                    index ProductsOrder_Details of dbo.Order Details: ProductID = 18, OrderID = 10745";
    let of_heap = "none for the entry of index PK_Territories of dbo.Territories: TerritoryID = '02184'";
    let date = "OrderDate = 0xffffffffb4890000 (day 35252 and tick 4294967295)";
    for (class, rule, row, found) in [
        (
            "value of an indexed column changed in the row",
            "mssql-row-without-entry",
            "OrderID = 10251",
            differing,
        ),
        (
            "key of an index entry changed",
            "mssql-row-without-entry",
            "OrderID = 11077, ProductID = 77",
            "none with OrderID = 11077, ProductID = 77",
        ),
        (
            "older version of a table page (last row missing)",
            "mssql-entry-without-row",
            "OrderID = 10745, ProductID = 18",
            of_index,
        ),
        (
            "keys out of order",
            "mssql-key-order",
            "OrderID = 10249, ProductID = 14",
            "OrderID = 10249, ProductID = 14",
        ),
        (
            "duplicate key",
            "mssql-key-duplicate",
            "OrderID = 10249, ProductID = 51",
            "OrderID = 10249, ProductID = 51",
        ),
        ("parent key raised", "mssql-key-bounds", "", "OrderID = 10644, ProductID = 46"),
        (
            "forwarding stub to nothing",
            "mssql-entry-without-row",
            "RID 1:383:5, TerritoryID = '02184'",
            of_heap,
        ),
        (
            "NOT NULL column without a value",
            "mssql-not-null",
            "OrderID = 10250, ProductID = 65",
            "UnitPrice = NULL",
        ),
        ("date out of range", "mssql-value-range", "OrderID = 10251", date),
    ] {
        let Some(told) = told(class, rule) else { return };
        let row = Some(row.to_owned()).filter(|row| !row.is_empty());
        assert!(told.contains(&(row, found.to_owned())), "{class}: {told:?}");
    }
}

#[test]
fn a_row_that_differs_from_its_entries_in_two_indexes_is_one_finding_that_names_both() {
    let (_, file, damage, _) =
        CLASSES.iter().find(|(name, ..)| *name == "value of an indexed column changed in the row").unwrap();
    let Some(mut copy) = Copy::of(file) else { return };
    damage(&mut copy);
    let report = checked(&copy.store(), &options(CheckLevel::Full));
    let [finding] = &report.findings[..] else {
        panic!("{}", report::findings::text(&report, &check_sqlserver::RULES))
    };
    assert_eq!(report.finding_count(), 1);
    assert_eq!(
        (finding.object.as_deref(), finding.page),
        (Some("dbo.Orders (clustered index PK_Orders)"), Some(286))
    );
    let both = "index EmployeeID of dbo.Orders, index EmployeesOrders of dbo.Orders";
    assert_eq!(finding.expected, format!("an entry for the row in {both}"));
    assert!(finding.next_step.starts_with("compare the row with a backup"), "{}", finding.next_step);
}

#[test]
fn a_lost_row_is_one_finding_that_names_the_indexes_with_an_entry_for_it() {
    let Some(mut copy) = Copy::of(NORTHWIND) else { return };
    drop_last_record(&mut copy, 277);
    drop_last_record(&mut copy, 277);
    let report = checked(&copy.store(), &options(CheckLevel::Full));
    let text = report::findings::text(&report, &check_sqlserver::RULES);
    let lost: Vec<_> =
        report.findings.iter().filter(|finding| finding.rule == "mssql-entry-without-row").collect();
    assert_eq!(lost.len(), 2, "{text}");
    for finding in lost {
        for index in ["OrderID", "OrdersOrder_Details", "ProductID", "ProductsOrder_Details"] {
            assert!(finding.found.contains(&format!("index {index} of dbo.Order Details: ")), "{text}");
        }
        assert!(finding.found.starts_with("none for the entries of index "), "{text}");
        assert!(finding.next_step.starts_with("the row is lost from the table: restore"), "{text}");
    }
}
