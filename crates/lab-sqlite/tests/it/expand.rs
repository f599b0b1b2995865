//! Growing databases: what must stay the same in every copy, and what must not be touched.

use std::path::Path;

use lab::expand::{Grown, GrowthRequest};
use lab_sqlite::{Source, expand_file};
use rusqlite::Connection;

const MIB: u64 = 1 << 20;

fn grow(source: &Source, to: &Path, size_bytes: u64, files: u32, seed: u64) -> Grown {
    expand_file(source, to, &GrowthRequest { size_bytes, files, seed }, &mut |_| true).unwrap()
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
    let (copies, orders) = (grown.copies as i64, number(&path, "SELECT count(*) FROM orders"));
    assert!((1000 * copies..1000 * (copies + 1)).contains(&orders), "{orders}");
    let of_first_copy = number(&path, "SELECT count(*) FROM orders WHERE customer_id <= 200");
    assert_eq!(of_first_copy, 1000, "the rows of a copy refer to rows of the same copy");
    // The distribution of what is no key: each status as often as in one copy.
    let least =
        "SELECT min(n) FROM (SELECT count(*) AS n FROM orders WHERE order_id <= 1000 * {} GROUP BY status)";
    assert_eq!(number(&path, &least.replace("{}", &grown.copies.to_string())) % copies, 0);
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
        let close_to =
            |count: i64, of_copy: i64| (of_copy * copies..=of_copy * (copies + 1)).contains(&count);
        assert!(close_to(number(&path, "SELECT count(*) FROM edge"), 2));
        // Three rows of the source's own trigger; the copies fired none.
        assert!(close_to(number(&path, "SELECT count(*) FROM log"), 3));
        assert!(close_to(number(&path, "SELECT count(*) FROM node WHERE parent IS NULL"), 1));
    }
}

#[test]
fn what_exists_is_not_overwritten_and_a_stop_leaves_nothing() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("shop.db");
    std::fs::write(&path, "mine").unwrap();
    let wish = GrowthRequest { size_bytes: MIB, files: 1, seed: 1 };
    let error = expand_file(&Source::Sample, &path, &wish, &mut |_| true).unwrap_err().to_string();
    assert!(error.contains("exists already"), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), b"mine");
    let other = place.path().join("other.db");
    let wish = GrowthRequest { size_bytes: 100 * MIB, ..wish };
    let error = expand_file(&Source::Sample, &other, &wish, &mut |_| false).unwrap_err().to_string();
    assert!(error.contains("stopped"), "{error}");
    assert_eq!(names(place.path()), ["shop.db"]);
}

/// Expands, and holds what was made to size, keys and references.
fn grows_to(source: &Path, to: &Path, size_bytes: u64, files: u32) -> Grown {
    let grown = grow(&Source::File(source.to_owned()), to, size_bytes, files, 1);
    let on_disk: u64 = grown.files.iter().map(|file| std::fs::metadata(file).unwrap().len()).sum();
    assert_eq!(on_disk, grown.size_bytes);
    let range = size_bytes..=size_bytes + size_bytes / 20;
    assert!(range.contains(&grown.size_bytes), "{size_bytes} bytes were asked for: {grown:?}");
    grown.files.iter().for_each(|file| is_sound(file));
    grown
}

#[test]
fn a_source_that_is_large_against_the_size_is_copied_in_part_and_the_size_is_kept_within_five_percent() {
    let place = tempfile::tempdir().unwrap();
    let source = place.path().join("source.db");
    grow(&Source::Sample, &source, 20 * MIB, 1, 1);
    let source_bytes = std::fs::metadata(&source).unwrap().len();
    let ratio = "SELECT (SELECT count(*) FROM order_lines) * 1000 / (SELECT count(*) FROM orders)";
    let lines_per_order = number(&source, ratio) as f64 / 1000.0;
    // 157 MB for 320 MB in two files; shares below the source; almost two copies.
    for (turn, (percent, files)) in [(204, 2), (130, 2), (195, 1)].into_iter().enumerate() {
        let to = place.path().join(format!("grown{turn}.db"));
        let grown = grows_to(&source, &to, source_bytes * percent / 100, files);
        let mut keys = std::collections::BTreeSet::new();
        let mut count = 0;
        for file in &grown.files {
            let connection = Connection::open(file).unwrap();
            let mut statement = connection.prepare("SELECT email FROM customers").unwrap();
            for key in statement.query_map([], |row| row.get::<_, String>(0)).unwrap() {
                keys.insert(key.unwrap());
                count += 1;
            }
            std::fs::remove_file(file).unwrap();
        }
        assert_eq!(keys.len(), count, "no key is in two files");
        let of = |name: &str| grown.rows.iter().find(|(table, _)| table == name).unwrap().1;
        let scale = lines_per_order / (of("order_lines") as f64 / of("orders") as f64);
        assert!((0.7..1.4).contains(&scale), "lines per order differ from the source by a factor of {scale}");
    }
}

#[test]
fn chains_circles_and_a_single_parent_of_all_rows_are_copied_in_part_with_what_they_refer_to() {
    const SCHEMA: &str = "
        PRAGMA foreign_keys = OFF;
        CREATE TABLE tenant (id INTEGER PRIMARY KEY, name TEXT);
        CREATE TABLE back (id INTEGER PRIMARY KEY, previous INTEGER REFERENCES back, tenant INTEGER REFERENCES tenant, fill TEXT);
        CREATE TABLE ahead (rowid TEXT COLLATE NOCASE PRIMARY KEY, next TEXT REFERENCES ahead, fill BLOB) WITHOUT ROWID;
        CREATE TABLE egg (id INTEGER PRIMARY KEY, hen INTEGER REFERENCES hen, fill BLOB);
        CREATE TABLE hen (rowid INTEGER, id INTEGER PRIMARY KEY, egg INTEGER REFERENCES egg, fill BLOB);
        INSERT INTO tenant VALUES (1, 'the only one');
        WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
            INSERT INTO back SELECT i, nullif(i - 1, 0), 1, hex(zeroblob(200)) FROM n;
        WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
            INSERT INTO ahead SELECT printf('k%05d', i), printf('K%05d', min(i + 1, 200)), zeroblob(100) FROM n;
        WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
            INSERT INTO egg SELECT i, 1001 - i, zeroblob(300) FROM n;
        WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
            INSERT INTO hen SELECT 7, i, i, zeroblob(abs(random()) % 900) FROM n;
    ";
    let place = tempfile::tempdir().unwrap();
    let source = place.path().join("source.db");
    Connection::open(&source).unwrap().execute_batch(SCHEMA).unwrap();
    is_sound(&source);
    let source_bytes = std::fs::metadata(&source).unwrap().len();
    for (number, (percent, files)) in [(150, 1), (120, 2)].into_iter().enumerate() {
        let to = place.path().join(format!("grown{number}.db"));
        grows_to(&source, &to, source_bytes * percent / 100, files);
    }
}

#[test]
fn a_source_that_is_larger_than_the_size_is_refused_with_both_and_leaves_nothing() {
    let place = tempfile::tempdir().unwrap();
    let (source, to) = (place.path().join("source.db"), place.path().join("grown.db"));
    grow(&Source::Sample, &source, 3 * MIB, 1, 1);
    let wish = GrowthRequest { size_bytes: 2 * MIB, files: 2, seed: 1 };
    let error =
        expand_file(&Source::File(source.clone()), &to, &wish, &mut |_| true).unwrap_err().to_string();
    assert!(error.contains("source.db\" to 2.0 MiB (2097152 bytes)"), "{error}");
    assert!(error.contains("\nhint: --size "), "{error}");
    assert_eq!(names(place.path()), ["source.db"]);
    let empty = place.path().join("empty.db");
    Connection::open(&empty).unwrap().execute_batch("CREATE TABLE t (a)").unwrap();
    let error = expand_file(&Source::File(empty), &to, &wish, &mut |_| true).unwrap_err().to_string();
    assert!(error.contains("hold no row"), "{error}");
}
