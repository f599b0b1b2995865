//! Files that nobody thought of: made-up schemas must be silent, changed bytes must neither panic nor be missed where
//! SQLite sees them. `PROPTEST_CASES=5000 PROPTEST_RNG_SEED=$RANDOM` makes these tests longer, with other cases.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use crate::support::{Shape, assert_clean, checked, create, fill, options, verdict};
use proptest::prelude::*;
use results::check::CheckLevel;

/// So many cases, unless the environment asks for another number.
fn cases(usual: u32) -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|count| count.parse().ok());
    ProptestConfig { cases: asked.unwrap_or(usual), ..ProptestConfig::default() }
}

#[derive(Debug, Clone)]
struct Column {
    name: String,
    declared: &'static str,
    collation: &'static str,
    is_not_null: bool,
}

/// A column, what is made of it, and whether the order is descending.
type Part = (usize, &'static str, bool);

#[derive(Debug, Clone)]
struct Table {
    columns: Vec<Column>,
    key: &'static str,
    is_without_rowid: bool,
    /// Columns with what is made of them, and a condition on the first of them.
    indexes: Vec<(Vec<Part>, &'static str)>,
    /// A test of the first column that each row passes.
    check: &'static str,
    row_count: u32,
    added: Option<&'static str>,
}

fn columns() -> impl Strategy<Value = Vec<Column>> {
    let declared = prop::sample::select(vec![
        "",
        "INT",
        "INTEGER",
        "TEXT",
        "BLOB",
        "REAL",
        "NUMERIC",
        "VARCHAR(10)",
        "DATE",
    ]);
    let collation = prop::sample::select(vec!["", "COLLATE NOCASE", "COLLATE RTRIM", "COLLATE BINARY"]);
    let column = (declared, collation, any::<bool>());
    prop::collection::vec(column, 1..7).prop_map(|columns| {
        let named = columns.into_iter().enumerate();
        named
            .map(|(index, (declared, collation, is_not_null))| Column {
                name: format!("c{index} \"odd] name"),
                declared,
                collation,
                is_not_null,
            })
            .collect()
    })
}

fn tables() -> impl Strategy<Value = Table> {
    let key = prop::sample::select(vec!["", "PRIMARY KEY", "PRIMARY KEY DESC", "UNIQUE"]);
    let condition = prop::sample::select(vec![
        "",
        "",
        "WHERE 1",
        "WHERE @ IS NOT NULL /* ( */",
        "WHERE @ > 5",
        "WHERE typeof(@) IN ('text', 'blob') OR @ = 'aB' -- )",
        "WHERE length(@) % 2",
    ]);
    // Most index a column as it is.
    let made_of = prop::sample::select(vec![
        "@",
        "@",
        "@",
        "@",
        "@ || 'x'",
        "lower(@)",
        "CAST(@ AS TEXT)",
        "CAST(@ AS NUMERIC)",
        "-@",
        "length(@)",
        "hex(@)",
        "iif(@ > 3, @, 'no')",
        "@ COLLATE NOCASE || ''",
        "(@ IS NULL) + 0.5",
        "CASE WHEN @ < 9 THEN 7.5 ELSE @ END",
    ]);
    let index = (prop::collection::vec((0usize..8, made_of, any::<bool>()), 1..4), condition);
    let check = prop::sample::select(vec![
        "",
        "CHECK(@ IS NULL OR length(@) < 100000)",
        "CONSTRAINT a CHECK (typeof(@) <> 'none' AND ')' <> '(') CHECK(1)",
        "CHECK(@ <> 'zz' -- )\n)",
    ]);
    let added = prop::option::of(prop::sample::select(vec![
        "added TEXT DEFAULT 'it''s'",
        "added REAL DEFAULT 5",
        "added INT NOT NULL DEFAULT -3",
        "added BLOB DEFAULT x'0102'",
        "added NUMERIC DEFAULT '7'",
        "added DEFAULT \"double quoted\"",
        "added DEFAULT (-(-3))",
        "added INT DEFAULT (CAST('7' AS INT))",
        "added TEXT DEFAULT 007",
        "added REAL DEFAULT +.5e1",
        "added DEFAULT TRUE",
        "added",
    ]));
    (columns(), key, any::<bool>(), prop::collection::vec(index, 0..4), 0u32..400, added, check).prop_map(
        |(columns, key, without, indexes, row_count, added, check)| Table {
            is_without_rowid: without && key.starts_with("PRIMARY"),
            columns,
            key,
            indexes,
            row_count,
            added,
            check,
        },
    )
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn build(path: &Path, shape: &Shape, tables: &[Table]) {
    let connection = create(path, shape);
    for (number, table) in tables.iter().enumerate() {
        let name = quoted(&format!("t{number} select"));
        let columns = table.columns.iter().enumerate().map(|(index, column)| {
            let key = if index == 0 { table.key } else { "" };
            // A key that SQLite takes as the rowid cannot hold every value; INTEGER is left to the other columns.
            let declared = if index == 0 && column.declared == "INTEGER" { "INT" } else { column.declared };
            let null = if column.is_not_null { "NOT NULL" } else { "" };
            format!("{} {declared} {key} {null} {}", quoted(&column.name), column.collation)
        });
        let options = if table.is_without_rowid { "WITHOUT ROWID" } else { "" };
        let check = table.check.replace('@', &quoted(&table.columns[0].name));
        let columns: Vec<_> = columns.chain((!check.is_empty()).then_some(check)).collect();
        connection.execute_batch(&format!("CREATE TABLE {name}({}) {options}", columns.join(", "))).unwrap();
        for (index, (parts, condition)) in table.indexes.iter().enumerate() {
            let name_of = |column: usize| quoted(&table.columns[column % table.columns.len()].name);
            let condition = condition.replace('@', &name_of(parts[0].0));
            let parts = parts.iter().map(|(column, made_of, is_descending)| {
                let part = made_of.replace('@', &name_of(*column));
                format!("{part} {}", if *is_descending { "DESC" } else { "" })
            });
            let parts: Vec<_> = parts.collect();
            connection
                .execute_batch(&format!(
                    "CREATE INDEX \"i{number} {index}\" ON {name}({}) {condition}",
                    parts.join(", ")
                ))
                .unwrap();
        }
        let values: Vec<_> = (0..table.columns.len()).map(value).collect();
        let rows = format!(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {}) INSERT OR IGNORE INTO {name} SELECT {} FROM n",
            table.row_count,
            values.join(", ")
        );
        connection.execute_batch(&rows).unwrap();
        if let Some(added) = table.added {
            connection
                .execute_batch(&format!(
                    "ALTER TABLE {name} ADD COLUMN {added}; CREATE INDEX \"late{number}\" ON {name}(added)"
                ))
                .unwrap();
            connection
                .execute_batch(&rows.replace(&values.join(", "), &format!("{}, 'z' || i", values.join(", "))))
                .unwrap();
        }
        connection.execute_batch(&format!("DELETE FROM {name} WHERE abs(random()) % 4 = 0")).unwrap();
    }
    connection.close().unwrap();
}

fn value(column: usize) -> String {
    let values = [
        "CASE i % 6 WHEN 0 THEN i WHEN 1 THEN 'text ' || i WHEN 2 THEN i + 0.5 WHEN 3 THEN x'00ff' || i WHEN 4 THEN -i ELSE i * 1e15 END",
        "CASE abs(random()) % 5 WHEN 0 THEN NULL WHEN 1 THEN 'aB  ' WHEN 2 THEN 'Ab' WHEN 3 THEN 9223372036854775807 - i ELSE 1.0 * i END",
        "CASE WHEN i % 50 = 0 THEN zeroblob(i * 30) ELSE '\u{e9}\u{10348}' || char(i) END",
        "i % 7",
    ];
    values[column % values.len()].to_owned()
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn made_up_schemas_are_silent(
        tables in prop::collection::vec(tables(), 1..4),
        power in 9u32..14,
        auto_vacuum in 0u8..3,
        encoding in prop::sample::select(vec!["UTF-8", "UTF-16le", "UTF-16be"]),
        reserved in prop::sample::select(vec![0u8, 7, 32]),
        is_vacuumed in any::<bool>(),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("made-up.db");
        build(&path, &Shape { page_size: 1 << power, auto_vacuum, encoding, reserved }, &tables);
        if is_vacuumed {
            rusqlite::Connection::open(&path).unwrap().execute_batch("VACUUM").unwrap();
        }
        // lower() of bytes in UTF-16 gives SQLite itself another value the second time: no clean file.
        prop_assume!(verdict(&path, "integrity_check") == ["ok"]);
        for level in [CheckLevel::Structure, CheckLevel::Full] {
            assert_clean(&checked(&path, &options(level)));
        }
    }
}

/// Files with everything in them, of each vacuum mode and encoding.
fn originals() -> Vec<Vec<u8>> {
    let shapes =
        [(512, 1, "UTF-8", 0), (1024, 0, "UTF-8", 0), (1024, 2, "UTF-16be", 16), (4096, 0, "UTF-16le", 0)];
    let file = |(page_size, auto_vacuum, encoding, reserved)| {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("original.db");
        let connection = create(&path, &Shape { page_size, auto_vacuum, encoding, reserved });
        fill(&connection, 120);
        connection.close().unwrap();
        std::fs::read(path).unwrap()
    };
    shapes.into_iter().map(file).collect()
}

proptest! {
    #![proptest_config(cases(160))]

    // No exception is allowed: where SQLite complains, there is a finding, not only an exit status.
    #[test]
    fn changed_bytes_never_panic_and_what_sqlite_finds_is_found(
        which in 0usize..4,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), any::<bool>()), 1..4),
        where_to in 0u8..3,
    ) {
        thread_local! { static FILES: Vec<Vec<u8>> = originals(); }
        let mut bytes = FILES.with(|files| files[which].clone());
        let original = bytes.clone();
        for (place, byte, is_flip) in &changes {
            // Near the start of the file, at the start of a page, or anywhere.
            let place = match where_to {
                0 => place.index(3000),
                1 => place.index(bytes.len() / 32) / 16 * 512 + place.index(16),
                _ => place.index(bytes.len()),
            };
            bytes[place] = if *is_flip { bytes[place] ^ (1 << (byte % 8)) } else { *byte };
        }
        if bytes == original {
            return Ok(());
        }
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("changed.db");
        std::fs::write(&path, &bytes).unwrap();
        let report = checked(&path, &options(CheckLevel::Full));
        let theirs = verdict(&path, "integrity_check");
        if theirs != ["ok"] {
            let text = report::findings::text(&report, &check_sqlite::RULES);
            prop_assert!(report.finding_count() > 0, "integrity_check: {theirs:?}\n{text}");
        }
    }

    #[test]
    fn any_bytes_give_a_report(bytes in prop::collection::vec(any::<u8>(), 0..5000), has_magic in any::<bool>()) {
        let mut bytes = bytes;
        if has_magic && bytes.len() > 100 {
            bytes[..16].copy_from_slice(b"SQLite format 3\0");
            bytes[16..24].copy_from_slice(&[2, 0, 1, 1, 0, 64, 32, 32]);
        }
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("bytes.db");
        std::fs::write(&path, &bytes).unwrap();
        let report = checked(&path, &options(CheckLevel::Full));
        prop_assert!(bytes.is_empty() || report.exit_code() != 0 || report.accounting.page_count == 0);
    }
}
