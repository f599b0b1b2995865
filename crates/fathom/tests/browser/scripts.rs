//! The page of a workload of the user's own: its scripts and statements, whatever their names and texts want to be.

use results::histogram::LatencyHistogram;
use results::scripts::{FailureCount, FailureKind, ScriptRecord, StatementRecord};
use serde_json::json;

use crate::browser::Browser;
use crate::page::fits_a_phone;
use crate::stored::{HOSTILE, own_study, page};

/// A script with two statements, of which the second fails at times.
fn script(file: &str, cell: u32) -> ScriptRecord {
    let mut latency = LatencyHistogram::new();
    (1..=200).for_each(|step| latency.record(u64::from(cell + 1) * step * 20_000));
    let failures = vec![FailureCount { kind: FailureKind::Deadlock, count: 3 }];
    let statement = |line, text: String| StatementRecord {
        line,
        text,
        executions: 200,
        failures: Vec::new(),
        first_failure: None,
        latency: latency.clone(),
    };
    let insert = statement(
        7,
        format!("INSERT INTO a_table_with_a_long_name (column_one, column_two)\n VALUES ('{HOSTILE}', 2)"),
    );
    ScriptRecord {
        file: file.to_owned(),
        weight: 9,
        transactions: 197,
        retried: 5,
        retries: 6,
        statements: vec![
            statement(3, "BEGIN".to_owned()),
            StatementRecord { failures: failures.clone(), first_failure: Some(HOSTILE.to_owned()), ..insert },
        ],
        failures,
        latency: latency.clone(),
    }
}

#[test]
fn scripts_and_statements_are_tables_that_fit_a_phone_and_run_no_text_as_code() {
    let Some(mut browser) = Browser::start() else { return };
    let directory = tempfile::tempdir().unwrap();
    own_study(directory.path(), |cell| {
        vec![script("a-script-with-a-long-name.sql", cell), script(HOSTILE, cell)]
    });
    let page = page(directory.path());
    browser.open(&page);
    assert_eq!(browser.misdeeds(&page), Vec::<String>::new());
    assert_eq!(browser.value("window.taken === undefined"), json!(true));
    assert_eq!(
        browser.value("document.querySelectorAll('#scripts > table, #scripts > .scroll').length"),
        json!(3)
    );
    // The second configuration is twice as slow in every statement.
    let spread = "[...document.querySelectorAll('#scripts .scroll')][2].querySelector('tbody td:nth-child(3)').textContent";
    assert_eq!(browser.value(spread), json!("2.00"));
    assert_eq!(browser.value("document.querySelectorAll('#scripts details').length"), json!(2));
    assert_eq!(
        browser.value(
            "[...document.querySelectorAll('a.download')].map(link => link.download).includes('scripts.csv')"
        ),
        json!(true)
    );
    browser.phone();
    browser.open(&page);
    fits_a_phone(&mut browser);
}
