//! Files in use, files that cannot be trusted, and checks that are stopped.
#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::support::{Shape, assert_clean, checked, filled, options};
use check::options::Options;
use check::progress::{Phase, Progress, Silent};
use check_sqlite::drill::{CLASSES, DrillError, damage};
use results::check::{CheckLevel, Confidence};
use rusqlite::Connection;

const LOCK_VARIABLE: &str = "FATHOM_TEST_LOCK";

/// Another process that holds a write transaction until its input ends. SQLite's locks are blind within a process.
fn writer(path: &Path) -> (Child, BufReader<ChildStdout>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "conditions::the_other_process_of_the_lock_tests", "--nocapture"])
        .env(LOCK_VARIABLE, path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("holding") {
        line.clear();
        assert!(output.read_line(&mut line).unwrap() > 0, "the other process ended");
    }
    (child, output)
}

#[test]
fn the_other_process_of_the_lock_tests() {
    let Some(path) = std::env::var_os(LOCK_VARIABLE) else { return };
    let connection = Connection::open(path).unwrap();
    connection
        .execute_batch(
            "PRAGMA cache_size=2; UPDATE t SET a = a + 1; BEGIN IMMEDIATE; CREATE TABLE busy(x);
             INSERT INTO busy SELECT randomblob(2000) FROM t;",
        )
        .unwrap();
    println!("holding");
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

#[test]
fn a_file_that_another_process_writes_is_refused_with_the_process_or_seen_as_it_was_committed() {
    for mode in ["DELETE", "WAL"] {
        let directory = tempfile::tempdir().unwrap();
        let path = filled(directory.path(), &Shape::default(), 100);
        Connection::open(&path).unwrap().execute_batch(&format!("PRAGMA journal_mode={mode}")).unwrap();
        let (mut child, _output) = writer(&path);
        let report = check_sqlite::check(&path, &options(CheckLevel::Full), &mut Silent);
        if mode == "DELETE" {
            let reason = report.unfinished.clone().unwrap_or_default();
            assert!(reason.contains(&format!("process {} is writing it", child.id())), "{mode}: {reason}");
            assert_eq!((report.exit_code(), report.finding_count()), (2, 0));
        } else {
            assert_clean(&report);
        }
        drop(child.stdin.take());
        child.wait().unwrap();
        assert_clean(&checked(&path, &options(CheckLevel::Full)));
    }
}

#[test]
fn a_log_that_a_killed_process_left_is_laid_over_and_clean() {
    let directory = tempfile::tempdir().unwrap();
    let path = filled(directory.path(), &Shape::default(), 100);
    Connection::open(&path).unwrap().execute_batch("PRAGMA journal_mode=WAL").unwrap();
    let (mut child, _output) = writer(&path);
    child.kill().unwrap();
    child.wait().unwrap();
    let report = checked(&path, &options(CheckLevel::Full));
    assert_clean(&report);
    let laid_over = report.facts.iter().find(|(name, _)| name == "WAL frames applied").unwrap();
    assert_ne!(laid_over.1, "0");
}

#[test]
fn a_journal_that_would_be_played_back_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = filled(directory.path(), &Shape::default(), 50);
    let mut journal = vec![0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
    journal.resize(512, 0);
    std::fs::write(directory.path().join("checked.db-journal"), journal).unwrap();
    let report = checked(&path, &options(CheckLevel::Full));
    assert!(report.unfinished.unwrap().contains("interrupted transaction"));
}

#[test]
fn what_is_no_file_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    for path in [directory.path().to_owned(), directory.path().join("absent.db")] {
        let report = check_sqlite::check(&path, &options(CheckLevel::Full), &mut Silent);
        assert_eq!(report.exit_code(), 2);
        assert!(report.unfinished.is_some());
    }
}

#[test]
fn a_file_without_a_page_size_is_judged_page_by_page() {
    let directory = tempfile::tempdir().unwrap();
    let path = filled(directory.path(), &Shape { page_size: 2048, ..Shape::default() }, 800);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[..2048].fill(0);
    // One cell pointer behind the end of its page, on the first leaf of a table behind the middle of the file.
    let middle = bytes.len() / 2048 / 2;
    let page = (middle..).find(|page| bytes[page * 2048] == 13).unwrap();
    bytes[page * 2048 + 8..page * 2048 + 10].copy_from_slice(&[0xff, 0xff]);
    std::fs::write(&path, bytes).unwrap();
    let report = checked(&path, &options(CheckLevel::Full));
    let text = report::findings::text(&report, &check_sqlite::RULES);
    assert_eq!(report.exit_code(), 1, "{text}");
    assert!(report.facts.contains(&("page size assumed".to_owned(), "2048".to_owned())), "{text}");
    let accused: Vec<_> =
        report.findings.iter().filter(|finding| finding.rule == "sqlite-page-layout").collect();
    assert_eq!(
        accused.iter().map(|finding| finding.page).collect::<Vec<_>>(),
        [Some(page as u64 + 1)],
        "{text}"
    );
    assert!(accused.iter().all(|finding| finding.confidence == Confidence::Possible));
}

#[test]
fn a_check_that_is_stopped_says_what_it_did_not_see() {
    let directory = tempfile::tempdir().unwrap();
    let path = filled(directory.path(), &Shape::default(), 500);
    let stop = Some(Arc::new(AtomicBool::new(true)));
    let report = checked(&path, &Options { stop, ..options(CheckLevel::Full) });
    assert_eq!((report.exit_code(), report.finding_count()), (2, 0));
    assert_eq!(report.accounting.unreached_count, report.accounting.page_count);
    assert!(report.unfinished.unwrap().contains("stopped"));
}

#[test]
fn progress_is_told_from_the_map_to_the_second_pass() {
    struct Seen(Vec<Phase>);
    impl Progress for Seen {
        fn advance(&mut self, phase: Phase, _done: u64, _total: u64) {
            self.0.push(phase);
        }
    }
    let directory = tempfile::tempdir().unwrap();
    let path = filled(directory.path(), &Shape::default(), 200);
    let mut seen = Seen(Vec::new());
    check_sqlite::check(&path, &options(CheckLevel::Full), &mut seen);
    seen.0.dedup();
    assert_eq!(seen.0, [Phase::Map, Phase::Pass, Phase::Match, Phase::SecondPass]);
}

#[test]
fn findings_are_the_same_for_any_number_of_workers_and_capped_with_the_count_kept() {
    let directory = tempfile::tempdir().unwrap();
    let plain = filled(directory.path(), &Shape { page_size: 512, ..Shape::default() }, 2000);
    let path = directory.path().join("damaged.db");
    damage(&plain, &path, "zeroed-table-page", 3).unwrap();
    // A definition that hundreds of rows do not fit.
    let connection = Connection::open(&path).unwrap();
    let sql = "UPDATE sqlite_schema SET sql = replace(sql, 'c REAL', 'c REAL NOT NULL') WHERE name = 't'";
    connection.execute_batch(&format!("PRAGMA writable_schema=ON; {sql}")).unwrap();
    connection.close().unwrap();
    let one = checked(&path, &options(CheckLevel::Full));
    assert!(one.finding_count() > 5, "{}", report::findings::text(&one, &check_sqlite::RULES));
    for worker_count in [2, 5] {
        let many = Options { worker_count, page_batch: Some(8), ..options(CheckLevel::Full) };
        let many = checked(&path, &many);
        assert_eq!((many.findings, many.rule_counts), (one.findings.clone(), one.rule_counts.clone()));
    }
    let few = checked(&path, &Options { findings_per_rule_max: 2, ..options(CheckLevel::Full) });
    assert_eq!(few.finding_count(), one.finding_count());
    assert!(few.rule_counts.iter().all(|count| count.listed_count <= 2));
    assert!(report::findings::text(&few, &check_sqlite::RULES).contains("more findings of rule"));
}

#[test]
fn a_drill_refuses_to_write_over_a_file_and_tells_what_it_did() {
    let directory = tempfile::tempdir().unwrap();
    let path = filled(directory.path(), &Shape::default(), 300);
    let copy = directory.path().join("copy.db");
    let before = crate::support::hash(&path);
    let drill = damage(&path, &copy, "lost-row", 1).unwrap();
    assert_eq!(before, crate::support::hash(&path));
    assert!(drill.command.contains("fathom check") && drill.page > Some(1) && !drill.changes.is_empty());
    assert!(matches!(damage(&path, &copy, "lost-row", 1), Err(DrillError::Exists { .. })));
    let link = path.with_extension("link");
    std::os::unix::fs::symlink(path.with_extension("nowhere"), &link).unwrap();
    assert!(matches!(damage(&path, &link, "lost-row", 1), Err(DrillError::Exists { .. })));
    let other = directory.path().join("other.db");
    assert!(matches!(damage(&path, &other, "no-such", 1), Err(DrillError::Class { .. })));
    let again = damage(&path, &other, "lost-row", 1).unwrap();
    assert_eq!(again.changes, drill.changes, "the same seed gives the same damage");
    let mut names: Vec<_> = CLASSES.iter().map(|class| class.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), CLASSES.len());
}

/// Stops a check as soon as some bytes were read.
struct StopSoon(Arc<AtomicBool>);

impl Progress for StopSoon {
    fn advance(&mut self, phase: Phase, done: u64, _total: u64) {
        if phase == Phase::Pass && done > 0 {
            self.0.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    }
}

#[test]
fn a_check_that_was_stopped_goes_on_and_finds_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let plain = filled(directory.path(), &Shape { page_size: 512, auto_vacuum: 1, ..Shape::default() }, 1500);
    let damaged = directory.path().join("damaged.db");
    damage(&plain, &damaged, "zeroed-table-page", 5).unwrap();
    for path in [&plain, &damaged] {
        let whole = checked(path, &options(CheckLevel::Full));
        let resume_file = directory.path().join("resume.json");
        let rate = whole.accounting.bytes_expected / 2;
        let mut call_count = 0;
        let report = loop {
            call_count += 1;
            assert!(call_count < 50, "the check does not come to an end");
            let stop = Arc::new(AtomicBool::new(false));
            let options = Options {
                resume_file: Some(resume_file.clone()),
                stop: Some(stop.clone()),
                rate_bytes_per_s_max: Some(rate),
                page_batch: Some(64),
                worker_count: 2,
                ..options(CheckLevel::Full)
            };
            let report = check_sqlite::check(path, &options, &mut StopSoon(stop));
            assert!(report.accounting.is_balanced());
            // Every page may have been seen, and the second pass not have come to its end.
            if report.unfinished.is_none() {
                break report;
            }
            assert!(resume_file.exists());
        };
        assert!(call_count > 1, "it was never stopped");
        assert!(!resume_file.exists(), "the file is removed at the end");
        assert_eq!(report.accounting, whole.accounting);
        assert_eq!(report.findings, whole.findings);
        assert_eq!(report.rule_counts, whole.rule_counts);
        assert_eq!(report.counters.row_count, whole.counters.row_count);
    }
}

#[test]
fn a_page_count_that_the_file_never_had_takes_no_memory() {
    let directory = tempfile::tempdir().unwrap();
    let path = filled(directory.path(), &Shape::default(), 200);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[28..32].copy_from_slice(&[0xff, 0xff, 0xff, 0xfe]);
    std::fs::write(&path, &bytes).unwrap();
    let report = checked(&path, &options(CheckLevel::Full));
    let found: Vec<_> = report.findings.iter().map(|finding| finding.rule.as_str()).collect();
    assert_eq!(found, ["sqlite-file-size"]);
    assert_eq!(report.accounting.page_count, bytes.len() as u64 / 4096);
    assert!(report.counters.memory_bytes_max < 1 << 20);
}

#[test]
fn a_database_whose_schema_is_lost_is_judged_page_by_page() {
    let directory = tempfile::tempdir().unwrap();
    let path = filled(directory.path(), &Shape { page_size: 1024, ..Shape::default() }, 600);
    let mut bytes = std::fs::read(&path).unwrap();
    // No tree page any more: which page is whose is not known then.
    bytes[100] = 7;
    std::fs::write(&path, &bytes).unwrap();
    let report = checked(&path, &options(CheckLevel::Full));
    let text = report::findings::text(&report, &check_sqlite::RULES);
    let counts = &report.accounting;
    assert_eq!((report.exit_code(), report.findings.len(), counts.damaged_count), (1, 1, 1), "{text}");
    assert_eq!(report.findings[0].rule, "sqlite-page-kind", "{text}");
    assert!(counts.clean_count > 300, "{text}");
    assert!(counts.skipped.iter().all(|skipped| skipped.why.contains("not b-tree pages")), "{text}");
    assert!(report.not_checked.iter().any(|gap| gap.why.contains("verified one by one")), "{text}");

    // A cell pointer out of its page.
    let leaf = (1..).find(|page| bytes[page * 1024] == 13).unwrap();
    bytes[leaf * 1024 + 8] = 0xff;
    std::fs::write(&path, &bytes).unwrap();
    let report = checked(&path, &options(CheckLevel::Full));
    let text = report::findings::text(&report, &check_sqlite::RULES);
    let found: Vec<_> =
        report.findings.iter().filter(|finding| finding.rule == "sqlite-page-layout").collect();
    assert_eq!((found.len(), report.accounting.damaged_count), (1, 2), "{text}");
    assert_eq!((found[0].page, found[0].confidence), (Some(leaf as u64 + 1), Confidence::Possible), "{text}");
}
