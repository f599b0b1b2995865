//! Full-text tables and R-trees: intact ones are silent, and what SQLite finds in a damaged one is found.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;

use skips::{Capability, skip};

use crate::support::{Shape, case_file, create, full, rule_counts, verdict};
use results::check::CheckReport;
use rusqlite::Connection;

/// Random numbers that are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit.max(1)
    }
}

const ROWS: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400)";

/// Definitions of full-text tables with the columns a and b.
const FULL_TEXT: &[&str] = &[
    "fts5(a, b)",
    "fts5(a, b, prefix='1 3')",
    "fts5(a, b UNINDEXED, detail=none)",
    "fts5(a, b, detail=column, columnsize=0)",
    "fts5(a, b, tokenize='porter ascii')",
    "fts5(a, b, tokenize='trigram')",
    "fts5(a, b, tokenize=\"unicode61 remove_diacritics 2 tokenchars '-_'\")",
    "fts5(a, b, content='')",
    "fts5(a, b, content='', contentless_delete=1)",
    "fts5(a, b, content='source', content_rowid='id')",
    "fts3(a, b)",
    "fts3(a, b, tokenize=porter)",
    "fts4(a, b)",
    "fts4(a, b, prefix='2', order=desc)",
    "fts4(a, b, matchinfo=fts3, notindexed=b)",
    "fts4(a, b, content='')",
    "fts4(a, b, tokenize=unicode61)",
];

/// A full-text table after inserts, updates, deletes and merges, as far as its kind allows them.
fn full_text(path: &Path, definition: &str, shape: &Shape) {
    let connection = create(path, shape);
    connection
        .execute_batch(&format!(
            "CREATE TABLE source(id INTEGER PRIMARY KEY, a TEXT, b TEXT);
             {ROWS} INSERT INTO source SELECT i, 'word' || (i % 37) || ' and text number ' || i || ' ' || char(228, 955, 0x4e2d),
                 CASE WHEN i % 9 = 0 THEN NULL WHEN i % 50 = 0 THEN replace(hex(zeroblob(3000)), '00', 'long ' || i || ' ') ELSE 'b' || i / 3 END FROM n;
             CREATE VIRTUAL TABLE \"my text\" USING {definition};
             INSERT INTO \"my text\"(rowid, a, b) SELECT id, a, b FROM source;"
        ))
        .unwrap();
    let is_contentless = definition.contains("content=''");
    if !is_contentless && !definition.contains("content='source'") {
        connection
            .execute_batch(
                "DELETE FROM \"my text\" WHERE rowid % 7 = 0; UPDATE \"my text\" SET a = 'changed ' || rowid WHERE rowid % 11 = 0;",
            )
            .unwrap();
    }
    if definition.contains("contentless_delete") {
        connection.execute_batch("DELETE FROM \"my text\" WHERE rowid % 5 = 0").unwrap();
    }
    if definition == "fts5(a, b)" {
        let change = "INSERT INTO \"my text\"(\"my text\", rank) VALUES('secure-delete', 1); DELETE FROM \"my text\" WHERE rowid % 13 = 0;
            INSERT INTO \"my text\"(\"my text\", rank) VALUES('pgsz', 64); INSERT INTO \"my text\"(rowid, a, b) SELECT id + 1000, a, b FROM source;";
        connection.execute_batch(change).unwrap();
    }
    if definition.contains("prefix") {
        connection.execute_batch("INSERT INTO \"my text\"(\"my text\") VALUES('optimize')").unwrap();
    }
    connection.close().unwrap();
}

const RTREES: &[(&str, &str)] = &[
    ("rtree(id, x0, x1, y0, y1)", "i, (i * 7919) % 1000, (i * 7919) % 1000 + i % 9, i % 31, i % 31 + 0.7"),
    (
        "rtree(\n  id, -- the key, don't change\n  x0, x1, /* one, (two */ y0, y1 -- last,\n)",
        "i, i % 40, i % 40 + 1, i % 31, i % 31 + 0.7",
    ),
    ("rtree_i32(id, x0, x1)", "-i, i % 57 - 30, i % 57"),
    (
        "rtree(id, a, b, c, d, e, f, +note TEXT, +more)",
        "i * 3, i, i + 1, 0.1 * i, 0.1 * i, -i, i, 'note ' || i, NULL",
    ),
];

fn rtree(path: &Path, (definition, values): (&str, &str), shape: &Shape) {
    let connection = create(path, shape);
    connection
        .execute_batch(&format!(
            "CREATE VIRTUAL TABLE r USING {definition}; CREATE VIRTUAL TABLE empty USING {definition};
             {ROWS} INSERT INTO r SELECT {values} FROM n; DELETE FROM r WHERE id % 6 = 0;"
        ))
        .unwrap();
    connection.close().unwrap();
}

#[test]
fn intact_full_text_tables_and_r_trees_are_silent() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("intact.db");
    for encoding in ["UTF-8", "UTF-16le", "UTF-16be"] {
        let shape = Shape { page_size: 1024, encoding, ..Shape::default() };
        let silent = |what: &str| {
            assert_eq!(verdict(&path, "integrity_check"), ["ok"], "{what}");
            let report = full(&path);
            let text = report::findings::text(&report, &check_sqlite::RULES);
            assert_eq!(report.finding_count(), 0, "{what} {encoding}: {text}");
            assert!(!text.contains("its index against its rows"), "{what} {encoding}: {text}");
            std::fs::remove_file(&path).unwrap();
        };
        for definition in FULL_TEXT {
            full_text(&path, definition, &shape);
            silent(definition);
        }
        for definition in RTREES {
            rtree(&path, *definition, &shape);
            silent(definition.0);
        }
    }
}

#[test]
fn tables_of_an_older_sqlite_are_silent() {
    let directory = tempfile::tempdir().unwrap();
    for (index, definition) in FULL_TEXT.iter().enumerate() {
        let path = directory.path().join(format!("{index}.db"));
        let script = format!(
            "import sqlite3,sys; c=sqlite3.connect(sys.argv[1]); c.executescript('''CREATE TABLE source(id INTEGER PRIMARY KEY, a, b);
CREATE VIRTUAL TABLE d USING {definition};''')
for i in range(1, 300):
    c.execute('INSERT INTO d(rowid, a, b) VALUES (?,?,?)', (i, 'word%d and \u{e4}\u{3bb}\u{4e2d} %d' % (i % 37, i), 'b%d' % (i // 3)))
    if i % 50 == 0: c.commit()
c.executescript('CREATE VIRTUAL TABLE r USING rtree(id,x0,x1,y0,y1)')
for i in range(1, 300): c.execute('INSERT INTO r VALUES (?,?,?,?,?)', (i, i % 31, i % 31 + 2.5, i % 17, i % 17 + .1))
c.commit()"
        );
        let Ok(outcome) = Command::new("python3").arg("-c").arg(script).arg(&path).output() else {
            return skip(Capability::Python, "python3 is absent");
        };
        if !outcome.status.success() {
            // An option that the older version does not know.
            let reason = String::from_utf8_lossy(&outcome.stderr);
            skip(Capability::Python, format!("{definition}: {}", reason.lines().last().unwrap_or_default()));
            continue;
        }
        let report = full(&path);
        let text = report::findings::text(&report, &check_sqlite::RULES);
        assert_eq!(report.finding_count(), 0, "{definition}: {text}");
        assert!(!text.contains("its index against its rows"), "{definition}: {text}");
    }
}

/// Changes one value of one shadow table; false when that changed nothing.
fn mutated(path: &Path, prefix: &str, random: &mut Random) -> Option<String> {
    let connection = Connection::open(path).unwrap();
    let shadows: Vec<String> = connection
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 AND name LIKE ?1 || '%' ORDER BY name")
        .unwrap()
        .query_map([prefix], |row| row.get(0))
        .unwrap()
        .collect::<rusqlite::Result<_>>()
        .unwrap();
    let shadow = shadows.get(random.below(shadows.len() as u64) as usize)?.clone();
    let rows: i64 =
        connection.query_row(&format!("SELECT count(*) FROM \"{shadow}\""), [], |row| row.get(0)).unwrap();
    let offset = random.below(rows as u64);
    let columns: Vec<String> = connection
        .prepare(&format!("SELECT name FROM pragma_table_info('{shadow}')"))
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<rusqlite::Result<_>>()
        .unwrap();
    let key = format!("\"{}\"", columns[0]);
    let at = format!("WHERE {key} IS (SELECT {key} FROM \"{shadow}\" LIMIT 1 OFFSET {offset})");
    let change = if random.below(5) == 0 {
        format!("DELETE FROM \"{shadow}\" {at}")
    } else {
        let column = &columns[random.below(columns.len() as u64) as usize];
        let value: rusqlite::types::Value = connection
            .query_row(&format!("SELECT \"{column}\" FROM \"{shadow}\" {at}"), [], |row| row.get(0))
            .ok()?;
        let literal = match value {
            rusqlite::types::Value::Blob(mut bytes) if !bytes.is_empty() => {
                // The start more often than the middle: counts and offsets are there.
                let limit = if random.below(2) == 0 { 12 } else { bytes.len() as u64 };
                let place = random.below(limit.min(bytes.len() as u64)) as usize;
                bytes[place] ^= 1 << random.below(8);
                let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                format!("x'{hex}'")
            }
            rusqlite::types::Value::Integer(number) => (number ^ 1 << random.below(6)).to_string(),
            rusqlite::types::Value::Text(text) if text.is_ascii() => {
                format!("'{}x'", text.replace('\'', "''"))
            }
            _ => return None,
        };
        format!("UPDATE \"{shadow}\" SET \"{column}\" = {literal} {at}")
    };
    connection.execute_batch(&change).ok()?;
    Some(change.chars().take(300).collect())
}

/// Every finding names an object, a page and a slot.
fn assert_places(report: &CheckReport) {
    for finding in &report.findings {
        let is_placed = finding.object.is_some() && finding.page.is_some() && finding.slot.is_some();
        assert!(
            is_placed || !finding.rule.contains("full-text") && !finding.rule.contains("rtree"),
            "{finding:?}"
        );
    }
}

/// Mutates a table again and again; what SQLite finds must be found, and what it does not find must be true.
fn no_mutation_is_missed(base: &Path, prefix: &str, seed: u64, count: u64) {
    let path = base.with_extension("mutated.db");
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut found_count = 0;
    for _ in 0..count {
        std::fs::copy(base, &path).unwrap();
        let Some(change) = mutated(&path, prefix, &mut random) else { continue };
        let of_engine = verdict(&path, "integrity_check");
        let report = full(&path);
        let text = report::findings::text(&report, &check_sqlite::RULES);
        let is_found = report.exit_code() == 1;
        found_count += u64::from(is_found);
        // SQLite does not compare the keys of %_docsize with those of %_content in an FTS4 table.
        let is_more = rule_counts(&report).iter().all(|rule| rule.starts_with("sqlite-full-text-row"));
        assert_places(&report);
        let is_expected = is_found == (of_engine != ["ok"]) || is_found && is_more;
        assert!(is_expected, "{change}\n{of_engine:?}\n{text}");
    }
    assert!(found_count > 0, "none of {count} mutations of {} was damage", base.display());
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn no_mutation_of_a_full_text_table_that_sqlite_finds_is_missed() {
    let directory = tempfile::tempdir().unwrap();
    for (index, definition) in FULL_TEXT.iter().enumerate() {
        let path = directory.path().join(format!("{index}.db"));
        full_text(&path, definition, &Shape { page_size: 1024, ..Shape::default() });
        no_mutation_is_missed(&path, "my text_", index as u64 + 1, 12);
    }
}

#[test]
fn no_mutation_of_an_r_tree_that_sqlite_finds_is_missed() {
    let directory = tempfile::tempdir().unwrap();
    for (index, definition) in RTREES.iter().enumerate() {
        let path = directory.path().join(format!("{index}.db"));
        rtree(&path, *definition, &Shape { page_size: 1024, ..Shape::default() });
        no_mutation_is_missed(&path, "r_", index as u64 + 1, 60);
    }
}

#[test]
fn damaged_files_of_others_are_found_with_the_row() {
    for (name, rule, part) in [
        ("fts5_content_row_lost.db", "sqlite-full-text-row 1", "a row with rowid 48 in d_content"),
        ("fts5_data_block_flip.db", "sqlite-full-text 1", "137438953494"),
        ("rtree_rowid_lost.db", "sqlite-rtree 1", "row 471 in node 13"),
    ] {
        let Some((_directory, path)) = case_file("sqlite", name) else { continue };
        let report = full(&path);
        let text = report::findings::text(&report, &check_sqlite::RULES);
        assert_eq!(rule_counts(&report), [rule], "{text}");
        assert!(text.contains(part), "{name}: {text}");
    }
}

#[test]
fn what_only_the_application_can_verify_is_not_checked_with_the_command() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("foreign.db");
    let connection = create(&path, &Shape::default());
    connection
        .execute_batch(
            "CREATE TABLE c(a, b); CREATE VIRTUAL TABLE e USING fts5(a, content='c'); CREATE VIRTUAL TABLE f USING fts4(a, content='c');
             CREATE VIRTUAL TABLE t USING fts5(a); CREATE VIRTUAL TABLE v USING fts5vocab(t, row); CREATE VIRTUAL TABLE m USING fts3(a);
             PRAGMA writable_schema=ON;
             UPDATE sqlite_schema SET sql = 'CREATE VIRTUAL TABLE t USING fts5(a, tokenize=''of the application'')' WHERE name = 't';
             UPDATE sqlite_schema SET sql = 'CREATE VIRTUAL TABLE m USING vec0(a)' WHERE name = 'm';",
        )
        .unwrap();
    connection.close().unwrap();
    let report = full(&path);
    let text = report::findings::text(&report, &check_sqlite::RULES);
    assert_eq!(report.finding_count(), 0, "{text}");
    for part in [
        "virtual table e: index entries against the rows of c (the application maintains them: INSERT INTO e(e, rank)",
        "virtual table f: its index against its rows",
        "virtual table t: its index against its rows (no such tokenizer: of; INSERT INTO t(t)",
        "virtual table m: its index against its rows (module vec0 is not part of SQLite",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("virtual table v"), "{text}");
}
