//! Text from outside in every column of a results file, through every output: nothing acts on a terminal, in a browser or
//! in a spreadsheet.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use report::plain::is_hidden;
use rusqlite::Connection;
use rusqlite::types::Value;

use crate::bench::{Bench, text};

/// A formula that is a terminal's command, a browser's and one that turns the direction of writing.
const HOSTILE: &str =
    "=1+1\u{1b}]0;title\u{7}\u{1b}[2J\u{9b}31m\r\n\u{202e}<script>alert(1)</script>|`x`\u{200b}";

/// Everything that prints what is stored.
const OUTPUTS: &[&[&str]] = &[
    &["list", "--studies"],
    &["list", "--studies", "--json"],
    &["list", "--checks"],
    &["list", "--checks", "--json"],
    &["list", "--runs", "1"],
    &["list", "--runs", "1", "--json"],
    &["report", "1"],
    &["report", "1", "--format", "markdown"],
    &["report", "1", "--format", "json"],
    &["report", "1", "--format", "html", "-o", "-"],
    &["report", "1", "--format", "svg"],
    &["report", "--run", "1"],
    &["report", "--check", "1"],
    &["report", "--check", "1", "--format", "html", "-o", "-"],
    &["report", "--structure", "1"],
    &["report", "--structure", "1", "--format", "html", "-o", "-"],
    &["show", "--check", "1"],
    &["compare", "1", "2"],
    &["compare", "1", "2", "--format", "markdown"],
    &["compare", "1", "2", "--format", "json"],
    &["compare", "1", "2", "--format", "html", "-o", "-"],
    &["history", "quick"],
    &["history", "quick", "--format", "html", "-o", "-"],
    &["export", "1", "--format", "csv"],
    &["export", "1", "--format", "clients-csv"],
    &["export", "1", "--format", "jsonl"],
    &["export", "1", "--format", "gobench"],
    &["structure", "--list"],
    &["structure", "--list", "--json"],
    &["structure", "--show", "1"],
    &["structure", "--show", "1", "--format", "csv"],
    &["structure", "--show", "1", "--format", "json"],
    &["io", "--list"],
    &["io", "--list", "--format", "csv"],
    &["io", "--list", "--format", "json"],
    &["io", "--show", "1"],
    &["io", "--show", "1", "--format", "csv"],
    &["io", "--show", "1", "--format", "json"],
    &["mark", "1", "--suspect", HOSTILE],
];

/// A results directory with two studies, a check with findings, a structure and a baseline.
fn stored() -> Bench {
    let bench = Bench::new();
    let database = bench.path().join("app.db");
    let sql = "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT); CREATE INDEX i ON t (b);
        WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 500) INSERT INTO t SELECT x, x FROM n";
    Connection::open(&database).unwrap().execute_batch(sql).unwrap();
    for seed in ["1", "2"] {
        bench.finish(&["run", "quick.toml", "--ceilings", "never", "--repetitions", "2", "--seed", seed]);
    }
    bench.expect(0, &["structure", "app.db"]);
    let mut bytes = std::fs::read(&database).unwrap();
    // A pointer to a cell of page 2 behind its page.
    bytes[4096 + 8] = 0xFF;
    std::fs::write(&database, bytes).unwrap();
    bench.expect(1, &["check", "app.db"]);
    bench.run(&["io", ".", "--mini", "--size", "1MiB", "--runtime", "1ms", "--buffered"]);
    bench.expect(0, &["mark", "2", "--suspect", "a reason"]);
    bench
}

/// Tables and their columns of text, and the triggers that would refuse a change.
fn columns(connection: &Connection) -> Vec<(String, String)> {
    let mut statement = connection
        .prepare(
            "SELECT m.name, c.name FROM sqlite_schema m, pragma_table_info(m.name) c
             WHERE m.type = 'table' AND c.type = 'TEXT' ORDER BY 1, 2",
        )
        .unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.map(Result::unwrap).collect()
}

/// Replaces texts; in JSON those of all strings, or of those that are no word of an enumeration.
fn poison(directory: &Path, table: &str, column: &str, spares_words: bool) {
    let connection = Connection::open(directory.join("results.db")).unwrap();
    connection.execute_batch("PRAGMA ignore_check_constraints = 1; PRAGMA foreign_keys = 0").unwrap();
    let triggers: Vec<String> = connection
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    triggers.iter().for_each(|name| connection.execute_batch(&format!("DROP TRIGGER \"{name}\"")).unwrap());
    let values: Vec<Value> = connection
        .prepare(&format!("SELECT DISTINCT {column} FROM {table}"))
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    for (index, value) in values.into_iter().enumerate() {
        let poisoned = match &value {
            Value::Text(text) => match serde_json::from_str::<serde_json::Value>(text) {
                Ok(mut json) if json.is_object() || json.is_array() => {
                    strings(&mut json, spares_words);
                    json.to_string()
                }
                // Unique columns stay so.
                _ => format!("{HOSTILE}{index}"),
            },
            _ => HOSTILE.to_owned(),
        };
        let sql = format!("UPDATE OR IGNORE {table} SET {column} = ?1 WHERE {column} IS ?2");
        connection.execute(&sql, (poisoned, value)).unwrap();
    }
}

fn strings(json: &mut serde_json::Value, spares_words: bool) {
    match json {
        serde_json::Value::String(text) => {
            let is_word = text.chars().all(|character| character.is_ascii_lowercase() || character == '_');
            if !(spares_words && is_word) {
                *text = HOSTILE.to_owned();
            }
        }
        serde_json::Value::Array(items) => items.iter_mut().for_each(|item| strings(item, spares_words)),
        serde_json::Value::Object(fields) => {
            fields.values_mut().for_each(|value| strings(value, spares_words))
        }
        _ => {}
    }
}

fn complaints(bench: &Bench, what: &str, reached: &AtomicUsize) -> Vec<String> {
    let mut found = Vec::new();
    for words in OUTPUTS {
        let output = bench.run(words);
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        let mut complain = |why: &str| found.push(format!("{what}: fathom {words:?} {why}\n{out}\n{err}"));
        if output.status.code().is_none_or(|code| code > 2) || err.contains("panicked") {
            complain("does not end as it should");
        }
        if [out.as_str(), err.as_str()].iter().any(|text| text.contains("u{1b}") || text.contains("u001b")) {
            reached.fetch_add(1, Ordering::Relaxed);
        }
        let acts = |text: &str| text.chars().any(|character| is_hidden(character) && character != '\n');
        if acts(&out.replace('\t', " ")) || acts(&err) {
            complain("acts on a terminal");
        }
        if out.contains("<script>alert") && !out.starts_with(['{', '[']) && words.contains(&"html") {
            complain("is a script in a browser");
        }
        let is_csv = words.iter().any(|word| word.ends_with("csv"));
        if is_csv && ["\n=", ",=", "\n\"=", ",\"="].iter().any(|formula| out.contains(formula)) {
            complain("is a formula in a spreadsheet");
        }
    }
    found
}

#[test]
fn no_text_of_a_results_file_acts_in_any_output() {
    let source = stored();
    let all = columns(&Connection::open(source.results().join("results.db")).unwrap());
    assert!(all.len() > 40, "{all:?}");
    let tables: BTreeSet<&str> = all.iter().map(|(table, _)| table.as_str()).collect();
    // Whole tables first, then single columns: what makes one unreadable would hide the others.
    let mut plans: Vec<(String, Vec<(String, String)>)> = tables
        .iter()
        .map(|table| ((*table).to_owned(), all.iter().filter(|(other, _)| other == table).cloned().collect()))
        .collect();
    let is_json = |column: &str| ["json", "factors", "fixed", "expectations", "levels"].contains(&column);
    let alone = all.iter().filter(|(_, column)| is_json(column));
    plans.extend(
        alone.map(|(table, column)| (format!("{table}.{column}"), vec![(table.clone(), column.clone())])),
    );
    let plans = std::sync::Mutex::new(plans);
    let found = std::sync::Mutex::new(Vec::new());
    let reached = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some((what, columns)) = { plans.lock().unwrap().pop() } {
                    let bench = Bench::new();
                    std::fs::create_dir(bench.results()).unwrap();
                    std::fs::copy(source.results().join("results.db"), bench.results().join("results.db"))
                        .unwrap();
                    for (table, column) in &columns {
                        poison(&bench.results(), table, column, columns.len() == 1);
                    }
                    found.lock().unwrap().extend(complaints(&bench, &what, &reached));
                }
            });
        }
    });
    let found = found.into_inner().unwrap();
    assert!(found.is_empty(), "{} complaints\n{}", found.len(), found[..found.len().min(5)].join("\n\n"));
    // The text does come through, written out.
    let reached = reached.into_inner();
    assert!(reached > 150, "only {reached} outputs have it");
}
