//! One damage is one finding: what follows from it is counted with it.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use crate::support::cases::{base, cases};
use crate::support::{case_file, checked, options};
use check_sqlite::drill::damage;
use results::check::{CheckLevel, CheckReport, Confidence};
use rusqlite::Connection;

/// Root page of a table or index.
fn root(path: &Path, name: &str) -> usize {
    let connection = Connection::open(path).unwrap();
    connection
        .query_row("SELECT rootpage FROM sqlite_schema WHERE name = ?1", [name], |row| row.get(0))
        .unwrap()
}

/// The first page below a root, by its first cell.
fn first_child(bytes: &[u8], root: usize) -> usize {
    let start = (root - 1) * 1024;
    let cell = start + usize::from(u16::from_be_bytes([bytes[start + 12], bytes[start + 13]]));
    u32::from_be_bytes(bytes[cell..cell + 4].try_into().unwrap()) as usize
}

fn text(report: &CheckReport) -> String {
    report::findings::text(report, &check_sqlite::RULES)
}

#[test]
fn a_page_in_a_table_and_on_the_free_list_is_one_finding_and_its_rows_are_compared() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("owned.db");
    base(&path, 0);
    let clean = checked(&path, &options(CheckLevel::Full));
    let mut bytes = std::fs::read(&path).unwrap();
    let leaf = first_child(&bytes, root(&path, "t"));
    // The first leaf of the first trunk page.
    let trunk = u32::from_be_bytes(bytes[32..36].try_into().unwrap()) as usize;
    let free = u32::from_be_bytes(bytes[(trunk - 1) * 1024 + 8..(trunk - 1) * 1024 + 12].try_into().unwrap());
    let at = (trunk - 1) * 1024 + 8;
    bytes[at..at + 4].copy_from_slice(&(leaf as u32).to_be_bytes());
    std::fs::write(&path, &bytes).unwrap();
    let report = checked(&path, &options(CheckLevel::Full));
    let rules: Vec<_> = report.findings.iter().map(|finding| (finding.rule.as_str(), finding.page)).collect();
    // The page that lost its place on the list is a damage of its own.
    let unused = ("sqlite-page-unused", Some(u64::from(free)));
    let used_twice = ("sqlite-page-used-twice", Some(trunk as u64));
    assert!(rules.len() == 2 && rules.contains(&unused) && rules.contains(&used_twice), "{}", text(&report));
    assert_eq!(report.counters.row_count, clean.counters.row_count);
    assert!(
        report.findings.iter().all(|finding| !finding.next_step.starts_with("VACUUM")),
        "{}",
        text(&report)
    );
}

#[test]
fn an_overflow_chain_that_leads_back_is_one_finding_with_both_pages() {
    let Some((_directory, path)) = case_file("sqlite", "overflow_cycle.db") else { return };
    let report = checked(&path, &options(CheckLevel::Full));
    assert_eq!(report.finding_count(), 1, "{}", text(&report));
    let finding = &report.findings[0];
    assert_eq!((finding.rule.as_str(), finding.page), ("sqlite-overflow-chain", Some(24)));
    assert!(finding.found.contains("leads back to page 3"), "{}", finding.found);
}

#[test]
fn the_rows_of_a_lost_page_are_counted_with_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("zeroed.db");
    base(&path, 0);
    let bytes = std::fs::read(&path).unwrap();
    for (tree, expected) in [("t", "index entries have no row"), ("t_n", "rows have no index entry")] {
        let page = first_child(&bytes, root(&path, tree));
        let mut damaged = bytes.clone();
        damaged[(page - 1) * 1024..page * 1024].fill(0);
        let path = directory.path().join(format!("{tree}.db"));
        std::fs::write(&path, &damaged).unwrap();
        let report = checked(&path, &options(CheckLevel::Full));
        assert_eq!(report.finding_count(), 1, "{tree}: {}", text(&report));
        let finding = &report.findings[0];
        assert_eq!((finding.rule.as_str(), finding.page), ("sqlite-page-kind", Some(page as u64)));
        assert!(finding.found.contains(expected), "{}", finding.found);
        let objects = report.coverage.objects.unwrap();
        assert_eq!(objects.missing_count(), 1, "{objects:?}");
    }
}

#[test]
fn a_lost_row_outside_of_a_damaged_page_is_a_finding_of_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("plain.db");
    base(&path, 0);
    let lost = directory.path().join("lost.db");
    damage(&path, &lost, "lost-row", 1).unwrap();
    let alone = checked(&lost, &options(CheckLevel::Full));
    let count = alone.finding_count();
    let lost_page = {
        let (before, after) = (std::fs::read(&path).unwrap(), std::fs::read(&lost).unwrap());
        before.chunks(1024).zip(after.chunks(1024)).position(|(before, after)| before != after).unwrap() + 1
    };
    // Another leaf of the same table is lost as a whole.
    let mut bytes = std::fs::read(&lost).unwrap();
    let page = (2..bytes.len() / 1024)
        .find(|page| page + 1 != lost_page && checked_leaf(&bytes, *page, &path))
        .unwrap();
    bytes[page * 1024..(page + 1) * 1024].fill(0);
    std::fs::write(&lost, &bytes).unwrap();
    let both = checked(&lost, &options(CheckLevel::Full));
    assert_eq!(both.finding_count(), count + 1, "{}", text(&both));
    assert!(both.findings.iter().any(|finding| finding.found.contains("have no row")), "{}", text(&both));
}

/// Whether a page is a leaf of table t.
fn checked_leaf(bytes: &[u8], index: usize, path: &Path) -> bool {
    let connection = Connection::open(path).unwrap();
    let sql = "SELECT count(*) FROM dbstat WHERE name = 't' AND pagetype = 'leaf' AND pageno = ?1";
    bytes[index * 1024] == 13
        && connection.query_row(sql, [index as u32 + 1], |row| row.get::<_, i64>(0)).unwrap() == 1
}

#[test]
fn findings_about_rows_show_key_column_and_values() {
    let directory = tempfile::tempdir().unwrap();
    for case in cases(directory.path()) {
        let expected: (&str, &[&str]) = match case.name.as_str() {
            "flip-in-row" | "flip-in-entry" => ("sqlite-entry-differs", &["id = "]),
            "lost-row" => ("sqlite-entry-without-row", &["id = "]),
            "lost-entry" => ("sqlite-row-without-entry", &["id = "]),
            "null-in-not-null" => ("sqlite-not-null", &["id = "]),
            "check-violated" => ("sqlite-check", &["id = "]),
            _ => continue,
        };
        let report = checked(&case.path, &options(CheckLevel::Full));
        let findings: Vec<_> = report.findings.iter().filter(|finding| finding.rule == expected.0).collect();
        assert!(!findings.is_empty(), "{}: {}", case.name, text(&report));
        for finding in findings {
            let row = finding.row.clone().unwrap_or_default();
            assert!(expected.1.iter().all(|part| row.contains(part)), "{}: {finding:?}", case.name);
            assert!(
                finding.found.contains(" = ") && !finding.found.contains("different values"),
                "{finding:?}"
            );
        }
    }
}

#[test]
fn each_class_of_damage_gives_as_many_findings_as_it_damages_things() {
    let directory = tempfile::tempdir().unwrap();
    for case in cases(directory.path()) {
        // Two children are swapped; a page loses its place on the freelist to another; several rows are older;
        // definitions were changed behind all rows.
        let most = match case.name.as_str() {
            "swapped-children" | "free-page-in-use" => 2,
            "index-of-other-order" => 2,
            "stale-page" | "stale-index-page" => 4,
            "number-in-text" => continue,
            _ => 1,
        };
        let report = checked(&case.path, &options(CheckLevel::Full));
        let path = case.path.display();
        assert!(report.finding_count() <= most, "{path}: {}", text(&report));
        assert!(
            report.findings.iter().all(|finding| finding.confidence != Confidence::Consequence),
            "{path}"
        );
        let accounting = &report.accounting;
        assert!(accounting.damaged_count + accounting.affected_count <= 3, "{path}: {accounting:?}");
        let coverage = &report.coverage;
        let shares =
            [coverage.pages, coverage.page_contents, coverage.objects, coverage.rows, coverage.entries];
        assert!(shares.iter().all(Option::is_some), "{path}: {coverage:?}");
    }
}

/// The object and the texts of all findings.
fn findings(report: &CheckReport) -> Vec<(&str, &str, &str)> {
    let findings = report.findings.iter();
    findings
        .map(|finding| {
            (finding.object.as_deref().unwrap_or_default(), finding.expected.as_str(), finding.found.as_str())
        })
        .collect()
}

#[test]
fn what_several_indexes_say_about_one_row_is_one_finding_that_names_table_and_indexes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("plain.db");
    base(&path, 0);
    let drill = |class: &str| {
        let copy = directory.path().join(format!("{class}.db"));
        damage(&path, &copy, class, 1).unwrap();
        checked(&copy, &options(CheckLevel::Full))
    };
    let lost = drill("lost-row");
    let found = findings(&lost);
    assert_eq!((found.len(), found[0].0), (1, "table t"), "{}", text(&lost));
    assert!(found[0].1.starts_with("a row with id = ") && found[0].1.ends_with(" in table t"), "{found:?}");
    assert!(
        found[0].2.contains("in index t_a, page ") && found[0].2.contains("in index t_n, page "),
        "{found:?}"
    );
    let object = &lost.objects[0];
    assert_eq!((object.object.as_deref(), object.affected.entry_count), (Some("table t"), 2));
    let wrong = drill("flip-in-row");
    let found = findings(&wrong);
    assert_eq!((found.len(), found[0].0), (1, "table t"), "{}", text(&wrong));
    assert!(
        found[0].1.contains("in index t_a, page ") && found[0].1.contains("in index t_n, page "),
        "{found:?}"
    );
    assert!(found[0].2.starts_with("a = 'key"), "{found:?}");
    assert!(wrong.findings[0].next_step.contains("do not run REINDEX"), "{}", text(&wrong));
    // One index of two: the entry is as likely to be wrong as the row.
    let entry = drill("flip-in-entry");
    let found = findings(&entry);
    assert!(found.len() == 1 && found[0].0.starts_with("index t_"), "{}", text(&entry));
}

#[test]
fn a_row_that_has_no_entry_in_two_indexes_is_one_finding() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("rows.db");
    base(&path, 0);
    let kept = std::fs::read(&path).unwrap();
    let leaf = |name: &str| {
        let root = root(&path, name);
        let bytes = std::fs::read(&path).unwrap();
        first_child(&bytes, root)
    };
    // The first leaf of both indexes is put back to what it was before a row came into it.
    let pages = [leaf("t_a"), leaf("t_n")];
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch("INSERT INTO t(id, a, n, pad) VALUES (99999, 'kex', -5, 'x'); UPDATE t SET a = 'a' WHERE id = 99999").unwrap();
    connection.close().unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    for page in pages {
        bytes[(page - 1) * 1024..page * 1024].copy_from_slice(&kept[(page - 1) * 1024..page * 1024]);
    }
    std::fs::write(&path, &bytes).unwrap();
    let report = checked(&path, &options(CheckLevel::Full));
    let found = findings(&report);
    assert_eq!((found.len(), found[0].0), (1, "table t"), "{}", text(&report));
    assert!(found[0].1.contains("an entry for id = 99999 in index t_"), "{found:?}");
    assert!(found[0].1.contains(" and in index t_"), "{found:?}");
}

#[test]
fn pages_without_use_come_after_their_cause() {
    let directory = tempfile::tempdir().unwrap();
    for case in cases(directory.path()) {
        let report = checked(&case.path, &options(CheckLevel::Full));
        let rules: Vec<&str> = report.findings.iter().map(|finding| finding.rule.as_str()).collect();
        let first = rules.iter().position(|rule| *rule == "sqlite-page-unused");
        let is_last =
            first.is_none_or(|first| rules[first..].iter().all(|rule| *rule == "sqlite-page-unused"));
        assert!(is_last, "{}: {rules:?}", case.path.display());
    }
}
