//! Pages in print: few sheets, nothing cut off, and a line about what is left out.

use serde_json::json;

use crate::browser::Browser;
use crate::stored::fathom;

/// Most sheets of a miniature of three configurations.
const SHEETS_MAX: usize = 8;

#[test]
fn a_miniature_of_three_configurations_prints_on_eight_sheets_at_most() {
    let Some(mut browser) = Browser::start() else { return };
    let directory = tempfile::tempdir().unwrap();
    fathom(directory.path(), &["run", "populate-batch", "--mini"]);
    let page = directory.path().join("study-1.html");
    browser.open(&page);
    let sheets = browser.printed_pages();
    assert!(sheets <= SHEETS_MAX, "{sheets} sheets");
    browser.ask("Emulation.setEmulatedMedia", json!({"media": "print"}));
    browser.open(&page);
    let seen = |selector: &str| {
        format!(
            "[...document.querySelectorAll('{selector}')].some(one => one.getBoundingClientRect().height > 0)"
        )
    };
    assert_eq!(browser.value(&seen(".printed")), json!(true));
    // What is folded is left out, and comes back when it was opened.
    assert_eq!(browser.value(&seen("#metrics, #definitions")), json!(false));
    browser.value("document.querySelector('#metrics').open = true");
    assert_eq!(browser.value(&seen("#metrics td")), json!(true));
}
