//! Databases of a run: empty, kept, restored.

use lab::engine::Target;
use rusqlite::Connection;

use super::support::{Scene, ask};

const CONTENT: &str = "SELECT count(*), sum(a), max(b), total(length(c)) FROM t";
const SCHEMA: &str = "
CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT, c BLOB);
CREATE INDEX t_b ON t (b);
WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
    INSERT INTO t SELECT i, 'größe ' || i, zeroblob(i % 100) FROM n;
PRAGMA user_version = 42;
";

#[test]
fn a_restored_database_has_the_content_that_was_kept() {
    for journal_mode in ["wal", "delete", "truncate", "persist", "memory"] {
        let mut scene = Scene::empty(&[("journal_mode", journal_mode)]);
        scene.make(SCHEMA);
        let before = scene.ask(CONTENT);
        let own = scene.target.own_databases().unwrap();
        assert!(!own.is_kept("abc123").unwrap());
        own.keep("abc123").unwrap();
        assert!(own.is_kept("abc123").unwrap());
        for _ in 0..2 {
            scene.target.own_databases().unwrap().restore("abc123").unwrap();
            assert_eq!(scene.ask(CONTENT), before);
            assert_eq!(scene.ask("PRAGMA user_version"), "42");
            assert_eq!(scene.ask("PRAGMA integrity_check"), "ok");
            assert_eq!(scene.ask("SELECT count(*) > 0 FROM sqlite_stat1"), "1");
            let is_wal = scene.ask("PRAGMA journal_mode") == "wal";
            assert_eq!(is_wal, journal_mode == "wal");
            assert_eq!(scene.once("DELETE FROM t WHERE a > 10;"), None, "{journal_mode}");
            assert_eq!(scene.ask("SELECT count(*) FROM t"), "10");
        }
    }
}

#[test]
fn a_kept_database_serves_other_journal_modes_and_no_other_page_size() {
    let mut scene = Scene::empty(&[("page_size", "1024")]);
    scene.make(SCHEMA);
    scene.target.own_databases().unwrap().keep("x").unwrap();
    scene.work.settings.insert("journal_mode".to_owned(), "delete".to_owned());
    scene.target.prepare(&scene.work).unwrap();
    let own = scene.target.own_databases().unwrap();
    assert!(own.is_kept("x").unwrap());
    own.restore("x").unwrap();
    assert_eq!(scene.ask("PRAGMA journal_mode"), "delete");
    scene.work.settings.insert("page_size".to_owned(), "2048".to_owned());
    scene.target.prepare(&scene.work).unwrap();
    assert!(!scene.target.own_databases().unwrap().is_kept("x").unwrap());
}

#[test]
fn every_page_size_is_that_of_the_file() {
    for page_size in ["512", "1024", "4096", "16384", "65536"] {
        let settings = [("page_size", page_size), ("auto_vacuum", "full")];
        let mut scene = Scene::empty(&settings);
        scene.make(SCHEMA);
        scene.target.own_databases().unwrap().keep("x").unwrap();
        scene.target.own_databases().unwrap().restore("x").unwrap();
        assert_eq!(scene.ask("PRAGMA page_size"), page_size);
        assert_eq!(scene.ask("PRAGMA auto_vacuum"), "1");
        assert_eq!(scene.once("INSERT INTO t VALUES (NULL, 'x', NULL);"), None);
        let state = scene.target.post_run_state(&scene.work).unwrap();
        let metric = |name: &str| state.metrics.iter().find(|metric| metric.name == name).unwrap().value;
        assert_eq!(
            state.total_bytes.unwrap() as f64,
            metric("database_pages") * page_size.parse::<f64>().unwrap()
        );
    }
}

#[test]
fn an_exclusive_database_is_made_kept_and_restored() {
    let mut scene = Scene::empty(&[("locking_mode", "exclusive")]);
    scene.make(SCHEMA);
    scene.target.own_databases().unwrap().keep("x").unwrap();
    scene.target.own_databases().unwrap().restore("x").unwrap();
    scene.scripts(&["DELETE FROM t;"]).parse_all().unwrap();
    assert_eq!(scene.once("DELETE FROM t;"), None);
    assert_eq!(scene.ask("SELECT count(*) FROM t"), "0");
}

#[test]
fn making_an_empty_database_again_drops_the_one_before() {
    let mut scene = Scene::empty(&[]);
    scene.make(SCHEMA);
    scene.target.own_databases().unwrap().make_empty().unwrap();
    assert_eq!(scene.ask("SELECT count(*) FROM sqlite_schema"), "0");
    scene.make(SCHEMA);
}

#[test]
fn a_database_that_is_in_use_is_not_kept() {
    let mut scene = Scene::empty(&[]);
    scene.make(SCHEMA);
    let other = Connection::open(scene.path()).unwrap();
    other.execute_batch("BEGIN; SELECT * FROM t").unwrap();
    scene.scripts(&["DELETE FROM t;"]);
    scene.run(1, 1);
    let error = scene.target.own_databases().unwrap().keep("x").unwrap_err().to_string();
    assert!(error.starts_with("could not keep the loaded database"), "{error}");
}

#[test]
fn a_name_that_is_no_word_keeps_nothing() {
    let mut scene = Scene::empty(&[]);
    for name in ["", "../x", "a b"] {
        assert!(scene.target.own_databases().unwrap().keep(name).is_err());
    }
}

#[test]
fn nothing_is_left_when_the_target_stops() {
    let mut scene = Scene::empty(&[]);
    scene.make(SCHEMA);
    scene.target.own_databases().unwrap().keep("x").unwrap();
    scene.target.own_databases().unwrap().restore("x").unwrap();
    let path = scene.path();
    scene.target.clean().unwrap();
    assert!(!path.exists());
    let directory = path.parent().unwrap().to_owned();
    assert_eq!(
        std::fs::read_dir(&directory)
            .unwrap()
            .filter(|entry| { entry.as_ref().unwrap().file_name().to_string_lossy().starts_with("kept-") })
            .count(),
        1
    );
    scene.target.stop(false).unwrap();
    assert!(!directory.exists());
}

#[test]
fn a_kept_database_is_found_by_what_is_in_it() {
    let mut scene = Scene::empty(&[]);
    scene.make(SCHEMA);
    let (path, before) = (scene.path(), scene.ask(CONTENT));
    scene.target.own_databases().unwrap().keep("x").unwrap();
    let directory = path.parent().unwrap();
    assert_eq!(ask(&directory.join("kept-x-8192-0.db"), CONTENT), before);
}
