//! The pages of `fathom compare` and `fathom history`.

use std::path::{Path, PathBuf};

use results::io::{IoRow, IoSyncRow, IoTable};
use results::store::Store;
use serde_json::json;

use crate::browser::Browser;
use crate::stored::{HOSTILE, fathom, study};

/// Runs a command that writes a page, and keeps it; returns its place.
fn document(directory: &Path, words: &[&str]) -> PathBuf {
    let path = directory.join("document.html");
    std::fs::write(&path, fathom(directory, words)).unwrap();
    path
}

/// Opens it on a phone: all marks are there, nothing is asked for, nothing breaks, no name is markup, nothing is too broad.
pub(crate) fn is_sound(browser: &mut Browser, page: &Path, marks_min: u64) {
    browser.phone();
    browser.open(page);
    let marks = "[...document.querySelectorAll('svg.chart path.mean')]
        .filter(mark => mark.getBBox().width > 0).length";
    let count = browser.value(marks).as_u64().unwrap();
    assert!(count >= marks_min, "{count} marks of {marks_min}");
    assert_eq!(browser.value("document.documentElement.scrollWidth"), json!(390));
    assert_eq!(browser.value("window.taken === undefined && document.images.length === 0"), json!(true));
    assert_eq!(browser.misdeeds(page), Vec::<String>::new());
    assert_eq!(browser.value(OVERLAPS), json!([]), "a key of a chart overlaps the next");
}

/// Names in keys of charts that reach beyond the next swatch of their line, or beyond the picture.
pub(crate) const OVERLAPS: &str = "[...document.querySelectorAll('svg.chart g.key')].filter(key => {
    const box = key.querySelector('text').getBoundingClientRect();
    if (!box.width) return false;
    const next = key.nextElementSibling;
    const after = next && next.matches('g.key') ? next.getBoundingClientRect() : null;
    const edge = key.ownerSVGElement.getBoundingClientRect().right + 1;
    return box.right > edge || after && Math.abs(after.top - box.top) < 8 && after.left < box.right;
}).map(key => key.textContent)";

#[test]
fn a_comparison_draws_every_pair_and_asks_for_nothing() {
    let Some(mut browser) = Browser::start() else { return };
    let directory = tempfile::tempdir().unwrap();
    study(directory.path(), 5);
    let words = ["compare", "1", "1", "--format", "html", "-o", "-"];
    is_sound(&mut browser, &document(directory.path(), &words), 6);
}

#[test]
fn a_history_draws_every_configuration_and_asks_for_nothing() {
    let Some(mut browser) = Browser::start() else { return };
    let directory = tempfile::tempdir().unwrap();
    study(directory.path(), 5);
    is_sound(&mut browser, &document(directory.path(), &["history", "--format", "html", "-o", "-"]), 6);
}

/// A database with a name that wants to be markup, checked and measured into the results directory; a baseline beside it.
pub(crate) fn checked(directory: &Path) {
    let database = directory.join("<img src=x onerror='window.taken=1'>.db");
    rusqlite::Connection::open(&database).unwrap().execute_batch("CREATE TABLE t (a)").unwrap();
    let place = database.to_str().unwrap();
    fathom(directory, &["check", place]);
    fathom(directory, &["structure", place]);
    Store::open_or_create(directory).unwrap().add_io_table(&baseline()).unwrap();
}

/// A baseline of two patterns and one kind of append; a row is flagged.
fn baseline() -> IoTable {
    let row = |transfer_bytes, outstanding, iops: f64, flags: Vec<String>| IoRow {
        transfer_bytes,
        read_percent: 100,
        random_percent: 100,
        outstanding,
        jobs: 1,
        iops,
        mib_per_s: iops * transfer_bytes as f64 / f64::from(1 << 20),
        latency_ns_mean: 80_000.0,
        latency_ns_p99: 120_000 * outstanding,
        latency_ns_max: 900_000,
        flags,
        ..IoRow::default()
    };
    let appends = |size_bytes, appends_per_s| IoSyncRow {
        size_bytes,
        method: "fdatasync".to_owned(),
        writer_count: 1,
        appends_per_s,
        latency_ns_p99: 2_000_000,
        ..IoSyncRow::default()
    };
    IoTable {
        title: format!("direct I/O, io_uring {HOSTILE}"),
        target: "/srv/data".to_owned(),
        device: Some("vda".to_owned()),
        is_direct: true,
        began_unix_s: 1_763_632_800,
        rows: vec![
            row(8192, 1, 12_000.0, Vec::new()),
            row(8192, 8, 40_000.0, Vec::new()),
            row(65_536, 1, 9_000.0, Vec::new()),
            row(65_536, 8, 20_000.0, vec!["no steady state".to_owned()]),
        ],
        sync_rows: vec![appends(512, 5000.0), appends(8192, 1200.0)],
        ..IoTable::default()
    }
}

#[test]
fn a_check_a_structure_and_a_baseline_have_pages_of_their_own_with_the_result_first() {
    let Some(mut browser) = Browser::start() else { return };
    let directory = tempfile::tempdir().unwrap();
    study(directory.path(), 1);
    checked(directory.path());
    let baseline = directory.path().join("baseline.html");
    let words = ["io", "--show", "1", "--html", baseline.to_str().unwrap()];
    assert!(fathom(directory.path(), &words).contains("12000"));
    let written = |words: [&str; 3]| {
        let path = directory.path().join(words[1].trim_start_matches("--")).with_extension("html");
        let page = document(directory.path(), &[&words[..], &["--format", "html", "-o", "-"]].concat());
        std::fs::rename(page, &path).unwrap();
        path
    };
    let pages = [
        (written(["report", "--check", "1"]), "No damage found.", 0),
        (written(["report", "--structure", "1"]), "1 table or index on 1 page.", 0),
        (baseline, "Up to 40,000 IOPS (8 KiB random read, queue depth 8) and 562.5 MiB/s", 5),
    ];
    for (page, headline, marks) in pages {
        is_sound(&mut browser, &page, marks);
        let first = browser.value("document.querySelector('main > section .headline').textContent");
        assert!(first.as_str().unwrap().starts_with(headline), "{first}");
        // Nothing between the head and the result, and no box without contents.
        assert_eq!(
            browser.value(
                "[...document.querySelectorAll('main > section, aside')].filter(box => \
                 box.textContent.trim() === (box.querySelector('h2') || {}).textContent).length"
            ),
            json!(0)
        );
        assert_eq!(browser.value("document.querySelectorAll('table').length > 0"), json!(true), "{headline}");
    }
}

#[test]
fn a_check_writes_its_page_beside_its_text_and_refuses_a_file_that_exists_before_it_reads_anything() {
    let directory = tempfile::tempdir().unwrap();
    let database = directory.path().join("a.db");
    rusqlite::Connection::open(&database).unwrap().execute_batch("CREATE TABLE t (a)").unwrap();
    let (place, page) = (database.to_str().unwrap(), directory.path().join("check.html"));
    let html = ["--html", page.to_str().unwrap()];
    let results = directory.path().join("results");
    let text = fathom(&results, &[&["check", place], &html[..]].concat());
    assert!(text.contains("no damage found") && !text.contains("<html"));
    let written = std::fs::read_to_string(&page).unwrap();
    assert!(written.contains("<h1>Check of a.db</h1>") && written.contains("check 1 ·"), "{written}");
    for words in
        [vec!["check", place], vec!["structure", place], vec!["io", directory.path().to_str().unwrap()]]
    {
        let done = std::process::Command::new(env!("CARGO_BIN_EXE_fathom"))
            .args(&words)
            .args(html)
            .args(["--results", results.to_str().unwrap()])
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(2), "{words:?}: {told}");
        assert!(told.contains("it exists\nhint: choose a name") && !told.contains("stored as"), "{told}");
    }
    // What is not stored has a page without a number.
    let alone = directory.path().join("alone.html");
    fathom(&results, &["structure", place, "--no-store", "--html", alone.to_str().unwrap()]);
    let written = std::fs::read_to_string(&alone).unwrap();
    assert!(written.contains("<h1>Structure of a.db</h1>") && !written.contains("structure 0"), "{written}");
    assert_eq!(Store::open_read_only(&results).unwrap().structures().unwrap().len(), 0);
}
