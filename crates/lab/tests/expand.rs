//! Growing databases: what must stay the same in every copy, and what must not be touched.

#![allow(clippy::unwrap_used)]

use std::path::Path;

use lab::expand::{Grown, Source, Wish, expand_file};
use rusqlite::Connection;

const MIB: u64 = 1 << 20;

fn grow(source: &Source, to: &Path, size_bytes: u64, files: u32, seed: u64) -> Grown {
    expand_file(source, to, &Wish { size_bytes, files, seed }, &mut |_| true).unwrap()
}

fn number(path: &Path, sql: &str) -> i64 {
    Connection::open(path).unwrap().query_row(sql, [], |row| row.get(0)).unwrap()
}

fn is_sound(path: &Path) {
    let connection = Connection::open(path).unwrap();
    let word: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(word, "ok");
    assert!(!connection.prepare("PRAGMA foreign_key_check").unwrap().exists([]).unwrap());
}

/// Names of what lies in a directory.
fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn the_sample_grows_to_its_size_and_keeps_keys_references_and_ratios() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("shop.db");
    let grown = grow(&Source::Sample, &path, 8 * MIB, 1, 1);
    assert!(grown.size_bytes >= 8 * MIB && grown.copies > 1, "{grown:?}");
    assert_eq!(std::fs::metadata(&path).unwrap().len(), grown.size_bytes);
    assert_eq!(names(place.path()), ["shop.db"], "nothing else stays behind");
    is_sound(&path);
    let copies = grown.copies as i64;
    assert_eq!(number(&path, "SELECT count(*) FROM orders"), 1000 * copies);
    let of_first_copy = number(&path, "SELECT count(*) FROM orders WHERE customer_id <= 200");
    assert_eq!(of_first_copy, 1000, "the rows of a copy refer to rows of the same copy");
    // The distribution of what is no key: each status as often as in one copy.
    let least = "SELECT min(n) FROM (SELECT count(*) AS n FROM orders GROUP BY status)";
    assert_eq!(number(&path, least) % copies, 0);
}

#[test]
fn the_same_seed_makes_the_same_bytes() {
    let place = tempfile::tempdir().unwrap();
    let [one, two, other] = ["one", "two", "other"].map(|name| place.path().join(name));
    grow(&Source::Sample, &one, 3 * MIB, 1, 7);
    grow(&Source::Sample, &two, 3 * MIB, 1, 7);
    grow(&Source::Sample, &other, 3 * MIB, 1, 8);
    let read = |path: &Path| std::fs::read(path).unwrap();
    assert!(read(&one) == read(&two) && read(&one) != read(&other));
}

#[test]
fn several_files_share_the_size_and_no_key_is_in_two_of_them() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("shop.db");
    let grown = grow(&Source::Sample, &path, 9 * MIB, 3, 1);
    assert_eq!(grown.files.len(), 3);
    assert!(grown.size_bytes >= 9 * MIB);
    let mut ids = std::collections::BTreeSet::new();
    let mut count = 0;
    for file in &grown.files {
        is_sound(file);
        let connection = Connection::open(file).unwrap();
        let mut statement = connection.prepare("SELECT order_id FROM orders").unwrap();
        for id in statement.query_map([], |row| row.get::<_, i64>(0)).unwrap() {
            ids.insert(id.unwrap());
            count += 1;
        }
    }
    assert_eq!(ids.len(), count);
    let (_, orders) = grown.rows.iter().find(|(table, _)| table == "orders").unwrap();
    assert_eq!(*orders, count as u64);
}

const AWKWARD: &str = "
    CREATE TABLE \"a \"\"b\"\"\" (code TEXT PRIMARY KEY, twin TEXT UNIQUE, doubled AS (twin || twin)) WITHOUT ROWID;
    CREATE TABLE node (id INTEGER PRIMARY KEY AUTOINCREMENT, parent INTEGER REFERENCES node, code TEXT REFERENCES \"a \"\"b\"\"\");
    CREATE TABLE edge (a INTEGER REFERENCES node (id), b INTEGER REFERENCES node (id), PRIMARY KEY (a, b));
    CREATE TABLE log (what TEXT);
    CREATE TABLE raw (key BLOB NOT NULL UNIQUE);
    CREATE TRIGGER noisy AFTER INSERT ON node BEGIN INSERT INTO log VALUES ('a row of a trigger'); END;
    CREATE VIEW v AS SELECT * FROM node;
    INSERT INTO \"a \"\"b\"\"\" VALUES ('x', 'p'), ('y', NULL);
    INSERT INTO node VALUES (-5, NULL, 'x'), (7, -5, 'y'), (8, 7, NULL);
    INSERT INTO edge VALUES (-5, 7), (7, 8);
    INSERT INTO raw VALUES (x'00ff');
";

#[test]
fn awkward_keys_triggers_and_generated_columns_are_copied_without_touching_the_source() {
    for mode in ["delete", "wal"] {
        let place = tempfile::tempdir().unwrap();
        let source = place.path().join("source.db");
        let connection = Connection::open(&source).unwrap();
        connection.query_row(&format!("PRAGMA journal_mode = {mode}"), [], |_| Ok(())).unwrap();
        connection.execute_batch(AWKWARD).unwrap();
        drop(connection);
        let before = (names(place.path()), std::fs::read(&source).unwrap());
        let to = tempfile::tempdir().unwrap();
        let path = to.path().join("grown.db");
        let grown = grow(&Source::File(source.clone()), &path, MIB / 4, 1, 1);
        assert_eq!(before, (names(place.path()), std::fs::read(&source).unwrap()), "{mode}");
        assert_eq!(names(to.path()), ["grown.db"]);
        is_sound(&path);
        let copies = grown.copies as i64;
        assert_eq!(number(&path, "SELECT count(*) FROM edge"), 2 * copies);
        // Three rows of the source's own trigger; the copies fired none.
        assert_eq!(number(&path, "SELECT count(*) FROM log"), 3 * copies);
        assert_eq!(number(&path, "SELECT count(*) FROM node WHERE parent IS NULL"), copies);
    }
}

#[test]
fn what_exists_is_not_overwritten_and_a_stop_leaves_nothing() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("shop.db");
    std::fs::write(&path, "mine").unwrap();
    let wish = Wish { size_bytes: MIB, files: 1, seed: 1 };
    let error = expand_file(&Source::Sample, &path, &wish, &mut |_| true).unwrap_err().to_string();
    assert!(error.contains("exists already"), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), b"mine");
    let other = place.path().join("other.db");
    let wish = Wish { size_bytes: 100 * MIB, ..wish };
    let error = expand_file(&Source::Sample, &other, &wish, &mut |_| false).unwrap_err().to_string();
    assert!(error.contains("stopped"), "{error}");
    assert_eq!(names(place.path()), ["shop.db"]);
}
