//! The pages of `fathom compare` and `fathom history`.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::browser::Browser;
use crate::stored::{fathom, study};

/// Runs a command that writes a page, and keeps it; returns its place.
fn document(directory: &Path, words: &[&str]) -> PathBuf {
    let path = directory.join("document.html");
    std::fs::write(&path, fathom(directory, words)).unwrap();
    path
}

/// Opens it on a phone: all marks are there, nothing is asked for, nothing breaks, no name is markup, nothing is too broad.
fn is_sound(browser: &mut Browser, page: &Path, marks_min: u64) {
    let phone = json!({"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": true});
    browser.ask("Emulation.setDeviceMetricsOverride", phone);
    browser.open(page);
    let marks = "[...document.querySelectorAll('svg.chart path.mean')]
        .filter(mark => mark.getBBox().width > 0).length";
    let count = browser.value(marks).as_u64().unwrap();
    assert!(count >= marks_min, "{count} marks of {marks_min}");
    assert_eq!(browser.value("document.documentElement.scrollWidth"), json!(390));
    assert_eq!(browser.value("window.taken === undefined && document.images.length === 0"), json!(true));
    assert_eq!(browser.misdeeds(page), Vec::<String>::new());
}

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

/// A database with a name that wants to be markup, checked and measured into the results directory.
pub(crate) fn checked(directory: &Path) {
    let database = directory.join("<img src=x onerror='window.taken=1'>.db");
    rusqlite::Connection::open(&database).unwrap().execute_batch("CREATE TABLE t (a)").unwrap();
    let place = database.to_str().unwrap();
    fathom(directory, &["check", place]);
    fathom(directory, &["structure", place]);
}

#[test]
fn a_check_and_a_structure_have_pages_of_their_own() {
    let Some(mut browser) = Browser::start() else { return };
    let directory = tempfile::tempdir().unwrap();
    study(directory.path(), 1);
    checked(directory.path());
    for words in [["report", "--check", "1"], ["report", "--structure", "1"]] {
        let page = document(directory.path(), &[&words[..], &["--format", "html", "-o", "-"]].concat());
        is_sound(&mut browser, &page, 0);
        assert_eq!(browser.value("document.querySelectorAll('table').length > 0"), json!(true), "{words:?}");
    }
}
